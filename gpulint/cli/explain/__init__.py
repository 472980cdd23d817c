"""Explanations of rules, families, packs, facts, adapters and engines, for the terminal and for pages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpulint.cli.explain.parts import Explanation
from gpulint.policy.rules.rule import Rule


def of(name: str, rules: Sequence[Rule]) -> Iterator[Explanation]:
    """Yield every meaning of a name among the given rules and all other named things."""
    from gpulint.cli.explain import adapter, engine, fact, family, pack, rule
    from gpulint.facts.glossary import glossary
    from gpulint.policy.config import packs

    yield from (rule.explained(known, rules) for known in rules if known.name == name)
    if name in packs.names():
        yield pack.explained(name)
    if any(known.family == name for known in rules):
        yield family.explained(name, rules)
    if name in glossary():
        yield fact.explained(glossary()[name])
    if (module := name.replace("-", "_")) in adapter.names():
        yield adapter.explained(module)
    if module_name := engine.named(name.lower()):
        yield engine.explained(module_name)


def names(rules: Sequence[Rule]) -> Iterator[str]:
    """Yield every name that has an explanation."""
    from gpulint.cli.explain import adapter, engine
    from gpulint.facts.glossary import glossary
    from gpulint.policy.config import packs

    yield from dict.fromkeys(name for known in rules for name in (known.name, known.family))
    yield from glossary()
    yield from packs.names()
    yield from adapter.names()
    yield from map(engine.slug, engine.modules())
