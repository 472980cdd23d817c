"""CoreWeave's vllm-basic chart: one `vllm serve`.

It is a Deployment, or the leader of a LeaderWorkerSet. Read from its templates
(coreweave/reference-architecture 8d7a23a, 2026-06-03: inference/basic/templates/deployment.yaml,
lws.yaml, _helpers.tpl, pdb.yaml).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gpulint.adapters.charts import values as charts_values
from gpulint.adapters.charts.values import Values
from gpulint.adapters.objects.synthetic import Part
from gpulint.source.documents import Document
from gpulint.source.repository import Repository
from gpulint.workload import Role, Workload

WORKLOAD = ("vllm", "workload")
LIVING = {"periodSeconds": 10, "failureThreshold": 30}
"""The probe in the chart's own values; there is no startup probe (inference/basic/values.yaml)."""
AUTOSCALER = (*WORKLOAD, "deployment", "autoScale")


def fits(values: Values) -> bool:
    return isinstance(values.get("vllm", "model"), str) and isinstance(values.get(*WORKLOAD), dict)


def workloads(values: Values, repository: Repository) -> Iterator[Workload]:
    name = values.text("fullnameOverride") or values.text("nameOverride") or values.text("vllm", "model")
    for workload in charts_values.workloads(values.descend("vllm"), _build_object(values), repository, name):
        yield _apply_autoscaler(workload, values)


def _build_object(values: Values) -> Document:
    if values.get(*WORKLOAD, "type") == "leaderWorkerSet":
        group = values.descend(*WORKLOAD, "leaderWorkerSet")
        workers, leader = (
            _build_pod(values, ["ray", "start"], serves=False),
            _build_pod(values, _build_leader_command(values)),
        )
        return charts_values.group(values, group.node("groupSize"), workers, leader, group.node("groups"))
    return charts_values.deployment(
        values, _build_pod(values, _build_command(values)), values.node(*WORKLOAD, "deployment", "replicaCount")
    )


def _build_command(values: Values) -> list[Part]:
    own: list[Part] = [*values.items("vllm", "command")] or [values.word("vllm", "vllm", "model")]
    return [
        *own,
        values.word("serve", "vllm", "model"),
        values.node("vllm", "model"),
        *values.items("vllm", "extraArgs"),
    ]


def _build_leader_command(values: Values) -> list[Part]:
    """Build the server module that the leader starts on the Ray cluster of the group."""
    words = [
        values.word(word, "vllm", "model")
        for word in ("python3", "-m", "vllm.entrypoints.openai.api_server", "--model")
    ]
    return [*words, values.node("vllm", "model"), *values.items("vllm", "extraArgs")]


def _build_pod(values: Values, command: list[Part], serves: bool = True) -> Part:
    container: Part = {
        "name": values.word("vllm", "vllm", "model"),
        "image": charts_values.image(values, "vllm", "image"),
        "command": command,
        "resources": values.node("vllm", "resources"),
        "livenessProbe": charts_values.probe(values, ("vllm", "livenessProbe"), LIVING) if serves else None,
        "volumeMounts": [{"name": "dshm", "mountPath": "/dev/shm"}],
    }
    return {
        "containers": [container],
        "volumes": [{"name": "dshm", "emptyDir": {"medium": "Memory"}}],
        "affinity": values.node("vllm", "affinity"),
        "tolerations": values.node("vllm", "tolerations"),
    }


def _apply_autoscaler(workload: Workload, values: Values) -> Workload:
    """Apply KEDA and the disruption budget in the mode that they are made for."""
    if values.get(*WORKLOAD, "type") == "leaderWorkerSet":
        return workload
    fields = charts_values.read_autoscaler(values, AUTOSCALER, "minReplicas", ("pdb",))
    return replace(workload, roles=tuple(_apply_minimum(role).having(**fields) for role in workload.roles))


def _apply_minimum(role: Role) -> Role:
    """Return a role with its stated replicas as their minimum, if no autoscaler changes them."""
    stated = role.fields["replicas"]
    return role.having(replicas_least=stated) if isinstance(stated.value, int) and stated.origins else role
