"""Run: from paths and options to a Report; the command line and the Python API both start here."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from gpulint import hardware, lint, repository
from gpulint.findings import Report, Severity, Skip
from gpulint.lint import Given
from gpulint.offers import EVERYTHING, Available
from gpulint.policy import policy, rule, settings
from gpulint.policy.settings import Settings, SettingsError
from gpulint.repository import Source, WorkTree

Watched = Callable[[Iterable[Source | Skip]], Iterable[Source | Skip]]


class Unusable(ValueError):
    """Options, settings or rules that no run can be made with."""


@dataclass(frozen=True, slots=True)
class Options:
    """What a caller says beside the settings; what is empty is left to them. `today` is a day as 2026-11-22.

    `base` is a commit: what the change from there to the commit `head` introduces counts, and nothing else.
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


class Run(NamedTuple):
    """What governs a run: the settings, what follows from them and the options, and the repository of the paths."""

    settings: Settings
    given: Given
    tree: WorkTree


def prepared(paths: Sequence[str], options: Options) -> Run:
    """What governs a run over these paths; Unusable says what is wrong, with its place."""
    start = folder(paths)
    try:
        found = settings.nearest(start, repository.root_of(start))
        given = _given(found, options)
    except (SettingsError, rule.RuleError) as error:
        raise Unusable(str(error)) from None
    tree = WorkTree(repository.root_of(start), [*found.exclude, *options.exclude])
    return Run(found, given, tree)


def sources(run: Run, paths: Sequence[str]) -> Iterator[Source | Skip]:
    """The files that the paths name; Unusable where one is not there."""
    try:
        yield from run.tree.sources(list(paths) or ["."])
    except FileNotFoundError as error:
        raise Unusable(str(error)) from None


def report(run: Run, paths: Sequence[str], watched: Watched = iter) -> Report:
    """The report on the files that the paths name, which `watched` passes on one by one."""
    return lint.lint(watched(sources(run, paths)), run.tree, run.given)


def folder(paths: Sequence[str]) -> Path:
    """The folder of the first path that was given; its repository is the one that siblings are looked for in."""
    first = Path(paths[0]) if paths and paths[0] != "-" else Path.cwd()
    return (first if first.is_dir() else first.parent).resolve()


def _given(found: Settings, options: Options) -> Given:
    named = options.accelerator or found.accelerator
    if named and hardware.named(named) is None:
        from gpulint.policy import availability

        similar = availability.near(named, (one.id for one in hardware.accelerators()))
        raise SettingsError(f"no accelerator is called {named}{similar}")
    folders = [*found.rules, *options.rules]
    every = policy.selected((), (), folders)
    rules = policy.selected(options.select or found.select, [*found.ignore, *options.ignore], folders)
    return Given(
        rules,
        tuple(one.name for one in every),
        named,
        found.hints,
        found.pools,
        found.like,
        fabrics=found.fabrics,
        fail_on=Severity.named(options.fail_on or found.fail_on),
        available=_available(found)._replace(today=options.today or time.strftime("%Y-%m-%d")),
    )


def _available(found: Settings) -> Available:
    """What gpulint.yaml says that the team has; of the settings of most repositories, everything."""
    if found.available == EVERYTHING and not found.pools:
        return EVERYTHING
    from gpulint.policy import availability

    return availability.of(found)
