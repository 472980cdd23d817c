"""The pipeline: sources → documents → workloads → facts → findings with alternatives → one Report."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

from gpulint import adapters
from gpulint.catalog import tables as catalog
from gpulint.facts import checkpoints
from gpulint.facts import resolver as facts
from gpulint.facts.glossary import glossary
from gpulint.facts.model import Facts
from gpulint.pipeline import enrichment as surroundings
from gpulint.pipeline.enrichment import hints
from gpulint.pipeline.summary import role as summary
from gpulint.policy.config.governance import Budget
from gpulint.policy.config.settings import FILE
from gpulint.policy.resolved import Given
from gpulint.policy.rules import document_rules as objects
from gpulint.policy.rules import evaluate as check
from gpulint.policy.rules.rule import Rule
from gpulint.report.model import (
    FacilitySummary,
    Failure,
    Finding,
    Location,
    Recognised,
    Report,
    RoleSummary,
    Skip,
    Suggestion,
    WorkloadSummary,
)
from gpulint.source import documents
from gpulint.source.documents import Document
from gpulint.source.repository import Repository, Source
from gpulint.suggestions.edits import accelerator_names as labels
from gpulint.workload import Field, Role, Unknown, Workload

if TYPE_CHECKING:
    from gpulint.pipeline.budgets import Consumer
    from gpulint.pipeline.facility import Described, Told
    from gpulint.pipeline.facility.workload_load import Placed

SHARING = {
    "nvidia.com/gpu": r"timeSlicing\s*:",
    **dict.fromkeys(("gpu.intel.com/i915", "gpu.intel.com/xe"), r"sharedDevNum\s*:|shared-dev-num"),
}
"""A device plugin's configuration, by the resource it offers; on GKE a node label says it instead."""
JOINED = tuple(f"kind: {kind}".encode() for kind in adapters.SCALERS)
"""Objects that say something of a workload elsewhere without a word of GPUs."""
UNREAD = "asks for GPUs in an object that is not read yet"
DEPTH = 24
ASKED = re.compile(r"nvidia\.com/(?:gpu|mig-|pgpu)|amd\.com/gpu|habana\.ai/gaudi|gpu\.intel\.com/")


class Part(NamedTuple):
    """What one source adds to a report, under which rules, and to what budgets and the pools of a facility are held against."""

    report: Report
    rules: tuple[Rule, ...] = ()
    budgets: tuple[Budget, ...] = ()
    consumers: tuple[Consumer, ...] = ()
    facility: str = ""
    placed: tuple[Placed, ...] = ()


class Understood(NamedTuple):
    """A workload as reports show it, its findings with the facts behind each, and the facts of its roles."""

    summary: WorkloadSummary
    findings: tuple[tuple[Finding, Facts], ...]
    known: tuple[Facts, ...]


class Judged(NamedTuple):
    """A role of a workload with its facts, the rules that are about it, and what they said."""

    workload: Workload
    known: Facts
    rules: tuple[Rule, ...]
    outcome: check.Outcome
    part: str = ""

    @property
    def owner(self) -> tuple[str, str]:
        """The workload and the role by name, or the facility and the part."""
        return self.workload.name, self.part or self.known.role.name


def lint(sources: Iterable[Source | Skip], repository: Repository, given: Given) -> Report:
    """The report on all sources; an exception of ours ends one file, is counted, and leaves the others whole."""
    parts = [_part(one, repository, given) for one in sources]
    parts += [_of_budgets(parts, given), *_of_facilities(parts, repository, given)]
    reports = [part.report for part in parts]
    said_once: dict[object, Finding] = {}
    for one in (one for each in reports for one in each.findings):
        said_once.setdefault((one.rule, one.location, one.message, one.severity), one)
    findings = tuple(sorted(said_once.values(), key=Finding.place))
    rules = {rule.name: rule for part in parts if part.report.findings for rule in part.rules}
    workloads = tuple(one for each in reports for one in each.workloads)
    drawn = {(one.location.path, one.location.line): one for each in reports for one in each.facilities}
    facilities = tuple(drawn.values())
    return Report(
        findings,
        workloads,
        skipped=tuple(one for each in reports for one in each.skipped),
        failures=tuple(one for each in reports for one in each.failures),
        documents=tuple(one for each in reports for one in each.documents),
        files=sum(each.files for each in reports),
        asks=_asks(workloads, facilities),
        catalog_date=catalog.version(),
        rules=check.cards(findings, rules.values()),
        fail_on=given.fail_on,
        budgets=tuple(one for each in reports for one in each.budgets),
        facilities=facilities,
    )


