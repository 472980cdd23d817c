from dataclasses import dataclass

from fastapi import FastAPI
from vllm import LLM, SamplingParams


@dataclass
class EngineConfig:
    model: str = "Qwen/Qwen2.5-1.5B-Instruct"
    gpus: int = 4
    context: int = 8192


config = EngineConfig()
app = FastAPI()
llm = LLM(model=config.model, tensor_parallel_size=config.gpus, max_model_len=config.context)


@app.post("/faq")
def faq(question: str):
    return llm.generate([question], SamplingParams(max_tokens=200))[0].outputs[0].text


if __name__ == "__main__":
    import uvicorn

    uvicorn.run(app, host="0.0.0.0", port=8000)
