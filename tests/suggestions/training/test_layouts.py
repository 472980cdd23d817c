"""Alternatives that change the strategy: what is acceptable stands here with its source, and was written before the tool ran."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple

import pytest
import samples

from gpulint.facts import resolver
from gpulint.facts.model import Facts
from gpulint.report.model import Suggestion
from gpulint.source import documents
from gpulint.suggestions import generators
from gpulint.suggestions.generators import Candidate
from gpulint.suggestions.training import layouts as training_layouts
from gpulint.workload import Field, Origin, Role

Values = Mapping[str, object]


class Wrong(NamedTuple):
    """A spec, the rule that speaks of it, the changes that a source calls right, and that source."""

    rule: str
    text: str
    acceptable: tuple[Values, ...]
    source: str


# ---- specs


def vllm(checkpoint: str, ranks: int, gpus: int, card: str = "nvidia-h100-80gb", more: str = "") -> str:
    return f"""\
apiVersion: v1
kind: Pod
metadata: {{name: chat}}
spec:
  nodeSelector: {{cloud.google.com/gke-accelerator: {card}}}
  containers:
    - name: server
      image: vllm/vllm-openai:v0.11.0
      args: [--model={checkpoint}, --max-model-len=8192, --tensor-parallel-size={ranks}{more}]
      resources: {{limits: {{nvidia.com/gpu: {gpus}}}}}
      volumeMounts: [{{name: shm, mountPath: /dev/shm}}]
  volumes: [{{name: shm, emptyDir: {{medium: Memory}}}}]
"""


def sglang(checkpoint: str, ranks: int, more: str) -> str:
    return f"""\
apiVersion: v1
kind: Pod
metadata: {{name: chat}}
spec:
  nodeSelector: {{cloud.google.com/gke-accelerator: nvidia-h100-80gb}}
  containers:
    - name: server
      image: lmsysorg/sglang:v0.5.5
      command: [python3, -m, sglang.launch_server]
      args: [--model-path={checkpoint}, --tp-size={ranks}, {more}]
      resources: {{limits: {{nvidia.com/gpu: {ranks}}}}}
      volumeMounts: [{{name: shm, mountPath: /dev/shm}}]
  volumes: [{{name: shm, emptyDir: {{medium: Memory}}}}]
"""


TWO_NODES = """\
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: wide}
spec:
  leaderWorkerTemplate:
    size: 2
    workerTemplate:
      spec:
        nodeSelector: {cloud.google.com/gke-accelerator: nvidia-h100-80gb}
        containers:
          - name: server
            image: vllm/vllm-openai:v0.10.1
            args: [--model=meta-llama/Llama-3.1-405B-Instruct, --max-model-len=8192, --tensor-parallel-size=16]
            resources: {limits: {nvidia.com/gpu: 8}}
            volumeMounts: [{name: shm, mountPath: /dev/shm}]
        volumes: [{name: shm, emptyDir: {medium: Memory}}]
"""
THROUGHPUT = """\
apiVersion: gpulint/v1
kind: InferenceService
metadata: {name: batch}
spec:
  roles:
    - name: server
      engine: vllm
      engine_version: "0.11.0"
      checkpoint: Qwen/Qwen2.5-7B-Instruct
      accelerator: l40s
      gpus_per_pod: 4
      tensor_parallel: 4
      max_model_len: 8192
      replicas: 2
      target_tokens_per_s: 500
      request_prompt_tokens: 512
      request_output_tokens: 256
"""
TORCHRUN = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: pretrain}
spec:
  pytorchReplicaSpecs:
    Worker:
      replicas: 4
      template:
        spec:
          nodeSelector: {node.kubernetes.io/instance-type: g5.12xlarge}
          containers:
            - name: pytorch
              image: registry.example/train:v1
              command: [torchrun, --nproc_per_node=4, train.py]
              resources: {limits: {nvidia.com/gpu: 4}}
              volumeMounts: [{name: shm, mountPath: /dev/shm}]
          volumes: [{name: shm, emptyDir: {medium: Memory}}]
"""
SHARDED = """\
apiVersion: gpulint/v1
kind: TrainingJob
metadata: {name: sft}
spec:
  roles:
    - name: trainer
      engine: ENGINE
      checkpoint: meta-llama/Llama-3.1-8B
      accelerator: a100-sxm4-80gb
      instance_type: p4de.24xlarge
      gpus_per_pod: 8
      pods_per_replica: 2
      tensor_parallel: 1
      pipeline_parallel: 1
      context_parallel: 1
      micro_batch_size: 1
      global_batch_size: 16
      sequence_length: 3072
      training_dtype: bfloat16
      parameter_dtype: float32
      sharding: fsdp
      optimizer: adamw-fused
      activation_checkpointing: full
      packed: true
"""
ACCELERATE = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: accelerate}
data:
  acc.yaml: |
    distributed_type: FSDP
    num_machines: 2
    num_processes: 16
    mixed_precision: bf16
    fsdp_config:
      fsdp_sharding_strategy: full_shard
