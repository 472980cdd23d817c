"""The evaluate stage: `file` is the only function that turns a text into verdicts."""

from __future__ import annotations

import copy
import posixpath
from collections.abc import Iterable, Iterator, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

from gpulint import adapters
from gpulint.adapters import nodes
from gpulint.pipeline import enrichment, parse
from gpulint.pipeline.enrichment import autoscaling
from gpulint.pipeline.parse import ParsedFile
from gpulint.policy.resolved import ResolvedPolicy
from gpulint.policy.rules import document_rules, evaluate, evaluated_role, memory_verdict
from gpulint.policy.rules.evaluated_role import EvaluatedRole
from gpulint.policy.rules.rule import Rule
from gpulint.report.model import Finding, Recognised, Skip
from gpulint.source import documents, excess
from gpulint.source.documents import Comment, Document, Loaded, Problem
from gpulint.source.excess import Excess
from gpulint.source.repository import Repository, Source
from gpulint.workload import Role, Workload

if TYPE_CHECKING:
    from gpulint.facility.model import Component
    from gpulint.facts.model import Facts
    from gpulint.pipeline.facility import Evaluations
    from gpulint.policy.rules.facility import Evaluation


class EvaluatedWorkload(NamedTuple):
    """A workload with its evaluated roles."""

    workload: Workload
    roles: tuple[EvaluatedRole, ...]


class EvaluatedFacility(NamedTuple):
    """A facility that a document describes, with the evaluation of each component."""

    root: Component
    components: tuple[Evaluation, ...]


class EvaluatedDocument(NamedTuple):
    """A document that an adapter claims: its entry in the report, its problems, its facility and
    its workloads.
    """

    document: Document
    recognised: Recognised
    problems: tuple[Finding, ...]
    facility: EvaluatedFacility | None
    workloads: tuple[EvaluatedWorkload, ...]


class Evaluated(NamedTuple):
    """What the rules say of one file, under the policy that governs it.

    No rule can fire on a file that is not relevant, and it is not parsed. `findings` are about its
    documents as such, `about_hints` about its hints. `targets` are the workloads of other files
    that an autoscaler or a disruption budget of this file is about.
    """

    policy: ResolvedPolicy
    parsed: ParsedFile
    findings: tuple[Finding, ...] = ()
    documents: tuple[EvaluatedDocument, ...] = ()
    targets: tuple[tuple[Document, EvaluatedWorkload], ...] = ()
    about_hints: tuple[Finding, ...] = ()
    skips: tuple[Skip, ...] = ()
    is_relevant: bool = True

    @property
    def facilities(self) -> Evaluations:
        """The evaluation of each facility, by the path and the number of its document."""
        return {
            (entry.document.path, entry.document.index): entry.facility.components
            for entry in self.documents
            if entry.facility
        }

    @property
    def workloads(self) -> Iterator[EvaluatedWorkload]:
        """The workloads of the file, in its order."""
        return (workload for document in self.documents for workload in document.workloads)

    @property
    def roles(self) -> Iterator[EvaluatedRole]:
        """The components and the roles of the file, in its order."""
        for document in self.documents:
            for entry in document.facility.components if document.facility else ():
                yield EvaluatedRole(entry.owner, entry.known.facts, entry.rules, entry.outcome, entry.path)
            for workload in document.workloads:
                yield from workload.roles


def file(
    source: Source,
    repository: Repository,
    policy: ResolvedPolicy,
    workload: str | None = None,
    facilities: Evaluations | None = None,
) -> Evaluated:
    """Evaluate the rules on one file: its documents, its facilities, and the roles of its
    workloads.

    With the name of a workload, only its roles and the facilities are evaluated: a change of its
    values reaches no other rule. `facilities` keeps the evaluation of each facility, and lets a
    later text reuse what did not change.
    """
    with excess.collect() as found:
        evaluated = _evaluate_file(source, repository, policy.resolve(source.path), workload, facilities)
    skips = _list_excess(found, evaluated, repository) if workload is None else ()
    return evaluated._replace(skips=(*evaluated.skips, *skips))


