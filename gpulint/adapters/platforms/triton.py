"""Triton model: the config.pbtxt of a model in Triton's repository, with its backend, its instances and their GPUs."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator, Mapping

from gpulint import engines
from gpulint.adapters.platforms import key_sets as shapes
from gpulint.adapters.platforms import task
from gpulint.adapters.programs import container_command as command
from gpulint.engines import Argument, Invocation
from gpulint.source import documents
from gpulint.source.documents import Document, Path
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Role, Unknown, Value, Workload

MENTIONS = ("instance_group", "backend", "platform", "max_batch_size")
READS = ("pbtxt",)

KEYS = shapes.keys("Triton config.pbtxt", "model")
TELLING = frozenset({"input", "instance_group", "backend", "platform", "max_batch_size", "ensemble_scheduling"})
OWN_DEVICES = frozenset({"vllm", "tensorrtllm"})
"""Backends that place the model on GPUs themselves, whatever the kind of the instances."""
GPU_ONLY = frozenset({"tensorrt", "tensorrt_plan"})
EVERY = "one instance runs on every GPU that Triton sees"
"""triton-inference-server/server, docs/user_guide/model_configuration.md, Instance Groups."""
MACHINE = "any host"
OWN = "own program"
FILLED = re.compile(r"\$\{\w+\}")
CHECKPOINT = ("model_name", "model_id", "model", "hf_model", "model_path")
"""What the authors of model.py call their checkpoint in `parameters`; the first that is there counts."""
HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")
OF_ENGINE: Mapping[str, str] = {
    "tensor_parallel_size": "tensor_parallel",
    "pipeline_parallel_size": "pipeline_parallel",
    "max_model_len": "max_model_len",
    "gpu_memory_utilization": "gpu_memory_utilization",
}
"""Parameters that are named as an engine's arguments, in programs that pass them on."""
SHARE = "kv_cache_free_gpu_mem_fraction"
OF_COMMAND_LINES = "_argument"
"""Ends the names of what is noticed about the spelling of command lines, which these are not."""
ENGINE_FILE = "1/model.json"
"""What the vLLM backend reads its engine's arguments from (triton-inference-server/vllm_backend, src/model.py, README.md)."""


def claims(document: Document) -> bool:
    """A message of ModelConfig's fields."""
    data = document.data
    if document.format != "pbtxt" or not isinstance(data, dict) or not data.keys() <= KEYS:
        return False
    return bool(TELLING & data.keys())


def kind(document: Document) -> str:
    return "Triton config.pbtxt"


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    """The one model, where it runs on GPUs."""
    backend = _backend(document)
    if not _on_gpus(document, backend):
        return
    name = document.get(("name",))
    label = name if isinstance(name, str) and not FILLED.search(name) else _folder(document.path)
    fields = {**_placed(document, backend), **_served(document, backend, repository)}
    fields["shared_memory_default"] = Field(None)
    anchor = Origin(document, ("name",) if isinstance(name, str) else (next(iter(_keys(document))),))
    role = _counted(Role(label, anchor, fields, None, "what Triton is started with is in another file"), backend)
    yield Workload(label, "inference", "triton", document, (), (role,))


def _folder(path: str) -> str:
    return posixpath.basename(posixpath.dirname(path)) or task.stem(path)


def _keys(document: Document) -> tuple[str, ...]:
    return tuple(document.data) if isinstance(document.data, dict) else ()


def _backend(document: Document) -> str:
    """The backend, or the platform that older configurations name."""
    named = document.get(("backend",)) or document.get(("platform",)) or ""
    return str(named)


def _groups(document: Document) -> list[tuple[Path, Mapping[str, object]]]:
    listed = document.get(("instance_group",))
    if isinstance(listed, dict):
        return [(("instance_group",), listed)]
    groups = enumerate(listed) if isinstance(listed, list) else ()
    return [(("instance_group", at), group) for at, group in groups if isinstance(group, dict)]


