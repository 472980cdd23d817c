"""Slurm's settings: the partitions of slurm.conf with the cards of their nodes, and gres.conf. They hold no workload."""

from __future__ import annotations

import functools
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping

from gpulint.adapters import slurm
from gpulint.adapters.pools import Pool
from gpulint.documents import Document, Path
from gpulint.repository import Repository
from gpulint.workload import Field, Origin, Unknown, Workload

MENTIONS = ("=",)
READS = ("slurm",)
RANGE = re.compile(r"(?P<head>[^\[\],]*)\[(?P<list>[\d,-]+)\](?P<tail>[^\[\],]*)|(?P<plain>[^\[\],]+)")
HOSTS_MAX = 20_000
PAIRS_MAX = 10_000
EVERY = "all"
"""slurm.conf(5): `Nodes=ALL` are all nodes that the file defines."""


def claims(document: Document) -> bool:
    return document.format == "slurm"


def kind(document: Document) -> str:
    return posixpath.basename(document.path)


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    """None: the file says what a cluster is made of."""
    yield from ()


def pools(found: Iterable[Document]) -> Iterator[Pool]:
    """The partitions of all such files: one pool for each kind of node in each."""
    for document in found:
        if document.format == "slurm":
            yield from _of_document(document)


def _of_document(document: Document) -> Iterator[Pool]:
    lines = document.data if isinstance(document.data, list) else []
    machines = [at for at, line in enumerate(lines) if "nodename" in line and line["nodename"].lower() != "default"]
    pairs = PAIRS_MAX
    for at, line in enumerate(lines):
        name = line.get("partitionname")
        if not name or name.lower() == "default" or "nodes" not in line:
            continue
        wanted = hosts(line["nodes"])
        pairs -= len(machines)
        if pairs < 0:
            return
        for machine in machines:
            own = hosts(lines[machine]["nodename"])
            if line["nodes"].lower() == EVERY or wanted is None or own is None or wanted & own:
                yield _pool(document, name, (at, "partitionname"), machine, lines[machine])


def _pool(document: Document, partition: str, path: Path, at: int, line: Mapping[str, str]) -> Pool:
    labels = {"partition": frozenset({partition})}
    features = frozenset(re.split(r"[,&]", line.get("feature") or line.get("features") or "")) - {""}
    if features:
        labels["feature"] = features
    origin = Origin(document, (at, "gres"))
    gres = line.get("gres", "")
    cards = [match for part in re.split(r",(?![^(]*\))", gres) if (match := slurm.GRES_GPU.fullmatch(part.strip()))]
    if not cards:
        return Pool(partition, Origin(document, path), labels, Field(None, source="a node without GPUs"))
    count = Field(sum(int(card["count"] or 1) for card in cards), (origin,))
    names = {card["type"] for card in cards}
    return Pool(partition, Origin(document, path), labels, _card(names, origin), count)


def _card(names: set[str | None], origin: Origin) -> Field:
    if len(names) != 1 or None in names:
        return Field(Unknown("the nodes' Gres names no type of card"), (origin,))
    (name,) = names
    product = slurm.product_of(str(name))
    return Field(product or Unknown(f"{name} is the cluster's own name"), (origin,))


@functools.lru_cache(maxsize=64)
def hosts(text: str) -> frozenset[str] | None:
    """The names of a host list such as `gpu[01-03,7],login`; None of one that is too long to be written out."""
    found: list[str] = []
    for match in RANGE.finditer(text):
        if match["plain"]:
            found.append(match["plain"])
            continue
        for part in match["list"].split(","):
            first, _, last = part.partition("-")
            if not first.isdecimal() or (last and not last.isdecimal()) or int(last or first) - int(first) > HOSTS_MAX:
                return None
            numbers = range(int(first), int(last or first) + 1)
            if len(found) + len(numbers) > HOSTS_MAX:
                return None
            found += [f"{match['head']}{number:0{len(first)}}{match['tail']}" for number in numbers]
    return frozenset(found)
