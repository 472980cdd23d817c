"""Capabilities: what each engine does, one row an engine, so that general rules need not name engines."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping

from gpulint.catalog import tables

TABLE = "engines"
DOES, LACKS = "yes", "no"
"""What a cell says. It may also say "varies", by backend or release, and is empty for an engine of the other kind."""

INFERENCE: Mapping[str, str] = {
    "works_on_gpu": "It works on the GPU, so CPU load and host memory use say little about how busy it is.",
    "loads_weights_on_gpu": (
        "It loads all weights of the model onto its GPUs, and stops with an out-of-memory error if they do not fit."
    ),
    "starts_rank_per_gpu": (
        "It starts one rank for each GPU that its parallel sizes require, and stops or hangs if it sees fewer GPUs."
    ),
    "shards_weights": (
        "It divides the weights over its tensor-parallel and pipeline-parallel ranks, and leaves additional GPUs idle."
    ),
    "takes_parallel_sizes": "Arguments set its parallel sizes; no profile or image fixes them.",
    "divides_layers": "It has an argument that divides the layers over pipeline stages.",
    "casts_weights_at_load": "It can load 16-bit weights in another number format, which an argument names.",
    "spans_nodes": "The ranks of one replica may run in several pods or on several nodes.",
    "exchanges_over_shared_memory": (
        "Its ranks exchange data through /dev/shm, and its vendor recommends more than a container's default of 64 MiB."
    ),
    "divides_query_heads": (
        "It refuses to start if the number of query heads is not divisible by the tensor-parallel size."
    ),
    "divides_kv_heads": (
        "It refuses to start if the tensor-parallel size neither divides the number of KV heads nor is a multiple of "
        "it."
    ),
    "divides_vocabulary": (
        "It pads the vocabulary to a multiple of 64, and refuses a tensor-parallel size that does not divide the "
        "padded size."
    ),
    "checks_quantised_shards": (
        "If a shard is not a whole number of quantisation blocks, it refuses to start or uses a slower kernel."
    ),
    "groups_experts": (
        "Its settings name the number of expert-parallel ranks, which must divide the tensor-parallel size."
    ),
    "refuses_context_beyond_kv": "It refuses to start if its KV cache cannot hold one sequence of the maximum length.",
    "starts_with_smaller_kv": (
        "It starts even if its KV cache holds less than one sequence of the maximum length, and refuses or truncates "
        "longer requests."
    ),
    "defaults_to_trained_context": (
        "If no maximum length is set, it uses the whole length that the checkpoint declares."
    ),
    "refuses_context_beyond_training": "It refuses a maximum length above what the checkpoint declares.",
    "accepts_context_beyond_training": "It starts with a maximum length above what the checkpoint declares.",
    "batches_continuously": (
        "It adds requests to the running batch after any step, and a batch holds many sequences unless configured "
        "otherwise."
    ),
    "runs_on_other_gpus": (
        "It runs the same checkpoint on another GPU model, and needs no engine or profile built for that GPU model."
    ),
    "serves_encoders": "It serves embedding and scoring models.",
    "reads_weights_through_host_memory": "Each rank reads its weight files through host memory.",
    "pins_host_memory": "It can pin host memory for KV cache or weights that are swapped or offloaded.",
    "offloads_weights": (
        "It can keep part of the weights in host memory and copy them to the GPU in every forward pass."
    ),
    "moves_layers_to_cpu": "If some layers do not fit on its GPUs, it runs them on the CPU without being asked.",
    "widens_fp8_weights": (
        "On a GPU without FP8 arithmetic, it serves FP8 weights with kernels that compute in 16 bits."
    ),
}
"""What servers do, by capability."""
TRAINING: Mapping[str, str] = {
    "trains_one_model": "A run trains one language model; its GPUs hold no rollout engine and no second large model.",
    "trains_adapters": "It has settings for LoRA adapters.",
    "offloads_states": "It has settings that keep the optimizer state or the parameters in host memory.",
    "runs_deepspeed": (
        "It can run on DeepSpeed, which checks that the batch size is micro-batch size × accumulation steps × ranks."
    ),
    "checks_batch_size": "It exits at start-up if the declared batch of a step is not a whole number of micro-batches.",
    "trains_model_parallel": (
        "It divides the model over ranks, and refuses parallel sizes that do not divide the number of ranks, heads or "
        "experts."
    ),
    "pipelines_stages": "It can run a model in pipeline stages.",
    "pipelines_one_forward_one_backward": (
        "Its pipeline alternates forward and backward passes, so stages are idle while the pipeline fills and drains."
    ),
    "runs_megatron_core": (
        "It trains with Megatron-Core, so Megatron-Core's checks of layers, heads, experts and stages apply."
    ),
    "shards_sequences": (
        "It cuts a sequence into two chunks for each context-parallel rank, and refuses lengths that do not divide "
        "evenly."
    ),
    "needs_kv_head_per_rank": (
        "It refuses a tensor-parallel size that does not divide the number of KV heads, because it does not replicate "
        "KV heads."
    ),
    "computes_in_given_dtype": (
        "It computes in the number format of its settings, so float32 is the user's choice and not a launcher's "
        "default."
    ),
}
"""What trainers do, by capability."""
MEANINGS: Mapping[str, str] = {**INFERENCE, **TRAINING}
"""Every capability, with a sentence that says what an engine does that has it."""


def does(engine: str, *capabilities: str) -> bool:
    """Return whether an engine has all of these capabilities, whatever its backend or release.

    >>> does("vllm", "shards_weights"), does("ollama", "shards_weights"), does("own program", "shards_weights")
    (True, False, False)
    """
    return all(_read_cell(engine, capability) == DOES for capability in capabilities)


def lacks(engine: str, capability: str) -> bool:
    """Return whether an engine certainly does not have a capability.

    >>> lacks("torchtitan", "trains_adapters"), lacks("deepspeed", "trains_adapters")
    (True, False)
    """
    return _read_cell(engine, capability) == LACKS


def select_engines(capabilities: Iterable[str]) -> tuple[str, ...]:
    """Return the engines that have all of these capabilities, in the order of the table."""
    wanted = tuple(capabilities)
    return tuple(row["engine"] for row in tables.rows(TABLE) if does(row["engine"], *wanted))


@functools.cache
def compile_gpu_images() -> re.Pattern[str]:
    """Return a pattern of the images that engines build for GPUs.

    Builds for other devices have other repositories or tags, which the engines' modules read.
    """
    words = (word for row in tables.rows(TABLE) for word in row["gpu_images"].split())
    return re.compile("|".join(re.escape(word) + r"\b" * word[-1].isalnum() for word in words))


@functools.cache
def compile_packages() -> re.Pattern[str]:
    """Return a pattern of the Python packages that install an engine; `-` and `_` are the same in their names."""
    names = (re.escape(name).replace(r"\-", "[-_]") for row in tables.rows(TABLE) for name in row["packages"].split())
    return re.compile(rf"\b(?:{'|'.join(names)})\b")


@functools.cache
def compile_official_images() -> re.Pattern[str]:
    """Return a pattern of the makers' own images, which download weights to `find_download_folder` and contain none."""
    names = (re.escape(row["official_image"]) for row in tables.rows(TABLE) if row["official_image"])
    return re.compile(rf"(?:^|/)(?:{'|'.join(names)})(?:[:@]|$)")


def find_download_folder(engine: str) -> str | None:
    """Return the folder to which an engine's official image downloads weights; None if the table has none.

    >>> find_download_folder("tgi"), find_download_folder("ollama")
    ('/data', None)
    """
    row = tables.index_rows(TABLE, "engine").get(engine)
    return row["download_folder"] or None if row else None


def _read_cell(engine: str, capability: str) -> str:
    row = tables.index_rows(TABLE, "engine").get(engine)
    return row[capability] if row else ""
