"""MCLI: a run of the MosaicML platform: its GPUs, its command, and the parameters that it writes for LLM-Foundry.

docs.mosaicml.com/projects/mcli, "Run schema": the platform mounts `parameters` as the file that the command names.
"""

from __future__ import annotations

import functools
import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import replace

from gpulint.adapters import trainers
from gpulint.adapters.claim import Claim
from gpulint.adapters.platforms import task
from gpulint.adapters.programs import container_command, file_stem, nccl_variables, replica, slurm
from gpulint.adapters.trainers import llm_foundry, settings_file
from gpulint.engines import Argument, Invocation
from gpulint.source.documents import Document, Path
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Role, Unknown, Workload

MENTIONS = ("integration_type", "gpu_type", "gpu_num", "compute:")
TRIGGERS = ("gpu_type:", "gpu_num:", "integration_type:")
READS = ("plain",)
CLAIMS = ("shape",)

COUNTS: tuple[Path, ...] = (("compute", "gpus"), ("gpu_num",))
TYPES: tuple[Path, ...] = (("compute", "gpu_type"), ("gpu_type",))
NODES: Path = ("compute", "nodes")
PARAMETERS: Path = ("parameters",)
COMMAND: Path = ("command",)
NODE_GPUS = 8
USUAL = "the nodes are assumed to have 8 GPUs each, as those of the platform have"


def claims(document: Document) -> Claim:
    """Claim a command on counted GPUs of the platform, with its image or its integrations."""
    data = document.data
    if not isinstance(data, dict) or not isinstance(document.get(COMMAND), str):
        return Claim.NONE
    counted = any(document.get(path) is not None for path in (*COUNTS, NODES))
    return Claim.SHAPE.where(counted and {"image", "integrations", "parameters"} & data.keys())


def kind(document: Document) -> str:
    return "MCLI run"


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    """Yield the run: of LLM-Foundry if the parameters are its configuration, else of what the command starts."""
    counts = _read_counts(document)
    if counts["gpus_per_replica"].value == 0:
        return
    name = document.get(("name",))
    label = str(name) if isinstance(name, str) else file_stem.find_stem(document.path)
    inner = _find_configuration(document)
    if inner is not None:
        run = trainers.workload(llm_foundry, inner, repository)
        roles = tuple(replace(role.having(**counts), name=label) for role in run.roles)
        yield replace(run, name=label, adapter="mcli", document=document, roles=roles)
        return
    find = functools.partial(settings_file.find_in_parents, repository, posixpath.dirname(document.path))
    invocations = [settings_file.expand(invocation, find) for invocation in _list_invocations(document)]
    readings = task.read(invocations, find)
    program = {} if readings else task.program(invocations, Origin(document, COMMAND))
    fields = {**counts, **program, **nccl_variables.fields(_read_environment(document))}
    found: tuple[Role, ...] = tuple(task.roles(label, Origin(document, COMMAND), fields, readings, invocations))
    yield Workload(label, task.purpose(found), "mcli", document, (), found)


def _find_configuration(document: Document) -> Document | None:
    """Return the parameters as a document of the file, if they are a configuration of LLM-Foundry."""
    node = document.node(PARAMETERS)
    if node is None or not isinstance(document.get(PARAMETERS), dict):
        return None
    inner = Document(document.path, document.index, document.text, node, document.format)
    return inner if llm_foundry.claims(inner) else None


# ---- what it runs on


def _read_counts(document: Document) -> dict[str, Field]:
    """Return the GPUs of a run and their nodes; more than eight GPUs are assumed to be in nodes of eight."""
    place = next((Origin(document, path) for path in COUNTS if document.get(path) is not None), None)
    nodes = Origin(document, NODES)
    stated = document.get(place.path) if place is not None else None
    left = Unknown("the platform decides how many GPUs a node has", "queue or partition")
    fields = {"replicas": Field(1, source="one run"), **_read_accelerator(document)}
    if place is None or not isinstance(stated, int) or isinstance(stated, bool):
        count = document.get(NODES)
        pods = Field(count, (nodes,)) if isinstance(count, int) else Field(left, (nodes,))
        unknown = Field(left, (place or nodes,))
        return {**fields, "gpus_per_pod": unknown, "pods_per_replica": pods, "gpus_per_replica": unknown}
    whole = Field(stated, (place,))
    if stated <= NODE_GPUS:
        return {**fields, "gpus_per_pod": whole, "pods_per_replica": Field(1, (place,)), "gpus_per_replica": whole}
    if stated % NODE_GPUS:
        unknown = Field(left, (place,))
        return {**fields, "gpus_per_pod": unknown, "pods_per_replica": unknown, "gpus_per_replica": whole}
    each = Field(NODE_GPUS, (place,), assumption=USUAL)
    pods = Field(stated // NODE_GPUS, (place,), assumption=USUAL)
    return {**fields, "gpus_per_pod": each, "pods_per_replica": pods, "gpus_per_replica": replica.product(each, pods)}


def _read_accelerator(document: Document) -> dict[str, Field]:
    place = next((Origin(document, path) for path in TYPES if isinstance(document.get(path), str)), None)
    if place is None:
        left = Unknown("the accelerator depends on the cluster of the platform", "queue or partition")
        return {"accelerator": Field(left, (Origin(document, ("compute",)),))}
    name = str(document.get(place.path))
    product = slurm.find_accelerator(name)
    return {"accelerator": Field(product or Unknown(f"the accelerator {name} is not known"), (place,))}


# ---- what it starts


def _list_invocations(document: Document) -> Iterator[Invocation]:
    text, origin = str(document.get(COMMAND)), Origin(document, COMMAND)
    script = container_command.Script(text, lambda start, end: origin._replace(span=(start, end)))
    named = document.get(("image",))
    image = Argument(named if isinstance(named, str) else None, Origin(document, ("image",)), "no image")
    yield from container_command.expand_script(image, script, _read_environment(document))


def _read_environment(document: Document) -> container_command.Environment:
    """Return the variables of a run: a mapping, or a list of names and values."""
    environment = container_command.Environment()
    stated = document.get(("env_variables",))
    entries: Mapping[str, Path] = {}
    if isinstance(stated, dict):
        entries = {str(name): ("env_variables", name) for name in stated}
    elif isinstance(stated, list):
        keys = [
            (item.get("key"), ("env_variables", at, "value"))
            for at, item in enumerate(stated)
            if isinstance(item, dict)
        ]
        entries = {str(key): path for key, path in keys if key}
    for name, path in entries.items():
        value = document.get(path)
        if isinstance(value, str | int | float):
            environment[name] = Argument(str(value), Origin(document, path))
    return environment
