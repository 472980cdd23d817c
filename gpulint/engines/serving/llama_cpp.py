"""llama.cpp: `llama-server`, its images, and the server of llama-cpp-python, by command line, environment and image tag.

Its releases are builds: 0.0.8989 is b8989.
"""

from __future__ import annotations

import csv
import functools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from gpulint.catalog.architecture import gguf_names
from gpulint.engines import Argument, Invocation, Reading, command_line, image_tags
from gpulint.engines.command_line import Flag, Grammar, ParsedArgument, Release
from gpulint.engines.image_tags import ImageRelease, Numbering
from gpulint.workload import Field, Origin, Unknown, Value

MENTIONS = ("llama",)
TRIGGERS = ("llama.cpp", "llama-server")
IMAGE = re.compile(r"(?:^|/)llama\.cpp[:@]")
OFFICIAL = re.compile(r"(?:^|/)(?:ggml-org/|ggerganov/)?llama\.cpp[:@]")
FORK = re.compile(r"ik[-_]?llama|beellama|turboquant|koboldcpp|llamafile|llamacpp-club|prima\.cpp", re.IGNORECASE)
"""Forks number their releases, set their defaults and count their memory in their own way."""
TAG = re.compile(r"(?P<content>full|server)(?P<build>-(?!b\d)[a-z]+[\d.]*)?")
NUMBERING = Numbering(
    "llama.cpp",
    word=r"llama[.-]?cpp[-_]b",
    # .github/workflows/docker.yml of 2025: full, light and server, with a device and a build number
    plain=r"llama\.cpp:(?:full|server)(?:-(?:cuda|rocm|vulkan|musa|intel)[\d.]*)?-b(?P<release>\d{4,5})",
    named=rf"(?:{image_tags.BUILD}[-_])*llama[.-]?cpp(?:[-_]{image_tags.BUILD})*",
    number=r"\d{4,5}",
    lead="b",
)
ON_GPU = ("-cuda", "-rocm", "-vulkan", "-musa", "-intel")
PREFIXES = frozenset(
    {"exec", "nohup", "time", "sudo", "command", "tini", "dumb-init", "--", "env", "numactl", "stdbuf"}
)

SERVER = frozenset({"--server", "-s"})
"""What the full image's own program, tools.sh, starts the server by."""
OLDEST_ASSUMED = (0, 0, 5450)
"""An image whose tag tells no release is taken for a build of the last eighteen months (b5450: May 2025)."""
LISTED_FROM = (0, 0, 3716)
"""The first build whose arguments are listed; earlier ones may have some that went before it."""
FITTING = (0, 0, 7407)
"""The first build that fits what is not stated to the free memory."""
FLASH_TAKES_A_VALUE = (0, 0, 6325)
AUTOMATIC = -1
ALL_LAYERS = 999
"""More layers than any network has: what builds up to b7552 took for all of them."""
OFF = frozenset({"off", "0", "false", "disabled"})
GRAMMAR = Grammar("llama_cpp", abbreviations=False, newest=(0, 0, 8989))
PYTHON = Grammar("llama_cpp_python", underscores=False)


def read(invocation: Invocation) -> Reading | None:
    """Return the fields of a llama.cpp server; None for any other invocation."""
    if FORK.search(invocation.image.text or ""):
        return None
    if (words := _server_words(invocation)) is not None:
        return _read_server(invocation, words)
    if (words := _python_words(invocation)) is not None:
        return _read_python_server(invocation, words)
    return None


def render_argument(release: str, quantity: str, value: Value) -> str | None:
    """Return None: a value is a word of its own, and a suggestion can add one word only."""
    return None


def read_model_name(reference: str, origins: tuple[Origin, ...] = ()) -> dict[str, Field]:
    """Return checkpoint and number format of a file `<checkpoint>-<type>.gguf` or a repository
    `<checkpoint>-GGUF:<type>`.
    """
    return _read_file_name(
        Field(reference, origins),
        gguf_names.parse_file_name if reference.endswith(".gguf") else gguf_names.parse_repository,
    )


