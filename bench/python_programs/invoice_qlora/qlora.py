import click
import torch
from datasets import load_dataset
from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training
from transformers import AutoModelForCausalLM, AutoTokenizer, BitsAndBytesConfig, Trainer, TrainingArguments


@click.command()
@click.option("--model", default="mistralai/Mistral-7B-v0.3", show_default=True)
@click.option("--rank", type=int, default=16)
@click.option("--batch-size", type=int, default=1)
def main(model: str, rank: int, batch_size: int) -> None:
    quantization = BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_compute_dtype=torch.bfloat16,
        bnb_4bit_use_double_quant=True,
    )
    base = AutoModelForCausalLM.from_pretrained(model, quantization_config=quantization, device_map={"": 0})
    base = prepare_model_for_kbit_training(base)
    network = get_peft_model(base, LoraConfig(r=rank, lora_alpha=2 * rank, task_type="CAUSAL_LM"))
    tokenizer = AutoTokenizer.from_pretrained(model)

    data = load_dataset("json", data_files="/data/invoices.jsonl", split="train")
    data = data.map(lambda x: tokenizer(x["text"], truncation=True, max_length=1024))
    Trainer(
        model=network,
        train_dataset=data,
        args=TrainingArguments(
            output_dir="/data/out",
            per_device_train_batch_size=batch_size,
            gradient_accumulation_steps=16,
            gradient_checkpointing=True,
            optim="paged_adamw_8bit",
            bf16=True,
            num_train_epochs=2,
        ),
    ).train()


if __name__ == "__main__":
    main()
