"""NeMo RL: its `run_*.py` programs, by the configuration file and the Hydra words of the command line."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gpulint.engines import Invocation, Reading, trainers
from gpulint.engines.trainers import preference, recipes, vocabulary
from gpulint.workload import Field

MENTIONS = ("run_grpo", "run_sft", "run_dpo", "run_rm", "run_ppo", "run_distillation", "run_vlm_", "run_xtoken_")
PURPOSE = "training"
SCRIPT = re.compile(
    r"run_(?:vlm_)?(?P<method>grpo|sft|dpo|rm|ppo|distillation|xtoken_off_policy_distillation)(?:_\w+)?\.py"
)
OWN_KEYS = ("policy.model_name", "cluster.num_nodes", "cluster.gpus_per_node", "grpo.num_prompts_per_step")
TABLES = ("nemo-rl",)
FINE_TUNING = "examples/run_sft.py"
DEFAULTS = "examples/configs/sft.yaml"
"""The configuration of fine-tuning where a command names none."""
HARMLESS = re.compile(
    r"(?:sft|data|checkpointing|logger|cluster)\..*|"
    r"policy\.(?:tokenizer|scheduler|optimizer\.kwargs|sequence_packing|dynamic_batching|max_grad_norm)(?:\..*)?"
)
"""Words that do not change what a run keeps on a GPU."""
OWN_FOLDERS = ("examples/configs/", "nemo_rl", "nemo-rl", "NeMo-RL")
TABLES = ("nemo-rl",)
RANK = 8
"""NVIDIA-NeMo/RL 7ea279abf examples/configs/grpo_math_1B.yaml: lora_cfg.dim, on all linear layers (match_all_linear)."""


def read(invocation: Invocation) -> Reading | None:
    """Return the fields of a training run with NeMo RL; None for any other invocation."""
    started = trainers.find_program(invocation)
    if started is None or (script := SCRIPT.fullmatch(started.name)) is None:
        return None
    words = (started.path, *started.texts())
    if not (started.gives(*OWN_KEYS) or any(folder in word for folder in OWN_FOLDERS for word in words)):
        return None
    if started.path.endswith(FINE_TUNING) and not started.gives("--config"):
        whole = recipes.build_reading("nemo-rl", started, TABLES, DEFAULTS, HARMLESS)
        if whole is not None:
            return whole
    method = preference.find_method(script["method"])
    own = preference.read_method(method, trainers.text_field(started.word))
    defaults = vocabulary.DECIDING if started.gives("policy.model_name") else ()
    found = trainers.build_reading("nemo-rl", started, TABLES, {**own}, defaults)
    settled = derive_backend(trainers.read_words(started.words, TABLES)[0])
    return found._replace(fields={**found.fields, **settled})


def derive_backend(words: Mapping[str, Field]) -> dict[str, Field]:
    """Return the sharding by the backend, and where samples are generated."""
    found: dict[str, Field] = {}
    if (megatron := words.get("with_megatron")) is not None:
        found["sharding"] = Field("distributed-optimizer" if megatron.value is True else "fsdp", megatron.origins)
    if (colocated := words.get("colocated")) is not None:
        found["rollout_mode"] = Field("colocate" if colocated.value is True else "server", colocated.origins)
    if (adapted := words.get("adapted")) is not None and adapted.value is True:
        found["lora_rank"] = words.get("adapter_rank", Field(RANK, adapted.origins, "default of NeMo RL"))
        found["lora_targets"] = Field(vocabulary.LETTERS["all-linear"], adapted.origins)
    if "optimizer_offload" in words:
        found["parameter_offload"] = words["optimizer_offload"]  # dtensor_cfg.cpu_offload moves both
    return found
