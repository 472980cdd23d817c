"""The generated pages of docs/: one for each rule, adapter and engine, the facts by topic, their indexes, the commands."""

from __future__ import annotations

import functools
import importlib
import posixpath
from collections.abc import Iterator, Mapping
from pathlib import Path

import click

import gpulint
from gpulint import adapters, cli, engines, sizing
from gpulint.catalog import package_data as shipped
from gpulint.cli.explain import adapter, engine, fact, page, sources
from gpulint.cli.explain import rule as explained_rule
from gpulint.cli.explain.parts import reference, references
from gpulint.facts.formulas import find_formulas
from gpulint.facts.glossary import Quantity, glossary
from gpulint.policy.rules import rule
from gpulint.report.racks import svg

ROOT = Path(__file__).parent.parent
NOTE = "<!-- Written by `python tests/test_docs.py`{}. -->\n\n"
CRUMBS: Mapping[str, str] = {
    "docs/rules": "Rules",
    "docs/facts": "Facts",
    "docs/adapters": "Adapters",
    "docs/engines": "Engines and trainers",
}
"""What the indexes of folders are called."""
BREAK = "<!-- What follows is written by `python tests/test_docs.py`; what stands above is written by hand. -->\n"
GROUPS: Mapping[str, str] = {
    "pod": "Facts that the object, script or task states",
    "object": "Facts that the object states of itself",
    "policy": "Facts that the policy states",
    "repository": "Facts of a repository, summed up over a run",
    "engine": "Facts that the engine's arguments, environment and defaults state",
    "checkpoint": "Facts of a checkpoint",
    "architecture": "Facts of the network's shape",
    "accelerator": "Facts of the accelerator",
    "node": "Facts of the machine type",
    "offer": "Facts of offers: what machines cost",
    "fitted": "Fitted and assumed facts, in three worlds",
    "measured": "Measured facts of what joins the ranks, in three worlds",
    "document": "Facts of a document's text",
    "by_engine": "Facts that each engine computes in its own way, or that tables give",
}
"""The titles of pages of facts that are no topic of `gpulint/sizing`."""
DRAWN = "facility-dgx-on-208v.yaml"
"""The example that the page about drawings shows."""
HAND_WRITTEN = "trainers"
"""The one page of docs/engines that is about several trainers."""


def generated() -> Mapping[str, str]:
    """Every generated page by its path from the root of the repository."""
    found = (
        *_rules(),
        *_facts(),
        *_adapters(),
        *_engines(),
        ("docs/cli.md", commands()),
        ("docs/racks.svg", drawing()),
    )
    return {path: _with_crumbs(path, text) for path, text in found}


def drawing() -> str:
    """The racks of an example."""
    report = gpulint.check([str(ROOT / "examples" / DRAWN)])
    return svg.as_svg(report.facilities)


def _with_crumbs(path: str, text: str) -> str:
    """A page with the way to it, unless its beginning is written by hand."""
    note, end, rest = text.partition("-->\n\n")
    if not text.startswith(NOTE[:12]):
        return text
    folder, name = posixpath.split(path)
    way = [f"[Documentation]({'../' if folder in CRUMBS else ''}README.md)"]
    if folder in CRUMBS and name != "README.md":
        way.append(f"[{CRUMBS[folder]}](README.md)")
    return f"{note}{end}{' / '.join(way)}\n\n{rest}"


# ---- rules


def _rules() -> Iterator[tuple[str, str]]:
    known = tuple(rule.shipped_rules().values())
    for one in known:
        path = f"docs/rules/{one.name}.md"
        note = NOTE.format(f" from rules/{one.family}/{one.name}.yaml")
        yield path, note + page.render(explained_rule.explained(one, known), _from(path))
    yield "docs/rules/README.md", NOTE.format("") + _rule_index(known)


def _rule_index(known: tuple[rule.Rule, ...]) -> str:
    families = sorted({one.family for one in known})
    own = {name: sorted((one for one in known if one.family == name), key=lambda one: one.name) for name in families}
    lines = ["# Rules", "", f"{len(known)} rules in {len(families)} families.", ""]
    lines += page.table(("family", "rules"), tuple((f"[{name}](#{name})", str(len(own[name]))) for name in families))
    for name in families:
        rows = tuple((reference("rule", one.name), explained_rule.standing(one), one.summary) for one in own[name])
        lines += ["", f"## {name}", "", *page.table(("rule", "severity", "says"), rows)]
    return page.linked("\n".join(lines) + "\n", _from("docs/rules/README.md"))


# ---- facts


@functools.cache
def topic(name: str) -> str:
    """The page that a fact stands on: who supplies it, or the topic of its formula."""
    quantity = glossary()[name]
    return quantity.of if quantity.of != "derived" else _topics().get(name, "by_engine")


@functools.cache
def _topics() -> Mapping[str, str]:
    """The topic of `gpulint/sizing` that has the general formula of a fact."""
    modules = {name: find_formulas(None)[name].__module__ for name in find_formulas(None)}
    return {name: module.removeprefix(f"{sizing.__name__}.") for name, module in modules.items()}


