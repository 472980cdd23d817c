from pathlib import Path

from vllm import LLM, SamplingParams

MODEL = "google/gemma-2-27b-it"

llm = LLM(model=MODEL, dtype="bfloat16", max_model_len=4096, max_num_seqs=16)
texts = [p.read_text() for p in sorted(Path("in").glob("*.txt"))]
chats = [[{"role": "user", "content": f"Translate into French:\n{t}"}] for t in texts]
for path, out in zip(sorted(Path("in").glob("*.txt")), llm.chat(chats, SamplingParams(temperature=0, max_tokens=2048))):
    (Path("out") / path.name).write_text(out.outputs[0].text)
