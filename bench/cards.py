"""Cards of measured cases: a card's name as a source writes it, looked up in gpulint's own catalog."""

from __future__ import annotations

import functools
import re

from gpulint import units
from gpulint.catalog import hardware

USUAL: dict[str, str] = {
    "80GB GPU (A100/A800 per docs)": "a100-sxm4-80gb",
    "80GB GPU": "a100-sxm4-80gb",
    "RTX PRO 6000 Blackwell 96GB": "rtx-pro-6000-ws",
    "H200-NVL": "h200-nvl-141gb",
    "H20-96GB": "h20-96gb",
    "B200": "b200",
    "GH200/H100-96GB": "gh200-96gb",
}
"""Names that stand for a product by what their source says beside them."""
MIXED = re.compile(r" \+ | and ")
WORDS = re.compile(r"[a-z0-9]+")
MAKERS = frozenset({"nvidia", "amd", "geforce", "tesla", "instinct", "gpu", "generation", "gb", "x"})
PRINTED = 0.02
"""How far drivers differ in the total of one product (T4: 14.56 to 14.74 GiB); an 80 GB label is further off."""
SERVERS = ("sxm", "sxm2", "sxm4", "sxm5")
"""Where a name does not tell the form factor, the one usual in servers."""


def named(name: str | None, visible_gib: float | None = None) -> str | None:
    """The id of the one product that has every word of a name; the server's form factor, then the nearest memory, decide."""
    if not name:
        return None
    if len(mixed := MIXED.split(name)) > 1:
        return _smallest([named(one, visible_gib) for one in mixed])
    if (listed := hardware.find_accelerator(USUAL.get(name, name))) is not None:
        return listed.id
    wanted = _words(re.sub(r"\([^)]*GiB[^)]*\)", "", name))
    if all(word[0].isdigit() for word in wanted):
        return None
    found = [one for one in hardware.list_accelerators() if wanted <= _words(f"{one.id} {one.name}")]
    if len({_model(one) for one in found}) > 1:
        found = [one for one in found if _model(one) == min(map(_model, found), key=len)]
    if len(found) > 1 and visible_gib:
        found = [min(found, key=lambda one: abs(memory_gib(one) - visible_gib))]
    servers = [one for one in found if any(word in SERVERS for word in WORDS.findall(one.id))]
    sizes = {round(memory_gib(one)) for one in servers or found}
    return (servers or found)[0].id if len(sizes) == 1 else None


def memory_gib(one: hardware.Accelerator) -> float:
    """What the card offers, as CUDA or else the driver counts it."""
    return float(one.cuda_memory_bytes or one.driver_memory_bytes or 0) / units.GIB


def _smallest(ids: list[str | None]) -> str | None:
    """Of several cards of one machine the one that holds least, which limits all; none unless all are known."""
    cards = [card for one in ids if one and (card := hardware.accelerator(one))]
    return min(cards, key=memory_gib).id if len(cards) == len(ids) else None


def visible_gib(card: str | None, printed_gib: float | None) -> float | None:
    """The memory that a source prints of its card; None where it is rather what the label says."""
    known = hardware.accelerator(card) if card else None
    if not printed_gib or known is None or not (own := memory_gib(known)):
        return printed_gib
    if known.unified_memory:  # the host's programs live in it
        return None
    return printed_gib if abs(printed_gib / own - 1) <= PRINTED else None


@functools.cache
def _words(text: str) -> frozenset[str]:
    return frozenset(WORDS.findall(text.lower())) - MAKERS


def _model(one: hardware.Accelerator) -> str:
    """The id without form factor and memory."""
    words = WORDS.findall(one.id)
    return " ".join(word for word in words if word not in (*SERVERS, "pcie", "nvl") and not word.endswith("gb"))
