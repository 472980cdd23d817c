"""The edits of a suggestion, located in the text of their files and applied to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from gpulint.report.model import Edit, Replacement, Suggestion
from gpulint.source import documents
from gpulint.source.documents import Loaded, places
from gpulint.suggestions.edits import splices
from gpulint.suggestions.edits.splices import Inexact

Files = Mapping[str, bytes]
MARK_8, MARKS_16 = b"\xef\xbb\xbf", {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}


def placed(one: Suggestion, read: Callable[[str], tuple[Loaded, str] | None]) -> Suggestion:
    """A suggestion whose edits tell the characters that they change, as far as those are sure; `read` reads a file."""
    return one._replace(edits=tuple(edit._replace(exact=_exact(edit, read)) for edit in one.edits))


def _exact(edit: Edit, read: Callable[[str], tuple[Loaded, str] | None]) -> Replacement | None:
    found = read(edit.location.path) if edit.location else None
    if edit.location is None or found is None:
        return None
    loaded, text = found
    try:
        start, end, new = splices.of(edit, loaded.documents, text)
    except Inexact:
        return None
    return Replacement(places.of(edit.location.path, text, start, end), new)


def written(one: Suggestion, given: Files) -> dict[str, bytes]:
    """The contents of the files that a suggestion changes, after all of its edits; Inexact where one has no exact place."""
    if not one.edits:
        raise Inexact("no place states what it changes")
    by_path: dict[str, list[Edit]] = {}
    for edit in one.edits:
        if edit.location is None:
            raise Inexact(f"nothing stands there beside which `{edit.new}` could be put")
        by_path.setdefault(edit.location.path, []).append(edit)
    return {path: _edited(path, edits, given) for path, edits in by_path.items()}


def _edited(path: str, edits: Sequence[Edit], given: Files) -> bytes:
    if path not in given:
        raise Inexact(f"{path} states it, which is not among the files given")
    content = given[path]
    loaded = documents.load(path, content)
    text = decoded(content)
    found = [splices.of(edit, loaded.documents, text) for edit in edits]
    changed = _encoded(splices.applied(text, _joined(found)), content)
    _refuse_damage(loaded, documents.load(path, changed), len(found))
    return changed


def _joined(found: Sequence[splices.Splice]) -> Iterator[splices.Splice]:
    """Splices, those that put something in at the same place as one."""
    at: dict[tuple[int, int], list[str]] = {}
    for one in dict.fromkeys(found):
        at.setdefault((one.start, one.end), []).append(one.new)
    for (start, end), texts in at.items():
        if start == end or len(texts) == 1:
            yield splices.Splice(start, end, "".join(texts))
        else:
            raise Inexact("two of its edits say different things of one place")


def _refuse_damage(before: Loaded, after: Loaded, edits: int) -> None:
    """A file whose structure the edits change beyond themselves, or that no longer parses."""
    if len(before.documents) != len(after.documents) or len(before.problems) < len(after.problems):
        raise Inexact("the file would no longer parse")
    old, new = _leaves(before), _leaves(after)
    if (old - new).total() > 2 * edits or (new - old).total() > 2 * edits:
        raise Inexact("more than the places at hand would change")


def _leaves(loaded: Loaded) -> Counter[tuple[object, ...]]:
    """Every scalar of a file's documents by its path, in which a place in a list does not count."""
    found: Counter[tuple[object, ...]] = Counter()
    pending: list[tuple[tuple[object, ...], object]] = [((at,), one.data) for at, one in enumerate(loaded.documents)]
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


def decoded(content: bytes) -> str:
    """The text of a file as its documents have it: without a byte order mark."""
    encoding = MARKS_16.get(content[:2])
    return content[2:].decode(encoding) if encoding else content.removeprefix(MARK_8).decode("utf-8")


def _encoded(text: str, like: bytes) -> bytes:
    """A text in the encoding of another file's content, with its mark."""
    encoding = MARKS_16.get(like[:2])
    if encoding:
        return like[:2] + text.encode(encoding)
    return (MARK_8 if like.startswith(MARK_8) else b"") + text.encode("utf-8")
