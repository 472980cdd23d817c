"""The ollama chart: one server, its GPUs under `ollama.gpu`, its models under `ollama.models`.

Read from its templates (otwld/ollama-helm eadf03e, 2026-08-22: templates/deployment.yaml,
values.yaml).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gpulint.adapters import pods
from gpulint.adapters.charts import values as charts_values
from gpulint.adapters.charts.values import Values
from gpulint.adapters.objects.synthetic import Part
from gpulint.catalog import resource_names
from gpulint.engines.serving import ollama
from gpulint.source.documents import Document, Node
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Role, Unknown, Workload

IMAGE = "ollama/ollama"
GPU = {vendor: resource_names.find_name(vendor) for vendor in ("nvidia", "amd")}
OF_A_CONTAINER = frozenset({"image", "resources", "env", "args"})
"""Keys of a GPU server in other charts; this one never has them below `ollama.gpu`."""
MODELS = (("ollama", "models"), ("ollama", "models", "pull"), ("ollama", "models", "run"))
"""Paths of the models; older releases of the chart have a list of their own."""


def fits(values: Values) -> bool:
    if OF_A_CONTAINER & values.entries("ollama", "gpu").keys():
        return False
    return isinstance(values.get("ollama", "gpu"), dict) or any(isinstance(values.get(*path), list) for path in MODELS)


def workloads(values: Values, repository: Repository) -> Iterator[Workload]:
    """Yield the server if GPUs are enabled; without them it computes on the CPU."""
    if values.get("ollama", "gpu", "enabled") is not True and not _requests_gpu(values):
        return
    for workload in charts_values.workloads(
        values, _build_object(values), repository, values.text("fullnameOverride") or "ollama"
    ):
        yield replace(workload, kind="inference", roles=tuple(_apply_models(role, values) for role in workload.roles))


def _requests_gpu(values: Values) -> bool:
    """Return whether the container's resources, which the chart passes on, name a GPU."""
    names = {*values.entries("resources", "limits"), *values.entries("resources", "requests")}
    return any(pods.GPU.fullmatch(str(name)) for name in names)


def _build_object(values: Values) -> Document:
    container: Part = {
        "name": values.word("ollama", "ollama", "gpu"),
        "image": charts_values.image(values, "image") or values.word(IMAGE, "ollama"),
        "args": values.node("extraArgs"),
        "env": [*charts_values.variables(values, "extraEnv")],
        "envFrom": values.node("extraEnvFrom"),
        "resources": _build_resources(values),
        "volumeMounts": values.node("volumeMounts"),
    }
    pod: Part = {
        "containers": [container],
        "volumes": values.node("volumes"),
        "nodeSelector": values.node("nodeSelector"),
        "affinity": values.node("affinity"),
        "tolerations": values.node("tolerations"),
        "runtimeClassName": values.node("runtimeClassName"),
        "hostIPC": values.node("hostIPC"),
    }
    return charts_values.deployment(values, pod, values.node("replicaCount"), values.node("podAnnotations"))


def _build_resources(values: Values) -> Part:
    """Return the limits as stated with the GPUs that the chart adds."""
    stated = dict(charts_values.pairs(values.node("resources", "limits")))
    gpus = _build_gpus(values)
    names = {name if isinstance(name, str) else name.value for name in gpus}
    limits: dict[str | Node, Part] = {**{name: node for name, node in stated.items() if name not in names}, **gpus}
    return {"requests": values.node("resources", "requests"), "limits": limits}


def _build_gpus(values: Values) -> dict[str | Node, Part]:
    gpu = values.descend("ollama", "gpu")
    if gpu.get("draEnabled") is True or gpu.get("enabled") is not True:
        return {}
    if gpu.get("mig", "enabled") is True:
        slices = gpu.entries("mig", "devices")
        return {
            gpu.key(f"{resource_names.slice_prefix()}{name}", "mig", "devices", name): gpu.node("mig", "devices", name)
            for name in slices
        }
    own = gpu.scalar("nvidiaResource") if gpu.text("type") != "amd" else None
    name = own or gpu.word(GPU.get(gpu.text("type") or "nvidia", GPU["nvidia"]), "type")
    return {name: gpu.node("number") or gpu.word("1", "enabled")}


def _apply_models(role: Role, values: Values) -> Role:
    """Return the role with the one model that is pulled or run.

    Of several models, requests decide which are loaded.
    """
    listed = {
        text: Origin(values.document, (*values.path, *path, at))
        for path in MODELS
        for at, text in enumerate(_list_texts(values.get(*path)))
    }
    fields: dict[str, Field] = {}
    if len(listed) == 1:
        ((name, origin),) = listed.items()
        fields.update(ollama.read_model_name(name, (origin,)))
    else:
        reason = "several models are pulled" if listed else "the models are pulled after the server has started"
        place = Origin(values.document, (*values.path, "ollama", "models" if listed else "gpu"))
        fields["checkpoint"] = Field(Unknown(reason, "caller's variable"), (place,))
    return role.having(
        **fields, **charts_values.read_autoscaler(values, ("autoscaling",), "minReplicas", ("podDisruptionBudget",))
    )


def _list_texts(value: object) -> list[str]:
    return [str(item) for item in value if isinstance(item, str)] if isinstance(value, list) else []
