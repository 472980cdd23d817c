"""SGLang: `sglang serve` and its older server module, by command line, environment and image tag."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gpulint import units
from gpulint.engines import Argument, Invocation, Reading, command_line, image_tags
from gpulint.engines.command_line import Grammar, ParsedArgument, Release
from gpulint.engines.image_tags import ImageRelease, Numbering
from gpulint.workload import Field, Origin, Unknown, Value

MENTIONS = ("sglang",)
SERVER_MODULE = "sglang.launch_server"
SERVER_FILE = re.compile(r"(?:^|/)sglang/launch_server\.py")
NUMBERING = Numbering(
    "SGLang",
    word="sglang",
    # .github/workflows/release-docker.yml (cu118 to cu125, -srt), release-docker-amd.yml (-rocm700-mi30x),
    # _docker-build-and-publish.yml (-runtime, cu129, cu130); v0.5.6-cu129-amd64, v0.4.10.post1-cu128-b200 of lmsysorg/sglang
    plain=r"sglang:v(?P<release>0\.[3-9]\.\d+(?:\.post\d+)?)"
    r"(?:-(?:cu\d{3}|rocm\d{3}|mi3\d+x|g?b200|amd64|arm64|runtime|srt))*",
    named=rf"(?:{image_tags.BUILD}[-_])*sglang(?:[-_]{image_tags.BUILD})*",
    number=r"0\.[3-9](?:\.\d{1,2})?(?:\.post\d+|rc\d+)?",
    others=r"(?:nixl|ray|flashinfer|torch|mooncake|dynamo|lmcache)[-_]?v?\d+\.\d+[\w.]*",
)

"""The official repository is lmsysorg/sglang; a mirror keeps its last component."""
OTHER_DEVICE = re.compile(r"[:_-](?P<device>cpu|xeon|npu|cann|xpu|gaudi|hpu|tpu|musa)")
"""Builds for other devices are marked in the tag or the repository: v0.5.10-xeon, sglang-cpu."""
OLDEST_ASSUMED = (0, 4, 8)
"""An image whose tag tells no release is taken for a release of the last eighteen months (0.4.8: June 2025)."""
OVERWRITES = "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN"
OVERWRITES_UNTIL = (0, 5, 1)
"""Up to 0.4.10 a context longer than the trained one only gives a warning."""
SIZED_LATE = "SGLANG_ENABLE_POST_CAPTURE_KV_SIZING"
LIMITED_SINCE = (0, 5, 22)
"""From here on `--max-running-requests` lowers the largest batch that graphs are captured for."""
MODULE = Grammar("sglang", underscores=False, newest=(0, 5, 23))
SERVE = MODULE._replace(positional="checkpoint")
TRUE = frozenset({"1", "true", "yes", "y", "t", "on"})
GPU = frozenset({"cuda", "hip", "rocm"})
LANGUAGE_MODELS = frozenset({"auto", "llm"})
ELSEWHERE = ("use_ray", "dist_init_addr", "node_rank", "elastic")
"""Arguments that let GPUs of other pods join."""
NEUTRAL = frozenset({"null", "none", "off", "-1"})
"""Values of an argument that leave its feature off."""
RANKS = frozenset({"moe_data_parallel", "attention_context_parallel", "weight_data_parallel"})
"""Sizes that change nothing at 1; `--moe-dense-tp-size 1` does."""


class Effect(NamedTuple):
    """Arguments that make a quantity unknown, and the reason."""

    by: tuple[str, ...]
    quantity: str
    why: str


OPEN = (
    Effect(
        ("moe_a2a_backend", "speculative", "disaggregation_mode", "graph_batches", "graph_backend", "enforce_eager"),
        "static_memory_fraction",
        "changes the share that the engine chooses",
    ),
    Effect(("kv_sharding", "unified_memory"), "static_memory_fraction", "changes the share that the engine chooses"),
    Effect(
        (
            *("moe_data_parallel", "dense_tensor_parallel", "attention_context_parallel", "weight_data_parallel"),
            *("offloaded_experts", "offloaded_layers", "encoder_only", "weight_cache"),
        ),
        "weight_bytes_per_gpu",
        "places weights in its own way",
    ),
    Effect(("max_total_tokens",), "kv_cache_tokens", "caps the KV cache"),
    Effect(("max_total_tokens",), "full_length_sequences", "caps the KV cache"),
    Effect(("kv_sharding", "attention_context_parallel"), "kv_bytes_per_token", "shares the KV cache out"),
    Effect(("mla_disabled",), "latent_kv_cache", "unpacks the KV cache"),
    Effect(("torchao_config", "quantize_and_serve", "modelopt_quant"), "quantization", "quantises at load"),
)
"""What is right only without these arguments; a stated value of the quantity holds all the same."""


def read(invocation: Invocation) -> Reading | None:
    """Return the fields of an SGLang server; None for any other invocation."""
    found = _find_server(invocation.arguments)
    if found is None:
        return None
    words, grammar = found
    told = image_tags.parse_release(invocation.image, NUMBERING)
    release = told.version
    identity = _identify(invocation, told)
    stated, open_ended = command_line.parse(words, grammar, release)
    kind = next((argument for argument in stated if argument.flag.field == "model_type"), None)
    if kind and kind.value and kind.value.text not in LANGUAGE_MODELS:
        return None
    fields = {**identity, **_read_fields(stated), **_is_context_extended(invocation.environment, stated, release)}
    fields = {**_read_graphs(fields, release), **_read_late_sizing(invocation.environment), **fields}
    if grammar.positional and any(not argument.flag.kind for argument in stated):
        open_ended = open_ended or "an argument is not one of language models"
    else:
        fields |= image_tags.filter_notices(command_line.find_notices(stated, grammar, told.certain), told)
    return Reading(fields, words[-1].origin if words else _program(invocation), open_ended or _find_open_reason(stated))


def render_argument(release: str, quantity: str, value: Value) -> str | None:
    """Return `--tp-size=4` for a quantity and its value; None if that release of SGLang has no
    argument for it.
    """
    if quantity == "max_model_len" and not isinstance(value, int):
        return None
    return command_line.render_argument("sglang", release, quantity, value)


def _find_server(words: Sequence[Argument]) -> tuple[Sequence[Argument], Grammar] | None:
    """Return the words after `sglang serve` or after the server's module, and how they are parsed."""
    for at, word in enumerate(words):
        following = words[at + 1].text if at + 1 < len(words) else None
        if word.text and word.text.rsplit("/", 1)[-1] == "sglang" and following == "serve":
            return words[at + 2 :], SERVE
        if word.text == "-m" and following == SERVER_MODULE:
            return words[at + 2 :], MODULE
        if word.text and SERVER_FILE.search(word.text):
            return words[at + 1 :], MODULE
    return None