def _part(source: Source | Skip, repository: Repository, given: Given) -> Part:
    """What one source adds; of a file in which we fail, that."""
    if isinstance(source, Skip):
        return Part(Report(skipped=(source,)))
    governing = given.at(source.path)
    try:
        found = _file(source, repository, governing)
    except Exception as error:  # counted: the report and the exit code say so
        return Part(_failed(source.path, "checking the file", error)._replace(files=1))
    rules, budgets = governing.rules, governing.governance.budgets
    report = found.report._replace(files=1)
    return found._replace(report=report, rules=rules, budgets=budgets, facility=governing.facility)


def _failed(path: str, doing: str, error: Exception) -> Report:
    return Report(failures=(Failure(path, doing, f"{type(error).__name__}: {error}"),))


def _of_budgets(parts: Sequence[Part], given: Given) -> Part:
    """What is said of budgets once every file is read: those of the run's policy, and of others that govern a file."""
    held = {one.place: one for one in (*given.governance.budgets, *(one for part in parts for one in part.budgets))}
    if not held:
        return Part(Report())
    from gpulint.pipeline import budgets
    from gpulint.pipeline import suppression as waived

    consumers = [one for part in parts for one in part.consumers]
    unread = sum(skip.reason == UNREAD for part in parts for skip in part.report.skipped)
    try:
        found, spent = budgets.judged(held.values(), consumers, given.rules, unread)
        said = tuple(said for one, known in found for said in waived.of_budget(one, known, given))
    except Exception as error:  # counted: the report and the exit code say so
        return Part(_failed(FILE, "judging its budgets", error))
    return Part(Report(said, budgets=tuple(spent)), given.rules)


def _of_facilities(parts: Sequence[Part], repository: Repository, given: Given) -> Iterator[Part]:
    """What is said of the facilities that policies name, under what every file places there."""
    read = [one for part in parts for one in part.report.facilities]
    for path in dict.fromkeys(part.facility for part in parts if part.facility and part.report.workloads):
        from gpulint.pipeline import facility as rooms

        mine = [part for part in parts if part.facility == path]
        placed = [one for part in mine for one in part.placed]
        unread = sum(skip.reason == UNREAD for part in mine for skip in part.report.skipped)
        try:
            found = rooms.under(path, placed, unread, read, repository, given)
        except Exception as error:  # counted: the report and the exit code say so
            found = _failed(path, "judging what is placed in it", error)
        yield Part(found, given.rules)


def _asks(workloads: Iterable[WorkloadSummary], facilities: Iterable[FacilitySummary]) -> dict[str, str]:
    """How each missing quantity is supplied, in the glossary's words."""
    needed = {
        need for workload in workloads for role in workload.roles for one in role.not_evaluated for need in one.needs
    }
    needed |= {need for facility in facilities for one in facility.not_evaluated for need in one.needs}
    return {name: glossary()[name].ask or glossary()[name].meaning for name in sorted(needed)}


