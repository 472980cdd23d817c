import pytorch_lightning as pl
import torch
from datasets import load_from_disk
from torch.utils.data import DataLoader
from transformers import AutoModelForSequenceClassification


class Intent(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.model = AutoModelForSequenceClassification.from_pretrained("FacebookAI/roberta-base", num_labels=24)

    def training_step(self, batch, batch_idx):
        return self.model(**batch).loss

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=2e-5)


if __name__ == "__main__":
    data = load_from_disk("/data/intents").with_format("torch")
    trainer = pl.Trainer(accelerator="gpu", devices=8, strategy="ddp", precision="16-mixed", max_epochs=3)
    trainer.fit(Intent(), DataLoader(data, batch_size=32, num_workers=4))
