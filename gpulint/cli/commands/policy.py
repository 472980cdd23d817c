"""`gpulint policy`: the settings of a path, the available packs, and the schema of gpulint.yaml."""

from __future__ import annotations

from pathlib import Path

import click

from gpulint.cli import Misuse, completion_names, prepare_session, print_stderr, suggest_name
from gpulint.cli.options import FORMAT

GROUP = "Set up"


@click.group("policy", short_help="Show the settings of a path, and the packs.")
def command() -> None:
    """Show the settings that apply to a path, and the packs that gpulint.yaml can extend."""


@command.command("show", short_help="Show the settings that apply to PATH, with their origins.")
@click.argument("path", default=".", type=click.Path())
@FORMAT
def show(path: str, format_: str) -> None:
    """Show the settings that apply to PATH (default: the current folder), each with its file and line."""
    from gpulint.pipeline.session import Options
    from gpulint.policy import effective
    from gpulint.policy.config import files
    from gpulint.policy.rules import rule

    run = prepare_session([path], Options())
    place = Path(path).resolve()
    relative, is_folder = place.relative_to(run.tree.root).as_posix(), place.is_dir()
    try:
        run.given.resolve(path)
        chain = run.policies.nearest(relative) if is_folder else run.policies.resolve(relative)
        overrides = () if is_folder else run.policies.overrides(relative)
        settings_of_path = effective.resolve(path, chain, overrides, run.policies.excludes(relative))
    except (files.SettingsError, rule.RuleError) as error:
        raise Misuse(str(error)) from None
    if not place.exists():
        print_stderr([f"{path} does not exist yet; these settings would apply to it"])
    click.echo(
        effective.render_json(settings_of_path) if format_ == "json" else effective.render_text(settings_of_path),
        nl=False,
    )


@command.command("packs")
@click.argument("name", required=False, shell_complete=completion_names.packs)
def list_packs(name: str | None) -> None:
    """List the packs that `extends` can name, or print the pack NAME."""
    from gpulint.policy.config import packs

    names = packs.list_names()
    if name is None:
        width = max(map(len, names))
        for pack in names:
            click.echo(f"{pack:<{width}}  {packs.load_pack(pack).stated.get('summary', '')}")
    elif name in names:
        click.echo((packs.open_shipped().read(f"{name}.yaml") or b"").decode(), nl=False)
    else:
        raise Misuse(f"no such pack: {name}{suggest_name(name, names)}")


@command.command("schema", short_help="Print the JSON Schema of gpulint.yaml.")
def print_schema() -> None:
    """Print the JSON Schema of gpulint.yaml. Editors use it to complete and check the file as you type."""
    from gpulint.catalog import package_data

    click.echo((package_data.find_folder("schemas") / "policy.json").read_text(encoding="utf-8"), nl=False)
