"""Selection: which rules speak, and how severely, by what a policy and the command line say."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from gpulint.policy.config import did_you_mean as spelling
from gpulint.policy.config.files import Refused
from gpulint.policy.config.settings import DEFAULTS, Folder, Level, Settings, SettingsError
from gpulint.policy.rules import rule
from gpulint.policy.rules.rule import Rule
from gpulint.report.model import Severity


def known(found: Settings = DEFAULTS, folders: Iterable[str] = ()) -> Mapping[str, Rule]:
    """Every rule by name: ours, those of a policy's folders, and those of further folders, one in place of another."""
    own = (rule for folder in found.rules for rule in _of_folder(folder))
    return rule.known((*own, *(one for path in folders for one in rule.load_team(Path(path)))))


def speaking(
    rules: Mapping[str, Rule],
    found: Settings = DEFAULTS,
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
    previewed, most = preview or found.preview, Severity.named(found.at_most or "error")
    return tuple(
        spoken
        for one in rules.values()
        if (not chosen or {one.name, one.family} & chosen)
        and not {one.name, one.family} & set(ignore)
        and (spoken := _levelled(one, levels, previewed or one.name in chosen, most)) is not None
    )


def decided(one: Rule, found: Settings, rules: Mapping[str, Rule]) -> Level | None:
    """What a policy said last of a rule, or of its family; None where it says nothing."""
    return next(reversed(_about(one, [tuple(_ordered(group, rules)) for group in found.levels])), None)


def _about(one: Rule, levels: Iterable[Iterable[Level]]) -> list[Level]:
    return [level for group in levels for level in group if level.word in (one.name, one.family)]


def _levelled(one: Rule, levels: Iterable[Iterable[Level]], previewed: bool, most: Severity) -> Rule | None:
    """A rule as the policy has it; None where it is off."""
    severity, off = one.severity, False
    for level in _about(one, levels):
        off = level.level == "off"
        previewed = previewed or (level.word == one.name and level.level not in ("off", "on"))
        if level.level not in ("on", "off"):
            severity = Severity.named(level.level)
    if off or (one.status == "preview" and not previewed):
        return None
    severity = min(severity, most)
    return one if severity == one.severity else dataclasses.replace(one, severity=severity, stated=one.severity)


def _ordered(group: Sequence[Level], rules: Mapping[str, Rule]) -> Iterator[Level]:
    """What one file says, the least first: what it selects, the severities of families, of rules, and what it ignores."""
    yield from (one for one in group if one.level == "on")
    severities = [one for one in group if one.level != "on" and not one.ignored]
    yield from (one for one in severities if one.word not in rules)
    yield from (one for one in severities if one.word in rules)
    yield from (one for one in group if one.ignored)


def _named(rules: Mapping[str, Rule], found: Settings, words: Iterable[str]) -> None:
    """SettingsError for a word that is neither a rule nor a family."""
    families = {one.family for one in rules.values()}
    stated = [(level.word, f"{level.place}: ") for level in found.named]
    for word, place in (*stated, *((word, "") for word in words)):
        if word not in rules and word not in families:
            meant = spelling.nearest(word.lower(), [*rules, *families])
            raise SettingsError(f"{place}no rule or family is called {word}{meant}")


def accepted(rules: Mapping[str, Rule], found: Settings) -> None:
    """SettingsError for what a policy accepts that is no rule."""
    for one in found.waivers:
        for name in one.rules:
            if name not in rules:
                at = one.waiver.location
                place = f"{at.path}:{at.line}:{at.column}: " if at else ""
                raise SettingsError(f"{place}no rule is called {name}{spelling.nearest(name, rules)}")


def _of_folder(folder: Folder) -> Iterator[Rule]:
    """The rules of a folder that a policy names."""
    from gpulint.policy.rules import diagnostics as rule_file

    found = False
    try:
        for path in folder.reader.names(folder.path):
            if rule_file.is_one(path):
                found = True
                shown, lies = Path(folder.reader.shown(path)), folder.reader.root / path
                one = rule_file.read(shown, folder.reader.read(path) or b"")
                yield one if shown.is_file() or not lies.is_file() else dataclasses.replace(one, path=lies)
    except Refused as error:
        raise SettingsError(str(error)) from None
    if not found:
        raise SettingsError(
            f"{folder.place}: no rule lies in {folder.reader.shown(folder.path)}; each is a YAML file there"
        )
