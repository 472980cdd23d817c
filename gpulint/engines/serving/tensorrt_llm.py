"""TensorRT-LLM: `trtllm-serve` by command line and image tag, and the keys of its option files and built engines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpulint.engines import Argument, Invocation, Reading, command_line, image_tags
from gpulint.engines.command_line import Flag, Grammar, ParsedArgument
from gpulint.engines.image_tags import ImageRelease, Numbering
from gpulint.source.documents import Document, Path
from gpulint.workload import Field, Origin, Unknown, Value

MENTIONS = ("trtllm", "tensorrt")
PROGRAM = "trtllm-serve"
MODULE = "tensorrt_llm.commands.serve"
LAUNCHERS = frozenset({"mpirun", "mpiexec", "srun", "trtllm-llmapi-launch"})
STARTERS = LAUNCHERS | {"python", "python3", "nsys", "ldconfig"}
OTHER_SERVERS = {
    "disaggregated": "a file of its own places the servers",
    "disaggregated_mpi_worker": "a file of its own places the servers",
    "mm_embedding_serve": "an encoder alone is served",
    "embeddings": "an encoder alone is served",
}
"""Subcommands beside `serve`, and why their words tell no layout."""
NUMBERING = Numbering(
    "TensorRT-LLM",
    word="(?:tensorrt-?llm|trtllm)",  # …:0.33.0-tensorrtllm0.21.0-cu128 of DJL
    # nvidia.github.io/TensorRT-LLM/installation/containers.html of 1.3.0rc13
    plain=r"tensorrt-llm/(?:release|devel):(?P<release>\d+\.\d+(?:\.\d+)?)(?:rc\d+)?(?:\.post\d+)?",
    named=rf"tensorrt-llm(?:/release|/devel)?|(?:{image_tags.BUILD}[-_])+tensorrt-llm|tensorrt-llm(?:[-_]{image_tags.BUILD})+",
    number=r"(?:0\.(?:[5-9]|[12]\d)|1\.\d{1,2})(?:\.\d{1,2})?",
)

OLDEST_ASSUMED = (0, 19, 0)
"""An image whose tag tells no release is taken for a release of the last eighteen months (0.19.0: May 2025)."""
SPELLINGS = {
    "tensor_parallel": "--tp_size",
    "pipeline_parallel": "--pp_size",
    "expert_parallel_size": "--ep_size",
    "max_model_len": "--max_seq_len",
    "max_num_seqs": "--max_batch_size",
    "max_num_batched_tokens": "--max_num_tokens",
    "kv_cache_free_fraction": "--kv_cache_free_gpu_memory_fraction",
}
"""The spelling that every release read so far has; 2026 releases also spell some of them out."""
GRAMMAR = Grammar("tensorrt_llm", positional="checkpoint", abbreviations=False, underscores=False)

Keys = Mapping[tuple[str, ...], tuple[str, str]]
"""What a file states: where in it, which quantity, and how the value is read."""

OPTIONS: Keys = {
    ("model",): ("checkpoint", "string"),
    ("tensor_parallel_size",): ("tensor_parallel", "int"),
    ("pipeline_parallel_size",): ("pipeline_parallel", "int"),
    ("context_parallel_size",): ("context_parallel", "int"),
    ("moe_expert_parallel_size",): ("expert_parallel_size", "int"),
    ("enable_attention_dp",): ("data_parallel_attention", "optional-value"),
    ("max_batch_size",): ("max_num_seqs", "int"),
    ("max_num_tokens",): ("max_num_batched_tokens", "int"),
    ("max_seq_len",): ("max_model_len", "int"),
    ("dtype",): ("weight_dtype", "string"),
    ("enable_chunked_prefill",): ("enable_chunked_prefill", "optional-value"),
    ("quant_config", "quant_algo"): ("quantization", "string"),
    ("kv_cache_config", "free_gpu_memory_fraction"): ("kv_cache_free_fraction", "float"),
    ("kv_cache_config", "dtype"): ("kv_cache_dtype", "string"),
    ("kv_cache_config", "enable_block_reuse"): ("enable_prefix_caching", "optional-value"),
    ("kv_cache_config", "host_cache_size"): ("host_kv_bytes", "int"),
    ("speculative_config", "decoding_type"): ("speculative", "string"),
}
"""Keys of the file that --extra_llm_api_options (or --config) names; they overrule the command line."""

ENGINE: Keys = {
    ("pretrained_config", "mapping", "tp_size"): ("tensor_parallel", "int"),
    ("pretrained_config", "mapping", "pp_size"): ("pipeline_parallel", "int"),
    ("pretrained_config", "mapping", "cp_size"): ("context_parallel", "int"),
    ("pretrained_config", "dtype"): ("weight_dtype", "string"),
    ("pretrained_config", "quantization", "quant_algo"): ("quantization", "string"),
    ("pretrained_config", "quantization", "kv_cache_quant_algo"): ("kv_cache_dtype", "string"),
    ("build_config", "max_batch_size"): ("max_num_seqs", "int"),
    ("build_config", "max_num_tokens"): ("max_num_batched_tokens", "int"),
    ("build_config", "max_input_len"): ("max_input_len", "int"),
    ("build_config", "max_seq_len"): ("max_model_len", "int"),
}
"""Keys of the config.json that trtllm-build writes beside an engine, whose layout is fixed."""

TRUSS: Keys = {
    ("build", "checkpoint_repository", "repo"): ("checkpoint", "string"),
    ("build", "tensor_parallel_count"): ("tensor_parallel", "int"),
    ("build", "max_batch_size"): ("max_num_seqs", "int"),
    ("build", "max_num_tokens"): ("max_num_batched_tokens", "int"),
    ("build", "max_seq_len"): ("max_model_len", "int"),
    ("build", "quantization_type"): ("quantization", "string"),
    ("runtime", "kv_cache_free_gpu_mem_fraction"): ("kv_cache_free_fraction", "float"),
    ("runtime", "enable_chunked_context"): ("enable_chunked_prefill", "optional-value"),
}
"""Keys of the `trt_llm` section of a Truss config.yaml (inference stack v1)."""


def read(invocation: Invocation) -> Reading | None:
    """Return the fields of a TensorRT-LLM server; None for any other invocation."""
    at = _find_server(invocation.arguments)
    if at is None:
        return None
    words = invocation.arguments[at + 1 :]
    told = image_tags.parse_release(invocation.image, NUMBERING)
    identity = {**_identify(invocation, told), **_has_launcher(invocation.arguments[:at])}
    named = words[0].text if words else None
    if named in OTHER_SERVERS:
        return Reading(identity, words[-1].origin, OTHER_SERVERS[named])
    words = words[1:] if named == "serve" else words
    stated, open_ended = command_line.parse(words, GRAMMAR, told.version)
    origin = words[-1].origin if words else None
    return Reading({**identity, **_read_fields(stated)}, origin, open_ended or _find_open_reason(stated, words))


def render_argument(release: str, quantity: str, value: Value) -> str | None:
    """Return `--tp_size=4` for a quantity and its value; None if TensorRT-LLM has no argument for
    it.
    """
    flag = SPELLINGS.get(quantity)
    return f"{flag}={value}" if flag else None


def read_options(document: Document, path: Path) -> dict[str, Field]:
    """Return the fields that an option file sets, or the part of a document that holds one."""
    return _derive_fields(_read_keys(document, path, OPTIONS))


def read_engine(document: Document, path: Path) -> dict[str, Field]:
    """Return the fields that the config.json of a built engine sets."""
    return _derive_fields(_read_keys(document, path, ENGINE))


def read_truss(document: Document, path: Path) -> dict[str, Field]:
    """Return the fields that the `trt_llm` section of a Truss config.yaml sets."""
    found = _read_keys(document, path, TRUSS)
    kind = found.pop("quantization", None)
    if kind and isinstance(kind.value, str) and kind.value != "no_quant":
        found["quantization"] = Field(kind.value.removesuffix("_kv"), kind.origins)
        if kind.value.endswith("_kv"):
            found["kv_cache_dtype"] = Field("fp8", kind.origins)
    return _derive_fields(found)


# ---- the command


def _find_server(words: Sequence[Argument]) -> int | None:
    """Return the index of the server's word: the first, or a later one behind a launcher."""
    for at, word in enumerate(words):
        if (word.text or "").rsplit("/", 1)[-1] in (PROGRAM, MODULE):
            starts = at == 0 or (words[0].text or "").rsplit("/", 1)[-1] in STARTERS
            return at if starts else None
    return None


