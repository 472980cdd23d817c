"""Rules of a training run on inputs that are no samples: commands, files of trainers, and what must stay silent beside them."""

from __future__ import annotations

import pytest
from samples import report, severities


def slurm(arguments: str, gpus: int = 8, nodes: int = 1, launcher: str = "") -> tuple[str, str]:
    """A batch script that starts Megatron on nodes of eight GPUs."""
    start = launcher or f"torchrun --nproc_per_node {gpus} --nnodes {nodes}"
    head = f"#!/bin/bash\n#SBATCH --nodes={nodes}\n#SBATCH --ntasks-per-node=1\n#SBATCH --gres=gpu:8\n#SBATCH --time=10:00:00\n"
    return f"{head}srun {start} {arguments}\n", "train.slurm"


def megatron(more: str, **given: int) -> tuple[str, str]:
    """A run of Megatron-LM with a network and a batch."""
    network = (
        "--num-layers 30 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 --max-position-embeddings 4096"
    )
    return slurm(f"pretrain_gpt.py {network} --micro-batch-size 1 --sequence-parallel --bf16 {more}", **given)


def axolotl(more: str) -> tuple[str, str]:
    base = "datasets: [{path: data.jsonl, type: alpaca}]\nmicro_batch_size: 2\nnum_epochs: 1\nbf16: true\n"
    return f"{base}{more}", "config.yaml"


def trl(more: str) -> tuple[str, str]:
    base = (
        "model_name_or_path: Qwen/Qwen2.5-0.5B\ndataset_name: data\noutput_dir: out\nnum_train_epochs: 1\nbf16: true\n"
    )
    return f"{base}{more}", "sft.yaml"


def grpo(more: str) -> tuple[str, str]:
    """Eight ranks of one completion each, where every prompt is given sixteen."""
    given = "--model_name_or_path a/b --per_device_train_batch_size 1 --num_generations 16"
    return slurm(f"-m trl.scripts.grpo {given} {more}", launcher="torchrun --nproc_per_node 8")


def pytorch_job(elastic: str, command: str, ranks: str = "") -> tuple[str, str]:
    return (
        f"""apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {{name: train}}
spec:
{elastic}{ranks}
  pytorchReplicaSpecs:
    Worker:
      replicas: 2
      template:
        spec:
          nodeSelector: {{cloud.google.com/gke-accelerator: nvidia-h100-80gb}}
          containers:
            - name: pytorch
              image: registry.example/train:v1
              command: [{command}]
              resources: {{limits: {{nvidia.com/gpu: 1}}}}
""",
        "job.yaml",
    )


def elastic(least: int, most: int) -> str:
    metric = "{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}"
    return f"  elasticPolicy: {{rdzvBackend: c10d, minReplicas: {least}, maxReplicas: {most}, metrics: [{metric}]}}"


DEEPSPEED = (
    '{"train_micro_batch_size_per_gpu": 4, "fp16": {"enabled": true}, "bf16": {"enabled": true},'
    ' "zero_optimization": {"stage": 2}, "steps_per_print": 10}'
)
GPT2 = """max_seq_len: 2048
model: {{name: hf_causal_lm, pretrained_model_name_or_path: gpt2{overrides}}}
global_train_batch_size: 256
device_train_microbatch_size: 8
max_duration: 100ba
precision: amp_bf16
"""
CONVERSION = """run: {name: convert, huggingface_ckpt_path: ckpt, nemo_file_name: out.nemo}
trainer: {devices: 1, num_nodes: 1, precision: 32, max_steps: 1}
model: {micro_batch_size: 1, global_batch_size: 8, tensor_model_parallel_size: 1, pipeline_model_parallel_size: 16}
"""

