"""Documents: the bytes of a YAML, JSON, TOML, HCL or textproto file, of Slurm's settings or of a script, as plain data.

Every value keeps its place.

Nothing is executed, constructed or expanded without bound: the input is a stranger's pull request. A format's reader
is imported when the first file of that format is read.
"""

from __future__ import annotations

import bisect
import functools
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from gpulint.report.location import Location
from gpulint.source import recipes
from gpulint.source.documents import places, programs
from gpulint.source.documents.document import Beside, Document, Path
from gpulint.source.documents.nodes import (
    TEMPLATE,
    Duplicate,
    InvalidSyntaxError,
    LimitError,
    Node,
    Parsed,
    Skipped,
    SkippedDocumentError,
)

__all__ = ["Beside", "Comment", "Document", "Loaded", "Node", "Path", "Problem", "Relevance", "load", "read_comments"]

FILE_BYTES_MAX = 5_000_000
DOCUMENTS_MAX = 50_000
DUPLICATES_MAX = 100
LOST, KEPT = "only the last one counts", "nothing is lost, but one of the two can go"
REFUSED = "Docker Compose refuses the file"
REFUSES_DUPLICATES = re.compile(r"^services\s*:", re.MULTILINE)
"""A key of files whose reader refuses a repeated key even if its value is the same: Docker Compose. kubectl takes the last."""

NOT_ONE_DOCUMENT = ("MIME-Version:", "Content-Type: multipart/")
"""The start of multipart node user data, whatever its suffix."""
_BINARY = Skipped("contains NUL bytes, so it is not UTF-8 text", "encoding")
NOT_UTF8 = Skipped("not UTF-8 text", "encoding")
SUFFIXES = {
    **dict.fromkeys(("yaml", "yml"), "yaml"),
    **dict.fromkeys(("sh", "bash", "slurm", "sbatch", "sub", "job", "pbs", "lsf"), "shell"),
    "json": "json",
    "toml": "toml",
    "pbtxt": "pbtxt",
    **dict.fromkeys(("tf", "tfvars", "nomad", "hcl"), "hcl"),
}
TEMPLATES = frozenset({"tpl", "tmpl", "template", "j2", "gotmpl", "tftpl"})
"""Suffixes of templates. A template that parses as its target format is read."""
_PLACEHOLDER = re.compile(r":\s+<[^<>]+>\s*$")
_TEXTS = frozenset({"shell", "template", programs.PYTHON})
"""Formats whose document is one text, in which a `#` can start a comment."""
_MOSTLY_DATA = frozenset({"json", "toml"})
"""Formats of which large files seldom are specs."""
_OFTEN_OTHER = frozenset({"slurm", "sbatch", "sub", "job", "pbs", "lsf"})
"""Suffixes of scripts that a batch system starts by their first line, whatever language that names."""
_WITHOUT_SUFFIX = {"Kustomization": "yaml"}
NAMES = {"slurm.conf": "slurm", "gres.conf": "slurm"}
"""Formats by complete file name."""
_SHELL = r"#![^\n]*\b(?:ba|da|a|k|z)?sh\b"
_OTHER_LANGUAGE = r"#![^\n]*\b(python|perl|ruby|node|Rscript|lua|php|awk|make|pwsh|fish|tclsh|expect|julia|groovy)"
_SCRIPT = "#!"
_MARKS = dict.fromkeys(("hcl", "json"), r"(?<!\S)(?:#|//)")
"""Comment markers of formats that use more than `#`."""
Relevance = Callable[[str, str], bool]
"""Decides from a text and its format whether what is wrong with it is a problem.

The format is empty where it does not matter: the text is too large to be read, or no text at all.
"""
_OBJECT = r"(?:\s|#.*\n|---.*\n)*+(?:[\"']?(?:apiVersion|kind)[\"']?[ \t]*:|\{\s*\"(?:apiVersion|kind)\"\s*:)"
"""The start of a Kubernetes object in YAML or JSON."""
_TOO_MANY_DIGITS = r"(?<![\d_])\d[\d_]{4300}"
"""More than Python turns into a number."""
_TEMPLATE = r"\{\{|\{%|<%|@\w+@"