def _program(invocation: Invocation) -> Origin | None:
    return invocation.arguments[-1].origin if invocation.arguments else None


def _identify(invocation: Invocation, told: ImageRelease) -> dict[str, Field]:
    """Return engine and release from the image's tag."""
    image = invocation.image.text or ""
    fields = {"engine": Field("sglang", (invocation.image.origin,) if image else ())}
    name = image.rsplit("/", 1)[-1].partition("@")[0]
    fields |= image_tags.build_field(invocation.image, told, NUMBERING.title)
    if "sglang" in image and (other := OTHER_DEVICE.search(name)):
        device = other.group("device")
        fields["device"] = Field("cpu" if device in ("cpu", "xeon") else device, (invocation.image.origin,))
    return fields


def _read_fields(stated: Sequence[ParsedArgument]) -> dict[str, Field]:
    """Return fields by quantity, including what some arguments imply for others."""
    fields = command_line.read_fields(stated)
    length = fields.get("max_model_len")
    fields["max_num_seqs_stated"] = Field("max_num_seqs" in fields)
    fields["max_model_len_stated"] = Field(length is not None, length.origins if length else ())
    for derived in (_read_parallelism, _read_chunks, _read_adapters, _read_host_cache, _read_disaggregation):
        fields |= derived(fields)
    fields |= _find_unknowns(fields, {argument.flag.field: argument.spelling for argument in stated})
    if fields.get("device", Field(None)).value in GPU:
        del fields["device"]
    return command_line.select_glossary_fields(fields)


def _read_parallelism(fields: Mapping[str, Field]) -> dict[str, Field]:
    """Return attention replicas inside the tensor-parallel ranks, expert parallelism, and whether
    other pods take part.
    """
    found: dict[str, Field] = {}
    copies = fields.get("attention_data_parallel")
    if copies and copies.value != 1:
        found["data_parallel"] = copies
        found["data_parallel_attention"] = Field(True, copies.origins)
    spread = fields.get("expert_parallel_size") or fields.get("moe_a2a_backend")
    if spread and spread.value not in (1, "none"):
        found["expert_parallel"] = Field(True, spread.origins)
    exchange, switch = fields.get("moe_a2a_backend"), fields.get("expert_parallel")
    spreads_all = (exchange and exchange.value != "none") or (switch and switch.value is True)
    if spreads_all and "tensor_parallel" in fields:  # server_args.py, _handle_a2a_moe: "is adjusted to be"
        found["expert_parallel_size"] = fields["tensor_parallel"]
    if "moe_data_parallel" in fields:
        found["refuses_split_blocks"] = Field(False, source="--moe-dp-size leaves wider shards")
    nodes = fields.get("nnodes")
    if (nodes and nodes.value != "1") or any(name in fields for name in ELSEWHERE):
        found["multi_node"] = Field(True, source="--nnodes")
    return found


