"""What a repository says of its hardware beside the file under check: the nearest README, and its node pools."""

from __future__ import annotations

import functools
import posixpath
import re
from collections.abc import Iterator
from typing import NamedTuple

from gpulint.adapters import nodes
from gpulint.catalog import hardware
from gpulint.source.documents import Comment, Document
from gpulint.source.repository import Repository
from gpulint.workload import Unknown

READMES = ("README.md", "readme.md", "Readme.md", "README.MD", "README.rst", "README", "README.txt")
FOLDERS_MAX = 12
TEXT_MAX = 100_000
"""Bytes of a README that are read."""
LINE_MAX = 2_000
TOKEN = re.compile(r"[A-Za-z0-9][\w.-]*[A-Za-z0-9]")
LABEL = "cloud.google.com/gke-accelerator"
"""The label whose values commands name too, such as `--accelerator type=nvidia-l4`."""
MARKUP = re.compile(r"[<>$?{}]|\{\{")
"""Characters of commands and diagrams, with which no prose offers alternatives."""
ALTERNATIVES = re.compile(
    r"\b(?:or|also|not|no|instead|unlike|vs|versus|than|at least|minimum|min|up to|e\.?g|such as|like|if|when|could|may|might"
    r"|should|would|equivalent|class|compatible|optional(?:ly)?|prefer(?:s|red)?|fall ?backs?|simulat\w+|untested|works on"
    r"|todo|future|any|other|example|adjust|change|too|oom|out of memory|fail(?:s|ed)?|slow|without|never|previously|old"
    r"|except|larger|bigger|smaller|upgrade|both)\b|n't\b|>=|\u2265|[<>$?]|\{\{"
    r"|[或和与及]|以上|至少|最低|不支持|不足|不够|对比|または|あるいは|이상|또는|최소|\b(?:или|не|минимум|oder|ou|mindestens|nicht|ohne|sans|pas|o)\b",
    re.IGNORECASE,
)
"""Words with which a comment compares, limits or offers hardware, and does not tell what the file is for."""


class Evidence(NamedTuple):
    """The accelerators that one place suggests, with their count if it names one."""

    products: tuple[str, ...]
    place: str
    gpus: int | None = None
    comment: Comment | None = None


class NamedProducts(NamedTuple):
    """The accelerators that some words of a line may mean, and whether the line says no more than that they are used."""

    products: tuple[str, ...]
    gpus: int | None
    line: int
    is_plain: bool


def find(document: Document, repository: Repository) -> Iterator[Evidence]:
    """Yield what the nearest README that names accelerators, and all node pools of the repository, agree on."""
    yield from _find_readme(posixpath.dirname(document.path), repository)
    yield from _find_pools(document, repository)


# ---- READMEs


def _find_readme(folder: str, repository: Repository) -> Iterator[Evidence]:
    """Yield the accelerator of the nearest README that names any; one that compares several suggests nothing."""
    for _ in range(FOLDERS_MAX):
        for name in READMES:
            mentions = _read_mentions(posixpath.join(folder, name), repository)  # type: ignore[arg-type]
            if mentions:
                yield from _compare(mentions, posixpath.join(folder, name))
                return
        if folder in ("", "/"):
            return
        folder = posixpath.dirname(folder)


def _compare(mentions: tuple[NamedProducts, ...], path: str) -> Iterator[Evidence]:
    """Yield the accelerators that all mentions may mean. A larger count is that of a machine, and not of a replica."""
    shared = frozenset.intersection(*(frozenset(mention.products) for mention in mentions))
    plain = next((mention for mention in mentions if mention.is_plain), None)
    if not shared or plain is None:
        return
    counts = {mention.gpus for mention in mentions if mention.gpus is not None}
    ordered = tuple(product for product in plain.products if product in shared)
    yield Evidence(ordered, f"line {plain.line} of {path}", 1 if counts == {1} else None)


@functools.lru_cache(maxsize=256)
def _read_mentions(path: str, repository: Repository) -> tuple[NamedProducts, ...]:
    """Return the accelerators and machine types that the lines of a README name."""
    content = repository.read(path) if repository.exists(path) else None
    if content is None:
        return ()
    lines = content[:TEXT_MAX].decode("utf-8", "replace").splitlines()
    return tuple(mention for at, line in enumerate(lines, 1) for mention in _read_line(line[:LINE_MAX], at))


def _read_line(line: str, at: int) -> Iterator[NamedProducts]:
    is_plain = not ALTERNATIVES.search(MARKUP.sub(" ", line))
    for mention in hardware.find_in_sentence(line):
        yield NamedProducts(mention.products, mention.gpus, at, is_plain)
    for match in TOKEN.finditer(line):
        if product := _find_machine(match[0]):
            yield NamedProducts((product,), None, at, is_plain)


def _find_machine(token: str) -> str:
    """Return the accelerator of a machine type, or of a type of accelerator of Google Cloud."""
    if len(token) < 8 or not re.search(r"\d", token) or not re.search(r"[-._]", token):
        return ""
    if machine := hardware.node(token):
        return machine.accelerator or ""
    return hardware.labels().get((LABEL, token), "")


# ---- node pools


def _find_pools(document: Document, repository: Repository) -> Iterator[Evidence]:
    """Yield the accelerator of all pools that the repository defines, if they have the same."""
    found, own = nodes.read_pools(document, repository)
    pools = [pool for pool in (*found.pools, *own) if pool.has_card()]
    cards = {pool.accelerator.value for pool in pools}
    if len(cards) != 1 or isinstance(value := pools[0].accelerator.value, Unknown):
        return
    where = f" ({pools[0].origin.document.path})" if pools[0].origin else ""
    yield Evidence((str(value),), f"the node pool {pools[0].name}{where}")