class Comment(NamedTuple):
    """A comment: the position of its marker, and the text after it."""

    line: int
    column: int
    text: str


class Problem(NamedTuple):
    """A problem in the user's file with its location. `instead` lists locations, current text and replacement."""

    kind: str
    message: str
    location: Location
    related: tuple[tuple[str, Location], ...] = ()
    instead: tuple[tuple[Location, str, str], ...] = ()


class Loaded(NamedTuple):
    """The content of one file: documents, problems with locations, and reasons why parts were not read."""

    documents: tuple[Document, ...] = ()
    problems: tuple[Problem, ...] = ()
    skips: tuple[Skipped, ...] = ()
    comments: tuple[Comment, ...] = ()


def _report_all(text: str, format: str) -> bool:
    return True


def load(path: str, content: bytes, is_relevant: Relevance = _report_all) -> Loaded:
    """Read one file. Every fault in it becomes a problem or a skip of the result."""
    if program := programs.find_format(path):
        return _load_program(path, content, program)
    if len(content) > FILE_BYTES_MAX:
        return Loaded(skips=(Skipped(f"larger than {FILE_BYTES_MAX // 1_000_000} MB", "limit"),))
    try:
        text = _decode(content)
    except UnicodeDecodeError:
        return _report_encoding(path, content, is_relevant)
    if "\0" in text:
        return Loaded(skips=(_BINARY,))
    format = _format_of(path, text)
    if isinstance(format, Skipped):
        return Loaded(skips=(format,))
    loading = _Loading(path, text, format, is_relevant)
    loading.read()
    whole = tuple(loading.documents)
    beside = Beside(whole)
    following = (*(document.start for document in whole[1:]), len(text))
    for document, until in zip(whole, following, strict=False):
        document.beside, document.until = beside, until
    return Loaded(
        documents=whole,
        problems=tuple(loading.problems),
        skips=tuple(dict.fromkeys(loading.skips)),
        comments=read_comments(text, loading.documents) if "gpulint" in text else (),
    )


def load_text(path: str, content: bytes) -> Loaded:
    """Read a file; one of a format without a reader, such as a file of variables, is one text with `#` comments."""
    loaded = load(path, content)
    if loaded.documents or loaded.problems:
        return loaded
    try:
        text = _decode(content)
    except UnicodeDecodeError:
        return loaded
    if "\0" in text or len(content) > FILE_BYTES_MAX:
        return loaded
    document = Document(path, 0, text, Node("scalar", 0, len(text), text), "shell", text)
    document.beside, document.until = Beside((document,)), len(text)
    return Loaded((document,), comments=read_comments(text, [document]) if "gpulint" in text else ())


def _load_program(path: str, content: bytes, format: str) -> Loaded:
    """Read a program. What is wrong with it is no problem of a deployment."""
    try:
        text = _decode(content) if len(content) <= FILE_BYTES_MAX else "\0"
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text or re.search(_TOO_MANY_DIGITS, text):
        return Loaded(skips=(Skipped("a program that gpulint does not read", "language"),))
    document = programs.read(path, text, format)
    if isinstance(document, Skipped):
        return Loaded(skips=(document,))
    document.beside, document.until = Beside((document,)), len(text)
    return Loaded((document,), comments=read_comments(text, [document]) if "gpulint" in text else ())


def find_chunk(text: str, offset: int) -> tuple[int, int]:
    """Return the span of the part of a YAML text that holds an offset."""
    chunks = _list_chunks(text)
    return chunks[max(0, bisect.bisect_right(chunks, offset, key=lambda chunk: chunk[0]) - 1)]


def load_chunk(path: str, text: str, start: int, end: int, index: int) -> Loaded | None:
    """Read the part of a YAML text that holds one of its documents; None if it holds several parts."""
    from gpulint.source.documents import yaml

    part = text[start:end]
    if list(yaml.split_documents(part)) != [(0, len(part))]:
        return None
    loading = _Loading(path, text, "yaml", _report_all)
    loading.index = index
    loading.read_chunk(start, end, yaml.Reader(text).read)
    for document in loading.documents:
        document.until = end
    return Loaded(tuple(loading.documents), tuple(loading.problems), tuple(loading.skips))


