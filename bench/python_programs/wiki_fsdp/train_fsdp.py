from datasets import load_dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, DataCollatorForLanguageModeling, Trainer, TrainingArguments

MODEL = "mistralai/Mistral-7B-v0.3"

tokenizer = AutoTokenizer.from_pretrained(MODEL)
tokenizer.pad_token = tokenizer.eos_token
model = AutoModelForCausalLM.from_pretrained(MODEL)

data = load_dataset("wikimedia/wikipedia", "20231101.de", split="train[:1%]")
data = data.map(lambda r: tokenizer(r["text"], truncation=True, max_length=2048), remove_columns=data.column_names)

args = TrainingArguments(
    output_dir="/out",
    fsdp="full_shard auto_wrap",
    fsdp_config={"transformer_layer_cls_to_wrap": ["MistralDecoderLayer"], "activation_checkpointing": True},
    per_device_train_batch_size=2,
    gradient_accumulation_steps=4,
    bf16=True,
    learning_rate=2e-5,
    max_steps=4000,
)
Trainer(
    model=model,
    args=args,
    train_dataset=data,
    data_collator=DataCollatorForLanguageModeling(tokenizer, mlm=False),
).train()
