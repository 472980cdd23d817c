"""The contract of the JSON report as models: schemas/report.json is made from them, and no run imports them."""

from __future__ import annotations

from typing import Literal

import pydantic

Scalar = bool | int | float | str | list[str] | dict[str, str] | None
SeverityWord = Literal["error", "warning", "note"]


class Strict(pydantic.BaseModel):
    """An object that holds these keys and no others."""

    model_config = pydantic.ConfigDict(extra="forbid")


class FactEntry(Strict):
    """A fact in base units: one value in each world."""

    unit: str = pydantic.Field(description="bytes, bytes_per_s, tokens, w …; empty for counts and words")
    favourable: Scalar
    likely: Scalar
    adverse: Scalar


class Place(Strict):
    """A span of a file; lines and columns count from 1, the end column is exclusive."""

    path: str
    line: int = pydantic.Field(ge=1)
    column: int = pydantic.Field(ge=1)
    end_line: int = pydantic.Field(ge=1)
    end_column: int = pydantic.Field(ge=1)


class RelatedEntry(Place):
    """A second place that a finding rests on."""

    label: str


class ReplacementEntry(Place):
    """Characters of a file, and what stands in their place after a change; an empty span takes more in."""

    text: str


class ChangeEntry(Strict):
    """A change of one quantity's text; without a place nothing in the files can state it."""

    quantity: str
    old: str = pydantic.Field(description="the text that stands there; empty: `new` is to be added")
    new: str
    how: Literal["replace", "argument", "key", "remove"] = pydantic.Field(
        description="`argument`: after the word at the place; `key`: beside the key at the place, in the same mapping"
    )
    replacement: ReplacementEntry | None = pydantic.Field(
        description="the same change as characters of the file; null: they are not sure, and --fix leaves it alone"
    )


class PlacedChangeEntry(ChangeEntry, Place):
    """A change of one quantity's text at its place."""


class SuggestionEntry(Strict):
    """An alternative that the same rules have nothing new to say about, in any world."""

    title: str
    changes: list[PlacedChangeEntry | ChangeEntry]
    facts: dict[str, FactEntry]
    gives_up: str
    cost_before_usd_per_hour: float | None
    cost_after_usd_per_hour: float | None
    prices: str = pydantic.Field(description="whose prices, where, when and how old")
    values: dict[str, int | float | str | bool | None] = pydantic.Field(description="the quantities that it sets")
    answers: list[str] = pydantic.Field(description="the questions of gpulint suggest that it answers best")


class WaiverEntry(Strict):
    """Why a finding does not count, and who says so."""

    kind: Literal["comment", "annotation", "policy", "baseline", "base"] = pydantic.Field(
        description="`base`: it stood before the change that is looked at"
    )
    reason: str
    location: Place | None
    owner: str
    until: str = pydantic.Field(description="the last day that it holds on; empty: it has no end")
    bound: str = pydantic.Field(description="the condition that it holds under")


class SubjectEntry(Strict):
    """What a finding is about, wherever its file lies: the same rule, role and subject are the same debt."""

    object: str = pydantic.Field(description="group/Kind namespace/name, else the workload's name")
    quantity: str
    value: str = pydantic.Field(description="the value at fault in base units, as text")


class FindingEntry(Place):
    """One defect at its place, with the numbers behind it."""

    rule: str
    family: str
    severity: SeverityWord
    confidence: int = pydantic.Field(ge=1, le=3, description="in how many of the three worlds the rule holds")
    message: str
    label: str
    related: list[RelatedEntry]
    arithmetic: list[str]
    workload: str
    role: str
    subject: SubjectEntry
    facts: dict[str, FactEntry]
    suggestions: list[SuggestionEntry] = pydantic.Field(max_length=3)
    fingerprint: str = pydantic.Field(description="stays the same when the finding moves within its file")
    suppressed: WaiverEntry | None = pydantic.Field(description="null: it counts")


class NotEvaluatedEntry(Strict):
    """A rule that lacked facts."""

    rule: str
    needs: list[str] = pydantic.Field(min_length=1, description="the quantities that somebody would have to state")


class ExplanationEntry(Place):
    """Why a quantity is not told, at the place that says so."""

    quantity: str
    category: str = pydantic.Field(description="who decides it instead: platform variable, local path, image default …")
    reason: str


class ObjectiveEntry(Strict):
    """An objective that is stated, in words; the numbers are among the facts."""

    objective: str
    wanted: str
    likely: str
    at_best: str
    verdict: str = pydantic.Field(description="met, likely met, likely missed, missed, beyond physics or cannot tell")
    needs: list[str] = pydantic.Field(description="quantities that would have to be stated")


class WorldsEntry(Strict):
    """One number in each world."""

    favourable: float
    likely: float
    adverse: float


