"""Truss: the config.yaml of a model on Baseten: accelerator, start command or TensorRT-LLM build."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from gpulint import units
from gpulint.adapters.claim import Claim
from gpulint.adapters.platforms import task
from gpulint.adapters.programs import container_command, visible_gpu_count
from gpulint.catalog import architecture, tables
from gpulint.engines import Argument, Invocation, Reading
from gpulint.engines.serving import tensorrt_llm
from gpulint.source import shell
from gpulint.source.documents import Document, Path
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Role, Unknown, Value, Workload

MENTIONS = ("model_name", "base_image", "docker_server", "trt_llm", "model_metadata")
TRIGGERS = ("docker_server", "trt_llm", "model_metadata")
READS = ("plain",)
CLAIMS = ("shape",)

OF_RESOURCES = frozenset({"accelerator", "cpu", "fabric", "instance_type", "memory", "node_count", "use_gpu"})
MARKERS = frozenset({"model_name", "base_image", "docker_server", "trt_llm", "model_metadata"})
START: Path = ("docker_server", "start_command")
ACCELERATOR: Path = ("resources", "accelerator")
BUILD: Path = ("trt_llm", "build")
RUNTIME: Path = ("trt_llm", "runtime")
CACHE = "/app/model_cache/"
"""The folder that `model_cache` fills (truss v0.18.26 truss/base/constants.py)."""
DEFAULT = "default of Truss (truss v0.18.26 truss/base/trt_llm_config.py)"
MOUNTED = "Baseten starts the container"
SCALED = "Baseten scales the replicas"
EMBEDDINGS = "Baseten Embeddings Inference"
"""The server for base models that generate nothing
(docs.baseten.co/development/model/performance/bei).
"""
OWN = "own program"
DECODERS = frozenset({"decoder", "llama", "mistral", "qwen", "deepseek", "palmyra"})
"""The base models that generate text, by their present and former names."""
REVISION = re.compile(r"@[^/@]+$")
NO_SIZE = re.compile(r"0\d|[\d.]+[bB]-\d+[eE]\b")
"""Numbers in a name that are not parameter counts: 06b is 0.6 B, 17b-128e counts active parameters."""
ABSENT: Mapping[str, Value] = {
    "tensor_parallel": 1,
    "pipeline_parallel": 1,
    "max_num_seqs": 256,
    "max_num_batched_tokens": 8192,
    "enable_chunked_prefill": True,
}
"""Truss's defaults in both of its stacks."""
ABSENT_IN_FIRST: Mapping[str, Value] = {**ABSENT, "kv_cache_free_fraction": 0.9}


def claims(document: Document) -> Claim:
    """Claim a mapping of Truss's keys with only known `resources`."""
    data = document.data
    if not isinstance(data, dict) or "apiVersion" in data:
        return Claim.NONE
    resources = data.get("resources")
    is_known = isinstance(resources, dict) and bool(resources) and resources.keys() <= OF_RESOURCES
    return Claim.SHAPE.where(is_known and bool(MARKERS & data.keys()))


def kind(document: Document) -> str:
    return "Truss config"


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    """Yield the one model of the file, if it requests an accelerator."""
    asked = _read_accelerator(document)
    if not asked:
        return
    name = document.get(("model_name",))
    anchor = Origin(document, ("model_name",) if isinstance(name, str) else ACCELERATOR)
    reading = (
        _read_build(document)
        or _read_start_command(document, asked["gpus_per_pod"])
        or Reading(_read_own_server(document, anchor), None)
    )
    fields = {**asked, **_find_described(document), **reading.fields}
    fields.update(_find_parameters(document))
    fields["shared_memory_default"] = Field(False, source=MOUNTED)
    role = Role("model", anchor, fields, reading.arguments, reading.open_ended)
    yield Workload(str(name or "truss"), "inference", "truss", document, (), (_count(document, role),))


# ---- what it runs on


def _read_accelerator(document: Document) -> dict[str, Field]:
    """Return accelerator and count. An instance type is Baseten's own name for both."""
    if machine := document.get(("resources", "instance_type")):
        at = (Origin(document, ("resources", "instance_type")),)
        unknown = Field(Unknown(f"the accelerator depends on Baseten's instance {machine}", "operator preset"), at)
        return {"gpus_per_pod": unknown, "accelerator": unknown}
    text = document.get(ACCELERATOR)
    if not isinstance(text, str) or not text.strip():
        return {}
    name, colon, count = text.partition(":")
    number = int(count) if count.isdecimal() else Unknown(f"the count of {text} is not a number") if colon else 1
    place = Origin(document, ACCELERATOR, (0, len(name)))
    times = (Origin(document, ACCELERATOR, (len(name) + 1, len(text))),) if colon else ()
    rows = (row for row in tables.rows("resource_profiles") if row["platform"] == "baseten")
    row = next((row for row in rows if row["profile"] == name.strip()), None)
    fields = {"gpus_per_pod": Field(number, times, source="" if colon else "default: one GPU")}
    product = (row and row["accelerator"]) or Unknown(f"the accelerator {name} is not known")
    fields["accelerator"] = Field(product, (place,))
    if row and row["mig_profile"]:
        fields["mig_profile"] = Field(row["mig_profile"], source=f"{name} of Baseten")
    return fields


