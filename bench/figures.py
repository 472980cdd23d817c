"""A measured figure beside ours: what both programs of measured speeds share."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from gpulint import units
from gpulint.catalog.architecture import Resolution
from gpulint.facts import resolver
from gpulint.facts.model import Facts, Missing
from gpulint.source import documents
from gpulint.workload import Field, Origin, Role

Fields = dict[str, object]
Case = Mapping[str, object]
Values = tuple[float, float, float] | str
NOWHERE = Origin(documents.load("nowhere.yaml", b"{}").documents[0], ())


SETTINGS: tuple[tuple[str, str], ...] = (
    (r"\bseq(?:_?len(?:gth)?)?[\s=:]*(\d+)", "sequence_length"),
    (r"\btp[\s=:]*(\d+)", "tensor_parallel"),
    (r"\bpp[\s=:]*(\d+)", "pipeline_parallel"),
    (r"\bcp[\s=:]*(\d+)", "context_parallel"),
    (r"\bep[\s=:]*(\d+)", "expert_parallel_size"),
    (r"\bvp[\s=:]*(\d+)", "virtual_stages"),
    (r"\b(?:mbs|micro_batch(?:_size)?|batch)[\s=:]*(\d+)", "micro_batch_size"),
    (r"\b(?:gbs|global_batch(?:_size)?)[\s=:]*(\d+)", "global_batch_size"),
    (r"\b(?:ga|grad_accum)[\s=:]*(\d+)", "gradient_accumulation_steps"),
    (r"\bzero[\s=:_-]*(\d)", "zero_stage"),
)
"""Settings as people abbreviate them → ours."""


class Asked(NamedTuple):
    """One measured figure: what we say of it, smallest first, or what is missing; and the most (of a time, the
    least) that physics allows."""

    name: str
    measured: float
    values: Callable[[], Values]
    bound: Callable[[], float | None]
    time: bool = False


def known(fields: Mapping[str, object], resolved: Resolution | None) -> Facts:
    stated = {name: Field(value) for name, value in fields.items() if value is not None}  # type: ignore[arg-type]
    if resolved is not None and resolved.architecture is not None:
        stated["checkpoint"] = Field(resolved.architecture.id)
    return resolver.resolve(Role("case", NOWHERE, stated), resolved)


def config(case: Case) -> Mapping[str, object]:
    config = case.get("config")
    return config if isinstance(config, Mapping) else {}


def measured(case: Case, name: str) -> float | None:
    measured = case["measured"]
    value = measured.get(name) if isinstance(measured, Mapping) else None
    return float(value) if isinstance(value, int | float) else None


def ranks(count: int) -> Fields:
    return {"gpus_per_replica": count, "gpus_per_pod": count, "pods_per_replica": 1}


def payload(text: str) -> float | None:
    """ "4GiB", "4G" or a number of bytes."""
    stated = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmg]?)i?b?\s*", text.lower())
    sizes = {"": 1, "k": units.KIB, "m": units.MIB, "g": units.GIB}
    return float(stated[1]) * sizes[stated[2]] if stated else None


def of(known: Facts, fact: str, scale: float) -> Callable[[], Values]:
    """A fact in three scenarios, smallest first."""

    def values() -> Values:
        found = known.scenarios(fact)
        if isinstance(found, Missing):
            return ", ".join(sorted(found.names))
        return ordered([float(one) for one in found], scale)  # type: ignore[arg-type]

    return values


def scaled(known: Facts, fact: str, scale: float) -> Callable[[], float | None]:
    def bound() -> float | None:
        found = known.expected(fact)
        return float(found) / scale if isinstance(found, int | float) else None

    return bound


def ordered(values: list[float], scale: float) -> tuple[float, float, float]:
    low, high = sorted((values[0], values[2]))
    return low / scale, values[1] / scale, high / scale


def settings(said: str) -> Fields:
    """The settings that the words of a case state."""
    found: Fields = {}
    for pattern, name in SETTINGS:
        if stated := re.search(pattern, said):
            found[name] = int(stated[1])
    return found
