"""Select the enabled rules and their severities from a policy and the command line."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from gpulint.policy import did_you_mean
from gpulint.policy.config.files import RefusedFileError, SettingsError
from gpulint.policy.config.settings import DEFAULTS, Folder, Level, Settings
from gpulint.policy.rules import rule
from gpulint.policy.rules.rule import Rule
from gpulint.report.model import Severity


def load_rules(found: Settings = DEFAULTS, folders: Iterable[str] = ()) -> Mapping[str, Rule]:
    """Return every rule by name: built-in, from a policy's folders, and from further folders."""
    policy_rules = (rule for folder in found.rules for rule in _load_policy_folder(folder))
    return rule.merge((*policy_rules, *(loaded for path in folders for loaded in _load_folder(path))))


def _load_folder(path: str) -> Iterator[Rule]:
    from gpulint.policy.rules import diagnostics

    yield from diagnostics.load_folder(Path(path))


UNCHECKED = "file-not-checked"


def enable_rules(
    rules: Mapping[str, Rule],
    found: Settings = DEFAULTS,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    preview: bool = False,
) -> tuple[Rule, ...]:
    """Return the enabled rules with the severities of the policy.

    `select` replaces the policy's, `ignore` adds to it. Raise SettingsError for a word that is no rule or family.
    """
    _check_names(rules, found, (*select, *ignore))
    selected = frozenset(select or found.select)
    levels = [tuple(_sort_levels(group, rules)) for group in found.levels]
    is_preview, maximum = preview or found.preview, Severity.parse(found.at_most or "error")
    return tuple(
        enabled
        for candidate in rules.values()
        if (not selected or {candidate.name, candidate.family} & selected)
        and not {candidate.name, candidate.family} & set(ignore)
        and (enabled := _apply_levels(candidate, levels, is_preview or candidate.name in selected, maximum)) is not None
    )


def find_unchecked(rules: Mapping[str, Rule], found: Settings, ignore: Sequence[str] = ()) -> Rule | None:
    """Return the rule about files that were not checked; None if the policy or the options disable it by name.

    A selection of other rules does not disable it: no rule has read what it is about.
    """
    every = enable_rules(rules, found._replace(select=()), (), ignore)
    return next((rule for rule in every if rule.name == UNCHECKED), None)


def find_level(candidate: Rule, found: Settings, rules: Mapping[str, Rule]) -> Level | None:
    """Return the last statement of a policy about a rule or its family; None if there is none."""
    return next(reversed(_find_levels(candidate, [tuple(_sort_levels(group, rules)) for group in found.levels])), None)


def _find_levels(candidate: Rule, levels: Iterable[Iterable[Level]]) -> list[Level]:
    return [level for group in levels for level in group if level.word in (candidate.name, candidate.family)]


def _apply_levels(
    candidate: Rule, levels: Iterable[Iterable[Level]], is_preview: bool, maximum: Severity
) -> Rule | None:
    """Return a rule with the policy's severity; None if it is off."""
    severity, is_off = candidate.severity, False
    for level in _find_levels(candidate, levels):
        is_off = level.level == "off"
        is_preview = is_preview or (level.word == candidate.name and level.level not in ("off", "on"))
        if level.level not in ("on", "off"):
            severity = Severity.parse(level.level)
    if is_off or (candidate.status == "preview" and not is_preview):
        return None
    severity = min(severity, maximum)
    return (
        candidate
        if severity == candidate.severity
        else dataclasses.replace(candidate, severity=severity, stated=candidate.severity)
    )


def _sort_levels(group: Sequence[Level], rules: Mapping[str, Rule]) -> Iterator[Level]:
    """Yield the statements of one file, lowest precedence first: select, families, rules, ignore."""
    yield from (level for level in group if level.level == "on")
    severities = [level for level in group if level.level != "on" and not level.ignored]
    yield from (level for level in severities if level.word not in rules)
    yield from (level for level in severities if level.word in rules)
    yield from (level for level in group if level.ignored)


def _check_names(rules: Mapping[str, Rule], found: Settings, words: Iterable[str]) -> None:
    """Raise SettingsError for a word that is neither a rule nor a family."""
    families = {candidate.family for candidate in rules.values()}
    named = [(level.word, f"{level.place}: ") for level in found.named]
    for word, place in (*named, *((word, "") for word in words)):
        if word not in rules and word not in families:
            hint = did_you_mean.suggest_one(word.lower(), [*rules, *families])
            raise SettingsError(f"{place}no such rule or family: {word}{hint}")


def check_waivers(rules: Mapping[str, Rule], found: Settings) -> None:
    """Raise SettingsError for a policy waiver that names no rule."""
    for waived in found.waivers:
        for name in waived.rules:
            if name not in rules:
                location = waived.waiver.location
                place = f"{location.path}:{location.line}:{location.column}: " if location else ""
                raise SettingsError(f"{place}no such rule: {name}{did_you_mean.suggest_one(name, rules)}")


def _load_policy_folder(folder: Folder) -> Iterator[Rule]:
    """Yield the rules of a folder that a policy names."""
    from gpulint.policy.rules import diagnostics

    has_rules = False
    try:
        for path in folder.reader.names(folder.path):
            if diagnostics.is_rule_file(path):
                has_rules = True
                displayed, file = Path(folder.reader.render_path(path)), folder.reader.root / path
                loaded = diagnostics.read(displayed, folder.reader.read(path) or b"")
                yield loaded if displayed.is_file() or not file.is_file() else dataclasses.replace(loaded, path=file)
    except RefusedFileError as error:
        raise SettingsError(str(error)) from None
    if not has_rules:
        raise SettingsError(
            f"{folder.place}: {folder.reader.render_path(folder.path)} has no rules; each rule is a YAML file in it"
        )
