"""`gpulint suggest` for training: what each mis-sized run may become, from published arithmetic, and the promise on its text.

Bytes a parameter: mixed precision with Adam takes 16 (Rajbhandari et al., ZeRO, 2020, section 3.1), 18 with Megatron's
32-bit gradients, 6 + 12 / d with its distributed optimizer (docs.nvidia.com/megatron-core, dist_optimizer), 8 where all is
kept in bfloat16; the optimizer's share is divided by the ranks from ZeRO stage 1 on, all of it in stage 3 and FSDP.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import pytest
import samples

from gpulint.facts import resolver
from gpulint.facts.model import Facts
from gpulint.pipeline import evaluate
from gpulint.pipeline.plan import plan_file
from gpulint.policy.resolved import ResolvedPolicy
from gpulint.policy.rules.rule import load_shipped
from gpulint.report.model import Plan, Suggestion
from gpulint.source.repository import Source
from gpulint.suggestions import changed_role

NATIVE = """\
apiVersion: gpulint/v1
kind: TrainingJob
metadata: {{name: run}}
spec:
{objective}  roles:
    - name: trainer
      engine: {engine}
      checkpoint: {checkpoint}
      accelerator: {card}
      gpus_per_pod: {gpus}
      pods_per_replica: {pods}
      processes_per_pod: {gpus}
      tensor_parallel: 1
      pipeline_parallel: 1
      context_parallel: 1
      micro_batch_size: {micro}
      {batch}
      sequence_length: 2048
      training_dtype: bfloat16
      parameter_dtype: float32
      sharding: {sharding}
      optimizer: adamw
      activation_checkpointing: full
      loss_kernel: plain
      packed: true
"""


def native(checkpoint: str, card: str, **stated: object) -> str:
    usual: dict[str, object] = {
        "engine": "transformers",
        "gpus": 1,
        "pods": 1,
        "micro": 1,
        "sharding": "none",
        "objective": "",
        "batch": "gradient_accumulation_steps: 16",
    }
    return NATIVE.format(checkpoint=checkpoint, card=card, **{**usual, **stated})


ON_ONE_L40S = native("meta-llama/Llama-3.1-8B", "l40s")
"""8.03e9 × 16 B = 128 GB against 46."""
LATE = native(
    "meta-llama/Llama-3.1-8B",
    "a100-sxm4-80gb",
    engine="torchtitan",
    gpus=8,
    sharding="fsdp",
    batch="global_batch_size: 256",
    objective="  objective: {tokens: 15B, time-to-train: 2d}\n",
)
"""6 × 8e9 × 15e9 = 7.2e20 operations; two days need 27 cards at half of 312e12, 9 at half of 989e12."""
KEPT = (
    native(
        "meta-llama/Llama-3.1-8B",
        "h100-sxm-80gb",
        engine="torchtitan",
        gpus=8,
        micro=4,
        sharding="fsdp",
        batch="global_batch_size: 64",
    )
    .replace("sequence_length: 2048", "sequence_length: 8192")
    .replace("activation_checkpointing: full", "activation_checkpointing: none")
)
"""Activations of 4 × 8,192 tokens: 32 layers × 32,768 × 4,096 × about 30 B = 129 GB; recomputed 8.6 and a layer of 4."""
AXOLOTL = """\
# gpulint: accelerator=a100-sxm4-40gb gpus=1
base_model: mistralai/Mistral-7B-v0.3
adapter: lora
lora_r: 16
lora_target_linear: true
sequence_len: 4096
sample_packing: true
pad_to_sequence_len: true
micro_batch_size: 12
gradient_accumulation_steps: 2
optimizer: adamw_torch
bf16: true
gradient_checkpointing: true
flash_attention: true
datasets: [{path: data.jsonl, type: alpaca}]
output_dir: out
"""
"""14.5 GB of weights; of 12 × 4,096 tokens: inputs of 32 layers 12.9 GB, a layer 8, the loss 49,152 × 32,768 × 10 B = 16."""
SLURM = """\
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
#SBATCH --cpus-per-task=96
#SBATCH --exclusive
#SBATCH --time=2-00:00:00
# gpulint: accelerator=a100-sxm4-40gb
export CUDA_DEVICE_MAX_CONNECTIONS=1
HEAD=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
srun torchrun --nnodes=2 --nproc_per_node=8 --rdzv_id=$SLURM_JOB_ID --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 \\
  pretrain_gpt.py --tensor-model-parallel-size 16 --pipeline-model-parallel-size 1 --sequence-parallel \\
  --use-distributed-optimizer --num-layers 40 --hidden-size 6144 --num-attention-heads 48 \\
  --seq-length 2048 --max-position-embeddings 2048 --micro-batch-size 1 --global-batch-size 128 \\
  --train-iters 50000 --lr 1.2e-4 --bf16 --use-flash-attn --recompute-activations \\
  --vocab-file v.json --merge-file m.txt --data-path d --save /ckpt --load /ckpt --save-interval 500