def _count(document: Document, role: Role) -> Role:
    """Return the deployment's fields.

    Its nodes form one instance, and Baseten scales the instances.
    """
    nodes, at = document.get(("resources", "node_count")), Origin(document, ("resources", "node_count"))
    pods = Field(1, source="default: one node") if nodes is None else Field(_parse_count(nodes), (at,))
    per_pod = role.fields["gpus_per_pod"]
    whole: Value | Unknown = Unknown("the GPUs of the deployment are not known")
    if isinstance(per_pod.value, int) and isinstance(pods.value, int):
        whole = per_pod.value * pods.value
    replicas = Field(Unknown(SCALED, "another object"), (role.anchor,))
    total = Field(whole, (*per_pod.origins, *pods.origins))
    return role.having(pods_per_replica=pods, gpus_per_replica=total, replicas=replicas)


def _parse_count(value: object) -> int | Unknown:
    return value if isinstance(value, int) and not isinstance(value, bool) else Unknown(f"{value} is not a count")


# ---- what it says of the model


def _find_described(document: Document) -> dict[str, Field]:
    """Return the checkpoint of a custom model, or of an engine that Baseten builds."""
    path: Path = ("model_metadata", "repo_id")
    if document.get((*BUILD, "checkpoint_repository", "source")) == "HF":
        path = (*BUILD, "checkpoint_repository", "repo")
    named = document.get(path)
    return {"checkpoint": Field(named, (Origin(document, path),))} if isinstance(named, str) and named else {}


def _find_parameters(document: Document) -> dict[str, Field]:
    """Return the parameter count in the model's name, if it has exactly one."""
    name = document.get(("model_name",))
    if not isinstance(name, str):
        return {}
    matches = list(architecture.BILLIONS.finditer(architecture.ACTIVE.sub(lambda match: " " * len(match[0]), name)))
    if len(matches) != 1 or matches[0][1] or NO_SIZE.match(name, matches[0].start()):
        return {}
    count = Origin(document, ("model_name",), matches[0].span())
    return {"stated_parameters": Field(float(matches[0][2]) * units.BILLION, (count,))}


def _find_mounted(document: Document) -> dict[str, Field]:
    """Return the checkpoints by their path in the container."""
    checkpoints: dict[str, Field] = {}
    for at, entry in _list_entries(document, "weights"):
        source, path = entry.get("source"), entry.get("mount_location")
        if isinstance(source, str) and isinstance(path, str) and source.startswith("hf://"):
            start, end = len("hf://"), len(REVISION.sub("", source))
            place = Origin(document, ("weights", at, "source"), (start, end))
            checkpoints[path.rstrip("/")] = Field(source[start:end], (place,))
    for at, entry in _list_entries(document, "model_cache"):
        repository, folder = entry.get("repo_id"), entry.get("volume_folder")
        if isinstance(repository, str) and isinstance(folder, str) and entry.get("kind", "hf") == "hf":
            checkpoints[CACHE + folder.strip("/")] = Field(
                repository, (Origin(document, ("model_cache", at, "repo_id")),)
            )
    return checkpoints


def _list_entries(document: Document, key: str) -> Iterator[tuple[int, Mapping[str, object]]]:
    listed = document.get((key,))
    for at, entry in enumerate(listed if isinstance(listed, list) else ()):
        if isinstance(entry, dict):
            yield at, entry


def _read_own_server(document: Document, anchor: Origin) -> dict[str, Field]:
    """Return what a Truss without a server runs: Baseten's embeddings server, or its own model.py."""
    base_model: Path = (*BUILD, "base_model")
    if document.get(base_model) is not None:
        return {"program": Field(EMBEDDINGS, (Origin(document, base_model),))}
    if document.get(("docker_server",)) is not None:
        return {}
    unread = Field(Unknown("the Truss's own model.py decides what runs", OWN), (anchor,))
    checkpoint = _find_cached(document) or Field(Unknown("the Truss's own model.py names the weights", OWN), (anchor,))
    named = "checkpoint" in _find_described(document)
    return {"engine": unread} if named else {"engine": unread, "checkpoint": checkpoint}


def _find_cached(document: Document) -> Field | None:
    """Return the one checkpoint that Truss downloads to the program's disk."""
    brought = list(_find_mounted(document).values())
    if len(brought) != 1 or len([*_list_entries(document, "weights"), *_list_entries(document, "model_cache")]) != 1:
        return None
    return Field(brought[0].value, brought[0].origins, assumption="the weights that are brought are those that run")


