"""Exports: the lists of objects in the files of an inventory, as plain data in which every object keeps its place."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence

from gpulint.report.model import Location
from gpulint.source.documents import Document, Path, places
from gpulint.source.documents.nodes import Invalid, Node

EXPORT_BYTES_MAX = 64_000_000
"""Ten times what a hall of a thousand racks takes."""
SUFFIXES = ("json", "csv")
CALLED = ("value", "name", "model", "display")
"""What the API calls a choice or another object by, the best word first."""
NOTHING = "—"
"""What a table shows where there is nothing."""
_SPACE = re.compile(r"[ \t\r\n]*")
_DELIMITERS = ",;\t"


class Export(Document):
    """One list of an export: its data are the objects, `named` is what the file calls it, `total` how many there are."""

    __slots__ = ("_spans", "named", "total", "within")

    def __init__(self, path: str, text: str, objects: Sequence[object], named: str = "", total: int = 0) -> None:
        super().__init__(path, 0, text, Node("sequence", 0, len(text), []), "export", list(objects))
        self.named = named
        self.total = total or len(objects)
        self.within: Path = ()
        self._spans: Sequence[tuple[int, int]] | None = None

    def get(self, path: Path, default: object = None) -> object:
        """What stands at a path; of another object, or of a choice, what people call it."""
        found = super().get(path, default)
        return text_of(found) if path and isinstance(found, dict) else found

    def locate(
        self, path: Path, *, key: bool = False, span: tuple[int, int] | None = None, whole: bool = False
    ) -> Location:
        """Where the object stands, or what it says under a key."""
        at = path[0] if path else 0
        if self._spans is None:
            self._spans = tuple(self._found())
        if not isinstance(at, int) or at >= len(self._spans):
            return places.rest_of_line(self.path, self.text, 0)
        start, end = self._spans[at]
        return self._inside(start, end, path[1:], key)

    def _found(self) -> Iterator[tuple[int, int]]:
        """The characters of each object."""
        return _elements(self.text, self.within)

    def _inside(self, start: int, end: int, path: Path, key: bool) -> Location:
        from gpulint.source.documents import json as reader

        parsed = reader.read(self.path, self.text[start:end])
        if parsed is None or not path:
            line_end = self.text.find("\n", start, end)
            return places.of(self.path, self.text, start, end if line_end < 0 else line_end)
        found = Document(self.path, 0, self.text[start:end], parsed.root, "json", parsed.data).locate(path, key=key)
        return _shifted(found, self.text, start)


class Table(Export):
    """A list as comma-separated values: every object stands on lines of its own."""

    __slots__ = ("lines",)

    def __init__(self, path: str, text: str, objects: Sequence[object], lines: Sequence[int]) -> None:
        super().__init__(path, text, objects)
        self.lines = lines

    def _found(self) -> Iterator[tuple[int, int]]:
        starts = [0, *(match.end() for match in re.finditer("\n", self.text))]
        return ((starts[line - 1], starts[line - 1]) for line in self.lines)

    def _inside(self, start: int, end: int, path: Path, key: bool) -> Location:
        return places.rest_of_line(self.path, self.text, start)


def read(path: str, content: bytes) -> tuple[Export, ...]:
    """The lists of a file; Invalid where it does not parse."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Invalid("not UTF-8", error.start) from None
    return _tables(path, text) if path.endswith(".csv") else tuple(_lists(path, text))


def _lists(path: str, text: str) -> Iterator[Export]:
    """The lists of a JSON text: one, a page of the API, or several by their names."""
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise Invalid(error.msg, error.pos) from None
    except (RecursionError, ValueError):
        raise Invalid("not JSON that can be read", 0) from None
    if (whole := _list(path, text, data, ())) is not None:
        yield whole
        return
    for name, value in data.items() if isinstance(data, dict) else ():
        if (listed := _list(path, text, value, (name,))) is not None:
            yield listed


def _list(path: str, text: str, data: object, within: Path) -> Export | None:
    """A list of objects, bare or as a page of the API."""
    named = str(within[-1]) if within else ""
    if isinstance(data, dict) and isinstance(data.get("results"), list):
        total = data.get("count")
        found = Export(path, text, data["results"], named, total if isinstance(total, int) else 0)
        found.within = (*within, "results")
        return found
    if not isinstance(data, list):
        return None
    found = Export(path, text, data, named)
    found.within = within
    return found


def _tables(path: str, text: str) -> tuple[Export, ...]:
    head = text.partition("\n")[0]
    delimiter = max(_DELIMITERS, key=head.count)
    lines, rows = [], []
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        names = [word(name) for name in next(reader, [])]
        line = reader.line_num + 1
        for cells in reader:
            if any(cells):
                lines.append(line)
                rows.append(dict(zip(names, cells, strict=False)))
            line = reader.line_num + 1
    except csv.Error as error:
        raise Invalid(str(error), 0) from None
    return (Table(path, text, rows, lines),)


def word(header: str) -> str:
    """A column's heading as the API writes the field: "Max utilization" is max_utilization.

    >>> word("Max utilization"), word("Position (U)"), word("device_type")
    ('max_utilization', 'position', 'device_type')
    """
    bare = re.sub(r"\(.*?\)", "", header).strip().lower()
    return re.sub(r"[^a-z0-9]+", "_", bare).strip("_")


def _elements(text: str, within: Path) -> Iterator[tuple[int, int]]:
    """Where each item of the list at a path of a JSON text begins and ends."""
    decode = json.JSONDecoder().raw_decode
    at = _after(text, 0)
    for name in within:
        at = next(start for key, start, _ in _entries(text, at) if key == name)
    at = _after(text, at + 1)
    while text[at] != "]":
        _, end = decode(text, at)
        yield at, end
        at = _after(text, end)
        at = _after(text, at + 1) if text[at] == "," else at


def _entries(text: str, at: int) -> Iterator[tuple[str, int, int]]:
    """The keys of the mapping at an offset, with where the value of each begins and ends."""
    decode = json.JSONDecoder().raw_decode
    at = _after(text, at + 1)
    while text[at] != "}":
        name, end = decode(text, at)
        start = _after(text, _after(text, end) + 1)
        _, end = decode(text, start)
        yield name, start, end
        at = _after(text, end)
        at = _after(text, at + 1) if text[at] == "," else at


def _after(text: str, at: int) -> int:
    """The first offset from there that is no white space."""
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _shifted(found: Location, text: str, start: int) -> Location:
    """A place in a text from some offset on, as a place in the whole."""
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


def text_of(stated: object) -> str:
    """A value in words: of a choice its value, of another object its name."""
    if isinstance(stated, str):
        return "" if stated == NOTHING else stated.strip()
    if stated is None or isinstance(stated, list):
        return ""
    if not isinstance(stated, dict):
        return str(stated)
    for key in CALLED:
        found = stated.get(key)
        if found is not None:
            return "" if isinstance(found, dict) else text_of(found)
    return ""


def objects(listed: Export) -> Sequence[Mapping[str, object]]:
    """The objects of a list; what is none is left out as an empty one, so that places stay."""
    data = listed.data
    return [one if isinstance(one, dict) else {} for one in data] if isinstance(data, list) else []
