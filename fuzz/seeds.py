"""Seeds: our own specs, collected at run time, each with the adapter and the engines that it reaches."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
LONGEST = 20_000
FOLDERS = ("examples", "formats", "tests/data/rooms", "bench/mis_sized")
MARKS = (
    "apiVersion:",
    "#SBATCH",
    "#!/",
    'resource "',
    "[model]",
    "resources:",
    "services:",
    "args:",
    "model",
    "nodes:",
)
"""Words by which a text in a test is a spec."""


class Seed(NamedTuple):
    """A spec: its path, which decides its format, and its content."""

    path: str
    content: bytes


@functools.cache
def collect() -> tuple[Seed, ...]:
    """Return every spec of the examples, formats, rules and tests, each content once."""
    found = {
        seed.content: seed for seed in (*_files(), *_rule_examples(), *_test_texts()) if len(seed.content) < LONGEST
    }
    return tuple(found.values())


def _files() -> Iterator[Seed]:
    for folder in FOLDERS:
        for place in sorted((ROOT / folder).rglob("*")):
            if place.is_file():
                yield Seed(place.name, place.read_bytes())


def _rule_examples() -> Iterator[Seed]:
    from gpulint.pipeline.rule_tests import samples
    from gpulint.policy.rules import rule

    for known in rule.load_shipped().values():
        for side in rule.load_examples(known).values():
            for text in side:
                yield from (Seed(file.path, file.text.encode()) for file in samples.split_files(str(text)))


def _test_texts() -> Iterator[Seed]:
    """Yield the texts of tests that look like specs."""
    from gpulint.pipeline.rule_tests import samples

    for place in sorted((ROOT / "tests").rglob("test_*.py")):
        for node in ast.walk(ast.parse(place.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and "\n" in node.value:
                text = node.value.lstrip("\n")
                if any(mark in text for mark in MARKS):
                    yield Seed(_guess_path(text, samples.find_path(text)), text.encode("utf-8", "replace"))


def _guess_path(text: str, named: str) -> str:
    if text.startswith("#!") or "#SBATCH" in text:
        return "run.sh"
    if 'resource "' in text or 'module "' in text:
        return "main.tf"
    if text.startswith("[") and "=" in text:
        return "config.toml"
    return "spec.json" if text.startswith("{") else named


@functools.cache
def find_adapters() -> dict[str, list[Seed]]:
    """Return the seeds that each adapter claims."""
    from gpulint import adapters
    from gpulint.source import documents

    found: dict[str, list[Seed]] = {}
    for seed in collect():
        for document in documents.load(seed.path, seed.content).documents:
            adapter = adapters.find_adapter(document)
            if adapter is not None:
                found.setdefault(adapters.name(adapter), []).append(seed)
    return found


@functools.cache
def find_engines() -> dict[str, list[Seed]]:
    """Return the seeds whose workloads run each engine."""
    from gpulint import adapters
    from gpulint.pipeline.rule_tests.samples import ExampleRepository
    from gpulint.source import documents

    found: dict[str, list[Seed]] = {}
    for seed in collect():
        for document in documents.load(seed.path, seed.content).documents:
            for workload in adapters.read(document, ExampleRepository()):
                for role in workload.roles:
                    engine = role.value("engine")
                    if isinstance(engine, str):
                        found.setdefault(engine, []).append(seed)
    return found


@functools.cache
def collect_words() -> tuple[bytes, ...]:
    """Return the dictionary: trigger words, mentions, the arguments of engines and the quantities of the glossary."""
    from gpulint.catalog import package_data
    from gpulint.facts.glossary import glossary

    words = set(package_data.trigger_words()) | set(glossary())
    for table in sorted((ROOT / "gpulint" / "engines").rglob("*.csv")):
        lines = table.read_text(encoding="utf-8").splitlines()[1:]
        words |= {line.split(",")[0] for line in lines if line[:1].isalpha() or line.startswith("-")}
    return tuple(sorted(word.encode() for word in words if 1 < len(word) < 60))
