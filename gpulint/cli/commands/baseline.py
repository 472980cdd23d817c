"""`gpulint baseline`: write today's findings to a file, so that only new ones count from then on."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gpulint.cli import BROKEN, CLEAN, FOUND, TODAY, Misuse, print_stderr, print_unread
from gpulint.cli.options import FILE_TIMEOUT, PATHS, TIMEOUT
from gpulint.report.escaping import count
from gpulint.source import os_errors

if TYPE_CHECKING:
    from gpulint.pipeline.baseline_update import Change
    from gpulint.pipeline.session import Session
    from gpulint.pipeline.watchdog import Watchdog
    from gpulint.policy.waivers.baseline import Baseline
    from gpulint.report.model import Finding, Report

GROUP = "Set up"

LISTED = 20


@click.command("baseline", short_help="Accept the current findings.")
@PATHS
@click.option(
    "--output",
    metavar="FILE",
    type=click.Path(),
    help="Path of the baseline.  [default: the path in gpulint.yaml, else .gpulint-baseline.json at the repository's root]",
)
@click.option("--prune", is_flag=True, help="Remove fixed findings and change nothing else.")
@click.option(
    "--update", is_flag=True, help="Remove fixed findings, record moved ones, and list new ones without accepting them."
)
@click.option("--accept-new", is_flag=True, help="With --update: also accept new findings.")
@FILE_TIMEOUT
@TIMEOUT
@TODAY
def command(
    paths: Sequence[str],
    output: str | None,
    prune: bool,
    update: bool,
    accept_new: bool,
    file_timeout: float,
    timeout: float,
    today: str,
) -> None:
    """Check files and directories (default: the current directory) and accept their findings in a baseline file."""
    from gpulint.cli import progress
    from gpulint.pipeline import acceptance, baseline_update
    from gpulint.pipeline.run import build_watchdog, evaluate, find_sources
    from gpulint.pipeline.session import Options, Unusable, disable_suggestions, prepare
    from gpulint.policy.config.settings import BASELINE

    if accept_new and not update:
        raise Misuse("--accept-new requires --update")
    if prune and update:
        raise Misuse("--update already removes fixed findings; use either --update or --prune")
    named = output if output and Path(output).exists() else ""
    try:
        options = Options(today=today, baseline=named, file_timeout_s=file_timeout, timeout_s=timeout)
        run, watchdog = prepare(paths, options), build_watchdog(options)
        sources = progress.show_progress(find_sources(run, paths))
        report, scanned = evaluate(disable_suggestions(run), sources, watchdog)
    except Unusable as error:
        raise Misuse(str(error)) from None
    _stop_if_incomplete(run, report, watchdog)
    place = Path(output) if output else run.tree.root / (run.settings.baseline or BASELINE)
    previous = _find_baseline(run, place, must_exist=prune or update)
    scope = acceptance.resolve_scope(run, scanned, paths or ["."])
    if previous is None:
        change = baseline_update.create(report, scope)
    elif prune:
        change = baseline_update.prune(report, previous, run, scope)
    else:
        change = baseline_update.update(report, previous, run, scope, accept_new)
    _write(place, change)
    _summarise(place, change, previous, accept_new)
    sys.exit(FOUND if change.new and not accept_new else CLEAN)


def _stop_if_incomplete(run: Session, report: Report, watchdog: Watchdog) -> None:
    """Say which files were not checked by a fault, the system or a time limit, and end with 3: their findings are unknown."""
    from gpulint.policy.rules.selection import UNCHECKED

    print_stderr(
        f"internal error in {failure.path} while {failure.doing}: {failure.error}" for failure in report.failures
    )
    if watchdog.has_stopped:
        stopped = [entry for entry in report.findings if entry.rule == UNCHECKED]
        print_stderr(f"{entry.location.path}: {entry.message}; no baseline was written" for entry in stopped)
    if report.failures or print_unread(run.tree) or watchdog.has_stopped:
        sys.exit(BROKEN)


def _find_baseline(run: Session, place: Path, must_exist: bool) -> Baseline | None:
    """Return the baseline at a path; raise Misuse if it is missing but required, or exists but must be new."""
    baseline = run.baseline if place.exists() else None
    if baseline is None and must_exist:
        raise Misuse(f"{place.name} does not exist yet; `gpulint baseline` creates it")
    if baseline is not None and not must_exist:
        raise Misuse(
            f"{baseline.path} already exists; use --update to bring it up to date or --prune to remove fixed findings"
        )
    return baseline


def _write(place: Path, change: Change) -> None:
    from gpulint import __version__
    from gpulint.policy.waivers import baseline
    from gpulint.source import atomic_write

    if place.is_symlink():
        raise Misuse(f"{place} is a symbolic link; gpulint does not write to symbolic links")
    try:
        text = baseline.render(change.entries, __version__)
        atomic_write.write(place, text.encode("utf-8", baseline.SURROGATE_ERRORS))
    except baseline.BaselineError as error:
        raise Misuse(str(error)) from None
    except OSError as error:
        raise Misuse(f"{place} cannot be written: {os_errors.explain(error)}") from None


def _summarise(place: Path, change: Change, previous: Baseline | None, accepted: bool) -> None:
    number = sum(entry.number for entry in change.entries)
    files = len({entry.path for entry in change.entries})
    removed = sum(count for _, count in change.gone)
    print_stderr(_list_removed(change))
    if change.new:
        print_stderr(_list_new(change.new, "accepted" if accepted else "new, not accepted:"))
    parts = [f"{place.name}: {count(number, 'finding')} in {count(files, 'file')} accepted"]
    parts += [f"{removed} removed"] if removed else []
    parts += [f"{len(change.new)} new"] if change.new and not accepted else []
    click.echo(", ".join(parts))
    if previous is None:
        click.echo("commit it; from now on gpulint check reports only new findings")
    elif change.new and not accepted:
        click.echo("fix the new findings, waive them with a reason, or accept them with --update --accept-new")


def _list_removed(change: Change) -> Iterator[str]:
    for entry, number in change.gone:
        count = f"{number} × " if number > 1 else ""
        owner = f" of {entry.subject.object}" if entry.subject.object else ""
        yield f"fixed: {count}{entry.rule}{owner} ({entry.path})"


def _list_new(findings: Sequence[Finding], word: str) -> Iterator[str]:
    for finding in findings[:LISTED]:
        place = f"{finding.location.path}:{finding.location.line}"
        yield f"{word} {place} {finding.severity.word}[{finding.rule}] {finding.message}"
    if further := findings[LISTED:]:
        yield f"{word} {count(len(further), 'further finding')}"
