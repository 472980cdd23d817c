"""Price list: the table of `gpulint catalog prices`, and the cheapest machines of an
accelerator.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpulint import units
from gpulint.catalog import hardware, offers
from gpulint.catalog.hardware import ListPrice, Node

HEAD = ("machine", "accelerator", "cloud", "region", "on demand", "spot", "per GPU", "date")
CHEAPEST = 3


def list_rows(name: str | None, today: str) -> list[tuple[str, ...]]:
    """Return the list prices of all machines in their default region, or of one machine or
    accelerator in every region.
    """
    product = hardware.find_accelerator(name) if name else None
    wanted = product.id if product else name
    found = [
        _render_row(node, price, today)
        for node in sorted(
            hardware.list_nodes(), key=lambda node: (node.accelerator, node.node_gpus, node.instance_type)
        )
        if wanted in (None, node.instance_type, node.accelerator)
        for price in hardware.list_prices(node.instance_type)
        if name or price.home
    ]
    return [HEAD, *found]


def list_names() -> list[str]:
    """Return the names for which there are prices."""
    return [node.instance_type for node in hardware.list_nodes()] + sorted(
        {node.accelerator for node in hardware.list_nodes()}
    )


def find_cheapest(accelerator: str, today: str) -> Iterator[tuple[str, str]]:
    """Yield the cheapest machines of an accelerator per GPU, as lines of a record."""
    priced = [
        offer
        for offer in offers.list_offers(offers.EVERYTHING, accelerator=accelerator)
        if offer.cost_usd_per_hour is not None
    ]
    for offer in sorted(
        priced, key=lambda offer: ((offer.cost_usd_per_hour or 0) / offer.node_gpus, offer.instance_type)
    )[:CHEAPEST]:
        price = units.human((offer.cost_usd_per_hour or 0) / offer.node_gpus, "usd_per_hour")
        yield "price_of_one", f"{price} in {offer.instance_type}, {offers.describe_price(offer, today)}"


def _render_row(node: Node, price: ListPrice, today: str) -> tuple[str, ...]:
    price_per_gpu = None if price.usd_per_hour is None else price.usd_per_hour / node.node_gpus
    cells = (_render_cell(price.usd_per_hour), _render_cell(price.spot_usd_per_hour), _render_cell(price_per_gpu))
    where = (node.instance_type, f"{node.node_gpus} × {node.accelerator}", node.cloud, price.region)
    return (*where, *cells, price.date + offers.describe_age(price.date, today))


def _render_cell(price: float | None) -> str:
    return "?" if price is None else units.human(price, "usd_per_hour")
