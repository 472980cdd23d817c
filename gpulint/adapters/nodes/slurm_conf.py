"""Slurm's settings: the partitions of slurm.conf with their nodes' GPUs, and gres.conf.

No workloads. A line of `NodeName` defines its nodes once, whichever partitions use them (slurm.conf(5)).
Nodes with `State=CLOUD` or `State=FUTURE` exist only while they are needed.
"""

from __future__ import annotations

import functools
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from gpulint.adapters.claim import Claim
from gpulint.adapters.nodes import amounts
from gpulint.adapters.nodes.pool import Amount, Pool
from gpulint.adapters.programs import slurm
from gpulint.source import excess
from gpulint.source.documents import Document
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Unknown, Workload

MENTIONS = ("=",)
TRIGGERS = ()
FILE_NAMES = (r"^slurm\.conf$", r"/slurm\.conf$", r"^gres\.conf$", r"/gres\.conf$")
READS = ("slurm",)
RANGE = re.compile(r"(?P<head>[^\[\],]*)\[(?P<list>[\d,-]+)\](?P<tail>[^\[\],]*)|(?P<plain>[^\[\],]+)")
HOSTS_MAX = 20_000
ON_DEMAND = frozenset({"CLOUD", "FUTURE"})
PAIRS_MAX = 10_000
EVERY = "all"
"""slurm.conf(5): `Nodes=ALL` means all nodes that the file defines."""


def claims(document: Document) -> Claim:
    return Claim.EXACT.where(document.format == "slurm")


def kind(document: Document) -> str:
    return posixpath.basename(document.path)


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    """Yield nothing: the file describes a cluster."""
    yield from ()


def pools(documents: Iterable[Document]) -> Iterator[Pool]:
    """Yield the partitions of all such files, with one pool per kind of node."""
    for document in documents:
        if document.format == "slurm":
            yield from _read_document(document)


def inventory(documents: Iterable[Document]) -> Iterator[Pool]:
    """Yield the nodes of each line of `NodeName`."""
    for document in documents:
        lines = document.data if isinstance(document.data, list) else []
        for machine in _read_nodes(lines) if document.format == "slurm" else ():
            name = machine.stated["nodename"]
            place = Origin(document, (machine.lines["nodename"], "nodename"))
            yield _build_pool(document, name, place, machine)._replace(amount=_read_amount(place, machine))


def _read_amount(place: Origin, machine: _Nodes) -> Amount:
    hosts_of_line = machine.hosts
    count = Field(Unknown("the list of hosts is too long") if hosts_of_line is None else len(hosts_of_line), (place,))
    if machine.stated.get("state", "").upper() in ON_DEMAND:
        return amounts.make_range(amounts.make_default(0, "Slurm"), count)
    return amounts.make_fixed(count)


class _Nodes(NamedTuple):
    """A set of like nodes: their names, their settings, and the line of each setting."""

    hosts: frozenset[str] | None
    stated: Mapping[str, str]
    lines: Mapping[str, int]


def _read_nodes(lines: Sequence[Mapping[str, str]]) -> Iterator[_Nodes]:
    """Yield the nodes of a file. `NodeName=DEFAULT` applies to the lines after it."""
    default = _Nodes(None, {}, {})
    for at, line in enumerate(lines):
        if "nodename" not in line:
            continue
        places = dict.fromkeys(line, at)
        node_set = _Nodes(hosts(line["nodename"]), {**default.stated, **line}, {**default.lines, **places})
        if line["nodename"].lower() == "default":
            default = node_set
        else:
            yield node_set


def _read_document(document: Document) -> Iterator[Pool]:
    lines = document.data if isinstance(document.data, list) else []
    machines = list(_read_nodes(lines))
    every = frozenset().union(*(machine.hosts or frozenset() for machine in machines))
    pairs = 0
    for at, line in enumerate(lines):
        name = line.get("partitionname")
        if not name or name.lower() == "default" or "nodes" not in line:
            continue
        whole = line["nodes"].lower() == EVERY
        wanted = every if whole else hosts(line["nodes"])
        pairs += len(machines)
        if excess.is_over(pairs, PAIRS_MAX, "more than {} pairs of partitions and sets of nodes", document.path):
            return
        place = Origin(document, (at, "partitionname"))
        if wanted is None or not wanted <= every:
            unknown = Field(Unknown("not all of its nodes are defined in the file"), (Origin(document, (at, "nodes")),))
            yield Pool(name, place, {"partition": frozenset({name})}, unknown, is_open=True)
        for machine in machines:
            if wanted is None or machine.hosts is None or wanted & machine.hosts:
                yield _build_pool(document, name, place, machine)


def _build_pool(document: Document, partition: str, place: Origin, machine: _Nodes) -> Pool:
    labels = {"partition": frozenset({partition})}
    features = frozenset(re.split(r"[,&]", machine.stated.get("feature") or machine.stated.get("features") or "")) - {
        ""
    }
    if features:
        labels["feature"] = features
    parts = re.split(r",(?![^(]*\))", machine.stated.get("gres", ""))
    cards = [match for part in parts if (match := slurm.GRES_GPU.fullmatch(part.strip()))]
    if not cards:
        return Pool(partition, place, labels, Field(None, source="a node without GPUs"))
    origin = Origin(document, (machine.lines["gres"], "gres"))
    count = Field(sum(int(card["count"] or 1) for card in cards), (origin,))
    return Pool(partition, place, labels, _find_accelerator({card["type"] for card in cards}, origin), count)


def _find_accelerator(names: set[str | None], origin: Origin) -> Field:
    if len(names) != 1 or None in names:
        return Field(Unknown("the nodes' Gres names no GPU type"), (origin,))
    (name,) = names
    return Field(slurm.identify_type(str(name)), (origin,))


@functools.lru_cache(maxsize=64)
def hosts(text: str) -> frozenset[str] | None:
    """Return the names in a host list such as `gpu[01-03,7],login`; None if it is too long."""
    names: list[str] = []
    for match in RANGE.finditer(text):
        if match["plain"]:
            names.append(match["plain"])
            continue
        for part in match["list"].split(","):
            first, _, last = part.partition("-")
            if not first.isdecimal() or (last and not last.isdecimal()) or int(last or first) - int(first) > HOSTS_MAX:
                return None
            numbers = range(int(first), int(last or first) + 1)
            if len(names) + len(numbers) > HOSTS_MAX:
                return None
            names += [f"{match['head']}{number:0{len(first)}}{match['tail']}" for number in numbers]
    return frozenset(names)
