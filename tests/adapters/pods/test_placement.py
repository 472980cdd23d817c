"""Placement: label values that no driver or cloud writes, and the listed value nearest to each."""

from __future__ import annotations

import pytest
from reading import role

from gpulint.catalog import hardware
from gpulint.workload import Role

PRODUCT, GKE = "nvidia.com/gpu.product", "cloud.google.com/gke-accelerator"


def selecting(key: str, value: str) -> Role:
    """The role of a pod that selects nodes by one label."""
    return role(
        f"""
        apiVersion: v1
        kind: Pod
        metadata: {{name: chat}}
        spec:
          nodeSelector: {{{key}: "{value}"}}
          containers:
            - name: server
              image: vllm/vllm-openai:v0.10.1
              args: [--model=Qwen/Qwen3-8B]
              resources: {{limits: {{nvidia.com/gpu: 1}}}}
        """
    )


def required(values: str, terms: str = "") -> Role:
    """The role of a pod whose required affinity lists product values."""
    return role(
        f"""
        apiVersion: v1
        kind: Pod
        metadata: {{name: chat}}
        spec:
          affinity:
            nodeAffinity:
              requiredDuringSchedulingIgnoredDuringExecution:
                nodeSelectorTerms:
                  - matchExpressions: [{{key: nvidia.com/gpu.product, operator: In, values: [{values}]}}]
                  {terms}
          containers:
            - name: server
              image: vllm/vllm-openai:v0.10.1
              args: [--model=Qwen/Qwen3-8B]
              resources: {{limits: {{nvidia.com/gpu: 1}}}}
        """
    )


MUST_SPEAK = [
    # llm-d-planner and many blogs write these; drivers print the right-hand side.
    (PRODUCT, "NVIDIA-H200-141GB-HBM3", "NVIDIA-H200"),
    (PRODUCT, "NVIDIA-L40-48GB", "NVIDIA-L40"),
    (PRODUCT, "NVIDIA-H100-SXM4-80GB", "NVIDIA-H100-80GB-HBM3"),
    (PRODUCT, "NVIDIA-H100-SXM5-80GB", "NVIDIA-H100-80GB-HBM3"),
    (PRODUCT, "NVIDIA-H100-80GB-HBM3e", "NVIDIA-H100-80GB-HBM3"),
    (PRODUCT, "NVIDIA-H100-PCIE-80GB", "NVIDIA-H100-PCIe"),
    (PRODUCT, "NVIDIA-A100-PCIE-80GB", "NVIDIA-A100-80GB-PCIe"),
    (PRODUCT, "NVIDIA-V100-SXM2-16GB", "Tesla-V100-SXM2-16GB"),
    (PRODUCT, "NVIDIA-T4", "Tesla-T4"),
    (PRODUCT, "NVIDIA-Tesla-T4", "Tesla-T4"),
    (PRODUCT, "nvidia-l4", "NVIDIA-L4"),
    (PRODUCT, "NVIDIA-A10G-24GB", "NVIDIA-A10G"),
    (PRODUCT, "NVIDIA-RTX-4090", "NVIDIA-GeForce-RTX-4090"),
    (PRODUCT, "NVIDIA-T4-SHARED", "Tesla-T4"),
    (GKE, "nvidia-h100", "nvidia-h100-80gb"),
    (GKE, "nvidia-h200", "nvidia-h200-141gb"),
    (GKE, "nvidia-t4", "nvidia-tesla-t4"),
    (GKE, "nvidia-tesla-l4", "nvidia-l4"),
    (GKE, "nvidia-a100-40gb", "nvidia-tesla-a100"),
    (GKE, "nvidia-tesla-a100-80gb", "nvidia-a100-80gb"),
]


@pytest.mark.parametrize(("key", "value", "nearest"), MUST_SPEAK)
def test_a_value_that_nothing_writes_names_the_nearest_that_is_written(key: str, value: str, nearest: str) -> None:
    found = selecting(key, value)
    assert (found.text("unmatched_label"), found.text("nearest_label")) == (value, nearest)
    assert "is unknown" in getattr(found.value("accelerator"), "reason", "")


