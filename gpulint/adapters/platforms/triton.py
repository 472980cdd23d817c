"""Triton model: the config.pbtxt of a Triton repository, with its backend, instances and GPUs."""

from __future__ import annotations

import json
import math
import posixpath
import re
from collections.abc import Iterator, Mapping

from gpulint import engines
from gpulint.adapters.claim import Claim
from gpulint.adapters.platforms import key_sets
from gpulint.adapters.programs import container_command, file_stem
from gpulint.engines import Argument, Invocation
from gpulint.source.documents import Document, Path
from gpulint.source.repository import Repository
from gpulint.workload import Command, Field, Origin, Role, Unknown, Value, Workload

MENTIONS = ("instance_group", "backend", "platform", "max_batch_size")
TRIGGERS = ("max_batch_size", "data_type: type_")
READS = ("pbtxt",)
CLAIMS = ("shape",)

KEYS = key_sets.keys("Triton config.pbtxt", "model")
TELLING = frozenset({"input", "instance_group", "backend", "platform", "max_batch_size", "ensemble_scheduling"})
OWN_DEVICES = frozenset({"vllm", "tensorrtllm"})
"""Backends that place the model on GPUs themselves, for any kind of instance."""
GPU_ONLY = frozenset({"tensorrt", "tensorrt_plan"})
EVERY = "one instance runs on every GPU that Triton sees"
"""triton-inference-server/server, docs/user_guide/model_configuration.md, Instance Groups."""
MACHINE = "any host"
OWN = "own program"
FILLED = re.compile(r"\$\{\w+\}")
CHECKPOINT = ("model_name", "model_id", "model", "hf_model", "model_path")
"""Common names of the checkpoint in model.py's `parameters`. The first that is set counts."""
HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")
OF_ENGINE: Mapping[str, str] = {
    "tensor_parallel_size": "tensor_parallel",
    "pipeline_parallel_size": "pipeline_parallel",
    "max_model_len": "max_model_len",
    "gpu_memory_utilization": "gpu_memory_utilization",
}
"""Parameters with the names of engine arguments, in programs that pass them on."""
SHARE = "kv_cache_free_gpu_mem_fraction"
OF_COMMAND_LINES = "_argument"
"""The endings of facts about command-line syntax. Configurations have none."""
MODEL_FILE = "1/model.py"
ENGINE_FILE = "1/model.json"
"""The file of the vLLM backend's engine arguments (triton-inference-server/vllm_backend,
src/model.py, README.md).
"""


def claims(document: Document) -> Claim:
    """Claim a message with ModelConfig's fields."""
    data = document.data
    if document.format != "pbtxt" or not isinstance(data, dict) or not data.keys() <= KEYS:
        return Claim.NONE
    return Claim.SHAPE.where(TELLING & data.keys())


def kind(document: Document) -> str:
    return "Triton config.pbtxt"


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    """Yield the one model, if it runs on GPUs."""
    backend = _find_backend(document)
    if not _uses_gpus(document, backend):
        return
    name = document.get(("name",))
    label = name if isinstance(name, str) and not FILLED.search(name) else _find_folder(document.path)
    served = _read_served(document, backend, repository)
    fields = {**_place(document, backend), **served, **_count_ranks(backend, served)}
    fields["shared_memory_default"] = Field(None)
    anchor = Origin(document, ("name",) if isinstance(name, str) else (next(iter(_list_keys(document))),))
    role = _count_instances(
        Role(label, anchor, fields, None, "what Triton is started with is in another file", command=_start(document)),
        backend,
    )
    yield Workload(label, "inference", "triton", document, (), (role,))


def read_engine(document: Document, repository: Repository) -> dict[str, Field]:
    """Return what a model's configuration states of the vLLM engine that serves it; empty for other models."""
    if claims(document) is Claim.NONE or _find_backend(document) != "vllm":
        return {}
    return _read_vllm(document, Origin(document, _locate_devices(document)), repository)


def _start(document: Document) -> Command | None:
    """Return the start of the model's own program, which its backend imports."""
    if _find_backend(document) != "python":
        return None
    at = Argument(MODEL_FILE, Origin(document, _locate_devices(document)))
    return Command(at._replace(text=None), (at._replace(text="python"), at), {}, open_environment=True)


def _find_folder(path: str) -> str:
    return posixpath.basename(posixpath.dirname(path)) or file_stem.find_stem(path)


def _list_keys(document: Document) -> tuple[str, ...]:
    return tuple(document.data) if isinstance(document.data, dict) else ()


