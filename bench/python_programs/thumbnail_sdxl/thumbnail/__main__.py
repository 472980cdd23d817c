import torch
from diffusers import StableDiffusionXLPipeline

from .jobs import pending

BASE = "stabilityai/stable-diffusion-xl-base-1.0"


def main():
    pipe = StableDiffusionXLPipeline.from_pretrained(BASE, torch_dtype=torch.float16, variant="fp16", use_safetensors=True)
    pipe = pipe.to("cuda")
    for job in pending():
        pipe(job.prompt, num_inference_steps=30).images[0].save(job.path)


main()
