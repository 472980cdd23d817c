import re

from datasets import load_dataset
from trl import GRPOConfig, GRPOTrainer


def correct(completions, answer, **kwargs):
    found = [re.findall(r"\\boxed\{(.+?)\}", c[0]["content"]) for c in completions]
    return [1.0 if f and f[-1] == a else 0.0 for f, a in zip(found, answer)]


args = GRPOConfig(
    output_dir="runs/math",
    deepspeed="zero3.json",
    per_device_train_batch_size=2,
    gradient_accumulation_steps=8,
    num_generations=8,
    max_completion_length=1024,
    gradient_checkpointing=True,
    bf16=True,
    use_vllm=True,
    vllm_mode="colocate",
    vllm_tensor_parallel_size=1,
    vllm_gpu_memory_utilization=0.15,
)

GRPOTrainer(
    model="Qwen/Qwen2.5-14B-Instruct",
    args=args,
    reward_funcs=correct,
    train_dataset=load_dataset("json", data_files="data/math.jsonl", split="train"),
).train()
