import numpy as np
import torch

from model import GPT, GPTConfig

batch_size = 4
block_size = 1024
learning_rate = 3e-4
max_iters = 20000

config = GPTConfig(block_size=block_size, n_layer=48, n_head=25, n_embd=1600)
data = np.memmap("/data/train.bin", dtype=np.uint16, mode="r")


def get_batch():
    ix = torch.randint(len(data) - block_size, (batch_size,))
    x = torch.stack([torch.from_numpy(data[i : i + block_size].astype(np.int64)) for i in ix])
    y = torch.stack([torch.from_numpy(data[i + 1 : i + 1 + block_size].astype(np.int64)) for i in ix])
    return x.cuda(), y.cuda()


model = GPT(config).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate, betas=(0.9, 0.95), weight_decay=0.1)
scaler = torch.amp.GradScaler("cuda")
for step in range(max_iters):
    x, y = get_batch()
    with torch.autocast("cuda", dtype=torch.float16):
        loss = model(x, y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad(set_to_none=True)
