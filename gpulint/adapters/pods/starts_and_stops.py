"""Starts and stops: when a pod gets requests, which container its probes restart, and how long it may take to stop."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpulint.adapters.objects import pod_templates
from gpulint.adapters.pods import gpu_resources, probes, volume_claims
from gpulint.source.documents import Document, Path
from gpulint.workload import Field, Origin

GRACE_DEFAULT_S = 30
"""kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1 (terminationGracePeriodSeconds)."""
SLEEP = re.compile(r"\bsleep\s+(?P<seconds>\d+)s?(?![\w.])")
LOOP = re.compile(r"\b(?:while|until|for)\b")
WAITS = re.compile(r"\b(?:while|until)\b[^;\n]*\b(?:curl|wget|nc|pg_isready)\b|\b(?:while|until)\b[^;\n]*\blocalhost\b")
"""A loop without an end of its own that waits for a server."""
PROBES = ("startupProbe", "readinessProbe", "livenessProbe")
RESTARTING = ("livenessProbe", "startupProbe")
ASKS = (("httpGet", "port"), ("tcpSocket", "port"), ("grpc", "port"))
HOST = "kubernetes.io/hostname"
RAY = re.compile(r"ray start\b")
"""Workers join a Ray head through its Service, which names no pod that is not ready yet."""
KEPT_RUNNING = frozenset({"Deployment", "StatefulSet", "ReplicaSet", "DaemonSet"})


def fields(document: Document, spec: Path, path: Path) -> dict[str, Field]:
    """Return when a container's pod is ready, and what its hooks and its probes do."""
    if (
        not _is_written(document)
        or f"{document.get(('apiVersion',))}/{document.get(('kind',))}" not in probes.UNCHANGED
    ):
        return {}
    found = {**_read_pre_stop(document, spec, path), **_read_post_start(document, path)}
    delay = Origin(document, (*path, "readinessProbe", "initialDelaySeconds"))
    if type(seconds := document.get(delay.path)) is int and document.get((*path, "startupProbe")) is None:
        found["readiness_delay_s"] = Field(seconds, (delay,))
    if misplaced := _find_misplaced(document, spec, path):
        found["misplaced_probe"] = Field(str(document.get((*misplaced.path[:-1], "name"))), (misplaced,))
    is_joined = RAY.search(volume_claims.words(document, path))
    if str(document.get(("kind",))) in KEPT_RUNNING and not is_joined and not _is_probed(document, spec, path):
        found["ready_at_start"] = Field(True, (Origin(document, (*path, "name")),))
    if node := _find_surging_node(document, spec, path):
        found["surging_node"] = node
    if tool := _find_missing_tool(document, path):
        found["missing_tool"] = tool
    if document.get(("kind",)) == "Pod" and document.get((*spec, "restartPolicy")) in (None, "Always"):
        found["lone_pod"] = Field(True, (Origin(document, ("kind",)),))
    return found


def _is_written(document: Document) -> bool:
    """Return whether a file states the pod itself; the settings of an operator that makes it may add probes."""
    kind = document.node(("kind",))
    return kind is not None and document.text[kind.start : kind.end].strip("'\"") == document.get(("kind",))


def _read_pre_stop(document: Document, spec: Path, path: Path) -> dict[str, Field]:
    """Return how long the preStop hook sleeps, and how long the kubelet waits for the hook and the program together."""
    grace = Origin(document, (*spec, "terminationGracePeriodSeconds"))
    allowed = document.get(grace.path, GRACE_DEFAULT_S)
    hook = (*path, "lifecycle", "preStop")
    slept = document.get((*hook, "sleep", "seconds"))
    if slept is None:
        text = _read_command(document, (*hook, "exec", "command"))
        found = SLEEP.findall(text)
        slept = int(found[0]) if len(found) == 1 and not LOOP.search(text) else None
    if type(slept) is not int or type(allowed) is not int:
        return {}
    stated = document.get(grace.path) is not None
    return {
        "pre_stop_s": Field(slept, (Origin(document, hook),)),
        "grace_period_s": Field(allowed, (grace,) if stated else (), source="" if stated else "default of Kubernetes"),
    }