@functools.lru_cache(maxsize=2)
def _list_chunks(text: str) -> tuple[tuple[int, int], ...]:
    from gpulint.source.documents import yaml

    return tuple(yaml.split_documents(text))


def read_comments(text: str, documents: Sequence[Document] = ()) -> tuple[Comment, ...]:
    """Return the comments that mention gpulint. A marker inside a scalar starts no comment."""
    mark = _MARKS.get(documents[0].format if documents else "", r"(?<!\S)#")
    data = (document for document in documents if document.format not in _TEXTS)
    scalars = sorted(itertools.chain.from_iterable(_scalar_spans(text, document.root) for document in data))
    found = []
    for line, start, end in _find_lines_that_mention(text):
        marks = (match.span() for match in re.compile(mark).finditer(text, start, end))
        offset, after = next((span for span in marks if not _is_inside(scalars, span[0])), (-1, 0))
        if offset >= 0 and "gpulint" in (body := text[after:end].strip()):
            found.append(Comment(line, offset - start + 1, body))
    return tuple(found)


def _find_lines_that_mention(text: str) -> Iterator[tuple[int, int, int]]:
    """Yield the number, the start and the end of each line that mentions gpulint."""
    starts, at = places.list_line_starts(text), text.find("gpulint")
    while at >= 0:
        line = places.find_line(text, at)
        end = starts[line] - 1 if line < len(starts) else len(text)
        yield line, starts[line - 1], end
        at = text.find("gpulint", end)


def is_read(name: str) -> bool:
    """True if gpulint reads files of that name."""
    return bool(find_format(name))


def is_program(name: str) -> bool:
    """True if a file of that name is a program, which is read where a command starts it or where it states hardware."""
    return bool(programs.find_format(name))


def list_mentioned(content: bytes) -> Iterator[str]:
    """Yield the base names of the programs that a file names."""
    return programs.list_mentioned(content)


def find_format(name: str) -> str:
    """Return the format of a file name, whatever the case of its suffix; empty if it has none.

    If the last suffix is a template's, the inner suffix decides.
    """
    last = name.rpartition("/")[2]
    if last in NAMES:
        return NAMES[last]
    if recipes.find_dialect(last):
        return "shell"
    stem, dot, suffix = last.rpartition(".")
    suffix = suffix.lower()
    if suffix in TEMPLATES and dot:
        return "yaml" if recipes.is_build(stem) else find_format(stem) or "yaml"
    found = SUFFIXES.get(suffix, "") if dot else _WITHOUT_SUFFIX.get(last, "")
    return found or ("shell" if recipes.is_build(last) else "")


def is_build(path: str) -> bool:
    """Return whether a file of that path builds an image: a Dockerfile."""
    name = path.rpartition("/")[2]
    return recipes.is_build(name) and not programs.find_format(name) and find_format(name) == "shell"


def _format_of(path: str, text: str) -> str | Skipped:
    """Return the format of a file, or why it is not read.

    A first line `#!` decides only where the name does not: in YAML, TOML and HCL it is a comment.
    """
    format, suffix = find_format(path), path.rpartition(".")[2].lower()
    if not text.startswith(_SCRIPT) or (format not in ("", "shell") and suffix not in TEMPLATES):
        known = format or ("yaml" if is_object(text) else "")
        return known or Skipped("a format that gpulint does not read", "language")
    if re.match(_SHELL, text):
        return "shell"
    other = re.match(_OTHER_LANGUAGE, text)
    if format == "shell" and other is None:
        return "shell"
    if format == "shell" and other is not None and suffix not in _OFTEN_OTHER:
        return Skipped(f"named like a shell script, but its first line (#!) names {other[1]}", "suffix")
    return Skipped("a script in another language than shell", "language")


def is_object(text: str) -> bool:
    """True if a text begins like a Kubernetes object, whatever the name of its file."""
    return re.match(_OBJECT, text) is not None


