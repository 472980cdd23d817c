"""References and arithmetic of OmegaConf and Hydra in configurations, against omegaconf.readthedocs.io and hand arithmetic."""

from __future__ import annotations

import pytest

from gpulint.adapters.trainers import omegaconf
from gpulint.source import documents
from gpulint.source.documents import Document, Path
from gpulint.workload import Unknown

TEXT = """\
seq: 2048
trainer: {devices: 8, num_nodes: 4, precision: bf16}
model:
  tensor_model_parallel_size: 2
  pipeline_model_parallel_size: 4
  model_parallel_size: ${multiply:${.tensor_model_parallel_size}, ${.pipeline_model_parallel_size}}
  absolute: ${model.tensor_model_parallel_size}
  above: ${..seq}
  composed: ${training.model.pipeline_model_parallel_size}
  ceiled: ${divide_ceil:${..seq}, 1000}
  evaluated: ${eval:'${..seq} * 4 // 3'}
  text: run_${..seq}_x
  chosen: ${oc.select:model.missing,7}
  variable: ${oc.env:WORLD,16}
  unset: ${oc.env:WORLD}
  own: ${my_resolver:1}
  asked: ???
  loop: ${model.loop}
  nothing: ${model.absent}
  program: ${eval:'__import__("os").system("true")'}
  power: ${eval:'10 ** 99'}
list:
  - first
indexed: ${list[0]}
"""


@pytest.fixture
def document() -> Document:
    return documents.load("run.yaml", TEXT.encode()).documents[0]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("seq",), 2048),
        (("model", "model_parallel_size"), 8),
        (("model", "absolute"), 2),
        (("model", "above"), 2048),
        (("model", "composed"), 4),
        (("model", "ceiled"), 3),
        (("model", "evaluated"), 2730),
        (("model", "text"), "run_2048_x"),
        (("model", "chosen"), 7),
        (("model", "variable"), 16),
        (("indexed",), "first"),
    ],
)
def test_what_is_stated_is_resolved(document: Document, path: Path, value: object) -> None:
    assert omegaconf.value(document, path) == value


@pytest.mark.parametrize(
    ("key", "why"),
    [
        ("unset", "WORLD is set at launch"),
        ("own", "my_resolver is a resolver of the application"),
        ("asked", "asked must be given at launch"),
        ("loop", "model.loop has too many nested references"),
        ("nothing", "model.absent is defined elsewhere"),
    ],
)
def test_what_is_not_stated_is_unknown_with_its_reason(document: Document, key: str, why: str) -> None:
    found = omegaconf.value(document, ("model", key))
    assert isinstance(found, Unknown)
    assert found.reason == why


@pytest.mark.parametrize("key", ["program", "power"])
def test_nothing_but_arithmetic_is_evaluated(document: Document, key: str) -> None:
    found = omegaconf.value(document, ("model", key))
    assert isinstance(found, Unknown)
    assert "is not plain arithmetic" in found.reason
