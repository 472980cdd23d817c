"""Load a team's rule file. Each mistake is one line with its location and what to write instead."""

from __future__ import annotations

import difflib
import os
import re
import string
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pydantic

from gpulint.catalog import capabilities
from gpulint.facts.glossary import Quantity, glossary
from gpulint.policy import did_you_mean
from gpulint.policy.conditions import cel, condition_diagnostics
from gpulint.policy.config import schema
from gpulint.policy.config.settings import FILE as SETTINGS
from gpulint.policy.rules import document_rules, rule
from gpulint.policy.rules.rule import ALTERNATIVE, Rule, RuleError
from gpulint.report.model import Location
from gpulint.source import documents, os_errors
from gpulint.source.documents import Document

SUFFIXES = (".yaml", ".yml")
PURPOSES = ("inference", "training", "unknown")
NEW = "`gpulint rule new NAME` creates a complete file"
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
"""Keys of other tools, or at the wrong level, and the key to use."""
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
    "message": "the text of the finding, with facts in braces",
    "scope": "workload, document, repository or facility",
    "examples": f"samples with and without the defect; {NEW}",
    "does": "a capability, or a list of them; docs/own_rules.md lists them",
    "bad": "samples with the defect, the line marked `# <- here`",
    "good": "samples without the defect",
}
BEGINS = re.compile(
    r"\s*(message|why|summary|when|instead|against|trade_off):\s+([{!&*%@`\[]|['\"](?=[^'\"]*['\"]\s*[^\s#]))"
)
HOMES = {
    "document": ("document",),
    "repository": ("repository",),
    "policy": ("workload", "repository", "facility"),
    "accelerator": ("workload", "facility"),
}
"""The scopes in which facts are available, by their provider. All other facts are those of a workload."""
UNIONS = ("str", "list[str]", "EngineFile")
TYPES = {"string_type": "a text", "list_type": "a list", "tuple_type": "a list", "bool_type": "true or false"}


def load_folder(folder: Path) -> Iterator[Rule]:
    """Yield a team's own rules; raise RuleError at the first invalid file, with all its mistakes."""
    yield from map(load, find_files(folder))


def find_files(folder: Path) -> Iterator[Path]:
    """Yield the rule files of a folder and its subfolders by name; raise RuleError for a symbolic link."""
    if not folder.is_dir():
        raise RuleError(f"{folder}: no such folder of rules")
    for path in sorted(_list_entries(folder)):
        if path.is_symlink() and (path.suffix in SUFFIXES or path.is_dir()):
            raise RuleError(f"{path}: gpulint does not follow symbolic links")
        if is_rule_file(path.as_posix()) and path.is_file():
            yield path


def _list_entries(folder: Path) -> Iterator[Path]:
    """Yield all that lies below a folder; raise RuleError for a folder that cannot be listed."""

    def refuse(error: OSError) -> None:
        raise RuleError(f"{error.filename}: cannot be read: {os_errors.explain(error)}")

    for place, folders, files in os.walk(folder, onerror=refuse):
        yield from (Path(place, name) for name in (*folders, *files))


def is_rule_file(path: str) -> bool:
    """True if a file in a folder of rules is a rule, judging by its name."""
    return path.endswith(SUFFIXES) and path.rpartition("/")[2] != SETTINGS


def load(path: Path) -> Rule:
    """Return the rule of a file; raise RuleError with a line for each mistake."""
    return read(path, path.read_bytes())


def read(path: Path, content: bytes) -> Rule:
    """Return the rule in a file's text; raise RuleError with a line for each mistake."""
    document = _document(str(path), content)
    try:
        schema.RuleFile.model_validate(document.data)
    except pydantic.ValidationError as error:
        raise RuleError("\n".join(_render_errors(document, error.errors()))) from None
    loaded = rule.parse(path.stem, path.parent.name, document.data, path)
    if mistakes := list(dict.fromkeys(_find_mistakes(loaded, document))):
        raise RuleError("\n".join(mistakes))
    return loaded


def _document(path: str, content: bytes) -> Document:
    """Return the one document of a rule file, even if it names no GPU."""
    loaded = documents.load(path, content)
    if loaded.problems:
        raise RuleError(
            "\n".join(_prefix_location(problem.location, _explain_problem(problem)) for problem in loaded.problems)
        )
    if len(loaded.documents) != 1 or loaded.skips:
        several = "the file has several documents; put each rule in its own file"
        empty = f"the file is empty; {NEW}"
        reasons = [skipped.reason for skipped in loaded.skips]
        raise RuleError(f"{path}:1:1: {next(iter(reasons), several if loaded.documents else empty)}")
    return loaded.documents[0]


def _explain_problem(problem: documents.Problem) -> str:
    """Explain a YAML error, in particular text that begins with a YAML symbol."""
    return (_explain_symbol(problem.location.text) if problem.kind == "invalid-syntax" else "") or problem.message


def _explain_symbol(line: str) -> str:
    begins = BEGINS.match(line)
    return (
        f"{begins[1]} begins with `{begins[2]}`, which has a meaning in YAML; put the whole text in quotation marks"
        if begins
        else ""
    )


