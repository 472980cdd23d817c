"""Ollama: `ollama serve` by command line, environment and image tag. Requests name the models
later, by Ollama's own names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from gpulint.catalog import tables
from gpulint.catalog.architecture import gguf_names
from gpulint.engines import Argument, Invocation, Reading, image_tags
from gpulint.engines.image_tags import Numbering
from gpulint.workload import Field, Origin, Unknown, Value

MENTIONS = ("ollama",)
REPOSITORY = re.compile(r"(?:^|/)ollama$")
NUMBERING = Numbering(
    "Ollama",
    word="ollama",
    # .github/workflows/release.yaml of August 2026
    plain=r"ollama/ollama:(?P<release>\d+\.\d+\.\d+)(?:-rocm)?",
    named=rf"(?:{image_tags.BUILD}[-_])*ollama(?:[-_]{image_tags.BUILD})*",
    number=r"0\.(?:[3-9]|[1-9]\d)\.\d{1,2}",
)
TYPED = re.compile(r"(?P<name>[^:]+):(?P<size>[^-:]+)(?:-lite)?(?:-(?:instruct|chat|it))?-(?P<type>(?:bf|fp)16|q\d\w*)")
"""Tags of the library that spell size, training and type, as 70b-instruct-q8_0 and 8b-q4_K_M."""
TYPES = {"fp16": "F16"}
HUB = re.compile(r"(?:hf\.co|huggingface\.co)/")
OLDEST_ASSUMED = (0, 7, 0)
"""An image without a readable tag is taken for a release of the last eighteen months (0.7.0: May 2025)."""
COUNTS = {"OLLAMA_NUM_PARALLEL": "max_num_seqs", "OLLAMA_CONTEXT_LENGTH": "max_model_len"}
PREFIXES = frozenset(
    {"exec", "nohup", "time", "sudo", "command", "tini", "dumb-init", "--", "env", "numactl", "stdbuf"}
)


def read(invocation: Invocation) -> Reading | None:
    """Return the fields of an Ollama server; None for any other invocation."""
    words = _server_words(invocation)
    if words is None:
        return None
    further = "envFrom may state further settings" if invocation.further_environment else ""
    fields = {
        **_identify(invocation.image),
        **_read_settings(invocation.environment),
        **_find_pulled(invocation.beside),
    }
    return Reading(fields, words[-1].origin if words else None, further)


def render_argument(release: str, quantity: str, value: Value) -> str | None:
    """Return None: Ollama has no arguments, and its environment sets everything."""
    return None


def read_model_name(name: str, origins: tuple[Origin, ...] = ()) -> dict[str, Field]:
    """Return checkpoint and number format of an Ollama model name such as `llama3.3:70b`; unknown
    if it is not listed.
    """
    name = name.removeprefix("ollama://")
    if (hub := HUB.match(name)) is not None:
        return _fields(gguf_names.parse_repository(name[hub.end() :]), name, origins)
    return _fields(_find_weights(_add_tag(name)), name, origins)


def _find_weights(name: str) -> gguf_names.Weights:
    """Return the checkpoint and type of a name with its tag: listed, or a listed size in a type that the tag spells.

    >>> _find_weights("llama3.1:70b-instruct-fp16")
    Weights(checkpoint='meta-llama/Llama-3.1-70B-Instruct', quantization='float16')
    """
    row, type_name = _list_models().get(name), ""
    if row is None and (spelled := TYPED.fullmatch(name)) is not None:
        row, type_name = _list_models().get(f"{spelled['name']}:{spelled['size']}"), TYPES.get(spelled["type"], "")
        type_name = type_name or spelled["type"].upper()
    if row is None:
        return gguf_names.Weights("", "")
    found = type_name or row["type"]
    return gguf_names.Weights(row["checkpoint"], gguf_names.find_format(found) if found else "")


def _find_pulled(commands: Sequence[Sequence[Argument]]) -> dict[str, Field]:
    """Return the one model that the container's other commands pull or run; None if there are
    several.
    """
    names = [
        words[2]
        for words in commands
        if len(words) > 2 and [word.text for word in words[:2]] in (["ollama", "pull"], ["ollama", "run"])
    ]
    known = {word.text: word for word in names if word.text and not word.text.startswith("-")}
    if len(known) != 1 or len(known) != len({word.text for word in names}):
        return {}
    ((name, word),) = known.items()
    return read_model_name(str(name), (word.origin,))


def _fields(weights: gguf_names.Weights, name: str, origins: tuple[Origin, ...]) -> dict[str, Field]:
    unlisted = Unknown(f"the catalog does not list the Ollama model {name}")
    return {
        "checkpoint": Field(weights.checkpoint or unlisted, origins),
        "quantization": Field(weights.quantization or unlisted, source=f"the name {name}"),
    }


def _add_tag(name: str) -> str:
    """Return a name with its tag; without one it is `latest`."""
    bare = name.removeprefix("registry.ollama.ai/").removeprefix("library/")
    return bare if ":" in bare else f"{bare}:latest"


def _list_models() -> Mapping[str, tables.Row]:
    """Return the catalog's Ollama models by name and tag."""
    return {f"{row['name']}:{row['tag'] or 'latest'}": row for row in tables.rows("ollama")}


