"""Training rules: that `check` judges the memory of training runs, and stays silent where something could cure them."""

from __future__ import annotations

import pytest
from samples import changed, of_rule, report, roles, severities

from gpulint.report.model import Report, Severity

WEIGHTS = "training-weights-exceed-memory"
STATES, STEP = "training-states-exceed-memory", "training-does-not-fit"


def native(**stated: object) -> str:
    """A training job of our own spec with one role."""
    lines = "".join(f"    {name}: {value}\n" for name, value in stated.items() if value is not None)
    head = "apiVersion: gpulint/v1\nkind: TrainingJob\nmetadata: {name: job}\nspec:\n  roles:\n  - name: trainer\n"
    return head + lines


def job(command: str, card: str = "nvidia-h100-80gb", gpus: int = 1) -> str:
    """A Kubernetes job that runs one command."""
    words = "".join(f"            - {word!r}\n" for word in command.split())
    return f"""apiVersion: batch/v1
kind: Job
metadata: {{name: job}}
spec:
  template:
    spec:
      nodeSelector: {{cloud.google.com/gke-accelerator: {card}}}
      containers:
        - name: train
          image: registry.example/train:1
          command:
{words}          resources: {{limits: {{nvidia.com/gpu: {gpus}}}}}
"""


LLAMA = {
    "engine": "torchtune",
    "checkpoint": "meta-llama/Llama-3.1-8B",
    "accelerator": "h100-sxm-80gb",
    "gpus_per_pod": 8,
    "tensor_parallel": 1,
    "pipeline_parallel": 1,
    "optimizer": "adamw",
    "training_dtype": "float32",
}


def verdict(found: Report) -> str:
    (role,) = roles(found)
    return role.verdict


OPEN = ("not evaluated", "depends on ", "needs ", "likely ", "fits")
"""How verdicts begin where values are open and something may fit."""


# ---- states alone


def test_16_bytes_a_parameter_of_8_billion_do_not_fit_in_80_gigabytes() -> None:
    """8,030,261,248 parameters · (4 + 4 + 8) bytes = 119.7 GiB (Rajbhandari et al., ZeRO, 2020, section 3.1, in 32 bits)."""
    found = report(native(**LLAMA, sharding="ddp"))
    (finding,) = of_rule(found, STATES)
    assert finding.severity is Severity.ERROR
    assert "119.66 GiB" in finding.message
    assert verdict(found) == "does not fit"


def test_an_eighth_of_them_fits() -> None:
    found = report(native(**LLAMA, sharding="fsdp"))
    assert of_rule(found, STATES) == []
    assert verdict(found).startswith("depends on sequence length: fits up to ")  # batch and length are not stated


@pytest.mark.parametrize(
    "left_open",
    [
        {"sharding": None},
        {"sharding": "deepspeed"},  # the stage
        {"sharding": "ddp", "optimizer": "galore"},
        {"sharding": "ddp", "checkpoint": None},
        {"sharding": "ddp", "accelerator": None},
        {"sharding": "ddp", "lora_rank": 16},  # and no targets
        {"sharding": "ddp", "checkpoint": "meta-llama/Llama-3.1-70B", "quantization": "nf4"},  # and no adapters
    ],
)
def test_what_is_not_stated_is_bounded_and_no_error_rests_on_it(left_open: dict[str, object]) -> None:
    found = report(native(**{**LLAMA, **left_open}))
    assert Severity.ERROR not in severities(found).values()
    assert verdict(found).startswith(OPEN)


@pytest.mark.parametrize(
    "cure",
    [
        {"optimizer_offload": "true", "parameter_offload": "true"},
        {"lora_rank": 16, "lora_targets": "qv", "training_dtype": "bfloat16"},
        {"optimizer": "adamw-in-backward", "training_dtype": "bfloat16"},
        {"optimizer": "paged-adamw-8bit"},  # the driver moves the state to the host; weights and gradients are 59.8 GiB
    ],
)
def test_what_takes_states_off_the_card_is_no_finding(cure: dict[str, object]) -> None:
    assert of_rule(report(native(**{**LLAMA, "sharding": "ddp", **cure})), STATES) == []


# ---- the step

STEP_OF_8B = {
    **{name: value for name, value in LLAMA.items() if name != "optimizer"},
    "engine": "torchtitan",
    "training_dtype": "bfloat16",
    "activation_checkpointing": "none",
    "micro_batch_size": 8,
    "sequence_length": 8192,
}


def test_a_step_that_does_not_fit_is_an_error_with_its_terms() -> None:
    (finding,) = of_rule(report(native(**STEP_OF_8B)), STEP)
    assert finding.severity is Severity.ERROR
    assert any("micro-batch size 8, sequence length 8,192" in line for line in finding.arithmetic)


def test_every_alternative_of_a_step_carried_out_fits() -> None:
    text = native(**STEP_OF_8B)
    (finding,) = of_rule(report(text), STEP)
    assert finding.suggestions
    for suggestion in finding.suggestions:
        after = report(changed(text, suggestion))
        assert severities(after) == {}
        assert verdict(after) == "fits"


