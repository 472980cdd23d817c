"""Ranks: how many processes a launcher starts, and on how many nodes, as its options state it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gpulint.engines import Argument
from gpulint.workload import Field, Origin, Unknown, Value

EVERY_GPU = frozenset({"gpu", "auto"})
"""torch/distributed/run.py: one worker for each accelerator of the machine."""
SHARING_OUT = frozenset({"accelerate", "deepspeed"})
"""Launchers whose own options and configuration say how the states of a training run are shared out, and what is offloaded."""
RETIRED, CURRENT = "torch.distributed.launch", "torch.distributed.run"
"""Deprecated since PyTorch 1.10; since 2.0 it hands each rank --local-rank where it handed --local_rank before."""
MACHINE = "any host"
RANKED = ("srun", "mpirun", "torchrun", "accelerate", "deepspeed", "horovodrun", "colossalai", "composer", "tune run")
PLATFORM = re.compile(
    r"\$\{?(?:SLURM|SLURMD|PBS|LSB|SKYPILOT|DSTACK|PET|LWS|OMPI|PMI|PMIX|KUBERNETES|KUBERAY|SM_|RUNPOD|OAR|COBALT|FLUX)_\w+"
    r"|\$\{?(?:JOB_COMPLETION_INDEX|RANK|LOCAL_RANK|NODE_RANK|WORLD_SIZE|LOCAL_WORLD_SIZE|HOSTNAME|NCI_\w+)\b|nvidia-smi"
)
PLACEHOLDER = re.compile(r"<[^<>\s]+>|(?i:\byour[-_]|\b(?:change|replace)[-_]?me\b)|__\w+__")
TASKS = frozenset({"srun", "mpirun"})
"""Launchers whose tasks are the ranks, which meet where a variable says."""
LOCAL = frozenset({"localhost", "127.0.0.1"})


class Step(NamedTuple):
    """One launcher of a command: its name, the word that names it, and what its options state, by quantity.

    `positional` are the words that it takes before the program: an image. `open_ended` is the word among its options
    that cannot be read.
    """

    launcher: str
    word: Argument
    stated: Mapping[str, tuple[Argument, ...]]
    positional: tuple[Argument, ...] = ()
    open_ended: Argument | None = None

    def last(self, quantity: str) -> Argument | None:
        """The option that decides a quantity: the last one."""
        given = self.stated.get(quantity)
        return given[-1] if given else None


def fields(steps: Sequence[Step]) -> dict[str, Field]:
    """What the innermost launcher states; nodes may be stated by one further out."""
    ranked = [step for step in steps if step.launcher in RANKED]
    if not ranked:
        return {}
    found = {"launcher": Field(ranked[-1].launcher, origins(ranked[-1].word))}
    if ranked[-1].launcher in SHARING_OUT:
        found["sharding"] = Field(Unknown(f"{ranked[-1].launcher} is configured elsewhere"), origins(ranked[-1].word))
    if ranked[-1].word.text == RETIRED and "use_env" not in ranked[-1].stated:
        found["retired_launcher"] = Field(RETIRED, origins(ranked[-1].word))
        found["current_launcher"] = Field(CURRENT)
    for step in ranked:
        if nodes := _nodes(step):
            found["pods_per_replica"] = nodes
    if processes := _per_node(ranked[-1], found.get("pods_per_replica")):
        found["processes_per_pod"] = processes
    return found


def total(step: Step) -> Field | None:
    """How many processes a launcher starts on all nodes together."""
    word = step.last("processes") or step.last("ntasks")
    return number(word) if word is not None else None


def _nodes(step: Step) -> Field | None:
    if (word := step.last("nodes")) is not None:
        return number(word)
    if (hosts := step.last("hosts")) is not None and hosts.text:
        return Field(len(set(hosts.text.split(","))), origins(hosts))
    if (included := step.last("include")) is not None and included.text:
        return Field(len(included.text.split("@")), origins(included))
    if (alone := step.last("standalone")) is not None:
        return Field(1, origins(alone))
    if step.launcher in ("torchrun", "tune run") and step.open_ended is None:
        return None
    return _left_open(step)


def _left_open(step: Step) -> Field | None:
    """What a word that cannot be read among the options may state."""
    if step.open_ended is None:
        return None
    why = step.open_ended.why or "one of the launcher's arguments cannot be read"
    return Field(Unknown(why, category(step.open_ended)), origins(step.open_ended))


def _per_node(step: Step, nodes: Field | None) -> Field | None:
    for quantity in ("processes_per_pod", "ntasks_per_node"):
        if (word := step.last(quantity)) is not None:
            return _each_gpu(word) if word.text in EVERY_GPU else number(word)
    if (mapped := step.last("map_by")) is not None and (match := re.match(r"ppr:(\d+):node", mapped.text or "")):
        return Field(int(match[1]), origins(mapped))
    if (included := step.last("include")) is not None and (devices := _included(included)):
        return devices
    if (hosts := step.last("hosts")) is not None and (slots := _slots(hosts)):
        return slots
    if (whole := total(step)) is not None:
        return shared_out(whole, nodes)
    return _left_open(step) or _default(step)


def _each_gpu(word: Argument) -> Field:
    return Field(Unknown("one process for each GPU that the machine has", MACHINE), origins(word))


def _default(step: Step) -> Field | None:
    """What a launcher starts when nothing is stated."""
    if step.launcher == "torchrun":
        return Field(1, source="default of torchrun")
    if step.launcher in ("deepspeed", "accelerate", "composer", "colossalai"):
        return _each_gpu(step.word)
    return None


def _included(word: Argument) -> Field | None:
    """The devices of DeepSpeed's `--include host:0,1@other:0,1`, where every host lists as many."""
    listed = [host.partition(":")[2] for host in (word.text or "").split("@")]
    counts = {len(devices.split(",")) for devices in listed if re.fullmatch(r"\d+(,\d+)*", devices)}
    return Field(counts.pop(), origins(word)) if len(counts) == 1 and all(listed) else None


