"""The command line: options in, exit code out."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from gpulint import __version__

if TYPE_CHECKING:
    from gpulint import architecture, facts, lint, repository, workload
    from gpulint.findings import Report, Skip
    from gpulint.logs.reader import Log
    from gpulint.offers import Available
    from gpulint.policy.rule import Rule
    from gpulint.policy.settings import Settings

CLEAN, FOUND, MISUSED, BROKEN = 0, 1, 2, 3
SEVERITIES = click.Choice(["error", "warning", "note"])


class Misuse(click.ClickException):
    """A wrong option, rule or settings file; exit code 2."""

    exit_code = MISUSED

    def show(self, file: object = None) -> None:
        click.echo(f"gpulint: {self.format_message()}", err=True)


def _version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        click.echo(f"gpulint {__version__}")
        context.exit()


def _day(context: click.Context, _: click.Parameter, day: str | None) -> str | None:
    if day is not None:
        from datetime import date

        try:
            return date.fromisoformat(day).isoformat()
        except ValueError:
            raise Misuse(f"--today {day} is no day: write it as 2026-11-22") from None
    return day


TODAY = click.option(
    "--today", metavar="DAY", callback=_day, help="The day on which the age of prices is told.  [default: today]"
)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Show the version.")
def main() -> None:
    """Check GPU deployment specs against what the hardware can do."""


@main.command()
@click.argument("paths", nargs=-1)
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--fail-on", type=SEVERITIES, default=None, help="Exit with 1 from this severity on.  [default: error]")
@click.option(
    "--select", multiple=True, metavar="NAME", help="Only this rule or family; repeatable, or comma-separated."
)
@click.option(
    "--ignore", multiple=True, metavar="NAME", help="Not this rule or family; repeatable, or comma-separated."
)
@click.option(
    "--exclude", multiple=True, metavar="GLOB", help="Leave matching paths out, as a line of .gitignore would."
)
@click.option("--rules", "folders", multiple=True, metavar="DIR", help="Add a team's own rules; repeatable.")
@click.option("--accelerator", metavar="NAME", help="The accelerator of workloads that name none.")
@click.option(
    "--render",
    type=click.Choice(["helm", "kustomize"]),
    help="Check what your own helm or kustomize makes of the folders named.",
)
@click.option("-f", "--values", multiple=True, metavar="FILE", help="A values file for --render helm; repeatable.")
@click.option("--fix", is_flag=True, help="Write alternatives that give nothing up into the files.")
@click.option("--unsafe", is_flag=True, help="With --fix or --diff: also those that give something up or cost more.")
@click.option("--diff", is_flag=True, help="Show what --fix would change, and write nothing.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 whatever is found.")
@click.option("--stdin-filename", metavar="PATH", help="What to call the text given on stdin (path -).")
@click.option("--color/--no-color", default=None, help="Colour the text.  [default: on a terminal]")
@TODAY
def check(
    paths: Sequence[str],
    format_: str,
    fail_on: str | None,
    select: Sequence[str],
    ignore: Sequence[str],
    exclude: Sequence[str],
    folders: Sequence[str],
    accelerator: str | None,
    render: str | None,
    values: Sequence[str],
    fix: bool,
    unsafe: bool,
    diff: bool,
    exit_zero: bool,
    stdin_filename: str | None,
    color: bool | None,
    today: str | None,
) -> None:
    """Check files and directories (default: the current one); `-` reads stdin."""
    from gpulint import lint
    from gpulint.findings import Severity

    settings = _settings(paths)
    given = _given(settings, _words(select), _words(ignore), folders, accelerator, today)
    if values and render != "helm":
        raise Misuse("-f goes with --render helm")
    if unsafe and not (fix or diff):
        raise Misuse("--unsafe goes with --fix or --diff")
    if render and (fix or diff):
        raise Misuse("--fix and --diff are about files; what --render checks is made anew each time")
    on_stderr = False
    if render:
        report = _rendered_report(render, paths, values, given)
    else:
        tree, sources = _sources(paths, [*settings.exclude, *exclude], stdin_filename)
        if diff:
            _show_diff(tree, sources, given, unsafe, exit_zero)
        if fix:
            report = _fixed(tree, sources, given, unsafe, to_stdout="-" in paths)
            on_stderr = "-" in paths
        else:
            report = lint.lint(sources, tree, given)
    _print(report, format_, sys.stdout.isatty() if color is None else color, on_stderr)
    if not report.workloads and not report.findings and not report.failures:
        click.echo("gpulint: nothing here concerns GPUs", err=True)
    if report.failures:
        sys.exit(BROKEN)
    least = Severity.named(fail_on or settings.fail_on)
    sys.exit(FOUND if not exit_zero and any(one.severity >= least for one in report.open) else CLEAN)


def _settings(paths: Sequence[str]) -> Settings:
    """The settings nearest to the first path that was given."""
    from gpulint import repository
    from gpulint.policy import settings

    start = _start(paths)
    try:
        return settings.nearest(start, repository.root_of(start))
    except settings.SettingsError as error:
        raise Misuse(str(error)) from None


def _start(paths: Sequence[str]) -> Path:
    """The folder of the first path that was given; its repository is the one that siblings are looked for in."""
    first = Path(paths[0]) if paths and paths[0] != "-" else Path.cwd()
    return (first if first.is_dir() else first.parent).resolve()


def _given(
    settings: Settings,
    select: Sequence[str],
    ignore: Sequence[str],
    folders: Sequence[str],
    accelerator: str | None,
    today: str | None = None,
) -> lint.Given:
    from gpulint import hardware, lint
    from gpulint.policy import policy, rule
    from gpulint.policy.settings import SettingsError

    named = accelerator or settings.accelerator
    if named and hardware.named(named) is None:
        raise Misuse(f"no accelerator is called {named}{_near(named, _accelerator_names())}")
    try:
        every = policy.selected((), (), [*settings.rules, *folders])
        rules = policy.selected(select or settings.select, [*settings.ignore, *ignore], [*settings.rules, *folders])
    except (SettingsError, rule.RuleError) as error:
        raise Misuse(str(error)) from None
    names = tuple(one.name for one in every)
    return lint.Given(
        rules,
        names,
        named,
        settings.hints,
        settings.pools,
        settings.like,
        fabrics=settings.fabrics,
        available=_available(settings)._replace(today=today or _today()),
    )


def _today() -> str:
    return time.strftime("%Y-%m-%d")


def _available(settings: Settings) -> Available:
    """What gpulint.yaml says that the team has; of the settings of most repositories, everything."""
    from gpulint.offers import EVERYTHING
    from gpulint.policy.settings import SettingsError

    if settings.available == EVERYTHING and not settings.pools:
        return EVERYTHING
    from gpulint.policy import availability

    try:
        return availability.of(settings)
    except SettingsError as error:
        raise Misuse(str(error)) from None


def _report(paths: Sequence[str], exclude: Sequence[str], given: lint.Given, stdin_filename: str | None) -> Report:
    from gpulint import lint

    tree, sources = _sources(paths, exclude, stdin_filename)
    return lint.lint(sources, tree, given)


def _sources(
    paths: Sequence[str], exclude: Sequence[str], stdin_filename: str | None
) -> tuple[repository.WorkTree, Iterator[repository.Source | Skip]]:
    """The repository of the paths, and the files that they name."""
    from gpulint import progress, repository

    tree = repository.WorkTree(repository.root_of(_start(paths)), exclude)
    if "-" not in paths:
        return tree, _found(progress.watched(tree.sources(list(paths) or ["."])))
    if len(paths) > 1:
        raise Misuse("- stands alone: stdin is one file")
    return tree, iter([repository.Source(stdin_filename or "stdin.yaml", sys.stdin.buffer.read())])


def _found(sources: Iterable[repository.Source | Skip]) -> Iterator[repository.Source | Skip]:
    try:
        yield from sources
    except FileNotFoundError as error:
        raise Misuse(str(error)) from None


def _rendered_report(tool: str, folders: Sequence[str], values: Sequence[str], given: lint.Given) -> Report:
    """The report on what a tool makes of folders, with its places in their files where that is certain."""
    from gpulint import lint, render, repository

    try:
        found = [render.rendered(tool, folder, values) for folder in folders or ["."]]
    except render.RenderError as error:
        raise Misuse(str(error)) from None
    for one in found:
        click.echo(f"gpulint: {len(one.documents)} objects rendered from {one.shown} by {tool}", err=True)
    tree = repository.WorkTree(repository.root_of(_start(folders)))
    return render.placed(lint.lint([one.source for one in found], tree, given), found)


def _print(report: Report, format_: str, colour: bool, on_stderr: bool = False) -> None:
    from gpulint.reports import json, text

    rendered = json.render(report) if format_ == "json" else text.render(report, colour)
    click.echo(rendered, nl=False, color=colour, err=on_stderr)


# ---- fixes


def _show_diff(
    tree: repository.WorkTree,
    sources: Iterable[repository.Source | Skip],
    given: lint.Given,
    unsafe: bool,
    exit_zero: bool,
) -> NoReturn:
    """What --fix would change, as a diff; ends the run with 1 if it would change anything."""
    from gpulint import rewriting

    run = rewriting.run(sources, tree, given, unsafe)
    _tell(rewriting.said(run.outcome, preview=True))
    click.echo(rewriting.diff(run.files, run.outcome.contents).encode(), nl=False)
    if run.report.failures:
        sys.exit(BROKEN)
    sys.exit(FOUND if run.outcome.contents and not exit_zero else CLEAN)


def _fixed(
    tree: repository.WorkTree,
    sources: Iterable[repository.Source | Skip],
    given: lint.Given,
    unsafe: bool,
    to_stdout: bool,
) -> Report:
    """The report on what is left after the fixes are written: into the files, or to stdout what came from stdin."""
    from gpulint import rewriting

    run = rewriting.run(sources, tree, given, unsafe)
    _tell(rewriting.said(run.outcome, preview=False))
    if to_stdout:
        click.echo(next(iter({**run.files, **run.outcome.contents}.values())), nl=False)
    else:
        _tell(rewriting.write(run.files, run.outcome.contents, tree))
    return rewriting.remaining(run, tree, given)


def _tell(lines: Iterable[str]) -> None:
    for line in lines:
        click.echo("gpulint: " + "".join(one if one.isprintable() else "\ufffd" for one in line), err=True)


def _words(given: Iterable[str]) -> list[str]:
    return [word for part in given for word in part.split(",") if word]


def _near(word: str, known: Iterable[str]) -> str:
    from gpulint.policy import availability

    return availability.near(word, known)


def _accelerator_names() -> list[str]:
    from gpulint import hardware

    return [one.id for one in hardware.accelerators()]


# ---- size


@main.command()
@click.argument("what")
@click.option("--accelerator", metavar="NAME", help="As `gpulint catalog accelerators` lists it.")
@click.option("--tp", "tensor_parallel", type=click.IntRange(1), default=None, help="Tensor parallel ranks.")
@click.option("--pp", "pipeline_parallel", type=click.IntRange(1), default=None, help="Pipeline parallel stages.")
@click.option("--max-model-len", type=click.IntRange(1), default=None, help="Longest sequence, in tokens.")
@click.option("--max-num-seqs", type=click.IntRange(1), default=None, help="Sequences decoded together at most.")
@click.option("--batch-size", type=click.IntRange(1), default=None, help="Sequences of one call, without a server.")
@click.option("--prompt-tokens", type=click.IntRange(1), default=None, help="Tokens of each prompt.")
@click.option("--new-tokens", type=click.IntRange(1), default=None, help="Tokens generated after each of them.")
@click.option(
    "--output-tokens", type=click.IntRange(1), default=None, help="Tokens of an answer of a server, for its speed."
)
@click.option("--concurrency", type=click.IntRange(1), default=None, help="Requests that a server answers at once.")
@click.option(
    "--max-num-batched-tokens", type=click.IntRange(1), default=None, help="Tokens of one forward pass at most."
)
@click.option("--gpu-memory-utilization", type=click.FloatRange(0, 1, min_open=True), default=None)
@click.option("--kv-cache-dtype", metavar="NAME", default=None)
@click.option("--quantization", metavar="NAME", default=None)
@click.option("--dtype", "weight_dtype", metavar="NAME", default=None)
@click.option("--engine", default="vllm", show_default=True)
@click.option("--engine-version", metavar="RELEASE", default=None)
@click.option("--online", is_flag=True, help="Ask a hub for the checkpoint's config.json and what its files hold.")
@click.option("--hub", metavar="URL", help="The hub that --online asks.  [default: https://huggingface.co]")
@click.option("--token", is_flag=True, help="Send that hub the token in HF_TOKEN.")
@click.option(
    "--log",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="An engine's start-up log or a trainer's memory report: its readings replace our terms.",
)
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True)
def size(
    what: str,
    accelerator: str | None,
    online: bool,
    hub: str | None,
    token: bool,
    log: Path | None,
    format_: str,
    **stated: object,
) -> None:
    """Show each memory term of one workload: WHAT is a checkpoint, a spec file, or FILE:WORKLOAD."""
    from gpulint import engines, hardware, sizes

    if accelerator and hardware.named(accelerator) is None:
        raise Misuse(f"no accelerator is called {accelerator}{_near(accelerator, _accelerator_names())}")
    if (hub or token) and not online:
        raise Misuse("--hub and --token go with --online")
    told = _told(log) if log else None
    if told and engines.purpose(told.engine) and _defaulted("engine"):
        stated["engine"] = told.engine
    said = sizes.served({key: value for key, value in stated.items() if value is not None})
    roles = _roles_to_size(what, said, accelerator, online)
    if online:
        roles = [(role, _asked(role, resolved, hub, token)) for role, resolved in roles]
    tables = [sizes.tightened(*role, told) if told else sizes.table(*role) for role in roles]
    click.echo(sizes.as_json(tables) if format_ == "json" else sizes.as_text(tables), nl=False)


def _defaulted(option: str) -> bool:
    return click.get_current_context().get_parameter_source(option) is click.core.ParameterSource.DEFAULT


def _told(path: Path) -> Log:
    """What a log tells, of at most as much of it as is read."""
    from gpulint.logs import lines, reader

    with path.open("rb") as file:
        found = reader.read(file.read(lines.LARGEST + 1))
    if found is None:
        raise Misuse(f"{path} has none of the memory lines of {', '.join(reader.engines())}; {reader.EXAMPLES}")
    return found


def _roles_to_size(
    what: str, stated: dict[str, object], accelerator: str | None, online: bool
) -> list[tuple[workload.Role, architecture.Resolved | None]]:
    from gpulint import repository, sizes

    file, _, name = what.rpartition(":") if not Path(what).is_file() and ":" in what else (what, "", "")
    tree = repository.WorkTree(repository.root_of(Path.cwd()))
    if Path(file).is_file():
        found = sizes.from_file(file, name, tree, stated, accelerator)
        if not found:
            raise Misuse(f"{file} holds no workload" + (f" called {name}" if name else ""))
        return found
    role, resolved = sizes.from_checkpoint(what, stated, accelerator, tree)
    if not online and (resolved is None or resolved.architecture is None):
        from gpulint import architecture

        raise Misuse(f"no checkpoint is called {what}{_near(what, architecture.ids())}")
    return [(role, resolved)]


def _asked(
    role: workload.Role, resolved: architecture.Resolved | None, address: str | None, token: bool
) -> architecture.Resolved | None:
    """The architecture of a role's checkpoint as a hub has it; the repository's own stays, and a file's path."""
    from gpulint import online

    reference = role.text("checkpoint").removeprefix("hf://")
    own = resolved is not None and resolved.how.startswith("config.json")
    if not reference or own or (role.name != reference and not online.ID.fullmatch(reference)):
        return resolved
    secret = os.environ.get("HF_TOKEN") if token else None
    if token and not secret:
        raise Misuse("--token sends the token in HF_TOKEN, which is not set")
    from rich.console import Console

    try:
        with Console(stderr=True).status(f"asking {address or online.HUB} for {reference}"):
            return online.resolve(reference, online.Hub(address or online.HUB, secret))
    except online.Unanswered as reason:
        raise Misuse(str(reason)) from None


