"""Identify what a finding is about, independent of moves, file names, formatting and releases."""

from __future__ import annotations

import bisect
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TypeVar

from gpulint import units
from gpulint.report.model import Finding, Location, Subject
from gpulint.source.documents import Document, Node, Path, places
from gpulint.workload import Field, Role, Unknown, Workload

BUDGET_PREFIX = "budget "
"""Prefix of a subject's object that is a sum over many workloads. A lower amount is better."""
FACILITY_PREFIX = "gpulint/Facility "
"""Prefix of a subject's object that is a component of a facility."""
LONGEST = 160
Child = TypeVar("Child")
IN_ORDER = frozenset({"yaml", "json"})
"""Formats in which the entries of a mapping follow each other in the text."""
DECLARED_SUFFIX = "_stated"
"""Suffix of facts that only tell whether another fact is declared."""


def identify_role(workload: Workload, role: Role, quantity: str, compared: Iterable[str]) -> Subject:
    """Return the subject of a role's fact. Its value holds the declared value and those it is compared with."""
    others = {name: value for name in compared if name != quantity and (value := _read_value(role, name)) is not None}
    words = [value] if (value := _read_value(role, quantity)) is not None else []
    return Subject(
        _owner(workload), quantity, "; ".join([*words, *(f"{name} {others[name]}" for name in sorted(others))])
    )


def identify_object(data: object) -> str:
    """Return the identity of an object: group, kind, namespace and name; empty if it is none."""
    if not isinstance(data, dict) or not isinstance(data.get("kind"), str):
        return ""
    metadata = data.get("metadata")
    fields = metadata if isinstance(metadata, dict) else {}
    name = fields.get("name") or fields.get("generateName")
    if not isinstance(name, str):
        return ""
    group, slash, _ = str(data.get("apiVersion", "")).rpartition("/")
    namespace = fields.get("namespace")
    owner = f"{namespace}/{name}" if isinstance(namespace, str) and namespace else name
    return f"{group}{slash}{data['kind']} {owner}"


def keep_smaller_budgets(found: Iterable[Finding], before: Iterable[tuple[str, Subject]]) -> list[Finding]:
    """Return findings in which a budget that did not grow keeps its previous subject."""
    budgets = {
        (rule, subject.object, subject.quantity): subject
        for rule, subject in before
        if subject.object.startswith(BUDGET_PREFIX)
    }
    return [
        _keep_subject(finding, budgets.get((finding.rule, finding.subject.object, finding.subject.quantity)))
        for finding in found
    ]


def _keep_subject(finding: Finding, before: Subject | None) -> Finding:
    if before is None:
        return finding
    try:
        now, then = (float(subject.value.partition(" ")[0]) for subject in (finding.subject, before))
    except ValueError:
        return finding
    return finding if now > then else finding._replace(subject=before)


def add_subjects(found: Iterable[Finding], documents: Sequence[Document]) -> list[Finding]:
    """Return the findings of one file, with subjects for those about its text."""
    begins = _Begins(documents)
    return [
        finding if finding.subject != Subject() else finding._replace(subject=_locate_subject(finding.location, begins))
        for finding in found
    ]


def locate_subject(place: Location, documents: Sequence[Document]) -> Subject:
    """Return the subject of a location: the object that contains it, the path of keys, and the text there."""
    return _locate_subject(place, _Begins(documents))


class _Begins:
    """Where the documents of each file begin, in the order of the text."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self._by_path: dict[str, list[Document]] = {}
        for document in documents:
            self._by_path.setdefault(document.path, []).append(document)
        self._first = {path: found[0] for path, found in self._by_path.items()}
        for found in self._by_path.values():
            found.sort(key=_start)

    def find(self, place: Location) -> tuple[Document, int] | None:
        """Return the document of a location, and its offset there; None for another file."""
        if place.path not in self._first:
            return None
        first, found = self._first[place.path], self._by_path[place.path]
        offset = places.find_offset(first.text, place.line, place.column)
        at = bisect.bisect_right(found, offset, key=_start)
        return (found[at - 1] if at else first), offset


def _locate_subject(place: Location, begins: _Begins) -> Subject:
    value = normalise(_text(place))
    found = begins.find(place)
    if found is None:
        return Subject(_file(place.path), "", value)
    document, offset = found
    path = _path_to(document, offset)
    return Subject(_holder(document, path) or _file(place.path), _keys(document, path), value)


def normalise(text: str) -> str:
    """Return a value without quotes and extra space; an amount becomes its number."""
    words = _shorten(text)
    if len(words) > 1 and words[0] == words[-1] and words[0] in "\"'":
        words = words[1:-1].strip()
    try:
        return _number(units.quantity(words))
    except ValueError:
        return words


# ---- roles


def _owner(workload: Workload) -> str:
    holder = _holder(workload.document, workload.path)
    if not holder:
        return workload.name
    return holder if workload.name == holder.rpartition(" ")[2].rpartition("/")[2] else f"{holder} {workload.name}"


def _read_value(role: Role, name: str) -> str | None:
    """Return the declared value of a fact in normal form; None if only a default or table supplies it."""
    field = role.fields.get(name)
    if field is None or not field.origins or name.endswith(DECLARED_SUFFIX):
        return None
    return normalise(field.origins[0].text()) if _keeps_text(field, role) else _normalise(field)


def _keeps_text(field: Field, role: Role) -> bool:
    """True if the text identifies the value: it is unresolved, or comes from a machine type's row."""
    machine = role.fields.get("instance_type")
    from_machine = machine is not None and bool({*machine.origins} & {*field.origins})
    return isinstance(field.value, Unknown) or from_machine


