"""Alone: Python programs that no command of the repository starts, and modules whose caller is elsewhere."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpulint.adapters.programs import console_scripts
from gpulint.adapters.python import (
    alternatives,
    devices,
    entries,
    hardware,
    inference,
    loops,
    reading,
    releases,
    variables,
)
from gpulint.adapters.python.finding import Find
from gpulint.engines import Reading
from gpulint.source import python
from gpulint.source.documents import Document
from gpulint.source.python import Evaluated
from gpulint.source.python.values import Object, Place
from gpulint.source.repository import Repository, mentions
from gpulint.workload import Unknown

LOADS = re.compile(
    r"from_pretrained|\b(?:LLM|Engine|Llama|SentenceTransformer|CrossEncoder|WhisperModel|load_model|pipeline)\("
)
"""What a module that loads a model itself has."""
COMPUTING_MAX = 64
IMPORTERS_MAX = 6
"""The most programs that are read to see whether one of them uses a module."""
_computing: dict[str, tuple[Find, bool]] = {}
"""Which of the last programs that modules belong to compute something."""


def read(document: Document, repository: Repository) -> tuple[Evaluated, Reading | None]:
    """Return a program that nothing here starts, and what it computes."""
    find = Find(repository, document)
    pins = releases.read_files(document.path, repository)
    functions = console_scripts.find(document.path, repository)
    unstated = variables.Unstated(document.path, find.read)

    def read_way(ways: alternatives.Ways | None) -> tuple[Evaluated, list[Object], Reading | None]:
        evaluated = python.evaluate(
            document.path, find, None, {}, known=reading.KNOWN, ways=ways, functions=functions, unstated=unstated
        )
        calls = _list_reached(document, evaluated)
        found = reading.recognise_calls(calls, document, pins, evaluated.list_variables())
        found = devices.mark_automatic(reading.merge_files(found, document.path, repository), calls) if found else None
        return evaluated, calls, found

    def read_again(ways: alternatives.Ways) -> Reading | None:
        return read_way(ways)[2]

    evaluated, reached, found = read_way(None)
    if found is None or _is_of_importer(document, reached, pins, repository):
        return evaluated, None
    if _may_stay_on_cpu(found, reached):
        return evaluated, _place_on_cpu(found, reached, document)
    if (kept := devices.keep_on_cpu(found, reached)) is not None:
        return evaluated, kept
    return evaluated, alternatives.settle(found, reading.find_points(found, evaluated, read_again), read_again)


def _is_of_importer(document: Document, reached: Sequence[Object], pins: releases.Pins, repository: Repository) -> bool:
    """Return whether only functions that a framework calls compute something, and a program imports their module."""
    own = [call for call in reached if call.reached]
    if len(own) == len(reached) or reading.recognise_calls(own, document, pins) is not None:
        return False
    return _is_used(document, repository)


def read_uncalled(document: Document, evaluated: Evaluated, repository: Repository) -> Reading | None:
    """Return what the functions and classes of a module compute whose caller is not in the repository.

    Their arguments have their defaults. A module belongs to a program that imports it and computes something. A test
    computes nothing.
    """
    if mentions.is_test(document.path) or "pytest" in document.text or not LOADS.search(document.text):
        return None
    evaluated.enter_rest(document.path)
    calls = [call for call in evaluated.calls if isinstance(call.place, Place) and call.place.document is document]
    pins, stated = releases.read_files(document.path, repository), evaluated.list_variables()
    found = reading.recognise_calls(calls, document, pins, stated)
    if found is None or _may_stay_on_cpu(found, calls):
        return None
    checkpoint = found.fields.get("checkpoint")
    if checkpoint is None or isinstance(checkpoint.value, Unknown):
        return None
    return None if _is_used(document, repository) else reading.merge_files(found, document.path, repository)


def _is_used(document: Document, repository: Repository) -> bool:
    """Return whether a module belongs to a program that imports it and computes something."""
    importers = repository.list_importers(document.path)[:IMPORTERS_MAX]
    return any(_computes_alone(path, repository) for path in importers)


def _computes_alone(path: str, repository: Repository) -> bool:
    """Return whether a program that nothing here starts computes something; each is read once."""
    known = _computing.get(path)
    if known is not None and known[0].is_same(repository):
        return known[1]
    document, found = next(iter(repository.read_documents(path)), None), None
    find = Find(repository, document)
    if document is not None:
        functions = console_scripts.find(path, repository)
        evaluated = python.evaluate(path, find, None, {}, known=reading.KNOWN, functions=functions)
        reached = _list_reached(document, evaluated)
        found = reading.recognise_calls(reached, document, releases.read_files(path, repository))
        found = None if found is not None and _may_stay_on_cpu(found, reached) else found
    while len(_computing) >= COMPUTING_MAX:
        del _computing[next(iter(_computing))]
    _computing[path] = find, found is not None
    return found is not None


def _list_reached(document: Document, evaluated: Evaluated) -> list[Object]:
    """Return the calls of a program that nothing here starts: its own, and those of functions that a framework calls."""
    nodes = entries.find_nodes(document, evaluated)
    if nodes:
        evaluated.enter_rest()
    return [call for call in evaluated.calls if call.reached or nodes & set(call.within)]


def _may_stay_on_cpu(found: Reading, calls: Sequence[Object]) -> bool:
    """Return whether a program may compute on the processor, or only load, merge or convert a model."""
    if hardware.is_on_cpu(calls):
        return True
    task = found.fields.get("task")
    known = found.fields.keys() & {"checkpoint", "network", "sharding"}
    engine = found.fields.get("engine")
    if task is not None and task.value == "training" and not known and (engine is None or engine.value == loops.ENGINE):
        return not inference.runs_on_gpu(calls)
    if reading.is_engineless(found):
        takes = inference.runs_on_gpu(calls) or devices.find_automatic(calls) is not None
        return not takes or inference.is_conversion(calls)
    return _has_no_layers(found)


def _has_no_layers(found: Reading) -> bool:
    layers = found.fields.get("gpu_layers")
    return layers is not None and layers.value == 0


def _place_on_cpu(found: Reading, calls: Sequence[Object], document: Document) -> Reading | None:
    """Return a program that certainly computes on the processor; None if it may only prepare something."""
    runs = reading.is_engineless(found) or _has_no_layers(found)
    is_test = mentions.is_test(document.path)
    return devices.place_on_cpu(found, calls) if runs and not is_test else None
