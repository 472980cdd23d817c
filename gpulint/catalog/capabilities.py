"""Capabilities: what each engine does, one row an engine, so that general rules need not name engines."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping

from gpulint.catalog import tables

TABLE = "engines"
DOES, LACKS, DEPENDS, OTHER_KIND = "yes", "no", "varies", ""
"""What a cell says: it does, it does not, it depends on a backend or release, or it is not of that kind."""
CELLS = frozenset({DOES, LACKS, DEPENDS, OTHER_KIND})


INFERENCE: Mapping[str, str] = {
    "works_on_gpu": "Its work is on the GPU: the load of the CPU and of host memory says little of how busy it is.",
    "loads_weights_on_gpu": (
        "It puts all the weights that it is given to serve on its GPUs, and stops with an out-of-memory "
        "error if they do not fit."
    ),
    "starts_rank_per_gpu": (
        "It starts one rank for each GPU of its parallel sizes, and stops or waits if it sees fewer GPUs."
    ),
    "shards_weights": (
        "It divides the weights by the tensor-parallel and pipeline-parallel sizes, and leaves further GPUs idle."
    ),
    "takes_parallel_sizes": "Its parallel sizes are arguments: no profile and no image fixes them.",
    "divides_layers": "It has an argument that divides the layers over pipeline stages.",
    "casts_weights_at_load": "It loads 16-bit weights in the number format that an argument names.",
    "spans_nodes": "The ranks of one replica may run in several pods or on several nodes.",
    "exchanges_over_shared_memory": (
        "Its ranks exchange data through /dev/shm, and its maker asks for more than a container's 64 MiB."
    ),
    "divides_query_heads": "It refuses to start if the tensor-parallel size does not divide the query heads.",
    "divides_kv_heads": (
        "It refuses to start if the tensor-parallel size neither divides the KV heads nor is a multiple of them."
    ),
    "divides_vocabulary": (
        "It pads the vocabulary to a multiple of 64, and refuses a tensor-parallel size that does not divide that."
    ),
    "checks_quantised_shards": (
        "It refuses a shard that is no whole number of quantisation blocks, or computes it with a slower kernel."
    ),
    "groups_experts": (
        "It is given the number of expert-parallel ranks, and refuses one that does not divide the "
        "tensor-parallel size."
    ),
    "refuses_context_beyond_kv": "It refuses to start if its KV cache cannot hold one sequence of the maximum length.",
    "starts_with_smaller_kv": (
        "It starts with a KV cache below one sequence of the maximum length, and refuses or cuts off longer requests."
    ),
    "defaults_to_trained_context": (
        "If no maximum length is given, it takes the whole length that the checkpoint declares. "
    ),
    "refuses_context_beyond_training": "It refuses a maximum length above what the checkpoint declares.",
    "accepts_context_beyond_training": "It starts with a maximum length above what the checkpoint declares.",
    "batches_continuously": (
        "It adds requests to the running batch after any step; its batch holds many sequences unless "
        "configured otherwise."
    ),
    "runs_on_other_gpus": (
        "It runs the same checkpoint on another GPU model, without an engine or a profile built for that model."
    ),
    "serves_encoders": "It serves embedding and scoring models.",
    "reads_weights_through_host_memory": "Each rank reads its weights from files through the host's memory.",
    "pins_host_memory": "It can pin host memory for KV cache or weights that are swapped or offloaded.",
    "offloads_weights": (
        "It can keep part of the weights in host memory and copy them to the GPU in every forward pass. "
    ),
    "moves_layers_to_cpu": "It computes the layers that do not fit on its GPUs on the CPU, without being asked.",
    "widens_fp8_weights": "On a GPU without FP8 arithmetic it serves FP8 weights with kernels that compute in 16 bits.",
}
"""What servers do, by capability."""
TRAINING: Mapping[str, str] = {
    "trains_one_model": (
        "A run trains one language model, and its GPUs hold no rollout engine and no second large model."
    ),
    "trains_adapters": "It has settings for LoRA adapters.",
    "offloads_states": "It has settings that keep the optimizer state or the parameters in host memory.",
    "runs_deepspeed": "It can run on DeepSpeed, which checks that the batch equals the product of its parts.",
    "checks_batch_size": (
        "It exits at start-up if the declared batch of a step cannot be divided into whole micro-batches."
    ),
    "trains_model_parallel": (
        "It divides the model over ranks, and refuses sizes that do not divide the ranks, the heads or the experts."
    ),
    "pipelines_stages": "It can run a model in pipeline stages.",
    "pipelines_one_forward_one_backward": (
        "Its pipeline alternates forward and backward passes, so stages are idle while it fills and drains."
    ),
    "runs_megatron_core": "It trains with Megatron-Core, whose checks of layers, heads, experts and stages hold.",
    "shards_sequences": "It cuts a sequence into two chunks for each context-parallel rank, and refuses other lengths.",
    "needs_kv_head_per_rank": (
        "It refuses a tensor-parallel size that does not divide the KV heads: it does not replicate them."
    ),
    "computes_in_given_dtype": (
        "It computes in the number format of its settings: float32 is a choice, not a launcher's default."
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
