"""Colossal-AI: the training scripts of its applications and examples, recognised by their plug-in
argument.
"""

from __future__ import annotations

import itertools
import re

from gpulint.engines import Invocation, Reading, trainers
from gpulint.engines.trainers import recipes
from gpulint.workload import Field, Unknown

MENTIONS = ("--plugin",)
TRIGGERS = ("colossalai",)
PURPOSE = "training"
SCRIPT = re.compile(r"(?:train(?:_\w+)?|lora_finetune|finetune|pretrain|benchmark)\.py")
PLUGINS = frozenset(
    {
        *("gemini", "gemini_auto", "zero2", "zero2_cpu", "3d", "3d_cpu"),
        *("ddp", "torch_ddp", "torch_ddp_fp16", "low_level_zero"),
    }
)

OWN_FLAGS = ("--pretrain", "--microbatch_size", "--accumulation_steps", "--zero_cpu_offload")

TABLES = ("colossalai",)
RELEASED = re.compile(r"(?:^|/)applications/ColossalChat/examples/training_scripts/(?P<name>lora_finetune)\.py$")
SHARDED = {"zero2": 2, "gemini": 3}
"""Plug-ins that keep all states on the GPU, by what they shard (GeminiPlugin: placement "static" by default)."""
HARMLESS = re.compile(
    r"--(?:[pdnf]|plugin|dataset|num_epochs|lr|weight_decay|warmup_steps|lora_rank|lora_alpha|config_file|tensorboard_dir|"
    r"grad_clip|use_flash_attn|sp_mode|enable_sequence_parallelism|microbatch_size|zero_cpu_offload)"
)
"""Words that do not change what a run keeps on a GPU, or that are read apart."""


def read(invocation: Invocation) -> Reading | None:
    """Return the fields of a training script of Colossal-AI; None for any other invocation."""
    started = trainers.find_program(invocation)
    if started is None or not SCRIPT.fullmatch(started.name):
        return None
    texts = started.texts()
    plugin = next((after for word, after in itertools.pairwise(texts) if word in ("--plugin", "-p")), "")
    known = plugin in PLUGINS or (plugin.startswith("$") and started.gives(*OWN_FLAGS))
    if not known:
        return None
    whole = None
    if released := RELEASED.search(started.path):
        own = {**_read_plugin(plugin), "lora_rank": _read_rank(started)}
        whole = recipes.build_reading("colossalai", started, TABLES, released["name"], HARMLESS, own)
    return whole or trainers.build_reading("colossalai", started, TABLES)


def _read_plugin(plugin: str) -> dict[str, Field | None]:
    """Return how a plug-in shards the states of the model, and whether it keeps them in host memory."""
    source = f"plug-in {plugin} (applications/ColossalChat/examples/training_scripts)"
    if plugin not in SHARDED:
        why = Unknown(f"where the plug-in {plugin} keeps the states is not modelled")
        return dict.fromkeys(("sharding", "optimizer_offload", "parameter_offload"), Field(why))
    return {
        "sharding": Field("deepspeed", source=source),
        "zero_stage": Field(SHARDED[plugin], source=source),
    }


def _read_rank(started: trainers.Program) -> Field | None:
    """Return the rank of the adapters; 0 means none."""
    rank = started.find_flag("--lora_rank")
    if rank is None:
        return None
    value = int(rank.text) if rank.text and rank.text.isdecimal() else Unknown(rank.why or "not a whole number")
    return Field(value or None, (rank.origin,))
