"""Stated objectives: load and latency targets in the terms of the formats that have their own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from gpulint.facts import objective_words
from gpulint.source.documents import Document, Path, Problem
from gpulint.workload import Field, Origin

TARGET = "autoscaling.knative.dev/target"
METRIC = "autoscaling.knative.dev/metric"
CONCURRENCY = "concurrency"
"""The default metric of a Knative autoscaler
(knative.dev/docs/serving/autoscaling/autoscaling-metrics).
"""
MODES = ("serving.kserve.io/deploymentMode", "serving.kserve.io/deployment-mode")
WITHOUT_KNATIVE = frozenset({"RawDeployment", "Standard", "ModelMesh"})
"""Modes of KServe without a Knative proxy that counts requests."""
PLANNER: Mapping[str, str] = {"ttft": "target_ttft_s", "itl": "target_tpot_s"}
"""Arguments of Dynamo's planner, in milliseconds (ai-dynamo/dynamo 0.7
components/src/dynamo/planner/utils).
"""
PLANNED = re.compile(r"--(?P<word>ttft|itl)[ =](?P<value>\d+(?:\.\d+)?)(?![\w.])")
OWN = tuple(f"gpulint/{word}" for word in ("model", "accelerator", "ignore", "nvlink-bridge", *objective_words.WORDS))
DEPTH = 24


def read_knative(document: Document, template: Path) -> dict[str, Field]:
    """Return a Knative Service's autoscaler target and its proxy's limit."""
    return {
        **_read_target(document, (*template, "metadata", "annotations")),
        **_read_limit(document, (*template, "spec", "containerConcurrency")),
    }


def read_predictor(document: Document, path: Path) -> dict[str, Field]:
    """Return the same for a KServe component by its own keys, unless it runs without Knative."""
    if any(str(document.get(("metadata", "annotations", mode))) in WITHOUT_KNATIVE for mode in MODES):
        return {}
    targets = {**_read_target(document, ("metadata", "annotations")), **_read_target(document, (*path, "annotations"))}
    stated = Origin(document, (*path, "scaleTarget"))
    if document.get((*path, "scaleMetric"), CONCURRENCY) == CONCURRENCY and (aim := _read_count(stated)):
        targets["replica_requests_target"] = aim
    return {**targets, **_read_limit(document, (*path, "containerConcurrency"))}


def read_deployment(config: Document, path: Path) -> dict[str, Field]:
    """Return target and maximum of ongoing requests per replica of a Ray Serve deployment."""
    targets: dict[str, Field] = {}
    for key in ("max_concurrent_queries", "max_ongoing_requests"):
        targets |= _read_limit(config, (*path, key))
    for key in ("target_num_ongoing_requests_per_replica", "target_ongoing_requests"):
        if aim := _read_count(Origin(config, (*path, "autoscaling_config", key))):
            targets["replica_requests_target"] = aim
    return targets


def read_planner(document: Document) -> dict[str, Field]:
    """Return the targets in the arguments of a Dynamo graph's planner."""
    if "--ttft" not in document.words and "--itl" not in document.words:
        return {}
    options = ((word, value, origin) for word, value, origin in _list_planned(document, document.data, (), DEPTH))
    return {
        PLANNER[word]: Field(objective_words.parse(_find_word(word), f"{value}ms"), (origin,))
        for word, value, origin in options
    }


def _list_planned(document: Document, value: object, path: Path, depth: int) -> Iterator[tuple[str, str, Origin]]:
    """Yield the planner's options with their values, in words of a list or inside a text."""
    before: object = None
    for key, inner in _list_items(value) if depth else ():
        place = (*path, key)
        if before in ("--ttft", "--itl") and re.fullmatch(r"\d+(?:\.\d+)?", str(inner)):
            yield str(before).removeprefix("--"), str(inner), Origin(document, place)
        for match in PLANNED.finditer(inner) if isinstance(inner, str) else ():
            yield match["word"], match["value"], Origin(document, place, match.span())
        before = inner if isinstance(value, list) else None
        yield from _list_planned(document, inner, place, depth - 1)


def find_malformed(document: Document) -> Iterator[Problem]:
    """Report gpulint labels and annotations that do not exist, or whose value cannot be read."""
    for path in _list_metadata(document.data, (), DEPTH):
        given = document.get(path)
        for key, value in given.items() if isinstance(given, dict) else ():
            if str(key).startswith("gpulint/") and (wrong := _explain_error(str(key), value)):
                yield Problem("malformed-hint", wrong, document.locate((*path, key), key=str(key) not in OWN))


def _find_word(planned: str) -> str:
    return next(word for word, objective in objective_words.WORDS.items() if objective.quantity == PLANNER[planned])


def _explain_error(key: str, value: object) -> str:
    word = key.removeprefix("gpulint/")
    if key not in OWN:
        names = [own_key.removeprefix("gpulint/") for own_key in OWN]
        return f"unknown hint {key}{objective_words.suggest_key(word, names)}"
    if word not in objective_words.WORDS or "{{" in str(value) or "$" in str(value):
        return ""
    try:
        objective_words.parse(word, value)
    except ValueError as error:
        return f"{word}: {error}"
    return ""


def _read_target(document: Document, annotations: Path) -> dict[str, Field]:
    if document.get((*annotations, METRIC), CONCURRENCY) != CONCURRENCY:
        return {}
    aim = _read_count(Origin(document, (*annotations, TARGET)))
    return {"replica_requests_target": aim} if aim else {}


def _read_limit(document: Document, path: Path) -> dict[str, Field]:
    """Return a hard limit; zero is none."""
    limit = _read_count(Origin(document, path))
    return {"replica_requests_limit": limit} if limit else {}


def _read_count(origin: Origin) -> Field | None:
    value = origin.document.get(origin.path)
    if isinstance(value, bool) or not re.fullmatch(r"\d{1,9}(?:\.0+)?", str(value)) or not float(str(value)):
        return None
    return Field(int(float(str(value))), (origin,))


def _list_metadata(value: object, path: Path, depth: int) -> Iterator[Path]:
    """Yield the paths of labels and annotations."""
    for key, inner in _list_items(value) if depth else ():
        if key in ("labels", "annotations") and isinstance(inner, dict):
            yield (*path, key)
        else:
            yield from _list_metadata(inner, (*path, key), depth - 1)


def _list_items(value: object) -> Iterator[tuple[str | int, object]]:
    if isinstance(value, dict):
        yield from ((str(key), inner) for key, inner in value.items())
    elif isinstance(value, list):
        yield from enumerate(value)
