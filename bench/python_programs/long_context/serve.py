import asyncio

import typer
from vllm.engine.arg_utils import AsyncEngineArgs
from vllm.engine.async_llm_engine import AsyncLLMEngine

from http_front import serve

cli = typer.Typer()


@cli.command()
def main(
    model: str = typer.Option("meta-llama/Llama-3.1-8B-Instruct"),
    max_len: int = typer.Option(8192, help="Longest prompt and answer together."),
    port: int = 8000,
):
    args = AsyncEngineArgs(model=model, max_model_len=max_len, gpu_memory_utilization=0.92, dtype="bfloat16")
    asyncio.run(serve(AsyncLLMEngine.from_engine_args(args), port))


if __name__ == "__main__":
    cli()
