"""What is wrong with a Kubernetes object by itself: an API that no cluster serves any longer, a query that breaks its scaler."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpulint.catalog import tables as catalog
from gpulint.source.documents import Document, Path, Problem

PER_POD = re.compile(r"\s*((?:vllm|sglang|trtllm|nv_trt_llm|tgi)[:_]\w+)\s*(\{[^{}]*\})?\s*")
"""A bare selector of a metric that every server exports for itself."""
CLUSTERS: tuple[Path, ...] = (
    ("spec",),
    ("spec", "rayClusterSpec"),
    ("spec", "rayClusterConfig"),
)
"""Where a RayCluster, a RayJob and a RayService describe their groups."""
OTHER_DEVICES = re.compile(r"rdma|efa|hugepages|tpu|neuron|hostdev|networking|smarter-devices|github\.com/")
NODES = re.compile(r"(?:^|\s)--nnodes[= ]+(\d+)(?=\s|$)")
"""A literal count; a range is elastic, and a variable is the operator's."""
TRAINS = re.compile(r"(?i)\btorchrun\b|torch\.distributed|\bdeepspeed\b|accelerate launch|train|finetun|fine-tun")
ONE_SERIES = re.compile(r"\b(?:pod|instance|pod_name)\s*=\s*\"")


def of(document: Document) -> Iterator[Problem]:
    """Problems of one object, each at its place."""
    yield from _removed(document)
    if document.get(("kind",)) == "ScaledObject" and str(document.get(("apiVersion",))).startswith("keda.sh/"):
        yield from _queries(document)
    if str(document.get(("apiVersion",))).startswith("ray.io/"):
        yield from _ray_gpus(document)
    if document.get(("kind",)) == "PyTorchJob":
        yield from _never_restarted(document)
        yield from _waiting_for_others(document)
    if str(document.get(("kind",))) in ("Job", "JobSet"):
        yield from _given_up(document)


def _waiting_for_others(document: Document) -> Iterator[Problem]:
    """A launcher in the pods of a run that waits for another number of nodes than the run has pods."""
    named = list(_replica_types(document))
    pods = _pods(named)
    if pods is None or document.get(("spec", "elasticPolicy")):
        return
    for path in (path for name, one in named for path in _words(("spec", "pytorchReplicaSpecs", name), one)):
        for match in NODES.finditer(str(document.get(path))):
            if int(match[1]) != pods:
                message = f"--nnodes {match[1]} in a run of {pods} pods"
                yield Problem("launcher-nodes-differ-from-pods", message, document.locate(path))
                return


def _pods(named: list[tuple[str, dict[str, object]]]) -> int | None:
    """The pods of a run; None where they are not plain numbers."""
    counts = [one.get("replicas", 1) for _, one in named]
    known = [count for count in counts if isinstance(count, int)]
    return sum(known) if counts and len(known) == len(counts) else None


def _words(at: Path, replica: dict[str, object]) -> Iterator[Path]:
    """Where the words of a replica type's containers stand."""
    template = replica.get("template")
    spec = template.get("spec") if isinstance(template, dict) else None
    containers = spec.get("containers") if isinstance(spec, dict) else None
    for index, container in enumerate(containers if isinstance(containers, list) else ()):
        for key in ("command", "args"):
            listed = container.get(key) if isinstance(container, dict) else None
            base = (*at, "template", "spec", "containers", index, key)
            yield from ((*base, number) for number in range(len(listed) if isinstance(listed, list) else 0))


def _replica_types(document: Document) -> Iterator[tuple[str, dict[str, object]]]:
    types = document.get(("spec", "pytorchReplicaSpecs"))
    for name, one in types.items() if isinstance(types, dict) else ():
        if isinstance(one, dict):
            yield str(name), one


def _never_restarted(document: Document) -> Iterator[Problem]:
    """A run of several pods with GPUs of which none is started again when it fails (training-operator v1.9.0 common_types.go)."""
    types = document.get(("spec", "pytorchReplicaSpecs"))
    named = (
        [(str(name), one) for name, one in types.items() if isinstance(one, dict)] if isinstance(types, dict) else []
    )
    pods = _pods(named)
    if pods is None or pods < 2 or document.get(("spec", "elasticPolicy")):
        return
    if all(one.get("restartPolicy") == "Never" for _, one in named) and not _bounded_retries(document):
        place = ("spec", "pytorchReplicaSpecs", named[0][0], "restartPolicy")
        message = f"one of {pods} pods that fails ends the run for all: restartPolicy Never"
        yield Problem("gang-never-restarted", message, document.locate(place))


def _given_up(document: Document) -> Iterator[Problem]:
    """A run of several pods with GPUs that ends for good at the first failure (jobset v0.10 jobset_types.go, batch/v1 Job).

    A JobSet restarts all of its jobs as often as `failurePolicy.maxRestarts` says, and not at all where it is silent.
    """
    jobs = [path for path in _jobs(document) if document.get((*path, "backoffLimit")) == 0]
    pods = [_pods_of(document, path) for path in _jobs(document)]
    known = [count for count in pods if count is not None]
    if not jobs or len(known) != len(pods) or sum(known) < 2 or document.get(("spec", "failurePolicy", "maxRestarts")):
        return
    if document.get((*jobs[0], "podFailurePolicy")) is None and any(_trains_on_gpus(document, path) for path in jobs):
        message = f"one of {sum(known)} pods that fails ends the run for all: backoffLimit 0"
        yield Problem("gang-never-restarted", message, document.locate((*jobs[0], "backoffLimit")))


