"""Walk `if`, `case` and loops according to the results of their tests."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import tree_sitter

from gpulint.source.shell import conditions, variables
from gpulint.source.shell.choices import Choice
from gpulint.source.shell.command import Piece, Word
from gpulint.source.shell.conditions import Verdict
from gpulint.source.shell.interfaces import Reader
from gpulint.source.shell.run import Context

_BRANCHES = frozenset({"elif_clause", "else_clause"})
_ASKS_THE_CALLER = re.compile(r"\$#|\$\{#\}|\bgetopts?\b|\$\{?1\b|\$[@*]")
_GIVES_UP = re.compile(r"\b(?:exit|return|die|usage|abort|fail)\b")


def walk_if(reader: Reader, node: tree_sitter.Node, where: Context) -> None:
    """Every branch that may run; the variables are those of the branch that does, unknown where none is known to."""
    before = reader.variables.snapshot()
    touched: dict[str, list[variables.KnownValue]] = {}
    settled, open_ended, presumed = None, False, False
    for test, body in _clauses(node):
        if settled is not None:
            _branch(reader, test, body, where._replace(conditional=True, certain=False))
            reader.variables.restore(dict(before))
            continue
        verdict = _verdict(reader, test, body)
        presumed = presumed or (verdict is not None and verdict.presumed)
        sure = verdict is not None and not presumed and not open_ended
        reader.each(test, where._replace(conditional=True, certain=False) if test else where)
        if verdict is not None and not verdict.presumed and not verdict.holds:
            continue
        reader.each(body, where if sure else where._replace(conditional=True, certain=False))
        if verdict is None:
            open_ended = True
            add(touched, reader.variables.changes(before) if not _leaves(reader, body) else {})
        elif verdict.holds:
            settled = reader.variables.snapshot()
            if not verdict.presumed:
                break
        reader.variables.restore(dict(before))
    if settled is not None:
        reader.variables.restore(settled)
        add(touched, reader.variables.changes(before) if open_ended else {})
    reader.variables.doubt(touched, before)


def _branch(reader: Reader, test: Sequence[tree_sitter.Node], body: Sequence[tree_sitter.Node], where: Context) -> None:
    reader.each(test, where)
    reader.each(body, where)


def _verdict(reader: Reader, test: Sequence[tree_sitter.Node], body: Sequence[tree_sitter.Node]) -> Verdict | None:
    """What the test of a branch comes to; nobody presumes what makes the script give up."""
    if not test:
        return Verdict(True)
    if len(test) != 1:
        return None
    verdict = conditions.decide(test[0], reader.expansion, reader.run.exists)
    if verdict is not None and verdict.presumed and verdict.holds and _exits(reader, body):
        return None
    return verdict


def _exits(reader: Reader, body: Sequence[tree_sitter.Node]) -> bool:
    return any(_GIVES_UP.search(reader.script.text_of(child)) for child in body)


def _leaves(reader: Reader, body: Sequence[tree_sitter.Node]) -> bool:
    """True if nothing after the branch sees the variables that it sets."""
    last = next((child for child in reversed(body) if child.is_named and child.type != "comment"), None)
    return last is not None and re.match(r"(?:exit|return)\b", reader.script.text_of(last)) is not None


def walk_case(reader: Reader, node: tree_sitter.Node, where: Context) -> None:
    subject = node.child_by_field_name("value")
    word = reader.expansion.value(subject) if subject is not None and not node.has_error else None
    items = [child for child in node.named_children if child.type == "case_item"]
    text = word.text if word is not None else None
    if (settled_item := _find_settled(reader, node)) is not None and settled_item < len(items):
        reader.each(list(_item_body(items[settled_item])), where)
        return
    taken = _find_taken(reader, items, text) if text is not None else None
    if text is not None and word is not None and taken is not None and not word.default:
        reader.each([child for item in items if item.id == taken for child in _item_body(item)], where)
        return
    _note_case(reader, node, items)
    before = reader.variables.snapshot()
    touched: dict[str, list[variables.KnownValue]] = {}
    settled = None
    for item in items:
        body = list(_item_body(item))
        reader.each(body, where._replace(conditional=True, certain=False))
        if item.id == taken:
            settled = reader.variables.snapshot()
        add(touched, reader.variables.changes(before) if not _leaves(reader, body) else {})
        reader.variables.restore(dict(before))
    if taken is None:
        reader.variables.doubt(touched, before)
    elif settled is not None:
        reader.variables.restore(settled)


def _find_settled(reader: Reader, node: tree_sitter.Node) -> int | None:
    """Return the number of the item that is taken of a `case` or `for`; None if nothing settles it."""
    choices = reader.run.choices
    if choices is None or not choices.settled or reader.script.origin is not None:
        return None
    return choices.settled.get((reader.script.source, node.start_byte))


def _may_note(reader: Reader) -> bool:
    """Whether a choice here is one of the script: outside of loops over arguments, and of functions that nothing calls."""
    return (
        reader.run.choices is not None
        and reader.script.origin is None
        and not reader.run.loops
        and not reader.expansion.once
    )


def _note_case(reader: Reader, node: tree_sitter.Node, items: Sequence[tree_sitter.Node]) -> None:
    """Note a `case` of which several items set variables; those that give up stay out."""
    if not _may_note(reader) or node.has_error:
        return
    labels, places = [], []
    for item in items:
        label = next(map(reader.script.text_of, item.children_by_field_name("value")), "").strip("\"'")
        sets = next(iter(variables.read_assignment(item)), None) is not None
        labels.append(label if sets and not _exits(reader, list(_item_body(item))) else "")
        places.append(reader.script.place(*reader.script.span(item)))
    if sum(map(bool, labels)) > 1 and reader.run.choices is not None:
        reader.run.choices.add(Choice(reader.script.source, node.start_byte, tuple(labels), tuple(places)))


def _find_taken(reader: Reader, items: Sequence[tree_sitter.Node], subject: str) -> int | None:
    """Return the number of the selected item, 0 for none, or None if it is known only at run time."""
    for item in items:
        chosen = conditions.choose_case(item, subject, reader.expansion)
        if chosen is None or (chosen and reader.script.text_of(item).rstrip().endswith((";&", ";;&"))):
            return None
        if chosen:
            return item.id
    return 0


def walk_loop(reader: Reader, node: tree_sitter.Node, where: Context) -> None:
    """A loop: what it sets is unknown within and after it, but for defaults that the caller's arguments replace."""
    body = node.child_by_field_name("body")
    head = reader.script.text[reader.script.span(node)[0] : reader.script.span(body)[0]] if body is not None else ""
    items = _items(reader, node)
    if items is not None and (settled := _find_settled(reader, node)) is not None:
        _walk_items(reader, node, items[settled : settled + 1], where)
        return
    if items is not None and len(items) < 2:
        _walk_items(reader, node, items, where)
        return
    if items is not None and _may_note(reader) and reader.run.choices is not None:
        labels = tuple(item.text or "" for item in items)
        places = tuple((item.start, item.end) for item in items)
        reader.run.choices.add(Choice(reader.script.source, node.start_byte, labels, places))
    reader.run.loops += items is None
    _walk_open_loop(reader, node, head, where)
    reader.run.loops -= items is None