def _file(source: Source, repository: Repository, given: Given) -> Part:
    if not _of_interest(source.content, given.rules):
        return Part(Report())
    loaded = documents.load(source.path, source.content)
    found = list(_problems(loaded.problems, given.rules))
    skips = [Skip(source.path, reason) for reason in loaded.skips]
    for said in objects.findings(loaded.documents, given.rules):
        (skips if isinstance(said, Skip) else found).append(said)  # type: ignore[arg-type]
    summaries: list[WorkloadSummary] = []
    recognised: list[Recognised] = []
    known: dict[tuple[str, str], Facts] = {}
    taking: list[tuple[Workload, Facts]] = []
    facilities: list[FacilitySummary] = []
    told_of: Told = {}
    services = surroundings.services(loaded.documents)
    told, mistaken = hints.commented(loaded.comments)
    for document in loaded.documents:
        adapter = adapters.claiming(document)
        if adapter is None:
            continue
        recognised.append(_recognised(adapter, document))
        found.extend(_problems(adapters.problems(adapter, document, repository), given.rules))
        if (described := _of_facility(adapter, document, repository, given)) is not None:
            facilities.append(described.summary)
            told_of[document.path, document.index] = described.said
            found.extend(finding for finding, _ in described.findings)
            known.update(((finding.subject.object, finding.role), facts) for finding, facts in described.findings)
        for workload in adapters.workloads(adapter, document, repository):
            hinted = surroundings.hinted(workload, services, told, repository, given)
            understood = _workload(hinted, repository, given)
            summaries.append(understood.summary)
            taking.extend((hinted, one) for one in understood.known)
            found.extend(finding for finding, _ in understood.findings)
            known.update(((finding.subject.object, finding.role), facts) for finding, facts in understood.findings)
    found.extend(_of_targets(loaded.documents, repository, given))
    found.extend(_malformed(mistaken, loaded, given.rules))
    answered = _answered(found, source, repository, given, told_of)
    unread = filter(_is_unread, loaded.documents)
    if not summaries and any(_asks_for_gpus(document.data, DEPTH) for document in unread):
        skips.append(Skip(source.path, UNREAD))
    lacking = frozenset(one.rule for each in summaries for role in each.roles for one in role.not_evaluated)
    spoken = _settled(answered, source, loaded, given, lacking, known)
    found_here = Report(
        spoken, tuple(summaries), tuple(skips), documents=tuple(recognised), facilities=tuple(facilities)
    )
    return Part(found_here, consumers=_consumers(taking, given), placed=_placed(taking, given))


def _of_facility(adapter: ModuleType, document: Document, repository: Repository, given: Given) -> Described | None:
    """What is said of the parts of a facility that a document describes."""
    if not hasattr(adapter, "facility") or (stated := adapter.facility(document, repository)) is None:
        return None
    from gpulint.pipeline import facility as rooms

    return rooms.described(stated, given)


def _consumers(taking: Sequence[tuple[Workload, Facts]], given: Given) -> tuple[Consumer, ...]:
    if not given.governance.budgets:
        return ()
    from gpulint.pipeline import budgets

    return tuple(budgets.consumers(taking, given.governance))


def _placed(taking: Sequence[tuple[Workload, Facts]], given: Given) -> tuple[Placed, ...]:
    if not given.facility:
        return ()
    from gpulint.pipeline.facility import workload_load as loads

    return tuple(loads.placed(taking))


def _malformed(
    mistaken: Iterable[tuple[documents.Comment, str]], loaded: documents.Loaded, rules: Iterable[Rule]
) -> Iterator[Finding]:
    """What is said of hints that cannot be read."""
    for rule in rules if mistaken else ():
        if rule.name == "malformed-hint":
            yield from (check.at_document(rule, _at_comment(loaded, comment), why) for comment, why in mistaken)


def _settled(
    found: Sequence[Finding],
    source: Source,
    loaded: documents.Loaded,
    given: Given,
    lacking: frozenset[str],
    known: Mapping[tuple[str, str], Facts],
) -> tuple[Finding, ...]:
    """Findings with what they are about, and with what waivers make of them; of most files there are neither."""
    text = loaded.documents[0].text if loaded.documents else source.content.decode("utf-8-sig", "replace")
    if not found and not loaded.comments and "gpulint" not in text:
        return ()
    from gpulint.pipeline import suppression as waived

    return waived.in_file(found, source.path, text, loaded, given, lacking, known)


def _answered(
    found: Sequence[Finding], source: Source, repository: Repository, given: Given, told_of: Told
) -> Sequence[Finding]:
    """Findings with the alternatives that hold in the text of their file; with none where none are asked for."""
    if not given.alternatives:
        return [one._replace(suggestions=()) for one in found]
    if not any(one.suggestions for one in found):
        return found
    from gpulint.suggestions import verified_text as written

    def linted(files: Mapping[str, bytes]) -> Report:
        sources = [Source(path, content) for path, content in files.items()]
        return lint(sources, repository.rewritten(files), replace(given, alternatives=False))

    return list(
        written.answered(
            found, source.path, source.content, repository.read, linted, judge=judge(repository, given, told_of)
        )
    )


