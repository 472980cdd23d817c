"""KServe's InferenceService: the predictor's container on its serving runtime.

The runtime is the named one, or the one for the model format.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from gpulint.adapters import pods
from gpulint.adapters.objects import merge, objective_annotations, stored_weights, synthetic
from gpulint.adapters.objects.merge import Places
from gpulint.adapters.programs import replica
from gpulint.source.documents import Document, Node, Path
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Role, Unknown, Workload

FRAMEWORKS = (
    *("model", "huggingface", "triton", "pytorch", "tensorflow", "onnx"),
    *("sklearn", "xgboost", "lightgbm", "pmml", "paddle"),
)
"""Keys of a predictor that are containers.

Source: kserve v0.20.0 pkg/apis/serving/v1beta1/predictor.go.
"""
NO_POD = frozenset({*FRAMEWORKS, "workerSpec", "containers"})
RUNTIME_KINDS = ("ServingRuntime", "ClusterServingRuntime")
POD_KEYS = ("nodeSelector", "affinity", "tolerations", "volumes", "resourceClaims", "hostIPC")
SERVERS = {
    "huggingface": "huggingfaceserver",
    "vllm": "vllm-openai",
    "triton": "tritonserver",
    "tensorrt": "tritonserver",
    "onnx": "tritonserver",
    "pytorch": "torchserve",
    "tensorflow": "tensorflow_model_server",
    "sklearn": "sklearnserver",
    "xgboost": "xgbserver",
    "lightgbm": "lgbserver",
    "paddle": "paddleserver",
    "pmml": "pmmlserver",
}
"""The server that KServe's own runtimes start for a format.

Source: kserve v0.20.0 config/runtimes, supportedModelFormats.
"""
READ = frozenset({"huggingfaceserver", "vllm-openai"})
ENGINES = {"tritonserver": "triton", "torchserve": "torchserve"}
OWN_RUNTIMES = {f"kserve-{server}": server for server in ("huggingfaceserver", "tritonserver", "torchserve")} | {
    "kserve-vllmserver": "vllm-openai",
    "kserve-tensorflow-serving": "tensorflow_model_server",
    "kserve-huggingfaceserver-multinode": "huggingfaceserver",
}
PRESET = "KServe's own runtime serves the format (kserve v0.20.0 config/runtimes)"
MOUNTED_HERE = "/mnt/models"


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    """Yield one workload: the predictor, and transformers and explainers that request GPUs."""
    roles = tuple(
        role
        for base in (("spec",), ("spec", "default"))
        for component in ("predictor", "transformer", "explainer")
        for role in _read_component(document, (*base, component), repository)
    )
    if roles:
        name = str(document.get(("metadata", "name")) or "InferenceService")
        yield Workload(name, "inference", "kserve", document, (), roles)


def _read_component(document: Document, path: Path, repository: Repository) -> Iterator[Role]:
    if not isinstance(document.get(path), dict):
        return
    replicas = _count_replicas(document, path)
    given = pods.hints(document, ("metadata",), path)
    key = next((key for key in FRAMEWORKS if isinstance(document.get((*path, key)), dict)), None)
    if key is not None and path[-1] == "predictor":
        yield from _read_model(document, path, key, given, repository, replicas)
        return
    for role in pods.roles(document, path, given):
        yield _count_role(document, path, role, replicas)


# ---- a model on a runtime


def _read_model(
    document: Document, path: Path, key: str, given: Mapping[str, Origin], repository: Repository, replicas: Field
) -> Iterator[Role]:
    """Yield the container of a model: the runtime's, with the predictor's values on top."""
    places = Places()
    at = synthetic.place(document, (*path, key))
    named = Origin(document, (*path, key, "runtime"))
    runtime_object = (
        _find_runtime(document, str(document.get(named.path)), repository) if document.get(named.path) else None
    )
    runtime = places.copy(runtime_object, ("spec",), named) if runtime_object else None
    container = _merge_runtime(document, path, key, runtime) if runtime else _merge_server(document, path, key, at)
    made = merge.pod(document, _build_pod(document, path, container, runtime, at))
    for role in pods.roles(made, ("spec",), given):
        resolved = replace(places.resolve(role), name=key if role.name in ("0", CONTAINER) else role.name)
        yield _count_role(document, path, _complete_role(document, path, key, resolved, runtime is not None), replicas)


def _merge_server(document: Document, path: Path, key: str, at: Node) -> Node | None:
    """Return the model's container with the image of KServe's server for its format."""
    container, server = document.node((*path, key)), _identify_server(document, path, key)
    if server not in READ or merge.value(container, "image") is not None:
        return container
    image = synthetic.word(server, _locate_format(document, path, key))
    return merge.merge(synthetic.build_node({"image": image}, at), container)


CONTAINER = "kserve-container"


def _find_runtime(document: Document, name: str, repository: Repository) -> Document | None:
    """Return the one runtime of that name, in the same file or the repository."""
    for kind in RUNTIME_KINDS:
        beside = [candidate for candidate in document.find_beside(kind, name) if _is_runtime(candidate, kind, name)]
        candidates = beside or [
            candidate
            for candidate in repository.objects(kind, name, document.path)
            if _is_runtime(candidate, kind, name)
        ]
        if candidates:
            return candidates[0] if len(candidates) == 1 else None
    return None


def _is_runtime(document: Document, kind: str, name: str) -> bool:
    group = str(document.get(("apiVersion",))).partition("/")[0]
    return (
        group in ("serving.kserve.io", "serving.kubeflow.org")
        and document.get(("kind",)) == kind
        and document.get(("metadata", "name")) == name
    )


def _merge_runtime(document: Document, path: Path, key: str, runtime: Node | None) -> Node | None:
    """Return the runtime's container with the model's on top.

    The arguments of both are concatenated (MergeRuntimeContainers).
    """
    listed = merge.items(merge.value(runtime, "containers"))
    base = next((container for container in listed if merge.text(merge.value(container, "name")) == CONTAINER), None)
    own = document.node((*path, key))
    whole = merge.merge(base or (listed[0] if listed else None), own)
    words = [*merge.items(merge.value(base, "args")), *merge.items(merge.value(own, "args"))]
    if whole is None or not words:
        return whole
    pairs = [pair for name, pair in merge.entries(whole).items() if name != "args"]
    name = synthetic.word("args", synthetic.place(document, (*path, key)))
    return Node("mapping", whole.start, whole.end, [*pairs, (name, Node("sequence", name.start, name.end, words))])


def _build_pod(document: Document, path: Path, container: Node | None, runtime: Node | None, at: Node) -> Node:
    """Return the predictor as a pod.

    Its own settings precede the runtime's, and the model's container precedes its sidecars.
    """
    own = {key: pair for key, pair in merge.entries(document.node(path)).items() if key not in NO_POD}
    spec: Node | None = Node("mapping", at.start, at.end, list(own.values()))
    of_runtime: merge.Parts = {key: merge.value(runtime, key) for key in POD_KEYS}
    spec = merge.merge(synthetic.build_node(of_runtime, at), spec)
    beside = [
        sidecar
        for sidecar in merge.items(document.node((*path, "containers")))
        if merge.text(merge.value(sidecar, "name")) != CONTAINER
    ]
    whole = merge.merge(spec, synthetic.build_node({"containers": [container, *beside]}, at))
    return whole or at


def _read_format(document: Document, path: Path, key: str) -> str:
    """Return the format of the model: the framework's key, or the one that is named."""
    if key != "model":
        return key
    return str(document.get((*path, key, "modelFormat", "name")) or "").lower()


