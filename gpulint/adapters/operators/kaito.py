"""KAITO: objects that name a machine type and a model preset.

KAITO decides how the model is spread over GPUs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from gpulint import engines
from gpulint.adapters import kubernetes, pods
from gpulint.adapters.claim import Claim
from gpulint.adapters.objects import embedded
from gpulint.adapters.programs import container_command, replica
from gpulint.catalog import hardware, tables
from gpulint.engines import Argument, Invocation
from gpulint.source.documents import Document, Path
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Role, Unknown, Workload

MENTIONS = ("kaito.sh",)
TRIGGERS = ("kaito",)

GROUP = "kaito.sh"
WORKSPACE, SET, ROLES, RAG = "Workspace", "InferenceSet", "MultiRoleInference", "RAGEngine"
KINDS = frozenset((GROUP, kind) for kind in (WORKSPACE, SET, ROLES, RAG))
MOUNTED = "KAITO mounts /dev/shm (kaito v0.12.0 pkg/utils/common_preset.go)"
SPREAD = Unknown("KAITO spreads the model over GPUs and nodes by its size", "operator preset")
RUNTIME: Path = ("metadata", "annotations", "kaito.sh/runtime")
SERVED = "KAITO serves its presets with vLLM unless kaito.sh/runtime says otherwise (kaito v0.12.0 api/v1beta1)"
PASSED = "kaito 056b828 (2026-08-21) pkg/model/interface.go and pkg/workspace/inference/preset_inferences.go"
SIZED_TOKENS = 2048
MEMORY_SHARE = 0.84
WRITTEN = "KAITO writes the engine's arguments"
CONFIG_KEY = "inference_config.yaml"


def claims(document: Document) -> Claim:
    return kubernetes.claim_kinds(document, KINDS)


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    """Yield one workload.

    A workspace has its parts at the top, a set in its template, and roles each in an entry of a
    list.
    """
    kind = document.get(("kind",))
    base: Path = ("spec", "template") if kind == SET else ()
    purpose = "training" if document.get((*base, "tuning")) else "inference"
    if kind == ROLES:
        roles = tuple(_read_listed_roles(document, repository))
    elif kind == RAG:
        roles = tuple(_read_rag_engine(document))
    else:
        roles = tuple(_read_template(document, base, repository))
    if roles:
        name = str(document.get(("metadata", "name")) or kind)
        yield Workload(name, purpose, "kaito", document, (), roles)


def _read_template(document: Document, base: Path, repository: Repository) -> Iterator[Role]:
    """Yield the preset of a workspace, else the pod that it states itself."""
    machine = _read_machine(document, (*base, "resource"))
    if preset := _read_preset(document, base):
        config = Origin(document, (*base, "inference", "config"))
        fields = {**machine, **_read_gpus(document, (*base, "resource")), **preset}
        engine, unread = _read_engine(document, base, config, repository)
        anchor = next(iter(preset.values())).origins[0]
        role = _open_counts(Role("preset", anchor, {**fields, **engine}, None, unread))
        in_set = document.get(("kind",)) == SET
        yield role.having(replicas=replica.count(document, ("spec", "replicas"), 1)) if in_set else role
        return
    replicas = replica.count(document, (*base, "resource", "count"), 1, "default of KAITO")
    for role in pods.roles(document, (*base, "inference", "template", "spec"), {}):
        yield replica.count_role(role.having(**machine), replica.ONE_POD, replicas)


def _read_listed_roles(document: Document, repository: Repository) -> Iterator[Role]:
    """Yield prefill and decode of one model, each on machines of its own."""
    model = Origin(document, ("spec", "model", "name"))
    for at in replica.items(document, ("spec", "roles")):
        fields = {**_read_machine(document, at), **_read_gpus(document, at), **_resolve_preset(model)}
        engine, unread = _read_engine(document, (), Origin(document, (*at, "runtimeConfig")), repository)
        role = Role(
            str(document.get((*at, "type")) or at[-1]),
            Origin(document, (*at, "type")),
            {**fields, **engine},
            None,
            unread,
        )
        yield _open_counts(role).having(replicas=replica.count(document, (*at, "replicas"), 1, "default of KAITO"))


def _read_rag_engine(document: Document) -> Iterator[Role]:
    """Yield the engine of a RAGEngine, whose embedding model runs on the requested machine."""
    compute = ("spec", "compute")
    machine = _read_machine(document, compute)
    if "instance_type" not in machine:
        return
    model = Origin(document, ("spec", "embedding", "local", "modelID"))
    at = Origin(document, (*compute, "instanceType"))
    fields = {**machine, **_read_gpus(document, compute), **_resolve_preset(model)}
    fields["program"] = Field("ragengine", (at,))
    yield _open_counts(Role("ragengine", at, fields, None, WRITTEN))


# ---- the machine


def _read_machine(document: Document, resource: Path) -> dict[str, Field]:
    """Return the machine type and its accelerators, else the labels that select the nodes."""
    origin = Origin(document, (*resource, "instanceType"))
    name = document.get(origin.path)
    node = hardware.node(name) if isinstance(name, str) else None
    if node is not None:
        return {
            "instance_type": Field(node.instance_type, (origin,)),
            "accelerator": Field(node.accelerator, (origin,)),
        }
    if name:
        return {"accelerator": Field(Unknown(f"the catalog has no machine {name}"), (origin,))}
    labels = Origin(document, (*resource, "labelSelector"))
    if document.get(labels.path) is None:
        return {}
    return {"accelerator": Field(Unknown("the labels choose the nodes", "queue or partition"), (labels,))}


def _read_gpus(document: Document, resource: Path) -> dict[str, Field]:
    """Return the GPUs of one pod: those of a whole machine."""
    origin = Origin(document, (*resource, "instanceType"))
    name = document.get(origin.path)
    node = hardware.node(name) if isinstance(name, str) else None
    partition = Origin(document, (*resource, "partition"))
    count = Field(node.node_gpus, (origin,)) if node else Field(_explain_unnamed(document, resource), (origin,))
    if document.get(partition.path):
        count = Field(Unknown("only part of the machine is requested", "operator preset"), (partition,))
    return {"gpus_per_pod": count, "shared_memory_default": Field(False, source=MOUNTED)}


def _explain_unnamed(document: Document, resource: Path) -> Unknown:
    return Unknown(
        "the machines are not named", "" if document.get((*resource, "instanceType")) else "queue or partition"
    )


def _open_counts(role: Role) -> Role:
    spread = Field(SPREAD, (role.anchor,))
    return role.having(pods_per_replica=spread, replicas=spread, gpus_per_replica=spread)


# ---- the model and its engine


def _read_preset(document: Document, base: Path) -> dict[str, Field]:
    """Return the checkpoint of a preset: one of KAITO's own names, or an id of Hugging Face."""
    for part in ("inference", "tuning"):
        origin = Origin(document, (*base, part, "preset", "name"))
        if isinstance(document.get(origin.path), str):
            return _resolve_preset(origin)
    return {}


