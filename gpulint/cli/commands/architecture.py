"""`gpulint architecture`: the model architecture that a config.json describes."""

from __future__ import annotations

from pathlib import Path

import click

from gpulint.cli import Misuse

GROUP = "Look up"


@click.command("architecture", short_help="Show the architecture in a Hugging Face config.json.")
@click.argument("config", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--id", "reference", metavar="ID", default=None, help="Name of the checkpoint.  [default: the file's folder]"
)
@click.option(
    "--csv",
    "as_csv",
    is_flag=True,
    help="Print the architecture as a row of gpulint/catalog/tables/architectures.csv, with the header.",
)
@click.option("--source", default="", help="Source of the file, such as its URL; --csv records it in the row.")
def command(config: Path, reference: str | None, as_csv: bool, source: str) -> None:
    """Show the architecture in a Hugging Face config.json: shape, exact parameter counts by part, and KV cache."""
    from gpulint.catalog.architecture import description, network
    from gpulint.catalog.architecture.config import Unread

    name = reference or config.resolve().parent.name
    try:
        architecture = network.read(name, config.read_bytes().decode("utf-8-sig", "replace"))
    except Unread as reason:
        raise Misuse(f"{config}: {reason}") from None
    click.echo(
        description.render_row(architecture, source) if as_csv else description.render_text(architecture), nl=False
    )
