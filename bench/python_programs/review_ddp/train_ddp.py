import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler
from transformers import AutoModelForCausalLM

from reviews import ReviewDataset

CONFIG = dict(model="Qwen/Qwen2.5-3B", batch_size=1, seq_len=1024, lr=1e-5, epochs=1)


def main():
    dist.init_process_group(backend="nccl")
    rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(rank)
    model = AutoModelForCausalLM.from_pretrained(CONFIG["model"], torch_dtype=torch.float32).to(rank)
    model.gradient_checkpointing_enable()
    model = DDP(model, device_ids=[rank])
    optimizer = torch.optim.AdamW(model.parameters(), lr=CONFIG["lr"])
    dataset = ReviewDataset(CONFIG["seq_len"])
    loader = DataLoader(dataset, batch_size=CONFIG["batch_size"], sampler=DistributedSampler(dataset))
    scaler_dtype = torch.bfloat16
    for _ in range(CONFIG["epochs"]):
        for ids in loader:
            ids = ids.to(rank)
            with torch.autocast("cuda", dtype=scaler_dtype):
                loss = model(input_ids=ids, labels=ids).loss
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
