"""Files: the data of a YAML, JSON or TOML file of the repository as values with their places."""

from __future__ import annotations

from gpulint.source.documents import Document, Path
from gpulint.source.python.values import Constant, Items, Mapping, Open, Place, Value

DEPTH_MAX = 40
READ = frozenset({"yaml", "json", "toml"})


def read(document: Document) -> Value | None:
    """Return the data of a document; None if it is not plain data."""
    return _read(document, document.data, (), [20_000]) if document.format in READ else None


def _read(document: Document, data: object, path: Path, left: list[int]) -> Value:
    left[0] -= 1
    place = Place(document, path)
    if left[0] < 0 or len(path) > DEPTH_MAX:
        return Open("the file holds more than is read")
    if isinstance(data, dict):
        entries = {str(key): _read(document, value, (*path, str(key)), left) for key, value in data.items()}
        return Mapping(dict(entries), place)
    if isinstance(data, list):
        return Items([_read(document, value, (*path, at), left) for at, value in enumerate(data)], place)
    return Constant(data if isinstance(data, str | int | float | bool) else None, place)
