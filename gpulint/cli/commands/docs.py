"""`gpulint docs`: the reference of rules, facts, formats, engines and commands, as pages."""

from __future__ import annotations

from pathlib import Path

import click

from gpulint.cli import Misuse
from gpulint.source import os_errors

GROUP = "Look up"


@click.command("docs", short_help="Write the reference pages as Markdown.")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--pages",
    metavar="FOLDER",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Also add the hand-written pages of this folder, and link them with the reference pages.",
)
def command(folder: Path, pages: Path | None) -> None:
    """Write a page for every rule, fact, format, engine and command to DIR.

    DIR must be new or empty, or contain the pages of an earlier run, which are replaced.
    """
    from gpulint.cli.explain import site

    try:
        site.check_target(folder, pages)
        contents = site.collect(pages)
        site.write(folder, contents)
    except site.SiteError as error:
        raise Misuse(f"{error}; nothing was written") from None
    except OSError as error:
        raise Misuse(f"{folder} cannot be written: {os_errors.explain(error)}") from None
    click.echo(f"wrote {len(contents)} files to {folder}")