"""
"""Tensor parallel 16 on nodes of eight; the product of ranks and the batch stay (Narayanan et al., 2021, takeaway 1)."""
KUBERNETES = """\
apiVersion: batch/v1
kind: Job
metadata: {{name: tune}}
spec:
  template:
    spec:
      restartPolicy: Never
      nodeSelector: {{{selector}}}
      containers:
        - name: trainer
          image: registry.example/train:1
          command: [{command}]
          args:
            - --model_name_or_path={checkpoint}
{args}
            - --output_dir=/ckpt
            - --per_device_train_batch_size={micro}
            - --gradient_accumulation_steps={steps}
            - --gradient_checkpointing=true
            - --optim=adamw_torch
            - --bf16=true
            - --save_steps=500
          resources: {{limits: {{nvidia.com/gpu: {gpus}}}}}
          volumeMounts: [{{name: shm, mountPath: /dev/shm}}, {{name: ckpt, mountPath: /ckpt}}]
      volumes: [{{name: shm, emptyDir: {{medium: Memory}}}}, {{name: ckpt, persistentVolumeClaim: {{claimName: c}}}}]
"""
CLM = (
    "--do_train",
    "--dataset_name=/data",
    "--torch_dtype=bfloat16",
    "--block_size=2048",
    "--attn_implementation=flash_attention_2",
)
FACTORY = (
    "--stage=sft",
    "--do_train=true",
    "--finetuning_type=full",
    "--dataset=own",
    "--cutoff_len=2048",
    "--flash_attn=fa2",
)


def job(
    command: str, args: tuple[str, ...], checkpoint: str, selector: str, gpus: int, micro: int = 1, steps: int = 4
) -> str:
    listed = "\n".join(f"            - {word}" for word in args)
    return KUBERNETES.format(
        command=command, args=listed, checkpoint=checkpoint, selector=selector, gpus=gpus, micro=micro, steps=steps
    )


def clm(checkpoint: str, selector: str, gpus: int, **more: int) -> str:
    script = "transformers/examples/pytorch/language-modeling/run_clm.py"
    return job(f"torchrun, --nproc_per_node={gpus}, {script}", CLM, checkpoint, selector, gpus, **more)


GKE = "cloud.google.com/gke-accelerator: nvidia-"
COPIED = clm("meta-llama/Llama-3.1-8B", f"{GKE}a100-80gb", 4)
"""8.03e9 × 8 B in bfloat16 = 60 GiB, and 15 of DDP's buckets, on each of four; shared out, in 32 bits, 30."""
SMALL_ON_MANY = clm("HuggingFaceTB/SmolLM2-135M", f"{GKE}h100-80gb", 8, steps=1)
"""0.135e9 × 8 B = 1 GB of 79 on each of eight cards."""
FULL = job("torchrun, --nproc_per_node=8, src/train.py", FACTORY, "Qwen/Qwen2.5-7B", f"{GKE}a100-80gb", 8)
"""7.6e9 × 16 B = 122 GB on every rank; over eight 15."""


