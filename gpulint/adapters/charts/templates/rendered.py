"""Rendered files: what a template writes as documents, and from each of their values back to the file that states it."""

from __future__ import annotations

import bisect
import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from gpulint.adapters.charts.templates.evaluation import Written
from gpulint.adapters.charts.templates.value import GAP, OPEN, format_scalar
from gpulint.source import documents
from gpulint.source.documents import Document, Node, Path
from gpulint.workload import Field, Origin, Role

HARMLESS = frozenset(
    {
        *(
            "labels",
            "annotations",
            "matchLabels",
            "imagePullSecrets",
            "podAnnotations",
            "podLabels",
            "ports",
            "metadata",
        ),
        *("securityContext", "livenessProbe", "readinessProbe", "startupProbe", "selector", "lifecycle", "strategy"),
    }
)
"""Keys below which a line that may be written changes nothing that rules ask about."""
AMOUNTS = frozenset({"resources", "limits", "requests"})
QUOTES = ("'", '"')


class Piece(NamedTuple):
    """A part of a rendered text: where it starts there, and what writes it."""

    at: int
    written: Written


class RenderedFile(NamedTuple):
    """What a template writes: its path and text, the rendered text, its pieces and its documents.

    `gaps` are the offsets at which it is open whether lines are written. `is_broken` says that the text is no YAML.
    """

    path: str
    template: str
    text: str
    pieces: tuple[Piece, ...]
    gaps: tuple[int, ...]
    documents: tuple[Document, ...]
    is_broken: bool


def assemble(path: str, template: str, folder: str, written: Sequence[Written]) -> RenderedFile:
    """Return the rendered file of what a template writes."""
    texts, pieces, gaps, at = [], [], [], 0
    last = ""
    for number, part in enumerate(written):
        text = part.text
        if not text and part.origin is not None and _stands_alone(last, _find_next(written, number)):
            text = OPEN
        while GAP in text:
            before, _, text = text.partition(GAP)
            texts.append(before)
            pieces.append(Piece(at, part))
            at += len(before)
            gaps.append(at)
            last = (last + before)[-2:]
        texts.append(text)
        pieces.append(Piece(at, part))
        at += len(text)
        last = (last + text)[-2:]
    whole = "".join(texts)
    loaded = documents.load("rendered.yaml", whole.encode("utf-8", "replace"))
    shown = posixpath.join(folder, posixpath.basename(path))
    bare = RenderedFile(path, template, whole, tuple(pieces), tuple(gaps), (), is_broken=False)
    found = [document for document in loaded.documents if document.format != "template"]
    for document in found:
        _spell_open(document.root, bare, set())
    made = tuple(Document(shown, at, whole, document.root, "yaml") for at, document in enumerate(found))
    return bare._replace(documents=made, is_broken=bool(loaded.skips))


def _find_next(written: Sequence[Written], number: int) -> str:
    return next((part.text[0] for part in written[number + 1 :] if part.text), "\n")


def _stands_alone(last: str, following: str) -> bool:
    """Return whether an empty value is all that stands there: a whole item, text or argument, which somebody fills in."""
    if last[-1:] in QUOTES:
        return following == last[-1:]
    if last[-1:] == "=":
        return following in (*QUOTES, " ", "\n")
    return last == "- " and following == "\n"


def _spell_open(node: Node, file: RenderedFile, seen: set[int]) -> None:
    """Replace what is open in texts by the expression of the template that writes it."""
    if id(node) in seen:
        return
    seen.add(id(node))
    if node.kind == "scalar":
        if OPEN in node.value:
            node.value = node.value.replace(OPEN, _find_expression(file, node))
    elif node.kind == "sequence":
        for item in node.value:
            _spell_open(item, file, seen)
    else:
        for key, item in node.value:
            _spell_open(key, file, seen)
            _spell_open(item, file, seen)


def _find_expression(file: RenderedFile, node: Node) -> str:
    at = file.text.find(OPEN, node.start)
    written = _find_piece(file, max(at, node.start)).written
    found = re.sub(r"\s+", " ", file.template[written.start : written.end])
    return found if found.startswith("{{") and len(found) < 200 else "{{ }}"