SPEAKS = {
    "layers of a command": (megatron("--pipeline-model-parallel-size 8 --global-batch-size 64"), "stage-layers-uneven"),
    "batch of a command": (megatron("--tensor-model-parallel-size 2 --global-batch-size 30"), "batch-not-divisible"),
    "heads of a command": (megatron("--tensor-model-parallel-size 3", nodes=3), "query-heads-not-divisible"),
    "groups of a command": (
        megatron("--tensor-model-parallel-size 4 --num-query-groups 6"),
        "query-groups-not-divisible",
    ),
    "experts of a command": (megatron("--num-experts 6 --expert-model-parallel-size 4"), "experts-not-divisible"),
    "ranks of a command": (megatron("--tensor-model-parallel-size 8", nodes=1, gpus=4), "world-not-divisible"),
    "ranks without GPUs": (megatron("", gpus=16), "processes-exceed-gpus"),
    "GPUs without ranks": (megatron("", gpus=4), "gpus-without-process"),
    "two formats of a command": (megatron("--fp16"), "half-formats-both"),
    "two formats of DeepSpeed": ((DEEPSPEED, "ds.json"), "half-formats-both"),
    "8 bits without adapters": (
        axolotl("base_model: Qwen/Qwen2.5-0.5B\nload_in_8bit: true\nsequence_len: 2048\n"),
        "quantised-weights-trained-whole",
    ),
    "4 bits of a full fine-tune": (
        trl("finetuning_type: full\nstage: sft\ntemplate: qwen\nquantization_bit: 4\nper_device_train_batch_size: 1\n"),
        "quantised-weights-trained-whole",
    ),
    "packed under SDPA": (
        trl("per_device_train_batch_size: 1\npacking: true\nattn_implementation: sdpa\n"),
        "packing-mixes-samples",
    ),
    "learned positions": ((GPT2.format(overrides=""), "gpt2.yaml"), "sequence-beyond-positions"),
    "completions of a step": (grpo(""), "generations-not-divisible"),
    "the loss of long sequences": (
        axolotl(
            "# gpulint: gpus=1 accelerator=a100-sxm4-80gb\nbase_model: meta-llama/Llama-3.2-1B\nsequence_len: 22528\n"
            "sample_packing: true\ngradient_checkpointing: true\noptimizer: adamw_torch\n"
        ),
        "loss-dominates-memory",
    ),
    "an elastic run": (pytorch_job(elastic(1, 4), "torchrun, train.py"), "elastic-training-follows-cpu"),
}
SILENT = {
    "completions of a generation": (grpo("--steps_per_generation 2"), "generations-not-divisible"),
    "layers of the first stage are stated": (
        megatron("--pipeline-model-parallel-size 8 --decoder-first-pipeline-num-layers 2"),
        "stage-layers-uneven",
    ),
    "the embedding counts as a layer": (
        megatron("--pipeline-model-parallel-size 8 --account-for-embedding-in-pipeline-split"),
        "stage-layers-uneven",
    ),
    "Megatron-DeepSpeed shares layers out unevenly": (
        megatron("--deepspeed --pipeline-model-parallel-size 8"),
        "stage-layers-uneven",
    ),
    "experts differ by layer": (
        megatron("--deepspeed --num-experts 32 64 --moe-expert-parallel-size 64", nodes=8),
        "experts-not-divisible",
    ),
    "the batch is lowered": (
        megatron("--tensor-model-parallel-size 2 --global-batch-size 30 --decrease-batch-size-if-needed"),
        "batch-not-divisible",
    ),
    "the batch is the caller's": (megatron("--global-batch-size $GLOBAL_BATCH"), "batch-not-divisible"),
    "more may follow": (
        megatron("--tensor-model-parallel-size 2 --global-batch-size 30 $EXTRA_ARGS"),
        "sequence-parallel-off",
    ),
    "ranks are the caller's": (slurm("train.py", launcher="torchrun --nproc_per_node $RANKS"), "processes-exceed-gpus"),
    "ranks of MPI share cards": (slurm("lmp -in in.lj", launcher="mpirun -np 32"), "processes-exceed-gpus"),
    "one process over all cards": (slurm("train.py", launcher="python"), "gpus-without-process"),
    "a format is switched off": (
        slurm("run_clm.py --model_name_or_path a/b --do_train --bf16 True --fp16 False"),
        "half-formats-both",
    ),
    "adapters above 8 bits": (
        axolotl(
            "base_model: Qwen/Qwen2.5-0.5B\nload_in_8bit: true\nadapter: lora\nlora_r: 8\nlora_target_linear: true\n"
        ),
        "quantised-weights-trained-whole",
    ),
    "packed under FlashAttention": (
        trl("per_device_train_batch_size: 1\npacking: true\nattn_implementation: kernels-community/flash-attn2\n"),
        "packing-mixes-samples",
    ),
    "packed and cut": (
        trl("per_device_train_batch_size: 1\npacking: true\npacking_strategy: wrapped\n"),
        "packing-mixes-samples",
    ),
    "positions are overridden": (
        (GPT2.format(overrides=", config_overrides: {n_positions: 2048}"), "gpt2.yaml"),
        "sequence-beyond-positions",
    ),
    "rotary positions are scaled": (
        axolotl(
            "base_model: TinyLlama/TinyLlama_v1.1\nsequence_len: 4096\n"
            "overrides_of_model_config: {rope_scaling: {type: linear, factor: 2}}\n"
        ),
        "sequence-beyond-positions",
    ),
    "the loss of a plugin": (
        axolotl(
            "# gpulint: gpus=1 accelerator=a100-sxm4-80gb\nbase_model: meta-llama/Llama-3.2-1B\nsequence_len: 65536\n"
            "sample_packing: true\ngradient_checkpointing: true\noptimizer: adamw_torch\n"
            "plugins: [axolotl.integrations.cut_cross_entropy.CutCrossEntropyPlugin]\n"
        ),
        "loss-dominates-memory",
    ),
    "an elastic run of fixed size": (
        pytorch_job(elastic(2, 2), "torchrun, train.py"),
        "elastic-training-follows-cpu",
    ),
    "a conversion": ((CONVERSION, "convert.yaml"), "world-not-divisible"),
    "a variable that is read": (slurm("train.py", launcher="env NCCL_ALGO=Ring torchrun"), "variable-retired"),
}


@pytest.mark.parametrize("name", SPEAKS)
def test_the_rule_speaks(name: str) -> None:
    (text, path), rule = SPEAKS[name]
    assert rule in severities(report(text, path))


@pytest.mark.parametrize("name", SILENT)
def test_the_rule_stays_silent(name: str) -> None:
    (text, path), rule = SILENT[name]
    assert rule not in severities(report(text, path))


def test_a_conversion_is_no_training_run() -> None:
    assert report(CONVERSION, "convert.yaml").workloads == ()
