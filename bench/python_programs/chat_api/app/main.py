from fastapi import FastAPI
from pydantic import BaseModel
from vllm import LLM, SamplingParams

from app.settings import settings

app = FastAPI()
llm = LLM(
    model=settings.model,
    max_model_len=settings.max_model_len,
    gpu_memory_utilization=settings.gpu_memory_utilization,
)


class Question(BaseModel):
    text: str
    max_tokens: int = 256


@app.post("/chat")
def chat(question: Question) -> dict[str, str]:
    outputs = llm.chat([{"role": "user", "content": question.text}], SamplingParams(max_tokens=question.max_tokens))
    return {"answer": outputs[0].outputs[0].text}
