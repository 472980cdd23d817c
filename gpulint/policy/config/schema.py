"""The contracts of a team's own files: the shape of gpulint.yaml and of a rule file, with the place of what is wrong."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pydantic

from gpulint import units
from gpulint.catalog import package_data as shipped
from gpulint.facts import objective_words as objectives
from gpulint.facts.providers import LARGEST
from gpulint.policy.config import did_you_mean as spelling
from gpulint.policy.config import governance

OF_PATH = "shell pattern of paths, as apps/*, relative to the folder of this file; * crosses folders"
OF_WORKLOAD = "name of the workload, * for any characters; any where it is left out"
SeverityWord = Literal["error", "warning", "note"]


class Strict(pydantic.BaseModel):
    """A mapping whose unknown keys are errors."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)


class HintFile(Strict):
    """What the files that match `path` cannot say themselves."""

    path: str = pydantic.Field(description=OF_PATH)
    workload: str = pydantic.Field("", description=OF_WORKLOAD)
    accelerator: str = pydantic.Field("", description="as `gpulint catalog accelerators` lists it")
    checkpoint: str = pydantic.Field("", description="id on a hub, or a path")
    gpus: int = pydantic.Field(0, ge=0, description="GPUs of one pod or node")
    nodes: int = pydantic.Field(0, ge=0, description="pods or nodes of one instance")


class ObjectiveFile(Strict):
    """What the services and runs of the files that match `path` are there to reach."""

    path: str = pydantic.Field(description=OF_PATH)
    workload: str = pydantic.Field("", description=OF_WORKLOAD)

    def words(self) -> dict[str, str | float]:
        """What is stated, by the word that states it."""
        stated = {field.alias or "": getattr(self, name) for name, field in type(self).model_fields.items()}
        return {word: value for word, value in stated.items() if word in objectives.WORDS and value is not None}


def _checked(word: str) -> pydantic.AfterValidator:
    """Reads a value as it will be read, so that what is wrong with it has its place."""

    def checked(value: str | float | None) -> str | float | None:
        if value is not None:
            objectives.read(word, value)
        return value

    return pydantic.AfterValidator(checked)


AIMS: dict[str, Any] = {
    word.replace("-", "_"): (
        Annotated[int | float | str | None, _checked(word)],
        pydantic.Field(None, alias=word, description=one.meaning),
    )
    for word, one in objectives.WORDS.items()
}
if TYPE_CHECKING:
    Aim = ObjectiveFile
else:
    Aim = pydantic.create_model("Aim", __base__=ObjectiveFile, __doc__=ObjectiveFile.__doc__, **AIMS)


class PoolFile(Strict):
    """Nodes that no file of the repository defines: what leads to them, and what they hold."""

    name: str = pydantic.Field(min_length=1, description="what prices: and fabric: call it")
    labels: dict[str, str] = pydantic.Field(
        {}, description="node labels; a selector that states all it has of them leads here"
    )
    partition: str = pydantic.Field("", description="Slurm partition, or queue of another batch system")
    queue: str = pydantic.Field("", description="queue of Kueue or Volcano, as the workload's label names it")
    accelerator: str = pydantic.Field("", description="as `gpulint catalog accelerators` lists it")
    gpus: int = pydantic.Field(0, ge=0, description="GPUs of one node")
    instance_type: str = pydantic.Field("", alias="instance-type", description="machine type of the cloud")


def _rate(value: str) -> str:
    if value:
        units.rate(value)
    return value


Rate = Annotated[str, pydantic.AfterValidator(_rate)]
NetworkKind = Literal["", "efa", "infiniband", "roce", "gpudirect-tcpx", "gpudirect-tcpxo", "tcp"]


