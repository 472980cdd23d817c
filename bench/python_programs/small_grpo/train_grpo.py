from datasets import load_dataset
from trl import GRPOConfig, GRPOTrainer

MODEL = "Qwen/Qwen2.5-0.5B-Instruct"


def reward_len(completions, **kwargs):
    return [-abs(200 - len(c)) for c in completions]


def main() -> None:
    args = GRPOConfig(
        output_dir="out",
        per_device_train_batch_size=6,
        gradient_accumulation_steps=1,
        num_generations=4,
        max_prompt_length=256,
        max_completion_length=256,
        bf16=True,
    )
    dataset = load_dataset("trl-lib/tldr", split="train")
    trainer = GRPOTrainer(model=MODEL, reward_funcs=reward_len, args=args, train_dataset=dataset)
    trainer.train()


if __name__ == "__main__":
    main()