class _Loading:
    """The file being read, with its documents, problems and skips so far."""

    def __init__(self, path: str, text: str, format: str, is_relevant: Relevance) -> None:
        self.path = path
        self.is_relevant = is_relevant
        self.format = format
        self.text = text
        self.documents: list[Document] = []
        self.problems: list[Problem] = []
        self.skips: list[Skipped] = []
        self.index = 0

    def read(self) -> None:
        if too_long := re.search(_TOO_MANY_DIGITS, self.text):
            self._refuse(LimitError("a number has more than 4,300 digits", too_long.start()), self.text)
            return
        match self.format:
            case "toml":
                self._toml()
            case "json":
                self._json()
            case "pbtxt":
                self._pbtxt()
            case "hcl":
                self._hcl()
            case "slurm":
                self._slurm()
            case "shell":
                self._shell()
            case _:
                self._yaml()

    def _shell(self) -> None:
        root = Node("scalar", 0, len(self.text), self.text)
        self.documents.append(Document(self.path, 0, self.text, root, "shell", self.text))

    def _toml(self) -> None:
        from gpulint.source.documents import toml

        self._read_part(self.text, "toml", lambda: toml.read(self.text))

    def _json(self) -> None:
        from gpulint.source.documents import json

        spans = json.split_values(self.text)
        if len(spans) > 1 and self.is_relevant(self.text, "json"):
            self._stream(spans)
        else:
            self._read_part(self.text, "json", lambda: json.read(self.path, self.text))

    def _pbtxt(self) -> None:
        from gpulint.source.documents import pbtxt

        self._read_part(self.text, "pbtxt", lambda: pbtxt.read(self.text))

    def _hcl(self) -> None:
        from gpulint.source.documents import hcl

        self._read_part(self.text, "hcl", lambda: hcl.read(self.text, self.skips.append))

    def _slurm(self) -> None:
        from gpulint.source.documents import slurm_conf

        self._read_part(self.text, "slurm", lambda: slurm_conf.read(self.text))

    def _yaml(self) -> None:
        from gpulint.source.documents import json, yaml

        spans = json.split_values(self.text)
        self._stream(spans if len(spans) > 1 else yaml.split_documents(self.text))

    def _stream(self, spans: Iterable[tuple[int, int]]) -> None:
        """Read the documents at these spans, each of which is YAML or JSON."""
        from gpulint.source.documents import yaml

        reader = yaml.Reader(self.text)
        chunks = list(itertools.islice(spans, DOCUMENTS_MAX + 1))
        for start, end in chunks[:DOCUMENTS_MAX]:
            self.read_chunk(start, end, reader.read)
        if len(chunks) > DOCUMENTS_MAX:
            self._refuse(LimitError(f"more than {DOCUMENTS_MAX:,} documents in one file", chunks[-1][0]), self.text)

    def read_chunk(self, start: int, end: int, read: Callable[[str, int], Parsed | None]) -> None:
        """Read the part of a YAML text between two of its markers."""
        chunk = self.text[start:end]
        self._read_part(chunk, "yaml", functools.partial(read, chunk, start), start)

    def _read_part(self, text: str, format: str, read: Callable[[], Parsed | None], base: int = 0) -> None:
        """Read one part of the file, which holds one document or none."""
        index, self.index = self.index, self.index + 1
        try:
            parsed = read()
        except SkippedDocumentError as skipped:
            if skipped.skipped == TEMPLATE:
                self._add_template(text, base)
            else:
                self.skips.append(skipped.skipped)
        except LimitError as limit:
            self._refuse(limit, text)
        except InvalidSyntaxError as error:
            self._report_syntax(error, text, format, base)
        else:
            if parsed is None:
                self.index = index
                return
            self.documents.append(Document(self.path, index, self.text, parsed.root, format, parsed.data))
            self._report_duplicates(parsed.duplicates, text, format)

    def _report_syntax(self, error: InvalidSyntaxError, text: str, format: str, base: int) -> None:
        if format == "yaml" and re.match(_SHELL, self.text):
            self._shell()
        elif text.startswith(NOT_ONE_DOCUMENT):
            self.skips.append(Skipped("a MIME message of several parts", "language"))
        elif (
            re.search(_TEMPLATE, text) or self.path.rpartition(".")[2] in TEMPLATES or _is_placeholder(self.text, error)
        ):
            self._add_template(text, base)
        else:
            self.skips.append(Skipped("invalid syntax", "syntax"))
            if self.is_relevant(text, format):
                self.problems.append(Problem("invalid-syntax", error.message, self._locate(error)))

    def _locate(self, error: InvalidSyntaxError) -> Location:
        if error.end is None:
            return places.locate_rest_of_line(self.path, self.text, error.start)
        return places.locate(self.path, self.text, error.start, error.end)

    def _add_template(self, text: str, base: int) -> None:
        """Add a template as a document without data."""
        self.skips.append(TEMPLATE)
        root = Node("scalar", base, base + len(text), text)
        self.documents.append(Document(self.path, self.index, self.text, root, "template", text))

    def _refuse(self, limit: LimitError, text: str) -> None:
        self.skips.append(Skipped(limit.message, "limit"))
        if self.is_relevant(text, self.format if self.format in _MOSTLY_DATA else ""):
            message = f"gpulint does not read this: {limit.message}"
            location = places.locate_rest_of_line(self.path, self.text, limit.offset)
            self.problems.append(Problem("input-limit", message, location))

    def _report_lost_object(self, first: Node, second: Node) -> Problem:
        """Two objects in one document: the keys of the first are overwritten."""
        message = "a second object begins here without `---` before it; the first one is lost"
        related = (("the first object begins here", places.locate(self.path, self.text, first.start, first.end)),)
        return Problem("duplicate-key", message, places.locate(self.path, self.text, second.start, second.end), related)

    def _report_duplicates(self, found: Sequence[Duplicate], text: str, format: str) -> None:
        if not found or not self.is_relevant(text, format):
            return
        if {"apiVersion", "kind"} <= {str(one.second.value) for one in found}:
            self.problems.append(self._report_lost_object(found[0].first, found[0].second))
            return
        strict = REFUSES_DUPLICATES.search(text) is not None
        for first, second, differs in found[:DUPLICATES_MAX]:
            kind = "duplicate-key" if differs or strict else "repeated-key"
            loss = REFUSED if strict else LOST if differs else KEPT
            message = f"`{second.value}` is stated twice in one mapping; {loss}"
            related = (("first stated here", places.locate(self.path, self.text, first.start, first.end)),)
            location = places.locate(self.path, self.text, second.start, second.end)
            self.problems.append(Problem(kind, message, location, related))


