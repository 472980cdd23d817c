import subprocess

import modal

MODEL_NAME = "meta-llama/Llama-3.1-70B-Instruct"
N_GPU = 1
MINUTES = 60

image = modal.Image.debian_slim(python_version="3.12").pip_install("vllm==0.8.5", "huggingface_hub[hf_transfer]")
app = modal.App("large-chat")
cache = modal.Volume.from_name("hf-cache", create_if_missing=True)


@app.function(
    image=image,
    gpu=f"H100:{N_GPU}",
    scaledown_window=15 * MINUTES,
    timeout=10 * MINUTES,
    volumes={"/root/.cache/huggingface": cache},
)
@modal.concurrent(max_inputs=32)
@modal.web_server(port=8000, startup_timeout=10 * MINUTES)
def serve():
    cmd = [
        "vllm",
        "serve",
        MODEL_NAME,
        "--host",
        "0.0.0.0",
        "--port",
        "8000",
        "--tensor-parallel-size",
        str(N_GPU),
        "--max-model-len",
        "8192",
    ]
    subprocess.Popen(" ".join(cmd), shell=True)
