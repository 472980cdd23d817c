import argparse
import os

import torch
import torch.distributed as dist
from datasets import load_dataset
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler
from transformers import AutoModelForSequenceClassification, AutoTokenizer


def main(args):
    dist.init_process_group("nccl")
    local_rank = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local_rank)
    tokenizer = AutoTokenizer.from_pretrained("google-bert/bert-base-uncased")
    model = AutoModelForSequenceClassification.from_pretrained("google-bert/bert-base-uncased", num_labels=2).to(device)
    model = DistributedDataParallel(model, device_ids=[local_rank])
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-5)

    data = load_dataset("csv", data_files="/data/mails.csv", split="train")
    data = data.map(lambda r: tokenizer(r["text"], truncation=True, padding="max_length", max_length=128))
    data.set_format("torch", columns=["input_ids", "attention_mask", "label"])
    loader = DataLoader(data, batch_size=args.batch_size, sampler=DistributedSampler(data))

    for _ in range(args.epochs):
        for row in loader:
            output = model(
                input_ids=row["input_ids"].to(device),
                attention_mask=row["attention_mask"].to(device),
                labels=row["label"].to(device),
            )
            output.loss.backward()
            optimizer.step()
            optimizer.zero_grad()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--epochs", type=int, default=2)
    main(parser.parse_args())
