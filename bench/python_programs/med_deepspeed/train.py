import argparse

from datasets import load_from_disk
from transformers import AutoModelForCausalLM, AutoTokenizer, DataCollatorForLanguageModeling, Trainer, TrainingArguments

parser = argparse.ArgumentParser()
parser.add_argument("--model", default="meta-llama/Llama-3.1-8B")
parser.add_argument("--deepspeed", default=None)
parser.add_argument("--local_rank", type=int, default=-1)
args = parser.parse_args()

training_args = TrainingArguments(
    output_dir="/data/out",
    deepspeed=args.deepspeed,
    per_device_train_batch_size=1,
    gradient_accumulation_steps=4,
    gradient_checkpointing=True,
    learning_rate=1e-5,
    bf16=True,
    num_train_epochs=1,
    save_steps=500,
)
tokenizer = AutoTokenizer.from_pretrained(args.model)
tokenizer.pad_token = tokenizer.eos_token
model = AutoModelForCausalLM.from_pretrained(args.model)
# packed to 4,096 tokens by prepare.py
trainer = Trainer(
    model=model,
    args=training_args,
    train_dataset=load_from_disk("/data/packed-4096"),
    data_collator=DataCollatorForLanguageModeling(tokenizer, mlm=False),
)
trainer.train()
