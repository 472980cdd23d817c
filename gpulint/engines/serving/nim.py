"""NVIDIA NIM for LLMs: the image is the model, environment variables and the name of a profile are its settings."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from gpulint.catalog import tables
from gpulint.engines import Argument, Invocation, Reading, command_line
from gpulint.engines.command_line import Flag, ParsedArgument
from gpulint.engines.serving import vllm
from gpulint.source import shell
from gpulint.workload import Field, Unknown, Value

MENTIONS = ("nim",)
TRIGGERS = ("nvcr.io/",)
IMAGE = re.compile(r"(?:^|/)nim/(?P<name>[\w.-]+/[\w.-]+)$")
RELEASE = re.compile(r"v?(\d+\.\d+(?:\.\d+)?)$")
"""`1.0.0-variant` numbers the releases of one model's own container."""
ANY_MODEL = re.compile(r"(?:^|/)(?:llm-nim|nim-llm)$")
SIZED = re.compile(r"(?<![\w.])\d+(?:x\d+)?(?:\.\d+)?b(?![\w.])")
NOT_A_LANGUAGE_MODEL = re.compile(
    r"embed|rerank|retriever|parakeet|canary|riva|whisper|-asr|-tts|-ocr|-parse|nemoguard-jailbreak|evo2|flux"
    r"|cosmos-(?:embed|predict|transfer)"
)
SERVERS = frozenset({"nim-serve", "start_server.sh", "start-server.sh"})
PROFILE = re.compile(
    r"(?P<backend>vllm|sglang|tensorrt_llm|trtllm)-(?:[\w.]+-)*?(?P<precision>bf16|fp16|fp8|nvfp4|mxfp4|\w*int\w+)"
    r"-tp(?P<tensor>\d+)(?:-pp(?P<pipeline>\d+))?(?:-[\w-]+)?"
)

"""`vllm-fp8-tp2`, `tensorrt_llm-h100-bf16-tp2-pp1-latency`; an id tells nothing."""
SHARE = "memory_share"
SHARE_OF = {"vllm": "gpu_memory_utilization", "tensorrt_llm": "kv_cache_free_fraction"}
OF_ANY_BACKEND = frozenset({"tensor_parallel", "pipeline_parallel", "data_parallel", "max_model_len"})


def read(invocation: Invocation) -> Reading | None:
    """Return the fields of a NIM that serves a language model; None for another image or program."""
    name = _parse_model(invocation)
    words = _server_words(invocation) if name else None
    if words is None:
        return None
    environment = invocation.environment
    passed, open_ended = _read_passthrough(environment.get("NIM_PASSTHROUGH_ARGS"))
    given, more = _read_backend(words)
    stated = _read_environment(environment)
    profile = _read_profile(environment.get("NIM_MODEL_PROFILE"))
    fields = {**_identify(invocation, name), **_merge(profile, stated), **passed, **given}
    length = fields.get("max_model_len")
    fields["max_model_len_stated"] = Field(length is not None, length.origins if length else ())
    further = "envFrom may state further settings" if getattr(environment, "open_ended", False) else ""
    return Reading(command_line.select_glossary_fields(fields), None, open_ended or more or further)


def render_argument(release: str, quantity: str, value: Value) -> str | None:
    """Return None: settings are environment variables, not arguments."""
    return None


def _parse_model(invocation: Invocation) -> str:
    """Return `meta/llama-3.1-8b-instruct` from the image of a language model, else an empty text."""
    named = IMAGE.search(_split_image(invocation.image)[0])
    if named is None:
        return ""
    name = named["name"]
    if NOT_A_LANGUAGE_MODEL.search(name):
        return ""
    known = name in _images() or ANY_MODEL.search(name) or "NIM_TENSOR_PARALLEL_SIZE" in invocation.environment
    return name if known or SIZED.search(name) else ""


def _split_image(image: Argument) -> tuple[str, str]:
    """Split an image into repository and tag."""
    path, _, last = (image.text or "").partition("@")[0].rpartition("/")
    repository, _, tag = last.partition(":")
    return f"{path}/{repository}", tag


def _images() -> Mapping[str, tables.Row]:
    try:
        return tables.index_rows("nim_images", "image")
    except FileNotFoundError:
        return {}


