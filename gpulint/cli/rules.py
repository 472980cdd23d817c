"""`gpulint rules`: the rules by family."""

from __future__ import annotations

import click


@click.command("rules")
def command() -> None:
    """List the rules by family."""
    from gpulint.policy import rule

    known = sorted(rule.shipped_rules().values(), key=lambda one: (one.family, one.name))
    width = max(len(one.name) for one in known)
    for one in known:
        click.echo(f"{one.family:<13} {one.name:<{width}}  {one.severity.word:<8} {one.summary}")
