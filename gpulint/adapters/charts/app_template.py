"""The app-template chart and others on its library: controllers with containers.

Storage, pod options and probes are stated next to the containers. Read from its templates
(bjw-s-labs/helm-charts dfaf83d1, 2025-06-14, library common 4.1.1:
charts/library/common/templates/lib).
"""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.adapters.charts import values as charts_values
from gpulint.adapters.charts.values import Values
from gpulint.adapters.objects.synthetic import Part
from gpulint.source.documents import Document, Node
from gpulint.source.repository import Repository
from gpulint.workload import Workload

KINDS = {
    "deployment": ("apps/v1", "Deployment"),
    "statefulset": ("apps/v1", "StatefulSet"),
    "daemonset": ("apps/v1", "DaemonSet"),
    "job": ("batch/v1", "Job"),
    "cronjob": ("batch/v1", "CronJob"),
}
ONE_POD = frozenset({"deployment", "statefulset"})
CLAIM = "persistentVolumeClaim"
PROBES = ("liveness", "readiness", "startup")
PROBE_DEFAULTS = {"initialDelaySeconds": 0, "failureThreshold": 3, "timeoutSeconds": 1, "periodSeconds": 10}
"""What `_probes.tpl` writes if a probe that is not custom does not state it."""
POD_OPTIONS = ("affinity", "tolerations", "runtimeClassName", "hostIPC", "schedulerName", "resourceClaims")


def fits(values: Values) -> bool:
    controllers = (values.entries("controllers", name) for name in values.entries("controllers"))
    listed = (controller.get("containers") for controller in controllers)
    return any(
        isinstance(controller, dict) and any(isinstance(inner, dict) for inner in controller.values())
        for controller in listed
    )


def workloads(values: Values, repository: Repository) -> Iterator[Workload]:
    """Yield the workloads of each enabled controller, as the object that its type names."""
    switched_on = [
        name for name, settings in _find_mappings(values, "controllers") if settings.get("enabled") is not False
    ]
    release = values.document.get(("metadata", "name"))
    for name in switched_on:
        controller = values.descend("controllers", name)
        called = release if isinstance(release, str) and len(switched_on) == 1 else name
        made = _build_object(values, name)
        if made is not None:
            yield from charts_values.workloads(controller, made, repository, called)


def _find_mappings(values: Values, *path: str) -> Iterator[tuple[str, Values]]:
    """Yield the entries of a mapping that are mappings themselves."""
    for name, entry in values.entries(*path).items():
        if isinstance(entry, dict):
            yield name, values.descend(*path, name)


def _build_object(values: Values, name: str) -> Document | None:
    controller = values.descend("controllers", name)
    kind = (controller.text("type") or "deployment").lower()
    if kind not in KINDS:
        return None
    template: Part = {
        "metadata": {"annotations": _find_option(values, name, "annotations")},
        "spec": _build_pod(values, name),
    }
    job: Part = {
        "parallelism": controller.node(kind, "parallelism"),
        "completions": controller.node(kind, "completions"),
        "completionMode": controller.node(kind, "completionMode"),
        "template": template,
    }
    spec: Part = {"selector": {"matchLabels": {}}, "template": template}
    if kind in ONE_POD:
        spec = {"replicas": controller.node("replicas"), "selector": {"matchLabels": {}}, "template": template}
    elif kind == "job":
        spec = job
    elif kind == "cronjob":
        spec = {"jobTemplate": {"spec": job}}
    version, noun = KINDS[kind]
    metadata: Part = {"name": name, "annotations": controller.node("annotations")}
    return controller.object({"apiVersion": version, "kind": noun, "metadata": metadata, "spec": spec})


# ---- the pod


def _build_pod(values: Values, name: str) -> Part:
    controller = values.descend("controllers", name)
    options: dict[str | Node, Part] = {option: _find_option(values, name, option) for option in POD_OPTIONS}
    return {
        **options,
        "nodeSelector": _build_selector(values, name),
        "enableServiceLinks": _find_option(values, name, "enableServiceLinks")
        or Node("scalar", controller.find_node().start, controller.find_node().end, "false"),
        "initContainers": _build_containers(values, name, "initContainers"),
        "containers": _build_containers(values, name, "containers"),
        "volumes": [_build_volume(volume, item) for volume, item in _find_storage(values) if _is_used(item, name)],
    }


def _find_option(values: Values, name: str, option: str) -> Node | None:
    """Return an option of a controller's pod, else the default of all pods.

    An empty default states nothing.
    """
    own, shared = values.descend("controllers", name, "pod"), values.descend("defaultPodOptions")
    for where in (own, shared):
        stated = where.get(option)
        if stated or stated is False or (where is own and isinstance(stated, dict)):
            return where.node(option)
    return None


def _build_selector(values: Values, name: str) -> Part:
    """Return the node labels: the pod's, merged over the defaults if the values request that."""
    own, shared = values.descend("controllers", name, "pod"), values.descend("defaultPodOptions")
    if values.text("defaultPodOptionsStrategy") != "merge":
        return _find_option(values, name, "nodeSelector")
    merged: dict[str | Node, Part] = {}
    for where in (shared, own):
        merged.update({label: where.node("nodeSelector", label) for label in where.entries("nodeSelector")})
    return merged


# ---- containers


