"""Gate: report what a change introduces, from the commits of both sides."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from gpulint.adapters import nodes
from gpulint.pipeline import check, hint_findings, literals, run, session, unchecked, users
from gpulint.pipeline.diff import changed_files, comparison, hints, provisioned, settings_hints
from gpulint.pipeline.diff.comparison import Context, Side
from gpulint.pipeline.diff.provisioned import Provisioned
from gpulint.pipeline.run import Progress
from gpulint.pipeline.session import Options, Session, Stands, Unusable, disable_suggestions
from gpulint.policy.config.files import DiskReader
from gpulint.policy.resolved import ResolvedPolicy
from gpulint.policy.rules import evaluate, identity
from gpulint.policy.rules.rule import Rule
from gpulint.policy.waivers import baseline
from gpulint.policy.waivers.base_branch import CommitReader, PendingMarker
from gpulint.report.model import Finding, HintUse, Location, Report, Skip
from gpulint.report.report import SUSPICIOUS
from gpulint.source import documents, repository
from gpulint.source.git import Git, GitError
from gpulint.source.repository import Source
from gpulint.source.repository.git_tree import GitTree

Use = tuple[HintUse, Location]
"""A setting that states a value, and its location."""


MAY_SET_GPUS = frozenset({*SUSPICIOUS, "template", "patch", "kind", "settings"})
"""Causes for which a file that was not checked may change GPUs."""


class Sides(NamedTuple):
    """The two commits of a change, with the names to show and their trees."""

    base_name: str
    head_name: str
    base: GitTree
    head: GitTree


class Runs(NamedTuple):
    """The sessions of base and head, and what was skipped."""

    base: Session
    head: Session
    skipped: tuple[Skip, ...] = ()


def report(paths: Sequence[str], options: Options, policy: Stands = None, watched: Progress = iter) -> Report:
    """Return the report on head without the findings of base; without a base, the report on the
    work tree.

    Raise Unusable if a commit cannot be read.
    """
    if policy is not None and options.policy_from:
        raise Unusable(
            "a policy that replaces all others and the policy of a commit exclude each other: give one of them"
        )
    asked = list(paths) or ["."]
    try:
        git = Git(repository.find_root(session.find_folder(paths)))
        if not options.base:
            return _check_work_tree(git, paths, options, policy, watched)
        sides = open_sides(git, options.base, options.head)
        runs = _prepare_sides(sides, asked, options, policy)
        return literals.relocate(_compare(sides, runs, asked, watched), runs.head)
    except GitError as error:
        raise Unusable(str(error)) from None


def _check_work_tree(git: Git, paths: Sequence[str], options: Options, policy: Stands, watched: Progress) -> Report:
    """Return the report on the work tree, limited to changes and under a commit's policy if
    requested.
    """
    found = _prepare_under(git, paths, options) if options.policy_from else session.prepare(paths, options, policy)
    if options.changed:
        commit = GitTree(git, git.commit("HEAD"))
        changed = changed_files.find_changed(run.find_sources(found, paths), commit)
        report, seen = run.evaluate(found, watched(changed.files))
        used = [*sorted(changed.paths), *changed_files.find_changed_texts(found.tree, commit)]
        report = users.add(report, found, used, seen, run.build_watchdog(options))
        settled = run.suppress(found, unchecked.add_findings(report, found, changed.paths.__contains__), seen)
        settled = literals.relocate(settled, found)
    else:
        settled = run.report(found, paths, watched)
    if not options.policy_from:
        return settled
    uses = settings_hints.list_uses(DiskReader(found.tree.root))
    return _add_pending_settings(settled, found, uses, CommitReader(GitTree(git, git.commit(options.policy_from))))


def _add_pending_settings(report: Report, found: Session, uses: Sequence[Use], reader: CommitReader) -> Report:
    """Return a report with a finding for each setting of a change that the commit of the policy lacks."""
    known = [use for use, _ in settings_hints.list_uses(reader)]
    new = settings_hints.list_new(known, uses)
    pending = identity.add_subjects(settings_hints.find_pending(new, found.given.rules, found.options.policy_from), ())
    findings = tuple(sorted((*report.findings, *pending), key=Finding.place))
    return report._replace(findings=findings, rules={**report.rules, **evaluate.list_cards(pending, found.given.rules)})


def _compare(sides: Sides, runs: Runs, asked: Sequence[str], watched: Progress) -> Report:
    narrow = runs.head.options.changed and not runs.head.given.governance.budgets
    touched = changed_files.filter_changed(sides.base, sides.head) if narrow else iter
    paths = [*asked, *changed_files.find_oddly_named(sides.base, sides.head, asked)]
    now = _check_side(runs.head, sides.base, paths, lambda files: watched(touched(files)))
    now = _add_contradictions(now, runs.head)
    before = _check_side(runs.base, sides.head, paths, lambda files: watched(touched(files)))
    before = unchecked.drop_findings(before, changed_files.build_is_changed(sides.base, sides.head))
    renamed = _find_renamed(sides)
    compared = comparison.compare(
        Side(sides.base_name, before, _build_holds(sides.base)),
        Side(sides.head_name, now._replace(skipped=(*now.skipped, *runs.skipped)), _build_holds(sides.head)),
        Context(renamed, _find_absorbing(runs.head.given.rules)),
    )
    marked = hints.mark_new(compared, lambda path: runs.head.given.resolve(path).rules)
    hinted = _add_hints(marked, sides, runs.head, hints.list_new(before, now, renamed))
    return _add_pools(_count_unchecked(hinted, sides), sides, runs, asked)


def _count_unchecked(report: Report, sides: Sides) -> Report:
    """Return a report with the number of changed files that may set GPUs and were not checked."""
    is_changed = changed_files.build_is_changed(sides.head, sides.base)
    left = {skip.path for skip in report.skipped if skip.cause in MAY_SET_GPUS and is_changed(skip.path)}
    found = report.comparison
    return report if found is None or not left else report._replace(comparison=found._replace(unchecked=len(left)))


def _add_contradictions(report: Report, head: Session) -> Report:
    """Return a report with the contradictions of hints that do not apply yet: they would after the merge."""
    pending = {finding.location.path for finding in report.findings if finding.rule == hint_findings.NOT_APPLIED}
    files = [source for source in head.tree.sources(sorted(pending)) if isinstance(source, Source)] if pending else ()
    if not files:
        return report

    def resolve(path: str) -> ResolvedPolicy:
        return replace(head.given.resolve(path), vouched=None)

    given = replace(head.given, vouched=None, governed=resolve, alternatives=False)
    applied = check.check_files(files, head.tree, given)
    known = {(finding.location, finding.message) for finding in report.findings}
    later = f"{hint_findings.APPLIES} as soon as {head.options.policy_from} has it"
    found = tuple(
        finding._replace(suppressed=None, message=finding.message.replace(hint_findings.APPLIES, later))
        for finding in applied.findings
        if finding.rule == hint_findings.CONTRADICTS and (finding.location, finding.message) not in known
    )
    cards = {name: card for name, card in applied.rules.items() if found and name == hint_findings.CONTRADICTS}
    findings = tuple(sorted((*report.findings, *found), key=Finding.place))
    return report._replace(findings=findings, rules={**report.rules, **cards})


def _add_hints(report: Report, sides: Sides, head: Session, new: Sequence[HintUse]) -> Report:
    """Return a report with the hints that the change adds; those of policies apply unless a commit has the policy."""
    uses = settings_hints.list_uses(CommitReader(sides.head))
    if commit := head.options.policy_from:
        tree = GitTree(sides.head.git, sides.head.git.commit(commit))
        report = _add_pending_settings(report, head, uses, CommitReader(tree))
    else:
        known = [use for use, _ in settings_hints.list_uses(CommitReader(sides.base))]
        new = [*new, *(use for use, _ in settings_hints.list_new(known, uses))]
    found = report.comparison
    return report if found is None or not new else report._replace(comparison=found._replace(hints=tuple(new)))


def _add_pools(report: Report, sides: Sides, runs: Runs, asked: Sequence[str]) -> Report:
    """Return a report with the node pools that the change adds, resizes or removes."""
    if report.comparison is None or not changed_files.may_change_pools(sides.base, sides.head):
        return report
    base, head = (_find_provisioned(found, asked) for found in (runs.base, runs.head))
    base = base._replace(unread=changed_files.find_broken_pool_files(sides.base, sides.head))
    head = head._replace(unread=changed_files.find_broken_pool_files(sides.head, sides.base))
    changes = provisioned.find_changes(base, head, _find_renamed(sides))
    return report._replace(comparison=report.comparison._replace(pools=tuple(changes)))


def _find_provisioned(found: Session, asked: Sequence[str]) -> Provisioned:
    """Return the node pools that files below these paths define on one side."""
    inside = [found.tree.find_root_path(path) or "" for path in asked]
    pools = tuple(
        pool
        for pool in nodes.read_inventory(found.tree, asked[0])
        if pool.origin and changed_files.is_below(found.tree.find_root_path(pool.origin.document.path) or "", inside)
    )
    return Provisioned(pools, lambda path: found.given.resolve(path).available)


def _check_side(found: Session, other: GitTree, asked: Sequence[str], watched: Progress) -> Report:
    """Return the report on one side, without findings about the policy of a third commit."""
    report, seen = run.evaluate(found, watched(_find_sources(found, other, asked)))
    report = unchecked.add_findings(report, found, changed_files.build_is_changed(found.tree, other))
    settled = run.suppress(found, report, seen, () if found.options.changed else asked)
    if not found.options.policy_from:
        return settled
    elsewhere = f"{found.options.policy_from}:"
    left = tuple(
        finding
        for finding in settled.findings
        if finding.family != baseline.NEVER_BASELINED or not finding.location.path.startswith(elsewhere)
    )
    speaking = {finding.rule for finding in left}
    cards = {name: card for name, card in settled.rules.items() if name in speaking}
    return settled._replace(findings=left, rules=cards)


# ---- what governs


def _prepare_under(git: Git, paths: Sequence[str], options: Options) -> Session:
    """Return a session over the work tree under the policies, waivers and hints of a commit."""
    tree = GitTree(git, git.commit(options.policy_from))
    found = session.prepare(paths, options, reader=CommitReader(tree, options.policy_from))
    return _require_committed(found, PendingMarker(tree, options.policy_from, {}))


def _prepare_sides(sides: Sides, paths: Sequence[str], options: Options, policy: Stands) -> Runs:
    """Return the sessions of both sides under one policy, that of head or of the named commit.

    Overrides and pools are each side's own.
    """
    if not options.policy_from:
        head = session.prepare(paths, options, policy, sides.head, CommitReader(sides.head))
        try:
            stating = replace(options, select=(), ignore=(), rules=(), baseline="")
            own = session.prepare(paths, stating, policy, sides.base, CommitReader(sides.base, sides.base_name))
        except Unusable as error:
            why = f"its policy cannot be used, so the policy of {sides.head_name} applies to both sides: {error}"
            return Runs(
                disable_suggestions(_use_tree(sides.base, head)), head, (Skip(sides.base_name, why, "unreadable"),)
            )
        return Runs(
            disable_suggestions(_use_tree(sides.base, head)._replace(given=_combine(head.given, own.given))), head
        )
    tree = GitTree(sides.head.git, sides.head.git.commit(options.policy_from))
    reader = CommitReader(tree, options.policy_from)
    head = session.prepare(paths, options, tree=sides.head, reader=reader)
    renamed = _find_renamed(sides._replace(base=tree))
    head = _require_committed(head, PendingMarker(tree, options.policy_from, renamed))
    return Runs(disable_suggestions(_use_tree(sides.base, head)), head)


def _use_tree(tree: GitTree, other: Session) -> Session:
    """Return a session over another tree with the same policy."""
    left_out = tree.leaving_out(())
    left_out.exclude = other.tree.exclude
    return other._replace(tree=left_out)


def _require_committed(found: Session, vouching: PendingMarker) -> Session:
    """Return a session in which a waiver or a hint counts only if a commit has it too."""

    def resolve(path: str) -> ResolvedPolicy:
        return replace(found.given.resolve(path), vouched=vouching)

    return found._replace(given=replace(found.given, vouched=vouching, governed=resolve))


def _combine(judging: ResolvedPolicy, stating: ResolvedPolicy) -> ResolvedPolicy:
    """Combine the rules of one policy with the hardware, prices and objectives of another."""

    def resolve(path: str) -> ResolvedPolicy:
        return _mix(judging.resolve(path), stating.resolve(path))

    return replace(_mix(judging, stating), governed=resolve)


def _mix(judging: ResolvedPolicy, stating: ResolvedPolicy) -> ResolvedPolicy:
    return replace(
        judging,
        accelerator=stating.accelerator,
        hints=stating.hints,
        pools=stating.pools,
        like=stating.like,
        fabrics=stating.fabrics,
        available=stating.available._replace(barred=judging.available.barred),
    )


# ---- commits


def open_sides(git: Git, base: str, head: str) -> Sides:
    """Return both sides: head, and its merge base with base."""
    newest, target = git.commit(head), git.commit(base)
    start = git.merge_base(target, newest)
    if start is None:
        raise GitError(_explain_unrelated(git, base, head))
    name = base if start == target else f"{start[:10]} (merge base of {head} and {base})"
    return Sides(name, head, GitTree(git, start), GitTree(git, newest))


def _explain_unrelated(git: Git, base: str, head: str) -> str:
    if not git.is_shallow():
        return f"{base} and {head} have no common ancestor"
    branch = base.removeprefix("origin/")
    fetch = f"git fetch --unshallow origin {branch}"
    return f"this shallow clone lacks the merge base of {head} and {base}; fetch the history: {fetch}"


def _find_sources(found: Session, other: GitTree, paths: Sequence[str]) -> Iterator[Source | Skip]:
    """Yield the files of one side; a path that exists only on the other side is skipped."""
    present = [path for path in paths if found.tree.has(path)]
    for path in paths:
        if path not in present and not other.has(path):
            raise Unusable(f"neither commit has a file or folder {path}")
    return run.find_sources(found, present) if present else iter(())


def _find_renamed(sides: Sides) -> dict[str, str]:
    """Return the files of head that were renamed since base, with their earlier paths."""
    before = {path: item for path, item in sides.base.held.items.items() if path not in sides.head.held.items}
    left: dict[str, list[str]] = {}
    for path, item in before.items():
        left.setdefault(item.id, []).append(path)
    new = ((path, item) for path, item in sides.head.held.items.items() if path not in sides.base.held.items)
    return {
        sides.head.render_root_path(path): sides.base.render_root_path(left[item.id].pop(0))
        for path, item in new
        if left.get(item.id)
    }


class _File(NamedTuple):
    """The objects of a file, and its bytes if it could not be read completely."""

    objects: tuple[str, ...]
    unread: bytes = b""


def _build_holds(tree: GitTree) -> comparison.Holds:
    """Return a function that says whether a file of a tree holds an object."""

    @functools.cache
    def file(path: str) -> _File | None:
        content = tree.read(path)
        return None if content is None else _find_objects(path, content)

    def holds(path: str, named: str) -> bool:
        found = file(path)
        if found is None or " " not in named:
            return found is not None
        words = named.partition(" ")[2].replace("/", " ").split()
        mentioned = found.unread and all(word.encode() in found.unread for word in words)
        return bool(mentioned) or any(
            named == name_of_object or named.startswith(f"{name_of_object} ") for name_of_object in found.objects
        )

    return holds


def _find_objects(path: str, content: bytes) -> _File:
    loaded = documents.load(path, content)
    data = [document.data for document in loaded.documents]
    inner = [item for document in data if isinstance(document, dict) for item in _find_items(document)]
    whole = not loaded.problems and not loaded.skips
    return _File(tuple(filter(None, map(identity.identify_object, [*data, *inner]))), b"" if whole else content)


def _find_items(data: dict[str, object]) -> list[object]:
    items = data.get("items")
    return items if isinstance(items, list) else []


def _find_absorbing(rules: Iterable[Rule]) -> dict[str, frozenset[str]]:
    """Return, for each rule, the rules that absorb it."""
    instead: dict[str, set[str]] = {}
    for rule in rules:
        for name in rule.absorbs:
            instead.setdefault(name, set()).add(rule.name)
    return {name: frozenset(found) for name, found in instead.items()}
