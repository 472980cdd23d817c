"""The models of a team's own files: gpulint.yaml, the baseline and rule files."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pydantic

from gpulint import units
from gpulint.catalog import capabilities, package_data
from gpulint.facts import objective_words
from gpulint.facts.providers import LARGEST
from gpulint.policy import did_you_mean
from gpulint.policy.config import governance

PATH_HELP = "shell pattern of paths, for example apps/*, relative to the folder of this file; * crosses folders"
WORKLOAD_HELP = "name of the workload, * for any characters; default: any workload"
SeverityWord = Literal["error", "warning", "note"]


class Strict(pydantic.BaseModel):
    """A mapping whose unknown keys are errors."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)


class HintFile(Strict):
    """Values that the files matching `path` cannot declare themselves."""

    path: str = pydantic.Field(min_length=1, description=PATH_HELP)
    workload: str = pydantic.Field("", description=WORKLOAD_HELP)
    accelerator: str = pydantic.Field("", description="an accelerator from `gpulint catalog accelerators`")
    checkpoint: str = pydantic.Field("", description="id on a hub, or a path")
    gpus: int = pydantic.Field(0, ge=0, description="GPUs per pod or node")
    nodes: int = pydantic.Field(0, ge=0, description="pods or nodes per instance")


class ObjectiveFile(Strict):
    """Service-level objectives of the services and training runs in the files that match `path`."""

    path: str = pydantic.Field(min_length=1, description=PATH_HELP)
    workload: str = pydantic.Field("", description=WORKLOAD_HELP)

    def words(self) -> dict[str, str | float]:
        """Return the declared objectives by key."""
        values = {field.alias or "": getattr(self, name) for name, field in type(self).model_fields.items()}
        return {word: value for word, value in values.items() if word in objective_words.WORDS and value is not None}


def _validate_objective(word: str) -> pydantic.AfterValidator:
    """Return a validator that parses a value, so that an error points to its key."""

    def validate(value: str | float | None) -> str | float | None:
        if value is not None:
            objective_words.parse(word, value)
        return value

    return pydantic.AfterValidator(validate)


OBJECTIVES: dict[str, Any] = {
    word.replace("-", "_"): (
        Annotated[int | float | str | None, _validate_objective(word)],
        pydantic.Field(None, alias=word, description=objective.meaning),
    )
    for word, objective in objective_words.WORDS.items()
}
if TYPE_CHECKING:
    Objective = ObjectiveFile
else:
    Objective = pydantic.create_model("Aim", __base__=ObjectiveFile, __doc__=ObjectiveFile.__doc__, **OBJECTIVES)


class PoolFile(Strict):
    """Nodes that no file of the repository defines: how workloads select them, and their hardware."""

    name: str = pydantic.Field(min_length=1, description="name of the pool, as used in prices: and fabric:")
    labels: dict[str, str] = pydantic.Field(
        {}, description="node labels; a node selector whose labels all appear here selects this pool"
    )
    partition: str = pydantic.Field("", description="Slurm partition, or queue of another batch system")
    queue: str = pydantic.Field("", description="queue of Kueue or Volcano, as in the workload's label")
    accelerator: str = pydantic.Field("", description="an accelerator from `gpulint catalog accelerators`")
    gpus: int = pydantic.Field(0, ge=0, description="GPUs per node")
    instance_type: str = pydantic.Field("", alias="instance-type", description="machine type of the cloud")


def _validate_rate(value: str) -> str:
    if value:
        units.rate(value)
    return value


Rate = Annotated[str, pydantic.AfterValidator(_validate_rate)]
NetworkKind = Literal["", "efa", "infiniband", "roce", "gpudirect-tcpx", "gpudirect-tcpxo", "tcp"]


