"""Explanations of rules, families, packs, facts, adapters, engines and words, for the terminal and for pages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpulint.cli.explain.parts import Explanation
from gpulint.policy.rules.rule import Rule


def explain(name: str, rules: Sequence[Rule]) -> Iterator[Explanation]:
    """Yield every meaning of a name among the given rules and all other named things."""
    from gpulint.cli.explain import adapter, engine, fact, family, pack, rule, word
    from gpulint.facts.glossary import glossary
    from gpulint.policy.config import packs

    yield from (rule.explain(known, rules) for known in rules if known.name == name)
    if name in packs.list_names():
        yield pack.explain(name)
    if any(known.family == name for known in rules):
        yield family.explain(name, rules)
    if name in glossary():
        yield fact.explain(glossary()[name])
    if (module := name.replace("-", "_")) in adapter.list_names():
        yield adapter.explain(module)
    if module_name := engine.find_module(name.lower()):
        yield engine.explain(module_name)
    yield from word.explain(name)


def list_names(rules: Sequence[Rule]) -> Iterator[str]:
    """Yield every name that has an explanation."""
    from gpulint.cli.explain import adapter, engine, word
    from gpulint.facts.glossary import glossary
    from gpulint.policy.config import packs

    yield from dict.fromkeys(name for known in rules for name in (known.name, known.family))
    yield from glossary()
    yield from packs.list_names()
    yield from adapter.list_names()
    yield from map(engine.make_slug, engine.list_modules())
    yield from word.WORDS