class FabricFile(Strict):
    """What joins the nodes and cards of the files, clouds and pools that match."""

    path: str = pydantic.Field("", description=OF_PATH)
    workload: str = pydantic.Field("", description=OF_WORKLOAD)
    cloud: str = pydantic.Field("", description="aws, azure, gcp or oci, as the machine type or node labels tell")
    pool: str = pydantic.Field("", description="pool of nodes, as a selector, queue or partition names it")
    network: Rate = pydantic.Field("", description="bandwidth of a node per direction: 3200 Gb/s")
    network_per_gpu: Rate = pydantic.Field("", alias="network-per-gpu", description="the same for each GPU: 400 Gb/s")
    kind: NetworkKind = pydantic.Field("", description="what the network is")
    nics: int = pydantic.Field(0, ge=0, description="RDMA or EFA network cards of a node")
    oversubscription: float = pydantic.Field(0, ge=0, description="what nodes can send against what switches carry")
    rail_optimized: bool | None = pydantic.Field(
        None, alias="rail-optimized", description="the same card of all nodes hangs on one switch"
    )
    nvlink_bridge: bool | None = pydantic.Field(
        None, alias="nvlink-bridge", description="NVLink bridges join the cards"
    )

    def where(self) -> dict[str, str]:
        """What it speaks of."""
        stated = {"path": self.path, "workload": self.workload, "cloud": self.cloud, "pool": self.pool}
        return {name: pattern for name, pattern in stated.items() if pattern}

    def quantities(self) -> dict[str, float | str | bool]:
        """What it states, as facts in base units."""
        stated = {
            "network_bytes_per_s": units.rate(self.network) if self.network else None,
            "network_bytes_per_s_per_gpu": units.rate(self.network_per_gpu) if self.network_per_gpu else None,
            "network_kind": self.kind or None,
            "node_nics": self.nics or None,
            "network_oversubscription": self.oversubscription or None,
            "rail_optimized": self.rail_optimized,
            "nvlink_bridge": self.nvlink_bridge,
        }
        return {name: value for name, value in stated.items() if value is not None}


class AvailableFile(Strict):
    """What alternatives may be made of; a list that is left out narrows nothing."""

    clouds: tuple[str, ...] = pydantic.Field(
        (), description="aws, azure, gcp …: their machines, in place of the file's cloud"
    )
    regions: tuple[str, ...] = pydantic.Field((), description="regions of those clouds, whose prices count")
    instance_types: tuple[str, ...] = pydantic.Field((), alias="instance-types", description="only these machine types")
    accelerators: tuple[str, ...] = pydantic.Field(
        (), description="only these, as `gpulint catalog accelerators` lists them"
    )
    forbidden: tuple[str, ...] = pydantic.Field((), description="accelerators that are never to be suggested")
    pools: bool = pydantic.Field(
        False, description="only what `pools:` names, and what clouds or instance-types add to it"
    )


class PriceFile(Strict):
    """What a team pays, in place of the list price: for one machine of a type or pool, or for one accelerator."""

    instance_type: str = pydantic.Field("", alias="instance-type", description="machine type of the cloud")
    accelerator: str = pydantic.Field("", description="as `gpulint catalog accelerators` lists it: the price of one")
    pool: str = pydantic.Field("", description="a pool under `pools:`: the price of one node")
    usd_per_hour: float = pydantic.Field(gt=0, alias="usd-per-hour", description="on demand, or as contracted")
    spot_usd_per_hour: float | None = pydantic.Field(
        None, gt=0, alias="spot-usd-per-hour", description="of a machine that may be taken back"
    )
    region: str = pydantic.Field("", description="region that it holds in; any where it is left out")
    date: datetime.date = pydantic.Field(description="day of the price, 2026-11-01: reports say how old it is")
    source: str = pydantic.Field("", description="where it stands: a contract, an invoice, a page")

    @pydantic.model_validator(mode="after")
    def _of_one(self) -> PriceFile:
        if sum(map(bool, (self.instance_type, self.accelerator, self.pool))) != 1:
            raise ValueError("name one of instance-type, accelerator and pool")
        return self


class EnergyFile(Strict):
    """What electricity costs and emits where a team computes."""

    usd_per_kwh: float | None = pydantic.Field(None, gt=0, alias="usd-per-kwh", description="price of electricity")
    co2_kg_per_kwh: float | None = pydantic.Field(
        None, ge=0, alias="co2-kg-per-kwh", description="what a kWh of it emits"
    )
    pue: float | None = pydantic.Field(None, ge=1, description="power of the whole site against that of its machines")


