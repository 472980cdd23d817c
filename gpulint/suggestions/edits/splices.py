"""Text edits: the exact characters of a file that an edit replaces or inserts, or why there is no
exact place.
"""

from __future__ import annotations

import bisect
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from gpulint.report.model import Edit, Location
from gpulint.source.documents import Document, Node, places

WORD = re.compile(r"[A-Za-z0-9_./:=@%+,-]+")
"""A single word that no format and no shell splits."""
SEVERAL_WORDS = re.compile(r"--[\w-]+=[\w,.]+(?: [A-Za-z][\w,.-]*)+")
"""An argument whose value has several words, as one list item."""
QUOTED_WORDS = re.compile(r"--[\w-]+=\"[\w,.]+(?: [A-Za-z][\w,.-]*)+\"")
"""The same, quoted for a shell."""
OPENING = re.compile(r"\{\{|\{%|<%|@\w+@")
"""Marks of templates."""
ASSIGNED = re.compile(r"(?:^|[\s;&|(])([A-Za-z_]\w*)=[\"']?$")
DEFAULT = re.compile(r"\$\{\w+:?-$")
ENVIRONMENT = frozenset({"env", "envs", "environment", "environment_variables"})
ENDS_WORD = re.compile(r"[\s;&|)`\"']|\Z")
LONE_ARGUMENT = re.compile(r"[ \t]*-[\w-]+(?:[ =][^ \t\n]+)?")
"""A line of a command with a single argument."""
NOT_A_TEXT = re.compile(r"(?i)[+.\d][\w.+-]*|-[.\d].*|true|false|yes|no|on|off|y|n|null|none|~")
"""Words that YAML may not read as text."""
ONE_ENTRY = re.compile(r"(?P<key>[\w-]+): \{(?P<name>[^\s:{}]+): (?P<value>[^\s:{}]+)\}")
HINTED = re.compile(r"#\s*gpulint:")


class TextEdit(NamedTuple):
    """A range of characters, and its replacement."""

    start: int
    end: int
    new: str


class Inexact(Exception):
    """Why an edit has no exact place."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Step(NamedTuple):
    """A node on the way from the root to a place, and its key."""

    key: Node | None
    node: Node


def locate(edit: Edit, documents: Sequence[Document], text: str) -> TextEdit:
    """Return the text edit for an edit; raise Inexact if its place is not certain."""
    if edit.location is None:
        raise Inexact(f"the file has no place to insert `{edit.new}`")
    start, end = find_span(text, edit.location)
    at = bisect.bisect_right(documents, start, key=lambda document: document.root.start)
    if not at or documents[at - 1].format == "template":
        raise Inexact("the file has no readable document there")
    document = documents[at - 1]
    steps = _find_steps(document, start)
    _refuse_shared(document, start)
    _refuse_templates(text, start, end)
    match edit.how:
        case "argument":
            return _add_argument(edit, document, text, start, end, steps)
        case "key":
            return _add_key(edit, document, text, start, steps)
        case "item":
            return _add_item(edit, document, text, start)
        case "remove":
            return _remove(text, steps)
    return _replace(edit, document, text, start, end, steps)


def apply(text: str, splices: Iterable[TextEdit]) -> str:
    """Apply all text edits; raise Inexact if two of them overlap."""
    ordered = sorted(dict.fromkeys(splices))
    for splice, following in itertools.pairwise(ordered):
        if following.start < splice.end or (following.start, following.end) == (splice.start, splice.end):
            raise Inexact("two of its edits touch the same characters")
    for splice in reversed(ordered):
        text = text[: splice.start] + splice.new + text[splice.end :]
    return text


def find_span(text: str, place: Location) -> tuple[int, int]:
    """Return the offsets of a location; raise Inexact if the text has no such line."""
    starts = places.list_line_starts(text)
    if len(starts) < place.end_line:
        raise Inexact("the file has changed since it was read")
    return starts[place.line - 1] + place.column - 1, starts[place.end_line - 1] + place.end_column - 1


# ---- locating a place


def _find_steps(document: Document, offset: int) -> list[Step]:
    """Return the nodes from the root down to the one at an offset."""
    steps = [Step(None, document.root)]
    while (step := _find_child(steps[-1].node, offset)) is not None:
        steps.append(step)
    return steps


def _find_child(node: Node, offset: int) -> Step | None:
    if node.target is not None or node.kind == "scalar":
        return None
    if node.kind == "mapping":
        return next((Step(key, value) for key, value in node.value if _holds(key, value, offset)), None)
    return next((Step(None, item) for item in node.value if item.start <= offset <= item.end), None)


def _holds(key: Node, value: Node, offset: int) -> bool:
    return key.start <= offset < max(key.end, value.end) or (value.start <= offset <= value.end)


def _refuse_shared(document: Document, offset: int) -> None:
    """Raise Inexact for values of anchors that are used elsewhere, and for aliases."""
    for node in _find_aliases(document.root):
        if node.start <= offset < node.end:
            raise Inexact("an alias is used there; its anchor declares the value")
        target = node.target
        if target is not None and target.start <= offset <= target.end:
            raise Inexact("it is part of an anchor that is used elsewhere too")


def _find_aliases(root: Node) -> Iterator[Node]:
    pending = [root]
    while pending:
        node = pending.pop()
        if node.target is not None:
            yield node
        elif node.kind == "mapping":
            pending.extend(node_of_pair for pair in node.value for node_of_pair in pair)
        elif node.kind != "scalar":
            pending.extend(node.value)


def _refuse_templates(text: str, start: int, end: int) -> None:
    first, last = _find_line(text, start, end)
    if OPENING.search(text, first, last):
        raise Inexact("the line holds a template expression")


def _find_line(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the start of the line of one offset and the end of the line of another, without its
    break.
    """
    stop = text.find("\n", end)
    stop = len(text) if stop < 0 else stop
    return text.rfind("\n", 0, start) + 1, stop - text[:stop].endswith("\r")


