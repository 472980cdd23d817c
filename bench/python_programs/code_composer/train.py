import torch
from composer import Trainer
from composer.models import HuggingFaceModel
from datasets import load_from_disk
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, AutoTokenizer, default_data_collator

NAME = "meta-llama/Llama-3.2-1B"

tokenizer = AutoTokenizer.from_pretrained(NAME)
model = HuggingFaceModel(AutoModelForCausalLM.from_pretrained(NAME), tokenizer=tokenizer, use_logits=True)
train = DataLoader(load_from_disk("/data/code-2048"), batch_size=4, collate_fn=default_data_collator)

trainer = Trainer(
    model=model,
    train_dataloader=train,
    optimizers=torch.optim.AdamW(model.parameters(), lr=2e-5),
    max_duration="1ep",
    precision="amp_bf16",
    device_train_microbatch_size=2,
    parallelism_config={"fsdp": {"sharding_strategy": "FULL_SHARD", "activation_checkpointing": True}},
    save_folder="/out",
)
trainer.fit()