def _facts() -> Iterator[tuple[str, str]]:
    by_topic: dict[str, list[Quantity]] = {}
    for quantity in glossary().values():
        by_topic.setdefault(topic(quantity.name), []).append(quantity)
    for name, quantities in by_topic.items():
        path = f"docs/facts/{name}.md"
        head = [f"# {title(name)}", "", *_intent(name), *_listed(quantities, path), ""]
        sections = [page.render(fact.explained(one), _from(path), level=2) for one in quantities]
        yield path, NOTE.format(" from gpulint/facts/glossary.yaml and gpulint/sizing") + "\n".join([*head, *sections])
    yield "docs/facts/README.md", NOTE.format(" from gpulint/facts/glossary.yaml") + _fact_index(by_topic)


def title(name: str) -> str:
    """The title of a page of facts."""
    return GROUPS.get(name) or (
        _docstring(name)[0].partition(":")[0] if name in _topics().values() else f"Facts of {name}"
    )


def _docstring(name: str) -> tuple[str, ...]:
    first, others = sources.told(importlib.import_module(f"{sizing.__name__}.{name}").__doc__ or name)
    return (first, *others)


def _intent(name: str) -> Iterator[str]:
    if name in _topics().values() and name not in GROUPS:
        for paragraph in _docstring(name):
            yield from (paragraph, "")


def _listed(quantities: list[Quantity], path: str) -> Iterator[str]:
    rows = tuple((reference("fact", one.name), fact.measure(one), one.meaning) for one in quantities)
    yield from (page.linked(line, _from(path)) for line in page.table(("fact", "unit", "meaning"), rows))


def _fact_index(by_topic: Mapping[str, list[Quantity]]) -> str:
    lines = ["# Facts", "", FACTS_INTRODUCTION, "", "## By topic", ""]
    stated = [name for name in GROUPS if name in by_topic]
    for name in (*stated, *sorted(set(by_topic) - set(stated))):
        lines.append(f"- [{title(name)}]({name}.md): {len(by_topic[name])}")
    every = sorted(glossary())
    rows = tuple((reference("fact", name), fact.measure(glossary()[name]), glossary()[name].meaning) for name in every)
    lines += ["", f"## All {len(every)} by name", "", *page.table(("fact", "unit", "meaning"), rows)]
    return page.linked("\n".join(lines) + "\n", _from("docs/facts/README.md"))


FACTS_INTRODUCTION = """\
A fact is a named quantity of a role, a document or what they rest on. Conditions and messages of
[rules](../rules/README.md) use the names below, in base units: bytes, bytes/s, FLOP/s, s, W, USD; a ratio is 0.9
for 90 %. `gpulint explain NAME` prints what stands here; `gpulint facts --of FILE` what each is worth for a workload.

A fact that nothing states is *unknown*, and a rule that needs it is not evaluated; or it is *none* (`null`), where
silence means that there is none, as with a draft model. A fitted, assumed or measured fact has three values, for
the favourable, the likely and the adverse world, and so has what is computed from it."""


# ---- adapters and engines


def _adapters() -> Iterator[tuple[str, str]]:
    for name in adapter.names():
        path = f"docs/adapters/{name}.md"
        note = NOTE.format(f" from {shipped.file(adapters.HERE, name).relative_to(ROOT)}")
        yield path, note + page.render(adapter.explained(name), _from(path))
    rows = tuple((reference("adapter", name), adapter.explained(name).summary) for name in adapter.names())
    parts = tuple(
        (f"`{name}`", knows, references("fact", stated)) for name, (knows, stated) in adapter.shared().items()
    )
    lines = ["# Adapters", "", ADAPTERS_INTRODUCTION, "", *page.table(("adapter", "reads"), rows), ""]
    lines += ["## Parts that adapters share", "", *page.table(("part", "knows", "states"), parts)]
    text = page.linked("\n".join(lines) + "\n", _from("docs/adapters/README.md"))
    yield "docs/adapters/README.md", NOTE.format(" from gpulint/adapters") + text


ADAPTERS_INTRODUCTION = """\
An adapter turns the documents of one format into workloads. [What gpulint reads, and how far](../formats.md) is the
overview, with what is joined and what is left alone; the pages here list the words, kinds and keys of each adapter."""


def _engines() -> Iterator[tuple[str, str]]:
    for name in engine.modules():
        path = f"docs/engines/{engine.slug(name)}.md"
        above = _by_hand(path)
        explanation = engine.explained(name)
        if not above:
            yield (
                path,
                NOTE.format(f" from {shipped.file(engines.HERE, name).relative_to(ROOT)}")
                + page.render(explanation, _from(path)),
            )
        else:
            yield path, above + BREAK + "\n" + page.parts(explanation, _from(path), level=2)
    rows = tuple(
        (reference("engine", engine.slug(name)), _purpose(name), engine.explained(name).summary)
        for name in engine.modules()
    )
    lines = ["# Engines and trainers", "", ENGINES_INTRODUCTION, "", *page.table(("name", "for", "reads"), rows)]
    text = page.linked("\n".join(lines) + "\n", _from("docs/engines/README.md"))
    yield "docs/engines/README.md", NOTE.format(" from gpulint/engines") + text


