import argparse

import torch
from datasets import load_dataset
from peft import LoraConfig
from transformers import AutoModelForCausalLM
from trl import SFTConfig, SFTTrainer

parser = argparse.ArgumentParser()
parser.add_argument("--data", required=True)
parser.add_argument("--rank", type=int, default=8)
args = parser.parse_args()

model = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-3.1-8B", torch_dtype=torch.bfloat16)
SFTTrainer(
    model=model,
    train_dataset=load_dataset("json", data_files=args.data, split="train"),
    peft_config=LoraConfig(r=args.rank, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"),
    args=SFTConfig(
        output_dir="./outputs",
        per_device_train_batch_size=2,
        gradient_checkpointing=True,
        max_length=1024,
        bf16=True,
    ),
).train()