# ---- suggest


@main.command()
@click.argument("place", metavar="FILE[:LINE]")
@click.option("--accelerator", metavar="NAME", help="The accelerator of workloads that name none.")
@click.option("--rules", "folders", multiple=True, metavar="DIR", help="Add a team's own rules; repeatable.")
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True)
@TODAY
def suggest(place: str, accelerator: str | None, folders: Sequence[str], format_: str, today: str | None) -> None:
    """Show what else each workload of FILE could run on, or the one that LINE is about: what passes the same checks."""
    from gpulint import catalog, plans, repository
    from gpulint.reports import plan

    path, line = _placed(place)
    given = _given(_settings([path]), (), (), folders, accelerator, today)
    tree = repository.WorkTree(repository.root_of(_start([path])))
    try:
        found = [one for one in tree.sources([path]) if isinstance(one, repository.Source)]
    except FileNotFoundError as error:
        raise Misuse(str(error)) from None
    made = [one for source in found for one in plans.of(source, line, tree, given)]
    if not made:
        raise Misuse(f"{path} holds no workload that gpulint reads")
    click.echo(plan.as_json(made, catalog.version()) if format_ == "json" else plan.as_text(made), nl=False)


def _placed(place: str) -> tuple[str, int | None]:
    """A file, and the line that stands behind it where the whole is no file's name."""
    file, _, line = place.rpartition(":")
    if Path(place).is_file() or not file or not line.isdecimal():
        return place, None
    return file, int(line)


