"""`gpulint rules`: the rules by family."""

from __future__ import annotations

from collections.abc import Sequence

import click

from gpulint.cli import known_rules


@click.command("rules", short_help="List the rules by family.")
@click.option("--rules", "folders", multiple=True, metavar="DIR", help="List a team's own rules too; repeatable.")
def command(folders: Sequence[str]) -> None:
    """List the rules by family: ours, and those of the folders that gpulint.yaml names."""
    known = sorted(known_rules(folders), key=lambda one: (one.family, one.name))
    family, name = (max(map(len, words)) for words in zip(*((one.family, one.name) for one in known), strict=True))
    for one in known:
        click.echo(f"{one.family:<{family}} {one.name:<{name}}  {one.severity.word:<8} {one.summary}")
