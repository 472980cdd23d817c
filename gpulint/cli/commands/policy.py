"""`gpulint policy`: what governs a path, the packs that a policy can extend, and the contract of its file."""

from __future__ import annotations

from pathlib import Path

import click

from gpulint.cli import Misuse, near, prepared, tell
from gpulint.cli import completion_names as _names
from gpulint.cli.options import FORMAT


@click.group("policy", short_help="Show what governs a path, and the packs.")
def command() -> None:
    """Show the settings that govern a path, and the packs that settings can extend."""


@command.command("show", short_help="Show what governs PATH, each value with its origin.")
@click.argument("path", default=".", type=click.Path())
@FORMAT
def show(path: str, format_: str) -> None:
    """Show what governs PATH (default: the current folder), each value with the file and line that says it."""
    from gpulint.pipeline.session import Options
    from gpulint.policy.config import effective, settings
    from gpulint.policy.rules import rule

    run = prepared([path], Options())
    place = Path(path).resolve()
    inside, whole = place.relative_to(run.tree.root).as_posix(), place.is_dir()
    try:
        run.given.at(path)
        found = run.policies.nearest(inside) if whole else run.policies.at(inside)
        over = () if whole else run.policies.overrides(inside)
        shown = effective.of(path, found, over, run.policies.excludes(inside))
    except (settings.SettingsError, rule.RuleError) as error:
        raise Misuse(str(error)) from None
    if not place.exists():
        tell([f"there is no file or folder {path} yet; this is what would govern it"])
    click.echo(effective.as_json(shown) if format_ == "json" else effective.as_text(shown), nl=False)


@command.command("packs")
@click.argument("name", required=False, shell_complete=_names.packs)
def list_packs(name: str | None) -> None:
    """List the packs that `extends` can name, or print one."""
    from gpulint.policy.config import packs

    names = packs.names()
    if name is None:
        width = max(map(len, names))
        for one in names:
            click.echo(f"{one:<{width}}  {packs.pack(one).stated.get('summary', '')}")
    elif name in names:
        click.echo((packs.shipped_packs().read(f"{name}.yaml") or b"").decode(), nl=False)
    else:
        raise Misuse(f"no pack is called {name}{near(name, names)}")


@command.command("schema", short_help="Print the JSON Schema of gpulint.yaml.")
def print_schema() -> None:
    """Print the JSON Schema of gpulint.yaml, for editors that complete and check it as you type."""
    from gpulint.catalog import package_data as shipped

    click.echo((shipped.folder("schemas") / "policy.json").read_text(encoding="utf-8"), nl=False)