class FabricFile(Strict):
    """The interconnect between the nodes and GPUs of the files, clouds and pools that match."""

    path: str = pydantic.Field("", description=PATH_HELP)
    workload: str = pydantic.Field("", description=WORKLOAD_HELP)
    cloud: str = pydantic.Field(
        "", description="aws, azure, gcp or oci, as derived from the machine type or node labels"
    )
    pool: str = pydantic.Field("", description="node pool, as named by a selector, queue or partition")
    network: Rate = pydantic.Field("", description="bandwidth per node and direction, for example 3200 Gb/s")
    network_per_gpu: Rate = pydantic.Field(
        "", alias="network-per-gpu", description="bandwidth per GPU and direction, for example 400 Gb/s"
    )
    kind: NetworkKind = pydantic.Field("", description="type of the network")
    nics: int = pydantic.Field(0, ge=0, description="RDMA or EFA network cards per node")
    oversubscription: float = pydantic.Field(
        0, ge=0, description="ratio of the nodes' total bandwidth to the bandwidth of the switches"
    )
    rail_optimized: bool | None = pydantic.Field(
        None,
        alias="rail-optimized",
        description="network cards with the same index on all nodes connect to the same switch",
    )
    nvlink_bridge: bool | None = pydantic.Field(
        None, alias="nvlink-bridge", description="NVLink bridges connect the GPUs"
    )

    def where(self) -> dict[str, str]:
        """Return the patterns that select the fabric's workloads."""
        patterns = {"path": self.path, "workload": self.workload, "cloud": self.cloud, "pool": self.pool}
        return {name: pattern for name, pattern in patterns.items() if pattern}

    def quantities(self) -> dict[str, float | str | bool]:
        """Return the declared values as facts in base units."""
        values = {
            "network_bytes_per_s": units.rate(self.network) if self.network else None,
            "network_bytes_per_s_per_gpu": units.rate(self.network_per_gpu) if self.network_per_gpu else None,
            "network_kind": self.kind or None,
            "node_nics": self.nics or None,
            "network_oversubscription": self.oversubscription or None,
            "rail_optimized": self.rail_optimized,
            "nvlink_bridge": self.nvlink_bridge,
        }
        return {name: value for name, value in values.items() if value is not None}


class AvailableFile(Strict):
    """What suggestions may use. An omitted list restricts nothing."""

    clouds: tuple[str, ...] = pydantic.Field(
        (), description="aws, azure, gcp …: use machines of these clouds instead of the file's cloud"
    )
    regions: tuple[str, ...] = pydantic.Field((), description="regions of those clouds whose prices apply")
    instance_types: tuple[str, ...] = pydantic.Field((), alias="instance-types", description="only these machine types")
    accelerators: tuple[str, ...] = pydantic.Field(
        (), description="only these accelerators from `gpulint catalog accelerators`"
    )
    forbidden: tuple[str, ...] = pydantic.Field((), description="accelerators that are never suggested")
    pools: bool = pydantic.Field(
        False, description="only the pools under `pools:`, plus what clouds or instance-types add"
    )


class PriceFile(Strict):
    """A price that replaces the list price of a machine type, a pool's node, or one accelerator."""

    instance_type: str = pydantic.Field("", alias="instance-type", description="machine type of the cloud")
    accelerator: str = pydantic.Field(
        "", description="an accelerator from `gpulint catalog accelerators`: price of one"
    )
    pool: str = pydantic.Field("", description="a pool under `pools:`: price of one node")
    usd_per_hour: float = pydantic.Field(gt=0, alias="usd-per-hour", description="on-demand or contract price")
    spot_usd_per_hour: float | None = pydantic.Field(
        None, gt=0, alias="spot-usd-per-hour", description="price of an interruptible (spot) machine"
    )
    region: str = pydantic.Field("", description="region of the price; default: any region")
    date: datetime.date = pydantic.Field(description="date of the price, for example 2026-11-01; reports show its age")
    source: str = pydantic.Field("", description="source of the price: a contract, an invoice, a web page")

    @pydantic.model_validator(mode="after")
    def _require_one_subject(self) -> PriceFile:
        if sum(map(bool, (self.instance_type, self.accelerator, self.pool))) != 1:
            raise ValueError("give exactly one of instance-type, accelerator and pool")
        return self


class EnergyFile(Strict):
    """Price and carbon intensity of electricity where a team computes."""

    usd_per_kwh: float | None = pydantic.Field(None, gt=0, alias="usd-per-kwh", description="price of electricity")
    co2_kg_per_kwh: float | None = pydantic.Field(
        None, ge=0, alias="co2-kg-per-kwh", description="CO2 emissions per kWh"
    )
    pue: float | None = pydantic.Field(
        None, ge=1, description="power usage effectiveness: power of the whole site divided by that of its IT equipment"
    )


def _wrap_in_tuple(value: object) -> object:
    return (value,) if isinstance(value, str) else value


def _restore_off(value: object) -> object:
    """Return `off` for the boolean that YAML makes of it."""
    return "off" if value is False else value


Extended = Annotated[
    tuple[str, ...],
    pydantic.BeforeValidator(_wrap_in_tuple, json_schema_input_type=str | tuple[str, ...]),
]
LevelWord = Annotated[Literal["error", "warning", "note", "off"], pydantic.BeforeValidator(_restore_off)]


