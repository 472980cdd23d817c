from dataclasses import dataclass, field

from datasets import load_dataset
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    DataCollatorForLanguageModeling,
    HfArgumentParser,
    Trainer,
    TrainingArguments,
)


@dataclass
class ModelArguments:
    model_name_or_path: str = field(default="gpt2", metadata={"help": "Checkpoint to start from."})


@dataclass
class DataArguments:
    dataset: str = field(default="json")
    block_size: int = field(default=2048)


def main():
    parser = HfArgumentParser((ModelArguments, DataArguments, TrainingArguments))
    model_args, data_args, training_args = parser.parse_args_into_dataclasses()

    tokenizer = AutoTokenizer.from_pretrained(model_args.model_name_or_path)
    tokenizer.pad_token = tokenizer.eos_token
    model = AutoModelForCausalLM.from_pretrained(model_args.model_name_or_path)

    raw = load_dataset(data_args.dataset, data_files="tickets.jsonl", split="train")
    tokenized = raw.map(
        lambda row: tokenizer(row["body"], truncation=True, max_length=data_args.block_size),
        remove_columns=raw.column_names,
    )
    Trainer(
        model=model,
        args=training_args,
        train_dataset=tokenized,
        data_collator=DataCollatorForLanguageModeling(tokenizer, mlm=False),
    ).train()


if __name__ == "__main__":
    main()
