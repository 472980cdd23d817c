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
    list_driver_names,
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
MIG = re.compile(r"mig|slices?|\d+g(?:\d+gb)?")
"""Words of a name that mean a part of a GPU."""
MODEL_NUMBER = re.compile(r"(?:gpu|rtx)?(?P<number>\d{4})(?P<ending>ti|super)?(?:x\d+)?")
FORM = re.compile(r"(?P<name>[a-z]{1,2}\d{2,3}[a-z]?)(?:nv|nvl|sxm\d?|pcie)?(?:x\d+)?")
"""A product with how it is built or linked behind it, as clusters spell it: a100nv, v100x2."""
MEMORY = re.compile(r"(?P<memory>\d{2,3})(?:x\d+|gb?)?")
COUNTED = re.compile(r"(?:gpu|\d+x)?(?P<name>[a-z].*?)(?:x\d+)?")
WORDS = {"single": 1, "one": 1, "two": 2, "dual": 2, "four": 4, "eight": 8}
WORDS |= {"单": 1, "一": 1, "两": 2, "双": 2, "二": 2, "四": 4, "八": 8}
OF_CARDS = (
    r"(?:[张块卡枚片장개]|GPUs?|cards?|cartes?|tarjetas?|placas?|Karten|(?:видео)?карт[ыа]?|шт\.?)(?![A-Za-z0-9_])"
)
"""Words that count cards, in several languages."""
BEFORE = re.compile(
    r"(?:(?<![A-Za-z0-9_.×-])(?:(?P<nodes>\d+)(?:\s?[x×]\s?|\s+nodes?\s+(?:of|with)\s+)(?P<each>\d+)(?:\s?[x×*]\s?|\s+)"
    rf"|(?P<times>\d+)\s?[x×*]\s?|(?P<cards>\d+)\s?{OF_CARDS}\s?(?:[の의的]|of|de)?\s?|(?P<bare>\d+)\s+"
    r"|(?P<word>single|one|two|dual|four|eight)[\s-]+)|(?P<numeral>[单一两双二四八])[张块卡枚]\s?)"
    r"(?:nvidia\s+|geforce\s+|tesla\s+)*(?:(?P<memory>\d+)\s?(?:Gi?B?|Go|ГБ)\s+)?(?:nvidia\s+|geforce\s+)*$",
    re.IGNORECASE,
)
"""A count before a name: 8x, 4x8, 2 ×, a number of cards or GPUs, or a word."""
BEFORE_MAX = 80
"""Characters before a name in which its count is looked for."""
AFTER = re.compile(
    r"(?P<laptop>[\s-]*\(?(?:laptop|mobile|notebook)\b)?(?:[\s-]+gpu\b(?=\W*\d+\s?(?:Gi?B?|Go|ГБ)\b))?"
    r"(?:(?:\s+with|,)?[\s_-]*\(?(?P<memory>\d+)\s?(?:Gi?B?|Go|ГБ)\)?)?"
    r"(?P<plural>s\b|[\s-]+(?:gpus?|cards?)\b)?(?:\s?[x×*]\s?(?P<times>\d+)(?![A-Za-z0-9_])|\s?(?P<cards>\d+)\s?[张块卡枚장개])?"
    r"(?P<nodes>\s+(?:nodes|machines|instances|hosts)\b)?",
    re.IGNORECASE,
)
COUNT_MAX = 4096
PORTABLE = re.compile(r"\blaptop\b|笔记本|ノートパソコン|노트북|ноутбук", re.IGNORECASE)
"""Words of a sentence about the GPU of a laptop, whose memory is not that of a desktop's."""
SIZE = re.compile(r"-\d+gb$")
FAMILIES = frozenset({"rtx", "gtx", "quadro", "arc", "max", "rx", "titan"})
"""First words of names that products share which differ in more than their memory."""
DRIVER = re.compile(r"(?:NVIDIA|Tesla|Quadro|TITAN|GeForce) \w")
"""How the names begin that NVIDIA's drivers print."""
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


def find_in_site_name(name: str) -> tuple[str, ...]:
    """Return what a partition, a QOS, a type of GPU or a host means that a site named after an accelerator.

    >>> find_in_site_name("kisski-h100"), find_in_site_name("3090"), find_in_site_name("a100-mig")
    (('h100-sxm-80gb',), ('rtx-3090',), ())
    """
    words = re.findall(r"[^-_.\s/:@]+", name.lower())
    if any(MIG.fullmatch(word) for word in words):
        return ()
    found = _find(name.lower()) or find_in_name(name) or find_in_stem(name)
    if not found:
        each = {meaning for word in words if (meaning := _find_word(word))}
        found = next(iter(each)) if len(each) == 1 else ()
    return _match_memory(found, words)


