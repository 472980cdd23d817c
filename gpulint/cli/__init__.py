"""The command line: options in, exit code out; each command is the module of its name, imported when it is asked for."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gpulint.version import __version__

if TYPE_CHECKING:
    from gpulint.pipeline.session import Options, Run
    from gpulint.policy.rules.rule import Rule

CLEAN, FOUND, MISUSED, BROKEN = 0, 1, 2, 3
SEVERITIES = click.Choice(["error", "warning", "note"])


class Misuse(click.ClickException):
    """A wrong option, rule or settings file; exit code 2."""

    exit_code = MISUSED

    def show(self, file: object = None) -> None:
        click.echo("\n".join(map(printable, f"gpulint: {self.format_message()}".split("\n"))), err=True)


class Commands(click.Group):
    """The commands that the modules of this package hold."""

    def list_commands(self, context: click.Context) -> list[str]:
        """Every command, by its module's name."""
        return sorted(path.stem for path in (Path(__file__).parent / "commands").glob("[a-z]*.py"))

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        """The command of one module."""
        if name not in self.list_commands(context):
            return None
        found: click.Command = importlib.import_module(f"gpulint.cli.commands.{name}").command
        return found

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is asked for, or what it may be meant to be."""
        if (
            not context.resilient_parsing
            and args
            and not args[0].startswith("-")
            and args[0] not in self.list_commands(context)
        ):
            near = difflib.get_close_matches(args[0], self.list_commands(context), n=1)
            context.fail(f"no command is called {args[0]}" + (f"; did you mean {near[0]}?" if near else ""))
        return super().resolve_command(context, args)


def _version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        click.echo(f"gpulint {__version__}")
        context.exit()


def _day(context: click.Context, _: click.Parameter, day: str | None) -> str:
    if day is None:
        from gpulint.pipeline import today as clock

        return clock.today()
    from datetime import date

    try:
        return date.fromisoformat(day).isoformat()
    except ValueError:
        raise Misuse(f"--today {day} is no day: write it as 2026-11-22") from None


TODAY = click.option(
    "--today",
    metavar="DAY",
    callback=_day,
    help="The day on which the age of prices and the end of waivers are told.  [default: today]",
)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Show the version.")
def main() -> None:
    """Check GPU deployment specs against what the hardware can do."""


def prepared(paths: Iterable[str], options: Options) -> Run:
    """What governs a run, or Misuse with what is wrong with its options and settings."""
    from gpulint.pipeline import session as preparation

    try:
        return preparation.prepared(tuple(paths), options)
    except preparation.Unusable as error:
        raise Misuse(str(error)) from None


def known_rules(folders: Iterable[str] = ()) -> tuple[Rule, ...]:
    """The rules of gpulint, of the nearest gpulint.yaml, and of the folders named."""
    from gpulint.pipeline.session import Options
    from gpulint.policy.rules import selection

    run = prepared((), Options(rules=tuple(folders)))
    return tuple(selection.known(run.settings, folders).values())


def words(given: Iterable[str]) -> tuple[str, ...]:
    """The words of a repeatable option that also takes commas."""
    return tuple(word for part in given for word in part.split(",") if word)


def tell(lines: Iterable[str]) -> None:
    """Say lines on stderr, without characters that a terminal would obey."""
    for line in lines:
        click.echo(f"gpulint: {printable(line)}", err=True)


def printable(line: str) -> str:
    """A line without characters that a terminal would obey."""
    return "".join(one if one.isprintable() else "\ufffd" for one in line)


def near(word: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown name."""
    from gpulint.policy.config import did_you_mean as spelling

    return spelling.near(word, known)