def _list_excess(found: Iterable[Excess], evaluated: Evaluated, repository: Repository) -> Iterator[Skip]:
    """Yield the limits that the reading of a file exceeded: what is beyond them was not checked."""
    path = evaluated.parsed.source.path
    own = [reason for reason, where in found if where in ("", path)]
    for document, _ in evaluated.parsed.documents[:1]:
        own += nodes.find_excess(document, repository)
    cause = "language" if documents.is_program(path) else "limit"  # a large program is no reason to fail a gate
    yield from (Skip(path, reason, cause) for reason in dict.fromkeys(own))
    others = (entry for entry in found if entry.path not in ("", path) and documents.is_program(entry.path))
    yield from (Skip(where, reason, "language") for reason, where in others)


def _evaluate_file(
    source: Source,
    repository: Repository,
    policy: ResolvedPolicy,
    workload: str | None,
    facilities: Evaluations | None,
) -> Evaluated:
    if not parse.is_relevant(source, policy.rules) and not parse.starts_program(source, repository):
        return Evaluated(policy, ParsedFile(source, Loaded(), ()), is_relevant=False)
    parsed = parse.file(source, policy.vouched)
    context = enrichment.read_context(parsed.loaded, repository, policy)
    if workload is not None:
        found = _evaluate_documents(parsed, context, workload, facilities)
        return Evaluated(policy, parsed, documents=tuple(found))
    problems = tuple(_find_problems(parsed.loaded.problems, policy.rules))
    about_objects = tuple(document_rules.find(parsed.loaded.documents, policy.rules))
    documents = tuple(_evaluate_documents(parsed, context, None, facilities))
    skips = [Skip(source.path, *skipped) for skipped in parsed.loaded.skips]
    skips += [entry for entry in about_objects if isinstance(entry, Skip)]
    has_workloads = any(document.workloads for document in documents)
    if not has_workloads and (line := parse.find_unread_gpus(parsed)) is not None:
        skips.append(Skip(source.path, parse.UNREAD, "kind", line))
    if not has_workloads and (line := parse.find_idle_machine(parsed)) is not None:
        skips.append(Skip(source.path, parse.MACHINE, "settings", line))
    if not documents and (line := parse.find_unread_settings(parsed)) is not None:
        skips.append(Skip(source.path, parse.SETTINGS, "settings", line))
    skips += [Skip(source.path, parse.PATCH, "patch") for _ in parse.find_patches(parsed, repository)]
    return Evaluated(
        policy,
        parsed,
        (*problems, *(entry for entry in about_objects if isinstance(entry, Finding))),
        documents,
        tuple(_evaluate_targets(parsed, context)),
        tuple(_find_hints(context.malformed, documents, parsed, context)),
        tuple(skips),
    )


def _evaluate_documents(
    parsed: ParsedFile, context: enrichment.Context, workload: str | None, facilities: Evaluations | None
) -> Iterator[EvaluatedDocument]:
    for document, adapter in parsed.documents:
        if adapter is None:
            continue
        found = () if workload is not None else adapters.problems(adapter, document, context.repository)
        problems = tuple(_find_problems(found, context.policy.rules))
        yield EvaluatedDocument(
            document,
            parse.recognise(adapter, document),
            problems,
            _evaluate_facility(adapter, document, context, facilities),
            tuple(find_workloads(adapter, document, context, workload)),
        )


def _evaluate_facility(
    adapter: ModuleType, document: Document, context: enrichment.Context, facilities: Evaluations | None
) -> EvaluatedFacility | None:
    """Evaluate the components of the facility that a document describes: a change of one may reach
    any other.
    """
    root = adapter.read_facility(document, context.repository) if hasattr(adapter, "read_facility") else None
    if root is None:
        return None
    from gpulint.pipeline import facility

    key = document.path, document.index
    components = facility.reevaluate(root, context.policy, facilities.get(key) if facilities is not None else None)
    if facilities is not None:
        facilities.setdefault(key, components)
    return EvaluatedFacility(root, components)