def _find_word(word: str) -> tuple[str, ...]:
    """Return the accelerator that one word of a site's name means: a model number, or a product and its form."""
    if match := MODEL_NUMBER.fullmatch(word):
        return _find("-".join(part for part in ("rtx", match["number"], match["ending"]) if part))
    match = FORM.fullmatch(word)
    return _find(match["name"]) if match and len(match["name"]) >= PLAIN else ()


def _match_memory(products: tuple[str, ...], words: list[str]) -> tuple[str, ...]:
    """Return the products with the memory that a name states behind a product: gpu-h100-94."""
    stated = [match["memory"] for word in words if (match := MEMORY.fullmatch(word))]
    named = {product.partition("-")[0] for product in products}
    for memory in stated if len(named) == 1 else ():
        whole = tuple(product.id for product in list_accelerators() if product.id.partition("-")[0] in named)
        if fitting := tuple(_keep_memory(whole, memory)):
            return tuple(product for product in products if product in fitting) or fitting
    return products


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
        named = _find(_spell(name))
        portable = (after and after["laptop"]) or PORTABLE.search(text)
        products = tuple(_keep_memory(_find_laptops(named), memory)) if portable else _match_sentence(named, memory)
        yield Mention(text[start:end].strip(), products, _count(before, after))


def list_printed(text: str) -> Iterator[str]:
    """Yield the id of each product whose name a driver printed in a text; empty for one that is not in the catalog.

    >>> list(list_printed("Tesla T4. Num GPUs = 1")), list(list_printed("NVIDIA GeForce MX450"))
    (['t4'], [''])
    """
    for match in _compile_printed().finditer(text):
        product = find_accelerator(match[0])
        yield product.id if product else ""


@functools.cache
def _compile_printed() -> re.Pattern[str]:
    """Return the pattern of all names that drivers print, the longest first."""
    printed = {value for key, value in labels() if key == "alias" and DRIVER.match(value)}
    names = sorted(printed | list_driver_names(), key=lambda name: (-len(name), name))
    return re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, names))})(?![\w-]| Ti\b| SUPER\b| Laptop\b)")


def _spell(name: str) -> str:
    """Return a name as the catalog spells it: `RTX4060Ti` is rtx-4060-ti."""
    dashed = re.sub(r"[\s_]+", "-", name.lower())
    return dashed if _find(dashed) else re.sub(r"(?<=[rg]tx)(?=\d)|(?<=\d)(?=ti|super)", "-", dashed)


def _find_laptops(products: tuple[str, ...]) -> tuple[str, ...]:
    """Return the products of laptops that are called like some of desktops; their memory is another."""
    found = (product if "-laptop" in product else _find(f"{SIZE.sub('', product)}-laptop") for product in products)
    return tuple(dict.fromkeys(one for each in found for one in ((each,) if isinstance(each, str) else each)))


def _match_sentence(products: tuple[str, ...], memory: str | None) -> tuple[str, ...]:
    """Return the products with the memory that a sentence states: also that of a laptop, or of one site's own product."""
    if found := tuple(_keep_memory(products, memory)):
        return found
    named = {product.partition("-")[0] for product in products} - FAMILIES
    sized = (product.id for product in list_accelerators() if product.id.endswith(f"-{memory}gb"))
    same = tuple(product for product in sized if product.partition("-")[0] in named)
    return tuple(_keep_memory((*_find_laptops(products), *same), memory))


def _find(name: str) -> tuple[str, ...]:
    if name in OTHER_MEANINGS:
        return ()
    product = find_accelerator(name) or find_accelerator(name.upper()) or find_accelerator(_list_names().get(name, ""))
    return (product.id,) if product else find_family(name)


@functools.cache
def _list_names() -> dict[str, str]:
    """Return the aliases of accelerators by their lower case, with a dash for each blank."""
    return {re.sub(r"[\s_]+", "-", value.lower()): value for key, value in labels() if key == "alias"}


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
    elif before and (before["cards"] or before["numeral"]):
        count = int(before["cards"]) if before["cards"] else WORDS[before["numeral"]]
    elif before and (before["times"] or (before["bare"] and after and after["plural"])):
        count = int(before["times"] or before["bare"])
    elif before and before["word"]:
        count = WORDS[before["word"].lower()]
    elif after and (after["times"] or after["cards"]):
        count = int(after["times"] or after["cards"])
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
        rf"(?:(?<![A-Za-z0-9_./:=+-])|(?<=\dx)|(?<=\d×))(?:{'|'.join(ordered)})"
        r"(?!(?!s\b|x\d)[A-Za-z0-9_]|[/=]|-(?!\d|GPU|Karte)|\.\w)",
        re.IGNORECASE,
    )