class FitEntry(Strict):
    """Hardware on which a role fits in every world, where no file names it; the first is the cheapest to be had."""

    accelerator: str
    name: str
    gpus: int = pydantic.Field(ge=1)
    tensor_parallel: int = pydantic.Field(ge=1)
    headroom: WorldsEntry = pydantic.Field(description="share of the memory budget that is left")
    cost_usd_per_hour: float | None
    prices: str = pydantic.Field(description="where and when the cost was listed")
    pool: str = pydantic.Field(description="the team's own nodes, where they have a name")


class RoleEntry(Strict):
    """What was understood of one role of a workload."""

    name: str
    engine: str
    part_of: str
    architecture: str
    accelerator: str
    parallelism: str
    verdict: str
    headroom: str
    cost: str = pydantic.Field(description="what it costs an hour; empty: not known")
    cost_of_work: str = pydantic.Field(description="what a million tokens of answers or the run cost; empty: not known")
    prices: str = pydantic.Field(description="whose prices that is of, where, when and how old")
    objectives: list[ObjectiveEntry]
    fits_on: list[str]
    borderline: list[str]
    too_small: list[str]
    smallest: list[FitEntry]
    facts: dict[str, FactEntry]
    assumptions: list[str]
    unknown: dict[str, str] = pydantic.Field(description="quantity → why it cannot be known")
    explained: list[ExplanationEntry]
    not_evaluated: list[NotEvaluatedEntry]


class WorkloadEntry(Strict):
    """What was understood of one workload."""

    name: str
    kind: str
    path: str
    line: int = pydantic.Field(ge=1)
    adapter: str
    roles: list[RoleEntry]


class DocumentEntry(Strict):
    """A document of a known format, also where it states no workload."""

    path: str
    line: int = pydantic.Field(ge=1)
    kind: str = pydantic.Field(description="group/Kind of a Kubernetes object, else the noun of the format")
    adapter: str


class SkipEntry(Strict):
    """A file, or a document of it, that was not read."""

    path: str
    reason: str


class FailureEntry(Strict):
    """An exception of gpulint's own."""

    path: str
    doing: str
    error: str


class RuleEntry(Strict):
    """A rule that speaks in this report."""

    name: str
    family: str
    severity: SeverityWord
    status: str = pydantic.Field(description="stable or preview")
    summary: str
    why: str
    page: str = pydantic.Field(description="the address of its page; empty where it has none")
    references: list[str]


class FiguresEntry(Strict):
    """What a workload takes; null: it cannot be told."""

    gpus: float | None
    cost_usd_per_hour: float | None
    power_w: float | None
    headroom: float | None = pydantic.Field(description="likely share of the memory budget that is left")


class WorkloadChangeEntry(Strict):
    """A workload before and after a change; null: it is not there."""

    workload: str
    kind: str
    path: str
    before: FiguresEntry | None
    after: FiguresEntry | None


class TotalEntry(Strict):
    """What a change adds of a quantity."""

    amount: float = pydantic.Field(description="the sum over the changed workloads of which it can be told")
    untold: int = pydantic.Field(description="changed workloads of which it cannot be told")


class TotalsEntry(Strict):
    """What a change adds in sum; a month has 730 hours."""

    gpus: TotalEntry
    usd_per_month: TotalEntry
    power_w: TotalEntry


class ComparisonEntry(Strict):
    """What a change makes of a repository."""

    base: str
    head: str
    changes: list[WorkloadChangeEntry]
    total: TotalsEntry
    gone: list[FindingEntry] = pydantic.Field(description="what stood before the change and no longer does")
    untold: list[FindingEntry] = pydantic.Field(description="what stood before the change and cannot be told any more")


class BudgetEntry(Place):
    """How much of one limit of a budget the workloads of a run take, and where the policy states it."""

    budget: str = pydantic.Field(description="whose it is: a team, or the paths")
    unit: str = pydantic.Field(description="gpus, usd_per_hour or w")
    limit: float
    least: float = pydantic.Field(description="what the workloads take whose figure is known")
    verdict: Literal["exceeded", "within", "cannot tell"]
    reason: str = pydantic.Field(description="what is not known; empty where all is")
    workloads: int


class MeterEntry(Strict):
    """How much of one limit is taken, in base units; null: it cannot be told."""

    name: str = pydantic.Field(description="power, cooling, weight, space …")
    unit: str = pydantic.Field(description="w, kg, u …")
    taken: WorldsEntry | None
    limit: float | None
    least: float | None = pydantic.Field(description="what the known parts take, where others are not known")
    usual: bool = pydantic.Field(description="the limit is none that is stated, but what is usual for its kind")
    verdict: Literal["within", "likely within", "likely exceeded", "exceeded", "cannot tell"]
    needs: list[str] = pydantic.Field(description="quantities that would have to be stated")


