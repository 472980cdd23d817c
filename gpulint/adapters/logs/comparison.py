"""Comparison: our terms beside a log's readings, and a role in which the readings stand instead of the terms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from gpulint import engines, units
from gpulint.adapters.logs import sglang
from gpulint.adapters.logs.reader import Log
from gpulint.adapters.logs.reading import Reading
from gpulint.catalog import tables as catalog
from gpulint.catalog.architecture import Resolved
from gpulint.facts import resolver as facts
from gpulint.facts.resolver import Facts, glossary
from gpulint.workload import Field, Role, Unknown, Value

NETWORK = frozenset({"engine", "checkpoint", "quantization", "weight_dtype", "tensor_parallel", "pipeline_parallel"})
PASS = NETWORK | {"engine_version", "accelerator", "max_num_batched_tokens", "max_num_seqs"}
RESTS_ON: Mapping[str, frozenset[str]] = {
    "loaded_bytes_per_gpu": NETWORK,
    "activation_bytes": PASS,
    "non_torch_bytes": PASS,
    "graph_bytes": PASS,
    "kv_needed_bytes": NETWORK | {"max_model_len", "kv_cache_dtype", "engine_version"},
    "device_memory_bytes": frozenset({"accelerator"}),
    "memory_budget_bytes": frozenset({"accelerator", "gpu_memory_utilization", "static_memory_fraction"}),
}
"""The conditions of the log's run that a reading rests on; any other reading rests on all of them."""
SAME_CARD = 0.03
"""Totals that are further apart are those of two products; drivers and error correction move them by less."""
UNSTATED = frozenset({"auto", "None"})


class Compared(NamedTuple):
    """A reading beside our term of that name: the ends of our interval around the likely value, and by how much it is off."""

    told: Reading
    unit: str
    low: float | None = None
    likely: float | None = None
    high: float | None = None

    @property
    def off(self) -> float | None:
        return None if self.likely is None else self.likely - self.told.number

    @property
    def inside(self) -> bool | None:
        """Whether the reading lies in our interval, to the precision that it is printed with."""
        if self.low is None or self.high is None:
            return None
        return self.low - self.told.precision <= self.told.number <= self.high + self.told.precision


class Evidence(NamedTuple):
    """What a log tells about a role: each reading beside our term, the conditions, and the role with the readings in it."""

    log: Log
    compared: tuple[Compared, ...]
    left_out: tuple[Reading, ...]
    adopted: tuple[Reading, ...]
    differing: tuple[tuple[Reading, Value], ...]
    role: Role


def of(role: Role, resolved: Resolved | None, log: Log) -> Evidence:
    """A role beside a log of it."""
    otherwise = tuple(_differing(role, log))
    another = any(told.name in ("engine", "checkpoint") for told, _ in otherwise)
    adopted = () if another else tuple(_adopted(role, resolved, log))
    run = role.having(**dict(_fields(adopted)))
    known = facts.of(run, resolved)
    differing = (*otherwise, *_other_card(known, log))
    other = {told.name for told, _ in differing}
    told = [one for one in _told(known, log) if one.name in glossary()]
    usable = [one for one in told if not other & (RESTS_ON.get(one.name) or other)]
    compared = tuple(_compared(one, known) for one in usable)
    pinned = {one.name: Field(_pin(one), source=f"the log, {one.place}") for one in usable if _pinnable(one)}
    left_out = tuple(one for one in told if one not in usable)
    return Evidence(log, compared, left_out, adopted, differing, run.having(**pinned))


# ---- the run's conditions


def _adopted(role: Role, resolved: Resolved | None, log: Log) -> Iterator[Reading]:
    """Conditions of the run that the role leaves open."""
    shape = resolved.architecture if resolved else None
    quantised = shape is not None and shape.checkpoint_quantization is not None
    for one in log.conditions.values():
        stated = role.value(one.name)
        if _says_nothing(one) or one.name == "checkpoint" or (one.name == "quantization" and quantised):
            continue
        if stated is None or isinstance(stated, Unknown):
            yield one


def _says_nothing(told: Reading) -> bool:
    """Whether the value stands for a default, or for no limit."""
    return told.value in UNSTATED or (isinstance(told.value, float) and told.value <= 0)


def _fields(adopted: Sequence[Reading]) -> Iterator[tuple[str, Field]]:
    for one in adopted:
        yield one.name, Field(_whole(one), source=f"the log, {one.place}")
        if one.name == "max_model_len":
            yield "max_model_len_stated", Field(True)
            yield "max_model_len_fitted", Field(False)


def _differing(role: Role, log: Log) -> Iterator[tuple[Reading, Value]]:
    """Conditions of the run that the role states otherwise."""
    engine = role.text("engine")
    trains = role.text("task") == "training" or engines.purpose(engine) == "training"
    if (trains if log.engine != "trainer" else not trains) or (not trains and engine not in ("", log.engine)):
        yield Reading("engine", log.engine, 0.0, ()), engine or None
    for one in log.conditions.values():
        stated = role.value(one.name)
        if stated is None or isinstance(stated, Unknown) or _says_nothing(one):
            continue
        if not _same(one, stated):
            yield one, stated


def _same(told: Reading, stated: Value) -> bool:
    if told.name == "engine_version":
        release, other = catalog.release(str(told.value)) or (), catalog.release(str(stated)) or ()
        shorter = min(len(release), len(other))
        return release[:shorter] == other[:shorter]
    if told.name == "checkpoint":
        return str(told.value).lower() == str(stated).lower() or _local(str(told.value)) or _local(str(stated))
    if isinstance(stated, int | float) and isinstance(told.value, float):
        return abs(stated - told.value) <= 0.005 * abs(told.value)
    return str(stated).lower() == str(told.value).lower()