---
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: sft}
spec:
  pytorchReplicaSpecs:
    Worker:
      replicas: 2
      template:
        spec:
          nodeSelector: {node.kubernetes.io/instance-type: p4de.24xlarge}
          containers:
            - name: pytorch
              image: registry.example/train:v1
              command: [accelerate, launch, --config_file, /etc/acc/acc.yaml, trl/scripts/sft.py]
              args:
                - --model_name_or_path=meta-llama/Llama-3.1-8B
                - --dataset_name=a/b
                - --per_device_train_batch_size=1
                - --gradient_accumulation_steps=1
                - --gradient_checkpointing=true
                - --max_length=3072
                - --packing=true
                - --bf16=true
                - --save_strategy=no
              resources: {limits: {nvidia.com/gpu: 8, vpc.amazonaws.com/efa: 4}}
              volumeMounts: [{name: config, mountPath: /etc/acc}, {name: shm, mountPath: /dev/shm}]
          volumes: [{name: config, configMap: {name: accelerate}}, {name: shm, emptyDir: {medium: Memory}}]
"""
MEGATRON = """\
#!/bin/bash
#SBATCH --nodes=8
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
#SBATCH --time=24:00:00
srun torchrun --nnodes=8 --nproc_per_node=8 --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 pretrain_gpt.py \\
  --pipeline-model-parallel-size 8 --num-layers 64 --hidden-size 8192 --num-attention-heads 64 --seq-length 4096 \\
  --micro-batch-size 2 --global-batch-size 128 --bf16
"""

EVERY_RANK = """\
#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
#SBATCH --time=5-00:00:00
# gpulint: accelerator=a100-sxm4-80gb model=meta-llama/Llama-3.1-8B
srun torchrun --nnodes=4 --nproc_per_node=8 --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 pretrain_gpt.py \\
  --tensor-model-parallel-size 2 --pipeline-model-parallel-size 1 --sequence-parallel \\
  --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --group-query-attention --num-query-groups 8 \\
  --seq-length 8192 --micro-batch-size 1 --global-batch-size 256 --recompute-activations --bf16 \\
  --train-iters 1000 --save /lustre/run --save-interval 500
"""
ONE_RANK = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: sft
  annotations: {gpulint/accelerator: a100-sxm4-80gb}
spec:
  runtimeRef: {name: torch-distributed}
  trainer:
    numNodes: 1
    numProcPerNode: RANKS
    command: [torchrun, trl/scripts/sft.py]
    args:
      - --model_name_or_path=Qwen/Qwen2.5-7B-Instruct
      - --dataset_name=/data/invoices
      - --dtype=bfloat16
      - --use_peft
      - --lora_target_modules
      - all-linear
      - --max_length=2048
      - --per_device_train_batch_size=2
      - --gradient_accumulation_steps=4
      - --gradient_checkpointing=true
      - --attn_implementation=flash_attention_2
      - --bf16=true
      - --save_steps=200
    resourcesPerNode: {limits: {nvidia.com/gpu: 8}}
"""
SFT = (
    "--dataset_name=data --dtype=bfloat16 --max_length=LENGTH --packing=true --gradient_checkpointing=RECOMPUTED"
    " --attn_implementation=flash_attention_2 --bf16=true --save_strategy=no"
)
ADAPTED = SFT.replace("RECOMPUTED", "true") + " --use_peft --lora_r=16 --lora_target_modules all-linear"
ON_SKY = f"""\
name: tone
resources: {{cloud: gcp, accelerators: A100-80GB:1}}
run: |
  torchrun --nproc_per_node=1 trl/scripts/sft.py --model_name_or_path=mistralai/Mistral-7B-Instruct-v0.3 --load_in_4bit \\
    --per_device_train_batch_size=1 --gradient_accumulation_steps=8 {ADAPTED.replace("LENGTH", "1024")}
"""
ON_EIGHT = f"""\
#!/bin/bash
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
#SBATCH --cpus-per-task=96
#SBATCH --time=08:00:00
# gpulint: accelerator=h100-sxm-80gb
srun torchrun --standalone --nproc_per_node=8 trl/scripts/sft.py --model_name_or_path=meta-llama/Llama-3.2-1B-Instruct \\
  --per_device_train_batch_size=1 --gradient_accumulation_steps=1 {ADAPTED.replace("LENGTH", "1024")}
"""
EIGHT_GPUS = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: sft, annotations: {ANNOTATIONS}}
spec:
  pytorchReplicaSpecs:
    Worker:
      replicas: 1
      template:
        spec:
          nodeSelector: {node.kubernetes.io/instance-type: MACHINE}
          containers:
            - name: pytorch
              image: registry.example/train:v1
              command: [torchrun, --nproc_per_node=8, SCRIPT]
              args:
                - --model_name_or_path=meta-llama/Llama-3.1-8B
