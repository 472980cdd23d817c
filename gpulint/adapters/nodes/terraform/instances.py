"""Instances of Terraform's modules and blocks: by whom a folder is called, how often a block is repeated, and
what an unknown value depends on.

developer.hashicorp.com/terraform/language/modules/syntax and .../language/meta-arguments/count and /for_each.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from gpulint.adapters.nodes import amounts
from gpulint.adapters.nodes.pool import Amount, Pool
from gpulint.adapters.nodes.terraform import expressions
from gpulint.adapters.nodes.terraform.modules import Spot
from gpulint.adapters.nodes.terraform.values import Modules
from gpulint.source.documents import Document
from gpulint.workload import Field, Origin, Unknown

INSTANCES_MAX = 200
"""A folder with more instances counts once, in an unknown number."""
DEPTH_MAX = 8
TRACED_MAX = 500
RESOURCE = re.compile(r"\b([a-z][a-z0-9]*_\w+)\.([\w-]+)")
SET = re.compile(r"\$\{\s*toset\(\s*\[(?P<items>[^\[\]{}]*)\]\s*\)\s*\}")
ONCE = Field(1, source="one instance")


class Instance(NamedTuple):
    """A folder as one chain of calls uses it: the call of each folder of the chain, and how often."""

    pins: Mapping[str, Spot]
    copies: Field


def list_instances(document: Document, modules: Modules) -> tuple[Instance, ...]:
    """Return the instances of the folder that holds a document; one if nothing calls it."""
    found: list[Instance] = []
    for instance in _find_instances(posixpath.dirname(document.path), modules, 0):
        found.append(instance)
        if len(found) > INSTANCES_MAX:
            return (Instance({}, Field(Unknown(f"more than {INSTANCES_MAX} calls use it"))),)
    return tuple(found)


def _find_instances(path: str, modules: Modules, depth: int) -> Iterator[Instance]:
    folder = modules.folders.get(path)
    if folder is None or not folder.calls or depth > DEPTH_MAX:
        yield Instance({}, ONCE)
        return
    for call in folder.calls:
        for outer in _find_instances(posixpath.dirname(call.document.path), modules, depth + 1):
            before, modules.pins = modules.pins, outer.pins
            made = list(repeat(call, modules))
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


def settle(pool: Pool, spot: Spot, copies: Field, modules: Modules) -> Pool:
    """Return a pool with the nodes of all its copies, and with what its unknown values depend on."""
    amount = amounts.multiply(pool.amount or Amount(None, None), copies)
    if isinstance(copies.value, Unknown):
        unknown = Field(copies.value, copies.origins)
        amount = amount._replace(least=amount.least or unknown, most=amount.most or unknown)
    fields = (pool.accelerator, pool.boards or pool.gpus, *amount.fields()[:2])
    open_fields = [field for field in fields if field is not None and isinstance(field.value, Unknown)]
    if not open_fields and None not in amount.fields()[:2]:
        return pool._replace(amount=amount)
    origins = [origin for field in open_fields for origin in field.origins]
    whole = [] if origins and all(field.origins for field in open_fields) else [spot]
    starts = [*(Spot(origin.document, origin.path, spot.each) for origin in origins), *whole]
    return pool._replace(amount=amount, basis=trace(starts, modules))


# ---- what a value depends on


def trace(starts: list[Spot], modules: Modules) -> tuple[Origin, ...]:
    """Return the locations that decide a value: its own, and all that their expressions mention."""
    found: dict[Origin, None] = {}
    left = list(starts)
    while left and len(found) < TRACED_MAX:
        spot = left.pop()
        if spot.origin() not in found:
            found[spot.origin()] = None
            left += (other for text in _list_texts(spot.value()) for other in _find_mentioned(text, spot, modules))
    return tuple(found)


def _list_texts(value: object) -> list[str]:
    """Return the expressions in a value."""
    found, left = [], [value]
    while left:
        part = left.pop()
        if isinstance(part, str) and "${" in part:
            found.append(part)
        elif isinstance(part, dict):
            left += part.values()
        elif isinstance(part, list):
            left += part
    return found


def _find_mentioned(text: str, spot: Spot, modules: Modules) -> Iterator[Spot]:
    for match in expressions.REFERENCE.finditer(text):
        yield from modules.find_sources(match["root"], match["name"], spot)
    folder = modules.find_folder(spot)
    for kind, name in RESOURCE.findall(text):
        for document in folder.documents if folder else ():
            if document.node(("resource", kind, name)) is not None:
                yield Spot(document, ("resource", kind, name))
