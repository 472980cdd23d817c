"""ftuneai: fine-tuning in full, with LoRA or QLoRA, under ZeRO or FSDP."""

import asked
from ftuneai.core.memory import MemoryEstimator  # type: ignore[import-not-found]
from ftuneai.core.models import (  # type: ignore[import-not-found]
    FineTuneMethod,
    LoRATarget,
    ModelSpec,
    OptimizerType,
    Quantization,
    ShardingStrategy,
    TrainingConfig,
)

STAGES = {
    "ZeRO-1": ShardingStrategy.ZERO_1,
    "ZeRO-2": ShardingStrategy.ZERO_2,
    "ZeRO-3": ShardingStrategy.ZERO_3,
    "FSDP": ShardingStrategy.FSDP,
}
NARROW = 2
ATTENTION = 4
RANK = 16
"""Its default."""


def answer(case: asked.Asked) -> dict[str, object]:
    if not case.training or case.shards > 1:
        raise asked.CannotError("fine-tuning without tensor and pipeline parallelism only")
    case.conventional()
    batch, length = case.held
    model = ModelSpec(
        name=case.case["model"],
        parameters=case.parameters,
        hidden_size=case.layer("hidden_size"),
        num_layers=case.layer("num_layers"),
        num_attention_heads=case.layer("num_attention_heads"),
        num_kv_heads=case.layer("num_key_value_heads"),
        intermediate_size=case.layer("intermediate_size"),
        vocab_size=case.layer("vocab_size"),
        max_seq_length=max(length, 1),
        default_dtype="bfloat16",
        is_moe=bool(case.architecture.get("num_experts")),
        num_experts=case.architecture.get("num_experts"),
        num_active_experts=case.architecture.get("experts_per_token"),
    )
    peak = MemoryEstimator(model, _training(case, batch, length)).estimate().total_gb
    return {"peak_gib": peak, "fits": case.fitting(peak)}


def _training(case: asked.Asked, batch: int, length: int) -> TrainingConfig:
    lora, bits = case.case["lora"], case.weight_bits
    method = FineTuneMethod.FULL
    if lora:
        method = FineTuneMethod.QLORA if bits < 16 else FineTuneMethod.LORA
    optimizer = OptimizerType.ADAM_8BIT if "8bit" in str(case.case["optimizer"]) else OptimizerType.ADAMW
    return TrainingConfig(
        method=method,
        quantization={4: Quantization.INT4, 8: Quantization.INT8}.get(bits, Quantization.NONE)
        if lora
        else Quantization.NONE,
        lora_rank=(lora or {}).get("rank") or RANK,
        lora_target=_targets(lora),
        batch_size=batch,
        seq_length=length,
        gradient_checkpointing=not str(case.case["activation_checkpointing"] or "none").startswith("none"),
        optimizer=optimizer,
        num_gpus=case.case["gpu_count"] or 1,
        sharding=next((STAGES[one] for one in STAGES if one in str(case.case["zero_stage"])), ShardingStrategy.NONE),
        flash_attention=True,
    )


def _targets(lora: dict[str, object] | None) -> LoRATarget:
    targets = (lora or {}).get("targets")
    if isinstance(targets, list) and len(targets) <= NARROW:
        return LoRATarget.ATTENTION
    if isinstance(targets, list) and len(targets) <= ATTENTION:
        return LoRATarget.ATTENTION_ALL
    return LoRATarget.ALL_LINEAR


asked.run(answer)
