import torch
from accelerate import Accelerator
from datasets import load_dataset
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, AutoTokenizer, get_cosine_schedule_with_warmup

MODEL = "Qwen/Qwen2.5-14B"
BATCH_SIZE = 1
SEQ_LEN = 2048
LR = 1e-5


def collate(tokenizer):
    def inner(rows):
        batch = tokenizer([r["text"] for r in rows], truncation=True, max_length=SEQ_LEN, padding=True, return_tensors="pt")
        batch["labels"] = batch["input_ids"].clone()
        return batch

    return inner


def main():
    accelerator = Accelerator(gradient_accumulation_steps=8)
    tokenizer = AutoTokenizer.from_pretrained(MODEL)
    model = AutoModelForCausalLM.from_pretrained(MODEL)
    model.gradient_checkpointing_enable()
    optimizer = torch.optim.AdamW(model.parameters(), lr=LR)
    data = load_dataset("json", data_files="/data/memos.jsonl", split="train")
    loader = DataLoader(data, batch_size=BATCH_SIZE, shuffle=True, collate_fn=collate(tokenizer))
    schedule = get_cosine_schedule_with_warmup(optimizer, 100, len(loader))
    model, optimizer, loader, schedule = accelerator.prepare(model, optimizer, loader, schedule)

    model.train()
    for batch in loader:
        with accelerator.accumulate(model):
            loss = model(**batch).loss
            accelerator.backward(loss)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()


if __name__ == "__main__":
    main()