def _find_piece(file: RenderedFile, offset: int) -> Piece:
    """Return the last piece that starts at or before an offset, and is not empty unless it is the only one."""
    at = bisect.bisect_right(file.pieces, offset, key=lambda piece: piece.at) - 1
    return file.pieces[max(at, 0)]


def is_dynamic(file: RenderedFile, document: Document) -> bool:
    """Return whether the template computes any part of a document; one that it does not is an object of its own."""
    at = file.documents.index(document)
    start = file.documents[at - 1].root.end if at else 0
    end = file.documents[at + 1].root.start if at + 1 < len(file.documents) else len(file.text)
    return any(start <= piece.at <= end and not piece.written.literal for piece in file.pieces)


def find_gaps(file: RenderedFile, document: Document) -> Iterator[str]:
    """Yield the expressions that decide whether further lines of a document are written, where these matter."""
    for gap in file.gaps:
        if document.root.start <= gap <= document.root.end + 1 and not HARMLESS & set(_list_keys(file.text, gap)):
            written = _find_piece(file, gap - 1).written
            yield re.sub(r"\s+", " ", file.template[written.start : written.end]).partition("}}")[0] + "}}"


def _list_keys(text: str, at: int) -> Iterator[str]:
    """Yield the keys above a line, by the indentation."""
    lines = text[:at].split("\n")
    width = len(lines[-1]) - len(lines[-1].lstrip(" -"))
    if lines[-1].strip(" -"):
        yield lines[-1].strip(" -").partition(":")[0]
    for line in reversed(lines[:-1]):
        bare = line.lstrip(" -")
        if bare.strip() and not bare.startswith("#") and len(line) - len(line.lstrip(" ")) < width and ":" in bare:
            width = len(line) - len(line.lstrip(" "))
            yield bare.partition(":")[0]
        if width == 0:
            return


# ---- back to the files


def relocate(role: Role, file: RenderedFile, owner: Document) -> Role:
    """Return a role whose locations are in the files that state its values."""
    fields = {name: _relocate_field(field, file) for name, field in role.fields.items()}
    anchor = find_anchor(fields, owner) or _relocate(role.anchor, file)
    arguments = _relocate(role.arguments, file) if role.arguments else None
    kept = arguments if arguments and arguments.document is owner and _is_item(arguments) else None
    return replace(role, fields=fields, anchor=anchor, arguments=kept)


def _is_item(origin: Origin) -> bool:
    return bool(origin.path) and isinstance(origin.path[-1], int)


def find_anchor(fields: dict[str, Field], owner: Document) -> Origin | None:
    """Return the section of the values that states the model, else the GPUs or the image."""
    for name in ("checkpoint", "gpus_per_pod", "gpu_limit", "engine", "engine_image", "replicas"):
        for origin in fields[name].origins if name in fields else ():
            if origin.document is owner:
                return Origin(owner, _find_section(origin.path))
    return None


def _find_section(path: Path) -> Path:
    """Return the mapping that states a value, or the list that it is an item of; the value itself at the top."""
    section = path
    while section and isinstance(section[-1], int):
        section = section[:-1]
    section = section[:-1]
    while section and section[-1] in AMOUNTS:
        section = section[:-1]
    return section or path


def _relocate_field(field: Field, file: RenderedFile) -> Field:
    wanted = format_scalar(field.value) if isinstance(field.value, str | int | float) else ""
    return replace(field, origins=tuple(dict.fromkeys(_relocate(origin, file, wanted) for origin in field.origins)))


