"""Explanations: what names mean (rules, families, packs, facts, adapters, engines), for a terminal and for a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpulint.cli.explain.parts import Explanation
from gpulint.policy.rules.rule import Rule


def of(name: str, rules: Sequence[Rule]) -> Iterator[Explanation]:
    """Every meaning that a name has, of the rules given and of all else that has a name."""
    from gpulint.cli.explain import adapter, engine, fact, family, pack, rule
    from gpulint.facts.glossary import glossary
    from gpulint.policy.config import packs

    yield from (rule.explained(one, rules) for one in rules if one.name == name)
    if name in packs.names():
        yield pack.explained(name)
    if any(one.family == name for one in rules):
        yield family.explained(name, rules)
    if name in glossary():
        yield fact.explained(glossary()[name])
    if (module := name.replace("-", "_")) in adapter.names():
        yield adapter.explained(module)
    if own := engine.named(name.lower()):
        yield engine.explained(own)


def names(rules: Sequence[Rule]) -> Iterator[str]:
    """Every name that has an explanation."""
    from gpulint.cli.explain import adapter, engine
    from gpulint.facts.glossary import glossary
    from gpulint.policy.config import packs

    yield from dict.fromkeys(name for one in rules for name in (one.name, one.family))
    yield from glossary()
    yield from packs.names()
    yield from adapter.names()
    yield from map(engine.slug, engine.modules())
