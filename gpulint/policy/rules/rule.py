"""Rule: one judgement as data, loaded from a YAML file and refused with its place when it is not right."""

from __future__ import annotations

import functools
import string
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gpulint.catalog import capabilities
from gpulint.catalog import package_data as shipped
from gpulint.policy.rules import cel
from gpulint.report.model import Severity

if TYPE_CHECKING:
    from gpulint.source.documents import Document


class RuleError(ValueError):
    """A rule file that cannot be used; the message starts with its place."""


class Target(NamedTuple):
    """What a rule is about; only a rule that matches can be not evaluated. Empty matches all.

    `engine` names engines, `does` capabilities: a rule matches every engine that has all of them.
    """

    scope: str
    kind: tuple[str, ...] = ()
    engine: tuple[str, ...] = ()
    does: tuple[str, ...] = ()

    def includes_engine(self, name: str) -> bool:
        """Return whether the rule is about workloads that this engine runs."""
        return (not self.engine or name in self.engine) and (not self.does or capabilities.does(name, *self.does))

    def describe_engines(self) -> str:
        """Return in words which engines the rule is about; empty if it is about all."""
        return " or ".join(self.engine) or (f"an engine that {' and '.join(self.does)}" if self.does else "")


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule as its file states it; the stem is its name, the folder its family.

    `stated` is the severity of the file, where a policy gives it another.
    """

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
    replaces: bool = False
    path: Path | None = None
    stated: Severity | None = None

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
        return {row["name"]: of(row["name"], row["family"], row) for row in built["rules"]}  # type: ignore[attr-defined]
    return {rule.name: rule for rule in load(shipped.folder("rules"))}


def load(folder: Path) -> Iterator[Rule]:
    """The rules of a folder, by name; RuleError at the first file that is not one."""
    for path in sorted(folder.rglob("*.yaml")):
        yield of(path.stem, path.parent.name, shipped.read_yaml(path), path)


def load_team(folder: Path) -> Iterator[Rule]:
    """A team's own rules; RuleError at the first file that is not one, with the place of each mistake in it."""
    from gpulint.policy.rules import diagnostics as rule_file

    for path in rule_file.files(folder):
        yield rule_file.load(path)


def known(own: Iterable[Rule]) -> Mapping[str, Rule]:
    """The shipped rules and a team's own, by name; RuleError where one would hide another unsaid.

    A shipped rule that is only a preview yields: one that comes with a release breaks no folder that has its name already.
    """
    rules = dict(shipped_rules())
    for one in own:
        other = rules.get(one.name)
        if other is not None and same_file(one, other):
            continue
        if other is not None and (reason := _hidden(one, other)):
            raise RuleError(f"{one.path}:1:1: {reason}")
        rules[one.name] = one
    return rules


def is_own(one: Rule) -> bool:
    """Whether a rule is a team's, and not ours."""
    ours = shipped_rules().get(one.name)
    return one.path is not None and (ours is None or ours.path != one.path)


def same_file(one: Rule, other: Rule) -> bool:
    """Whether two rules are of one file; a rule of a commit is of none on the disk."""
    here, there = one.path, other.path
    if here is None or there is None:
        return False
    return here == there or (here.exists() and there.exists() and here.samefile(there))


def _hidden(one: Rule, other: Rule) -> str:
    """Why a rule may not stand in the place of another of its name."""
    if other.name not in shipped_rules() or shipped_rules()[other.name] is not other:
        return f"{other.path} is called {one.name} too: a name is one rule's"
    if one.replaces or other.status == "preview":
        return ""
    return f"gpulint has a rule {one.name} of its own: rename the file, or write replaces: true to stand in its place"


def examples(rule: Rule) -> Mapping[str, tuple[object, ...]]:
    """The `bad` and `good` samples of a rule, from its file."""
    data = document(rule).data
    samples = data.get("examples", {}) if isinstance(data, dict) else {}
    return {side: tuple(samples.get(side, ())) for side in ("bad", "good")}


def document(rule: Rule) -> Document:
    """The file of a rule, with the places of all that it states."""
    path = rule.path or shipped.folder("rules") / rule.family / f"{rule.name}.yaml"
    return shipped.document(path)


def placeholders(text: str) -> tuple[str, ...]:
    """The fact names a message substitutes."""
    return tuple(name for _, name, _, _ in string.Formatter().parse(text) if name is not None)


def of(name: str, family: str, data: object, path: Path | None = None) -> Rule:
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
        target=_read_target(target),
        when=data["when"],
        message=data["message"],
        against=data.get("against", ""),
        only_with=data.get("only_with") or "",
        instead=data.get("instead", ""),
        superfluous=data.get("superfluous", False),
        gives_up=data.get("gives_up", ""),
        status=data.get("status", "stable"),
        replaces=data.get("replaces", False),
        path=path,
        stated=None,
        **many,
    )


def _read_target(data: Mapping[str, object]) -> Target:
    """Return the target of a rule file's `for`, whose engine is a name, a list of names, or what an engine does."""
    engine = data.get("engine")
    if isinstance(engine, dict):
        return Target(str(data["scope"]), _several(data.get("kind")), (), _several(engine.get("does")))
    return Target(str(data["scope"]), _several(data.get("kind")), _several(engine))


def _several(value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    return tuple(str(item) for item in value) if isinstance(value, list) else (str(value),)
