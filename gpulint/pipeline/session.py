"""Preparation: what governs a run, worked out from its paths, its options and the policies of the repository."""

from __future__ import annotations

import fnmatch
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from gpulint.catalog import hardware
from gpulint.catalog.offers import EVERYTHING, Available
from gpulint.pipeline import today as day
from gpulint.policy.config import settings
from gpulint.policy.config.discovery import Policies
from gpulint.policy.config.files import Disk, Reader, Refused, Stated
from gpulint.policy.config.governance import Governance
from gpulint.policy.config.settings import BASELINE, Folder, Hint, NamedFabric, Settings, SettingsError
from gpulint.policy.resolved import Given
from gpulint.policy.rules import rule, selection
from gpulint.policy.rules.rule import Rule
from gpulint.report.model import Severity
from gpulint.source import repository
from gpulint.source.repository import Tree, WorkTree

if TYPE_CHECKING:
    from gpulint.policy.waivers.baseline import Baseline
    from gpulint.policy.waivers.waivers import Demands

T = TypeVar("T", Hint, NamedFabric)
STATED = "policy.yaml"
"""What a policy is called that stands in no file."""
Stands = str | Path | Mapping[str, object] | None
"""A policy in place of every gpulint.yaml: its file, or what that would hold."""
RENDERED = " (rendered).yaml"
"""How what a tool makes of a folder is called: the policy of that folder governs it."""


class Unusable(ValueError):
    """Options, settings or rules that no run can be made with."""


