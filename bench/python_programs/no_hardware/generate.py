import argparse
import json
from pathlib import Path

from vllm import LLM, SamplingParams

parser = argparse.ArgumentParser()
parser.add_argument("--topic", required=True)
parser.add_argument("--count", type=int, default=1000)
args = parser.parse_args()

llm = LLM(model="Qwen/Qwen2.5-14B-Instruct", dtype="bfloat16", max_model_len=8192)
sampling = SamplingParams(temperature=0.9, max_tokens=700)
prompt = f"Write a question about {args.topic} and answer it."

Path("out").mkdir(exist_ok=True)
with open(f"out/{args.topic}.jsonl", "w") as file:
    for output in llm.generate([prompt] * args.count, sampling):
        file.write(json.dumps({"text": output.outputs[0].text}) + "\n")
