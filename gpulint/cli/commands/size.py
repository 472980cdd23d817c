"""`gpulint size`: the memory terms of one workload."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gpulint.cli import Misuse, completion_names, watch
from gpulint.cli.options import FILE_TIMEOUT, FORMAT

if TYPE_CHECKING:
    from gpulint import workload
    from gpulint.adapters.logs.reader import Log
    from gpulint.catalog import architecture
    from gpulint.pipeline.memory_breakdown import Sizing

GROUP = "Check"


@click.command("size", short_help="Show each part of a workload's GPU memory use.")
@click.argument("what", shell_complete=completion_names.checkpoints)
@click.option(
    "--accelerator",
    metavar="NAME",
    shell_complete=completion_names.accelerators,
    help="Accelerator, named as in `gpulint catalog accelerators`.",
)
@click.option("--tp", "tensor_parallel", type=click.IntRange(1), default=None, help="Number of tensor-parallel ranks.")
@click.option(
    "--pp", "pipeline_parallel", type=click.IntRange(1), default=None, help="Number of pipeline-parallel stages."
)
@click.option("--max-model-len", type=click.IntRange(1), default=None, help="Maximum sequence length, in tokens.")
@click.option(
    "--max-num-seqs", type=click.IntRange(1), default=None, help="Maximum number of sequences decoded together."
)
@click.option(
    "--batch-size", type=click.IntRange(1), default=None, help="Number of sequences per call, if no server is used."
)
@click.option("--prompt-tokens", type=click.IntRange(1), default=None, help="Number of tokens in each prompt.")
@click.option("--new-tokens", type=click.IntRange(1), default=None, help="Number of tokens generated for each prompt.")
@click.option(
    "--output-tokens",
    type=click.IntRange(1),
    default=None,
    help="Number of tokens in each answer of a server, to estimate its speed.",
)
@click.option(
    "--concurrency",
    type=click.IntRange(1),
    default=None,
    help="Number of requests that a server processes at the same time.",
)
@click.option(
    "--max-num-batched-tokens", type=click.IntRange(1), default=None, help="Maximum number of tokens per forward pass."
)
@click.option(
    "--gpu-memory-utilization",
    type=click.FloatRange(0, 1, min_open=True),
    default=None,
    help="Share of the GPU's memory that the engine may use, from 0 to 1.",
)
@click.option(
    "--kv-cache-dtype", metavar="NAME", default=None, help="Data type of the KV cache, as the engine names it."
)
@click.option("--quantization", metavar="NAME", default=None, help="Quantisation method, as the engine names it.")
@click.option(
    "--dtype", "weight_dtype", metavar="NAME", default=None, help="Data type of the weights, as the engine names it."
)
@click.option(
    "--engine",
    default="vllm",
    show_default=True,
    shell_complete=completion_names.engines,
    help="Serving engine or trainer.",
)
@click.option("--engine-version", metavar="RELEASE", default=None, help="Release of the engine, for example 0.11.0.")
@click.option("--online", is_flag=True, help="Read the checkpoint's config.json and file headers from a hub.")
@click.option("--hub", metavar="URL", help="With --online: address of the hub.  [default: https://huggingface.co]")
@click.option("--token", is_flag=True, help="With --online: send the token in HF_TOKEN to the hub.")
@click.option(
    "--log",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="An engine's start-up log or a trainer's memory report; its values replace the estimates.",
)
@FORMAT
@FILE_TIMEOUT
def command(
    what: str,
    accelerator: str,
    online: bool,
    hub: str | None,
    token: bool,
    log: Path | None,
    format_: str,
    file_timeout: float,
    **stated: object,
) -> None:
    """Show each part of a workload's GPU memory use. WHAT is a checkpoint, a spec file, or FILE:WORKLOAD."""
    import gpulint
    from gpulint import engines
    from gpulint.pipeline import memory_breakdown

    if (hub or token) and not online:
        raise Misuse("--hub and --token require --online")
    readings = _read_log(log) if log else None
    if readings and engines.find_purpose(readings.engine) and _is_default("engine"):
        stated["engine"] = readings.engine
    options = {key: value for key, value in {**stated, "accelerator": accelerator}.items() if value is not None}
    try:
        sizing = watch(
            what,
            file_timeout,
            lambda: (
                _measure(what, options, online, hub, token, readings)
                if online or readings
                else gpulint.size(what, options)
            ),
        )
    except memory_breakdown.SizingError as error:
        raise Misuse(str(error)) from None
    click.echo(
        memory_breakdown.render_json(sizing) if format_ == "json" else memory_breakdown.render_text(sizing), nl=False
    )


def _measure(
    what: str, options: dict[str, object], online: bool, hub: str | None, token: bool, readings: Log | None
) -> Sequence[Sizing]:
    """Return the sizes with checkpoints read from a hub and terms measured by a log."""
    from gpulint.pipeline import memory_breakdown
    from gpulint.source import repository

    tree = repository.WorkTree(repository.find_root(Path.cwd()))
    roles = memory_breakdown.find_roles(what, options, tree, known=not online)
    if online:
        roles = [(role, _ask_hub(role, resolved, hub, token)) for role, resolved in roles]
    return [
        memory_breakdown.compare_with_log(*role, readings) if readings else memory_breakdown.build_table(*role)
        for role in roles
    ]


def _is_default(option: str) -> bool:
    return click.get_current_context().get_parameter_source(option) is click.core.ParameterSource.DEFAULT


def _read_log(path: Path) -> Log:
    """Return the readings of a log; only its first part is read if it is very long."""
    from gpulint.adapters.logs import lines, reader

    with path.open("rb") as file:
        log = reader.read(file.read(lines.LARGEST + 1))
    if log is None:
        raise Misuse(f"{path} contains no memory line of {', '.join(reader.engines())}; {reader.EXAMPLES}")
    return log


def _ask_hub(
    role: workload.Role, resolved: architecture.Resolution | None, address: str | None, token: bool
) -> architecture.Resolution | None:
    """Return the architecture of a role's checkpoint from a hub; a local config.json or path is kept."""
    from gpulint.catalog.architecture import hub as architecture_hub

    reference = role.text("checkpoint").removeprefix("hf://")
    is_local = resolved is not None and resolved.how.startswith("config.json")
    if not reference or is_local or (role.name != reference and not architecture_hub.ID.fullmatch(reference)):
        return resolved
    secret = os.environ.get("HF_TOKEN") if token else None
    if token and not secret:
        raise Misuse("--token requires the environment variable HF_TOKEN, which is not set")
    from rich.console import Console

    try:
        with Console(stderr=True).status(f"asking {address or architecture_hub.HUB} for {reference}"):
            return architecture_hub.resolve(reference, architecture_hub.Hub(address or architecture_hub.HUB, secret))
    except architecture_hub.HubError as reason:
        raise Misuse(str(reason)) from None