ARGUMENTS
              resources: {limits: {nvidia.com/gpu: 8, vpc.amazonaws.com/efa: EFA}}
              volumeMounts: [{name: shm, mountPath: /dev/shm}, {name: config, mountPath: /config}]
          volumes: [{name: shm, emptyDir: {medium: Memory}}, {name: config, configMap: {name: zero}}]
"""


def of_eight(script: str, arguments: str, machine: str = "p5.48xlarge", annotations: str = "") -> str:
    lines = "\n".join(f"                - {one}" for one in arguments.split(" "))
    found = EIGHT_GPUS.replace("SCRIPT", script).replace("ARGUMENTS", lines).replace("MACHINE", machine)
    return found.replace("ANNOTATIONS", annotations).replace("EFA", "32" if machine == "p5.48xlarge" else "4")


OFFLOADED = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: zero}
data:
  zero.json: |
    {
      "bf16": {"enabled": true},
      "zero_optimization": {
        "stage": 3,
        "offload_optimizer": {"device": "cpu", "pin_memory": true},
        "offload_param": {"device": "cpu", "pin_memory": true}
      },
      "train_micro_batch_size_per_gpu": "auto",
      "gradient_accumulation_steps": "auto",
      "train_batch_size": "auto"
    }
---
""" + of_eight(
    "trl/scripts/sft.py",
    "--deepspeed=/config/zero.json --per_device_train_batch_size=2 --gradient_accumulation_steps=2 "
    + SFT.replace("LENGTH", "2048").replace("RECOMPUTED", "true"),
)
WITHOUT_RECOMPUTATION = of_eight(
    "trl/scripts/sft.py",
    "--fsdp=full_shard --per_device_train_batch_size=1 --gradient_accumulation_steps=2 "
    + SFT.replace("LENGTH", "16384").replace("RECOMPUTED", "false"),
)
TOO_LATE = of_eight(
    "examples/pytorch/language-modeling/run_clm.py",
    "--dataset_name=data --output_dir=/run --block_size=8192 --per_device_train_batch_size=1 --gradient_accumulation_steps=16"
    " --gradient_checkpointing=true --fsdp=full_shard --max_steps=95368 --bf16=true --do_train --save_strategy=no",
    "p4de.24xlarge",
    "gpulint/time-to-train: 21d, gpulint/tokens: 100B",
)
ONE_VISIBLE = """\
#!/bin/bash
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --gpus-per-node=4
#SBATCH --cpus-per-task=32
#SBATCH --time=24:00:00
# gpulint: accelerator=l40s
export CUDA_VISIBLE_DEVICES=0
torchrun --nproc_per_node=1 train.py
"""


def nemo(nodes: int = 4, **settings: object) -> str:
    model = {"micro_batch_size": 1, "global_batch_size": 256, "tensor_model_parallel_size": 1, **settings}
    lines = "\n".join(f"  {name}: {value}" for name, value in model.items())
    return f"trainer:\n  devices: 8\n  num_nodes: {nodes}\n  precision: bf16\n  max_steps: 1000\nmodel:\n{lines}\n"


def verl(rollout: int, gpus: int = 8, more: str = "") -> str:
    return f"""\
data: {{train_batch_size: 256, max_prompt_length: 512, max_response_length: 512}}
actor_rollout_ref:
  model: {{path: Qwen/Qwen2.5-7B-Instruct, enable_gradient_checkpointing: true}}
  actor: {{strategy: fsdp, ppo_mini_batch_size: 64, ppo_micro_batch_size_per_gpu: 2{more}}}
  rollout: {{name: vllm, tensor_model_parallel_size: {rollout}}}
algorithm: {{adv_estimator: grpo}}
trainer: {{n_gpus_per_node: {gpus}, nnodes: 1, total_epochs: 1}}
"""


