"""The production-stack chart of vLLM: each `servingEngineSpec.modelSpec` entry is a workload.

It is a Deployment or a RayCluster. Read from the templates of 0.1.12 (vllm-project/production-stack
a6c01db0, 2026-08-05: helm/templates/deployment-vllm-multi.yaml, ray-cluster.yaml, _helpers.tpl,
pvc.yaml, scaledobject-vllm.yaml, service-vllm.yaml, pdb-vllm-multi.yaml).
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator
from dataclasses import replace

from gpulint.adapters.charts import values as charts_values
from gpulint.adapters.charts.values import Values
from gpulint.adapters.objects.synthetic import Part
from gpulint.adapters.pods import volume_claims
from gpulint.catalog import resource_names, tables
from gpulint.source.documents import Document, Node, Problem
from gpulint.source.repository import Repository
from gpulint.workload import Field, Workload

SPEC = "servingEngineSpec"
FLAGS = (
    ("--max-model-len", "maxModelLen"),
    ("--dtype", "dtype"),
    ("--tensor-parallel-size", "tensorParallelSize"),
    ("--max-num-seqs", "maxNumSeqs"),
    ("--gpu_memory_utilization", "gpuMemoryUtilization"),
    ("--max_loras", "maxLoras"),
    ("--runner", "runner"),
    ("--convert", "convert"),
)
"""The flags that the chart writes for keys of `vllmConfig`."""
GPU = resource_names.find_name("nvidia")
STARTING = {"initialDelaySeconds": 15, "periodSeconds": 10, "failureThreshold": 60}
LIVING = {"initialDelaySeconds": 15, "periodSeconds": 10, "failureThreshold": 3}
"""The probes of the chart's own values (helm/values.yaml of 0.1.0 to 0.1.12)."""
NEAR = 0.85
"""The similarity above which one key is taken for a misspelling of another."""
ON_RAY = ("--distributed-executor-backend", "ray")


def fits(values: Values) -> bool:
    return isinstance(values.get(SPEC, "modelSpec"), list) or bool(
        {"modelSpec", "vllmApiKey", "enableEngine"} & values.entries(SPEC).keys()
    )


def workloads(values: Values, repository: Repository) -> Iterator[Workload]:
    """Yield a workload for each enabled model."""
    listed = values.get(SPEC, "modelSpec")
    if values.get(SPEC, "enableEngine") is False:
        return
    for at, model in enumerate(listed if isinstance(listed, list) else ()):
        if isinstance(model, dict) and model.get("enabled") is not False:
            entry = values.descend(SPEC, "modelSpec", at)
            made = _build_ray_cluster if entry.get("raySpec", "enabled") is True else _build_deployment
            for workload in charts_values.workloads(entry, made(values, entry), repository, entry.text("name")):
                yield _complete_workload(workload, entry)


def problems(values: Values) -> Iterator[Problem]:
    """Yield the keys of a model that no template reads: the chart ignores them silently."""
    listed = values.get(SPEC, "modelSpec")
    for at, model in enumerate(listed if isinstance(listed, list) else ()):
        for key in model if isinstance(model, dict) else ():
            if key not in _list_read_keys("modelSpec"):
                yield from _report_unread(values.descend(SPEC, "modelSpec", at), str(key), ())
        config = model.get("vllmConfig") if isinstance(model, dict) else None
        for key in config if isinstance(config, dict) else ():
            if key not in _list_read_keys("vllmConfig"):
                yield from _report_unread(values.descend(SPEC, "modelSpec", at), str(key), ("vllmConfig",))


def _list_read_keys(section: str) -> frozenset[str]:
    """Return the keys of a section that some template of some release reads."""
    return frozenset(row["key"] for row in tables.rows("chart_values") if row["section"] == section)


def _report_unread(entry: Values, key: str, section: tuple[str, ...]) -> Iterator[Problem]:
    """Report a key that no template reads, if a similar key is read.

    A newer chart may read other keys.
    """
    if meant := _guess_key(key, section):
        named = ".".join((*section, key))
        place = entry.document.locate((*entry.path, *section, key), key=True)
        yield Problem("unread-value", f"the vllm-stack chart ignores {named} of a model; did you mean {meant}?", place)


def _guess_key(key: str, section: tuple[str, ...]) -> str:
    """Return the key that the chart reads: the same in another place, or a similar spelling."""
    if not section and key in _list_read_keys("vllmConfig"):
        return f"vllmConfig.{key}"
    if section and key in _list_read_keys("modelSpec"):
        return f"{key} next to {section[0]}"
    keys = sorted(_list_read_keys(section[0] if section else "modelSpec"))
    spelled = [name for name in keys if name.lower() == key.lower()]
    near = spelled or difflib.get_close_matches(key, keys, n=1, cutoff=NEAR)
    longer = [name for name in keys if name.startswith(key)]
    matches = near or (longer if len(longer) == 1 else [])
    return ".".join((*section, matches[0])) if matches else ""


