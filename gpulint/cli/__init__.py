"""The command line: options in, exit code out. Each command is the module of its name, imported on use."""

from __future__ import annotations

import difflib
import gc
import importlib
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from gpulint.version import __version__

if TYPE_CHECKING:
    from gpulint.pipeline.session import Options, Session
    from gpulint.policy.rules.rule import Rule
    from gpulint.source.repository import Tree

CLEAN, FOUND, MISUSED, BROKEN = 0, 1, 2, 3
T = TypeVar("T")
HELP_INDENT = 6
RECORDS_BETWEEN_COLLECTIONS = 100_000
"""A check makes records that live until its end. With Python's 700, a large file takes twice as long to search for cycles."""
SEVERITIES = click.Choice(["error", "warning", "note"])


class Misuse(click.ClickException):
    """A wrong option, rule or settings file. gpulint exits with code 2."""

    exit_code = MISUSED

    def show(self, file: object = None) -> None:
        click.echo("\n".join(map(replace_unprintable, f"gpulint: {self.format_message()}".split("\n"))), err=True)


class Commands(click.Group):
    """The commands defined by the modules of this package."""

    def list_commands(self, context: click.Context) -> list[str]:
        """Return the name of every command: the name of its module."""
        return sorted(path.stem for path in (Path(__file__).parent / "commands").glob("[a-z]*.py"))

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        """Return the command of one module."""
        if name not in self.list_commands(context):
            return None
        command: click.Command = importlib.import_module(f"gpulint.cli.commands.{name}").command
        return command

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands under the titles of their groups, which their modules name."""
        groups: dict[str, list[tuple[str, str]]] = {}
        width = formatter.width - HELP_INDENT - max(map(len, self.list_commands(context)))
        for name in self.list_commands(context):
            command = self.get_command(context, name)
            if command is not None and not command.hidden:
                title = importlib.import_module(f"gpulint.cli.commands.{name}").GROUP
                groups.setdefault(title, []).append((name, command.get_short_help_str(width)))
        for title, rows in sorted(groups.items()):
            with formatter.section(title):
                formatter.write_dl(rows)

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the requested command; fail with the closest name if there is no such command."""
        if (
            not context.resilient_parsing
            and args
            and not args[0].startswith("-")
            and args[0] not in self.list_commands(context)
        ):
            similar = difflib.get_close_matches(args[0], self.list_commands(context), n=1)
            context.fail(f"no such command: {args[0]}" + (f"; did you mean {similar[0]}?" if similar else ""))
        return super().resolve_command(context, args)


def _print_version(context: click.Context, _: click.Parameter, is_set: bool) -> None:
    if is_set:
        click.echo(f"gpulint {__version__}")
        context.exit()


def _parse_day(context: click.Context, _: click.Parameter, day: str | None) -> str:
    if day is None:
        from gpulint.pipeline import today

        return today.today()
    from datetime import date

    try:
        return date.fromisoformat(day).isoformat()
    except ValueError:
        raise Misuse(f"--today {day} is not a date; write it as YYYY-MM-DD, for example 2026-11-22") from None


TODAY = click.option(
    "--today",
    metavar="DAY",
    callback=_parse_day,
    help="Date used for price age and waiver expiry.  [default: today]",
)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version, help="Show the version."
)
def main() -> None:
    """Check GPU deployment specs against what the hardware can do."""
    gc.set_threshold(RECORDS_BETWEEN_COLLECTIONS, 20, 100)


def prepare_session(paths: Iterable[str], options: Options) -> Session:
    """Return the session of a run; raise Misuse if its options or settings are wrong."""
    from gpulint.pipeline import session

    try:
        return session.prepare(tuple(paths), options)
    except session.Unusable as error:
        raise Misuse(str(error)) from None


def load_rules(folders: Iterable[str] = ()) -> tuple[Rule, ...]:
    """Return the built-in rules and those of the nearest gpulint.yaml and of the given folders."""
    from gpulint.pipeline.session import Options
    from gpulint.policy.rules import selection

    run = prepare_session((), Options(rules=tuple(folders)))
    return tuple(selection.load_rules(run.settings, folders).values())


def split_values(values: Iterable[str]) -> tuple[str, ...]:
    """Return the values of a repeatable option that also takes comma-separated values."""
    return tuple(word for value in values for word in value.split(",") if word)


def print_stderr(lines: Iterable[str]) -> None:
    """Print lines to stderr without terminal control characters."""
    for line in lines:
        click.echo(f"gpulint: {replace_unprintable(line)}", err=True)


def watch(what: str, file_timeout_s: float, action: Callable[[], T]) -> T:
    """Return the result of an action on one file; say so and end with 3 if it takes too long."""
    from gpulint.pipeline.watchdog import OutOfTime, Watchdog

    try:
        return Watchdog(file_timeout_s).watch(action)
    except OutOfTime as reason:
        print_stderr([f"{what}: {reason}"])
        sys.exit(BROKEN)


def print_unread(tree: Tree) -> bool:
    """Print what the system refused to read during a run; return whether it refused anything."""
    unread = tree.list_unread()
    print_stderr(f"{skip.path} {skip.reason}" for skip in unread)
    return bool(unread)


def replace_unprintable(line: str) -> str:
    """Return a line in which every non-printable character is replaced."""
    return "".join(character if character.isprintable() else "\ufffd" for character in line)


def suggest_name(word: str, known: Iterable[str]) -> str:
    """Return the end of a message about an unknown name: the closest known one, if any."""
    from gpulint.policy import did_you_mean

    return did_you_mean.suggest(word, known)
