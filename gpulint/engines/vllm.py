"""vLLM: `vllm serve` and its older server module, by command line, environment and image tag."""

from __future__ import annotations

import csv
import functools
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from gpulint import catalog, units
from gpulint.engines import Argument, Invocation, Reading
from gpulint.workload import Field, Origin, Unknown, Value

SERVER_MODULE = re.compile(r"vllm\.entrypoints\.[\w.]*(?:api|grpc)_server")
IMAGE = re.compile(r"(?:^|[/_-])vllm(?:$|[_:@-])")
NOT_A_SERVER = re.compile(
    r"(?:^|[-_])ray|router|mock|gateway|proxy|gradio|detector|bench|lmcache-server|exporter|controller|operator|simulator|-sim\b|tpu|neuron|cpu|hpu|gaudi|ascend|npu|xpu"
)
ON_CPU = re.compile(r"vllm[\w-]*-cpu|/cpu\b|[:_-]cpu(?:$|[-_.])")
OFFICIAL = re.compile(r"(?<!lmcache/)vllm-openai[:@]")
"""Tags of other repositories number their own releases: lmcache/vllm-openai those of LMCache."""
RELEASE = re.compile(r"v?([01]\.\d+(?:\.\d+)?(?:\.post\d+)?)(?:$|[-_+])")
"""A tag such as 25.09-py3 is a year and a month of the image's maker."""
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
UNSPLIT = "unsplit"
"""The kind of an argument whose flag and value stand in one word, which argparse refuses."""
AUTOMATIC = frozenset({"auto", "-1"})


class Flag(NamedTuple):
    """A row of vllm_flags.csv: the quantity an argument states and whether it takes a value."""

    name: str
    field: str
    kind: str
    since: str = ""
    until: str = ""


class Stated(NamedTuple):
    """One argument as given: its flag, its value, and the words that hold them."""

    flag: Flag
    value: Argument | None


@functools.cache
def flags() -> Mapping[str, Flag]:
    """Every known spelling of an argument."""
    with (Path(__file__).parent / "vllm_flags.csv").open(encoding="utf-8", newline="") as file:
        return {
            row["flag"]: Flag(row["flag"], row["field"], row["kind"], row["since"], row["until"])
            for row in csv.DictReader(file)
        }


def read(invocation: Invocation) -> Reading | None:
    """The fields of a vLLM server; None when the invocation is not one."""
    words = _server_words(invocation)
    if words is None:
        return None
    stated, open_ended = _parsed(words)
    fields = {**_identity(invocation), **_from_environment(invocation.environment), **_from_arguments(stated)}
    if not words:
        open_ended = "the arguments are in the image or in a script"
    origin = words[-1].origin if words else None
    return Reading(fields, origin, open_ended or _elsewhere(stated))


def spelled(release: str, quantity: str, value: Value) -> str | None:
    """`--tensor-parallel-size=4` for a quantity and its value; None when that release of vLLM has no argument for it."""
    meant = (flag for flag in flags().values() if flag.field == quantity and flag.name.startswith("--"))
    flag = next((flag for flag in meant if _known_to(flag, catalog.release(release))), None)
    if flag is None:
        return None
    return flag.name if flag.kind == "bool" else f"{flag.name}={value}"


def _known_to(flag: Flag, version: tuple[int, ...] | None) -> bool:
    return version is None or catalog.in_version({"since": flag.since, "until": flag.until}, version)


def _server_words(invocation: Invocation) -> Sequence[Argument] | None:
    """The words after `vllm serve`, after the server's module, or after the image's own entry point."""
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


def _identity(invocation: Invocation) -> dict[str, Field]:
    """Engine and release, as the image's tag tells them."""
    image = invocation.image.text or ""
    fields = {"engine": Field("vllm", (invocation.image.origin,) if image else ())}
    tag = image.rsplit("/", 1)[-1].partition("@")[0].partition(":")[2]
    if OFFICIAL.search(image) and (release := RELEASE.match(tag)):
        fields["engine_version"] = Field(release.group(1), (invocation.image.origin,))
    if "omni" in _repository(image):
        fields["multi_node"] = Field(True, source="vLLM-Omni places its stages itself")
    if ON_CPU.search(image):
        fields["device"] = Field("cpu", (invocation.image.origin,))
    return fields


def _parsed(words: Sequence[Argument]) -> tuple[list[Stated], str]:
    """The arguments in order, and why there may be more than can be read."""
    stated: list[Stated] = []
    open_ended = ""
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if word.text is None and not word.flag:
            open_ended = open_ended or word.why or "an argument cannot be read"
            continue
        name, has_value, _ = (f"{word.flag}=" if word.text is None else word.text).partition("=")
        if not name.startswith("-"):
            stated.append(Stated(Flag("", "checkpoint", "string"), word))
            continue
        if " " in name.strip() and word.origin.span is None:
            stated.append(Stated(Flag(name, _flag(name.split()[0]).field, UNSPLIT), word))
            continue
        flag = _flag(name)
        if has_value:
            stated.append(Stated(flag, _after_equals(word)))
        elif _takes_value(flag, words[at : at + 1]):
            stated.append(Stated(flag, words[at]))
            at += 1
            while flag.kind == "list" and at < len(words) and not (words[at].text or "-").startswith("-"):
                at += 1
        else:
            stated.append(Stated(flag, None))
    return stated, open_ended


def _flag(name: str) -> Flag:
    """The flag of a spelling: exact, with underscores, or as an unambiguous prefix, as argparse accepts it."""
    spelling = name.replace("_", "-") if name.startswith("--") else name
    if known := flags().get(spelling):
        return known
    if dotted := flags().get(spelling.split(".", 1)[0]):
        return Flag(dotted.name, "", "string")
    starting = {flag for other, flag in flags().items() if other.startswith(spelling) and spelling.startswith("--")}
    meant = {flag.field or flag.name for flag in starting}
    return next(iter(starting)) if len(meant) == 1 else Flag(spelling, "", "")


