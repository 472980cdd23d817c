"""The nodes, GPUs and processes that a job, container or launcher gives a started program."""

from __future__ import annotations

import functools
import posixpath
import re
from collections.abc import Mapping
from itertools import pairwise

from gpulint import units
from gpulint.adapters.programs import docker_run, launchers, nccl_variables, replica, slurm
from gpulint.adapters.programs import processes as programs_processes
from gpulint.adapters.programs.launchers import CONTAINERS
from gpulint.adapters.programs.process import StartedCommand
from gpulint.adapters.scripts import job_conflicts
from gpulint.adapters.trainers.custom_trainer import TRAINERS
from gpulint.engines import Argument
from gpulint.source.documents import Document
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Unknown

MACHINE = "any host"
NODE_GPUS_MAX = 16
"""The largest single machines have 16 GPUs (DGX-2, p2.16xlarge).

More processes than that on a node do not have one GPU each.
"""
ALONE = frozenset({"accelerate", "deepspeed", "colossalai", "composer", "tune run"})
"""Launchers that stay on one node unless their options name more."""
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
"""Queues and accounts that a cluster names after the CPU."""
ASKS = frozenset({"nodes", "ntasks", "partition", "gpus"})
"""Options of a Slurm step that make it a job of its own."""
SPREADS = re.compile(r"\b(?:srun|mpirun|mpiexec|ray|pdsh|ssh|torchrun|accelerate|deepspeed|SLURM_\w*NODE\w*)\b")
"""Words of scripts that start programs on further nodes, or tell them of each other."""
GPU_QUEUE = re.compile(r"(?:^|[^A-Za-z])gpus?(?:$|[^A-Za-z])", re.IGNORECASE)
"""Queues and node features that a cluster names after the GPU."""
FOR_NCCL = re.compile(r"(?:TORCH_)?NCCL_\w+|RCCL_\w+")
FOR_GPUS = re.compile(
    rf"{FOR_NCCL.pattern}|CUDA_(?:DEVICE_MAX_CONNECTIONS|LAUNCH_BLOCKING)|PYTORCH_(?:CUDA|HIP)_ALLOC_CONF"
)
"""Variables that only GPU programs read."""
ARRAY = re.compile(r"(\d+)(?:-(\d+)(?::(\d+))?)?")
FOLDERS_MAX = 4


def fields(program: StartedCommand, anchor: Origin, repository: Repository) -> dict[str, Field]:
    """Return what a program is given, by fact name."""
    stated = _read_request(program)
    fields_by_name = {**program.launch.fields, **_read_accelerate(program, anchor.document, repository)}
    nodes = _resolve_nodes(program, stated, fields_by_name)
    fields_by_name |= _count_visible(program.environment) | _divide_processes(program, fields_by_name, nodes)
    gpus = _resolve_gpus_per_node(program, stated, fields_by_name, anchor)
    fields_by_name |= {
        **_read_container(program),
        **slurm.read_accelerator(stated),
        **slurm.read_partition(stated),
        **_read_host(stated),
    }
    fields_by_name["gpus_per_pod"], fields_by_name["pods_per_replica"] = gpus, nodes
    fields_by_name["gpus_per_replica"] = _read_job_gpus(program, stated) or replica.product(gpus, nodes)
    fields_by_name["replicas"] = _count_replicas(stated)
    hazards = job_conflicts.fields(program, stated, fields_by_name)
    fields_by_name |= _resolve_processes(program, stated, fields_by_name) | hazards
    fields_by_name |= nccl_variables.fields(program.environment)
    fields_by_name.setdefault(
        "accelerator", Field(Unknown("the accelerator depends on the machine that runs the script", MACHINE), (anchor,))
    )
    if gpus.value == 0:
        fields_by_name["device"] = Field("cpu", gpus.origins)
    return fields_by_name


def has_gpus(program: StartedCommand) -> bool:
    """Return whether anything gives a program GPUs.

    That is its job, its step, its container, or a variable that lists GPUs.
    """
    asked = slurm.gpus_per_node(_read_request(program)) or _read_container(program).get("gpus_per_pod")
    return (asked is not None and asked.value != 0) or bool(_count_visible(program.environment))


def is_for_gpus(program: StartedCommand) -> bool:
    """Return whether a job's queue or a program's variables are for GPUs.

    The number of GPUs may still be unknown.
    """
    queues = (
        word.text or "" for name, word in _read_request(program).items() if name in ("partition", "qos", "constraint")
    )
    if any(GPU_QUEUE.search(queue) or slurm.find_accelerators(queue) for queue in queues):
        return True
    return program.cluster is not None or any(FOR_GPUS.fullmatch(name) for name in program.environment)


