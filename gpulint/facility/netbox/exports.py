"""Exports: the lists of objects in the files of an inventory, as plain data with source locations."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence

from gpulint.report.model import Location
from gpulint.source.documents import Document, Path, places
from gpulint.source.documents.nodes import InvalidSyntaxError, Node

EXPORT_BYTES_MAX = 64_000_000
"""Ten times the export size of a hall with a thousand racks."""
SUFFIXES = ("json", "csv")
NAME_KEYS = ("value", "name", "model", "display")
"""Keys under which the API names a choice or another object, the best first."""
EMPTY_CELL = "—"
"""What a table shows in an empty cell."""
_SPACE = re.compile(r"[ \t\r\n]*")
_DELIMITERS = ",;\t"


class Export(Document):
    """One list of an export. Its data are the objects, `named` is its name in the file, `total` the
    declared object count.
    """

    __slots__ = ("_spans", "named", "total", "within")

    def __init__(self, path: str, text: str, objects: Sequence[object], named: str = "", total: int = 0) -> None:
        super().__init__(path, 0, text, Node("sequence", 0, len(text), []), "export", list(objects))
        self.named = named
        self.total = total or len(objects)
        self.within: Path = ()
        self._spans: Sequence[tuple[int, int]] | None = None

    def get(self, path: Path, default: object = None) -> object:
        """Return the value at a path; for another object or a choice, its display name."""
        value = super().get(path, default)
        return read_text(value) if path and isinstance(value, dict) else value

    def locate(
        self, path: Path, *, key: bool = False, span: tuple[int, int] | None = None, whole: bool = False
    ) -> Location:
        """Return the location of an object, or of the value under one of its keys."""
        at = path[0] if path else 0
        if self._spans is None:
            self._spans = tuple(self._locate_objects())
        if not isinstance(at, int) or at >= len(self._spans):
            return places.locate_rest_of_line(self.path, self.text, 0)
        start, end = self._spans[at]
        return self._locate_inside(start, end, path[1:], key)

    def _locate_objects(self) -> Iterator[tuple[int, int]]:
        """Yield the character span of each object."""
        return _locate_elements(self.text, self.within)

    def _locate_inside(self, start: int, end: int, path: Path, key: bool) -> Location:
        from gpulint.source.documents import json as documents_json

        parsed = documents_json.read(self.path, self.text[start:end])
        if parsed is None or not path:
            line_end = self.text.find("\n", start, end)
            return places.locate(self.path, self.text, start, end if line_end < 0 else line_end)
        location = Document(self.path, 0, self.text[start:end], parsed.root, "json", parsed.data).locate(path, key=key)
        return _shift(location, self.text, start)


class Table(Export):
    """A list as comma-separated values. Every object has lines of its own."""

    __slots__ = ("lines",)

    def __init__(self, path: str, text: str, objects: Sequence[object], lines: Sequence[int]) -> None:
        super().__init__(path, text, objects)
        self.lines = lines

    def _locate_objects(self) -> Iterator[tuple[int, int]]:
        starts = [0, *(match.end() for match in re.finditer("\n", self.text))]
        return ((starts[line - 1], starts[line - 1]) for line in self.lines)

    def _locate_inside(self, start: int, end: int, path: Path, key: bool) -> Location:
        return places.locate_rest_of_line(self.path, self.text, start)


def read(path: str, content: bytes) -> tuple[Export, ...]:
    """Return the lists of a file. Raise Invalid if it does not parse."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidSyntaxError("not UTF-8", error.start) from None
    return _read_table(path, text) if path.endswith(".csv") else tuple(_read_lists(path, text))


def _read_lists(path: str, text: str) -> Iterator[Export]:
    """Yield the lists of a JSON text: a bare list, a page of the API, or several named lists."""
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise InvalidSyntaxError(error.msg, error.pos) from None
    except (RecursionError, ValueError):
        raise InvalidSyntaxError("not JSON that can be read", 0) from None
    if (whole := _read_list(path, text, data, ())) is not None:
        yield whole
        return
    for name, value in data.items() if isinstance(data, dict) else ():
        if (export := _read_list(path, text, value, (name,))) is not None:
            yield export