def axolotl(gpus: int, card: str, checkpoint: str, **settings: object) -> str:
    given = {
        "base_model": checkpoint,
        "datasets": "[{path: data.jsonl, type: alpaca}]",
        "sequence_len": 2048,
        "num_epochs": 1,
        "optimizer": "adamw_torch",
        "attn_implementation": "flash_attention_2",
        "bf16": "true",
        **settings,
    }
    return f"# gpulint: gpus={gpus} accelerator={card}\n" + "".join(
        f"{name}: {value}\n" for name, value in given.items()
    )


WRONG = (
    Wrong(
        "tensor-parallel-leaves-link-domain",
        TWO_NODES,
        ({"tensor_parallel": 8, "pipeline_parallel": 2},),
        "vLLM, parallelism and scaling: tensor parallel as many as the GPUs of a node, pipeline parallel as many as the nodes",
    ),
    Wrong(
        "tensor-parallel-over-pcie",
        vllm("Qwen/Qwen2.5-72B-Instruct", 4, 4).replace(
            "cloud.google.com/gke-accelerator: nvidia-h100-80gb", "node.kubernetes.io/instance-type: g6e.12xlarge"
        ),
        ({"tensor_parallel": 2, "pipeline_parallel": 2}, {"tensor_parallel": 1, "pipeline_parallel": 4}),
        "vLLM, parallelism and scaling: GPUs without NVLink (L40S) use pipeline parallel instead of tensor parallel",
    ),
    Wrong(
        "tensor-parallel-instead-of-copies",
        THROUGHPUT,
        (
            {"tensor_parallel": 1, "data_parallel": 4},
            {"tensor_parallel": 2, "data_parallel": 2},
            {"gpus_per_pod": 1, "tensor_parallel": 1, "replicas": 8},
        ),
        "vLLM, data parallel deployment: replicate the weights over as many GPUs to process independent batches",
    ),
    Wrong(
        "parallelism-larger-than-needed",
        vllm("Qwen/Qwen2.5-7B-Instruct", 4, 4),
        (
            {"gpus_per_pod": 1, "tensor_parallel": 1},
            {"gpus_per_pod": 2, "tensor_parallel": 2},
            {"tensor_parallel": 1, "data_parallel": 4},
        ),
        "vLLM, parallelism and scaling: a model that fits one GPU needs no distributed inference",
    ),
    Wrong(
        "heads-not-divisible",
        vllm("Qwen/Qwen2.5-7B-Instruct", 8, 8, "nvidia-l4"),
        (
            {"tensor_parallel": 4},
            {"tensor_parallel": 4, "gpus_per_pod": 4},
            {"tensor_parallel": 2, "gpus_per_pod": 2},
            {"tensor_parallel": 1, "gpus_per_pod": 1},
        ),
        "vLLM issue 2652: 28 heads divide by 1, 2, 4, 7, 14 and 28, of which 4 KV heads allow 1, 2 and 4",
    ),
    Wrong(
        "vocabulary-not-divisible",
        vllm("microsoft/Phi-3-medium-4k-instruct", 5, 5, "nvidia-l4").replace("8192", "4096"),
        ({"tensor_parallel": 2, "gpus_per_pod": 2},),
        "vLLM issue 6385: 32064 entries, padded to 64, divide by 2 but not by 5; 40 heads and 10 KV heads by 2 but not by 4",
    ),
    Wrong(
        "kv-heads-replicated",
        vllm("Qwen/Qwen3-235B-A22B", 8, 8, "nvidia-h200-141gb"),
        ({"decode_context_parallel": 2}, {"tensor_parallel": 4, "data_parallel": 2}),
        "vLLM, context parallel deployment: tensor parallel beyond the KV heads duplicates; -dcp up to tp / KV heads shares",
    ),
    Wrong(
        "mla-kv-replicated",
        vllm("deepseek-ai/DeepSeek-V3", 8, 8, "nvidia-h200-141gb"),
        ({"decode_context_parallel": 8}, {"tensor_parallel": 1, "data_parallel": 8, "expert_parallel": True}),
        "vLLM, context parallel deployment: of MLA's one KV head, -dcp up to tp removes every copy",
    ),
    Wrong(
        "expert-blocks-split",
        vllm("Qwen/Qwen3-235B-A22B-FP8", 8, 8, "nvidia-h200-141gb"),
        (
            {"expert_parallel": True},
            {"gpus_per_pod": 4, "tensor_parallel": 4},
            {"gpus_per_pod": 2, "tensor_parallel": 2},
        ),
        "vLLM issue 17569: 1536 columns over 8 ranks are 192, no multiple of 128; over 4 they are, and whole experts are not cut",
    ),
    Wrong(
        "network-below-training-floor",
        TORCHRUN,
        ({"instance_type": "g5.48xlarge"}, {"accelerator": "p4d.24xlarge"}),
        "AWS, EC2 G5: 40 Gb/s on 12xlarge, 100 Gb/s on 48xlarge, which multi-node guides call the least",
    ),
    Wrong(
        "communication-bound",
        SHARDED.replace("ENGINE", "transformers"),
        ({"shard_group": 8},),
        "Zhao et al. 2023, 3.2.2: hybrid sharding gathers inside a node and sums gradients alone between nodes",
    ),
    Wrong(
        "communication-bound",
        SHARDED.replace("ENGINE", "torchtitan").replace("length: 3072", "length: 4096"),
        ({"shard_group": 8}, {"pipeline_parallel": 2}),
        "as above; Narayanan et al. 2021, 3.2: stages, which send least, between nodes",
    ),
    Wrong(
        "communication-bound",
        ACCELERATE,
        ({"hybrid_sharding": "hybrid_shard"},),
        "Accelerate, FSDP: HYBRID_SHARD shards within a node and copies between nodes",
    ),
    Wrong(
        "attention-copies-not-divisible",
        sglang("deepseek-ai/DeepSeek-V2-Lite-Chat", 4, "--enable-dp-attention, --dp-size=8"),
        ({"data_parallel": 4}, {"data_parallel": 2}),
        "SGLang, server arguments: the dp size of data-parallel attention divides the tp size",
    ),
    Wrong(
        "expert-ranks-not-divisible",
        sglang("Qwen/Qwen3-30B-A3B", 4, "--ep-size=8"),
        ({"expert_parallel_size": 4}, {"expert_parallel_size": 2}, {"expert_parallel_size": 1}),
        "SGLang, expert parallelism: moe tp = tp / ep",
    ),
    Wrong(
        "interleaved-batches-uneven",
        nemo(
            global_batch_size=72,
            tensor_model_parallel_size=2,
            pipeline_model_parallel_size=4,
            virtual_pipeline_model_parallel_size=2,
            sequence_parallel="true",
            num_layers=32,
        ),
        ({"global_batch_size": 80}, {"global_batch_size": 64}, {"virtual_stages": 1}),
        "Megatron-LM, schedules.py: 4 copies take 72 sequences in 18 micro-batches, no multiple of 4; 16 and 20 are",
    ),
    Wrong(
        "pipeline-bubble",
        MEGATRON,
        ({"virtual_stages": 4}, {"micro_batch_size": 1, "virtual_stages": 2}),
        "Narayanan et al. 2021, 2.2: (p − 1) / (v · m + p − 1) with m = 8 is 0.47; two parts leave 0.30, four 0.18",
    ),
    Wrong(
        "expert-groups-not-divisible",
        nemo(2, pipeline_model_parallel_size=2, num_layers=32, num_moe_experts=16, expert_model_parallel_size=16),
        ({"expert_parallel_size": 8},),
        "Megatron-LM, parallel_state.py: 16 ranks on 2 stages leave 8 for the experts",
    ),
    Wrong(
        "experts-without-sequence-parallel",
        nemo(
            2,
            tensor_model_parallel_size=2,
            sequence_parallel="false",
            num_layers=32,
            num_moe_experts=16,
            expert_model_parallel_size=8,
        ),
        ({"sequence_parallel": True},),
        "Megatron-LM, MoE README: sequence parallelism is required where tensor and expert parallelism meet",
    ),
    Wrong(
        "sequence-parallel-off",
        nemo(
            2,
            tensor_model_parallel_size=4,
            sequence_parallel="false",
            activations_checkpoint_granularity="full",
        ),
        ({"sequence_parallel": True},),
        "Korthikanti et al. 2022: sequence parallelism with selective recomputation in place of full recomputation",
    ),
    Wrong(
        "rollout-ranks-not-divisible",
        verl(2, gpus=1),
        ({"rollout_tensor_parallel": 1},),
        "verl issue 1191: with one GPU, rollout.tensor_model_parallel_size=1",
    ),
    Wrong(
        "rollout-heads-not-divisible",
        verl(8),
        ({"rollout_tensor_parallel": 4},),
        "vLLM issue 2652: 28 heads divide by 4 and not by 8",
    ),
    Wrong(
        "ulysses-heads-not-divisible",
        verl(2, more=", ulysses_sequence_parallel_size: 8"),
        ({"context_parallel": 4}, {"context_parallel": 2}, {"context_parallel": 1}),
        "verl issue 1226: the heads divide by the ranks of Ulysses",
    ),
    Wrong(
        "micro-batch-leaves-memory-idle",
        axolotl(
            1,
            "h100-sxm5-80gb",
            "meta-llama/Llama-3.2-1B",
            micro_batch_size=1,
            gradient_accumulation_steps=16,
            gradient_checkpointing="true",
            adapter="lora",
            lora_r=16,
            lora_target_linear="true",
        ),
        (
            {"micro_batch_size": 8, "gradient_accumulation_steps": 2},
            {"micro_batch_size": 4, "gradient_accumulation_steps": 4},
            {"micro_batch_size": 2, "gradient_accumulation_steps": 8},
        ),
        "Transformers, training on one GPU: as large a batch as fits, and the same effective batch by fewer accumulations",
    ),
    Wrong(
        "gpus-without-process",
        ONE_RANK.replace("RANKS", "1"),
        ({"gpus_per_pod": 1},),
        "PyTorch, torchrun: a rank has one GPU; seven of eight have none",
    ),
    Wrong(
        "gpus-without-process",
        ONE_RANK.replace("RANKS", "4"),
        ({"gpus_per_pod": 4}, {"processes_per_pod": 8, "gradient_accumulation_steps": 2}),
        "as above; twice the ranks take half the micro-batches each for the same batch of a step",
    ),
    Wrong(
        "training-does-not-fit",
        EVERY_RANK,
        ({"sharding": "distributed-optimizer"}, {"tensor_parallel": 4}),
        "Megatron Core, distributed optimizer: 18 bytes a parameter without it, 6 + 12/d with it; 4.02e9 x 18 is 67 GiB of 79",
    ),
    Wrong(
        "card-larger-than-fine-tune",
        ON_SKY,
        ({"accelerator": "l4"},),
        "Dettmers et al., QLoRA, 2023: 7B in 4 bits takes 5 GB, an L4 has 22 GiB; 121 TFLOP/s for $0.71 against 312 for $5.07",
    ),
    Wrong(
        "gpus-beyond-fine-tune",
        ON_EIGHT,
        ({"gpus_per_pod": 1, "processes_per_pod": 1, "micro_batch_size": 8},),
        "torchtune, LoRA single device recipe; 1.24e9 x 2 B and eight sequences of 1,024 tokens are 16 GiB of 79",
    ),
    Wrong(
        "offload-not-needed",
        OFFLOADED,
        ({"optimizer_offload": False, "parameter_offload": False},),
        "DeepSpeed, ZeRO-Offload: for networks that the card cannot hold; 8.03e9 x 16 B over 8 ranks are 15 GiB of 79",
    ),
    Wrong(
        "training-does-not-fit",
        WITHOUT_RECOMPUTATION,
        ({"activation_checkpointing": "full"},),
        "Transformers, training on one GPU: gradient checkpointing; 98 GiB kept of 32 layers become 4",
    ),
    Wrong(
        "training-time-below-physics",
        TOO_LATE,
        (
            {"pods_per_replica": 4, "gradient_accumulation_steps": 4},
            {"pods_per_replica": 8, "gradient_accumulation_steps": 2},
        ),
        "Chowdhery et al., PaLM, 2022, appendix B: 5.2e21 operations are 24 days at the peak of 8 A100, at half of it 12 on 32",
    ),
    Wrong(
        "granted-gpus-hidden",
        ONE_VISIBLE,
        ({"gpus_per_pod": 1},),
        "Slurm, generic resources: CUDA_VISIBLE_DEVICES is what was granted; a list of one leaves three idle",
    ),
    Wrong(
        "states-not-sharded",
        axolotl(
            8,
            "a100-sxm4-80gb",
            "meta-llama/Llama-3.2-3B",
            micro_batch_size=2,
            gradient_accumulation_steps=4,
            gradient_checkpointing="true",
            deepspeed="{bf16: {enabled: true}, zero_optimization: {stage: 0}}",
        ),
        ({"zero_stage": 1}, {"zero_stage": 2}),
        "Rajbhandari et al. 2020: sharing the optimizer state out communicates no more than data parallelism",
    ),
)


