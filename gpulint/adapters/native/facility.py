"""A Facility of gpulint's own API: sites, rooms, racks, their feeds and servers.

It has no workload; it describes the hardware that workloads run on.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.adapters.claim import Claim
from gpulint.facility import inventories, misspellings, quick_check, reader
from gpulint.facility.model import LISTS, NAMED, Component, list_keys
from gpulint.source.documents import Document, Path, Problem
from gpulint.source.repository import Repository
from gpulint.workload import Workload

MENTIONS = ("kind: Facility", '"Facility"', "'Facility'")
TRIGGERS = ("gpulint/v1",)
UNIONS = frozenset({"int", "float", "str", "bool"})
"""Names that pydantic adds to the path of a value that matches none of its types."""
_MAPPING = "begin the entry with a key, as `- name:` or `- type:`"
SEVERAL = frozenset({"server", "cable"})
"""Kinds of components that may share a name."""


def claims(document: Document) -> Claim:
    return Claim.EXACT.where(reader.claims(document))


def kind(document: Document) -> str:
    return "gpulint/Facility"


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    return iter(())


def read_facility(document: Document, repository: Repository | None = None) -> Component | None:
    """Return the facility of a document, merged with the inventories that it names.

    None if the document is not a valid facility.
    """
    if any(_check_shape(document)):
        return None
    stated = reader.read(document)
    if repository is None or inventories.NAMED not in stated.role.fields:
        return stated
    return inventories.merge_inventories(stated, document, repository)


def settle(document: Document, repository: Repository) -> Iterator[Problem]:
    """Yield the problems that keep the inventories of a file from being read."""
    named = document.get(("spec", inventories.KEY))
    if isinstance(named, list) and all(isinstance(name, str) for name in named):
        yield from inventories.find_problems(document, repository)


def problems(document: Document) -> Iterator[Problem]:
    """Yield what keeps a file from being a Facility, and the values that cannot be read."""
    yield from (shape_problems := list(_check_shape(document)))
    if not shape_problems:
        yield from _find_unreadable(document, ("spec",), "facility")
        described = reader.read(document)
        yield from _find_duplicates(described)
        if inventories.NAMED not in described.role.fields:
            yield from _find_undefined(described)


def _find_duplicates(whole: Component) -> Iterator[Problem]:
    """Yield components of one list that share a name.

    A copied component that was not renamed counts twice.
    """
    for holder in whole.all():
        seen: dict[tuple[str, str], Component] = {}
        for component in holder.parts:
            if (
                component.kind not in SEVERAL
                and seen.setdefault((component.kind, component.role.name), component) is not component
            ):
                first = seen[component.kind, component.role.name].role.anchor.location().line
                message = (
                    f"two {component.kind}s are named {component.role.name}; rename one (the first is in line {first})"
                )
                yield Problem("invalid-spec", message, component.role.anchor.location())


def _find_undefined(whole: Component) -> Iterator[Problem]:
    """Yield components that name a panel, a pool or a component that the file does not define."""
    every = list(whole.all())
    named = {kind: {component.role.name for component in every if component.kind == kind} for kind in NAMED}
    for component in every:
        for kind in sorted(NAMED):
            field = component.role.fields.get(kind)
            if component.kind != kind and field and isinstance(field.value, str) and field.value not in named[kind]:
                defined = ", ".join(sorted(named[kind])) or "none"
                message = f"{kind} {field.value} is not defined in this file; defined: {defined}"
                yield Problem("invalid-spec", message, field.origins[0].location())


def _check_shape(document: Document) -> Iterator[Problem]:
    refused = () if quick_check.is_plain(document.data) else tuple(_validate(document))
    yield from refused
    if refused:
        return
    described = reader.count_components(document.get(("spec",)))
    if described > reader.COMPONENTS_MAX:
        message = f"spec: {described:,} components, but a file may describe at most {reader.COMPONENTS_MAX:,}"
        yield Problem("invalid-spec", message, document.locate(("spec",), key=True))


def _validate(document: Document) -> Iterator[Problem]:
    """Yield the errors of a file that does not match the schema."""
    import pydantic

    from gpulint.facility import schema

    try:
        schema.facility_model().model_validate(document.data)
    except pydantic.ValidationError as error:
        shape_problems = (
            _describe_error(document, tuple(detail["loc"]), detail["type"], detail["msg"]) for detail in error.errors()
        )
        yield from dict.fromkeys(shape_problems)


def _describe_error(document: Document, path: Path, sort: str, message: str) -> Problem:
    """Describe a validation error in plain words."""
    of_union = bool(path) and path[-1] in UNIONS
    path = path[:-1] if of_union else path
    if sort == "extra_forbidden":
        return Problem("invalid-spec", misspellings.render_unknown_key(path), document.locate(path, key=True))
    words = {
        "missing": "is missing",
        "model_type": _MAPPING if path and isinstance(path[-1], int) else "must be a mapping of keys",
        "list_type": "must be a list: begin each entry with `- `",
        "string_type": "write text",
        "string_pattern_mismatch": f"write {reader.API_VERSION}",
    }
    expected = "write one number or text" if of_union else words.get(sort, message[:1].lower() + message[1:])
    named = [key for key in path if isinstance(key, str)]
    return Problem("invalid-spec", f"{named[-1] if named else 'the file'}: {expected}", document.locate(path))


def _find_unreadable(document: Document, path: Path, part: str) -> Iterator[Problem]:
    """Yield values that do not match their quantity, at any depth."""
    stated = document.get(path)
    words = list_keys(part)
    for key, value in stated.items() if isinstance(stated, dict) else ():
        if key in words and value is not None:
            try:
                reader.parse_value(reader.read_declared(document, (*path, key), words[key]), words[key])
            except ValueError as error:
                yield Problem("invalid-spec", f"{key}: {error}", document.locate((*path, key)))
        elif key in LISTS and isinstance(value, list):
            for at in range(len(value)):
                yield from _find_unreadable(document, (*path, key, at), LISTS[key])
