"""Companions of a trained model: the reference, critic and reward models of preference and reinforcement learning,
and the engine that generates their samples.
"""

from __future__ import annotations

from gpulint.catalog import architecture
from gpulint.catalog.errors import MissingInput

PAIRED = frozenset({"dpo", "ipo", "rpo", "tpo", "simpo", "orpo", "cpo", "reward"})
"""Methods whose samples are a chosen and a rejected answer, which one pass computes together."""
WITH_REFERENCE = frozenset(
    {"dpo", "ipo", "rpo", "tpo", "kto", "bco", "grpo", "rloo", "ppo", "online-dpo", "xpo", "nash-md"}
)
"""Methods that compare the trained model with the model that it started from."""
GENERATING = frozenset({"grpo", "rloo", "ppo", "online-dpo", "xpo", "nash-md"})
"""Methods that train on samples which the model itself generates."""


def sequences_per_sample(training_method: str | None) -> int:
    """Sequences that one sample of a micro-batch stands for.

    sequences_per_sample = 2 with pairs of a chosen and a rejected answer, else 1

    Args:
        training_method: how the run trains, None for plain samples.
    Returns:
        sequences

    >>> sequences_per_sample("dpo"), sequences_per_sample("kto"), sequences_per_sample(None)
    (2, 1, 1)

    Source: Rafailov et al., DPO, 2023, appendix B (concatenated_forward); huggingface/trl v1.9.0 trl/trainer/dpo_trainer.py,
        DataCollatorForPreference; hiyouga/LLaMA-Factory ff6d4d12 src/llamafactory/data/collator.py,
        PairwiseDataCollatorWithPadding.
    """
    return 2 if training_method in PAIRED else 1


def reference_copies(
    training_method: str | None,
    kl_coefficient: float | None,
    reference_precomputed: bool,
    reference_placement: str,
    reference_beside_adapters: bool,
    lora_rank: int | None,
) -> int:
    """Copies of the reference model on the GPUs of the trained model.

    reference_copies = 1 where the method has a reference, else 0; none with a KL coefficient of 0, with log-probabilities
                       that were computed before, below adapters (switched off, they leave the reference), and elsewhere

    Args:
        training_method: how the run trains. kl_coefficient: weight of the distance from the reference, None if unknown.
        reference_precomputed: its log-probabilities are computed before training.
        reference_placement: gpu (of the trained model), host, elsewhere (on other GPUs).
        reference_beside_adapters: the trainer loads it although adapters are trained. lora_rank: None without LoRA.
    Returns:
        copies

    >>> reference_copies("dpo", 0.1, False, "gpu", False, None), reference_copies("dpo", 0.1, False, "gpu", False, 16)
    (1, 0)
    >>> reference_copies("grpo", 0.0, False, "gpu", False, None), reference_copies("ppo", 0.1, False, "host", False, None)
    (0, 0)

    Source: huggingface/trl v1.9.0 trl/trainer/dpo_trainer.py and grpo_trainer.py (ref_model); volcengine/verl v0.7.0
        verl/trainer/ppo/utils.py, need_reference_policy.
    """
    if training_method not in WITH_REFERENCE or kl_coefficient == 0 or reference_precomputed:
        return 0
    by_adapters = lora_rank is not None and not reference_beside_adapters
    return 0 if by_adapters or reference_placement != "gpu" else 1


def reference_bytes_per_parameter(reference_dtype: str | None, compute_bytes: int, loaded_parameter_bytes: int) -> int:
    """Bytes per weight of the reference model.

    reference_bytes_per_parameter = width of reference_dtype, else compute_bytes; loaded_parameter_bytes where it stays as loaded

    Args:
        reference_dtype: number format, as-loaded, or None for that of the computation. compute_bytes: of a value [bytes].
        loaded_parameter_bytes: by release (fitted) [bytes].
    Returns:
        [bytes]

    >>> reference_bytes_per_parameter(None, 2, 4), reference_bytes_per_parameter("float32", 2, 4)
    (2, 4)

    Source: volcengine/verl v0.7.0 verl/workers/fsdp_workers.py, _build_model_optimizer (the reference in bfloat16).
    """
    if reference_dtype is None:
        return compute_bytes
    return {"as-loaded": loaded_parameter_bytes, "float32": 4}.get(reference_dtype, 2)


