"""The page of the command line, made from the commands themselves."""

from __future__ import annotations

from collections.abc import Iterator

import click

from gpulint import cli
from gpulint.cli.explain import page

Words = tuple[str, ...]
"""The words that call a command, without the name of the program."""


def render() -> str:
    """Every command with its options, as Markdown."""
    commands = tuple(list_commands())
    rows = tuple((f"[`{' '.join(words)}`](#{'-'.join(words)})", _summary(command)) for words, command in commands)
    lines = ["# The command line", "", _help(cli.main), "", INTRODUCTION, ""]
    lines += page.render_table(("command", "does"), rows)
    for words, command in commands:
        lines += ["", f"## {' '.join(words)}", "", *_usage(words, command)]
    return "\n".join(lines) + "\n"


INTRODUCTION = """\
`gpulint --version` prints the version. `-h` or `--help` after any command prints the text below. A command exits
with 0 if there are no findings at or above `--fail-on`, and with 1 if there are some. It exits with 2 if an option, a
rule or a settings file is wrong, and with 3 after an error in gpulint itself."""


def list_commands() -> Iterator[tuple[Words, click.Command]]:
    """Every command and every subcommand."""
    yield from _walk(cli.main, click.Context(cli.main, info_name="gpulint"), ())


def _walk(group: click.Group, context: click.Context, above: Words) -> Iterator[tuple[Words, click.Command]]:
    for word in group.list_commands(context):
        command = group.get_command(context, word)
        if command is None:
            continue
        yield (*above, word), command
        if isinstance(command, click.Group):
            yield from _walk(command, click.Context(command, parent=context, info_name=word), (*above, word))


def _usage(words: Words, command: click.Command) -> Iterator[str]:
    arguments = (_argument(parameter) for parameter in command.params if isinstance(parameter, click.Argument))
    options = tuple(_option(parameter) for parameter in command.params if isinstance(parameter, click.Option))
    subcommand = ("COMMAND …",) if isinstance(command, click.Group) else ()
    call = " ".join(("gpulint", *words, *(["[OPTIONS]"] if options else []), *subcommand, *arguments))
    yield from ("```text", call, "```", "", _help(command))
    if options:
        yield from ("", *page.render_table(("option", "meaning", "default"), options))


def _help(command: click.Command) -> str:
    """The help of a command; a block that click prints as it is written becomes a code block."""
    blocks = (command.help or "").strip().split("\n\n")
    return "\n\n".join(
        f"```text{block.removeprefix(chr(8))}\n```" if block.startswith("\b") else " ".join(block.split())
        for block in blocks
    )


def _summary(command: click.Command) -> str:
    return " ".join((command.help or "").strip().partition("\n\n")[0].split())


def _argument(argument: click.Argument) -> str:
    words = _choices(argument.type) or argument.metavar or (argument.name or "").upper()
    several = "…" if argument.nargs == -1 else ""
    return f"{words}{several}" if argument.required else f"[{words}{several}]"


def _option(option: click.Option) -> tuple[str, str, str]:
    """The spellings of an option, its help and its default, which some state at the end of their help."""
    spellings = ", ".join(f"`{word}`" for word in (*option.opts, *option.secondary_opts))
    value = option.metavar or _choices(option.type) or option.type.name.upper()
    meaning, _, default = (option.help or "").partition("  [default: ")
    if option.show_default and isinstance(option.default, str | int | float):
        default = str(option.default)
    several = " Repeatable." if option.multiple and "repeatable" not in meaning else ""
    return spellings if option.is_flag else f"{spellings} `{value}`", meaning + several, default.rstrip("]")


def _choices(kind: click.ParamType[object]) -> str:
    return "|".join(map(str, kind.choices)) if isinstance(kind, click.Choice) else ""
