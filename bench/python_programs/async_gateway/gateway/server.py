import os
import uuid

import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import StreamingResponse
from vllm import AsyncEngineArgs, AsyncLLMEngine, SamplingParams

app = FastAPI()
engine_args = AsyncEngineArgs(
    model=os.environ["MODEL_NAME"],
    tensor_parallel_size=int(os.environ.get("TENSOR_PARALLEL_SIZE", 1)),
    max_model_len=int(os.environ.get("MAX_MODEL_LEN", 8192)),
    dtype="bfloat16",
)
engine = AsyncLLMEngine.from_engine_args(engine_args)


@app.post("/generate")
async def generate(request: Request):
    body = await request.json()
    results = engine.generate(body["prompt"], SamplingParams(max_tokens=body.get("max_tokens", 128)), str(uuid.uuid4()))

    async def stream():
        async for r in results:
            yield r.outputs[0].text

    return StreamingResponse(stream())


if __name__ == "__main__":
    uvicorn.run(app, host="0.0.0.0", port=8000)
