"""Any chart: blocks of values that ask for GPUs, or start an engine, beside the image, arguments and labels they go with.

What the templates make of them is not read: they may add arguments, volumes and variables, and that stays open.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import replace

from gpulint import units
from gpulint.adapters import pod
from gpulint.adapters.charts import chart, counts
from gpulint.adapters.charts.chart import Values
from gpulint.adapters.tree import Part
from gpulint.documents import Document, Node, Path
from gpulint.repository import Repository
from gpulint.workload import Field, Origin, Role, Unknown, Workload

DEPTH, VISITED_MAX = 12, 20_000
"""How deep, and how many mappings and lists, are looked through."""
OF_A_POD = frozenset({"resources", "env", "args", "command"})
ENVIRONMENTS = ("env", "extraEnv", "extraEnvVars", "envVars", "environment", "containerEnv", "extraEnvs")
ARGUMENTS = ("args", "extraArgs", "additionalArgs", "serverArgs", "vllmArgs")
REPLICAS = ("replicaCount", "replicas", "numReplicas")
AUTOSCALERS = ("autoscaling", "hpa", "autoscaler", "keda", "horizontalPodAutoscaler")
MODELS = (
    *(("model",), ("model", "id"), ("model", "name"), ("model", "repo"), ("model", "repository"), ("model", "uri")),
    *(("model", "modelId"), ("model", "huggingfaceId"), ("modelId",), ("modelName",), ("model_name",), ("modelID",)),
    *(("model_id",), ("modelUri",), ("modelURL",), ("model", "hfModelId"), ("huggingface", "model")),
    *(("model", "hfId"), ("model", "huggingfaceName"), ("vllm", "model"), ("config", "model"), ("config", "modelID")),
    *(("engine", "model"), ("server", "model"), ("vllm", "modelId"), ("vllm", "modelName")),
)
HUB_ID = re.compile(r"(?:hf://)?(?P<id>[A-Za-z0-9][\w.-]*/[\w.-]+)")
SETTINGS = {
    "tensor_parallel": ("tensorParallelSize", "tensorParallelism", "tensor_parallel_size", "tpSize", "tensorParallel"),
    "pipeline_parallel": ("pipelineParallelSize", "pipelineParallelism", "pipeline_parallel_size", "pipelineParallel"),
    "data_parallel": ("dataParallelSize", "dataParallelism", "data_parallel_size", "dataParallel"),
    "max_model_len": ("maxModelLen", "maxModelLength", "max_model_len"),
}
SETTING_BLOCKS: tuple[Path, ...] = (
    (),
    ("vllm",),
    ("vllmConfig",),
    ("model",),
    ("engine",),
    ("config",),
    ("parallelism",),
)
NODE_GPUS = 8
WRAPPERS = ("values", "valuesObject", "valuesInline")
"""Keys of other objects under which values stand."""
BUDGETS = ("pdb", "podDisruptionBudget")
NIM = frozenset({"ngcAPISecret", "ngcAPIKey", "nimCache"})
"""Keys of `model` in the nim-llm chart (NVIDIA/nim-deploy helm/nim-llm/values.yaml)."""
CPU_METRIC = re.compile(r"targetCPU(?:Utilization)?(?:Percentage)?|cpuUtilization|targetCPUUtilization\w*")
METRICS = frozenset({"metrics", "customMetrics", "triggers", "targetMemoryUtilizationPercentage"})


def fits(values: Values) -> bool:
    """Whether a block, even one that is switched off, asks for GPUs by the name of a resource, for an image."""
    if not pod.GPU.search(values.document.text):
        return False
    found = blocks(values, everything=True)
    return any(counts.asks(block.entries()) and _image(values, block) is not None for block in found)


def workloads(values: Values, block: Values, repository: Repository) -> Iterator[Workload]:
    """The workload of a block; what stands at the top of the values is for all of them."""
    shared = values if len(list(itertools.islice(blocks(values), 2))) == 1 else block
    named = (block.text(key) for key in ("fullnameOverride", "name", "nameOverride"))
    name = next(filter(None, named), "") or _named(values, block)
    for workload in chart.workloads(block, _object(shared, block), repository, name):
        yield _settled(chart.opened(workload), shared, block)


def _named(values: Values, block: Values) -> str:
    """The keys that lead to a block of the values, else the release that holds them, else the folder of their file."""
    keys = ".".join(str(part) for part in block.path[len(values.path) :] if isinstance(part, str))
    release = block.document.get(("metadata", "name"))
    return keys or (release if isinstance(release, str) else chart.folder(block.document))


def blocks(values: Values, everything: bool = False) -> Iterator[Values]:
    """Mappings that ask for GPUs, in the order of the file; what is switched off is passed over unless everything counts."""
    todo, found = [values], list[Path]()
    for _ in range(VISITED_MAX):
        if not todo:
            return
        here = todo.pop()
        stated = here.get()
        if isinstance(stated, dict) and not everything and counts.switched_off(stated):
            continue
        asks = isinstance(stated, dict) and (counts.asks(stated) or counts.counts(stated))
        if asks or (isinstance(stated, dict) and counts.counted(here) and not _within(here, found)):
            asks = True
            found.append(here.path)
            yield here
        if len(here.path) < DEPTH:
            todo += reversed([here.below(key) for key in _inner(stated) if not (asks and key in OF_A_POD)])


def _within(here: Values, found: list[Path]) -> bool:
    return any(here.path[: len(path)] == path for path in found)


def _inner(stated: object) -> Iterator[str | int]:
    """The keys of a mapping, or the numbers of a list, below which there is more."""
    pairs = stated.items() if isinstance(stated, dict) else enumerate(stated) if isinstance(stated, list) else ()
    yield from (key for key, inner in pairs if isinstance(inner, dict | list))


# ---- the pod that a block stands for


def _object(values: Values, block: Values) -> Document:
    replicas = _first(block, values, *REPLICAS)
    return chart.deployment(block, _pod(values, block), replicas, block.node("podAnnotations"))


def _pod(values: Values, block: Values) -> Part:
    container: dict[str | Node, Part] = {
        "name": _container_name(block),
        "image": _image(values, block),
        "command": next((node for where in _parts(block) if (node := where.node("command")) is not None), None),
        "args": next((found for where in _parts(block) if (found := _arguments(where)) is not None), None),
        "env": [part for key in ENVIRONMENTS for part in chart.variables(block, key)],
        "envFrom": block.node("envFrom"),
        "resources": _resources(block),
        "volumeMounts": block.node("volumeMounts") or block.node("extraVolumeMounts"),
        "securityContext": block.node("securityContext"),
    }
    return {
        "containers": [container],
        "volumes": block.node("volumes") or block.node("extraVolumes"),
        "nodeSelector": _first(block, values, "nodeSelector"),
        "affinity": _first(block, values, "affinity"),
        "tolerations": _first(block, values, "tolerations"),
        "runtimeClassName": _first(block, values, "runtimeClassName"),
    }


def _parts(block: Values) -> list[Values]:
    """A block, and the sections of it that hold settings of the same pod."""
    inner = [block.below(key) for key in counts.SECTIONS if isinstance(block.get(key), dict)]
    return [block, *(one for one in inner if not counts.switched_off(one.entries()))]


def _container_name(block: Values) -> Node:
    """The text of a container's name, where its resources stand."""
    last = next((part for part in reversed(block.path) if isinstance(part, str)), "")
    name = block.text("name") or ("server" if last in ("", *WRAPPERS) else last)
    return block.key(name, "resources") if block.get("resources") is not None else block.word(name)


