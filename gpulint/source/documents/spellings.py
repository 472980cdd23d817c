"""Spellings: a text as it reads once escapes, quotes and line breaks inside its words are undone.

A filter that looks for words must look here too, or a spec passes it with a word in escapes.
"""

from __future__ import annotations

import re

_TAGS = ("!!binary", "%TAG", "!<")
"""YAML tags that may mark Base64 text, which may spell any word."""
_CODE = r"x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-7]{3}"
_IN_ORDER = rf"\\(?P<code>{_CODE})|\\\r?\n[ \t]*|\\(?P<other>.)"
"""Each backslash with what follows it, as a reader of quoted text takes them."""
_ANYWHERE = rf"\\(?P<code>{_CODE})|\\\r?\n[ \t]*|\\(?P<other>(?!))"
"""Every escape, also after another backslash: outside quotes, two backslashes are no pair."""
_BLANK = frozenset("nrt")
"""Letters whose escapes are white space in quotes; for a shell they are the letters themselves."""


def has_unusual(text: str) -> bool:
    """Whether a text may spell a word otherwise than letter by letter, inside one scalar."""
    return "\\" in text or "\0" in text or has_tags(text)


def has_tags(text: str) -> bool:
    """Whether a text may hold a value in Base64, which only its parser can read."""
    return any(tag in text for tag in _TAGS)


def read_plainly(text: str) -> str:
    """Return a text in its plain spellings: escapes decoded, quotes removed, words one space apart.

    It contains each word that a scalar or a command of the text contains once it is read, and may
    contain more.

    >>> read_plainly('a: "\\\\x69mage" im"a"ge')
    ' a: image image '
    >>> read_plainly("- mpirun\\n- train")
    ' - mpirun train '
    """
    text = text.replace("\0", "")
    if "\\" not in text:
        return _join_words(text)
    variants = re.sub(_IN_ORDER, _decode, text), re.sub(_ANYWHERE, _decode, text)
    return "\n".join(_join_words(variant.replace("\\", "")) for variant in dict.fromkeys(variants))


def _join_words(text: str) -> str:
    """Return a text without quotes, with its words, and the items of its lists, one space apart."""
    for quote in ("$'", '$"', "'", '"'):
        text = text.replace(quote, "")
    words = " ".join(text.replace(",", " ").split())
    return f" {words.replace(' - ', ' ').replace('[ ', '[').replace(' ]', ']')} "


def _decode(escape: re.Match[str]) -> str:
    if escape["code"] is None:
        return " " if escape["other"] in _BLANK else escape["other"] or ""
    code = escape["code"]
    value = int(code[1:], 16) if code[0] in "xuU" else int(code, 8)
    return chr(value) if value < 0x110000 else ""
