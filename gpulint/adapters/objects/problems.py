"""Problems of a Kubernetes object by itself: a removed API, a query that breaks its scaler."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpulint.catalog import tables
from gpulint.report import escaping
from gpulint.source.documents import Document, Path, Problem

PER_POD = re.compile(r"\s*+((?:vllm|sglang|trtllm|nv_trt_llm|tgi)[:_]\w++)\s*+(\{[^{}]*\})?\s*+")
"""A bare selector of a metric that every server exports for itself."""
CLUSTERS: tuple[Path, ...] = (
    ("spec",),
    ("spec", "rayClusterSpec"),
    ("spec", "rayClusterConfig"),
)
"""The paths at which a RayCluster, a RayJob and a RayService describe their groups."""
OTHER_DEVICES = re.compile(r"rdma|efa|hugepages|tpu|neuron|hostdev|networking|smarter-devices|github\.com/")
NODES = re.compile(r"(?:^|\s)--nnodes[= ]+(\d+)(?=\s|$)")
"""A literal count. A range is elastic, and a variable is set by the operator."""
TRAINS = re.compile(r"(?i)\btorchrun\b|torch\.distributed|\bdeepspeed\b|accelerate launch|train|finetun|fine-tun")
SAVES = re.compile(
    r"(?i)(?<!activation[-_])(?<!gradient[-_])checkpoint(?!ing|[-_]activ)|(?<!act[-_])ckpt|resume|save[-_]"
)
"""Words of a run that saves checkpoints or continues from one; a run without them has nothing to continue from."""
ONE_SERIES = re.compile(r"\b(?:pod|instance|pod_name)\s*=\s*\"")


def find_problems(document: Document) -> Iterator[Problem]:
    """Yield the problems of one object, each with its location."""
    yield from _check_api_version(document)
    if document.get(("kind",)) == "ScaledObject" and str(document.get(("apiVersion",))).startswith("keda.sh/"):
        yield from _check_queries(document)
    if str(document.get(("apiVersion",))).startswith("ray.io/"):
        yield from _check_ray_gpus(document)
    if document.get(("kind",)) == "PyTorchJob":
        yield from _check_restart_policy(document)
        yield from _check_launcher_nodes(document)
    if str(document.get(("kind",))) in ("Job", "JobSet"):
        yield from _check_backoff_limit(document)


def _check_launcher_nodes(document: Document) -> Iterator[Problem]:
    """Report a launcher that waits for another number of nodes than the run has pods."""
    named = list(_list_replica_types(document))
    pods = _count_pods(named)
    if pods is None or document.get(("spec", "elasticPolicy")):
        return
    for path in (
        path for name, replica in named for path in _list_words(("spec", "pytorchReplicaSpecs", name), replica)
    ):
        for match in NODES.finditer(str(document.get(path))):
            if int(match[1]) != pods:
                message = f"--nnodes {match[1]}, but the run has {escaping.count(pods, 'pod')}"
                yield Problem("launcher-nodes-differ-from-pods", message, document.locate(path))
                return


def _count_pods(named: list[tuple[str, dict[str, object]]]) -> int | None:
    """Return the pods of a run; None if the counts are not plain numbers."""
    counts = [replica.get("replicas", 1) for _, replica in named]
    plain_counts = [count for count in counts if isinstance(count, int)]
    return sum(plain_counts) if counts and len(plain_counts) == len(counts) else None


def _list_words(at: Path, replica: dict[str, object]) -> Iterator[Path]:
    """Yield the paths of the command words of a replica type's containers."""
    template = replica.get("template")
    spec = template.get("spec") if isinstance(template, dict) else None
    containers = spec.get("containers") if isinstance(spec, dict) else None
    for index, container in enumerate(containers if isinstance(containers, list) else ()):
        for key in ("command", "args"):
            listed = container.get(key) if isinstance(container, dict) else None
            base = (*at, "template", "spec", "containers", index, key)
            yield from ((*base, number) for number in range(len(listed) if isinstance(listed, list) else 0))


def _list_replica_types(document: Document) -> Iterator[tuple[str, dict[str, object]]]:
    types = document.get(("spec", "pytorchReplicaSpecs"))
    for name, replica in types.items() if isinstance(types, dict) else ():
        if isinstance(replica, dict):
            yield str(name), replica


def _check_restart_policy(document: Document) -> Iterator[Problem]:
    """Report a run of several GPU pods of which none restarts after a failure.

    Source: training-operator v1.9.0 common_types.go.
    """
    types = document.get(("spec", "pytorchReplicaSpecs"))
    named = (
        [(str(name), replica) for name, replica in types.items() if isinstance(replica, dict)]
        if isinstance(types, dict)
        else []
    )
    pods = _count_pods(named)
    if pods is None or pods < 2 or document.get(("spec", "elasticPolicy")):
        return
    stops = all(replica.get("restartPolicy") == "Never" for _, replica in named) and not _limits_retries(document)
    if stops and any(_saves(replica.get("template")) for _, replica in named):
        place = ("spec", "pytorchReplicaSpecs", named[0][0], "restartPolicy")
        message = f"restartPolicy Never: if one of {pods} pods fails, the whole run ends"
        yield Problem("gang-never-restarted", message, document.locate(place))


