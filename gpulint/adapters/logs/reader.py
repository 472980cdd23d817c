"""Reader: the figures in a log, by the lines that engines and trainers print
(`catalog/log_lines.csv`).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from gpulint import units
from gpulint.adapters.logs import lines, reading, sglang, trainer, vllm
from gpulint.adapters.logs.lines import Line
from gpulint.adapters.logs.reading import Reading
from gpulint.catalog import tables

_PLACEHOLDERS = {
    "n": r"(?P<value>-?\d[\d,]{0,18}(?:\.\d{1,15})?)",
    "version": r"(?P<value>\d{1,4}\.\d{1,4}[\w.+-]{0,60})",
    "word": r"(?P<value>[\w./:@+-]{1,200})",
    "device": r"(?P<rank>(?:CUDA|ROCm|Vulkan|SYCL|MUSA|CANN)\d{1,3})",
    "size": r"\d{1,18}\s*[KMGTP]?i?B",
}
_UNITS = {"gib": units.GIB, "mib": units.MIB, "kib": units.KIB}
_DEMAND = ("loaded_bytes_per_gpu", "activation_bytes", "non_torch_bytes", "graph_bytes", "training_reserved_bytes")
EXAMPLES = "such as `Model loading took … GiB`, `Load weight end. … mem usage=… GB` or `max allocated: …`"
DERIVED = {"vllm": vllm.derive, "sglang": sglang.derive, "trainer": trainer.derive}


class Pattern(NamedTuple):
    """A line in the log of an engine, with one value."""

    engine: str
    kind: str
    name: str
    unit: str
    take: str
    marker: str
    regex: re.Pattern[str]


class Log(NamedTuple):
    """What a log shows of the rank with most memory: readings, conditions of the run, and failures."""

    engine: str
    readings: Mapping[str, Reading]
    conditions: Mapping[str, Reading]
    failures: tuple[Line, ...]
    rank: str
    ranks: tuple[str, ...]
    cut: bool


ReadingsByRank = dict[str, dict[str, Reading]]
"""Readings by rank and by name."""


@functools.cache
def patterns() -> tuple[Pattern, ...]:
    """Return the patterns of the lines to search for."""
    return tuple(_build_pattern(row) for row in tables.rows("log_lines"))


def _build_pattern(row: tables.Row) -> Pattern:
    regex = ""
    for part in re.split(r"(\{\w+\}|…|\s+)", row["line"]):
        if part.startswith("{"):
            regex += _PLACEHOLDERS[part[1:-1]]
        elif part == "…":
            regex += ".{0,400}?"
        elif part.isspace():
            regex += r"\s{1,60}"
        else:
            regex += re.escape(part)
    longest = max(re.split(r"\{\w+\}|…|\s+", row["line"]), key=len).lower()
    shape = re.compile(regex, re.I)
    return Pattern(row["engine"], row["kind"], row["name"], row["unit"], row["take"], longest, shape)


def engines() -> tuple[str, ...]:
    """Return the engines whose logs can be read."""
    return tuple(dict.fromkeys(pattern.engine for pattern in patterns() if pattern.engine != "any"))


def read(content: bytes) -> Log | None:
    """Read a log. Return None if no line is known."""
    words = {pattern.marker for pattern in patterns()}
    runs = [run for run in _split_runs(_match_lines(lines.read(content, words))) if _list_kinds(run) - {"condition"}]
    usable = [run for run in runs if _list_kinds(run) & {"reading", "part"}] or runs
    return _build_log(usable[-1], len(content) > lines.LARGEST) if usable else None


def _list_kinds(run: Iterable[Hit]) -> set[str]:
    return {hit.pattern.kind for hit in run}


class Hit(NamedTuple):
    """A log line that matches a pattern."""

    pattern: Pattern
    line: Line
    match: re.Match[str]


def _match_lines(log: Iterable[Line]) -> Iterator[Hit]:
    for line in log:
        lowered = line.text.lower()
        for pattern in patterns():
            if pattern.marker in lowered and (match := pattern.regex.search(line.text)):
                yield Hit(pattern, line, match)


def _split_runs(hits: Iterable[Hit]) -> list[list[Hit]]:
    """Return the hits of each start of the engine. The log of a restarted container has several."""
    runs: list[list[Hit]] = [[]]
    for hit in hits:
        if hit.pattern.kind == "start":
            runs.append([])
        else:
            runs[-1].append(hit)
    return runs


def _build_log(run: Sequence[Hit], cut: bool) -> Log:
    engine = _find_engine(run)
    own = [hit for hit in run if hit.pattern.engine in (engine, "any")]
    readings: ReadingsByRank = {}
    conditions: dict[str, Reading] = {}
    for hit in own:
        if hit.pattern.kind == "condition":
            conditions.setdefault(hit.pattern.name, _build_reading(hit))
        elif hit.pattern.kind != "failure":
            _add_hit(readings, hit)
    for rank in readings:
        derived = DERIVED[engine](readings[rank]) if engine in DERIVED else []
        readings[rank] |= {reading_.name: reading_ for reading_ in derived}
    fullest = max(readings, key=lambda rank: _sum_memory(readings[rank]), default="")
    failures = tuple(hit.line for hit in own if hit.pattern.kind == "failure")
    named = tuple(sorted(rank for rank in readings if rank))
    return Log(engine, _merge(readings, fullest), conditions, failures, fullest, named, cut)


def _find_engine(run: Sequence[Hit]) -> str:
    """Return the engine of most lines."""
    names = [hit.pattern.engine for hit in run if hit.pattern.engine != "any"]
    return max(dict.fromkeys(names), key=names.count, default="")


def _build_reading(hit: Hit) -> Reading:
    pattern, line = hit.pattern, hit.line
    groups = hit.match.groupdict()
    text = groups.get("value") or "1"
    rank = groups.get("rank") or line.rank
    if pattern.unit in ("word", "version"):
        return Reading(pattern.name, text, 0.0, (line.number,), rank)
    digits = text.replace(",", "")
    factor = _UNITS.get(pattern.unit, 1)
    precision = factor / 2 / 10 ** len(digits.partition(".")[2]) if factor > 1 else 0.0
    return Reading(pattern.name, float(digits) * factor, precision, (line.number,), rank)


def _add_hit(readings: ReadingsByRank, hit: Hit) -> None:
    new = _build_reading(hit)
    of_rank = readings.setdefault(new.rank, {})
    old = of_rank.get(new.name)
    if old is None or hit.pattern.take == "last":
        of_rank[new.name] = new
    elif hit.pattern.take == "sum":
        of_rank[new.name] = reading.add_readings(new.name, (old, 1), (new, 1))
    elif hit.pattern.take == "max" and new.number > old.number:
        of_rank[new.name] = new


def _sum_memory(readings: Mapping[str, Reading]) -> float:
    return sum(readings[name].number for name in _DEMAND if name in readings)


def _merge(readings: ReadingsByRank, fullest: str) -> dict[str, Reading]:
    """Merge readings: those of the rank with most memory first, then of the main process, then of
    any.
    """
    merged: dict[str, Reading] = {}
    for rank in sorted(readings, key=lambda rank: (rank == fullest, rank == "", _sum_memory(readings[rank]))):
        merged |= readings[rank]
    return merged
