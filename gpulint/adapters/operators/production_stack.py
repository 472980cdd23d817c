"""VLLMRuntime of the production stack: the deployment that its operator creates for vLLM."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gpulint.adapters import kubernetes
from gpulint.adapters import pods as adapters_pods
from gpulint.adapters.claim import Claim
from gpulint.adapters.objects import merge, synthetic
from gpulint.adapters.programs import replica
from gpulint.catalog import resource_names
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
"""Fields that become an argument unless they are zero or empty.

production-stack 0.1.12 operator/internal/controller/vllmruntime_controller.go, deploymentForVLLMRuntime.
"""
SWITCHES = (
    (("vllmConfig", "enableChunkedPrefill"), "enable-chunked-prefill"),
    (
        ("vllmConfig", "enablePrefixCaching"),
        "enable-prefix-caching",
    ),
)
"""Fields that switch something off unless they switch it on."""
CONNECTOR = '{"kv_connector":"LMCacheConnectorV1","kv_role":"kv_both"}'


def claims(document: Document) -> Claim:
    return kubernetes.claim_kinds(document, KINDS)


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    """Yield one workload with one role: the container that the operator creates."""
    at = synthetic.place(document, ("spec",))
    made = merge.pod(document, synthetic.build_node(_build_spec(document), at))
    name = str(document.get(("metadata", "name")) or "VLLMRuntime")
    roles = tuple(
        replace(_complete(document, role), name="vllm")
        for role in adapters_pods.roles(made, ("spec",), adapters_pods.hints(document, ("metadata",)))
    )
    if roles:
        yield Workload(name, "inference", "production_stack", document, (), roles)


def _find_path(document: Document, *parts: str) -> Path:
    """Return the path of a field: in its group, or until June 2025 in the spec (production-stack
    #479).
    """
    grouped = ("spec", *parts)
    return grouped if document.node(grouped) is not None or parts[0] == "model" else ("spec", *parts[1:])


def _find_node(document: Document, *parts: str) -> Node | None:
    return document.node(_find_path(document, *parts))


def _build_spec(document: Document) -> merge.Parts:
    terms = _find_node(document, "deploymentConfig", "nodeSelectorTerms")
    affinity: synthetic.Part = None
    if terms is not None:
        required = "requiredDuringSchedulingIgnoredDuringExecution"
        affinity = {"nodeAffinity": {required: {"nodeSelectorTerms": terms}}}
    container: merge.Parts = {
        "name": "vllm",
        "image": _build_image(document),
        "command": ["vllm", "serve"],
        "args": list(_build_arguments(document)),
        "env": _build_environment(document),
        "resources": _build_resources(document),
    }
    return {"affinity": affinity, "containers": [container]}


def _build_image(document: Document) -> synthetic.Part:
    registry, name = (_find_node(document, "deploymentConfig", "image", key) for key in ("registry", "name"))
    if name is None:
        return None
    prefix = merge.text(registry)
    return synthetic.word(f"{prefix}/{merge.text(name)}" if prefix else merge.text(name), name)


def _build_arguments(document: Document) -> Iterator[Node]:
    """Return the operator's arguments, each value located at its field."""
    if model := document.node(("spec", "model", "modelURL")):
        yield model
    if (lora := document.node(("spec", "model", "enableLoRA"))) and document.get(
        ("spec", "model", "enableLoRA")
    ) is True:
        yield synthetic.word("--enable-lora", lora)
    for parts, flag in ARGUMENTS:
        value = _find_node(document, *parts)
        if value is not None and value.kind == "scalar" and merge.text(value) not in ("", "0"):
            yield from (synthetic.word(flag, value), value)
    for parts, flag in SWITCHES:
        path = _find_path(document, *parts)
        on = document.get(path) is True
        yield synthetic.word(f"--{flag}" if on else f"--no-{flag}", synthetic.place(document, path))
    yield from merge.items(_find_node(document, "vllmConfig", "extraArgs"))
    if document.get(("spec", "lmCacheConfig", "enabled")) is True:
        at = synthetic.place(document, ("spec", "lmCacheConfig", "enabled"))
        yield from (synthetic.word("--kv-transfer-config", at), synthetic.word(CONNECTOR, at))


def _build_environment(document: Document) -> list[synthetic.Part]:
    """Return the variables of the host-memory cache, and those that are stated."""
    variables: list[synthetic.Part] = []
    size = document.node(("spec", "lmCacheConfig", "cpuOffloadingBufferSize"))
    if document.get(("spec", "lmCacheConfig", "enabled")) is True and size is not None and merge.text(size):
        variables.append({"name": "LMCACHE_MAX_LOCAL_CPU_SIZE", "value": size})
    return [*variables, *merge.items(_find_node(document, "vllmConfig", "env"))]


def _build_resources(document: Document) -> merge.Parts:
    """Return equal requests and limits of a GPU resource, whose name may be set."""
    both: merge.Parts = {
        name: _find_node(document, "deploymentConfig", "resources", name) for name in ("cpu", "memory")
    }
    amounts = {**both}
    named = _find_node(document, "deploymentConfig", "resources", "gpuType")
    gpus = _find_node(document, "deploymentConfig", "resources", "gpu")
    if gpus is not None and merge.text(gpus):
        amounts[
            named
            if named is not None and merge.text(named)
            else synthetic.word(resource_names.find_name("nvidia"), gpus)
        ] = gpus
    return {"limits": amounts, "requests": {**both}}


# ---- what the operator decides


def _complete(document: Document, role: Role) -> Role:
    """Return the role with its shared memory, volume and multipliers."""
    fields: dict[str, Field] = dict(role.fields)
    size = Origin(document, ("spec", "deploymentConfig", "shmSize"))
    if document.get(size.path):
        fields["shared_memory_default"] = Field(False, (size,))
    pods = document.get(("spec", "podTemplate", "spec"))
    if isinstance(pods, dict):
        fields["shared_memory_default"] = Field(False, source="the pod template may mount it")
    if not isinstance(fields["gpus_per_pod"].value, int):
        at = Origin(document, _find_path(document, "deploymentConfig", "resources"))
        fields["gpus_per_pod"] = Field(Unknown("the runtime class may give GPUs", "operator preset"), (at,))
    whole = replica.count_role(replace(role, fields=fields), replica.ONE_POD, _read_replicas(document))
    return replace(whole, anchor=Origin(document, ("spec", "model", "modelURL")))


def _read_replicas(document: Document) -> Field:
    scaling = ("spec", "autoscalingConfig")
    if document.get((*scaling, "enabled")) is True:
        least, most = (document.get((*scaling, key), 1) for key in ("minReplicas", "maxReplicas"))
        if least != most:
            return Field(Unknown("an autoscaler decides", "another object"), (Origin(document, (*scaling, "enabled")),))
    return replica.count(document, _find_path(document, "deploymentConfig", "replicas"), 1)