# ---- what the templates write


def _build_deployment(values: Values, entry: Values) -> Document:
    replicas = None if entry.get("keda", "enabled") is True else entry.node("replicaCount")
    return charts_values.deployment(
        entry, _build_pod(values, entry, entry, _build_command(entry)), replicas, entry.node("podAnnotations")
    )


def _build_ray_cluster(values: Values, entry: Values) -> Document:
    """Build the head and `replicaCount` workers of one engine, as an equivalent group.

    A worker's container starts Ray alone; the head starts the engine.
    """
    head = entry.descend("raySpec", "headNode")
    workers = _truncate(entry.get("replicaCount"))
    leader = _build_pod(values, entry, head, [*_build_command(entry), *ON_RAY])
    size = entry.word(str(workers + 1), "replicaCount")
    return charts_values.group(entry, size, _build_pod(values, entry, entry, ["ray", "start"]), leader)


def _build_pod(values: Values, entry: Values, asking: Values, command: list[Part]) -> Part:
    """Build the pod of a model; on Ray, head and workers request their own resources."""
    shared = entry.get("vllmConfig", "tensorParallelSize") is not None
    mounts: list[Part] = (
        [{"name": "shm", "mountPath": entry.word("/dev/shm", "vllmConfig", "tensorParallelSize")}] if shared else []
    )
    stored = entry.get("pvcStorage") is not None
    size = entry.node("pvcStorage") if isinstance(entry.get("pvcStorage"), str) else None
    volumes: list[Part] = []
    if stored:
        mounts.append({"name": "storage", "mountPath": entry.word("/data", "pvcStorage")})
    if stored and size is not None:
        claim: Part = {"spec": {"resources": {"requests": {"storage": size}}}}
        volumes.append({"name": "storage", "ephemeral": {"volumeClaimTemplate": claim}})
    if shared:
        volumes.append({"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": entry.node("shmSize") or "20Gi"}})
    container: Part = {
        "name": entry.node("name"),
        "image": _build_image(entry),
        "command": command,
        "env": _build_environment(values, entry),
        "envFrom": [{"configMapRef": {"name": "configs"}}] if values.get(SPEC, "configs") else None,
        "resources": asking.node("resources") or _build_resources(asking),
        "securityContext": values.node(SPEC, "containerSecurityContext"),
        "startupProbe": charts_values.probe(values, (SPEC, "startupProbe"), STARTING),
        "livenessProbe": charts_values.probe(values, (SPEC, "livenessProbe"), LIVING),
        "volumeMounts": [*mounts, *entry.items("extraVolumeMounts")],
    }
    disaggregated = entry.get("lmcacheConfig", "enablePD") is True
    return {
        "containers": [container],
        "volumes": [*volumes, *entry.items("extraVolumes")],
        "hostIPC": entry.node("lmcacheConfig", "enablePD") if disaggregated else None,
        "runtimeClassName": _find_runtime_class(values, entry),
        "affinity": entry.node("affinity") or _build_affinity(entry),
        "tolerations": [*values.items(SPEC, "tolerations"), *entry.items("tolerations")],
    }


def _find_runtime_class(values: Values, entry: Values) -> Node:
    """Return the class of the model, else of all; the chart's own value is `nvidia`."""
    stated = entry.node("runtimeClassName") or values.node(SPEC, "runtimeClassName")
    return stated or values.word("nvidia", SPEC)


def _build_affinity(entry: Values) -> Part:
    terms = entry.node("nodeSelectorTerms")
    if terms is None or entry.get("nodeName"):
        return None
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}


def _build_image(entry: Values) -> Node | None:
    repository, tag = entry.text("repository"), entry.text("tag")
    return entry.word(f"{repository}:{tag}" if tag else repository, "repository") if repository else None


