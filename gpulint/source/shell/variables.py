"""The known values of variables while a script is read from top to bottom."""

from __future__ import annotations

import collections
import functools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeGuard

import tree_sitter

from gpulint.source import excess
from gpulint.source.shell.command import Piece, ShellLimitError, Span, Word

VALUE_CHARACTERS_MAX = 65_536
NAMES_MAX = 2_000
PIECES_MAX = 2_000
OWN_NAME = "\ufdd1"
"""Placeholder for the name of the script's own file."""

Value = Word | tuple[Word, ...] | None

_NAME = r"[A-Za-z_]\w*"
_OWN_PATH = frozenset({"0", "BASH_SOURCE"})
_AT_RUN = frozenset(
    {"RANDOM", "SECONDS", "LINENO", "PWD", "OLDPWD", "HOSTNAME", "UID", "EUID", "PPID", "BASHPID", "EPOCHSECONDS"}
)
"""Variables that bash itself sets."""


class KnownValue(NamedTuple):
    """The value of a name, and whether it is exported."""

    value: Value
    exported: bool = False


class Variables:
    """The values of one script's variables; None where a name is set to what cannot be known."""

    def __init__(self, environment: Mapping[str, str | None], tree: tree_sitter.Node) -> None:
        self.environment = environment
        self.exports_all = False
        self.arguments: tuple[Word, ...] | None = None
        self._tree = tree
        self._known: dict[str, KnownValue] = {}
        self._distrusted: set[str] = set()
        self._exported: Mapping[str, Word] | None = None

    # ---- what is known

    def pieces(self, name: str, use: Span, source: str, folder: str, once: bool = False) -> tuple[Piece, ...]:
        """The pieces of a variable's value, used at a place of a file; one that is a hole where it is not known.

        With `once`, only of what the script sets at most once: nobody knows when the function that asks is called.
        """
        if name in _OWN_PATH:
            return (Piece(f"{'.' if name == '0' else folder}/{OWN_NAME}", (use,)),)
        value = self.value(name, once)
        if isinstance(value, str):
            return (Piece(value, (use,)),)
        if value is None:
            return (Piece(None, (use,), why=_unknown(name), raw=f"${name}"),)
        return tuple(_add_use(piece, use, f"${name}", value.source, source) for piece in value.parts())

    def value(self, name: str, once: bool = False) -> Word | str | None:
        """The value of a variable, a word of the script or a text of the environment; None where it is not known."""
        if name.isdecimal() or name == "#":
            return self._argument(name)
        if not re.fullmatch(_NAME, name) or name in self._distrusted:
            return None
        times_set = self._times_set[name] if once else 0
        if times_set > 1:
            return None
        if name in self._known or times_set:
            value = self._known[name].value if name in self._known else None
            if value is None or isinstance(value, Word):
                return value
            return value[0] if value else None
        return self.environment.get(name)

    def find(self, name: str) -> KnownValue | None:
        return self._known.get(name)

    def text(self, name: str, once: bool = False) -> str | None:
        value = self.value(name, once)
        return value.text if isinstance(value, Word) else value

    def _argument(self, name: str) -> Word | str | None:
        if self.arguments is None:
            return None
        if name == "#":
            return None if any(word.text is None for word in self.arguments) else str(len(self.arguments))
        at = int(name) - 1
        return self.arguments[at] if at < len(self.arguments) else ""

    def array(self, name: str) -> tuple[Word, ...] | None:
        """The words of an array; the arguments by the name of `@`."""
        if name in ("@", "*"):
            return self.arguments
        value = self._known[name].value if name in self._known and name not in self._distrusted else None
        return (value,) if isinstance(value, Word) else value

    def is_set(self, name: str, once: bool = False) -> bool:
        if name.isdecimal() or name in ("#", "@", "*", *_OWN_PATH):
            return self.arguments is not None or name in _OWN_PATH
        return (
            (once and self._times_set[name] > 0)
            or name in self._known
            or name in self.environment
            or name in _AT_RUN
            or name in self._distrusted
        )

    def list_exported(self) -> Mapping[str, Word]:
        """Return the variables exported so far."""
        if self._exported is None:
            values = {name: known.value for name, known in self._known.items() if known.exported}
            self._exported = {
                name: value if isinstance(value, Word) else Word(None, 0, 0, "", _unknown(name))
                for name, value in values.items()
            }
        return self._exported

    # ---- what changes it

    def assign(self, name: str, value: Value) -> None:
        old = self._known.get(name)
        count = len(self._known) + (old is None)
        if excess.is_over(count, NAMES_MAX, "a script sets more than {} variables"):
            raise ShellLimitError
        exported = self.exports_all or name in self.environment or (old is not None and old.exported)
        self._known[name] = KnownValue(None if _too_long(value) else value, exported)
        if exported:
            self._exported = None

    def append(self, name: str, value: Value) -> None:
        """`+=`: to a name that is not set, an array adds all there is."""
        old: Value = self._known[name].value if name in self._known else None
        if name not in self._known and name not in self.environment and _is_array(value):
            old = ()
        if name not in self._known and isinstance(given := self.environment.get(name), str) and isinstance(value, Word):
            here = (value.start, value.end)
            old = Word(given, *here, "", pieces=(Piece(given, (here,)),), source=value.source)
        self.assign(name, _append_piece(old, value, name))

    def export(self, name: str) -> None:
        if name in self._known:
            self._known[name] = self._known[name]._replace(exported=True)
            self._exported = None

    def forget(self, names: Iterable[str]) -> None:
        for name in tuple(names):
            self.assign(name, None)

    def changes(self, before: Mapping[str, KnownValue]) -> dict[str, list[KnownValue]]:
        """Return the names whose value changed, with their values."""
        return {name: [self._known[name]] for name in self.list_changed(before)}

    def doubt(self, touched: Mapping[str, Sequence[KnownValue]], before: Mapping[str, KnownValue]) -> None:
        """Names that may have got one of some values, or kept theirs: known is what all of these begin with."""
        for name, values in touched.items():
            old = before[name].value if name in before else None
            kept = _find_common_start(old, [known.value for known in values], name)
            self.assign(name, kept)

    def forget_like(self, pattern: re.Pattern[str]) -> None:
        self.forget(name for name in [*self._known, *self.environment] if pattern.fullmatch(name))

    def distrust(self, names: Iterable[str]) -> None:
        """Names that are set nobody knows when."""
        self._distrusted.update(names)

    def set_item(self, subscript: str, value: Value) -> None:
        """`NAME[index]=…`: one more item, where the index says so."""
        name, _, index = subscript.rstrip("]").partition("[")
        items = self.array(name) if name in self._known else ()
        if items is not None and index == str(len(items)) and isinstance(value, Word):
            self.assign(name, (*items, value))
        else:
            self.assign(name, None)

    def forget_all(self) -> None:
        self.forget([*self._known, *self.environment])

    def snapshot(self) -> dict[str, KnownValue]:
        return dict(self._known)

    def restore(self, before: dict[str, KnownValue]) -> None:
        self._known = before
        self._exported = None

    def restore_each(self, names: Iterable[str], before: Mapping[str, KnownValue]) -> None:
        """Gives the names the values that they had."""
        for name in names:
            if name in before:
                self._known[name] = before[name]
            else:
                self._known.pop(name, None)
        self._exported = None

    def list_changed(self, before: Mapping[str, KnownValue]) -> set[str]:
        return {
            name for name, known in self._known.items() if before.get(name) is not known and before.get(name) != known
        }

    @functools.cached_property
    def _times_set(self) -> collections.Counter[str]:
        return collections.Counter(read_assignment(self._tree))


