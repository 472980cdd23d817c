"""Rule file: a team's rule as it is written, and each mistake in it in one line: its place, what is wrong, what to write."""

from __future__ import annotations

import difflib
import re
import string
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pydantic

from gpulint.catalog.package_data import OF_CONCERN
from gpulint.facts.glossary import Quantity, glossary
from gpulint.policy.config import schema
from gpulint.policy.config.settings import FILE as SETTINGS
from gpulint.policy.rules import cel, rule
from gpulint.policy.rules import condition_diagnostics as condition
from gpulint.policy.rules import document_rules as objects
from gpulint.policy.rules.rule import Rule, RuleError
from gpulint.report.model import Location
from gpulint.source import documents
from gpulint.source.documents import Document

SUFFIXES = (".yaml", ".yml")
PURPOSES = ("inference", "training", "unknown")
NEW = "`gpulint rule new NAME` writes a whole file"
MEANT: Mapping[str, str] = {
    **dict.fromkeys(("condition", "expression", "if", "cel", "match", "expr"), "when"),
    **dict.fromkeys(("description", "title"), "summary"),
    **dict.fromkeys(("level", "priority"), "severity"),
    **dict.fromkeys(("scope", "kind", "engine", "target", "resource"), "for"),
    **dict.fromkeys(("bad", "good", "tests", "samples"), "examples"),
    **dict.fromkeys(("reason", "rationale"), "why"),
    **dict.fromkeys(("links", "docs", "url"), "references"),
    **dict.fromkeys(("fix", "suggestion"), "change"),
}
"""Keys of other tools and of other places, and ours."""
ELSEWHERE: Mapping[str, str] = {
    **dict.fromkeys(("name", "id"), "the file's name is the rule's name"),
    **dict.fromkeys(("family", "category", "group"), "the folder's name is the rule's family"),
}
PURPOSE: Mapping[str, str] = {
    "summary": "what is wrong, in one line",
    "severity": "error, warning or note",
    "for": "{scope: workload}, or {scope: document, kind: Deployment}",
    "why": "what happens to the user",
    "when": "the condition, in CEL",
    "message": "what is said, with facts in braces",
    "scope": "workload, document, repository or facility",
    "examples": f"samples that show what is found and what is not; {NEW}",
    "bad": "samples that the rule finds, the line marked `# <- here`",
    "good": "samples that it lets pass",
}
BEGINS = re.compile(
    r"\s*(message|why|summary|when|instead|against|gives_up):\s+([{!&*%@`\[]|['\"](?=[^'\"]*['\"]\s*[^\s#]))"
)
HOMES = {
    "document": ("document",),
    "repository": ("repository",),
    "policy": ("workload", "repository", "facility"),
    "accelerator": ("workload", "facility"),
}
"""The scopes in which facts are known, by who supplies them; all others are those of a workload."""
UNIONS = ("str", "list[str]")
TYPES = {"string_type": "a text", "list_type": "a list", "tuple_type": "a list", "bool_type": "true or false"}


def files(folder: Path) -> Iterator[Path]:
    """The rule files of a folder and of those below it, by name; a link among them is refused."""
    if not folder.is_dir():
        raise RuleError(f"{folder}: no such directory of rules")
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() and (path.suffix in SUFFIXES or path.is_dir()):
            raise RuleError(f"{path}: a symbolic link, which gpulint does not follow")
        if is_one(path.as_posix()) and path.is_file():
            yield path


def is_one(path: str) -> bool:
    """Whether a file of a folder of rules is a rule, by its name."""
    return path.endswith(SUFFIXES) and path.rpartition("/")[2] != SETTINGS


def load(path: Path) -> Rule:
    """The rule of a file; RuleError with a line for each mistake."""
    return read(path, path.read_bytes())


def read(path: Path, content: bytes) -> Rule:
    """The rule that a file's text states; RuleError with a line for each mistake."""
    document = _document(str(path), content)
    try:
        schema.RuleFile.model_validate(document.data)
    except pydantic.ValidationError as error:
        raise RuleError("\n".join(_told(document, error.errors()))) from None
    found = rule.of(path.stem, path.parent.name, document.data, path)
    if mistakes := list(dict.fromkeys(_mistakes(found, document))):
        raise RuleError("\n".join(mistakes))
    return found


