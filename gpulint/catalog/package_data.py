"""Data of the package beside its code: glossary, rules and schemas, read from the built index or the source tree."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpulint.source.documents import Document

PACKAGE = Path(__file__).parent.parent
SEARCHED = ("adapters", "engines")
"""Packages whose modules are imported only where one of their `MENTIONS` occurs."""
DECLARED = ("MENTIONS", "READS", "CLAIMS", "ENGINE")
"""Names to which those modules give words that are read without importing them."""
FINDING_POOLS = "adapters/nodes"
"""The package whose modules find node pools in the files that they declare."""
TRIGGERING = (*SEARCHED, "catalog")
"""Packages whose modules declare the words that make a file worth reading."""


def find_folder(name: str) -> Path:
    """Return a folder of shipped data: inside an installed package, else beside it in a source tree."""
    inside = PACKAGE / name
    return inside if inside.is_dir() else PACKAGE.parent / name


@functools.cache
def index() -> Mapping[str, object] | None:
    """Return the index that the build wrote; None in a source tree, which reads the YAML."""
    file = PACKAGE / "index.json"
    if not file.is_file():
        return None
    built: Mapping[str, object] = json.loads(file.read_bytes())
    return built


@functools.cache
def load_glossary() -> Mapping[str, Mapping[str, object]]:
    """Return the rows of the glossary by name: those of its topics and those of formulas."""
    built = index()
    return built["glossary"] if built else _merge_glossary()  # type: ignore[return-value]


def _merge_glossary() -> Mapping[str, Mapping[str, object]]:
    from gpulint.catalog import axes, quantity_rows

    topics = (read_yaml(path) for path in sorted((PACKAGE / "facts" / "glossary").glob("*.yaml")))
    package = PACKAGE / "sizing"
    texts = {name_module(file, package): text for file, text in _texts(package)}
    modules = {
        name: text for name, text in texts.items() if name == axes.MODULE or not name.rpartition(".")[2].startswith("_")
    }
    return quantity_rows.merge(topics, modules)  # type: ignore[arg-type]


def read_yaml(path: Path) -> object:
    """Return the data of a YAML file of the package."""
    return load_document(path).data


def load_document(path: Path) -> Document:
    """Return the document of a YAML file of the package, or of a team's file that fits its schema."""
    from gpulint.source import documents

    loaded = documents.load(path.name, path.read_bytes())
    if loaded.problems or len(loaded.documents) != 1:
        raise ValueError(f"{path}: {'; '.join(problem.message for problem in loaded.problems) or 'not one document'}")
    return loaded.documents[0]


def list_built(rules: Path) -> Mapping[str, object]:
    """Return the index: the glossary, the rules without examples, and the words for which a module is imported."""
    rows = []
    for path in sorted(rules.rglob("*.yaml")):
        data = read_yaml(path)
        if not isinstance(data, dict):
            raise ValueError(f"{path}: a rule is a mapping")
        kept = {key: value for key, value in data.items() if key != "examples"}
        rows.append({"name": path.stem, "family": path.parent.name, **kept})
    declarations = {
        package: {name: _map_declarations(PACKAGE / package, name) for name in DECLARED} for package in SEARCHED
    }
    declarations[FINDING_POOLS] = {
        name: _map_declarations(PACKAGE / FINDING_POOLS, name) for name in ("FILE_NAMES", "FILE_WORDS")
    }
    functions = {package: _functions(PACKAGE / package) for package in ("sizing", "report/formats", FINDING_POOLS)}
    return {
        "glossary": _merge_glossary(),
        "rules": rows,
        "declared": declarations,
        "functions": functions,
        "modules": {package: _modules(PACKAGE / package) for package in SEARCHED},
        "trigger_words": _trigger_words(),
    }


@functools.cache
def list_mentions(package: Path) -> Mapping[str, tuple[str, ...]]:
    """Return the `MENTIONS` of each module: one of these words must occur in a file before it is imported."""
    return list_declared(package, "MENTIONS")


@functools.cache
def list_declared(package: Path, name: str) -> Mapping[str, tuple[str, ...]]:
    """Return the words of a constant by module, for a package and its folders, without importing the modules."""
    if index():
        kept: Mapping[str, list[str]] = index()["declared"][_key(package)][name]  # type: ignore[index]
        return {stem: tuple(words) for stem, words in kept.items()}
    return _map_declarations(package, name)


