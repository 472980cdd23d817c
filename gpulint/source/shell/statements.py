"""Walk a script from top to bottom and apply each command to the variables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import tree_sitter

from gpulint.source import excess
from gpulint.source.shell import branches, builtins, conditions, functions, variables
from gpulint.source.shell import script as shell_script
from gpulint.source.shell.choices import Choices
from gpulint.source.shell.command import Command, ShellLimitError, Word
from gpulint.source.shell.expansion import Expansion
from gpulint.source.shell.run import Context, Listed, Run, Sourced
from gpulint.source.shell.script import Script
from gpulint.source.shell.variables import Variables, list_exported

DEPTH_MAX = 100
EXPANDS = "a script expands to more than gpulint follows"

_STARTS = re.compile(r"(?:\$\(|`)\s*(?:sudo\s+)?(?:docker|podman|nerdctl|sbatch|qsub|srun)\s")
"""Substitutions whose command starts something that goes on when it has printed its id."""
_CONTINUED = re.compile(r"(?:\\\r?\n)+")
_LOOPS = frozenset({"for_statement", "c_style_for_statement", "while_statement"})
_STATEMENTS = frozenset(
    {
        *("command", "redirected_statement", "variable_assignment", "variable_assignments", "declaration_command"),
        *("unset_command", "list", "pipeline", "if_statement", "case_statement", "function_definition", "comment"),
        *("for_statement", "c_style_for_statement", "while_statement", "subshell", "compound_statement", "\n", ";"),
    }
)
_NOT_STATEMENTS = frozenset(
    {"comment", "heredoc_body", "heredoc_start", "heredoc_end", "file_redirect", "ERROR", "test_command"}
)
_NOT_WORDS = frozenset({"file_redirect", "herestring_redirect", "heredoc_redirect", "comment", "variable_assignment"})
_MAY_BE_A_FUNCTION = re.compile(r"\"?\$\{?(?:[@*\d]|[a-z_]+\b).*")


def read(
    text: str,
    environment: Mapping[str, str | None],
    sourced: Sourced | None = None,
    origin: Word | None = None,
    exported: Mapping[str, Word] | None = None,
    choices: Choices | None = None,
    listed: Listed | None = None,
) -> tuple[Command, ...]:
    """The simple commands of a script in order; none where they expand to too much."""
    try:
        return _read(text, environment, sourced, origin, exported, choices, listed)
    except ShellLimitError:
        return ()


def is_within_limits(text: str) -> bool:
    """Whether the commands of a script expand to no more than the limits allow."""
    try:
        _read(text, {}, None, None, None)
    except ShellLimitError:
        return False
    return True


def _read(
    text: str,
    environment: Mapping[str, str | None],
    sourced: Sourced | None,
    origin: Word | None,
    exported: Mapping[str, Word] | None,
    choices: Choices | None = None,
    listed: Listed | None = None,
) -> tuple[Command, ...]:
    script = shell_script.parse(text, origin.source if origin is not None else "", origin=origin)
    run = Run(Variables(environment, script.tree), sourced, choices, listed)
    for name, word in (exported or {}).items():
        run.variables.assign(name, word)
        run.variables.export(name)
    reader = ScriptReader(script, run)
    reader.walk(script.tree, Context())
    functions.walk_uncalled(reader)
    return tuple(run.commands)


class ScriptReader:
    """Walks the syntax tree of one script, keeping the variables whose value is known."""

    def __init__(self, script: Script, run: Run) -> None:
        self.script = script
        self.run = run
        self.variables = run.variables
        self.expansion = Expansion(script, run.variables, run.budget)

    def open(self, script: Script) -> ScriptReader:
        """Return a reader of another script that shares the state of this one."""
        return ScriptReader(script, self.run)

    # ---- statements

    def walk(self, node: tree_sitter.Node, where: Context) -> None:
        if node.type == "ERROR" and where.depth <= 1:
            self._statements_before_error(node, where)
        if node.type in _NOT_STATEMENTS or self.run.returned or self.run.exited:
            return
        if excess.is_over(where.depth, DEPTH_MAX, "a script nests statements deeper than {} levels"):
            return
        inner = where._replace(depth=where.depth + 1)
        if node.type == "command":
            self._command(node, where, [])
        elif node.type == "redirected_statement":
            self._walk_redirected(node, inner)
        elif node.type == "variable_assignment":
            self._plain_assignment(node, where)
        elif node.type in ("declaration_command", "unset_command"):
            self._declaration(node, where)
        elif node.type == "list":
            self._list(node, inner)
        elif node.type in ("subshell", "pipeline"):
            self._walk_subshell(node, inner)
        elif node.type == "function_definition":
            functions.define(self, node)
        elif node.type == "if_statement":
            branches.walk_if(self, node, inner)
        elif node.type == "case_statement":
            branches.walk_case(self, node, inner)
        elif node.type in _LOOPS:
            branches.walk_loop(self, node, inner)
        elif node.type == "compound_statement" and self.script.text_of(node).startswith("(("):
            self._arithmetic(node, where)
        else:
            self.children(node, inner)

    def children(self, node: tree_sitter.Node, where: Context) -> None:
        self.each(node.children, where)

    def each(self, children: Sequence[tree_sitter.Node], where: Context) -> None:
        broken = [child.type == "ERROR" for child in children]
        for index, child in enumerate(children):
            if child.is_named:
                beside = any(broken[max(index - 1, 0) : index + 2])
                self.walk(child, where._replace(broken=where.broken or beside))

    def _statements_before_error(self, node: tree_sitter.Node, where: Context) -> None:
        """The statements that bash has run when it comes to what does not parse, where that is all of the script."""
        if re.search(r"(?m)^[ \t]*[^#\s]", self.script.text[: self.script.span(node)[0]]):
            return
        for child in node.children:
            if child.has_error or child.type not in _STATEMENTS:
                return
            self.walk(child, where._replace(depth=2, broken=False))

    def _list(self, node: tree_sitter.Node, where: Context) -> None:
        """`a && b`, `a || b`: what the right side sets is known no further than the list, unless the left side is known."""
        left, *rest = node.named_children
        verdict = conditions.decide(left, self.expansion, self.run.exists)
        if verdict is not None and any(child.type == "||" for child in node.children):
            verdict = verdict._replace(holds=not verdict.holds)
        if not self.run.lists:
            self.run.certain = self.variables.snapshot()
        self.run.lists += 1
        self.walk(left, where)
        before = self.variables.snapshot()
        if verdict is None or verdict.presumed:
            self.each(rest, where._replace(conditional=where.conditional or verdict is not None, certain=False))
        elif verdict.holds:
            self.each(rest, where)
        if verdict is not None and not verdict.holds:
            self.variables.restore(before)
        if verdict is None:
            branches.add(self.run.uncertain, self.variables.changes(before))
            if any(child.type == "||" for child in node.children):
                self.variables.forget(self.variables.list_changed(before))
        self.run.lists -= 1
        if not self.run.lists:
            self.variables.doubt(self.run.uncertain, self.run.certain)
            self.run.uncertain = {}

    def _walk_subshell(self, node: tree_sitter.Node, where: Context) -> None:
        """Walk a subshell or pipeline. Variables set in it are restored afterwards."""
        before, first = self.variables.snapshot(), len(self.run.commands)
        self.children(node, where._replace(certain=False))
        self.variables.restore(before)
        if node.type == "pipeline":
            self._feed_pipe(first)

    def _feed_pipe(self, first: int) -> None:
        """`cat <<EOF | command` and `echo TEXT | command`: what the command reads is the text."""
        if len(self.run.commands) < first + 2:
            return
        printer, reader = self.run.commands[first : first + 2]
        if reader.here is None and (text := builtins.is_print(printer)) is not None:
            self.run.commands[first + 1] = reader._replace(here=text)

    def _arithmetic(self, node: tree_sitter.Node, where: Context) -> None:
        """`((NAME = …))`."""
        start, end = self.script.span(node)
        if self.expansion.arithmetic(node, start + 2, end - 2) is None:
            self.variables.forget(
                re.findall(
                    r"(?<!\w)([A-Za-z_]\w*+)\s*+(?:\+\+|--|[-+*/%&|^]?=(?!=)|<<=|>>=)", self.script.text_of(node)
                )
            )
            self.variables.forget(re.findall(r"(?:\+\+|--)\s*([A-Za-z_]\w*)", self.script.text_of(node)))

    # ---- commands

    def _walk_redirected(self, node: tree_sitter.Node, where: Context) -> None:
        """A statement and its redirections; what follows a redirection's target belongs to the command."""
        body = node.child_by_field_name("body")
        redirects = node.children_by_field_name("redirect")
        if body is None or body.type != "command":
            self.children(node, where)
            return
        more = [word for redirect in redirects for word in _find_words_after_target(redirect)]
        first = len(self.run.commands)
        self._command(body, where._replace(broken=where.broken or node.has_error), more, redirects)
        for redirect in redirects:
            joined = redirect.child_by_field_name("right") is not None
            self.walk(redirect, where._replace(certain=False) if joined else where)
            if any(child.type == "pipeline" for child in redirect.named_children):
                self._feed_pipe(first)

    def _command(
        self,
        node: tree_sitter.Node,
        where: Context,
        more: Sequence[tree_sitter.Node],
        redirects: Sequence[tree_sitter.Node] = (),
    ) -> None:
        assignments = tuple(
            self._assignment(child, where) for child in node.named_children if child.type == "variable_assignment"
        )
        inside = where._replace(broken=where.broken or node.has_error)
        words = tuple(self._rejoin([*node.named_children, *more], inside))
        name = words[0].text if words else ""
        function = self.run.functions.get(name or "")
        if function is not None and not function.speaks_only and not inside.broken:
            functions.call(self, function, name or "", words, assignments, where)
            return
        if function is not None:
            self.run.called.add(name or "")
            return
        if name == "eval" and builtins.apply_eval(self, words[1:], where):
            return
        self._emit(words, assignments, where, self._here([*node.named_children, *redirects]))
        if words:
            self._effects(words, where)

    def _effects(self, words: Sequence[Word], where: Context) -> None:
        if words[0].text is None and self.run.functions and _MAY_BE_A_FUNCTION.fullmatch(words[0].raw):
            for function in self.run.functions.values():
                self.variables.forget(function.sets if function is not None else ())
        builtins.apply(self, words, where)

    def _here(self, nodes: Sequence[tree_sitter.Node]) -> Word | None:
        """The here-document or here-string that a command reads."""
        redirects = [node for node in nodes if node.type in ("heredoc_redirect", "herestring_redirect")]
        return self.expansion.here(redirects[-1]) if redirects else None

    def _words(self, node: tree_sitter.Node, where: Context) -> Iterator[Word]:
        if where.broken:
            yield self.expansion.unknown(node, "the command does not parse")
            return
        yield from self.expansion.words(node)

    def _rejoin(self, nodes: Sequence[tree_sitter.Node], where: Context) -> Iterator[Word]:
        """The words, where no blank parts them: the grammar ends one at a line continuation and before a backtick."""
        last: Word | None = None
        end = 0
        for child in nodes:
            if child.type in _NOT_WORDS:
                continue
            node = child.named_children[0] if child.type == "command_name" and child.named_children else child
            start, after = self.script.span(node)
            parted = start > end and _CONTINUED.fullmatch(self.script.text, end, start) is None
            joins = last is not None and start >= end and not parted
            for word in self._words(node, where):
                if last is not None and not joins:
                    yield last
                last, joins = (_concatenate(last, word) if last is not None and joins else word), False
            end = after
        if last is not None:
            yield last

    def _emit(
        self,
        words: tuple[Word, ...],
        assignments: tuple[tuple[str, Word], ...],
        where: Context,
        here: Word | None = None,
    ) -> None:
        shown = tuple((name, list_exported(word)) for name, word in assignments)
        environment = self.variables.list_exported() if words else {}
        self.run.commands.append(Command(words, shown, where.conditional, here, self.script.source, environment))

    # ---- assignments

    def _walk_started(self, node: tree_sitter.Node, where: Context) -> None:
        """`ID=$(docker run …)`: what an assignment starts besides what it prints."""
        if _STARTS.search(self.script.text_of(node)) is None:
            return
        for child in variables.extend_path(node, "command_substitution"):
            if _STARTS.match(self.script.text_of(child)):
                self._walk_subshell(child, where._replace(depth=where.depth + 1))

    def _plain_assignment(self, node: tree_sitter.Node, where: Context) -> None:
        self._walk_started(node, where)
        name, word = self._assignment(node, where)
        self.set(node, name, word, where)
        self._emit((), ((name, word),), where)

    def _declaration(self, node: tree_sitter.Node, where: Context) -> None:
        """`export A=1 B=$A`: bash expands every word before it sets any."""
        self._walk_started(node, where)
        keyword = self.script.text_of(node.children[0])
        given = [child for child in node.named_children if child.type == "variable_assignment"]
        bare = [self.script.text_of(child) for child in node.named_children if child.type == "variable_name"]
        options = [self.script.text_of(child) for child in node.named_children if child.type == "word"]
        for child in variables.extend_path(node, "command_substitution") if not given and not bare else ():
            builtins.apply_printed(self, child, where)
        assignments = tuple(self._assignment(child, where) for child in given)
        if builtins.is_local(keyword, options) and self.run.locals:
            self._keep_for_return([*(name for name, _ in assignments), *bare])
        for child, (name, word) in zip(given, assignments, strict=True):
            self.set(child, name, word, where)
        if keyword == "unset":
            self.variables.forget(self.script.text_of(child) for child in node.named_children)
        elif builtins.apply_export(keyword, options):
            for name in (*(name for name, _ in assignments), *bare):
                self.variables.export(name)
        start = self.script.place(*self.script.span(node.children[0]))
        self._emit((Word(keyword, *start, keyword, source=self.script.source),), assignments, where)

    def _keep_for_return(self, names: Sequence[str]) -> None:
        """What a function's own variables hide is there again when it returns."""
        for name in names:
            self.run.locals[-1].setdefault(name, self.variables.find(name))

    def _assignment(self, node: tree_sitter.Node, where: Context) -> tuple[str, Word]:
        stated, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        name = self.script.text_of(stated) if stated is not None else ""
        if value is None:
            end = self.script.span(node)[1]
            return name, Word("", *self.script.place(end, end), "", source=self.script.source)
        if value.type == "array":
            return name, self.expansion.unknown(value, "an array")
        if node.has_error or where.broken:
            return name, self.expansion.unknown(value, "the command does not parse")
        return name, self.expansion.value(value)

    def set(self, node: tree_sitter.Node, name: str, word: Word, where: Context) -> None:
        given = node.child_by_field_name("value")
        value: variables.Value = word
        if given is not None and given.type == "array":
            keyed = any(re.match(r"\[[^\]]*\]\+?=", self.script.text_of(item)) for item in given.named_children)
            items = (item for item in given.named_children if item.type != "comment")
            value = (
                None if given.has_error or keyed else tuple(word for item in items for word in self._words(item, where))
            )
        if "[" in name:
            self.variables.set_item(name, value)
        elif any(child.type == "+=" for child in node.children):
            self.variables.append(name, value)
        else:
            self.variables.assign(name, value)


def _concatenate(left: Word, right: Word) -> Word:
    """Two words that a line continuation joins."""
    text = None if left.text is None or right.text is None else left.text + right.text
    start, end = min(left.start, right.start), max(left.end, right.end)
    return Word(
        text, start, end, left.raw + right.raw, left.why or right.why, (*left.parts(), *right.parts()), left.source
    )


def _find_words_after_target(redirect: tree_sitter.Node) -> list[tree_sitter.Node]:
    """The words that follow a redirection's target; the grammar counts them to the redirection."""
    return [*redirect.children_by_field_name("destination")[1:], *redirect.children_by_field_name("argument")]