def _read_server(invocation: Invocation, words: Sequence[Argument]) -> Reading:
    """Return what `llama-server` makes of its words and, for omitted arguments, of LLAMA_ARG_
    variables.
    """
    told = _parse_build(invocation.image)
    release = told.version
    identity = _identify(invocation.image, told)
    stated, open_ended = command_line.parse(words, GRAMMAR, release)
    given = [*_read_environment(invocation.environment, GRAMMAR), *stated]
    found = command_line.read_fields(given)
    notices = image_tags.filter_notices(_find_notices(stated, words, told.certain), told)
    fields = {**identity, **_read_fields(found, release), **({} if _is_unlisted(release) else notices)}
    if memory := invocation.environment.get("GGML_CUDA_ENABLE_UNIFIED_MEMORY"):
        fields["device_memory_bytes"] = Field(Unknown("weights may spill into host memory"), (memory.origin,))
    if not given:
        open_ended = "the arguments are in the image or in a script"
    return Reading(fields, words[-1].origin if words else None, open_ended or _find_open_reason(found, invocation))


def _read_python_server(invocation: Invocation, words: Sequence[Argument]) -> Reading:
    """Return what `python -m llama_cpp.server` makes of its words and variables. It fits nothing to
    memory.
    """
    stated, open_ended = command_line.parse(words, PYTHON)
    found = command_line.read_fields([*_read_environment(invocation.environment, PYTHON), *stated])
    for name, value in (("gpu_layers", 0), ("context_size", 2048), ("attention_backend", False)):
        found.setdefault(name, Field(value, source="default of llama-cpp-python"))
    for name in ("cache_type_k", "cache_type_v"):
        if name in found:
            found[name] = Field(Unknown("the type is given as a number"), found[name].origins)
    if found["gpu_layers"].value == str(AUTOMATIC):
        found["gpu_layers"] = Field("all", found["gpu_layers"].origins)
    image = invocation.image
    fields = {
        "engine": Field("llama.cpp", (image.origin,) if image.text else ()),
        **_read_fields({**found, "fit": Field("off")}, None),
        "max_num_seqs": Field(1, source="llama-cpp-python serves one request at a time"),
    }
    if "config_file" in found:
        open_ended = "--config_file names a file with further arguments"
    return Reading(fields, words[-1].origin if words else None, open_ended or _find_open_reason(found, invocation))


# ---- which words are a server's


def _server_words(invocation: Invocation) -> Sequence[Argument] | None:
    """Return the words after `llama-server`, after `tools.sh --server`, or after the image's own
    entry point.
    """
    words = invocation.arguments
    for at, word in enumerate(words):
        program = (word.text or "").rsplit("/", 1)[-1]
        if program == "llama-server":
            return words[at + 1 :]
        if program == "tools.sh" and at + 1 < len(words) and words[at + 1].text in SERVER:
            return words[at + 2 :]
        if program not in PREFIXES and not program.startswith("-") and "=" not in program:
            break
    content = _find_content(invocation.image.text or "") if invocation.entrypoint else ""
    if content == "server":
        return words
    return words[1:] if content == "full" and words and words[0].text in SERVER else None


def _find_content(image: str) -> str:
    """Return what an image of llama.cpp holds by its tag: the server alone, or everything behind
    one script.
    """
    named = TAG.match(image.partition("@")[0].rsplit(":", 1)[-1]) if IMAGE.search(image) else None
    return named["content"] if named else ""


def _python_words(invocation: Invocation) -> Sequence[Argument] | None:
    words = invocation.arguments
    for at, word in enumerate(words[:-1]):
        if word.text == "-m" and words[at + 1].text == "llama_cpp.server":
            return words[at + 2 :]
    return None


def _parse_build(image: Argument) -> ImageRelease:
    """Return the build as a release: b5000 is 0.0.5000."""
    told = image_tags.parse_release(image, NUMBERING)
    return told._replace(release=f"0.0.{told.release}") if told.release else told


