"""Stated objectives: what formats with words of their own say of the load of a replica and of the times that are wanted."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from gpulint.facts import objective_words as objectives
from gpulint.source.documents import Document, Path, Problem
from gpulint.workload import Field, Origin

TARGET = "autoscaling.knative.dev/target"
METRIC = "autoscaling.knative.dev/metric"
CONCURRENCY = "concurrency"
"""The metric of a Knative autoscaler where nothing states another (knative.dev/docs/serving/autoscaling/autoscaling-metrics)."""
MODES = ("serving.kserve.io/deploymentMode", "serving.kserve.io/deployment-mode")
WITHOUT_KNATIVE = frozenset({"RawDeployment", "Standard", "ModelMesh"})
"""Modes of KServe in which no proxy of Knative counts requests."""
PLANNER: Mapping[str, str] = {"ttft": "target_ttft_s", "itl": "target_tpot_s"}
"""Arguments of Dynamo's planner, in milliseconds (ai-dynamo/dynamo 0.7 components/src/dynamo/planner/utils)."""
PLANNED = re.compile(r"--(?P<word>ttft|itl)[ =](?P<value>\d+(?:\.\d+)?)(?![\w.])")
OWN = tuple(f"gpulint/{word}" for word in ("model", "accelerator", "ignore", "nvlink-bridge", *objectives.WORDS))
DEPTH = 24


def of_knative(document: Document, template: Path) -> dict[str, Field]:
    """A Knative Service: the target of its autoscaler, and what its proxy lets through."""
    return {
        **_target(document, (*template, "metadata", "annotations")),
        **_limit(document, (*template, "spec", "containerConcurrency")),
    }


def of_predictor(document: Document, path: Path) -> dict[str, Field]:
    """A KServe component: the same by its own keys, unless it runs without Knative."""
    if any(str(document.get(("metadata", "annotations", mode))) in WITHOUT_KNATIVE for mode in MODES):
        return {}
    found = {**_target(document, ("metadata", "annotations")), **_target(document, (*path, "annotations"))}
    stated = Origin(document, (*path, "scaleTarget"))
    if document.get((*path, "scaleMetric"), CONCURRENCY) == CONCURRENCY and (aim := _count(stated)):
        found["replica_requests_target"] = aim
    return {**found, **_limit(document, (*path, "containerConcurrency"))}


def of_deployment(config: Document, path: Path) -> dict[str, Field]:
    """A Ray Serve deployment: ongoing requests that are wanted of a replica, and let through to it."""
    found: dict[str, Field] = {}
    for key in ("max_concurrent_queries", "max_ongoing_requests"):
        found |= _limit(config, (*path, key))
    for key in ("target_num_ongoing_requests_per_replica", "target_ongoing_requests"):
        if aim := _count(Origin(config, (*path, "autoscaling_config", key))):
            found["replica_requests_target"] = aim
    return found


def of_planner(document: Document) -> dict[str, Field]:
    """What the arguments of a Dynamo graph's planner want."""
    if "--ttft" not in document.text and "--itl" not in document.text:
        return {}
    found = ((word, value, origin) for word, value, origin in _planned(document, document.data, (), DEPTH))
    return {
        PLANNER[word]: Field(objectives.read(_word(word), f"{value}ms"), (origin,)) for word, value, origin in found
    }


def _planned(document: Document, value: object, path: Path, depth: int) -> Iterator[tuple[str, str, Origin]]:
    """The planner's options with their values: in one word, in two words of a list, or inside a text."""
    before: object = None
    for key, inner in _inside(value) if depth else ():
        place = (*path, key)
        if before in ("--ttft", "--itl") and re.fullmatch(r"\d+(?:\.\d+)?", str(inner)):
            yield str(before).removeprefix("--"), str(inner), Origin(document, place)
        for match in PLANNED.finditer(inner) if isinstance(inner, str) else ():
            yield match["word"], match["value"], Origin(document, place, match.span())
        before = inner if isinstance(value, list) else None
        yield from _planned(document, inner, place, depth - 1)


def misspelt(document: Document) -> Iterator[Problem]:
    """Labels and annotations in our name that are none of ours, or whose value cannot be read."""
    for path in _metadata(document.data, (), DEPTH):
        given = document.get(path)
        for key, value in given.items() if isinstance(given, dict) else ():
            if str(key).startswith("gpulint/") and (wrong := _wrong(str(key), value)):
                yield Problem("malformed-hint", wrong, document.locate((*path, key), key=str(key) not in OWN))


def _word(planned: str) -> str:
    return next(word for word, one in objectives.WORDS.items() if one.quantity == PLANNER[planned])


def _wrong(key: str, value: object) -> str:
    word = key.removeprefix("gpulint/")
    if key not in OWN:
        known = [one.removeprefix("gpulint/") for one in OWN]
        return f"no hint is called {key}{objectives.meant(word, known)}"
    if word not in objectives.WORDS or "{{" in str(value) or "$" in str(value):
        return ""
    try:
        objectives.read(word, value)
    except ValueError as error:
        return f"{word}: {error}"
    return ""


def _target(document: Document, annotations: Path) -> dict[str, Field]:
    if document.get((*annotations, METRIC), CONCURRENCY) != CONCURRENCY:
        return {}
    aim = _count(Origin(document, (*annotations, TARGET)))
    return {"replica_requests_target": aim} if aim else {}


def _limit(document: Document, path: Path) -> dict[str, Field]:
    """A hard limit; zero is none."""
    limit = _count(Origin(document, path))
    return {"replica_requests_limit": limit} if limit else {}


def _count(origin: Origin) -> Field | None:
    value = origin.document.get(origin.path)
    if isinstance(value, bool) or not re.fullmatch(r"\d{1,9}(?:\.0+)?", str(value)) or not float(str(value)):
        return None
    return Field(int(float(str(value))), (origin,))


def _metadata(value: object, path: Path, depth: int) -> Iterator[Path]:
    """Where labels and annotations stand."""
    for key, inner in _inside(value) if depth else ():
        if key in ("labels", "annotations") and isinstance(inner, dict):
            yield (*path, key)
        else:
            yield from _metadata(inner, (*path, key), depth - 1)


def _inside(value: object) -> Iterator[tuple[str | int, object]]:
    if isinstance(value, dict):
        yield from ((str(key), inner) for key, inner in value.items())
    elif isinstance(value, list):
        yield from enumerate(value)