def _jobs(document: Document) -> Iterator[Path]:
    """Where the specs of the jobs stand that a run consists of."""
    if document.get(("kind",)) == "JobSet":
        listed = document.get(("spec", "replicatedJobs"))
        for at in range(len(listed) if isinstance(listed, list) else 0):
            yield ("spec", "replicatedJobs", at, "template", "spec")
    elif document.get(("spec", "completionMode")) == "Indexed":
        yield ("spec",)


def _pods_of(document: Document, job: Path) -> int | None:
    """The pods of a job, over its copies in a JobSet; None where they are not plain numbers."""
    copies = document.get((*job[:-2], "replicas"), 1) if len(job) > 1 else 1
    pods = document.get((*job, "parallelism"), 1)
    return copies * pods if type(copies) is int and type(pods) is int else None


def _trains_on_gpus(document: Document, job: Path) -> bool:
    """Whether a container with GPUs starts a training; tests of a network are meant to end at their first failure."""
    containers = document.get((*job, "template", "spec", "containers"))
    listed = [one for one in containers if isinstance(one, dict)] if isinstance(containers, list) else []
    return any(
        (_granted(one) or 0) > 0 and TRAINS.search(f"{one.get('command')} {one.get('args')} {one.get('image')}")
        for one in listed
    )


def _bounded_retries(document: Document) -> bool:
    return bool(document.get(("spec", "runPolicy", "backoffLimit")))


def _ray_gpus(document: Document) -> Iterator[Problem]:
    """A group of a Ray cluster that tells Ray of other GPUs than its pods are granted; 0 keeps Ray's work off the head."""
    for group in (path for cluster in CLUSTERS for path in _groups(document, cluster)):
        told = document.get((*group, "rayStartParams", "num-gpus"))
        containers = document.get((*group, "template", "spec", "containers"))
        if not re.fullmatch(r"[1-9]\d*", str(told)) or not isinstance(containers, list):
            continue
        granted = [_granted(one) for one in containers]
        if None in granted or (given := sum(one or 0 for one in granted)) == int(str(told)):
            continue
        kind = "ray-gpus-beyond-limit" if given < int(str(told)) else "ray-gpus-below-limit"
        message = f"Ray is told of {told} GPUs in each pod; the containers are granted {given}"
        yield Problem(kind, message, document.locate((*group, "rayStartParams", "num-gpus")))


def _groups(document: Document, cluster: Path) -> Iterator[Path]:
    if document.get((*cluster, "headGroupSpec")) is not None:
        yield (*cluster, "headGroupSpec")
    listed = document.get((*cluster, "workerGroupSpecs"))
    yield from ((*cluster, "workerGroupSpecs", at) for at in range(len(listed) if isinstance(listed, list) else 0))


def _granted(container: object) -> int | None:
    """The GPUs that a container's limits state as numbers; None where they are not plain."""
    resources = container.get("resources") if isinstance(container, dict) else None
    if resources is None:
        return 0
    limits = resources.get("limits") if isinstance(resources, dict) else None
    if not isinstance(resources, dict) or resources.get("claims") or not isinstance(limits, dict | None):
        return None
    amounts = [
        value for name, value in (limits or {}).items() if "/" in str(name) and not OTHER_DEVICES.search(str(name))
    ]
    if any(not re.fullmatch(r"\d+", str(value)) for value in amounts):
        return None
    return sum(int(str(value)) for value in amounts)


def _removed(document: Document) -> Iterator[Problem]:
    stated = document.get(("apiVersion",)), document.get(("kind",))
    for row in catalog.rows("removed_apis") if "beta" in str(stated[0]) else ():
        if (row["group_version"], row["kind"]) == stated:
            message = (
                f"{stated[0]} {stated[1]} is not served since Kubernetes {row['removed']}; write {row['replacement']}"
            )
            yield Problem("api-version-removed", message, document.locate(("apiVersion",)))


def _queries(document: Document) -> Iterator[Problem]:
    """A query that returns one series a pod, where the scaler takes one only."""
    listed = document.get(("spec", "triggers"))
    if document.get(("spec", "maxReplicaCount")) == 1:
        return
    for at, trigger in enumerate(listed if isinstance(listed, list) else ()):
        path = ("spec", "triggers", at, "metadata", "query")
        query = document.get(path)
        is_prometheus = isinstance(trigger, dict) and trigger.get("type") == "prometheus"
        if not is_prometheus or not isinstance(query, str) or not (match := PER_POD.fullmatch(query)):
            continue
        if not ONE_SERIES.search(match[2] or ""):
            message = f"{match[1]} is one series a pod, and KEDA takes one value: write sum(…) or avg(…) around it"
            yield Problem("scaler-query-not-aggregated", message, document.locate(path))
