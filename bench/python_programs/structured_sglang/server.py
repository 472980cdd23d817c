import sglang as sgl
from fastapi import FastAPI

from models import DEFAULT_MODEL

app = FastAPI()


@app.post("/extract")
async def extract(body: dict):
    out = await app.state.engine.async_generate(body["text"], {"temperature": 0, "json_schema": body["schema"]})
    return out["text"]


if __name__ == "__main__":
    import uvicorn

    app.state.engine = sgl.Engine(model_path=DEFAULT_MODEL, tp_size=1, context_length=16384, mem_fraction_static=0.85)
    uvicorn.run(app, host="0.0.0.0", port=30000)
