"""Reader: the figures of a log, found by the lines that engines and trainers print (`catalog/log_lines.csv`)."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from gpulint import units
from gpulint.adapters.logs import lines, reading, sglang, trainer, vllm
from gpulint.adapters.logs.lines import Line
from gpulint.adapters.logs.reading import Reading
from gpulint.catalog import tables as catalog

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
DERIVED = {"vllm": vllm.derived, "sglang": sglang.derived, "trainer": trainer.derived}


class Pattern(NamedTuple):
    """A line of some engine's log with one value in it."""

    engine: str
    kind: str
    name: str
    unit: str
    take: str
    marker: str
    regex: re.Pattern[str]


class Log(NamedTuple):
    """What a log tells of its fullest rank: figures, the conditions of the run, and where it says that it failed."""

    engine: str
    readings: Mapping[str, Reading]
    conditions: Mapping[str, Reading]
    failures: tuple[Line, ...]
    rank: str
    ranks: tuple[str, ...]
    cut: bool


Found = dict[str, dict[str, Reading]]
"""Readings by rank and by name."""


@functools.cache
def patterns() -> tuple[Pattern, ...]:
    """The lines that are looked for."""
    return tuple(_pattern(row) for row in catalog.rows("log_lines"))


def _pattern(row: catalog.Row) -> Pattern:
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
    """The engines whose logs are read."""
    return tuple(dict.fromkeys(one.engine for one in patterns() if one.engine != "any"))


def read(content: bytes) -> Log | None:
    """What a log tells; None when no line of it is known."""
    words = {one.marker for one in patterns()}
    runs = [run for run in _runs(_matches(lines.read(content, words))) if _kinds(run) - {"condition"}]
    told = [run for run in runs if _kinds(run) & {"reading", "part"}] or runs
    return _log(told[-1], len(content) > lines.LARGEST) if told else None


def _kinds(run: Iterable[Hit]) -> set[str]:
    return {hit.pattern.kind for hit in run}


class Hit(NamedTuple):
    """A line of the log that a pattern fits."""

    pattern: Pattern
    line: Line
    match: re.Match[str]


def _matches(log: Iterable[Line]) -> Iterator[Hit]:
    for line in log:
        lowered = line.text.lower()
        for pattern in patterns():
            if pattern.marker in lowered and (match := pattern.regex.search(line.text)):
                yield Hit(pattern, line, match)


def _runs(hits: Iterable[Hit]) -> list[list[Hit]]:
    """The hits of each start of the engine: a restarted container's log holds several."""
    runs: list[list[Hit]] = [[]]
    for hit in hits:
        if hit.pattern.kind == "start":
            runs.append([])
        else:
            runs[-1].append(hit)
    return runs


def _log(run: Sequence[Hit], cut: bool) -> Log:
    engine = _engine(run)
    own = [hit for hit in run if hit.pattern.engine in (engine, "any")]
    found: Found = {}
    conditions: dict[str, Reading] = {}
    for hit in own:
        if hit.pattern.kind == "condition":
            conditions.setdefault(hit.pattern.name, _reading(hit))
        elif hit.pattern.kind != "failure":
            _add(found, hit)
    for rank in found:
        derived = DERIVED[engine](found[rank]) if engine in DERIVED else []
        found[rank] |= {one.name: one for one in derived}
    fullest = max(found, key=lambda rank: _load(found[rank]), default="")
    failures = tuple(hit.line for hit in own if hit.pattern.kind == "failure")
    named = tuple(sorted(rank for rank in found if rank))
    return Log(engine, _merged(found, fullest), conditions, failures, fullest, named, cut)


def _engine(run: Sequence[Hit]) -> str:
    """The engine that most lines are of."""
    told = [hit.pattern.engine for hit in run if hit.pattern.engine != "any"]
    return max(dict.fromkeys(told), key=told.count, default="")


def _reading(hit: Hit) -> Reading:
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


def _add(found: Found, hit: Hit) -> None:
    new = _reading(hit)
    held = found.setdefault(new.rank, {})
    old = held.get(new.name)
    if old is None or hit.pattern.take == "last":
        held[new.name] = new
    elif hit.pattern.take == "sum":
        held[new.name] = reading.combined(new.name, (old, 1), (new, 1))
    elif hit.pattern.take == "max" and new.number > old.number:
        held[new.name] = new


def _load(held: Mapping[str, Reading]) -> float:
    return sum(held[name].number for name in _DEMAND if name in held)


def _merged(found: Found, fullest: str) -> dict[str, Reading]:
    """The fullest rank's readings; what it does not tell, the process that speaks for all, or else any rank."""
    merged: dict[str, Reading] = {}
    for rank in sorted(found, key=lambda rank: (rank == fullest, rank == "", _load(found[rank]))):
        merged |= found[rank]
    return merged
