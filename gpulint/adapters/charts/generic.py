"""Any chart: blocks of values that request GPUs or start an engine.

Each is read with its image, arguments and labels. The templates are not read: they may add
arguments, volumes and variables, which stays open.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import replace

from gpulint import units
from gpulint.adapters import pods
from gpulint.adapters.charts import gpu_counts
from gpulint.adapters.charts import values as charts_values
from gpulint.adapters.charts.values import Values
from gpulint.adapters.objects.synthetic import Part
from gpulint.catalog import resource_names
from gpulint.source import excess
from gpulint.source.documents import Document, Node, Path
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Role, Unknown, Workload

DEPTH, VISITED_MAX = 24, 20_000
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
    *(
        ("model", "repoId"),
        ("model", "repo_id"),
        ("model", "hfId"),
        ("model", "huggingfaceName"),
        ("vllm", "model"),
        ("config", "model"),
        ("config", "modelID"),
    ),
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
"""Keys of other objects that contain values."""
BUDGETS = ("pdb", "podDisruptionBudget")
NIM = frozenset({"ngcAPISecret", "ngcAPIKey", "nimCache"})
"""Keys of `model` in the nim-llm chart (NVIDIA/nim-deploy helm/nim-llm/values.yaml)."""
CPU_METRIC = re.compile(r"targetCPU(?:Utilization)?(?:Percentage)?|cpuUtilization|targetCPUUtilization\w*")
METRICS = frozenset({"metrics", "customMetrics", "triggers", "targetMemoryUtilizationPercentage"})


def fits(values: Values) -> bool:
    """Return whether a block, even a disabled one, requests GPUs by resource name for an image."""
    if not pods.GPU.search(values.document.text):
        return False
    candidates = blocks(values, everything=True)
    return any(
        gpu_counts.requests_gpus(block.entries()) and _find_image(values, block) is not None for block in candidates
    )


def workloads(values: Values, block: Values, repository: Repository) -> Iterator[Workload]:
    """Yield the workload of a block; values at the top apply to all blocks."""
    shared = values if len(list(itertools.islice(blocks(values), 2))) == 1 else block
    named = (block.text(key) for key in ("fullnameOverride", "name", "nameOverride"))
    name = next(filter(None, named), "") or _name_block(values, block)
    for workload in charts_values.workloads(block, _build_object(shared, block), repository, name):
        yield _complete_workload(charts_values.open_workload(workload), shared, block)


def _name_block(values: Values, block: Values) -> str:
    """Return the keys of a block, else the release, else the folder of the file."""
    keys = ".".join(str(part) for part in block.path[len(values.path) :] if isinstance(part, str))
    release = block.document.get(("metadata", "name"))
    return keys or (release if isinstance(release, str) else charts_values.folder(block.document))


def blocks(values: Values, everything: bool = False) -> Iterator[Values]:
    """Yield mappings that request GPUs, in file order; `everything` includes disabled ones."""
    todo, paths = [values], list[Path]()
    visited = 0
    while todo and not excess.is_over(visited, VISITED_MAX, "the values have more than {} mappings and lists"):
        visited += 1
        here = todo.pop()
        stated = here.get()
        if isinstance(stated, dict) and not everything and gpu_counts.is_disabled(stated):
            continue
        asks = isinstance(stated, dict) and (gpu_counts.requests_gpus(stated) or gpu_counts.has_count(stated))
        if asks or (isinstance(stated, dict) and gpu_counts.find_count(here) and not _is_within(here, paths)):
            asks = True
            paths.append(here.path)
            yield here
        nested = [here.descend(key) for key in _find_nested(stated) if not (asks and key in OF_A_POD)]
        if nested and not excess.is_over(len(here.path) + 1, DEPTH, "values nest deeper than {} levels"):
            todo += reversed(nested)


def _is_within(here: Values, paths: list[Path]) -> bool:
    return any(here.path[: len(path)] == path for path in paths)


def _find_nested(stated: object) -> Iterator[str | int]:
    """Yield the keys of a mapping, or the indexes of a list, that have nested values."""
    pairs = stated.items() if isinstance(stated, dict) else enumerate(stated) if isinstance(stated, list) else ()
    yield from (key for key, inner in pairs if isinstance(inner, dict | list))


# ---- the pod that a block stands for


def _build_object(values: Values, block: Values) -> Document:
    replicas = _find_first(block, values, *REPLICAS)
    return charts_values.deployment(block, _build_pod(values, block), replicas, block.node("podAnnotations"))


def _build_pod(values: Values, block: Values) -> Part:
    container: dict[str | Node, Part] = {
        "name": _name_container(block),
        "image": _find_image(values, block),
        "command": next((node for where in _find_parts(block) if (node := where.node("command")) is not None), None),
        "args": next(
            (arguments for where in _find_parts(block) if (arguments := _find_arguments(where)) is not None), None
        ),
        "env": [part for key in ENVIRONMENTS for part in charts_values.variables(block, key)],
        "envFrom": block.node("envFrom"),
        "resources": _build_resources(block),
        "volumeMounts": block.node("volumeMounts") or block.node("extraVolumeMounts"),
        "securityContext": block.node("securityContext"),
    }
    return {
        "containers": [container],
        "volumes": block.node("volumes") or block.node("extraVolumes"),
        "nodeSelector": _find_first(block, values, "nodeSelector"),
        "affinity": _find_first(block, values, "affinity"),
        "tolerations": _find_first(block, values, "tolerations"),
        "runtimeClassName": _find_first(block, values, "runtimeClassName"),
    }


def _find_parts(block: Values) -> list[Values]:
    """Return a block and its sections with settings of the same pod."""
    inner = [block.descend(key) for key in gpu_counts.SECTIONS if isinstance(block.get(key), dict)]
    return [block, *(section for section in inner if not gpu_counts.is_disabled(section.entries()))]


def _name_container(block: Values) -> Node:
    """Return a container's name, located at its resources."""
    last = next((part for part in reversed(block.path) if isinstance(part, str)), "")
    name = block.text("name") or ("server" if last in ("", *WRAPPERS) else last)
    return block.key(name, "resources") if block.get("resources") is not None else block.word(name)


