"""Programs: Python files and notebooks. A Python file is one text; a notebook is read as the JSON that it is."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpulint.source.documents.document import Document
from gpulint.source.documents.nodes import InvalidSyntaxError, LimitError, Node, Skipped, SkippedDocumentError

PYTHON = "python"
NOTEBOOK = "notebook"
FORMATS = {"py": PYTHON, "ipynb": NOTEBOOK}
MENTIONED = (
    rb"[\w./-]+\.(?:py|ipynb)\b|-m[ \t]+[A-Za-z_][\w.]*|\b(?:uvicorn|gunicorn|hypercorn)[ \t]+[^\n]*"
    rb"|\bimport_path:[ \t]*[\"']?[A-Za-z_][\w.]*"
)
"""What names a program in a file that may start it."""
QUOTED = rb"[\"'][^\"'\n]{1,500}[\"']"
"""A text of a program, as far as it stands in one line."""


def find_format(name: str) -> str:
    """Return the format of a program's file name; empty for another file."""
    return FORMATS.get(name.rpartition(".")[2].lower(), "") if "." in name else ""


def list_mentioned(content: bytes) -> Iterator[str]:
    """Yield the base names of the programs and modules that a file names."""
    for match in re.finditer(MENTIONED, content):
        for word in re.findall(r"[\w./-]+", match[0].decode("utf-8", "replace")):
            name = word.rpartition("/")[2]
            yield name if find_format(name) else f"{name.rpartition('.')[2]}.py"


def list_quoted(content: bytes) -> Iterator[str]:
    """Yield the base names of the programs that the texts of a program name; of a notebook, all that it names."""
    if content.lstrip().startswith(b"{"):
        yield from list_mentioned(content)
        return
    for match in re.finditer(QUOTED, content):
        yield from list_mentioned(match[0])


def read(path: str, text: str, format: str) -> Document | Skipped:
    """Return the document of a program; of a notebook that is no JSON, why it is not read."""
    if format == PYTHON:
        return Document(path, 0, text, Node("scalar", 0, len(text), text), PYTHON, text)
    from gpulint.source.documents import json

    try:
        parsed = json.read(path, text)
    except SkippedDocumentError as skipped:
        return skipped.skipped
    except (LimitError, InvalidSyntaxError) as error:
        return Skipped(f"a notebook that cannot be read: {error.message}", "language")
    if parsed is None:
        return Skipped("an empty notebook", "language")
    return Document(path, 0, text, parsed.root, NOTEBOOK, parsed.data)