def _relocate(origin: Origin, file: RenderedFile, wanted: str = "") -> Origin:
    """Return the location of the value that a template writes there, else that of the template's own text.

    Of several values in one text, `wanted` is the one that is meant.
    """
    document = origin.document
    if document.text is not file.text:
        return origin
    start, end = _find_span(origin)
    found = [piece for piece in _find_pieces(file, start, end) if piece.written.text]
    first = found[0] if found else _find_piece(file, start)
    stated = first.written.origin
    if stated is not None and len(found) == 1:
        return _narrow(stated, first, start, end)
    meant = {piece.written.origin for piece in found if wanted and piece.written.text == wanted} - {None}
    if len(meant) == 1 and (only := meant.pop()) is not None:
        return only
    if section := _find_common_section(origin, file, start, end):
        return section
    written, last = first.written, found[-1].written if found else first.written
    offset = start - first.at if written.literal else 0
    length = end - start if written.literal and len(found) < 2 else 0
    return _point(file, written.start + offset, written.start + offset + length if length else last.end)


def _find_common_section(origin: Origin, file: RenderedFile, start: int, end: int) -> Origin | None:
    """Return the section of the values that states all values of a mapping or of a joined text; None if none does."""
    node = origin.document.node(origin.path)
    if origin.key or origin.span is not None or node is None:
        return None
    if node.kind != "scalar":
        start, end = node.start, node.end
    stated = [piece.written.origin for piece in _find_pieces(file, start, end) if piece.written.origin is not None]
    sections = {_find_section(each.path) for each in stated}
    files = {id(each.document) for each in stated}
    section = next(iter(sections), ())
    alone = len(sections) == len(files) == 1 and len(stated) > 1 and section
    return Origin(stated[0].document, section) if alone else None


def _find_span(origin: Origin) -> tuple[int, int]:
    """Return the span of a location in the rendered text, without quotes."""
    document, path = origin.document, origin.path
    key, node = document.key_node(path), document.node(path)
    if origin.span is not None and node is not None and node.kind == "scalar" and origin.span[1] > origin.span[0]:
        return document.offset(path, origin.span[0]), document.offset(path, origin.span[1] - 1) + 1
    if key is not None and (origin.key or node is None or node.kind != "scalar"):
        return key.start, key.end
    while node is None and path:
        path = path[:-1]
        node = document.node(path)
    node = node or document.root
    if node.kind != "scalar":
        end = document.text.find("\n", node.start)
        return node.start, end if node.start < end < node.end else node.end
    quoted = node.style in QUOTES and node.end - node.start > 1 and document.text[node.start] in QUOTES
    return (node.start + 1, node.end - 1) if quoted else (node.start, node.end)


def _find_pieces(file: RenderedFile, start: int, end: int) -> list[Piece]:
    """Return the pieces that write a span."""
    at = bisect.bisect_right(file.pieces, start, key=lambda piece: piece.at) - 1
    found = []
    while (
        at > 0 and file.pieces[at].at + len(_kept(file, at)) <= start and file.pieces[at - 1].at == file.pieces[at].at
    ):
        at -= 1
    for number in range(max(at, 0), len(file.pieces)):
        piece = file.pieces[number]
        if piece.at >= end:
            break
        if piece.at + len(_kept(file, number)) > start:
            found.append(piece)
    return found


def _kept(file: RenderedFile, number: int) -> str:
    """Return the text of a piece in the rendered text."""
    start = file.pieces[number].at
    end = file.pieces[number + 1].at if number + 1 < len(file.pieces) else len(file.text)
    return file.text[start:end]


def _narrow(stated: Origin, piece: Piece, start: int, end: int) -> Origin:
    """Return the location of a value, or of the words of it that are meant."""
    data = format_scalar(stated.document.get(stated.path))
    text = piece.written.text
    shift = 1 if text[:1] in QUOTES and text[1:-1] == data else 0
    first, last = start - piece.at - shift, end - piece.at - shift
    if (
        stated.key
        or text[shift : len(text) - shift] != data
        or (first, last) in ((0, len(data)), (-shift, len(data) + shift))
    ):
        return stated
    return stated._replace(span=(max(first, 0), min(last, len(data))))


def _point(file: RenderedFile, start: int, end: int) -> Origin:
    """Return a span of the template as a location."""
    end = max(start, min(end, len(file.template)))
    node = Node("scalar", start, end, file.template[start:end], "'")
    return Origin(Document(file.path, 0, file.template, node, "yaml"), ())
