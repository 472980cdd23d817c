"""Produced checkpoint: the release behind a local folder of weights that another file of the repository writes.

A program loads `models/own`, and a script downloads it there, merges it there, or quantises it. Paths are compared as they
are written: the same, one the end of the other, or a file below a folder. Several files that disagree decide nothing.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from gpulint import engines
from gpulint.adapters.weights import produced
from gpulint.adapters.weights.produced import ENDING, SAME, Produced
from gpulint.catalog import architecture
from gpulint.catalog.architecture import gguf_names
from gpulint.facts import checkpoints
from gpulint.source.repository import Repository
from gpulint.workload import Field, Role, Unknown, Workload

CHAIN_MAX = 5
"""How many files may lie between a download and what is loaded: a merge, a quantiser, a converter."""
PATHS_MAX = 200
HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]*\w")
GGUF = frozenset({"llama.cpp", "ollama", "ctransformers"})


class Link(NamedTuple):
    """The files that write a folder, the nearest first to what loads it, and the release that they begin with."""

    steps: tuple[Produced, ...]
    reference: str

    @property
    def quantization(self) -> str | None:
        """Return the number format of what is loaded: that of the last step which sets one."""
        return next((step.quantization for step in self.steps if step.quantization is not None), None)

    @property
    def is_assumed(self) -> bool:
        """Return whether only an example says so."""
        return any(step.is_assumed for step in self.steps)


def merge_produced(workload: Workload, repository: Repository) -> Workload:
    """Return a workload whose local weights are named by the release that other files make them from."""
    if not any(_is_open(role, workload, repository) for role in workload.roles):
        return workload
    roles = (
        _merge(role, workload, repository) if _is_open(role, workload, repository) else role for role in workload.roles
    )
    return replace(workload, roles=tuple(roles))


def _merge(role: Role, workload: Workload, repository: Repository) -> Role:
    link = find(role, workload, repository)
    return role if link is None or link.is_assumed else apply(role, link)


def find(role: Role, workload: Workload, repository: Repository) -> Link | None:
    """Return how the files of the repository make the weights that a role loads; None if that is not known."""
    if not _is_open(role, workload, repository):
        return None
    from gpulint.adapters.weights import index

    known = index.list_produced(workload.document.path, repository)
    for path in _list_paths(role):
        link = _follow(path, workload.document.path, known, engines.find_purpose(role.text("engine")) == "inference")
        if link is not None and _is_better(link.reference):
            return link
    return None


def _is_open(role: Role, workload: Workload, repository: Repository) -> bool:
    """Return whether a role loads weights whose network is not known, from a place that may be a folder."""
    if role.text("part_of") or role.value("gpus_per_pod") == 0:
        return False
    value = role.value("checkpoint")
    if isinstance(value, Unknown):
        return value.category == "local path"
    if not isinstance(value, str) or "://" in value or len(value) > PATHS_MAX:
        return False
    if architecture.resolve(value).how == "catalog":
        return False
    resolved = checkpoints.resolve(role, workload.document.path, repository, None)
    return resolved is None or resolved.architecture is None or not resolved.architecture.is_known


def _list_paths(role: Role) -> Iterator[str]:
    """Yield the paths that a role may load its weights from: as its field states it, and as the file writes it."""
    field = role.fields["checkpoint"]
    if isinstance(field.value, str):
        yield field.value
    for origin in field.origins[:1]:
        text = origin.text().strip().strip("\"'") if origin.span or origin.path else ""
        if text.lower().endswith(".gguf") and len(text) <= PATHS_MAX:
            yield text


def _is_better(reference: str) -> bool:
    """Return whether a reference says more than a path: a release of a hub, or one whose network is known."""
    if _is_release(reference):
        return True
    resolved = architecture.resolve(reference)
    return resolved.architecture is not None and resolved.architecture.is_known


def _is_release(reference: str) -> bool:
    """Return whether a text has the form of an id, and does not begin with the name of a folder."""
    return HUB_ID.fullmatch(reference) is not None and reference.partition("/")[0].lower() not in architecture.FOLDERS


# ---- from a path to a release


def _follow(path: str, near: str, known: Sequence[Produced], is_server: bool) -> Link | None:
    """Return the files that lead from a path to a release."""
    steps: list[Produced] = []
    seen = {path}
    while len(steps) < CHAIN_MAX:
        found = _choose(path, near, known, is_server)
        if found is None:
            break
        steps.append(found)
        path, near = found.reference, found.origin.document.path
        if path in seen:
            return None
        seen.add(path)
    return Link(tuple(steps), path) if steps else None


def _choose(path: str, near: str, known: Sequence[Produced], is_server: bool) -> Produced | None:
    """Return what writes a path; None if nothing does, or if several files disagree."""
    wanted = produced.split(path)
    rated: list[tuple[tuple[int, int, int, int], Produced]] = []
    for one in known:
        agreement, shared = produced.compare(wanted, produced.split(one.path), one)
        distance = _rate_nearness(near, one.origin.document.path)
        if not agreement or (agreement != SAME and _is_release(path)):
            continue
        telling = produced.is_telling(wanted.names[-shared:])
        if telling or distance >= BESIDE or (shared > 1 and agreement == SAME):
            rated.append(
                ((not (is_server and one.is_adapter), not one.is_assumed, min(agreement, ENDING), distance), one)
            )
    best = max((rank for rank, _ in rated), default=None)
    chosen = [one for rank, one in rated if rank == best]
    if len({(one.reference, one.quantization) for one in chosen}) != 1:
        return None
    return chosen[0]


OWN, SIBLING, BESIDE, ELSEWHERE = 3, 2, 1, 0
"""How near two files lie: one file, one folder, one below the other's folder, anywhere else."""


def _rate_nearness(near: str, other: str) -> int:
    if near == other:
        return OWN
    first, second = posixpath.dirname(near), posixpath.dirname(other)
    if first == second:
        return SIBLING
    return (
        BESIDE
        if f"{first}/".startswith(f"{second}/") or f"{second}/".startswith(f"{first}/") or "" in (first, second)
        else ELSEWHERE
    )


# ---- what a role loads then


def apply(role: Role, link: Link) -> Role:
    """Return a role with the release that its weights are made from, and the format in which they are stored."""
    before = role.fields["checkpoint"]
    weights = gguf_names.parse_repository(link.reference)
    is_gguf = bool(re.search(r"gguf", link.reference, re.IGNORECASE) and weights.checkpoint)
    reference = weights.checkpoint if is_gguf else link.reference
    origins = (*before.origins[:1], *(step.origin for step in reversed(link.steps)), *before.origins[1:])
    fields = {"checkpoint": Field(reference, origins, assumption=describe(role, link), basis="joined")}
    if link.quantization is None:
        return role.having(**fields)
    if is_gguf or link.quantization.startswith(("gguf-", "ggml-")) or role.text("engine") in GGUF:
        if not role.text("quantization"):
            fields["quantization"] = Field(link.quantization or None, (link.steps[0].origin,))
        return role.having(**fields)
    fields["checkpoint_quantization"] = Field(link.quantization or None, (link.steps[0].origin,))
    return role.having(**fields)


def describe(role: Role, link: Link) -> str:
    """Return the sentence that says where the weights come from."""
    path = next(_list_paths(role), "") or "the model"
    first = link.steps[0]
    line = first.origin.location().line
    kind = "adapters on " if first.is_adapter else ""
    through = f" from {first.reference}" if len(link.steps) > 1 else ""
    return f"{path} is {kind}{link.reference}: {first.how} in line {line} of {first.origin.document.path} writes it{through}"
