"""What is wrong with a Kubernetes object by itself: an API that no cluster serves any longer, a query that breaks its scaler."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpulint import catalog
from gpulint.documents import Document, Problem

PER_POD = re.compile(r"\s*((?:vllm|sglang|trtllm|nv_trt_llm|tgi)[:_]\w+)\s*(\{[^{}]*\})?\s*")
"""A bare selector of a metric that every server exports for itself."""
ONE_SERIES = re.compile(r"\b(?:pod|instance|pod_name)\s*=\s*\"")


def of(document: Document) -> Iterator[Problem]:
    """Problems of one object, each at its place."""
    yield from _removed(document)
    if document.get(("kind",)) == "ScaledObject" and str(document.get(("apiVersion",))).startswith("keda.sh/"):
        yield from _queries(document)


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
