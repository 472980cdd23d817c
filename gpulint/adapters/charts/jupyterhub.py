"""The JupyterHub chart: one notebook server per user, from `singleuser` or from a profile.

Read from zero-to-jupyterhub's documentation (doc/source/jupyterhub/customizing/user-environment.md)
and KubeSpawner's options `extra_resource_limits`, `extra_resource_guarantees` and `node_selector`
(kubespawner/spawner.py), 2026-11-21.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gpulint.adapters.charts import values as charts_values
from gpulint.adapters.charts.values import Values
from gpulint.adapters.objects.synthetic import Part
from gpulint.source.documents import Document, Path
from gpulint.source.repository import Repository
from gpulint.workload import Field, Unknown, Workload

OVERRIDE = "kubespawner_override"
EACH = Unknown("one pod per user", "caller's variable")


def fits(values: Values) -> bool:
    return "singleuser" in values.entries() and bool({"hub", "proxy", "prePuller"} & values.entries().keys())


def workloads(values: Values, repository: Repository) -> Iterator[Workload]:
    """Yield the servers that request GPUs: each profile, and the one without a profile."""
    user = values.descend("singleuser")
    if user.get("extraResource") is not None:
        made = _build_pod(
            user, ("image",), ("extraResource", "limits"), ("extraResource", "guarantees"), ("nodeSelector",)
        )
        yield from _read_server(user, made, repository, "singleuser")
    listed = user.get("profileList")
    for at in range(len(listed) if isinstance(listed, list) else 0):
        profile = user.descend("profileList", at)
        own: tuple[Path, ...] = tuple(
            (OVERRIDE, name)
            for name in ("image", "extra_resource_limits", "extra_resource_guarantees", "node_selector")
        )
        yield from _read_server(
            profile, _build_pod(profile, *own), repository, profile.text("display_name") or "profile"
        )


def _build_pod(values: Values, image: Path, limits: Path, requests: Path, selector: Path) -> Document:
    container: Part = {
        "name": values.word("notebook", *limits[:-1]),
        "image": charts_values.image(values, *image, registry="", name="name"),
        "resources": {"limits": values.node(*limits), "requests": values.node(*requests)},
    }
    return charts_values.deployment(values, {"containers": [container], "nodeSelector": values.node(*selector)})


def _read_server(values: Values, made: Document, repository: Repository, name: str) -> Iterator[Workload]:
    for workload in charts_values.workloads(values, made, repository, name):
        opened = charts_values.open_workload(
            replace(workload, kind="unknown"), "other settings of the hub may add to the pod"
        )
        yield replace(opened, roles=tuple(role.having(replicas=Field(EACH)) for role in opened.roles))
