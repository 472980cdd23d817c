"""Run: from paths and options to a Report; the command line and the Python API both start here."""

from __future__ import annotations

import fnmatch
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, TypeVar

from gpulint import hardware, lint, repository
from gpulint.findings import Report, Severity, Skip
from gpulint.lint import Given
from gpulint.offers import EVERYTHING, Available
from gpulint.policy import rule, selection
from gpulint.policy.governing import Policies
from gpulint.policy.reader import Disk, Reader
from gpulint.policy.rule import Rule
from gpulint.policy.settings import Folder, Hint, NamedFabric, Settings, SettingsError
from gpulint.repository import Source, Tree, WorkTree

T = TypeVar("T", Hint, NamedFabric)
Watched = Callable[[Iterable[Source | Skip]], Iterable[Source | Skip]]


class Unusable(ValueError):
    """Options, settings or rules that no run can be made with."""


@dataclass(frozen=True, slots=True)
class Options:
    """What a caller says beside the settings; what is empty is left to them. `today` is a day as 2026-11-22.

    `base` is a commit: what the change from there to the commit `head` introduces counts, and nothing else. Of the commit
    `policy_from` are the policies and waivers that count.
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
    preview: bool = False


class Run(NamedTuple):
    """What governs a run: the settings, what follows from them and the options, and the repository of the paths."""

    settings: Settings
    given: Given
    tree: Tree
    policies: Policies


def prepared(paths: Sequence[str], options: Options, tree: Tree | None = None, reader: Reader | None = None) -> Run:
    """What governs a run over these paths; Unusable says what is wrong, with its place.

    Without another `tree` and `reader` of policies the files are those of the work tree, and so are its policies.
    """
    tree = tree or WorkTree(repository.root_of(folder(paths)))
    policies = Policies(reader or Disk(tree.root))
    common = _common(paths, tree)
    try:
        found = policies.nearest(common)
        inside = _inside(options.rules, tree) if reader else {}
        beside = [Folder(policies.reader, one, "--rules") for one in inside.values()]
        left = replace(options, rules=tuple(path for path in options.rules if path not in inside))
        given = _Givens(policies, found, left, tree, beside).of(found)
        left_out = [line for lines in policies.excluded(common) for line in lines]
        tree = tree.leaving_out([*left_out, *options.exclude])
    except (SettingsError, rule.RuleError) as error:
        raise Unusable(str(error)) from None
    return Run(found, given, tree, policies)


def sources(run: Run, paths: Sequence[str]) -> Iterator[Source | Skip]:
    """The files that the paths name; Unusable where one is not there, or what governs it cannot be used."""
    try:
        for source in run.tree.sources(list(paths) or ["."]):
            path = run.tree.from_root(source.path)
            if isinstance(source, Source) and path is not None:
                if run.policies.excludes(path):
                    continue
                run.given.at(source.path)
            yield source
    except (FileNotFoundError, SettingsError, rule.RuleError) as error:
        raise Unusable(str(error)) from None


def report(run: Run, paths: Sequence[str], watched: Watched = iter) -> Report:
    """The report on the files that the paths name, which `watched` passes on one by one."""
    return lint.lint(watched(sources(run, paths)), run.tree, run.given)


def folder(paths: Sequence[str]) -> Path:
    """The folder of the first path that was given; its repository is the one that siblings are looked for in."""
    return _folder(paths[0] if paths else "-")


def _folder(path: str) -> Path:
    place = Path(path) if path != "-" else Path.cwd()
    return (place if place.is_dir() else place.parent).resolve()


def _common(paths: Sequence[str], tree: Tree) -> str:
    """The folder that holds all paths, from the root; paths of other repositories are passed by."""
    places = [place for path in paths or ("-",) if (place := _folder(path)).is_relative_to(tree.root)]
    common = Path(os.path.commonpath(places)).relative_to(tree.root).as_posix()
    return "" if common == "." else common


class _Givens:
    """What governs each file of a run; what follows from one policy is worked out once."""

    def __init__(
        self, policies: Policies, whole: Settings, options: Options, tree: Tree, folders: Sequence[Folder]
    ) -> None:
        self.policies = policies
        self.whole = whole
        self.options = options
        self.tree = tree
        self._folders = folders
        self._known: dict[str, Mapping[str, Rule]] = {}
        self._made: dict[int, Given] = {}

    def at(self, path: str) -> Given:
        """What governs a file by its path as shown; one outside the repository has the policy of the run."""
        inside = self.tree.from_root(path)
        if inside is None:
            return self.of(self.whole)
        return _placed(self.of(self.policies.at(inside)), path, inside)

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
        return Given(
            selection.speaking(known, found, options.select, options.ignore, options.preview),
            tuple(known),
            _accelerator(found, options),
            found.hints,
            found.pools,
            found.like,
            fabrics=found.fabrics,
            fail_on=Severity.named(options.fail_on or found.fail_on),
            available=_available(found)._replace(today=options.today or time.strftime("%Y-%m-%d")),
            governed=self.at,
        )


def _inside(paths: Iterable[str], tree: Tree) -> dict[str, str]:
    """The folders of rules that lie in the repository, by their paths as they were given, with those from its root."""
    return {path: inside for path in paths if (inside := tree.from_root(path)) is not None}


def _placed(given: Given, path: str, inside: str) -> Given:
    """What governs a file, with the hints that are about its path: as shown, or from the folder of who says so."""
    said: tuple[Hint | NamedFabric, ...] = (*given.hints, *given.fabrics)
    if path == inside and not any(one.folder for one in said):
        return given
    return replace(given, hints=_about(given.hints, path, inside), fabrics=_about(given.fabrics, path, inside))


def _about(said: Iterable[T], path: str, inside: str) -> tuple[T, ...]:
    return tuple(
        one._replace(path="*")
        for one in said
        if any(fnmatch.fnmatchcase(name, one.path) for name in (path, _relative(inside, one.folder)))
    )


def _relative(path: str, folder: str) -> str:
    return path.removeprefix(f"{folder}/") if folder else path


def _accelerator(found: Settings, options: Options) -> str:
    """The accelerator of workloads that name none; SettingsError where the catalog has no such."""
    named = options.accelerator or found.accelerator
    if not named or hardware.named(named) is not None:
        return named
    from gpulint.policy import availability

    place = "" if options.accelerator else f"{found.place('accelerator')}: "
    similar = availability.near(named, (one.id for one in hardware.accelerators()))
    raise SettingsError(f"{place}no accelerator is called {named}{similar}")


def _available(found: Settings) -> Available:
    """What gpulint.yaml says that the team has; of the settings of most repositories, everything."""
    if found.available == EVERYTHING and not found.pools:
        return EVERYTHING
    from gpulint.policy import availability

    return availability.of(found)
