"""Values between which somebody else decides: one decision with the fields that each way settles together."""

from __future__ import annotations

from pathlib import Path

import pytest

import gpulint
from gpulint.adapters.python import alternatives
from gpulint.engines import Reading
from gpulint.report.model import OpenDecision, RoleSummary, WorkloadSummary
from gpulint.source.python import Evaluated
from gpulint.source.python.values import Point
from gpulint.workload import Field

JOB = """#!/bin/bash
#SBATCH --nodes=1
#SBATCH --time=01:00:00
#SBATCH --cpus-per-task=8
#SBATCH --gres=gpu:h100_sxm5_80gb:1
python run.py WORDS
"""
HEAD = """
import argparse, os, sys
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, BitsAndBytesConfig, Trainer, TrainingArguments
"""
TRAIN = """
model = AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.bfloat16, quantization_config=quantization)
model = get_peft_model(model, LoraConfig(r=16, target_modules=["q_proj", "v_proj"]))
arguments = TrainingArguments("o", per_device_train_batch_size=1, bf16=True, gradient_checkpointing=True)
Trainer(model=model, args=arguments).train()
"""


def check(folder: Path, program: str, words: str = "") -> WorkloadSummary:
    (folder / "job.slurm").write_text(JOB.replace("WORDS", words))
    (folder / "run.py").write_text(HEAD + program)
    (workload,) = gpulint.check(folder).workloads
    return workload


def check_role(folder: Path, program: str, words: str = "") -> RoleSummary:
    (role,) = check(folder, program, words).roles
    return role


def find(role: RoleSummary, name: str) -> OpenDecision:
    return next(one for one in role.open if one.name == name)


def test_a_branch_settles_model_and_quantisation_together(tmp_path: Path) -> None:
    """70.6e9 parameters in 4 bits are 37 GiB of 80; in 16 bits they are 131 GiB, which no way of this program takes."""
    program = """
if os.environ["BIG"] == "1":
    name, quantization = "meta-llama/Llama-3.1-70B", BitsAndBytesConfig(load_in_4bit=True)
else:
    name, quantization = "meta-llama/Llama-3.1-8B", None
"""
    role = check_role(tmp_path, program + TRAIN)
    decision = find(role, "$BIG")
    assert decision.members == ("Llama-3.1-70B, nf4", "Llama-3.1-8B")
    assert decision.quantities == ("checkpoint", "quantization")
    assert decision.decider == "the environment variable BIG"
    assert role.verdict != "not evaluated"


def test_the_choices_of_an_argument_are_members(tmp_path: Path) -> None:
    """16-bit weights of 70.6e9 parameters are 131 GiB, of 8.03e9 they are 15 GiB."""
    program = """
parser = argparse.ArgumentParser()
parser.add_argument("--size", choices=["8B", "70B"], required=True)
args = parser.parse_args()
model = AutoModelForCausalLM.from_pretrained(f"meta-llama/Llama-3.1-{args.size}", torch_dtype=torch.bfloat16).cuda()
model.generate(max_new_tokens=10)
"""
    role = check_role(tmp_path, program, '"$@"')
    assert find(role, "--size").members == ("8B", "70B")
    assert role.verdict == "depends on --size: weights fit with 8B"


def test_a_stated_argument_leaves_nothing_open(tmp_path: Path) -> None:
    program = """
parser = argparse.ArgumentParser()
parser.add_argument("--size", choices=["8B", "70B"], required=True)
args = parser.parse_args()
model = AutoModelForCausalLM.from_pretrained(f"meta-llama/Llama-3.1-{args.size}", torch_dtype=torch.bfloat16).cuda()
model.generate(max_new_tokens=10)
"""
    role = check_role(tmp_path, program, "--size 8B")
    assert role.architecture == "meta-llama/Llama-3.1-8B"
    assert "--size" not in {one.name for one in role.open}


@pytest.mark.parametrize("way", ["PRESETS[key]", "PRESETS.get(key)"])
def test_the_keys_of_a_dict_of_presets_are_members(tmp_path: Path, way: str) -> None:
    program = f"""
PRESETS = {{
    "small": dict(model="Qwen/Qwen2.5-7B", batch=8),
    "large": dict(model="Qwen/Qwen2.5-72B", batch=1),
}}
key = os.environ["PRESET"]
preset = {way}
model = AutoModelForCausalLM.from_pretrained(preset["model"], torch_dtype=torch.bfloat16).cuda()
model.generate(max_new_tokens=10)
"""
    role = check_role(tmp_path, program)
    assert find(role, "$PRESET").members == ("small", "large")
    assert role.verdict == "depends on $PRESET: weights fit with small"


