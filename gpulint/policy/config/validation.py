"""Validate a team's own file against its model, with one line and location for each mistake."""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator, Mapping
from typing import Any

import pydantic

from gpulint.facts import objective_words
from gpulint.policy import did_you_mean
from gpulint.policy.config import schema
from gpulint.policy.config.files import SettingsError
from gpulint.report.model import Location
from gpulint.source import documents
from gpulint.source.documents import Document, Path

MISTAKES_MAX = 20
SHOWN_MAX = 40
LISTED_MAX = 30
UNREAD = {
    "template": "it contains {{ … }}, but a policy is not a template: gpulint fills in nothing",
    "binary": "the file is not text",
}
WRONG_TYPES = {
    "string_type": "a text",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "dict_type": "a mapping of keys, such as {name: value}",
    "model_type": "a mapping of keys, such as {name: value}",
}


def load_document(path: str, content: bytes, error: type[ValueError]) -> Document:
    """Return the one document of a team's own file. Mistakes are reported although it names no GPU."""
    loaded = documents.load(path, content)
    if loaded.problems:
        raise error(
            "\n".join(_prefix_location(problem.location, problem.message) for problem in loaded.problems[:MISTAKES_MAX])
        )
    if loaded.skips or len(loaded.documents) > 1:
        reason = loaded.skips[0].reason if loaded.skips else "the file has several documents; write one"
        raise error(f"{path}:1:1: {UNREAD.get(reason, reason)}")
    return loaded.documents[0] if loaded.documents else documents.load(path, b"{}").documents[0]


def validate_policy(document_: Document, inside: Path) -> dict[str, Any]:
    """Return what a policy file, or a table of it, declares; raise SettingsError with all mistakes."""
    data = document_.get(inside) if inside else document_.data
    try:
        validated = schema.PolicyFile.model_validate(data if data is not None else {})
    except pydantic.ValidationError as error:
        raise SettingsError("\n".join(_render_mistakes(document_, inside, error.errors()))) from None
    return validated.model_dump(by_alias=True, exclude_unset=True)


def _render_mistakes(found: Document, inside: Path, mistakes: list[Any]) -> Iterator[str]:
    for mistake in mistakes[:MISTAKES_MAX]:
        yield _render_mistake(found, inside, tuple(mistake["loc"]), mistake)
    if further := mistakes[MISTAKES_MAX:]:
        yield f"{found.path}: {len(further)} further mistakes"


def _render_mistake(found: Document, inside: Path, path: Path, mistake: Mapping[str, Any]) -> str:
    while path and mistake["type"] != "extra_forbidden" and found.node((*inside, *path)) is None:
        path = path[:-1]
    whole = (*inside, *path)
    if mistake["type"] != "extra_forbidden":
        return _prefix_location(found.locate(whole), _explain(path, mistake))
    if path[0] == "hints" and path[-1] in objective_words.WORDS:
        return _prefix_location(
            found.locate(whole, key=True), f"{path[-1]} is an objective: write it under objectives:"
        )
    if empty_key := _find_empty_key(found, whole):
        return _prefix_location(
            found.locate(whole, key=True), f"unknown key {path[-1]}; indent it if it belongs to {empty_key}"
        )
    keys = _keys(schema.PolicyFile, path[:-1])
    hint = did_you_mean.suggest_one(str(path[-1]).lower(), keys) or _list_keys(path[:-1], keys)
    return _prefix_location(found.locate(whole, key=True), f"unknown key {path[-1]}{hint}")


def _find_empty_key(found: Document, path: Path) -> str:
    """Return the key without a value right before another key; empty if there is none."""
    above = found.get(path[:-1])
    if not isinstance(above, dict) or path[-1] not in above:
        return ""
    keys = list(above)
    before = keys[: keys.index(path[-1])][-1:]
    return str(before[0]) if before and above[before[0]] is None else ""


def _list_keys(path: Path, known: list[str]) -> str:
    where = next((str(step) for step in reversed(path) if isinstance(step, str)), "")
    if len(known) > LISTED_MAX:
        return f"; {where} takes one of {len(known)} names, see `gpulint policy schema`"
    return f"; {where + ' takes' if where else 'there are'} {', '.join(known)}" if known else ""


def _explain(path: Path, mistake: Mapping[str, Any]) -> str:
    """Return what is wrong with a value and how to write it."""
    kind, value = mistake["type"], mistake["input"]
    if not path:
        return "a policy is a mapping of keys, such as fail-on: error"
    key = str(next(step for step in reversed(path) if isinstance(step, str)))
    name = key if isinstance(path[-1], str) else f"each of {key}"
    if kind == "missing":
        return f"{mistake['loc'][-1]} is missing"
    if value is None or (kind == "string_too_short" and value == ""):
        return f"{name} has no value; give it one or remove the key"
    if kind in ("tuple_type", "list_type"):
        return (
            f"{name} must be a list: write [{_short(value)}]"
            if isinstance(value, str | int | float)
            else f"{name} must be a list: begin each entry with `- `, or use brackets: [{{…}}, {{…}}]"
        )
    if kind.startswith("date"):
        return f"{name} must be a date such as 2027-03-31, not {_short(value)}"
    if kind in WRONG_TYPES:
        return f"{name} must be {WRONG_TYPES[kind]}, not {_short(value)}"
    if kind == "literal_error":
        words = [word.strip("' ") for word in mistake["ctx"]["expected"].replace(" or ", ", ").split(",")]
        either = mistake["ctx"]["expected"].replace("'", "").removeprefix(", ")
        return f"{name} must be {either}, not {_short(value)}{did_you_mean.suggest_one(str(value), words)}"
    message: str = mistake["msg"].removeprefix("Value error, ")
    return message


def _short(value: object) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return text if len(text) <= SHOWN_MAX else f"{text[:SHOWN_MAX]}…"


def _keys(model: object, path: Path) -> list[str]:
    """Return the keys of the mapping at a path, if the model names them."""
    for step in path:
        if isinstance(step, int):
            continue
        if not (isinstance(model, type) and issubclass(model, pydantic.BaseModel)):
            return []
        fields = {field.alias or name: field for name, field in model.model_fields.items()}
        model = _model(fields[step].annotation) if step in fields else None
    if not (isinstance(model, type) and issubclass(model, pydantic.BaseModel)):
        return []
    return [field.alias or name for name, field in model.model_fields.items()]


def _model(annotation: object) -> object:
    """Return the model of a value, of a list's items, or of a mapping's values."""
    if isinstance(annotation, type) and not isinstance(annotation, types.GenericAlias):
        return annotation
    models = (_model(part) for part in typing.get_args(annotation))
    return next((model for model in models if isinstance(model, type) and issubclass(model, pydantic.BaseModel)), None)


def _prefix_location(location: Location, message: str) -> str:
    return f"{location.path}:{location.line}:{location.column}: {message}"
