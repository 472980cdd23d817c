"""Shell: the commands of a script and their words, as bash would see them, with their places. Nothing is executed."""

from __future__ import annotations

import bisect
import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import ast

    import tree_sitter

SCRIPT_CHARACTERS_MAX = 256_000
DEPTH_MAX = 100
ARITHMETIC_CHARACTERS_MAX = 200
INTEGER_MAX = 2**63 - 1
VALUE_CHARACTERS_MAX = 65_536
WORDS_MAX = 20_000
CHARACTERS_MAX = 4_000_000
CONSTRUCTS_MAX = 1_000
"""Of the constructs whose parsing takes time or memory quadratic in their number."""


class Word(NamedTuple):
    """One word: its text without quotes, None where that cannot be known (`why` tells), and its place in the script."""

    text: str | None
    start: int
    end: int
    raw: str
    why: str = ""


class Command(NamedTuple):
    """A simple command; conditional where it stands in an if, a case, a loop or a function."""

    words: tuple[Word, ...]
    assignments: tuple[tuple[str, Word], ...]
    conditional: bool


def commands(script: str, variables: Mapping[str, str | None] | None = None) -> tuple[Command, ...]:
    """The simple commands of a script in order; `variables` is the environment, None being set but unknowable."""
    if not script.strip() or len(script) > SCRIPT_CHARACTERS_MAX:
        return ()
    if sum(1 for _ in re.finditer(_COSTLY, script)) > CONSTRUCTS_MAX:
        return ()
    reader = _Reader(script, variables or {})
    try:
        reader.walk(_tree(reader.masked), _Where())
    except _TooMuch:
        return ()
    return tuple(reader.commands)


def split(text: str) -> tuple[Word, ...]:
    """The words of one command string; none where it holds more than one command."""
    found = commands(text.replace("\n", " "))
    return found[0].words if len(found) == 1 and not found[0].assignments else ()


class _TooMuch(Exception):
    """The script holds, or expands to, more than is worth reading."""


class _Where(NamedTuple):
    """What surrounds a statement."""

    depth: int = 0
    conditional: bool = False
    function: bool = False
    broken: bool = False


class _Piece(NamedTuple):
    """A part of a word: its text, and whether bash splits it at blanks."""

    text: str | None
    start: int
    end: int
    splits: bool = False
    why: str = ""


_Value = str | tuple[Word, ...] | None

# Patterns are compiled by the first script that needs them.
_COSTLY = r"\||\(\(|\$\[|=\(|\bcase\b"
_MASKED = (
    r"\$\{[A-Za-z_]\w{0,80}(?:\.\w{1,80}){1,8}\}"
    r"|\{\{[^{}\n]{0,300}\}\}|\{%[^{}\n]{0,300}%\}"
    r"|(?<![<\w])<[A-Za-z][\w.:/|-]*(?: [\w.:/|-]+){0,8}>"
)
_CONTINUED = r"(?:\\\n)+"
_KUBERNETES = r"\$\(([A-Za-z_.-][\w.-]*)\)"
_QUOTED_DEFAULT = r"(?s)\$\{(\w+):?[-=].*[\"'\\].*"
_BRACES = r"\{[^{}\s]*(?:,|\.\.)[^{}\s]*\}"
_NAME = r"[A-Za-z_]\w*"
_ARITHMETIC_NAME = r"\$\{(\w+)\}|\$?\b([A-Za-z_]\w*)\b"
_ANSI = r"(?s)\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|([0-7]{1,3})|(.))"
_ANSI_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "v": "\v"}

_BRANCHES = frozenset({"elif_clause", "else_clause", "case_item"})
_LOOPS = frozenset({"for_statement", "c_style_for_statement", "while_statement"})
_CONDITIONAL = frozenset({"if_statement", "case_statement"}) | _LOOPS
_NOT_STATEMENTS = frozenset(
    {"comment", "heredoc_body", "heredoc_start", "heredoc_end", "file_redirect", "ERROR", "test_command"}
)
_NOT_WORDS = frozenset({"file_redirect", "herestring_redirect", "heredoc_redirect", "comment", "variable_assignment"})
_SETS_VARIABLES = frozenset({"read", "mapfile", "readarray", "getopts", "unset"})
_HARMLESS_SOURCES = frozenset({"activate", "conda.sh", "profile", ".profile", ".bashrc", "bashrc", "setvars.sh"})


