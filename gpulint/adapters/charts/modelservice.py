"""The llm-d modelservice chart: decode and prefill pods whose GPUs follow from their parallelism.

Read from its templates of v0.4.12 (llm-d-incubation/llm-d-modelservice 3051935, 2026-04-22:
templates/_helpers.tpl, decode-deployment.yaml, decode-lws.yaml, prefill-*.yaml, values.yaml).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gpulint.adapters.charts import values as charts_values
from gpulint.adapters.charts.values import Values
from gpulint.adapters.objects import synthetic
from gpulint.adapters.objects.synthetic import Part
from gpulint.catalog import resource_names
from gpulint.source.documents import Document, Node
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Role, Workload

PARTS = ("decode", "prefill")
RESOURCES = {
    "nvidia": resource_names.find_name("nvidia"),
    "intel-i915": resource_names.find_name("intel", "i915"),
    "intel-xe": resource_names.find_name("intel", "xe"),
    "intel-gaudi": resource_names.find_name("habana"),
    "amd": resource_names.find_name("amd"),
    "google": resource_names.find_name("google"),
    "rebellions-atom": f"{resource_names.find_name('rebellions')}ATOM",
}
"""`accelerator.resources` of the chart's own values."""
SIMULATOR = "llm-d-inference-sim"
"""An image that gets no accelerator from the chart."""
OWN = ("modelArtifacts", "accelerator", "routing", "requester", "multinode")


def fits(values: Values) -> bool:
    has = values.entries().keys()
    pods = any("containers" in values.entries(part) or "parallelism" in values.entries(part) for part in PARTS)
    return bool({"decode", "prefill"} & has) and (pods or "modelArtifacts" in has) and bool({*OWN} & has)


def workloads(values: Values, repository: Repository) -> Iterator[Workload]:
    """Yield one inference service of the enabled parts."""
    roles: list[Role] = []
    first: Workload | None = None
    for part in PARTS:
        if not isinstance(values.get(part), dict) or values.get(part, "create") is False:
            continue
        for workload in charts_values.workloads(values, _build_object(values, part), repository):
            first = first or workload
            roles += [_name_role(values, part, role) for role in workload.roles]
    if first is not None:
        name = values.text("modelArtifacts", "name") or values.text("fullnameOverride") or "modelservice"
        yield replace(first, name=name, kind="inference", roles=tuple(roles))


def _name_role(values: Values, part: str, role: Role) -> Role:
    """Return a role named after its part, with the devices of its claim."""
    own = replace(role, name=part if role.name in ("vllm", "containers") else f"{part}/{role.name}")
    return own.having(**_read_claim(values, part)) if _uses_claim(values, values.descend(part)) else own


def _read_claim(values: Values, part: str) -> dict[str, Field]:
    """Return the claim that the chart creates.

    It has as many devices as the parallelism, or as its template counts.
    """
    entry = values.descend(part)
    kind, place = _read_type(values, entry)
    template = ("accelerator", "resourceClaimTemplates", kind)
    count = values.get(*template, "count")
    counted = count if isinstance(count, int) else _read_size(entry, "tensor") * _read_size(entry, "dataLocal")
    stated = _find_deciding_size(entry) if not isinstance(count, int) else None
    origin = entry.origin("parallelism", stated) if stated else values.origin(*template, "count")
    devices = Field(counted, (origin,))
    workers = _read_size(entry, "workers") if values.get("multinode") is True else 1
    fields = {"gpus_per_pod": devices, "gpus_per_replica": Field(counted * workers, (origin,))}
    if kind in RESOURCES:
        fields["accelerator_resource"] = Field(RESOURCES[kind], (place,))
    return fields


# ---- what the templates write


def _build_object(values: Values, part: str) -> Document:
    entry = values.descend(part)
    replicas = None if entry.get("autoscaling", "enabled") is True else entry.node("replicas")
    if values.get("multinode") is True:
        size, pods = _write_size(entry, "workers"), _build_pod(values, entry)
        return charts_values.group(values, size, pods, replicas=replicas, annotations=entry.node("annotations"))
    return charts_values.deployment(values, _build_pod(values, entry), replicas, entry.node("annotations"))


def _build_pod(values: Values, entry: Values) -> Part:
    extra = entry.node("extraConfig")
    further = dict(charts_values.pairs(extra))
    claims: list[Part] = []
    if _uses_claim(values, entry):
        claims.append({"name": "accelerator", "resourceClaimTemplateName": "accelerator"})
    return {
        **further,
        "containers": [
            _build_container(values, entry, entry.descend("containers", at))
            for at in range(len(entry.items("containers")))
        ],
        "volumes": entry.node("volumes"),
        "nodeSelector": entry.node("nodeSelector") or further.get("nodeSelector"),
        "affinity": _build_affinity(entry) or further.get("affinity"),
        "hostIPC": entry.node("hostIPC"),
        "resourceClaims": [*claims, *entry.items("resourceClaims")] or None,
    }


def _build_affinity(entry: Values) -> Part:
    """Return the labels of `acceleratorTypes`, which become a required node affinity."""
    types = entry.descend("acceleratorTypes")
    if not types.text("labelKey"):
        return None
    term: Part = {
        "matchExpressions": [{"key": types.node("labelKey"), "operator": "In", "values": types.node("labelValues")}]
    }
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}


