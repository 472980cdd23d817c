"""`gpulint baseline`: the findings of today as a file, so that only new ones count from then on."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gpulint.cli import BROKEN, CLEAN, FOUND, TODAY, Misuse, tell
from gpulint.report.formats.escaping import counted

if TYPE_CHECKING:
    from gpulint.pipeline.baseline_update import Change
    from gpulint.pipeline.session import Run
    from gpulint.policy.waivers.baseline import Baseline
    from gpulint.report.model import Finding

LISTED = 20


@click.command("baseline", short_help="Accept the findings of today.")
@click.argument("paths", nargs=-1, type=click.Path())
@click.option(
    "--output",
    metavar="FILE",
    type=click.Path(),
    help="The file.  [default: what gpulint.yaml names, else .gpulint-baseline.json at the repository's root]",
)
@click.option("--prune", is_flag=True, help="Take out what is gone, and nothing else.")
@click.option("--update", is_flag=True, help="Take out what is gone and note what has moved; list what is new.")
@click.option("--accept-new", is_flag=True, help="With --update: take in what is new as well.")
@TODAY
def command(paths: Sequence[str], output: str | None, prune: bool, update: bool, accept_new: bool, today: str) -> None:
    """Accept the findings of today: check files and directories (default: the current one) and list what they have."""
    from gpulint.cli import progress
    from gpulint.pipeline import acceptance
    from gpulint.pipeline import baseline_update as ledger
    from gpulint.pipeline.run import looked, sources
    from gpulint.pipeline.session import Options, Unusable, prepared
    from gpulint.policy.config.settings import BASELINE

    if accept_new and not update:
        raise Misuse("--accept-new goes with --update")
    if prune and update:
        raise Misuse("--update takes out what is gone as --prune does; give one of them")
    named = output if output and Path(output).exists() else ""
    try:
        run = prepared(paths, Options(today=today, baseline=named))
        report, seen = looked(run, progress.watched(sources(run, paths)))
    except Unusable as error:
        raise Misuse(str(error)) from None
    if report.failures:
        tell(f"internal error in {one.path} while {one.doing}: {one.error}" for one in report.failures)
        sys.exit(BROKEN)
    place = Path(output) if output else run.tree.root / (run.settings.baseline or BASELINE)
    known = _known(run, place, kept=prune or update)
    scope = acceptance.scope(run, seen, paths or ["."])
    if known is None:
        change = ledger.made(report, scope)
    elif prune:
        change = ledger.pruned(report, known, run, scope)
    else:
        change = ledger.updated(report, known, run, scope, accept_new)
    _write(place, change)
    _say(place, change, known, accept_new)
    sys.exit(FOUND if change.new and not accept_new else CLEAN)


def _known(run: Run, place: Path, kept: bool) -> Baseline | None:
    """The baseline that stands at a place; Misuse where a first one is asked for and it stands, or it is `kept` and does not."""
    known = run.baseline if place.exists() else None
    if known is None and kept:
        raise Misuse(f"there is no {place.name} yet; gpulint baseline writes it")
    if known is not None and not kept:
        raise Misuse(f"{known.path} stands; --update brings it up to date, --prune takes out what is gone")
    return known


def _write(place: Path, change: Change) -> None:
    from gpulint import __version__
    from gpulint.policy.waivers import baseline
    from gpulint.source import atomic_write as disk

    if place.is_symlink():
        raise Misuse(f"{place} is a symbolic link; gpulint does not write through it")
    try:
        text = baseline.rendered(change.entries, __version__)
        disk.write(place, text.encode("utf-8", baseline.HALVES))
    except baseline.BaselineError as error:
        raise Misuse(str(error)) from None
    except OSError as error:
        raise Misuse(f"{place} cannot be written: {(error.strerror or str(error)).lower()}") from None


def _say(place: Path, change: Change, known: Baseline | None, accepted: bool) -> None:
    number = sum(one.number for one in change.entries)
    files = len({one.path for one in change.entries})
    gone = sum(count for _, count in change.gone)
    tell(_gone(change))
    if change.new:
        tell(_new(change.new, "took in" if accepted else "new, and not taken in:"))
    parts = [f"{place.name}: {counted(number, 'finding')} in {counted(files, 'file')} accepted"]
    parts += [f"{gone} taken out"] if gone else []
    parts += [f"{len(change.new)} new"] if change.new and not accepted else []
    click.echo(", ".join(parts))
    if known is None:
        click.echo("commit it; gpulint check says from now on what is new")
    elif change.new and not accepted:
        click.echo("mend what is new, waive it with a reason, or take it in with --update --accept-new")


def _gone(change: Change) -> Iterator[str]:
    for one, number in change.gone:
        count = f"{number} × " if number > 1 else ""
        of = f" of {one.subject.object}" if one.subject.object else ""
        yield f"gone: {count}{one.rule}{of} ({one.path})"


def _new(found: Sequence[Finding], word: str) -> Iterator[str]:
    for one in found[:LISTED]:
        yield f"{word} {one.location.path}:{one.location.line} {one.severity.word}[{one.rule}] {one.message}"
    if further := found[LISTED:]:
        yield f"{word} {counted(len(further), 'further finding')}"