def first(wrong: Wrong) -> Suggestion:
    (found,) = samples.of_rule(samples.report(wrong.text), wrong.rule)
    assert found.suggestions, "no alternative"
    return found.suggestions[0]


def changed(suggestion: Suggestion) -> dict[str, str]:
    """The new values by quantity, as they would be written."""
    found = {
        edit.quantity: SWITCHED.get(edit.new, "true") if FLAG.fullmatch(edit.new) else VALUE.split(edit.new)[-1]
        for edit in suggestion.edits
    }
    return {name: AS_WRITTEN.get((name, value), value) for name, value in found.items()}


SWITCHED = {"--use-distributed-optimizer": "distributed-optimizer"}
AS_WRITTEN: Mapping[tuple[str, str], str] = {
    ("optimizer_offload", "none"): "false",
    ("parameter_offload", "none"): "false",
    ("activation_checkpointing", "true"): "full",
    ("accelerator", "L4"): "l4",
}
"""Words of a format for a value: DeepSpeed's devices, the Trainer's switches, SkyPilot's cards."""


def written(values: Values) -> dict[str, str]:
    return {name: str(value).lower() for name, value in values.items()}


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: wrong.rule)
def test_the_first_alternative_is_one_that_the_source_calls_right(wrong: Wrong) -> None:
    assert changed(first(wrong)) in [written(values) for values in wrong.acceptable]


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: wrong.rule)
def test_carried_out_it_answers_the_rule_and_says_nothing_new(wrong: Wrong) -> None:
    before = samples.report(wrong.text)
    after = samples.report(samples.changed(wrong.text, first(wrong)))
    assert after.failures == ()
    assert samples.of_rule(after, wrong.rule) == []
    assert samples.newly_said(before, after) == set()
    assert samples.not_evaluated(after) <= samples.not_evaluated(before)