def find_workloads(
    adapter: ModuleType, document: Document, context: enrichment.Context, name: str | None
) -> Iterator[EvaluatedWorkload]:
    plain = _read_plain(adapter, document, context.repository)
    for index, workload in enumerate(adapters.workloads(adapter, document, context.repository)):
        if name is None or workload.name == name:
            stated = plain[index] if index < len(plain) else None
            enriched = enrichment.apply(workload, context, stated)
            yield _evaluate_workload(enriched, context.repository, context.policy)


def _read_plain(adapter: ModuleType, document: Document, repository: Repository) -> Sequence[Workload]:
    """Return the workloads of a document without its annotations for gpulint; none if it has none."""
    if not document.mentions("gpulint"):
        return ()
    from gpulint.policy.waivers import declarations

    plain = declarations.drop_annotations(document)
    return () if plain is document else list(adapters.workloads(adapter, plain, repository))


def _evaluate_workload(workload: Workload, repository: Repository, policy: ResolvedPolicy) -> EvaluatedWorkload:
    roles = tuple(_evaluate_role(role, workload, repository, policy) for role in workload.roles)
    return EvaluatedWorkload(workload, roles)


def _evaluate_role(role: Role, workload: Workload, repository: Repository, policy: ResolvedPolicy) -> EvaluatedRole:
    """Evaluate a role; what rests on the example of a file that nobody committed is one step lower."""
    found = evaluated_role.cap_errors(_evaluate_inferred(role, workload, repository, policy))
    example = role.text("settings_example")
    if not example:
        return found
    lowered = evaluated_role.lower(found.outcome, f"the variables are assumed from {posixpath.basename(example)}")
    return found._replace(outcome=lowered)


def _evaluate_inferred(role: Role, workload: Workload, repository: Repository, policy: ResolvedPolicy) -> EvaluatedRole:
    """Evaluate a role as it is stated, and again with the image, the hardware and the model that names and comments suggest."""
    from gpulint.pipeline.enrichment import built_images, inferred_checkpoint, inferred_hardware

    known = _evaluate_stated(role, workload, repository, policy)
    on_hardware = inferred_hardware.infer(role, workload, repository)
    with_model = inferred_checkpoint.infer(on_hardware or role, workload, repository, known.facts.resolved)
    assumed = with_model or on_hardware
    if assumed is None and not role.image_assumption:
        return known
    stated, sources = known, []
    if role.image_assumption:
        stated = _evaluate_stated(built_images.leave_out_assumed(role), workload, repository, policy)
        sources.append(role.image_assumption)
    found = _evaluate_stated(assumed, workload, repository, policy) if assumed is not None else known
    if on_hardware:
        sources.append(f"the accelerator is assumed from {on_hardware.fields['accelerator'].source}")
    if with_model:
        sources.append(f"the model is assumed from {with_model.fields['checkpoint'].source}")
    together: set[str] = set()
    if on_hardware and with_model:
        model_only = inferred_checkpoint.infer(role, workload, repository, known.facts.resolved)
        together = _find_joint(found, stated, (on_hardware, model_only), workload, repository, policy)
    outcome = evaluated_role.add_assumed(stated, found, "; ".join(sources), together)
    return found._replace(outcome=outcome, stated=stated.facts)


def _find_joint(
    found: EvaluatedRole,
    stated: EvaluatedRole,
    singles: Iterable[Role | None],
    workload: Workload,
    repository: Repository,
    policy: ResolvedPolicy,
) -> set[str]:
    """Return the rules that fire on two assumptions together, and on neither of them alone."""
    joint = _list_fired(found) - _list_fired(stated)
    for single in singles:
        if joint and single is not None:
            joint -= _list_fired(_evaluate_stated(single, workload, repository, policy))
    return joint