def _identify(invocation: Invocation, told: ImageRelease) -> dict[str, Field]:
    """Return engine and release from the image's tag."""
    image = invocation.image.text or ""
    origins = (invocation.image.origin,) if image else ()
    return {"engine": Field("tensorrt-llm", origins), **image_tags.build_field(invocation.image, told, NUMBERING.title)}


def _has_launcher(before: Sequence[Argument]) -> dict[str, Field]:
    """Return whether a launcher may give the server ranks in other pods."""
    named = [(word.text or "").rsplit("/", 1)[-1] for word in before]
    launcher = next((name for name in named if name in LAUNCHERS), None)
    return {"multi_node": Field(True, source=launcher)} if launcher else {}


def _read_fields(stated: Sequence[ParsedArgument]) -> dict[str, Field]:
    """Return fields by quantity. What an option file may replace is unknown."""
    found = command_line.read_fields(stated)
    if "config_file" in found:
        found["kv_cache_free_fraction"] = Field(Unknown("the options file may replace the KV cache settings"))
    return _derive_fields(found)


def _find_open_reason(stated: Sequence[ParsedArgument], words: Sequence[Argument]) -> str:
    """Return why the command line alone does not determine the settings."""
    if any(argument.flag.field == "config_file" for argument in stated):
        return "a file of options overrules the command line"
    model = next(
        (argument.value.text for argument in stated if argument.flag.field == "checkpoint" and argument.value), None
    )
    if model is not None and model.startswith(("/", ".")):
        return "the path may hold a built engine, whose layout is fixed"
    return "" if words else "the arguments are in the image or in a script"


