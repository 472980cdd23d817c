import numpy as np
import torch


def batches(size, length, path="/data/tokens.bin"):
    tokens = np.memmap(path, dtype=np.uint32, mode="r")
    while True:
        starts = torch.randint(len(tokens) - length, (size,))
        rows = [torch.from_numpy(tokens[s : s + length].astype(np.int64)) for s in starts]
        yield torch.stack(rows).cuda()
