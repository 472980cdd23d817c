import json

import click
from vllm import LLM, SamplingParams


@click.group()
def cli():
    pass


@cli.command()
@click.option("--model", default="Qwen/Qwen2.5-7B-Instruct")
@click.option("--tp", default=1, type=int)
@click.option("--questions", default="/data/questions.jsonl", type=click.Path())
def run(model, tp, questions):
    llm = LLM(model, tensor_parallel_size=tp, max_model_len=8192)
    rows = [json.loads(line) for line in open(questions)]
    outputs = llm.generate([r["prompt"] for r in rows], SamplingParams(temperature=0.0, max_tokens=512))
    click.echo(sum(o.outputs[0].text.strip() == r["answer"] for o, r in zip(outputs, rows)) / len(rows))


if __name__ == "__main__":
    cli()
