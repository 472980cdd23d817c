"""YAML syntax errors in plain words, at the location to fix."""

from __future__ import annotations

import re

from ruamel.yaml.error import MarkedYAMLError

from gpulint.source.documents.nodes import InvalidSyntaxError

_TAB = "a tab indents this line; YAML allows only spaces there"
_INDENTED = "the indentation of this line does not fit the lines above it"
_WITHOUT_KEY = "the line above is text without a key, so nothing can follow it"
_PLAIN_WORDS = {
    "did not find expected key": f"{_INDENTED}, or a quote, bracket or colon is missing just before",
    "did not find expected '-' indicator": f"{_INDENTED}: a list item (`-`) is expected here",
    "could not find expected ':'": "this line is neither `key: value` nor part of the value above it",
    "found unexpected end of stream": "this quote is never closed",
    "found unexpected document indicator": "this quote is never closed before the document ends",
    "did not find expected ',' or '}'": "a `{` before this is not closed; a `,` or `}` is missing",
    "did not find expected ',' or ']'": "a `[` before this is not closed; a `,` or `]` is missing",
    "block sequence entries are not allowed in this context": "a list item (`-`) cannot start here; put it on its own line",
    "did not find expected <document start>": "text follows the end of the document; only one value is allowed at the top",
    "found unknown escape character": "this backslash escape means nothing in \"…\"; use '…' or write two backslashes",
    "found undefined tag handle": "this tag (`!…!`) is not declared; quote the value if the `!` belongs to it",
    "did not find expected node content": "a value is expected here, and this character cannot start one; quote it",
}
_AT_CONTEXT = ("could not find expected ':'", "found unexpected end of stream", "found unexpected document indicator")
_STRUCTURED = re.compile(r":(?:\s|$)|^[ \t]*-\s", re.MULTILINE)
_FLOW_THEN_TEXT = re.compile(r"(?:(?<=[:\-,]\s)|^)\s*(?P<value>[\[{][^\[\]{}\n]*[\]}][^\s,#\]}:].*)")


def explain(text: str, chunk: str, base: int, error: Exception) -> InvalidSyntaxError:
    """Return the error in the part of the text that starts at an offset."""
    offset = base + min(_find_error(chunk, error), len(chunk))
    line_start = text.rfind("\n", 0, offset) + 1
    line = text[line_start : text.find("\n", offset) if "\n" in text[offset:] else len(text)].rstrip()
    indentation = line[: len(line) - len(line.lstrip())]
    if "\t" in indentation or text[offset : offset + 1] == "\t":
        return InvalidSyntaxError(_TAB, line_start + indentation.index("\t") if "\t" in indentation else offset)
    for match in _FLOW_THEN_TEXT.finditer(line):
        start, end = line_start + match.start("value"), line_start + match.end("value")
        if start < offset < end:
            return InvalidSyntaxError(_flow_message(text[start]), start, end)
    message = _explain_problem(error, line, offset - line_start)
    above = text[base:line_start].strip()
    is_text = message == _INDENTED and above and not _STRUCTURED.search(above)
    return InvalidSyntaxError(_WITHOUT_KEY if is_text else message, offset)


def _flow_message(opening: str) -> str:
    kind = "mapping" if opening == "{" else "list"
    return f"`{opening}` starts a flow {kind}, and text follows its end; put the whole value in quotes"


def _find_error(chunk: str, error: Exception) -> int:
    """Return the character at which the parser failed, or the unmatched opening."""
    if not isinstance(error, MarkedYAMLError):
        position = getattr(error, "position", 0)
        return len(chunk.encode()[:position].decode("utf-8", "ignore"))
    mark = error.context_mark if error.problem in _AT_CONTEXT else error.problem_mark
    index: int = mark.index if mark is not None else 0
    return index


def _explain_problem(error: Exception, line: str, column: int) -> str:
    problem = str(getattr(error, "problem", "") or "")
    at = line[column : column + 1]
    if problem.startswith("mapping values are not allowed"):
        inner = ": " in line[:column]
        return "a second `: ` on one line; put the value in quotes if the colon belongs to it" if inner else _INDENTED
    if problem == "found character that cannot start any token":
        return f"`{at}` cannot start a value; put the value in quotes"
    if "alphabetic or numeric" in problem:
        return "`*` and `&` start an alias or an anchor, which needs a name; put the value in quotes"
    if not isinstance(error, MarkedYAMLError):
        return f"a control character (code {getattr(error, 'character', 0)}) is not allowed in YAML"
    return _PLAIN_WORDS.get(problem, f"not valid YAML: {problem}")
