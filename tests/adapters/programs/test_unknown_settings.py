"""Settings of trainers' configurations that nobody reads, that a release took away, or that exclude one another."""

from __future__ import annotations

import pytest
import samples

from gpulint.adapters.programs import unknown_settings
from gpulint.catalog import tables

AXOLOTL = (
    "base_model: Qwen/Qwen2.5-1.5B\ndatasets: [{path: a/b, type: alpaca}]\nsequence_len: 2048\nmicro_batch_size: 1\n"
)
TRAINER = (
    "model_name_or_path: Qwen/Qwen2.5-1.5B\noutput_dir: out\nper_device_train_batch_size: 1\nlearning_rate: 1.0e-5\n"
)
ACCELERATE = (
    "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nnum_processes: 8\nmixed_precision: bf16\n"
)
NEOX = "pipe_parallel_size: 1\nmodel_parallel_size: 2\nnum_layers: 24\nhidden_size: 2048\nnum_attention_heads: 16\n"
LLAMA_FACTORY = f"{TRAINER}stage: sft\nfinetuning_type: lora\ntemplate: qwen\n"
DEEPSPEED = "train_micro_batch_size_per_gpu: 1\ngradient_accumulation_steps: 8\nbf16: {enabled: true}\n"
OF_SETTINGS = ("setting-unknown", "setting-retired", "settings-contradict", "setting-without-effect")


def said(text: str) -> list[tuple[str, int, str]]:
    """The rules about settings that speak, each with its line and message."""
    found = samples.report(text).open
    return [(one.rule, one.location.line, one.message) for one in found if one.rule in OF_SETTINGS]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        (f"{AXOLOTL}load_in_4_bit: true\n", "load_in_4bit"),
        (f"{AXOLOTL}gradient_acumulation_steps: 4\n", "gradient_accumulation_steps"),
        (f"{AXOLOTL}wramup_steps: 4\n", "warmup_steps"),
        (f"{TRAINER}gradient_accumulation_step: 4\n", "gradient_accumulation_steps"),
        (f"{LLAMA_FACTORY}lora_targt: all\n", "lora_target"),
        (f"{NEOX}seq_lenght: 2048\n", "seq_length"),
    ],
)
def test_a_misspelt_key_is_said_with_the_one_that_is_meant(text: str, meant: str) -> None:
    ((rule, line, message),) = said(text)
    assert (rule, line) == ("setting-unknown", len(text.splitlines()))
    assert message.endswith(f"did you mean {meant}?")


@pytest.mark.parametrize(
    "text",
    [
        f"{AXOLOTL}use_dora: true\n",
        f"{AXOLOTL}team_bucket: runs\n",
        f"{TRAINER}judge_model: a/b\n",
        f"{TRAINER}beta2: 0.9\n",
        # five keys of a program of its own, which reads clip_range where TRL's PPO has cliprange
        f"{TRAINER}clip_range: 0.2\nkl_ctl: 0.04\nlam: 1.0\ngenerate_time: 1\nalign_overflow: false\n",
        f"{TRAINER}dataset_names: [a, b]\ndataset_name: c\n",
        f"{TRAINER}{{% if long %}}\nmax_lenght: 8192\n{{% endif %}}\n",
        f"{DEEPSPEED}zero_optimization: {{stage: 3, stage3_max_live_parameters: 1000000000}}\n",
    ],
)
def test_a_key_of_somebodys_own_is_left_alone(text: str) -> None:
    assert said(text) == []


def test_a_format_that_refuses_other_keys_says_so() -> None:
    ((rule, line, message),) = said(f"{ACCELERATE}gradient_accumulation_steps: 8\n")
    assert (rule, line) == ("setting-unknown", 5)
    assert "Accelerate, which rejects" in message


