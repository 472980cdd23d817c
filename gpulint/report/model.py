"""What gpulint says: a Finding at its Location, the Suggestions that answer it, and the Report that carries them all."""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")
COUNT = re.compile(r"\d+(?:\.\d+)?$")
COUNTED = frozenset({"gpus_per_pod", "gpu_request", "replicas", "pods_per_replica", "instance_type", "accelerator"})
"""Quantities that cost money; where no price is known, more of them is not the same cost."""


class Severity(enum.IntEnum):
    """How bad; the order is what `--fail-on` compares."""

    NOTE = 1
    WARNING = 2
    ERROR = 3

    @classmethod
    def named(cls, word: str) -> Severity:
        return cls[word.upper()]

    @property
    def word(self) -> str:
        return self.name.lower()

    def lowered(self, steps: int) -> Severity | None:
        """The severity that many steps lower; None below a note, which is silence."""
        level = self.value - steps
        return Severity(level) if level >= Severity.NOTE else None


class Location(NamedTuple):
    """A span of a file: lines and columns count from 1, the end column is exclusive, `text` is the source of its lines."""

    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    text: str = ""


class Worlds(NamedTuple, Generic[T]):
    """One value of a fact in each world."""

    favourable: T
    likely: T
    adverse: T


class Fact(NamedTuple):
    """A named quantity as a report shows it: a value a world and the unit of the glossary."""

    name: str
    unit: str
    values: Worlds[object]


class Related(NamedTuple):
    """A second place that a finding rests on, with its label."""

    label: str
    location: Location


class Replacement(NamedTuple):
    """Characters of a file, and what stands in their place after a change; an empty span takes more in."""

    location: Location
    text: str


class Edit(NamedTuple):
    """A change of one quantity: the text that states it now, and the text that would state the new value.

    `how` it is written: `replace` puts `new` in the place of `old`, whose location it is. Where nothing states the quantity
    `old` is empty and `location` what `new` goes beside: `argument` is one more word after that argument, `key` one more
    key of the mapping whose key stands there. `remove` takes the entry away that states `old`. `exact` are the characters
    of that, as the file is written; None where they are not sure.
    """

    quantity: str
    location: Location | None
    old: str
    new: str
    how: str = "replace"
    exact: Replacement | None = None

    @property
    def asks_for_more(self) -> bool:
        """Whether a quantity that costs money grows, or changes in a way that may cost more."""
        if self.quantity not in COUNTED:
            return False
        before, after = COUNT.search(self.old), COUNT.search(self.new)
        return before is None or after is None or float(after[0]) > float(before[0])


class Suggestion(NamedTuple):
    """A right-sized alternative that was checked by the same rules; `prices` says where and when its costs were listed.

    `values` are the quantities that it sets; `answers` are the questions of `gpulint suggest` that it answers best.
    `hours` is how long it takes for what today's shape does in one hour; `learns_otherwise` says that a run would end with
    other weights.
    """

    title: str
    edits: tuple[Edit, ...]
    facts: tuple[Fact, ...] = ()
    gives_up: str = ""
    cost_before_usd_per_hour: float | None = None
    cost_after_usd_per_hour: float | None = None
    prices: str = ""
    values: Mapping[str, object] = MappingProxyType({})
    answers: tuple[str, ...] = ()
    hours: float = 1.0
    learns_otherwise: bool = False

    @property
    def is_safe(self) -> bool:
        """Whether it gives nothing up and costs no more, as far as prices are known; else, whether it asks for no more."""
        before, after = self.cost_before_usd_per_hour, self.cost_after_usd_per_hour
        if self.gives_up:
            return False
        if before is not None and after is not None:
            return after <= before
        return not any(edit.asks_for_more for edit in self.edits)


class Plan(NamedTuple):
    """What else a role could run on: options that answer the rules in `cures` and that no rule speaks against, best first.

    `facts` are today's figures; `refused` counts the shapes that were left out by their reason; `needs` is what would have
    to be stated before any can be told. `smallest` and `too_small` answer where no file names the card.
    """

    workload: str
    role: str
    location: Location
    now: str = ""
    cures: tuple[str, ...] = ()
    leaves: tuple[str, ...] = ()
    facts: tuple[Fact, ...] = ()
    options: tuple[Suggestion, ...] = ()
    refused: Mapping[str, int] = MappingProxyType({})
    needs: tuple[str, ...] = ()
    smallest: tuple[Fit, ...] = ()
    too_small: tuple[str, ...] = ()


class Subject(NamedTuple):
    """What a finding is about, wherever its file lies: the object, the quantity at fault, and its value as text.

    Two findings of one rule and role are the same debt when their subjects agree.
    """

    object: str = ""
    quantity: str = ""
    value: str = ""


