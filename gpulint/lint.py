"""The pipeline: sources → documents → workloads → facts → findings with alternatives → one Report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from posixpath import dirname, join, normpath

from gpulint import adapters, architecture, catalog, documents, engines, facts, hardware, suggest, units
from gpulint.architecture import Resolved
from gpulint.facts import Facts, Missing, glossary
from gpulint.findings import Failure, Finding, Report, RoleSummary, Skip, WorkloadSummary, Worlds
from gpulint.policy import cel, check, policy
from gpulint.policy.rule import Rule
from gpulint.policy.settings import Hint
from gpulint.repository import Repository, Source
from gpulint.workload import Field, Role, Unknown, Workload

SHOWN = (
    *("checkpoint", "architecture", "accelerator", "gpus_per_replica", "tensor_parallel", "pipeline_parallel"),
    *("data_parallel", "max_model_len", "device_memory_bytes", "memory_budget_bytes", "weight_bytes_per_gpu"),
    *("reserve_bytes", "kv_needed_bytes", "kv_cache_bytes", "kv_cache_tokens", "required_bytes_per_gpu", "headroom"),
)


@dataclass(frozen=True, slots=True)
class Given:
    """What the command line and the settings say beside the files."""

    rules: tuple[Rule, ...]
    every_rule: tuple[str, ...] = ()
    accelerator: str = ""
    hints: tuple[Hint, ...] = ()
    like: Mapping[str, str] | None = None
    alternatives: bool = True


def lint(sources: Iterable[Source | Skip], repository: Repository, given: Given) -> Report:
    """The report on all sources; an exception of ours ends one file, is counted, and leaves the others whole."""
    findings: list[Finding] = []
    workloads: list[WorkloadSummary] = []
    skipped: list[Skip] = []
    failures: list[Failure] = []
    files = 0
    for source in sources:
        if isinstance(source, Skip):
            skipped.append(source)
            continue
        files += 1
        try:
            part = _file(source, repository, given)
        except Exception as error:  # counted: the report and the exit code say so
            failures.append(Failure(source.path, "checking the file", f"{type(error).__name__}: {error}"))
            continue
        findings.extend(part.findings)
        workloads.extend(part.workloads)
        skipped.extend(part.skipped)
    ordered = sorted(findings, key=lambda one: (one.location.path, one.location.line, one.location.column, one.rule))
    return Report(
        tuple(ordered), tuple(workloads), tuple(skipped), tuple(failures), files, _asks(workloads), catalog.version()
    )


def _asks(workloads: Iterable[WorkloadSummary]) -> dict[str, str]:
    """How each missing quantity is supplied, in the glossary's words."""
    needed = {
        need for workload in workloads for role in workload.roles for one in role.not_evaluated for need in one.needs
    }
    return {name: glossary()[name].ask or glossary()[name].meaning for name in sorted(needed)}


def _file(source: Source, repository: Repository, given: Given) -> Report:
    if not _of_interest(source.content, given.rules):
        return Report()
    loaded = documents.load(source.path, source.content)
    found = list(_problems(loaded.problems, given.rules))
    skips = [Skip(source.path, reason) for reason in loaded.skips]
    for said in _object_rules(loaded.documents, given.rules):
        (skips if isinstance(said, Skip) else found).append(said)  # type: ignore[arg-type]
    summaries: list[WorkloadSummary] = []
    for document in loaded.documents:
        found.extend(_problems(adapters.problems(document), given.rules))
        for workload in adapters.read(document, repository):
            summary, own = _workload(_hinted(workload, given), repository, given)
            summaries.append(summary)
            found.extend(own)
    marked, troubles = _suppressed(found, loaded, given)
    return Report((*marked, *policy.troubles_as_findings(troubles, given.rules)), tuple(summaries), tuple(skips))


def _of_interest(content: bytes, rules: Iterable[Rule]) -> bool:
    """Whether a file can hold anything to say: a word of the trade, or a rule about objects of any kind."""
    if any(_about_objects(rule) for rule in rules):
        return True
    return content.startswith((b"\xff\xfe", b"\xfe\xff")) or documents.concerns_gpus(content.decode("latin-1"))


def _suppressed(
    found: Iterable[Finding], loaded: documents.Loaded, given: Given
) -> tuple[list[Finding], list[policy.Trouble]]:
    suppressions, troubles = policy.suppressions(loaded.documents, loaded.comments, given.every_rule)
    marked, unused = policy.applied(found, suppressions)
    active = {rule.name for rule in given.rules}
    for one in unused:
        if one.rule in active:
            troubles.append(policy.Trouble("unused-suppression", f"nothing here is {one.rule}", one.location))
    return marked, troubles