class _Reader:
    """Walks the syntax tree of one script, keeping the variables whose value is known."""

    def __init__(self, script: str, variables: Mapping[str, str | None]) -> None:
        self.script = script
        self.masks = [match.span() for match in re.finditer(_MASKED, script)]
        self.masked = re.sub(_MASKED, lambda match: "x" * len(match[0]), script)
        self.offsets = None if self.masked.isascii() else _character_offsets(self.masked)
        self.environment = variables
        self.known: dict[str, _Value] = {}
        self.uncertain: set[str] = set()
        self.functions_set: set[str] = set()
        self.counts: dict[str, int] | None = None
        self.lists = 0
        self.words = 0
        self.characters = 0
        self.commands: list[Command] = []

    # ---- statements

    def walk(self, node: tree_sitter.Node, where: _Where) -> None:
        if where.depth > DEPTH_MAX or node.type in _NOT_STATEMENTS:
            return
        inner = where._replace(depth=where.depth + 1)
        if node.type == "command":
            self._command(node, where, [])
        elif node.type == "redirected_statement":
            self._redirected(node, inner)
        elif node.type == "variable_assignment":
            self._plain_assignment(node, where)
        elif node.type in ("declaration_command", "unset_command"):
            self._declaration(node, where)
        elif node.type == "list":
            self._list(node, inner)
        elif node.type in ("subshell", "pipeline"):
            self._apart(node, inner)
        elif node.type == "function_definition":
            self._function(node, inner._replace(conditional=True, function=True))
        elif node.type in _CONDITIONAL:
            self._conditional(node, inner._replace(conditional=True))
        else:
            self._children(node, inner)

    def _children(self, node: tree_sitter.Node, where: _Where) -> None:
        children = node.children
        broken = [child.type == "ERROR" for child in children]
        for index, child in enumerate(children):
            if child.is_named:
                beside = any(broken[max(index - 1, 0) : index + 2])
                self.walk(child, where._replace(broken=where.broken or beside))

    def _list(self, node: tree_sitter.Node, where: _Where) -> None:
        """`a && b`, `a || b`: what the right side sets is known no further than the list."""
        self.lists += 1
        left, *rest = node.named_children
        self.walk(left, where)
        before = dict(self.known)
        for right in rest:
            self.walk(right, where)
        self.uncertain |= self._changed(before)
        if any(child.type == "||" for child in node.children):
            self._forget(self._changed(before))
        self.lists -= 1
        if not self.lists:
            self._forget(self.uncertain)
            self.uncertain = set()

    def _apart(self, node: tree_sitter.Node, where: _Where) -> None:
        """A subshell or a pipeline: what it sets is gone after it."""
        before = dict(self.known)
        self._children(node, where)
        self.known = before

    def _function(self, node: tree_sitter.Node, where: _Where) -> None:
        before = dict(self.known)
        self.functions_set |= set(_assigned(node))
        self._children(node, where)
        self.known = before

    def _conditional(self, node: tree_sitter.Node, where: _Where) -> None:
        before = dict(self.known)
        if node.type in _LOOPS:
            self._forget(_assigned(node))
            self._forget(
                child.text.decode() for child in node.named_children if child.type == "variable_name" and child.text
            )
        for child in node.named_children:
            if child.type in _BRANCHES:
                self._forget(self._changed(before))
            self.walk(child, where)
        self._forget(self._changed(before))

    def _changed(self, before: Mapping[str, _Value]) -> set[str]:
        return {name for name, value in self.known.items() if name not in before or before[name] != value}

    def _forget(self, names: Iterator[str] | set[str] | Sequence[str]) -> None:
        for name in tuple(names):
            self.known[name] = None

    # ---- commands and assignments

    def _redirected(self, node: tree_sitter.Node, where: _Where) -> None:
        """A statement and its redirections; what follows a redirection's target belongs to the command."""
        body = node.child_by_field_name("body")
        if body is None or body.type != "command":
            self._children(node, where)
            return
        redirects = node.children_by_field_name("redirect")
        more = [word for redirect in redirects for word in _after_target(redirect)]
        self._command(body, where._replace(broken=where.broken or node.has_error), more)
        for redirect in redirects:
            self.walk(redirect, where)

    def _command(self, node: tree_sitter.Node, where: _Where, more: Sequence[tree_sitter.Node]) -> None:
        assignments = tuple(
            self._assignment(child, where) for child in node.named_children if child.type == "variable_assignment"
        )
        inside = where._replace(broken=where.broken or node.has_error)
        words = tuple(self._rejoined(self._words([*node.named_children, *more], inside)))
        self._emit(words, assignments, where)
        if words:
            self._effects(words)

    def _words(self, nodes: Sequence[tree_sitter.Node], where: _Where) -> Iterator[Word]:
        for child in nodes:
            if child.type in _NOT_WORDS:
                continue
            word = child.named_children[0] if child.type == "command_name" and child.named_children else child
            yield from self._word(word, where)

    def _rejoined(self, words: Iterator[Word]) -> Iterator[Word]:
        """The words, where a line continuation without blanks has not parted them: bash reads those as one."""
        last: Word | None = None
        for word in words:
            if last is not None and re.compile(_CONTINUED).fullmatch(self.script, last.end, word.start):
                last = self._one(last, word)
                continue
            if last is not None:
                yield last
            last = word
        if last is not None:
            yield last

    def _one(self, left: Word, right: Word) -> Word:
        text = None if left.text is None or right.text is None else left.text + right.text
        return Word(text, left.start, right.end, self.script[left.start : right.end], left.why or right.why)

    def _effects(self, words: Sequence[Word]) -> None:
        """Builtins that set variables from elsewhere make them unknown."""
        name = words[0].text
        if name in _SETS_VARIABLES:
            self._forget([word.text for word in words[1:] if word.text])
        elif name == "printf" and len(words) > 2 and words[1].text == "-v":
            self._forget([words[2].text or ""])
        elif name == "eval" or (name in ("source", ".") and not _harmless(words[1:])):
            self._forget([*self.known, *self.environment])

    def _plain_assignment(self, node: tree_sitter.Node, where: _Where) -> None:
        name, word = self._assignment(node, where)
        self._set(node, name, word, where)
        self._emit((), ((name, word),), where)

    def _declaration(self, node: tree_sitter.Node, where: _Where) -> None:
        """`export A=1 B=$A`: bash expands every word before it sets any."""
        given = [child for child in node.named_children if child.type == "variable_assignment"]
        assignments = tuple(self._assignment(child, where) for child in given)
        for child, (name, word) in zip(given, assignments, strict=True):
            self._set(child, name, word, where)
        if node.type == "unset_command":
            self._forget([self._source(child) for child in node.named_children])
        start, end = self._span(node.children[0])
        self._emit((self._known_word(self.script[start:end], start, end),), assignments, where)

    def _assignment(self, node: tree_sitter.Node, where: _Where) -> tuple[str, Word]:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if value is None:
            end = self._span(node)[1]
            return self._name(name), Word("", end, end, "")
        start, end = self._span(value)
        if value.type == "array" or node.has_error or where.broken:
            why = "an array" if value.type == "array" else "the command does not parse"
            return self._name(name), Word(None, start, end, self.script[start:end], why)
        return self._name(name), self._joined(list(self._pieces(value, where, quoted=True)), start, end)

    def _name(self, node: tree_sitter.Node | None) -> str:
        return self._source(node) if node is not None else ""

    def _set(self, node: tree_sitter.Node, name: str, word: Word, where: _Where) -> None:
        value = node.child_by_field_name("value")
        new: _Value = word.text
        if value is not None and value.type == "array" and not value.has_error:
            new = tuple(word for item in value.named_children for word in self._word(item, where))
        if any(child.type == "+=" for child in node.children):
            new = _appended(self.known.get(name), new)
        if isinstance(new, str) and len(new) > VALUE_CHARACTERS_MAX:
            new = None
        self.known[name] = new

    def _emit(self, words: tuple[Word, ...], assignments: tuple[tuple[str, Word], ...], where: _Where) -> None:
        self.commands.append(Command(words, assignments, where.conditional))

    # ---- words

    def _word(self, node: tree_sitter.Node, where: _Where) -> Iterator[Word]:
        start, end = self._span(node)
        if where.broken:
            yield Word(None, start, end, self.script[start:end], "the command does not parse")
            return
        if (items := self._array(node)) is not None:
            self._spend(sum(len(item.raw) for item in items))
            self.words += len(items)
            yield from items
            return
        pieces = list(self._pieces(node, where, quoted=False))
        if re.search(_BRACES, self._unquoted(node)):
            yield Word(None, start, end, self.script[start:end], "brace expansion")
        elif any(piece.splits and piece.text is not None for piece in pieces):
            yield from self._parted(pieces, start, end)
        else:
            yield self._joined(pieces, start, end)

    def _array(self, node: tree_sitter.Node) -> tuple[Word, ...] | None:
        """The words of an array where the whole word is `"${NAME[@]}"`."""
        match = re.fullmatch(r"\"?\$\{(\w+)\[[@*]\]\}\"?", self._source(node))
        value = self.known.get(match[1]) if match else None
        return value if isinstance(value, tuple) else None

    def _joined(self, pieces: Sequence[_Piece], start: int, end: int) -> Word:
        self._spend(sum(len(piece.text or "") for piece in pieces))
        raw = self.script[start:end]
        unknown = next((piece for piece in pieces if piece.text is None), None)
        if unknown is not None:
            return Word(None, start, end, raw, unknown.why)
        return Word("".join(piece.text or "" for piece in pieces), start, end, raw)

    def _spend(self, characters: int) -> None:
        self.words += 1
        self.characters += characters
        if self.words > WORDS_MAX or self.characters > CHARACTERS_MAX:
            raise _TooMuch

    def _parted(self, pieces: Sequence[_Piece], start: int, end: int) -> Iterator[Word]:
        """The words after bash has split unquoted expansions at blanks; an empty one leaves no word."""
        current: list[_Piece] = []
        for piece in pieces:
            if not piece.splits or piece.text is None:
                current.append(piece)
                continue
            for token in re.findall(r"\s+|\S+", piece.text):
                if not token.isspace():
                    current.append(piece._replace(text=token))
                elif current:
                    yield self._joined(current, current[0].start, current[-1].end)
                    current = []
        if current:
            whole = len(current) == len(pieces)
            yield self._joined(current, start if whole else current[0].start, end if whole else current[-1].end)

    def _known_word(self, text: str, start: int, end: int) -> Word:
        return Word(text, start, end, self.script[start:end])

    def _unquoted(self, node: tree_sitter.Node) -> str:
        """The literal text outside quotes and expansions."""
        if node.type in ("word", "brace_expression"):
            return self._source(node)
        if node.type == "concatenation":
            return "".join(self._unquoted(child) or "''" for child in node.children)
        return "" if node.is_named else self._source(node)

    # ---- pieces of words

    def _pieces(self, node: tree_sitter.Node, where: _Where, quoted: bool) -> Iterator[_Piece]:
        start, end = self._span(node)
        if self._is_masked(start, end) and node.type != "concatenation":
            yield _Piece(None, start, end, why="a placeholder")
        elif node.type in ("concatenation", "string", "translated_string"):
            yield from self._filled(node, where, start, end, quoted or node.type != "concatenation")
        elif node.type == "raw_string":
            yield _Piece(self.script[start + 1 : end - 1], start, end)
        elif node.type == "ansi_c_string":
            yield _Piece(_ansi(self.script[start + 2 : end - 1]), start, end)
        elif node.type in ("word", "number", "string_content", "variable_name") and not node.named_children:
            yield _Piece(_unescaped(self.script[start:end], node.type == "string_content"), start, end)
        else:
            yield self._expanded(node, where, quoted)

    def _filled(self, node: tree_sitter.Node, where: _Where, start: int, end: int, quoted: bool) -> Iterator[_Piece]:
        """The parts of a string or concatenation, and the literal text that the grammar leaves between them."""
        in_string = node.type != "concatenation"
        at = start + (1 if in_string else 0) + (node.type == "translated_string")
        if in_string:
            yield _Piece("", start, at)
        for child in _parts(node):
            child_start, child_end = self._span(child)
            yield from self._literal(at, child_start, in_string)
            yield from self._pieces(child, where, quoted)
            at = child_end
        yield from self._literal(at, end - (1 if in_string else 0), in_string)

    def _literal(self, start: int, end: int, in_string: bool) -> Iterator[_Piece]:
        if start < end:
            text = None if self._is_masked(start, end) else _unescaped(self.script[start:end], in_string)
            yield _Piece(text, start, end, why="a placeholder")

    def _expanded(self, node: tree_sitter.Node, where: _Where, quoted: bool) -> _Piece:
        start, end = self._span(node)
        source = self.script[start:end]
        if node.type == "simple_expansion":
            value, why = self._variable(source[1:], where)
        elif node.type == "expansion":
            value, why = self._expansion(node, where)
            quoted = quoted or (value is not None and self._is_quoted_default(source, where))
        elif node.type == "arithmetic_expansion":
            value, why = self._arithmetic(source, where)
        elif node.type == "command_substitution" and (match := re.fullmatch(_KUBERNETES, source)):
            value, why = self.environment.get(match[1]), f"the value of {match[1]} is not known"
        else:
            value, why = None, f"`{source[:40]}` is known only when it runs"
        return _Piece(value, start, end, splits=not quoted, why=why)

    def _variable(self, name: str, where: _Where) -> tuple[str | None, str]:
        """The value of a variable; a function sees only what the script sets once."""
        why = f"the value of ${name} is not known"
        if not re.fullmatch(_NAME, name) or name in self.functions_set or (where.function and self._count(name) > 1):
            return None, why
        if name in self.known or (where.function and self._count(name)):
            value = self.known.get(name)
            return (value, why) if isinstance(value, str) else (None, why)
        return self.environment.get(name), why

    def _is_quoted_default(self, source: str, where: _Where) -> bool:
        """Whether it is the default that counts, and quotes keep it whole."""
        match = re.fullmatch(_QUOTED_DEFAULT, source)
        return match is not None and not self._variable(match[1], where)[0]

    def _is_set(self, name: str) -> bool:
        return name in self.known or name in self.environment or name in self.functions_set

    def _count(self, name: str) -> int:
        if self.counts is None:
            self.counts = {}
            for assigned in _assigned(_tree(self.masked)):
                self.counts[assigned] = self.counts.get(assigned, 0) + 1
        return self.counts.get(name, 0)

    def _expansion(self, node: tree_sitter.Node, where: _Where) -> tuple[str | None, str]:
        """`${NAME}`, `${NAME:-default}` and their relatives; anything else is unknown."""
        source = self._source(node)
        match = re.match(r"\$\{(\w+)(:?[-=?]|\}$)", source)
        if match is None:
            return None, f"`{source[:40]}` is known only when it runs"
        name, operator = match.groups()
        value, why = self._variable(name, where)
        if operator[-1] not in "-=" or value or (value == "" and ":" not in operator):
            return value, why
        if value is None and self._is_set(name):
            return None, why
        return self._default(node, where, len(match[0]))

    def _default(self, node: tree_sitter.Node, where: _Where, skip: int) -> tuple[str | None, str]:
        start, end = self._span(node)
        at, pieces = start + skip, []
        for child in (part for part in node.named_children if self._span(part)[0] >= start + skip):
            child_start, child_end = self._span(child)
            pieces += [*self._literal(at, child_start, False), *self._pieces(child, where, True)]
            at = child_end
        word = self._joined([*pieces, *self._literal(at, end - 1, False)], start, end)
        return word.text, word.why

    def _arithmetic(self, source: str, where: _Where) -> tuple[str | None, str]:
        why = f"`{source[:40]}` is known only when it runs"
        body = source[3:-2] if source.startswith("$((") else source[2:-1]
        values = {
            match[0]: self._variable(match[1] or match[2], where)[0] for match in re.finditer(_ARITHMETIC_NAME, body)
        }
        whole = all(re.fullmatch("-?[0-9]{1,18}", value or "") for value in values.values())
        if len(body) > ARITHMETIC_CHARACTERS_MAX or not whole:
            return None, why
        number = _computed(re.sub(_ARITHMETIC_NAME, lambda match: f"({values[match[0]]})", body))
        return (None if number is None else str(number)), why

    # ---- places

    def _span(self, node: tree_sitter.Node) -> tuple[int, int]:
        if self.offsets is None:
            return node.start_byte, node.end_byte
        return self.offsets[node.start_byte], self.offsets[node.end_byte]

    def _source(self, node: tree_sitter.Node) -> str:
        start, end = self._span(node)
        return self.script[start:end]

    def _is_masked(self, start: int, end: int) -> bool:
        at = bisect.bisect_left(self.masks, end, key=lambda mask: mask[0])
        return at > 0 and self.masks[at - 1][1] > start


