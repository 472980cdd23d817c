"""`gpulint rule`: rules of a team's own, begun from a file that works and held against their own samples."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from gpulint.cli import CLEAN, FOUND, MISUSED, Misuse, words
from gpulint.cli import completion_names as _names
from gpulint.cli.options import FORMAT, SELECT

FOLDER = "policies/gpulint"


@click.group("rule", short_help="Write rules of your own, and test them.")
def command() -> None:
    """Write rules of your own, and test them on their own samples."""


@command.command("new", short_help="Write a rule that works, to be changed.")
@click.argument("name")
@click.option(
    "--family",
    default="organisation",
    show_default=True,
    shell_complete=_names.families,
    help="The folder of the file.",
)
@click.option(
    "--dir",
    "folder",
    metavar="DIR",
    type=click.Path(),
    help=f"Where families lie.  [default: rules: of gpulint.yaml, or {FOLDER}]",
)
@click.option(
    "--scope",
    type=click.Choice(["workload", "document"]),
    default="workload",
    show_default=True,
    help="What it judges: each role of a workload, or each document by itself.",
)
def new(name: str, family: str, folder: str | None, scope: str) -> None:
    """Write a rule that works, to be changed: FAMILY/NAME.yaml, NAME being what is wrong."""
    from gpulint.cli.scaffold import rule as rule_scaffold
    from gpulint.policy.rules.rule import shipped_rules

    if reason := rule_scaffold.unfit(name) or rule_scaffold.unfit(family, "family"):
        raise Misuse(reason)
    if name in shipped_rules():
        raise Misuse(f"gpulint has a rule {name} of its own: call yours otherwise")
    stated = _folders()
    place = Path(folder or next(iter(stated), FOLDER))
    taken = [path for one in {*stated, str(place)} for path in Path(one).rglob(f"{name}.y*ml")]
    if taken:
        raise Misuse(f"{taken[0]} exists already; nothing was written")
    path = place / family / f"{name}.yaml"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(rule_scaffold.text(name, scope, place.as_posix()))
    except OSError as error:
        raise Misuse(f"{path} cannot be written: {(error.strerror or str(error)).lower()}") from None
    click.echo(f"wrote {path}")
    click.echo(f"next: gpulint rule test {place}")
    if not any(place.resolve().is_relative_to(Path(one).resolve()) for one in stated):
        line = f"rules: [{', '.join([*stated, place.as_posix()])}]"
        click.echo(f"then, so that gpulint check runs it: {line} in gpulint.yaml")


@command.command("test", short_help="Hold rules against their own samples.")
@click.argument("paths", nargs=-1, type=click.Path())
@SELECT
@FORMAT
def test(paths: Sequence[str], select: Sequence[str], format_: str) -> None:
    """Hold rules against their own samples (default: the folders under rules: in gpulint.yaml).

    Each bad sample gives its rule's finding at each line marked `# <- here` and nowhere else, each good one none.
    """
    from gpulint.pipeline.rule_tests import runner as trials
    from gpulint.pipeline.rule_tests import text as trial_report

    found = list(trials.run(_files(paths or _folders()), words(select)))
    if not found:
        raise Misuse(f"no rule or family of these folders is called {' or '.join(words(select))}")
    click.echo(trial_report.as_json(found) if format_ == "json" else trial_report.as_text(found), nl=False)
    if any(one.unusable for one in found):
        sys.exit(MISUSED)
    sys.exit(CLEAN if all(one.passed for one in found) else FOUND)


def _files(folders: Sequence[str]) -> Iterator[Path]:
    """The rule files that paths name, each once; a folder that holds none is a mistake."""
    from gpulint.policy.rules import diagnostics as rule_file
    from gpulint.policy.rules.rule import RuleError

    if not folders:
        raise Misuse(
            "no folder of rules: give one, or name it under rules: in gpulint.yaml; `gpulint rule new NAME` begins one"
        )
    seen = set()
    for folder in map(Path, folders):
        try:
            held = [folder] if folder.is_file() else list(rule_file.files(folder))
        except RuleError as error:
            raise Misuse(str(error)) from None
        if not held:
            raise Misuse(f"{folder} holds no rule; `gpulint rule new NAME --dir {folder}` begins one")
        yield from (path for path in held if path.resolve() not in seen)
        seen |= {path.resolve() for path in held}


def _folders() -> tuple[str, ...]:
    """The folders of rules that the nearest gpulint.yaml names, as they are reached from here."""
    from gpulint.policy.config import settings
    from gpulint.policy.config.files import Disk
    from gpulint.source import repository

    here = Path.cwd()
    root = repository.root_of(here)
    try:
        stated = settings.nearest(Disk(root), here.relative_to(root).as_posix()).rules
    except settings.SettingsError as error:
        raise Misuse(str(error)) from None
    return tuple(one.reader.shown(one.path) for one in stated if one.reader.root == root)