def _build_containers(values: Values, controller: str, which: str) -> list[Part]:
    listed = _find_mappings(values.descend("controllers", controller), which)
    return [
        _build_container(values, controller, name, container)
        for name, container in listed
        if container.get("enabled") is not False
    ]


def _build_container(values: Values, controller: str, name: str, container: Values) -> Part:
    defaults = values.descend("controllers", controller, "defaultContainerOptions")
    where = {
        key: container if container.get(key) or not defaults.get(key) else defaults for key in (*OF_DEFAULTS, "image")
    }
    return {
        "name": container.scalar("nameOverride") or container.key(name),
        "image": charts_values.image(where["image"], "image"),
        "command": _read_words(where["command"], "command"),
        "args": _read_words(where["args"], "args"),
        "env": _build_variables(where["env"]),
        "envFrom": [_build_source(item) for item in _read_items(where["envFrom"], "envFrom")],
        "resources": where["resources"].node("resources"),
        "securityContext": where["securityContext"].node("securityContext"),
        "restartPolicy": container.node("restartPolicy"),
        "volumeMounts": [
            mount for volume, item in _find_storage(values) for mount in _build_mounts(volume, item, controller, name)
        ],
        **{f"{probe}Probe": _build_probe(values, container.descend("probes", probe)) for probe in PROBES},
    }


OF_DEFAULTS = ("command", "args", "env", "envFrom", "resources", "securityContext")


def _read_words(values: Values, key: str) -> Part:
    """Return a list of words; a single text is one word."""
    return [values.node(key)] if isinstance(values.get(key), str) else values.node(key)


def _read_items(values: Values, key: str) -> list[Values]:
    listed = values.get(key)
    return [values.descend(key, at) for at in range(len(listed) if isinstance(listed, list) else 0)]


def _build_variables(values: Values) -> list[Part]:
    """Return variables by name: a value, or where it comes from."""
    if not isinstance(values.get("env"), dict):
        return list(values.items("env"))
    entries: list[Part] = []
    for name, value in values.entries("env").items():
        key = values.key(name, "env", name)
        if not isinstance(value, dict):
            entries.append({"name": key, "value": values.node("env", name)})
        elif "value" in value:
            entries.append({"name": key, "value": values.node("env", name, "value")})
        else:
            entries.append(
                {"name": key, "valueFrom": values.node("env", name, "valueFrom") or values.node("env", name)}
            )
    return entries


def _build_source(values: Values) -> Part:
    """Return a ConfigMap or Secret with variables; one that the chart creates stays unread."""
    for short, whole in (("configMap", "configMapRef"), ("secret", "secretRef")):
        if isinstance(values.get(short), str):
            return {whole: {"name": values.node(short)}}
        if isinstance(values.get(whole), dict):
            return {whole: {"name": values.node(whole, "name") or values.node(whole, "identifier")}}
    return values.node()


def _build_probe(values: Values, probe: Values) -> Part:
    if probe.get("enabled") is not True:
        return None
    if probe.get("custom") is True:
        return probe.node("spec")
    if not values.entries("service"):
        return None
    asked: Part = {"path": probe.node("path")} if probe.text("type").startswith("HTTP") else None
    numbers: dict[str | Node, Part] = {
        name: probe.node("spec", name) or Node("scalar", probe.find_node().start, probe.find_node().end, str(number))
        for name, number in PROBE_DEFAULTS.items()
    }
    return {"httpGet": asked, "tcpSocket": None if asked else {}, **numbers}


# ---- storage


def _find_storage(values: Values) -> list[tuple[str, Values]]:
    """Return the enabled storage items."""
    return [(name, item) for name, item in _find_mappings(values, "persistence") if item.get("enabled") is not False]


def _is_used(item: Values, controller: str) -> bool:
    """Return whether an item is a volume of a controller's pod.

    It is if mounted in all containers, in one of the pod's, or without a stated container.
    """
    if item.get("globalMounts") or not item.get("advancedMounts"):
        return True
    return bool(item.get("advancedMounts", controller))


def _build_mounts(name: str, item: Values, controller: str, container: str) -> list[Part]:
    if not item.get("globalMounts") and not item.get("advancedMounts"):
        return [{"name": name, "mountPath": item.node("hostPath") or item.key(f"/{name}")}]
    places = [*_read_items(item, "globalMounts"), *_read_items(item.descend("advancedMounts", controller), container)]
    return [
        {
            "name": name,
            "mountPath": place.node("path") or item.node("hostPath") or item.key(f"/{name}"),
            "subPath": place.node("subPath"),
            "readOnly": place.node("readOnly"),
        }
        for place in places
    ]


def _build_volume(name: str, item: Values) -> Part:
    kind = item.text("type") or CLAIM
    sources: dict[str, Part] = {
        CLAIM: {"claimName": item.node("existingClaim") or item.key(name)},
        "emptyDir": {"medium": item.node("medium"), "sizeLimit": item.node("sizeLimit")},
        "configMap": {"name": item.node("name"), "items": item.node("items")},
        "secret": {"secretName": item.node("name"), "items": item.node("items")},
        "hostPath": {"path": item.node("hostPath"), "type": item.node("hostPathType")},
        "nfs": {"server": item.node("server"), "path": item.node("path")},
    }
    if kind == "custom":
        stated = dict(charts_values.pairs(item.node("volumeSpec")))
        return {"name": item.key(name), **stated}
    return {"name": item.key(name), kind: sources.get(kind)}
