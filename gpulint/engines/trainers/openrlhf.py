"""OpenRLHF: the modules `openrlhf.cli.train_*`, by command line."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gpulint.engines import Invocation, Reading, trainers
from gpulint.engines.trainers import preference, recipes, vocabulary
from gpulint.workload import Field, Unknown

MENTIONS = ("openrlhf",)
PURPOSE = "training"
MODULE = re.compile(r"(?:.*/)?openrlhf[./]cli[./]train_(?P<method>\w+?)(?:\.py)?")
TABLES = ("openrlhf",)
FILLED = 16_192
"""OpenRLHF/OpenRLHF 3c3be623 openrlhf/cli/train_ppo_ray.py, --train.max_tokens_per_gpu."""

TABLES = ("openrlhf",)
RANKS = ("--lora_rank", "--ds.lora.rank")
HARMLESS = re.compile(
    r"--(?:data|eval|logger|ckpt|adam|muon)\..*|--train\.(?:max_epochs|seed)|--ds\.lora\.(?:rank|alpha|dropout)|"
    r"--(?:dataset\w*|eval_\w+|input_\w+|output_key|max_samples|max_epochs|learning_rate|lr_\w+|l2|adam_betas|seed|"
    r"logging_steps|save_\w+|ckpt_\w+|load_checkpoint|use_wandb|wandb_\w+|use_tensorboard|apply_chat_template|"
    r"tokenizer_chat_template|lora_(?:rank|alpha|dropout)|max_norm|local_rank|multiturn|pretrain_mode|"
    r"disable_fast_tokenizer|overlap_comm|gradient_checkpointing_use_reentrant|aux_loss_coef)"
)
"""Words that do not change what a run keeps on a GPU."""


def read(invocation: Invocation) -> Reading | None:
    """Return the fields of a training run with OpenRLHF; None for any other invocation."""
    started = trainers.find_program(invocation)
    if started is None or (module := MODULE.fullmatch(started.path)) is None:
        return None
    if started.path.removesuffix(".py").endswith("train_sft"):
        rank = {"lora_rank": _read_rank(started)}
        whole = recipes.build_reading("openrlhf", started, TABLES, "train_sft", HARMLESS, rank)
        return whole or trainers.build_reading("openrlhf", started, TABLES, rank)
    words = trainers.read_words(started.words, TABLES)[0]
    method = preference.find_in_path(module["method"])
    own = preference.read_method(method, trainers.text_field(started.word))
    own["sharding"] = Field("deepspeed", (started.word.origin,))
    found = trainers.build_reading("openrlhf", started, TABLES, {**own}, vocabulary.DECIDING)
    if module["method"] == "ppo":  # the trainer without Ray has every model in each process, and generates itself
        words = {**words, "colocated": trainers.text_field(started.word)}
    derived = _derive_models(words) if method == "ppo" else {}
    return found._replace(fields={**found.fields, **_read_adapters(found.fields), **derived})


def _derive_models(words: Mapping[str, Field]) -> dict[str, Field]:
    """Return the method by its advantages, and which models are on the GPUs of the actor."""
    advantage = words.get("advantage", Field("gae", source="default of OpenRLHF"))
    with_critic = advantage.value == "gae"
    everything = words.get("colocated")
    shared = "parked" if "optimizer_parked" in words else "gpu"
    found = {
        "training_method": Field("ppo" if with_critic else "grpo", advantage.origins, advantage.source),
        "critic_placement": Field((shared if everything else "elsewhere") if with_critic else None, advantage.origins),
        "rollout_engine": Field("vllm" if _has_engines(words) else "hf"),
    }
    if not (everything or "colocated_reference" in words):
        found["reference_placement"] = Field("elsewhere", source="OpenRLHF gives each model its own GPUs")
    if everything is not None and "asynchronous" not in words:
        found["rollout_mode"] = Field("colocate", everything.origins)
    if everything is None or "remote_reward" in words or words.get("reference_placement", Field(None)).value == "host":
        found["reward_checkpoint"] = Field(None)
    if (length := trainers.add((words.get("prompt_length"), words.get("response_length")))) is not None:
        found["sequence_length"] = length
    if "fills_batches" in words:
        found["micro_batch_tokens"] = words.get("filled_tokens", Field(FILLED, words["fills_batches"].origins))
    return {**found, **_count_ranks(words, everything is not None)}


def _has_engines(words: Mapping[str, Field]) -> bool:
    engines = words.get("engines")
    return engines is not None and engines.value != 0


def _count_ranks(words: Mapping[str, Field], together: bool) -> dict[str, Field]:
    """Return the ranks of the actor: all of the run where every model shares its GPUs, else the group that shards its states."""
    gpus, nodes = words.get("actor_gpus"), words.get("actor_nodes", Field(1, source="default of OpenRLHF"))
    if gpus is None:
        return {}
    if together:
        return {"processes_per_pod": gpus, "pods_per_replica": nodes} if nodes.origins else {"processes_per_pod": gpus}
    ranks = trainers.multiply(gpus, nodes)
    return {} if ranks is None or isinstance(ranks.value, Unknown) else {"shard_group": ranks}


def _read_adapters(fields: Mapping[str, Field]) -> dict[str, Field]:
    """Return all weights as trained where the rank of adapters is 0 or not stated; PEFT adapts all linear layers else."""
    rank = fields.get("lora_rank", Field(None))
    if not isinstance(rank.value, int):
        return {"lora_rank": Field(None, rank.origins), "lora_targets": Field(None)}
    return {"lora_targets": fields.get("lora_targets", Field(vocabulary.LETTERS["all-linear"]))}


def _read_rank(started: trainers.Program) -> Field | None:
    """Return the rank of the adapters; 0 means none."""
    rank = next((rank for name in RANKS if (rank := started.find_flag(name)) is not None), None)
    if rank is None:
        return None
    value = int(rank.text) if rank.text and rank.text.isdecimal() else Unknown(rank.why or "not a whole number")
    return Field(value or None, (rank.origin,))