def _identify(image: Argument, told: ImageRelease) -> dict[str, Field]:
    """Return engine and release, and the CPU as device if the image is built for no GPU."""
    text = image.text or ""
    fields = {"engine": Field("llama.cpp", (image.origin,) if text else ())}
    named = TAG.match(text.partition("@")[0].rsplit(":", 1)[-1]) if OFFICIAL.search(text) else None
    fields |= image_tags.build_field(image, told, NUMBERING.title)
    if named and not (named["build"] or "").startswith(ON_GPU):
        fields["device"] = Field("cpu", (image.origin,))
    return fields


def _read_environment(environment: Mapping[str, Argument], grammar: Grammar) -> Iterator[ParsedArgument]:
    """Return the arguments that variables set. The command line comes after them and decides."""
    for name, flag in _flags_by_variable(grammar.engine).items():
        if (value := environment.get(name)) is not None:
            yield ParsedArgument(flag, value, value)


@functools.cache
def _flags_by_variable(engine: str) -> Mapping[str, Flag]:
    """Return flags by the variable that sets the same."""
    known = command_line.flags(engine)
    with (Path(__file__).parent / f"{engine}_flags.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["environment"] and row["field"] and row["kind"] != "false"]
    return {row["environment"]: known[row["flag"]] for row in rows}


# ---- what the arguments mean together


def _read_fields(found: Mapping[str, Field], release: Release) -> dict[str, Field]:
    """Return the glossary quantities that arguments set, alone or together."""
    plain = {
        name: found[name] for name in ("max_num_batched_tokens", "uniform_kv_cache", "server_port") if name in found
    }
    if "draft" in str(found.get("speculative", Field("")).value):
        plain["speculative"] = found["speculative"]
    flags = {
        name: Field(True, found[name].origins)
        for name in ("enable_lora", "context_extended", "multi_node")
        if name in found
    }
    if "context_length=" in str(found.get("override_kv", Field("")).value):
        flags["context_extended"] = Field(True, found["override_kv"].origins)
    return {
        **plain,
        **flags,
        **_read_weights(found),
        **_read_context(found, release),
        **_read_placement(found),
        **_read_layers(found),
        **_read_cache(found),
    }


def _read_weights(found: Mapping[str, Field]) -> dict[str, Field]:
    """Return checkpoint and number format from the name of the file or repository, with draft and
    projector.
    """
    fields: dict[str, Field] = {}
    file = found.get("model_file") or found.get("model_url")
    repository = found.get("hf_repo")
    if repository:
        fields.update(_read_file_name(repository, gguf_names.parse_repository))
        if (held := found.get("hf_file") or (file if "model_file" in found else None)) is not None:
            fields["quantization"] = _read_file_name(held, gguf_names.parse_file_name)["quantization"]
    elif file:
        fields.update(_read_file_name(file, gguf_names.parse_file_name))
    elif "docker_repo" in found:
        fields["checkpoint"] = Field(Unknown("the model comes from Docker Hub"), found["docker_repo"].origins)
    if draft := found.get("draft_file") or found.get("draft_repo"):
        fields["speculative"] = Field("draft", draft.origins)
    automatic = repository is not None and found.get("mmproj_auto", Field(True)).value is not False
    if "mmproj" not in found and (file or repository) and not automatic:
        fields["encoder_skipped"] = Field(True, source="no --mmproj")
    return fields


def _read_file_name(stated: Field, reading: Callable[[str], gguf_names.Weights]) -> dict[str, Field]:
    if not isinstance(stated.value, str):
        unknown = stated.value if isinstance(stated.value, Unknown) else Unknown("no file is named")
        return {name: Field(unknown, stated.origins) for name in ("checkpoint", "quantization")}
    weights = reading(stated.value)
    local = "local path" if stated.value.startswith(("/", ".", "~")) else ""
    unnamed = Unknown(f"the name {stated.value} does not show it", local)
    return {
        "checkpoint": Field(weights.checkpoint or unnamed, stated.origins),
        "quantization": Field(weights.quantization or unnamed, source=f"the name {stated.value}"),
    }


def _read_context(found: Mapping[str, Field], release: Release) -> dict[str, Field]:
    """Return the longest sequence of a slot, and how slots share the context."""
    size, slots = _parse_count(found.get("context_size")), _parse_count(found.get("max_num_seqs"))
    unified = found.get("kv_unified")
    fields: dict[str, Field] = {}
    if slots and slots.value != AUTOMATIC:
        fields["max_num_seqs"] = slots
        fields["kv_unified"] = unified or Field(False, source="--parallel without --kv-unified")
    elif unified:
        fields["kv_unified"] = unified
    if each := found.get("slot_context"):
        fields["kv_unified"] = Field(False, each.origins)
    elif size is None or size.value == 0:
        return {**fields, **_is_own_length(size, release, found)}
    stated = each or _slot_length(size, fields.get("max_num_seqs"), fields.get("kv_unified"))  # type: ignore[arg-type]
    fields["max_model_len_stated"] = Field(True, stated.origins)
    fields["max_model_len_fitted"] = Field(False, stated.origins)
    fields["max_model_len"] = stated
    return fields


def _parse_count(stated: Field | None) -> Field | None:
    """Return a number that was read as text, because 0 and -1 have a special meaning."""
    if stated is None or isinstance(stated.value, Unknown):
        return stated
    text = str(stated.value).strip()
    number = int(text) if re.fullmatch(r"-?\d+", text) else Unknown(f"{text} is not a number")
    return Field(number, stated.origins, stated.source)


def _is_own_length(size: Field | None, release: Release, found: Mapping[str, Field]) -> dict[str, Field]:
    """Return whether the length is omitted or 0: the checkpoint's own, which the engine may shorten
    to fit.
    """
    fields = {"max_model_len_stated": Field(False, size.origins if size else ())}
    if size is not None and release is not None and release < FITTING:
        fields["max_model_len"] = Field(Unknown("0 is the checkpoint's own length"), size.origins)
    if _is_unfitted(found):
        fields["max_model_len_fitted"] = Field(False, source="--fit off")
    return fields


def _slot_length(size: Field, slots: Field | None, unified: Field | None) -> Field:
    """Return the part of the context that one slot may fill."""
    count = slots.value if slots else 1
    if (unified and unified.value is True) or count == 1:
        return size
    if not isinstance(count, int) or not isinstance(size.value, int):
        return Field(
            size.value if isinstance(size.value, Unknown) else Unknown("the slots are not known"), size.origins
        )
    return Field(size.value // count, source=f"--ctx-size {size.value} over {count} slots")


def _is_unfitted(found: Mapping[str, Field]) -> bool:
    """Return whether nothing is fitted to memory: fitting is off, or the split cannot be fitted."""
    fit, split = found.get("fit"), found.get("split_mode")
    return (fit is not None and str(fit.value).lower() in OFF) or (split is not None and split.value == "tensor")


def _read_layers(found: Mapping[str, Field]) -> dict[str, Field]:
    """Return the declared layers on GPUs. Otherwise the engine fits them, unless another setting
    prevents it.
    """
    fields: dict[str, Field] = {}
    asked = found.get("gpu_layers")
    count = _parse_layers(asked.value) if asked else None
    if asked and count is not None:
        fields["gpu_layers"] = Field(count, asked.origins, asked.source)
        fields["gpu_layers_fitted"] = Field(False, asked.origins, asked.source)
    elif _is_unfitted(found) or "tensor_split" in found or found.get("split_mode", Field("")).value == "row":
        fields["gpu_layers_fitted"] = Field(False, source="nothing is fitted with this split or --fit off")
    if kept := found.get("host_weights"):
        fields["gpu_layers_fitted"] = Field(False, kept.origins)
        fields["cpu_offload_bytes"] = Field(Unknown("selected tensors stay in host memory"), kept.origins)
    return fields


def _parse_layers(value: Value | Unknown) -> Value | Unknown | None:
    """Return `all` as a number; None for `auto` and -1, which leave the count to the engine."""
    text = str(value).lower()
    if isinstance(value, Unknown) or text in ("auto", str(AUTOMATIC)):
        return value if isinstance(value, Unknown) else None
    if text == "all" or re.fullmatch(r"-\d+", text):
        return ALL_LAYERS
    return int(text) if text.isdecimal() else Unknown(f"{text} is not a number of layers")


def _read_placement(found: Mapping[str, Field]) -> dict[str, Field]:
    """Return the GPUs that the layers are spread over, and the share of the fullest one."""
    fields: dict[str, Field] = {}
    if devices := found.get("devices"):
        listed = str(devices.value).split(",")
        known = isinstance(devices.value, str)
        fields["pipeline_parallel"] = Field(len(listed) if known else Unknown("unknown devices"), devices.origins)
        if known and listed == ["none"]:
            fields = {"device": Field("cpu", devices.origins)}
    if split := found.get("tensor_split"):
        shares = _parse_shares(split.value)
        fields["pipeline_parallel"] = Field(len(shares) or Unknown("unknown shares"), split.origins)
        fields["stage_share"] = Field(max(shares) / sum(shares) if shares else Unknown("unknown shares"), split.origins)
    if (mode := found.get("split_mode")) and mode.value in ("none", 0):
        fields = {"pipeline_parallel": Field(1, mode.origins)}
    return fields


def _parse_shares(value: Value | Unknown) -> list[float]:
    """Return the proportions of `--tensor-split 3,1` that are not zero."""
    words = [word for word in re.split(r"[,/]", value) if word] if isinstance(value, str) else []
    numbers = [float(word) for word in words if re.fullmatch(r"\d+(?:\.\d+)?", word)]
    return [number for number in numbers if number] if len(numbers) == len(words) else []


def _read_cache(found: Mapping[str, Field]) -> dict[str, Field]:
    """Return the number format of keys and values, flash attention, and whether the cache is on the
    GPU.
    """
    fields: dict[str, Field] = {}
    keys, values = found.get("cache_type_k"), found.get("cache_type_v")
    if keys or values:
        both = [side.value if side else "f16" for side in (keys, values)]
        unknown = next((value for value in both if isinstance(value, Unknown)), None)
        text = str(both[0]) if both[0] == both[1] else "/".join(map(str, both))
        fields["kv_cache_dtype"] = Field(unknown or text, (keys or values).origins)  # type: ignore[union-attr]
    if flash := found.get("attention_backend"):
        switched = {"True": "on", "False": "off"}.get(str(flash.value))
        fields["attention_backend"] = Field(switched or flash.value, flash.origins, flash.source)
    if (placed := found.get("kv_offload")) and placed.value is False:
        fields["kv_needed_bytes"] = Field(0, placed.origins, "the KV cache stays in host memory")
    return fields


# ---- what the engine would refuse, and what is elsewhere


def _is_unlisted(release: Release) -> bool:
    return release is not None and release < LISTED_FROM


def _find_notices(stated: Iterable[ParsedArgument], words: Sequence[Argument], release: Release) -> dict[str, Field]:
    """Return arguments that a release rejects: those it lacks, `--flag=value` in one word, and a
    bare `--flash-attn`.
    """
    stated = tuple(stated)
    found = command_line.find_notices(stated, GRAMMAR, release)
    found.pop("impossible_argument", None)
    if release is None:
        return found
    joined = next((word for word in words if re.match(r"--?[a-z][\w-]*=", word.text or "")), None)
    if joined is not None and release <= GRAMMAR.newest:
        found["unknown_argument"] = Field(joined.text, (joined.origin,))
    bare = next(
        (argument for argument in stated if argument.flag.field == "attention_backend" and argument.value is None), None
    )
    if bare is not None and release >= FLASH_TAKES_A_VALUE:
        found["impossible_argument"] = Field(f"{bare.spelling} without on, off or auto", (bare.word.origin,))
    return found


def _find_open_reason(found: Mapping[str, Field], invocation: Invocation) -> str:
    """Return why the command line alone does not determine the settings."""
    if invocation.further_environment:
        return "envFrom may state further arguments"
    if "router" in found:
        return "several models are served, each with its own settings"
    return "a preset sets further arguments" if "preset" in found else ""