# ---- what every layout keeps


FLAG, VALUE = re.compile(r"--[\w-]+"), re.compile(r"=|: ")
HERE = Origin(next(iter(documents.load("spec.yaml", b"a: 1").documents)), ("a",))


def known(**values: object) -> Facts:
    given = {"engine": "vllm", "pods_per_replica": 1, "data_parallel": 1, "pipeline_parallel": 1, **values}
    return resolver.resolve(Role("server", HERE, {name: Field(value, (HERE,)) for name, value in given.items()}), None)  # type: ignore[arg-type]


def ranks(move: Candidate, of: Facts) -> int:
    sizes = (
        move.values.get(name, of.expected(name)) for name in ("tensor_parallel", "pipeline_parallel", "data_parallel")
    )
    return math.prod(size for size in sizes if isinstance(size, int))


@pytest.mark.parametrize("quantity", ["data_parallel", "pipeline_parallel"])
def test_a_server_keeps_its_ranks(quantity: str) -> None:
    server = known(tensor_parallel=8, gpus_per_pod=8, gpus_per_replica=8, replicas=1)
    moves = list(generators.propose(quantity, server))
    assert moves
    assert {ranks(move, server) for move in moves} == {8}


def test_replicas_of_fewer_ranks_hold_as_many_gpus_in_all() -> None:
    server = known(tensor_parallel=4, gpus_per_pod=4, replicas=2)
    split = [move for move in generators.propose("replicas", server) if "gpus_per_pod" in move.values]
    held = [move.values["gpus_per_pod"] * move.values["replicas"] for move in split]  # type: ignore[operator]
    assert held == [8, 8]


