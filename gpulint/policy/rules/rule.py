"""A rule as data, loaded from a YAML file. An invalid file is rejected with locations."""

from __future__ import annotations

import functools
import string
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gpulint.catalog import capabilities, package_data
from gpulint.policy.conditions import cel
from gpulint.report.model import Severity

if TYPE_CHECKING:
    from gpulint.source.documents import Document


ALTERNATIVE, SMALLER_HARDWARE = "alternative", "smaller-hardware"
"""What a rule may fire only with: an accepted suggestion, or smaller hardware that holds a service."""


class RuleError(ValueError):
    """A rule file that cannot be used. The message starts with its location."""


class Target(NamedTuple):
    """What a rule applies to. Only a rule that applies can be not evaluated; empty matches everything.

    `engine` names engines, `does` capabilities: a rule applies to every engine that has all of them, and with `unknown`
    also to a program that is not known to run one. `anywhere` includes containers without a GPU, such as launchers.
    """

    scope: str
    kind: tuple[str, ...] = ()
    engine: tuple[str, ...] = ()
    does: tuple[str, ...] = ()
    unknown: bool = False
    anywhere: bool = False

    def includes_engine(self, name: str) -> bool:
        """Return whether the rule is about workloads that this engine runs."""
        if not name and self.unknown:
            return True
        return (not self.engine or name in self.engine) and (not self.does or capabilities.does(name, *self.does))

    def describe_engines(self) -> str:
        """Return in words which engines the rule is about; empty if it is about all."""
        words = " or ".join(self.engine) or (f"an engine that {' and '.join(self.does)}" if self.does else "")
        return f"{words} or an unknown program" if self.unknown else words


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule as its file declares it. The stem is its name, the folder its family.

    `stated` is the severity in the file, if a policy changes it. `open` says what happens where a fact rests on a
    decision: the rule is evaluated with all of its members (`bound`), or not evaluated (`leave`).
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
    trade_off: str = ""
    absorbs: tuple[str, ...] = ()
    only_with: str = ""
    references: tuple[str, ...] = ()
    status: str = "stable"
    replaces: bool = False
    path: Path | None = None
    stated: Severity | None = None
    open: str = "leave"

    @property
    def facts(self) -> tuple[str, ...]:
        """Every fact that the rule compares or prints."""
        printed = (name for text in (self.message, *self.arithmetic) for name in find_placeholders(text))
        return tuple(dict.fromkeys((*cel.find_names(self.when), *printed)))


@functools.cache
def load_shipped() -> Mapping[str, Rule]:
    """Return the built-in rules by name."""
    index = package_data.index()
    if index is not None:
        return {row["name"]: parse(row["name"], row["family"], row) for row in index["rules"]}  # type: ignore[attr-defined]
    return {rule.name: rule for rule in load(package_data.find_folder("rules"))}


def load(folder: Path) -> Iterator[Rule]:
    """Yield the rules of a folder by name; raise RuleError at the first invalid file."""
    for path in sorted(folder.rglob("*.yaml")):
        yield parse(path.stem, path.parent.name, package_data.read_yaml(path), path)


def merge(own: Iterable[Rule]) -> Mapping[str, Rule]:
    """Return the built-in and a team's own rules by name; raise RuleError if one hides another silently.

    A built-in preview rule may be hidden, so that a new release does not break a folder that already has its name.
    """
    rules = dict(load_shipped())
    for rule in own:
        other = rules.get(rule.name)
        if other is not None and is_same_file(rule, other):
            continue
        if other is not None and (reason := _explain_conflict(rule, other)):
            raise RuleError(f"{rule.path}:1:1: {reason}")
        rules[rule.name] = rule
    return rules


def is_own(rule: Rule) -> bool:
    """True if a rule is a team's own."""
    builtin = load_shipped().get(rule.name)
    return rule.path is not None and (builtin is None or builtin.path != rule.path)


def is_same_file(one: Rule, other: Rule) -> bool:
    """True if two rules are from the same file. A rule of a commit has no file on disk."""
    here, there = one.path, other.path
    if here is None or there is None:
        return False
    return here == there or (here.exists() and there.exists() and here.samefile(there))


def _explain_conflict(rule: Rule, other: Rule) -> str:
    """Return why a rule may not replace another of its name; empty if it may."""
    if other.name not in load_shipped() or load_shipped()[other.name] is not other:
        return f"{other.path} also defines {rule.name}; rule names must be unique"
    if rule.replaces or other.status == "preview":
        return ""
    return f"gpulint already has a rule {rule.name}; rename the file, or write replaces: true to replace it"


def load_examples(rule: Rule) -> Mapping[str, tuple[object, ...]]:
    """Return the `bad` and `good` samples of a rule from its file."""
    data = load_document(rule).data
    samples = data.get("examples", {}) if isinstance(data, dict) else {}
    return {side: tuple(samples.get(side, ())) for side in ("bad", "good")}


def load_document(rule: Rule) -> Document:
    """Return the file of a rule with the locations of its values."""
    path = rule.path or package_data.find_folder("rules") / rule.family / f"{rule.name}.yaml"
    return package_data.load_document(path)


def find_placeholders(text: str) -> tuple[str, ...]:
    """Return the names of the facts that a message substitutes."""
    return tuple(name for _, name, _, _ in string.Formatter().parse(text) if name is not None)


def parse(name: str, family: str, data: object, path: Path | None = None) -> Rule:
    if not isinstance(data, dict):
        raise RuleError(f"{path or name}: a rule must be a mapping")
    target = data["for"]
    many = {key: tuple(data.get(key, ())) for key in ("at", "arithmetic", "change", "absorbs", "references")}
    return Rule(
        name=name,
        family=family,
        summary=data["summary"],
        severity=Severity.parse(data["severity"]),
        why=data["why"],
        target=_read_target(target),
        when=data["when"],
        message=data["message"],
        against=data.get("against", ""),
        only_with=data.get("only_with") or "",
        instead=data.get("instead", ""),
        superfluous=data.get("superfluous", False),
        trade_off=data.get("trade_off", ""),
        status=data.get("status", "stable"),
        replaces=data.get("replaces", False),
        path=path,
        stated=None,
        open=data.get("open", "leave"),
        **many,
    )


def _read_target(data: Mapping[str, object]) -> Target:
    """Return the target of a rule file's `for`, whose engine is a name, a list of names, or what an engine does."""
    engine, anywhere = data.get("engine"), data.get("anywhere") is True
    if isinstance(engine, dict):
        does = _read_words(engine.get("does"))
        return Target(
            str(data["scope"]), _read_words(data.get("kind")), (), does, engine.get("unknown", False), anywhere
        )
    return Target(str(data["scope"]), _read_words(data.get("kind")), _read_words(engine), anywhere=anywhere)


def _read_words(value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    return tuple(str(item) for item in value) if isinstance(value, list) else (str(value),)