def read_assignment(node: tree_sitter.Node) -> Iterator[str]:
    """The names that assignments anywhere below set."""
    for child in extend_path(node, "variable_assignment"):
        name = child.child_by_field_name("name")
        if name is not None and name.type == "subscript":
            name = name.child_by_field_name("name")
        if name is not None and name.text is not None:
            yield name.text.decode("utf-8", "replace")


def extend_path(node: tree_sitter.Node, kind: str) -> Iterator[tree_sitter.Node]:
    """The nodes of a kind at and below another."""
    open_nodes = [node]
    while open_nodes:
        child = open_nodes.pop()
        open_nodes.extend(child.named_children)
        if child.type == kind:
            yield child


def _add_use(piece: Piece, use: Span, raw: str, written: str, used: str) -> Piece:
    """A piece of a value where it is used: its place there first, and where it is written behind it."""
    if written != used:
        return piece.bring(written, use)._replace(splits=False, raw=raw)
    return piece.add_use(use)._replace(splits=False)


def _unknown(name: str) -> str:
    return f"the value of ${name} is not known"


def _too_long(value: Value) -> bool:
    if not isinstance(value, Word):
        return False
    return excess.is_over(
        len(value.pieces), PIECES_MAX, "a variable of a script is put together from more than {} parts"
    ) or excess.is_over(
        len(value.text or ""), VALUE_CHARACTERS_MAX, "a variable of a script has more than {} characters"
    )