def _identify_server(document: Document, path: Path, key: str) -> str:
    """Return the server of KServe's own runtime: the named one, else the one for the format.

    A runtime of another name is taken for that server only if its arguments are those of an engine.
    """
    named = document.get((*path, key, "runtime"))
    if named is not None:
        of_format = SERVERS.get(_read_format(document, path, key), "")
        return OWN_RUNTIMES.get(str(named)) or (of_format if of_format in READ else "")
    return SERVERS.get(_read_format(document, path, key), "")


def _locate_format(document: Document, path: Path, key: str) -> Node:
    return synthetic.place(document, (*path, key, "modelFormat", "name") if key == "model" else (*path, key))


def _complete_role(document: Document, path: Path, key: str, role: Role, on_runtime: bool) -> Role:
    """Return the role with the server, weights and mounts that KServe decides."""
    fields: dict[str, Field] = {**role.fields, **_resolve_program(document, path, key, role, on_runtime)}
    fields |= {"engine_image": Field(None), **_resolve_weights(document, path, key, role)}
    if not on_runtime:
        fields["shared_memory_default"] = Field(False, source="the runtime may mount it")
        fields["unmounted_memory_volume"] = Field(None)
    fields.pop("model_volume_bytes", None)
    unread = "" if on_runtime else "the serving runtime may add arguments"
    return replace(role, fields=fields, open_ended=role.open_ended or unread)


def _resolve_program(document: Document, path: Path, key: str, role: Role, on_runtime: bool) -> dict[str, Field]:
    """Return what runs if the container alone does not state it.

    The format decides it, or a runtime elsewhere.
    """
    if on_runtime or role.text("engine"):
        return {}
    named = Origin(document, (*path, key, "runtime"))
    server = _identify_server(document, path, key)
    if server and document.get(named.path, server) in (server, *OWN_RUNTIMES):
        at = Origin(document, (*path, key), key=True)
        if key == "model":
            at = Origin(document, (*path, key, "modelFormat", "name"))
        if engine := ENGINES.get(server):
            return {"engine": Field(engine, (at,), assumption=PRESET, basis="default")}
        reason = Unknown(f"the format is served by {server}", "operator preset")
        return {"engine": Field(reason, (at,)), "program": Field(server, (at,), assumption=PRESET, basis="default")}
    if document.get((*path, key, "image")) is not None:
        return {}
    if document.get(named.path) is not None:
        return {"engine": Field(Unknown("the runtime decides what serves", "another object"), (named,))}
    at = Origin(document, (*path, key, "modelFormat", "name"))
    return {"engine": Field(Unknown("the cluster's runtimes decide what serves", "another object"), (at,))}