RUN = {"gpus_per_pod": 8, "gpus_per_replica": 64, "pods_per_replica": 8, "processes_per_pod": 8, "tensor_parallel": 8}


@pytest.mark.parametrize("quantity", ["tensor_parallel", "pipeline_parallel", "context_parallel"])
def test_a_run_keeps_its_batch_where_its_parts_are_stated(quantity: str) -> None:
    """64 GPUs of tensor parallel 8 are 8 copies of 16 micro-batches: 128 micro-batches of a step."""
    run = known(engine="megatron-lm", **{**RUN, "micro_batch_size": 1, "gradient_accumulation_steps": 16})
    layouts = [move for move in generators.propose(quantity, run) if move.values.keys() != {"tensor_parallel"}]
    assert layouts or quantity == "context_parallel"
    for move in layouts:
        size = {name: move.values.get(name, run.expected(name)) for name in ("tensor_parallel", "pipeline_parallel")}
        together = math.prod(size.values()) * move.values.get("context_parallel", 1)  # type: ignore[arg-type,operator]
        steps = move.values.get("gradient_accumulation_steps", 16)
        assert 64 // together * steps == 128, move.title  # type: ignore[operator]


def test_more_machines_share_the_same_batch() -> None:
    """64 GPUs are 64 copies of 2 micro-batches of 2: 128 copies take one each, and 192 cannot."""
    parts = {"micro_batch_size": 2, "gradient_accumulation_steps": 2, "tensor_parallel": 1}
    run = known(engine="torchtitan", **{**RUN, **parts})
    more = [move.values for move in generators.propose("world_size", run)]
    assert more == [{"pods_per_replica": 16, "gradient_accumulation_steps": 1}]
    whole = known(engine="torchtitan", **{**RUN, "tensor_parallel": 1, "micro_batch_size": 2, "global_batch_size": 512})
    assert [move.values for move in generators.propose("world_size", whole)] == [
        {"pods_per_replica": 16},
        {"pods_per_replica": 32},
    ]


