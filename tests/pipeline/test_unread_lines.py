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


TEMPLATE = """\
Resources:
  Box:
    Type: AWS::EC2::Instance
    Properties:
      InstanceType: g5.xlarge
      ImageId: ami-1
"""
MACHINES = "head_node: {instance_type: m5.large}\nworker_nodes:\n  - instance_type: g5.xlarge\n"


@pytest.mark.parametrize(
    ("text", "cause", "line"),
    [
        pytest.param(OBJECT, "kind", 8, id="an object of an unknown kind"),
        pytest.param(SETTINGS, "settings", 6, id="settings of an unknown format"),
        pytest.param(TEMPLATE, "settings", 5, id="a machine of a template on which nothing runs"),
        pytest.param(MACHINES, "settings", 3, id="a compute configuration alone"),
        pytest.param("a:\n  - b: 1\n  - num_gpus: 2\n    c: 3\n", "settings", 3, id="in a list"),
    ],
)
def test_the_line_that_states_gpus_is_given(text: str, cause: str, line: int) -> None:
    (skip,) = samples.report(text, path="file.yaml").skipped
    assert (skip.cause, skip.line) == (cause, line)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(TEMPLATE.replace("g5.xlarge", "m5.large"), id="a machine without GPUs"),
        pytest.param(MACHINES.replace("g5.xlarge", "m5.large"), id="workers without GPUs"),
    ],
)
def test_what_states_no_gpus_is_not_reported(text: str) -> None:
    assert samples.report(text, path="file.yaml").skipped == ()
