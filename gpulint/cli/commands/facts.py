"""`gpulint facts`: the facts that a rule can compare."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gpulint.cli import TODAY, Misuse, completion_names, prepare_session, suggest_name
from gpulint.cli.options import ACCELERATOR, FORMAT

if TYPE_CHECKING:
    from gpulint.cli.fact_search import RoleFacts
    from gpulint.facts.glossary import Quantity

GROUP = "Look up"


@click.command("facts", short_help="List the facts that rule conditions can use.")
@click.argument("words", nargs=-1, shell_complete=completion_names.facts)
@click.option(
    "--of",
    "place",
    metavar="FILE[:WORKLOAD]",
    type=click.Path(),
    help="Show the values of the facts for the workloads of a file.",
)
@ACCELERATOR
@FORMAT
@TODAY
def command(words: Sequence[str], place: str | None, accelerator: str, format_: str, today: str) -> None:
    """List the facts that rule conditions can use, or only those whose name, unit or meaning contains all WORDS."""
    from gpulint.cli import fact_search
    from gpulint.facts.glossary import glossary

    quantities = fact_search.find_facts(words)
    if not quantities:
        raise Misuse(f"no fact matches {' and '.join(words)}{suggest_name(words[0], glossary())}")
    if place is None:
        click.echo(
            fact_search.render_list_json(quantities) if format_ == "json" else fact_search.render_list_text(quantities)
        )
        return
    roles = list(_collect(place, quantities, accelerator, today))
    if not roles:
        raise Misuse(f"{place} has no workload that gpulint can read")
    text = (
        fact_search.render_values_json(roles)
        if format_ == "json"
        else fact_search.render_values_text(roles, bool(words))
    )
    click.echo(text, nl=False)


def _collect(place: str, quantities: Sequence[Quantity], accelerator: str, today: str) -> Iterator[RoleFacts]:
    """Yield the facts of every role of a file, or of its workloads of one name."""
    from gpulint.cli import fact_search
    from gpulint.pipeline import evaluate, run
    from gpulint.pipeline.session import Options
    from gpulint.source.repository import Source

    file, _, name = place.rpartition(":") if not Path(place).is_file() and ":" in place else (place, "", "")
    session = prepare_session((file,), Options(today, accelerator=accelerator))
    policy = replace(session.given, rules=())
    for source in run.find_sources(session, (file,)):
        if isinstance(source, Source):
            for role in evaluate.file(source, session.tree, policy, name or None).roles:
                yield fact_search.find_values(role, quantities)
