"""The session: the settings, policies and repository of a run, resolved from its paths and options."""

from __future__ import annotations

import fnmatch
import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from gpulint.catalog import hardware
from gpulint.catalog.offers import EVERYTHING, Available
from gpulint.pipeline import today as pipeline_today
from gpulint.policy.config import load
from gpulint.policy.config.discovery import Policies
from gpulint.policy.config.files import DiskReader, Reader, RefusedFileError, SettingsError, SuppliedFileReader
from gpulint.policy.config.governance import PolicyRequirements
from gpulint.policy.config.settings import BASELINE, Folder, Hint, NamedFabric, Settings
from gpulint.policy.resolved import ResolvedPolicy
from gpulint.policy.rules import rule, selection
from gpulint.policy.rules.rule import Rule
from gpulint.report.model import Severity
from gpulint.source import os_errors, repository
from gpulint.source.repository import Tree, WorkTree

if TYPE_CHECKING:
    from gpulint.policy.waivers.baseline import Baseline
    from gpulint.policy.waivers.waivers import WaiverRequirements

T = TypeVar("T", Hint, NamedFabric)
SHOWN_MAX = 200
"""How many characters of a path that cannot be read are shown."""
STATED = "policy.yaml"
"""The name of a policy that the caller passes without a file."""
Stands = str | Path | Mapping[str, object] | None
"""A policy instead of every gpulint.yaml: its file, or the content of one."""
RENDERED = " (rendered).yaml"
"""The end of the name of a rendered folder, which the policy of that folder governs."""


