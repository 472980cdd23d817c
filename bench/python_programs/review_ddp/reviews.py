import torch


class ReviewDataset(torch.utils.data.Dataset):
    def __init__(self, seq_len):
        self.tokens = torch.load("/data/reviews.pt")
        self.seq_len = seq_len

    def __len__(self):
        return self.tokens.numel() // self.seq_len

    def __getitem__(self, i):
        return self.tokens[i * self.seq_len : (i + 1) * self.seq_len]
