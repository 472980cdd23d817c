"""Contracts: the models that the records of a report make, for schemas/. Nothing that checks a file imports this."""

from __future__ import annotations

import ast
import functools
import inspect
import itertools
import operator
import types
from collections.abc import Mapping
from typing import Any, Literal, Union, get_args, get_origin

import pydantic

from gpulint.report.finding import Severity
from gpulint.report.json_keys import Between, Entry, Items, Words, list_entries

Field = tuple[Any, Any]
STRICT = pydantic.ConfigDict(extra="forbid")


@functools.cache
def make_model(record: Any) -> Any:
    """Return the model of a record; the union of two if a location may be left out of it."""
    without, complete = _collect_fields(record, optional=False), _collect_fields(record, optional=True)
    bare = _create(record, record.__name__, without)
    return bare if without.keys() == complete.keys() else _create(record, f"Placed{record.__name__}", complete) | bare


def _create(record: Any, name: str, fields: Mapping[str, Field]) -> type[pydantic.BaseModel]:
    definitions: dict[str, Any] = dict(fields)
    return pydantic.create_model(
        name, __config__=STRICT, __doc__=inspect.getdoc(get_origin(record) or record), **definitions
    )


def _collect_fields(record: Any, optional: bool) -> dict[str, Field]:
    """Return the fields of a model; those of a location that may be left out only if `optional`."""
    origin = get_origin(record) or record
    values = dict(zip(getattr(origin, "__parameters__", ()), get_args(record), strict=False))
    meanings, fields = _read_meanings(origin), {}
    for entry in list_entries(origin):
        annotation = values.get(entry.annotation, entry.annotation)
        if entry.inlined is None:
            fields[entry.key] = (_translate_field(annotation, entry), _describe(entry, meanings.get(entry.field, "")))
            continue
        choices = get_args(annotation) if type(None) in get_args(annotation) else (annotation,)
        if type(None) not in choices or optional:
            inner = _collect_fields(choices[0], optional)
            fields |= {key: inner[key] for key in entry.inlined or inner}
    return fields


def _translate_field(annotation: Any, entry: Entry) -> Any:
    """Return the type of a field as JSON has it."""
    words = next((mark.words for mark in entry.marks if isinstance(mark, Words)), None)
    if words is not None:
        return Literal[words]
    return dict[str, _translate(get_args(annotation)[0])] if entry.by_name else _translate(annotation)  # type: ignore[misc]


def _translate(annotation: Any) -> Any:
    origin, inner = get_origin(annotation), get_args(annotation)
    if hasattr(origin or annotation, "_fields"):
        return make_model(annotation)
    if annotation is Severity:
        return Literal[tuple(severity.word for severity in sorted(Severity, reverse=True))]
    if origin is tuple:
        return list[_translate(inner[0])]  # type: ignore[misc]
    if origin is Mapping:
        return dict[str, _translate(inner[1])]  # type: ignore[misc]
    if origin in (types.UnionType, Union):
        return functools.reduce(operator.or_, map(_translate, inner))
    return annotation


def _describe(entry: Entry, meaning: str) -> Any:
    """Return the description of a field and the limits of its values."""
    limits: dict[str, Any] = {}
    for mark in entry.marks:
        if isinstance(mark, Between):
            limits |= {"ge": mark.least, "le": mark.most}
        if isinstance(mark, Items):
            limits |= {"min_length": mark.least or None, "max_length": mark.most}
    return pydantic.Field(description=meaning or None, **limits)


@functools.cache
def _read_meanings(record: type) -> Mapping[str, str]:
    """Return the meanings of a record's fields: the text below each in the class."""
    (body,) = (node.body for node in ast.parse(inspect.getsource(record)).body if isinstance(node, ast.ClassDef))
    found = {}
    for node, below in itertools.pairwise(body):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and isinstance(below, ast.Expr):
            found[node.target.id] = ast.literal_eval(below.value)
    return found
