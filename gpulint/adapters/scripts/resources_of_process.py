"""Allocated: the nodes, GPUs and processes that a started program is given, by its job, its container or its launcher."""

from __future__ import annotations

import functools
import posixpath
import re
from collections.abc import Mapping
from itertools import pairwise

from gpulint import units
from gpulint.adapters.programs import docker_run, slurm
from gpulint.adapters.programs import launchers as launch
from gpulint.adapters.programs import nccl_variables as variables
from gpulint.adapters.programs import processes as ranks
from gpulint.adapters.programs import replica as instance
from gpulint.adapters.programs.launchers import CONTAINERS
from gpulint.adapters.programs.process import Started
from gpulint.adapters.scripts import job_conflicts as scheduled
from gpulint.adapters.trainers.custom_trainer import TRAINERS
from gpulint.engines import Argument
from gpulint.source import documents
from gpulint.source.documents import Document
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Unknown

MACHINE = "any host"
NODE_GPUS_MAX = 16
"""The largest single machines hold sixteen GPUs (DGX-2, p2.16xlarge): more processes than that are not one a card."""
ALONE = frozenset({"accelerate", "deepspeed", "colossalai", "composer", "tune run"})
"""Launchers that stay on one node unless they are told of more."""
VISIBLE = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")
LISTED = re.compile(r"(?:\d+|GPU-[\w-]+)(?:,(?:\d+|GPU-[\w-]+))*,?")
ON_CPU = frozenset(
    {
        *("--cpu", "--use_cpu", "--use-cpu", "--no_cuda", "--no-cuda", "--use_cpu=True", "--no_cuda=True"),
        *("--device=cpu", "device=cpu", "--backend=gloo", "--dist-backend=gloo", "--dist_backend=gloo"),
    }
)
OTHER_DEVICE = re.compile(r"(?:NEURON_|ASCEND_|HCCL_|LIBTPU_|TPU_)\w+=|PJRT_DEVICE=(?:TPU|NEURON|CPU)")
"""Variables of AWS Neuron, Ascend and TPUs."""
CPU_QUEUE = re.compile(r"(?:^|[@_-])cpus?(?:$|[_-])")
"""Queues and accounts that a cluster itself calls after the CPU."""
ASKS = frozenset({"nodes", "ntasks", "partition", "gpus"})
"""What a step of Slurm's states that is a job of its own."""
GPU_QUEUE = re.compile(r"(?:^|[^A-Za-z])gpus?(?:$|[^A-Za-z])", re.IGNORECASE)
"""Queues and features of nodes that a cluster itself calls after the GPU."""
FOR_NCCL = re.compile(r"(?:TORCH_)?NCCL_\w+|RCCL_\w+")
FOR_GPUS = re.compile(
    rf"{FOR_NCCL.pattern}|CUDA_(?:DEVICE_MAX_CONNECTIONS|LAUNCH_BLOCKING)|PYTORCH_(?:CUDA|HIP)_ALLOC_CONF"
)
"""Variables that only programs on GPUs read."""
ARRAY = re.compile(r"(\d+)(?:-(\d+)(?::(\d+))?)?")
FOLDERS_MAX = 4


def fields(one: Started, anchor: Origin, repository: Repository) -> dict[str, Field]:
    """What a program is given, in the glossary's words."""
    stated = _stated(one)
    found = {**one.launch.fields, **_configured(one, anchor.document, repository)}
    nodes = _nodes(one, stated, found)
    found |= _visible(one.environment) | _shared_out(one, found, nodes)
    gpus = _gpus_per_node(one, stated, found, anchor)
    found |= {**_container(one), **slurm.placed(stated), **slurm.sent(stated), **_host(stated)}
    found["gpus_per_pod"], found["pods_per_replica"] = gpus, nodes
    found["gpus_per_replica"] = _of_job(one, stated) or instance.product(gpus, nodes)
    found["replicas"] = _replicas(stated)
    hazards = scheduled.fields(one, stated, found)
    found |= _processes(one, stated, found) | hazards
    found |= variables.fields(one.environment)
    found.setdefault(
        "accelerator", Field(Unknown("the machine that runs the script decides the card", MACHINE), (anchor,))
    )
    if gpus.value == 0:
        found["device"] = Field("cpu", gpus.origins)
    return found