# ---- one text in the place of another


def _replace(edit: Edit, document: Document, text: str, start: int, end: int, steps: Sequence[Step]) -> TextEdit:
    source = text[start:end]
    if len(source) > 1 and source[0] == source[-1] and source[0] in "\"'" and source[1:-1] == edit.old:
        start, end, source = start + 1, end - 1, edit.old
    if source != edit.old or not source:
        raise Inexact(f"`{edit.old}` is not written there literally")
    splice = _trim(TextEdit(start, end, edit.new), source)
    if not WORD.fullmatch(splice.new or "-") or ("," in splice.new and "," not in edit.old):
        raise Inexact(f"`{edit.new}` is not one word")
    _refuse_hints(text, start, steps)
    _refuse_variables(text, splice, steps)
    return splice


def _trim(splice: TextEdit, source: str) -> TextEdit:
    """Return the same text edit without the characters that stay the same at both ends."""
    shorter = min(len(source), len(splice.new))
    same = next((at for at in range(shorter) if source[at] != splice.new[at]), shorter)
    rest, new = source[same:], splice.new[same:]
    shorter = min(len(rest), len(new))
    tail = next((at for at in range(shorter) if rest[-1 - at] != new[-1 - at]), shorter)
    return TextEdit(splice.start + same, splice.end - tail, new[: len(new) - tail])


def _refuse_hints(text: str, start: int, steps: Sequence[Step]) -> None:
    """Raise Inexact for values in gpulint's own comments and annotations, which change no
    deployment.
    """
    first, _ = _find_line(text, start, start)
    keys = [str(step.key.value) for step in steps if step.key is not None]
    if HINTED.search(text[first:start]) or any(key.startswith("gpulint/") for key in keys):
        raise Inexact("a gpulint hint declares it, which changes no deployment")


def _refuse_variables(text: str, splice: TextEdit, steps: Sequence[Step]) -> None:
    if "$" in text[splice.start : splice.end]:
        raise Inexact("a variable supplies it")
    first, _ = _find_line(text, splice.start, splice.start)
    if DEFAULT.search(text[first : splice.start]):
        raise Inexact("it is the default of a variable that the caller may set")
    name = _find_variable(text[first : splice.start], steps)
    uses = len(re.findall(rf"\$[({{]*{re.escape(name)}\b", text)) if name else 0
    if uses > 1:
        raise Inexact(f"it is the value of {name}, which is used in {uses} places")