def _is_placeholder(text: str, error: InvalidSyntaxError) -> bool:
    """Whether the value on the line of a syntax error is a placeholder such as `<TODO: the address>`."""
    line = text[text.rfind("\n", 0, error.start) + 1 :].partition("\n")[0]
    return _PLACEHOLDER.search(line) is not None


def _decode(content: bytes) -> str:
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content.decode("utf-16")
    return content.decode("utf-8-sig")


def _report_encoding(path: str, content: bytes, is_relevant: Relevance) -> Loaded:
    text = content.decode("utf-8", "replace")
    if "\0" in text:
        return Loaded(skips=(_BINARY,))
    if not is_relevant(text, ""):
        return Loaded(skips=(NOT_UTF8,))
    location = places.locate_rest_of_line(path, text, text.find("\ufffd"))
    message = "this is not UTF-8 text; save the file as UTF-8"
    return Loaded(problems=(Problem("invalid-syntax", message, location),), skips=(NOT_UTF8,))


def _scalar_spans(text: str, root: Node) -> Iterator[tuple[int, int]]:
    """Yield the spans of scalars, in which a `#` starts no comment. The header of a block is excluded."""
    open_nodes = [root]
    while open_nodes:
        node = open_nodes.pop()
        if node.target is not None:
            continue
        if node.kind == "scalar":
            header_end = text.find("\n", node.start, node.end) if node.style in ("|", ">") else -1
            yield max(node.start, header_end), node.end
        elif node.kind == "mapping":
            open_nodes.extend(itertools.chain.from_iterable(node.value))
        else:
            open_nodes.extend(node.value)


def _is_inside(spans: Sequence[tuple[int, int]], offset: int) -> bool:
    """True if one of the sorted, disjoint spans contains the offset."""
    at = bisect.bisect_right(spans, offset, key=lambda span: span[0])
    return at > 0 and offset < spans[at - 1][1]
