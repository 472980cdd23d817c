"""Selection: which rules speak, and how severely, by what a policy and the command line say."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from gpulint.findings import Severity
from gpulint.policy.reader import Disk
from gpulint.policy.rule import Rule, RuleError, load_team, shipped_rules
from gpulint.policy.settings import Folder, Level, Settings, SettingsError


def known(found: Settings, folders: Iterable[str] = ()) -> Mapping[str, Rule]:
    """Every rule by name: ours, those of a policy's folders, and those of further folders, which replace one another."""
    rules = dict(shipped_rules())
    for folder in found.rules:
        rules.update((rule.name, rule) for rule in _of_folder(folder))
    for path in folders:
        rules.update((rule.name, rule) for rule in load_team(Path(path)))
    return rules


def speaking(
    rules: Mapping[str, Rule],
    found: Settings,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    preview: bool = False,
) -> tuple[Rule, ...]:
    """The rules that speak, with the severity that the policy gives them.

    `select` takes the place of the policy's, `ignore` adds to it. SettingsError for a word that is no rule or family.
    """
    _named(rules, found, (*select, *ignore))
    chosen = frozenset(select or found.select)
    levels = [tuple(_ordered(group, rules)) for group in found.levels]
    previewed = preview or found.preview
    return tuple(
        spoken
        for rule in rules.values()
        if (not chosen or {rule.name, rule.family} & chosen)
        and not {rule.name, rule.family} & set(ignore)
        and (spoken := _levelled(rule, levels, previewed or rule.name in chosen)) is not None
    )


def _levelled(rule: Rule, levels: Iterable[Iterable[Level]], previewed: bool) -> Rule | None:
    """A rule as the policy has it; None where it is off."""
    severity, off = rule.severity, False
    for level in (one for group in levels for one in group if one.word in (rule.name, rule.family)):
        off = level.level == "off"
        previewed = previewed or (level.word == rule.name and level.level not in ("off", "on"))
        if level.level not in ("on", "off"):
            severity = Severity.named(level.level)
    if off or (rule.status == "preview" and not previewed):
        return None
    return rule if severity == rule.severity else dataclasses.replace(rule, severity=severity)


def _ordered(group: Sequence[Level], rules: Mapping[str, Rule]) -> Iterator[Level]:
    """What one file says, the least first: what it selects, the severities of families, of rules, and what it ignores."""
    yield from (one for one in group if one.level == "on")
    severities = [one for one in group if one.level != "on" and not one.ignored]
    yield from (one for one in severities if one.word not in rules)
    yield from (one for one in severities if one.word in rules)
    yield from (one for one in group if one.ignored)


def _named(rules: Mapping[str, Rule], found: Settings, words: Iterable[str]) -> None:
    """SettingsError for a word that is neither a rule nor a family."""
    families = {rule.family for rule in rules.values()}
    stated = [(level.word, f"{level.place}: ") for level in found.named]
    for word, place in (*stated, *((word, "") for word in words)):
        if word not in rules and word not in families:
            near = difflib.get_close_matches(word, [*rules, *families], n=1)
            meant = f"; did you mean {near[0]}?" if near else ""
            raise SettingsError(f"{place}no rule or family is called {word}{meant}")


def accepted(rules: Mapping[str, Rule], found: Settings) -> None:
    """SettingsError for what a policy accepts that is no rule."""
    for one in found.waivers:
        for name in one.rules:
            if name not in rules:
                near = difflib.get_close_matches(name, rules, n=1)
                place = f"{one.waiver.location.path}:{one.waiver.location.line}: " if one.waiver.location else ""
                raise SettingsError(f"{place}no rule is called {name}" + (f"; did you mean {near[0]}?" if near else ""))


def _of_folder(folder: Folder) -> Iterator[Rule]:
    """The rules of a folder that a policy names."""
    if not isinstance(folder.reader, Disk):
        raise NotImplementedError
    try:
        yield from load_team(folder.reader.root / folder.path)
    except RuleError:
        raise