def runs_without_gpus(program: StartedCommand) -> bool:
    """Return whether a program runs on the CPU or on a device that is not a GPU.

    Its job, launcher, arguments or variables decide that.
    """
    stated = _read_request(program)
    asked = slurm.gpus_per_node(stated)
    if asked is not None:
        return asked.value == 0
    if any(OTHER_DEVICE.match(f"{name}={argument.text}") for name, argument in program.environment.items()):
        return True
    if any((word := program.environment.get(name)) is not None and word.text in ("", "-1") for name in VISIBLE):
        return True
    words = [word.text or "" for word in program.words]
    ranks_of_cpu = any((word := step.last("processes_per_pod")) and word.text == "cpu" for step in program.launch.steps)
    kept_off = (
        any(step.stated.get("cpu") for step in program.launch.steps)
        or ranks_of_cpu
        or bool(ON_CPU & {*words, *map("=".join, pairwise(words))})
    )
    queues = (stated[name].text or "" for name in ("partition", "qos", "account") if name in stated)
    return kept_off or any(CPU_QUEUE.search(queue) for queue in queues)


def _read_request(program: StartedCommand) -> dict[str, Argument]:
    """Return what the job requests, overridden by the step that starts the program."""
    stated = dict(_select_component(program)) if program.job else {}
    for step in program.launch.steps:
        if step.launcher == "srun":
            own = {name: words[-1] for name, words in step.stated.items() if not _is_repeated(words[-1], name, stated)}
            if {"gpus_per_node", "gres", "gpus", "gpus_per_task"} & own.keys():
                stated = {name: word for name, word in stated.items() if name not in ("gpus_per_node", "gres", "gpus")}
            if {"ntasks", "ntasks_per_node"} & own.keys():
                stated.pop("ntasks", None)
                stated.pop("ntasks_per_node", None)
            stated |= own
    return stated


def _select_component(program: StartedCommand) -> Mapping[str, Argument]:
    """Return the component of a heterogeneous job that a step starts in.

    That is the first, unless the step names another.
    """
    components = program.job.components if program.job else ({},)
    named = (step.last("het_group") for step in reversed(program.launch.steps) if step.launcher == "srun")
    word = next((word for word in named if word is not None), None)
    number = int(word.text) if word is not None and word.text and word.text.isdecimal() else 0
    return components[number] if number < len(components) else components[0]


def _is_repeated(word: Argument, quantity: str, stated: Mapping[str, Argument]) -> bool:
    """Return whether a step only repeats a request of its job, by a Slurm variable."""
    return word.text is None and programs_processes.category(word) == "platform variable" and quantity in stated


# ---- nodes


def _resolve_nodes(program: StartedCommand, stated: Mapping[str, Argument], fields: Mapping[str, Field]) -> Field:
    """Return the nodes of the job if there is one, else those that the launcher is given."""
    launcher_nodes = fields.get("pods_per_replica")
    if program.job is not None or ASKS & stated.keys():
        asked = slurm.nodes(stated)
        if asked.basis == "open" and _runs_on_first_node(program):
            return Field(1, source="a batch script runs on the first node of its job", basis="default")
        if not isinstance(asked.value, Unknown) or launcher_nodes is None or isinstance(launcher_nodes.value, Unknown):
            return asked
    if launcher_nodes is not None:
        return launcher_nodes
    if submitter := next((step for step in program.launch.steps if step.launcher == launchers.SUBMITTER), None):
        unknown = Unknown("the program that submits the job decides the number of nodes", "own program")
        counted = submitter.last("nodes")
        return (
            Field(unknown, programs_processes.origins(counted))
            if counted and counted.text != "1"
            else Field(1, source="one machine unless stated otherwise", basis="open")
        )
    inner = next((step for step in reversed(program.launch.steps) if step.launcher in programs_processes.RANKED), None)
    if inner is None and (around := _resolve_outer_nodes(program)) is not None:
        return around
    if inner is None:
        return Field(1, source="one machine unless stated otherwise", basis="open")
    if inner.launcher == "torchrun":
        return Field(1, source="default of torchrun")
    if inner.launcher in ALONE and not {"hostfile", "config_file"} & inner.stated.keys() and inner.open_ended is None:
        return Field(1, source=f"default of {inner.launcher}")
    local = inner.launcher in ("mpirun", "horovodrun") and not {"hostfile", "hosts"} & inner.stated.keys()
    if local:
        return Field(1, source="one machine where no hosts are named")
    return Field(Unknown("the hosts are named elsewhere", MACHINE), programs_processes.origins(inner.word))


