"""`gpulint facts`: what a rule can compare."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gpulint.cli import TODAY, Misuse, near, prepared
from gpulint.cli import completion_names as _names
from gpulint.cli.options import ACCELERATOR, FORMAT

if TYPE_CHECKING:
    from gpulint.cli.fact_search import Held
    from gpulint.facts.glossary import Quantity


@click.command("facts", short_help="List the facts that a rule can compare.")
@click.argument("words", nargs=-1, shell_complete=_names.facts)
@click.option(
    "--of",
    "place",
    metavar="FILE[:WORKLOAD]",
    type=click.Path(),
    help="What they are worth for the workloads of a file.",
)
@ACCELERATOR
@FORMAT
@TODAY
def command(words: Sequence[str], place: str | None, accelerator: str, format_: str, today: str) -> None:
    """List the facts that a rule can compare: all, or those whose name, unit or meaning holds every one of WORDS."""
    from gpulint.cli import fact_search as vocabulary
    from gpulint.facts.glossary import glossary

    wanted = vocabulary.found(words)
    if not wanted:
        raise Misuse(f"no fact speaks of {' and '.join(words)}{near(words[0], glossary())}")
    if place is None:
        click.echo(vocabulary.list_json(wanted) if format_ == "json" else vocabulary.list_text(wanted))
        return
    roles = list(_held(place, wanted, accelerator, today))
    if not roles:
        raise Misuse(f"{place} holds no workload that gpulint reads")
    told = vocabulary.values_json(roles) if format_ == "json" else vocabulary.values_text(roles, bool(words))
    click.echo(told, nl=False)


def _held(place: str, wanted: Sequence[Quantity], accelerator: str, today: str) -> Iterator[Held]:
    """The facts of every role of a file, or of its workloads of one name."""
    from gpulint.cli import fact_search as vocabulary
    from gpulint.pipeline import check as lint
    from gpulint.pipeline import run
    from gpulint.pipeline.session import Options
    from gpulint.source.repository import Source

    file, _, name = place.rpartition(":") if not Path(place).is_file() and ":" in place else (place, "", "")
    made = prepared((file,), Options(today, accelerator=accelerator))
    given = replace(made.given, rules=())
    for source in run.sources(made, (file,)):
        if isinstance(source, Source):
            for one in lint.judged(source, made.tree, given, name or None):
                yield vocabulary.held(one, wanted)
