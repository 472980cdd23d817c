"""Finding: one defect at its location, with the numbers behind it and the suggestions that answer it."""

from __future__ import annotations

import enum
import re
from pathlib import Path
from typing import Annotated, NamedTuple

from gpulint.report.fact import Facts
from gpulint.report.json_keys import HIDDEN, Between, Inlined, Items, Words
from gpulint.report.location import Location
from gpulint.report.suggestion import Suggestion

BASES = Words(("stated", "measured", "default", "bounded", "joined", "assumed", "open", "catalog"))
WAIVERS = Words(("comment", "annotation", "policy", "baseline", "base"))


class Severity(enum.IntEnum):
    """How bad a finding is; the order is what `--fail-on` compares."""

    NOTE = 1
    WARNING = 2
    ERROR = 3

    @classmethod
    def parse(cls, word: str) -> Severity:
        return cls[word.upper()]

    @property
    def word(self) -> str:
        return self.name.lower()

    def lower_by(self, steps: int) -> Severity | None:
        """The severity that many steps lower; None below a note, which is silence."""
        level = self.value - steps
        return Severity(level) if level >= Severity.NOTE else None


class Related(NamedTuple):
    """A second location that a finding rests on."""

    label: str
    location: Annotated[Location, Inlined()]


class Subject(NamedTuple):
    """What a finding is about, wherever its file is: findings of one rule, role and subject are the same defect."""

    object: str = ""
    """group/Kind namespace/name, else the workload's name"""
    quantity: str = ""
    value: str = ""
    """The value at fault in base units, as text."""


class Waiver(NamedTuple):
    """Why a finding does not count, and who decided it."""

    kind: Annotated[str, WAIVERS]
    """`base`: the finding is older than the change under review."""
    reason: str
    location: Location | None = None
    owner: str = ""
    until: str = ""
    """The last day on which it applies; empty: it has no end."""
    bound: str = ""
    """The condition under which it applies."""


class Ground(NamedTuple):
    """Values behind a finding that are known in the same way, by the same source."""

    basis: Annotated[str, BASES]
    source: str
    facts: tuple[str, ...]
    location: Annotated[Location | None, Inlined(("path", "line", "column"))] = None
    """Left out: no line of the checked files states them."""


class Finding(NamedTuple):
    """One defect at its location, with the numbers behind it."""

    rule: str
    family: str
    severity: Severity
    confidence: Annotated[int, Between(1, 3)]
    """In how many of the three scenarios the rule fires."""
    message: str
    location: Annotated[Location, Inlined()]
    label: str = ""
    related: tuple[Related, ...] = ()
    arithmetic: tuple[str, ...] = ()
    workload: str = ""
    role: str = ""
    facts: Facts = ()
    basis: tuple[Ground, ...] = ()
    """How the values are known that the rule compares or that these are computed from; without those that are absent"""
    suggestions: Annotated[tuple[Suggestion, ...], Items(0, 3)] = ()
    fingerprint: str = ""
    """Stays the same when the finding moves within its file."""
    suppressed: Waiver | None = None
    """null: the finding counts"""
    help: Annotated[str, HIDDEN] = ""
    subject: Subject = Subject()
    literal: Annotated[Related | None, HIDDEN] = None
    """The deciding value in a file that the checked one only names."""

    def place(self) -> tuple[str, int, int, str]:
        """Where it stands among the findings of a report."""
        return self.location.path, self.location.line, self.location.column, self.rule

    @property
    def nameless(self) -> str:
        """The message without the names that lead to the component it is about."""
        names = sorted(filter(None, self.role.split("/")), key=len, reverse=True)
        whole = "|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in names)
        return re.sub(whole, "", self.message) if names else self.message


class RuleCard(NamedTuple):
    """A rule that fires in a report."""

    name: str
    family: str
    severity: Severity
    summary: str
    why: str
    references: tuple[str, ...] = ()
    status: str = "stable"
    """stable or preview"""
    page: str = ""
    """The address of its page; empty for a team's own rule."""
    file: Annotated[Path | None, HIDDEN] = None
    """Where outputs that show its samples read them."""
    wrong: Annotated[str, HIDDEN] = ""
    """Its first sample that is wrong."""
    right: Annotated[str, HIDDEN] = ""
    """Its first sample that is right."""
