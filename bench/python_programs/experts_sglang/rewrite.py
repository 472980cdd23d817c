import json
import sys

import sglang as sgl

PROMPT = "Rewrite the following paragraph in plain English.\n\n{text}\n\n"


def main(path):
    llm = sgl.Engine(
        model_path="mistralai/Mixtral-8x7B-Instruct-v0.1",
        tp_size=1,
        dtype="bfloat16",
    )
    rows = [json.loads(line) for line in open(path)]
    outputs = llm.generate([PROMPT.format(**r) for r in rows], {"temperature": 0.3, "max_new_tokens": 512})
    with open("rewritten.jsonl", "w") as f:
        for row, out in zip(rows, outputs):
            f.write(json.dumps({**row, "plain": out["text"]}) + "\n")
    llm.shutdown()


if __name__ == "__main__":
    main(sys.argv[1])
