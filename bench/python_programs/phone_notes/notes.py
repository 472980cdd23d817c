import json

import torch
from flask import Flask, request
from transformers import AutoModelForCausalLM, AutoTokenizer

MODEL = "microsoft/Phi-3-mini-4k-instruct"

app = Flask(__name__)
tokenizer = AutoTokenizer.from_pretrained(MODEL)
model = AutoModelForCausalLM.from_pretrained(MODEL, torch_dtype=torch.float16).to("cuda").eval()


@app.route("/notes", methods=["POST"])
@torch.inference_mode()
def notes():
    ids = tokenizer(request.json["transcript"], return_tensors="pt", truncation=True, max_length=2048).to("cuda")
    out = model.generate(**ids, max_new_tokens=300)
    return json.dumps({"notes": tokenizer.decode(out[0], skip_special_tokens=True)})


if __name__ == "__main__":
    app.run(host="0.0.0.0", port=5000)