def _normalise(field: Field) -> str:
    value = field.value
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    if isinstance(value, int | float):
        return _number(Fraction(value)) if isinstance(value, int) or value.is_integer() else repr(value)
    return _shorten(", ".join(value) if isinstance(value, tuple) else str(value))


def _shorten(text: str) -> str:
    """Return a text on one line. A long one is cut and gets a hash of the whole."""
    words = " ".join(text.split())
    if len(words) <= LONGEST:
        return words
    import hashlib

    return f"{words[:LONGEST]}… {hashlib.sha256(words.encode()).hexdigest()[:12]}"


def _number(value: Fraction) -> str:
    return str(value.numerator) if value.denominator == 1 else repr(float(value))


# ---- locations


def _holder(document: Document, path: Path) -> str:
    """Return the innermost named object around a path."""
    names = (identify_object(document.get(path[:length])) for length in range(len(path), -1, -1))
    return next(filter(None, names), "") if document.format in ("yaml", "json") else ""


def find_holder(document: Document, path: Path) -> str:
    """Return the innermost named object around a path, else the name of the file."""
    return _holder(document, path) or _file(document.path)


def _start(document: Document) -> int:
    return document.root.start


def _file(path: str) -> str:
    return path.rpartition("/")[2]


def _path_to(document: Document, offset: int) -> Path:
    """Return the keys and indices that lead to the innermost value around an offset."""
    path: list[str | int] = []
    node = document.root
    while (step := _step(node, offset, document.format in IN_ORDER)) is not None:
        part, node = step
        path.append(part)
    return tuple(path)


def _step(node: Node, offset: int, in_order: bool) -> tuple[str | int, Node] | None:
    """Return the child of a node at an offset, and its key or index."""
    if node.target is not None or node.kind == "scalar":
        return None
    if node.kind == "sequence":
        near = _select_near(node.value, offset, in_order, operator.attrgetter("start"))
        return next(((at, node.value[at]) for at in near if node.value[at].start <= offset < node.value[at].end), None)
    near = _select_near(node.value, offset, in_order, lambda entry: entry[0].start)
    entries = (node.value[at] for at in near if node.value[at][0].kind == "scalar")
    return next(
        ((str(key.value), value) for key, value in entries if key.start <= offset < max(key.end, value.end)), None
    )


def _select_near(
    children: Sequence[Child], offset: int, in_order: bool, start: Callable[[Child], int]
) -> Iterable[int]:
    """Return the children that an offset may be in: the last one that starts at or before it, where they are in order."""
    if not in_order:
        return range(len(children))
    at = bisect.bisect_right(children, offset, key=start)
    return range(max(0, at - 1), at)


def _keys(document: Document, path: Path) -> str:
    """Return a path below its object, in which items are called by name if they have one."""
    inside = next((length for length in range(len(path), 0, -1) if identify_object(document.get(path[:length]))), 0)
    return "".join(_key(document, path[:length]) for length in range(inside + 1, len(path) + 1)).lstrip(".")


def _key(document: Document, path: Path) -> str:
    if isinstance(path[-1], str):
        return f".{path[-1]}"
    item = document.get(path)
    name = item.get("name") if isinstance(item, Mapping) else None
    return f"[{name if isinstance(name, str) else path[-1]}]"


def _text(place: Location) -> str:
    """Return the text of a location."""
    return "\n".join(_cut(place))


def _cut(place: Location) -> Iterator[str]:
    lines = place.text.splitlines()
    for at, line in enumerate(lines):
        end = place.end_column - 1 if place.line + at == place.end_line else len(line)
        yield line[place.column - 1 if at == 0 else 0 : end]
