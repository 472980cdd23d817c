import argparse

from vllm import LLM, SamplingParams

# gpulint: accelerator=l40s gpus=2
parser = argparse.ArgumentParser()
parser.add_argument("--model", default="Qwen/Qwen2.5-14B-Instruct")
arguments = parser.parse_args()
llm = LLM(model=arguments.model, tensor_parallel_size=2, max_model_len=8192)
print(llm.generate(["What is a GPU?"], SamplingParams(max_tokens=64)))