# ---- explain, rules, catalog


@main.command()
@click.argument("name")
def explain(name: str) -> None:
    """Explain a rule or a fact: what it means, why it matters, an example of wrong and of right."""
    from gpulint import facts
    from gpulint.policy import rule

    if known := rule.shipped_rules().get(name):
        click.echo(_explained_rule(known))
    elif quantity := facts.glossary().get(name):
        click.echo(_explained_fact(quantity))
    else:
        raise Misuse(f"no rule or fact is called {name}{_near(name, [*rule.shipped_rules(), *facts.glossary()])}")


def _explained_rule(known: Rule) -> str:
    from gpulint.policy import rule

    samples = rule.examples(known)
    lines = [f"{known.name} ({known.family}, {known.severity.word})", "", known.summary + ".", known.why, ""]
    lines += ["Holds when", f"  {known.when}", ""]
    for side, title in (("bad", "Wrong"), ("good", "Right")):
        for sample in samples[side]:
            lines += [title, *(f"  {line}" for line in str(sample).splitlines()), ""]
    if known.absorbs:
        lines += [f"Speaks instead of {', '.join(known.absorbs)}.", ""]
    lines += [f"See {link}" for link in known.references]
    lines += [f"Silence one place with  # gpulint: ignore[{known.name}] REASON"]
    return "\n".join(lines)