class Waiver(NamedTuple):
    """Why a finding does not count: `kind` is comment, annotation, policy, baseline, or base where it stood before a change.

    `until` is the last day that it holds on; `bound` the condition that it holds under.
    """

    kind: str
    reason: str
    location: Location | None = None
    owner: str = ""
    until: str = ""
    bound: str = ""


class Finding(NamedTuple):
    """One defect at its place, with the numbers behind it."""

    rule: str
    family: str
    severity: Severity
    confidence: int
    message: str
    location: Location
    label: str = ""
    related: tuple[Related, ...] = ()
    arithmetic: tuple[str, ...] = ()
    workload: str = ""
    role: str = ""
    facts: tuple[Fact, ...] = ()
    suggestions: tuple[Suggestion, ...] = ()
    fingerprint: str = ""
    suppressed: Waiver | None = None
    help: str = ""
    subject: Subject = Subject()

    def place(self) -> tuple[str, int, int, str]:
        """Where it stands among the findings of a report."""
        return self.location.path, self.location.line, self.location.column, self.rule

    @property
    def nameless(self) -> str:
        """What is said, without the names that lead to the part it is said of."""
        names = sorted(filter(None, self.role.split("/")), key=len, reverse=True)
        whole = "|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in names)
        return re.sub(whole, "", self.message) if names else self.message


class NotEvaluated(NamedTuple):
    """A rule that matched a role but lacked facts; `needs` says which, in the glossary's words."""

    rule: str
    needs: tuple[str, ...]


class Explanation(NamedTuple):
    """Why a quantity is not told: who decides it instead (`category`), the reason, and the place that says so."""

    quantity: str
    category: str
    reason: str
    location: Location


class Aim(NamedTuple):
    """An objective that is stated: what is wanted, likely and possible at best in words, and what would have to be stated."""

    objective: str
    wanted: str
    likely: str = ""
    at_best: str = ""
    verdict: str = ""
    needs: tuple[str, ...] = ()


class Fit(NamedTuple):
    """Hardware on which a role fits in every world: card, count, ranks, what is left, and what it costs where that is known.

    Count and cost are of one instance: its GPUs' share of their machines. `prices` says where and when the cost was listed;
    `pool` names the team's own nodes.
    """

    accelerator: str
    name: str
    gpus: int
    tensor_parallel: int
    headroom: Worlds[object]
    cost_usd_per_hour: float | None = None
    prices: str = ""
    pool: str = ""


class Figures(NamedTuple):
    """What a workload or a role of it takes; None is what cannot be told. The headroom is the likely share of its memory."""

    gpus: float | None = None
    cost_usd_per_hour: float | None = None
    power_w: float | None = None
    headroom: float | None = None


class RoleSummary(NamedTuple):
    """What was understood of one role of a workload; `prices` says whose prices its cost is of, where and how old.

    `figures` is None of a role whose hardware another one counts.
    """

    name: str
    engine: str = ""
    part_of: str = ""
    architecture: str = ""
    accelerator: str = ""
    parallelism: str = ""
    verdict: str = ""
    headroom: str = ""
    objectives: tuple[Aim, ...] = ()
    fits_on: tuple[str, ...] = ()
    borderline: tuple[str, ...] = ()
    too_small: tuple[str, ...] = ()
    smallest: tuple[Fit, ...] = ()
    facts: tuple[Fact, ...] = ()
    assumptions: tuple[str, ...] = ()
    unknown: Mapping[str, str] = MappingProxyType({})
    explained: tuple[Explanation, ...] = ()
    not_evaluated: tuple[NotEvaluated, ...] = ()
    cost: str = ""
    cost_of_work: str = ""
    prices: str = ""
    figures: Figures | None = None


class WorkloadSummary(NamedTuple):
    """What was understood of one workload."""

    name: str
    kind: str
    adapter: str
    location: Location
    roles: tuple[RoleSummary, ...]


class Recognised(NamedTuple):
    """A document of a known format: what it is, and the adapter that claims it, also where it states no workload."""

    path: str
    line: int
    kind: str
    adapter: str


class Skip(NamedTuple):
    """A file, or a document of it, that was not read, and why."""

    path: str
    reason: str


class Spent(NamedTuple):
    """How much of one limit of a budget the workloads of a run take, in the limit's unit: all of it, or the least.

    The verdict is "exceeded", "within" or "cannot tell", where `reason` says what is not known.
    """

    budget: str
    unit: str
    limit: float
    least: float
    verdict: str
    reason: str
    workloads: int
    location: Location


class Meter(NamedTuple):
    """How much of one limit is taken, in base units; None is what cannot be told.

    `least` is what the known parts take where others are not known. The limit is a stated one, or `usual` for what it is.
    The verdict is "within", "likely within", "likely exceeded", "exceeded" or "cannot tell", where `needs` says what would
    have to be stated.
    """

    name: str
    unit: str
    taken: Worlds[float] | None = None
    limit: float | None = None
    least: float | None = None
    usual: bool = False
    verdict: str = "cannot tell"
    needs: tuple[str, ...] = ()


