"""NeMo RL: its `run_*.py` programs, by the configuration file and the Hydra words of the command line."""

from __future__ import annotations

import re

from gpulint.engines import Invocation, Reading, trainers

MENTIONS = ("run_grpo", "run_sft", "run_dpo", "run_rm", "run_ppo", "run_distillation", "run_vlm_", "run_xtoken_")
PURPOSE = "training"
SCRIPT = re.compile(r"run_(?:vlm_)?(?:grpo|sft|dpo|rm|ppo|distillation|xtoken_off_policy_distillation)(?:_\w+)?\.py")
OWN_KEYS = ("policy.model_name", "cluster.num_nodes", "cluster.gpus_per_node", "grpo.num_prompts_per_step")
OWN_FOLDERS = ("examples/configs/", "nemo_rl", "nemo-rl", "NeMo-RL")


def read(invocation: Invocation) -> Reading | None:
    """Return the fields of a training run with NeMo RL; None for any other invocation."""
    started = trainers.find_program(invocation)
    if started is None or not SCRIPT.fullmatch(started.name):
        return None
    words = (started.path, *started.texts())
    if not (started.gives(*OWN_KEYS) or any(folder in word for folder in OWN_FOLDERS for word in words)):
        return None
    return trainers.build_reading("nemo-rl", started, ("nemo-rl",))