def _runs_on_first_node(program: StartedCommand) -> bool:
    """Return whether a batch script starts a program itself, and names nothing that starts it on further nodes."""
    words = program.words
    return program.job is not None and bool(words) and not SPREADS.search(words[0].origin.document.text)


def _resolve_outer_nodes(program: StartedCommand) -> Field | None:
    """Return the nodes of a program without a launcher.

    The Ray cluster decides them, or the job that starts the whole script.
    """
    if (
        submitted := next((step for step in program.launch.steps if step.launcher == "ray job submit"), None)
    ) is not None:
        return Field(
            Unknown("the Ray cluster decides the number of nodes", MACHINE), programs_processes.origins(submitted.word)
        )
    if program.words and slurm.MULTI_NODE.search(program.words[0].origin.document.text):
        why = Unknown("the job that runs the script decides the number of nodes", "platform variable")
        return Field(why, programs_processes.origins(program.words[0]))
    return None


def _count_replicas(stated: Mapping[str, Argument]) -> Field:
    """Return the number of tasks of a job array, or one without an array."""
    if "array" not in stated:
        return Field(1, source="one job unless it is an array")
    word = stated["array"]
    parts = [ARRAY.fullmatch(part) for part in (word.text or "").partition("%")[0].split(",")]
    if not all(parts):
        return Field(
            Unknown(word.why or f"{word.text} is not a job array", programs_processes.category(word)),
            programs_processes.origins(word),
        )
    ends = ((int(part[1]), int(part[2] or part[1]), max(1, int(part[3] or 1))) for part in parts if part)
    sizes = (max(0, (last - first) // step + 1) for first, last, step in ends)
    return Field(sum(sizes), programs_processes.origins(word))


# ---- GPUs


def _resolve_gpus_per_node(
    program: StartedCommand, stated: Mapping[str, Argument], fields: Mapping[str, Field], anchor: Origin
) -> Field:
    """Return the GPUs per node: the requested, else the visible ones, else one per process."""
    if (asked := slurm.gpus_per_node(stated)) is not None:
        return asked
    if isinstance((contained := _read_container(program).get("gpus_per_pod", Field(None))).value, int):
        return contained
    if (visible := fields.get("visible_devices")) is not None:
        return visible
    if contained.value is not None:
        return contained
    if program.job is not None and (of_nccl := _infer_gpu_per_rank(program, stated)) is not None:
        return of_nccl
    if program.job is not None:
        why = "the partition decides how many GPUs a node has"
        deciding = next(
            (stated[name] for name in ("exclusive", "partition", "constraint") if name in stated), program.job.first
        )
        return Field(Unknown(why, MACHINE), programs_processes.origins(deciding))
    if program.cluster is not None:
        return programs_processes.number(program.cluster)
    processes = fields.get("processes_per_pod")
    launched = any(step.launcher in TRAINERS for step in program.launch.steps)
    if processes is not None and launched and not _exceeds_node(processes):
        return processes
    return Field(Unknown("the GPU count depends on the machine that runs the script", MACHINE), (anchor,))


def _infer_gpu_per_rank(program: StartedCommand, stated: Mapping[str, Argument]) -> Field | None:
    """Return one GPU per task of a Slurm step that uses NCCL.

    NCCL does not accept two ranks on one GPU.
    """
    starts = [step.launcher for step in program.launch.steps if step.launcher in programs_processes.RANKED]
    if starts != ["srun"] or "ntasks_per_node" not in stated or not any(map(FOR_NCCL.fullmatch, program.environment)):
        return None
    tasks = programs_processes.number(stated["ntasks_per_node"])
    return tasks if isinstance(tasks.value, int) and not _exceeds_node(tasks) else None


def _exceeds_node(processes: Field) -> bool:
    """Return whether there are more processes than a node has GPUs."""
    return isinstance(processes.value, int) and processes.value > NODE_GPUS_MAX


def _read_job_gpus(program: StartedCommand, stated: Mapping[str, Argument]) -> Field | None:
    """Return the GPUs of the whole job if they are stated as such."""
    per_node = {"gpus_per_node", "gres", "gpus_per_task"} & stated.keys()
    return slurm.gpus(stated) if "gpus" in stated and not per_node else None


def _read_container(program: StartedCommand) -> dict[str, Field]:
    step = next((step for step in reversed(program.launch.steps) if step.launcher in CONTAINERS), None)
    return docker_run.fields(step, program.environment) if step is not None else {}


def _count_visible(environment: Mapping[str, Argument]) -> dict[str, Field]:
    for name in VISIBLE:
        stated = environment.get(name)
        if stated is not None and LISTED.fullmatch(stated.text or ""):
            return {
                "visible_devices": Field(
                    len((stated.text or "").strip(",").split(",")), programs_processes.origins(stated)
                )
            }
    return {}


# ---- processes


def _resolve_processes(
    program: StartedCommand, stated: Mapping[str, Argument], fields: Mapping[str, Field]
) -> dict[str, Field]:
    """Return the ranks per node: those of the launcher, times the tasks that Slurm starts.

    The launcher's values `gpu` and `auto` mean one process per GPU.
    """
    steps = [step for step in program.launch.steps if step.launcher in programs_processes.RANKED]
    inner = steps[-1].launcher if steps else ""
    if inner == "srun":
        return {"processes_per_pod": slurm.tasks_per_node(stated)}
    launched = fields.get("processes_per_pod")
    if launched is None:
        return {}
    gpus = fields["gpus_per_pod"]
    one_per_gpu = isinstance(launched.value, Unknown) and launched.value.category == MACHINE and inner in TRAINERS
    if one_per_gpu and isinstance(gpus.value, int):
        return {"processes_per_pod": Field(gpus.value, (*launched.origins, *gpus.origins))}
    if any(step.launcher == "srun" for step in steps):
        tasks = slurm.tasks_per_node(stated)
        return {"processes_per_pod": replica.product(launched, tasks) if tasks.value != 1 else launched}
    return {"processes_per_pod": launched}


def _divide_processes(program: StartedCommand, fields: Mapping[str, Field], nodes: Field) -> dict[str, Field]:
    """Divide the processes over the nodes if the launcher states their total."""
    step = next((step for step in reversed(program.launch.steps) if step.launcher in programs_processes.RANKED), None)
    if step is None or {"ntasks_per_node", "map_by"} & step.stated.keys() or "processes_per_pod" not in fields:
        return {}
    whole = programs_processes.total(step)
    return {} if whole is None else {"processes_per_pod": programs_processes.divide_processes(whole, nodes)}


def _read_accelerate(program: StartedCommand, document: Document, repository: Repository) -> dict[str, Field]:
    """Read the options and the file of `accelerate launch`."""
    step = next((step for step in program.launch.steps if step.launcher == "accelerate"), None)
    if step is None:
        return {}
    from gpulint.adapters.trainers import accelerate_launch

    find = functools.partial(_find_document, document=document, repository=repository)
    named = step.last("config_file")
    config = find(named.text) if named is not None and named.text else None
    fields = accelerate_launch.fields(step, find)
    return fields if config is None else {**fields, **accelerate_launch.counts(step, config)}


def _find_document(name: str, document: Document, repository: Repository) -> Document | None:
    """Return a file that a script names, from its folder or from one above.

    Commands are often run from a folder above the script.
    """
    if name.startswith(("/", "~")):
        return None
    folder = posixpath.dirname(document.path)
    for _ in range(FOLDERS_MAX):
        path = posixpath.normpath(posixpath.join(folder, name))
        if repository.read(path) is not None:
            loaded = repository.read_documents(path)
            return loaded[0] if len(loaded) == 1 and loaded[0].format != "shell" else None
        folder = posixpath.dirname(folder)
    return None


# ---- the host


def _read_host(stated: Mapping[str, Argument]) -> dict[str, Field]:
    """Return the host memory and cores that a job requests per node.

    `--mem=0` requests all memory of the node.
    """
    fields: dict[str, Field] = {}
    if (word := stated.get("mem")) is not None and (
        match := re.fullmatch(r"([1-9]\d*)([KMGT]?)B?", word.text or "", re.IGNORECASE)
    ):
        scale = {"K": units.KIB, "": units.MIB, "M": units.MIB, "G": units.GIB, "T": units.KIB * units.GIB}[
            match[2].upper()
        ]
        fields["host_memory_bytes"] = Field(int(match[1]) * scale, programs_processes.origins(word))
    if (word := stated.get("cpus_per_task")) is not None:
        cores = replica.product(programs_processes.number(word), slurm.tasks_per_node(stated))
        if isinstance(cores.value, int):
            fields["cpu_cores"] = Field(cores.value, programs_processes.origins(word))
    return fields
