"""Ollama: `ollama serve` by command line, environment and image tag; models are named later, by its own names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from gpulint.catalog import tables as catalog
from gpulint.catalog.architecture import gguf_names as gguf
from gpulint.engines import Argument, Invocation, Reading
from gpulint.engines import image_tags as images
from gpulint.engines.image_tags import Numbering
from gpulint.workload import Field, Origin, Unknown, Value

MENTIONS = ("ollama",)
REPOSITORY = re.compile(r"(?:^|/)ollama$")
NUMBERING = Numbering(
    "Ollama",
    word="ollama",
    # .github/workflows/release.yaml of August 2026
    plain=r"ollama/ollama:(?P<release>\d+\.\d+\.\d+)(?:-rocm)?",
    named=rf"(?:{images.BUILD}[-_])*ollama(?:[-_]{images.BUILD})*",
    number=r"0\.(?:[3-9]|[1-9]\d)\.\d{1,2}",
)
HUB = re.compile(r"(?:hf\.co|huggingface\.co)/")
OLDEST_ASSUMED = (0, 7, 0)
"""An image without a readable tag is taken for a release of the last eighteen months (0.7.0: May 2025)."""
COUNTS = {"OLLAMA_NUM_PARALLEL": "max_num_seqs", "OLLAMA_CONTEXT_LENGTH": "max_model_len"}
PREFIXES = frozenset(
    {"exec", "nohup", "time", "sudo", "command", "tini", "dumb-init", "--", "env", "numactl", "stdbuf"}
)


def read(invocation: Invocation) -> Reading | None:
    """The fields of an Ollama server; None when the invocation is not one."""
    words = _server_words(invocation)
    if words is None:
        return None
    further = "envFrom may state further settings" if invocation.further_environment else ""
    fields = {**_identity(invocation.image), **_settings(invocation.environment), **_pulled(invocation.beside)}
    return Reading(fields, words[-1].origin if words else None, further)


def spelled(release: str, quantity: str, value: Value) -> str | None:
    """None: Ollama has no arguments; its environment states everything."""
    return None


def named(name: str, origins: tuple[Origin, ...] = ()) -> dict[str, Field]:
    """Checkpoint and number format of a model by Ollama's name of it, as `llama3.3:70b`; unknown where none is listed."""
    name = name.removeprefix("ollama://")
    if (hub := HUB.match(name)) is not None:
        return _fields(gguf.of_repository(name[hub.end() :]), name, origins)
    row = _listed().get(_full(name))
    known = gguf.Weights(row["checkpoint"], gguf.format_of(row["type"]) if row["type"] else "") if row else None
    return _fields(known or gguf.Weights("", ""), name, origins)


def _pulled(commands: Sequence[Sequence[Argument]]) -> dict[str, Field]:
    """The one model that the container's other commands pull or run; of several, none is the one."""
    names = [
        words[2]
        for words in commands
        if len(words) > 2 and [word.text for word in words[:2]] in (["ollama", "pull"], ["ollama", "run"])
    ]
    known = {word.text: word for word in names if word.text and not word.text.startswith("-")}
    if len(known) != 1 or len(known) != len({word.text for word in names}):
        return {}
    ((name, word),) = known.items()
    return named(str(name), (word.origin,))


def _fields(weights: gguf.Weights, name: str, origins: tuple[Origin, ...]) -> dict[str, Field]:
    unlisted = Unknown(f"the catalog does not list {name} of Ollama")
    return {
        "checkpoint": Field(weights.checkpoint or unlisted, origins),
        "quantization": Field(weights.quantization or unlisted, source=f"the name {name}"),
    }


def _full(name: str) -> str:
    """A name with its tag; without one it is `latest`."""
    bare = name.removeprefix("registry.ollama.ai/").removeprefix("library/")
    return bare if ":" in bare else f"{bare}:latest"


def _listed() -> Mapping[str, catalog.Row]:
    """Ollama's models of the catalog by name and tag."""
    return {f"{row['name']}:{row['tag'] or 'latest'}": row for row in catalog.rows("ollama")}


def _server_words(invocation: Invocation) -> Sequence[Argument] | None:
    """The words after `ollama serve`; none of them where the image's own entry point runs without words."""
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


def _identity(image: Argument) -> dict[str, Field]:
    """Engine and release, as the image's tag tells them."""
    text = image.text or ""
    fields = {"engine": Field("ollama", (image.origin,) if text else ())}
    return fields | images.field(image, images.told(image, NUMBERING), NUMBERING.title)


def _settings(environment: Mapping[str, Argument]) -> dict[str, Field]:
    """What the environment states; 0 slots and no length mean that Ollama decides."""
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
        fields["memory_budget_bytes"] = Field(Unknown("OLLAMA_GPU_OVERHEAD sets memory aside"), (overhead.origin,))
    library = environment.get("OLLAMA_LLM_LIBRARY")
    if library and (library.text or "").startswith("cpu"):
        fields["device"] = Field("cpu", (library.origin,))
    return fields


def _count(stated: Argument) -> Value | Unknown:
    text = (stated.text or "").strip()
    return int(text) if text.isdecimal() else Unknown(stated.why or f"{text} is not a number")