def _validate_facts(names: tuple[str, ...]) -> tuple[str, ...]:
    """Reject a name that is no fact."""
    for name in names:
        if name not in package_data.load_glossary():
            raise ValueError(f"no such fact: {name}{did_you_mean.suggest_one(name, package_data.load_glossary())}")
    return names


def _threshold(name: str) -> Any:
    """Return the type and field of a threshold. Its validator parses a value in the fact's unit."""
    row = package_data.load_glossary()[name]

    def validate(value: Any) -> Any:
        try:
            parsed = units.parse(value, str(row["unit"]))
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
        if parsed > LARGEST:
            raise ValueError(f"{name}: {value} is too large; the limit is {LARGEST:g}")
        return value

    description = (
        f"{row['meaning']} (default {units.human(row['absent'], str(row['unit']))})"
        if "absent" in row
        else row["meaning"]
    )
    return Annotated[int | float | str, pydantic.BeforeValidator(validate)], pydantic.Field(
        None, description=str(description)
    )


if TYPE_CHECKING:
    Thresholds = Strict
else:
    Thresholds = pydantic.create_model(
        "Thresholds",
        __base__=Strict,
        __doc__="Thresholds that replace gpulint's defaults, by name, each in its unit.",
        **{name: _threshold(name) for name in governance.list_thresholds()},
    )


class AcceleratorsFile(Strict):
    """The accelerators that workloads may use. Suggestions respect them too; `available` restricts suggestions only."""

    allowed: tuple[str, ...] = pydantic.Field(
        (), description="only these accelerators from `gpulint catalog accelerators`, or patterns such as h100-*"
    )
    forbidden: tuple[str, ...] = pydantic.Field((), description="accelerators that are not allowed")


class RequireFile(Strict):
    """What the matching workloads must declare."""

    paths: Extended = pydantic.Field((), description="lines as in .gitignore; default: every file")
    workload: str = pydantic.Field("*", description="name of the workload, or a pattern")
    task: Literal["", "inference", "training"] = pydantic.Field("", description="only services, or only training runs")
    labels: Extended = pydantic.Field((), description="labels that must have a value")
    annotations: Extended = pydantic.Field((), description="annotations that must have a value")
    objective: bool = pydantic.Field(False, description="an objective must be declared")
    facts: Annotated[Extended, pydantic.AfterValidator(_validate_facts)] = pydantic.Field(
        (), description="facts that must be known: accelerator, checkpoint …"
    )

    @pydantic.model_validator(mode="after")
    def _require_content(self) -> RequireFile:
        if not (self.labels or self.annotations or self.objective or self.facts):
            raise ValueError("this entry requires nothing; give labels, annotations, objective or facts")
        return self