def test_a_batch_stated_whole_is_kept_only_where_it_divides() -> None:
    run = known(engine="megatron-lm", **{**RUN, "micro_batch_size": 1, "global_batch_size": 24})
    assert training_layouts.keep_batch(run, Fraction(1)) == {}
    assert training_layouts.keep_batch(run, Fraction(2)) is None


def test_micro_batches_grow_by_what_accumulation_loses() -> None:
    run = known(engine="megatron-lm", **{**RUN, "micro_batch_size": 3, "gradient_accumulation_steps": 12})
    made = [tuple(move.values.values()) for move in generators.propose("gradient_accumulation_steps", run)]
    assert made == [(18, 2), (12, 3), (9, 4), (6, 6)]


def test_hybrid_sharding_groups_are_whole_machines() -> None:
    run = known(engine="torchtitan", **{**RUN, "tensor_parallel": 1, "sharding": "fsdp"})
    assert [move.values for move in generators.propose("shard_group", run)] == [
        {"shard_group": 8},
        {"shard_group": 16},
        {"shard_group": 32},
    ]


def test_a_strategy_of_fsdp_that_a_file_names_becomes_the_hybrid_one() -> None:
    found = samples.report(ACCELERATE.replace("full_shard", "FULL_SHARD"))
    (edit,) = samples.of_rule(found, "communication-bound")[0].suggestions[0].edits
    assert (edit.old, edit.new) == ("FULL_SHARD", "HYBRID_SHARD")


def test_a_network_that_a_hint_states_counts_as_one_of_a_machine_type() -> None:
    told = SHARDED.replace("ENGINE", "transformers").replace("      instance_type: p4de.24xlarge\n", "")
    assert samples.of_rule(samples.report(told), "communication-bound") == []
    network = "# gpulint: network=400Gb/s network-kind=efa\n"
    assert samples.of_rule(samples.report(network + told), "communication-bound")


# ---- and what is no layout


def test_a_trainer_without_stages_is_offered_none() -> None:
    run = known(engine="transformers", **{**RUN, "tensor_parallel": 1, "micro_batch_size": 1, "global_batch_size": 128})
    assert list(generators.propose("pipeline_parallel", run)) == []


def test_hybrid_sharding_is_not_offered_twice() -> None:
    run = known(engine="transformers", **{**RUN, "tensor_parallel": 1, "sharding": "fsdp", "hybrid_sharding": True})
    assert list(generators.propose("shard_group", run)) == []


@pytest.mark.parametrize("quantity", ["replicas", "data_parallel", "pipeline_parallel", "expert_parallel", "link"])
def test_a_server_of_one_gpu_is_not_shared_out(quantity: str) -> None:
    server = known(tensor_parallel=1, gpus_per_pod=1, replicas=1, accelerator="no-such-card")
    assert [move for move in generators.propose(quantity, server) if "tensor_parallel" in move.values] == []


def test_nothing_is_guessed_of_a_run_whose_ranks_are_unknown() -> None:
    run = known(engine="megatron-lm")
    for quantity in ("pipeline_parallel", "expert_parallel_size", "rollout_tensor_parallel", "shard_group"):
        assert list(generators.propose(quantity, run)) == []
