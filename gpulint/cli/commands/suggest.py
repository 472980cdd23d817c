"""`gpulint suggest`: alternatives for the workloads of a file."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path

import click

from gpulint.cli import TODAY, Misuse, prepare_session, watch
from gpulint.cli.options import ACCELERATOR, FILE_TIMEOUT, FORMAT, RULES

GROUP = "Check"


@click.command("suggest", short_help="Suggest what else a workload could run on.")
@click.argument("place", metavar="FILE[:LINE]", type=click.Path())
@ACCELERATOR
@RULES
@FORMAT
@FILE_TIMEOUT
@TODAY
def command(
    place: str, accelerator: str, folders: Sequence[str], format_: str, file_timeout: float, today: str
) -> None:
    """Suggest what else the workloads of FILE, or only the one at LINE, could run on and pass the same checks."""
    from gpulint.catalog import tables
    from gpulint.pipeline.plan import plan_file
    from gpulint.pipeline.run import find_sources
    from gpulint.pipeline.session import Options, Unusable
    from gpulint.report.formats import plan
    from gpulint.source.repository import Source

    path, line = _split_place(place)
    run = prepare_session([path], Options(today, rules=tuple(folders), accelerator=accelerator))
    try:
        files = [source for source in find_sources(run, [path]) if isinstance(source, Source)]
    except Unusable as error:
        raise Misuse(str(error)) from None
    workload_plans = [
        found
        for source in files
        for found in watch(source.path, file_timeout, functools.partial(plan_file, source, line, run.tree, run.given))
    ]
    if not workload_plans:
        raise Misuse(f"{path} has no workload that gpulint can read")
    click.echo(
        plan.render_json(workload_plans, tables.version()) if format_ == "json" else plan.render_text(workload_plans),
        nl=False,
    )


def _split_place(place: str) -> tuple[str, int | None]:
    """Split FILE:LINE. The text is a plain file name if such a file exists or no line number ends it."""
    file, _, line = place.rpartition(":")
    if Path(place).is_file() or not file or not line.isdecimal():
        return place, None
    return file, int(line)
