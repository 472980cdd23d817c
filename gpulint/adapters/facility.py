"""A Facility of gpulint's own API: sites, rooms, racks, their feeds and servers; no workload, but what carries them."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.documents import Document, Path, Problem
from gpulint.facility import inventories, mistakes, reader, shape
from gpulint.parts import LISTS, NAMED, Part, keys
from gpulint.repository import Repository
from gpulint.workload import Workload

MENTIONS = ("kind: Facility", '"Facility"', "'Facility'")
UNIONS = frozenset({"int", "float", "str", "bool"})
"""How pydantic calls the ways to write a value, behind the path of one that is none of them."""
_MAPPING = "begin the entry with a key, as `- name:` or `- type:`"
SEVERAL = frozenset({"server", "cable"})
"""Kinds of which several entries may be called alike."""


def claims(document: Document) -> bool:
    return reader.claims(document)


def kind(document: Document) -> str:
    return "gpulint/Facility"


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    return iter(())


def facility(document: Document, repository: Repository | None = None) -> Part | None:
    """The facility of a document, with what the inventories say that it names in a repository; None of one that is not one."""
    if any(_shape(document)):
        return None
    stated = reader.read(document)
    if repository is None or inventories.NAMED not in stated.role.fields:
        return stated
    return inventories.joined(stated, document, repository)


def settled(document: Document, repository: Repository) -> Iterator[Problem]:
    """What keeps the inventories that a file names from being read."""
    named = document.get(("spec", inventories.KEY))
    if isinstance(named, list) and all(isinstance(one, str) for one in named):
        yield from inventories.problems(document, repository)


def problems(document: Document) -> Iterator[Problem]:
    """What keeps a file from being a Facility, and values that cannot be read, each with its place."""
    yield from (found := list(_shape(document)))
    if not found:
        yield from _unreadable(document, ("spec",), "facility")
        described = reader.read(document)
        yield from _twice(described)
        if inventories.NAMED not in described.role.fields:
            yield from _unnamed(described)


def _twice(whole: Part) -> Iterator[Problem]:
    """Parts of one list that have one name: what was copied and not renamed counts twice."""
    for holder in whole.all():
        seen: dict[tuple[str, str], Part] = {}
        for one in holder.parts:
            if one.kind not in SEVERAL and seen.setdefault((one.kind, one.role.name), one) is not one:
                first = seen[one.kind, one.role.name].role.anchor.location().line
                said = f"two {one.kind}s are named {one.role.name}; rename one of them (the first is in line {first})"
                yield Problem("invalid-spec", said, one.role.anchor.location())


def _unnamed(whole: Part) -> Iterator[Problem]:
    """Parts that name a panel, a pool or another part that is none of the file's."""
    every = list(whole.all())
    named = {kind: {one.role.name for one in every if one.kind == kind} for kind in NAMED}
    for one in every:
        for kind in sorted(NAMED):
            field = one.role.fields.get(kind)
            if one.kind != kind and field and isinstance(field.value, str) and field.value not in named[kind]:
                known = ", ".join(sorted(named[kind])) or "none"
                said = f"{kind} {field.value} is not defined in this file; defined: {known}"
                yield Problem("invalid-spec", said, field.origins[0].location())


def _shape(document: Document) -> Iterator[Problem]:
    refused = () if shape.is_plain(document.data) else tuple(_refused(document))
    yield from refused
    if refused:
        return
    described = reader.count(document.get(("spec",)))
    if described > reader.PARTS_MAX:
        said = f"spec: {described:,} components, but a file may describe at most {reader.PARTS_MAX:,}"
        yield Problem("invalid-spec", said, document.locate(("spec",), key=True))


def _refused(document: Document) -> Iterator[Problem]:
    """What keeps a file from being one that its contract accepts."""
    import pydantic

    from gpulint.facility import schema

    try:
        schema.facility_model().model_validate(document.data)
    except pydantic.ValidationError as error:
        found = (_problem(document, tuple(one["loc"]), one["type"], one["msg"]) for one in error.errors())
        yield from dict.fromkeys(found)


def _problem(document: Document, path: Path, sort: str, message: str) -> Problem:
    """A validation error in plain words."""
    of_union = bool(path) and path[-1] in UNIONS
    path = path[:-1] if of_union else path
    if sort == "extra_forbidden":
        return Problem("invalid-spec", mistakes.unknown_key(path), document.locate(path, key=True))
    words = {
        "missing": "is missing",
        "model_type": _MAPPING if path and isinstance(path[-1], int) else "must be a mapping of keys",
        "list_type": "must be a list: begin each entry with `- `",
        "string_type": "write text",
        "string_pattern_mismatch": f"write {reader.API_VERSION}",
    }
    said = "write one number or text" if of_union else words.get(sort, message[:1].lower() + message[1:])
    named = [one for one in path if isinstance(one, str)]
    return Problem("invalid-spec", f"{named[-1] if named else 'the file'}: {said}", document.locate(path))


def _unreadable(document: Document, path: Path, part: str) -> Iterator[Problem]:
    """Values that are none of their quantity, at any depth."""
    stated = document.get(path)
    words = keys(part)
    for key, value in stated.items() if isinstance(stated, dict) else ():
        if key in words and value is not None:
            try:
                reader.value(reader.stated(document, (*path, key), words[key]), words[key])
            except ValueError as error:
                yield Problem("invalid-spec", f"{key}: {error}", document.locate((*path, key)))
        elif key in LISTS and isinstance(value, list):
            for at in range(len(value)):
                yield from _unreadable(document, (*path, key, at), LISTS[key])
