"""Typing errors: the known name that an unknown one means, if it is no word of its own.

Names are compared word by word (`NCCL_SOCKET_IFNAME` has three). A slip is a letter left out, added, replaced or
swapped with its neighbour. Two slips count where the name is long, and in one word only where it begins alike: `import`
and `export` are different words.
"""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Iterable

ALIKE = 0.86
"""Minimum similarity of a misspelling to the intended name (difflib's ratio)."""
LETTERS_MIN = 7
"""Shorter names are too similar to one another."""
WORD_MIN = 5
"""A shorter word with one letter replaced is another word: `dora` is not `mora`."""
LONG_WORD = 6
"""Minimum length of a word with two slips."""
STEM_MIN = 3
"""Minimum length of an abbreviation of the last word: `len` of `length`."""
LONG_NAME = 12
"""Minimum length of a name with two slips."""
SLIPS_MAX = 2


def find_nearest(name: str, known: Iterable[str]) -> str:
    """Return the one known name that a misspelling means; empty if it resembles none, or is known itself."""
    names = tuple(known)
    if len(name) < LETTERS_MIN or name in names:
        return ""
    near = difflib.get_close_matches(name, names, n=3, cutoff=ALIKE)
    return next((meant for meant in near if is_slip(name, meant)), "")


def is_slip(name: str, meant: str) -> bool:
    """Return True if two names differ by typing errors alone, and have the same digits.

    >>> is_slip("NCCL_SOKET_IFNAM", "NCCL_SOCKET_IFNAME")
    True
    >>> is_slip("NCCL_IB_SL", "NCCL_IB_TC")
    False
    """
    if re.sub(r"\D", "", name) != re.sub(r"\D", "", meant):
        return False
    words, others = re.split("[_-]", name), re.split("[_-]", meant)
    if "".join(words) == "".join(others):
        return True
    if len(words) != len(others):
        return False
    if len(meant) >= LONG_NAME and words[:-1] == others[:-1] and _is_stem(words[-1], others[-1]):
        return True
    slips = [_count_slips(word, other) for word, other in zip(words, others, strict=True) if word != other]
    return sum(slips) <= (SLIPS_MAX if len(meant) >= LONG_NAME else 1)


@functools.lru_cache(maxsize=4096)
def _count_slips(word: str, meant: str) -> int:
    """Return how many slips lead from one word to another; more than counts if it is another word."""
    if min(len(word), len(meant)) < WORD_MIN:
        plural = word.lower() in (f"{meant}s".lower(), meant.lower().removesuffix("s"))
        return 1 if plural or _merge_doubled(word) == _merge_doubled(meant) else SLIPS_MAX + 1
    slips = measure_distance(word, meant)
    alike = min(len(word), len(meant)) >= LONG_WORD and word[0] == meant[0]
    return slips if slips <= 1 or alike else SLIPS_MAX + 1


def _is_stem(word: str, meant: str) -> bool:
    """Return True if one word abbreviates the other."""
    shorter, longer = sorted((word, meant), key=len)
    return len(shorter) >= STEM_MIN and longer.startswith(shorter)


def _merge_doubled(word: str) -> str:
    """Return a word with each doubled letter once."""
    return "".join(letter for at, letter in enumerate(word) if letter != word[at - 1 : at])


def measure_distance(word: str, meant: str) -> int:
    """Return the letters left out, added, replaced or swapped (optimal string alignment); at most one beyond those that count."""
    if abs(len(word) - len(meant)) > SLIPS_MAX:
        return SLIPS_MAX + 1
    above: list[int] = []
    last = list(range(len(meant) + 1))
    for at, letter in enumerate(word, 1):
        row = [at]
        for to, other in enumerate(meant, 1):
            cost = min(last[to] + 1, row[to - 1] + 1, last[to - 1] + (letter != other))
            if at > 1 and to > 1 and letter == meant[to - 2] and word[at - 2] == other:
                cost = min(cost, above[to - 2] + 1)
            row.append(cost)
        above, last = last, row
    return min(last[-1], SLIPS_MAX + 1)
