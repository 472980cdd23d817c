import hydra
import torch
from datasets import load_dataset
from omegaconf import DictConfig
from peft import LoraConfig
from transformers import AutoModelForCausalLM
from trl import SFTConfig, SFTTrainer


@hydra.main(version_base=None, config_path="conf", config_name="config")
def main(cfg: DictConfig) -> None:
    model = AutoModelForCausalLM.from_pretrained(cfg.model.name, torch_dtype=getattr(torch, cfg.model.dtype))
    args = SFTConfig(
        output_dir="/out",
        per_device_train_batch_size=cfg.train.batch_size,
        max_length=cfg.train.max_length,
        learning_rate=cfg.train.lr,
        num_train_epochs=cfg.train.epochs,
        gradient_checkpointing=True,
        bf16=True,
    )
    SFTTrainer(
        model=model,
        args=args,
        train_dataset=load_dataset("json", data_files="/data/train.jsonl", split="train"),
        peft_config=LoraConfig(r=cfg.lora.r, lora_alpha=cfg.lora.alpha, target_modules="all-linear"),
    ).train()


if __name__ == "__main__":
    main()
