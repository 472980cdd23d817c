import os

from fastapi import FastAPI
from llama_cpp import Llama

llm = Llama.from_pretrained(
    repo_id="bartowski/Meta-Llama-3.1-70B-Instruct-GGUF",
    filename="Meta-Llama-3.1-70B-Instruct-Q4_K_M.gguf",
    n_gpu_layers=-1,
    n_ctx=int(os.getenv("N_CTX", 4096)),
)
app = FastAPI()


@app.post("/ask")
def ask(body: dict):
    return llm.create_chat_completion(messages=body["messages"])