class Wanted(NamedTuple):
    """What an option has to come to: any of these, each of bounds (least, most) or words by quantity."""

    text: str
    rule: str
    acceptable: tuple[Mapping[str, object], ...]


EIGHTY = {"a100-sxm4-80gb", "a100-pcie-80gb", "h100-sxm-80gb", "h100-pcie-80gb", "h100-nvl-94gb", "h200-sxm-141gb"}
RESULT = {"lora_rank": (4, 256)}
WRONG = {
    "all of 8B on one L40S (native)": Wanted(
        ON_ONE_L40S,
        "training-states-exceed-memory",
        (
            {"accelerator": {"b200-sxm-180gb", "b300-sxm-288gb"}, "world_size": (1, 8)},
            {"accelerator": {*EIGHTY, "rtx-pro-6000-se"}, "world_size": (2, 8), "sharding": {"fsdp", "deepspeed"}},
            {"accelerator": {"l40s", "a100-sxm4-40gb"}, "world_size": (4, 8), "sharding": {"fsdp", "deepspeed"}},
            {"accelerator": {"l4", "a10g"}, "world_size": (8, 8), "sharding": {"fsdp", "deepspeed"}},
            {"accelerator": {"l40s"}, **RESULT},
        ),
    ),
    "15B tokens in two days (native)": Wanted(
        LATE,
        "training-time-below-physics",
        (
            {"accelerator": {"a100-sxm4-80gb"}, "world_size": (32, 64)},
            {"accelerator": {"h100-sxm-80gb", "h200-sxm-141gb"}, "world_size": (16, 32)},
            {"accelerator": {"b200-sxm-180gb", "b300-sxm-288gb"}, "world_size": (8, 16)},
        ),
    ),
    "twelve sequences at once (axolotl)": Wanted(
        AXOLOTL,
        "training-does-not-fit",
        ({"accelerator": {"a100-sxm4-40gb"}, "micro_batch_size": (1, 6), "step_sequences": (24, 24)},),
    ),
    "states on every rank (LLaMA-Factory in Kubernetes)": Wanted(
        FULL,
        "training-states-exceed-memory",
        (
            {"accelerator": {"a100-sxm4-80gb"}, "world_size": (4, 8), "sharding": {"fsdp", "deepspeed"}},
            {
                "accelerator": {"h100-sxm-80gb", "h200-sxm-141gb"},
                "world_size": (2, 8),
                "sharding": {"fsdp", "deepspeed"},
            },
        ),
    ),
    "tensor parallel over two nodes (Megatron in Slurm)": Wanted(
        SLURM,
        "training-tensor-parallel-leaves-node",
        (
            {"world_size": (16, 16), "tensor_parallel": (8, 8), "pipeline_parallel": (1, 2)},
            {"world_size": (16, 16), "tensor_parallel": (4, 4), "pipeline_parallel": (2, 4)},
            {"world_size": (16, 16), "tensor_parallel": (2, 2), "pipeline_parallel": (4, 8)},
        ),
    ),
    "nothing recomputed (torchtitan, native)": Wanted(
        KEPT,
        "training-does-not-fit",
        (
            {
                "accelerator": {"h100-sxm-80gb"},
                "activation_checkpointing": {"full", "products", "scores"},
                "micro_batch_size": (4, 4),
            },
            {"accelerator": {"h100-sxm-80gb"}, "micro_batch_size": (1, 2)},
        ),
    ),
    "copies of 8B on four cards (Transformers in Kubernetes)": Wanted(
        COPIED,
        "training-does-not-fit",
        (
            {"accelerator": {"a100-sxm4-80gb"}, "world_size": (4, 8), "sharding": {"fsdp"}},
            {"accelerator": {"h100-sxm-80gb", "h200-sxm-141gb"}, "world_size": (2, 8), "sharding": {"fsdp"}},
            {"accelerator": {"h200-sxm-141gb", "b200-sxm-180gb"}, "world_size": (1, 4)},
        ),
    ),
}
RIGHT = {
    "a card that is full, of the cheapest kind": native(
        "Qwen/Qwen2.5-1.5B", "l40s", micro=2, batch="gradient_accumulation_steps: 2"
    ),
    "the batch of a step shared out over many ranks, beside a time": native(
        "meta-llama/Llama-3.1-8B",
        "h100-sxm-80gb",
        engine="torchtitan",
        gpus=8,
        pods=2,
        sharding="fsdp",
        batch="global_batch_size: 256",
        objective="  objective: {tokens: 15B, time-to-train: 2d}\n",
    ),
}
"""1.5e9 × 16 B = 25 GB, and 4,096 tokens × 151,936 × 10 B = 6, of 46 on an L40S. See LATE: sixteen H100 end in time."""


