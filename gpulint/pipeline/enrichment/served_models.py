"""Served models: the vLLM model in the repository of models that a Triton server is started with."""

from __future__ import annotations

import itertools
from dataclasses import replace

from gpulint.adapters.platforms import triton
from gpulint.source.repository import Repository
from gpulint.workload import Field, Role, Workload

CONFIGURATION = r"config\.pbtxt"
MODELS_MAX = 100
ONLY = "Triton serves the model of {}, the only one of its repository of models"


def merge_served(workload: Workload, repository: Repository) -> Workload:
    """Return the workload with the engine and the model that its Triton server serves, if only one can be meant."""
    if workload.adapter == "triton" or not any(_is_open(role) for role in workload.roles):
        return workload
    found, path = _find_engine(workload.document.path, repository)
    if not found:
        return workload
    roles = tuple(_apply(role, found, path) if _is_open(role) else role for role in workload.roles)
    return replace(workload, roles=roles, kind="inference")


def _is_open(role: Role) -> bool:
    return role.text("engine") == "triton" and not role.text("checkpoint")


def _find_engine(near: str, repository: Repository) -> tuple[dict[str, Field], str]:
    """Return the fields of the one model of the nearest repository of models, and its path; empty unless it is for vLLM."""
    listed = repository.find_named(CONFIGURATION, near)[:MODELS_MAX]
    nearest = max((_count_shared(path, near) for path in listed), default=0)
    models = [path for path in listed if _count_shared(path, near) == nearest]
    if len(models) != 1:
        return {}, ""
    found = [triton.read_engine(document, repository) for document in repository.read_documents(models[0])]
    return (found[0], models[0]) if len(found) == 1 and "checkpoint" in found[0] else ({}, "")


def _count_shared(path: str, near: str) -> int:
    """Return how many folders two files have in common."""
    pairs = zip(path.split("/")[:-1], near.split("/")[:-1], strict=False)
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))


def _apply(role: Role, found: dict[str, Field], path: str) -> Role:
    """Return a role with its model; the release of the server is none of vLLM's."""
    said = role.image_assumption or ONLY.format(path)
    kept = {
        name: field for name, field in role.fields.items() if name not in ("engine", "engine_version", "checkpoint")
    }
    marked = {name: replace(field, assumption=said) for name, field in found.items()}
    return replace(role, fields={**marked, **kept}, open_ended="", image_assumption=said)
