"""vLLM: `vllm serve` and its older server module, by command line, environment and image tag."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpulint.engines import Argument, Invocation, Reading, command_line, image_tags
from gpulint.engines.command_line import Grammar, ParsedArgument
from gpulint.engines.image_tags import ImageRelease, Numbering
from gpulint.engines.serving import vllm_settings
from gpulint.workload import Field, Unknown, Value

MENTIONS = ("vllm",)
TRIGGERS = ("vllm", "tensor_parallel", "tensor-parallel")
SERVER_MODULE = re.compile(r"vllm\.entrypoints\.[\w.]*(?:api|grpc)_server")
IMAGE = re.compile(r"(?:^|[/_-])vllm(?:$|[_:@-])")
NOT_A_SERVER = re.compile(
    r"(?:^|[-_])ray|router|mock|gateway|proxy|gradio|detector|bench|lmcache-server|exporter|controller|operator|simulator|-sim\b|tpu|neuron|cpu|hpu|gaudi|ascend|npu|xpu"
)
ON_CPU = re.compile(r"vllm[\w-]*-cpu|/cpu\b|[:_-]cpu(?:$|[-_.])")
NO_GPU = re.compile(r"neuron|tpu")
"""Builds for accelerators that are no GPUs."""
FORK = re.compile(r"omni|ascend|npu|tpu|neuron|gaudi|hpu|xpu|plugin|metal|spyre")
"""Builds that take arguments of their own besides vLLM's."""
NUMBERING = Numbering(
    "vLLM",
    word="vllm",
    # .buildkite/scripts/publish-release-images.sh of 2026: -x86_64, -aarch64, -cu129, -ubuntu2404, the ROCm and CPU images
    plain=r"(?<!lmcache/)vllm-openai(?:-rocm|-cpu)?:v(?P<release>\d\.\d+\.\d+(?:\.\d+)?(?:\.post\d+)?)"
    r"(?:-(?:x86_64|aarch64|arm64|cu\d{3}|ubuntu2404|rocm\d+))*",
    named=rf"(?<!lmcache/)(?:vllm-openai(?:[-_][\w.-]+)?|(?:{image_tags.BUILD}[-_])*vllm(?:[-_]{image_tags.BUILD})*)",
    number=r"0\.(?:[4-9]|[1-9]\d)(?:\.\d{1,2}){0,2}(?:\.post\d+|rc\d+)?",
    others=r"(?:lmcache[-_]?v?0\.[0-5]|(?:nixl|ray|flashinfer|torch|mooncake|dynamo)[-_]?v?\d+\.\d+)[\w.]*",
)

"""lmcache/vllm-openai is numbered by LMCache (0.5.6 in November 2026), 25.09-py3 by a year and a month."""
OLDEST_ASSUMED = (0, 9, 0)
"""An image whose tag tells no release is taken for a release of the last eighteen months (0.9.0: May 2025)."""
MULTI_NODE = (
    *("--nnodes", "--node-rank", "--headless", "--data-parallel-rank", "--data-parallel-start-rank"),
    *(
        "--omni",
        "--data-parallel-address",
        "--data-parallel-size-local",
        "--data-parallel-hybrid-lb",
        "--data-parallel-external-lb",
    ),
)
PROGRAMS = frozenset({"vllm", "vllm-omni"})
SERVICE_VARIABLES = ("VLLM_PORT",)
"""vLLM, docs/configuration/env_vars.md: a Service must not be named vllm; Kubernetes sets VLLM_PORT to its address."""
GRAMMAR = Grammar("vllm", positional="checkpoint", newest=(0, 33, 0))


def read(invocation: Invocation) -> Reading | None:
    """Return the fields of a vLLM server; None for any other invocation."""
    words = _server_words(invocation)
    if words is None:
        return None
    told = image_tags.parse_release(invocation.image, NUMBERING)
    release = told.version
    identity = _identify(invocation, told)
    stated, open_ended = command_line.parse(words, GRAMMAR, release)
    stated = _drop_ignored(stated, invocation.arguments[: len(invocation.arguments) - len(words)])
    found = {**identity, **_read_fields(stated)}
    found |= vllm_settings.derive_fields(found, invocation.environment, release)
    fields = command_line.select_glossary_fields(found)
    if not FORK.search(_repository(invocation.image.text or "")):
        fields |= image_tags.filter_notices(command_line.find_notices(stated, GRAMMAR, told.certain), told)
    if not words:
        open_ended = "the arguments are in the image or in a script"
    origin = words[-1].origin if words else None
    return Reading(fields, origin, open_ended or _find_open_reason(stated))