def frozen_share(sharding: str, sharding_stage: int, shard_share: float) -> float:
    """Share of a frozen companion that one rank keeps.

    frozen_share = shard_share where weights are sharded, else 1

    Args:
        sharding, sharding_stage, shard_share: of the trained model. DeepSpeed shards weights in stage 3.
    Returns:
        [ratio]

    >>> frozen_share("deepspeed", 3, 0.125), frozen_share("deepspeed", 2, 0.125), frozen_share("ddp", 0, 1.0)
    (0.125, 1.0, 1.0)

    Source: huggingface/trl v1.9.0 trl/models/utils.py, prepare_deepspeed (stage 0 unless weights are sharded), prepare_fsdp;
        OpenRLHF/OpenRLHF v0.8.0 openrlhf/utils/deepspeed/deepspeed.py, get_ds_eval_config.
    """
    return shard_share if sharding == "fsdp" or sharding_stage >= 3 else 1.0


def reference_bytes(
    reference_copies: int, stage_parameters: float, reference_bytes_per_parameter: int, frozen_share: float
) -> float:
    """Weights of the reference model on one GPU.

    reference_bytes = reference_copies · stage_parameters · reference_bytes_per_parameter · frozen_share

    Args:
        reference_copies: on the GPUs of the trained model. stage_parameters: of one rank before sharding.
        reference_bytes_per_parameter: [bytes]. frozen_share: that one rank keeps.
    Returns:
        [bytes]

    >>> reference_bytes(1, 8e9, 2, 1.0)
    16000000000.0

    Source: Rafailov et al., DPO, 2023, section 4; Schulman et al., PPO, 2017.
    """
    return reference_copies * stage_parameters * reference_bytes_per_parameter * frozen_share


def critic_bytes(
    critic_placement: str | None,
    critic_checkpoint: str | None,
    parameters: float,
    stage_parameters: float,
    parameter_bytes: int,
    optimizer_bytes_per_parameter: float,
    critic_gradient_bytes: float,
    sharding_stage: int,
    frozen_share: float,
    shard_share: float,
    optimizer_offload: bool,
) -> float:
    """Weights and optimizer state of the critic on one GPU while the policy is trained.

    critic_bytes = critic parameters · ((parameter_bytes + critic_gradient_bytes) · frozen_share
                                        + optimizer_bytes_per_parameter · (shard_share from stage 1 on))

    Args:
        critic_placement: gpu (of the policy), parked (in host memory while the policy is trained), elsewhere, None without.
        critic_checkpoint: its name, None for the policy's. parameters: of the policy; stage_parameters: of one rank of it.
        parameter_bytes, optimizer_bytes_per_parameter: of one weight of the policy [bytes].
        critic_gradient_bytes: of a gradient that waits beside the policy's (fitted) [bytes].
        sharding_stage, frozen_share, shard_share: what is sharded, and the shares that are kept.
        optimizer_offload: its state is kept in host memory.
    Returns:
        [bytes]

    >>> critic_bytes("gpu", None, 8e9, 8e9, 4, 8, 0, 3, 0.125, 0.125, False)
    12000000000.0
    >>> critic_bytes("parked", None, 8e9, 8e9, 4, 8, 0, 3, 0.125, 0.125, False)
    0.0

    Source: volcengine/verl v0.7.0 verl/workers/fsdp_workers.py, CriticWorker; OpenRLHF/OpenRLHF v0.8.0
        openrlhf/trainer/ray/ppo_critic.py.
    """
    if critic_placement != "gpu":
        return 0.0
    own = stage_parameters * _count_parameters(critic_checkpoint, parameters) / parameters
    state = 0.0 if optimizer_offload else optimizer_bytes_per_parameter * (shard_share if sharding_stage >= 1 else 1)
    return own * ((parameter_bytes + critic_gradient_bytes) * frozen_share + state)


