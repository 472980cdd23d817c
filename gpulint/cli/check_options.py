"""The options of `gpulint check`, in groups, and the records that the command takes them as."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import click

from gpulint.cli import SEVERITIES, TODAY, completion_names
from gpulint.cli.options import (
    ACCELERATOR,
    FILE_TIMEOUT,
    FILES_GROUP,
    PATHS,
    RULES,
    RULES_GROUP,
    SELECT,
    TIMEOUT,
    collect,
    option,
)

REPORT, TERMINAL, CHANGE, FIXES, EXIT = "Report", "Text on the terminal", "Changes", "Fixes", "Exit code"


class Reporting(NamedTuple):
    """The options that say how the report is written."""

    format_: str | None
    outputs_: Sequence[str]
    comment_key: str | None
    comment_over: float | None
    exit_zero: bool
    color: bool | None


class Amount(NamedTuple):
    """The options that say how much of the report is printed as text."""

    show: str | None
    everything: bool
    limit: int
    quiet: bool
    statistics: bool
    explain_missing: bool


class Selection(NamedTuple):
    """The options that say which rules apply, to which files, and what fails."""

    fail_on: str | None
    select: Sequence[str]
    ignore: Sequence[str]
    exclude: Sequence[str]
    folders: Sequence[str]
    accelerator: str
    preview: bool
    baseline: str | None
    no_ignores: bool
    fail_on_unread: bool
    file_timeout: float
    timeout: float


class Comparison(NamedTuple):
    """The options that name the commits to compare."""

    base: str | None
    head: str | None
    changed: bool
    policy_from: str | None


class Extras(NamedTuple):
    """The requested extras beyond a report on files: rendering, stdin and fixes."""

    render: str | None
    values: Sequence[str]
    fix: bool
    unsafe: bool
    diff: bool
    stdin_filename: str | None
    stdin: bool = False

    @property
    def is_any(self) -> bool:
        """True if more than a report on files is requested."""
        return bool(self.render) or self.fix or self.diff or self.stdin


OPTIONS = (
    PATHS,
    option(
        "--format",
        "format_",
        type=completion_names.Formats(),
        help="Format of the report on stdout.  [default: text]",
        group=REPORT,
    ),
    option(
        "--output",
        "outputs_",
        multiple=True,
        type=completion_names.Formats(),
        metavar="FORMAT[:FILE]",
        help="Write the report in this format to FILE, or to stdout; repeatable.",
        group=REPORT,
    ),
    option("--all", "everything", is_flag=True, help="List every workload, assumption and note.", group=TERMINAL),
    option(
        "--show",
        type=click.Choice(["brief", "full"]),
        help="Show each finding in brief or in full.  [default: in full if there are few]",
        group=TERMINAL,
    ),
    option(
        "--limit",
        type=click.IntRange(min=0),
        default=0,
        metavar="N",
        help="Show at most this many different findings, the most severe first.  [default: all]",
        group=TERMINAL,
    ),
    option("-q", "--quiet", is_flag=True, help="Print findings only.", group=TERMINAL),
    option(
        "--statistics",
        is_flag=True,
        help="Print the number of findings of each rule instead of the findings.",
        group=TERMINAL,
    ),
    option(
        "--explain-missing",
        is_flag=True,
        help="List every value that a check lacks, and how to state it.",
        group=TERMINAL,
    ),
    option(
        "--color/--no-color",
        default=None,
        help="Print the text in colour.  [default: only on a terminal]",
        group=TERMINAL,
    ),
    option(
        "--fail-on",
        type=SEVERITIES,
        default=None,
        help="Exit with 1 if a finding has this or a higher severity.  [default: error]",
        group=EXIT,
    ),
    SELECT,
    option(
        "--ignore",
        multiple=True,
        metavar="NAME",
        shell_complete=completion_names.rules,
        help="Skip this rule or family; repeatable, or comma-separated.",
        group=RULES_GROUP,
    ),
    option(
        "--exclude",
        multiple=True,
        metavar="GLOB",
        help="Skip paths that match this .gitignore pattern; repeatable.",
        group=FILES_GROUP,
    ),
    RULES,
    ACCELERATOR,
    option(
        "--render",
        type=click.Choice(["helm", "kustomize"]),
        help="Render the given folders with your helm or kustomize, and check the result.",
        group=FILES_GROUP,
    ),
    option(
        "-f",
        "--values",
        multiple=True,
        metavar="FILE",
        type=click.Path(),
        help="Use this values file with --render helm; repeatable.",
        group=FILES_GROUP,
    ),
    option("--base", metavar="COMMIT", help="Report only what changed since the merge base with COMMIT.", group=CHANGE),
    option("--head", metavar="COMMIT", help="With --base: check this commit.  [default: HEAD]", group=CHANGE),
    option(
        "--changed",
        is_flag=True,
        help="Check only files that differ from the --base commit, or from HEAD if there is no --base.",
        group=CHANGE,
    ),
    option("--policy-from", metavar="COMMIT", help="Read policies, waivers and hints from COMMIT.", group=CHANGE),
    option(
        "--comment-key",
        metavar="NAME",
        help="Name of this job's PR comment, if several gpulint jobs comment on the same PR.",
        group=REPORT,
    ),
    option(
        "--comment-over",
        metavar="USD",
        type=float,
        help="Don't open a PR comment for a cost change below this (USD/month).",
        group=REPORT,
    ),
    option(
        "--policy",
        metavar="FILE",
        type=click.Path(),
        help="Use this policy file and ignore every gpulint.yaml.",
        group=RULES_GROUP,
    ),
    option("--preview", is_flag=True, help="Enable preview rules.", group=RULES_GROUP),
    option(
        "--fix",
        is_flag=True,
        help="Change the files by applying the suggestions that have no trade-off and no higher cost.",
        group=FIXES,
    ),
    option(
        "--unsafe",
        is_flag=True,
        help="With --fix or --diff: also include suggestions that have a trade-off or cost more.",
        group=FIXES,
    ),
    option("--diff", is_flag=True, help="Show what --fix would change without writing files.", group=FIXES),
    option(
        "--baseline",
        metavar="FILE",
        type=click.Path(),
        help="Accept the findings listed in this file.  [default: .gpulint-baseline.json at the repository's root]",
        group=RULES_GROUP,
    ),
    option(
        "--no-ignores",
        is_flag=True,
        help="Ignore waivers and the baseline; report how many findings they hide.",
        group=RULES_GROUP,
    ),
    option(
        "--fail-on-unread",
        is_flag=True,
        help="Report file-not-checked for every file that was not checked, also for templates and patches.",
        group=EXIT,
    ),
    FILE_TIMEOUT,
    TIMEOUT,
    option("--exit-zero", is_flag=True, help="Exit with 0 even if there are findings.", group=EXIT),
    option(
        "--stdin-filename",
        metavar="PATH",
        type=click.Path(),
        help="File name that the report shows for text from stdin (path -).",
        group=FILES_GROUP,
    ),
    TODAY,
)


def take(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options, in this order, as records."""
    taking = collect(reporting=Reporting, amount=Amount, selection=Selection, comparison=Comparison, extras=Extras)(
        command
    )
    return functools.reduce(lambda taken, add: add(taken), reversed(OPTIONS), taking)
