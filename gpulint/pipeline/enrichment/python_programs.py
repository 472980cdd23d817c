"""Python programs: the settings that a script of the repository gives the engine or trainer that it starts.

Hardware and GPU counts stay with whatever starts the program.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace

from gpulint import engines
from gpulint.adapters.programs import replica
from gpulint.engines.trainers import vocabulary
from gpulint.source.repository import Repository
from gpulint.workload import Field, Role, Unknown, Workload

COUNTS = frozenset(
    {"gpus_per_pod", "gpus_per_replica", "pods_per_replica", "replicas", "processes_per_pod", "accelerator"}
)
MEGATRON = "megatron-lm"
OWN = "own program"
IMPORTS = re.compile(
    rb"(?m)^[ \t]*(?:import|from)[ \t]+(?:transformers|vllm|sglang|lmdeploy|tensorrt|tensorrt_llm|llama_cpp|trl|unsloth|diffusers"
    rb"|peft|jax|flax|tensorflow|keras|cupy|cudf|cuml|numba|whisper|faster_whisper|deepspeed|accelerate|lightning|pytorch_lightning"
    rb"|modal|ray|composer|torchtune|torchtitan|megatron|nemo|exllamav2|ctransformers|ctranslate2|sentence_transformers|ultralytics"
    rb"|onnxruntime|triton|bitsandbytes)\b"
)
"""Imports of packages that may compute on GPUs."""
TORCH = re.compile(rb"(?m)^[ \t]*(?:import|from)[ \t]+torch")
"""An import of PyTorch; a module that only sets its seeds has one too."""
GENERAL = frozenset({"transformers", "trl", "deepspeed"})
"""Trainers whose arguments a program of somebody's own may take."""


def merge_programs(workload: Workload, repository: Repository) -> Workload:
    """Return a workload with what the Python programs of its roles compute."""
    if not any(_is_open(role) for role in workload.roles):
        return workload
    roles = tuple(_merge(role, workload, repository) if _is_open(role) else role for role in workload.roles)
    if len(roles) > 1 and any(role.text("engine") for role in roles):
        roles = tuple(role for role in roles if not _computes_nothing(role, workload, repository))
    if roles == workload.roles:
        return workload
    return replace(workload, roles=roles, kind=_find_kind(workload, roles))


def _is_open(role: Role) -> bool:
    """Return whether a program of the role's own decides what it computes."""
    engine = role.text("engine")
    if role.command is None:
        return False
    if engine == MEGATRON:
        return any(vocabulary.is_deferred(field) for field in role.fields.values())
    return not engine or engine in GENERAL or not engines.find_purpose(engine)


def _computes_nothing(role: Role, workload: Workload, repository: Repository) -> bool:
    """Return whether a role is a program of the repository that imports nothing for GPUs, such as a server's client."""
    from gpulint.adapters.programs import python_program
    from gpulint.adapters.python import locate

    started = python_program.find(role.command.words) if role.command is not None else None
    if started is None or role.text("engine") or "checkpoint" in role.fields:
        return False
    path = locate.find(started, workload.document.path, repository)
    content = repository.read(path) if path is not None else None
    if path is None or content is None:
        return False
    imported = (repository.read(other) or b"" for other in repository.list_imported(path))
    return TORCH.search(content) is None and not any(IMPORTS.search(text) for text in (content, *imported))


def _merge(role: Role, workload: Workload, repository: Repository) -> Role:
    from gpulint.adapters.python import own_files
    from gpulint.adapters.python import reading as python_reading

    if role.command is None:
        return role
    near = workload.document.path
    found = python_reading.read(role.command, near, repository)
    if found is None and not role.text("engine"):
        found = own_files.read(role.command, near, repository)
    if found is None:
        return role
    return settle(role, found.fields, found.open_ended)


def settle(role: Role, found: Mapping[str, Field], open_ended: str = "") -> Role:
    """Return a role with the fields of its program; what its command states itself holds all the same."""
    from gpulint.adapters.python import training

    own = {name: field for name, field in found.items() if name not in COUNTS}
    is_whole = "engine" in own and not open_ended
    stated = {
        name: field
        for name, field in role.fields.items()
        if (name not in own and not (is_whole and _is_left(name, field, role)))
        or (name in own and name not in ("engine", "program", "task") and _is_stated(field))
    }
    if own.get("engine", Field(None)).value == MEGATRON:
        stated = {name: field for name, field in stated.items() if not vocabulary.is_deferred(field)}
    fields = {**own, **stated}
    if "engine" in own:
        fields.pop("program", None)
    elif role.text("engine"):
        fields["engine"] = role.fields["engine"]
    fields |= training.choose_half(fields)
    gpus = fields.get("gpus_per_pod")
    if (
        fields.get("spills", Field(None)).value is True
        and gpus is not None
        and isinstance(gpus.value, int)
        and gpus.value > 1
    ):
        fields.setdefault("pipeline_parallel", Field(gpus.value, gpus.origins, source="device_map spreads the layers"))
    fields |= _count_ranks(fields)
    if "pods_per_replica" in fields and gpus is not None:
        fields.setdefault("gpus_per_replica", replica.product(gpus, fields["pods_per_replica"]))
    return replace(role, fields=fields, open_ended=open_ended)


def _count_ranks(fields: Mapping[str, Field]) -> dict[str, Field]:
    """Return the GPUs of a server that a program places itself: one for each rank."""
    placed, engine = fields.get("gpus_per_replica", Field(None)).value, fields.get("engine")
    if not isinstance(placed, Unknown) or placed.category != "own program" or engine is None:
        return {}
    sizes = [fields.get(name, Field(1)).value for name in ("tensor_parallel", "pipeline_parallel")]
    if engines.find_purpose(str(engine.value)) != "inference" or not all(isinstance(size, int) for size in sizes):
        return {}
    ranks = math.prod(size for size in sizes if isinstance(size, int))
    return {"gpus_per_replica": Field(ranks, engine.origins, source="one GPU for each rank of the engine")}


def _is_left(name: str, field: Field, role: Role) -> bool:
    """Return whether a command leaves a value to its program. DeepSpeed's launcher only starts processes."""
    by_launcher = name == "sharding" and role.text("launcher") == "deepspeed" and isinstance(field.value, Unknown)
    return by_launcher or vocabulary.is_deferred(field)


def _is_stated(field: Field) -> bool:
    """Return whether a command states a value; one that its launcher leaves to something else is the program's."""
    return bool(field.origins) and not isinstance(field.value, Unknown)


def _find_kind(workload: Workload, roles: tuple[Role, ...]) -> str:
    """Return what a workload does: a Job whose program runs a server's engine on a list of prompts trains nothing."""
    if any(engines.is_training(role) for role in roles):
        return "training" if workload.kind in ("unknown", "") else workload.kind
    changed = [role for role in roles if role not in workload.roles]
    serves = any((role.text("task") or engines.find_purpose(role.text("engine"))) == "inference" for role in changed)
    if serves or (workload.kind in ("unknown", "") and any(role.text("engine") for role in roles)):
        return "inference"
    return workload.kind
