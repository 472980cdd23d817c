"""Parameters: what `${NAME}` and its relatives stand for, such as `${NAME:-default}`, `${NAME%suffix}` and `${NAME[0]}`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import tree_sitter

from gpulint.source import excess
from gpulint.source.shell import patterns
from gpulint.source.shell.command import Piece, Span, Word, slice_pieces
from gpulint.source.shell.interfaces import Expander

TEXT_CHARACTERS_MAX = 4_096
LONG_TEXT = "a script changes a text of more than {} characters"

_PARAMETER = re.compile(
    r"(?s)\$\{(?P<prefix>[#!])?(?P<name>[A-Za-z_]\w*+|\d++|[@*#])(?:\[(?P<index>[^\]]*)\])?(?P<rest>.*)\}"
)
_OPERATOR = re.compile(r":[-=?+]|##?|%%?|//?|\^\^?|,,?|[-=?+:]")
_OF_AN_ARRAY = ("@", "*")


def expand(expansion: Expander, node: tree_sitter.Node, quoted: bool) -> Sequence[Piece] | None:
    """The pieces of an expansion; None where they are known only when it runs."""
    start, end = expansion.script.span(node)
    use = expansion.script.place(start, end)
    match = _PARAMETER.fullmatch(expansion.script.text[start:end])
    if match is None:
        return None
    if match["prefix"] == "#":
        return _length(expansion, match, use)
    base = _base(expansion, match, use, quoted)
    if match["prefix"] == "!":
        name = _text(base)
        return (
            expansion.split(expansion.variable(name, use))
            if name and not match["index"] and not match["rest"]
            else None
        )
    if not match["rest"]:
        return None if base is None else expansion.split(base)
    operator = _OPERATOR.match(match["rest"])
    if operator is None:
        return None
    at = start + match.start("rest")
    if operator[0] in (":-", "-", ":=", "=", ":?", "?", ":+", "+"):
        return _alternative(expansion, node, match, base, operator[0], at)
    cut = _cut(expansion, node, match, base, operator[0], at)
    return None if cut is None else expansion.split(cut)


def _length(expansion: Expander, match: re.Match[str], use: Span) -> tuple[Piece, ...] | None:
    if match["rest"]:
        return None
    if match["index"] in _OF_AN_ARRAY or match["name"] in _OF_AN_ARRAY:
        items = expansion.variables.array(match["name"])
        counted = items is not None and all(item.text is not None for item in items)
        return (Piece(str(len(items)), (use,)),) if items is not None and counted else None
    text = _text(_base(expansion, match, use, quoted=True))
    return None if text is None else (Piece(str(len(text)), (use,)),)


def _base(expansion: Expander, match: re.Match[str], use: Span, quoted: bool) -> tuple[Piece, ...] | None:
    """The value before an operator changes it."""
    name, index = match["name"], match["index"]
    if index is None or name == "BASH_SOURCE":
        return expansion.variable(name, use) if name not in _OF_AN_ARRAY else None
    items = expansion.variables.array(name)
    if items is None:
        return None
    if index in _OF_AN_ARRAY:
        one_text = expansion.assigns or (quoted and index == "*")
        return expansion.join(items, use) if one_text else None
    at = _number(expansion, index)
    if at is None or any(item.text is None for item in items[: at + 1 if at >= 0 else None]):
        return None
    try:
        return expansion.join((items[at],), use)
    except IndexError:
        return None


def _number(expansion: Expander, text: str) -> int | None:
    from gpulint.source.shell import arithmetic

    expression = re.sub(r"\$\{?(\w+)\}?", r"\1", text)
    known = expansion.variables
    return arithmetic.compute(expression, lambda name: known.text(name, expansion.once)) if len(text) < 100 else None


def _alternative(
    expansion: Expander,
    node: tree_sitter.Node,
    match: re.Match[str],
    base: tuple[Piece, ...] | None,
    operator: str,
    at: int,
) -> Sequence[Piece] | None:
    """`:-`, `:=`, `:?` and `:+`, and the same without the colon, for which an empty value is one."""
    is_set = expansion.variables.is_set(match["name"], expansion.once) or match["index"] is not None
    text = _text(base)
    empty = not is_set or (text == "" and ":" in operator)
    if operator[-1] == "+":
        if empty:
            return (Piece("", (expansion.script.place(*expansion.script.span(node)),)),)
        return (
            None if is_set and text is None and not _has_text(base) else _operand(expansion, node, at + len(operator))
        )
    if operator[-1] == "?" or not empty:
        return None if base is None else expansion.split(base)
    default = _operand(expansion, node, at + len(operator))
    if default is not None and not is_set:
        default = tuple(piece._replace(default=True) for piece in default)
    if operator[-1] == "=" and default is not None and not expansion.once:
        expansion.variables.assign(match["name"], _make_word(expansion, node, default))
    return default


def _operand(expansion: Expander, node: tree_sitter.Node, start: int) -> tuple[Piece, ...] | None:
    """The word behind an operator; its unquoted text is split at blanks."""
    in_string = node.parent is not None and node.parent.type == "string"
    if in_string and "'" in expansion.script.text[start : expansion.script.span(node)[1]]:
        return None
    use = expansion.script.place(*expansion.script.span(node))
    return tuple(piece.add_use(use) for piece in _parts(expansion, node, start))


def _parts(expansion: Expander, node: tree_sitter.Node, start: int) -> Iterator[Piece]:
    at, end = start, expansion.script.span(node)[1] - 1
    for child in _flatten(node):
        child_start, child_end = expansion.script.span(child)
        if child_start < start:
            continue
        yield from expansion.literal(at, child_start, in_string=False, splits=True)
        if child.type in ("word", "number", "regex", "extglob_pattern") and not child.named_children:
            yield from expansion.literal(child_start, child_end, in_string=False, splits=True)
        else:
            yield from expansion.pieces(child, quoted=False)
        at = child_end
    yield from expansion.literal(at, end, in_string=False, splits=True)


def _flatten(node: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    for child in node.named_children:
        yield from child.named_children if child.type == "concatenation" else (child,)


def _make_word(expansion: Expander, node: tree_sitter.Node, pieces: Sequence[Piece]) -> Word:
    span = expansion.script.span(node)
    why = next((piece.why for piece in pieces if piece.text is None), "")
    raw, source = expansion.script.raw(*span), expansion.script.source
    return Word(_text(pieces), *expansion.script.place(*span), raw, why, tuple(pieces), source)


def _cut(
    expansion: Expander,
    node: tree_sitter.Node,
    match: re.Match[str],
    base: tuple[Piece, ...] | None,
    operator: str,
    at: int,
) -> tuple[Piece, ...] | None:
    """The operators that make another text of a known one."""
    text = _text(base)
    if base is None or text is None or excess.is_over(len(text), TEXT_CHARACTERS_MAX, LONG_TEXT):
        return None
    use = expansion.script.place(*expansion.script.span(node))
    if operator in ("#", "##", "%", "%%"):
        pattern = _pattern(expansion, node, at + len(operator))
        kept = None if pattern is None else _find_remainder(text, pattern, operator)
        return None if kept is None else (tuple(slice_pieces(base, *kept)) or (Piece("", (use,)),))
    if operator in ("^", "^^", ",", ",,"):
        return (Piece(_change_case(text, operator), (use,)),) if match["rest"] == operator else None
    if operator == ":":
        part = _substring(expansion, text, match["rest"][1:])
        return None if part is None else (tuple(slice_pieces(base, *part)) or (Piece("", (use,)),))
    replaced = _replace_pattern(expansion, node, text, match["rest"], at)
    return None if replaced is None else (Piece(replaced, (use,)),)


def _pattern(expansion: Expander, node: tree_sitter.Node, start: int) -> str | None:
    """The regular expression of a pattern, which is no glob where it is quoted."""
    source = expansion.script.text[start : expansion.script.span(node)[1] - 1]
    pieces = _operand(expansion, node, start)
    text = _text(pieces)
    if text is None:
        return None
    quoted = re.fullmatch(r"(?s)([\"']).*\1", source) is not None
    if not quoted and re.search(r"[\"'\\$]", source) and re.search(r"[*?\[]", source):
        return patterns.compile(source) if not re.search(r"[\"'$]", source) else None
    return re.escape(text) if quoted or not re.search(r"[*?\[]", text) else patterns.compile(text)


def _find_remainder(text: str, pattern: str, operator: str) -> Span | None:
    """Return the span of a text that remains after a pattern is cut off its start or end."""
    size = len(text)
    cuts = range(size + 1) if operator in ("#", "%%") else range(size, -1, -1)
    for cut in cuts:
        found = patterns.is_match(pattern, text[:cut] if operator[0] == "#" else text[cut:])
        if found is None:
            return None
        if found:
            return (cut, size) if operator[0] == "#" else (0, cut)
    return 0, size


def _change_case(text: str, operator: str) -> str:
    changed = text.upper() if "^" in operator else text.lower()
    return changed if len(operator) == 2 else changed[:1] + text[1:]


def _substring(expansion: Expander, text: str, given: str) -> Span | None:
    """`:offset:length`, either counted from the end where it is negative."""
    offset_text, colon, length_text = given.partition(":")
    offset, length = _number(expansion, offset_text or "0"), _number(expansion, length_text) if colon else len(text)
    if offset is None or length is None or not -len(text) <= offset:
        return None
    start = min(offset if offset >= 0 else len(text) + offset, len(text))
    end = min(start + length, len(text)) if length >= 0 else len(text) + length
    return (start, end) if end >= start else None


def _replace_pattern(expansion: Expander, node: tree_sitter.Node, text: str, rest: str, at: int) -> str | None:
    """`/pattern/text`, everywhere where it is `//`."""
    found = re.fullmatch(r"(?s)(//?)([^/\\\"'$*?#%]+?|\"[^\"/\\$]+\")(?:/(.*))?", rest)
    if found is None:
        return None
    by = "" if not found[3] else _text(_operand(expansion, node, at + found.start(3)))
    pattern = re.escape(found[2][1:-1]) if found[2].startswith('"') else patterns.compile(found[2])
    if by is None or pattern is None or (found[3] and "&" in found[3]):
        return None
    try:
        return re.sub(pattern, lambda match: by, text, count=0 if found[1] == "//" else 1)
    except re.error:
        return None


def _text(pieces: Sequence[Piece] | None) -> str | None:
    texts = [piece.text for piece in pieces] if pieces is not None else [None]
    return None if None in texts else "".join(filter(None, texts))


def _has_text(pieces: Sequence[Piece] | None) -> bool:
    return any(piece.text for piece in pieces or ())