def _first(block: Values, values: Values, *keys: str) -> Node | None:
    """The first of some keys that a block states, else the values as a whole."""
    return next((node for where in (block, values) for key in keys if (node := where.node(key)) is not None), None)


def _image(values: Values, block: Values) -> Node | None:
    """The image of a block, else the nearest above it."""
    for up in range(len(block.path) - len(values.path) + 1):
        where = Values(block.document, block.path[: len(block.path) - up])
        for key in counts.IMAGES:
            if found := chart.image(where, key) or chart.image(where, key, name="name"):
                return found
        if isinstance(where.get("repository"), str) and where.get("tag") is not None:
            return chart.image(where)
    return next((found for where in _parts(block)[1:] if (found := chart.image(where, "image"))), None)


def _arguments(block: Values) -> Part:
    for key in ARGUMENTS:
        found = block.get(key)
        if isinstance(found, list):
            return block.node(key)
        if isinstance(found, dict) and found and all(str(name).startswith("-") for name in found):
            return [part for name in found for part in _pair(block, key, str(name))]
    return None


def _pair(block: Values, key: str, name: str) -> list[Part]:
    value = block.get(key, name)
    word = block.key(name, key, name)
    return [word] if value in (None, "", True) else [word, block.node(key, name)]


def _resources(block: Values) -> Part:
    if counts.asks(block.entries()):
        return block.node("resources")
    if not counts.counts(block.entries()) and (path := counts.counted(block)):
        limits = dict(chart.pairs(block.node("resources", "limits")))
        name = counts.resource(block, path)
        return {"requests": block.node("resources", "requests"), "limits": {**limits, name: block.node(*path)}}
    if not counts.counts(block.entries()):
        return block.node("resources")
    key = counts.key(block.entries())
    requests, limits = (dict(chart.pairs(block.node("resources", side))) for side in ("requests", "limits"))
    return {"requests": requests, "limits": {**limits, block.key("nvidia.com/gpu", key): block.node(key)}}