class Unusable(ValueError):
    """Options, settings or rules that cannot be used."""


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a run; an empty one is left to the settings. `today` is a date such as
    2026-11-22.

    With the commit `base`, only findings that the change from there to the commit `head` introduces
    are reported. The policies, waivers and hints are those of the commit `policy_from`. `changed` checks
    only files that differ from `base`, or from HEAD. With `fail_on_unread`, every file that was not
    checked fails the run, whatever the reason. `file_timeout_s` and `timeout_s` are the CPU seconds
    that a file and the run may take; 0 is no limit.
    """

    today: str = ""
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    accelerator: str = ""
    fail_on: str = ""
    base: str = ""
    head: str = "HEAD"
    policy_from: str = ""
    changed: bool = False
    preview: bool = False
    baseline: str = ""
    ignores: bool = True
    fail_on_unread: bool = False
    file_timeout_s: float = 0
    timeout_s: float = 0

    def __post_init__(self) -> None:
        """Raise Unusable for a text instead of a list, and for an invalid date or severity."""
        for name in ("select", "ignore", "exclude", "rules"):
            if isinstance(value := getattr(self, name), str):
                raise Unusable(f'{name} is a list of names: write ("{value}",)')
        if self.today and not _is_date(self.today):
            raise Unusable(f"today is a day such as 2026-11-22, not {self.today}")
        if not (0 <= self.file_timeout_s < math.inf and 0 <= self.timeout_s < math.inf):
            raise Unusable("file_timeout_s and timeout_s are seconds of 0 or more; 0 sets no limit")
        if self.fail_on and self.fail_on.upper() not in Severity.__members__:
            raise Unusable(f"fail_on is error, warning or note, not {self.fail_on}")


def _is_date(text: str) -> bool:
    from datetime import date

    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


class Session(NamedTuple):
    """A run: its settings, the policy that follows from them and from the options, and the
    repository of its paths.
    """

    settings: Settings
    given: ResolvedPolicy
    tree: Tree
    policies: Policies
    options: Options
    baseline: Baseline | None = None


def prepare(
    paths: Sequence[str],
    options: Options,
    policy: Stands = None,
    tree: Tree | None = None,
    reader: Reader | None = None,
) -> Session:
    """Resolve a run over these paths; raise Unusable with the location of what is wrong.

    `policy` replaces every gpulint.yaml. Files and policies are those of the work tree unless
    another `tree` and another `reader` of policies are given.
    """
    is_work_tree = tree is None
    tree = tree or WorkTree(repository.find_root(find_folder(paths)))
    common = _find_common_folder(paths, tree)
    try:
        policies = Policies(reader or DiskReader(tree.root), _read_policy(policy, tree) if policy is not None else None)
        found = policies.nearest(common)
        if is_work_tree and found.facility and tree.read_at_root(found.facility) is None:
            raise SettingsError(f"{found.place('facility')}: there is no file {tree.render_root_path(found.facility)}")
        inside = _find_inside(options.rules, tree) if reader else {}
        folders = [Folder(policies.reader, folder, "--rules") for folder in inside.values()]
        remaining = replace(options, rules=tuple(path for path in options.rules if path not in inside))
        whole = () if options.changed else _list_whole_folders(paths, tree)
        policy_by_file = PolicyByFile(policies, found, remaining, tree, folders, whole)
        given = policy_by_file.resolve(found)
        excluded = [line for lines in policies.list_excludes(common) for line in lines]
        tree = tree.leaving_out(excluded, options.exclude)
        named = _find_inside([options.baseline], tree) if reader and options.baseline else {}
        baseline = _read_baseline(found, policies, options, named)
    except (SettingsError, rule.RuleError) as error:
        raise Unusable(str(error)) from None
    return Session(found, given, tree, policies, options, baseline)


def _read_policy(policy: str | Path | Mapping[str, object], tree: Tree) -> Settings:
    """Return the policy that the caller names."""
    if isinstance(policy, Mapping):
        return load.read_file(SuppliedFileReader(tree.root, STATED, json.dumps(policy).encode()), STATED)
    place = Path(os.path.abspath(policy))
    if place.is_relative_to(tree.root):
        return load.read_file(DiskReader(tree.root), place.relative_to(tree.root).as_posix())
    return load.read_file(DiskReader(place.parent), place.name)


def disable_suggestions(run: Session) -> Session:
    """Return a session without suggestions, for callers that need only the findings."""
    return run._replace(given=replace(run.given, alternatives=False))


def find_folder(paths: Sequence[str]) -> Path:
    """Return the folder whose repository is searched for sibling files: the first in sorted order that lies in one."""
    return min(map(_find_folder, paths or ("-",)), key=lambda folder: (not _is_in_repository(folder), folder))


def _is_in_repository(folder: Path) -> bool:
    return os.path.lexists(repository.find_root(folder) / ".git")


def _find_folder(path: str) -> Path:
    """Return the folder that a path names, or the one that holds its file or link."""
    place = Path(path) if path != "-" else Path.cwd()
    try:
        return (place if place.is_dir() and not place.is_symlink() else place.parent).resolve()
    except OSError as error:
        raise Unusable(f"{path[:SHOWN_MAX]} cannot be read: {os_errors.explain(error)}") from None


def _list_whole_folders(paths: Sequence[str], tree: Tree) -> tuple[str, ...]:
    """Return the folders that are read completely, as paths from the root."""
    places = [Path(path).resolve() for path in paths or (".",) if path != "-" and Path(path).is_dir()]
    inside = (place.relative_to(tree.root).as_posix() for place in places if place.is_relative_to(tree.root))
    return tuple("" if path == "." else path for path in inside)


def _find_common_folder(paths: Sequence[str], tree: Tree) -> str:
    """Return the folder that holds all paths of this repository, as a path from the root."""
    places = [place for path in paths or ("-",) if (place := _find_folder(path)).is_relative_to(tree.root)]
    common = Path(os.path.commonpath(places)).relative_to(tree.root).as_posix()
    return "" if common == "." else common


class PolicyByFile:
    """The policy of each file of a run; each gpulint.yaml is resolved once."""

    def __init__(
        self,
        policies: Policies,
        whole: Settings,
        options: Options,
        tree: Tree,
        folders: Sequence[Folder],
        whole_folders: tuple[str, ...],
    ) -> None:
        self.policies = policies
        self.whole = whole
        self.options = options
        self.tree = tree
        self._folders = folders
        self._whole_folders = whole_folders
        self._known: dict[str, Mapping[str, Rule]] = {}
        self._resolved: dict[int, ResolvedPolicy] = {}
        self._last: tuple[str, ResolvedPolicy] | None = None

    def at(self, path: str) -> ResolvedPolicy:
        """Return the policy of a file by its path as shown; outside the repository it is the policy
        of the run. Every stage asks for that of the same file.
        """
        if self._last is None or self._last[0] != path:
            self._last = path, self._find(path)
        return self._last[1]

    def _find(self, path: str) -> ResolvedPolicy:
        inside = self.tree.find_root_path(path.replace(RENDERED, f"/{RENDERED.strip()}"))
        if inside is None:
            return self._filter_requirements(self.resolve(self.whole), None)
        found = self.policies.resolve(inside)
        given = _filter_hints(self.resolve(found), path, self.tree.find_root_path(path) or inside)
        return self._add_waivers(self._filter_requirements(given, inside), found, inside)

    def _filter_requirements(self, given: ResolvedPolicy, inside: str | None) -> ResolvedPolicy:
        """Return the policy of a file with the requirements that apply to its path."""
        about = given.governance.select(lambda lines: inside is not None and self.policies.matches(lines, inside))
        return given if about is given.governance else replace(given, governance=about)

    def _add_waivers(self, given: ResolvedPolicy, found: Settings, inside: str) -> ResolvedPolicy:
        """Return the policy of a file with the waivers that apply to its path."""
        if not found.waivers:
            return given
        from gpulint.policy.waivers.waivers import Suppression

        applying = [entry for entry in found.waivers if self.policies.reaches(entry, inside)]
        waivers = (
            Suppression(name, entry.waiver, None, entry.workload, entry.object)
            for entry in applying
            for name in entry.rules
        )
        return replace(given, waivers=tuple(waivers))

    def resolve(self, found: Settings) -> ResolvedPolicy:
        """Return the resolved policy of a gpulint.yaml; each is resolved once."""
        if id(found) not in self._resolved:
            self._resolved[id(found)] = self._resolve(found)
        return self._resolved[id(found)]

    def _resolve(self, found: Settings) -> ResolvedPolicy:
        options = self.options
        if found.path not in self._known:
            both = found._replace(rules=(*found.rules, *self._folders))
            self._known[found.path] = selection.load_rules(both, options.rules)
        known = self._known[found.path]
        selection.check_waivers(known, found)
        return ResolvedPolicy(
            selection.enable_rules(known, found, options.select, options.ignore, options.preview),
            tuple(known),
            _find_accelerator(found, options),
            found.hints,
            found.pools,
            found.like,
            fabrics=found.fabrics,
            fail_on=Severity.parse(options.fail_on or found.fail_on),
            available=_list_available(found)._replace(today=options.today or pipeline_today.today()),
            unchecked=selection.find_unchecked(known, found, options.ignore),
            demands=_find_waiver_requirements(found),
            governed=self.at,
            governance=self._mark_complete(found),
            facility=self.tree.render_root_path(found.facility) if found.facility else "",
            whole=self._is_whole(found),
        )

    def _mark_complete(self, found: Settings) -> PolicyRequirements:
        """Return the requirements of a policy; its budgets are complete if the run reads all that
        the policy governs.
        """
        return found.governance.read_whole() if self._is_whole(found) else found.governance

    def _is_whole(self, found: Settings) -> bool:
        """Whether the run reads every file that a policy governs."""
        return not self.options.exclude and any(
            f"{found.folder}/".startswith(f"{folder}/" if folder else "") for folder in self._whole_folders
        )


def _find_inside(paths: Iterable[str], tree: Tree) -> dict[str, str]:
    """Return the paths that lie in the repository, each with its path from the root."""
    return {path: inside for path in paths if (inside := tree.find_root_path(path)) is not None}


def _filter_hints(given: ResolvedPolicy, path: str, inside: str) -> ResolvedPolicy:
    """Return the policy of a file with the hints whose pattern matches its path from their folder."""
    entries: tuple[Hint | NamedFabric, ...] = (*given.hints, *given.fabrics)
    if path == inside and not any(entry.folder for entry in entries):
        return given
    return replace(given, hints=_select(given.hints, inside), fabrics=_select(given.fabrics, inside))


def _select(entries: Iterable[T], inside: str) -> tuple[T, ...]:
    return tuple(
        entry._replace(path="*")
        for entry in entries
        if fnmatch.fnmatchcase(_relative_to(inside, entry.folder), entry.path)
    )


def _relative_to(path: str, folder: str) -> str:
    return path.removeprefix(f"{folder}/") if folder else path


def _find_waiver_requirements(found: Settings) -> WaiverRequirements | None:
    """Return what a policy requires of waivers; None if it requires nothing."""
    if not found.waivers_need and found.waivers_last_s is None:
        return None
    from gpulint.policy.waivers.waivers import WaiverRequirements

    return WaiverRequirements(found.waivers_need, found.waivers_last_s)


def _read_baseline(found: Settings, policies: Policies, options: Options, inside: Mapping[str, str]) -> Baseline | None:
    """Return the baseline that the options or the policy name, else that of the root; raise
    SettingsError if unusable.

    A baseline of the options is a file on disk, or one of `inside`, in the tree that policies are
    read from.
    """
    named = inside.get(options.baseline) or found.baseline or BASELINE
    elsewhere = options.baseline and not inside
    try:
        content = _read_file(options.baseline) if elsewhere else policies.reader.read(named)
    except RefusedFileError as error:
        raise SettingsError(str(error)) from None
    if content is None and (found.baseline or inside):
        place = "--baseline" if inside else found.place("baseline")
        raise SettingsError(f"{place}: there is no file {policies.reader.render_path(named)}")
    if content is None:
        return None
    from gpulint.policy.waivers import baseline

    try:
        return baseline.read(options.baseline if elsewhere else policies.reader.render_path(named), content)
    except baseline.BaselineError as error:
        raise SettingsError(str(error)) from None


def _read_file(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise SettingsError(f"--baseline {path} cannot be read: {os_errors.explain(error)}") from None


def _find_accelerator(found: Settings, options: Options) -> str:
    """Return the accelerator of workloads that name none; raise SettingsError if the catalog does
    not have it.
    """
    named = options.accelerator or found.accelerator
    if not named or hardware.find_accelerator(named) is not None:
        return named
    from gpulint.policy import did_you_mean

    place = "" if options.accelerator else f"{found.place('accelerator')}: "
    similar = did_you_mean.suggest(named, (product.id for product in hardware.list_accelerators()))
    raise SettingsError(f"{place}no accelerator is called {named}{similar}")


def _list_available(found: Settings) -> Available:
    """Return the machines that gpulint.yaml says the team has; without such settings, all of the
    catalog.
    """
    permitted = found.governance.permitted
    if found.available == EVERYTHING and not found.pools and not (permitted.allowed or permitted.forbidden):
        return EVERYTHING
    from gpulint.policy.config import availability

    return availability.load_available(found)
