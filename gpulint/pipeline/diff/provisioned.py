"""Provisioned hardware: what Terraform and other files of a repository create, in base and in head."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import count
from typing import NamedTuple

from gpulint.adapters.nodes.pool import Pool
from gpulint.catalog import hardware, offers
from gpulint.catalog.offers import Available
from gpulint.report.model import Figures, PoolChange, PoolFigures
from gpulint.workload import Field, Unknown

Prices = Callable[[str], Available]
Identity = tuple[str, str, int]


class Provisioned(NamedTuple):
    """The pools of one side, the prices that apply to a file, and the files that could not be read."""

    pools: tuple[Pool, ...]
    prices: Prices
    unread: Collection[str] = frozenset()


class _Nodes(NamedTuple):
    """A pool as it is reported, and what was read of it."""

    path: str
    name: str
    figures: PoolFigures
    inputs: object


def find_changes(base: Provisioned, head: Provisioned, renamed: Mapping[str, str]) -> Iterator[PoolChange]:
    """Yield the pools whose hardware or cost changes: those of head, then those that were removed."""
    left, after = _index(base), _index(head)
    for before, now in _pair(left, after, renamed):
        if _differs(before, now):
            yield PoolChange(now.name, now.path, _resolve_side(before, now.path in base.unread), now.figures)
    for before in left.values():
        if _takes(before):
            yield PoolChange(before.name, before.path, before.figures, _resolve_side(None, before.path in head.unread))


def _pair(
    left: dict[Identity, _Nodes], after: Mapping[Identity, _Nodes], renamed: Mapping[str, str]
) -> list[tuple[_Nodes | None, _Nodes]]:
    """Return each pool of head with its partner, which leaves `left`: in its file, or moved, or renamed."""
    found = [
        (left.pop((path, name, at), None) or left.pop((renamed.get(path, ""), name, at), None), now)
        for (path, name, at), now in after.items()
    ]
    for alike in (_key_moved, _key_renamed):
        gone: dict[object, list[Identity]] = {}
        for key, nodes in left.items():
            if key not in after:
                gone.setdefault(alike(nodes), []).append(key)
        found = [
            (before or (left.pop(gone[alike(now)].pop(0)) if gone.get(alike(now)) else None), now)
            for before, now in found
        ]
    return found


def _key_moved(nodes: _Nodes) -> object:
    """Return a key for pools of one name in any file."""
    return nodes.name


def _key_renamed(nodes: _Nodes) -> object:
    """Return a key for pools of one accelerator in one file."""
    return nodes.path, nodes.figures.accelerator


def _index(side: Provisioned) -> dict[Identity, _Nodes]:
    """Return the pools of a side by file, name, and index among equal ones."""
    numbers: dict[tuple[str, str], count[int]] = {}
    found: dict[Identity, _Nodes] = {}
    for pool in side.pools:
        path = pool.origin.document.path if pool.origin else ""
        nodes = _Nodes(path, pool.name, resolve_figures(pool, side.prices(path)), _list_inputs(pool))
        found[path, pool.name, next(numbers.setdefault((path, pool.name), count()))] = nodes
    return found


def _resolve_side(nodes: _Nodes | None, may_be: bool) -> PoolFigures | None:
    """Return the figures of a pool; of a missing one, unknown figures if it may exist."""
    if nodes is not None:
        return nodes.figures
    return PoolFigures() if may_be else None


def _takes(nodes: _Nodes) -> bool:
    """Return whether a pool has accelerators, or may have some."""
    return nodes.figures.accelerator != "" and nodes.figures.most.gpus != 0


def _differs(before: _Nodes | None, now: _Nodes) -> bool:
    """Return whether the hardware of a pool changed, or may have changed."""
    if before is None or not _takes(before):
        return _takes(now)
    lacks = None in (now.figures.accelerator, *now.figures.most[:3], *now.figures.least[:3])
    return before.figures != now.figures or (lacks and before.inputs != now.inputs)


def _list_inputs(pool: Pool) -> object:
    """Return what decides the hardware of a pool: its values, and the texts that an unknown one depends on."""
    amount = pool.amount.fields() if pool.amount else ()
    fields = [pool.accelerator, pool.gpus, pool.boards, pool.machine, *amount]
    stated = [field for field in fields if field is not None]
    origins = [origin for field in stated if isinstance(field.value, Unknown) for origin in field.origins]
    kinds = sorted(kind for key, kinds in pool.labels.items() if key.endswith("/instance-type") for kind in kinds)
    places = [(origin.path, origin.document.get(origin.path)) for origin in (*origins, *pool.basis)]
    return [None if field is None else field.value for field in fields], kinds, places


# ---- figures


def resolve_figures(pool: Pool, available: Available) -> PoolFigures:
    """Return what a pool has, at the prices that a team pays."""
    accelerator = None if isinstance(pool.accelerator.value, Unknown) else str(pool.accelerator.value or "")
    product = hardware.find_accelerator(accelerator) if accelerator else None
    machine = _read_text(pool.machine)
    if accelerator == "":
        nothing = Figures(0, 0, 0)
        return PoolFigures("", machine, nothing, nothing, nothing)
    sums = [
        _sum_figures(pool, field, product, available)
        for field in (pool.amount.fields() if pool.amount else (None,) * 3)
    ]
    most, least = (sums[at] for at in (1, 0))
    start = sums[2] if pool.amount and pool.amount.start else None
    name = product.name if product else accelerator
    return PoolFigures(name, machine, most, least, None if start == least == most else start)


def _sum_figures(
    pool: Pool, amount: Field | None, product: hardware.Accelerator | None, available: Available
) -> Figures:
    """Return the GPUs, the cost and the power of the boards of so many nodes."""
    number = _read_int(amount)
    if number == 0:
        return Figures(0, 0, 0)
    per_node = _read_int(pool.boards or pool.gpus)
    is_gpus = pool.amount is not None and pool.amount.of_gpus
    gpus = _multiply(number, 1 if is_gpus else per_node)
    nodes = number if not is_gpus else number / per_node if number is not None and per_node else None
    offer = offers.find_machine(available, _read_text(pool.machine)) if pool.machine else None
    return Figures(
        gpus=gpus,
        cost_usd_per_hour=_multiply(nodes, offer.cost_usd_per_hour if offer else None),
        power_w=_multiply(gpus, product.board_w if product else None),
    )


def _multiply(first: float | None, second: float | None) -> float | None:
    return None if first is None or second is None else first * second


def _read_int(field: Field | None) -> int | None:
    value = field.value if field is not None else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _read_text(field: Field | None) -> str:
    return field.value if field is not None and isinstance(field.value, str) else ""