def _one_or_more(value: object) -> object:
    return (value,) if isinstance(value, str) else value


def _off(value: object) -> object:
    """`off` as it is meant: to YAML it is false."""
    return "off" if value is False else value


Extended = Annotated[
    tuple[str, ...],
    pydantic.BeforeValidator(_one_or_more, json_schema_input_type=str | tuple[str, ...]),
]
LevelWord = Annotated[Literal["error", "warning", "note", "off"], pydantic.BeforeValidator(_off)]


def _facts(named: tuple[str, ...]) -> tuple[str, ...]:
    """Names of quantities, each of which is one."""
    for name in named:
        if name not in shipped.glossary():
            raise ValueError(f"no fact is called {name}{spelling.nearest(name, shipped.glossary())}")
    return named


def _threshold(name: str) -> Any:
    """Reads a value in the unit of its threshold, so that what is wrong with it has its place."""
    row = shipped.glossary()[name]

    def checked(value: Any) -> Any:
        try:
            parsed = units.parse(value, str(row["unit"]))
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
        if parsed > LARGEST:
            raise ValueError(f"{name}: {value} is more than anything has")
        return value

    said = (
        f"{row['meaning']} (here {units.human(row['absent'], str(row['unit']))})" if "absent" in row else row["meaning"]
    )
    return Annotated[int | float | str, pydantic.BeforeValidator(checked)], pydantic.Field(None, description=str(said))


if TYPE_CHECKING:
    Thresholds = Strict
else:
    Thresholds = pydantic.create_model(
        "Thresholds",
        __base__=Strict,
        __doc__="The numbers that an organisation's policy sets in place of ours, by name, each in its unit.",
        **{name: _threshold(name) for name in governance.thresholds()},
    )


class AcceleratorsFile(Strict):
    """What workloads may run on; alternatives stay within it. What alternatives may be made of stands under available."""

    allowed: tuple[str, ...] = pydantic.Field(
        (), description="only these, as `gpulint catalog accelerators` lists them, or patterns as h100-*"
    )
    forbidden: tuple[str, ...] = pydantic.Field((), description="never these")


class RequireFile(Strict):
    """What the workloads that match are to state."""

    paths: Extended = pydantic.Field((), description="lines as in .gitignore; every file where they are left out")
    workload: str = pydantic.Field("*", description="name of the workload, or a pattern")
    task: Literal["", "inference", "training"] = pydantic.Field("", description="only services, or only training runs")
    labels: Extended = pydantic.Field((), description="labels that are to have a value")
    annotations: Extended = pydantic.Field((), description="annotations that are to have a value")
    objective: bool = pydantic.Field(False, description="an objective is to be stated")
    facts: Annotated[Extended, pydantic.AfterValidator(_facts)] = pydantic.Field(
        (), description="quantities that are to be known: accelerator, checkpoint …"
    )

    @pydantic.model_validator(mode="after")
    def _of_something(self) -> RequireFile:
        if not (self.labels or self.annotations or self.objective or self.facts):
            raise ValueError("require says nothing: name labels, annotations, objective or facts")
        return self


