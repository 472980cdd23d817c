from fastapi import FastAPI
from ray import serve
from vllm import AsyncEngineArgs, AsyncLLMEngine, SamplingParams
from vllm.utils import random_uuid

api = FastAPI()


@serve.deployment(ray_actor_options={"num_gpus": 1}, max_ongoing_requests=64)
@serve.ingress(api)
class Answers:
    def __init__(self, model: str, max_model_len: int):
        self.engine = AsyncLLMEngine.from_engine_args(
            AsyncEngineArgs(model=model, max_model_len=max_model_len, enable_prefix_caching=True)
        )

    @api.post("/answer")
    async def answer(self, question: str) -> str:
        final = None
        async for output in self.engine.generate(question, SamplingParams(max_tokens=256), random_uuid()):
            final = output
        return final.outputs[0].text


app = Answers.bind("Qwen/Qwen2.5-7B-Instruct", 8192)
