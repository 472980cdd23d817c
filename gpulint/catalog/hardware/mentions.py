"""Mentions: the accelerators that a name or a sentence of somebody's own names."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import NamedTuple

from gpulint import units
from gpulint.catalog.hardware.accelerators import (
    find_accelerator,
    find_family,
    labels,
    list_accelerators,
    list_families,
)
from gpulint.catalog.hardware.nodes import node

OTHER_MEANINGS = frozenset({"a2", "p4"})
"""Names that also mean a series of machine types: a2-highgpu-1g, p4d.24xlarge."""
SHORT = 3
"""Letters: in a sentence, names of that many are accelerators only in capital letters."""
PLAIN = 4
"""Letters: names of that many are accelerators wherever they stand."""
AROUND = re.compile(
    r"gpus?|nvidia|amd|nodes?|partition|queue|pool|batch|long|short|normal|multi|single|prod|production|\d+|x\d+|\d+x|\d+gpus?"
)
"""Words of a name that do not say which accelerator it means."""
COUNTED = re.compile(r"(?:gpu|\d+x)?(?P<name>[a-z].*?)(?:x\d+)?")
WORDS = {"single": 1, "one": 1, "two": 2, "dual": 2, "four": 4, "eight": 8}
BEFORE = re.compile(
    r"(?<![\w.×-])(?:(?P<nodes>\d+)(?:\s?[x×]\s?|\s+nodes?\s+(?:of|with)\s+)(?P<each>\d+)(?:\s?[x×*]\s?|\s+)|(?P<times>\d+)\s?[x×*]\s?|(?P<bare>\d+)\s+"
    r"|(?P<word>single|one|two|dual|four|eight)[\s-]+)(?:nvidia\s+|geforce\s+|tesla\s+)*(?:(?P<memory>\d+)\s?GB?\s+)?$",
    re.IGNORECASE,
)
"""A count before a name: 8x, 4x8, 2 ×, a number of GPUs, or a word."""
BEFORE_MAX = 80
"""Characters before a name in which its count is looked for."""
AFTER = re.compile(
    r"(?:[\s_-]*\(?(?P<memory>\d+)\s?GB?\)?)?(?P<plural>s\b|[\s-]+(?:gpus?|cards?)\b)?(?:\s?[x×](?P<times>\d+)\b)?"
    r"(?P<nodes>\s+(?:nodes|machines|instances|hosts)\b)?",
    re.IGNORECASE,
)
COUNT_MAX = 4096
OWN_WORD = re.compile(r"(?!NVIDIA|AMD|\d+$)[\w-]+")
"""A short name, and no name that a driver prints."""


class Mention(NamedTuple):
    """The accelerators that some words may mean, and how many there are; None if the words do not say."""

    words: str
    products: tuple[str, ...]
    gpus: int | None


def find_in_name(name: str) -> tuple[str, ...]:
    """Return what a partition, queue, folder or label means that is named after a machine type or an accelerator.

    >>> find_in_name("p5.48xlarge"), find_in_name("gpuH100x4"), find_in_name("h100-vs-l40s")
    (('h100-sxm-80gb',), ('h100-sxm-80gb',), ())
    """
    if machine := node(name):
        return (machine.accelerator,) if machine.accelerator else ()
    words = re.findall(r"[^-_.\s/]+", name.lower())
    whole = "-".join(words)
    own = "-".join(word for word in words if not AROUND.fullmatch(word))
    counted = COUNTED.fullmatch(own)
    bare = counted["name"] if counted else own
    if len(bare) < SHORT and "gpu" not in whole:
        return ()
    return _find(whole) or _find(own) or _find(bare)


def find_in_stem(stem: str) -> tuple[str, ...]:
    """Return the one accelerator that a word of a file's name is.

    >>> find_in_stem("values-l40s"), find_in_stem("llama-4"), find_in_stem("h100-to-l40s")
    (('l40s',), (), ())
    """
    words = re.findall(r"[^-_.\s]+", stem.lower())
    groups = [(start, end) for size in (3, 2, 1) for start in range(len(words)) if (end := start + size) <= len(words)]
    taken: set[int] = set()
    found: list[tuple[str, ...]] = []
    for start, end in groups:
        text = "-".join(words[start:end])
        if taken.isdisjoint(range(start, end)) and len(text) >= PLAIN and not text.isdigit() and (one := _find(text)):
            taken |= set(range(start, end))
            found.append(one)
    return found[0] if len(set(found)) == 1 else ()


def find_in_sentence(text: str) -> Iterator[Mention]:
    """Yield each accelerator that a sentence names.

    >>> [(found.products, found.gpus) for found in find_in_sentence("Tested on 8x H100 80GB")]
    [(('h100-sxm-80gb',), 8)]
    """
    for match in _compile_names().finditer(text):
        name = match[0]
        if len(name) <= SHORT and name != name.upper():
            continue
        before, after = (
            BEFORE.search(text, max(match.start() - BEFORE_MAX, 0), match.start()),
            AFTER.match(text, match.end()),
        )
        memory = (after and after["memory"]) or (before and before["memory"])
        end = after.end() if after else match.end()
        start = before.start() if before else match.start()
        products = tuple(_keep_memory(_find(re.sub(r"[\s_]+", "-", name.lower())), memory))
        yield Mention(text[start:end].strip(), products, _count(before, after))


def _find(name: str) -> tuple[str, ...]:
    if name in OTHER_MEANINGS:
        return ()
    product = find_accelerator(name) or find_accelerator(name.upper())
    return (product.id,) if product else find_family(name)


def _keep_memory(products: tuple[str, ...], memory: str | None) -> Iterator[str]:
    """Yield the products with the nominal memory that is named."""
    for product in list_accelerators():
        if product.id in products and (
            memory is None or _has_memory(product.cuda_memory_bytes or product.driver_memory_bytes, memory)
        ):
            yield product.id


def _has_memory(memory_bytes: int | None, nominal: str) -> bool:
    """Whether a product's memory rounds to a nominal one: drivers report up to a tenth less."""
    return memory_bytes is not None and 0.9 <= memory_bytes / (int(nominal) * units.GIB) <= 1.02


def _count(before: re.Match[str] | None, after: re.Match[str] | None) -> int | None:
    count = None
    if before and before["nodes"]:
        count = int(before["nodes"]) * int(before["each"])
    elif after and after["nodes"]:
        return None  # the count is that of one node
    elif before and (before["times"] or (before["bare"] and after and after["plural"])):
        count = int(before["times"] or before["bare"])
    elif before and before["word"]:
        count = WORDS[before["word"].lower()]
    elif after and after["times"]:
        count = int(after["times"])
    return count if count and count <= COUNT_MAX else None


@functools.cache
def _compile_names() -> re.Pattern[str]:
    """Return the pattern of all short names as words, the longest first."""
    aliases = {value for key, value in labels() if key == "alias"} | set(list_families())
    named = {name for name in aliases if OWN_WORD.fullmatch(name) and name.lower() not in OTHER_MEANINGS}
    spelled = {
        re.sub(r"[\s_-]+", r"[\\s_-]?", re.escape(name).replace("\\ ", " ").replace("\\-", "-")) for name in named
    }
    ordered = sorted({name.lower() for name in spelled}, key=lambda name: (-len(name), name))
    return re.compile(
        rf"(?:(?<![\w./:=+-])|(?<=\dx)|(?<=\d×))(?:{'|'.join(ordered)})(?!(?!s\b|x\d)\w|[/=]|-(?!\d)|\.\w)",
        re.IGNORECASE,
    )
