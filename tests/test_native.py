"""gpulint's own spec: what it states, and what keeps a file from being one."""

from __future__ import annotations

import textwrap

import pytest
import reading
from samples import report, roles

from gpulint.cli.scaffold import settings
from gpulint.report.model import Finding

SPEC = """\
apiVersion: gpulint/v1
kind: InferenceService
metadata:
  name: chat
spec:
  roles:
    - name: server
      engine: vllm
      checkpoint: Qwen/Qwen3-8B
      accelerator: l4
      gpus_per_pod: 2
      tensor_parallel: 2
      max_model_len: 32k
      host_memory_bytes: 80Gi
"""


def only(text: str) -> Finding:
    (finding,) = report(text).open
    return finding


def test_a_spec_states_quantities_in_the_glossarys_words() -> None:
    found = reading.role(SPEC)
    names = (
        "engine",
        "checkpoint",
        "accelerator",
        "gpus_per_pod",
        "tensor_parallel",
        "max_model_len",
        "host_memory_bytes",
    )
    assert reading.values(found, *names) == ["vllm", "Qwen/Qwen3-8B", "l4", 2, 2, 32_000, 85_899_345_920]
    assert reading.source(found, "max_model_len") == "32k"


def test_one_pod_and_one_replica_are_taken_where_nothing_else_is_said() -> None:
    names = ("gpus_per_replica", "pods_per_replica", "replicas")
    assert reading.values(reading.role(SPEC), *names) == [2, 1, 1]
    assert reading.values(reading.role(SPEC + "      pods_per_replica: 3\n"), *names) == [6, 3, 1]


def test_prefill_and_decode_are_roles_of_one_workload() -> None:
    found = reading.workload(SPEC + "    - name: decode\n      gpus_per_pod: 4\n")
    assert [one.name for one in found.roles] == ["server", "decode"]
    assert reading.values(found.roles[1], "gpus_per_replica") == [4]


def test_a_training_job_is_one() -> None:
    assert reading.workload(SPEC.replace("InferenceService", "TrainingJob")).kind == "training"


def test_the_shape_of_an_unlisted_checkpoint_can_be_stated() -> None:
    text = SPEC.replace("Qwen/Qwen3-8B", "ours/unlisted") + textwrap.indent(
        "architecture:\n  parameters: 8000000000\n  layers: 32\n", " " * 6
    )
    assert reading.values(reading.role(text), "parameters", "layers") == [8_000_000_000, 32]


def test_an_accelerator_that_the_catalog_lacks_is_unknown_and_no_error() -> None:
    text = SPEC.replace("accelerator: l4", "accelerator: l44")
    assert reading.values(reading.role(text), "accelerator") == ["unknown: the catalog has no accelerator l44"]
    assert report(text).open == ()


def test_the_spec_that_init_writes_is_right_and_fits() -> None:
    found = report(settings.SPEC)
    assert found.open == ()
    assert [role.verdict for role in roles(found)] == ["fits"]


@pytest.mark.parametrize(
    ("old", "new", "line", "column", "message"),
    [
        ("tensor_parallel: 2", "tensor_paralel: 2", 12, 7, "unknown key tensor_paralel; did you mean tensor_parallel?"),
        ("engine: vllm", "gpu_limit: 2", 8, 7, "unknown key gpu_limit"),
        ("gpus_per_pod: 2", "gpus_per_pod: many", 11, 21, 'gpus_per_pod: "many" is not a whole number such as 65536, 64k or 64K'),
        ("80Gi", "80GiB", 14, 26, 'host_memory_bytes: "80GiB" is not a quantity: the suffix "GiB" is unknown; write 80G or 80Gi'),
        ("tensor_parallel: 2", "tensor_parallel: [2]", 12, 7, "tensor_parallel: write a number"),
        ("kind: InferenceService", "kind: Service", 2, 7, "kind: write one of InferenceService, TrainingJob, Facility"),
        ("  name: chat", "  labels: {}", 3, 1, "name: is missing"),
    ],
)  # fmt: skip
def test_trouble_in_a_spec_is_a_finding_at_its_place(old: str, new: str, line: int, column: int, message: str) -> None:
    found = only(SPEC.replace(old, new))
    assert (found.rule, found.severity.word) == ("invalid-spec", "error")
    assert (found.location.line, found.location.column) == (line, column)
    assert found.message == message


def test_nothing_of_a_wrong_spec_is_checked() -> None:
    found = report(SPEC.replace("tensor_parallel: 2", "tensor_paralel: 2"))
    assert found.workloads == ()


def test_roles_must_be_at_least_one() -> None:
    assert only(
        "apiVersion: gpulint/v1\nkind: TrainingJob\nmetadata: {name: a}\nspec: {roles: []}\n"
    ).message.startswith("roles: ")


@pytest.mark.parametrize("version", ["gpulint/v2", "gpulint", "example.com/v1"])
def test_another_version_is_not_read_as_this_one(version: str) -> None:
    assert reading.workloads(SPEC.replace("gpulint/v1", version)) == []
