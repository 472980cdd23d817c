from beam import Image, Volume, endpoint

MODEL = "Qwen/Qwen2.5-3B-Instruct"
CACHE = "./weights"


def load():
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(MODEL, cache_dir=CACHE)
    model = AutoModelForCausalLM.from_pretrained(MODEL, torch_dtype=torch.bfloat16, device_map="cuda", cache_dir=CACHE)
    return model, tokenizer


@endpoint(
    name="titles",
    on_start=load,
    cpu=4,
    memory="16Gi",
    gpu="A10G",
    image=Image(python_version="python3.11", python_packages=["torch", "transformers", "accelerate"]),
    volumes=[Volume(name="weights", mount_path=CACHE)],
)
def titles(context, text: str):
    model, tokenizer = context.on_start_value
    ids = tokenizer.apply_chat_template(
        [{"role": "user", "content": f"Give a title to this text:\n{text}"}], return_tensors="pt"
    ).to("cuda")
    return {"title": tokenizer.decode(model.generate(ids, max_new_tokens=32)[0][ids.shape[-1] :])}