def _on_gpus(document: Document, backend: str) -> bool:
    """Whether the model surely computes on GPUs: its instances do, or its backend does nothing else."""
    if document.get(("ensemble_scheduling",)) is not None:
        return False
    kinds = {str(group.get("kind", "KIND_AUTO")) for _, group in _groups(document)}
    if backend in OWN_DEVICES or backend in GPU_ONLY:
        return True
    return "KIND_GPU" in kinds


# ---- where it runs


def _placed(document: Document, backend: str) -> dict[str, Field]:
    """The GPUs of the model: those that its instance groups name."""
    groups = [(path, group) for path, group in _groups(document) if group.get("kind", "KIND_AUTO") != "KIND_CPU"]
    place = Origin(document, groups[0][0]) if groups else Origin(document, _stated_by(document))
    accelerator = Field(Unknown("the machine that Triton runs on decides which GPU it is", MACHINE), (place,))
    named = [Origin(document, (*path, "gpus")) for path, group in groups if group.get("gpus") is not None]
    ids = {str(number) for origin in named for number in _ids(document.get(origin.path))}
    if backend in OWN_DEVICES:
        count = Field(Unknown("the engine takes the GPUs that it is told to", MACHINE), (place,))
    elif len(named) == len(groups) and ids and all(number.isdecimal() for number in ids):
        count = Field(len(ids), tuple(named))
    else:
        count = Field(Unknown(EVERY, MACHINE), (place,))
    return {"gpus_per_pod": count, "accelerator": accelerator}


