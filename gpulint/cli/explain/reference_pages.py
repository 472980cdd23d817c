"""Reference pages: one for each rule, format and engine, the facts by topic, and an index of each kind."""

from __future__ import annotations

import functools
import importlib
import posixpath
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from gpulint import engines, sizing
from gpulint.cli.explain import adapter, command_line_page, engine, fact, page, sources
from gpulint.cli.explain import rule as explain_rule
from gpulint.cli.explain.parts import render_reference, render_references
from gpulint.facts.formulas import find_formulas
from gpulint.facts.glossary import Quantity, glossary
from gpulint.policy.rules import rule
from gpulint.policy.rules.rule import Rule

Page = tuple[str, str]
"""The path of a page in the folder of the site, and its text."""
INDEX = "reference.md"
COMMANDS = "cli.md"
SECTIONS: Mapping[str, str] = {
    "rules": "Rules",
    "facts": "Facts",
    "adapters": "Adapters",
    "engines": "Engines and trainers",
}
"""The folders of generated pages, and the title of each."""
CONTENTS: Mapping[str, str] = {
    "rules": "every rule, with a wrong and a right sample",
    "facts": "every quantity that a rule may name: unit, meaning, formula, and what uses it",
    "adapters": "every input format: the words, kinds and keys that gpulint reads",
    "engines": "every engine and trainer: arguments by release, defaults, memory terms",
}
SUPPLIERS: Mapping[str, str] = {
    "pod": "Facts that the object, script or task states",
    "object": "Facts that the object states about itself",
    "policy": "Facts that the policy states",
    "repository": "Facts of a repository, summed over a run",
    "engine": "Facts that the engine's arguments, environment and defaults state",
    "checkpoint": "Facts of a checkpoint",
    "architecture": "Facts of the architecture",
    "accelerator": "Facts of the accelerator",
    "node": "Facts of the machine type",
    "offer": "Facts of offers: what machines cost",
    "fitted": "Fitted and assumed facts, in three scenarios",
    "measured": "Measured facts of the links between ranks, in three scenarios",
    "document": "Facts of a document's text",
    "by_engine": "Facts that each engine computes in its own way, or that tables give",
}
"""The titles of pages of facts that are no topic of `gpulint/sizing`."""


def render_all() -> Iterator[Page]:
    """Every generated page, with a link back to the indexes above it."""
    for path, text in (*_rules(), *_facts(), *_adapters(), *_engines()):
        yield path, f"{_breadcrumbs(path)}\n\n{text}"
    yield COMMANDS, f"{_breadcrumbs(COMMANDS)}\n\n{command_line_page.render()}"
    yield INDEX, _index()


def locate(noun: str, name: str) -> str:
    """The generated page, and the anchor in it, that explains a name; empty where there is none."""
    if noun == "fact":
        return f"facts/{topic(name)}.md#{name}" if name in glossary() else ""
    if noun == "rule":
        return f"rules/{name}.md" if name in rule.load_shipped() else ""
    if noun == "adapter":
        return f"adapters/{name}.md" if name in adapter.list_names() else ""
    if noun == "family":
        return f"rules/README.md#{name}"
    own = engine.find_module(name.lower()) if noun == "engine" else None
    return f"engines/{engine.make_slug(own)}.md" if own else ""


def links_from(path: str) -> page.Link:
    """Relative links from one page to the pages that explain names."""

    def link(noun: str, name: str) -> str:
        target, _, anchor = (f"{name}.md" if noun == "page" else locate(noun, name)).partition("#")
        near = posixpath.relpath(target, posixpath.dirname(path) or ".") if target and target != path else ""
        return f"{near}#{anchor}" if anchor else near

    return link


def _breadcrumbs(path: str) -> str:
    folder, name = posixpath.split(path)
    steps = [f"[Reference]({'../' if folder else ''}{INDEX})"]
    if folder and name != "README.md":
        steps.append(f"[{SECTIONS[folder]}](README.md)")
    return " / ".join(steps)


def _index() -> str:
    rows = tuple((f"[{SECTIONS[folder]}]({folder}/README.md)", CONTENTS[folder]) for folder in SECTIONS)
    commands = (f"[The command line]({COMMANDS})", "every command and option")
    lines = ["# Reference", "", REFERENCE_INTRODUCTION, "", *page.render_table(("page", "lists"), (*rows, commands))]
    return "\n".join(lines) + "\n"


REFERENCE_INTRODUCTION = """\
`gpulint docs` writes these pages from gpulint's own rules, formulas and tables. `gpulint explain NAME` prints the same
about one name in a terminal."""


# ---- rules


def _rules() -> Iterator[Page]:
    known = tuple(rule.load_shipped().values())
    for shipped_rule in known:
        path = f"rules/{shipped_rule.name}.md"
        yield path, page.render(explain_rule.explain(shipped_rule, known), links_from(path))
    yield _build_page("rules/README.md", _rule_index(known))


def _rule_index(known: Iterable[Rule]) -> Iterator[str]:
    by_family: dict[str, list[Rule]] = {}
    for shipped_rule in sorted(known, key=lambda rule_: (rule_.family, rule_.name)):
        by_family.setdefault(shipped_rule.family, []).append(shipped_rule)
    count = sum(map(len, by_family.values()))
    yield from ("# Rules", "", f"{count} rules in {len(by_family)} families.", "")
    counts = tuple((f"[{family}](#{family})", str(len(rules))) for family, rules in by_family.items())
    yield from page.render_table(("family", "rules"), counts)
    for family, rules in by_family.items():
        rows = tuple(
            (render_reference("rule", one.name), explain_rule.describe_status(one), one.summary) for one in rules
        )
        yield from ("", f"## {family}", "", *page.render_table(("rule", "severity", "summary"), rows))


