import os

import torch
from torch.utils.data import DataLoader, TensorDataset
from transformers import GPT2LMHeadModel, GPT2TokenizerFast

NAME = "openai-community/gpt2-medium"
BLOCK = 512
BATCH = 4

tokenizer = GPT2TokenizerFast.from_pretrained(NAME)
model = GPT2LMHeadModel.from_pretrained(NAME).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-5)

ids = tokenizer(open("poems.txt").read(), return_tensors="pt")["input_ids"][0]
ids = ids[: len(ids) // BLOCK * BLOCK].view(-1, BLOCK)
loader = DataLoader(TensorDataset(ids), batch_size=BATCH, shuffle=True)

for epoch in range(int(os.getenv("EPOCHS", "1"))):
    for (batch,) in loader:
        batch = batch.cuda()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = model(input_ids=batch, labels=batch).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    print(epoch, loss.item())