def _resolve_preset(origin: Origin) -> dict[str, Field]:
    name = origin.document.get(origin.path)
    if not isinstance(name, str):
        return {}
    row = tables.index_rows("kaito_presets", "preset").get(name)
    checkpoint = row["checkpoint"] if row else name if "/" in name else None
    value = checkpoint or Unknown(f"the catalog does not know the preset {name}", "operator preset")
    return {"checkpoint": Field(value, (origin,))}


def _read_engine(
    document: Document, base: Path, config: Origin, repository: Repository
) -> tuple[dict[str, Field], str]:
    """Return vLLM with the arguments in a ConfigMap; KAITO's own program tunes models."""
    at = Origin(document, (*base, "inference", "preset") if document.get((*base, "inference")) else ("kind",))
    runtime = document.get(RUNTIME)
    if document.get((*base, "tuning")):
        tuned = Origin(document, (*base, "tuning"))
        return {"engine": Field(Unknown("KAITO's own program tunes the model", "operator preset"), (tuned,))}, WRITTEN
    if runtime not in (None, "vllm"):
        place = Origin(document, RUNTIME)
        return {
            "engine": Field(Unknown(f"the runtime {runtime} serves the model", "operator preset"), (place,))
        }, WRITTEN
    spread = {name: Field(SPREAD, (at,)) for name in ("tensor_parallel", "pipeline_parallel")}
    stated = _read_config(config, repository)
    return {
        **_set_by_kaito(at, stated),
        **stated,
        **spread,
        "engine": Field("vllm", (at,), assumption=SERVED, basis="default"),
    }, WRITTEN


def _set_by_kaito(at: Origin, stated: Mapping[str, Field]) -> dict[str, Field]:
    """Return the arguments that KAITO passes to vLLM, and the length for which it sizes a replica."""
    length = stated.get("max_model_len")
    fields = {
        "kaito_context_tokens": length or Field(SIZED_TOKENS, source=PASSED),
        "gpu_memory_utilization": Field(MEMORY_SHARE, source=PASSED),
    }
    if length:
        return fields
    return {
        **fields,
        "max_model_len_fitted": Field(True, (at,), source=PASSED),
        "max_model_len": Field(Unknown("vLLM chooses the longest length that fits", "operator preset"), (at,)),
    }


def _read_config(config: Origin, repository: Repository) -> dict[str, Field]:
    """Return the fields in the `vllm` part of a ConfigMap, read as the arguments that they become.

    KAITO's own command sets the parallelism and takes precedence (kaito v0.12.0
    pkg/model/interface.go).
    """
    name = config.document.get(config.path)
    if not isinstance(name, str):
        return {}
    beside = [
        candidate for candidate in config.document.find_beside("ConfigMap", name) if _is_config_map(candidate, name)
    ]
    config_maps = beside or [
        candidate
        for candidate in repository.objects("ConfigMap", name, config.document.path)
        if _is_config_map(candidate, name)
    ]
    inner = embedded.document(config_maps[0], ("data", CONFIG_KEY)) if len(config_maps) == 1 else None
    keywords = inner.get(("vllm",)) if inner else None
    if inner is None or not isinstance(keywords, dict):
        return {}
    words = tuple(word for key in keywords for word in _render_words(inner, str(key)))
    start = Argument("", config)
    program = (Argument("vllm", config), Argument("serve", config))
    reading = engines.read(Invocation(start, (*program, *words), container_command.Environment(), entrypoint=False))
    if reading is None:
        return {}
    kept = {
        key: field for key, field in reading.fields.items() if field.origins and key not in ("engine", "checkpoint")
    }
    if config_maps[0].path == config.document.path:
        return kept
    return {key: replace(field, origins=(config, *field.origins)) for key, field in kept.items()}


def _is_config_map(document: Document, name: str) -> bool:
    is_map = (document.get(("apiVersion",)), document.get(("kind",))) == ("v1", "ConfigMap")
    return is_map and document.get(("metadata", "name")) == name


def _render_words(inner: Document, key: str) -> Iterator[Argument]:
    """Yield a key and its value as the equivalent argument."""
    value = inner.get(("vllm", key))
    flag = f"--{key.replace('_', '-')}"
    if isinstance(value, bool):
        yield Argument(f"{flag}={str(value).lower()}", Origin(inner, ("vllm", key)))
    elif isinstance(value, str | int | float):
        yield from (
            Argument(flag, Origin(inner, ("vllm", key), key=True)),
            Argument(str(value), Origin(inner, ("vllm", key))),
        )