def _document(path: str, content: bytes) -> Document:
    """The one document of a rule file, also where it names no GPU."""
    loaded = documents.load(path, content + OF_CONCERN)
    if loaded.problems:
        raise RuleError("\n".join(_at(one.location, _unread(one)) for one in loaded.problems))
    if len(loaded.documents) != 1 or loaded.skips:
        several = "several documents, and a rule is one: the next one is a file of its own"
        empty = f"the file is empty; {NEW}"
        raise RuleError(f"{path}:1:1: {next(iter(loaded.skips), several if loaded.documents else empty)}")
    return loaded.documents[0]


def _unread(problem: documents.Problem) -> str:
    """What keeps YAML from being read, where a text begins with a sign of YAML's own."""
    return (_beginning(problem.location.text) if problem.kind == "invalid-syntax" else "") or problem.message


def _beginning(line: str) -> str:
    begins = BEGINS.match(line)
    return (
        f"{begins[1]} begins with `{begins[2]}`, a sign of YAML: put quotation marks around the whole" if begins else ""
    )


# ---- the shape


def _told(document: Document, errors: Iterable[Any]) -> Iterator[str]:
    """A line for each place at which a file is not shaped as a rule."""
    if not isinstance(document.data, dict):
        yield _at(document.locate(()), f"a rule is a mapping of keys such as summary, severity and for; {NEW}")
        return
    by_place = {tuple(one for one in error["loc"] if str(one) not in UNIONS): error for error in reversed(list(errors))}
    meant = {_meant(path) for path, error in by_place.items() if error["type"] == "extra_forbidden"}
    for path, error in sorted(by_place.items(), key=lambda one: [str(part) for part in one[0]]):
        if error["type"] != "missing" or path[-1] not in meant:
            yield _shaped(document, path, error)


def _shaped(document: Document, path: tuple[str | int, ...], error: Mapping[str, Any]) -> str:
    name = ".".join(map(str, path))
    kind, value = error["type"], document.get(path)
    if kind == "extra_forbidden":
        return _at(document.locate(path, key=True), f"unknown key {path[-1]}; {_instead(path)}")
    if kind == "missing" or value is None:
        purpose = PURPOSE.get(str(path[-1]), "it holds nothing")
        return _at(document.locate(path), f"{name} is missing: {purpose}")
    if kind == "literal_error":
        return _at(document.locate(path), f"{name} is {_either(error['ctx']['expected'])}, not {value}")
    if kind == "too_short":
        return _at(document.locate(path), f"{name} holds no sample: {PURPOSE[str(path[-1])]}")
    if kind == "too_long":
        return _at(document.locate(path), f"{name} holds {len(value)} lines; {error['ctx']['max_length']} are printed")  # type: ignore[arg-type]
    return _at(document.locate(path), _typed(document, path, name, value, kind))


def _typed(document: Document, path: tuple[str | int, ...], name: str, value: object, kind: str) -> str:
    """What is wrong with a value of another type, and how it is written."""
    if kind == "list_type":
        several = "\n" in str(value)
        return f"{name} is a list: " + ("begin its first item with `- |`" if several else f"write [{value}]")
    if path[0] == "examples" and isinstance(value, dict | list):
        return f"{name} is data; a sample is a text: begin it with `- |` and indent the spec below"
    if isinstance(value, dict) and isinstance(document.node(path), documents.Node):
        return f"{name} is a text: put quotation marks around one that starts with a brace"
    if kind == "string_type":
        return f"{name} is a text: put quotation marks around {_written(value)}"
    if kind == "model_type":
        return f"{name} is a mapping: {PURPOSE.get(name, 'see `gpulint rule new`')}"
    return f"{name} is {TYPES.get(kind, 'of another type')}"