def test_keys_of_other_releases_are_said_once_a_file() -> None:
    ((rule, line, message),) = said(f"{TRAINER}eval_steps: 5\nno_cuda: true\nevaluation_strategy: steps\n")
    assert (rule, line) == ("setting-retired", 7)
    assert "evaluation_strategy: not in Transformers 4.57.1 and later, use eval_strategy instead" in message
    assert "no_cuda: not in Transformers 5.0.0 and later, use use_cpu instead" in message


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (f"{AXOLOTL}sample_packing: true\nrl: dpo\n", 5),
        (f"{AXOLOTL}eval_steps: 10\nval_set_size: 0\n", 6),
        (f"{AXOLOTL}adapter: qlora\nload_in_8bit: true\nload_in_4bit: false\n", 5),
        (f"{TRAINER}load_best_model_at_end: true\nsave_strategy: epoch\nevaluation_strategy: steps\n", 5),
        (f"{LLAMA_FACTORY}do_train: true\nstreaming: true\n", 8),
        (f"{NEOX.replace('pipe_parallel_size: 1', 'pipe_parallel_size: 4')}zero_optimization: {{stage: 2}}\n", 1),
        (f"{DEEPSPEED}zero_optimization:\n  cpu_offload: true\n  offload_optimizer: {{device: cpu}}\n", 5),
    ],
)
def test_what_a_trainer_refuses_together_is_an_error(text: str, line: int) -> None:
    found = [(rule, at) for rule, at, _ in said(text) if rule != "setting-retired"]
    assert found == [("settings-contradict", line)]


@pytest.mark.parametrize(
    "text",
    [
        f"{AXOLOTL}sample_packing: false\nrl: dpo\n",
        f"{AXOLOTL}eval_steps: 10\nval_set_size: 0.05\n",
        f"{AXOLOTL}warmup_steps: 0\nwarmup_ratio: 0.1\n",
        f"{TRAINER}load_best_model_at_end: true\nsave_strategy: best\neval_strategy: steps\n",
        f"{LLAMA_FACTORY}do_train: true\nstreaming: true\nmax_steps: 1000\n",
        f"{NEOX}zero_optimization: {{stage: 1}}\n",
        f"{DEEPSPEED}zero_optimization: {{stage: 2, offload_optimizer: {{device: cpu}}}}\n",
        f"{DEEPSPEED}zero_optimization: {{stage: 2, offload_param: {{device: auto}}}}\n",
        f"{ACCELERATE}fsdp_config: {{}}\n",
    ],
)
def test_settings_that_go_together_are_silent(text: str) -> None:
    assert said(text) == []


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (f"{ACCELERATE}fsdp_config: {{fsdp_sharding_strategy: FULL_SHARD}}\n", 5),
        (f"{DEEPSPEED}zero_optimization: {{stage: 1, offload_param: {{device: cpu}}}}\n", 4),
        (f"{DEEPSPEED}zero_optimization: {{stage: 2, offload_optimizer: {{device: nvme}}}}\n", 4),
    ],
)
def test_a_setting_that_is_not_heeded_is_said(text: str, line: int) -> None:
    assert [(rule, at) for rule, at, _ in said(text)] == [("setting-without-effect", line)]


def test_every_condition_of_the_table_can_be_read() -> None:
    for row in tables.rows("setting_conflicts"):
        assert unknown_settings._parse_conditions(row["holds"])


RETIRED = f"{TRAINER}eval_steps: 5\nno_cuda: true\nevaluation_strategy: steps\n"


@pytest.mark.parametrize(
    ("requirement", "told"),
    [
        ("transformers==4.40.2", []),
        ("transformers==4.57.1", ["evaluation_strategy"]),
        ("transformers>=4.40,<=4.57.3", ["evaluation_strategy"]),
        ("transformers>=4.40", ["evaluation_strategy", "no_cuda"]),
    ],
)
def test_a_release_that_still_has_the_key_is_no_matter(requirement: str, told: list[str]) -> None:
    found = samples.report(RETIRED, files={"requirements.txt": requirement.encode()}).open
    messages = [one.message for one in found if one.rule == "setting-retired"]
    assert [key for key in ("evaluation_strategy", "no_cuda") if any(key in one for one in messages)] == told


COMMAND = "#!/bin/bash\ntorchrun --nproc_per_node 8 run_clm.py --model_name_or_path gpt2 --output_dir o {}\n"


@pytest.mark.parametrize(
    ("arguments", "requirement", "told"),
    [
        ("--evaluation_strategy steps", "", ["--evaluation_strategy"]),
        ("--evaluation-strategy=steps", "transformers>=4.50", ["--evaluation-strategy"]),
        ("--evaluation_strategy steps", "transformers==4.37.2", []),
        ("--eval_strategy steps", "", []),
        ("--no_cuda_graphs true", "", []),
    ],
)
def test_an_argument_that_later_releases_lack_is_said(arguments: str, requirement: str, told: list[str]) -> None:
    found = samples.report(COMMAND.format(arguments), files={"requirements.txt": requirement.encode()}).open
    assert [one.message.partition(":")[0] for one in found if one.rule == "trainer-argument-retired"] == told