ENGINES_INTRODUCTION = """\
How a program is started says what it will do: its arguments, its variables, its image. The pages of inference
engines begin with what was found out about the engine by hand; [trainers.md](trainers.md) is that of all trainers.
Tables behind it list the arguments by release, the defaults, and the terms of memory."""


def _purpose(name: str) -> str:
    return str(getattr(engines.modules()[name], "PURPOSE", "inference"))


def _by_hand(path: str) -> str:
    """What stands above the generated part of a page; empty where all of it is generated."""
    file = ROOT / path
    text = file.read_text(encoding="utf-8") if file.is_file() else ""
    return "" if text.startswith(NOTE[:12]) else text.partition(BREAK)[0]


# ---- commands


def commands() -> str:
    """The reference of the command line, from the commands themselves."""
    listed = tuple(every_command())
    rows = tuple((f"[`{' '.join(words)}`](#{'-'.join(words)})", _first(one)) for words, one in listed)
    lines = ["# The command line", "", _told(cli.main), "", COMMANDS_INTRODUCTION, ""]
    lines += [*page.table(("command", "does"), rows)]
    for words, one in listed:
        lines += ["", f"## {' '.join(words)}", "", *_usage(words, one)]
    return NOTE.format(" from gpulint/cli") + "\n".join(lines) + "\n"


COMMANDS_INTRODUCTION = """\
`gpulint --version` shows the version, `-h` or `--help` behind any command what stands here. Exit codes: 0 clean, 1
findings at or above `--fail-on`, 2 a wrong option, rule or settings file, 3 a fault of gpulint itself."""


def every_command() -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command, and every command of a command, by its words."""
    yield from _commands(cli.main, click.Context(cli.main, info_name="gpulint"), ())


def _commands(
    group: click.Group, context: click.Context, above: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    for word in group.list_commands(context):
        one = group.get_command(context, word)
        assert one is not None
        yield (*above, word), one
        if isinstance(one, click.Group):
            yield from _commands(one, click.Context(one, parent=context, info_name=word), (*above, word))


def _usage(words: tuple[str, ...], one: click.Command) -> Iterator[str]:
    arguments = (_argument(each) for each in one.params if isinstance(each, click.Argument))
    options = tuple(_option(each) for each in one.params if isinstance(each, click.Option))
    commands_ = ("COMMAND …",) if isinstance(one, click.Group) else ()
    written = " ".join(("gpulint", *words, *(["[OPTIONS]"] if options else []), *commands_, *arguments))
    yield from ("```text", written, "```", "", _told(one))
    if options:
        yield from ("", *page.table(("option", "meaning", "default"), options))


def _told(one: click.Command) -> str:
    """The help of a command; what it shows as written is quoted."""
    blocks = (one.help or "").strip().split("\n\n")
    return "\n\n".join(
        f"```text{block.removeprefix(chr(8))}\n```" if block.startswith("\b") else " ".join(block.split())
        for block in blocks
    )


def _first(one: click.Command) -> str:
    return " ".join((one.help or "").strip().partition("\n\n")[0].split())


def _argument(argument: click.Argument) -> str:
    words = _values(argument.type) or argument.metavar or (argument.name or "").upper()
    several = "…" if argument.nargs == -1 else ""
    return f"{words}{several}" if argument.required else f"[{words}{several}]"


def _option(option: click.Option) -> tuple[str, str, str]:
    """The spellings of an option, its help and its default, which some state at the end of their help."""
    shown = ", ".join(f"`{word}`" for word in (*option.opts, *option.secondary_opts))
    value = option.metavar or _values(option.type) or option.type.name.upper()
    told, _, default = (option.help or "").partition("  [default: ")
    if option.show_default and isinstance(option.default, str | int | float):
        default = str(option.default)
    several = " Repeatable." if option.multiple and "repeatable" not in told else ""
    return shown if option.is_flag else f"{shown} `{value}`", told + several, default.rstrip("]")


def _values(kind: click.ParamType) -> str:
    return "|".join(map(str, kind.choices)) if isinstance(kind, click.Choice) else ""


# ---- links


def _from(path: str) -> page.Link:
    """Links from one page to that of a name."""

    def link(noun: str, name: str) -> str:
        target = place(noun, name)
        if not target:
            return ""
        file, _, anchor = target.partition("#")
        near = "" if file == path else posixpath.relpath(file, posixpath.dirname(path))
        return near + (f"#{anchor}" if anchor else "")

    return link


def place(noun: str, name: str) -> str:
    """The page, and the place in it, that explains a name."""
    if noun == "fact":
        return f"docs/facts/{topic(name)}.md#{name}" if name in glossary() else ""
    if noun == "rule":
        return f"docs/rules/{name}.md" if name in rule.shipped_rules() else ""
    if noun == "adapter":
        return f"docs/adapters/{name}.md" if name in adapter.names() else ""
    if noun == "family":
        return f"docs/rules/README.md#{name}"
    if noun == "page":
        return f"docs/{name}.md"
    own = engine.named(name)
    return f"docs/engines/{engine.slug(own)}.md" if own else ""
