"""Directives: what the comments and annotations of a file say to gpulint, word by word, with the lines that they reach."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from gpulint.policy.waivers.waivers import Suppression, Trouble
from gpulint.report.model import Location, Waiver
from gpulint.source.documents import Comment, Document, Path

DIRECTIVE = re.compile(r"gpulint:\s*(?P<rest>.*)")
HINT = re.compile(r"gpulint:\s*(?P<words>(?!(?:ignore|disable|suppress|waive)=)[\w-]+=.*)")
IGNORE = re.compile(r"ignore\[(?P<names>[\w-]+(?:\s*,\s*[\w-]+)*)\](?:\s+(?P<rest>\S.*))?")
MEANT = re.compile(
    r"gpulint\W{0,2}\s*(?:ignore|disable|suppress|waive)(?:\s*[\[(:=]|\s+[a-z]+(?:-[a-z0-9]+){2,})|gpulint:\s*ignore\b",
    re.IGNORECASE,
)
"""A comment that is meant to silence something, however it is written."""
ENCLOSED = re.compile(r"/\*\s*gpulint\W{0,2}\s*(?:ignore|disable|suppress|waive)\b")
WORD = re.compile(r"""(?<!\S)(?P<name>[A-Za-z-]+)=(?P<value>"[^"]*"|'[^']*'|\S*)\s*""")
WORDS = ("owner", "until", "while")
SWALLOWED = re.compile(
    r"(?<![?&/\w-])(?P<name>owner|until|while)(?:\s*[=:]|(?=\s+\d{4}-\d))\s*(?P<value>[^\s,;)]*)", re.IGNORECASE
)
"""A word of a waiver inside its reason, where it would mean nothing."""
MISTAKEN = {**dict.fromkeys(("expires", "expiry", "expire", "end", "date"), "until"), "if": "while", "by": "owner"}
ANNOTATION = "gpulint/ignore"
MARKED = {"template": "#", "hcl": "# or //"}
"""Formats with comments that are not read, and how those begin that are."""
ELSEWHERE = frozenset({"Kustomization", "Component"})
"""Kinds whose annotations are for the objects of other files."""
FORM = "write ignore[rule-name] and a reason"
FORM_OF = {
    "comment": FORM,
    "annotation": f'annotate the object or pod template with {ANNOTATION}: "rule-name: a reason"',
}


class Written(NamedTuple):
    """A directive as it is written: its text, the kind of place it stands in, and the lines that it reaches."""

    text: str
    kind: str
    location: Location
    lines: tuple[int, int]


def hint(comment: str) -> str:
    """The words of a comment that states quantities, as in `gpulint: accelerator=l4 model=Qwen/Qwen3-8B`; else empty."""
    match = HINT.fullmatch(comment)
    return match["words"] if match else ""


def read(
    path: str, text: str, documents: Sequence[Document], comments: Sequence[Comment], names: Iterable[str]
) -> tuple[list[Suppression], list[Trouble]]:
    """What the comments and annotations of a file silence, and the directives that cannot be read."""
    known = tuple(names)
    found: list[Suppression] = []
    troubles: list[Trouble] = []
    troubles += _outside(path, text, documents, comments)
    for one in (*_comments(path, text, documents, comments), *_annotations(documents)):
        for part in _parts(one, known):
            (found if isinstance(part, Suppression) else troubles).append(part)  # type: ignore[arg-type]
    return found, troubles


def accepted(words: str, kind: str, location: Location | None) -> Waiver | str:
    """The waiver that the words after the rules' names make, or what is wrong with them."""
    stated: dict[str, str] = {}
    reason, end = "", 0
    for match in WORD.finditer(words):
        name, value = match["name"], _unquoted(match["value"])
        between = words[end : match.start()]
        if name not in WORDS:
            if meant := _meant(name) if not (reason + between).strip() else "":
                return f"no word of a waiver is called {name}; did you mean {meant}=?"
            continue
        if name in stated:
            return f"{name}= is stated twice"
        if wrong := _wrong(name, value):
            return wrong
        stated[name] = value
        reason, end = reason + between, match.end()
    reason = (reason + words[end:]).strip()
    if not reason:
        return f"a reason is missing; {FORM}" if stated else f"cannot read it without a reason; {FORM}"
    if swallowed := SWALLOWED.search(reason):
        name = swallowed["name"].lower()
        value = '"CONDITION"' if name == "while" else swallowed["value"]
        return f"`{swallowed[0]}` is read as part of the reason; write {name}={value} as a word of its own"
    return Waiver(kind, reason, location, stated.get("owner", ""), stated.get("until", ""), stated.get("while", ""))


def _unquoted(value: str) -> str:
    quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
    return value[1:-1] if quoted else value


def _wrong(name: str, value: str) -> str:
    """What is wrong with a word; empty when nothing is."""
    if not value:
        return f"{name}= is empty"
    if name == "until" and not _is_day(value):
        return f"until={value} is no day; write it as 2027-03-31"
    if name == "while":
        from gpulint.policy.waivers import conditions as bound

        return bound.wrong(value)
    return ""


def _is_day(text: str) -> bool:
    from datetime import date

    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _meant(name: str) -> str:
    """The word of a waiver that another may be meant to be."""
    import difflib

    near = difflib.get_close_matches(name.lower(), WORDS, n=1, cutoff=0.75)
    return MISTAKEN.get(name.lower()) or (near[0] if near else "")