class Slot(NamedTuple):
    """One machine in a rack: its lowest unit, how many it takes, what it draws at most, and its type where that is stated."""

    name: str
    lowest: int
    units: int
    power_w: float | None = None
    type: str = ""


class FeedSummary(NamedTuple):
    """A circuit into a rack: what of it is usable, its load, and the shares that its most loaded line carries.

    `lost_share` is after the worst loss of another side. The verdict is "holds" where it carries both, "no spare" where it
    would be overloaded after a loss and redundancy is promised, "not redundant" where none is, "overloaded" where it is
    today, and "cannot tell"; the first two and "overloaded" may also be "likely".
    """

    name: str
    side: str
    supply: str = ""
    usable_va: float | None = None
    load_va: Worlds[float] | None = None
    load_share: Worlds[float] | None = None
    lost_share: Worlds[float] | None = None
    verdict: str = "cannot tell"
    needs: tuple[str, ...] = ()


class RackSummary(NamedTuple):
    """What was understood of a rack: `place` names the parts above it, `undrawn` says what has no place in its elevation.

    `stacked` says that positions which are not stated are drawn from the bottom up.
    """

    name: str
    place: str
    location: Location
    units: int | None = None
    servers: int = 0
    slots: tuple[Slot, ...] = ()
    stacked: bool = False
    undrawn: tuple[str, ...] = ()
    meters: tuple[Meter, ...] = ()
    feeds: tuple[FeedSummary, ...] = ()


class AreaSummary(NamedTuple):
    """A part that holds several racks or feeds several, as a room or a panel does, and what of its limits is taken."""

    kind: str
    name: str
    location: Location
    meters: tuple[Meter, ...] = ()


class Lacking(NamedTuple):
    """A rule that lacked the same facts of several parts of a facility."""

    rule: str
    needs: tuple[str, ...]
    parts: tuple[str, ...]


class FacilitySummary(NamedTuple):
    """What was understood of a facility; the areas are itself, its sites and rooms, and what feeds or cools them.

    `year` is what its servers draw without work, under it and on average, and what a year of that takes and costs.
    """

    name: str
    location: Location
    areas: tuple[AreaSummary, ...] = ()
    racks: tuple[RackSummary, ...] = ()
    not_evaluated: tuple[Lacking, ...] = ()
    year: tuple[Fact, ...] = ()


class Failure(NamedTuple):
    """An exception of ours, caught at the pipeline's boundary and counted."""

    path: str
    doing: str
    error: str


class RuleCard(NamedTuple):
    """A rule as a report shows it, with the address of its page where it has one.

    `wrong` and `right` are its first samples, which outputs that show them read from its `file`.
    """

    name: str
    family: str
    severity: Severity
    summary: str
    why: str
    references: tuple[str, ...] = ()
    status: str = "stable"
    page: str = ""
    file: Path | None = None
    wrong: str = ""
    right: str = ""


class Change(NamedTuple):
    """A workload before and after a change; None where it does not exist."""

    workload: str
    kind: str
    path: str
    before: Figures | None
    after: Figures | None


class Comparison(NamedTuple):
    """What a change makes of a repository: `gone` are the findings that it ends, `untold` those that nobody can tell any more."""

    base: str
    head: str
    changes: tuple[Change, ...] = ()
    gone: tuple[Finding, ...] = ()
    untold: tuple[Finding, ...] = ()


class Comment(NamedTuple):
    """What the comment on a pull request is called among others, and from what change on it is made; None is no threshold."""

    key: str = ""
    usd_per_month: float | None = None
    gpus: float | None = None


class Report(NamedTuple):
    """All that one run found, as every renderer gets it; `asks` says how a missing quantity is supplied.

    `rules` are those that speak, by name. From the severity `fail_on` on, a finding fails the run.
    `unsilenced` are those that waivers and a baseline would silence if they counted.
    """

    findings: tuple[Finding, ...] = ()
    workloads: tuple[WorkloadSummary, ...] = ()
    skipped: tuple[Skip, ...] = ()
    failures: tuple[Failure, ...] = ()
    documents: tuple[Recognised, ...] = ()
    files: int = 0
    asks: Mapping[str, str] = MappingProxyType({})
    catalog_date: str = ""
    rules: Mapping[str, RuleCard] = MappingProxyType({})
    comparison: Comparison | None = None
    fail_on: Severity = Severity.ERROR
    budgets: tuple[Spent, ...] = ()
    unsilenced: int = 0
    comment: Comment = Comment()
    facilities: tuple[FacilitySummary, ...] = ()

    @property
    def open(self) -> tuple[Finding, ...]:
        """The findings that nothing suppresses."""
        return tuple(finding for finding in self.findings if finding.suppressed is None)

    @property
    def failing(self) -> tuple[Finding, ...]:
        """The findings for which the run fails."""
        return tuple(finding for finding in self.open if finding.severity >= self.fail_on)
