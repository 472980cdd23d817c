"""Several commands of one container that start engines: one of them runs, or they share its GPUs."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from gpulint.engines import Invocation, Reading, command_line
from gpulint.workload import Field, Unknown, Value

FALLBACK = re.compile(r"(?:[^|&;\n]|(?<=>)&|(?<=\\)\n)*\|\|")
"""What stands after a command whose failure starts the next one."""


def settle(read: Sequence[tuple[Reading, Invocation]], gpus: Value | Unknown) -> tuple[Reading, ...]:
    """Return the readings of a container's engines.

    Several engines, or a branch, leave fields unknown.
    """
    readings = [reading for reading, _ in read]
    branched = any(invocation.conditional for _, invocation in read)
    if branched and all(invocation.final for _, invocation in read[:-1]) and (len(read) > 1 or read[0][1].final):
        return (merge_alternatives(readings, refused=True),)
    if len(read) > 1 and not branched and _is_retried([invocation for _, invocation in read]):
        return (merge_alternatives(readings),)
    if len(read) > 1 and branched:
        reason = "which of several commands runs is decided by the script"
        first = readings[0].fields
        kept = {name: first[name] for name in ("engine", "engine_version") if name in first}
        return (Reading(kept | _merge_notices(readings), None, reason),)
    if len(read) > 1 and gpus == 1:
        return tuple(_add_neighbours(reading, readings[:at], len(readings)) for at, reading in enumerate(readings))
    if len(read) > 1:
        shared = Field(Unknown("several engines share the container"))
        return tuple(reading._replace(fields={**reading.fields, "gpus_per_pod": shared}) for reading, _ in read)
    if branched:
        counted = Field(Unknown("the engine is started in a branch or a loop of the script"))
        return tuple(reading._replace(fields={**reading.fields, "gpus_per_pod": counted}) for reading, _ in read)
    return tuple(reading for reading, _ in read)


def _is_retried(invocations: Sequence[Invocation]) -> bool:
    """Return whether each command runs only if the one before it fails: they stand between `||`."""
    return all(itertools.starmap(_follows_failure, itertools.pairwise(invocations)))


def _follows_failure(first: Invocation, second: Invocation) -> bool:
    if not first.arguments or not second.arguments:
        return False
    before, after = first.arguments[-1].origin, second.arguments[0].origin
    text = before.document.get(before.path) if before.document is after.document else None
    if not isinstance(text, str) or before.path != after.path or before.span is None or after.span is None:
        return False
    return FALLBACK.match(text[before.span[1] : after.span[0]]) is not None


def merge_alternatives(readings: Sequence[Reading], refused: bool = False) -> Reading:
    """Return what alternative commands have in common. A field with different values is unknown.

    `refused` keeps the arguments that only one of the commands states and that are refused there.
    """
    first, *others = readings
    if any(alternative.fields["engine"].value != first.fields["engine"].value for alternative in others):
        return Reading({}, None, "which of several engines runs is decided by the script")
    names = dict.fromkeys(name for reading in readings for name in reading.fields)
    fields = {name: _merge_field([reading.fields.get(name) for reading in readings]) for name in names}
    if refused:
        fields |= _merge_notices(readings)
    reason = next((reading.open_ended for reading in readings if reading.open_ended), "")
    return Reading(fields, None if others else first.arguments, reason)


def _merge_notices(readings: Sequence[Reading]) -> dict[str, Field]:
    """Return the arguments that are refused in any command of the engine that is named."""
    engine = readings[0].fields["engine"].value
    return command_line.merge_notices(
        reading.fields for reading in readings if reading.fields["engine"].value == engine
    )


def _merge_field(stated: Sequence[Field | None]) -> Field:
    first = next(field for field in stated if field is not None)
    if all(field is not None and field.value == first.value for field in stated):
        return first
    return Field(Unknown("the alternative commands of the script set different values"), first.origins)


def _add_neighbours(reading: Reading, earlier: Sequence[Reading], engines_on_card: int) -> Reading:
    """Return an engine that shares the container's one GPU with the engines before and after it."""
    stated = [
        engine.fields["gpu_memory_utilization"].value for engine in earlier if "gpu_memory_utilization" in engine.fields
    ]
    shares = [share for share in stated if isinstance(share, float)]
    source = "the container's script"
    fields = {
        **reading.fields,
        "engines_on_card": Field(engines_on_card, source=source),
        "earlier_engines": Field(len(earlier), source=source),
    }
    if len(shares) == len(earlier):
        fields["earlier_memory_utilization"] = Field(sum(shares), source=source)
    elif stated:
        fields["earlier_memory_utilization"] = Field(
            Unknown("the memory share of another engine on the GPU is not stated")
        )
    return reading._replace(fields=fields)