def given(one: Started) -> bool:
    """Whether anything gives a program GPUs: its job, its step, its container, or a variable that lists cards."""
    asked = slurm.gpus_per_node(_stated(one)) or _container(one).get("gpus_per_pod")
    return (asked is not None and asked.value != 0) or bool(_visible(one.environment))


def is_meant(one: Started) -> bool:
    """Whether the queue of a job or the variables of a program are those of GPUs, although nothing says how many."""
    queues = (word.text or "" for name, word in _stated(one).items() if name in ("partition", "qos", "constraint"))
    if any(GPU_QUEUE.search(queue) or slurm.product_of(queue) for queue in queues):
        return True
    return one.cluster is not None or any(FOR_GPUS.fullmatch(name) for name in one.environment)


def is_elsewhere(one: Started) -> bool:
    """Whether its job, its launcher, its arguments or its variables keep a program on the CPU or on no GPU."""
    stated = _stated(one)
    asked = slurm.gpus_per_node(stated)
    if asked is not None:
        return asked.value == 0
    if any(OTHER_DEVICE.match(f"{name}={argument.text}") for name, argument in one.environment.items()):
        return True
    if any((word := one.environment.get(name)) is not None and word.text in ("", "-1") for name in VISIBLE):
        return True
    words = [word.text or "" for word in one.words]
    ranks_of_cpu = any((word := step.last("processes_per_pod")) and word.text == "cpu" for step in one.launch.steps)
    told = (
        any(step.stated.get("cpu") for step in one.launch.steps)
        or ranks_of_cpu
        or bool(ON_CPU & {*words, *map("=".join, pairwise(words))})
    )
    queues = (stated[name].text or "" for name in ("partition", "qos", "account") if name in stated)
    return told or any(CPU_QUEUE.search(queue) for queue in queues)


def _stated(one: Started) -> dict[str, Argument]:
    """What the job asks for, and what the step that starts the program says instead."""
    stated = dict(_component(one)) if one.job else {}
    for step in one.launch.steps:
        if step.launcher == "srun":
            own = {name: words[-1] for name, words in step.stated.items() if not _repeated(words[-1], name, stated)}
            if {"gpus_per_node", "gres", "gpus", "gpus_per_task"} & own.keys():
                stated = {name: word for name, word in stated.items() if name not in ("gpus_per_node", "gres", "gpus")}
            if {"ntasks", "ntasks_per_node"} & own.keys():
                stated.pop("ntasks", None)
                stated.pop("ntasks_per_node", None)
            stated |= own
    return stated


def _component(one: Started) -> Mapping[str, Argument]:
    """The component of a heterogeneous job that a step starts in: the first, unless it names another."""
    components = one.job.components if one.job else ({},)
    named = (step.last("het_group") for step in reversed(one.launch.steps) if step.launcher == "srun")
    word = next((word for word in named if word is not None), None)
    number = int(word.text) if word is not None and word.text and word.text.isdecimal() else 0
    return components[number] if number < len(components) else components[0]


def _repeated(word: Argument, quantity: str, stated: Mapping[str, Argument]) -> bool:
    """Whether a step only passes on, by a variable of Slurm's, what the job asks for."""
    return word.text is None and ranks.category(word) == "platform variable" and quantity in stated


# ---- nodes


def _nodes(one: Started, stated: Mapping[str, Argument], found: Mapping[str, Field]) -> Field:
    """The nodes of a job where one is described, else those that the launcher is told of."""
    told = found.get("pods_per_replica")
    if one.job is not None or ASKS & stated.keys():
        asked = slurm.nodes(stated)
        if not isinstance(asked.value, Unknown) or told is None or isinstance(told.value, Unknown):
            return asked
    if told is not None:
        return told
    if submitter := next((step for step in one.launch.steps if step.launcher == launch.SUBMITTER), None):
        unknown = Unknown("the program that submits it decides the nodes", "own program")
        counted = submitter.last("nodes")
        return (
            Field(unknown, ranks.origins(counted))
            if counted and counted.text != "1"
            else Field(1, source="one machine unless said otherwise")
        )
    inner = next((step for step in reversed(one.launch.steps) if step.launcher in ranks.RANKED), None)
    if inner is None and (around := _around(one)) is not None:
        return around
    if inner is None or inner.launcher == "torchrun":
        return Field(1, source="one machine unless said otherwise")
    if inner.launcher in ALONE and not {"hostfile", "config_file"} & inner.stated.keys() and inner.open_ended is None:
        return Field(1, source=f"default of {inner.launcher}")
    local = inner.launcher in ("mpirun", "horovodrun") and not {"hostfile", "hosts"} & inner.stated.keys()
    if local:
        return Field(1, source="one machine where no hosts are named")
    return Field(Unknown("the hosts are named elsewhere", MACHINE), ranks.origins(inner.word))