def reward_bytes(
    reward_checkpoint: str | None,
    parameters: float,
    stage_parameters: float,
    compute_bytes: int,
    frozen_share: float,
    unlisted_reward_size: float,
) -> float:
    """Weights of a reward model on one GPU of the policy.

    reward_bytes = reward parameters / parameters · stage_parameters · compute_bytes · frozen_share

    Args:
        reward_checkpoint: its name, None without one on these GPUs. parameters: of the policy; stage_parameters: of one rank.
        compute_bytes: of a value [bytes]. frozen_share: that one rank keeps.
        unlisted_reward_size: of a model that the catalog does not list, against the policy (fitted).
    Returns:
        [bytes]

    >>> reward_bytes(None, 8e9, 8e9, 2, 1.0, 1.0)
    0.0
    >>> reward_bytes("meta-llama/Llama-3.1-8B", 70e9, 70e9, 2, 1.0, 1.0) / 1e9
    16.060522496

    Source: Ouyang et al., InstructGPT, 2022, section 3.5.
    """
    if reward_checkpoint is None:
        return 0.0
    own = _count_parameters(reward_checkpoint, unlisted_reward_size * parameters)
    return own / parameters * stage_parameters * compute_bytes * frozen_share


def companion_bytes(reference_bytes: float, critic_bytes: float, reward_bytes: float) -> float:
    """Memory of the models beside the trained one on one GPU, during its update.

    companion_bytes = reference_bytes + critic_bytes + reward_bytes

    Args:
        reference_bytes, critic_bytes, reward_bytes: [bytes]
    Returns:
        [bytes]

    >>> companion_bytes(16.0, 12.0, 0.0)
    28.0

    Source: definition.
    """
    return reference_bytes + critic_bytes + reward_bytes


def rollout_placement(training_method: str | None, rollout_engine: str | None, rollout_mode: str | None) -> str | None:
    """What generates the samples of a run, and where.

    rollout_placement = policy without an engine, elsewhere with a server or a GPU of its own, colocated; by-release where
                        nothing states the mode

    Args:
        training_method: how the run trains. rollout_engine: vllm, sglang, hf (the trained model), None without one.
        rollout_mode: colocate, server, device (a GPU of its own), None unstated.
    Returns:
        word

    >>> rollout_placement("grpo", None, None), rollout_placement("grpo", "vllm", "server"), rollout_placement("dpo", None, None)
    ('policy', 'elsewhere', None)
    >>> rollout_placement("grpo", "vllm", None)
    'by-release'

    Source: huggingface/trl v1.9.0 trl/trainer/grpo_config.py, vllm_mode.
    """
    if training_method not in GENERATING:
        return None
    if rollout_engine in (None, "hf"):
        return "policy"
    return {"colocate": "colocated", "server": "elsewhere", "device": "elsewhere"}.get(rollout_mode or "", "by-release")


def rollout_bytes(
    rollout_placement: str | None,
    rollout_share: float | None,
    rollout_realised: float,
    device_memory_bytes: float | None = None,
) -> float:
    """Memory that an engine beside the trainer takes of one GPU while it generates samples.

    rollout_bytes = rollout_share · rollout_realised · device_memory_bytes on the trainer's GPUs, else 0

    Args:
        rollout_placement: colocated, by-release (perhaps), elsewhere (on other GPUs), policy (the trained model), None.
        rollout_share: of the GPU that the engine may use. rollout_realised: of that share, what it takes (fitted).
        device_memory_bytes: that a process can use [bytes].
    Returns:
        [bytes]

    >>> rollout_bytes("colocated", 0.5, 1.0, 80e9), rollout_bytes("elsewhere", 0.9, 1.0, 80e9)
    (40000000000.0, 0.0)

    Source: vllm v0.33.0 vllm/v1/worker/gpu_worker.py, determine_available_memory (gpu_memory_utilization of the whole GPU).
    """
    if rollout_placement not in ("colocated", "by-release") or rollout_share is None:
        return 0.0
    if device_memory_bytes is None:
        raise MissingInput("device_memory_bytes")
    return rollout_share * rollout_realised * device_memory_bytes