def test_torchtitans_own_run_on_eight_h100_fits() -> None:
    """pytorch/torchtitan benchmarks: Llama-3.1-8B, FSDP on 8 H100, batch 2, 8,192 tokens, selective recomputation."""
    stated = {**STEP_OF_8B, "micro_batch_size": 2, "activation_checkpointing": "products"}
    found = report(native(**stated))
    assert set(severities(found).values()) <= {Severity.NOTE}
    assert verdict(found) in ("fits", "likely fits")


def test_states_that_do_not_fit_are_one_finding_not_two() -> None:
    found = report(native(**{**STEP_OF_8B, "sharding": "ddp"}))
    assert set(severities(found)) == {STATES}


def test_without_a_card_the_report_names_those_that_fit() -> None:
    (role,) = roles(report(native(**{**STEP_OF_8B, "accelerator": None, "micro_batch_size": 1})))
    assert "H200 SXM 141GB" in role.fits_on
    assert "A10G 24GB" in role.too_small


# ---- command lines

FULL = "src/train.py --stage=sft --finetuning_type=full --model_name_or_path=meta-llama/Llama-3.1-8B --bf16=true"
SFT = "trl sft --model_name_or_path Qwen/Qwen2.5-7B --dtype bfloat16 --bf16 true --dataset_name a/b"
CLM = "transformers/examples/pytorch/language-modeling/run_clm.py --model_name_or_path mistralai/Mistral-7B-v0.1 --bf16"


@pytest.mark.parametrize(
    ("command", "card", "gpus"),
    [
        (f"torchrun --nproc_per_node=8 {FULL}", "nvidia-h100-80gb", 8),  # 16 bytes a parameter on every rank
        (f"llamafactory-cli train {FULL.partition(' ')[2]}", "nvidia-h100-80gb", 8),
        (SFT, "nvidia-l4", 1),  # 7.6 billion · 8 bytes = 56.7 GiB
        (f"torchrun --nproc_per_node=2 {CLM} --torch_dtype bfloat16", "nvidia-l4", 2),
        (f"python {CLM}", "nvidia-l4", 1),  # releases load 16 or 32 bits: 8 or 16 bytes a parameter, 54 GiB at least
    ],
)
def test_states_of_a_command_line_are_judged(command: str, card: str, gpus: int) -> None:
    found = report(job(command, card, gpus))
    assert severities(found).get(STATES) is Severity.ERROR, command


def test_weights_below_adapters_need_no_targets() -> None:
    """32.5 billion parameters of Qwen2.5-32B in 16 bits are 61 GiB, whatever PEFT adapts."""
    found = report(job(f"{SFT} --use_peft".replace("2.5-7B", "2.5-32B"), "nvidia-l4"))
    assert severities(found) == {WEIGHTS: Severity.ERROR}
    assert verdict(found) == "does not fit"


@pytest.mark.parametrize(
    "command",
    [
        SFT.replace("trl sft", "accelerate launch --config_file zero3.yaml trl/scripts/sft.py"),
        SFT.replace("trl sft", "accelerate launch trl/scripts/sft.py"),
        SFT.replace("trl sft", "python sft.py"),  # may be somebody's own
        f"{SFT} --deepspeed ds.json",
        f"{SFT} --use_peft",  # PEFT chooses the matrices
        f"{SFT} --use_peft --lora_target_modules q_proj v_proj --load_in_4bit",
        f"{SFT} --optim galore_adamw",
        f"{SFT} --config more.yaml",
        f"{SFT} --accelerate_config zero3",
        f"{SFT} $EXTRA_ARGS",
        f"{FULL} --use_galore true",
        f"{FULL} --use_badam",
        FULL.replace("type=full", "type=freeze"),
        FULL.replace("type=full", "type=lora"),
        FULL.replace(" --finetuning_type=full", " --cutoff_len=512"),  # adapters are LLaMA-Factory's default
        f"{FULL} --deepspeed=ds_z3_offload.json",
        f"{FULL} --fsdp_config=fsdp.json --fsdp=full_shard",
        CLM.replace("transformers/examples/pytorch/language-modeling/", "") + " --torch_dtype bfloat16",
        "python train.py --model_name_or_path mistralai/Mistral-7B-v0.1 --bf16 --per_device_train_batch_size 1 --do_train",
        "swift sft --model Qwen/Qwen2.5-7B-Instruct --torch_dtype bfloat16",
        "litgpt finetune_full meta-llama/Llama-3.1-8B --config more.yaml",
    ],
)
def test_what_a_command_line_leaves_open_is_no_error(command: str) -> None:
    started = f"python {command}" if command.startswith(("src/", "transformers/", "run_clm")) else command
    found = report(job(started, "nvidia-l4"))
    found_about_memory = {name: level for name, level in severities(found).items() if name in (WEIGHTS, STATES, STEP)}
    assert Severity.ERROR not in found_about_memory.values(), command
    assert verdict(found).startswith(OPEN)


