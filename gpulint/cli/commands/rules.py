"""`gpulint rules`: the rules by family."""

from __future__ import annotations

from collections.abc import Sequence

import click

from gpulint.cli import load_rules

GROUP = "Look up"


@click.command("rules", short_help="List the rules by family.")
@click.option(
    "--rules", "folders", multiple=True, metavar="DIR", help="Also list the rules of this folder; repeatable."
)
def command(folders: Sequence[str]) -> None:
    """List the rules by family: the built-in ones and those of the folders that gpulint.yaml names."""
    rules = sorted(load_rules(folders), key=lambda rule: (rule.family, rule.name))
    family, name = (max(map(len, words)) for words in zip(*((rule.family, rule.name) for rule in rules), strict=True))
    for rule in rules:
        click.echo(f"{rule.family:<{family}} {rule.name:<{name}}  {rule.severity.word:<8} {rule.summary}")