def _server_words(invocation: Invocation) -> Sequence[Argument] | None:
    """Return the words after the server's name, or those that follow the image's own entry point."""
    words = invocation.arguments
    for at, word in enumerate(words):
        if (word.text or "").rsplit("/", 1)[-1] in SERVERS:
            return words[at + 1 :]
    return words if invocation.entrypoint else None


def _identify(invocation: Invocation, name: str) -> dict[str, Field]:
    """Return engine, release and model from the image."""
    origins = (invocation.image.origin,)
    fields = {"engine": Field("nim", origins)}
    if release := RELEASE.match(_split_image(invocation.image)[1]):
        fields["engine_version"] = Field(release[1], origins)
    if held := _images().get(name):
        fields["checkpoint"] = Field(held["checkpoint"], origins)
    elif not ANY_MODEL.search(name):
        fields["checkpoint"] = Field(
            Unknown(f"the catalog does not list the model of {name}", "image default"), origins
        )
    return fields


def _read_environment(environment: Mapping[str, Argument]) -> dict[str, Field]:
    flags = command_line.flags("nim")
    backend = _parse_profile(environment.get("NIM_MODEL_PROFILE")).get("backend", "")
    given = ((name, argument) for name, argument in environment.items() if name in flags and argument.text != "")
    fields = command_line.read_fields(
        ParsedArgument(_interpret_share(flags[name], backend), argument, argument) for name, argument in given
    )
    if (nodes := fields.get("nodes")) and nodes.value != 1:
        fields["multi_node"] = Field(True, nodes.origins, source="NIM_NUM_COMPUTE_NODES")
    if adapters := fields.get("adapters"):
        fields["enable_lora"] = Field(True, adapters.origins)
    return fields


def _interpret_share(flag: Flag, backend: str) -> Flag:
    """Return the memory share as the backend defines it: of the GPU, or of what the weights leave."""
    return flag._replace(field=SHARE_OF.get(backend, "")) if flag.field == SHARE else flag


def _parse_profile(profile: Argument | None) -> Mapping[str, str]:
    """Return what a profile's name implies; nothing if it is an id or unknown."""
    named = PROFILE.fullmatch((profile.text or "").strip()) if profile else None
    return {key: value for key, value in named.groupdict().items() if value} if named else {}


def _read_profile(profile: Argument | None) -> dict[str, Field]:
    named, origins = _parse_profile(profile), command_line.find_origins(profile)
    fields: dict[str, Field] = {}
    for key, quantity in (("tensor", "tensor_parallel"), ("pipeline", "pipeline_parallel")):
        if key in named:
            fields[quantity] = Field(int(named[key]), origins)
    if "precision" in named:
        fields["quantization"] = Field(named["precision"], origins)
    return fields


def _merge(profile: Mapping[str, Field], stated: Mapping[str, Field]) -> dict[str, Field]:
    """Merge variables and profile. If they differ, the value is unknown, because releases differ in
    precedence.
    """
    fields = {**profile, **stated}
    for name in profile.keys() & stated.keys():
        if profile[name].value != stated[name].value:
            reason = Unknown("the profile and the variable conflict")
            fields[name] = Field(reason, (*stated[name].origins, *profile[name].origins))
    return fields


def _read_passthrough(variable: Argument | None) -> tuple[dict[str, Field], str]:
    """Return what the backend's own arguments in NIM_PASSTHROUGH_ARGS set."""
    if variable is None:
        return {}, ""
    if variable.text is None:
        return {}, variable.why or "NIM_PASSTHROUGH_ARGS cannot be read"
    in_place = variable.origin.text() == variable.text
    words = [
        Argument(word.text, variable.origin._replace(span=(word.start, word.end)) if in_place else variable.origin)
        for command in shell.read_commands(f"{variable.text}")
        for word in command.words
    ]
    return _read_backend(words)


def _read_backend(words: Sequence[Argument]) -> tuple[dict[str, Field], str]:
    """Return the parallelism and length that backend arguments set. For backends other than vLLM
    they stay unknown.
    """
    stated, open_ended = command_line.parse(words, vllm.GRAMMAR)
    fields = {name: field for name, field in command_line.read_fields(stated).items() if name in OF_ANY_BACKEND}
    if any(not argument.flag.kind for argument in stated):
        open_ended = open_ended or "some arguments are of another backend"
    return fields, open_ended
