"""Subject: what a finding is about in words that outlast moves, other file names, formatting and releases of gpulint."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction

from gpulint import units
from gpulint.report.model import Finding, Location, Subject
from gpulint.source.documents import Document, Node, Path
from gpulint.workload import Field, Role, Unknown, Workload

OF_BUDGET = "budget "
"""How the object of a subject begins that is a sum over many workloads; less of it is better, whatever the amount."""
OF_FACILITY = "gpulint/Facility "
"""How the object of a subject begins that is a part of a facility, whose place stays as it is when servers come in."""
LONGEST = 160
SAID = "_stated"
"""How quantities end that only tell whether another one is stated."""


def of_workload(workload: Workload, role: Role, quantity: str, compared: Iterable[str]) -> Subject:
    """The subject of a quantity of a role, empty where nothing states it; the value holds what else is stated and compared."""
    beside = {name: value for name in compared if name != quantity and (value := _stated(role, name)) is not None}
    words = [value] if (value := _stated(role, quantity)) is not None else []
    return Subject(
        _owner(workload), quantity, "; ".join([*words, *(f"{name} {beside[name]}" for name in sorted(beside))])
    )


def named(data: object) -> str:
    """The identity of an object: group, kind, namespace and name; empty where it is none."""
    if not isinstance(data, dict) or not isinstance(data.get("kind"), str):
        return ""
    metadata = data.get("metadata")
    stated = metadata if isinstance(metadata, dict) else {}
    name = stated.get("name") or stated.get("generateName")
    if not isinstance(name, str):
        return ""
    group, slash, _ = str(data.get("apiVersion", "")).rpartition("/")
    namespace = stated.get("namespace")
    owner = f"{namespace}/{name}" if isinstance(namespace, str) and namespace else name
    return f"{group}{slash}{data['kind']} {owner}"


def no_larger(found: Iterable[Finding], before: Iterable[tuple[str, Subject]]) -> list[Finding]:
    """Findings, those about a budget whose sum is no larger than it was under the subject that they had then."""
    held = {(rule, one.object, one.quantity): one for rule, one in before if one.object.startswith(OF_BUDGET)}
    return [_as_before(one, held.get((one.rule, one.subject.object, one.subject.quantity))) for one in found]


def _as_before(finding: Finding, before: Subject | None) -> Finding:
    if before is None:
        return finding
    try:
        now, then = (float(one.value.partition(" ")[0]) for one in (finding.subject, before))
    except ValueError:
        return finding
    return finding if now > then else finding._replace(subject=before)


def told(found: Iterable[Finding], documents: Sequence[Document]) -> list[Finding]:
    """The findings of one file, those about its text with their subjects as well."""
    return [one if one.subject != Subject() else one._replace(subject=at(one.location, documents)) for one in found]


def at(place: Location, documents: Sequence[Document]) -> Subject:
    """The subject of a place: the object that holds it, the keys that lead there, and what stands there."""
    value = plain(_shown(place))
    beside = [document for document in documents if document.path == place.path]
    if not beside:
        return Subject(_file(place.path), "", value)
    offset = _offset(beside[0].text, place)
    document = max((one for one in beside if one.root.start <= offset), key=_start, default=beside[0])
    path = _leading(document.root, offset)
    return Subject(_holder(document, path) or _file(place.path), _keys(document, path), value)


def plain(text: str) -> str:
    """A text as its reader takes it: without quotes and needless space, an amount as its number."""
    words = _short(text)
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


def _stated(role: Role, name: str) -> str | None:
    """What a file states of a quantity, by its meaning; None where only defaults and tables say it."""
    field = role.fields.get(name)
    if field is None or not field.origins or name.endswith(SAID):
        return None
    return plain(field.origins[0].text()) if _looked_up(field, role) else _normal(field)


def _looked_up(field: Field, role: Role) -> bool:
    """Whether a value was read from the row of a machine type, or not at all: then only the words stay as they are."""
    machine = role.fields.get("instance_type")
    beside = machine is not None and bool({*machine.origins} & {*field.origins})
    return isinstance(field.value, Unknown) or beside


def _normal(field: Field) -> str:
    value = field.value
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    if isinstance(value, int | float):
        return _number(Fraction(value)) if float(value).is_integer() else repr(value)
    return _short(", ".join(value) if isinstance(value, tuple) else str(value))


def _short(text: str) -> str:
    """A text in one line; of a long one the beginning, and what tells it from others that begin alike."""
    words = " ".join(text.split())
    if len(words) <= LONGEST:
        return words
    import hashlib

    return f"{words[:LONGEST]}… {hashlib.sha256(words.encode()).hexdigest()[:12]}"


def _number(value: Fraction) -> str:
    return str(value.numerator) if value.denominator == 1 else repr(float(value))


# ---- places


def _holder(document: Document, path: Path) -> str:
    """The innermost named object around a path."""
    around = (named(document.get(path[:length])) for length in range(len(path), -1, -1))
    return next(filter(None, around), "") if document.format in ("yaml", "json") else ""


def _start(document: Document) -> int:
    return document.root.start


def _file(path: str) -> str:
    return path.rpartition("/")[2]


def _offset(text: str, place: Location) -> int:
    start = 0
    for _ in range(place.line - 1):
        start = text.find("\n", start) + 1
    return start + place.column - 1


def _leading(root: Node, offset: int) -> Path:
    """The keys and positions that lead to the innermost value around an offset."""
    path: list[str | int] = []
    node = root
    while (step := _step(node, offset)) is not None:
        part, node = step
        path.append(part)
    return tuple(path)


def _step(node: Node, offset: int) -> tuple[str | int, Node] | None:
    if node.target is not None or node.kind == "scalar":
        return None
    if node.kind == "sequence":
        return next(((index, one) for index, one in enumerate(node.value) if one.start <= offset < one.end), None)
    entries = ((key, value) for key, value in node.value if key.kind == "scalar")
    return next(
        ((str(key.value), value) for key, value in entries if key.start <= offset < max(key.end, value.end)), None
    )


def _keys(document: Document, path: Path) -> str:
    """A path below the object that holds it, in which items are called by their names where they have them."""
    inside = next((length for length in range(len(path), 0, -1) if named(document.get(path[:length]))), 0)
    return "".join(_key(document, path[:length]) for length in range(inside + 1, len(path) + 1)).lstrip(".")


def _key(document: Document, path: Path) -> str:
    if isinstance(path[-1], str):
        return f".{path[-1]}"
    item = document.get(path)
    name = item.get("name") if isinstance(item, Mapping) else None
    return f"[{name if isinstance(name, str) else path[-1]}]"


def _shown(place: Location) -> str:
    """The characters of a place."""
    return "\n".join(_cut(place))


def _cut(place: Location) -> Iterator[str]:
    lines = place.text.splitlines()
    for at, line in enumerate(lines):
        end = place.end_column - 1 if place.line + at == place.end_line else len(line)
        yield line[place.column - 1 if at == 0 else 0 : end]
