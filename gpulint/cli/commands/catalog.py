"""`gpulint catalog`: the tables of accelerators, servers, optics, switches, architectures and prices."""

from __future__ import annotations

import click

from gpulint.cli import TODAY, Misuse, near
from gpulint.cli import completion_names as _names


@click.command("catalog", short_help="List accelerators, servers, optics, switches, architectures or prices.")
@click.argument(
    "table", type=click.Choice(["accelerators", "servers", "optics", "switches", "architectures", "prices"])
)
@click.argument("name", required=False, shell_complete=_names.catalogued)
@TODAY
def command(table: str, name: str | None, today: str) -> None:
    """List a table of the catalog (`optics`: transceivers and cables), or show one row with its source."""
    from gpulint.cli import catalog_tables as listings
    from gpulint.cli import price_table as price_list
    from gpulint.pipeline import memory_breakdown as sizes

    if table == "prices":
        _print_prices(name, today)
        return
    rows = listings.rows(table)
    if name is None:
        click.echo(sizes.columns(rows))
        return
    details = listings.row(table, name)
    if details is None:
        noun = "switch" if table == "switches" else table.removesuffix("s")
        raise Misuse(f"the catalog has no {noun} {name}{near(name, listings.known(table))}")
    click.echo(details)
    if table == "accelerators" and (prices := list(price_list.cheapest(listings.accelerator_id(name), today))):
        click.echo(sizes.columns(prices))


def _print_prices(name: str | None, today: str) -> None:
    from gpulint.cli import price_table as price_list
    from gpulint.pipeline import memory_breakdown as sizes

    rows = price_list.rows(name, today)
    if name is not None and len(rows) == 1:
        raise Misuse(f"the catalog has no price for {name}{near(name, price_list.names())}")
    click.echo(sizes.columns(rows))
