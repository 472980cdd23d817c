"""`gpulint catalog`: the tables of accelerators, servers, optics, switches, architectures and prices."""

from __future__ import annotations

import click

from gpulint.cli import TODAY, Misuse, completion_names, suggest_name

GROUP = "Look up"


@click.command("catalog", short_help="List accelerators, servers, optics, switches, architectures or prices.")
@click.argument(
    "table", type=click.Choice(["accelerators", "servers", "optics", "switches", "architectures", "prices"])
)
@click.argument("name", required=False, shell_complete=completion_names.catalog_names)
@TODAY
def command(table: str, name: str | None, today: str) -> None:
    """List a table of the catalog, or show its row NAME with the source. `optics` are transceivers and cables."""
    from gpulint.cli import catalog_tables, price_table
    from gpulint.pipeline import memory_breakdown

    if table == "prices":
        _print_prices(name, today)
        return
    rows = catalog_tables.list_rows(table)
    if name is None:
        click.echo(memory_breakdown.align_columns(rows))
        return
    details = catalog_tables.find_row(table, name)
    if details is None:
        noun = "switch" if table == "switches" else table.removesuffix("s")
        raise Misuse(f"the catalog has no {noun} {name}{suggest_name(name, catalog_tables.list_names(table))}")
    click.echo(details)
    if table == "accelerators" and (
        prices := list(price_table.find_cheapest(catalog_tables.find_accelerator_id(name), today))
    ):
        click.echo(memory_breakdown.align_columns(prices))


def _print_prices(name: str | None, today: str) -> None:
    from gpulint.cli import price_table
    from gpulint.pipeline import memory_breakdown

    rows = price_table.list_rows(name, today)
    if name is not None and len(rows) == 1:
        raise Misuse(f"the catalog has no price for {name}{suggest_name(name, price_table.list_names())}")
    click.echo(memory_breakdown.align_columns(rows))
