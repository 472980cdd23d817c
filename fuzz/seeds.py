"""Seeds: our own specs, collected at run time, each with the adapter and the engines that it reaches."""

from __future__ import annotations

import ast
import functools
import textwrap
from collections.abc import Iterable, Iterator
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
    from gpulint.pipeline.rule_tests import samples
    from gpulint.source import documents

    for folder in FOLDERS:
        for place in sorted((ROOT / folder).rglob("*")):
            if place.is_file():
                content = place.read_bytes()
                named = (
                    place.name
                    if documents.is_read(place.name) or documents.is_program(place.name)
                    else samples.find_path(content.decode("utf-8", "replace"))
                )
                yield Seed(named, content)


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


def list_texts(place: Path) -> Iterator[str]:
    """Yield the texts of several lines in a Python file, without their common indent."""
    for node in ast.walk(ast.parse(place.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "\n" in node.value:
            yield textwrap.dedent(node.value)


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
def find_commands() -> tuple[bytes, ...]:
    """Return the image and the words of each container and of each command of the seeds and of the engines' tests."""
    from gpulint.source import documents

    found: list[bytes] = []
    for seed in (*collect(), *_engine_texts()):
        for document in documents.load(seed.path, seed.content).documents:
            found += _read_commands(document.text) if document.format == "shell" else _list_containers(document.data)
    return tuple(dict.fromkeys(found))


def _engine_texts() -> Iterator[Seed]:
    """Yield the containers in the tests of engines, which state only some lines of one."""
    for place in sorted((ROOT / "tests" / "engines").rglob("test_*.py")):
        for node in ast.walk(ast.parse(place.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Constant)
                and isinstance(node.value, str)
                and ("image:" in node.value or "command:" in node.value)
            ):
                yield Seed("spec.yaml", node.value.encode("utf-8", "replace"))


def _read_commands(text: str) -> list[bytes]:
    from gpulint.source import shell

    return [_join(("", *(word.text_with_holes for word in command.words))) for command in shell.read_commands(text)]


def _list_containers(value: object) -> list[bytes]:
    if isinstance(value, list):
        return [line for item in value for line in _list_containers(item)]
    if not isinstance(value, dict):
        return []
    words = [word for key in ("command", "args") if isinstance(value.get(key), list) for word in value[key]]
    own = [_join((value.get("image", ""), *words))] if words else []
    return own + [line for item in value.values() for line in _list_containers(item)]


def _join(words: Iterable[object]) -> bytes:
    return "\n".join(map(str, words)).encode("utf-8", "replace")


@functools.cache
def find_engines() -> dict[str, list[bytes]]:
    """Return the commands that mention each engine, and one of its mentions with each of its arguments."""
    from gpulint import engines
    from gpulint.catalog import package_data

    found: dict[str, list[bytes]] = {}
    for name, mentions in package_data.list_mentions(engines.HERE).items():
        own = [command for command in find_commands() if any(word.encode() in command for word in mentions)]
        flags = [flag for table in engines.HERE.rglob(f"{name}*_flags.csv") for flag in _read_column(table)]
        made = [_join((mentions[0], mentions[0], *(f"{flag}=1" for flag in flags)))]
        found[name] = [*own, *made, *(_join((mentions[0], mentions[0], flag, "1")) for flag in flags)]
    return found


def _read_column(table: Path) -> list[str]:
    """Return the arguments that a table of an engine lists."""
    lines = table.read_text(encoding="utf-8").splitlines()[1:]
    return [line.split(",")[0] for line in lines if line.startswith("-") or line[:1].isalpha()]


@functools.cache
def collect_words() -> tuple[bytes, ...]:
    """Return the dictionary: trigger words, mentions, the arguments of engines and the quantities of the glossary."""
    from gpulint.catalog import package_data
    from gpulint.facts.glossary import glossary

    words = set(package_data.trigger_words()) | set(glossary())
    for table in sorted((ROOT / "gpulint" / "engines").rglob("*.csv")):
        words |= {*_read_column(table)}
    return tuple(sorted(word.encode() for word in words if 1 < len(word) < 60))
