from datasets import load_dataset
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import DPOConfig, DPOTrainer

from . import settings


def run() -> None:
    model = AutoModelForCausalLM.from_pretrained(settings.BASE_MODEL)
    reference = AutoModelForCausalLM.from_pretrained(settings.BASE_MODEL)
    tokenizer = AutoTokenizer.from_pretrained(settings.BASE_MODEL)
    args = DPOConfig(
        output_dir="/out",
        beta=settings.BETA,
        max_length=settings.MAX_LENGTH,
        per_device_train_batch_size=settings.BATCH,
        gradient_accumulation_steps=8,
        gradient_checkpointing=True,
        bf16=True,
    )
    train = load_dataset("parquet", data_files="/data/pairs.parquet", split="train")
    DPOTrainer(model, reference, args=args, train_dataset=train, processing_class=tokenizer).train()


if __name__ == "__main__":
    run()