def rollout_weight_bytes(
    rollout_placement: str | None,
    parameters: float,
    expert_parameters: int,
    rollout_tensor_parallel: int | None,
    compute_bytes: int,
) -> float:
    """Weights of the engine beside the trainer on one GPU, at the least.

    rollout_weight_bytes = (parameters − expert_parameters) · compute_bytes / rollout_tensor_parallel on the trainer's GPUs

    Args:
        rollout_placement: colocated where the engine shares the GPUs. parameters, expert_parameters: of the policy.
        rollout_tensor_parallel: ranks of the engine, None for one. compute_bytes: of a value [bytes].
    Returns:
        [bytes]
    Validity: routed experts are left out, which the engine may share out over more ranks.

    >>> rollout_weight_bytes("colocated", 8e9, 0, 2, 2), rollout_weight_bytes("elsewhere", 8e9, 0, 2, 2)
    (8000000000.0, 0.0)

    Source: vllm v0.33.0 vllm/v1/worker/gpu_worker.py, load_model.
    """
    if rollout_placement != "colocated":
        return 0.0
    return (parameters - expert_parameters) * compute_bytes / (rollout_tensor_parallel or 1)


def rollout_weight_room_bytes(rollout_bytes: float, rollout_weight_bytes: float) -> float:
    """Memory that its weights leave of the share of the engine beside the trainer; negative if it cannot start.

    rollout_weight_room_bytes = rollout_bytes − rollout_weight_bytes

    Args:
        rollout_bytes: that the engine takes [bytes]. rollout_weight_bytes: of it [bytes].
    Returns:
        [bytes]

    >>> rollout_weight_room_bytes(24.0, 28.0)
    -4.0

    Source: vllm v0.33.0 vllm/v1/core/kv_cache_utils.py: "No available memory for the cache blocks".
    """
    return rollout_bytes - rollout_weight_bytes


def idle_rollout_bytes(rollout_bytes: float, rollout_sleeps: bool) -> float:
    """Memory that the engine beside the trainer keeps while the policy is trained.

    idle_rollout_bytes = 0 where it sleeps, else rollout_bytes

    Args:
        rollout_bytes: while it generates [bytes]. rollout_sleeps: it frees weights and KV cache between its turns.
    Returns:
        [bytes]

    >>> idle_rollout_bytes(40.0, True), idle_rollout_bytes(40.0, False)
    (0.0, 40.0)

    Source: vLLM documentation, Sleep Mode (levels 1 and 2); volcengine/verl v0.7.0 rollout.yaml, free_cache_engine.
    """
    return 0.0 if rollout_sleeps else rollout_bytes


def rollout_phase_bytes(
    rollout_bytes: float,
    training_weight_bytes: float,
    optimizer_state_bytes: float,
    companion_bytes: float,
    reference_bytes: float,
    weights_parked: bool,
    optimizer_parked: bool,
) -> float:
    """Memory of one GPU while an engine beside the trainer generates samples.

    rollout_phase_bytes = rollout_bytes + weights + optimizer state + companion_bytes, without what is parked in host memory;
                          0 without an engine there

    Args:
        rollout_bytes: of the engine [bytes]. training_weight_bytes, optimizer_state_bytes, companion_bytes: that stay [bytes].
        reference_bytes: of the companions, what goes with the weights [bytes].
        weights_parked, optimizer_parked: they are moved to host memory for that time.
    Returns:
        [bytes]

    >>> rollout_phase_bytes(40.0, 8.0, 16.0, 2.0, 2.0, False, True), rollout_phase_bytes(0.0, 8.0, 16.0, 2.0, 2.0, False, False)
    (50.0, 0.0)

    Source: volcengine/verl v0.7.0 verl/workers/fsdp_workers.py, rollout_mode (param_offload, optimizer_offload).
    """
    if not rollout_bytes:
        return 0.0
    weights = -reference_bytes if weights_parked else training_weight_bytes
    return rollout_bytes + weights + (0.0 if optimizer_parked else optimizer_state_bytes) + companion_bytes


