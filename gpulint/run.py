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
from gpulint.policy.reader import Disk
from gpulint.policy.rule import Rule
from gpulint.policy.settings import Hint, NamedFabric, Settings, SettingsError
from gpulint.repository import Source, WorkTree

T = TypeVar("T", Hint, NamedFabric)
Watched = Callable[[Iterable[Source | Skip]], Iterable[Source | Skip]]


class Unusable(ValueError):
    """Options, settings or rules that no run can be made with."""


@dataclass(frozen=True, slots=True)
class Options:
    """What a caller says beside the settings; what is empty is left to them. `today` is a day as 2026-11-22."""

    today: str = ""
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    accelerator: str = ""
    fail_on: str = ""
    preview: bool = False


class Run(NamedTuple):
    """What governs a run: the settings, what follows from them and the options, and the repository of the paths."""

    settings: Settings
    given: Given
    tree: WorkTree
    policies: Policies


def prepared(paths: Sequence[str], options: Options) -> Run:
    """What governs a run over these paths; Unusable says what is wrong, with its place."""
    tree = WorkTree(repository.root_of(folder(paths)))
    policies = Policies(Disk(tree.root))
    common = _common(paths, tree)
    try:
        found = policies.nearest(common)
        given = _Givens(policies, found, options, tree).of(found)
        left_out = [line for lines in policies.excluded(common) for line in lines]
        tree = WorkTree(tree.root, [*left_out, *options.exclude])
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


def _common(paths: Sequence[str], tree: WorkTree) -> str:
    """The folder that holds all paths, from the root; paths of other repositories are passed by."""
    places = [place for path in paths or ("-",) if (place := _folder(path)).is_relative_to(tree.root)]
    common = Path(os.path.commonpath(places)).relative_to(tree.root).as_posix()
    return "" if common == "." else common


class _Givens:
    """What governs each file of a run; what follows from one policy is worked out once."""

    def __init__(self, policies: Policies, whole: Settings, options: Options, tree: WorkTree) -> None:
        self.policies = policies
        self.whole = whole
        self.options = options
        self.tree = tree
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
            self._known[found.path] = selection.known(found, options.rules)
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