def _of_targets(found: Sequence[Document], repository: Repository, given: Given) -> Iterator[Finding]:
    """Findings that stand in an autoscaler or a budget of this file about a workload of another one."""
    for document in found:
        if document.get(("kind",)) not in tuple(adapters.SCALERS):
            continue
        from gpulint.adapters.kubernetes import autoscaling

        for target in autoscaling.targets(document, repository):
            for workload in adapters.read(target, repository):
                governing = given.at(target.path)
                hinted = hints.applied(
                    surroundings.placed(workload, repository, governing), (), governing.hints, governing.accelerator
                )
                own = _workload(hinted, repository, given).findings
                yield from (one for one, _ in own if one.location.path == document.path)


def _at_comment(loaded: documents.Loaded, comment: documents.Comment) -> Location:
    """The place of a comment, from its `#` to the end of its text."""
    line = loaded.documents[0].text.split("\n")[comment.line - 1].rstrip("\r") if loaded.documents else ""
    path = loaded.documents[0].path if loaded.documents else ""
    return Location(path, comment.line, comment.column, comment.line, len(line) + 1, line)


def _recognised(adapter: ModuleType, document: Document) -> Recognised:
    where = document.locate(("kind",))
    return Recognised(where.path, where.line, adapters.kind(adapter, document), adapters.name(adapter))


def _is_unread(document: Document) -> bool:
    """Whether nobody knows what a document is: an adapter of its own says by silence that there is nothing to judge."""
    adapter = adapters.claiming(document)
    return adapter is None or (hasattr(adapter, "unread") and bool(adapter.unread(document)))


def _asks_for_gpus(value: object, depth: int) -> bool:
    """Whether limits or requests anywhere in an object name an accelerator resource."""
    if isinstance(value, list):
        return depth > 0 and any(_asks_for_gpus(inner, depth - 1) for inner in value)
    if not isinstance(value, dict) or depth == 0:
        return False
    sides = (value.get(side) for side in ("limits", "requests"))
    if any(ASKED.match(str(name)) for amounts in sides if isinstance(amounts, dict) for name in amounts):
        return True
    return any(_asks_for_gpus(inner, depth - 1) for inner in value.values())


def _of_interest(content: bytes, rules: Iterable[Rule]) -> bool:
    """Whether a file can hold anything to say: a word of the trade, or a rule about objects of any kind."""
    if any(objects.about(rule) for rule in rules):
        return True
    if content.startswith((b"\xff\xfe", b"\xfe\xff")) or any(kind in content for kind in JOINED):
        return True
    return documents.concerns_gpus(content.decode("latin-1"))


# ---- documents


def _problems(problems: Iterable[documents.Problem], rules: Sequence[Rule]) -> Iterator[Finding]:
    by_name = {rule.name: rule for rule in rules}
    for problem in problems:
        if rule := by_name.get(problem.kind):
            yield check.at_document(rule, problem.location, problem.message, problem.related, problem.instead)


# ---- workloads


def _workload(workload: Workload, repository: Repository, given: Given) -> Understood:
    summaries: list[RoleSummary] = []
    known: list[Facts] = []
    found: list[tuple[Finding, Facts]] = []
    for role in workload.roles:
        one = _judged(role, workload, repository, given)
        known.append(one.known)
        standing, better = _standing(one)
        for verdict in standing.verdicts:
            finding = check.finding(verdict, workload, one.known)
            if given.alternatives and verdict.rule.name not in better:
                better[verdict.rule.name] = _offered(verdict, one)
            found.append((finding._replace(suggestions=better.get(verdict.rule.name, ())), one.known))
        summaries.append(summary.of(one.known.role, one.known, one.known.resolved, standing, one.rules))
    where = workload.location()
    understood = WorkloadSummary(workload.name, workload.kind, workload.adapter, where, tuple(summaries))
    return Understood(understood, tuple(found), tuple(known))


def _standing(one: Judged) -> tuple[check.Outcome, dict[str, tuple[Suggestion, ...]]]:
    """What remains when rules that speak only with an alternative are silent, and absorb nothing, where none is found."""
    better: dict[str, tuple[Suggestion, ...]] = {}
    standing = one.outcome
    while asked := [said for said in standing.verdicts if said.rule.only_with and said.rule.name not in better]:
        better.update({said.rule.name: _offered(said, one) for said in asked})
        standing = check.judged([rule for rule in one.rules if better.get(rule.name) != ()], one.known)
    return standing, {name: found for name, found in better.items() if found}


