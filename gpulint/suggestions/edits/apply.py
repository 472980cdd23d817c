"""The edits of a suggestion, located in the text of their files and applied to it."""

from __future__ import annotations

import bisect
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from gpulint.report.model import Edit, Replacement, Suggestion
from gpulint.source import documents
from gpulint.source.documents import Document, Loaded, places
from gpulint.suggestions.edits import splices
from gpulint.suggestions.edits.splices import Inexact

Files = Mapping[str, bytes]
MARK_8, MARKS_16 = b"\xef\xbb\xbf", {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}


def locate_edits(suggestion: Suggestion, read: Callable[[str], tuple[Loaded, str] | None]) -> Suggestion:
    """Return a suggestion whose edits carry exact replacements where they are certain."""
    return suggestion._replace(
        edits=tuple(edit._replace(exact=_locate_replacement(edit, read)) for edit in suggestion.edits)
    )


def _locate_replacement(edit: Edit, read: Callable[[str], tuple[Loaded, str] | None]) -> Replacement | None:
    found = read(edit.location.path) if edit.location else None
    if edit.location is None or found is None:
        return None
    loaded, text = found
    try:
        start, end, new = splices.locate(edit, loaded.documents, text)
    except Inexact:
        return None
    return Replacement(places.locate(edit.location.path, text, start, end), new)


def apply_edits(suggestion: Suggestion, given: Files) -> dict[str, bytes]:
    """Return the contents of the files that a suggestion changes; raise Inexact if an edit has no
    exact location.
    """
    if not suggestion.edits:
        raise Inexact("no file declares the value it changes")
    by_path: dict[str, list[Edit]] = {}
    for edit in suggestion.edits:
        if edit.location is None:
            raise Inexact(f"there is no place to insert `{edit.new}`")
        by_path.setdefault(edit.location.path, []).append(edit)
    return {path: _edit_file(path, edits, given) for path, edits in by_path.items()}


def _edit_file(path: str, edits: Sequence[Edit], given: Files) -> bytes:
    if path not in given:
        raise Inexact(f"the value is declared in {path}, which is not among the files to fix")
    content = given[path]
    loaded = documents.load_text(path, content)
    text = decode(content)
    found = [splices.locate(edit, loaded.documents, text) for edit in edits]
    changed = _encode(splices.apply(text, _merge_insertions(found)), content)
    _refuse_damage(loaded, documents.load_text(path, changed), len(found))
    return changed


class ChangedDocument(NamedTuple):
    """The only document of a file that a suggestion changes, read alone at its place in the changed text.

    `content` is that of the whole changed file. `lines` are the changed lines, each with the
    number of lines that are added there.
    """

    document: Document
    position: int
    content: bytes
    lines: tuple[tuple[int, int], ...]


def change_document(suggestion: Suggestion, loaded: Loaded, content: bytes) -> ChangedDocument | None:
    """Return the document that a suggestion changes; None if it may change more, or the file is no YAML stream.

    Raises Inexact if an edit has no exact location.
    """
    if len(loaded.documents) < 2 or any(document.format != "yaml" for document in loaded.documents):
        return None
    first = loaded.documents[0]
    found = list(_merge_insertions([splices.locate(edit, loaded.documents, first.text) for edit in suggestion.edits]))
    start, end = documents.find_chunk(first.text, min(splice.start for splice in found))
    position = bisect.bisect_right(loaded.documents, end - 1, key=lambda document: document.root.start) - 1
    if position < 0 or any(splice.end > end for splice in found):
        return None
    changed, index = splices.apply(first.text, found), loaded.documents[position].index
    before = documents.load_chunk(first.path, first.text, start, end, index)
    after = documents.load_chunk(first.path, changed, start, end + len(changed) - len(first.text), index)
    if before is None or after is None or len(before.documents) != 1:
        return None
    _refuse_damage(before, after, len(found))
    added = ((splice, splice.new.count("\n") - first.text.count("\n", *splice[:2])) for splice in found)
    lines = tuple((places.find_line(first.text, splice.start), more) for splice, more in added if more)
    return ChangedDocument(after.documents[0], position, _encode(changed, content), lines)


def _merge_insertions(found: Sequence[splices.TextEdit]) -> Iterator[splices.TextEdit]:
    """Yield text edits, with insertions at the same position merged into one."""
    at: dict[tuple[int, int], list[str]] = {}
    for splice in dict.fromkeys(found):
        at.setdefault((splice.start, splice.end), []).append(splice.new)
    for (start, end), texts in at.items():
        if start == end or len(texts) == 1:
            yield splices.TextEdit(start, end, "".join(texts))
        else:
            raise Inexact("two of its edits conflict at one location")


def _refuse_damage(before: Loaded, after: Loaded, edits: int) -> None:
    """Raise Inexact if the file no longer parses or changes beyond the edits."""
    if len(before.documents) != len(after.documents) or len(before.problems) < len(after.problems):
        raise Inexact("the file would no longer parse")
    old, new = _count_leaves(before), _count_leaves(after)
    if (old - new).total() > 2 * edits or (new - old).total() > 2 * edits:
        raise Inexact("other values of the file would change too")


def _count_leaves(loaded: Loaded) -> Counter[tuple[object, ...]]:
    """Count every scalar of a file's documents by its path, without positions in lists."""
    found: Counter[tuple[object, ...]] = Counter()
    pending: list[tuple[tuple[object, ...], object]] = [
        ((at,), document.data) for at, document in enumerate(loaded.documents)
    ]
    while pending:
        path, value = pending.pop()
        if isinstance(value, dict):
            pending.extend(((*path, key), inner) for key, inner in value.items())
        elif isinstance(value, list):
            pending.extend(((*path, "*"), inner) for inner in value)
        else:
            found[(*path, type(value).__name__, str(value))] += 1
    return found


# ---- bytes


def decode(content: bytes) -> str:
    """Return the text of a file without its byte order mark."""
    encoding = MARKS_16.get(content[:2])
    return content[2:].decode(encoding) if encoding else content.removeprefix(MARK_8).decode("utf-8")


def _encode(text: str, like: bytes) -> bytes:
    """Return a text in the encoding of another file's content, with its byte order mark."""
    encoding = MARKS_16.get(like[:2])
    if encoding:
        return like[:2] + text.encode(encoding)
    return (MARK_8 if like.startswith(MARK_8) else b"") + text.encode("utf-8")
