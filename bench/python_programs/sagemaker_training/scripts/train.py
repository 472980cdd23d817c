import argparse

from datasets import load_from_disk
from transformers import AutoModelForCausalLM, AutoTokenizer, DataCollatorForLanguageModeling, Trainer, TrainingArguments


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model_id", type=str)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--batch_size", type=int, default=8)
    parser.add_argument("--max_length", type=int, default=1024)
    args, _ = parser.parse_known_args()

    tokenizer = AutoTokenizer.from_pretrained(args.model_id)
    model = AutoModelForCausalLM.from_pretrained(args.model_id)
    data = load_from_disk("/opt/ml/input/data/training")
    data = data.map(lambda r: tokenizer(r["text"], truncation=True, max_length=args.max_length))
    Trainer(
        model=model,
        args=TrainingArguments(
            output_dir="/opt/ml/model",
            per_device_train_batch_size=args.batch_size,
            gradient_checkpointing=True,
            num_train_epochs=args.epochs,
            bf16=True,
        ),
        train_dataset=data,
        data_collator=DataCollatorForLanguageModeling(tokenizer, mlm=False),
    ).train()


if __name__ == "__main__":
    main()
