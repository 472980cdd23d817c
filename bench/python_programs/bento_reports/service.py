import uuid
from collections.abc import AsyncGenerator

import bentoml

MODEL_ID = "Qwen/Qwen2.5-14B-Instruct"
MAX_TOKENS = 1024


@bentoml.service(
    name="reports",
    traffic={"timeout": 300, "concurrency": 64},
    resources={"gpu": 1, "gpu_type": "nvidia-l4"},
)
class Reports:
    def __init__(self) -> None:
        from vllm import AsyncEngineArgs, AsyncLLMEngine

        args = AsyncEngineArgs(model=MODEL_ID, max_model_len=4096, dtype="bfloat16")
        self.engine = AsyncLLMEngine.from_engine_args(args)

    @bentoml.api
    async def generate(self, prompt: str, max_tokens: int = MAX_TOKENS) -> AsyncGenerator[str, None]:
        from vllm import SamplingParams

        stream = self.engine.generate(prompt, SamplingParams(max_tokens=max_tokens), uuid.uuid4().hex)
        sent = 0
        async for output in stream:
            text = output.outputs[0].text
            yield text[sent:]
            sent = len(text)
