"""Specs that are wrong or right when they are deployed, and the same in other spellings."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable

TOO_WIDE = "parallel-size-exceeds-gpus"
ARGUMENTS = ("--model=Qwen/Qwen3-8B", "--tensor-parallel-size=8")
POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: chat
spec:
  containers:
    - name: vllm
      image: vllm/vllm-openai:v0.10.1
      args: ["--model=Qwen/Qwen3-8B", "--tensor-parallel-size=8"]
      resources:
        limits:
          nvidia.com/gpu: 4
      volumeMounts: [{name: shm, mountPath: /dev/shm}]
  volumes: [{name: shm, emptyDir: {medium: Memory}}]
"""
"""Eight ranks on four GPUs: it does not start."""
TOO_LARGE = "weights-exceed-memory"
LARGE = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat}
spec:
  template:
    spec:
      nodeSelector: {cloud.google.com/gke-accelerator: nvidia-l4}
      containers:
        - name: vllm
          image: vllm/vllm-openai:v0.10.1
          args: ["--model=meta-llama/Llama-3.1-70B-Instruct", "--max-model-len=8192", "--tensor-parallel-size=2"]
          resources: {limits: {nvidia.com/gpu: 2}}
          volumeMounts: [{name: shm, mountPath: /dev/shm}]
      volumes: [{name: shm, emptyDir: {medium: Memory}}]
"""
"""70 billion parameters on two GPUs of 24 GB: alternatives are searched and verified for it."""
RIGHT = POD.replace("size=8", "size=4")
SCRIPT = """\
#!/bin/bash
#SBATCH --nodes=1
#SBATCH --gpus-per-node=4
vllm serve Qwen/Qwen3-8B --tensor-parallel-size 8
"""
RIGHT_SCRIPT = SCRIPT.replace("size 8", "size 4")
BATCH_LINES = "".join(SCRIPT.splitlines(keepends=True)[1:3])
TERRAFORM_RULE = "more-cards-than-machine-holds"
TERRAFORM = """\
resource "google_container_node_pool" "gpu" {
  name = "gpu"
  node_config {
    machine_type = "g2-standard-12"
    guest_accelerator {
      type  = "nvidia-l4"
      count = 2
    }
  }
}
"""
RIGHT_TERRAFORM = TERRAFORM.replace("standard-12", "standard-24")
TRAINER_RULE = "sequence-not-divisible"
TRAINER = """\
[model]
name = "llama3"
flavor = "8B"
[training]
local_batch_size = 1
seq_len = 8192
steps = 100
[parallelism]
tensor_parallel_degree = 1
context_parallel_degree = 3
"""
RIGHT_TRAINER = TRAINER.replace("degree = 3", "degree = 2")
HARMLESS = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: words}
data: {greeting: hello}
"""
Spelling = Callable[[str], str]


def pod_object(image: str = "vllm/vllm-openai:v0.10.1") -> dict[str, object]:
    """Return the wrong pod as data."""
    container = {"name": "c", "image": image, "args": [*ARGUMENTS], "resources": {"limits": {"nvidia.com/gpu": 4}}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "chat"}, "spec": {"containers": [container]}}


def pod_json() -> str:
    """Return the wrong pod as JSON on one line."""
    return json.dumps(pod_object())


def write_pod(spell: Spelling) -> str:
    """Return the wrong pod as YAML with every word of GPUs and engines spelled by a function."""
    image, model, wide = (spell(text) for text in ("vllm/vllm-openai:v0.10.1", *ARGUMENTS))
    return (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: chat}\nspec:\n  containers:\n    - name: c\n"
        f"      image: {image}\n      args:\n        - {model}\n        - {wide}\n"
        f"      resources:\n        limits:\n          ? {spell('nvidia.com/gpu')}\n          : 4\n"
    )


def spell_x(text: str) -> str:
    return '"' + "".join(f"\\x{ord(letter):02x}" for letter in text) + '"'


def spell_u(text: str) -> str:
    return '"' + "".join(f"\\u{ord(letter):04x}" for letter in text) + '"'


def spell_long_u(text: str) -> str:
    return '"' + "".join(f"\\U{ord(letter):08X}" for letter in text) + '"'


def spell_one_x(text: str) -> str:
    """Spell each third letter as an escape, which is enough to hide a word."""
    return '"' + "".join(f"\\x{ord(x):02x}" if at % 3 == 1 else x for at, x in enumerate(text)) + '"'


def spell_binary(text: str) -> str:
    return f"!!binary {base64.b64encode(text.encode()).decode()}"


def spell_binary_block(text: str) -> str:
    encoded = base64.b64encode(text.encode()).decode()
    return f"!<tag:yaml.org,2002:binary> {encoded}"


def spell_folded(text: str) -> str:
    """Spell a word over several lines: an escaped end of line joins them without a space."""
    return '"' + "\\\n            ".join(text[at : at + 2] for at in range(0, len(text), 2)) + '"'


def spell_slash(text: str) -> str:
    """Spell `/` as the escape `\\/`, and one letter of each word as `\\x`."""
    return spell_one_x(text).replace("/", "\\/")


def escape_json(text: str) -> str:
    """Return JSON with every letter of its strings as an escape."""
    parts = text.split('"')
    return '"'.join(
        "".join(f"\\u{ord(letter):04x}" for letter in part) if at % 2 else part for at, part in enumerate(parts)
    )


def nest(levels: int) -> str:
    """Return flow sequences of so many levels."""
    return "[" * levels + "]" * levels


def with_extra(extra: str) -> str:
    """Return the wrong pod with a further top-level key."""
    return f"{POD}extra: {extra}\n"


def with_extra_first(extra: str) -> str:
    """Return the wrong pod after a further top-level key."""
    return f"extra: {extra}\n{POD}"