@dataclass(frozen=True, slots=True)
class Options:
    """What a caller says beside the settings; what is empty is left to them. `today` is a day as 2026-11-22.

    `base` is a commit: what the change from there to the commit `head` introduces counts, and nothing else. Of the commit
    `policy_from` are the policies and waivers that count. `changed` looks only at files that differ from base, else from HEAD.
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

    def __post_init__(self) -> None:
        """Unusable for a text where a list is meant, a day that is none, and a severity that is none."""
        for name in ("select", "ignore", "exclude", "rules"):
            if isinstance(value := getattr(self, name), str):
                raise Unusable(f'{name} is a list of names: write ("{value}",)')
        if self.today and not _is_day(self.today):
            raise Unusable(f"today is a day such as 2026-11-22, not {self.today}")
        if self.fail_on and self.fail_on.upper() not in Severity.__members__:
            raise Unusable(f"fail_on is error, warning or note, not {self.fail_on}")


def _is_day(text: str) -> bool:
    from datetime import date

    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


class Run(NamedTuple):
    """What governs a run: the settings, what follows from them and the options, and the repository of the paths."""

    settings: Settings
    given: Given
    tree: Tree
    policies: Policies
    options: Options
    baseline: Baseline | None = None


def prepared(
    paths: Sequence[str],
    options: Options,
    policy: Stands = None,
    tree: Tree | None = None,
    reader: Reader | None = None,
) -> Run:
    """What governs a run over these paths; Unusable says what is wrong, with its place.

    A policy is a file, or what one would hold, in place of every gpulint.yaml. Without another `tree` and `reader` of
    policies the files are those of the work tree, and so are its policies.
    """
    of_disk = tree is None
    tree = tree or WorkTree(repository.root_of(folder(paths)))
    common = _common(paths, tree)
    try:
        policies = Policies(reader or Disk(tree.root), _only(policy, tree) if policy is not None else None)
        found = policies.nearest(common)
        if of_disk and found.facility and tree.at_root(found.facility) is None:
            raise SettingsError(f"{found.place('facility')}: there is no file {tree.shown_at_root(found.facility)}")
        inside = _inside(options.rules, tree) if reader else {}
        beside = [Folder(policies.reader, one, "--rules") for one in inside.values()]
        left = replace(options, rules=tuple(path for path in options.rules if path not in inside))
        whole = () if options.changed else _whole_folders(paths, tree)
        given = _Givens(policies, found, left, tree, beside, whole).of(found)
        left_out = [line for lines in policies.excluded(common) for line in lines]
        tree = tree.leaving_out(left_out, options.exclude)
        named = _inside([options.baseline], tree) if reader and options.baseline else {}
        known = _baseline(found, policies, options, named)
    except (SettingsError, rule.RuleError) as error:
        raise Unusable(str(error)) from None
    return Run(found, given, tree, policies, options, known)


def _only(policy: str | Path | Mapping[str, object], tree: Tree) -> Settings:
    """The one policy that a caller names."""
    if isinstance(policy, Mapping):
        return settings.of(Stated(tree.root, STATED, json.dumps(policy).encode()), STATED)
    place = Path(os.path.abspath(policy))
    if place.is_relative_to(tree.root):
        return settings.of(Disk(tree.root), place.relative_to(tree.root).as_posix())
    return settings.of(Disk(place.parent), place.name)


def disable_suggestions(run: Run) -> Run:
    """Return a session that generates no suggestions, for whoever needs only the findings."""
    return run._replace(given=replace(run.given, alternatives=False))


def folder(paths: Sequence[str]) -> Path:
    """The folder of the first path that was given; its repository is the one that siblings are looked for in."""
    return _folder(paths[0] if paths else "-")


def _folder(path: str) -> Path:
    place = Path(path) if path != "-" else Path.cwd()
    return (place if place.is_dir() else place.parent).resolve()


def _whole_folders(paths: Sequence[str], tree: Tree) -> tuple[str, ...]:
    """The folders that are read whole, from the root."""
    places = [Path(path).resolve() for path in paths or (".",) if path != "-" and Path(path).is_dir()]
    inside = (place.relative_to(tree.root).as_posix() for place in places if place.is_relative_to(tree.root))
    return tuple("" if one == "." else one for one in inside)


def _common(paths: Sequence[str], tree: Tree) -> str:
    """The folder that holds all paths, from the root; paths of other repositories are passed by."""
    places = [place for path in paths or ("-",) if (place := _folder(path)).is_relative_to(tree.root)]
    common = Path(os.path.commonpath(places)).relative_to(tree.root).as_posix()
    return "" if common == "." else common


class _Givens:
    """What governs each file of a run; what follows from one policy is worked out once."""

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
        self._made: dict[int, Given] = {}

    def at(self, path: str) -> Given:
        """What governs a file by its path as shown; one outside the repository has the policy of the run."""
        inside = self.tree.from_root(path.replace(RENDERED, f"/{RENDERED.strip()}"))
        if inside is None:
            return self._demanded(self.of(self.whole), None)
        found = self.policies.at(inside)
        given = self._demanded(_placed(self.of(found), path, self.tree.from_root(path) or inside), inside)
        return self._waived(given, found, inside)

    def _demanded(self, given: Given, inside: str | None) -> Given:
        """What governs a file, with what its policy demands there."""
        about = given.governance.about(lambda lines: inside is not None and self.policies.matches(lines, inside))
        return given if about is given.governance else replace(given, governance=about)

    def _waived(self, given: Given, found: Settings, inside: str) -> Given:
        """What governs a file, with what its policy accepts there."""
        if not found.waivers:
            return given
        from gpulint.policy.waivers.waivers import Suppression

        reaching = [one for one in found.waivers if self.policies.reaches(one, inside)]
        accepted = (
            Suppression(name, one.waiver, None, one.workload, one.object) for one in reaching for name in one.rules
        )
        return replace(given, waivers=tuple(accepted))

    def of(self, found: Settings) -> Given:
        """What follows from a policy."""
        if id(found) not in self._made:
            self._made[id(found)] = self._given(found)
        return self._made[id(found)]

    def _given(self, found: Settings) -> Given:
        options = self.options
        if found.path not in self._known:
            both = found._replace(rules=(*found.rules, *self._folders))
            self._known[found.path] = selection.known(both, options.rules)
        known = self._known[found.path]
        selection.accepted(known, found)
        return Given(
            selection.speaking(known, found, options.select, options.ignore, options.preview),
            tuple(known),
            _accelerator(found, options),
            found.hints,
            found.pools,
            found.like,
            fabrics=found.fabrics,
            fail_on=Severity.named(options.fail_on or found.fail_on),
            available=_available(found)._replace(today=options.today or day.today()),
            demands=_demands(found),
            governed=self.at,
            governance=self._governance(found),
            facility=self.tree.shown_at_root(found.facility) if found.facility else "",
            whole=self._is_whole(found),
        )

    def _governance(self, found: Settings) -> Governance:
        """What a policy demands; its budgets hold for the whole sum where the run reads all that the policy governs."""
        return found.governance.read_whole() if self._is_whole(found) else found.governance

    def _is_whole(self, found: Settings) -> bool:
        """Whether the run reads all that a policy governs."""
        return not self.options.exclude and any(
            f"{found.folder}/".startswith(f"{one}/" if one else "") for one in self._whole_folders
        )


def _inside(paths: Iterable[str], tree: Tree) -> dict[str, str]:
    """The folders of rules that lie in the repository, by their paths as they were given, with those from its root."""
    return {path: inside for path in paths if (inside := tree.from_root(path)) is not None}


def _placed(given: Given, path: str, inside: str) -> Given:
    """What governs a file, with the hints that are about its path from the folder of who says so."""
    said: tuple[Hint | NamedFabric, ...] = (*given.hints, *given.fabrics)
    if path == inside and not any(one.folder for one in said):
        return given
    return replace(given, hints=_about(given.hints, inside), fabrics=_about(given.fabrics, inside))


def _about(said: Iterable[T], inside: str) -> tuple[T, ...]:
    return tuple(one._replace(path="*") for one in said if fnmatch.fnmatchcase(_relative(inside, one.folder), one.path))


def _relative(path: str, folder: str) -> str:
    return path.removeprefix(f"{folder}/") if folder else path


def _demands(found: Settings) -> Demands | None:
    """What a policy wants of waivers; None where it wants nothing."""
    if not found.waivers_need and found.waivers_last_s is None:
        return None
    from gpulint.policy.waivers.waivers import Demands

    return Demands(found.waivers_need, found.waivers_last_s)


def _baseline(found: Settings, policies: Policies, options: Options, inside: Mapping[str, str]) -> Baseline | None:
    """The baseline that the options or the policy name, else that of the root; SettingsError where it is unusable.

    One that the options name is a file of the disk, or `inside` the tree that policies are read from.
    """
    named = inside.get(options.baseline) or found.baseline or BASELINE
    elsewhere = options.baseline and not inside
    try:
        content = _content(options.baseline) if elsewhere else policies.reader.read(named)
    except Refused as error:
        raise SettingsError(str(error)) from None
    if content is None and (found.baseline or inside):
        place = "--baseline" if inside else found.place("baseline")
        raise SettingsError(f"{place}: there is no file {policies.reader.shown(named)}")
    if content is None:
        return None
    from gpulint.policy.waivers import baseline

    try:
        return baseline.read(options.baseline if elsewhere else policies.reader.shown(named), content)
    except baseline.BaselineError as error:
        raise SettingsError(str(error)) from None


def _content(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise SettingsError(f"--baseline {path} cannot be read: {(error.strerror or str(error)).lower()}") from None


def _accelerator(found: Settings, options: Options) -> str:
    """The accelerator of workloads that name none; SettingsError where the catalog has no such."""
    named = options.accelerator or found.accelerator
    if not named or hardware.named(named) is not None:
        return named
    from gpulint.policy.config import did_you_mean as spelling

    place = "" if options.accelerator else f"{found.place('accelerator')}: "
    similar = spelling.near(named, (one.id for one in hardware.accelerators()))
    raise SettingsError(f"{place}no accelerator is called {named}{similar}")


def _available(found: Settings) -> Available:
    """What gpulint.yaml says that the team has; of the settings of most repositories, everything."""
    permitted = found.governance.permitted
    if found.available == EVERYTHING and not found.pools and not (permitted.allowed or permitted.forbidden):
        return EVERYTHING
    from gpulint.policy.config import availability

    return availability.of(found)
