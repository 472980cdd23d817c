"""Ranks: how many processes a launcher starts, and on how many nodes, according to its options."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gpulint.engines import Argument
from gpulint.workload import Field, Origin, Unknown, Value

EVERY_GPU = frozenset({"gpu", "auto"})
"""torch/distributed/run.py: one worker for each accelerator of the machine."""
SHARING_OUT = frozenset({"accelerate", "deepspeed"})
"""Launchers whose own options and configuration set sharding and offloading of a training run."""
RETIRED, CURRENT = "torch.distributed.launch", "torch.distributed.run"
"""Deprecated since PyTorch 1.10.

Since 2.0 it passes --local-rank instead of --local_rank to each rank.
"""
MACHINE = "any host"
RANKED = ("srun", "mpirun", "torchrun", "accelerate", "deepspeed", "horovodrun", "colossalai", "composer", "tune run")
PLATFORM = re.compile(
    r"\$\{?(?:SLURM|SLURMD|PBS|LSB|SKYPILOT|DSTACK|PET|LWS|OMPI|PMI|PMIX|KUBERNETES|KUBERAY|SM_|RUNPOD|OAR|COBALT|FLUX)_\w+"
    r"|\$\{?(?:JOB_COMPLETION_INDEX|RANK|LOCAL_RANK|NODE_RANK|WORLD_SIZE|LOCAL_WORLD_SIZE|HOSTNAME|NCI_\w+)\b|nvidia-smi"
)
PLACEHOLDER = re.compile(r"<[^<>\s]+>|(?<!\$)\{[A-Z][A-Z0-9_]+\}|(?i:\byour[-_]|\b(?:change|replace)[-_]?me\b)|__\w+__")
TASKS = frozenset({"srun", "mpirun"})
"""Launchers whose tasks are the ranks. A variable sets where they meet."""
LOCAL = frozenset({"localhost", "127.0.0.1"})


class Step(NamedTuple):
    """One launcher of a command: its name, the word that names it, and what its options set, by
    quantity.

    `positional` are the words that it takes before the program, such as an image. `open_ended` is the word
    among its options that cannot be read.
    """

    launcher: str
    word: Argument
    stated: Mapping[str, tuple[Argument, ...]]
    positional: tuple[Argument, ...] = ()
    open_ended: Argument | None = None

    def last(self, quantity: str) -> Argument | None:
        """Return the option that decides a quantity: the last one."""
        given = self.stated.get(quantity)
        return given[-1] if given else None


def fields(steps: Sequence[Step]) -> dict[str, Field]:
    """Return what the innermost launcher sets. An outer launcher may set the nodes."""
    ranked = [step for step in steps if step.launcher in RANKED]
    if not ranked:
        return {}
    rank_fields = {"launcher": Field(ranked[-1].launcher, origins(ranked[-1].word))}
    if ranked[-1].launcher in SHARING_OUT:
        rank_fields["sharding"] = Field(
            Unknown(f"{ranked[-1].launcher} is configured elsewhere", choices=("none", "deepspeed", "fsdp")),
            origins(ranked[-1].word),
        )
    if ranked[-1].word.text == RETIRED and "use_env" not in ranked[-1].stated:
        rank_fields["retired_launcher"] = Field(RETIRED, origins(ranked[-1].word))
        rank_fields["current_launcher"] = Field(CURRENT)
    for step in ranked:
        if nodes := _find_nodes(step):
            rank_fields["pods_per_replica"] = nodes
    if processes := _count_per_node(ranked[-1], rank_fields.get("pods_per_replica")):
        rank_fields["processes_per_pod"] = processes
    return rank_fields


def total(step: Step) -> Field | None:
    """Return how many processes a launcher starts on all nodes together."""
    word = step.last("processes") or step.last("ntasks")
    return number(word) if word is not None else None


def _find_nodes(step: Step) -> Field | None:
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
    return _explain_unread(step)


def _explain_unread(step: Step) -> Field | None:
    """Return Unknown if a word among the options cannot be read."""
    if step.open_ended is None:
        return None
    why = step.open_ended.why or "one of the launcher's arguments cannot be read"
    return Field(Unknown(why, category(step.open_ended)), origins(step.open_ended))


def _count_per_node(step: Step, nodes: Field | None) -> Field | None:
    for quantity in ("processes_per_pod", "ntasks_per_node"):
        if (word := step.last(quantity)) is not None:
            return _count_every_gpu(word) if word.text in EVERY_GPU else number(word)
    if (mapped := step.last("map_by")) is not None and (match := re.match(r"ppr:(\d+):node", mapped.text or "")):
        return Field(int(match[1]), origins(mapped))
    if (included := step.last("include")) is not None and (devices := _read_included(included)):
        return devices
    if (hosts := step.last("hosts")) is not None and (slots := _read_slots(hosts)):
        return slots
    if (whole := total(step)) is not None:
        return divide_processes(whole, nodes)
    return _explain_unread(step) or _find_default(step)


def _count_every_gpu(word: Argument) -> Field:
    return Field(Unknown("one process for each GPU that the machine has", MACHINE), origins(word))


def _find_default(step: Step) -> Field | None:
    """Return what a launcher starts by default."""
    if step.launcher == "torchrun":
        return Field(1, source="default of torchrun")
    if step.launcher in ("deepspeed", "accelerate", "composer", "colossalai"):
        return _count_every_gpu(step.word)
    return None


def _read_included(word: Argument) -> Field | None:
    """Return the devices of DeepSpeed's `--include host:0,1@other:0,1`, if every host lists as many."""
    listed = [host.partition(":")[2] for host in (word.text or "").split("@")]
    counts = {len(devices.split(",")) for devices in listed if re.fullmatch(r"\d+(,\d+)*", devices)}
    return Field(counts.pop(), origins(word)) if len(counts) == 1 and all(listed) else None


