import modal

app = modal.App("catalogue-tune")
image = modal.Image.debian_slim(python_version="3.11").pip_install("unsloth", "datasets")
volume = modal.Volume.from_name("runs", create_if_missing=True)


@app.function(image=image, gpu="L40S", timeout=6 * 3600, volumes={"/runs": volume})
def train(steps: int = 500):
    from datasets import load_dataset
    from trl import SFTConfig, SFTTrainer
    from unsloth import FastLanguageModel

    model, tokenizer = FastLanguageModel.from_pretrained(
        model_name="unsloth/Qwen3-14B",
        max_seq_length=2048,
        load_in_4bit=False,
        full_finetuning=True,
    )
    trainer = SFTTrainer(
        model=model,
        tokenizer=tokenizer,
        train_dataset=load_dataset("json", data_files="/runs/catalogue.jsonl", split="train"),
        args=SFTConfig(
            per_device_train_batch_size=1,
            gradient_accumulation_steps=8,
            max_steps=steps,
            optim="adamw_8bit",
            output_dir="/runs/out",
        ),
    )
    trainer.train()
    volume.commit()


@app.local_entrypoint()
def main():
    train.remote()
