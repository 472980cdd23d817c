"""Comparison: estimated terms next to a log's readings, and a role that uses the readings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from gpulint import engines, units
from gpulint.adapters.logs import sglang
from gpulint.adapters.logs.reader import Log
from gpulint.adapters.logs.reading import Reading
from gpulint.catalog import tables
from gpulint.catalog.architecture import Resolution
from gpulint.facts import resolver
from gpulint.facts.glossary import glossary
from gpulint.facts.model import Facts
from gpulint.facts.providers import LARGEST
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
"""The run conditions on which a reading depends. Any other reading depends on all of them."""
SAME_CARD = 0.03
"""Totals that differ by more are of two accelerators. Drivers and ECC change them by less."""
UNSTATED = frozenset({"auto", "None"})


class ReadingComparison(NamedTuple):
    """A reading next to the estimated term: its interval, its expected value and the difference."""

    told: Reading
    unit: str
    low: float | None = None
    expected: float | None = None
    high: float | None = None

    @property
    def deviation(self) -> float | None:
        return None if self.expected is None else self.expected - self.told.number

    @property
    def is_inside(self) -> bool | None:
        """Return True if the reading is within the interval, to its printed precision."""
        if self.low is None or self.high is None:
            return None
        return self.low - self.told.precision <= self.told.number <= self.high + self.told.precision


class Evidence(NamedTuple):
    """What a log shows about a role: its readings compared, its conditions, and the role with
    readings.
    """

    log: Log
    compared: tuple[ReadingComparison, ...]
    left_out: tuple[Reading, ...]
    adopted: tuple[Reading, ...]
    differing: tuple[tuple[Reading, Value], ...]
    role: Role


def compare(role: Role, resolved: Resolution | None, log: Log) -> Evidence:
    """Compare a role with a log of it."""
    otherwise = tuple(_find_differing(role, log))
    another = any(reading.name in ("engine", "checkpoint") for reading, _ in otherwise)
    adopted = () if another else tuple(_find_adopted(role, resolved, log))
    run = role.having(**dict(_build_fields(adopted)))
    known = resolver.resolve(run, resolved)
    differing = (*otherwise, *_find_other_accelerator(known, log))
    other = {reading.name for reading, _ in differing}
    readings = [reading for reading in _list_readings(known, log) if reading.name in glossary()]
    usable = [reading for reading in readings if not other & (RESTS_ON.get(reading.name) or other)]
    compared = tuple(_compare(reading, known) for reading in usable)
    pinned = {
        reading.name: Field(_round_whole_units(reading), source=f"the log, {reading.place}", basis="measured")
        for reading in usable
        if _is_usable(reading)
    }
    left_out = tuple(reading for reading in readings if reading not in usable)
    return Evidence(log, compared, left_out, adopted, differing, run.having(**pinned))


# ---- the run's conditions


def _find_adopted(role: Role, resolved: Resolution | None, log: Log) -> Iterator[Reading]:
    """Yield the run's conditions that the role leaves open."""
    shape = resolved.architecture if resolved else None
    quantised = shape is not None and shape.checkpoint_quantization is not None
    for reading in log.conditions.values():
        stated = role.value(reading.name)
        if _is_unset(reading) or reading.name == "checkpoint" or (reading.name == "quantization" and quantised):
            continue
        if stated is None or isinstance(stated, Unknown):
            yield reading


def _is_unset(reading: Reading) -> bool:
    """Return True if the value is a default, or means no limit."""
    return reading.value in UNSTATED or (isinstance(reading.value, float) and reading.value <= 0)


def _build_fields(adopted: Sequence[Reading]) -> Iterator[tuple[str, Field]]:
    for reading in adopted:
        yield reading.name, Field(_drop_zero_fraction(reading), source=f"the log, {reading.place}", basis="measured")
        if reading.name == "max_model_len":
            yield "max_model_len_stated", Field(True)
            yield "max_model_len_fitted", Field(False)


def _find_differing(role: Role, log: Log) -> Iterator[tuple[Reading, Value]]:
    """Yield the run's conditions that the role states differently."""
    engine = role.text("engine")
    trains = role.text("task") == "training" or engines.find_purpose(engine) == "training"
    if (trains if log.engine != "trainer" else not trains) or (not trains and engine not in ("", log.engine)):
        yield Reading("engine", log.engine, 0.0, ()), engine or None
    for reading in log.conditions.values():
        stated = role.value(reading.name)
        if stated is None or isinstance(stated, Unknown) or _is_unset(reading):
            continue
        if not _is_same(reading, stated):
            yield reading, stated


def _is_same(reading: Reading, stated: Value) -> bool:
    if reading.name == "engine_version":
        release, other = tables.release(str(reading.value)) or (), tables.release(str(stated)) or ()
        shorter = min(len(release), len(other))
        return release[:shorter] == other[:shorter]
    if reading.name == "checkpoint":
        return (
            str(reading.value).lower() == str(stated).lower() or _is_path(str(reading.value)) or _is_path(str(stated))
        )
    if isinstance(stated, int | float) and isinstance(reading.value, float):
        return abs(stated - reading.value) <= 0.005 * abs(reading.value)
    return str(stated).lower() == str(reading.value).lower()


def _is_path(reference: str) -> bool:
    """Return True if a reference is a local path or URL, which does not identify a checkpoint."""
    return reference.startswith(("/", ".", "~")) or "://" in reference or reference.count("/") != 1