def _find_variable(before: str, steps: Sequence[Step]) -> str:
    """Return the variable that a place assigns; empty if it assigns none."""
    if (assigned := ASSIGNED.search(before)) and steps[-1].node.kind == "scalar":
        return assigned[1]
    if len(steps) > 1 and any(step.key is not None and step.key.value in ENVIRONMENT for step in steps):
        holder = steps[-2].node
        named = [value for key, value in holder.value if key.value == "name"] if holder.kind == "mapping" else []
        key = steps[-1].key
        return str(named[0].value) if named else str(key.value) if key is not None else ""
    return ""


# ---- one more argument


def _add_argument(edit: Edit, document: Document, text: str, start: int, end: int, steps: Sequence[Step]) -> TextEdit:
    node = steps[-1].node
    quoted = text[node.start] in "\"'" and (start, end) == (node.start + 1, node.end - 1)
    listed = len(steps) > 1 and steps[-2].node.kind == "sequence" and (quoted or (start, end) == (node.start, node.end))
    several = SEVERAL_WORDS.fullmatch(edit.new) if listed else QUOTED_WORDS.fullmatch(edit.new)
    words = [edit.new] if several else edit.new.split(" ")
    if not several and not all(WORD.fullmatch(word) for word in words):
        raise Inexact(f"`{edit.new}` is more than plain words")
    if listed:
        return _add_items(words, text, steps[-2].node, node)
    if node.kind != "scalar":
        raise Inexact("the place is not a word of a command")
    return _add_word(edit.new, document, text, node, start, end)


def _add_items(words: Sequence[str], text: str, items: Node, beside: Node) -> TextEdit:
    """Return the insertion of further list items in the style of the one before; a number stays a
    text.
    """
    if beside.style in ("|", ">"):
        raise Inexact("the argument before it is a block of text")
    quote = text[beside.start] if text[beside.start] in "\"'" else ""
    written = [f'"{word}"' if not quote and NOT_A_TEXT.fullmatch(word) else f"{quote}{word}{quote}" for word in words]
    if text[items.start] == "[":
        index = items.value.index(beside)
        before = items.value[index - 1].end if index else items.start + 1
        gap = text[before : beside.start].lstrip(",")
        comma = f",{gap if gap.strip() == '' and gap else ' '}"
        return TextEdit(beside.end, beside.end, "".join(f"{comma}{item}" for item in written))
    first, stop = _find_line(text, beside.start, beside.end)
    dash = text[first : beside.start]
    if not re.fullmatch(r"[ \t]*-[ \t]+", dash):
        raise Inexact("the argument before it is not on a line of its own")
    return TextEdit(stop, stop, "".join(f"{_find_break(text, first)}{dash}{item}" for item in written))


def _add_word(new: str, document: Document, text: str, node: Node, start: int, end: int) -> TextEdit:
    """Return the insertion of a word after the last one of a command."""
    if not ENDS_WORD.match(text, end) or (node.style not in ("|", ">") and end > node.end):
        raise Inexact("the argument before it continues there")
    first, _ = _find_line(text, start, end)
    before = text[first:start]
    if ASSIGNED.search(before) and not text[start:end].startswith("-"):
        raise Inexact("a variable holds the argument before it")
    in_lines = document.format == "shell" or node.style == "|"
    lone = LONE_ARGUMENT.fullmatch(text[first:end])
    if in_lines and lone and text[:first].rstrip("\r\n").endswith("\\"):
        indent = before[: len(before) - len(before.lstrip())]
        return TextEdit(end, end, f" \\{_find_break(text, first)}{indent}{new}")
    return TextEdit(end, end, f" {new}")


def _find_break(text: str, line_start: int) -> str:
    """Return the line break of the line at an offset."""
    at = text.find("\n", line_start)
    if at < 0:
        at = text.rfind("\n", 0, line_start)
    return "\r\n" if at > 0 and text[at - 1] == "\r" else "\n"


# ---- one more key, or an entry less


