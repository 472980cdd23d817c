"""Options shared by several commands."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

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


def _sort_paths(_context: click.Context, _parameter: click.Parameter, paths: tuple[str, ...]) -> tuple[str, ...]:
    """Return each path once and in sorted order: a report does not depend on the order of the arguments."""
    return tuple(sorted(set(paths)))


PATHS = click.argument("paths", nargs=-1, type=click.Path(), callback=_sort_paths)
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

FILE_TIMEOUT = click.option(
    "--file-timeout",
    metavar="SECONDS",
    type=click.FloatRange(min=0, max=1e6),
    default=10.0,
    show_default=True,
    help="Limit the CPU time of each file; a file that takes longer fails as not checked. 0 sets no limit.",
)
TIMEOUT = click.option(
    "--timeout",
    metavar="SECONDS",
    type=click.FloatRange(min=0, max=1e6),
    default=0.0,
    help="Limit the CPU time of the run; files that it does not reach fail as not checked. 0 sets no limit.  [default: 0]",
)


def collect(**records: type[tuple[Any, ...]]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Let a command take its options as records: each parameter gets the options that its record
    names.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def call(**options: object) -> None:
            groups = {
                parameter: {name: options.pop(name) for name in record.__annotations__ if name in options}
                for parameter, record in records.items()
            }
            command(**options, **{parameter: records[parameter](**group) for parameter, group in groups.items()})

        return call

    return decorate
