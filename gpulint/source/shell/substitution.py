"""Evaluate `$(…)` commands whose output is known without running them: folders, names, text."""

from __future__ import annotations

import re
from collections.abc import Sequence

import tree_sitter

from gpulint.source.shell.command import Piece, Span, Word
from gpulint.source.shell.interfaces import Expander
from gpulint.source.shell.variables import OWN_NAME

_SAME_FILE = ("realpath", "readlink", "greadlink")


def substitute(expansion: Expander, node: tree_sitter.Node) -> tuple[Piece, ...] | None:
    """The pieces of what a substitution prints, its places those inside of it; None where only running tells."""
    inside = [child for child in node.named_children if child.type != "comment"]
    if len(inside) != 1 or node.has_error:
        return None
    use = expansion.script.place(*expansion.script.span(node))
    if inside[0].type == "list":
        return _folder(expansion, inside[0], use)
    if inside[0].type == "redirected_statement" and (text := _here(expansion, inside[0])) is not None:
        return text
    command = _command(inside[0])
    return None if command is None else _print_command(expansion, command, use)


def _command(node: tree_sitter.Node) -> tree_sitter.Node | None:
    """A simple command, without redirections of its errors."""
    if node.type == "redirected_statement":
        body = node.child_by_field_name("body")
        redirects = node.children_by_field_name("redirect")
        plain = all(redirect.type == "file_redirect" for redirect in redirects)
        return _command(body) if body is not None and plain else None
    return node if node.type == "command" else None


def _print_command(expansion: Expander, node: tree_sitter.Node, use: Span) -> tuple[Piece, ...] | None:
    words = _words(expansion, node)
    if not words or words[0].text is None:
        return None
    name, given = words[0].text.rsplit("/", 1)[-1], words[1:]
    if name == "echo":
        return _echo(given, use)
    texts = [word.text for word in given]
    if None in texts:
        return None
    text = _print(name, [text or "" for text in texts])
    return None if text is None else (Piece(text, (use,)),)


def _print(name: str, given: list[str]) -> str | None:
    """Return the output of a command with known arguments."""
    if name == "printf":
        return _format(given)
    if name == "expr":
        return _compute(given)
    paths = [text for text in given if not re.fullmatch(r"--?[a-zA-Z-]*", text)]
    if name == "dirname" and len(paths) == 1:
        return _dirname(paths[0])
    if name == "basename" and len(paths) in (1, 2) and len(paths) == len(given):
        base = paths[0].rstrip("/").rsplit("/", 1)[-1]
        return base.removesuffix(paths[1]) if len(paths) == 2 and base != paths[1] else base
    if name in _SAME_FILE and len(paths) == 1 and paths[0].startswith((".", "/")):
        return paths[0]
    return None


def _dirname(path: str) -> str:
    """The folder above; that of the script's own folder, which is written `.`, is the one above it."""
    if path and set(path.split("/")) <= {".", ".."}:
        return ".." if path == "." else f"{path}/.."
    before, slash, _ = path.rstrip("/").rpartition("/")
    return before.rstrip("/") or "/" if slash else "."


def _format(given: list[str]) -> str | None:
    if len(given) == 2 and given[0] in ("%s", "%s\\n"):
        return given[1].rstrip("\n")
    return given[0] if len(given) == 1 and not re.search(r"[%\\]", given[0]) else None


def _compute(given: list[str]) -> str | None:
    from gpulint.source.shell import arithmetic

    if not all(re.fullmatch(r"-?\d{1,18}|[-+*/%()]", text) for text in given):
        return None
    number = arithmetic.compute(" ".join(re.sub(r"^(-?)0+(?=\d)", r"\1", text) for text in given))
    return None if number is None else str(number)


def _echo(words: Sequence[Word], use: Span) -> tuple[Piece, ...] | None:
    if words and words[0].text == "-n":
        words = words[1:]
    texts = [word.text or "" for word in words]
    if any("\\" in text for text in texts) or (texts and texts[0].startswith("-")):
        return None
    pieces: list[Piece] = []
    for word in words:
        pieces += [Piece(" ", (use,))] if pieces else []
        pieces += word.parts()
    return tuple(pieces) or (Piece("", (use,)),)


def _folder(expansion: Expander, node: tree_sitter.Node, use: Span) -> tuple[Piece, ...] | None:
    """`cd FOLDER && pwd`."""
    commands = [_command(child) for child in node.named_children]
    if len(commands) != 2 or None in commands or any(child.type == "||" for child in node.children):
        return None
    goes, says = (_words(expansion, command) for command in commands if command is not None)
    if [word.text for word in says] not in (["pwd"], ["pwd", "-P"], ["pwd", "-L"]) or not goes:
        return None
    paths = [word for word in goes[1:] if word.text not in ("--", "-P", "-L")]
    if goes[0].text != "cd" or len(paths) != 1 or not (paths[0].text or "").startswith((".", "/")):
        return None
    return (Piece(paths[0].text, (use,)),) if OWN_NAME not in (paths[0].text or "") else None


def _here(expansion: Expander, node: tree_sitter.Node) -> tuple[Piece, ...] | None:
    """`cat <<EOF`."""
    body = node.child_by_field_name("body")
    redirects = node.children_by_field_name("redirect")
    if body is None or len(redirects) != 1 or redirects[0].type != "heredoc_redirect":
        return None
    if [word.text for word in _words(expansion, body)] != ["cat"]:
        return None
    word = expansion.here(redirects[0])
    if word is None:
        return None
    pieces = list(word.parts())
    if pieces[-1].text is not None:
        pieces[-1] = pieces[-1].part(0, len(pieces[-1].text.rstrip("\n")))
    return tuple(pieces)


def _words(expansion: Expander, node: tree_sitter.Node) -> list[Word]:
    words: list[Word] = []
    for child in node.named_children:
        if child.type in ("variable_assignment", "file_redirect", "herestring_redirect", "heredoc_redirect"):
            return []
        inner = child.named_children[0] if child.type == "command_name" and child.named_children else child
        words += expansion.expand(inner)
    return words