def _explained_fact(quantity: facts.Quantity) -> str:
    from gpulint import engines, facts

    unit = f" [{quantity.unit}]" if quantity.unit else ""
    lines = [f"{quantity.name}{unit}: {quantity.meaning}", f"supplied by: {quantity.of}"]
    for engine in (None, *engines.modules()):
        if formula := facts.formulas(engine).get(quantity.name):
            needs = ", ".join(facts.parameters(formula))
            lines += ["", f"{engine or 'all engines'}: from {needs}", "", (formula.__doc__ or "").strip()]
    if quantity.ask:
        lines += ["", f"when it is missing: {quantity.ask}"]
    return "\n".join(lines)


@main.command("rules")
def list_rules() -> None:
    """List the rules by family."""
    from gpulint.policy import rule

    known = sorted(rule.shipped_rules().values(), key=lambda one: (one.family, one.name))
    width = max(len(one.name) for one in known)
    for one in known:
        click.echo(f"{one.family:<13} {one.name:<{width}}  {one.severity.word:<8} {one.summary}")


@main.command()
@click.argument("table", type=click.Choice(["accelerators", "architectures", "prices"]))
@click.argument("name", required=False)
@TODAY
def catalog(table: str, name: str | None, today: str | None) -> None:
    """List the accelerators, architectures or machine prices of the catalog, or show one with its source."""
    from gpulint import price_list, sizes

    if table == "prices":
        _print_prices(name, today or _today())
        return
    rows = sizes.catalog_rows(table)
    if name is None:
        click.echo(sizes.columns(rows))
        return
    shown = sizes.catalog_row(table, name)
    if shown is None:
        known = [row[0] for row in rows[1:]] if table == "accelerators" else sizes.checkpoint_ids()
        raise Misuse(f"the catalog has no {table.removesuffix('s')} {name}{_near(name, known)}")
    click.echo(shown)
    if table == "accelerators" and (prices := list(price_list.cheapest(sizes.accelerator_id(name), today or _today()))):
        click.echo(sizes.columns(prices))


