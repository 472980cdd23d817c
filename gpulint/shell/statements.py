"""Statements: a script walked from top to bottom, command by command, with what each one does to the variables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import tree_sitter

from gpulint.shell import script as scripts
from gpulint.shell import variables
from gpulint.shell.command import Command, Word
from gpulint.shell.expansion import Expansion, TooMuch
from gpulint.shell.script import Script

DEPTH_MAX = 100

_CONTINUED = r"(?:\\\n)+"
_BRANCHES = frozenset({"elif_clause", "else_clause", "case_item"})
_LOOPS = frozenset({"for_statement", "c_style_for_statement", "while_statement"})
_CONDITIONAL = frozenset({"if_statement", "case_statement"}) | _LOOPS
_NOT_STATEMENTS = frozenset(
    {"comment", "heredoc_body", "heredoc_start", "heredoc_end", "file_redirect", "ERROR", "test_command"}
)
_NOT_WORDS = frozenset({"file_redirect", "herestring_redirect", "heredoc_redirect", "comment", "variable_assignment"})
_SETS_VARIABLES = frozenset({"read", "mapfile", "readarray", "getopts", "unset"})
_HARMLESS_SOURCES = frozenset({"activate", "conda.sh", "profile", ".profile", ".bashrc", "bashrc", "setvars.sh"})


def read(text: str, environment: Mapping[str, str | None]) -> tuple[Command, ...]:
    """The simple commands of a script in order; none where they expand to too much."""
    script = scripts.parse(text)
    reader = _Reader(script, environment)
    try:
        reader.walk(script.tree, _Where())
    except TooMuch:
        return ()
    return tuple(reader.commands)


class _Where(NamedTuple):
    """What surrounds a statement."""

    depth: int = 0
    conditional: bool = False
    function: bool = False
    broken: bool = False


class _Reader:
    """Walks the syntax tree of one script, keeping the variables whose value is known."""

    def __init__(self, script: Script, environment: Mapping[str, str | None]) -> None:
        self.script = script
        self.variables = variables.Variables(environment, script.tree)
        self.expansion = Expansion(script, self.variables)
        self.uncertain: set[str] = set()
        self.lists = 0
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
        before = self.variables.snapshot()
        for right in rest:
            self.walk(right, where)
        self.uncertain |= self.variables.changed(before)
        if any(child.type == "||" for child in node.children):
            self.variables.forget(self.variables.changed(before))
        self.lists -= 1
        if not self.lists:
            self.variables.forget(self.uncertain)
            self.uncertain = set()

    def _apart(self, node: tree_sitter.Node, where: _Where) -> None:
        """A subshell or a pipeline: what it sets is gone after it."""
        before = self.variables.snapshot()
        self._children(node, where)
        self.variables.restore(before)

    def _function(self, node: tree_sitter.Node, where: _Where) -> None:
        self.variables.distrust(variables.assigned(node))
        self._apart(node, where)

    def _conditional(self, node: tree_sitter.Node, where: _Where) -> None:
        before = self.variables.snapshot()
        if node.type in _LOOPS:
            self.variables.forget(variables.assigned(node))
            self.variables.forget(
                child.text.decode() for child in node.named_children if child.type == "variable_name" and child.text
            )
        for child in node.named_children:
            if child.type in _BRANCHES:
                self.variables.forget(self.variables.changed(before))
            self.walk(child, where)
        self.variables.forget(self.variables.changed(before))

    # ---- commands

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

    def _word(self, node: tree_sitter.Node, where: _Where) -> Iterator[Word]:
        if where.broken:
            yield self._unknown(node, "the command does not parse")
            return
        yield from self.expansion.words(node, where.function)

    def _unknown(self, node: tree_sitter.Node, why: str) -> Word:
        return Word(None, *self.script.span(node), self.script.source(node), why)

    def _rejoined(self, words: Iterator[Word]) -> Iterator[Word]:
        """The words, where a line continuation without blanks has not parted them: bash reads those as one."""
        last: Word | None = None
        for word in words:
            if last is not None and re.compile(_CONTINUED).fullmatch(self.script.text, last.end, word.start):
                last = self._one(last, word)
                continue
            if last is not None:
                yield last
            last = word
        if last is not None:
            yield last

    def _one(self, left: Word, right: Word) -> Word:
        text = None if left.text is None or right.text is None else left.text + right.text
        return Word(text, left.start, right.end, self.script.text[left.start : right.end], left.why or right.why)

    def _effects(self, words: Sequence[Word]) -> None:
        """Builtins that set variables from elsewhere make them unknown."""
        name = words[0].text
        if name in _SETS_VARIABLES:
            self.variables.forget(word.text for word in words[1:] if word.text)
        elif name == "printf" and len(words) > 2 and words[1].text == "-v":
            self.variables.forget([words[2].text or ""])
        elif name == "eval" or (name in ("source", ".") and not _harmless(words[1:])):
            self.variables.forget_all()

    def _emit(self, words: tuple[Word, ...], assignments: tuple[tuple[str, Word], ...], where: _Where) -> None:
        self.commands.append(Command(words, assignments, where.conditional))

    # ---- assignments

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
            self.variables.forget(self.script.source(child) for child in node.named_children)
        keyword = self.script.source(node.children[0])
        self._emit((Word(keyword, *self.script.span(node.children[0]), keyword),), assignments, where)

    def _assignment(self, node: tree_sitter.Node, where: _Where) -> tuple[str, Word]:
        stated, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        name = self.script.source(stated) if stated is not None else ""
        if value is None:
            end = self.script.span(node)[1]
            return name, Word("", end, end, "")
        if value.type == "array":
            return name, self._unknown(value, "an array")
        if node.has_error or where.broken:
            return name, self._unknown(value, "the command does not parse")
        return name, self.expansion.value(value, where.function)

    def _set(self, node: tree_sitter.Node, name: str, word: Word, where: _Where) -> None:
        given = node.child_by_field_name("value")
        value: variables.Value = word.text
        if given is not None and given.type == "array" and not given.has_error:
            value = tuple(word for item in given.named_children for word in self._word(item, where))
        if any(child.type == "+=" for child in node.children):
            self.variables.append(name, value)
        else:
            self.variables.assign(name, value)


def _after_target(redirect: tree_sitter.Node) -> list[tree_sitter.Node]:
    """The words that follow a redirection's target; the grammar counts them to the redirection."""
    return [*redirect.children_by_field_name("destination")[1:], *redirect.children_by_field_name("argument")]


def _harmless(words: Sequence[Word]) -> bool:
    """Whether a sourced file is one that sets up a shell, not a script's own variables."""
    return bool(words) and words[0].raw.strip("\"'").rsplit("/", 1)[-1] in _HARMLESS_SOURCES
