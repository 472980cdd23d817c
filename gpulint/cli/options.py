"""Options that several commands have."""

from __future__ import annotations

import click

from gpulint.cli import completion_names as _names

FORMAT = click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="What stdout shows.",
)
ACCELERATOR = click.option(
    "--accelerator",
    metavar="NAME",
    default="",
    shell_complete=_names.accelerators,
    help="The accelerator of workloads that name none.",
)
RULES = click.option(
    "--rules", "folders", multiple=True, metavar="DIR", type=click.Path(), help="Add a team's own rules; repeatable."
)
SELECT = click.option(
    "--select",
    multiple=True,
    metavar="NAME",
    shell_complete=_names.rules,
    help="Only this rule or family; repeatable, or comma-separated.",
)