def _server_words(invocation: Invocation) -> Sequence[Argument] | None:
    """Return the words after `ollama serve`; an empty list if the image's own entry point runs
    without words.
    """
    words = invocation.arguments
    for at, word in enumerate(words):
        program = (word.text or "").rsplit("/", 1)[-1]
        if program == "ollama":
            following = words[at + 1].text if at + 1 < len(words) else None
            return words[at + 1 :] if following in ("serve", "start") else None
        if program not in PREFIXES and "=" not in program:
            break
    if not invocation.entrypoint or not REPOSITORY.search(_repository(invocation.image.text or "")):
        return None
    return words if not words or words[0].text in ("serve", "start") else None


def _repository(image: str) -> str:
    path, _, name = image.split("@", 1)[0].rpartition("/")
    return f"{path}/{name.split(':', 1)[0]}"


def _identify(image: Argument) -> dict[str, Field]:
    """Return engine and release from the image's tag."""
    text = image.text or ""
    fields = {"engine": Field("ollama", (image.origin,) if text else ())}
    return fields | image_tags.build_field(image, image_tags.parse_release(image, NUMBERING), NUMBERING.title)


def _read_settings(environment: Mapping[str, Argument]) -> dict[str, Field]:
    """Return what the environment sets. 0 slots or no length mean that Ollama decides."""
    fields: dict[str, Field] = {}
    for variable, quantity in COUNTS.items():
        stated = environment.get(variable)
        if stated and (stated.text or "x").strip() not in ("0", ""):
            fields[quantity] = Field(_count(stated), (stated.origin,))
    length = fields.get("max_model_len")
    fields["max_model_len_stated"] = Field(length is not None, length.origins if length else ())
    fields["max_model_len_fitted"] = Field(length is None, source="Ollama shortens a length that is not stated")
    cache = environment.get("OLLAMA_KV_CACHE_TYPE")
    if cache and cache.text != "":
        fields["kv_cache_dtype"] = Field(cache.text or Unknown(cache.why), (cache.origin,))
    overhead = environment.get("OLLAMA_GPU_OVERHEAD")
    if overhead and overhead.text not in ("0", ""):
        fields["memory_budget_bytes"] = Field(Unknown("OLLAMA_GPU_OVERHEAD reserves memory"), (overhead.origin,))
    library = environment.get("OLLAMA_LLM_LIBRARY")
    if library and (library.text or "").startswith("cpu"):
        fields["device"] = Field("cpu", (library.origin,))
    return fields


def _count(stated: Argument) -> Value | Unknown:
    text = (stated.text or "").strip()
    return int(text) if text.isdecimal() else Unknown(stated.why or f"{text} is not a number")