# ---- files


def _read_keys(document: Document, path: Path, keys: Keys) -> dict[str, Field]:
    """Return the fields that the keys of a mapping set, each with its location."""
    found: dict[str, Field] = {}
    for key, (name, kind) in keys.items():
        place = (*path, *key)
        value = document.get(place)
        if value is None or isinstance(value, dict | list):
            continue
        word = Argument(_write_value(value), Origin(document, place))
        found[name] = command_line.read_field(ParsedArgument(Flag(key[-1], name, kind), word, word))
    return found


def _write_value(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _derive_fields(found: Mapping[str, Field]) -> dict[str, Field]:
    """Return glossary fields, including what some of them imply for others."""
    settled = dict(found)
    length = settled.get("max_model_len")
    settled["max_model_len_stated"] = Field(length is not None, length.origins if length else ())
    settled["max_model_len_fitted"] = Field(True, source="the engine shortens it to what the KV cache holds")
    if length is None:
        settled["max_model_len"] = Field(Unknown("the engine chooses the longest length that fits"))
    if (context := settled.get("context_parallel")) and context.value != 1:
        settled["parallel_size"] = Field(Unknown("context parallelism changes it"), context.origins)
    if (experts := settled.get("expert_parallel_size")) and experts.value != 1:
        settled["expert_parallel"] = Field(True, experts.origins)
    if (tier := settled.get("host_kv_bytes")) and _count_ranks(settled) != 1:
        settled["host_kv_bytes"] = Field(Unknown("each rank keeps its own host tier"), tier.origins)
    for name in ("quantization", "kv_cache_dtype"):
        if (field := settled.get(name)) and isinstance(field.value, str):
            settled[name] = Field(field.value.lower(), field.origins)
    return command_line.select_glossary_fields(settled)


def _count_ranks(found: Mapping[str, Field]) -> int | None:
    """Return the ranks of the declared layout; None if a part of it cannot be read."""
    ranks = 1
    for name in ("tensor_parallel", "pipeline_parallel", "context_parallel"):
        value = found[name].value if name in found else 1
        if not isinstance(value, int):
            return None
        ranks *= value
    return ranks
