"""What is not read although it states GPUs is reported at its line."""

from __future__ import annotations

import pytest
import samples

OBJECT = """\
apiVersion: example.com/v1
kind: Model
spec:
  size: 1
  resources:
    limits:
      cpu: 4
      nvidia.com/gpu: 8
"""
SETTINGS = """\
name: run
model:
  path: dsr1
resources:
  nodes: 2
  tensor_parallel_size: 8
"""


@pytest.mark.parametrize(
    ("text", "cause", "line"),
    [
        pytest.param(OBJECT, "kind", 8, id="an object of an unknown kind"),
        pytest.param(SETTINGS, "settings", 6, id="settings of an unknown format"),
        pytest.param("a:\n  - b: 1\n  - num_gpus: 2\n    c: 3\n", "settings", 3, id="in a list"),
    ],
)
def test_the_line_that_states_gpus_is_given(text: str, cause: str, line: int) -> None:
    (skip,) = samples.report(text, path="file.yaml").skipped
    assert (skip.cause, skip.line) == (cause, line)