def _read_list(path: str, text: str, data: object, within: Path) -> Export | None:
    """Return a list of objects, bare or as a page of the API."""
    named = str(within[-1]) if within else ""
    if isinstance(data, dict) and isinstance(data.get("results"), list):
        total = data.get("count")
        export = Export(path, text, data["results"], named, total if isinstance(total, int) else 0)
        export.within = (*within, "results")
        return export
    if not isinstance(data, list):
        return None
    export = Export(path, text, data, named)
    export.within = within
    return export


def _read_table(path: str, text: str) -> tuple[Export, ...]:
    head = text.partition("\n")[0]
    delimiter = max(_DELIMITERS, key=head.count)
    lines, rows = [], []
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        names = [field_name(name) for name in next(reader, [])]
        line = reader.line_num + 1
        for cells in reader:
            if any(cells):
                lines.append(line)
                rows.append(dict(zip(names, cells, strict=False)))
            line = reader.line_num + 1
    except csv.Error as error:
        raise InvalidSyntaxError(str(error), 0) from None
    return (Table(path, text, rows, lines),)


def field_name(header: str) -> str:
    """Return the API's field name for a column heading: "Max utilization" is max_utilization.

    >>> field_name("Max utilization"), field_name("Position (U)"), field_name("device_type")
    ('max_utilization', 'position', 'device_type')
    """
    bare = re.sub(r"\([^()\n]*\)", "", header).strip().lower()
    return re.sub(r"[^a-z0-9]+", "_", bare).strip("_")


def _locate_elements(text: str, within: Path) -> Iterator[tuple[int, int]]:
    """Yield the span of each item of the list at a path of a JSON text."""
    decode = json.JSONDecoder().raw_decode
    at = _skip_space(text, 0)
    for name in within:
        at = next(start for key, start, _ in _locate_entries(text, at) if key == name)
    at = _skip_space(text, at + 1)
    while text[at] != "]":
        _, end = decode(text, at)
        yield at, end
        at = _skip_space(text, end)
        at = _skip_space(text, at + 1) if text[at] == "," else at


def _locate_entries(text: str, at: int) -> Iterator[tuple[str, int, int]]:
    """Yield the keys of the mapping at an offset, with the span of each value."""
    decode = json.JSONDecoder().raw_decode
    at = _skip_space(text, at + 1)
    while text[at] != "}":
        name, end = decode(text, at)
        start = _skip_space(text, _skip_space(text, end) + 1)
        _, end = decode(text, start)
        yield name, start, end
        at = _skip_space(text, end)
        at = _skip_space(text, at + 1) if text[at] == "," else at


def _skip_space(text: str, at: int) -> int:
    """Return the first offset from here that is not white space."""
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _shift(found: Location, text: str, start: int) -> Location:
    """Convert a location in a text that starts at an offset into a location in the whole text."""
    before = text.count("\n", 0, start)
    moved = start - text.rfind("\n", 0, start) - 1
    first, last = (moved if line == 1 else 0 for line in (found.line, found.end_line))
    return Location(
        found.path,
        found.line + before,
        found.column + first,
        found.end_line + before,
        found.end_column + last,
        found.text,
    )


def read_text(stated: object) -> str:
    """Return a value as text: the value of a choice, or the name of another object."""
    if isinstance(stated, str):
        return "" if stated == EMPTY_CELL else stated.strip()
    if stated is None or isinstance(stated, list):
        return ""
    if not isinstance(stated, dict):
        return str(stated)
    for key in NAME_KEYS:
        name = stated.get(key)
        if name is not None:
            return "" if isinstance(name, dict) else read_text(name)
    return ""


def list_objects(listed: Export) -> Sequence[Mapping[str, object]]:
    """Return the objects of a list. Anything else becomes an empty object, so that locations stay
    valid.
    """
    data = listed.data
    return [item if isinstance(item, dict) else {} for item in data] if isinstance(data, list) else []