# ---- the shape


def _render_errors(document: Document, errors: Iterable[Any]) -> Iterator[str]:
    """Yield a line for each location at which a file does not have the shape of a rule."""
    if not isinstance(document.data, dict):
        yield _prefix_location(
            document.locate(()), f"a rule must be a mapping of keys such as summary, severity and for; {NEW}"
        )
        return
    by_place = {
        tuple(step for step in error["loc"] if str(step) not in UNIONS): error for error in reversed(list(errors))
    }
    meant = {_guess_key(path) for path, error in by_place.items() if error["type"] == "extra_forbidden"}
    for path, error in sorted(by_place.items(), key=lambda item: [str(part) for part in item[0]]):
        is_outer = any(other[: len(path)] == path for other in by_place if other != path)
        if not is_outer and (error["type"] != "missing" or path[-1] not in meant):
            yield _render_error(document, path, error)


def _render_error(document: Document, path: tuple[str | int, ...], error: Mapping[str, Any]) -> str:
    name = ".".join(map(str, path))
    kind, value = error["type"], document.get(path)
    if kind == "extra_forbidden":
        return _prefix_location(document.locate(path, key=True), f"unknown key {path[-1]}; {_suggest_key(path)}")
    if kind == "missing" or value is None:
        purpose = PURPOSE.get(str(path[-1]), "it is empty")
        return _prefix_location(document.locate(path), f"{name} is missing: {purpose}")
    if kind == "literal_error":
        return _prefix_location(
            document.locate(path), f"{name} must be {_list_words(error['ctx']['expected'])}, not {value}"
        )
    if kind == "too_short":
        return _prefix_location(document.locate(path), f"{name} has no sample: {PURPOSE[str(path[-1])]}")
    if kind == "too_long":
        length, most = len(value), error["ctx"]["max_length"]  # type: ignore[arg-type]
        return _prefix_location(document.locate(path), f"{name} has {length} lines; the maximum is {most}")
    return _prefix_location(document.locate(path), _explain_type(document, path, name, value, kind))


def _explain_type(document: Document, path: tuple[str | int, ...], name: str, value: object, kind: str) -> str:
    """Explain a value of the wrong type and how to write it."""
    if kind == "list_type":
        is_multiline = "\n" in str(value)
        return f"{name} must be a list: " + ("begin its first item with `- |`" if is_multiline else f"write [{value}]")
    if path[0] == "examples" and isinstance(value, dict | list):
        return f"{name} must be text, not data: begin it with `- |` and indent the spec below"
    if isinstance(value, dict) and isinstance(document.node(path), documents.Node):
        return f"{name} must be text: put quotation marks around text that starts with a brace"
    if kind == "string_type":
        return f"{name} must be text: put quotation marks around {_render(value)}"
    if kind == "model_type":
        return f"{name} must be a mapping: {PURPOSE.get(name, 'see `gpulint rule new`')}"
    return f"{name} must be {TYPES.get(kind, 'of another type')}"