def _check_backoff_limit(document: Document) -> Iterator[Problem]:
    """Report a run of several GPU pods that ends at the first failure.

    A JobSet restarts all of its jobs up to `failurePolicy.maxRestarts` times, and never if that is not set
    (jobset v0.10 jobset_types.go, batch/v1 Job).
    """
    jobs = [path for path in _list_jobs(document) if document.get((*path, "backoffLimit")) == 0]
    pods = [_count_job_pods(document, path) for path in _list_jobs(document)]
    plain_counts = [count for count in pods if count is not None]
    if (
        not jobs
        or len(plain_counts) != len(pods)
        or sum(plain_counts) < 2
        or document.get(("spec", "failurePolicy", "maxRestarts"))
    ):
        return
    if document.get((*jobs[0], "podFailurePolicy")) is None and any(
        _trains_on_gpus(document, path) and _saves(document.get((*path, "template"))) for path in jobs
    ):
        message = f"backoffLimit 0: if one of {sum(plain_counts)} pods fails, the whole run ends"
        yield Problem("gang-never-restarted", message, document.locate((*jobs[0], "backoffLimit")))


def _list_jobs(document: Document) -> Iterator[Path]:
    """Yield the paths of the specs of a run's jobs."""
    if document.get(("kind",)) == "JobSet":
        listed = document.get(("spec", "replicatedJobs"))
        for at in range(len(listed) if isinstance(listed, list) else 0):
            yield ("spec", "replicatedJobs", at, "template", "spec")
    elif document.get(("spec", "completionMode")) == "Indexed":
        yield ("spec",)


def _count_job_pods(document: Document, job: Path) -> int | None:
    """Return the pods of a job, over its replicas in a JobSet; None if they are not plain numbers."""
    copies = document.get((*job[:-2], "replicas"), 1) if len(job) > 1 else 1
    pods = document.get((*job, "parallelism"), 1)
    return copies * pods if type(copies) is int and type(pods) is int else None


def _trains_on_gpus(document: Document, job: Path) -> bool:
    """Return True if a container with GPUs starts a training.

    Tests are meant to end at the first failure.
    """
    containers = document.get((*job, "template", "spec", "containers"))
    listed_containers = (
        [container for container in containers if isinstance(container, dict)] if isinstance(containers, list) else []
    )
    return any(
        (_count_granted_gpus(container) or 0) > 0
        and TRAINS.search(f"{container.get('command')} {container.get('args')} {container.get('image')}")
        for container in listed_containers
    )


def _saves(template: object) -> bool:
    """Return whether a container of a pod speaks of checkpoints: in its words, its environment or its mounts."""
    spec = template.get("spec") if isinstance(template, dict) else None
    containers = spec.get("containers") if isinstance(spec, dict) else None
    return any(
        SAVES.search(str(container.get(key)))
        for container in (containers if isinstance(containers, list) else ())
        if isinstance(container, dict)
        for key in ("command", "args", "env", "volumeMounts")
    )


def _limits_retries(document: Document) -> bool:
    return bool(document.get(("spec", "runPolicy", "backoffLimit")))


def _check_ray_gpus(document: Document) -> Iterator[Problem]:
    """Report a Ray group whose num-gpus differs from its pods' limits. 0 keeps work off the head."""
    for group in (path for cluster in CLUSTERS for path in _list_groups(document, cluster)):
        num_gpus = document.get((*group, "rayStartParams", "num-gpus"))
        containers = document.get((*group, "template", "spec", "containers"))
        if not re.fullmatch(r"[1-9]\d*", str(num_gpus)) or not isinstance(containers, list):
            continue
        granted = [_count_granted_gpus(container) for container in containers]
        if None in granted or (given := sum(count or 0 for count in granted)) == int(str(num_gpus)):
            continue
        kind = "ray-gpus-beyond-limit" if given < int(str(num_gpus)) else "ray-gpus-below-limit"
        message = f"num-gpus is {num_gpus} per pod; the container limits grant {escaping.count(given, 'GPU')}"
        yield Problem(kind, message, document.locate((*group, "rayStartParams", "num-gpus")))


def _list_groups(document: Document, cluster: Path) -> Iterator[Path]:
    if document.get((*cluster, "headGroupSpec")) is not None:
        yield (*cluster, "headGroupSpec")
    listed = document.get((*cluster, "workerGroupSpecs"))
    yield from ((*cluster, "workerGroupSpecs", at) for at in range(len(listed) if isinstance(listed, list) else 0))


def _count_granted_gpus(container: object) -> int | None:
    """Return the GPUs in a container's limits; None if they are not plain numbers."""
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


def _check_api_version(document: Document) -> Iterator[Problem]:
    stated = document.get(("apiVersion",)), document.get(("kind",))
    for row in tables.rows("removed_apis") if "beta" in str(stated[0]) else ():
        if (row["group_version"], row["kind"]) == stated:
            message = f"{stated[0]} {stated[1]} was removed in Kubernetes {row['removed']}; use {row['replacement']}"
            yield Problem("api-version-removed", message, document.locate(("apiVersion",)))


def _check_queries(document: Document) -> Iterator[Problem]:
    """Report a query that returns one series per pod, as the scaler takes a single value."""
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
            message = f"{match[1]} returns one series per pod, but KEDA needs one value: wrap it in sum(…) or avg(…)"
            yield Problem("scaler-query-not-aggregated", message, document.locate(path))