def _find_backend(document: Document) -> str:
    """Return the backend, or the platform in older configurations."""
    named = document.get(("backend",)) or document.get(("platform",)) or ""
    return str(named)


def _list_groups(document: Document) -> list[tuple[Path, Mapping[str, object]]]:
    listed = document.get(("instance_group",))
    if isinstance(listed, dict):
        return [(("instance_group",), listed)]
    groups = enumerate(listed) if isinstance(listed, list) else ()
    return [(("instance_group", at), group) for at, group in groups if isinstance(group, dict)]


def _uses_gpus(document: Document, backend: str) -> bool:
    """Return True if the model certainly uses GPUs, by its instances or its backend."""
    if document.get(("ensemble_scheduling",)) is not None:
        return False
    kinds = {str(group.get("kind", "KIND_AUTO")) for _, group in _list_groups(document)}
    if backend in OWN_DEVICES or backend in GPU_ONLY:
        return True
    return "KIND_GPU" in kinds


# ---- where it runs


def _place(document: Document, backend: str) -> dict[str, Field]:
    """Return the GPUs that the model's instance groups name."""
    groups = [(path, group) for path, group in _list_groups(document) if group.get("kind", "KIND_AUTO") != "KIND_CPU"]
    place = Origin(document, groups[0][0]) if groups else Origin(document, _locate_devices(document))
    accelerator = Field(Unknown("the accelerator depends on the machine that runs Triton", MACHINE), (place,))
    named = [Origin(document, (*path, "gpus")) for path, group in groups if group.get("gpus") is not None]
    ids = {str(number) for origin in named for number in _read_ids(document.get(origin.path))}
    if backend in OWN_DEVICES:
        count = Field(Unknown("the engine uses the GPUs that it is configured for", MACHINE), (place,))
    elif len(named) == len(groups) and ids and all(number.isdecimal() for number in ids):
        count = Field(len(ids), tuple(named))
    else:
        count = Field(Unknown(EVERY, MACHINE), (place,))
    return {"gpus_per_pod": count, "accelerator": accelerator}


def _count_ranks(backend: str, served: Mapping[str, Field]) -> dict[str, Field]:
    """Return the GPUs of a vLLM engine: one for each rank."""
    sizes = [served.get(name, Field(1)).value for name in ("tensor_parallel", "pipeline_parallel")]
    if backend != "vllm" or "checkpoint" not in served or not all(isinstance(size, int) for size in sizes):
        return {}
    ranks = math.prod(size for size in sizes if isinstance(size, int))
    return {"gpus_per_pod": Field(ranks, served["engine"].origins, source="one GPU for each rank of the engine")}