def policy_generation_bytes(
    training_method: str | None,
    rollout_placement: str | None,
    training_tokens: float,
    layers: int,
    kv_heads: int,
    head_dim: int,
    tensor_parallel: int,
    stage_parameters: float,
    compute_bytes: int,
    frozen_share: float,
) -> float:
    """Memory beside weights and optimizer state while the trained model itself generates samples.

    policy_generation_bytes = KV cache of a micro-batch + (the whole weights where they are sharded),
                              0 where another engine generates or nothing is generated

    Args:
        training_method: how the run trains. rollout_placement: policy where the trained model generates.
        training_tokens: of a micro-batch. layers, kv_heads, head_dim: of the KV cache. tensor_parallel: ranks.
        stage_parameters: of one rank before sharding. compute_bytes: of a value [bytes].
        frozen_share: below 1 where weights are sharded.
    Returns:
        [bytes]
    Validity: without a statement one micro-batch is generated at once.

    >>> policy_generation_bytes("grpo", "policy", 4096, 32, 8, 128, 1, 8e9, 2, 1.0) / 2**20
    512.0
    >>> policy_generation_bytes("grpo", "colocated", 4096, 32, 8, 128, 1, 8e9, 2, 0.125)
    0.0

    Source: huggingface/trl v1.9.0 trl/models/utils.py, unwrap_model_for_generation
        (ds3_gather_for_generation, summon_full_params).
    """
    if training_method not in GENERATING or rollout_placement != "policy":
        return 0.0
    cache = training_tokens * 2 * layers * kv_heads * head_dim * compute_bytes / tensor_parallel
    return cache + (stage_parameters * compute_bytes if frozen_share < 1 else 0.0)


def scoring_bytes(
    log_prob_micro_batch_size: int | None,
    sequence_length: int | None,
    length_share: float,
    vocab: int,
    scoring_bytes_per_logit: float,
    tensor_parallel: int,
    context_parallel: int | None,
) -> float:
    """Logits of a pass that only scores samples, beside weights and optimizer state.

    scoring_bytes = log_prob_micro_batch_size · sequence_length · length_share · vocab · scoring_bytes_per_logit / (tp · cp)

    Args:
        log_prob_micro_batch_size: sequences of one rank in such a pass, None if it has no batch of its own.
        sequence_length: longest sequence [tokens]. length_share: of the longest micro-batch (fitted). vocab: entries.
        scoring_bytes_per_logit: of a logit and its copies without gradient (fitted) [bytes].
        tensor_parallel, context_parallel: ranks that share them.
    Returns:
        [bytes]

    >>> scoring_bytes(16, 2048, 1.0, 151936, 4, 1, None) / 2**30
    18.546875

    Source: volcengine/verl v0.7.0 verl/workers/actor/dp_actor.py, compute_log_prob.
    """
    if log_prob_micro_batch_size is None or sequence_length is None:
        return 0.0
    tokens = log_prob_micro_batch_size * sequence_length * length_share
    return tokens * vocab * scoring_bytes_per_logit / (tensor_parallel * (context_parallel or 1))


def beside_policy_bytes(training_method: str | None, companion_bytes: float, idle_rollout_bytes: float) -> float:
    """Memory of all that is beside the trained model on one GPU while it is updated.

    beside_policy_bytes = companion_bytes + idle_rollout_bytes

    Args:
        training_method: how the run trains. companion_bytes, idle_rollout_bytes: [bytes]
    Returns:
        [bytes]

    >>> beside_policy_bytes("dpo", 16.0, 0.0)
    16.0

    Source: definition.
    """
    if training_method is None:
        raise LookupError("the run trains on plain samples: nothing is beside its model")
    return companion_bytes + idle_rollout_bytes


def _count_parameters(checkpoint: str | None, otherwise: float) -> float:
    """Return the parameters of a model that the catalog lists or whose name states them, else another number."""
    shape = architecture.resolve(checkpoint).architecture if checkpoint else None
    return float(shape.parameters) if shape is not None and shape.parameters else otherwise