def planned(text: str) -> tuple[Plan, Facts]:
    """The plan of the one role of a text, and its facts."""
    source, given = Source(samples.find_path(text), text.encode()), ResolvedPolicy(tuple(load_shipped().values()))
    (found,) = plan_file(source, None, samples.ExampleRepository(), given)
    (one,) = evaluate.file(source, samples.ExampleRepository(), given).roles
    return found, one.facts


def after(option: Suggestion, known: Facts) -> Facts:
    return resolver.resolve(changed_role.apply(known.role, option.values), known.resolved)  # type: ignore[arg-type]


def meets(terms: Mapping[str, object], known: Facts) -> bool:
    return all(_within(known.expected(name), wanted) for name, wanted in terms.items())


def _within(value: object, wanted: object) -> bool:
    if isinstance(wanted, tuple):
        return isinstance(value, int | float) and wanted[0] <= value <= wanted[1]
    return isinstance(wanted, set) and value in wanted


# ---- what is wrong


@pytest.mark.parametrize("name", WRONG)
def test_the_first_option_is_one_that_arithmetic_allows(name: str) -> None:
    wanted = WRONG[name]
    plan, known = planned(wanted.text)
    assert wanted.rule in plan.cures
    first = after(plan.options[0], known)
    assert any(meets(terms, first) for terms in wanted.acceptable), plan.options[0].title


@pytest.mark.parametrize("name", WRONG)
def test_what_a_run_learns_stays_as_it_is_in_the_first_option(name: str) -> None:
    plan, known = planned(WRONG[name].text)
    first = after(plan.options[0], known)
    for quantity in ("lora_rank", "quantization", "sequence_length", "step_sequences"):
        assert first.expected(quantity) == known.expected(quantity), plan.options[0].title


@pytest.mark.parametrize("name", WRONG)
def test_an_option_carried_out_answers_its_rules_and_says_nothing_new(name: str) -> None:
    text = WRONG[name].text
    before, (plan, _) = samples.report(text), planned(text)
    for option in plan.options:
        if any(edit.location is None for edit in option.edits):
            continue  # a card that only a comment or an option names
        now = samples.report(samples.changed(text, option))
        assert now.failures == ()
        assert all(samples.of_rule(now, rule) == [] for rule in plan.cures), option.title
        assert samples.newly_said(before, now) == set(), option.title
        assert samples.not_evaluated(now) <= samples.not_evaluated(before), option.title


@pytest.mark.parametrize("name", WRONG)
def test_two_runs_say_the_same(name: str) -> None:
    assert planned(WRONG[name].text)[0] == planned(WRONG[name].text)[0]


# ---- what is only dear


def test_a_small_network_on_a_whole_machine_is_offered_fewer_cards_at_the_same_batch() -> None:
    plan, known = planned(SMALL_ON_MANY)
    first = after(plan.options[0], known)
    assert meets({"world_size": (1, 2), "step_sequences": (8, 8)}, first), plan.options[0].title


@pytest.mark.parametrize("name", RIGHT)
def test_a_run_that_needs_no_change_is_offered_none(name: str) -> None:
    plan, _ = planned(RIGHT[name])
    assert (plan.cures, plan.options) == ((), ())
