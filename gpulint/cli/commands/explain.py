"""`gpulint explain`: what a name means, be it a rule, a family, a fact, an adapter or an engine."""

from __future__ import annotations

from collections.abc import Sequence

import click

from gpulint.cli import Misuse, known_rules, near
from gpulint.cli import completion_names as _names


@click.command("explain", short_help="Explain a rule, a fact, an adapter or an engine.")
@click.argument("name", shell_complete=_names.explained)
@click.option("--rules", "folders", multiple=True, metavar="DIR", help="Know a team's own rules too; repeatable.")
def command(name: str, folders: Sequence[str]) -> None:
    """Explain a rule, a family of rules, a fact, an adapter or an engine: what it means, and what it rests on."""
    from gpulint.cli import explain as explanations
    from gpulint.cli.explain import terminal

    known = known_rules(folders)
    found = list(explanations.of(name, known))
    if not found:
        raise Misuse(
            f"no rule, family, fact, adapter or engine is called {name}{near(name, explanations.names(known))}"
        )
    click.echo("\n\n".join(map(terminal.render, found)))