def _read_chunks(fields: Mapping[str, Field]) -> dict[str, Field]:
    """Return the tokens of one prompt chunk; -1 leaves prompts whole."""
    size = fields.get("chunked_prefill_size")
    if size is None:
        return {}
    if isinstance(size.value, str) and size.value.isdecimal() and int(size.value):
        return {"max_num_batched_tokens": Field(int(size.value), size.origins)}
    whole = {"enable_chunked_prefill": Field(False, size.origins)} if size.value == "-1" else {}
    return {**whole, "max_num_batched_tokens": Field(Unknown("prompts are not cut into chunks"), size.origins)}


def _read_disaggregation(fields: Mapping[str, Field]) -> dict[str, Field]:
    """Return whether the server decodes what others prefill (sglang v0.5.23 --disaggregation-mode:
    null, prefill, decode).
    """
    mode = fields.get("disaggregation_mode")
    return {"prefill_apart": Field(True, mode.origins)} if mode and mode.value == "decode" else {}


def _read_adapters(fields: Mapping[str, Field]) -> dict[str, Field]:
    """Return LoRA as on if adapters are named."""
    paths = fields.get("lora_paths")
    return {"enable_lora": Field(True, paths.origins)} if paths and "enable_lora" not in fields else {}


def _read_host_cache(fields: Mapping[str, Field]) -> dict[str, Field]:
    """Return the host memory of the hierarchical cache: a declared size per rank, else a multiple
    of the KV cache.
    """
    if "hierarchical_cache" not in fields:
        return {}
    size = fields.get("hicache_gigabytes")
    ranks = 1
    for name in ("tensor_parallel", "pipeline_parallel"):
        value = fields.get(name, Field(1)).value
        ranks *= value if isinstance(value, int) else 0
    copies = fields.get("data_parallel", Field(1)).value
    inside = "data_parallel_attention" in fields or copies == 1
    stated = size is not None and isinstance(size.value, str) and size.value.isdecimal() and int(size.value)
    if size and stated and ranks and inside and "multi_node" not in fields:
        return {"host_kv_bytes": Field(stated * units.GB * ranks, size.origins)}
    return {"host_kv_bytes": Field(Unknown("--hicache-ratio times the KV cache of each GPU"))}


def _find_unknowns(fields: Mapping[str, Field], spellings: Mapping[str, str]) -> dict[str, Field]:
    """Return quantities that an argument makes unknown, unless they are declared."""
    found: dict[str, Field] = {}
    for effect in OPEN:
        for name in effect.by:
            if _is_on(fields, name) and (effect.quantity not in fields or effect.quantity == "quantization"):
                place = fields[name].origins
                found.setdefault(effect.quantity, Field(Unknown(f"{spellings[name]} {effect.why}"), place))
    return found


def _read_graphs(fields: Mapping[str, Field], release: Release) -> dict[str, Field]:
    """Return the largest captured batch, which a lower request limit may reduce in late releases."""
    limit = fields.get("max_num_seqs")
    if limit is None or (release is not None and release < LIMITED_SINCE):
        return {}
    return {"graph_batch": Field(Unknown("--max-running-requests may lower the batch that graphs are captured for"))}


def _read_late_sizing(environment: Mapping[str, Argument]) -> dict[str, Field]:
    """Return the memory share as unknown if the KV cache is sized after graph capture."""
    switch = environment.get(SIZED_LATE)
    if switch is None or (switch.text is not None and switch.text.strip().lower() not in TRUE):
        return {}
    return {"static_memory_fraction": Field(Unknown(f"{SIZED_LATE} changes the share"), (switch.origin,))}


def _is_on(fields: Mapping[str, Field], name: str) -> bool:
    """Return whether an argument has a value that changes something."""
    value = fields[name].value if name in fields else "none"
    return value not in NEUTRAL and not (value == "1" and name in RANKS)


def _is_context_extended(
    environment: Mapping[str, Argument], stated: Sequence[ParsedArgument], release: Release
) -> dict[str, Field]:
    """Return whether a context beyond the trained one is accepted: by an override, the engine's
    switch, or an early release.
    """
    overridden = next((argument for argument in stated if argument.flag.field == "model_overrides"), None)
    if overridden:
        return {"context_extended": Field(True, command_line.find_origins(overridden.value))}
    switch = environment.get(OVERWRITES)
    if switch and (switch.text is None or switch.text.strip().lower() in TRUE):
        return {"context_extended": Field(True, (switch.origin,))}
    if switch is None and release is not None and release < OVERWRITES_UNTIL:
        return {"context_extended": Field(True, source="early releases only warn")}
    return {}


def _find_open_reason(stated: Sequence[ParsedArgument]) -> str:
    """Return why the command line alone does not determine the settings."""
    if any(argument.flag.field == "config_file" for argument in stated):
        return "--config names a file with further arguments"
    return ""
