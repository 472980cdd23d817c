"""Start-up: how long the probes give a container's server before the kubelet kills it."""

from __future__ import annotations

from gpulint.source.documents import Document, Path
from gpulint.workload import Field, Origin

UNCHANGED = frozenset(
    {
        *("v1/Pod", "batch/v1/Job", "leaderworkerset.x-k8s.io/v1/LeaderWorkerSet"),
        *("apps/v1/Deployment", "apps/v1/StatefulSet", "apps/v1/ReplicaSet", "apps/v1/DaemonSet"),
    }
)
"""Kinds whose controllers keep their pods' probes as the file writes them."""
OF_THE_SERVER = frozenset({"/health", "/v1/models", "/health/ready", "/ping"})
"""Paths that vLLM answers only after its weights are loaded."""
DEFAULTS = {"initialDelaySeconds": 0, "periodSeconds": 10, "failureThreshold": 3}
"""Kubernetes, api/core/v1, Probe."""


def fields(document: Document, path: Path) -> dict[str, Field]:
    """Return the time until a container is killed, from its startup or else its liveness probe."""
    if f"{document.get(('apiVersion',))}/{document.get(('kind',))}" not in UNCHANGED:
        return {}
    startup, liveness = ((*path, name) for name in ("startupProbe", "livenessProbe"))
    if document.get(startup) is not None:
        return {**_read_budget(document, startup), "startup_probe": Field(True, (Origin(document, startup),))}
    return {**_read_budget(document, liveness), **_read_window(document, liveness)}


def _read_window(document: Document, probe: Path) -> dict[str, Field]:
    """Return the allowed failure time of a liveness probe that asks the server."""
    asks = document.get((*probe, "httpGet")) is not None
    if not asks or (settings := _read_settings(document, probe)) is None:
        return {}
    _, period, failures = settings
    return {"liveness_window_s": Field(period * failures, (Origin(document, probe),))}


def _read_budget(document: Document, probe: Path) -> dict[str, Field]:
    """Return initial delay plus allowed failures, if the probe asks the server."""
    asks = str(document.get((*probe, "httpGet", "path"))) in OF_THE_SERVER
    if not asks or (settings := _read_settings(document, probe)) is None:
        return {}
    delay, period, failures = settings
    return {"startup_budget_s": Field(delay + period * failures, (Origin(document, probe),))}


def _read_settings(document: Document, probe: Path) -> tuple[int, int, int] | None:
    """Return delay, period and failures of a probe; None if one is not a whole number."""
    delay, period, failures = (document.get((*probe, name), default) for name, default in DEFAULTS.items())
    if type(delay) is int and type(period) is int and type(failures) is int:
        return delay, period, failures
    return None