def _walk_open_loop(reader: Reader, node: tree_sitter.Node, head: str, where: Context) -> None:
    before = reader.variables.snapshot()
    _forget_set_below(reader, node)
    reader.children(node, where._replace(conditional=True, certain=False))
    changed = reader.variables.list_changed(before)
    if _uses_arguments(reader, node, head):
        kept = {name for name in changed if name in before and _is_text(before[name].value)}
        reader.variables.restore_each(kept, {name: _mark_as_default(before[name]) for name in kept})
        changed -= kept
    reader.variables.forget(changed)


def _uses_arguments(reader: Reader, node: tree_sitter.Node, head: str) -> bool:
    """Whether a loop reads the arguments that the script is given."""
    if reader.variables.arguments is not None:
        return False
    endless = re.match(r"while\s+(?:true|:|\[\[? *1 *\]\]?)\s*;?", head) is not None
    text = reader.script.text_of(node)
    return _ASKS_THE_CALLER.search(text[: len(head) + 200] if endless else head) is not None


def _items(reader: Reader, node: tree_sitter.Node) -> list[Word] | None:
    """The words a `for` runs through; None where they are not all known."""
    if node.type != "for_statement" or node.has_error:
        return None
    given = node.children_by_field_name("value")
    words = [word for child in given for word in reader.expansion.words(child)]
    plain = not any(re.search(r"[*?\[]", f"{word.raw}{word.text}") for word in words)
    return words if given and plain and all(word.text is not None for word in words) else None


def _walk_items(reader: Reader, node: tree_sitter.Node, items: Sequence[Word], where: Context) -> None:
    name, body = node.child_by_field_name("variable"), node.child_by_field_name("body")
    for item in items:
        if name is not None and body is not None:
            reader.variables.assign(reader.script.text_of(name), item)
            reader.walk(body, where)


def _forget_set_below(reader: Reader, node: tree_sitter.Node) -> None:
    """Return the variables that a loop or its functions may set."""
    reader.variables.forget(variables.read_assignment(node))
    reader.variables.forget(
        reader.script.text_of(child) for child in node.named_children if child.type == "variable_name"
    )
    text = reader.script.text_of(node)
    for name, function in reader.run.functions.items():
        if function is not None and name in text:
            reader.variables.forget(function.sets)


def _clauses(node: tree_sitter.Node) -> Iterator[tuple[list[tree_sitter.Node], list[tree_sitter.Node]]]:
    """The test and the body of every branch of an `if`; the last one's test may be nothing."""
    test: list[tree_sitter.Node] = []
    body: list[tree_sitter.Node] = []
    current = body if node.type == "else_clause" else test
    for child in node.children:
        if child.type == "then":
            current = body
        elif child.type not in _BRANCHES and (child.is_named or child.type == "ERROR"):
            current.append(child)
    yield test, body
    for child in node.named_children:
        if child.type in _BRANCHES:
            yield from _clauses(child)


def _item_body(item: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    inside = False
    for child in item.children:
        if inside and child.is_named:
            yield child
        inside = inside or child.type == ")"


def add(touched: dict[str, list[variables.KnownValue]], changes: Mapping[str, Sequence[variables.KnownValue]]) -> None:
    for name, values in changes.items():
        touched.setdefault(name, []).extend(values)


def _is_text(value: variables.Value) -> bool:
    return isinstance(value, Word) and bool(value.text)


def _mark_as_default(known: variables.KnownValue) -> variables.KnownValue:
    """A value that the caller's arguments may replace."""
    if not isinstance(known.value, Word):
        return known
    pieces: tuple[Piece, ...] = tuple(piece._replace(default=True) for piece in known.value.parts())
    return known._replace(value=known.value._replace(pieces=pieces))