def _find_other_accelerator(known: Facts, log: Log) -> Iterator[tuple[Reading, Value]]:
    reading, ours = log.readings.get("device_memory_bytes"), known.expected("device_memory_bytes")
    if reading is None or not isinstance(ours, int | float):
        return
    if abs(reading.number - ours) > SAME_CARD * ours:
        yield reading._replace(name="accelerator"), ours


# ---- the readings


def _list_readings(known: Facts, log: Log) -> Iterator[Reading]:
    yield from log.readings.values()
    card = known.expected("device_memory_bytes")
    if log.engine == "sglang" and isinstance(card, int | float):
        yield from sglang.derive_reserved(log.readings, card)


def _compare(reading: Reading, known: Facts) -> ReadingComparison:
    unit, ours = glossary()[reading.name].unit, known.expected(reading.name)
    if isinstance(ours, bool) or not isinstance(ours, int | float):
        return ReadingComparison(reading, unit)
    low, high = known.ends(reading.name) or (ours, ours)
    return ReadingComparison(reading, unit, _parse_number(low), float(ours), _parse_number(high))


def _parse_number(value: Value) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _is_usable(reading: Reading) -> bool:
    """Return True if a reading can replace a term.

    Only graph memory may be negative, and counts as none.
    """
    return reading.name == "graph_bytes" or 0 <= reading.number <= LARGEST


def _round_whole_units(reading: Reading) -> Value:
    return max(0, round(reading.number)) if glossary()[reading.name].unit in ("bytes", "tokens") else reading.number


def _drop_zero_fraction(reading: Reading) -> Value:
    return int(reading.value) if isinstance(reading.value, float) and reading.value.is_integer() else reading.value


# ---- in words


HEAD = ("compared with the log", "low", "expected", "high", "the log", "difference", "", "where")


def cells(evidence: Evidence) -> list[tuple[str, ...]]:
    """Return the comparison as rows of a table with its header."""
    rows = [_build_row(compared) for compared in evidence.compared]
    return [HEAD, *rows] if rows else [("no reading of the log could be compared",)]


def _build_row(compared: ReadingComparison) -> tuple[str, ...]:
    ours = [
        units.human(value, compared.unit) if value is not None else "?"
        for value in (compared.low, compared.expected, compared.high)
    ]
    where = {None: "", True: "inside", False: "outside"}[compared.is_inside]
    return (
        compared.told.name,
        *ours,
        units.human(compared.told.value, compared.unit),
        _render_difference(compared),
        where,
        compared.told.place,
    )


def _render_difference(compared: ReadingComparison) -> str:
    if compared.deviation is None:
        return "?"
    if abs(compared.deviation) <= compared.told.precision:
        return "nothing"
    share = f" ({compared.deviation / compared.told.number:+.1%})" if compared.told.number else ""
    return ("+" if compared.deviation > 0 else "") + units.human(compared.deviation, compared.unit) + share


def sentences(evidence: Evidence) -> Iterator[str]:
    """Yield the log's other information: ranks, conditions and reported failures."""
    log = evidence.log
    if log.ranks:
        shown = ", ".join(log.ranks[:8]) + (", …" if len(log.ranks) > 8 else "")
        yield f"ranks in the log: {shown}; the one that uses most memory is {log.rank or 'the process without a name'}"
    if log.cut:
        yield "the log is too long; its end was not read"
    if evidence.adopted:
        filled = [
            f"{reading.name} {_render_value(reading, reading.value)} ({reading.place})" for reading in evidence.adopted
        ]
        yield f"from the log: {', '.join(filled)}"
    for reading, ours in evidence.differing:
        logged = _render_value(reading, reading.value)
        yield f"differs: {reading.name} is {logged} in the log, {_render_value(reading, ours)} here"
    if evidence.left_out:
        yield f"not compared, because the run differs: {', '.join(reading.name for reading in evidence.left_out)}"
    for line in log.failures[:3]:
        yield f"the log reports a failure: line {line.number}: {line.text[-200:]}"
    yield from _summarise(evidence.compared)


def _render_value(reading: Reading, value: Value) -> str:
    unit = "bytes" if reading.name == "accelerator" else ""
    return units.human(value, unit)


def _summarise(compared: Sequence[ReadingComparison]) -> Iterator[str]:
    """Yield which terms are outside their interval."""
    bytes_off = [
        comparison for comparison in compared if comparison.deviation is not None and comparison.unit == "bytes"
    ]
    outside = [comparison.told.name for comparison in bytes_off if comparison.is_inside is False]
    if outside:
        yield f"outside the estimated interval: {', '.join(outside)}"
    elif bytes_off:
        yield "every reading is within the estimated interval"


def build_data(evidence: Evidence) -> dict[str, object]:
    """Return the comparison as data, with values in base units."""
    return {
        "engine": evidence.log.engine,
        "rank": evidence.log.rank,
        "terms": {
            compared.told.name: {
                "unit": compared.unit,
                "low": compared.low,
                "expected": compared.expected,
                "high": compared.high,
                "log": compared.told.value,
                "off": compared.deviation,
                "inside": compared.is_inside,
                "lines": list(compared.told.lines),
                "rank": compared.told.rank,
            }
            for compared in evidence.compared
        },
        "adopted": {reading.name: reading.value for reading in evidence.adopted},
        "differing": {reading.name: {"log": reading.value, "here": ours} for reading, ours in evidence.differing},
        "left_out": [reading.name for reading in evidence.left_out],
        "failures": [line.number for line in evidence.log.failures],
    }