def _read_command(document: Document, path: Path) -> str:
    listed = document.get(path)
    words = [str(word) for word in listed] if isinstance(listed, list) else []
    if len(words) == 2 and words[0].rpartition("/")[2] == "sleep":
        return " ".join(words)
    return words[-1] if len(words) > 2 and "c" in words[-2] else ""


def _read_post_start(document: Document, path: Path) -> dict[str, Field]:
    """Return the postStart hook that waits for the server, if the container has probes."""
    hook = (*path, "lifecycle", "postStart", "exec", "command")
    text = _read_command(document, hook)
    if not WAITS.search(text) or not any(document.get((*path, probe)) is not None for probe in PROBES):
        return {}
    return {"waiting_hook": Field(True, (Origin(document, hook),))}


def _find_misplaced(document: Document, spec: Path, path: Path) -> Origin | None:
    """Return the probe of another container that asks a port which only this container opens."""
    if any(document.get((*path, probe)) is not None for probe in RESTARTING):
        return None
    opened = set(_list_ports(document, path))
    for other in pod_templates.items(document, (*spec, "containers")):
        if other == path or not opened:
            continue
        foreign = opened - set(_list_ports(document, other))
        for probe in RESTARTING:
            if any(document.get((*other, probe, *asked)) in foreign for asked in ASKS):
                return Origin(document, (*other, probe))
    return None


def _list_ports(document: Document, container: Path) -> Iterator[int]:
    for port in pod_templates.items(document, (*container, "ports")):
        if type(number := document.get((*port, "containerPort"))) is int:
            yield number


def _is_probed(document: Document, spec: Path, path: Path) -> bool:
    """Return whether a probe of any container decides when the pod is ready."""
    others = list(pod_templates.items(document, (*spec, "containers")))
    if document.get((*path, "startupProbe")) is not None or document.get((*path, "lifecycle", "postStart")) is not None:
        return True
    gates = document.get((*spec, "readinessGates"))
    return bool(gates) or any(document.get((*other, "readinessProbe")) is not None for other in [path, *others])


def _find_surging_node(document: Document, spec: Path, path: Path) -> Field | None:
    """Return the only node of a Deployment that starts a new pod with GPUs before it stops the old one."""
    node = Origin(document, (*spec, "nodeName"))
    if document.get(node.path) is None:
        node = Origin(document, (*spec, "nodeSelector", HOST))
    limits = document.get((*path, "resources", "limits"))
    asked = isinstance(limits, dict) and any(gpu_resources.GPU.fullmatch(str(name)) for name in limits)
    if document.get(("kind",)) != "Deployment" or not isinstance(name := document.get(node.path), str) or not asked:
        return None
    strategy = ("spec", "strategy")
    surge, gone = (document.get((*strategy, "rollingUpdate", key)) for key in ("maxSurge", "maxUnavailable"))
    stops_first = document.get((*strategy, "type")) == "Recreate" or str(surge) in ("0", "0%")
    if stops_first or str(gone) not in ("None", "0", "0%", "25%"):
        return None
    return Field(name, (node,))


def _find_missing_tool(document: Document, path: Path) -> Field | None:
    """Return the program of a probe that the container's image lacks."""
    if "install" in volume_claims.words(document, path):
        return None
    for probe in PROBES:
        command = (*path, probe, "exec", "command")
        listed = document.get(command)
        if not isinstance(listed, list):
            continue
        from gpulint.adapters.programs import health_check

        words = [str(word) for word in listed]
        if tool := health_check.find_missing(str(document.get((*path, "image"))), words):
            return Field(tool, (Origin(document, command),))
    return None
