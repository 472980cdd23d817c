"""Rule: one judgement as data, loaded from a YAML file and refused with its place when it is not right."""

from __future__ import annotations

import functools
import string
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from gpulint import facts, shipped
from gpulint.findings import Location, Severity
from gpulint.policy import cel


class RuleError(ValueError):
    """A rule file that cannot be used; the message starts with its place."""


class Target(NamedTuple):
    """What a rule is about; only a rule that matches can be not evaluated. Empty matches all."""

    scope: str
    kind: tuple[str, ...] = ()
    engine: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule as its file states it; the stem is its name, the folder its family."""

    name: str
    family: str
    summary: str
    severity: Severity
    why: str
    target: Target
    when: str
    message: str
    at: tuple[str, ...] = ()
    against: str = ""
    arithmetic: tuple[str, ...] = ()
    change: tuple[str, ...] = ()
    instead: str = ""
    superfluous: bool = False
    gives_up: str = ""
    absorbs: tuple[str, ...] = ()
    only_with: str = ""
    references: tuple[str, ...] = ()
    status: str = "stable"
    path: Path | None = None

    @property
    def facts(self) -> tuple[str, ...]:
        """Every fact that the rule compares or prints."""
        printed = (name for text in (self.message, *self.arithmetic) for name in placeholders(text))
        return tuple(dict.fromkeys((*cel.names(self.when), *printed)))


@functools.cache
def shipped_rules() -> Mapping[str, Rule]:
    """The rules of this package by name."""
    built = shipped.index()
    if built is not None:
        return {row["name"]: _rule(row["name"], row["family"], row) for row in built["rules"]}  # type: ignore[attr-defined]
    return {rule.name: rule for rule in load(shipped.folder("rules"))}


def load(folder: Path) -> Iterator[Rule]:
    """The rules of a folder, by name; RuleError at the first file that is not one."""
    for path in sorted(folder.rglob("*.yaml")):
        yield _rule(path.stem, path.parent.name, shipped.read_yaml(path), path)


def load_team(folder: Path) -> Iterator[Rule]:
    """A team's own rules: each file is held against schemas/rule.json first, each condition is compiled."""
    from gpulint.policy import schema

    if not folder.is_dir():
        raise RuleError(f"{folder}: no such directory of rules")
    for path in sorted(folder.rglob("*.yaml")):
        if not path.resolve().is_relative_to(folder.resolve()):
            raise RuleError(f"{path}: a symbolic link that leads out of the folder of rules")
        data = schema.validated(path, "rule")
        rule = _rule(path.stem, path.parent.name, data, path)
        _verify(rule)
        yield rule


def examples(rule: Rule) -> Mapping[str, tuple[object, ...]]:
    """The `bad` and `good` samples of a rule, from its file."""
    path = rule.path or shipped.folder("rules") / rule.family / f"{rule.name}.yaml"
    data = shipped.read_yaml(path)
    samples = data.get("examples", {}) if isinstance(data, dict) else {}
    return {side: tuple(samples.get(side, ())) for side in ("bad", "good")}


def placeholders(text: str) -> tuple[str, ...]:
    """The fact names a message substitutes."""
    return tuple(name for _, name, _, _ in string.Formatter().parse(text) if name is not None)


def _rule(name: str, family: str, data: object, path: Path | None = None) -> Rule:
    if not isinstance(data, dict):
        raise RuleError(f"{path or name}: a rule is a mapping")
    target = data["for"]
    many = {key: tuple(data.get(key, ())) for key in ("at", "arithmetic", "change", "absorbs", "references")}
    return Rule(
        name=name,
        family=family,
        summary=data["summary"],
        severity=Severity.named(data["severity"]),
        why=data["why"],
        target=Target(target["scope"], _several(target.get("kind")), _several(target.get("engine"))),
        when=data["when"],
        message=data["message"],
        against=data.get("against", ""),
        only_with=data.get("only_with") or "",
        instead=data.get("instead", ""),
        superfluous=data.get("superfluous", False),
        gives_up=data.get("gives_up", ""),
        status=data.get("status", "stable"),
        path=path,
        **many,
    )


def _several(value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    return tuple(str(item) for item in value) if isinstance(value, list) else (str(value),)


def _verify(rule: Rule) -> None:
    """RuleError unless the condition compiles and every name of the rule is a fact."""
    try:
        cel.compiled(rule.when)
    except cel.ConditionError as error:
        raise RuleError(f"{_place(rule, 'when')}: {error}") from None
    try:
        printed = rule.facts
    except ValueError as error:
        raise RuleError(f"{_place(rule, 'message')}: {error}") from None
    if rule.only_with and not rule.change:
        raise RuleError(f"{_place(rule, 'only_with')}: nothing is named that an alternative may change")
    against, instead = (tuple(filter(None, (one,))) for one in (rule.against, rule.instead))
    stated = {"message": printed, "at": rule.at, "against": against, "change": rule.change, "instead": instead}
    for key, names in stated.items():
        for name in names:
            if name not in facts.glossary():
                raise RuleError(f"{_place(rule, key)}: no fact is called {name}{_nearest(name)}")
    for name in printed:
        if (facts.glossary()[name].of == "document") != (rule.target.scope == "document"):
            raise RuleError(f"{_place(rule, 'for')}: {name} is not known to a rule about a {rule.target.scope}")


def _nearest(name: str) -> str:
    import difflib

    near = difflib.get_close_matches(name, facts.glossary(), n=1)
    return f"; did you mean {near[0]}?" if near else ""


def _place(rule: Rule, key: str) -> str:
    if rule.path is None:
        return rule.name
    from gpulint import documents

    loaded = documents.load(str(rule.path), rule.path.read_bytes())
    at: Location = loaded.documents[0].locate((key,), key=True)
    return f"{at.path}:{at.line}:{at.column}"