def _slots(word: Argument) -> Field | None:
    """The slots of mpirun's `-H one:8,two:8`, where every host has as many."""
    slots = {host.partition(":")[2] for host in (word.text or "").split(",")}
    count = slots.pop() if len(slots) == 1 else ""
    return Field(int(count), origins(word)) if count.isdecimal() else None


def shared_out(whole: Field, nodes: Field | None) -> Field:
    """A number of processes shared out over the nodes."""
    if isinstance(whole.value, Unknown):
        return whole
    if nodes is None:
        return Field(Unknown("over how many nodes the processes are shared out is not stated", MACHINE), whole.origins)
    if isinstance(nodes.value, Unknown) or not isinstance(nodes.value, int) or not isinstance(whole.value, int):
        return Field(nodes.value, nodes.origins)
    if nodes.value < 1 or whole.value % nodes.value:
        return Field(Unknown(f"{whole.value} processes on {nodes.value} nodes"), whole.origins)
    return Field(whole.value // nodes.value, (*whole.origins, *nodes.origins))


def rendezvous(step: Step | None, environment: Mapping[str, Argument]) -> Field | None:
    """The address of this very machine where the ranks of all nodes are told to meet."""
    by_task = step is None or step.launcher in TASKS
    told = environment.get("MASTER_ADDR") if step is None or by_task else step.last("rendezvous")
    if told is None or told.text is None or (step is not None and step.stated.get("standalone")):
        return None
    host = told.text.rpartition("//")[2].partition(":")[0].strip()
    return Field(told.text, origins(told)) if host in LOCAL else None


# ---- values


def number(word: Argument) -> Field:
    """The count that a word states; a range of counts, and what cannot be read, is unknown with its reason."""
    value: Value | Unknown = Unknown(word.why or f"{word.text} is no count", category(word))
    if word.text is not None and re.fullmatch(r"\d{1,6}", word.text.strip()):
        value = int(word.text)
    elif word.text is not None and (match := re.fullmatch(r"(\d{1,6})[:-](\d{1,6})", word.text.strip())):
        same = match[1] == match[2]
        value = int(match[1]) if same else Unknown(f"between {match[1]} and {match[2]}", MACHINE)
    return Field(value, origins(word))


def category(word: Argument) -> str:
    """Who decides a word that cannot be read: the platform, whoever calls the script, or whoever fills it in."""
    if word.category:
        return word.category
    said = f"{word.why} {word.origin.text() if word.origin.span else word.text or ''}"
    if PLATFORM.search(said):
        return "platform variable"
    if PLACEHOLDER.search(said):
        return "placeholder"
    return "caller's variable" if "$" in said or "{{" in said or word.text is None else ""


def origins(word: Argument) -> tuple[Origin, ...]:
    """Where a word stands, first the place that a variable has it from."""
    return (word.origin, word.behind) if word.behind else (word.origin,)