def _list_fired(evaluated: EvaluatedRole) -> set[str]:
    return {verdict.rule.name for verdict in evaluated.outcome.verdicts}


def _evaluate_stated(role: Role, workload: Workload, repository: Repository, policy: ResolvedPolicy) -> EvaluatedRole:
    """Evaluate the matching rules on the facts of a role, again if a device plugin shares its GPUs."""
    from gpulint.facts import checkpoints, decisions, resolver
    from gpulint.pipeline.enrichment import gpu_sharing

    path = workload.document.path
    role = decisions.resolve_members(role, lambda tried: checkpoints.resolve(tried, path, repository, policy.like))
    resolved = checkpoints.resolve(role, path, repository, policy.like)
    known: Facts = resolver.resolve(role, resolved)
    matching = tuple(evaluate.select(policy.rules, workload, role))
    outcome = evaluate.evaluate(matching, known)
    if shared := gpu_sharing.find(role, outcome, repository):
        known = resolver.resolve(gpu_sharing.apply(role, shared), resolved)
        outcome = evaluate.evaluate(matching, known)
    return _bound(EvaluatedRole(workload, known, matching, outcome))


def _bound(found: EvaluatedRole) -> EvaluatedRole:
    """Return an evaluated role with the verdict over its open values, if a rule about memory lacks some."""
    lacking = {entry.rule for entry in found.outcome.not_evaluated}
    is_open = any(rule.name in lacking and rule.open == "bound" for rule in found.rules)
    if not is_open and "fits" in memory_verdict.find_verdict(found.facts):
        return found
    from gpulint.policy.rules import bounded_rules

    known, outcome = bounded_rules.judge_outcome(found.outcome, found.rules, found.facts)
    return found._replace(bounds=known, outcome=outcome)


def _evaluate_targets(parsed: ParsedFile, context: enrichment.Context) -> Iterator[tuple[Document, EvaluatedWorkload]]:
    """Yield the workloads of other files that an autoscaler or a disruption budget of this file is
    about.
    """
    for document in parsed.loaded.documents:
        if document.get(("kind",)) not in tuple(autoscaling.GROUPS):
            continue
        for scaled in autoscaling.targets(document, context.repository):
            elsewhere = enrichment.Context(context.repository, context.policy.resolve(scaled.path))
            target = _leave_out_hints(copy.copy(scaled), context.policy)
            for workload in adapters.read(target, context.repository):
                enriched = enrichment.apply(workload, elsewhere)
                yield document, _evaluate_workload(enriched, context.repository, context.policy)


def _leave_out_hints(document: Document, policy: ResolvedPolicy) -> Document:
    """Return a document of another file without the hints that the --policy-from commit lacks."""
    if policy.vouched is None:
        return document
    return policy.vouched.leave_out(document.path, Loaded((document,)))[1].documents[0]


# ---- findings about documents


def _find_problems(problems: Iterable[Problem], known: Sequence[Rule]) -> Iterator[Finding]:
    by_name: dict[str, Rule] = {}
    for problem in problems:
        by_name = by_name or {rule.name: rule for rule in known}
        if rule := by_name.get(problem.kind):
            yield evaluate.make_document_finding(
                rule, problem.location, problem.message, problem.related, problem.instead
            )


def _find_hints(
    malformed: Iterable[tuple[Comment, str]],
    found: Iterable[EvaluatedDocument],
    parsed: ParsedFile,
    context: enrichment.Context,
) -> Iterator[Finding]:
    """Yield the findings about hints: those that cannot be read, do not apply, or contradict the file."""
    roles = [role for document in found for workload in document.workloads for role in workload.roles]
    if not malformed and not parsed.pending and not any(role.facts.role.hints for role in roles):
        return
    from gpulint.pipeline import hint_findings

    yield from hint_findings.find(malformed, roles, parsed, context)
