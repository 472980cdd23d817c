"""Comments at the head of a file, and beside what a batch job requests, that tell which hardware the file is for."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gpulint.catalog import hardware
from gpulint.pipeline.enrichment.evidence import Evidence
from gpulint.pipeline.enrichment.hardware_evidence import ALTERNATIVES
from gpulint.source.documents import Comment, Document, places

HEAD_MAX, LINE_MAX = 10_000, 500
"""Characters of a head, and of a line of it, that are read."""
QUOTE_MAX = 60
"""Letters: of a longer comment, only the words that name the hardware are quoted."""
LEADS = re.compile(
    r"\W*(?:hardware|gpus?|accelerators?|machine|instance|nodes?|requires?|requirements?|needs?|tested on|runs? on|trained on"
    r"|designed for|made for|optimi[sz]ed for|target"
    r"|硬件|显卡|机器|ハードウェア|하드웨어|оборудование|matériel)(?:\b|(?<=\w)(?=\W|$))",
    re.IGNORECASE,
)
COMMENT = re.compile(r"\s*#(?!\s*gpulint:|!|SBATCH|PBS|BSUB)\s*(?P<text>[^\r\n]*)")
REQUEST = re.compile(
    r"\s*+#(?:SBATCH|PBS|BSUB)\s(?=[^#\r\n]*(?:gpu|gres|partition|constraint|-p\s|-C\s))[^#\r\n]*+#++\s*+(?P<text>[^\r\n]*)",
    re.IGNORECASE,
)
"""A line that requests GPUs or a partition, with a comment behind it."""
QUOTES = re.compile(r"[rRuU]?(?P<quotes>\"\"\"|''')(?P<rest>.*)")
FORMATS = frozenset({"yaml", "shell", "toml"})
"""Formats whose comments begin with #."""
EITHER = re.compile(r"\bor\b|或者?|または|или|\boder\b|\bou\b", re.IGNORECASE)
"""Words between two products of which the file may have either."""


class Line(NamedTuple):
    """One comment: its line, its text, the hardware that it names, and whether it stands beside a request."""

    at: int
    text: str
    mentions: tuple[hardware.Mention, ...]
    beside: bool

    def tells(self) -> bool:
        """Whether a comment says what the file runs on: a count of a product, or a product after a word such as Hardware."""
        counts = any(mention.gpus is not None for mention in self.mentions)
        return self.beside or counts or LEADS.match(self.text) is not None


def read(document: Document, own: bool) -> Iterator[Evidence]:
    """Yield the hardware that the comments before the content of a document name, if they name one only.

    Two products of one line, of which the file may have either, are both possible. `own` says that the document is the
    file under check, and not one that it reads.
    """
    told = [line for line in _list_lines(document) if line.mentions]
    deciding = next((line for line in told if line.tells()), None)
    if deciding is None:
        return
    products = _find_products(told, deciding)
    counts = {mention.gpus for line in told for mention in line.mentions if mention.gpus is not None}
    if products and len(counts) < 2:
        quoted = f'the comment "{_quote(deciding)}" in line {deciding.at}'
        place = quoted if own else f"{quoted} of {document.path}"
        comment = Comment(deciding.at, 1, deciding.text) if own else None
        yield Evidence(products, place, next(iter(counts), None), comment)


def _find_products(told: Sequence[Line], deciding: Line) -> tuple[str, ...]:
    """Return the products that all comments agree on; none if any compares or offers hardware."""
    meanings = {mention.products for line in told for mention in line.mentions}
    if len(meanings) == 1:
        compares = any(ALTERNATIVES.search(line.text) for line in told)
        return () if compares else next(iter(meanings))
    either = EITHER.sub(" ", deciding.text)
    names = len(deciding.mentions) == 2 and EITHER.search(deciding.text) and not ALTERNATIVES.search(either)
    if len(told) > 1 or not names or () in meanings:
        return ()
    return tuple(dict.fromkeys(product for mention in deciding.mentions for product in mention.products))


def _quote(line: Line) -> str:
    if len(line.text) <= QUOTE_MAX:
        return line.text
    return next((one.words for one in line.mentions if one.gpus), line.mentions[0].words)


def _list_lines(document: Document) -> Iterator[Line]:
    written: Iterator[tuple[int, str, bool]]
    if document.path.endswith(".py"):
        written = ((at, text, False) for at, text in _list_docstring(document.text[:HEAD_MAX]))
    elif document.format in FORMATS:
        written = _list_head(document)
    else:
        return
    for at, text, beside in written:
        yield Line(at, text, tuple(hardware.find_in_sentence(text)), beside)


def _list_head(document: Document) -> Iterator[tuple[int, str, bool]]:
    """Yield the comments before the content of a document, without those for gpulint, and those behind requests."""
    if document.index == 0:
        number, lines = 1, document.text[:HEAD_MAX].splitlines()
        lines = list(itertools.takewhile(lambda line: _is_head(line) or line.strip() == "---", lines))
    else:
        end = document.root.start
        above = document.text[max(end - HEAD_MAX, 0) : end].splitlines()
        kept = list(itertools.takewhile(_is_head, reversed(above)))
        number, lines = places.find_line(document.text, end) - len(kept), kept[::-1]
    for at, line in enumerate(lines, number):
        if len(line) > LINE_MAX:
            continue
        if comment := COMMENT.fullmatch(line):
            yield at, comment["text"].strip(), False
        elif request := REQUEST.fullmatch(line):
            yield at, request["text"].strip(), True


def _is_head(line: str) -> bool:
    return not line.strip() or line.lstrip().startswith("#")


def _list_docstring(text: str) -> Iterator[tuple[int, str]]:
    """Yield the comments at the head of a Python program, and the lines of its docstring."""
    quotes = ""
    for at, line in enumerate(text.splitlines(), 1):
        if len(line) > LINE_MAX:
            continue
        if quotes:
            yield at, line.partition(quotes)[0].strip()
            if quotes in line:
                return
        elif opened := QUOTES.match(line):
            yield at, opened["rest"].partition(opened["quotes"])[0].strip()
            if opened["quotes"] in opened["rest"]:
                return
            quotes = opened["quotes"]
        elif comment := COMMENT.fullmatch(line):
            yield at, comment["text"].strip()
        elif line.strip() and not line.startswith("#"):
            return
