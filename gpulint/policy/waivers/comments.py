"""Parse the gpulint directives in comments and annotations, with the lines that they cover."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from gpulint.policy.waivers.waivers import Suppression, WaiverProblem
from gpulint.report.model import Location, Waiver
from gpulint.source.documents import Comment, Document, Path

DIRECTIVE = re.compile(r"gpulint:\s*(?P<rest>.*)")
HINT = re.compile(r"gpulint:\s*(?P<words>(?!(?:ignore|disable|suppress|waive)=)[\w-]+=.*)")
IGNORE = re.compile(r"ignore\[(?P<names>[\w-]+(?:\s*,\s*[\w-]+)*)\](?:\s+(?P<rest>\S.*))?")
MEANT = re.compile(
    r"gpulint\W{0,2}\s*(?:ignore|disable|suppress|waive)(?:\s*[\[(:=]|\s+[a-z]+(?:-[a-z0-9]+){2,})|gpulint:\s*ignore\b",
    re.IGNORECASE,
)
"""A comment that is meant as a waiver, in any spelling."""
ENCLOSED = re.compile(r"/\*\s*gpulint\W{0,2}\s*(?:ignore|disable|suppress|waive)\b")
WORD = re.compile(r"""(?<!\S)(?P<name>[A-Za-z-]+)=(?P<value>"[^"]*"|'[^']*'|\S*)\s*""")
WORDS = ("owner", "until", "while")
SWALLOWED = re.compile(
    r"(?<![?&/\w-])(?P<name>owner|until|while)(?:\s*[=:]|(?=\s+\d{4}-\d))\s*(?P<value>[^\s,;)]*)", re.IGNORECASE
)
"""A field of a waiver inside its reason, where it would have no effect."""
MISTAKEN = {**dict.fromkeys(("expires", "expiry", "expire", "end", "date"), "until"), "if": "while", "by": "owner"}
ANNOTATION = "gpulint/ignore"
MARKED = {"template": "#", "hcl": "# or //"}
"""Formats with comments that gpulint cannot read, and the markers of those that it reads."""
ELSEWHERE = frozenset({"Kustomization", "Component"})
"""Kinds whose annotations apply to objects of other files."""
FORM = "write ignore[rule-name] followed by a reason"
FORM_OF = {
    "comment": FORM,
    "annotation": f'annotate the object or pod template with {ANNOTATION}: "rule-name: a reason"',
}


class Directive(NamedTuple):
    """A directive: its text, comment or annotation, its location and the lines that it covers."""

    text: str
    kind: str
    location: Location
    lines: tuple[int, int]


def parse_hint(comment: str) -> str:
    """Return the words of a comment such as `gpulint: accelerator=l4 model=Qwen/Qwen3-8B`; empty for others."""
    match = HINT.fullmatch(comment)
    return match["words"] if match else ""


def read(
    path: str, text: str, documents: Sequence[Document], comments: Sequence[Comment], names: Iterable[str]
) -> tuple[list[Suppression], list[WaiverProblem]]:
    """Return the waivers in the comments and annotations of a file, and the malformed directives."""
    rule_names = tuple(names)
    suppressions: list[Suppression] = []
    troubles: list[WaiverProblem] = []
    troubles += _find_unread(path, text, documents, comments)
    for directive in (*_find_comments(path, text, documents, comments), *_find_annotations(documents)):
        for part in _parse(directive, rule_names):
            (suppressions if isinstance(part, Suppression) else troubles).append(part)  # type: ignore[arg-type]
    return suppressions, troubles