@pytest.mark.parametrize(
    "command",
    [
        SFT.replace("trl sft", "deepspeed trl/scripts/sft.py"),  # no --deepspeed: the launcher starts processes only
        "litgpt finetune_full meta-llama/Llama-3.1-8B --precision bf16-true",  # 8 bytes for each of 8 billion weights
    ],
)
def test_a_released_program_on_one_gpu_does_what_it_does_by_default(command: str) -> None:
    assert severities(report(job(command, "nvidia-l4")))[STATES] == Severity.ERROR


def test_a_variable_of_accelerate_keeps_the_rules_silent() -> None:
    text = job(SFT, "nvidia-l4")
    assert of_rule(report(text), STATES)
    set_by = "          env: [{name: ACCELERATE_USE_DEEPSPEED, value: 'true'}]\n          resources"
    assert of_rule(report(text.replace("          resources", set_by)), STATES) == []


@pytest.mark.parametrize(("nodes", "known"), [("1", True), ("4", False), ("$(NODES)", False)])
def test_ranks_on_nodes_of_other_objects_keep_the_rules_silent(nodes: str, known: bool) -> None:
    """70.6 billion parameters at 16 bytes over 8 ranks are 131 GiB each; other pods may hold the other nodes' ranks."""
    command = f"torchrun --nnodes={nodes} --nproc_per_node=8 {FULL} --fsdp=full_shard".replace("3.1-8B", "3.1-70B")
    assert bool(of_rule(report(job(command, gpus=8)), STATES)) is known


def test_partial_sharding_words_are_not_read_as_full() -> None:
    sharded = f"torchrun --nproc_per_node=2 {FULL}"
    for word in ("full_shard,offload", "shard_grad_op", "hybrid_shard"):
        assert of_rule(report(job(f"{sharded} --fsdp={word}", gpus=2)), STATES) == []


SWIFT = (
    "swift sft --model Qwen/Qwen2.5-7B-Instruct --tuner_type {} --torch_dtype bfloat16 "
    "--per_device_train_batch_size 1 --max_length 2048"
)


@pytest.mark.parametrize(
    ("tuner", "card", "said"),
    [
        (
            "full",
            "nvidia-h100-80gb",
            ("fits", "likely fits"),
        ),  # examples/train/full/train.sh of ms-swift 3602360a5: 76 GiB
        ("full", "nvidia-tesla-a100", ("does not fit",)),
        ("lora", "nvidia-l4", ("fits", "likely fits")),  # examples/train/lora_sft.sh: 22 GB
        ("lora", "nvidia-tesla-t4", ("does not fit",)),  # 15.2 GB of weights in a card of 14.6 GiB
        ("longlora", "nvidia-tesla-t4", ("not evaluated",)),
    ],
)
def test_runs_of_ms_swift_fit_where_its_examples_say_they_do(tuner: str, card: str, said: tuple[str, ...]) -> None:
    found = report(job(SWIFT.format(tuner), card))
    assert verdict(found) in said
    heavy = [one for one in found.open if one.rule in (WEIGHTS, STATES, STEP) and one.severity > Severity.NOTE]
    assert bool(heavy) == (said == ("does not fit",))


def test_configurations_that_ms_swift_has_itself_are_known() -> None:
    full = SWIFT.format("full").replace("7B", "32B")
    for named, fails in (("zero1", True), ("zero3", False), ("zero3_offload", False), ("ds.json", False)):
        text = job(f"{full} --deepspeed {named}", gpus=8)
        assert bool(of_rule(report(text), STATES)) is fails, named


def test_an_alternative_is_written_in_the_trainers_own_words() -> None:
    (finding,) = of_rule(report(job(f"torchrun --nproc_per_node=8 {FULL}", gpus=8)), STATES)
    written = [edit.new for suggestion in finding.suggestions for edit in suggestion.edits]
    assert "--fsdp=full_shard auto_wrap" in written


def test_a_whole_70b_on_eight_cards_without_sharding_is_cured_by_sharding_and_nodes_or_by_adapters() -> None:
    """70.6 billion parameters of 16 bits are 131 GiB; 16 bytes each over 16 ranks of FSDP are 66 GiB, below 79."""
    stated = {
        **STEP_OF_8B,
        "checkpoint": "meta-llama/Llama-3.1-70B",
        "engine": "trl",
        "sharding": "ddp",
        "micro_batch_size": 1,
        "parameter_dtype": "bfloat16",
        "activation_checkpointing": "full",
    }
    text = native(**stated)
    (finding,) = report(text).open
    assert finding.severity is Severity.ERROR
    assert "sharding" in text.split("\n")[finding.location.line - 1]
    assert any("FSDP with 2 pods" in one.title for one in finding.suggestions)
    for suggestion in finding.suggestions:
        assert verdict(report(changed(text, suggestion))) in ("fits", "likely fits")
