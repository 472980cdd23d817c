"""Measured speeds as gpulint is told them: the hardware's words become a role, and each kind of case its own figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import figures
import hardware_words
import model_words
import throughput_links
import throughput_runs
import throughput_serving
from figures import Asked, Case

KINDS: Mapping[str, Callable[[Case, figures.Fields], Iterator[Asked]]] = {
    "matmul_peak": throughput_links.products,
    "host_link": throughput_links.host,
    "p2p": throughput_links.pairs,
    "collective": throughput_links.collectives,
    "power": throughput_serving.power,
}
"""Kinds of cases that are no runs."""


class Told(NamedTuple):
    """The figures of a case that we know the meaning of, or why there are none."""

    asked: tuple[Asked, ...]
    reason: str = ""


def asked(case: Case) -> Told:
    """The figures of a case with what we say of them."""
    fields = hardware_words.fields(str(case["hardware"]))
    if fields is None:
        return Told((), f"the catalog has no card of the words {case['hardware']}")
    return Told(tuple(KINDS.get(str(case["kind"]), _run)(case, fields)))


def _run(case: Case, fields: figures.Fields) -> Iterator[Asked]:
    """A training run, or a server that decodes."""
    measured = case["measured"]
    assert isinstance(measured, Mapping)
    resolved = model_words.resolved(str(figures.config(case).get("model", "")))
    if "tokens_per_s" in measured and case["kind"] != "training_throughput":
        return throughput_serving.decoded(case, fields, resolved)
    return throughput_runs.runs(case, fields)
