"""`gpulint init`: settings for a repository that has none."""

from __future__ import annotations

from pathlib import Path

import click

from gpulint.cli import TODAY, Misuse, prepared


@click.command("init")
@click.option("--spec", type=click.Path(dir_okay=False), help="Write a commented native spec to this file as well.")
@TODAY
def command(spec: str | None, today: str) -> None:
    """Write gpulint.yaml with the hints that this repository's workloads lack; no file is overwritten."""
    from gpulint import run, scaffold
    from gpulint.run import Options

    report = run.report(prepared((), Options(today)), ())
    targets = {"gpulint.yaml": scaffold.settings_file(report)}
    if spec:
        targets[spec] = scaffold.SPEC
    if taken := [name for name in targets if Path(name).exists()]:
        raise Misuse(f"{', '.join(taken)} exists already; nothing was written")
    for name, text in targets.items():
        Path(name).write_text(text, encoding="utf-8")
        click.echo(f"wrote {name}")
    lacking = sum(bool(role.not_evaluated) for workload in report.workloads for role in workload.roles)
    found = len(report.workloads)
    click.echo(f"{found} workload{'' if found == 1 else 's'} found, {lacking} lack something that a hint can say")
