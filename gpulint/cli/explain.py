"""`gpulint explain`: what a rule or a fact means."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from gpulint.cli import Misuse, _names, near

if TYPE_CHECKING:
    from gpulint import facts
    from gpulint.policy.rule import Rule


@click.command("explain")
@click.argument("name", shell_complete=_names.explained)
def command(name: str) -> None:
    """Explain a rule or a fact: what it means, why it matters, an example of wrong and of right."""
    from gpulint import facts
    from gpulint.policy import rule

    if known := rule.shipped_rules().get(name):
        click.echo(_explained_rule(known))
    elif quantity := facts.glossary().get(name):
        click.echo(_explained_fact(quantity))
    else:
        raise Misuse(f"no rule or fact is called {name}{near(name, [*rule.shipped_rules(), *facts.glossary()])}")


def _explained_rule(known: Rule) -> str:
    from gpulint.policy import rule

    samples = rule.examples(known)
    lines = [f"{known.name} ({known.family}, {known.severity.word})", "", known.summary + ".", known.why, ""]
    lines += ["Holds when", f"  {known.when}", ""]
    for side, title in (("bad", "Wrong"), ("good", "Right")):
        for sample in samples[side]:
            lines += [title, *(f"  {line}" for line in str(sample).splitlines()), ""]
    if known.absorbs:
        lines += [f"Speaks instead of {', '.join(known.absorbs)}.", ""]
    lines += [f"See {link}" for link in known.references]
    lines += [f"Silence one place with  # gpulint: ignore[{known.name}] REASON"]
    return "\n".join(lines)


def _explained_fact(quantity: facts.Quantity) -> str:
    from gpulint import engines, facts

    unit = f" [{quantity.unit}]" if quantity.unit else ""
    lines = [f"{quantity.name}{unit}: {quantity.meaning}", f"supplied by: {quantity.of}"]
    for engine in (None, *engines.modules()):
        if formula := facts.formulas(engine).get(quantity.name):
            needs = ", ".join(facts.parameters(formula))
            lines += ["", f"{engine or 'all engines'}: from {needs}", "", (formula.__doc__ or "").strip()]
    if quantity.ask:
        lines += ["", f"when it is missing: {quantity.ask}"]
    return "\n".join(lines)