def _around(one: Started) -> Field | None:
    """Who decides the nodes of a program without a launcher: the Ray cluster, or the job that starts the whole script."""
    if (submitted := next((step for step in one.launch.steps if step.launcher == "ray job submit"), None)) is not None:
        return Field(Unknown("the Ray cluster decides", MACHINE), ranks.origins(submitted.word))
    if one.words and slurm.MULTI_NODE.search(one.words[0].origin.document.text):
        why = Unknown("the job around the script decides its nodes", "platform variable")
        return Field(why, ranks.origins(one.words[0]))
    return None


def _replicas(stated: Mapping[str, Argument]) -> Field:
    """The tasks of a job array; one where there is none."""
    if "array" not in stated:
        return Field(1, source="one job unless it is an array")
    word = stated["array"]
    parts = [ARRAY.fullmatch(part) for part in (word.text or "").partition("%")[0].split(",")]
    if not all(parts):
        return Field(Unknown(word.why or f"{word.text} is no array", ranks.category(word)), ranks.origins(word))
    sizes = (len(range(int(part[1]), int(part[2] or part[1]) + 1, int(part[3] or 1))) for part in parts if part)
    return Field(sum(sizes), ranks.origins(word))


# ---- GPUs


def _gpus_per_node(one: Started, stated: Mapping[str, Argument], found: Mapping[str, Field], anchor: Origin) -> Field:
    """The GPUs that are asked for; else those listed as visible, else one for each process of a launcher that does so."""
    if (asked := slurm.gpus_per_node(stated)) is not None:
        return asked
    if isinstance((contained := _container(one).get("gpus_per_pod", Field(None))).value, int):
        return contained
    if (visible := found.get("visible_devices")) is not None:
        return visible
    if contained.value is not None:
        return contained
    if one.job is not None and (of_nccl := _one_a_rank(one, stated)) is not None:
        return of_nccl
    if one.job is not None:
        why = "the partition decides how many GPUs a node has"
        deciding = next(
            (stated[name] for name in ("exclusive", "partition", "constraint") if name in stated), one.job.first
        )
        return Field(Unknown(why, MACHINE), ranks.origins(deciding))
    if one.cluster is not None:
        return ranks.number(one.cluster)
    processes = found.get("processes_per_pod")
    launched = any(step.launcher in TRAINERS for step in one.launch.steps)
    if processes is not None and launched and not _many(processes):
        return processes
    return Field(Unknown("the machine that runs the script decides", MACHINE), (anchor,))


def _one_a_rank(one: Started, stated: Mapping[str, Argument]) -> Field | None:
    """One GPU for each task of a step that NCCL joins, which takes no two ranks of one card."""
    starts = [step.launcher for step in one.launch.steps if step.launcher in ranks.RANKED]
    if starts != ["srun"] or "ntasks_per_node" not in stated or not any(map(FOR_NCCL.fullmatch, one.environment)):
        return None
    tasks = ranks.number(stated["ntasks_per_node"])
    return tasks if isinstance(tasks.value, int) and not _many(tasks) else None


def _many(processes: Field) -> bool:
    return isinstance(processes.value, int) and processes.value > NODE_GPUS_MAX


def _of_job(one: Started, stated: Mapping[str, Argument]) -> Field | None:
    """The GPUs of the whole job where they are stated as such."""
    each = {"gpus_per_node", "gres", "gpus_per_task"} & stated.keys()
    return slurm.gpus(stated) if "gpus" in stated and not each else None