class SlotEntry(Strict):
    """One machine in a rack."""

    name: str
    lowest: int = pydantic.Field(description="its lowest unit")
    units: int
    power_w: float | None
    type: str = pydantic.Field(description="as the catalog or the file lists it; empty: not stated")


class FeedEntry(Strict):
    """A circuit into a rack: its load, and the shares that its most loaded line carries."""

    name: str
    side: str = pydantic.Field(description="feeds of one side fail together")
    supply: str
    usable_va: float | None
    load_va: WorldsEntry | None
    load_share: WorldsEntry | None = pydantic.Field(description="of what is usable")
    lost_share: WorldsEntry | None = pydantic.Field(description="the same after the worst loss of another side")
    verdict: Literal[
        "holds",
        "likely holds",
        "not redundant",
        "likely no spare",
        "no spare",
        "likely overloaded",
        "overloaded",
        "cannot tell",
    ] = pydantic.Field(description="`no spare`: it would be overloaded after a loss, and redundancy is promised")
    needs: list[str]


class RackEntry(Strict):
    """What was understood of a rack."""

    name: str
    place: str = pydantic.Field(description="the names of the parts above it")
    line: int = pydantic.Field(ge=1)
    units: int | None
    servers: int
    stacked: bool = pydantic.Field(description="no position is stated: the slots are drawn from the bottom up")
    slots: list[SlotEntry]
    undrawn: list[str]
    meters: list[MeterEntry]
    feeds: list[FeedEntry]


class AreaEntry(Strict):
    """A part that holds or feeds several racks."""

    kind: str
    name: str
    line: int = pydantic.Field(ge=1)
    meters: list[MeterEntry]


class LackingEntry(Strict):
    """A rule that lacked the same facts of several parts."""

    rule: str
    needs: list[str] = pydantic.Field(min_length=1)
    parts: list[str] = pydantic.Field(min_length=1)


class FacilityEntry(Strict):
    """What was understood of a facility."""

    name: str
    path: str
    line: int = pydantic.Field(ge=1)
    areas: list[AreaEntry]
    racks: list[RackEntry]
    not_evaluated: list[LackingEntry]
    facts: dict[str, FactEntry] = pydantic.Field(
        description="power idle, busy and on average; energy and cost of a year"
    )


class ToolEntry(Strict):
    """What wrote the report."""

    name: Literal["gpulint"]
    version: str


class CatalogEntry(Strict):
    """What it looked up in."""

    date: str


class CountsEntry(Strict):
    """Findings that nothing suppresses, by severity."""

    error: int
    warning: int
    note: int


class SummaryEntry(Strict):
    """What was counted."""

    files: int
    workloads: int
    findings: CountsEntry
    suppressed: int
    unsilenced: int = pydantic.Field(
        description="findings that count although waivers or a baseline would silence them"
    )
    skipped: int
    failures: int
    not_evaluated: int


class ReportFile(Strict):
    """All that one run of gpulint found."""

    format: Literal["gpulint-report/1"]
    tool: ToolEntry
    catalog: CatalogEntry
    findings: list[FindingEntry]
    documents: list[DocumentEntry]
    workloads: list[WorkloadEntry]
    skipped: list[SkipEntry]
    failures: list[FailureEntry]
    rules: list[RuleEntry] = pydantic.Field(description="those that speak")
    budgets: list[BudgetEntry] = pydantic.Field(description="of the policies that govern the files")
    facilities: list[FacilityEntry]
    comparison: ComparisonEntry | None
    summary: SummaryEntry


class PlanEntry(Place):
    """What else one role could run on."""

    workload: str
    role: str
    now: str = pydantic.Field(description="the network on its cards, in words")
    cures: list[str] = pydantic.Field(description="the rules that hold today and that every option answers")
    leaves: list[str] = pydantic.Field(description="those that no option answers")
    facts: dict[str, FactEntry] = pydantic.Field(description="today's figures")
    options: list[SuggestionEntry] = pydantic.Field(description="best first; no rule has anything new to say of any")
    refused: dict[str, int] = pydantic.Field(description="how many shapes were left out, by the reason")
    needs: list[str] = pydantic.Field(description="what would have to be stated before any can be told")
    smallest: list[FitEntry] = pydantic.Field(description="what fits where no file names the card, the cheapest first")
    too_small: list[str] = pydantic.Field(description="the cards that it does not fit on in the stated layout")


class PlanFile(Strict):
    """What `gpulint suggest` found."""

    format: Literal["gpulint-plan/1"]
    tool: ToolEntry
    catalog: CatalogEntry
    plans: list[PlanEntry]
