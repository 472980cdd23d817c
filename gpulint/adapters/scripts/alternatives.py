"""Alternatives: the presets of a `case` and the items of a `for`, each of which a script starts with its own settings."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from gpulint.adapters.scripts.gpu_programs import GpuProgram
from gpulint.engines import Argument
from gpulint.source import excess
from gpulint.source.shell import Choice, Choices
from gpulint.workload import Origin

READS_MAX = 100
"""The most times that one script is read."""
CHARACTERS_MAX = 4_000_000
"""The most characters that all of these times read."""
MANY_PRESETS = f"a script has more presets than {READS_MAX} readings or {CHARACTERS_MAX:,} characters in all allow"
Signature = tuple[tuple[Any, ...], ...]
"""The place of each program of a reading, and its words that can change what it needs."""
SETTING = re.compile(
    r"(?i)model|checkpoint|ckpt|tokenizer|pretrained|tensor|pipeline|parallel|(?:^|[-_])[tpd]p(?:$|[-_])|batch|seq|len|ctx|context"
    r"|dtype|quant|bits|precision|bf16|fp16|fp8|lora|peft|zero|deepspeed|fsdp|offload|gpu|nproc|num[-_]?processes|config|mem|cache|recipe|image"
)
"""Options whose value can change what a program needs of a GPU."""


class Read(NamedTuple):
    """The GPU programs of a script that was read once, and the location of a part of it or of a file it sources."""

    gpu_programs: tuple[GpuProgram, ...]
    place: Callable[[str, int, int], Origin]


class Alternative(NamedTuple):
    """The GPU programs with the items that are taken of some choices; no label if the script has none."""

    gpu_programs: tuple[GpuProgram, ...]
    label: str = ""
    anchor: Origin | None = None

    def name(self, script: str) -> str:
        """Return the name of its workloads."""
        return f"{script} ({self.label})" if self.label else script


class _Deciding(NamedTuple):
    """A choice, its items that give some program settings of its own, and the places of those programs."""

    choice: Choice
    items: Sequence[int]
    changed: frozenset[Origin]


def read(script: str, read_once: Callable[[Choices], Read]) -> Iterator[Alternative]:
    """Yield the alternatives of a script of which the settings of its GPU programs differ; else what it starts."""
    choices = Choices()
    whole = read_once(choices)
    allowed = min(READS_MAX, CHARACTERS_MAX // max(len(script), 1))
    found = (
        list(_find_alternatives(read_once, whole, tuple(choices.found.values()), allowed)) if whole.gpu_programs else []
    )
    yield from found or [Alternative(whole.gpu_programs)]


def _find_alternatives(
    read_once: Callable[[Choices], Read], whole: Read, choices: Sequence[Choice], allowed: int
) -> Iterator[Alternative]:
    """Yield one alternative for each combination of items that gives its programs settings of their own.

    Choices that decide about different programs, such as one loop after another, are combined with the first items of
    the others only, and give their own programs.
    """
    deciding: list[_Deciding] = []
    readings: dict[tuple[object, ...], Read] = {}
    for choice in choices:
        items = [item for item, label in enumerate(choice.labels) if label]
        allowed -= len(items)
        if excess.is_over(-allowed, 0, MANY_PRESETS):
            break
        for item in items:
            readings[((choice.key, item),)] = read_once(Choices({choice.key: item}))
        by_item = {item: _sign(readings[((choice.key, item),)]) for item in items}
        distinct = {signature: item for item, signature in reversed(by_item.items()) if signature}
        if len(distinct) > 1:
            deciding.append(_Deciding(choice, sorted(distinct.values()), _list_changed(list(distinct))))
    kept = _keep_allowed(deciding, max(allowed, 0))
    seen: set[tuple[object, ...]] = set()
    groups = _group(kept)
    for at, group in enumerate(groups):
        for taken in itertools.product(*(one.items for one in group)):
            chosen = {one.choice.key: item for one, item in zip(group, taken, strict=True)}
            settled = {one.choice.key: chosen.get(one.choice.key, one.items[0]) for one in kept}
            reading = readings.get(tuple(settled.items())) or read_once(Choices(settled))
            signature = _sign(reading)
            if signature and signature not in seen:
                labelled = [(one.choice, settled[one.choice.key]) for one in kept]
                is_first = at == 0 and not seen
                seen.add(signature)
                own = reading if len(groups) == 1 or is_first else _leave_out_others(reading, group)
                if own.gpu_programs:
                    yield _build(own, labelled)


def _keep_allowed(deciding: Sequence[_Deciding], allowed: int) -> list[_Deciding]:
    """Return the choices whose combinations are not more than a script may be read."""
    kept: list[_Deciding] = []
    for one in deciding:
        needed = sum(math.prod(len(other.items) for other in group) for group in _group([*kept, one]))
        if needed <= allowed:
            kept.append(one)
    return kept


def _group(deciding: Sequence[_Deciding]) -> list[list[_Deciding]]:
    """Return choices in groups, so that no two groups decide about the same program."""
    groups: list[list[_Deciding]] = []
    for one in deciding:
        near = [group for group in groups if any(other.changed & one.changed for other in group)]
        joined = [other for other in deciding if other is one or any(other in group for group in near)]
        groups = [group for group in groups if group not in near]
        groups.append(joined)
    return sorted(groups, key=lambda group: deciding.index(group[0]))


def _list_changed(signatures: Sequence[Signature]) -> frozenset[Origin]:
    """Return the programs whose settings are not the same with all items of a choice."""
    by_program = [{program[0]: program for program in signature} for signature in signatures]
    anchors = {anchor for programs in by_program for anchor in programs}
    return frozenset(anchor for anchor in anchors if len({programs.get(anchor) for programs in by_program}) > 1)


def _leave_out_others(reading: Read, group: Sequence[_Deciding]) -> Read:
    """Return a reading with the programs about which a group of choices decides."""
    changed = frozenset().union(*(one.changed for one in group))
    own = tuple(program for program in reading.gpu_programs if program.anchor in changed)
    return reading._replace(gpu_programs=own)


def _build(reading: Read, taken: Sequence[tuple[Choice, int]]) -> Alternative:
    choice, item = taken[0]
    label = ", ".join(choice.labels[item] for choice, item in taken)
    return Alternative(reading.gpu_programs, label, reading.place(choice.source, *choice.places[item]))


def _sign(reading: Read) -> Signature:
    """Return the words of all programs that can change what they need; empty if there is no program."""
    return tuple(
        (program.anchor, program.one.launch.launchers, *_list_settings(program.one.words), *_list_visible(program))
        for program in reading.gpu_programs
    )


def _list_visible(program: GpuProgram) -> Iterator[str | None]:
    variables: Mapping[str, Argument] = program.one.environment
    yield from (word.text for name, word in sorted(variables.items()) if SETTING.search(name) or "DEVICES" in name)
    yield program.one.launch.image.text if program.one.launch.image else None
    for step in program.one.launch.steps:
        yield from (word.text for words in step.stated.values() for word in words)


def _list_settings(words: Sequence[Argument]) -> Iterator[str | None]:
    """Yield the program, the options that can change its need, and the words that belong to no option."""
    option = ""
    for word in words:
        text = word.text if word.text is not None else word.flag
        if text.startswith("-"):
            option = text.partition("=")[0]
            if SETTING.search(option):
                yield word.text
            continue
        if not option or SETTING.search(option):
            yield word.text
        option = ""
