"""Options shared by several commands."""

from __future__ import annotations

import click

from gpulint.cli import completion_names

FORMAT = click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Format of the report on stdout.",
)
ACCELERATOR = click.option(
    "--accelerator",
    metavar="NAME",
    default="",
    shell_complete=completion_names.accelerators,
    help="Accelerator for workloads that do not name one.",
)
RULES = click.option(
    "--rules",
    "folders",
    multiple=True,
    metavar="DIR",
    type=click.Path(),
    help="Also load rules from this folder; repeatable.",
)
SELECT = click.option(
    "--select",
    multiple=True,
    metavar="NAME",
    shell_complete=completion_names.rules,
    help="Run only this rule or family; repeatable, or comma-separated.",
)