def _local(reference: str) -> bool:
    """Whether a reference names a place, which tells nothing of the network in it."""
    return reference.startswith(("/", ".", "~")) or "://" in reference or reference.count("/") != 1


def _other_card(known: Facts, log: Log) -> Iterator[tuple[Reading, Value]]:
    told, ours = log.readings.get("device_memory_bytes"), known.likely("device_memory_bytes")
    if told is None or not isinstance(ours, int | float):
        return
    if abs(told.number - ours) > SAME_CARD * ours:
        yield told._replace(name="accelerator"), ours


# ---- the readings


def _told(known: Facts, log: Log) -> Iterator[Reading]:
    yield from log.readings.values()
    card = known.likely("device_memory_bytes")
    if log.engine == "sglang" and isinstance(card, int | float):
        yield from sglang.taken_before(log.readings, card)


def _compared(told: Reading, known: Facts) -> Compared:
    unit, ours = glossary()[told.name].unit, known.likely(told.name)
    if isinstance(ours, bool) or not isinstance(ours, int | float):
        return Compared(told, unit)
    low, high = known.ends(told.name) or (ours, ours)
    return Compared(told, unit, _number(low), float(ours), _number(high))


def _number(value: Value) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _pinnable(told: Reading) -> bool:
    """Memory that capturing freed counts as none; any other negative figure is no amount."""
    return told.name == "graph_bytes" or 0 <= told.number <= facts.LARGEST


def _pin(told: Reading) -> Value:
    return max(0, round(told.number)) if glossary()[told.name].unit in ("bytes", "tokens") else told.number


def _whole(told: Reading) -> Value:
    return int(told.value) if isinstance(told.value, float) and told.value.is_integer() else told.value


# ---- in words


HEAD = ("beside the log", "low", "likely", "high", "the log", "ours is off by", "", "where")


def cells(evidence: Evidence) -> list[tuple[str, ...]]:
    """The comparison as rows of a table with its head."""
    rows = [_cells(one) for one in evidence.compared]
    return [HEAD, *rows] if rows else [("nothing of the log is compared",)]


def _cells(one: Compared) -> tuple[str, ...]:
    ours = [units.human(value, one.unit) if value is not None else "?" for value in (one.low, one.likely, one.high)]
    where = {None: "", True: "inside", False: "outside"}[one.inside]
    return (one.told.name, *ours, units.human(one.told.value, one.unit), _off(one), where, one.told.place)


def _off(one: Compared) -> str:
    if one.off is None:
        return "?"
    if abs(one.off) <= one.told.precision:
        return "nothing"
    share = f" ({one.off / one.told.number:+.1%})" if one.told.number else ""
    return ("+" if one.off > 0 else "") + units.human(one.off, one.unit) + share


def sentences(evidence: Evidence) -> Iterator[str]:
    """What else the log tells: the rank, the conditions, and where it says that the run failed."""
    log = evidence.log
    if log.ranks:
        shown = ", ".join(log.ranks[:8]) + (", …" if len(log.ranks) > 8 else "")
        yield f"ranks in the log: {shown}; the fullest is {log.rank or 'the process without a name'}"
    if log.cut:
        yield "the log is longer than what is read of it; its end was left out"
    if evidence.adopted:
        filled = [f"{one.name} {_shown(one, one.value)} ({one.place})" for one in evidence.adopted]
        yield f"from the log: {', '.join(filled)}"
    for told, ours in evidence.differing:
        yield f"differs: {told.name} is {_shown(told, told.value)} in the log, {_shown(told, ours)} here"
    if evidence.left_out:
        yield f"not compared, as the run differs: {', '.join(one.name for one in evidence.left_out)}"
    for line in log.failures[:3]:
        yield f"the log says that it failed: line {line.number}: {line.text[-200:]}"
    yield from _verdict(evidence.compared)


def _shown(told: Reading, value: Value) -> str:
    unit = "bytes" if told.name == "accelerator" else ""
    return units.human(value, unit)


def _verdict(compared: Sequence[Compared]) -> Iterator[str]:
    """Which term is off most, and whether the interval had told so."""
    bytes_off = [one for one in compared if one.off is not None and one.unit == "bytes"]
    outside = [one.told.name for one in bytes_off if one.inside is False]
    if outside:
        yield f"outside our interval: {', '.join(outside)}"
    elif bytes_off:
        yield "every reading lies in our interval"


def as_data(evidence: Evidence) -> dict[str, object]:
    """The comparison as data: values in base units."""
    return {
        "engine": evidence.log.engine,
        "rank": evidence.log.rank,
        "terms": {
            one.told.name: {
                "unit": one.unit,
                "low": one.low,
                "likely": one.likely,
                "high": one.high,
                "log": one.told.value,
                "off": one.off,
                "inside": one.inside,
                "lines": list(one.told.lines),
                "rank": one.told.rank,
            }
            for one in evidence.compared
        },
        "adopted": {one.name: one.value for one in evidence.adopted},
        "differing": {told.name: {"log": told.value, "here": ours} for told, ours in evidence.differing},
        "left_out": [one.name for one in evidence.left_out],
        "failures": [line.number for line in evidence.log.failures],
    }