def _amount(value: object) -> object:
    """A number that a sum can be held against."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0 <= value <= LARGEST:  # type: ignore[operator]
        raise ValueError(f"a budget is a number, not {str(value).lower() if isinstance(value, bool) else value}")
    return value


Amount = Annotated[int | float, pydantic.BeforeValidator(_amount), pydantic.Field(ge=0)]


class BudgetFile(Strict):
    """How much the workloads of a team, or of the files that match, may take together."""

    paths: Extended = pydantic.Field((), description="lines as in .gitignore; every file where they are left out")
    team: str = pydantic.Field("", description="value of the label that team-label names")
    gpus: Amount | None = pydantic.Field(None, description="GPUs; a slice counts as its share of a card")
    usd_per_hour: Amount | None = pydantic.Field(None, alias="usd-per-hour", description="cost on demand")
    kw: Amount | None = pydantic.Field(None, description="power of the accelerators while all are busy, in kW")

    @pydantic.model_validator(mode="after")
    def _of_somebody(self) -> BudgetFile:
        if not (self.team or self.paths):
            raise ValueError("a budget says whose it is: team or paths")
        if self.gpus is None and self.usd_per_hour is None and self.kw is None:
            raise ValueError("a budget limits something: gpus, usd-per-hour or kw")
        return self


def _bound(text: str) -> str:
    from gpulint.policy.waivers import conditions as bound

    if text and (wrong := bound.wrong(text)):
        raise ValueError(wrong)
    return text


def _time(text: str) -> str:
    if text:
        units.seconds_of(text)
    return text


class WaiverFile(Strict):
    """What is accepted, and why: these rules, in the files, workloads and objects that match."""

    rules: Extended = pydantic.Field(min_length=1, description="names of rules; one, or a list")
    paths: Extended = pydantic.Field((), description="lines as in .gitignore, relative to the folder of this file")
    workload: str = pydantic.Field("", description="name of the workload, * for any characters")
    object: str = pydantic.Field("", description="the object, as apps/Deployment ml/chat, * for any characters")
    reason: str = pydantic.Field(min_length=1, description="why it is accepted")
    owner: str = pydantic.Field("", description="who answers for it")
    until: datetime.date | None = pydantic.Field(None, description="the last day that it holds on, as 2027-03-31")
    bound: Annotated[str, pydantic.AfterValidator(_bound)] = pydantic.Field(
        "", alias="while", description="condition over facts that it holds under, in CEL"
    )


class GovernedFile(Strict):
    """What a policy says of all files, and an override of some."""

    select: tuple[str, ...] = pydantic.Field((), description="only these rules or families")
    ignore: tuple[str, ...] = pydantic.Field((), description="not these rules or families")
    severity: dict[str, LevelWord] = pydantic.Field(
        {}, description="rule or family: error, warning, note or off; a rule's own name goes before its family's"
    )
    at_most: Literal["", "error", "warning", "note"] = pydantic.Field(
        "", alias="at-most", description="no rule is more severe than this"
    )
    preview: bool = pydantic.Field(False, description="rules in preview speak too")
    accelerator: str = pydantic.Field("", description="the accelerator of workloads that name none")
    thresholds: Thresholds = pydantic.Field(
        Thresholds.model_validate({}), description="numbers of an organisation that rules compare with, by name"
    )
    accelerators: AcceleratorsFile = pydantic.Field(
        AcceleratorsFile.model_validate({}), description="what workloads may run on"
    )


class OverrideFile(GovernedFile):
    """What holds in the files that match `paths`; later entries win."""

    paths: tuple[str, ...] = pydantic.Field(
        min_length=1, description="lines as in .gitignore, relative to the folder of this file"
    )


class CommentFile(Strict):
    """From what change on a first comment is made on a pull request without findings; without either from any change on."""

    usd_per_month: float | None = pydantic.Field(
        None, alias="usd-per-month", ge=0, description="change of the cost, up or down"
    )
    gpus: float | None = pydantic.Field(None, ge=0, description="change of the GPUs, up or down")


class PolicyFile(GovernedFile):
    """gpulint.yaml"""

    extends: Extended = pydantic.Field(
        (),
        description="packs by name, files of the repository as ./company.yaml, or package:NAME",
        examples=["recommended", ["strict", "./company.yaml"], "package:NAME"],
    )
    summary: str = pydantic.Field("", description="what the policy is for, in one line")
    exclude: tuple[str, ...] = pydantic.Field((), description="paths to leave out, as lines of .gitignore")
    rules: tuple[str, ...] = pydantic.Field((), description="folders with rules of your own, relative to this file")
    fail_on: SeverityWord = pydantic.Field("error", alias="fail-on", description="exit with 1 from this severity on")
    comment: CommentFile = pydantic.Field(
        CommentFile.model_validate({}), description="what change is worth a comment on a pull request"
    )
    overrides: tuple[OverrideFile, ...] = pydantic.Field((), description="what holds in some paths; later entries win")
    hints: tuple[HintFile, ...] = pydantic.Field((), description="what files cannot say; the first that matches counts")
    objectives: tuple[Aim, ...] = pydantic.Field((), description="what services and runs are there to reach")
    pools: tuple[PoolFile, ...] = pydantic.Field((), description="nodes that no file of the repository defines")
    fabric: tuple[FabricFile, ...] = pydantic.Field((), description="what joins nodes and cards")
    like: dict[str, str] = pydantic.Field({}, description="private checkpoint: the known one whose shape it has")
    facility: str = pydantic.Field(
        "", description="file with the racks that workloads run in (kind: Facility), relative to this one"
    )
    available: AvailableFile = pydantic.Field(
        AvailableFile.model_validate({}), description="what alternatives may be made of"
    )
    prices: tuple[PriceFile, ...] = pydantic.Field((), description="what a team pays, in place of list prices")
    energy: EnergyFile = pydantic.Field(EnergyFile.model_validate({}), description="what electricity costs and emits")
    require: tuple[RequireFile, ...] = pydantic.Field((), description="what workloads are to state")
    budgets: tuple[BudgetFile, ...] = pydantic.Field((), description="how much workloads may take together")
    team_label: str = pydantic.Field(
        governance.TEAM_LABEL, alias="team-label", min_length=1, description="label or annotation that names a team"
    )
    waivers: tuple[WaiverFile, ...] = pydantic.Field((), description="what is accepted, and why")
    waivers_need: tuple[Literal["owner", "until", "while"], ...] = pydantic.Field(
        (), alias="waivers-need", description="words without which a waiver silences nothing"
    )
    waivers_last: Annotated[str, pydantic.AfterValidator(_time)] = pydantic.Field(
        "", alias="waivers-last", description="how long a waiver may hold from today on, as 180d"
    )
    baseline: str = pydantic.Field(
        "", description="file of accepted findings, relative to this one; else .gpulint-baseline.json at the root"
    )


class EntryFile(Strict):
    """Findings that are accepted, wherever their object is moved to."""

    rule: str = pydantic.Field(min_length=1)
    path: str = pydantic.Field("", description="file that they stood in, from the repository's root")
    object: str = pydantic.Field("", description="group/Kind namespace/name, else the workload or the file")
    role: str = ""
    quantity: str = pydantic.Field("", description="the quantity at fault, or the keys that lead to the place")
    value: str = pydantic.Field("", description="what is stated of it, and of what the rule compares it with")
    count: int = pydantic.Field(1, ge=1, strict=True, description="how many of them")


class BaselineFile(Strict):
    """.gpulint-baseline.json"""

    format: Literal["gpulint-baseline/1"]
    gpulint: str = pydantic.Field(description="the release that wrote it")
    findings: list[EntryFile]


class TargetFile(Strict):
    """What a rule is about; only a matching rule can be not evaluated."""

    scope: Literal["workload", "document", "repository", "facility"]
    kind: str | list[str] = []
    engine: str | list[str] = []


class ExamplesFile(Strict):
    """The samples that test a rule: the line at fault is marked `# <- here`."""

    bad: list[str] = pydantic.Field(min_length=1)
    good: list[str] = pydantic.Field(min_length=1)


class RuleFile(Strict):
    """One judgement: the file's stem is the rule's name, its folder the family."""

    summary: str
    severity: SeverityWord
    target: TargetFile = pydantic.Field(alias="for")
    why: str
    when: str
    at: list[str] = []
    against: str = ""
    message: str
    arithmetic: list[str] = pydantic.Field([], max_length=2)
    change: list[str] = []
    instead: str = pydantic.Field("", description="the fact that holds the right word for the place")
    superfluous: bool = pydantic.Field(False, description="what stands at the place can go")
    gives_up: str = pydantic.Field("", description="what the right word, or leaving it out, gives up")
    absorbs: list[str] = []
    only_with: Literal["alternative"] | None = pydantic.Field(
        None, description="silent, and absorbing nothing, where no alternative is accepted"
    )
    references: list[str] = []
    status: Literal["stable", "preview", "deprecated"] = "stable"
    replaces: bool = pydantic.Field(False, description="stands in the place of the shipped rule of its name")
    examples: ExamplesFile


def json_schema(model: type[pydantic.BaseModel], name: str) -> dict[str, Any]:
    """The JSON Schema of a contract, as `schemas/` holds it."""
    schema = model.model_json_schema(by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": name}