def _container(one: Started) -> dict[str, Field]:
    step = next((step for step in reversed(one.launch.steps) if step.launcher in CONTAINERS), None)
    return docker_run.fields(step, one.environment) if step is not None else {}


def _visible(environment: Mapping[str, Argument]) -> dict[str, Field]:
    for name in VISIBLE:
        stated = environment.get(name)
        if stated is not None and LISTED.fullmatch(stated.text or ""):
            return {"visible_devices": Field(len((stated.text or "").strip(",").split(",")), ranks.origins(stated))}
    return {}


# ---- processes


def _processes(one: Started, stated: Mapping[str, Argument], found: Mapping[str, Field]) -> dict[str, Field]:
    """The ranks on one node: those of the launcher, in each task that Slurm starts; of `gpu` and `auto`, one a card."""
    steps = [step for step in one.launch.steps if step.launcher in ranks.RANKED]
    inner = steps[-1].launcher if steps else ""
    if inner == "srun":
        return {"processes_per_pod": slurm.tasks_per_node(stated)}
    each = found.get("processes_per_pod")
    if each is None:
        return {}
    cards = found["gpus_per_pod"]
    every_card = isinstance(each.value, Unknown) and each.value.category == MACHINE and inner in TRAINERS
    if every_card and isinstance(cards.value, int):
        return {"processes_per_pod": Field(cards.value, (*each.origins, *cards.origins))}
    if any(step.launcher == "srun" for step in steps):
        tasks = slurm.tasks_per_node(stated)
        return {"processes_per_pod": instance.product(each, tasks) if tasks.value != 1 else each}
    return {"processes_per_pod": each}


def _shared_out(one: Started, found: Mapping[str, Field], nodes: Field) -> dict[str, Field]:
    """The processes of a launcher that states them all together, on each of the nodes."""
    step = next((step for step in reversed(one.launch.steps) if step.launcher in ranks.RANKED), None)
    if step is None or {"ntasks_per_node", "map_by"} & step.stated.keys() or "processes_per_pod" not in found:
        return {}
    whole = ranks.total(step)
    return {} if whole is None else {"processes_per_pod": ranks.shared_out(whole, nodes)}


def _configured(one: Started, document: Document, repository: Repository) -> dict[str, Field]:
    """What the options and the file of `accelerate launch` say."""
    step = next((step for step in one.launch.steps if step.launcher == "accelerate"), None)
    if step is None:
        return {}
    from gpulint.adapters.trainers import accelerate_launch as accelerated

    find = functools.partial(_document, document=document, repository=repository)
    named = step.last("config_file")
    config = find(named.text) if named is not None and named.text else None
    found = accelerated.fields(step, find)
    return found if config is None else {**found, **accelerated.counts(step, config)}


def _document(name: str, document: Document, repository: Repository) -> Document | None:
    """A file that a script names: from its own folder, or from one above it, where commands are often run."""
    if name.startswith(("/", "~")):
        return None
    folder = posixpath.dirname(document.path)
    for _ in range(FOLDERS_MAX):
        path = posixpath.normpath(posixpath.join(folder, name))
        if (content := repository.read(path)) is not None:
            loaded = documents.load(path, content).documents
            return loaded[0] if len(loaded) == 1 and loaded[0].format != "shell" else None
        folder = posixpath.dirname(folder)
    return None


# ---- the host


def _host(stated: Mapping[str, Argument]) -> dict[str, Field]:
    """Host memory and cores that a job asks for on each node; `--mem=0` is all of the node's."""
    found: dict[str, Field] = {}
    if (word := stated.get("mem")) is not None and (
        match := re.fullmatch(r"([1-9]\d*)([KMGT]?)B?", word.text or "", re.IGNORECASE)
    ):
        scale = {"K": units.KIB, "": units.MIB, "M": units.MIB, "G": units.GIB, "T": units.KIB * units.GIB}[
            match[2].upper()
        ]
        found["host_memory_bytes"] = Field(int(match[1]) * scale, ranks.origins(word))
    if (word := stated.get("cpus_per_task")) is not None:
        cores = instance.product(ranks.number(word), slurm.tasks_per_node(stated))
        if isinstance(cores.value, int):
            found["cpu_cores"] = Field(cores.value, ranks.origins(word))
    return found
