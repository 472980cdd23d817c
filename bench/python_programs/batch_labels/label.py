import argparse
import json

from vllm import LLM, SamplingParams


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--model", default="Qwen/Qwen2.5-72B-Instruct")
    p.add_argument("--tensor-parallel", type=int, default=1, dest="tp")
    p.add_argument("--input", required=True)
    p.add_argument("--max-model-len", type=int, default=4096)
    args = p.parse_args()

    llm = LLM(model=args.model, tensor_parallel_size=args.tp, max_model_len=args.max_model_len, dtype="bfloat16")
    prompts = [json.loads(line)["prompt"] for line in open(args.input)]
    for out in llm.generate(prompts, SamplingParams(temperature=0, max_tokens=64)):
        print(json.dumps({"label": out.outputs[0].text}))


if __name__ == "__main__":
    main()
