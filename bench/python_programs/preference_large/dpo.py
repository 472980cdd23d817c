import torch
from datasets import load_dataset
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import DPOConfig, DPOTrainer

NAME = "meta-llama/Llama-3.1-70B-Instruct"


def load():
    return AutoModelForCausalLM.from_pretrained(NAME, torch_dtype=torch.bfloat16)


if __name__ == "__main__":
    tokenizer = AutoTokenizer.from_pretrained(NAME)
    args = DPOConfig(
        output_dir="/out/dpo",
        beta=0.1,
        per_device_train_batch_size=1,
        gradient_accumulation_steps=8,
        gradient_checkpointing=True,
        max_length=1024,
        bf16=True,
    )
    trainer = DPOTrainer(
        model=load(),
        ref_model=load(),
        args=args,
        processing_class=tokenizer,
        train_dataset=load_dataset("json", data_files="/data/pairs.jsonl", split="train"),
    )
    trainer.train()