def _validate_amount(value: object) -> object:
    """Reject a value that is no number or out of range."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= LARGEST:  # type: ignore[operator]
        raise ValueError(f"a budget must be a number, not {str(value).lower() if isinstance(value, bool) else value}")
    return value


Amount = Annotated[int | float, pydantic.BeforeValidator(_validate_amount), pydantic.Field(ge=0)]


class BudgetFile(Strict):
    """Limits on the total that the workloads of a team, or of the matching files, may use."""

    paths: Extended = pydantic.Field((), description="lines as in .gitignore; default: every file")
    team: str = pydantic.Field("", description="value of the label named by team-label")
    gpus: Amount | None = pydantic.Field(None, description="GPUs; a slice counts as its share of a GPU")
    usd_per_hour: Amount | None = pydantic.Field(None, alias="usd-per-hour", description="on-demand cost")
    kw: Amount | None = pydantic.Field(None, description="power of all accelerators under full load, in kW")

    @pydantic.model_validator(mode="after")
    def _require_owner_and_limit(self) -> BudgetFile:
        if not (self.team or self.paths):
            raise ValueError("a budget needs an owner: give team or paths")
        if self.gpus is None and self.usd_per_hour is None and self.kw is None:
            raise ValueError("a budget needs a limit: give gpus, usd-per-hour or kw")
        return self


def _validate_condition(text: str) -> str:
    from gpulint.policy.conditions import waiver_conditions

    if text and (wrong := waiver_conditions.find_problem(text)):
        raise ValueError(wrong)
    return text


def _validate_duration(text: str) -> str:
    if text:
        units.seconds_of(text)
    return text


class WaiverFile(Strict):
    """An accepted defect: these rules, in the files, workloads and objects that match, and the reason."""

    rules: Extended = pydantic.Field(min_length=1, description="name of a rule, or a list of names")
    paths: Extended = pydantic.Field((), description="lines as in .gitignore, relative to the folder of this file")
    workload: str = pydantic.Field("", description="name of the workload, * for any characters")
    object: str = pydantic.Field(
        "", description="the object, for example apps/Deployment ml/chat, * for any characters"
    )
    reason: str = pydantic.Field(min_length=1, description="why the finding is accepted")
    owner: str = pydantic.Field("", description="who is responsible for it")
    until: datetime.date | None = pydantic.Field(
        None, description="the last day on which it applies, for example 2027-03-31"
    )
    bound: Annotated[str, pydantic.AfterValidator(_validate_condition)] = pydantic.Field(
        "", alias="while", description="CEL condition over facts under which it applies"
    )


class GeneralFile(Strict):
    """Settings for all files, or for those of an override."""

    select: tuple[str, ...] = pydantic.Field((), description="run only these rules or families")
    ignore: tuple[str, ...] = pydantic.Field((), description="skip these rules or families")
    severity: dict[str, LevelWord] = pydantic.Field(
        {}, description="rule or family: error, warning, note or off; an entry for a rule overrides that of its family"
    )
    at_most: Literal["", "error", "warning", "note"] = pydantic.Field(
        "", alias="at-most", description="maximum severity of all rules"
    )
    preview: bool = pydantic.Field(False, description="enable preview rules")
    accelerator: str = pydantic.Field("", description="accelerator for workloads that do not name one")
    thresholds: Thresholds = pydantic.Field(
        Thresholds.model_validate({}), description="limits that rules compare with, by name"
    )
    accelerators: AcceleratorsFile = pydantic.Field(
        AcceleratorsFile.model_validate({}), description="accelerators that workloads may use"
    )


class OverrideFile(GeneralFile):
    """Settings for the files that match `paths`. Later entries win."""

    paths: tuple[str, ...] = pydantic.Field(
        min_length=1, description="lines as in .gitignore, relative to the folder of this file"
    )


class CommentFile(Strict):
    """The minimum change for a PR comment without findings. Without a threshold, any change creates one."""

    usd_per_month: float | None = pydantic.Field(
        None, alias="usd-per-month", ge=0, description="change of the monthly cost, up or down"
    )
    gpus: float | None = pydantic.Field(None, ge=0, description="change of the number of GPUs, up or down")


class PolicyFile(GeneralFile):
    """gpulint.yaml"""

    extends: Extended = pydantic.Field(
        (),
        description="packs by name, files of the repository such as ./company.yaml, or package:NAME",
        examples=["recommended", ["strict", "./company.yaml"], "package:NAME"],
    )
    summary: str = pydantic.Field("", description="purpose of the policy, in one line")
    exclude: tuple[str, ...] = pydantic.Field((), description="paths to skip, as lines of .gitignore")
    rules: tuple[str, ...] = pydantic.Field((), description="folders with your own rules, relative to this file")
    fail_on: SeverityWord = pydantic.Field("error", alias="fail-on", description="exit with 1 from this severity up")
    comment: CommentFile = pydantic.Field(
        CommentFile.model_validate({}), description="minimum change for a comment on a pull request"
    )
    overrides: tuple[OverrideFile, ...] = pydantic.Field((), description="settings for some paths; later entries win")
    hints: tuple[HintFile, ...] = pydantic.Field(
        (), description="values that files cannot declare; the first matching entry applies"
    )
    objectives: tuple[Objective, ...] = pydantic.Field(
        (), description="service-level objectives of services and training runs"
    )
    pools: tuple[PoolFile, ...] = pydantic.Field((), description="nodes that no file of the repository defines")
    fabric: tuple[FabricFile, ...] = pydantic.Field((), description="interconnect between nodes and GPUs")
    like: dict[str, str] = pydantic.Field(
        {}, description="private checkpoint: the public one with the same architecture"
    )
    facility: str = pydantic.Field(
        "", description="file that describes the racks of the workloads (kind: Facility), relative to this file"
    )
    available: AvailableFile = pydantic.Field(
        AvailableFile.model_validate({}), description="machines and accelerators that suggestions may use"
    )
    prices: tuple[PriceFile, ...] = pydantic.Field((), description="prices that replace list prices")
    energy: EnergyFile = pydantic.Field(EnergyFile.model_validate({}), description="price and emissions of electricity")
    require: tuple[RequireFile, ...] = pydantic.Field((), description="what workloads must declare")
    budgets: tuple[BudgetFile, ...] = pydantic.Field((), description="limits on the total that workloads may use")
    team_label: str = pydantic.Field(
        governance.TEAM_LABEL, alias="team-label", min_length=1, description="label or annotation that names a team"
    )
    waivers: tuple[WaiverFile, ...] = pydantic.Field((), description="accepted findings, with reasons")
    waivers_need: tuple[Literal["owner", "until", "while"], ...] = pydantic.Field(
        (), alias="waivers-need", description="fields that every waiver must have to take effect"
    )
    waivers_last: Annotated[str, pydantic.AfterValidator(_validate_duration)] = pydantic.Field(
        "", alias="waivers-last", description="maximum time until a waiver ends, for example 180d"
    )
    baseline: str = pydantic.Field(
        "", description="file of accepted findings, relative to this file; default: .gpulint-baseline.json at the root"
    )


class EntryFile(Strict):
    """Accepted findings. They stay accepted if their object moves."""

    rule: str = pydantic.Field(min_length=1)
    path: str = pydantic.Field("", description="file of the findings, relative to the repository's root")
    object: str = pydantic.Field("", description="group/Kind namespace/name, otherwise the workload or the file")
    role: str = ""
    quantity: str = pydantic.Field("", description="the fact at fault, or the path of keys to the location")
    value: str = pydantic.Field("", description="declared value, and the values that the rule compares it with")
    count: int = pydantic.Field(1, ge=1, strict=True, description="number of such findings")


class BaselineFile(Strict):
    """.gpulint-baseline.json"""

    format: Literal["gpulint-baseline/1"]
    gpulint: str = pydantic.Field(description="the gpulint release that wrote the file")
    findings: list[EntryFile]


class EngineFile(Strict):
    """Every engine that does all of this, by the table of engines."""

    does: str | list[str] = pydantic.Field(
        description="one capability or several, as docs/own_rules.md lists them",
        json_schema_extra={"examples": list(capabilities.MEANINGS)},
    )
    unknown: bool = pydantic.Field(False, description="also a program that is not known to run an engine")


class TargetFile(Strict):
    """What a rule applies to. Only a rule that applies can be not evaluated."""

    scope: Literal["workload", "document", "repository", "facility"]
    kind: str | list[str] = []
    engine: str | list[str] | EngineFile = pydantic.Field(
        [], description="an engine, several, or what an engine does: {does: shards_weights}"
    )
    anywhere: bool = pydantic.Field(
        False, description="also containers without a GPU, if they state every fact that the condition compares"
    )


class ExamplesFile(Strict):
    """The samples that test a rule. The faulty line is marked `# <- here`."""

    bad: list[str] = pydantic.Field(min_length=1)
    good: list[str] = pydantic.Field(min_length=1)


class RuleFile(Strict):
    """A rule. The file's stem is its name, and the folder is its family."""

    summary: str
    severity: SeverityWord
    target: TargetFile = pydantic.Field(alias="for")
    why: str
    when: str
    at: list[str] = []
    against: str = ""
    message: str
    arithmetic: list[str] = pydantic.Field([], max_length=3)
    change: list[str] = []
    instead: str = pydantic.Field("", description="the fact that holds the correct value for the location")
    superfluous: bool = pydantic.Field(False, description="the value at the location can be removed")
    trade_off: str = pydantic.Field("", description="trade-off of the correct value or of the removal")
    absorbs: list[str] = []
    only_with: Literal["alternative", "smaller-hardware"] | None = pydantic.Field(
        None,
        description="the rule fires and absorbs others only together with an accepted suggestion (alternative), or if "
        "smaller hardware holds a service (smaller-hardware), which the finding names with its price",
    )
    open: Literal["bound", "leave"] = pydantic.Field(
        "leave",
        description="where values are open: evaluate the rule with all that they can be (bound), or not at all (leave)",
    )
    references: list[str] = []
    status: Literal["stable", "preview", "deprecated"] = "stable"
    replaces: bool = pydantic.Field(False, description="replaces the built-in rule of the same name")
    examples: ExamplesFile


def json_schema(model: type[pydantic.BaseModel], name: str) -> dict[str, Any]:
    """Return the JSON Schema of a file, as written to `schemas/`."""
    schema = model.model_json_schema(by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": name}
