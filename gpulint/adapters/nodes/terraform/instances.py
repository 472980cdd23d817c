"""Instances of Terraform's modules and blocks: by whom a folder is called, how often a block is repeated, and
what an unknown value depends on.

developer.hashicorp.com/terraform/language/modules/syntax and .../language/meta-arguments/count and /for_each.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import count, islice
from typing import NamedTuple

from gpulint.adapters.nodes import amounts
from gpulint.adapters.nodes.pool import Amount, Pool
from gpulint.adapters.nodes.terraform import expressions
from gpulint.adapters.nodes.terraform.modules import Spot
from gpulint.adapters.nodes.terraform.values import Modules
from gpulint.source.documents import Document, Path
from gpulint.workload import Field, Origin, Unknown

INSTANCES_MAX, STEPS_MAX, DEPTH_MAX = 200, 2_000, 8
"""A folder with more instances, calls or levels of calls counts once, in an unknown number."""
TRACED_MAX, MENTIONED_MAX = 500, 100_000
"""The locations of which one value may depend, and the references that are followed for all values."""
RESOURCE = re.compile(r"\b([a-z][a-z0-9]*_\w+)\.([\w-]+)")
SET = re.compile(r"\$\{\s*toset\(\s*\[(?P<items>[^\[\]{}]*)\]\s*\)\s*\}")
ONCE = Field(1, source="one instance")


class Instance(NamedTuple):
    """A folder as one chain of calls uses it: the call of each folder of the chain, and how often."""

    pins: Mapping[str, Spot]
    copies: Field


TOO_MANY = Instance({}, Field(Unknown("too many calls of modules use it")))


def list_instances(document: Document, modules: Modules) -> tuple[Instance, ...]:
    """Return the instances of the folder that holds a document; one if nothing calls it."""
    found = tuple(islice(_find_instances(posixpath.dirname(document.path), modules, 0, count()), INSTANCES_MAX + 1))
    if len(found) <= INSTANCES_MAX and all(instance is not TOO_MANY for instance in found):
        return found
    return (TOO_MANY,)


def _find_instances(path: str, modules: Modules, depth: int, steps: Iterator[int]) -> Iterator[Instance]:
    folder = modules.folders.get(path)
    if folder is None or not folder.calls:
        yield Instance({}, ONCE)
        return
    for call in folder.calls:
        if depth > DEPTH_MAX or next(steps) > STEPS_MAX:
            yield TOO_MANY
            return
        for outer in _find_instances(posixpath.dirname(call.document.path), modules, depth + 1, steps):
            if outer is TOO_MANY:
                yield TOO_MANY
                return
            before, modules.pins = modules.pins, outer.pins
            made = list(islice(repeat(call, modules), INSTANCES_MAX + 1))
            modules.pins = before
            for spot, copies in made:
                yield Instance({**outer.pins, path: spot}, multiply(copies, outer.copies))


def repeat(block: Spot, modules: Modules) -> Iterator[tuple[Spot, Field]]:
    """Yield a block for each item of its `for_each`, or once with its `count`."""
    made = modules.repeat_block(block)
    if isinstance(made, Unknown) and (listed := _read_literal_set(block.descend("for_each").value())) is not None:
        yield block, Field(len(listed), (block.descend("for_each").origin(),))
        return
    if isinstance(made, Unknown):
        key = "for_each" if block.descend("for_each").value() is not None else "count"
        yield block, Field(made, (block.descend(key).origin(),))
        return
    counted = block.descend("for_each").value() is None and block.descend("count").value() is not None
    number = amounts.read_number(modules.field(block.descend("count"))) if counted else None
    yield from ((spot, number or ONCE) for spot in made)


def _read_literal_set(value: object) -> frozenset[str] | None:
    """Return the items of a set that is written out, such as `toset(["a", "b"])`."""
    match = SET.fullmatch(value) if isinstance(value, str) else None
    items = expressions.arguments(match["items"]) if match else []
    literal = match is not None and all(expressions.LITERAL.fullmatch(item) for item in items)
    return frozenset(items) if literal else None


def multiply(first: Field, second: Field) -> Field:
    """Return the product of two numbers of copies."""
    return amounts.multiply(amounts.make_fixed(first), second).most or ONCE


class Settlement:
    """Completes pools: their nodes in all copies, and what their unknown values depend on."""

    def __init__(self, modules: Modules) -> None:
        self.modules = modules
        self.left = MENTIONED_MAX

    def settle(self, pool: Pool, spot: Spot, copies: Field) -> Pool:
        """Return a pool with the nodes of all its copies, and with the basis of its unknown values."""
        amount = amounts.multiply(pool.amount or Amount(None, None), copies)
        if isinstance(copies.value, Unknown):
            unknown = Field(copies.value, copies.origins)
            amount = amount._replace(least=amount.least or unknown, most=amount.most or unknown)
        fields = (pool.accelerator, pool.boards or pool.gpus, amount.least, amount.most)
        unknown_fields = [field for field in fields if field is not None and isinstance(field.value, Unknown)]
        if not unknown_fields and None not in (amount.least, amount.most):
            return pool._replace(amount=amount)
        origins = [origin for field in unknown_fields for origin in field.origins]
        starts = [Spot(origin.document, origin.path, spot.each) for origin in origins]
        if not unknown_fields or not all(field.origins for field in unknown_fields):
            starts.append(spot)
        return pool._replace(amount=amount, basis=self.trace(starts))

    def trace(self, starts: Iterable[Spot]) -> tuple[Origin, ...]:
        """Return the locations that decide a value: its own, and all that their expressions mention.

        If there are too many to follow, any file may decide it.
        """
        found: dict[tuple[str, Path], Origin] = {}
        left = list(starts)
        while left:
            if len(found) >= TRACED_MAX or self.left <= 0:
                return self.modules.list_files()
            spot = left.pop()
            key = (spot.document.path, spot.path)
            if key in found:
                continue
            found[key] = spot.origin()
            mentioned = list(islice(self._find_mentioned(spot), max(self.left, 0)))
            self.left -= len(mentioned)
            left += mentioned
        return tuple(found.values())

    def _find_mentioned(self, spot: Spot) -> Iterator[Spot]:
        folder = self.modules.find_folder(spot)
        for text in _list_texts(spot.value()):
            for match in expressions.REFERENCE.finditer(text):
                yield from self.modules.find_sources(match["root"], match["name"], spot)
            for match in RESOURCE.finditer(text):
                for document in folder.documents if folder else ():
                    yield Spot(document, ("resource", match[1], match[2]))


def _list_texts(value: object) -> Iterator[str]:
    """Yield the expressions in a value."""
    left = [value]
    while left:
        part = left.pop()
        if isinstance(part, str) and "${" in part:
            yield part
        elif isinstance(part, dict):
            left += part.values()
        elif isinstance(part, list):
            left += part
