"""What the package carries beside code: glossary, rules and schemas, from the built index or from the source tree."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpulint.documents import Document

OF_CONCERN = b"\n# gpulint\n"
"""A comment that makes the reader read a file that names no GPU."""
PACKAGE = Path(__file__).parent


def folder(name: str) -> Path:
    """A folder of shipped data: inside an installed package, else beside it in a source tree."""
    inside = PACKAGE / name
    return inside if inside.is_dir() else PACKAGE.parent / name


@functools.cache
def index() -> Mapping[str, object] | None:
    """The index the build wrote; None in a source tree, which reads the YAML."""
    file = PACKAGE / "index.json"
    if not file.is_file():
        return None
    built: Mapping[str, object] = json.loads(file.read_bytes())
    return built


@functools.cache
def glossary() -> Mapping[str, Mapping[str, object]]:
    """The rows of glossary.yaml by name."""
    built = index()
    return built["glossary"] if built else read_yaml(PACKAGE / "glossary.yaml")  # type: ignore[return-value]


def read_yaml(path: Path) -> object:
    """The data of one YAML file of ours."""
    return document(path).data


def document(path: Path) -> Document:
    """The one document of a YAML file of ours, or of a team's that was held against its contract."""
    from gpulint import documents

    content = path.read_bytes()
    loaded = documents.load(path.name, content)
    if not loaded.documents:
        loaded = documents.load(path.name, content + OF_CONCERN)
    if loaded.problems or len(loaded.documents) != 1:
        raise ValueError(f"{path}: {'; '.join(problem.message for problem in loaded.problems) or 'not one document'}")
    return loaded.documents[0]


def built(rules: Path) -> Mapping[str, object]:
    """The index: the glossary, the rules without their examples, and when a module need be imported."""
    rows = []
    for path in sorted(rules.rglob("*.yaml")):
        data = read_yaml(path)
        if not isinstance(data, dict):
            raise ValueError(f"{path}: a rule is a mapping")
        kept = {key: value for key, value in data.items() if key != "examples"}
        rows.append({"name": path.stem, "family": path.parent.name, **kept})
    declarations = {
        package: {name: _declared(PACKAGE / package, name) for name in ("MENTIONS", "READS")}
        for package in ("adapters", "engines")
    }
    functions = {package: _functions(PACKAGE / package) for package in ("sizing", "reports")}
    return {
        "glossary": read_yaml(PACKAGE / "glossary.yaml"),
        "rules": rows,
        "declared": declarations,
        "functions": functions,
    }


@functools.cache
def mentions(package: Path) -> Mapping[str, tuple[str, ...]]:
    """The modules of a package that say, in a line of their own, which words must occur before they need be imported."""
    return declared(package, "MENTIONS")


@functools.cache
def declared(package: Path, name: str) -> Mapping[str, tuple[str, ...]]:
    """The words that modules of a package give a name in a line of their own, without importing them."""
    if index():
        kept: Mapping[str, list[str]] = index()["declared"][package.name][name]  # type: ignore[index]
        return {stem: tuple(words) for stem, words in kept.items()}
    return _declared(package, name)


def functions(package: Path) -> Mapping[str, tuple[str, ...]]:
    """The public functions of each module of a package, without importing them."""
    built = index()
    return built["functions"][package.name] if built else _functions(package)  # type: ignore[index]


def _functions(package: Path) -> Mapping[str, tuple[str, ...]]:
    public = re.compile(r"^def ([a-z]\w*)\(", re.MULTILINE)
    return {file.stem: tuple(public.findall(text)) for file, text in _texts(package)}


def _declared(package: Path, name: str) -> Mapping[str, tuple[str, ...]]:
    import ast

    stated = re.compile(rf"^{name} = (\(.+\))$", re.MULTILINE)
    found = ((file.stem, stated.search(text)) for file, text in _texts(package))
    return {stem: ast.literal_eval(line[1]) for stem, line in found if line}


@functools.cache
def _texts(package: Path) -> tuple[tuple[Path, str], ...]:
    return tuple((file, file.read_text(encoding="utf-8")) for file in sorted(package.glob("*.py")))
