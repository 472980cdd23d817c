"""The pages that are written by hand name what is there, and every name has an explanation."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
import samples

from gpulint import adapters, cli, engines
from gpulint.catalog import package_data
from gpulint.cli import explain
from gpulint.cli.explain import command_line_page, fact, page, seen, terminal
from gpulint.cli.explain.parts import Code, Explanation, Listing, Table, Text
from gpulint.facts.glossary import glossary
from gpulint.policy.config import schema
from gpulint.policy.rules import rule
from gpulint.source import documents

ROOT = Path(__file__).parent.parent
WRITTEN = sorted(
    path
    for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("bench/**/*.md"))
    if path.relative_to(ROOT).as_posix() != "CLAUDE.md"
)
LINK = re.compile(r"(?<!!)\[[^\]]*\]\((?P<target>[^)\s]+)\)")
FENCE = re.compile(r"^ *```(?P<language>\w*)\n(?P<text>.*?)^ *```$", re.MULTILINE | re.DOTALL)
QUOTED = re.compile(r"`[^`\n]*`")
HEADING = re.compile(r"^#{1,6} +(?P<title>.+?) *$", re.MULTILINE)
IN_AN_SDIST = not (ROOT / "bench").exists()
"""An sdist leaves whole folders out."""


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def in_groups() -> Iterator[tuple[str, list[Path]]]:
    """The pages of each folder together."""
    yield from ((named(folder), list(group)) for folder, group in itertools.groupby(WRITTEN, lambda path: path.parent))


every_folder = pytest.mark.parametrize(
    "paths", [paths for _, paths in in_groups()], ids=[name for name, _ in in_groups()]
)


# ---- the small file of each format


every_adapter = pytest.mark.parametrize("name", package_data.list_mentions(adapters.HERE))
HOLD_NO_WORKLOAD = frozenset(
    (
        "cluster_toolkit",
        "chart_yaml",
        "kustomize",
        "non_workloads",
        "mig_parted",
        "parallel_cluster",
        "slurm_conf",
        "terraform",
    )
)


@every_adapter
def test_the_small_file_of_a_format_is_read_by_its_adapter_and_has_no_finding(name: str) -> None:
    text = seen.find_sample(name)
    path = seen.render_path(name, text)
    report = samples.report(text, path)
    claiming = [adapters.find_adapter(document) for document in documents.load(path, text.encode()).documents]
    assert {adapters.name(one) for one in claiming if one} == {name}
    assert [workload.adapter for workload in report.workloads] == [] if name in HOLD_NO_WORKLOAD else [name]
    assert [finding.rule for finding in report.open] == []


def test_every_small_file_is_of_an_adapter() -> None:
    assert {file.stem for file in package_data.find_folder("formats").iterdir()} == set(
        package_data.list_mentions(adapters.HERE)
    )


def test_an_adapter_shows_the_key_of_the_file_where_a_chart_or_an_operator_makes_something_else_of_it() -> None:
    assert "pods_per_replica" in seen.list_locations("kubernetes")["spec.leaderWorkerTemplate.size"]
    assert "gpus_per_pod" in seen.list_locations("helm_values")["servingEngineSpec.modelSpec[].requestGPU"]
    assert "checkpoint" in seen.list_locations("kserve")["spec.predictor.model.storageUri"]
    assert "gpus_per_pod" in seen.list_locations("scripts")["#SBATCH --gpus-per-node"]


# ---- what pages name


@every_folder
def test_no_link_is_broken(paths: list[Path]) -> None:
    links = ((path, target) for path in paths for target in dict.fromkeys(_links(path)))
    assert [(named(path), target) for path, target in links if not _leads_somewhere(path, target)] == []


def _links(path: Path) -> Iterator[str]:
    prose = QUOTED.sub("", FENCE.sub("", path.read_text(encoding="utf-8")))
    yield from (found["target"] for found in LINK.finditer(prose))


def _leads_somewhere(path: Path, target: str) -> bool:
    """Whether a relative link leads to a file or folder of ours, and its anchor to a heading there."""
    if re.match(r"[a-z]+:", target):
        return True
    file, _, anchor = target.partition("#")
    there = (path.parent / file).resolve() if file else path
    if not there.exists():
        return IN_AN_SDIST and not (ROOT / there.relative_to(ROOT).parts[0]).exists()
    return not anchor or anchor in _anchors(there)


@functools.cache
def _anchors(path: Path) -> frozenset[str]:
    """The anchors that GitHub gives the headings of a page."""
    text = FENCE.sub("", path.read_text(encoding="utf-8"))
    slugs = (re.sub(r"[^\w\- ]", "", found["title"].lower()).replace(" ", "-") for found in HEADING.finditer(text))
    seen: dict[str, int] = {}
    anchors = []
    for slug in slugs:
        seen[slug] = seen.get(slug, -1) + 1
        anchors.append(f"{slug}-{seen[slug]}" if seen[slug] else slug)
    return frozenset(anchors)


def test_every_page_is_reached_from_the_index() -> None:
    reached: set[Path] = set()
    ahead = [ROOT / "docs" / "README.md"]
    while ahead:
        path = ahead.pop()
        if path in reached or path.suffix != ".md" or not path.is_file():
            continue
        reached.add(path)
        ahead += [(path.parent / target.partition("#")[0]).resolve() for target in _links(path) if ":" not in target]
    assert [named(path) for path in WRITTEN if (ROOT / "docs") in path.parents and path not in reached] == []


@every_folder
def test_every_command_and_option_that_a_page_shows_is_there(paths: list[Path]) -> None:
    shown = ((path, line) for path in paths for line in _shown(path.read_text(encoding="utf-8")))
    assert [(named(path), line) for path, line in shown if _wrong(line)] == []


def _shown(text: str) -> Iterator[str]:
    """The lines of shell blocks that call gpulint, and what prose quotes of it."""
    for block in FENCE.finditer(text):
        if block["language"] in ("sh", "console", "bash", "shell"):
            joined = block["text"].replace("\\\n", " ")
            yield from re.findall(r"(?:^|[ /;&|(])(gpulint [^\n|;&)]*)", _typed(joined, block["language"]))
    yield from (found[1:-1] for found in QUOTED.findall(FENCE.sub("", text)) if found.startswith("`gpulint "))


def _typed(text: str, language: str) -> str:
    """What is typed in a block: of a transcript, the lines behind the prompt."""
    if language != "console":
        return text
    return "\n".join(line[2:] for line in text.splitlines() if line.startswith("$ "))


def _wrong(line: str) -> str:
    """What of a call of gpulint is neither a command nor an option; empty where all of it is."""
    words = shlex.split(line.replace("…", ""), comments=True)[1:]
    command: click.Command = cli.main
    for word in words:
        option, _, _ = word.partition("=")
        if word.startswith("--") or (word.startswith("-") and len(word) == 2):
            if option not in _options(command):
                return word
        elif isinstance(command, click.Group) and word.isidentifier() and word.islower():
            found = command.get_command(click.Context(command), word)
            if found is None:
                return word
            command = found
    return ""


def _options(command: click.Command) -> frozenset[str]:
    own = (option for option in command.params if isinstance(option, click.Option))
    return frozenset({"-h", "--help", *(word for one in own for word in (*one.opts, *one.secondary_opts))})


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("gpulint check --format json spec.yaml", ""),
        ("gpulint explain weights-exceed-memory", ""),
        ("gpulint check -h", ""),
        ("gpulint chekc .", "chekc"),
        ("gpulint check --formatt json", "--formatt"),
        ("gpulint rules --format json", "--format"),
    ],
)
def test_what_is_wrong_with_a_call(line: str, wrong: str) -> None:
    assert _wrong(line) == wrong


def test_every_policy_that_a_page_shows_is_one() -> None:
    """A block of YAML that is neither an object nor a rule, and has a key of gpulint.yaml."""
    keys = {field.alias or name for name, field in schema.PolicyFile.model_fields.items()}
    shown = [
        (named(path), data)
        for path in WRITTEN
        for block in FENCE.finditer(path.read_text(encoding="utf-8"))
        if block["language"] == "yaml"
        for document in documents.load("gpulint.yaml", block["text"].encode()).documents
        if isinstance(data := document.data, dict) and keys & data.keys() and not {"apiVersion", "when"} & data.keys()
    ]
    assert len(shown) >= 8
    for path, data in shown:
        assert schema.PolicyFile.model_validate(data), path


# ---- what is missing at the source


def test_every_fact_says_what_it_is() -> None:
    assert [one.name for one in glossary().values() if not one.meaning] == []


def test_what_a_fact_means_is_said_without_the_row_above() -> None:
    leaning = re.compile(r"(?:the same|those|that|its|what it)\b")
    assert [one.name for one in glossary().values() if leaning.match(one.meaning)] == []


def test_it_is_said_in_words_who_supplies_each_fact_and_in_what_unit() -> None:
    assert {one.of for one in glossary().values()} <= set(fact.SUPPLIED)
    assert [one.name for one in glossary().values() if "_" in fact.render_unit(one)] == []


def test_every_command_and_option_says_what_it_does() -> None:
    listed = tuple(command_line_page.list_commands())
    silent = [
        (*words, option.opts[0])
        for words, one in listed
        for option in one.params
        if isinstance(option, click.Option) and not option.help
    ]
    assert [words for words, one in listed if not one.help] == []
    assert silent == []


def test_every_formula_has_a_worked_example_and_a_source() -> None:
    told = {name: fact.list_formulas(name) for name in glossary()}
    texts = ((name, formula.__doc__ or "") for name, found in told.items() for formula in found.values())
    assert [name for name, text in texts if not all(word in text for word in (">>>", "Source"))] == []


def test_every_adapter_and_engine_says_what_it_reads() -> None:
    known = tuple(rule.load_shipped().values())
    names = [*package_data.list_mentions(adapters.HERE), *package_data.list_mentions(engines.HERE)]
    short = [one.name for name in names for one in explain.explain(name, known) if len(one.summary.split()) < 4]
    assert short == []


# ---- one source, two renderers

EVERY_PART = Explanation(
    "chat",
    "fact",
    "What is said.",
    (("", "text"), ("about", "services")),
    (
        Text("It rests on `fact:layers` and `this`."),
        Code("Formula", "chat = 2\n  · layers", "text"),
        Listing("Words", ("`one`", "two")),
        Table("Rows", ("name", "means"), (("`fact:layers`", "a | b"),)),
        Table("Long", ("name",), (("x",),), page_only=True),
    ),
)


def test_a_terminal_shows_an_explanation_as_plain_text() -> None:
    assert terminal.render(EVERY_PART) == (
        "chat (text, about services)\n\nWhat is said.\n\nIt rests on layers and this.\n\n"
        "Formula\n  chat = 2\n    · layers\n\nWords\n  one\n  two\n\nRows\n  layers  a | b"
    )


def test_a_page_shows_the_same_with_links() -> None:
    assert page.render(EVERY_PART, lambda noun, name: f"{noun}.md#{name}") == (
        "# chat\n\nWhat is said.\n\ntext · about services\n\nIt rests on [`layers`](fact.md#layers) and `this`.\n\n"
        "## Formula\n\n```text\nchat = 2\n  · layers\n```\n\n## Words\n\n- `one`\n- two\n\n"
        "## Rows\n\n| name | means |\n|---|---|\n| [`layers`](fact.md#layers) | a \\| b |\n\n"
        "## Long\n\n| name |\n|---|\n| x |\n"
    )


def test_a_name_with_several_meanings_is_explained_in_each() -> None:
    nouns = [one.noun for one in explain.explain("nim", ())]
    assert nouns == ["adapter", "engine"]


def test_a_rule_in_preview_is_marked_so() -> None:
    one = rule.load_shipped()["weights-exceed-memory"]
    (shown,) = explain.explain(one.name, [dataclasses.replace(one, status="preview")])
    assert dict(shown.marks)[""] == "error, preview"


def test_every_name_that_is_offered_is_explained() -> None:
    known = tuple(rule.load_shipped().values())
    offered = itertools.islice(explain.list_names(known), 0, None, 25)
    assert [name for name in offered if not list(explain.explain(name, known))] == []
