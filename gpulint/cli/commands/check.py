"""`gpulint check`: check files and directories against the rules."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NoReturn

import click

from gpulint.cli import (
    BROKEN,
    CLEAN,
    FOUND,
    MISUSED,
    Misuse,
    print_stderr,
    print_unread,
    split_values,
)
from gpulint.cli.check_options import Amount, Comparison, Extras, Reporting, Selection, take
from gpulint.cli.options import GroupedCommand

if TYPE_CHECKING:
    from gpulint.cli.output_files import Output
    from gpulint.pipeline.fix import AddUsers
    from gpulint.pipeline.session import Options, Session
    from gpulint.pipeline.watchdog import Watchdog
    from gpulint.report.formats.terminal_view import View
    from gpulint.report.model import Report, Skip
    from gpulint.source.repository import Source

POOLS_SHOWN = 3
GROUP = "Check"


@click.command("check", cls=GroupedCommand, short_help="Check files and directories.")
@take
def command(
    paths: Sequence[str],
    policy: str | None,
    today: str,
    reporting: Reporting,
    amount: Amount,
    selection: Selection,
    comparison: Comparison,
    extras: Extras,
) -> None:
    """Check files and directories (default: the current directory). The path `-` reads stdin."""
    requested = _outputs(reporting.outputs_, reporting.format_, paths)
    extras = extras._replace(stdin="-" in paths)
    _reject_conflicts(extras, comparison, reporting)
    options = _build_options(selection, comparison, today)
    report = _configure_comment(_report(paths, options, policy, extras, reporting.exit_zero), reporting)
    report = report._replace(narrowed=bool(options.select))
    view = _find_view(reporting, amount)
    is_lost = _write_outputs(report, requested, view, on_stderr=extras.fix and extras.stdin)
    print_stderr(_explain_silence(report, comparison.changed))
    if report.failures or report.refused:
        sys.exit(BROKEN)
    if is_lost or report.unwritten:
        sys.exit(MISUSED)
    sys.exit(FOUND if report.failing and not reporting.exit_zero else CLEAN)


def _explain_silence(report: Report, changed: bool) -> Iterator[str]:
    """Yield why a report without a workload has nothing to say."""
    if report.workloads or report.facilities or report.findings or report.failures:
        return
    if report.gpu_pools:
        names = ", ".join(report.gpu_pools[:POOLS_SHOWN])
        further = f" and {len(report.gpu_pools) - POOLS_SHOWN} more" if report.gpu_pools[POOLS_SHOWN:] else ""
        yield f"no GPU workload was found in the files that were checked; their node pools with GPUs: {names}{further}"
    elif report.skipped or (report.comparison and report.comparison.pools):
        yield "no GPU workload was found in the files that were checked"
    else:
        yield "no file that gpulint reads has changed" if changed and not report.files else "nothing here concerns GPUs"


def _build_options(selection: Selection, comparison: Comparison, today: str) -> Options:
    """Return the options of the session."""
    from gpulint.pipeline.session import Options

    return Options(
        today=today,
        select=split_values(selection.select),
        ignore=split_values(selection.ignore),
        exclude=tuple(selection.exclude),
        rules=tuple(selection.folders),
        accelerator=selection.accelerator,
        fail_on=selection.fail_on or "",
        base=comparison.base or "",
        head=comparison.head or "HEAD",
        policy_from=comparison.policy_from or "",
        changed=comparison.changed,
        preview=selection.preview,
        baseline=selection.baseline or "",
        ignores=not selection.no_ignores,
        fail_on_unread=selection.fail_on_unread,
        file_timeout_s=selection.file_timeout,
        timeout_s=selection.timeout,
    )


def _reject_conflicts(extras: Extras, comparison: Comparison, reporting: Reporting) -> None:
    """Raise Misuse if options conflict."""
    base, head, _, policy_from = comparison
    for option, commit in (("--base", base), ("--head", head), ("--policy-from", policy_from)):
        if commit == "":
            raise Misuse(f"{option} is empty; give a commit or drop the option")
    if head and not base:
        raise Misuse("--head requires --base")
    if extras.diff and reporting.outputs_:
        raise Misuse("--output writes a report, but --diff produces none; drop one of them")
    if extras.values and extras.render != "helm":
        raise Misuse("-f requires --render helm")
    if extras.unsafe and not (extras.fix or extras.diff):
        raise Misuse("--unsafe requires --fix or --diff")
    if extras.render and (extras.fix or extras.diff):
        raise Misuse("--fix and --diff cannot be combined with --render, because they cannot change rendered objects")
    if extras.is_any and (base or policy_from or comparison.changed):
        raise Misuse(
            "--base, --changed and --policy-from cannot be combined with --render, --fix, --diff or the path -"
        )


def _report(paths: Sequence[str], options: Options, policy: str | None, extras: Extras, exit_zero: bool) -> Report:
    """Return the report on files, on a change, or on the requested extras; raise Misuse if no run is possible."""
    import gpulint
    from gpulint.cli import progress

    try:
        if extras.is_any:
            return _report_extras(paths, options, policy, extras, exit_zero)
        return gpulint.check(paths, options, policy=policy, watched=progress.show_progress)
    except gpulint.Unusable as error:
        raise Misuse(str(error)) from None


def _configure_comment(report: Report, reporting: Reporting) -> Report:
    """Return the report with the key and the threshold of its pull-request comment."""
    key, over = reporting.comment_key, reporting.comment_over
    if key is None and over is None:
        return report
    threshold = report.comment.usd_per_month if over is None else over
    return report._replace(comment=report.comment._replace(key=key or "", usd_per_month=threshold))


def _report_extras(
    paths: Sequence[str], options: Options, policy: str | None, extras: Extras, exit_zero: bool
) -> Report:
    """Return the report on rendered objects, fixed files or stdin."""
    from gpulint.pipeline.run import check_files
    from gpulint.pipeline.session import prepare

    run = prepare(paths, options, policy)
    if extras.render:
        return _report_rendered(run, extras.render, paths, extras.values)
    sources = _sources(run, paths, extras)
    if extras.diff:
        _show_diff(run, sources, paths, extras.unsafe, exit_zero)
    return _fix(run, sources, paths, extras) if extras.fix else check_files(run, sources)


def _sources(run: Session, paths: Sequence[str], extras: Extras) -> Iterator[Source | Skip]:
    """Yield the given files, or the text of stdin; show progress on a terminal."""
    from gpulint.cli import progress
    from gpulint.pipeline.run import find_sources
    from gpulint.source.repository import Source

    if not extras.stdin:
        yield from progress.show_progress(find_sources(run, paths))
    elif len(paths) > 1:
        raise Misuse("the path - reads one file from stdin; it cannot be combined with other paths")
    else:
        content = sys.stdin.buffer.read()
        yield Source(extras.stdin_filename or ("stdin.sh" if content.startswith(b"#!") else "stdin.yaml"), content)


def _report_rendered(run: Session, tool: str, folders: Sequence[str], values: Sequence[str]) -> Report:
    """Report on the objects that a tool renders from folders, located in their source files where possible."""
    from gpulint.pipeline import render
    from gpulint.pipeline.check import check_files
    from gpulint.pipeline.run import build_watchdog, suppress

    try:
        renderings = [render.render(tool, folder, values) for folder in folders or ["."]]
    except render.RenderError as error:
        raise Misuse(str(error)) from None
    print_stderr(
        f"{tool} rendered {len(rendering.documents)} objects from {rendering.shown}" for rendering in renderings
    )
    sources = [rendering.source for rendering in renderings]
    return suppress(
        run,
        render.relocate(check_files(sources, run.tree, run.given, build_watchdog(run.options)), renderings),
    )


# ---- outputs


def _outputs(words: Sequence[str], on_stdout: str | None, paths: Sequence[str]) -> tuple[Output, ...]:
    from gpulint.cli import output_files

    try:
        return output_files.parse_outputs(words, on_stdout, paths)
    except output_files.OutputError as error:
        raise Misuse(str(error)) from None


def _find_view(reporting: Reporting, amount: Amount) -> View:
    """Return how the text on stdout looks, and how much of it there is."""
    from gpulint.cli import terminal

    return terminal.find_view(terminal.has_colours(reporting.color))._replace(
        show=amount.show or "",
        everything=amount.everything,
        limit=amount.limit,
        quiet=amount.quiet,
        statistics=amount.statistics,
        missing=amount.explain_missing,
    )


def _write_outputs(report: Report, requested: Sequence[Output], view: View, on_stderr: bool) -> bool:
    """Print and write a report; return True if a file could not be written, after reporting it on stderr."""
    from gpulint.cli import output_files
    from gpulint.report.formats import summary_line, text

    errors = output_files.write(report, requested)
    formats = [output.format for output in requested if output.file == output_files.STDOUT] or [
        output_files.TEXT
    ] * bool(errors)
    for name in formats:
        rendered = text.render(report, view) if name == output_files.TEXT else output_files.render(report, name)
        click.echo(rendered, nl=False, color=view.colour, err=on_stderr)
    if not formats:
        print_stderr(
            [
                f"{summary_line.render_line(report)}; written to {', '.join(output.file for output in requested)}",
                *summary_line.render_failures(report),
            ]
        )
    print_stderr(errors)
    return bool(errors)


# ---- fixes


def _show_diff(
    run: Session, sources: Iterator[Source | Skip], paths: Sequence[str], unsafe: bool, exit_zero: bool
) -> NoReturn:
    """Print what --fix would change as a diff; exit with 1 if it would change anything."""
    from gpulint.pipeline import fix as pipeline_fix
    from gpulint.pipeline.run import build_watchdog

    watchdog = build_watchdog(run.options)
    adding, below = _adding(run, watchdog), paths or ["."]
    rewrite = pipeline_fix.compute(sources, run.tree, run.given, unsafe, watchdog, _accepting(run), adding, below)
    print_stderr(pipeline_fix.describe(rewrite.outcome, preview=True))
    if not rewrite.outcome.contents:
        further = "" if unsafe else "; --unsafe also applies suggestions with a trade-off or a higher cost"
        print_stderr([f"--fix would change nothing{further}"])
    click.echo(pipeline_fix.diff(rewrite.files, rewrite.outcome.contents).encode(), nl=False)
    refused = print_unread(run.tree)
    if rewrite.report.failures or refused:
        sys.exit(BROKEN)
    sys.exit(FOUND if rewrite.outcome.contents and not exit_zero else CLEAN)


def _fix(run: Session, sources: Iterator[Source | Skip], paths: Sequence[str], extras: Extras) -> Report:
    """Write the fixes to the files, or to stdout for text from stdin, and report on what remains."""
    from gpulint.pipeline import fix as pipeline_fix
    from gpulint.pipeline.run import build_watchdog, settle

    watchdog = build_watchdog(run.options)
    adding, below = _adding(run, watchdog), () if extras.stdin else paths or ["."]
    accepting = _accepting(run)
    rewrite = pipeline_fix.compute(sources, run.tree, run.given, extras.unsafe, watchdog, accepting, adding, below)
    if extras.stdin:
        click.echo(next(iter({**rewrite.files, **rewrite.outcome.contents}.values())), nl=False)
    else:
        rewrite = pipeline_fix.write(rewrite, run.tree)
    print_stderr(pipeline_fix.describe(rewrite.outcome, preview=False))
    print_stderr(f"not written {path}: {reason}" for path, reason in sorted(rewrite.refused.items()))
    return settle(run, pipeline_fix.check_again(rewrite, run.tree, run.given, watchdog, adding), paths)


def _adding(run: Session, watchdog: Watchdog) -> AddUsers:
    """Return what adds to a report what the named files make of others that use them."""
    from gpulint.pipeline import users

    return lambda report, tree, paths: users.add(report, run._replace(tree=tree), paths, paths, watchdog)


def _accepting(run: Session) -> Callable[[Report], Report]:
    """Return what marks the findings that --fix leaves alone: those of the baseline, unless --no-ignores is given."""
    from gpulint.pipeline.run import suppress

    return functools.partial(suppress, run) if run.options.ignores else lambda report: report