def _add_key(edit: Edit, document: Document, text: str, start: int, steps: Sequence[Step]) -> TextEdit:
    """Return the insertion of an entry after the one at the place."""
    at = next((at for at, step in enumerate(steps) if step.key is not None and step.key.start == start), 0)
    holder, key, value = steps[at - 1].node, steps[at].key, steps[at].node
    if document.format != "yaml" or key is None:
        raise Inexact("the place is not a key of a YAML mapping")
    if any(edit.new.partition(":")[0] == name.value for name, _ in holder.value):
        raise Inexact("the key already exists there")
    if text[holder.start] == "{":
        return TextEdit(value.end, value.end, f", {edit.new}")
    first, stop = _find_line(text, key.start, max(key.end, value.end))
    indent = text[first : key.start]
    if indent.strip(" -") or value.target is not None or value.style in ("|", ">"):
        raise Inexact("the key next to it is not on lines of its own")
    margin = indent.replace("-", " ")
    written = "".join(f"{_find_break(text, first)}{margin}{line}" for line in _render_entry(edit.new, text, key, value))
    return TextEdit(stop, stop, written)


def _add_item(edit: Edit, document: Document, text: str, start: int) -> TextEdit:
    """Return the insertion of an item, in braces, after the one at the place."""
    items, item = _find_item(document, start)
    if document.format != "yaml" or items is None or item is None or item.target is not None:
        raise Inexact("the place is not an item of a YAML list")
    if text[items.start] == "[":
        return TextEdit(item.end, item.end, f", {edit.new}")
    first, stop = _find_line(text, item.start, item.end)
    dash = re.match(r"[ \t]*-[ \t]+", text[first : item.start])
    if dash is None or dash.end() != item.start - first or item.style in ("|", ">"):
        raise Inexact("the item before it is not on lines of its own")
    return TextEdit(stop, stop, f"{_find_break(text, first)}{dash[0]}{edit.new}")


def _find_item(document: Document, start: int) -> tuple[Node | None, Node | None]:
    """Return the outermost list that has an item at an offset, and the item."""
    steps = _find_steps(document, start)
    found = (
        (above.node, step.node)
        for above, step in itertools.pairwise(steps)
        if step.key is None and step.node.start == start
    )
    return next(found, (None, None))


def _render_entry(new: str, text: str, key: Node, value: Node) -> Iterator[str]:
    """Yield the lines of an entry, in the style of its neighbour."""
    nested = ONE_ENTRY.fullmatch(new)
    if nested is None or value.kind != "mapping" or text[value.start] == "{" or not value.value:
        yield new
        return
    first = text.rfind("\n", 0, value.start) + 1
    step = value.start - first - (key.start - (text.rfind("\n", 0, key.start) + 1))
    like = next((node for name, node in value.value if name.value == nested["name"]), None)
    quote = like.style if like is not None and like.style in ("'", '"') else ""
    yield f"{nested['key']}:"
    yield f"{' ' * step}{nested['name']}: {quote}{nested['value']}{quote}"


def _remove(text: str, steps: Sequence[Step]) -> TextEdit:
    """Return the removal of the entry at a place: a list item, or a key with its value."""
    at = len(steps) - 1
    if at > 1 and steps[at - 1].key is None and steps[at - 2].node.kind == "sequence":
        at -= 1
    holder, entry = steps[at - 1].node, steps[at]
    if holder.kind == "scalar":
        raise Inexact("it is not an entry of a list or a mapping")
    if len(holder.value) < 2:
        raise Inexact("it is the only entry")
    start = entry.key.start if entry.key is not None else entry.node.start
    first, stop = _find_line(text, start, entry.node.end)
    if text[holder.start] in "[{" or not re.fullmatch(r"[ \t]*(-[ \t]+)?", text[first:start]):
        raise Inexact("it is not on lines of its own")
    if entry.key is not None and "-" in text[first:start]:
        raise Inexact("it is the first key of an item")
    if "#" in text[first:stop]:
        raise Inexact("a comment is next to it")
    after = text.find("\n", stop)
    if after < 0:
        raise Inexact("it is the last line of the file")
    return TextEdit(first, after + 1, "")
