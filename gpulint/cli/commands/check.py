"""`gpulint check`: files and directories against the rules."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, NoReturn

import click

from gpulint.cli import BROKEN, CLEAN, FOUND, MISUSED, SEVERITIES, TODAY, Misuse, tell, words
from gpulint.cli import completion_names as _names
from gpulint.cli.options import ACCELERATOR, RULES, SELECT

if TYPE_CHECKING:
    from gpulint.cli.output_files import Output
    from gpulint.pipeline.session import Options, Run
    from gpulint.report.model import Report, Skip
    from gpulint.source.repository import Source


class Asked(NamedTuple):
    """What is asked for beside a report on files as they lie: what a tool renders, what stdin holds, and fixes."""

    render: str
    values: Sequence[str]
    fix: bool
    unsafe: bool
    diff: bool
    stdin: bool
    stdin_filename: str

    @property
    def anything(self) -> bool:
        """Whether it is more than a report on files."""
        return bool(self.render) or self.fix or self.diff or self.stdin


@click.command("check", short_help="Check files and directories.")
@click.argument("paths", nargs=-1, type=click.Path())
@click.option("--format", "format_", type=_names.Formats(), help="What stdout shows.  [default: text]")
@click.option(
    "--output",
    "outputs_",
    multiple=True,
    type=_names.Formats(),
    metavar="FORMAT[:FILE]",
    help="Write the report to a file, or to stdout; repeatable.",
)
@click.option("--fail-on", type=SEVERITIES, default=None, help="Exit with 1 from this severity on.  [default: error]")
@SELECT
@click.option(
    "--ignore",
    multiple=True,
    metavar="NAME",
    shell_complete=_names.rules,
    help="Not this rule or family; repeatable, or comma-separated.",
)
@click.option(
    "--exclude", multiple=True, metavar="GLOB", help="Leave matching paths out, as a line of .gitignore would."
)
@RULES
@ACCELERATOR
@click.option(
    "--render",
    type=click.Choice(["helm", "kustomize"]),
    help="Check what your own helm or kustomize makes of the folders named.",
)
@click.option(
    "-f",
    "--values",
    multiple=True,
    metavar="FILE",
    type=click.Path(),
    help="A values file for --render helm; repeatable.",
)
@click.option(
    "--base", metavar="COMMIT", help="Only what was changed since HEAD left COMMIT counts; both are read from git."
)
@click.option("--head", metavar="COMMIT", help="With --base: the commit to check.  [default: HEAD]")
@click.option("--changed", is_flag=True, help="Only files that differ from --base, or from HEAD where there is none.")
@click.option("--policy-from", metavar="COMMIT", help="Policies and waivers count as COMMIT has them.")
@click.option("--comment-key", metavar="NAME", help="Tells the Markdown comment of this gate from those of others.")
@click.option("--comment-over", metavar="USD", type=float, help="No first Markdown comment for less than this a month.")
@click.option("--policy", metavar="FILE", type=click.Path(), help="A policy in place of every gpulint.yaml.")
@click.option("--preview", is_flag=True, help="Let rules speak that are still in preview.")
@click.option("--fix", is_flag=True, help="Write alternatives that give nothing up into the files.")
@click.option("--unsafe", is_flag=True, help="With --fix or --diff: also those that give something up or cost more.")
@click.option("--diff", is_flag=True, help="Show what --fix would change, and write nothing.")
@click.option(
    "--baseline",
    metavar="FILE",
    type=click.Path(),
    help="Accept what this file lists.  [default: .gpulint-baseline.json at the repository's root]",
)
@click.option("--no-ignores", is_flag=True, help="Let waivers and baseline silence nothing; say how much they would.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 whatever is found.")
@click.option(
    "--stdin-filename", metavar="PATH", type=click.Path(), help="What to call the text given on stdin (path -)."
)
@click.option("--color/--no-color", default=None, help="Colour the text.  [default: on a terminal]")
@TODAY
def command(
    paths: Sequence[str],
    format_: str | None,
    outputs_: Sequence[str],
    fail_on: str | None,
    select: Sequence[str],
    ignore: Sequence[str],
    exclude: Sequence[str],
    folders: Sequence[str],
    policy: str | None,
    preview: bool,
    accelerator: str,
    render: str | None,
    values: Sequence[str],
    base: str | None,
    head: str | None,
    changed: bool,
    policy_from: str | None,
    comment_key: str | None,
    comment_over: float | None,
    fix: bool,
    unsafe: bool,
    diff: bool,
    baseline: str | None,
    no_ignores: bool,
    exit_zero: bool,
    stdin_filename: str | None,
    color: bool | None,
    today: str,
) -> None:
    """Check files and directories (default: the current one); `-` reads stdin."""
    from gpulint.pipeline.session import Options

    wanted = _outputs(outputs_, format_, paths)
    asked = Asked(render or "", values, fix, unsafe, diff, "-" in paths, stdin_filename or "stdin.yaml")
    options = Options(
        today=today,
        select=words(select),
        ignore=words(ignore),
        exclude=tuple(exclude),
        rules=tuple(folders),
        accelerator=accelerator,
        fail_on=fail_on or "",
        base=base or "",
        head=head or "HEAD",
        policy_from=policy_from or "",
        changed=changed,
        preview=preview,
        baseline=baseline or "",
        ignores=not no_ignores,
    )
    for option, commit in (("--base", base), ("--head", head), ("--policy-from", policy_from)):
        if commit == "":
            raise Misuse(f"{option} is empty: name a commit, or leave it out")
    if head and not base:
        raise Misuse("--head goes with --base")
    if diff and outputs_:
        raise Misuse("--output is of a report; --diff shows none")
    _refuse(asked, options)
    report = _commented(_report(paths, options, policy, asked, exit_zero), comment_key, comment_over)
    is_lost = _put(report, wanted, sys.stdout.isatty() if color is None else color, on_stderr=fix and asked.stdin)
    if not (report.workloads or report.facilities or report.findings or report.failures):
        tell(
            ["no file that is read here has changed" if changed and not report.files else "nothing here concerns GPUs"]
        )
    if report.failures:
        sys.exit(BROKEN)
    if is_lost:
        sys.exit(MISUSED)
    sys.exit(FOUND if report.failing and not exit_zero else CLEAN)


def _refuse(asked: Asked, options: Options) -> None:
    """Misuse where options do not go together."""
    if asked.values and asked.render != "helm":
        raise Misuse("-f goes with --render helm")
    if asked.unsafe and not (asked.fix or asked.diff):
        raise Misuse("--unsafe goes with --fix or --diff")
    if asked.render and (asked.fix or asked.diff):
        raise Misuse("--fix and --diff are about files; what --render checks is made anew each time")
    if asked.anything and (options.base or options.policy_from or options.changed):
        raise Misuse("--base, --changed and --policy-from are about commits: no --render, --fix, --diff or - with them")


def _report(paths: Sequence[str], options: Options, policy: str | None, asked: Asked, exit_zero: bool) -> Report:
    """The report on files, on a change, or on what else is asked for; Misuse where no run can be made."""
    import gpulint
    from gpulint.cli import progress

    try:
        if asked.anything:
            return _otherwise(paths, options, policy, asked, exit_zero)
        return gpulint.check(paths, options, policy=policy, watched=progress.watched)
    except gpulint.Unusable as error:
        raise Misuse(str(error)) from None


def _commented(report: Report, key: str | None, over: float | None) -> Report:
    """The report with what the comment on a pull request is called, and from what change on it is made."""
    if key is None and over is None:
        return report
    least = report.comment.usd_per_month if over is None else over
    return report._replace(comment=report.comment._replace(key=key or "", usd_per_month=least))


def _otherwise(paths: Sequence[str], options: Options, policy: str | None, asked: Asked, exit_zero: bool) -> Report:
    """The report on what is rendered, fixed, or given on stdin."""
    from gpulint.pipeline.run import checked
    from gpulint.pipeline.session import prepared

    run = prepared(paths, options, policy)
    if asked.render:
        return _rendered(run, asked.render, paths, asked.values)
    sources = _sources(run, paths, asked)
    if asked.diff:
        _show_diff(run, sources, asked.unsafe, exit_zero)
    return _fixed(run, sources, asked.unsafe, asked.stdin) if asked.fix else checked(run, sources)


def _sources(run: Run, paths: Sequence[str], asked: Asked) -> Iterator[Source | Skip]:
    """The files that are named, or what stdin holds; a terminal is shown how many have passed."""
    from gpulint.cli import progress
    from gpulint.pipeline.run import sources
    from gpulint.source.repository import Source

    if not asked.stdin:
        yield from progress.watched(sources(run, paths))
    elif len(paths) > 1:
        raise Misuse("- stands alone: stdin is one file")
    else:
        yield Source(asked.stdin_filename, sys.stdin.buffer.read())


def _rendered(run: Run, tool: str, folders: Sequence[str], values: Sequence[str]) -> Report:
    """The report on what a tool makes of folders, with its places in their files where that is certain."""
    from gpulint.pipeline import render
    from gpulint.pipeline.check import check_files
    from gpulint.pipeline.run import settled

    try:
        found = [render.rendered(tool, folder, values) for folder in folders or ["."]]
    except render.RenderError as error:
        raise Misuse(str(error)) from None
    tell(f"{len(one.documents)} objects rendered from {one.shown} by {tool}" for one in found)
    return settled(run, render.placed(check_files([one.source for one in found], run.tree, run.given), found))


# ---- outputs


def _outputs(words: Sequence[str], on_stdout: str | None, paths: Sequence[str]) -> tuple[Output, ...]:
    from gpulint.cli import output_files as outputs

    try:
        return outputs.asked(words, on_stdout, paths)
    except outputs.OutputError as error:
        raise Misuse(str(error)) from None


def _put(report: Report, wanted: Sequence[Output], colour: bool, on_stderr: bool) -> bool:
    """Show and write a report; true where a file could not be written, which stderr then says beside all the rest."""
    from gpulint.cli import output_files as outputs
    from gpulint.report.formats import summary_line as counts
    from gpulint.report.formats import text

    troubles = outputs.write(report, wanted)
    shown = [one.format for one in wanted if one.file == outputs.STDOUT] or [outputs.TEXT] * bool(troubles)
    for name in shown:
        rendered = text.render(report, colour) if name == outputs.TEXT else outputs.rendered(report, name)
        click.echo(rendered, nl=False, color=colour, err=on_stderr)
    if not shown:
        tell([f"{counts.line(report)}; written to {', '.join(one.file for one in wanted)}", *counts.faults(report)])
    tell(troubles)
    return bool(troubles)


# ---- fixes


def _show_diff(run: Run, sources: Iterator[Source | Skip], unsafe: bool, exit_zero: bool) -> NoReturn:
    """What --fix would change, as a diff; ends the run with 1 if it would change anything."""
    from gpulint.pipeline import fix as rewriting

    found = rewriting.run(sources, run.tree, run.given, unsafe)
    tell(rewriting.said(found.outcome, preview=True))
    if not found.outcome.contents:
        further = "" if unsafe else "; --unsafe also takes what gives something up or costs more"
        tell([f"there is nothing that --fix would write{further}"])
    click.echo(rewriting.diff(found.files, found.outcome.contents).encode(), nl=False)
    if found.report.failures:
        sys.exit(BROKEN)
    sys.exit(FOUND if found.outcome.contents and not exit_zero else CLEAN)


def _fixed(run: Run, sources: Iterator[Source | Skip], unsafe: bool, to_stdout: bool) -> Report:
    """The report on what is left after the fixes are written: into the files, or to stdout what came from stdin."""
    from gpulint.pipeline import fix as rewriting
    from gpulint.pipeline.run import settled

    found = rewriting.run(sources, run.tree, run.given, unsafe)
    tell(rewriting.said(found.outcome, preview=False))
    if to_stdout:
        click.echo(next(iter({**found.files, **found.outcome.contents}.values())), nl=False)
    else:
        tell(rewriting.write(found.files, found.outcome.contents, run.tree))
    return settled(run, rewriting.remaining(found, run.tree, run.given))