MUST_STAY_SILENT = [
    (PRODUCT, "NVIDIA-H100-80GB-HBM3"),
    (PRODUCT, "NVIDIA-A100-SXM4-80GB-MIG-1g.10gb"),
    (PRODUCT, "NVIDIA-A100-SXM4-80GB-MIG-1g.10gb.me-SHARED"),
    (PRODUCT, "NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition-MIG-1g.24gb.me.all"),
    (PRODUCT, "Tesla-T4-SHARED"),
    # Names of NVIDIA's list of supported GPUs that the catalog cannot tell apart or lacks.
    (PRODUCT, "NVIDIA-H100"),
    (PRODUCT, "NVIDIA-H20-3e"),
    (PRODUCT, "NVIDIA-A100-SXM-64GB"),
    (PRODUCT, "NVIDIA-GeForce-RTX-3080"),
    (PRODUCT, "NVIDIA-RTX-4500-Ada-Generation"),
    (PRODUCT, "NVIDIA-GeForce-RTX-4090-Laptop-GPU"),
    # Could be several.
    (PRODUCT, "NVIDIA-A100"),
    (PRODUCT, "NVIDIA-V100"),
    (PRODUCT, "NVIDIA-A100-80GB"),
    (PRODUCT, "Tesla-V100-SXM3-32GB"),
    (PRODUCT, "Tesla-V100-SXM2-16GB-LS"),
    # Memory of no such product, a product of tomorrow, a virtual GPU, a name of one's own.
    (PRODUCT, "NVIDIA-B200-192GB"),
    (PRODUCT, "NVIDIA-H100-96GB-HBM3"),
    (PRODUCT, "NVIDIA-R100"),
    (PRODUCT, "NVIDIA-H200-Ultra"),
    (PRODUCT, "NVIDIA-A100-40C"),
    (PRODUCT, "GRID-A100-40C"),
    (PRODUCT, "NVIDIA-RTX-Pro-6000-Blackwell-DC-48C"),
    (PRODUCT, "h100"),
    (PRODUCT, "GeForce-RTX-3090"),  # as drivers before 470 wrote it
    (PRODUCT, "NVIDIA-H100-80GB-HBM3-MIG-INVALID"),  # as GPU feature discovery writes slices of several sizes
    (PRODUCT, "big-gpu"),
    # Not yet filled in.
    (PRODUCT, "${GPU_TYPE}"),
    (PRODUCT, "NVIDIA-$(MODEL)"),
    (PRODUCT, "<gpu product>"),
    (PRODUCT, ""),
    (GKE, "__ACCELERATOR_TYPE__"),
    (GKE, "nvidia-l4"),
    (GKE, "nvidia-l4-vws"),
    (GKE, "nvidia-b300"),
    (GKE, "tpu-v5-lite-podslice"),
    # Keys of which the catalog does not have every value.
    ("gpu.nvidia.com/class", "NVIDIA-T4"),
    ("karpenter.k8s.aws/instance-gpu-name", "nvidia-t4"),
    ("acme.example/gpu", "NVIDIA-T4"),
]


@pytest.mark.parametrize(("key", "value"), MUST_STAY_SILENT)
def test_a_value_that_may_be_written_or_is_near_to_none_stays_silent(key: str, value: str) -> None:
    found = selecting(key, value)
    assert "unmatched_label" not in found.fields and "nearest_label" not in found.fields


def test_no_listed_value_and_no_name_of_the_drivers_is_unmatched() -> None:
    listed = {(key, value) for key, value in hardware.labels() if key in (PRODUCT, GKE)}
    for key, value in [*sorted(listed), *((PRODUCT, name) for name in sorted(hardware.product_labels()))]:
        assert "unmatched_label" not in selecting(key, value).fields, value


def test_the_only_value_of_a_required_affinity_counts_too() -> None:
    assert required("NVIDIA-T4").text("nearest_label") == "Tesla-T4"


def test_one_of_several_values_or_terms_stays_silent_because_another_may_match() -> None:
    assert "unmatched_label" not in required("NVIDIA-T4, Tesla-T4").fields
    other = "- matchExpressions: [{key: nvidia.com/gpu.product, operator: In, values: [Tesla-T4]}]"
    assert "unmatched_label" not in required("NVIDIA-T4", other).fields
