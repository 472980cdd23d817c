"""LMDeploy: `lmdeploy serve api_server`, by command line and image tag."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from gpulint.engines import Argument, Invocation, Reading, command_line, image_tags
from gpulint.engines.command_line import Grammar, ParsedArgument
from gpulint.engines.image_tags import ImageRelease, Numbering
from gpulint.workload import Field, Unknown, Value

MENTIONS = ("lmdeploy",)
PROGRAM = "lmdeploy"
SUBCOMMAND = ("serve", "api_server")
NUMBERING = Numbering(
    "LMDeploy",
    word="lmdeploy",
    # .github/workflows/docker.yml of v0.6.4 to v0.12.0 and of August 2026: cu11, cu12, cu12.8, cu13.0, hopper, ascend
    plain=r"lmdeploy:v(?P<release>0\.\d+\.\d+(?:\.post\d+)?)(?:-(?:cu1\d(?:\.\d)?|hopper|ascend))*",
    named=rf"(?:{image_tags.BUILD}[-_])*lmdeploy(?:[-_]{image_tags.BUILD})*",
    number=r"0\.(?:[4-9]|[1-9]\d)\.\d{1,2}(?:\.post\d+)?",
)

"""The official repository is openmmlab/lmdeploy; a mirror keeps its last component."""
ASCEND = re.compile(r"ascend|dlinfer", re.IGNORECASE)
OLDEST_ASSUMED = (0, 8, 0)
"""An image whose tag tells no release is taken for a release of the last eighteen months (0.8.0: May 2025)."""
GRAMMAR = Grammar("lmdeploy", positional="checkpoint", underscores=False, newest=(0, 18, 0))
CACHE_FORMATS = {
    "0": None,
    "none": None,
    "4": "int4",
    "int4": "int4",
    "8": "int8",
    "int8": "int8",
    "16": "fp8_e4m3",
    "fp8": "fp8_e4m3",
    "fp8_e4m3": "fp8_e4m3",
    "17": "fp8_e5m2",
    "fp8_e5m2": "fp8_e5m2",
}
"""What `--quant-policy` states; None is the format of the activations."""
ELSEWHERE = ("dist_init_addr", "node_rank", "distributed_executor_backend")
"""Arguments that let GPUs of other pods join."""
LAYOUT = ("parallel_size", "weight_bytes_per_gpu", "kv_entry_bytes", "heads_remainder", "kv_heads_remainder")


def read(invocation: Invocation) -> Reading | None:
    """Return the fields of an LMDeploy server; None for any other invocation."""
    words = _server_words(invocation.arguments)
    if words is None:
        return None
    told = image_tags.parse_release(invocation.image, NUMBERING)
    stated, open_ended = command_line.parse(words, GRAMMAR, told.version)
    notices = image_tags.filter_notices(command_line.find_notices(stated, GRAMMAR, told.certain), told)
    fields = {**_identify(invocation, told), **_read_fields(stated), **notices}
    last = words[-1] if words else invocation.arguments[-1]
    return Reading(fields, last.origin, open_ended)


def render_argument(release: str, quantity: str, value: Value) -> str | None:
    """Return `--tp=4` for a quantity and its value; None if that release of LMDeploy has no
    argument for it.
    """
    if quantity == "max_model_len" and not isinstance(value, int):
        return None
    if quantity == "kv_cache_free_fraction":
        return f"--cache-max-entry-count={value}"
    return command_line.render_argument("lmdeploy", release, quantity, value)


def _server_words(words: Sequence[Argument]) -> Sequence[Argument] | None:
    """Return the words after `lmdeploy serve api_server`."""
    for at, word in enumerate(words):
        following = tuple(word.text for word in words[at + 1 : at + 3])
        if word.text and word.text.rsplit("/", 1)[-1] == PROGRAM and following == SUBCOMMAND:
            return words[at + 3 :]
    return None


def _identify(invocation: Invocation, told: ImageRelease) -> dict[str, Field]:
    """Return engine and release from the image's tag."""
    image = invocation.image.text or ""
    fields = {"engine": Field("lmdeploy", (invocation.image.origin,) if image else ())}
    fields |= image_tags.build_field(invocation.image, told, NUMBERING.title)
    if ASCEND.search(image):
        fields["device"] = Field("ascend", (invocation.image.origin,))
    return fields


def _read_fields(stated: Sequence[ParsedArgument]) -> dict[str, Field]:
    """Return fields by quantity, including what some arguments imply for others."""
    fields = command_line.read_fields(stated)
    length = fields.get("max_model_len")
    fields["max_model_len_stated"] = Field(length is not None, length.origins if length else ())
    for derived in (_read_cache, _read_layout, _read_extensions):
        fields |= derived(fields)
    for name, plain in (("device", "cuda"), ("quantization", "hf")):
        if fields.get(name, Field(None)).value == plain:
            del fields[name]
    return command_line.select_glossary_fields(fields)


def _read_cache(fields: Mapping[str, Field]) -> dict[str, Field]:
    """Return size and number format of the KV cache."""
    found: dict[str, Field] = {}
    if share := fields.get("cache_max_entry_count"):
        found["kv_cache_free_fraction"] = Field(_parse_share(share.value), share.origins)
    if policy := fields.get("quant_policy"):
        name = str(policy.value).lower()
        known = CACHE_FORMATS.get(name, Unknown(f"--quant-policy {policy.value} is not modelled"))
        if known is not None:
            found["kv_cache_dtype"] = Field(known, policy.origins)
    blocks = fields.get("num_gpu_blocks")
    if blocks and blocks.value != "0":
        found["kv_cache_bytes"] = Field(Unknown("--num-gpu-blocks sets the size of the KV cache"), blocks.origins)
    return found


def _parse_share(value: Value | Unknown) -> Value | Unknown:
    """Return a share of free memory. From 1 on it was a number of blocks."""
    try:
        share = float(str(value))
    except ValueError:
        return value if isinstance(value, Unknown) else Unknown(f"{value} is not a number")
    return share if 0 < share < 1 else Unknown(f"--cache-max-entry-count {value} is not a share")


def _read_layout(fields: Mapping[str, Field]) -> dict[str, Field]:
    """Return expert parallelism, whether other pods take part, and what replicas and further ranks
    leave open.
    """
    found: dict[str, Field] = {}
    experts, tensor = fields.get("expert_parallel_size"), fields.get("tensor_parallel", Field(1))
    if experts and experts.value != 1:
        found["expert_parallel"] = Field(True, experts.origins)
    apart = experts is not None and experts.value not in (1, tensor.value)
    copies = fields.get("data_parallel", Field(1)).value != 1
    if apart or copies or fields.get("context_parallel", Field(1)).value != 1:
        why = Unknown("the two backends place copies and experts differently")
        found |= {name: Field(why) for name in LAYOUT}
    nodes = fields.get("nnodes")
    if (nodes and nodes.value != "1") or any(name in fields for name in ELSEWHERE):
        found["multi_node"] = Field(True, source="--nnodes")
    return found


def _read_extensions(fields: Mapping[str, Field]) -> dict[str, Field]:
    """Return LoRA adapters, and whether a longer context is requested on purpose."""
    found: dict[str, Field] = {}
    if adapters := fields.get("adapters"):
        found["enable_lora"] = Field(True, adapters.origins)
    scaling = fields.get("rope_scaling")
    extended = fields.get("hf_overrides") or (scaling if scaling and scaling.value not in ("0", "0.0") else None)
    return {**found, "context_extended": Field(True, extended.origins)} if extended else found