def _drop_ignored(stated: list[ParsedArgument], before: Sequence[Argument]) -> list[ParsedArgument]:
    """Return the arguments without a bare word beside --model, which only `vllm serve` takes for the model.

    vllm v0.11.0 vllm/entrypoints/openai/cli_args.py adds model_tag, and only vllm/entrypoints/cli/serve.py reads it.
    """
    serves = bool(before) and before[-1].text == "serve"
    named = any(argument.flag.name and argument.flag.field == "checkpoint" for argument in stated)
    return stated if serves or not named else [argument for argument in stated if argument.flag.name]


def render_argument(release: str, quantity: str, value: Value) -> str | None:
    """Return `--tensor-parallel-size=4` for a quantity and its value; None if that release of vLLM
    has no argument for it.
    """
    return command_line.render_argument("vllm", release, quantity, value)


def _server_words(invocation: Invocation) -> Sequence[Argument] | None:
    """Return the words after `vllm serve`, after the server's module, or after the image's own
    entry point.
    """
    words = invocation.arguments
    for at, word in enumerate(words):
        following = words[at + 1].text if at + 1 < len(words) else None
        if word.text and word.text.rsplit("/", 1)[-1] in PROGRAMS and following == "serve":
            return words[at + 2 :]
        if word.text == "-m" and following and SERVER_MODULE.fullmatch(following):
            return words[at + 2 :]
        if word.text and word.text.endswith("api_server.py") and "vllm" in word.text:
            return words[at + 1 :]
    image = _repository(invocation.image.text or "")
    if invocation.entrypoint and IMAGE.search(image) and not NOT_A_SERVER.search(image):
        return words
    return None


def _repository(image: str) -> str:
    return image.split("@", 1)[0].rsplit("/", 1)[-1].split(":", 1)[0]


def _identify(invocation: Invocation, told: ImageRelease) -> dict[str, Field]:
    """Return engine and release from the image's tag."""
    image = invocation.image.text or ""
    fields = {"engine": Field("vllm", (invocation.image.origin,) if image else ())}
    fields |= image_tags.build_field(invocation.image, told, NUMBERING.title)
    if "omni" in _repository(image):
        fields["multi_node"] = Field(True, source="vLLM-Omni places its stages itself")
    if ON_CPU.search(image):
        fields["device"] = Field("cpu", (invocation.image.origin,))
    elif other := NO_GPU.search(image):
        fields["device"] = Field(other[0], (invocation.image.origin,))
    return fields


def _read_fields(stated: Sequence[ParsedArgument]) -> dict[str, Field]:
    """Return fields by quantity. Names outside the glossary serve settings that depend on several
    arguments.
    """
    fields = command_line.read_fields(stated)
    length = fields.get("max_model_len")
    fields["max_num_seqs_stated"] = Field("max_num_seqs" in fields)
    fields["max_num_batched_tokens_stated"] = Field("max_num_batched_tokens" in fields)
    fields["max_model_len_stated"] = Field(length is not None, length.origins if length else ())
    if length and length.value in command_line.AUTOMATIC:
        fields["max_model_len_fitted"] = Field(True, length.origins)
        fields["max_model_len"] = Field(Unknown("the engine chooses the longest length that fits"), length.origins)
    if joining := [argument.flag for argument in stated if _spans_pods(argument)]:
        fields["multi_node"] = Field(True, source=joining[0].name)
    if "prefill_context_parallel" in fields and fields["prefill_context_parallel"].value != 1:
        for name in ("decode_context_parallel", "data_parallel"):
            fields[name] = Field(Unknown("prefill context parallelism is not modelled"))
    if "kv_transfer_config" in fields and fields.get("enable_prefix_caching", Field(True)).value is False:
        fields["enable_prefix_caching"] = Field(
            Unknown("a KV connector may store prompts"), fields["kv_transfer_config"].origins
        )
    if "num_gpu_blocks_override" in fields:
        fields["kv_cache_memory_bytes"] = Field(Unknown("--num-gpu-blocks-override sets the size of the KV cache"))
    for name in ("rope_scaling", "hf_overrides"):
        if name in fields:
            fields["context_extended"] = Field(True, fields[name].origins)
    if fields.get("device", Field(None)).value not in (None, "cpu"):
        del fields["device"]
    return fields


def _spans_pods(one: ParsedArgument) -> bool:
    """Return whether an argument lets GPUs of other pods take part."""
    if one.flag.field == "distributed_executor_backend":
        return one.value is None or one.value.text in (None, "ray", "external_launcher")
    return one.flag.name.startswith(MULTI_NODE)


def _find_open_reason(stated: Sequence[ParsedArgument]) -> str:
    """Return why the command line alone does not determine the settings."""
    if any(argument.flag.field == "config_file" for argument in stated):
        return "--config names a file with further arguments"
    return ""
