"""Classes of mistakes in judgement that unseen repositories once showed: each must stay right."""

from __future__ import annotations

from pathlib import Path

import gpulint
from gpulint.report.model import Report, Severity

RACK = """\
apiVersion: gpulint/v1
kind: Facility
metadata: {name: hall}
spec:
  racks:
    - name: a1
      cooling: rear-door
      cooling_capacity: CAPACITY
      servers: [{type: dgx-h100, count: 3}]
"""
LORA = """\
base_model: Qwen/Qwen2.5-14B-Instruct
datasets: [{path: tatsu-lab/alpaca, type: alpaca}]
sequence_len: 32768
sample_packing: false
micro_batch_size: 1
gradient_accumulation_steps: 8
num_epochs: 1
adapter: lora
lora_r: 16
lora_alpha: 32
lora_target_linear: true
bf16: true
gradient_checkpointing: true
# gpulint: accelerator=H100-SXM-80GB gpus=1
"""
LATENT = """\
apiVersion: v1
kind: Pod
metadata:
  name: agent
  annotations: {gpulint/tpot: 20ms, gpulint/concurrency: "32", gpulint/prompt-tokens: "2000", gpulint/output-tokens: "500"}
spec:
  nodeSelector: {node.kubernetes.io/instance-type: p5.48xlarge}
  containers:
    - name: server
      image: vllm/vllm-openai:v0.20.0
      args: [--model=nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-BF16, --max-model-len=32768, --tensor-parallel-size=8]
      resources: {limits: {nvidia.com/gpu: 8}}
"""
SLICING = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: time-slicing-config, namespace: gpu-operator}
data:
  tesla-t4: |-
    version: v1
    sharing:
      timeSlicing:
        resources:
          - name: nvidia.com/gpu
            replicas: 4
"""
UNSHARED = """\
apiVersion: v1
kind: Pod
metadata: {name: chat}
spec:
  nodeSelector: {nvidia.com/gpu.product: NVIDIA-A100-SXM4-40GB}
  containers:
    - name: server
      image: vllm/vllm-openai:v0.11.0
      args: [--model=Qwen/Qwen2.5-72B-Instruct, --max-model-len=4096]
      resources: {limits: {nvidia.com/gpu: 1}}
"""
SAMPLES = """\
model_name_or_path: Qwen/Qwen2.5-7B-Instruct
stage: sft
do_train: true
finetuning_type: lora
lora_target: all
dataset: identity
template: qwen
cutoff_len: 2048
LINE
output_dir: out
per_device_train_batch_size: 1
gradient_accumulation_steps: 8
learning_rate: 1.0e-4
num_train_epochs: 3.0
bf16: true
"""


def check(folder: Path, **files: str) -> Report:
    for name, text in files.items():
        (folder / name.replace("_", ".", 1)).write_text(text)
    report = gpulint.check(folder)
    assert report.failures == ()
    return report


def errors(report: Report) -> list[str]:
    return [finding.rule for finding in report.open if finding.severity is Severity.ERROR]


def rules(report: Report) -> list[str]:
    return [finding.rule for finding in report.open]


def test_a_node_count_that_a_launcher_supplies_is_not_one(tmp_path: Path) -> None:
    run = (
        "#!/bin/bash\ntorchrun --nnodes=$NNODES --nproc_per_node=8 --master_addr=$MASTER_ADDR run_clm.py"
        " --model_name_or_path Qwen/Qwen2.5-72B-Instruct --output_dir out --bf16 True"
        " --per_device_train_batch_size 1\n# gpulint: accelerator=H100-SXM-80GB\n"
    )
    report = check(tmp_path, run_sh=run)
    assert errors(report) == []
    assert not report.workloads[0].roles[0].verdict.startswith("does not fit")


def test_a_retired_switch_with_the_number_zero_is_set(tmp_path: Path) -> None:
    text = SAMPLES.replace("stage: sft\n", "").replace("finetuning_type: lora\n", "").replace("lora_target: all\n", "")
    text = text.replace("template: qwen\ncutoff_len: 2048\nLINE\n", "past_index: 0\n").replace(
        "dataset: identity\n", ""
    )
    assert "setting-retired" in rules(check(tmp_path, train_yaml=text))


def test_the_literal_first_rank_meets_at_its_own_address(tmp_path: Path) -> None:
    command = "#!/bin/bash\ntorchrun --nnodes=2 --node_rank={} --nproc_per_node=8 --master_addr=localhost train.py\n"
    assert errors(check(tmp_path, first_sh=command.format(0))) == []


def test_another_literal_rank_does_not_meet_at_its_own_address(tmp_path: Path) -> None:
    command = "#!/bin/bash\ntorchrun --nnodes=2 --node_rank={} --nproc_per_node=8 --master_addr=localhost train.py\n"
    assert errors(check(tmp_path, second_sh=command.format(1))) == ["rendezvous-on-localhost"]


def test_a_cap_on_samples_is_no_length(tmp_path: Path) -> None:
    with_cap = check(tmp_path, train_yaml=SAMPLES.replace("LINE", "max_samples: 100000"))
    cap = [role.facts for workload in with_cap.workloads for role in workload.roles]
    without = check(tmp_path, train_yaml=SAMPLES.replace("LINE\n", ""))
    assert cap == [role.facts for workload in without.workloads for role in workload.roles]


def test_heat_between_two_rows_of_its_vendor_is_likely_only(tmp_path: Path) -> None:
    """3 DGX H100: 30.6 kW by their power, 33.9 kW by their BTU/h."""
    report = check(tmp_path, hall_yaml=RACK.replace("CAPACITY", "32 kW"))
    assert [(finding.rule, finding.severity) for finding in report.open if "heat" in finding.rule] == [
        ("rack-heat-over-cooling", Severity.WARNING)
    ]


def test_heat_above_both_rows_of_its_vendor_is_certain(tmp_path: Path) -> None:
    report = check(tmp_path, hall_yaml=RACK.replace("CAPACITY", "30 kW"))
    assert "rack-heat-over-cooling" in errors(report)


def test_slices_of_one_product_leave_the_count_of_another_known(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    assert "weights-exceed-memory" in errors(check(tmp_path, slicing_yaml=SLICING, pod_yaml=UNSHARED))


def test_unpacked_samples_below_a_long_limit_are_no_error(tmp_path: Path) -> None:
    assert errors(check(tmp_path, lora_yaml=LORA)) == []


def test_experts_in_a_narrower_space_have_a_time_per_token(tmp_path: Path) -> None:
    report = check(tmp_path, agent_yaml=LATENT)
    assert errors(report) == []
    assert "tpot-below-physics" not in rules(report)