def _resolve_weights(document: Document, path: Path, key: str, role: Role) -> dict[str, Field]:
    """Return the model at the path where the server looks for it.

    It comes from a hub; the content of a volume or bucket is not known.
    """
    origin = Origin(document, (*path, key, "storageUri"))
    uri, stated = document.get(origin.path), role.value("checkpoint")
    local = stated is None or (isinstance(stated, str) and stated.startswith((MOUNTED_HERE, "hf://")))
    if not local or stored_weights.is_named_below(stated, MOUNTED_HERE):
        return {}
    if not isinstance(uri, str):
        storage = Origin(document, (*path, key, "storage"))
        kept = document.get(storage.path) is not None
        return (
            {"checkpoint": Field(Unknown("the storage secret determines the model", "another object"), (storage,))}
            if kept
            else {}
        )
    if uri.startswith("hf://"):
        return {"checkpoint": Field(uri, (origin,))}
    return {"checkpoint": stored_weights.read(uri, origin)}


# ---- counts


def _count_role(document: Document, path: Path, role: Role, replicas: Field) -> Role:
    """Return the role with its multipliers, its multi-node sizes and its autoscaler."""
    fields = {**objective_annotations.read_predictor(document, path), **role.fields}
    if metric := _read_metric(document, path):
        fields["autoscaler_metric"] = metric
    fields["replicas_least"] = replica.count(document, (*path, "minReplicas"), 1, "default of KServe")
    worker = (*path, "workerSpec")
    if document.get(worker) is None:
        return replica.count_role(replace(role, fields=fields), replica.ONE_POD, replicas)
    sizes = {
        "tensor_parallel": replica.count(document, (*worker, "tensorParallelSize"), 1, "default of KServe"),
        "pipeline_parallel": replica.count(document, (*worker, "pipelineParallelSize"), 1, "default of KServe"),
    }
    fields.pop("multi_node", None)
    whole = replace(role, fields={**fields, **sizes})
    return _spread_over_nodes(document, worker, whole, tuple(sizes.values())).having(replicas=replicas)


def _spread_over_nodes(document: Document, worker: Path, role: Role, sizes: Sequence[Field]) -> Role:
    """Return one instance over head and workers: the GPUs of all ranks, and their nodes."""
    total = replica.product(*sizes)
    tensor = sizes[0]
    head, per_worker = role.fields["gpus_per_pod"], _count_worker_gpus(document, worker)
    if not isinstance(head.value, int):
        head = per_worker or tensor
    nodes: Field = Field(Unknown("the number of nodes is not known"), total.origins)
    if isinstance(total.value, int) and isinstance(head.value, int) and head.value > 0:
        others = (
            per_worker.value
            if per_worker and isinstance(per_worker.value, int) and per_worker.value > 0
            else head.value
        )
        further = max(total.value - head.value, 0)
        nodes = Field(1 + math.ceil(further / others), total.origins)
    return role.having(gpus_per_pod=head, pods_per_replica=nodes, gpus_per_replica=total)


def _count_worker_gpus(document: Document, worker: Path) -> Field | None:
    for side in ("limits", "requests"):
        path = (*worker, "containers", 0, "resources", side)
        amounts = document.get(path)
        for name in amounts if isinstance(amounts, dict) else ():
            if pods.GPU.fullmatch(str(name)):
                origin = Origin(document, (*path, name))
                return Field(pods.gpu_count(document, origin), (origin,))
    return None


def _count_replicas(document: Document, path: Path) -> Field:
    """Return the replicas between KServe's two bounds; unknown if the bounds differ."""
    minimum = replica.count(document, (*path, "minReplicas"), 1, "default of KServe")
    maximum = document.get((*path, "maxReplicas"))
    if isinstance(maximum, int) and maximum not in (0, minimum.value):
        return Field(Unknown("an autoscaler decides", "another object"), (Origin(document, (*path, "maxReplicas")),))
    if minimum.value == 0:
        return Field(Unknown("an autoscaler starts the first replica", "another object"), minimum.origins)
    return minimum


def _read_metric(document: Document, path: Path) -> Field | None:
    """Return the metric that scales the replicas, if their number may change."""
    minimum = document.get((*path, "minReplicas"), 1)
    maximum = document.get((*path, "maxReplicas"))
    if not (isinstance(minimum, int) and isinstance(maximum, int) and maximum > minimum):
        return None
    stated = Origin(document, (*path, "scaleMetric"))
    metric = document.get(stated.path)
    return Field(metric, (stated,)) if metric in ("cpu", "memory") else None