def _read_slots(word: Argument) -> Field | None:
    """Return the slots of mpirun's `-H one:8,two:8`, if every host has as many."""
    slots = {host.partition(":")[2] for host in (word.text or "").split(",")}
    count = slots.pop() if len(slots) == 1 else ""
    return Field(int(count), origins(word)) if count.isdecimal() else None


def divide_processes(whole: Field, nodes: Field | None) -> Field:
    """Divide a number of processes among the nodes."""
    if isinstance(whole.value, Unknown):
        return whole
    if nodes is None:
        return Field(Unknown("the number of nodes for the processes is not stated", MACHINE), whole.origins)
    if isinstance(nodes.value, Unknown) or not isinstance(nodes.value, int) or not isinstance(whole.value, int):
        return Field(nodes.value, nodes.origins)
    if nodes.value < 1 or whole.value % nodes.value:
        return Field(Unknown(f"{whole.value} processes on {nodes.value} nodes"), whole.origins)
    return Field(whole.value // nodes.value, (*whole.origins, *nodes.origins))


def rendezvous(step: Step | None, environment: Mapping[str, Argument]) -> Field | None:
    """Return the rendezvous address of all nodes' ranks if it is the local machine.

    A command with the literal rank 0 is the master's own, whose address is itself.
    """
    rank = step.last("node_rank") if step is not None else None
    if rank is not None and rank.text == "0":
        return None
    by_task = step is None or step.launcher in TASKS
    address = environment.get("MASTER_ADDR") if step is None or by_task else step.last("rendezvous")
    if address is None or address.text is None or (step is not None and step.stated.get("standalone")):
        return None
    host = address.text.rpartition("//")[2].partition(":")[0].strip()
    return Field(address.text, origins(address)) if host in LOCAL else None


# ---- values


def number(word: Argument) -> Field:
    """Read the count in a word.

    A range, or a word that cannot be read, is Unknown with the reason.
    """
    value: Value | Unknown = Unknown(word.why or f"{word.text} is not a count", category(word))
    if word.text is not None and re.fullmatch(r"\d{1,6}", word.text.strip()):
        value = int(word.text)
    elif word.text is not None and (match := re.fullmatch(r"(\d{1,6})[:-](\d{1,6})", word.text.strip())):
        same = match[1] == match[2]
        value = int(match[1]) if same else Unknown(f"between {match[1]} and {match[2]}", MACHINE)
    return Field(value, origins(word))


def category(word: Argument) -> str:
    """Return who decides a word that cannot be read: the platform, the caller or whoever fills it
    in.
    """
    if word.category:
        return word.category
    text = f"{word.why} {word.origin.text() if word.origin.span else word.text or ''}"
    if PLATFORM.search(text):
        return "platform variable"
    if PLACEHOLDER.search(text):
        return "placeholder"
    return "caller's variable" if "$" in text or "{{" in text or word.text is None else ""


def origins(word: Argument) -> tuple[Origin, ...]:
    """Locate a word: the place of its variable first."""
    return (word.origin, word.behind) if word.behind else (word.origin,)