def _find_first(block: Values, values: Values, *keys: str) -> Node | None:
    """Return the first of some keys that a block states, else the values as a whole."""
    return next((node for where in (block, values) for key in keys if (node := where.node(key)) is not None), None)


def _find_image(values: Values, block: Values) -> Node | None:
    """Return the image of a block, else the nearest above it."""
    for up in range(len(block.path) - len(values.path) + 1):
        where = Values(block.document, block.path[: len(block.path) - up])
        for key in gpu_counts.IMAGES:
            if image := charts_values.image(where, key) or charts_values.image(where, key, name="name"):
                return image
        if isinstance(where.get("repository"), str) and where.get("tag") is not None:
            return charts_values.image(where)
    return next((image for where in _find_parts(block)[1:] if (image := charts_values.image(where, "image"))), None)


def _find_arguments(block: Values) -> Part:
    for key in ARGUMENTS:
        arguments = block.get(key)
        if isinstance(arguments, list):
            return block.node(key)
        if isinstance(arguments, dict) and arguments and all(str(name).startswith("-") for name in arguments):
            return [part for name in arguments for part in _build_pair(block, key, str(name))]
    return None


def _build_pair(block: Values, key: str, name: str) -> list[Part]:
    value = block.get(key, name)
    word = block.key(name, key, name)
    return [word] if value in (None, "", True) else [word, block.node(key, name)]


def _build_resources(block: Values) -> Part:
    if gpu_counts.requests_gpus(block.entries()):
        return block.node("resources")
    if not gpu_counts.has_count(block.entries()) and (path := gpu_counts.find_count(block)):
        limits = dict(charts_values.pairs(block.node("resources", "limits")))
        name = gpu_counts.resource(block, path)
        return {"requests": block.node("resources", "requests"), "limits": {**limits, name: block.node(*path)}}
    if not gpu_counts.has_count(block.entries()):
        return block.node("resources")
    key = gpu_counts.key(block.entries())
    requests, limits = (dict(charts_values.pairs(block.node("resources", side))) for side in ("requests", "limits"))
    return {
        "requests": requests,
        "limits": {**limits, block.key(resource_names.find_name("nvidia"), key): block.node(key)},
    }


# ---- settings that charts name alike


def _complete_workload(workload: Workload, values: Values, block: Values) -> Workload:
    roles = tuple(_apply_settings(role, values, block) for role in workload.roles)
    kind = "inference" if any(role.text("engine") for role in roles) else workload.kind
    return replace(workload, kind=kind, roles=roles)