@functools.cache
def trigger_words() -> tuple[str, ...]:
    """Return the words of which one makes a file worth reading, in lower case, shortest first."""
    built = index()
    return tuple(built["trigger_words"]) if built else _trigger_words()  # type: ignore[arg-type]


def _trigger_words() -> tuple[str, ...]:
    """Return the words of all modules and the names of GPU resources; a word that contains another one adds nothing."""
    from gpulint.catalog import resource_names

    offered = (resource.name.strip("*") for resource in resource_names.list_resources() if resource.counts != "other")
    stated = (word for listed in trigger_words_by_module().values() for word in listed)
    words = {word.lower() for word in (*offered, *stated)}
    kept = (word for word in words if not any(other in word for other in words - {word}))
    return tuple(sorted(kept, key=lambda word: (len(word), word)))


def trigger_words_by_module() -> Mapping[str, tuple[str, ...]]:
    """Return the trigger words of each module by its dotted name: its `TRIGGERS`, or else its `MENTIONS`.

    A module whose `MENTIONS` also occur in files without GPUs states `TRIGGERS`.
    """
    found: dict[str, tuple[str, ...]] = {}
    for package in TRIGGERING:
        for name in ("MENTIONS", "TRIGGERS"):
            found |= {
                name_module(file, PACKAGE): words for file, words in _find_declarations(PACKAGE / package, name).items()
            }
    return found


@functools.cache
def modules(package: Path) -> Mapping[str, str]:
    """Return the dotted name below the package of each module that declares `MENTIONS`, by its own name."""
    built = index()
    return built["modules"][_key(package)] if built else _modules(package)  # type: ignore[index]


def list_functions(package: Path) -> Mapping[str, tuple[str, ...]]:
    """Return the public functions of each module of a package and its folders, by dotted name, without imports.

    A module whose name begins with `_` has none that count.
    """
    built = index()
    return built["functions"][_key(package)] if built else _functions(package)  # type: ignore[index]


def _key(package: Path) -> str:
    return package.relative_to(PACKAGE).as_posix()


def _functions(package: Path) -> Mapping[str, tuple[str, ...]]:
    public = re.compile(r"^def ([a-z]\w*)\(", re.MULTILINE)
    return {
        name_module(file, package): tuple(public.findall(text))
        for file, text in _texts(package)
        if not file.stem.startswith("_")
    }


def _map_declarations(package: Path, name: str) -> Mapping[str, tuple[str, ...]]:
    found = {
        name_module(file, package).rpartition(".")[2]: words
        for file, words in _find_declarations(package, name).items()
    }
    return {stem: found[stem] for stem in sorted(found)}


@functools.cache
def _find_declarations(package: Path, name: str) -> Mapping[Path, tuple[str, ...]]:
    """Return the words of a constant in each file of a package that assigns it at the beginning of a line."""
    import ast

    stated = re.compile(rf'^{name} = (\([^)]*\)|"[^"\n]*")$', re.MULTILINE)
    found = ((file, stated.search(text)) for file, text in _texts(package))
    words = {file: ast.literal_eval(line[1]) for file, line in found if line}
    return {file: (stated,) if isinstance(stated, str) else stated for file, stated in words.items()}


def _modules(package: Path) -> Mapping[str, str]:
    says = re.compile(r"^MENTIONS = \(", re.MULTILINE)
    declaring = [name_module(file, package) for file, text in _texts(package) if says.search(text)]
    found = {name.rpartition(".")[2]: name for name in declaring}
    if len(found) < len(declaring):
        raise ValueError(f"{package}: two modules that declare MENTIONS have one name")
    return found


def name_module(file: Path, package: Path) -> str:
    """Return the dotted name of a module below a package; for a folder's `__init__`, that of the folder."""
    below = file.relative_to(package).with_suffix("")
    return ".".join(below.parent.parts if below.name == "__init__" else below.parts)


def file(package: Path, name: str) -> Path:
    """Return the file of a module that declares `MENTIONS`, by its own name."""
    path = package.joinpath(*modules(package)[name].split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


@functools.cache
def _texts(package: Path) -> tuple[tuple[Path, str], ...]:
    return tuple((file, file.read_text(encoding="utf-8")) for file in sorted(package.rglob("*.py")))
