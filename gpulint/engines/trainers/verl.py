"""verl: the modules `verl.trainer.*` and the recipes' `main_*`, by the Hydra words of the command line."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gpulint.engines import Invocation, Reading, trainers
from gpulint.engines.trainers import recipes, vocabulary
from gpulint.workload import Field, Unknown, Value

MENTIONS = ("verl", "recipe.", "recipe/")
TRIGGERS = ("verl.",)
PURPOSE = "training"
REINFORCEMENT = re.compile(
    r"(?:.*[/.])?(?:verl[./]trainer[./]main(?:_ppo\w*)?|(?:recipe|verl[./]experimental)[./](?:\w+[./])+(?:main_(?!eval|gen)\w+|\w+_main))"
)
FINE_TUNING = re.compile(r"(?:.*[/.])?verl[./]trainer[./](?:fsdp_)?sft_trainer(?:_ray)?")

GENERATION = re.compile(r"(?:.*[/.])?verl[./]trainer[./]main_generation(?:_server)?")
"""Answers for a data set, by the rollout alone (verl v0.6.0 verl/trainer/main_generation.py, config/generation.yaml)."""

HARMLESS = re.compile(
    r"(?:data|trainer|optim)\..*|model\.(?:trust_remote_code|lora_rank|lora_alpha|use_shm)|use_remove_padding"
)
"""Words of fine-tuning that do not change what a run keeps on a GPU."""


def read(invocation: Invocation) -> Reading | None:
    """Return the fields of a training run with verl; None for any other invocation."""
    started = trainers.find_program(invocation)
    if started is None:
        return None
    path = started.path.removesuffix(".py")
    if FINE_TUNING.fullmatch(path):
        return _read_fine_tuning(started)
    if GENERATION.fullmatch(path):
        return trainers.build_reading("verl", started, ("verl-generation",))
    if not REINFORCEMENT.fullmatch(path):
        return None
    words = Words(trainers.read_words(started.words, ("verl",))[0])
    length = trainers.add(words.get(name) for name in ("prompt_length", "response_length"))
    own: dict[str, Field | None] = {
        "sequence_length": length,
        "global_batch_size": trainers.multiply(words.get("mini_batch"), words.get("answers")),
        "generations": words.get("answers"),
    }
    if (engine := words.get("rollout_engine")) is not None and engine.value == "hf":
        own["rollout_tensor_parallel"] = Field(Unknown("the trainer's own model generates the samples"), engine.origins)
    if ASYNCHRONOUS.search(path):
        own["rollout_mode"] = Field("server", (started.word.origin,))
    found = trainers.build_reading("verl", started, ("verl",), own, vocabulary.DECIDING)
    settled = derive_companions(words)
    fields = {name: field for name, field in found.fields.items() if not _is_all_ranks(name, field)}
    return found._replace(fields={**fields, **settled})


ASYNCHRONOUS = re.compile(r"one_step_off|fully_async|separat")
"""Recipes whose rollouts have GPUs of their own (volcengine/verl v0.7.0 recipe, verl/experimental)."""
TOKENS = 16_384
"""volcengine/verl v0.7.0 verl/trainer/config/actor/actor.yaml, ppo_max_token_len_per_gpu."""
RECOMPUTED: Mapping[Value | Unknown, Value | Unknown] = {"full": "full", "selective": "scores"}
STRATEGIES: Mapping[str, str] = {"fsdp": "fsdp", "fsdp2": "fsdp", "megatron": "distributed-optimizer"}
Words = dict[str, Field]
"""What the settings of a run state, by the fields of `trainer_flags.csv`."""


def derive_companions(words: Mapping[str, Field]) -> dict[str, Field]:
    """Return the method with its reference and critic, the backend, and the tokens of a micro-batch."""
    advantage = words.get("advantage", Field("gae", source="default of verl"))
    with_critic = _is_on(words, "critic_enabled", advantage.value == "gae")
    parked = _is_on(words, "critic_parked", False)
    found = {
        "training_method": Field("ppo" if advantage.value == "gae" else "grpo", advantage.origins, advantage.source),
        "critic_placement": Field(("parked" if parked else "gpu") if with_critic else None, advantage.origins),
        **_read_backend(words),
    }
    if not (_is_on(words, "kl_in_loss", False) or _is_on(words, "kl_in_reward", False)):
        found["kl_coefficient"] = Field(0.0, source="default of verl: use_kl_loss and use_kl_in_reward are off")
    if _is_on(words, "reference_parked", False):
        found["reference_placement"] = Field("host", words["reference_parked"].origins)
    if _is_on(words, "answers_remainder", False):
        switch = words["answers_remainder"].origins
        found["micro_batch_tokens"] = words.get("filled_tokens", Field(TOKENS, switch, "default of verl"))
    if (rank := words.get("lora_rank")) is not None and isinstance(rank.value, Unknown):
        found["lora_rank"] = Field(None, rank.origins)  # 0: all weights are trained
    for whole, own in (("batch_of_all", "micro_batch_size"), ("log_prob_batch_of_all", "log_prob_micro_batch_size")):
        if own not in words and (share := _share_batch(words, whole)) is not None:
            found[own] = share
    if _is_on(words, "offload_policy", False):
        origins = words["offload_policy"].origins
        found |= {name: Field(True, origins) for name in ("optimizer_offload", "parameter_offload")}
    return found


def _share_batch(words: Mapping[str, Field], name: str) -> Field | None:
    """Return the sequences of one rank where a micro-batch is stated for all ranks, as releases before 0.3 had it."""
    counts = [words.get(word) for word in (name, "processes_per_pod", "pods_per_replica", "context_parallel")]
    batch, gpus, nodes, together = (field.value if field is not None else 1 for field in counts)
    if counts[0] is None or not all(isinstance(count, int) for count in (batch, gpus, nodes, together)):
        return None
    return Field(max(1, batch * together // (gpus * nodes)), counts[0].origins)  # type: ignore[operator]


def _read_backend(words: Mapping[str, Field]) -> dict[str, Field]:
    """Return the sharding by the strategy, or by the name of the configuration, and Megatron's recomputation."""
    stated = words.get("strategy")
    named = words.get("config_name_of_run")
    found: dict[str, Field] = {}
    if stated is not None and str(stated.value) in STRATEGIES:
        found["sharding"] = Field(STRATEGIES[str(stated.value)], stated.origins)
    elif named is not None and "megatron" in str(named.value):
        found["sharding"] = Field("distributed-optimizer", named.origins)
    if "sharding" in found and found["sharding"].value != "fsdp":
        kept = words.get("granularity")
        value = RECOMPUTED.get(kept.value, "none") if kept is not None else "none"
        found["activation_checkpointing"] = Field(value, kept.origins if kept else (), "default of verl's Megatron")
    return found