def _takes_value(flag: Flag, following: Sequence[Argument]) -> bool:
    if not following or flag.kind == "bool":
        return False
    text = following[0].text
    looks_like_flag = text is not None and text.startswith("-") and not re.fullmatch(r"-\d+(\.\d+)?", text)
    return not looks_like_flag


def _after_equals(word: Argument) -> Argument:
    if word.text is None:
        return word
    return word._replace(text=word.text.partition("=")[2])


def _from_arguments(stated: Sequence[Stated]) -> dict[str, Field]:
    """Fields by quantity; of an argument given twice the last one decides, as in argparse."""
    fields: dict[str, Field] = {}
    for flag, value in stated:
        if flag.field and flag.kind != UNSPLIT:
            fields.update(_field(flag, value))
    length = fields.get("max_model_len")
    fields["max_model_len_stated"] = Field(length is not None, length.origins if length else ())
    if length and length.value in AUTOMATIC:
        fields["max_model_len_fitted"] = Field(True, length.origins)
        fields["max_model_len"] = Field(Unknown("the engine chooses the longest that fits"), length.origins)
    if joining := [flag for flag, value in stated if _joins_nodes(flag, value)]:
        fields["multi_node"] = Field(True, source=joining[0].name)
    for flag, value in stated:
        if flag.kind == UNSPLIT and value:
            fields["unsplit_argument"] = Field(value.text, _origins(value))
            fields[flag.field] = Field(Unknown(f"{value.text} is one word"), _origins(value))
    if any(flag.field == "num_gpu_blocks_override" for flag, _ in stated):
        fields["kv_cache_memory_bytes"] = Field(Unknown("--num-gpu-blocks-override sets the size of the KV cache"))
    for name in ("rope_scaling", "hf_overrides"):
        if name in fields:
            fields["context_extended"] = Field(True, fields.pop(name).origins)
    if fields.get("device", Field(None)).value not in (None, "cpu"):
        del fields["device"]
    return fields


_GIB = {"cpu_offload_gib": "cpu_offload_bytes"}
_KEPT = frozenset(
    {
        *("checkpoint", "tensor_parallel", "pipeline_parallel", "data_parallel", "decode_context_parallel"),
        *("expert_parallel", "max_model_len", "max_num_seqs", "max_num_batched_tokens", "gpu_memory_utilization"),
        *("kv_cache_memory_bytes", "kv_cache_dtype", "weight_dtype", "quantization", "enforce_eager", "block_size"),
        *("cpu_offload_gib", "enable_lora", "rope_scaling", "hf_overrides", "device", "attention_backend"),
    }
)


def _field(flag: Flag, value: Argument | None) -> dict[str, Field]:
    name = "speculative" if flag.field.startswith("speculative") else flag.field
    if name != "speculative" and name not in _KEPT:
        return {}
    origins = _origins(value)
    if value is None:
        return {name: Field(not flag.name.startswith("--no-"))}
    if value.text is None:
        return {_GIB.get(name, name): Field(Unknown(value.why or "its value cannot be read"), origins)}
    try:
        read = _value(flag.kind, value.text)
    except ValueError:
        return {_GIB.get(name, name): Field(Unknown(f"{value.text} is not a number"), origins)}
    if isinstance(read, int | float) and not _possible(name, read):
        return {_GIB.get(name, name): Field(Unknown(f"{value.text} cannot be"), origins)}
    if name in _GIB and isinstance(read, int | float):
        return {_GIB[name]: Field(round(read * units.GIB), origins)}
    return {name: Field(read, origins)}


def _possible(name: str, value: float) -> bool:
    """Whether a number is one that the engine accepts: counts from 1 on, shares up to 1, sizes from 0 on."""
    if name == "gpu_memory_utilization":
        return 0 < value <= 1
    return value >= (0 if name in ("cpu_offload_gib", "kv_cache_memory_bytes") else 1)


def _value(kind: str, text: str) -> Value:
    if kind == "int":
        return int(text)
    if kind == "human-int":
        return text if text in AUTOMATIC else units.human_int(text)
    if kind == "float":
        number = float(text)
        if not math.isfinite(number):
            raise ValueError(text)
        return number
    return text


def _origins(value: Argument | None) -> tuple[Origin, ...]:
    if value is None:
        return ()
    return (value.behind, value.origin) if value.behind else (value.origin,)


def _joins_nodes(flag: Flag, value: Argument | None) -> bool:
    """Whether an argument lets GPUs of other pods join."""
    if flag.field == "distributed_executor_backend":
        return value is None or value.text in (None, "ray", "external_launcher")
    return flag.name.startswith(MULTI_NODE)


def _from_environment(environment: Mapping[str, Argument]) -> dict[str, Field]:
    fields: dict[str, Field] = {}
    backend = environment.get("VLLM_ATTENTION_BACKEND")
    if backend and backend.text:
        fields["attention_backend"] = Field(backend.text, (backend.origin,))
    long = environment.get("VLLM_ALLOW_LONG_MAX_MODEL_LEN")
    if long and (long.text or "").strip().lower() in {"1", "true"}:
        fields["context_extended"] = Field(True, (long.origin,))
    return fields


def _elsewhere(stated: Sequence[Stated]) -> str:
    """Why the command line alone does not tell the settings."""
    if any(flag.field == "config_file" for flag, _ in stated):
        return "--config names a file with further arguments"
    return ""
