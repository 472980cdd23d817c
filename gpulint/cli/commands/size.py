"""`gpulint size`: the memory terms of one workload."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gpulint.cli import Misuse
from gpulint.cli import completion_names as _names
from gpulint.cli.options import FORMAT

if TYPE_CHECKING:
    from gpulint import workload
    from gpulint.adapters.logs.reader import Log
    from gpulint.catalog import architecture
    from gpulint.pipeline.memory_breakdown import Sizing


@click.command("size", short_help="Show each memory term of a workload.")
@click.argument("what", shell_complete=_names.checkpoints)
@click.option(
    "--accelerator",
    metavar="NAME",
    shell_complete=_names.accelerators,
    help="As `gpulint catalog accelerators` lists it.",
)
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
@click.option(
    "--gpu-memory-utilization",
    type=click.FloatRange(0, 1, min_open=True),
    default=None,
    help="Share of the card's memory that the engine takes.",
)
@click.option("--kv-cache-dtype", metavar="NAME", default=None, help="Number format of the KV cache.")
@click.option("--quantization", metavar="NAME", default=None, help="Quantisation, as the engine names it.")
@click.option("--dtype", "weight_dtype", metavar="NAME", default=None, help="Number format of the weights.")
@click.option(
    "--engine",
    default="vllm",
    show_default=True,
    shell_complete=_names.engines,
    help="The engine that serves it, or the trainer that trains it.",
)
@click.option("--engine-version", metavar="RELEASE", default=None, help="Its release, as 0.11.0.")
@click.option("--online", is_flag=True, help="Ask a hub for the checkpoint's config.json and what its files hold.")
@click.option("--hub", metavar="URL", help="The hub that --online asks.  [default: https://huggingface.co]")
@click.option("--token", is_flag=True, help="Send that hub the token in HF_TOKEN.")
@click.option(
    "--log",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="An engine's start-up log or a trainer's memory report: its readings replace our terms.",
)
@FORMAT
def command(
    what: str,
    accelerator: str,
    online: bool,
    hub: str | None,
    token: bool,
    log: Path | None,
    format_: str,
    **stated: object,
) -> None:
    """Show each memory term of one workload: WHAT is a checkpoint, a spec file, or FILE:WORKLOAD."""
    import gpulint
    from gpulint import engines
    from gpulint.pipeline import memory_breakdown as sizes

    if (hub or token) and not online:
        raise Misuse("--hub and --token go with --online")
    told = _told(log) if log else None
    if told and engines.purpose(told.engine) and _defaulted("engine"):
        stated["engine"] = told.engine
    said = {key: value for key, value in {**stated, "accelerator": accelerator}.items() if value is not None}
    try:
        found = _asked_and_told(what, said, online, hub, token, told) if online or told else gpulint.size(what, said)
    except sizes.Unsized as error:
        raise Misuse(str(error)) from None
    click.echo(sizes.as_json(found) if format_ == "json" else sizes.as_text(found), nl=False)


def _asked_and_told(
    what: str, said: dict[str, object], online: bool, hub: str | None, token: bool, told: Log | None
) -> Sequence[Sizing]:
    """The sizes with what a hub says of the checkpoints, and with a log's readings."""
    from gpulint.pipeline import memory_breakdown as sizes
    from gpulint.source import repository

    tree = repository.WorkTree(repository.root_of(Path.cwd()))
    roles = sizes.roles(what, said, tree, known=not online)
    if online:
        roles = [(role, _asked(role, resolved, hub, token)) for role, resolved in roles]
    return [sizes.tightened(*role, told) if told else sizes.table(*role) for role in roles]


def _defaulted(option: str) -> bool:
    return click.get_current_context().get_parameter_source(option) is click.core.ParameterSource.DEFAULT


def _told(path: Path) -> Log:
    """What a log tells, of at most as much of it as is read."""
    from gpulint.adapters.logs import lines, reader

    with path.open("rb") as file:
        found = reader.read(file.read(lines.LARGEST + 1))
    if found is None:
        raise Misuse(f"{path} has none of the memory lines of {', '.join(reader.engines())}; {reader.EXAMPLES}")
    return found


def _asked(
    role: workload.Role, resolved: architecture.Resolved | None, address: str | None, token: bool
) -> architecture.Resolved | None:
    """The architecture of a role's checkpoint as a hub has it; the repository's own stays, and a file's path."""
    from gpulint.catalog.architecture import hub as online

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
