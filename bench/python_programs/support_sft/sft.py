"""LoRA on our support conversations."""

import argparse

import torch
from datasets import load_dataset
from peft import LoraConfig
from transformers import AutoModelForCausalLM
from trl import SFTConfig, SFTTrainer

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--model", default="Qwen/Qwen2.5-7B-Instruct")
parser.add_argument("--lr", type=float, default=1e-4)
args = parser.parse_args()

model = AutoModelForCausalLM.from_pretrained(args.model, torch_dtype=torch.bfloat16)

peft_config = LoraConfig(r=16, lora_alpha=32, lora_dropout=0.05, target_modules="all-linear", task_type="CAUSAL_LM")

config = SFTConfig(
    output_dir="runs/support",
    per_device_train_batch_size=4,
    gradient_accumulation_steps=4,
    gradient_checkpointing=True,
    max_length=2048,
    num_train_epochs=3,
    learning_rate=args.lr,
    bf16=True,
    logging_steps=10,
)

trainer = SFTTrainer(
    model=model,
    args=config,
    train_dataset=load_dataset("json", data_files="data/support.jsonl", split="train"),
    peft_config=peft_config,
)
trainer.train()
trainer.save_model("runs/support/final")