def _append_piece(old: Value, new: Value, name: str) -> Value:
    """What `+=` gives; a part that is not known stays a hole in it."""
    if _is_array(new):
        return (*old, *new) if _is_array(old) else (old, *new) if isinstance(old, Word) else None
    if _is_array(old) or not isinstance(new, Word):
        return None
    here = (new.start, new.end)
    if not isinstance(old, Word):
        before: tuple[Piece, ...] = (Piece(None, (here,), why=_unknown(name), raw=f"${name}"),)
        return Word(None, *here, new.raw, _unknown(name), (*before, *new.parts()), new.source)
    before = old.parts() if old.source == new.source else (Piece(old.text, (here,), why=old.why, raw=f"${name}"),)
    text = None if old.text is None or new.text is None else old.text + new.text
    return Word(text, *here, new.raw, old.why or new.why, (*before, *new.parts()), new.source)


def _find_common_start(old: Value, values: Sequence[Value], name: str) -> Value:
    """The value that others begin with, and a hole behind it, where the first of them goes on."""
    why = f"more may be added to ${name}"
    if _is_array(old) and old:
        grown = [value for value in values if _is_array(value) and len(value) > len(old) and value[: len(old)] == old]
        more = grown[0][len(old)] if len(grown) == len(values) else None
        return None if more is None else (*old, Word(None, more.start, more.end, more.raw, why, source=more.source))
    if not isinstance(old, Word):
        return None
    text = old.text_with_holes
    longer = [value for value in values if isinstance(value, Word) and value.text_with_holes.startswith(text)]
    parted = all(
        text == "" or text[-1:].isspace() or value.text_with_holes[len(text) :][:1].isspace() for value in longer
    )
    if len(longer) != len(values) or not parted:
        return None
    here = ((longer[0].start, longer[0].end),)
    pieces = (*old.parts(), Piece(" ", here), Piece(None, here, why=why, raw=f"${name}"))
    return Word(None, old.start, old.end, old.raw, old.why or why, pieces, old.source)


def _is_array(value: Value) -> TypeGuard[tuple[Word, ...]]:
    return value is not None and not isinstance(value, Word)


def list_exported(word: Word) -> Word:
    """A word for others to read: the name of the script's own file is not known."""
    if not any(piece.text is not None and OWN_NAME in piece.text for piece in word.pieces):
        return word
    pieces = tuple(
        piece._replace(text=None, why="the name of this file is not known", raw=piece.raw or word.raw)
        if piece.text is not None and OWN_NAME in piece.text
        else piece
        for piece in word.pieces
    )
    return word._replace(text=None, why="the name of this file is not known", pieces=pieces)
