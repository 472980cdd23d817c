"""`gpulint facility`: racks from the top down, with what they take of power, cooling, weight and space."""

from __future__ import annotations

import contextlib
import gc
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from gpulint.cli import BROKEN, CLEAN, FOUND, TODAY, Misuse, prepared
from gpulint.cli.options import RULES

if TYPE_CHECKING:
    from gpulint.report.model import Report

KIND = "gpulint/Facility"
UNREAD = frozenset({"invalid-syntax", "invalid-spec"})
WIDEST = "█┃▓▒·─│┌┐├┤└┘×…→"
"""What a terminal has to have for a drawing that is not in ASCII."""


@click.command("facility", short_help="Draw the racks of a Facility file, with what they take of each limit.")
@click.argument("paths", metavar="FILE [SPECS]...", nargs=-1, required=True, type=click.Path())
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "json", "svg"]),
    default="text",
    show_default=True,
    help="What stdout shows.",
)
@click.option("--rack", "only", multiple=True, metavar="NAME", help="Draw this rack; repeatable.")
@click.option(
    "--ascii/--unicode", "plain", default=None, help="Draw with these characters.  [default: those that stdout takes]"
)
@click.option("--color/--no-color", default=None, help="Colour the text.  [default: on a terminal]")
@RULES
@click.option("--exit-zero", is_flag=True, help="Exit with 0 whatever is found.")
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
) -> None:
    """Draw the racks of FILE: elevations with bars for power, cooling, weight and space, and whether each feed holds.

    SPECS are files and folders whose workloads run there, where gpulint.yaml names FILE as their facility.
    """
    report = _report(paths, folders, today)
    _refuse_unknown(report, only)
    in_ascii = not _takes(WIDEST) if plain is None else plain
    in_colour = sys.stdout.isatty() if color is None else color
    shown = _text(report, in_ascii, in_colour, only) if format_ == "text" else _drawn(report, format_, only)
    click.echo(shown, nl=False, color=in_colour)
    if report.failures:
        sys.exit(BROKEN)
    sys.exit(FOUND if report.failing and not exit_zero else CLEAN)


def _report(paths: Sequence[str], folders: Sequence[str], today: str) -> Report:
    """The report on files one of which is about a facility, or on exports of an inventory; Misuse where none is."""
    from gpulint.facility import inventories
    from gpulint.pipeline.run import checked, sources
    from gpulint.pipeline.session import Options, Unusable

    run = prepared(paths, Options(today, rules=tuple(folders)))
    exported = inventories.alone(paths[0], run.tree) if len(paths) == 1 else None
    try:
        report = checked(run, [exported] if exported else sources(run, paths))
    except Unusable as error:
        raise Misuse(str(error)) from None
    unread = any(one.rule in UNREAD and one.location.path == paths[0] for one in report.findings)
    if report.failures or unread or any(one.kind == KIND for one in report.documents):
        return report
    reason = next((f": {one.reason}" for one in report.skipped if one.path == paths[0]), "")
    raise Misuse(f"{paths[0]} describes no facility{reason}; gpulint init --facility writes one to begin with")


@contextlib.contextmanager
def _uncollected() -> Iterator[None]:
    """Without the search for garbage: the objects of an inventory are many, and all that is made of them is shown."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _refuse_unknown(report: Report, only: Sequence[str]) -> None:
    from gpulint.cli import near
    from gpulint.report.racks import layout as racks

    known = [rack for facility in report.facilities for rack in facility.racks]
    for name in only:
        if not any(racks.is_called(one, name) for one in known):
            raise Misuse(f"no rack is called {name}{near(name, [one.name for one in known])}")


def _takes(characters: str) -> bool:
    """Whether stdout can show characters."""
    try:
        characters.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True


def _text(report: Report, in_ascii: bool, in_colour: bool, only: Sequence[str]) -> str:
    """The drawing, then what a check says of the file."""
    from gpulint.report.formats import escaping as words
    from gpulint.report.formats import text
    from gpulint.report.racks import bars
    from gpulint.report.racks import text as elevation

    drawing = elevation.as_text(report.facilities, bars.ASCII if in_ascii else bars.BLOCKS, in_colour, only)
    parts = (drawing, text.render(report, in_colour)) if report.facilities else (text.render(report, in_colour),)
    shown = "\n".join(parts)
    return words.in_ascii(shown) if in_ascii else shown


def _drawn(report: Report, format_: str, only: Sequence[str]) -> str:
    from gpulint.report.formats import json
    from gpulint.report.racks import svg

    return json.render(report) if format_ == "json" else svg.as_svg(report.facilities, only)
