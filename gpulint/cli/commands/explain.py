"""`gpulint explain`: the meaning of a rule, family, fact, adapter or engine."""

from __future__ import annotations

from collections.abc import Sequence

import click

from gpulint.cli import Misuse, completion_names, load_rules, suggest_name


@click.command("explain", short_help="Explain a rule, a fact, an adapter or an engine.")
@click.argument("name", shell_complete=completion_names.explainable_names)
@click.option("--rules", "folders", multiple=True, metavar="DIR", help="Also load rules from this folder; repeatable.")
def command(name: str, folders: Sequence[str]) -> None:
    """Explain a rule, a family of rules, a fact, an adapter or an engine: its meaning and its sources."""
    from gpulint.cli import explain
    from gpulint.cli.explain import terminal

    rules = load_rules(folders)
    topics = list(explain.explain(name, rules))
    if not topics:
        raise Misuse(
            f"no such rule, family, fact, adapter or engine: {name}{suggest_name(name, explain.list_names(rules))}"
        )
    click.echo("\n\n".join(map(terminal.render, topics)))
