"""`gpulint facility`: draw racks with their use of power, cooling, weight and space."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from gpulint.cli import BROKEN, CLEAN, FOUND, TODAY, Misuse, prepare_session, terminal
from gpulint.cli.options import FILE_TIMEOUT, RULES

if TYPE_CHECKING:
    from gpulint.report.model import Report

GROUP = "Check"

KIND = "gpulint/Facility"
UNREAD = frozenset({"invalid-syntax", "invalid-spec"})
WIDEST = "█┃▓▒·─│┌┐├┤└┘×…→"
"""The characters that a terminal must support for a Unicode drawing."""


@click.command("facility", short_help="Draw the racks of a Facility file, and how much of each limit they use.")
@click.argument("paths", metavar="FILE [SPECS]...", nargs=-1, required=True, type=click.Path())
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "json", "svg"]),
    default="text",
    show_default=True,
    help="Format of the report on stdout.",
)
@click.option("--rack", "only", multiple=True, metavar="NAME", help="Draw only this rack; repeatable.")
@click.option(
    "--ascii/--unicode",
    "plain",
    default=None,
    help="Draw with ASCII or Unicode characters.  [default: Unicode if stdout supports it]",
)
@click.option("--color/--no-color", default=None, help="Print the text in colour.  [default: only on a terminal]")
@RULES
@click.option("--exit-zero", is_flag=True, help="Exit with 0 even if there are findings.")
@FILE_TIMEOUT
@TODAY
def command(
    paths: Sequence[str],
    format_: str,
    only: Sequence[str],
    plain: bool | None,
    color: bool | None,
    folders: Sequence[str],
    exit_zero: bool,
    today: str,
    file_timeout: float,
) -> None:
    """Draw the racks of FILE with the state of each feed and with bars for power, cooling, weight and space.

    SPECS are files and folders of workloads. They are placed on these racks if gpulint.yaml names FILE as their facility.
    """
    report = _report((paths[0], *sorted(set(paths[1:]))), folders, today, file_timeout)
    _reject_unknown_racks(report, only)
    in_ascii = not _can_encode(WIDEST) if plain is None else plain
    in_colour = terminal.has_colours(color)
    drawing = _text(report, in_ascii, in_colour, only) if format_ == "text" else _render(report, format_, only)
    click.echo(drawing, nl=False, color=in_colour)
    if report.failures or report.refused:
        sys.exit(BROKEN)
    sys.exit(FOUND if report.failing and not exit_zero else CLEAN)


def _report(paths: Sequence[str], folders: Sequence[str], today: str, file_timeout: float) -> Report:
    """Report on files that include a facility, or on inventory exports; raise Misuse if there is no facility."""
    from gpulint.facility import inventories
    from gpulint.pipeline.run import check_files, find_sources
    from gpulint.pipeline.session import Options, Unusable

    run = prepare_session(paths, Options(today, rules=tuple(folders), file_timeout_s=file_timeout))
    exported = inventories.synthesize_facility(paths[0], run.tree) if len(paths) == 1 else None
    try:
        report = check_files(run, [exported] if exported else find_sources(run, paths))
    except Unusable as error:
        raise Misuse(str(error)) from None
    is_invalid = any(finding.rule in UNREAD and finding.location.path == paths[0] for finding in report.findings)
    if report.failures or is_invalid or any(document.kind == KIND for document in report.documents):
        return report
    reason = next((f": {skip.reason}" for skip in report.skipped if skip.path == paths[0]), "")
    raise Misuse(f"{paths[0]} describes no facility{reason}; `gpulint init --facility` writes a template")


def _reject_unknown_racks(report: Report, only: Sequence[str]) -> None:
    from gpulint.cli import suggest_name
    from gpulint.report.racks import layout

    facility_racks = [rack for facility in report.facilities for rack in facility.racks]
    for name in only:
        if not any(layout.is_called(rack, name) for rack in facility_racks):
            raise Misuse(f"no such rack: {name}{suggest_name(name, [rack.name for rack in facility_racks])}")


def _can_encode(characters: str) -> bool:
    """True if stdout can show the characters."""
    try:
        characters.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True


def _text(report: Report, in_ascii: bool, in_colour: bool, only: Sequence[str]) -> str:
    """Return the drawing, followed by the findings of the file."""
    from gpulint.report import escaping
    from gpulint.report.formats import text
    from gpulint.report.racks import bars
    from gpulint.report.racks import text as racks_text

    drawing = racks_text.render(report.facilities, bars.ASCII if in_ascii else bars.BLOCKS, in_colour, only)
    found = text.render(report, terminal.find_view(in_colour))
    content = "\n".join((drawing, found)) if report.facilities else found
    return escaping.convert_to_ascii(content) if in_ascii else content


def _render(report: Report, format_: str, only: Sequence[str]) -> str:
    from gpulint.report.formats import json
    from gpulint.report.racks import svg

    return json.render(report) if format_ == "json" else svg.render(report.facilities, only)