def _offered(verdict: check.Verdict, one: Judged) -> tuple[Suggestion, ...]:
    from gpulint.suggestions import alternatives as suggest

    found = suggest.alternatives(verdict, one.outcome, one.workload, one.known, one.rules)
    return found or _reworded(verdict.rule, one.known)


def _reworded(rule: Rule, known: Facts) -> tuple[Suggestion, ...]:
    if not rule.instead and not rule.superfluous:
        return ()
    from gpulint.suggestions.edits import replacements as rewordings

    return rewordings.of(rule, known)


def _judged(role: Role, workload: Workload, repository: Repository, given: Given) -> Judged:
    resolved = checkpoints.resolve(role, workload.document.path, repository, given.like)
    known = facts.of(role, resolved)
    rules = tuple(check.matching(given.rules, workload, role))
    outcome = check.judged(rules, known)
    if shares := _shares(role, outcome, repository):
        known = facts.of(_shared(role, shares), resolved)
        outcome = check.judged(rules, known)
    return Judged(workload, known, rules, outcome)


def judge(
    repository: Repository, given: Given, told_of: Told | None = None
) -> Callable[[Source, str], list[tuple[tuple[str, str], check.Outcome]]]:
    """Says of a changed text what the rules make of each role of one of its workloads; `told_of` what it says of facilities."""
    before: Told = {} if told_of is None else told_of

    def said(source: Source, workload: str) -> list[tuple[tuple[str, str], check.Outcome]]:
        tree = repository.rewritten({source.path: source.content})
        return [(one.owner, one.outcome) for one in judged(source, tree, given, workload, before)]

    return said


def judged(
    source: Source, repository: Repository, given: Given, name: str | None = None, before: Told | None = None
) -> Iterator[Judged]:
    """Each role of a file, or of its workloads of one name, with its facts, the rules that are about it, and what they said.

    `before` holds what was said of facilities in an earlier text of the same file.
    """
    given = given.at(source.path)
    loaded = documents.load(source.path, source.content)
    told, _ = hints.commented(loaded.comments)
    services = surroundings.services(loaded.documents)
    for document in loaded.documents:
        adapter = adapters.claiming(document)
        yield from _judged_parts(adapter, document, repository, given, {} if before is None else before)
        for workload in adapters.workloads(adapter, document, repository) if adapter else ():
            if name is not None and workload.name != name:
                continue
            hinted = surroundings.hinted(workload, services, told, repository, given)
            for role in hinted.roles:
                yield _judged(role, hinted, repository, given)


def _judged_parts(
    adapter: ModuleType | None, document: Document, repository: Repository, given: Given, before: Told
) -> Iterator[Judged]:
    """Each part of a facility with what the rules said of it: what changes in one may show in any other."""
    described = adapter.facility(document, repository) if adapter and hasattr(adapter, "facility") else None
    if described is None:
        return
    from gpulint.pipeline import facility as rooms

    said = rooms.judged(described, given, before.get((document.path, document.index)))
    before.setdefault((document.path, document.index), said)
    for one in said:
        yield Judged(one.owner, one.known.facts, one.rules, one.outcome, one.path)


def _shares(role: Role, outcome: check.Outcome, repository: Repository) -> str | None:
    """The file that hands cards out in shares, looked for when a verdict rests on how many there are, or on having one alone."""
    counting = any("gpus_per_replica" in verdict.rule.facts for verdict in outcome.verdicts)
    alone = any("sharing" in verdict.rule.facts for verdict in outcome.verdicts)
    pattern = SHARING.get(role.text("accelerator_resource"))
    if not pattern or not ((counting and _several(role)) or alone) or labels.cloud(role) == "gcp":
        return None
    return repository.search(pattern, role.anchor.document.path)


def _several(role: Role) -> bool:
    return role.value("gpus_per_pod") not in (None, 1)


def _shared(role: Role, path: str) -> Role:
    reason = Unknown(f"{path} hands cards out in shares, and this is a count of them")
    counted = ("gpus_per_pod", "gpus_per_replica") if _several(role) else ()
    counts = {name: replace(role.fields[name], value=reason) for name in counted}
    return role.having(**counts, sharing=Field("time-slicing in some pool", source=path))
