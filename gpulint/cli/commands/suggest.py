"""`gpulint suggest`: what else a workload could run on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from gpulint.cli import TODAY, Misuse, prepared
from gpulint.cli.options import ACCELERATOR, FORMAT, RULES


@click.command("suggest", short_help="Show what else a workload could run on.")
@click.argument("place", metavar="FILE[:LINE]", type=click.Path())
@ACCELERATOR
@RULES
@FORMAT
@TODAY
def command(place: str, accelerator: str, folders: Sequence[str], format_: str, today: str) -> None:
    """Show what else each workload of FILE could run on, or the one that LINE is about: what passes the same checks."""
    from gpulint.catalog import tables as catalog
    from gpulint.pipeline.plan import plan_file
    from gpulint.pipeline.run import sources
    from gpulint.pipeline.session import Options, Unusable
    from gpulint.report.formats import plan
    from gpulint.source.repository import Source

    path, line = _placed(place)
    run = prepared([path], Options(today, rules=tuple(folders), accelerator=accelerator))
    try:
        found = [one for one in sources(run, [path]) if isinstance(one, Source)]
    except Unusable as error:
        raise Misuse(str(error)) from None
    made = [one for source in found for one in plan_file(source, line, run.tree, run.given)]
    if not made:
        raise Misuse(f"{path} holds no workload that gpulint reads")
    click.echo(plan.as_json(made, catalog.version()) if format_ == "json" else plan.as_text(made), nl=False)


def _placed(place: str) -> tuple[str, int | None]:
    """A file, and the line that stands behind it where the whole is no file's name."""
    file, _, line = place.rpartition(":")
    if Path(place).is_file() or not file or not line.isdecimal():
        return place, None
    return file, int(line)
