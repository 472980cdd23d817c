import lightning as L
import torch
from transformers import AutoModelForCausalLM


class Summariser(L.LightningModule):
    def __init__(self, checkpoint: str = "Qwen/Qwen2.5-0.5B", lr: float = 2e-5):
        super().__init__()
        self.save_hyperparameters()
        self.network = AutoModelForCausalLM.from_pretrained(checkpoint)

    def training_step(self, batch, _):
        loss = self.network(**batch).loss
        self.log("loss", loss)
        return loss

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)