# ---- settings that charts name alike


def _settled(workload: Workload, values: Values, block: Values) -> Workload:
    roles = tuple(_with_settings(role, values, block) for role in workload.roles)
    kind = "inference" if any(role.text("engine") for role in roles) else workload.kind
    return replace(workload, kind=kind, roles=roles)


def _with_settings(role: Role, values: Values, block: Values) -> Role:
    fields: dict[str, Field] = {}
    places = [block] if block.path == values.path else [block, values]
    if role.text("engine"):
        if not role.text("checkpoint") and (model := _model(places)):
            fields["checkpoint"] = model
        for name, keys in SETTINGS.items():
            if not _stated(role, name) and (field := _setting(places, keys)):
                fields[name] = field
    fields |= _scaled(places)
    if "replicas_least" in fields:
        fields |= _metric(places)
    return chart.shared_out(role.having(**{**_nim(role, places), **fields, **_spread(block)}))


def _spread(block: Values) -> dict[str, Field]:
    """A bare count that is more than a node holds counts the GPUs of several pods."""
    key = counts.key(block.entries())
    count = block.get(key)
    if not key or counts.asks(block.entries()) or not isinstance(count, int) or count <= NODE_GPUS:
        return {}
    unknown = Field(Unknown("the templates distribute the GPUs over pods", "another object"), (block.origin(key),))
    return {"gpus_per_pod": unknown, "gpu_limit": unknown, "gpus_per_replica": Field(count, (block.origin(key),))}


def _nim(role: Role, places: list[Values]) -> dict[str, Field]:
    """NIM, by the keys of its own chart; the image, which names the model, may be filled in elsewhere."""
    for where in places:
        if not role.text("engine") and NIM & where.entries("model").keys():
            unknown = Unknown("the image, which names the model, is chosen elsewhere", "caller's variable")
            return {
                "engine": Field("nim", (where.origin("model"),)),
                "checkpoint": Field(unknown, (where.origin("image"),)),
            }
    return {}


def _stated(role: Role, name: str) -> bool:
    field = role.fields.get(name)
    return field is not None and bool(field.origins)


def _model(places: list[Values]) -> Field | None:
    """A hub id under a key that names the model."""
    for where in places:
        for path in MODELS:
            text = where.get(*path)
            if isinstance(text, str) and (named := HUB_ID.fullmatch(text)):
                origin = Origin(where.document, (*where.path, *path), named.span("id"))
                return Field(
                    named["id"], (origin,), assumption=f"{'.'.join(map(str, path))} names the model that is served"
                )
            if isinstance(text, str) and chart.EXPRESSION.search(text):
                unknown = Unknown(f"{'.'.join(map(str, path))} is filled in elsewhere", "caller's variable")
                return Field(unknown, (where.origin(*path),))
    return None


def _setting(places: list[Values], keys: tuple[str, ...]) -> Field | None:
    for where in places:
        for inner in SETTING_BLOCKS:
            for key in keys:
                value = where.get(*inner, key)
                if isinstance(value, str | int) and not isinstance(value, bool):
                    origin = where.origin(*inner, key)
                    return Field(_count(value), (origin,))
    return None


def _count(value: str | int) -> int | Unknown:
    try:
        number = units.human_int(str(value))
    except ValueError:
        return Unknown(f"{value} is not a number", "caller's variable" if chart.EXPRESSION.search(str(value)) else "")
    return number if number > 0 else Unknown(f"{value} leaves the value to the engine", "image default")


def _scaled(places: list[Values]) -> dict[str, Field]:
    """What the first autoscaler and disruption budget that are switched on say."""
    fields: dict[str, Field] = {}
    for where in reversed(places):
        for key in AUTOSCALERS:
            for budget in BUDGETS:
                fields |= chart.scaled(where, (key,), "minReplicas", (budget,))
    return fields


def _metric(places: list[Values]) -> dict[str, Field]:
    """CPU, where it is the only metric that the autoscaler is given."""
    for where in places:
        for key in AUTOSCALERS:
            stated = where.entries(key)
            if stated.get("enabled") is not True or METRICS & stated.keys():
                continue
            for name, value in stated.items():
                if CPU_METRIC.fullmatch(name) and value is not None:
                    return {"autoscaler_metric": Field("cpu", (where.origin(key, name),))}
    return {}
