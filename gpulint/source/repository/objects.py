"""The objects of some files by kind and name: which files may define them, without parsing the others."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from typing import NamedTuple

KIND = re.compile(rb"""kind["']?[ \t]*:[ \t]*["']?(\w+)""")
NAME = re.compile(rb"""name["']?[ \t]*:[ \t]*["']?([\w.-]+)""")
DEFINES = b"kind: CustomResourceDefinition"
"""Bundles of definitions are large, and nothing refers to their content."""


class Words(NamedTuple):
    """The words that follow `kind:` and `name:` anywhere in one file."""

    kinds: frozenset[bytes]
    names: frozenset[bytes]

    def mention(self, kind: str, name: str) -> bool:
        """Return whether the file may define an object of a kind, with a name if one is given."""
        return kind.encode() in self.kinds and (not name or name.encode() in self.names)


NOTHING = Words(frozenset(), frozenset())


class ObjectIndex:
    """The files that mention a kind and a name, in the order of the files."""

    def __init__(self, files: Iterable[tuple[str, bytes]]) -> None:
        self._files: list[tuple[str, Words]] = []
        self._by_kind: dict[bytes, list[int]] = {}
        self._by_name: dict[bytes, list[int]] = {}
        for path, content in files:
            if (words := find_words(content)).kinds:
                self._add(path, words)

    def _add(self, path: str, words: Words) -> None:
        at = len(self._files)
        self._files.append((path, words))
        for kind in words.kinds:
            self._by_kind.setdefault(kind, []).append(at)
        for name in words.names:
            self._by_name.setdefault(name, []).append(at)

    def find(self, kind: str, name: str) -> list[str]:
        """Return the files that mention a kind, and a name if one is given."""
        among = self._by_name.get(name.encode(), []) if name else self._by_kind.get(kind.encode(), [])
        found = (self._files[at] for at in among)
        return [path for path, words in found if kind.encode() in words.kinds]


@functools.lru_cache(maxsize=16)
def find_words(content: bytes) -> Words:
    """Return the kinds and names in a file that holds Kubernetes objects; nothing for any other file."""
    if b"apiVersion" not in content or DEFINES in content:
        return NOTHING
    return Words(frozenset(KIND.findall(content)), frozenset(NAME.findall(content)))
