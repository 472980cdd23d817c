import numpy as np
import torch


class Games(torch.utils.data.Dataset):
    def __init__(self, block):
        self.data = np.memmap("/data/games.bin", dtype=np.uint16, mode="r")
        self.block = block

    def __len__(self):
        return (len(self.data) - 1) // self.block

    def __getitem__(self, i):
        row = torch.from_numpy(self.data[i * self.block : (i + 1) * self.block + 1].astype(np.int64))
        return row[:-1], row[1:]
