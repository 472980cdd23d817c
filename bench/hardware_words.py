"""Hardware as people write it ("64x H100 (500 W cap)", "2x RTX 3090 (limited PCIe lanes)"), in the glossary's words."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping

from gpulint import units
from gpulint.catalog import hardware
from gpulint.catalog.hardware import Accelerator

Fields = dict[str, object]
FORMS = frozenset({"sxm", "sxm2", "sxm4", "sxm5", "sxm6", "pcie", "nvl", "oam", "se", "ws"})
MAKERS = frozenset({"nvidia", "amd", "intel", "instinct", "geforce", "tesla", "rtx", "quadro", "grace", "blackwell"})
SPELT: Mapping[str, int] = {"dual": 2, "two": 2, "four": 4, "eight": 8}
USUAL_FORMS = ("sxm5", "sxm4", "sxm", "sxm2", "")
"""Which product is meant where only the family is named: the one of a server."""
NODE_GPUS: Mapping[str, int] = {"gb200": 4, "gb300": 4, "gh200": 1}
"""GPUs of one machine where it is not eight."""
NIC_GBIT_PER_S: Mapping[str, float] = {
    "volta": 100,
    "ampere": 200,
    "hopper": 400,
    "blackwell": 400,
    "blackwell-ultra": 800,
}
"""What a GPU's share of the network usually is where the text does not say: one adapter of its time for each (assumed)."""
NETWORKS: tuple[tuple[str, str], ...] = (
    (r"\befa\b", "efa"),
    (r"\broce\b", "roce"),
    (r"tcpxo", "gpudirect-tcpxo"),
    (r"tcpx\b", "gpudirect-tcpx"),
    (r"infiniband|\bib\b|\bndr\b|\bhdr\b", "infiniband"),
    (r"\btcp\b|ethernet|\bno rdma\b", "tcp"),
)
GENERATIONS: Mapping[str, str] = {"3": "pcie3x16", "4": "pcie4x16", "5": "pcie5x16", "6": "pcie6x16"}
FEW_LANES_BYTES_PER_S = 3.94 * units.GB
"""Four lanes of PCIe Gen3, where a text speaks of few lanes and does not count them."""


def fields(text: str) -> Fields | None:
    """The fields of a role on that hardware; None where no product of the catalog is named."""
    count, product = _count(text), card(text)
    if product is None:
        return None
    node = NODE_GPUS.get(product.id.split("-")[0], 8)
    machine = next((one for word in re.findall(r"[\w.-]+", text) if (one := hardware.node(word))), None)
    found: Fields = {
        "device": "gpu",
        "accelerator": product.id,
        "gpus_per_replica": count,
        "gpus_per_pod": min(count, machine.node_gpus if machine else node),
        "pods_per_replica": max(1, -(-count // (machine.node_gpus if machine else node))),
    }
    if machine:
        found["instance_type"] = machine.instance_type
    return found | _network(text, product, count > node and machine is None) | _links(text)


def _count(text: str) -> int:
    counted = re.match(r"\s*(\d+)\s*(?:x|×|\*)\s*", text.lower())
    spelt = next((number for word, number in SPELT.items() if re.search(rf"\b{word}\b", text.lower())), 1)
    return int(counted[1]) if counted else spelt


def _network(text: str, product: Accelerator, several_nodes: bool) -> Fields:
    """What joins the nodes: as the text says, else the usual adapters of the card's time."""
    said = text.lower()
    kind = next((name for pattern, name in NETWORKS if re.search(pattern, said)), None)
    rate = re.search(r"(?:(\d+)\s*x\s*)?(\d+(?:\.\d+)?)\s*(?:gbps|gb/s|gbit)", said) if kind else None
    usual = NIC_GBIT_PER_S.get(product.generation)
    if not several_nodes or (usual is None and rate is None):
        return {}
    node = NODE_GPUS.get(product.id.split("-")[0], 8)
    adapters = 1.0 if re.search(r"per node|a node|total", said) else float(node)
    speed = float(rate[2]) * float(rate[1] or adapters) if rate else (usual or 0) * node
    return {"network_kind": kind or "infiniband", "network_bytes_per_s": speed * units.GBIT}


def _links(text: str) -> Fields:
    """Bridges, lanes and power limits."""
    said, found = text.lower(), Fields()
    if re.search(r"bridge", said):
        found["nvlink_bridge"] = True
    if host := re.search(r"pcie?\s*(?:gen)?\s*([3-6])(?:\.0)?\b", said):
        found["host_link"] = GENERATIONS[host[1]]
    if re.search(r"(?:limited|few|slow)\w*\s+pcie?\s+lanes", said):
        found["host_link_bytes_per_s"] = FEW_LANES_BYTES_PER_S
    if cap := re.search(r"(\d{2,4})\s*w\b[^)]*(?:cap|limit)|(?:cap|limit)\w*\s+(?:to|at|of)?\s*(\d{2,4})\s*w\b", said):
        found["power_cap_w"] = float(cap[1] or cap[2])
    return found


# ---- the product


def card(text: str) -> Accelerator | None:
    """The product that the text names, by the words of its id; of several, the one with the most of them."""
    words = set(_words(text))
    fitting = [one for one in hardware.list_accelerators() if _family(one.id) <= words]
    fitting = [one for one in fitting if not (_forms(one.id) and words & FORMS) or _alike(_forms(one.id), words)]
    return max(fitting, key=lambda one: _rank(one, words), default=None)


def _rank(one: Accelerator, words: set[str]) -> tuple[float, ...]:
    """How well a product answers: words of the family, stated memory, usual form, most memory."""
    form = next(iter(_forms(one.id)), "")
    memory = float(next(iter(_sizes(one.id)), "0"))
    stated = bool(_sizes(one.id) & {word.removesuffix("gb") for word in words})
    usual = len(USUAL_FORMS) - USUAL_FORMS.index(form) if form in USUAL_FORMS else 0
    return (len(_family(one.id)), stated, usual, memory)


def _alike(forms: frozenset[str], words: set[str]) -> bool:
    """Whether a form is the one that is named; "SXM" stands for each of its generations."""
    return any(re.sub(r"\d", "", form) == re.sub(r"\d", "", word) for form in forms for word in words & FORMS)


@functools.cache
def _family(name: str) -> frozenset[str]:
    return frozenset(word for word in name.split("-") if not re.fullmatch(r"\d+gb", word)) - FORMS - MAKERS


@functools.cache
def _forms(name: str) -> frozenset[str]:
    return frozenset(name.split("-")) & FORMS


@functools.cache
def _sizes(name: str) -> frozenset[str]:
    return frozenset(word[:-2] for word in name.split("-") if re.fullmatch(r"\d+gb", word))


def _words(text: str) -> Iterator[str]:
    """Words of a text in the catalog's spelling: "Gaudi 2" is gaudi2, "A6000 Ada" is 6000 ada; PCIe 5.0 is no form."""
    said = re.sub(r"\bpcie?\s*(?:gen\s*)?\d(?:\.\d)?(?:\s*x\d+)?|pcie?\s+lanes", "", text.lower())
    said = re.sub(r"(?<=gaudi)\s+(?=\d)", "", said)
    said = re.sub(r"\ba(\d{4})\s+ada\b", r"\1 ada", said)
    for word in re.findall(r"[a-z0-9]+", said):
        yield word
        if counted := re.fullmatch(r"\d+x([a-z]+\d\w*)", word):
            yield counted[1]