def _read_ids(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


def _locate_devices(document: Document) -> Path:
    return ("backend",) if document.get(("backend",)) else ("platform",)


def _count_instances(role: Role, backend: str) -> Role:
    """Return the instances. With KIND_GPU, each named GPU runs `count` of them."""
    document = role.anchor.document
    one_server = Field(1, source="one server")
    if backend in OWN_DEVICES:
        return role.having(
            pods_per_replica=one_server, gpus_per_replica=role.fields["gpus_per_pod"], replicas=_read_count(document)
        )
    gpus, count = role.value("gpus_per_pod"), _read_count(document)
    total = gpus * count.value if isinstance(gpus, int) and isinstance(count.value, int) else None
    unknown = gpus if isinstance(gpus, Unknown) else Unknown("the instances are not counted")
    replicas = Field(unknown if total is None else total, (*count.origins, *role.fields["gpus_per_pod"].origins))
    return role.having(
        pods_per_replica=one_server, gpus_per_replica=Field(1, source="one GPU per instance"), replicas=replicas
    )


def _read_count(document: Document) -> Field:
    """Return the instances of the one group."""
    groups = _list_groups(document)
    if len(groups) > 1:
        return Field(Unknown("several groups of instances"), (Origin(document, ("instance_group",)),))
    if not groups or "count" not in groups[0][1]:
        return Field(1, source="default of Triton (model_config.proto)")
    place = Origin(document, (*groups[0][0], "count"))
    value = groups[0][1]["count"]
    return Field(value if isinstance(value, int) else _build_unknown(value), (place,))


def _build_unknown(value: object) -> Unknown:
    return Unknown(f"{value} is filled in elsewhere", "placeholder" if FILLED.search(str(value)) else "")


# ---- what it serves


def _read_served(document: Document, backend: str, repository: Repository) -> dict[str, Field]:
    place = Origin(document, _locate_devices(document))
    if backend == "vllm":
        return _read_vllm(document, place, repository)
    if backend == "tensorrtllm":
        return _read_tensorrt_llm(document, place)
    if backend == "python":
        unread = Field(Unknown("the model's own model.py decides what runs", OWN), (place,))
        return {"engine": unread, **_read_passed_arguments(document, place)}
    filled = bool(FILLED.search(backend))
    unknown = Field(_build_unknown(backend), (place,))
    own = Field(Unknown("the model's file lies in the repository of Triton", "local path"), (place,))
    return {"engine": unknown if filled else Field("triton", (place,)), "checkpoint": own}


def _read_vllm(document: Document, place: Origin, repository: Repository) -> dict[str, Field]:
    """Read the engine arguments of the neighbouring file as the equivalent command line."""
    path = posixpath.join(posixpath.dirname(document.path), ENGINE_FILE)
    documents_found = repository.read_documents(path)
    data = documents_found[0].data if len(documents_found) == 1 else None
    if not isinstance(data, dict):
        unread = Field(Unknown(f"{ENGINE_FILE} states the engine's arguments", "another object"), (place,))
        return {"engine": Field("vllm", (place,)), "checkpoint": unread, "tensor_parallel": unread}
    words = [Argument("vllm", place), Argument("serve", place)]
    for name, value in data.items():
        words.extend(_build_words(place, Origin(documents_found[0], (str(name),)), str(name), value))
    invocation = Invocation(Argument("", place), tuple(words), container_command.Environment(), entrypoint=False)
    reading = engines.read(invocation)
    stated = reading.fields.items() if reading else ()
    kept = {name: field for name, field in stated if not name.endswith(OF_COMMAND_LINES)}
    return {**kept, "engine": Field("vllm", (place,))}


def _build_words(place: Origin, behind: Origin, name: str, value: object) -> Iterator[Argument]:
    flag = f"--{name.replace('_', '-')}"
    if isinstance(value, bool):
        yield Argument(f"{flag}={str(value).lower()}", place, behind=behind)
    elif value is not None:
        text = json.dumps(value) if isinstance(value, dict | list) else container_command.read_spelling(behind, value)
        yield from (Argument(flag, place, behind=behind), Argument(text, place, behind=behind))


def _read_tensorrt_llm(document: Document, place: Origin) -> dict[str, Field]:
    """Return the engine's folder and the share of its KV cache. The engine holds the rest."""
    fields = {"engine": Field("tensorrt-llm", (place,))}
    for name, quantity in (("gpt_model_path", "checkpoint"), (SHARE, "kv_cache_free_fraction")):
        if stated := _locate_parameter(document, name):
            fields[quantity] = _read_stated(stated, number=quantity != "checkpoint")
    folder = fields.get("checkpoint") or Field(Unknown("the engine's folder is not stated", "local path"), (place,))
    built = Unknown("trtllm-build has set it when it built the engine", "local path")
    fields["checkpoint"] = folder
    fields["tensor_parallel"] = Field(built, folder.origins)
    return fields


def _read_passed_arguments(document: Document, place: Origin) -> dict[str, Field]:
    """Return the checkpoint and engine arguments that the model's own program gets as parameters."""
    passed = {
        quantity: _read_stated(stated, number=True)
        for name, quantity in OF_ENGINE.items()
        if (stated := _locate_parameter(document, name))
    }
    named = next((stated for name in CHECKPOINT if (stated := _locate_parameter(document, name))), None)
    if named is not None and HUB_ID.fullmatch(str(document.get(named.path))):
        return {**passed, "checkpoint": _read_stated(named, number=False)}
    own = Field(Unknown("the model's own model.py names the weights", OWN), (named or place,))
    return {**passed, "checkpoint": own}


def _locate_parameter(document: Document, name: str) -> Origin | None:
    """Locate the text of a parameter."""
    listed = document.get(("parameters",))
    paths = [("parameters", at) for at in range(len(listed))] if isinstance(listed, list) else [("parameters",)]
    for path in paths:
        if document.get((*path, "key")) == name:
            place = (*path, "value", "string_value")
            return Origin(document, place) if document.get(place) is not None else None
    return None


def _read_stated(place: Origin, number: bool) -> Field:
    text = str(place.document.get(place.path))
    if FILLED.search(text) or not text.strip():
        return Field(_build_unknown(text or "the parameter"), (place,))
    return Field(_parse_number(text) if number else text, (place,))


def _parse_number(text: str) -> Value | Unknown:
    try:
        return int(text) if text.strip().isdecimal() else float(text)
    except ValueError:
        return Unknown(f"{text} is not a number")
