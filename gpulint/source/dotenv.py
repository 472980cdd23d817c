"""Files of variables such as `.env`: their NAME=value lines, and the example that stands for one nobody committed."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import NamedTuple

LINE = re.compile(r"""(?m)^[ \t]*(?:export[ \t]+)?([A-Za-z_][\w.-]*)[ \t]*=[ \t]*("(?:\\.|[^"\\])*"|'[^']*'|[^\n]*)""")
COMMENT = re.compile(r"(?:^|\s)#.*")
OF_VARIABLES = re.compile(r"(?:^|.*\.)env(?:\.[\w-]+)?$")
"""Names of files of variables: .env, prod.env, .env.local."""
SUFFIXES = (".example", ".sample", ".template", ".dist", ".defaults", "-example", "-sample", "_example")
PLAIN = ("env.example", "example.env", "env.sample", "sample.env", "env.template", "template.env")
"""Examples of `.env` whose names do not begin with its name."""
PLACEHOLDER = re.compile(r"<[^<>]*>|(?i:\byour[-_ ]|\bchange[-_]?me\b|\breplace[-_]?me\b|\bx{4,}\b|\.\.\.$)")
"""Values of an example that the user replaces."""


class Entry(NamedTuple):
    """One variable: its name, its value, and the place of the value in the file."""

    name: str
    value: str
    start: int
    end: int


def parse(text: str) -> Iterator[Entry]:
    """Yield the variables of a file whose values name no others.

    >>> [(entry.name, entry.value) for entry in parse("A=1 # one\\nexport B='two'\\nC=$A")]
    [('A', '1'), ('B', 'two')]

    Source: docs.docker.com/compose/how-tos/environment-variables/variable-interpolation.
    """
    for match in LINE.finditer(text):
        written = match[2].strip()
        start = match.start(2) + len(match[2]) - len(match[2].lstrip())
        quote = written[:1] if written[:1] in ("'", '"') and written[-1:] == written[:1] and len(written) > 1 else ""
        value = written[1:-1] if quote else COMMENT.sub("", written).strip()
        if quote == "'" or "$" not in value:
            yield Entry(match[1], value, start + len(quote), start + len(quote) + len(value))


def list_examples(path: str) -> Iterator[str]:
    """Yield the paths that an example of a file of variables may have; none for other files.

    >>> list(list_examples("deploy/.env"))[:2], list(list_examples("config.yaml"))
    (['deploy/.env.example', 'deploy/.env.sample'], [])
    """
    folder, name = posixpath.split(path)
    if not OF_VARIABLES.fullmatch(name):
        return
    yield from (path + suffix for suffix in SUFFIXES)
    if name.startswith(".env"):
        yield from (posixpath.join(folder, plain) for plain in PLAIN)
    else:
        stem = name.removesuffix(".env")
        yield from (posixpath.join(folder, f"{stem}.{word}.env") for word in ("example", "sample"))


def is_placeholder(value: str) -> bool:
    """Whether a value of an example stands for one that the user fills in."""
    return not value or PLACEHOLDER.search(value) is not None


def blank_placeholders(text: str) -> str:
    """Return the text of an example without the variables that the user fills in; all others keep their places.

    >>> blank_placeholders("A=<key>\\nB=2")
    '       \\nB=2'
    """
    return LINE.sub(lambda match: " " * len(match[0]) if is_placeholder(match[2].strip(" \t\r\"'")) else match[0], text)