# ---- documents


def _problems(problems: Iterable[documents.Problem], rules: Sequence[Rule]) -> Iterator[Finding]:
    by_name = {rule.name: rule for rule in rules}
    for problem in problems:
        if rule := by_name.get(problem.kind):
            yield check.at_document(rule, problem.location, problem.message, problem.related)


def _about_objects(rule: Rule) -> bool:
    return rule.target.scope == "document" and "problem" not in cel.names(rule.when)


def _object_rules(found: Iterable[documents.Document], rules: Sequence[Rule]) -> Iterator[Finding | Skip]:
    """Document rules of a team, whose condition reads `object`; an object that lacks a key it reads is not judged."""
    about = [rule for rule in rules if _about_objects(rule)]
    for document in found if about else ():
        data = document.data
        for rule in about:
            if not isinstance(data, dict) or (rule.target.kind and data.get("kind") not in rule.target.kind):
                continue
            try:
                held = cel.evaluate(rule.when, {"object": data})
            except cel.ConditionError as error:
                yield Skip(document.path, f"rule {rule.name} was not evaluated: {error}")
                continue
            if held:
                yield check.at_document(rule, document.locate(("kind",)), rule.message)


# ---- workloads


def _hinted(workload: Workload, given: Given) -> Workload:
    """The workload with what hints and `--accelerator` say where the file does not."""
    extra: dict[str, Field] = {}
    for hint in given.hints:
        if hint.matches(workload.document.path, workload.name):
            for name, value in (("accelerator", hint.accelerator), ("checkpoint", hint.checkpoint)):
                if value:
                    extra[name] = Field(
                        value, source="hints in gpulint.yaml", assumption=f"{name} {value} (gpulint.yaml)"
                    )
    if given.accelerator:
        extra.setdefault("accelerator", Field(given.accelerator, source="--accelerator"))
    if not extra:
        return workload
    return replace(workload, roles=tuple(_filled(role, extra) for role in workload.roles))


def _filled(role: Role, extra: Mapping[str, Field]) -> Role:
    """The role with fields it does not state itself; an accelerator that the catalog lacks stays unknown."""
    lacking = {
        name: field
        for name, field in extra.items()
        if role.value(name) is None or isinstance(role.value(name), Unknown)
    }
    if role.text("mig_profile"):
        lacking.pop("accelerator", None)
    if (wanted := lacking.get("accelerator")) is not None:
        product = hardware.named(str(wanted.value))
        lacking["accelerator"] = replace(
            wanted, value=product.id if product else Unknown(f"no accelerator {wanted.value}")
        )
    return role.having(**lacking)


def _workload(workload: Workload, repository: Repository, given: Given) -> tuple[WorkloadSummary, list[Finding]]:
    summaries: list[RoleSummary] = []
    found: list[Finding] = []
    for role in workload.roles:
        resolved = resolve(role, workload.document.path, repository, given.like)
        known = facts.of(role, resolved)
        rules = tuple(check.matching(given.rules, workload, role))
        outcome = check.judged(rules, known)
        for verdict in outcome.verdicts:
            finding = check.finding(verdict, workload, known)
            if given.alternatives:
                found.append(
                    finding._replace(suggestions=suggest.alternatives(verdict, outcome, workload, known, rules))
                )
            else:
                found.append(finding)
        summaries.append(_summary(role, known, resolved, outcome))
    summary = WorkloadSummary(workload.name, workload.kind, workload.adapter, workload.location(), tuple(summaries))
    return summary, found


def resolve(role: Role, path: str, repository: Repository, like: Mapping[str, str] | None) -> Resolved | None:
    """The architecture of a role's checkpoint; None when no checkpoint is stated."""
    reference = role.text("checkpoint")
    if not reference:
        return None
    return architecture.resolve(reference, lambda name: _config(repository, path, name), like)


def _config(repository: Repository, path: str, reference: str) -> str | None:
    """The text of a checkpoint's config.json beside the file or in the repository."""
    if reference.startswith("/") or "://" in reference:
        return None
    for folder in (dirname(path), ""):
        content = repository.read(normpath(join(folder, reference, "config.json")))
        if content is not None:
            return content.decode("utf-8", "replace")
    return None


# ---- what was understood