def _after_target(redirect: tree_sitter.Node) -> list[tree_sitter.Node]:
    """The words that follow a redirection's target; the grammar counts them to the redirection."""
    return [*redirect.children_by_field_name("destination")[1:], *redirect.children_by_field_name("argument")]


def _tree(text: str) -> tree_sitter.Node:
    return _parser().parse(text.encode()).root_node


@functools.cache
def _parser() -> tree_sitter.Parser:
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


def _character_offsets(text: str) -> list[int]:
    """Byte offset in UTF-8 → character offset."""
    offsets = [index for index, character in enumerate(text) for _ in character.encode()]
    return [*offsets, len(text)]


def _assigned(node: tree_sitter.Node) -> Iterator[str]:
    """The names that assignments anywhere below set."""
    open_nodes = [node]
    while open_nodes:
        child = open_nodes.pop()
        open_nodes.extend(child.named_children)
        name = child.child_by_field_name("name") if child.type == "variable_assignment" else None
        if name is not None and name.text is not None:
            yield name.text.decode("utf-8", "replace")


def _parts(node: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    """The named parts of a string or concatenation; a translated string holds a plain one."""
    for child in node.named_children:
        if node.type == "translated_string" and child.type == "string":
            yield from child.named_children
        else:
            yield child


def _appended(old: _Value, new: _Value) -> _Value:
    if isinstance(old, str) and isinstance(new, str):
        return old + new
    return old + new if isinstance(old, tuple) and isinstance(new, tuple) else None


def _harmless(words: Sequence[Word]) -> bool:
    """Whether a sourced file is one that sets up a shell, not a script's own variables."""
    return bool(words) and words[0].raw.strip("\"'").rsplit("/", 1)[-1] in _HARMLESS_SOURCES


def _unescaped(text: str, in_string: bool) -> str:
    if "\\" not in text:
        return text
    pattern = r"\\(?:\r?\n|([$`\"\\]))" if in_string else r"\\(?:\n|(.))"
    return re.sub(pattern, lambda match: match[1] or "", text, flags=re.DOTALL)


def _ansi(text: str) -> str:
    def decoded(match: re.Match[str]) -> str:
        two, four, octal, letter = match.groups()
        if letter is not None:
            return _ANSI_LETTERS.get(letter, letter if letter in "\\'\"?" else f"\\{letter}")
        code = int(two or four or octal, 8 if octal else 16)
        return "\ufffd" if 0xD800 <= code <= 0xDFFF else chr(code)

    return re.sub(_ANSI, decoded, text)


def _computed(expression: str) -> int | None:
    """The integer that + - * / % and parentheses give, as C computes it."""
    import ast

    try:
        return _evaluated(ast.parse(expression.strip(), mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError, ZeroDivisionError):
        return None


def _evaluated(node: ast.expr) -> int:
    import ast

    if isinstance(node, ast.Constant) and type(node.value) is int:
        return _bounded(node.value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        return _evaluated(node.operand) * (-1 if isinstance(node.op, ast.USub) else 1)
    if isinstance(node, ast.BinOp):
        return _bounded(_operated(node.op, _evaluated(node.left), _evaluated(node.right)))
    raise ValueError("not plain arithmetic")


def _operated(operator: ast.operator, left: int, right: int) -> int:
    import ast

    if isinstance(operator, ast.Add):
        return left + right
    if isinstance(operator, ast.Sub):
        return left - right
    if isinstance(operator, ast.Mult):
        return left * right
    quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
    if isinstance(operator, ast.Div):
        return quotient
    if isinstance(operator, ast.Mod):
        return left - right * quotient
    raise ValueError("not plain arithmetic")


def _bounded(number: int) -> int:
    if abs(number) > INTEGER_MAX:
        raise ValueError("beyond 64 bits")
    return number
