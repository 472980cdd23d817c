"""Specs in which one value at a time is empty, or missing with its key, and what a report says of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from folders import ROOT
from samples import ExampleRepository

from gpulint import adapters
from gpulint.pipeline import check
from gpulint.pipeline.rule_tests import samples
from gpulint.policy.resolved import ResolvedPolicy
from gpulint.policy.rules import rule
from gpulint.report.model import Location, Report
from gpulint.source import documents
from gpulint.source.repository import Source

Leaf = tuple[str | int, ...]
SPECS = ("examples/*.yaml", "formats/*")
PLACES = frozenset({"location", "label", "related", "fingerprint", "arithmetic", "suggestions", "subject", "hints"})
"""What of a record may differ, because it is about where something is written."""

MISSING = object()


class Spec(NamedTuple):
    """A spec as data: its path, its documents, and the adapters that claim them."""

    path: str
    parts: tuple[object, ...]
    claimed: tuple[str, ...]


class Case(NamedTuple):
    """A scalar of a spec: in which document it is, and the keys that lead to it."""

    spec: Spec
    part: int
    leaf: Leaf

    @property
    def name(self) -> str:
        """The adapter and the keys, without the numbers of list items."""
        keys = ".".join("[]" if isinstance(key, int) else key for key in self.leaf)
        return f"{self.spec.claimed[self.part]} {keys}"


def collect() -> Iterator[Case]:
    """Yield every scalar under a key of every YAML spec of the examples, the formats and the rules."""
    for path, content in dict.fromkeys(_list_sources()):
        loaded = documents.load(path, content).documents
        if not loaded or any(document.format != "yaml" for document in loaded):
            continue
        spec = Spec(path, tuple(document.data for document in loaded), tuple(map(_find_adapter, loaded)))
        for part, data in enumerate(spec.parts):
            if spec.claimed[part]:
                yield from (Case(spec, part, leaf) for leaf in _list_leaves(data))


def _list_sources() -> Iterator[tuple[str, bytes]]:
    for pattern in SPECS:
        for place in sorted(ROOT.glob(pattern)):
            text = place.read_text(encoding="utf-8")
            yield (samples.find_path(text) if text.startswith("# ") else place.name), text.encode()
    for known in rule.load_shipped().values():
        for side in rule.load_examples(known).values():
            for text in side:
                yield from ((file.path, file.text.encode()) for file in samples.split_files(str(text)))


def _find_adapter(document: documents.Document) -> str:
    adapter = adapters.find_adapter(document)
    return adapters.name(adapter) if adapter else ""


def _list_leaves(value: object, leaf: Leaf = ()) -> Iterator[Leaf]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if not isinstance(inner, dict | list) and inner is not None:
                yield (*leaf, key)
            yield from _list_leaves(inner, (*leaf, key))
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield from _list_leaves(inner, (*leaf, at))


def report(case: Case, *, is_missing: bool) -> Report:
    """The report on a spec whose scalar is empty, or missing with its key."""
    return _report(case, MISSING if is_missing else None)


def report_empty_text(case: Case) -> Report:
    """The report on a spec whose scalar is a text without characters."""
    return _report(case, "")


def _report(case: Case, instead: object) -> Report:
    parts = list(case.spec.parts)
    parts[case.part] = _replace(parts[case.part], case.leaf, instead)
    text = "---\n".join(f"{json.dumps(part, indent=1, default=str)}\n" for part in parts)
    rules = tuple(rule.load_shipped().values())
    policy = ResolvedPolicy(rules, tuple(rule.load_shipped()), alternatives=False)
    return check.check_files([Source(case.spec.path, text.encode())], ExampleRepository(), policy)


def _replace(value: object, leaf: Leaf, instead: object) -> object:
    """Return a value in which something stands instead of one scalar."""
    if not leaf:
        return instead
    key, *deeper = leaf
    if isinstance(value, list):
        return [_replace(inner, tuple(deeper), instead) if at == key else inner for at, inner in enumerate(value)]
    assert isinstance(value, dict)
    changed = {name: _replace(inner, tuple(deeper), instead) if name == key else inner for name, inner in value.items()}
    return {name: inner for name, inner in changed.items() if inner is not MISSING}


def describe(found: Report) -> object:
    """A report without the places of what it says."""
    return _drop_places(
        (found.findings, found.workloads, found.skipped, found.failures, found.documents, found.facilities)
    )


def _drop_places(value: object) -> object:
    if isinstance(value, Location):
        return ""
    if hasattr(value, "_asdict"):
        kept = {name: inner for name, inner in value._asdict().items() if name not in PLACES}
        return (type(value).__name__, _drop_places(kept))
    if isinstance(value, Mapping):
        return {str(key): _drop_places(inner) for key, inner in value.items() if key != "line"}
    return [_drop_places(inner) for inner in value] if isinstance(value, list | tuple) else value