def _summary(role: Role, known: Facts, resolved: Resolved | None, outcome: check.Outcome) -> RoleSummary:
    shown = [fact for name in SHOWN if (fact := known.shown(name))]
    fits, small = _fitting(role, known, resolved)
    return RoleSummary(
        name=role.name,
        engine=role.text("engine"),
        architecture=_architecture(role, resolved),
        accelerator=_accelerator(role),
        parallelism=_parallelism(known),
        verdict=verdict(known),
        headroom=_headroom(known),
        fits_on=fits,
        too_small=small,
        facts=tuple(shown),
        assumptions=tuple(assumptions(role, resolved)),
        unknown=dict(sorted(known.reasons.items())),
        not_evaluated=outcome.not_evaluated,
    )


def verdict(known: Facts) -> str:
    """Whether it fits, by in how many worlds something is left of the budget."""
    if known.role.value("device") not in (None, "gpu"):
        return "no GPU"
    left = known.worlds("headroom_bytes")
    if isinstance(left, Missing):
        return "cannot tell"
    if _amount(left.adverse) >= 0:
        return "fits"
    if _amount(left.favourable) < 0:
        return "does not fit"
    return "likely fits" if _amount(left.likely) >= 0 else "likely does not fit"


def _amount(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _headroom(known: Facts) -> str:
    left = known.worlds("headroom")
    if isinstance(left, Missing) or known.role.value("device") not in (None, "gpu"):
        return ""
    low, high = round(_amount(left.adverse) * 100), round(_amount(left.favourable) * 100)
    return f"{low} %" if low == high else f"{low} to {high} %"


def _architecture(role: Role, resolved: Resolved | None) -> str:
    stated = role.value("checkpoint")
    if isinstance(stated, Unknown):
        return f"? ({stated.reason})"
    if resolved is None:
        return "?"
    known = resolved.architecture is not None and (resolved.architecture.known or resolved.how == "name")
    return role.text("checkpoint") if known else f"{role.text('checkpoint')} (not in the catalog)"


def _accelerator(role: Role) -> str:
    count, product = role.value("gpus_per_replica"), hardware.accelerator(role.text("accelerator"))
    if (device := role.value("device")) not in (None, "gpu"):
        return "none" if device == "cpu" else str(device)
    name = product.name if product else role.text("mig_profile") or _resource_name(role)
    amount = units.human(count, "") if isinstance(count, int | float) else "?"
    return f"{amount} × {name}"


def _resource_name(role: Role) -> str:
    unknown = role.value("accelerator")
    reason = f" ({unknown.reason})" if isinstance(unknown, Unknown) else ""
    return (role.text("accelerator_resource") or "?") + reason


def _parallelism(known: Facts) -> str:
    parts = []
    for name, letters in (("tensor_parallel", "TP"), ("pipeline_parallel", "PP"), ("data_parallel", "DP")):
        value = known.likely(name)
        if isinstance(value, int) and (value > 1 or name == "tensor_parallel"):
            parts.append(f"{letters} {value}")
    return " × ".join(parts) or "?"


def assumptions(role: Role, resolved: Resolved | None) -> Iterator[str]:
    """What was inferred of a role, in sentences."""
    yield from (field.assumption for field in role.fields.values() if field.assumption)
    if resolved and resolved.assumption:
        yield resolved.assumption
    engine = role.text("engine")
    if engine and not role.text("engine_version") and (oldest := engines.oldest(engine)):
        yield f"release of {engine} not stated: {'.'.join(map(str, oldest))} or later"
    if role.value("sharing"):
        yield "the card is shared: what its other users take is not counted"
    for name in ("speculative", "enable_lora"):
        if role.value(name) not in (None, False):
            yield f"memory of {glossary()[name].meaning} is not counted"


def _fitting(role: Role, known: Facts, resolved: Resolved | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """When only the accelerator is missing: the products it fits on, and those too small, among those clouds rent out."""
    left = known.worlds("headroom_bytes")
    if not isinstance(left, Missing) or left.names != {"accelerator"}:
        return (), ()
    fits: list[str] = []
    small: list[str] = []
    for product in _rented():
        tried = facts.of(role.having(accelerator=Field(product.id)), resolved).worlds("headroom_bytes")
        if isinstance(tried, Worlds) and not isinstance(tried, Missing):
            if _amount(tried.adverse) >= 0:
                fits.append(product.name)
            elif _amount(tried.favourable) < 0:
                small.append(product.name)
    return tuple(fits), tuple(small)


def _rented() -> list[hardware.Accelerator]:
    rented = {node.accelerator for node in hardware.nodes()}
    products = [one for one in hardware.accelerators() if one.id in rented and one.vendor == "nvidia"]
    return sorted(products, key=lambda one: (one.cuda_memory_bytes or one.driver_memory_bytes or 0, one.id))
