"""`gpulint init`: gpulint.yaml and related files for a repository that has none."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import click

from gpulint import __version__
from gpulint.cli import BROKEN, TODAY, Misuse, prepare_session, print_stderr
from gpulint.source import os_errors

GROUP = "Set up"

HOOKS = ".pre-commit-config.yaml"
SETTINGS = "gpulint.yaml"


@click.command("init", short_help="Write gpulint.yaml and, on request, related files.")
@click.option("--hook", is_flag=True, help="Also write .pre-commit-config.yaml; if it exists, print what to add to it.")
@click.option(
    "--repo",
    metavar="URL",
    help="With --hook: URL of the gpulint repository.  [default: where gpulint was installed from]",
)
@click.option(
    "--spec", type=click.Path(dir_okay=False), help="Also write a commented spec in gpulint's own format to this file."
)
@click.option(
    "--facility",
    metavar="[FILE]",
    is_flag=False,
    flag_value="facility.yaml",
    type=click.Path(dir_okay=False),
    help="Also write a commented Facility to FILE, or to facility.yaml if you name no FILE.",
)
@TODAY
def command(hook: bool, repo: str | None, spec: str | None, facility: str | None, today: str) -> None:
    """Write gpulint.yaml with the hints that this repository's workloads need. Existing files are never overwritten."""
    from gpulint.cli.scaffold import settings
    from gpulint.pipeline import run
    from gpulint.pipeline.session import Options, disable_suggestions
    from gpulint.report.formats import summary_line

    if repo and not hook:
        raise Misuse("--repo requires --hook")
    hook_text = _write_hook(repo) if hook else ""
    report = run.report(disable_suggestions(prepare_session((), Options(today))), ())
    if report.failures or report.refused:
        print_stderr(summary_line.render_failures(report))
        print_stderr(f"{path} could not be read; nothing was written" for path in report.refused)
        sys.exit(BROKEN)
    keeps_settings = facility is not None and os.path.lexists(SETTINGS)
    targets = {} if keeps_settings else {SETTINGS: settings.render_settings(report)}
    by_hand = hook and os.path.lexists(HOOKS)
    if hook and not by_hand:
        targets[HOOKS] = hook_text
    if spec:
        targets[spec] = settings.SPEC
    if facility:
        targets[facility] = settings.FACILITY
    if existing := [name for name in targets if os.path.lexists(name)]:
        raise Misuse(f"{', '.join(existing)} already exists; nothing was written{_describe_hook(hook_text)}")
    _write(targets)
    for name in targets:
        click.echo(f"wrote {name}")
    if keeps_settings:
        click.echo(f"{SETTINGS} already exists and was left unchanged")
    if by_hand:
        click.echo(f"{HOOKS} already exists{_describe_hook(hook_text)}", nl=False)
    click.echo(settings.describe(report, facility), nl=False)


def _write(targets: Mapping[str, str]) -> None:
    """Write all files or none of them."""
    from gpulint.source import atomic_write

    try:
        atomic_write.replace([atomic_write.Change(Path(name), text.encode()) for name, text in targets.items()])
    except OSError as error:
        place = next((name for name in targets if _is_about(error, name)), ", ".join(targets))
        raise Misuse(f"{place} cannot be written: {os_errors.explain(error)}") from None


def _is_about(error: OSError, name: str) -> bool:
    """Whether an error names a file, or the temporary file beside it."""
    folder, file = os.path.split(os.path.abspath(str(error.filename or "")))
    wanted = os.path.split(os.path.abspath(name))
    return folder == wanted[0] and file.lstrip(".").startswith(wanted[1].lstrip("."))


def _write_hook(repo: str | None) -> str:
    """Return a hook file with the address that was given or found, or ask for it on a terminal."""
    from gpulint.cli.scaffold import address, settings

    chosen = repo or address.find()
    if not chosen and is_terminal():
        chosen = click.prompt("Address of the gpulint repository, for the hook", err=True)
    if not chosen:
        raise Misuse(
            "the address of the gpulint repository is not known: "
            "give it, as in --repo https://git.example.com/tools/gpulint; nothing was written"
        )
    if not address.is_address(chosen):
        raise Misuse(f"{chosen!r} is not an address that git can clone from; nothing was written")
    return settings.render_hook(chosen, __version__)


def is_terminal() -> bool:
    """Whether somebody sits at the terminal who can answer."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def _describe_hook(hook_text: str) -> str:
    """Return the lines to add to an existing hook file by hand; empty without a hook."""
    lines = hook_text.partition("\n")[2]
    return f"; to install the hook, add to {HOOKS} under repos:\n{lines}" if lines else ""
