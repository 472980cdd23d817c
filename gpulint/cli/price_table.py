"""Price list: the table of `gpulint catalog prices`, and the cheapest machines of one accelerator."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint import units
from gpulint.catalog import hardware, offers
from gpulint.catalog.hardware import ListPrice, Node

HEAD = ("machine", "accelerator", "cloud", "region", "on demand", "spot", "each GPU", "date")
CHEAPEST = 3


def rows(name: str | None, today: str) -> list[tuple[str, ...]]:
    """The list prices of all machines where no region is stated, or of one machine or accelerator in every region."""
    product = hardware.named(name) if name else None
    wanted = product.id if product else name
    found = [
        _row(node, price, today)
        for node in sorted(hardware.list_nodes(), key=lambda one: (one.accelerator, one.node_gpus, one.instance_type))
        if wanted in (None, node.instance_type, node.accelerator)
        for price in hardware.list_prices(node.instance_type)
        if name or price.home
    ]
    return [HEAD, *found]


def names() -> list[str]:
    """What prices can be asked for."""
    return [one.instance_type for one in hardware.list_nodes()] + sorted(
        {one.accelerator for one in hardware.list_nodes()}
    )


def cheapest(accelerator: str, today: str) -> Iterator[tuple[str, str]]:
    """The cheapest machines of an accelerator for each GPU, as lines of a record."""
    held = [one for one in offers.of(offers.EVERYTHING, accelerator=accelerator) if one.cost_usd_per_hour is not None]
    for one in sorted(held, key=lambda one: ((one.cost_usd_per_hour or 0) / one.node_gpus, one.instance_type))[
        :CHEAPEST
    ]:
        each = units.human((one.cost_usd_per_hour or 0) / one.node_gpus, "usd_per_hour")
        yield "price_of_one", f"{each} in {one.instance_type}, {offers.listing(one, today)}"


def _row(node: Node, price: ListPrice, today: str) -> tuple[str, ...]:
    each = None if price.usd_per_hour is None else price.usd_per_hour / node.node_gpus
    cells = (_cell(price.usd_per_hour), _cell(price.spot_usd_per_hour), _cell(each))
    where = (node.instance_type, f"{node.node_gpus} × {node.accelerator}", node.cloud, price.region)
    return (*where, *cells, price.date + offers.age(price.date, today))


def _cell(price: float | None) -> str:
    return "?" if price is None else units.human(price, "usd_per_hour")
