"""Further keys: add a key to a trainer's configuration file for a quantity that it leaves at its
default.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.catalog import tables
from gpulint.report.model import Edit
from gpulint.workload import Origin, Role, Value

NUMBERS = frozenset({"int", "from-zero"})


def insert_key(role: Role, name: str, value: str) -> Edit | None:
    """Return the edit that adds the key next to a known one of the same mapping;

    None if that is not certain.
    """
    rows = tables.rows("setting_keys")
    declared = [(row["format"], at) for row in rows for at in _locate_keys(role, row)]
    counts = {format: sum(format == row_format for row_format, _ in declared) for format, _ in declared}
    formats = {format for format, count in counts.items() if count == max(counts.values())}
    wanted = {
        tuple(row["key"].split(".")): row
        for row in reversed(rows)
        if row["format"] in formats and row["quantity"] == name
    }
    if len(wanted) != 1 or len({row["format"] for row in rows if row["quantity"] == name} & formats) != len(formats):
        return None
    ((path, row),) = wanted.items()
    word = _find_word(row["kind"], value)
    sibling = next((at for _, at in declared if at.path[:-1] == path[:-1] and _starts_line(at)), None)
    if word is None or sibling is None or sibling.document.node(path) is not None:
        return None
    return Edit(name, sibling.location(), "", f"{path[-1]}: {word}", "key")


def _locate_keys(role: Role, row: tables.Row) -> Iterator[Origin]:
    """Yield where a YAML file declares a row's quantity by the row's key."""
    field = role.fields.get(row["quantity"])
    for origin in field.origins if field else ():
        if origin.document.format == "yaml" and origin.path == tuple(row["key"].split(".")):
            yield Origin(origin.document, origin.path, key=True)


def _starts_line(origin: Origin) -> bool:
    """Return whether a key is the first on its line, as in a block mapping."""
    place = origin.location()
    return not place.text[: place.column - 1].strip()


def _find_word(kind: str, value: Value) -> str | None:
    """Return a value in the spelling of the key's kind; None if no single word fits."""
    kind, _, words = kind.partition(":")
    if kind in NUMBERS:
        return str(value)
    pairs = (pair.partition("=") for pair in words.split(";")) if kind == "word" else ()
    spelled = [word for word, _, meaning in pairs if meaning == value and word not in ("*", "")]
    return spelled[0] if len(spelled) == 1 else None