def _parts(one: Written, known: Sequence[str]) -> Iterator[Suppression | Trouble]:
    match = IGNORE.fullmatch(one.text)
    if match is None:
        yield Trouble("malformed-suppression", f"cannot read `{one.text}`; {FORM_OF[one.kind]}", one.location)
        return
    waiver = accepted(match["rest"] or "", one.kind, one.location)
    if isinstance(waiver, str):
        yield Trouble("malformed-suppression", waiver, one.location)
        return
    for name in (part.strip() for part in match["names"].split(",")):
        if name in known:
            yield Suppression(name, waiver, one.lines)
        else:
            told = nearest(name, known) or "; rules are waived one by one, and `gpulint rules` lists them"
            yield Trouble("malformed-suppression", f"no rule is called {name}{told}", one.location)


def nearest(name: str, known: Iterable[str]) -> str:
    """The end of a message about a name that no rule has."""
    from gpulint.policy.config import did_you_mean as spelling

    return spelling.nearest(name, known, alike=0.7)


# ---- where they stand


def _comments(path: str, text: str, documents: Sequence[Document], comments: Sequence[Comment]) -> Iterator[Written]:
    """Directives in comments, with the lines they reach: their own, or the value that starts on the next line."""
    lines = [line.removesuffix("\r") for line in text.split("\n")] if comments else []
    for comment in comments:
        told = _directive(comment.text)
        if told is None:
            continue
        line = lines[comment.line - 1]
        alone = not line[: comment.column - 1].strip()
        place = Location(path, comment.line, comment.column, comment.line, len(line) + 1, line)
        first = comment.line + 1 + _comment_lines(lines[comment.line :]) if alone else comment.line
        yield Written(told, "comment", place, (comment.line, max(first, _end_of_scalar(text, documents, first))))


def _outside(path: str, text: str, documents: Sequence[Document], comments: Sequence[Comment]) -> Iterator[Trouble]:
    """What is meant as a directive and stands in no comment that is read: those of templates, and of several lines."""
    if not documents or documents[0].format not in MARKED:
        return
    read = {comment.line for comment in comments}
    for match in ENCLOSED.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        if line not in read:
            shown = text.split("\n")[line - 1].removesuffix("\r")
            place = Location(path, line, 1, line, len(shown) + 1, shown)
            yield Trouble(
                "malformed-suppression",
                f"this is no comment that is read; write it behind {MARKED[documents[0].format]}",
                place,
            )


def _directive(comment: str) -> str | None:
    """What a comment says to gpulint; None where it only speaks of it, or states quantities."""
    if hint(comment):
        return None
    if match := DIRECTIVE.match(comment):
        return match["rest"].strip()
    if (match := MEANT.search(comment)) is None:
        return None
    last = comment.rpartition("#")[2].strip()
    return last.removeprefix("gpulint:").strip() if last.startswith("gpulint:") else comment[match.start() :]


def _comment_lines(lines: Iterable[str]) -> int:
    """How many lines of comments stand before anything else."""
    return len(list(itertools.takewhile(lambda line: line.lstrip().startswith("#"), lines)))


def _end_of_scalar(text: str, documents: Sequence[Document], line: int) -> int:
    """The last line of the multi-line scalar that starts on a line, else that line."""
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


def _annotations(documents: Sequence[Document]) -> Iterator[Written]:
    """`gpulint/ignore` annotations of objects, of pod templates and of chart values; they reach all that they are of."""
    for document in documents:
        for path in _annotated(document) if ANNOTATION in document.text else ():
            text = document.get((*path, ANNOTATION))
            place = document.locate((*path, ANNOTATION))
            holder = _holder(path)
            if not isinstance(text, str) or holder is None or document.get(("kind",)) in ELSEWHERE:
                yield Written(f"{ANNOTATION}: {text}", "annotation", place, (0, 0))
                continue
            lines = _lines(document, holder)
            for line in filter(None, map(str.strip, text.splitlines())):
                name, _, words = line.partition(":")
                yield Written(f"ignore[{name.strip()}] {words.strip()}".strip(), "annotation", place, lines)


def _annotated(document: Document) -> Iterator[Path]:
    """The paths of the mappings that hold the annotation."""
    left: list[tuple[Path, object]] = [((), document.data)]
    while left:
        path, value = left.pop()
        if isinstance(value, dict):
            if ANNOTATION in value:
                yield path
            left.extend(((*path, str(key)), inner) for key, inner in value.items())
        elif isinstance(value, list):
            left.extend(((*path, index), inner) for index, inner in enumerate(value))


def _holder(path: Path) -> Path | None:
    """What the annotations at a path are of; None where they are none."""
    if not path or not str(path[-1]).lower().endswith("annotations"):
        return None
    above = path[:-1]
    while above and isinstance(above[-1], int):
        above = above[:-1]
    return above[:-1] if above and above[-1] == "metadata" else path[:-1]


def _lines(document: Document, path: Path) -> tuple[int, int]:
    """The lines of a value."""
    node = document.node(path) or document.root
    first, last = (document.text.count("\n", 0, at) + 1 for at in (node.start, node.end))
    return first, last