def _render(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _list_words(expected: str) -> str:
    """Return the allowed words as a readable list."""
    return expected.replace("'", "")


def _suggest_key(path: tuple[str | int, ...]) -> str:
    """Return where the content of an unknown key belongs."""
    name, meant = str(path[-1]), _guess_key(path)
    if name in ELSEWHERE:
        return ELSEWHERE[name]
    if name in MEANT and len(path) == 1:
        return f"write {meant}: {PURPOSE[meant]}" if meant in PURPOSE else f"write {meant}"
    return f"did you mean {meant}?" if meant else "a rule has no such key"


def _guess_key(path: tuple[str | int, ...]) -> str:
    """Return the closest key to an unknown one."""
    if len(path) == 1 and path[0] in MEANT:
        return MEANT[str(path[0])]
    inner: Mapping[str, type[pydantic.BaseModel]] = {"for": schema.TargetFile, "examples": schema.ExamplesFile}
    model = inner.get(str(path[0]), schema.RuleFile) if len(path) > 1 else schema.RuleFile
    if path[:-1] == ("for", "engine"):
        model = schema.EngineFile
    keys = [field.alias or name for name, field in model.model_fields.items()]
    return next(iter(difflib.get_close_matches(str(path[-1]), keys, n=1)), "")


# ---- the content


def _find_mistakes(found: Rule, document: Document) -> Iterator[str]:
    """Yield a line for each unknown name and for a condition that cannot hold."""
    if not found.when.strip():
        yield _prefix_location(
            document.locate(("when",)), _explain_symbol(document.locate(("when",), key=True).text) or "when is empty"
        )
        return
    if problems := list(_check_target(found, document)):
        yield from problems
        return
    about_workloads = found.target.scope != "document"
    for mistake in condition_diagnostics.find_mistakes(found.when, about_workloads):
        yield _prefix_location(_locate_character(document, ("when",), mistake.offset), mistake.message)
    yield from _check_placeholders(found, document)
    if not about_workloads:
        yield from _check_locations(found, document)
        return
    stated = {"at": found.at, "change": found.change, "against": (found.against,), "instead": (found.instead,)}
    for key, names in stated.items():
        for index, name in enumerate(names):
            if name and name not in glossary():
                listed = (key, index) if key in ("at", "change") else (key,)
                yield _prefix_location(document.locate(listed), _explain_unknown(name))
    if found.only_with == ALTERNATIVE and not found.change:
        yield _prefix_location(
            document.locate(("only_with",), key=True),
            "only_with needs a fact that a suggestion may change, for example change: [gpus_per_pod]",
        )


def _check_target(found: Rule, document: Document) -> Iterator[str]:
    """Yield kinds and facts that do not exist in a rule of this scope."""
    scope = found.target.scope
    for kind in found.target.kind if scope == "workload" else ():
        if kind not in PURPOSES:
            instead = "for the kind of an object write scope: document, or compare the fact `task`"
            yield _prefix_location(
                document.locate(("for", "kind")), f"a workload's kind is inference or training, not {kind}; {instead}"
            )
    yield from _check_capabilities(found, document)
    for name in cel.find_names(found.when):
        scopes = _scopes(glossary()[name])
        if scope not in scopes:
            message = f"{name} is not available to a rule of scope {scope}; write scope: {scopes[0]}"
            yield _prefix_location(document.locate(("for", "scope")), message)


def _check_capabilities(found: Rule, document: Document) -> Iterator[str]:
    """Yield capabilities that no engine can have, and those of another kind of workload."""
    is_list = isinstance(document.get(("for", "engine", "does")), list)
    kinds = {"inference": capabilities.INFERENCE, "training": capabilities.TRAINING}
    fitting = {name for kind in found.target.kind or tuple(kinds) for name in kinds.get(kind, ())}
    for index, name in enumerate(found.target.does):
        location = document.locate(("for", "engine", "does", *((index,) if is_list else ())))
        if name not in capabilities.MEANINGS:
            meant = did_you_mean.suggest_one(name, capabilities.MEANINGS) or "; docs/own_rules.md lists them"
            yield _prefix_location(location, f"no such engine capability: {name}{meant}")
        elif name not in fitting:
            yield _prefix_location(
                location, f"no engine does {name} in a workload of kind {' or '.join(found.target.kind)}"
            )


def _scopes(quantity: Quantity) -> tuple[str, ...]:
    """Return the scopes in which a fact is available."""
    if quantity.part:
        return ("workload", "facility") if quantity.of == "pod" else ("facility",)
    return HOMES.get(quantity.of, ("workload",))


def _check_placeholders(found: Rule, document: Document) -> Iterator[str]:
    """Yield placeholders that name no fact, and unclosed braces."""
    lines: list[tuple[tuple[str | int, ...], str]] = [(("message",), found.message)]
    lines += [(("arithmetic", index), line) for index, line in enumerate(found.arithmetic)]
    for path, text in lines:
        try:
            names = rule.find_placeholders(text)
        except ValueError:
            yield _prefix_location(
                document.locate(path), "a brace is not closed: write a fact as {gpus_per_pod} and a literal brace as {{"
            )
            continue
        for name in names:
            if problem := _explain_unprintable(name, found):
                yield _prefix_location(_locate_character(document, path, max(text.find("{" + name), 0)), problem)
        for _, fact, layout, conversion in string.Formatter().parse(text):
            if fact in glossary() and (layout or conversion):
                yield _prefix_location(
                    document.locate(path), f"a fact is printed in its own unit and format: write only {{{fact}}}"
                )


def _explain_unprintable(name: str, found: Rule) -> str:
    """Return why a message cannot print the content of its braces."""
    if found.target.scope != "document":
        return "" if name in glossary() else _explain_unknown(name)
    if document_rules.parse_path(name) is not None or (not document_rules.reads_object(found) and name in glossary()):
        return ""
    return f"{{{name}}}: a document rule can print only parts of its object, for example {{object.spec.replicas}}"


def _check_locations(found: Rule, document: Document) -> Iterator[str]:
    """Yield the `at` entries of a document rule that are no parts of its object."""
    for index, name in enumerate(found.at):
        if document_rules.parse_path(name) is None:
            message = f"{name}: a document rule can point only to parts of its object, for example object.spec.replicas"
            yield _prefix_location(document.locate(("at", index)), message)


def _explain_unknown(name: str) -> str:
    if not name:
        return "the braces are empty: write a fact, for example {gpus_per_pod}"
    if not re.fullmatch(r"[A-Za-z_]\w*", name):
        return f"{{{name}}} is not a fact name; only facts can be filled in"
    return f"no such fact: {name}" + (condition_diagnostics.suggest_fact(name) or "; `gpulint facts WORD` lists them")


def _locate_character(document: Document, path: tuple[str | int, ...], offset: int) -> Location:
    return document.locate(path, span=(offset, offset + 1))


def _prefix_location(location: Location, message: str) -> str:
    return f"{location.path}:{location.line}:{location.column}: {message}"
