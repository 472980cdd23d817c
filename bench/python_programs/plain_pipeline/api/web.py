import torch
from fastapi import FastAPI
from transformers import pipeline

app = FastAPI(title="drafts")
generator = pipeline(
    "text-generation",
    model="mistralai/Mistral-7B-Instruct-v0.3",
    torch_dtype=torch.float32,
    device=0,
)


@app.get("/health")
def health():
    return {"ok": True}


@app.post("/draft")
def draft(body: dict):
    return generator(body["prompt"], max_new_tokens=256, do_sample=False)[0]