def _is_on(words: Mapping[str, Field], name: str, otherwise: bool) -> bool:
    field = words.get(name)
    if field is None:
        return otherwise
    return field.value is True or (isinstance(field.value, Unknown) and name == "answers_remainder")


def _is_all_ranks(name: str, field: Field) -> bool:
    """Return whether a field is the group of -1 ranks: all of them, as without a statement."""
    return name == "shard_group" and isinstance(field.value, Unknown)


def _read_fine_tuning(started: trainers.Program) -> Reading:
    """Return supervised fine-tuning, with the defaults of its configuration unless another one is named."""
    tables = ("verl-sft",)
    own = {"lora_rank": _read_rank(started)}
    if started.path.removesuffix(".py").endswith("fsdp_sft_trainer") and not started.gives("--config-name"):
        found = recipes.build_reading("verl", started, tables, "sft_trainer", HARMLESS, own)
        if found is not None:
            return found
    return trainers.build_reading("verl", started, tables, own)


def _read_rank(started: trainers.Program) -> Field | None:
    """Return the rank of the adapters; 0 means none."""
    rank = started.find_value("model.lora_rank")
    if rank is None:
        return None
    value = int(rank.text) if rank.text and rank.text.isdecimal() else Unknown(rank.why or "not a whole number")
    return Field(value or None, (rank.origin,))
