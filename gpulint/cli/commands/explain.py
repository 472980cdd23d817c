"""`gpulint explain`: the meaning of a rule, family, fact, adapter, engine or word, or of a line of a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gpulint.cli import TODAY, Misuse, completion_names, load_rules, prepare_session, suggest_name
from gpulint.cli.options import ACCELERATOR

if TYPE_CHECKING:
    from gpulint.cli.explain.parts import Explanation
    from gpulint.cli.explain.place import Place

GROUP = "Look up"


@click.command("explain", short_help="Explain a rule, a fact, an adapter, an engine, or a line of a file.")
@click.argument("name", nargs=-1, required=True, shell_complete=completion_names.explainable_names)
@click.option("--rules", "folders", multiple=True, metavar="DIR", help="Also load rules from this folder; repeatable.")
@ACCELERATOR
@TODAY
def command(name: Sequence[str], folders: Sequence[str], accelerator: str, today: str) -> None:
    """Explain a rule, a family of rules, a fact, an adapter, an engine or a word of a report: its meaning and its
    sources. With FILE:LINE, explain the findings at this line or the workload around it: inputs, basis, formulas,
    sources, and the smallest change that flips the verdict.
    """
    from gpulint.cli import explain
    from gpulint.cli.explain import place, terminal

    words = " ".join(name)
    if (line := place.read_place(words)) is not None and Path(line.path).is_file():
        topics = _explain_line(line, folders, accelerator, today)
    else:
        rules = load_rules(folders)
        topics = list(explain.explain(words, rules))
        if not topics:
            raise Misuse(
                f"no such rule, family, fact, adapter, engine or word: {words}"
                f"{suggest_name(words, explain.list_names(rules))}"
            )
    click.echo("\n\n".join(map(terminal.render, topics)))


def _explain_line(line: Place, folders: Sequence[str], accelerator: str, today: str) -> list[Explanation]:
    """Return what is known about a line; raise Misuse if it has no finding and no workload."""
    from gpulint.cli.explain import place
    from gpulint.pipeline.session import Options

    session = prepare_session((line.path,), Options(today, rules=tuple(folders), accelerator=accelerator))
    topics = list(place.explain(line, session))
    if not topics:
        raise Misuse(f"{line.path}:{line.line} has no finding, and no workload is around it")
    return topics
