import io

import torch
from diffusers import FluxPipeline
from fastapi import FastAPI, Response

pipe = FluxPipeline.from_pretrained("black-forest-labs/FLUX.1-dev", torch_dtype=torch.bfloat16)
pipe.to("cuda")

app = FastAPI()


@app.post("/poster")
def poster(prompt: str):
    image = pipe(prompt, height=1024, width=1024, guidance_scale=3.5, num_inference_steps=28).images[0]
    buffer = io.BytesIO()
    image.save(buffer, format="PNG")
    return Response(buffer.getvalue(), media_type="image/png")


if __name__ == "__main__":
    import uvicorn

    uvicorn.run(app, host="0.0.0.0", port=8000)
