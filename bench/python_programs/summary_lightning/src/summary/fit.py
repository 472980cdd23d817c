import lightning as L

from summary.data import Articles
from summary.module import Summariser

CHECKPOINT = "Qwen/Qwen2.5-0.5B"


def main():
    trainer = L.Trainer(
        accelerator="gpu",
        devices=2,
        strategy="ddp",
        precision="bf16-mixed",
        max_epochs=2,
        accumulate_grad_batches=4,
    )
    trainer.fit(Summariser(CHECKPOINT), datamodule=Articles(CHECKPOINT, batch_size=4, length=512))


if __name__ == "__main__":
    main()
