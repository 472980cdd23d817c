"""`gpulint completion`: the script that completes commands, options and names in a shell."""

from __future__ import annotations

import click
from click import shell_completion

GROUP = "Set up"

USE = """\b
bash 4.4 or newer, into ~/.bashrc:     eval "$(gpulint completion bash)"
zsh, into ~/.zshrc after compinit:     eval "$(gpulint completion zsh)"
fish, once:                            gpulint completion fish > ~/.config/fish/completions/gpulint.fish
"""


@click.command("completion", short_help="Print the shell completion script.", epilog=USE)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the shell completion script for gpulint's commands, options, rules and accelerators."""
    from gpulint.cli import main

    completer = {
        "bash": shell_completion.BashComplete,
        "zsh": shell_completion.ZshComplete,
        "fish": shell_completion.FishComplete,
    }[shell]
    script = shell_completion.ShellComplete.source(completer(main, {}, "gpulint", "_GPULINT_COMPLETE"))
    click.echo(script)