def _ids(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


def _stated_by(document: Document) -> Path:
    return ("backend",) if document.get(("backend",)) else ("platform",)


def _counted(role: Role, backend: str) -> Role:
    """An instance of KIND_GPU is on one GPU; `count` of them are on each that is named."""
    document = role.anchor.document
    one = Field(1, source="one server")
    if backend in OWN_DEVICES:
        return role.having(
            pods_per_replica=one, gpus_per_replica=role.fields["gpus_per_pod"], replicas=_count(document)
        )
    gpus, count = role.value("gpus_per_pod"), _count(document)
    total = gpus * count.value if isinstance(gpus, int) and isinstance(count.value, int) else None
    unknown = gpus if isinstance(gpus, Unknown) else Unknown("the instances are not counted")
    replicas = Field(unknown if total is None else total, (*count.origins, *role.fields["gpus_per_pod"].origins))
    return role.having(pods_per_replica=one, gpus_per_replica=Field(1, source="one GPU an instance"), replicas=replicas)


def _count(document: Document) -> Field:
    """The instances of the one group."""
    groups = _groups(document)
    if len(groups) > 1:
        return Field(Unknown("several groups of instances"), (Origin(document, ("instance_group",)),))
    if not groups or "count" not in groups[0][1]:
        return Field(1, source="default of Triton (model_config.proto)")
    place = Origin(document, (*groups[0][0], "count"))
    value = groups[0][1]["count"]
    return Field(value if isinstance(value, int) else _filled_in(value), (place,))


def _filled_in(value: object) -> Unknown:
    return Unknown(f"{value} is filled in elsewhere", "placeholder" if FILLED.search(str(value)) else "")


# ---- what it serves


def _served(document: Document, backend: str, repository: Repository) -> dict[str, Field]:
    place = Origin(document, _stated_by(document))
    if backend == "vllm":
        return _vllm(document, place, repository)
    if backend == "tensorrtllm":
        return _tensorrt_llm(document, place)
    if backend == "python":
        unread = Field(Unknown("the model's own model.py decides what runs", OWN), (place,))
        return {"engine": unread, **_passed_on(document, place)}
    filled = bool(FILLED.search(backend))
    unknown = Field(_filled_in(backend), (place,))
    own = Field(Unknown("the model's file lies in the repository of Triton", "local path"), (place,))
    return {"engine": unknown if filled else Field("triton", (place,)), "checkpoint": own}


def _vllm(document: Document, place: Origin, repository: Repository) -> dict[str, Field]:
    """The engine's arguments beside the configuration, read as the command line that states the same."""
    path = posixpath.join(posixpath.dirname(document.path), ENGINE_FILE)
    content = repository.read(path)
    found = documents.load(path, content).documents if content is not None else ()
    data = found[0].data if len(found) == 1 else None
    if not isinstance(data, dict):
        unread = Field(Unknown(f"{ENGINE_FILE} states the engine's arguments", "another object"), (place,))
        return {"engine": Field("vllm", (place,)), "checkpoint": unread, "tensor_parallel": unread}
    words = [Argument("vllm", place), Argument("serve", place)]
    for name, value in data.items():
        words.extend(_words(place, Origin(found[0], (str(name),)), str(name), value))
    invocation = Invocation(Argument("", place), tuple(words), command.Environment(), entrypoint=False)
    reading = engines.read(invocation)
    stated = reading.fields.items() if reading else ()
    kept = {name: field for name, field in stated if not name.endswith(OF_COMMAND_LINES)}
    return {**kept, "engine": Field("vllm", (place,))}


def _words(place: Origin, behind: Origin, name: str, value: object) -> Iterator[Argument]:
    flag = f"--{name.replace('_', '-')}"
    if isinstance(value, bool):
        yield Argument(f"{flag}={str(value).lower()}", place, behind=behind)
    elif value is not None:
        text = json.dumps(value) if isinstance(value, dict | list) else command.spelled(behind, value)
        yield from (Argument(flag, place, behind=behind), Argument(text, place, behind=behind))


def _tensorrt_llm(document: Document, place: Origin) -> dict[str, Field]:
    """The engine's folder and the KV cache's share; the rest is in the engine."""
    fields = {"engine": Field("tensorrt-llm", (place,))}
    for name, quantity in (("gpt_model_path", "checkpoint"), (SHARE, "kv_cache_free_fraction")):
        if stated := _parameter(document, name):
            fields[quantity] = _stated(stated, number=quantity != "checkpoint")
    folder = fields.get("checkpoint") or Field(Unknown("the engine's folder is not stated", "local path"), (place,))
    built = Unknown("trtllm-build has set it when it built the engine", "local path")
    fields["checkpoint"] = folder
    fields["tensor_parallel"] = Field(built, folder.origins)
    return fields


def _passed_on(document: Document, place: Origin) -> dict[str, Field]:
    """The checkpoint and the arguments of an engine that the model's own program is given by parameters."""
    found = {
        quantity: _stated(stated, number=True)
        for name, quantity in OF_ENGINE.items()
        if (stated := _parameter(document, name))
    }
    named = next((stated for name in CHECKPOINT if (stated := _parameter(document, name))), None)
    if named is not None and HUB_ID.fullmatch(str(document.get(named.path))):
        return {**found, "checkpoint": _stated(named, number=False)}
    own = Field(Unknown("the model's own model.py names the weights", OWN), (named or place,))
    return {**found, "checkpoint": own}


def _parameter(document: Document, name: str) -> Origin | None:
    """Where the text of a parameter stands."""
    listed = document.get(("parameters",))
    paths = [("parameters", at) for at in range(len(listed))] if isinstance(listed, list) else [("parameters",)]
    for path in paths:
        if document.get((*path, "key")) == name:
            place = (*path, "value", "string_value")
            return Origin(document, place) if document.get(place) is not None else None
    return None


def _stated(place: Origin, number: bool) -> Field:
    text = str(place.document.get(place.path))
    if FILLED.search(text) or not text.strip():
        return Field(_filled_in(text or "the parameter"), (place,))
    return Field(_number(text) if number else text, (place,))


def _number(text: str) -> Value | Unknown:
    try:
        return int(text) if text.strip().isdecimal() else float(text)
    except ValueError:
        return Unknown(f"{text} is no number")
