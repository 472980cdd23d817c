import ray.train.huggingface.transformers as ray_transformers
from datasets import load_dataset
from ray.train import RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer
from transformers import AutoModelForCausalLM, AutoTokenizer, DataCollatorForLanguageModeling, Trainer, TrainingArguments


def train_func(config):
    tokenizer = AutoTokenizer.from_pretrained(config["model"])
    model = AutoModelForCausalLM.from_pretrained(config["model"])
    data = load_dataset("json", data_files="/data/train.jsonl", split="train")
    data = data.map(lambda r: tokenizer(r["text"], truncation=True, max_length=1024))
    args = TrainingArguments(
        output_dir="/data/out",
        per_device_train_batch_size=1,
        gradient_checkpointing=True,
        bf16=True,
        num_train_epochs=config["epochs"],
    )
    trainer = Trainer(
        model=model,
        args=args,
        train_dataset=data,
        data_collator=DataCollatorForLanguageModeling(tokenizer, mlm=False),
    )
    trainer.add_callback(ray_transformers.RayTrainReportCallback())
    ray_transformers.prepare_trainer(trainer).train()


if __name__ == "__main__":
    TorchTrainer(
        train_func,
        train_loop_config={"model": "Qwen/Qwen2.5-14B", "epochs": 1},
        scaling_config=ScalingConfig(num_workers=4, use_gpu=True),
        run_config=RunConfig(storage_path="/data/ray"),
    ).fit()