def _build_command(entry: Values) -> list[Part]:
    """Return the words of `vllm serve` in the order of the template."""
    words: list[Part] = [entry.word("vllm", "modelURL"), entry.word("serve", "modelURL"), entry.node("modelURL")]
    if entry.get("enableLoRA"):
        words.append(entry.key("--enable-lora", "enableLoRA"))
    config = entry.descend("vllmConfig")
    if config.get("enableChunkedPrefill") is not None:
        on = "--enable-chunked-prefill" if config.get("enableChunkedPrefill") else "--no-enable-chunked-prefill"
        words.append(config.key(on, "enableChunkedPrefill"))
    if isinstance(entry.get("vllmConfig"), dict):
        prefix = "--enable-prefix-caching" if config.get("enablePrefixCaching") else "--no-enable-prefix-caching"
        words.append(config.key(prefix, "enablePrefixCaching"))
    for name, key in FLAGS:
        words.extend(charts_values.flag(config, name, key))
    words.extend(config.items("extraArgs"))
    if entry.get("lmcacheConfig", "enabled"):
        role = entry.text("lmcacheConfig", "kvRole") or "kv_both"
        words.append(entry.key("--kv-transfer-config", "lmcacheConfig", "enabled"))
        words.append(
            entry.word(f'{{"kv_connector":"LMCacheConnectorV1","kv_role":"{role}"}}', "lmcacheConfig", "enabled")
        )
    return words


def _build_environment(values: Values, entry: Values) -> list[Part]:
    """Return the variables that decide sizes and devices, after those of the lists."""
    cache = entry.descend("lmcacheConfig")
    variables: list[Part] = [*charts_values.variables(values, SPEC, "env"), *charts_values.variables(entry, "env")]
    home = (
        "/data/shared-pvc-storage"
        if values.get("sharedPvcStorage", "enabled")
        else "/data"
        if entry.get("pvcStorage")
        else "/tmp"
    )
    variables.insert(0, {"name": "HF_HOME", "value": entry.word(home, "pvcStorage")})
    if entry.get("vllmConfig", "v0") is not None and entry.text("vllmConfig", "v0") == "1":
        variables.append({"name": "VLLM_USE_V1", "value": entry.word("0", "vllmConfig", "v0")})
    if cache.get("cudaVisibleDevices") is not None:
        variables.append({"name": "CUDA_VISIBLE_DEVICES", "value": cache.node("cudaVisibleDevices")})
    if _truncate(cache.get("cpuOffloadingBufferSize")) > 0:
        variables.append({"name": "LMCACHE_LOCAL_CPU", "value": "True"})
        variables.append({"name": "LMCACHE_MAX_LOCAL_CPU_SIZE", "value": cache.node("cpuOffloadingBufferSize")})
    return variables


def _build_resources(asking: Values) -> Part:
    """Return requests and limits; the GPU is in both."""
    asked = asking.get("requestGPU")
    gpu: dict[str | Node, Part] = {}
    if asked is not None and asked != 0 and asked != "0":
        named = asking.scalar("requestGPUType")
        gpu[named or asking.key(GPU, "requestGPU")] = asking.node("requestGPU")
    requests = {**_build_amounts(asking, "request"), **gpu}
    return {"requests": requests, "limits": {**_build_amounts(asking, "limit"), **gpu}}


def _build_amounts(asking: Values, side: str) -> dict[str | Node, Part]:
    names = (
        ("memory", "Memory"),
        ("cpu", "CPU"),
        (resource_names.find_name("nvidia", "gpumem"), "GPUMem"),
        (resource_names.find_name("nvidia", "gpumem-percentage"), "GPUMemPercentage"),
        (resource_names.find_name("nvidia", "gpucores"), "GPUCores"),
    )
    return {name: asking.node(f"{side}{key}") for name, key in names if asking.get(f"{side}{key}") is not None}


def _truncate(value: object) -> int:
    """Return what the template's `int` makes of a value."""
    try:
        return math.trunc(float(str(value)))
    except (ValueError, OverflowError):
        return 0


def _complete_workload(workload: Workload, entry: Values) -> Workload:
    """Return a model's workload with its autoscaler, disruption budget and shared claim."""
    fields = {**charts_values.read_autoscaler(entry, ("keda",), "minReplicaCount", ("pdb",)), **_read_claim(entry)}
    return replace(workload, kind="inference", roles=tuple(role.having(**fields) for role in workload.roles))


def _read_claim(entry: Values) -> dict[str, Field]:
    """Return the claim that all pods of a model mount if the template limits it to one node."""
    modes = entry.get("pvcAccessMode") or [volume_claims.SINGLE_NODE]
    own = isinstance(entry.get("pvcStorage"), str) and not entry.get("pvcExistingClaimName")
    if not own or modes != [volume_claims.SINGLE_NODE] or entry.get("nodeName"):
        return {}
    place = "pvcAccessMode" if entry.get("pvcAccessMode") else "pvcStorage"
    return {"single_node_claim": Field(f"{entry.text('name')}-storage-claim", (entry.origin(place),))}
