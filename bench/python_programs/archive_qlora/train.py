import os

import torch
from datasets import load_from_disk
from peft import LoraConfig
from transformers import AutoModelForCausalLM, BitsAndBytesConfig
from trl import SFTConfig, SFTTrainer

bnb = BitsAndBytesConfig(
    load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=torch.bfloat16
)
model = AutoModelForCausalLM.from_pretrained(os.environ["MODEL_ID"], quantization_config=bnb, device_map="auto")

trainer = SFTTrainer(
    model=model,
    train_dataset=load_from_disk("/data/archive"),
    peft_config=LoraConfig(r=64, lora_alpha=16, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"),
    args=SFTConfig(
        output_dir="/data/adapter",
        per_device_train_batch_size=1,
        gradient_accumulation_steps=8,
        gradient_checkpointing=True,
        max_length=1024,
        bf16=True,
    ),
)
trainer.train()
