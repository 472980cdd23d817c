import argparse

import torch
import yaml
from datasets import load_dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, DataCollatorForLanguageModeling, Trainer, TrainingArguments


def read_config():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", default="config/default.yaml")
    with open(parser.parse_args().config) as f:
        return yaml.safe_load(f)


def main():
    cfg = read_config()
    tokenizer = AutoTokenizer.from_pretrained(cfg["model"])
    model = AutoModelForCausalLM.from_pretrained(cfg["model"], torch_dtype=getattr(torch, cfg["dtype"]))
    data = load_dataset("json", data_files="/data/train.jsonl", split="train")
    data = data.map(lambda r: tokenizer(r["text"], truncation=True, max_length=cfg["max_length"]))
    args = TrainingArguments(
        output_dir=cfg["output"],
        per_device_train_batch_size=cfg["batch_size"],
        gradient_accumulation_steps=cfg["accumulate"],
        learning_rate=cfg["learning_rate"],
        gradient_checkpointing=True,
        bf16=True,
    )
    Trainer(
        model=model, args=args, train_dataset=data, data_collator=DataCollatorForLanguageModeling(tokenizer, mlm=False)
    ).train()


if __name__ == "__main__":
    main()