def test_two_branches_on_the_same_fields_are_one_decision(tmp_path: Path) -> None:
    program = """
if os.environ["FAMILY"] == "qwen":
    family = "Qwen/Qwen2.5"
else:
    family = "Qwen/Qwen2"
if os.environ["SIZE"] == "large":
    size = "72B"
else:
    size = "7B"
model = AutoModelForCausalLM.from_pretrained(f"{family}-{size}", torch_dtype=torch.bfloat16).cuda()
model.generate(max_new_tokens=10)
"""
    role = check_role(tmp_path, program)
    decision = find(role, "$FAMILY and $SIZE")
    assert decision.members == ("Qwen2.5-72B", "Qwen2.5-7B", "Qwen2-72B", "Qwen2-7B")


def test_models_of_a_loop_are_evaluated_one_by_one(tmp_path: Path) -> None:
    """On 80 GB 72.7e9 parameters in 16 bits (135 GiB) do not fit, wherever the loop has them."""
    program = """
from vllm import LLM
for name in ["Qwen/Qwen2.5-72B-Instruct", "Qwen/Qwen2.5-7B-Instruct"]:
    LLM(model=name, max_model_len=4096).generate(["hi"])
"""
    role = check_role(tmp_path, program)
    assert role.verdict == "depends on the loop in line 8 of run.py: fits with Qwen/Qwen2.5-7B-Instruct"


def test_a_checkpoint_to_go_on_from_has_the_size_of_the_model(tmp_path: Path) -> None:
    program = """
name = "meta-llama/Llama-3.1-8B"
if os.path.exists("out/last"):
    name = "out/last"
quantization = None
"""
    role = check_role(tmp_path, program + TRAIN)
    assert role.architecture == "meta-llama/Llama-3.1-8B"
    assert any("out/last" in text or "last" in text for text in role.assumptions)


def test_a_network_that_is_counted_one_way_only_is_not_taken(tmp_path: Path) -> None:
    program = """
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = load() if os.environ["LARGE"] else torch.nn.Linear(8, 8)
    def forward(self, x):
        return self.encoder(x)

model = Net()
optimizer = torch.optim.AdamW(model.parameters())
for batch in data:
    model(batch).backward()
"""
    role = check_role(tmp_path, program)
    assert role.verdict == "not evaluated"


def test_a_condition_that_changes_nothing_of_the_run_is_no_decision(tmp_path: Path) -> None:
    program = """
name, quantization = "meta-llama/Llama-3.1-8B", None
if os.environ["VERBOSE"] == "1":
    print("verbose")
    level = 2
else:
    level = 1
"""
    role = check_role(tmp_path, program + TRAIN)
    assert not {one.name for one in role.open} & {"$VERBOSE"}


def test_adapters_behind_an_open_condition_are_a_decision(tmp_path: Path) -> None:
    program = """
model = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-3.1-8B", torch_dtype=torch.bfloat16)
if os.environ["LORA"]:
    model = get_peft_model(model, LoraConfig(r=16, target_modules=["q_proj", "v_proj"]))
arguments = TrainingArguments("o", per_device_train_batch_size=1, bf16=True, gradient_checkpointing=True)
Trainer(model=model, args=arguments).train()
"""
    decision = find(check_role(tmp_path, program), "$LORA")
    assert decision.quantities == ("lora_rank", "lora_targets")
    assert decision.members == ("lora rank 16", "no lora rank")


@pytest.mark.parametrize(("steps", "found"), [(1_000, True), (4_000, True), (700_000, False)])
def test_a_program_is_read_again_as_often_as_its_work_allows(steps: int, found: bool) -> None:
    """600,000 steps are ten readings of 60,000, and none of 700,000."""
    points = [Point((number,), (0, 1)) for number in range(2)]
    evaluated = Evaluated({}, (), {}, lambda: None, {point.key: point for point in points}, lambda: steps)
    readings: list[alternatives.Ways] = []

    def read(ways: alternatives.Ways) -> Reading:
        readings.append(ways)
        return Reading({"micro_batch_size": Field(2 if ways.get((1,)) else 1)}, None)

    base = Reading({"micro_batch_size": Field(1)}, None)
    assert alternatives.find_points(base, evaluated, read) == ((points[1],) if found else ())
    assert len(readings) <= 600_000 // steps