def parse_waiver(words: str, kind: str, location: Location | None) -> Waiver | str:
    """Return the waiver after the rule names of a directive, or what is wrong with it."""
    fields: dict[str, str] = {}
    reason, end = "", 0
    for match in WORD.finditer(words):
        name, value = match["name"], _unquote(match["value"])
        between = words[end : match.start()]
        if name not in WORDS:
            if meant := _guess_field(name) if not (reason + between).strip() else "":
                return f"a waiver has no field {name}; did you mean {meant}=?"
            continue
        if name in fields:
            return f"{name}= is given twice"
        if problem := _find_problem(name, value):
            return problem
        fields[name] = value
        reason, end = reason + between, match.end()
    reason = (reason + words[end:]).strip()
    if not reason:
        return f"the reason is missing; {FORM}"
    if swallowed := SWALLOWED.search(reason):
        name = swallowed["name"].lower()
        value = '"CONDITION"' if name == "while" else swallowed["value"]
        return f"`{swallowed[0]}` is part of the reason and has no effect; write {name}={value} as a separate word"
    return Waiver(kind, reason, location, fields.get("owner", ""), fields.get("until", ""), fields.get("while", ""))


def _unquote(value: str) -> str:
    quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
    return value[1:-1] if quoted else value


def _find_problem(name: str, value: str) -> str:
    """Return what is wrong with a field, or an empty string."""
    if not value:
        return f"{name}= is empty"
    if name == "until" and not _is_date(value):
        return f"until={value} is not a date; write it as 2027-03-31"
    if name == "while":
        from gpulint.policy.conditions import waiver_conditions

        return waiver_conditions.find_problem(value)
    return ""


def _is_date(text: str) -> bool:
    from datetime import date

    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _guess_field(name: str) -> str:
    """Return the waiver field that a misspelt name may mean."""
    import difflib

    similar = difflib.get_close_matches(name.lower(), WORDS, n=1, cutoff=0.75)
    return MISTAKEN.get(name.lower()) or (similar[0] if similar else "")


def _parse(directive: Directive, known: Sequence[str]) -> Iterator[Suppression | WaiverProblem]:
    match = IGNORE.fullmatch(directive.text)
    if match is None:
        yield WaiverProblem(
            "malformed-suppression", f"cannot parse `{directive.text}`; {FORM_OF[directive.kind]}", directive.location
        )
        return
    waiver = parse_waiver(match["rest"] or "", directive.kind, directive.location)
    if isinstance(waiver, str):
        yield WaiverProblem("malformed-suppression", waiver, directive.location)
        return
    for name in (part.strip() for part in match["names"].split(",")):
        if name in known:
            yield Suppression(name, waiver, directive.lines)
        else:
            suggestion = suggest_rule(name, known) or "; name single rules, which `gpulint rules` lists"
            yield WaiverProblem("malformed-suppression", f"no such rule: {name}{suggestion}", directive.location)


def suggest_rule(name: str, known: Iterable[str]) -> str:
    """Suggest a rule for an unknown name, as the end of an error message."""
    from gpulint.policy import did_you_mean

    return did_you_mean.suggest_one(name, known, alike=0.7)


# ---- finding directives


def _find_comments(
    path: str, text: str, documents: Sequence[Document], comments: Sequence[Comment]
) -> Iterator[Directive]:
    """Yield directives in comments. They cover their own line, or the value that starts on the next line."""
    lines = [line.removesuffix("\r") for line in text.split("\n")] if comments else []
    for comment in comments:
        directive = _extract_directive(comment.text)
        if directive is None:
            continue
        line = lines[comment.line - 1]
        alone = not line[: comment.column - 1].strip()
        place = Location(path, comment.line, comment.column, comment.line, len(line) + 1, line)
        first = comment.line + 1 + _comment_lines(lines[comment.line :]) if alone else comment.line
        yield Directive(directive, "comment", place, (comment.line, max(first, _end_of_scalar(text, documents, first))))


def _find_unread(
    path: str, text: str, documents: Sequence[Document], comments: Sequence[Comment]
) -> Iterator[WaiverProblem]:
    """Yield directives in comments that gpulint cannot read: those of templates and block comments."""
    if not documents or documents[0].format not in MARKED:
        return
    read_lines = {comment.line for comment in comments}
    for match in ENCLOSED.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        if line not in read_lines:
            source_line = text.split("\n")[line - 1].removesuffix("\r")
            place = Location(path, line, 1, line, len(source_line) + 1, source_line)
            yield WaiverProblem(
                "malformed-suppression",
                f"gpulint does not read this kind of comment; write it after {MARKED[documents[0].format]}",
                place,
            )


