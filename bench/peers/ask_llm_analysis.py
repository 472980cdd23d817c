"""llm-analysis: closed forms of weights, KV cache and activations, for inference of a static batch and for training.

Its MLP has two matrices; a gated one is told as one and a half times the width, which has as many parameters.
Its training weights are 16-bit beside 32-bit masters, so 32-bit parameters under mixed precision are told as that.
"""

import logging

import asked
from llm_analysis.analysis import ActivationRecomputation, DSZeRO, LLMAnalysis  # type: ignore[import-not-found]
from llm_analysis.config import DtypeConfig, GPUConfig, ModelConfig, ParallelismConfig  # type: ignore[import-not-found]

logging.getLogger("llm_analysis").setLevel(logging.ERROR)
ANY_MEMORY = 1e9
EIGHT_BIT_ADAM = 2
RECOMPUTED = {"full": ActivationRecomputation.FULL, "selective": ActivationRecomputation.SELECTIVE}
STAGES = {"ZeRO-1": DSZeRO.STAGE_1, "ZeRO-2": DSZeRO.STAGE_2, "ZeRO-3": DSZeRO.STAGE_3, "FSDP": DSZeRO.STAGE_3}


def answer(case: asked.Asked) -> dict[str, object]:
    return _training(case) if case.training else _inference(case)


def _analysis(case: asked.Asked, data_parallel: int) -> LLMAnalysis:
    shape = case.architecture
    experts = shape.get("num_experts") or 1
    width = (shape.get("moe_intermediate_size") if experts > 1 else None) or case.layer("intermediate_size")
    model = ModelConfig(
        name="case",
        num_layers=case.layer("num_layers"),
        n_head=case.layer("num_attention_heads"),
        hidden_dim=case.layer("hidden_size"),
        vocab_size=case.layer("vocab_size"),
        num_key_value_heads=case.layer("num_key_value_heads"),
        ffn_embed_dim=int(width * 1.5) if shape.get("mlp_gated") else width,
        expansion_ratio=width / case.layer("hidden_size"),
        max_seq_len=2**30,
        moe_num_experts=experts,
        moe_top_k=shape.get("experts_per_token") or 1,
    )
    card = GPUConfig("any", ANY_MEMORY, 2039, 300, 8e-6, 312)
    ranks = {name: case.case[name.removesuffix("_size")] or 1 for name in ("tp_size", "pp_size", "ep_size")}
    layout = ParallelismConfig(dp_size=data_parallel, **ranks)
    bits = min(case.weight_bits, 16) if case.training else case.weight_bits
    return LLMAnalysis(model, card, DtypeConfig("case", bits, 16, 16), layout)


def _inference(case: asked.Asked) -> dict[str, object]:
    batch, length = case.held if case.case["seq_len"] else (1, 1)
    prompt = max(1, length - case.generated)
    found = _analysis(case, 1).inference(
        batch_size_per_gpu=batch,
        seq_len=prompt,
        num_tokens_to_generate=max(1, length - prompt),
        kv_cache_dtype_bytes=case.cache_bits / 8,
    )
    weights, cache = found["weight_memory_per_gpu"], found["kv_cache_memory_per_gpu"]
    working = max(found["prefill_activation_memory_per_gpu"], found["decode_activation_memory_per_gpu"])
    weights_gib, peak = weights / asked.GIB, (weights + cache + working) / asked.GIB
    if not case.case["seq_len"]:
        return {
            "weights_gib": weights_gib,
            "kv_bytes_per_token": cache / (length + 1),
            "fits": case.fitting(weights_gib),
        }
    return {"weights_gib": weights_gib, "peak_gib": peak, "fits": case.fitting(peak)}


def _training(case: asked.Asked) -> dict[str, object]:
    if case.case["lora"]:
        raise asked.CannotError("no adapters")
    case.conventional()
    batch, length = case.held
    ranks = case.case["dp"] or max(1, (case.case["gpu_count"] or 1) // case.shards)
    stage = next((STAGES[name] for name in STAGES if name in str(case.case["zero_stage"])), DSZeRO.NONE)
    if "(distributed)" in str(case.case["optimizer"]):
        stage = DSZeRO.STAGE_1
    recomputed = str(case.case["activation_checkpointing"] or "").split(" ")[0]
    found = _analysis(case, ranks).training(
        batch_size_per_gpu=batch,
        gradient_accumulation_steps=case.case["grad_accum"] or 1,
        seq_len=length,
        total_num_tokens=batch * length * ranks,
        activation_recomputation=RECOMPUTED.get(recomputed, ActivationRecomputation.NONE),
        ds_zero=stage,
        other_op_bytes=EIGHT_BIT_ADAM if "8bit" in str(case.case["optimizer"]) else None,
        mlp_gated_linear_units=bool(case.architecture.get("mlp_gated")),
    )
    peak = found["(weight+op_state+grad+act)_memory_per_gpu"] / asked.GIB
    return {"peak_gib": peak, "fits": case.fitting(peak)}


asked.run(answer)
