import lightning as L
from datasets import load_dataset
from torch.utils.data import DataLoader
from transformers import AutoTokenizer, default_data_collator


class Articles(L.LightningDataModule):
    def __init__(self, checkpoint: str, batch_size: int, length: int):
        super().__init__()
        self.tokenizer = AutoTokenizer.from_pretrained(checkpoint)
        self.batch_size, self.length = batch_size, length

    def encode(self, row):
        out = self.tokenizer(row["text"], truncation=True, padding="max_length", max_length=self.length)
        return {**out, "labels": out["input_ids"]}

    def setup(self, stage=None):
        self.rows = load_dataset("json", data_files="/data/articles.jsonl", split="train").map(self.encode)

    def train_dataloader(self):
        return DataLoader(self.rows, batch_size=self.batch_size, shuffle=True, collate_fn=default_data_collator)
