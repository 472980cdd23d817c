from pathlib import Path

import torch
from torch.utils.data import Dataset


class Stories(Dataset):
    def __init__(self, tokenizer, block):
        text = "\n\n".join(p.read_text() for p in sorted(Path("stories").glob("*.txt")))
        self.ids = tokenizer(text)["input_ids"]
        self.block = block

    def __len__(self):
        return len(self.ids) // self.block

    def __getitem__(self, index):
        start = index * self.block
        return torch.tensor(self.ids[start : start + self.block])
