"""The size of a service: smaller hardware is named where no load is declared, and fewer ranks where one is."""

from __future__ import annotations

import pytest
import samples

from gpulint.catalog.offers import Available, Pool
from gpulint.report.model import Finding

SERVICE = """\
apiVersion: apps/v1
kind: {kind}
metadata:
  name: chat
  annotations: {{{said}}}
spec:
  replicas: {replicas}
  template:
    spec:
      nodeSelector: {{{selector}}}
      containers:
        - name: server
          image: vllm/vllm-openai:v0.11.0
          args: [{arguments}]
          resources: {{limits: {{nvidia.com/gpu: {gpus}}}}}
          volumeMounts: [{{name: shm, mountPath: /dev/shm}}, {{name: weights, mountPath: /root/.cache/huggingface}}]
      volumes:
        - {{name: shm, emptyDir: {{medium: Memory}}}}
        - {{name: weights, persistentVolumeClaim: {{claimName: weights}}}}
"""
OWN = "nvidia.com/gpu.product: NVIDIA-H100-80GB-HBM3"
AWS, AZURE = (f"node.kubernetes.io/instance-type: {name}" for name in ("p5.48xlarge", "Standard_ND96isr_H100_v5"))
L4 = "cloud.google.com/gke-accelerator: nvidia-l4"
SMALL = "--model=Qwen/Qwen3-0.6B, --max-model-len=8192"
MIDDLE = "--model=Qwen/Qwen2.5-1.5B-Instruct, --max-model-len=8192"
LARGE = "--model=Qwen/Qwen3-8B, --max-model-len=8192"
SIZE = frozenset({"gpus-beyond-model", "gpus-beyond-batch-limit", "data-parallel-beyond-load", "replicas-beyond-load"})
USUAL = 'gpulint/prompt-tokens: "2000", gpulint/output-tokens: "300"'


def service(arguments: str, replicas: int = 1, gpus: int = 1, selector: str = OWN, said: str = "") -> str:
    return SERVICE.format(
        kind="Deployment", arguments=arguments, replicas=replicas, gpus=gpus, selector=selector, said=said
    )


def find_size(spec: str, available: Available | None = None) -> list[Finding]:
    given = {} if available is None else {"available": available}
    return [one for one in samples.report(spec, **given).open if one.rule in SIZE]


@pytest.mark.parametrize(
    ("spec", "hardware"),
    [
        (
            service(f"{MIDDLE}, --tensor-parallel-size=4, --data-parallel-size=2", gpus=8),
            "smallest that fits: 1 × L4 24GB, $0.71/h (list, gcp us-central1 2026-08-03)",
        ),
        (service(SMALL, 8), "smallest that fits: 1 × L4 24GB, $0.71/h (list, gcp us-central1 2026-08-03)"),
        (service(SMALL, 8, selector=AWS), "smallest that fits: 1 × L4 24GB, $0.80/h (list, aws us-east-1 2026-07-20)"),
    ],
    ids=["data parallelism", "replicas", "replicas in a cloud where an L4 does no more work for its price"],
)
def test_without_a_load_the_smallest_hardware_and_its_price_are_named(spec: str, hardware: str) -> None:
    (found,) = find_size(spec)
    assert (found.rule, found.severity.word) == ("gpus-beyond-model", "note")
    assert found.arithmetic[-1] == hardware
    assert found.suggestions == ()


def test_the_stated_batch_limit_is_the_largest_load() -> None:
    (found,) = find_size(service(f"{LARGE}, --max-num-seqs=4", 8))
    assert found.rule == "gpus-beyond-batch-limit"
    assert "runs at most 32 requests at once" in found.message
    assert found.arithmetic[-1].startswith("smallest that fits: 1 × ")


SCALER = """\
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: chat}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: chat}
  minReplicas: 8
  maxReplicas: 16
  metrics: [{type: Pods, pods: {metric: {name: "vllm:num_requests_running"}, target: {type: AverageValue, averageValue: "20"}}}]
"""
PLAUSIBLE = {
    "two replicas for availability": service(SMALL, 2),
    "three GPUs": service(SMALL, 3),
    "an autoscaler whose minimum this is": service(SMALL, 8) + SCALER,
    "a machine that is sold with eight of these GPUs only": service(SMALL, 8, selector=AZURE),
    "small GPUs": service(SMALL, 8, selector=L4),
    "a model that takes a fifth of a GPU": service(LARGE, 8),
    "a batch limit that all GPUs need": service(f"{LARGE}, --max-num-seqs=64", 8),
    "a load that the replicas carry": service(SMALL, 8, said=f'gpulint/concurrency: "2000", {USUAL}'),
    "a stated time per token": service(SMALL, 8, said=f"gpulint/tpot: 2ms, {USUAL}"),
    "a test by its name": service(SMALL, 8).replace("name: chat\n", "name: scale-test\n"),
    "adapters of many customers": service(f"{SMALL}, --enable-lora", 8),
}


@pytest.mark.parametrize("spec", PLAUSIBLE.values(), ids=PLAUSIBLE.keys())
def test_a_plausible_size_is_left_alone(spec: str) -> None:
    assert find_size(spec) == []


@pytest.mark.parametrize(("line", "is_named"), [("#SBATCH --exclusive", False), ("#SBATCH --mem=64G", True)])
def test_a_job_that_takes_a_whole_node_cannot_take_less(line: str, is_named: bool) -> None:
    text = (
        f"#!/bin/bash\n#SBATCH --nodes=1\n#SBATCH --gres=gpu:h100:8\n#SBATCH --time=08:00:00\n{line}\n"
        "vllm serve Qwen/Qwen2.5-1.5B-Instruct --tensor-parallel-size 4 --data-parallel-size 2 --max-model-len 8192\n"
    )
    assert bool(find_size(text)) is is_named


@pytest.mark.parametrize(
    ("path", "is_named"),
    [
        ("deploy/chat.yaml", True),
        ("latest/chat.yaml", True),
        ("sample.yaml", True),
        ("tests/e2e/chat.yaml", False),
        ("benchmarks/chat.yaml", False),
        ("perf-scaling/chat.yaml", False),
        ("examples/chat.yaml", False),
    ],
)
def test_tests_and_examples_may_need_their_gpus(path: str, is_named: bool) -> None:
    found = samples.report(service(SMALL, 8), path).open
    assert ("gpus-beyond-model" in {one.rule for one in found}) is is_named


def test_a_team_that_has_no_smaller_machine_hears_nothing() -> None:
    machines = Available(pools=(Pool("ours", "h100-sxm-80gb", 8),), pools_only=True)
    assert find_size(service(SMALL, 8), machines) == []
    assert [one.arithmetic[-1] for one in find_size(service(SMALL, 16), machines)] == [
        "smallest that fits: 1 × H100 SXM5 80GB of ours"
    ]


def test_data_parallelism_is_compared_with_the_declared_load() -> None:
    parallel = f"{LARGE}, --data-parallel-size=4"
    (found,) = find_size(service(parallel, gpus=4, said=f'gpulint/concurrency: "8", {USUAL}'))
    assert (found.rule, found.severity.word) == ("data-parallel-beyond-load", "warning")
    assert [one.title for one in found.suggestions] == ["data parallel 1 on 1 GPU"]
    assert find_size(service(parallel, gpus=4, said=f'gpulint/concurrency: "500", {USUAL}')) == []
    assert find_size(service(parallel, gpus=4)) == []
