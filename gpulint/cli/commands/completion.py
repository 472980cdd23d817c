"""`gpulint completion`: the script that makes a shell complete gpulint's commands, options and names."""

from __future__ import annotations

import click
from click import shell_completion

USE = """\b
bash 4.4 or newer, into ~/.bashrc:     eval "$(gpulint completion bash)"
zsh, into ~/.zshrc after compinit:     eval "$(gpulint completion zsh)"
fish, once:                            gpulint completion fish > ~/.config/fish/completions/gpulint.fish
"""


@click.command("completion", short_help="Print the script that makes a shell complete.", epilog=USE)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the script that makes a shell complete gpulint's commands, options, rules and accelerators."""
    from gpulint.cli import main

    made = {
        "bash": shell_completion.BashComplete,
        "zsh": shell_completion.ZshComplete,
        "fish": shell_completion.FishComplete,
    }[shell]
    script = shell_completion.ShellComplete.source(made(main, {}, "gpulint", "_GPULINT_COMPLETE"))
    click.echo(script)
