"""A small GPT on our chess games, in one file."""

import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader

from games import Games

N_LAYER, N_HEAD, N_EMBD = 12, 12, 768
BLOCK_SIZE = 1024
VOCAB_SIZE = 50304
BATCH_SIZE = 12


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(N_EMBD), nn.LayerNorm(N_EMBD)
        self.qkv = nn.Linear(N_EMBD, 3 * N_EMBD)
        self.out = nn.Linear(N_EMBD, N_EMBD)
        self.up = nn.Linear(N_EMBD, 4 * N_EMBD)
        self.down = nn.Linear(4 * N_EMBD, N_EMBD)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(self.ln1(x)).chunk(3, dim=-1)
        q, k, v = (y.view(b, t, N_HEAD, c // N_HEAD).transpose(1, 2) for y in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, c)
        x = x + self.out(y)
        return x + self.down(F.gelu(self.up(self.ln2(x))))


class ChessGPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.token = nn.Embedding(VOCAB_SIZE, N_EMBD)
        self.position = nn.Embedding(BLOCK_SIZE, N_EMBD)
        self.blocks = nn.ModuleList(Block() for _ in range(N_LAYER))
        self.norm = nn.LayerNorm(N_EMBD)
        self.head = nn.Linear(N_EMBD, VOCAB_SIZE, bias=False)

    def forward(self, ids):
        x = self.token(ids) + self.position(torch.arange(ids.size(1), device=ids.device))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


parser = argparse.ArgumentParser()
parser.add_argument("--compile", action="store_true")
parser.add_argument("--lr", type=float, default=6e-4)
args = parser.parse_args()

model = ChessGPT().to("cuda")
if args.compile:
    model = torch.compile(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
for x, y in DataLoader(Games(BLOCK_SIZE), batch_size=BATCH_SIZE, shuffle=True, num_workers=4):
    x, y = x.to("cuda"), y.to("cuda")
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