def _written(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _either(expected: str) -> str:
    """The words that are allowed, as a person lists them."""
    return expected.replace("'", "")


def _instead(path: tuple[str | int, ...]) -> str:
    """Where what an unknown key states has its place."""
    name, meant = str(path[-1]), _meant(path)
    if name in ELSEWHERE:
        return ELSEWHERE[name]
    if name in MEANT and len(path) == 1:
        return f"write {meant}: {PURPOSE[meant]}" if meant in PURPOSE else f"write {meant}"
    return f"did you mean {meant}?" if meant else "a rule has no such key"


def _meant(path: tuple[str | int, ...]) -> str:
    """The key that an unknown one is nearest to."""
    if len(path) == 1 and path[0] in MEANT:
        return MEANT[str(path[0])]
    inner: Mapping[str, type[pydantic.BaseModel]] = {"for": schema.TargetFile, "examples": schema.ExamplesFile}
    model = inner.get(str(path[0]), schema.RuleFile) if len(path) > 1 else schema.RuleFile
    known = [field.alias or name for name, field in model.model_fields.items()]
    return next(iter(difflib.get_close_matches(str(path[-1]), known, n=1)), "")


# ---- what it says


def _mistakes(found: Rule, document: Document) -> Iterator[str]:
    """A line for each name that is no fact, and for a condition that cannot hold."""
    if not found.when.strip():
        yield _at(document.locate(("when",)), _beginning(document.locate(("when",), key=True).text) or "when is empty")
        return
    if astray := list(_targeted(found, document)):
        yield from astray
        return
    about_workloads = found.target.scope != "document"
    for one in condition.mistakes(found.when, about_workloads):
        yield _at(_inside(document, ("when",), one.offset), one.message)
    yield from _printed(found, document)
    if not about_workloads:
        yield from _pointed(found, document)
        return
    stated = {"at": found.at, "change": found.change, "against": (found.against,), "instead": (found.instead,)}
    for key, names in stated.items():
        for index, name in enumerate(names):
            if name and name not in glossary():
                listed = (key, index) if key in ("at", "change") else (key,)
                yield _at(document.locate(listed), _unknown(name))
    if found.only_with and not found.change:
        yield _at(
            document.locate(("only_with",), key=True),
            "nothing is named that an alternative may change (change: [gpus_per_pod])",
        )


def _targeted(found: Rule, document: Document) -> Iterator[str]:
    """Kinds and facts that are never met in a rule of this scope."""
    scope = found.target.scope
    for kind in found.target.kind if scope == "workload" else ():
        if kind not in PURPOSES:
            instead = "for the kind of an object write scope: document, or compare the fact task"
            yield _at(
                document.locate(("for", "kind")), f"a workload's kind is inference or training, not {kind}; {instead}"
            )
    for name in cel.names(found.when):
        home = _home(glossary()[name])
        if scope not in home:
            message = f"{name} is not known to a rule about a {scope}; write scope: {home[0]}"
            yield _at(document.locate(("for", "scope")), message)


def _home(quantity: Quantity) -> tuple[str, ...]:
    """The scopes in which a fact is known."""
    if quantity.part:
        return ("workload", "facility") if quantity.of == "pod" else ("facility",)
    return HOMES.get(quantity.of, ("workload",))


def _printed(found: Rule, document: Document) -> Iterator[str]:
    """Placeholders that name no fact, and braces that do not close."""
    lines: list[tuple[tuple[str | int, ...], str]] = [(("message",), found.message)]
    lines += [(("arithmetic", index), line) for index, line in enumerate(found.arithmetic)]
    for path, text in lines:
        try:
            names = rule.placeholders(text)
        except ValueError:
            yield _at(
                document.locate(path), "a brace is not closed: a fact stands as {gpus_per_pod}, a brace itself as {{"
            )
            continue
        for one in names:
            if said := _unprintable(one, found):
                yield _at(_inside(document, path, max(text.find("{" + one), 0)), said)
        for _, shown, layout, conversion in string.Formatter().parse(text):
            if shown in glossary() and (layout or conversion):
                yield _at(document.locate(path), f"a fact is printed with its own unit: write {{{shown}}} alone")


def _unprintable(name: str, found: Rule) -> str:
    """Why a message cannot print what stands in its braces."""
    if found.target.scope != "document":
        return "" if name in glossary() else _unknown(name)
    if objects.path_of(name) is not None or (not objects.about(found) and name in glossary()):
        return ""
    return f"{{{name}}}: a rule about documents prints parts of its object: write {{object.spec.replicas}}"


def _pointed(found: Rule, document: Document) -> Iterator[str]:
    """Places of a rule about documents that are no parts of its object."""
    for index, name in enumerate(found.at):
        if objects.path_of(name) is None:
            said = f"{name}: a rule about documents points at parts of its object: write object.spec.replicas"
            yield _at(document.locate(("at", index)), said)


def _unknown(name: str) -> str:
    if not name:
        return "empty braces name no fact: write {gpus_per_pod}"
    if not re.fullmatch(r"[A-Za-z_]\w*", name):
        return f"{{{name}}} is more than the name of a fact, and nothing else is filled in"
    return f"no fact is called {name}" + (condition.nearest(name) or "; `gpulint facts WORD` lists them")


def _inside(document: Document, path: tuple[str | int, ...], offset: int) -> Location:
    return document.locate(path, span=(offset, offset + 1))


def _at(location: Location, message: str) -> str:
    return f"{location.path}:{location.line}:{location.column}: {message}"
