"""A container without GPUs is checked for what its variables and its words state."""

from __future__ import annotations

from pathlib import Path

import gpulint

SUBMITTER = """\
apiVersion: v1
kind: Pod
metadata: {name: submit}
spec:
  containers:
    - name: submit
      image: registry.example/submit:v1
      command: COMMAND
      env:
        - {name: NAME, value: VALUE}
"""
MPI = """\
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: pretrain}
spec:
  slotsPerWorker: 8
  mpiReplicaSpecs:
    Launcher:
      replicas: 1
      template:
        spec:
          containers:
            - name: launcher
              image: registry.example/train:v1
              command: [mpirun, -np, "16", -x, NCCL_SOCKET_IFNAM=eth0, -x, NCCL_IB_DISABLE=true, python, train.py]
              env:
                - {name: NCCL_DEBUGG, value: INFO}
    Worker:
      replicas: 2
      template:
        spec:
          nodeSelector: {node.kubernetes.io/instance-type: p5.48xlarge}
          containers:
            - name: worker
              image: registry.example/train:v1
              resources: {limits: {nvidia.com/gpu: 8}}
"""


def find(folder: Path, text: str) -> list[tuple[str, int]]:
    (folder / "pod.yaml").write_text(text)
    report = gpulint.check(folder / "pod.yaml")
    assert report.failures == ()
    return [(finding.rule, finding.location.line) for finding in report.open]


def submit(
    folder: Path, name: str, value: str, command: str = "[torchrun, --nnodes=2, train.py]"
) -> list[tuple[str, int]]:
    text = SUBMITTER.replace("COMMAND", command).replace("NAME", name).replace("VALUE", value)
    return find(folder, text)


def test_a_misspelt_variable_of_a_submitter_is_found(tmp_path: Path) -> None:
    assert submit(tmp_path, "NCCL_SOCKET_IFNAM", "eth0") == [("variable-misspelt", 10)]


def test_an_impossible_value_of_a_submitter_is_found(tmp_path: Path) -> None:
    assert submit(tmp_path, "NCCL_IB_DISABLE", '"true"') == [("variable-value-impossible", 10)]


def test_a_reference_that_no_shell_reads_is_found_in_the_words_of_a_launcher(tmp_path: Path) -> None:
    found = submit(tmp_path, "OUT", "/out", "[mpirun, -np, '8', python, train.py, --out, $OUT]")
    assert found == [("reference-not-expanded", 8)]


def test_a_submitter_without_a_mistake_has_no_finding(tmp_path: Path) -> None:
    assert submit(tmp_path, "NCCL_SOCKET_IFNAME", "eth0") == []


def test_a_program_that_starts_no_ranks_may_expand_references_itself(tmp_path: Path) -> None:
    assert submit(tmp_path, "NCCL_DEBUG_OUT", "/out", "[./report, $NCCL_DEBUG_OUT]") == []


def test_every_mistake_of_an_mpi_launcher_is_found_once(tmp_path: Path) -> None:
    found = [entry for entry in find(tmp_path, MPI) if entry[0].startswith("variable")]
    assert sorted(found, key=lambda entry: (entry[1], entry[0])) == [
        ("variable-misspelt", 14),
        ("variable-value-impossible", 14),
        ("variable-misspelt", 16),
    ]