def _apply_settings(role: Role, values: Values, block: Values) -> Role:
    fields: dict[str, Field] = {}
    places = [block] if block.path == values.path else [block, values]
    if role.text("engine"):
        if not role.text("checkpoint") and (model := find_model(places)):
            fields["checkpoint"] = model
        for name, keys in SETTINGS.items():
            if not _is_stated(role, name) and (field := _find_setting(places, keys)):
                fields[name] = field
    fields |= _read_autoscalers(places)
    if "replicas_least" in fields:
        fields |= _read_metric(places)
    return charts_values.fill_parallel_sizes(
        role.having(**{**_identify_nim(role, places), **fields, **_spread_over_pods(block)})
    )


def _spread_over_pods(block: Values) -> dict[str, Field]:
    """Return the GPUs of several pods if a bare count exceeds those of one node."""
    key = gpu_counts.key(block.entries())
    count = block.get(key)
    if not key or gpu_counts.requests_gpus(block.entries()) or not isinstance(count, int) or count <= NODE_GPUS:
        return {}
    unknown = Field(Unknown("the templates distribute the GPUs over pods", "another object"), (block.origin(key),))
    return {"gpus_per_pod": unknown, "gpu_limit": unknown, "gpus_per_replica": Field(count, (block.origin(key),))}


def _identify_nim(role: Role, places: list[Values]) -> dict[str, Field]:
    """Return NIM, by the keys of its own chart; the model's image may be set elsewhere."""
    for where in places:
        if not role.text("engine") and NIM & where.entries("model").keys():
            unknown = Unknown("the image, which names the model, is chosen elsewhere", "caller's variable")
            return {
                "engine": Field("nim", (where.origin("model"),)),
                "checkpoint": Field(unknown, (where.origin("image"),)),
            }
    return {}


def _is_stated(role: Role, name: str) -> bool:
    field = role.fields.get(name)
    return field is not None and bool(field.origins)


def find_model(places: list[Values]) -> Field | None:
    """Return a hub id under a key that names the model."""
    for where in places:
        for path in MODELS:
            text = where.get(*path)
            if isinstance(text, str) and (named := HUB_ID.fullmatch(text)):
                origin = Origin(where.document, (*where.path, *path), named.span("id"))
                return Field(
                    named["id"], (origin,), assumption=f"{'.'.join(map(str, path))} names the model that is served"
                )
            if isinstance(text, str) and charts_values.EXPRESSION.search(text):
                unknown = Unknown(f"{'.'.join(map(str, path))} is filled in elsewhere", "caller's variable")
                return Field(unknown, (where.origin(*path),))
    return None


def _find_setting(places: list[Values], keys: tuple[str, ...]) -> Field | None:
    for where in places:
        for inner in SETTING_BLOCKS:
            for key in keys:
                value = where.get(*inner, key)
                if isinstance(value, str | int) and not isinstance(value, bool):
                    origin = where.origin(*inner, key)
                    return Field(_parse_count(value), (origin,))
    return None


def _parse_count(value: str | int) -> int | Unknown:
    try:
        number = units.human_int(str(value))
    except ValueError:
        return Unknown(
            f"{value} is not a number", "caller's variable" if charts_values.EXPRESSION.search(str(value)) else ""
        )
    return number if number > 0 else Unknown(f"{value} leaves the value to the engine", "image default")


def _read_autoscalers(places: list[Values]) -> dict[str, Field]:
    """Return the fields of the first enabled autoscaler and disruption budget."""
    fields: dict[str, Field] = {}
    for where in reversed(places):
        for key in AUTOSCALERS:
            for budget in BUDGETS:
                fields |= charts_values.read_autoscaler(where, (key,), "minReplicas", (budget,))
    return fields


def _read_metric(places: list[Values]) -> dict[str, Field]:
    """Return CPU if it is the only metric of the autoscaler."""
    for where in places:
        for key in AUTOSCALERS:
            stated = where.entries(key)
            if stated.get("enabled") is not True or METRICS & stated.keys():
                continue
            for name, value in stated.items():
                if CPU_METRIC.fullmatch(name) and value is not None:
                    return {"autoscaler_metric": Field("cpu", (where.origin(key, name),))}
    return {}
