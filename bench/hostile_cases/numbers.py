"""Numbers and empty values that a careless reader cannot take."""

from __future__ import annotations

import json
from collections.abc import Iterator

from hostile_cases.model import (
    CAUGHT,
    CHECKED,
    ENDS,
    Case,
    one,
)
from hostile_cases.specs import (
    POD,
    SCRIPT,
    TERRAFORM,
    TRAINER,
    pod_object,
)

HUGE = (
    "99999999999",
    "2147483648",
    "9223372036854775808",
    "1e308",
    "1e999",
    ".inf",
    ".nan",
    "-4",
    "0x10",
    "'' ",
    "~",
    "[4]",
    "{a: 4}",
    "9" * 4301,
)
"""What a careless reader takes for a number."""


def list_cases() -> Iterator[Case]:
    """Yield numbers of every size, and keys without a value."""
    for cases in (_numbers_of_pods(), _numbers_of_other_formats(), _empty_values()):
        yield from cases


def _numbers_of_pods() -> Iterator[Case]:
    way = "numbers"
    for at, number in enumerate(HUGE):
        text = POD.replace("gpu: 4", f"gpu: {number}")
        yield Case(f"gpus-{at}", way, ENDS, one("pod.yaml", text.encode()))
    flags = (
        "pipeline-parallel-size",
        "data-parallel-size",
        "max-model-len",
        "max-num-seqs",
        "block-size",
        "gpu-memory-utilization",
    )
    for at, flag in enumerate(flags):
        text = POD.replace(
            '"--tensor-parallel-size=8"', f'"--tensor-parallel-size=8", "--{flag}={(10**11, 2**31, 1000003)[at % 3]}"'
        )
        yield Case(f"argument-{flag}", way, CAUGHT, one("pod.yaml", text.encode()))
    yield Case(
        "argument-4301-digits", way, CAUGHT, one("pod.yaml", POD.replace("size=8", "size=" + "8" * 4301).encode())
    )
    yield Case(
        "argument-nan",
        way,
        ENDS,
        one("pod.yaml", POD.replace("--tensor-parallel-size=8", "--gpu-memory-utilization=nan").encode()),
    )
    deployment = POD.replace("v1\nkind: Pod", "apps/v1\nkind: Deployment").split("spec:", 1)
    body = "".join(f"    {line}\n" for line in f"spec:{deployment[1]}".splitlines())
    for number in ("2147483648", "9" * 30, "-1", "1.5", ".nan", "true"):
        text = f"{deployment[0]}spec:\n  replicas: {number}\n  template:\n{body}"
        yield Case(f"replicas-{number[:12]}", way, CAUGHT, one("pod.yaml", text.encode()))


def _numbers_of_other_formats() -> Iterator[Case]:
    way = "numbers"
    yield Case("nodes-sbatch", way, ENDS, one("run.sbatch", SCRIPT.replace("nodes=1", "nodes=99999999999").encode()))
    yield Case(
        "range-sbatch",
        way,
        ENDS,
        one("run.sbatch", SCRIPT.replace("nodes=1", "nodes=1-99999999999 --array=0-99999999999").encode()),
    )
    yield Case("count-tf", way, ENDS, one("main.tf", TERRAFORM.replace("count = 2", "count = 1000003").encode()))
    yield Case(
        "node-count-tf",
        way,
        CHECKED,
        one("main.tf", TERRAFORM.replace("node_config", f"node_count = {10**20}\n  node_config").encode()),
    )
    yield Case(
        "degree-toml",
        way,
        CAUGHT,
        one("train.toml", TRAINER.replace("tensor_parallel_degree = 1", f"tensor_parallel_degree = {2**62}").encode()),
    )
    for number in ("nan", "inf", "-inf", "9" * 500, "0x7fffffffffffffff"):
        yield Case(f"length-toml-{number[:6]}", way, ENDS, one("train.toml", TRAINER.replace("8192", number).encode()))
    for number in ("NaN", "Infinity", "1e999", "-0", "1" * 5000):
        text = json.dumps(pod_object()).replace(": 4}", f": {number}}}")
        yield Case(f"json-{number[:8]}", way, ENDS, one("pod.json", text.encode()))
    facility = "apiVersion: gpulint/v1\nkind: Facility\nmetadata: {name: x}\nspec:\n  rooms:\n    - name: h\n      racks: [{name: 'r[1-99999999999]', units: 42, servers: [{type: dgx-h100, units: 8, count: 1000003}]}]\n"
    yield Case("facility-counts", way, ENDS, one("site.yaml", facility.encode()))


def _empty_values() -> Iterator[Case]:
    way = "empty values"
    keys = (
        "image",
        "args",
        "resources",
        "name",
        "volumeMounts",
        "containers",
        "spec",
        "metadata",
        "kind",
        "apiVersion",
    )
    for key in keys:
        lines = [
            f"{line.split(':')[0]}:" if line.strip(" -").startswith(f"{key}:") else line for line in POD.splitlines()
        ]
        yield Case(f"empty-{key}", way, ENDS, one("pod.yaml", "\n".join(lines).encode()))
    native = "apiVersion: gpulint/v1\nkind: InferenceService\nmetadata: {name: chat}\nspec:\n  roles:\n    - name: server\n      checkpoint: Qwen/Qwen3-8B\n"
    for word in (
        "tensor_parallel:",
        "accelerator: []",
        "gpus_per_pod: {}",
        "engine: [vllm]",
        "max_model_len: null",
        "engine_version: [a, b]",
        "gpus_per_pod: 99999999999",
        "replicas: 1.0e+300",
        "pods_per_replica: .nan",
    ):
        yield Case(
            f"native-{word.replace(' ', '').replace(':', '-')}",
            way,
            ENDS,
            one("spec.yaml", f"{native}      {word}\n".encode()),
        )
    yield Case("list-as-name", way, ENDS, one("pod.yaml", POD.replace("name: chat", "name: [a, {b: c}]").encode()))
    yield Case(
        "map-as-image",
        way,
        ENDS,
        one("pod.yaml", POD.replace("image: vllm/vllm-openai:v0.10.1", "image: {a: vllm}").encode()),
    )
    yield Case(
        "numbers-as-args",
        way,
        ENDS,
        one("pod.yaml", POD.replace('"--model=Qwen/Qwen3-8B"', "8, null, [x], {y: z}").encode()),
    )
