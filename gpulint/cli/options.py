"""Options shared by several commands."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from gpulint.cli import completion_names

RULES_GROUP = "Rules"
FILES_GROUP = "Files"
LIMITS_GROUP = "Limits"


class GroupedOption(click.Option):
    """An option that stands under a title in the help of its command."""

    def __init__(self, *words: Any, group: str = "", **settings: Any) -> None:
        super().__init__(*words, **settings)
        self.group = group


class GroupedCommand(click.Command):
    """A command whose help lists its options by group, in the order in which the groups first occur."""

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options under the titles of their groups; the others come last."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(context):
            if (record := parameter.get_help_record(context)) is not None:
                groups.setdefault(getattr(parameter, "group", "") or "Other options", []).append(record)
        for title in sorted(groups, key="Other options".__eq__):
            with formatter.section(title):
                formatter.write_dl(groups[title])


option = functools.partial(click.option, cls=GroupedOption)

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
ACCELERATOR = option(
    "--accelerator",
    metavar="NAME",
    default="",
    shell_complete=completion_names.accelerators,
    group=FILES_GROUP,
    help="Accelerator for workloads that do not name one.",
)
RULES = option(
    "--rules",
    "folders",
    multiple=True,
    metavar="DIR",
    type=click.Path(),
    group=RULES_GROUP,
    help="Also load rules from this folder; repeatable.",
)
SELECT = option(
    "--select",
    multiple=True,
    metavar="NAME",
    shell_complete=completion_names.rules,
    group=RULES_GROUP,
    help="Run only this rule or family; repeatable, or comma-separated.",
)

FILE_TIMEOUT = option(
    "--file-timeout",
    metavar="SECONDS",
    type=click.FloatRange(min=0, max=1e6),
    default=10.0,
    show_default=True,
    group=LIMITS_GROUP,
    help="Limit the CPU time of each file; a file that takes longer fails as not checked. 0 sets no limit.",
)
TIMEOUT = option(
    "--timeout",
    metavar="SECONDS",
    type=click.FloatRange(min=0, max=1e6),
    default=0.0,
    group=LIMITS_GROUP,
    help="Limit the CPU time of the run; files that it does not reach fail as not checked.  [default: no limit]",
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