# ---- facts


@functools.cache
def topic(name: str) -> str:
    """The page of a fact: who supplies it, or the topic of its formula."""
    quantity = glossary()[name]
    return quantity.of if quantity.of != "derived" else _topics().get(name, "by_engine")


@functools.cache
def _topics() -> Mapping[str, str]:
    """The topic of `gpulint/sizing` that holds the general formula of each fact."""
    modules = {name: formula.__module__ for name, formula in find_formulas(None).items()}
    return {name: module.removeprefix(f"{sizing.__name__}.") for name, module in modules.items()}


def _facts() -> Iterator[Page]:
    by_topic: dict[str, list[Quantity]] = {}
    for quantity in glossary().values():
        by_topic.setdefault(topic(quantity.name), []).append(quantity)
    for name, quantities in by_topic.items():
        path = f"facts/{name}.md"
        head = [f"# {_title(name)}", "", *_intent(name), *_fact_table(quantities), ""]
        sections = [page.render(fact.explain(quantity), links_from(path), level=2) for quantity in quantities]
        yield path, page.link_facts("\n".join(head), links_from(path)) + "\n" + "\n".join(sections)
    yield _build_page("facts/README.md", _fact_index(by_topic))


def _title(name: str) -> str:
    described = _docstring(name)[0].partition(":")[0] if name in _topics().values() else f"Facts of {name}"
    return SUPPLIERS.get(name) or described


def _docstring(name: str) -> tuple[str, ...]:
    first, others = sources.summarise(importlib.import_module(f"{sizing.__name__}.{name}").__doc__ or name)
    return (first, *others)


def _intent(name: str) -> Iterator[str]:
    if name in _topics().values() and name not in SUPPLIERS:
        for paragraph in _docstring(name):
            yield from (paragraph, "")


def _fact_table(quantities: Iterable[Quantity]) -> Iterator[str]:
    rows = tuple((render_reference("fact", one.name), fact.render_measure(one), one.meaning) for one in quantities)
    yield from page.render_table(("fact", "unit", "meaning"), rows)


def _fact_index(by_topic: Mapping[str, list[Quantity]]) -> Iterator[str]:
    yield from ("# Facts", "", FACTS_INTRODUCTION, "", "## By topic", "")
    supplied = [name for name in SUPPLIERS if name in by_topic]
    for name in (*supplied, *sorted(set(by_topic) - set(supplied))):
        yield f"- [{_title(name)}]({name}.md): {len(by_topic[name])}"
    by_name = [glossary()[name] for name in sorted(glossary())]
    yield from ("", f"## All {len(by_name)} by name", "", *_fact_table(by_name))


FACTS_INTRODUCTION = """\
A fact is a named quantity of a role, a document, or something they depend on. Conditions and messages of
[rules](../rules/README.md) use the names below, in base units: bytes, bytes/s, FLOP/s, s, W, USD; a ratio of 90 % is
0.9. `gpulint explain NAME` prints the same text; `gpulint facts --of FILE` prints the value of each fact for a workload.

A fact that nothing states is *unknown*, and a rule that needs it is not evaluated. Where a missing value means that
there is none, as with a draft model, the fact is *none* (`null`). A fitted, assumed or measured fact has three values,
one for each scenario (best, expected and worst case), and so has every fact computed from it."""


# ---- formats and engines


def _adapters() -> Iterator[Page]:
    for name in adapter.list_names():
        path = f"adapters/{name}.md"
        yield path, page.render(adapter.explain(name), links_from(path))
    rows = tuple((render_reference("adapter", name), adapter.explain(name).summary) for name in adapter.list_names())
    shared = tuple(
        (f"`{name}`", knows, render_references("fact", stated))
        for name, (knows, stated) in adapter.list_shared_keys().items()
    )
    lines = ["# Adapters", "", ADAPTERS_INTRODUCTION, "", *page.render_table(("adapter", "reads"), rows), ""]
    lines += ["## Parts that adapters share", "", *page.render_table(("part", "knows", "states"), shared)]
    yield _build_page("adapters/README.md", lines)


ADAPTERS_INTRODUCTION = """\
An adapter turns the documents of one format into workloads. `page:formats` gives the overview: what is read, what is
merged and what is left alone. The pages here list the words, kinds and keys of each adapter."""


def _engines() -> Iterator[Page]:
    for name in engine.list_modules():
        path = f"engines/{engine.make_slug(name)}.md"
        yield path, page.render(engine.explain(name), links_from(path))
    rows = tuple(
        (render_reference("engine", engine.make_slug(name)), _purpose(name), engine.explain(name).summary)
        for name in engine.list_modules()
    )
    lines = ["# Engines and trainers", "", ENGINES_INTRODUCTION, "", *page.render_table(("name", "for", "reads"), rows)]
    yield _build_page("engines/README.md", lines)


def render_engine_tables(path: str) -> str | None:
    """The generated part of an engine's page, to follow notes written by hand; None for any other page."""
    folder, file = posixpath.split(path)
    name = engine.find_module(Path(file).stem) if folder == "engines" else None
    return page.render_parts(engine.explain(name), links_from(path), level=2) if name else None


ENGINES_INTRODUCTION = """\
The command line, the environment and the image of a program decide what it needs. These pages list the arguments by
release, the defaults and the memory terms of each engine; `page:engines/trainers` says how trainers are recognised."""


def _purpose(name: str) -> str:
    return str(getattr(engines.modules()[name], "PURPOSE", "inference"))


def _build_page(path: str, lines: Iterable[str]) -> Page:
    return path, page.link_facts("\n".join(lines) + "\n", links_from(path))
