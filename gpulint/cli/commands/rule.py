"""`gpulint rule`: write a team's own rules from a working template and test them on their samples."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from gpulint.cli import CLEAN, FOUND, MISUSED, Misuse, completion_names, split_values
from gpulint.cli.options import FORMAT, PATHS, SELECT
from gpulint.source import os_errors

GROUP = "Set up"

FOLDER = "policies/gpulint"


@click.group("rule", short_help="Write rules of your own, and test them.")
def command() -> None:
    """Write rules of your own, and test them on their own samples."""


@command.command("new", short_help="Write a working example rule to edit.")
@click.argument("name")
@click.option(
    "--family",
    default="organisation",
    show_default=True,
    shell_complete=completion_names.families,
    help="Family of the rule, and name of its folder.",
)
@click.option(
    "--dir",
    "folder",
    metavar="DIR",
    type=click.Path(),
    help=f"Folder that contains the families.  [default: the first folder under rules: in gpulint.yaml, or {FOLDER}]",
)
@click.option(
    "--scope",
    type=click.Choice(["workload", "document"]),
    default="workload",
    show_default=True,
    help="What the rule checks: each role of a workload, or each document.",
)
def new(name: str, family: str, folder: str | None, scope: str) -> None:
    """Write a working example rule, FAMILY/NAME.yaml, to edit. NAME describes the defect."""
    from gpulint.catalog import package_data
    from gpulint.cli.scaffold import rule
    from gpulint.policy.rules.rule import load_shipped
    from gpulint.source import atomic_write

    if reason := rule.find_naming_error(name) or rule.find_naming_error(family, "family"):
        raise Misuse(reason)
    if name in load_shipped():
        raise Misuse(f"gpulint already has a rule {name}; choose another name")
    configured = _find_folders()
    place = Path(folder or next(iter(configured), FOLDER))
    existing = [path for folder_ in {*configured, str(place)} for path in Path(folder_).rglob(f"{name}.y*ml")]
    if existing:
        raise Misuse(f"{existing[0]} already exists; nothing was written")
    path = place / family / f"{name}.yaml"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic_write.write(path, rule.render(name, scope, place.as_posix()).encode())
    except OSError as error:
        raise Misuse(f"{path} cannot be written: {os_errors.explain(error)}") from None
    click.echo(f"wrote {path}")
    click.echo(f"next: gpulint rule test {place}")
    loaded = [Path(rules).resolve() for rules in configured] + [package_data.find_folder("rules").resolve()]
    if not any(place.resolve().is_relative_to(rules) for rules in loaded):
        line = f"rules: [{', '.join([*configured, place.as_posix()])}]"
        click.echo(f"then add to gpulint.yaml so that gpulint check runs it: {line}")


@command.command("test", short_help="Test rules on their own samples.")
@PATHS
@SELECT
@FORMAT
def test(paths: Sequence[str], select: Sequence[str], format_: str) -> None:
    """Test rules on their own samples (default: the folders under rules: in gpulint.yaml).

    A bad sample must give a finding of its rule at every line marked `# <- here`, and at no other line. A good sample
    must give none.
    """
    from gpulint.pipeline.rule_tests import runner, text

    results = list(runner.run(_files(paths or _find_folders()), split_values(select)))
    if not results:
        raise Misuse(f"these folders contain no rule or family called {' or '.join(split_values(select))}")
    click.echo(text.render_json(results) if format_ == "json" else text.render_text(results), nl=False)
    if any(result.unusable for result in results):
        sys.exit(MISUSED)
    sys.exit(CLEAN if all(result.has_passed for result in results) else FOUND)


def _files(folders: Sequence[str]) -> Iterator[Path]:
    """Yield the rule files in the given paths, each once; raise Misuse for a folder without rules."""
    from gpulint.policy.rules import diagnostics
    from gpulint.policy.rules.rule import RuleError

    if not folders:
        raise Misuse(
            "no rule folder is given; name one, or list it under rules: in gpulint.yaml; `gpulint rule new NAME` creates one"
        )
    seen = set()
    for folder in map(Path, folders):
        try:
            files = [folder] if folder.is_file() else list(diagnostics.find_files(folder))
        except RuleError as error:
            raise Misuse(str(error)) from None
        if not files:
            raise Misuse(f"{folder} contains no rule; `gpulint rule new NAME --dir {folder}` creates one")
        yield from (path for path in files if path.resolve() not in seen)
        seen |= {path.resolve() for path in files}


def _find_folders() -> tuple[str, ...]:
    """Return the rule folders that the nearest gpulint.yaml names, relative to the current folder."""
    from gpulint.policy.config import files, load
    from gpulint.policy.config.files import DiskReader
    from gpulint.source import repository

    here = Path.cwd()
    root = repository.find_root(here)
    try:
        configured = load.find_nearest(DiskReader(root), here.relative_to(root).as_posix()).rules
    except files.SettingsError as error:
        raise Misuse(str(error)) from None
    return tuple(folder.reader.render_path(folder.path) for folder in configured if folder.reader.root == root)