# ---- TensorRT-LLM, built by Baseten


def _read_build(document: Document) -> Reading | None:
    """Return the engine that Baseten builds for a decoder.

    Encoders have no KV cache and another server.
    """
    base_model = str(document.get((*BUILD, "base_model")) or "decoder")
    if not isinstance(document.get(BUILD), dict) or base_model not in DECODERS:
        return None
    second = document.get(("trt_llm", "inference_stack")) == "v2"
    stated = tensorrt_llm.read_truss(document, ("trt_llm",))
    if second:
        stated.update(tensorrt_llm.read_options(document, RUNTIME))
    absent = ABSENT if second else ABSENT_IN_FIRST
    fields = {**{name: Field(value, source=DEFAULT) for name, value in absent.items()}, **stated}
    fields["engine"] = Field("tensorrt-llm", (Origin(document, BUILD, key=True),))
    if document.get((*BUILD, "speculator")):
        mode = Origin(document, (*BUILD, "speculator", "speculative_decoding_mode"))
        fields["speculative"] = Field(str(document.get(mode.path)), (mode,))
    if document.get((*BUILD, "checkpoint_repository", "source")) != "HF":
        repository = Origin(document, (*BUILD, "checkpoint_repository", "repo"))
        fields["checkpoint"] = Field(Unknown("the weights are not from Hugging Face"), (repository,))
    patched = document.get((*RUNTIME, "patch_kwargs"))
    return Reading(fields, None, "patch_kwargs holds further settings" if patched else "")


# ---- a server of one's own


def _read_start_command(document: Document, gpus: Field) -> Reading | None:
    """Return the one engine of the start command, with the weights that the file mounts."""
    readings = task.read(_list_invocations(document, gpus))
    if len(readings) != 1:
        return None
    reading, invocation = readings[0]
    if invocation.conditional:
        return Reading({"engine": reading.fields["engine"]}, None, "the start command decides what runs")
    checkpoint = reading.fields.get("checkpoint")
    mounted = _find_mounted(document).get(str(checkpoint.value).rstrip("/")) if checkpoint else None
    if checkpoint is None or mounted is None:
        return reading
    placed = Field(mounted.value, (*mounted.origins, *checkpoint.origins))
    return reading._replace(fields={**reading.fields, "checkpoint": placed})


def _list_invocations(document: Document, gpus: Field) -> Iterator[Invocation]:
    named = document.get(("base_image", "image"))
    image = Argument(named if isinstance(named, str) else None, Origin(document, ("base_image", "image")))
    environment = _read_environment(document)
    text = document.get(START)
    if isinstance(text, str):
        text, counts = visible_gpu_count.replace_counts(text, gpus, Origin(document, ACCELERATOR))
        environment.update(counts)
        yield from container_command.expand_script(image, _read_script(document, text), environment)
    elif document.get(("docker_server", "no_build")) is True:
        yield Invocation(image, (), environment, entrypoint=True)


def _read_environment(document: Document) -> container_command.Environment:
    given = document.get(("environment_variables",))
    environment = container_command.Environment()
    for name, value in given.items() if isinstance(given, dict) else ():
        origin = Origin(document, ("environment_variables", name))
        environment[str(name)] = Argument(None if value is None else str(value), origin, f"{name} is set elsewhere")
    return environment


def _read_script(document: Document, text: str) -> container_command.Script:
    """Return what a shell reads: the start command, or the script that it passes to a shell."""
    handed = (
        word
        for shell_command in shell.read_commands(text)
        if (word := _find_passed_script(shell_command.words)) is not None
    )
    inner, places = next((unquoted for word in handed if (unquoted := _unquote(word))), (text, range(len(text) + 1)))
    return container_command.Script(inner, lambda start, end: Origin(document, START, (places[start], places[end])))


def _find_passed_script(words: tuple[shell.Word, ...]) -> shell.Word | None:
    """Return the script of `sh -c SCRIPT`."""
    for at, word in enumerate(words[:-2]):
        option = words[at + 1].text or ""
        if (word.text or "").rsplit("/", 1)[
            -1
        ] in container_command.SHELLS and container_command.SHELL_OPTION.fullmatch(option):
            return words[at + 2]
    return None


def _unquote(word: shell.Word) -> tuple[str, list[int]] | None:
    """Return the text inside one pair of quotes, with its character offsets; None for other words."""
    raw, quote = word.raw, word.raw[:1]
    if len(raw) < 2 or quote not in "'\"" or not raw.endswith(quote):
        return None
    characters: list[str] = []
    places: list[int] = []
    at = 1
    while at < len(raw) - 1:
        escaped = quote == '"' and raw[at] == "\\" and raw[at + 1] in '"\\'
        if raw[at] == quote and not escaped:
            return None
        characters.append(raw[at + escaped])
        places.append(word.start + at)
        at += 1 + escaped
    return "".join(characters), [*places, word.start + len(raw) - 1]
