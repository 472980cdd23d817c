"""ms-swift: `swift sft`, `swift rlhf` and `megatron sft`, by command line and environment; `swift deploy` is inference."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gpulint.engines import Invocation, Reading, trainers
from gpulint.engines.trainers import preference, vocabulary
from gpulint.workload import Field, Unknown, Value

MENTIONS = ("swift", "megatron")
TRIGGERS = ("swift sft", "swift rlhf", "megatron")
PURPOSE = "training"
COMMANDS = {"swift": frozenset({"sft", "pt", "rlhf"}), "megatron": frozenset({"sft", "pt", "rlhf"})}
MODULES = ("swift.cli.sft", "swift.cli.pt", "swift.cli.rlhf")
SCRIPTS = ("swift/cli/sft.py", "swift/cli/pt.py", "swift/cli/rlhf.py")
TABLES = ("hugging-face", "ms-swift")
RANK = 8
"""modelscope/ms-swift 3602360a5 swift/arguments/tuner_args.py: lora_rank; base_args/base_args.py: tuner_type is lora."""
QUANTIZED: Mapping[tuple[object, object], Value | Unknown] = {("bnb", "4"): "nf4-double", ("bnb", "8"): "int8-bnb"}
"""swift/arguments/base_args/quant_args.py: nf4 with double quantisation."""
LAUNCHED = {"NPROC_PER_NODE": "processes_per_pod", "NNODES": "pods_per_replica"}
"""swift/cli/main.py: what it hands to torchrun."""

ZERO = re.compile(r"zero([0-3])(_offload)?")
"""swift/arguments/sft_args.py: DeepSpeed configurations that ms-swift has itself."""


def read(invocation: Invocation) -> Reading | None:
    """Return the fields of a training run with ms-swift; None for any other invocation."""
    started = trainers.find_program(invocation)
    if started is None:
        return None
    own: dict[str, Field | None] = {}
    with_megatron = started.name == "megatron"
    if started.words and started.words[0].source_text in COMMANDS.get(started.name, ()):
        own["method"] = Field(started.words[0].source_text, (started.words[0].origin,))
        started = started.skip_words(1)
        own.update(trainers.read_environment(invocation, LAUNCHED))
    elif not (started.path in MODULES or started.path.endswith(SCRIPTS)):
        return None
    first = started.words[0].source_text if started.words else ""
    if first.endswith((".yaml", ".yml", ".json")):
        own["training_config"] = trainers.first_file(started)
    started, shared = _split_own_configuration(started)
    defaults = None if with_megatron else vocabulary.DECIDING
    found = trainers.build_reading("ms-swift", started, TABLES, {**own, **shared}, defaults)
    if with_megatron:
        return found
    words = trainers.read_words(started.words, TABLES)[0]
    derived = _derive_training(words, found.fields)
    told = own.get("method")
    if "rlhf" in started.path or (told is not None and told.value == "rlhf"):
        derived |= _derive_preference(words, found.fields)
    return found._replace(fields={**found.fields, **derived})


def render_argument(release: str, quantity: str, value: object) -> str | None:
    """Return the argument that sets a quantity; for sharding, a configuration that ms-swift ships."""
    if (quantity, value) == ("activation_checkpointing", "full"):
        return None  # recomputation is on unless it is switched off
    return None if quantity == "sharding" else vocabulary.render_argument(quantity, value)


def _split_own_configuration(started: trainers.Program) -> tuple[trainers.Program, dict[str, Field | None]]:
    """Return the words without a DeepSpeed configuration that ms-swift ships, and what that
    configuration sets.
    """
    texts = started.texts()
    at = texts.index("--deepspeed") if "--deepspeed" in texts[:-1] else None
    stage = ZERO.fullmatch(texts[at + 1]) if at is not None else None
    if at is None or stage is None:
        return started, {}
    origins = (started.words[at + 1].origin,)
    said: dict[str, Value] = {
        "sharding": "deepspeed",
        "zero_stage": int(stage[1]),
        "optimizer_offload": bool(stage[2]),
        "parameter_offload": bool(stage[2]) and stage[1] == "3",
    }
    words = (*started.words[:at], *started.words[at + 2 :])
    return started._replace(words=words), {name: Field(value, origins) for name, value in said.items()}


def _derive_preference(words: Mapping[str, Field], fields: Mapping[str, Field]) -> dict[str, Field]:
    """Return the method of preference training, the length of its samples and what sleeps beside it."""
    stated = words.get("method", Field("dpo", source="default of ms-swift"))
    method = preference.find_method(str(stated.value))
    found = preference.read_method(method, stated)
    level = words.get("sleep_level")
    if level is not None and isinstance(level.value, int):
        found["rollout_sleeps"] = Field(level.value > 0, level.origins)
    if method in GENERATING:
        response = words.get("response_length", Field(COMPLETION, source="default of ms-swift"))
        if (length := preference.add_lengths(fields.get("sequence_length"), response)) is not None:
            found["sequence_length"] = length
        found["rollout_engine"] = words.get(
            "rollout_engine", Field("hf", source="default of ms-swift: use_vllm is off")
        )
    if "kl_coefficient" not in fields:
        found["kl_coefficient"] = Field(BETAS.get(str(method), 0.1), source="default of ms-swift")
    return found


GENERATING = frozenset({"grpo", "gkd", "ppo"})
COMPLETION = 512
BETAS: Mapping[str, float] = {"grpo": 0.04, "gkd": 0.5, "simpo": 2.0, "ppo": 0.05}
"""modelscope/ms-swift 3602360a5 swift/arguments/rlhf_args.py: max_completion_length, beta, kl_coef."""


def _derive_training(words: Mapping[str, Field], fields: Mapping[str, Field]) -> dict[str, Field]:
    """Return the fields that follow from the tuner: all weights, or adapters in every linear layer
    by default.
    """
    found: dict[str, Field] = {}
    tuner = words["adapted"].value if "adapted" in words else "lora"
    if tuner == "lora":
        found["lora_rank"] = fields.get("lora_rank", Field(RANK, source="default of ms-swift"))
        found["lora_targets"] = fields.get("lora_targets", Field(vocabulary.LETTERS["all-linear"]))
    elif tuner == "full" and not isinstance(fields.get("lora_rank", Field(None)).value, Unknown):
        found |= {"lora_rank": Field(None), "lora_targets": Field(None)}
    else:
        found["lora_rank"] = Field(Unknown(f"the trainable parameters of {tuner} are not modelled"))
    if "quantization" in words:
        by = words["quantised_by"].value if "quantised_by" in words else None
        format_ = QUANTIZED.get((by, words["quantization"].value), Unknown("this quantisation is not listed"))
        found["quantization"] = Field(format_, words["quantization"].origins)
    return found