def _build_container(values: Values, entry: Values, container: Values) -> Part:
    mounted = container.get("mountModelVolume") is True
    home = values.text("modelArtifacts", "mountPath") or "/model-cache"
    stored: list[Part] = [{"name": "model-storage", "mountPath": home}] if mounted else []
    cached = mounted and values.text("modelArtifacts", "uri").startswith("hf://")
    environment: list[Part] = [*charts_values.variables(container, "env")]
    if cached:
        environment.append({"name": "HF_HOME", "value": container.word(home, "mountModelVolume")})
    written: dict[str | Node, Part] = {
        **dict(charts_values.pairs(container.node("extraConfig"))),
        "name": container.node("name") or container.word("vllm"),
        "image": container.node("image"),
        **_build_command(values, entry, container),
        "env": environment,
        "resources": _build_resources(values, entry, container),
        "volumeMounts": [*container.items("volumeMounts"), *stored],
    }
    for name in ("securityContext", "startupProbe", "livenessProbe", "readinessProbe", "ports"):
        if (node := container.node(name)) is not None:
            written[name] = node
    return written


def _build_command(values: Values, entry: Values, container: Values) -> dict[str | Node, Part]:
    """Return command and arguments: the chart's own, then those of the container.

    Without a command of the chart, only the container's are used.
    """
    written = container.text("modelCommand")
    own: list[Part] = [*container.items("args")]
    if written not in ("vllmServe", "imageDefault"):
        return {"command": container.node("command"), "args": container.node("args")}
    named = [] if written == "vllmServe" else [container.word("--model", "modelCommand")]
    sizes: list[Part] = []
    for name, key in (
        ("--tensor-parallel-size", "tensor"),
        ("--data-parallel-size", "data"),
        ("--data-parallel-size-local", "dataLocal"),
    ):
        if _read_size(entry, key) > 1:
            sizes += [entry.key(name, "parallelism", key), _write_size(entry, key)]
    words: list[Part] = [*named, _build_model(values), *sizes, *own]
    if written == "imageDefault":
        return {"args": words}
    return {"command": [container.word("vllm", "modelCommand"), container.word("serve", "modelCommand")], "args": words}


def _build_model(values: Values) -> Part:
    """Return the model in an URI: a hub id, or a path on the volume."""
    uri = values.text("modelArtifacts", "uri")
    scheme, _, rest = uri.partition("://")
    if (path := charts_values.expression(values, rest)) is not None:
        return values.node(*path)
    if scheme == "hf":
        return values.word(rest, "modelArtifacts", "uri")
    if scheme == "pvc+hf":
        return values.word("/".join(rest.split("/")[-2:]), "modelArtifacts", "uri")
    home = values.text("modelArtifacts", "mountPath") or "/model-cache"
    return values.word(f"{home}/{rest.partition('/')[2]}", "modelArtifacts", "uri")


def _build_resources(values: Values, entry: Values, container: Values) -> Part:
    """Return what the container states, and the GPUs of its parallelism if it states none."""
    if _uses_claim(values, entry):
        stated = dict(charts_values.pairs(container.node("resources")))
        return {**stated, "claims": [{"name": "accelerator"}]}
    name = _find_resource(values, entry, container)
    sides = {}
    for side in ("limits", "requests"):
        amounts = dict(charts_values.pairs(container.node("resources", side)))
        if name is not None and name.value not in amounts:
            amounts = {**amounts, name: _count_gpus(entry)}
        sides[side] = amounts
    return sides  # type: ignore[return-value]


def _find_resource(values: Values, entry: Values, container: Values) -> Node | None:
    """Return the resource of the accelerator's type; None for a CPU."""
    kind, place = _read_type(values, entry)
    if kind == "cpu" or SIMULATOR in container.text("image"):
        return None
    named = values.node("accelerator", "resources", kind)
    written = str(named.value) if named is not None else RESOURCES.get(kind, RESOURCES["nvidia"])
    return synthetic.word(written, synthetic.place(place.document, place.path))


def _read_type(values: Values, entry: Values) -> tuple[str, Origin]:
    """Return the accelerator's type: that of the part, else of all, else the chart's nvidia."""
    if own := entry.text("accelerator", "type"):
        return own, entry.origin("accelerator", "type")
    return values.text("accelerator", "type") or "nvidia", values.origin("accelerator", "type")


def _uses_claim(values: Values, entry: Values) -> bool:
    own = entry.get("accelerator", "dra")
    return (values.get("accelerator", "dra") if own is None else own) is True


def _count_gpus(entry: Values) -> Node:
    """Return the tensor parallel ranks times the data-parallel ranks of one pod."""
    return entry.word(
        str(_read_size(entry, "tensor") * _read_size(entry, "dataLocal")), "parallelism", _find_deciding_size(entry)
    )


def _find_deciding_size(entry: Values) -> str:
    """Return the parallel size that a pod's GPU count points at.

    It is `dataLocal` if that is larger than `tensor`, else the first stated size.
    """
    stated = [key for key in ("tensor", "dataLocal", "data") if entry.get("parallelism", key) is not None]
    larger = _read_size(entry, "dataLocal") > _read_size(entry, "tensor") and "dataLocal" in stated
    return "dataLocal" if larger else stated[0] if stated else "tensor"


def _write_size(entry: Values, key: str) -> Node:
    return entry.word(str(_read_size(entry, key)), "parallelism", key)


def _read_size(entry: Values, key: str) -> int:
    """Return a size as the chart derives it from the stated ones."""
    stated = {name: _read_whole(entry.get("parallelism", name)) for name in ("tensor", "data", "dataLocal", "workers")}
    if stated[key]:
        return stated[key]
    data, local, workers = stated["data"], stated["dataLocal"], stated["workers"]
    if key == "data":
        return local * (workers or 1) or 1
    if key == "dataLocal":
        return data // (workers or 1) or 1
    if key == "workers":
        return data // local if data and local else 1
    return 1


def _read_whole(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