def _extract_directive(comment: str) -> str | None:
    """Return the directive of a comment, or None if it only mentions gpulint or declares values."""
    if parse_hint(comment):
        return None
    if match := DIRECTIVE.match(comment):
        return match["rest"].strip()
    if (match := MEANT.search(comment)) is None:
        return None
    last = comment.rpartition("#")[2].strip()
    return last.removeprefix("gpulint:").strip() if last.startswith("gpulint:") else comment[match.start() :]


def _comment_lines(lines: Iterable[str]) -> int:
    """Return the number of comment lines before anything else."""
    return len(list(itertools.takewhile(lambda line: line.lstrip().startswith("#"), lines)))


def _end_of_scalar(text: str, documents: Sequence[Document], line: int) -> int:
    """Return the last line of a multi-line scalar that starts on a line, otherwise that line."""
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    if line > len(starts) or not documents:
        return line
    begin = starts[line - 1]
    end = starts[line] if line < len(starts) else len(text)
    spans = (node for document in documents for node in _scalars(document.root, begin, end))
    return max((text.count("\n", 0, node_end) + 1 for _, node_end in spans), default=line)


def _scalars(root: object, begin: int, end: int) -> Iterator[tuple[int, int]]:
    stack = [root]
    while stack:
        node = stack.pop()
        kind, value = getattr(node, "kind", ""), getattr(node, "value", None)
        if kind == "scalar" and begin <= getattr(node, "start", -1) < end:
            yield getattr(node, "start", 0), max(getattr(node, "start", 0), getattr(node, "end", 0) - 1)
        elif kind == "mapping" and isinstance(value, list):
            stack.extend(part for pair in value for part in pair)
        elif kind == "sequence" and isinstance(value, list):
            stack.extend(value)


def _find_annotations(documents: Sequence[Document]) -> Iterator[Directive]:
    """Yield `gpulint/ignore` annotations of objects, pod templates and chart values; they cover their owner."""
    for document in documents:
        for path in _find_annotated(document) if ANNOTATION in document.words else ():
            text = document.get((*path, ANNOTATION))
            place = document.locate((*path, ANNOTATION))
            holder = _holder(path)
            if not isinstance(text, str) or holder is None or document.get(("kind",)) in ELSEWHERE:
                yield Directive(f"{ANNOTATION}: {text}", "annotation", place, (0, 0))
                continue
            lines = _lines(document, holder)
            for line in filter(None, map(str.strip, text.splitlines())):
                name, _, words = line.partition(":")
                yield Directive(f"ignore[{name.strip()}] {words.strip()}".strip(), "annotation", place, lines)


def _find_annotated(document: Document) -> Iterator[Path]:
    """Yield the paths of the mappings with the annotation."""
    pending: list[tuple[Path, object]] = [((), document.data)]
    while pending:
        path, value = pending.pop()
        if isinstance(value, dict):
            if ANNOTATION in value:
                yield path
            pending.extend(((*path, str(key)), inner) for key, inner in value.items())
        elif isinstance(value, list):
            pending.extend(((*path, index), inner) for index, inner in enumerate(value))


def _holder(path: Path) -> Path | None:
    """Return the path of the owner of annotations; None if the path holds no annotations."""
    if not path or not str(path[-1]).lower().endswith("annotations"):
        return None
    above = path[:-1]
    while above and isinstance(above[-1], int):
        above = above[:-1]
    return above[:-1] if above and above[-1] == "metadata" else path[:-1]


def _lines(document: Document, path: Path) -> tuple[int, int]:
    """Return the first and last line of a value."""
    node = document.node(path) or document.root
    first, last = (document.text.count("\n", 0, at) + 1 for at in (node.start, node.end))
    return first, last