def _print_prices(name: str | None, today: str) -> None:
    from gpulint import price_list, sizes

    rows = price_list.rows(name, today)
    if name is not None and len(rows) == 1:
        raise Misuse(f"the catalog has no price of {name}{_near(name, price_list.names())}")
    click.echo(sizes.columns(rows))


@main.command("architecture")
@click.argument("config", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--id", "reference", metavar="ID", default=None, help="What to call it.  [default: the file's folder]")
@click.option("--csv", "as_csv", is_flag=True, help="Write it as a row of catalog/architectures.csv, with the header.")
@click.option("--source", default="", help="Where the file was read; goes into the row.")
def show_architecture(config: Path, reference: str | None, as_csv: bool, source: str) -> None:
    """Show the network of a Hugging Face config.json: its shape, its exact parameters by part, its KV cache."""
    from gpulint.architecture import description, network
    from gpulint.architecture.config import Unread

    name = reference or config.resolve().parent.name
    try:
        found = network.read(name, config.read_bytes().decode("utf-8-sig", "replace"))
    except Unread as reason:
        raise Misuse(f"{config}: {reason}") from None
    click.echo(description.as_row(found, source) if as_csv else description.as_text(found), nl=False)


# ---- init


@main.command()
@click.option("--spec", type=click.Path(dir_okay=False), help="Write a commented native spec to this file as well.")
def init(spec: str | None) -> None:
    """Write gpulint.yaml with the hints that this repository's workloads lack; no file is overwritten."""
    from gpulint import scaffold

    settings = _settings(())
    report = _report((), settings.exclude, _given(settings, (), (), (), None), None)
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
