"""Programs: Python files and notebooks. A Python file is one text; a notebook is read as the JSON that it is."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpulint.source.documents.document import Document
from gpulint.source.documents.nodes import InvalidSyntaxError, LimitError, Node, Skipped, SkippedDocumentError

PYTHON = "python"
NOTEBOOK = "notebook"
FORMATS = {"py": PYTHON, "ipynb": NOTEBOOK}
MENTIONED = re.compile(
    rb"""
    [\w./-]+\.(?:py|ipynb)\b
    | (?<![\w-])-m["']?(?:,?[ \t]++|,|[ \t]*+\r?\n[ \t]*+-[ \t]++)["']?[A-Za-z_][\w.]*
    | \b(?:uvicorn|gunicorn|hypercorn)\b[^\n]*(?:\n[ \t]*+-[ \t][^\n]*){0,20}
    | \bimport_path:[ \t]*+["']?[A-Za-z_][\w.]*
    """,
    re.VERBOSE,
)
"""What names a program in a file that may start it: as a shell writes it, or word by word in a list."""


def find_format(name: str) -> str:
    """Return the format of a program's file name; empty for another file."""
    return FORMATS.get(name.rpartition(".")[2].lower(), "") if "." in name else ""


def list_mentioned(content: bytes) -> Iterator[str]:
    """Yield the base names of the programs and modules that a file names."""
    for match in MENTIONED.finditer(content):
        for word in re.findall(r"([\w./-]+)(?::\w+)?", match[0].decode("utf-8", "replace")):
            name = word.rpartition("/")[2]
            yield name if find_format(name) else f"{name.rpartition('.')[2]}.py"


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
