"""Parse the gpulint directives in comments and annotations, with the lines that they cover."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from gpulint.policy.waivers.waivers import Suppression, WaiverProblem
from gpulint.report.model import Location, Waiver
from gpulint.source.documents import Comment, Document, Path, places

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
    lines = _Lines(text, documents)
    for comment in comments:
        directive = _extract_directive(comment.text)
        if directive is None:
            continue
        line = places.read_line(text, comment.line)
        alone = not line[: comment.column - 1].strip()
        place = Location(path, comment.line, comment.column, comment.line, len(line) + 1, line)
        first = lines.find_content(comment.line) if alone else comment.line
        yield Directive(directive, "comment", place, (comment.line, max(first, lines.find_end(first))))


def _find_unread(
    path: str, text: str, documents: Sequence[Document], comments: Sequence[Comment]
) -> Iterator[WaiverProblem]:
    """Yield directives in comments that gpulint cannot read: those of templates and block comments."""
    if not documents or documents[0].format not in MARKED:
        return
    read_lines = {comment.line for comment in comments}
    for match in ENCLOSED.finditer(text):
        line = places.find_line(text, match.start())
        if line not in read_lines:
            source_line = places.read_line(text, line)
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


class _Lines:
    """The lines of a file: which of them are comments, and where the scalars that begin on them end.

    Both are worked out by one pass over the file, however many comments ask.
    """

    def __init__(self, text: str, documents: Sequence[Document]) -> None:
        self._text = text
        self._documents = documents

    def find_content(self, line: int) -> int:
        """Return the first line after a comment line that is no comment."""
        return self._content_lines[min(line, len(self._content_lines) - 1)]

    def find_end(self, line: int) -> int:
        """Return the last line of a multi-line scalar that starts on a line, otherwise that line."""
        return self._last_lines.get(line, line)

    @functools.cached_property
    def _content_lines(self) -> list[int]:
        """For each line number, the first later line that is no comment."""
        lines = self._text.split("\n")
        found = [len(lines) + 1] * (len(lines) + 1)
        for at in range(len(lines) - 1, -1, -1):
            found[at] = found[at + 1] if lines[at].lstrip().startswith("#") else at + 1
        return found

    @functools.cached_property
    def _last_lines(self) -> dict[int, int]:
        """For each line on which a scalar begins, the last line of such a scalar."""
        found: dict[int, int] = {}
        for start, end in (span for document in self._documents for span in _scalars(document.root)):
            first, last = places.find_line(self._text, start), places.find_line(self._text, end)
            found[first] = max(last, found.get(first, 0))
        return found


def _scalars(root: object) -> Iterator[tuple[int, int]]:
    """Yield the first and the last offset of each scalar."""
    stack = [root]
    while stack:
        node = stack.pop()
        kind, value = getattr(node, "kind", ""), getattr(node, "value", None)
        if getattr(node, "target", None) is not None:
            continue
        if kind == "scalar":
            yield getattr(node, "start", 0), max(getattr(node, "start", 0), getattr(node, "end", 0) - 1)
        elif kind == "mapping" and isinstance(value, list):
            stack.extend(part for pair in value for part in pair)
        elif kind == "sequence" and isinstance(value, list):
            stack.extend(value)


def _find_annotations(documents: Sequence[Document]) -> Iterator[Directive]:
    """Yield `gpulint/ignore` annotations of objects, pod templates and chart values; they cover their owner."""
    for document in documents:
        for path in _find_annotated(document) if document.mentions(ANNOTATION) else ():
            text = document.get((*path, ANNOTATION))
            if text is None:
                continue
            place = document.locate((*path, ANNOTATION))
            holder = _holder(path)
            if not isinstance(text, str) or holder is None or str(document.get(("kind",))) in ELSEWHERE:
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
    return places.find_line(document.text, node.start), places.find_line(document.text, node.end)
