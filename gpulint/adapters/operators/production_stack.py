"""The production stack's VLLMRuntime: the deployment that its operator makes of fields for a model and for vLLM."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gpulint.adapters import kubernetes
from gpulint.adapters import pods as pod
from gpulint.adapters.objects import merge as joined
from gpulint.adapters.objects import synthetic as tree
from gpulint.adapters.programs import replica as instance
from gpulint.source.documents import Document, Node, Path
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Role, Unknown, Workload

MENTIONS = ("production-stack.vllm.ai",)

KINDS = frozenset({("production-stack.vllm.ai", "VLLMRuntime")})
ARGUMENTS = (
    (("model", "maxModelLen"), "--max-model-len"),
    (("model", "dtype"), "--dtype"),
    (("vllmConfig", "tensorParallelSize"), "--tensor-parallel-size"),
    (("model", "maxNumSeqs"), "--max-num-seqs"),
    (("vllmConfig", "gpuMemoryUtilization"), "--gpu-memory-utilization"),
    (("vllmConfig", "maxLoras"), "--max-loras"),
)
"""Fields that become an argument where they are neither zero nor empty.

production-stack 0.1.12 operator/internal/controller/vllmruntime_controller.go, deploymentForVLLMRuntime.
"""
SWITCHES = (
    (("vllmConfig", "enableChunkedPrefill"), "enable-chunked-prefill"),
    (
        ("vllmConfig", "enablePrefixCaching"),
        "enable-prefix-caching",
    ),
)
"""Fields that turn something off unless they turn it on."""
CONNECTOR = '{"kv_connector":"LMCacheConnectorV1","kv_role":"kv_both"}'


def claims(document: Document) -> bool:
    data = document.data
    return isinstance(data, dict) and kubernetes.group_and_kind(data) in KINDS


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    """One workload of one role: the container that the operator makes."""
    at = tree.place(document, ("spec",))
    made = joined.pod(document, tree.written(_spec(document), at))
    name = str(document.get(("metadata", "name")) or "VLLMRuntime")
    roles = tuple(
        replace(_completed(document, role), name="vllm")
        for role in pod.roles(made, ("spec",), pod.hints(document, ("metadata",)))
    )
    if roles:
        yield Workload(name, "inference", "production_stack", document, (), roles)


def _path(document: Document, *parts: str) -> Path:
    """Where a field stands: in its group, or in the spec itself, as up to June 2025 (production-stack #479)."""
    grouped = ("spec", *parts)
    return grouped if document.node(grouped) is not None or parts[0] == "model" else ("spec", *parts[1:])


def _node(document: Document, *parts: str) -> Node | None:
    return document.node(_path(document, *parts))


def _spec(document: Document) -> joined.Parts:
    terms = _node(document, "deploymentConfig", "nodeSelectorTerms")
    affinity: tree.Part = None
    if terms is not None:
        required = "requiredDuringSchedulingIgnoredDuringExecution"
        affinity = {"nodeAffinity": {required: {"nodeSelectorTerms": terms}}}
    container: joined.Parts = {
        "name": "vllm",
        "image": _image(document),
        "command": ["vllm", "serve"],
        "args": list(_arguments(document)),
        "env": _environment(document),
        "resources": _resources(document),
    }
    return {"affinity": affinity, "containers": [container]}


def _image(document: Document) -> tree.Part:
    registry, name = (_node(document, "deploymentConfig", "image", key) for key in ("registry", "name"))
    if name is None:
        return None
    prefix = joined.text(registry)
    return tree.word(f"{prefix}/{joined.text(name)}" if prefix else joined.text(name), name)


def _arguments(document: Document) -> Iterator[Node]:
    """The arguments as the operator writes them, each value at the field that states it."""
    if model := document.node(("spec", "model", "modelURL")):
        yield model
    if (lora := document.node(("spec", "model", "enableLoRA"))) and document.get(
        ("spec", "model", "enableLoRA")
    ) is True:
        yield tree.word("--enable-lora", lora)
    for parts, flag in ARGUMENTS:
        value = _node(document, *parts)
        if value is not None and value.kind == "scalar" and joined.text(value) not in ("", "0"):
            yield from (tree.word(flag, value), value)
    for parts, flag in SWITCHES:
        path = _path(document, *parts)
        on = document.get(path) is True
        yield tree.word(f"--{flag}" if on else f"--no-{flag}", tree.place(document, path))
    yield from joined.items(_node(document, "vllmConfig", "extraArgs"))
    if document.get(("spec", "lmCacheConfig", "enabled")) is True:
        at = tree.place(document, ("spec", "lmCacheConfig", "enabled"))
        yield from (tree.word("--kv-transfer-config", at), tree.word(CONNECTOR, at))


def _environment(document: Document) -> list[tree.Part]:
    """The variables of the cache that is kept in host memory, and those that are stated."""
    found: list[tree.Part] = []
    size = document.node(("spec", "lmCacheConfig", "cpuOffloadingBufferSize"))
    if document.get(("spec", "lmCacheConfig", "enabled")) is True and size is not None and joined.text(size):
        found.append({"name": "LMCACHE_MAX_LOCAL_CPU_SIZE", "value": size})
    return [*found, *joined.items(_node(document, "vllmConfig", "env"))]


def _resources(document: Document) -> joined.Parts:
    """Requests and limits alike, of a GPU resource that may be named; one field states both."""
    both: joined.Parts = {name: _node(document, "deploymentConfig", "resources", name) for name in ("cpu", "memory")}
    amounts = {**both}
    named = _node(document, "deploymentConfig", "resources", "gpuType")
    gpus = _node(document, "deploymentConfig", "resources", "gpu")
    if gpus is not None and joined.text(gpus):
        amounts[named if named is not None and joined.text(named) else tree.word("nvidia.com/gpu", gpus)] = gpus
    return {"limits": amounts, "requests": {**both}}


# ---- what the operator decides


def _completed(document: Document, role: Role) -> Role:
    """The role with its shared memory, its volume and its multipliers."""
    fields: dict[str, Field] = dict(role.fields)
    size = Origin(document, ("spec", "deploymentConfig", "shmSize"))
    if document.get(size.path):
        fields["shared_memory_default"] = Field(False, (size,))
    pods = document.get(("spec", "podTemplate", "spec"))
    if isinstance(pods, dict):
        fields["shared_memory_default"] = Field(False, source="the pod template may mount it")
    if not isinstance(fields["gpus_per_pod"].value, int):
        at = Origin(document, _path(document, "deploymentConfig", "resources"))
        fields["gpus_per_pod"] = Field(Unknown("the runtime class may give GPUs", "operator preset"), (at,))
    whole = instance.counted(replace(role, fields=fields), instance.ONE_POD, _replicas(document))
    return replace(whole, anchor=Origin(document, ("spec", "model", "modelURL")))


def _replicas(document: Document) -> Field:
    scaling = ("spec", "autoscalingConfig")
    if document.get((*scaling, "enabled")) is True:
        least, most = (document.get((*scaling, key), 1) for key in ("minReplicas", "maxReplicas"))
        if least != most:
            return Field(Unknown("an autoscaler decides", "another object"), (Origin(document, (*scaling, "enabled")),))
    return instance.count(document, _path(document, "deploymentConfig", "replicas"), 1)
