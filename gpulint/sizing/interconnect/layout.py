"""Parallelism: what a layout occupies, and which sizes do not divide evenly."""

from __future__ import annotations

import math


def stage_share(layers: int, pipeline_parallel: int) -> float:
    """Share of the layers on the fullest pipeline stage.

    stage_share = ceil(layers / pp) / layers

    Args:
        layers: of the model. pipeline_parallel: stages.
    Returns:
        [ratio]

    >>> stage_share(61, 2)  # DeepSeek-V3 in two stages: 31 and 30 layers
    0.5081967213114754

    Source: vLLM, distributed/utils.py, get_pp_indices.
    """
    return math.ceil(layers / pipeline_parallel) / layers


def parallel_size(tensor_parallel: int, pipeline_parallel: int, data_parallel: int) -> int:
    """GPUs that the parallelism of one instance occupies.

    parallel_size = tp · pp · dp

    Args:
        tensor_parallel, pipeline_parallel, data_parallel: ranks. Expert parallelism reuses them.
    Returns:
        GPUs.

    >>> parallel_size(8, 2, 1)
    16

    Source: vLLM, docs/serving/parallelism_scaling.md.
    """
    return tensor_parallel * pipeline_parallel * data_parallel


def spare_gpus(gpus_per_replica: int, parallel_size: int) -> int:
    """GPUs of an instance that its parallelism does not use; negative if some are missing.

    spare_gpus = gpus_per_replica − parallel_size

    Args:
        gpus_per_replica: GPUs given. parallel_size: GPUs occupied.
    Returns:
        GPUs.

    >>> spare_gpus(8, 4)
    4

    Source: definition.
    """
    return gpus_per_replica - parallel_size


def heads_remainder(attention_heads: int, tensor_parallel: int) -> int:
    """Query heads left over after division by the tensor-parallel size.

    heads_remainder = attention_heads mod tp

    Args:
        attention_heads: of the model. tensor_parallel: ranks.
    Returns:
        heads; an engine that shards by heads refuses anything but 0.

    >>> heads_remainder(28, 8)  # Qwen2.5-7B on eight ranks
    4

    Source: vLLM, config/model.py, verify_with_parallel_config.
    """
    return attention_heads % tensor_parallel


def kv_heads_remainder(kv_heads: int, kv_lora_rank: int | None, tensor_parallel: int) -> int:
    """KV heads left over after division, or ranks left over after replication.

    kv_heads_remainder = kv_heads mod tp if tp ≤ kv_heads, else tp mod kv_heads; 0 for MLA

    Args:
        kv_heads: of the model. kv_lora_rank: set for MLA, whose cache is not divided. tensor_parallel: ranks.
    Returns:
        heads or ranks.

    >>> kv_heads_remainder(8, None, 16), kv_heads_remainder(8, None, 6), kv_heads_remainder(1, None, 4)
    (0, 2, 0)

    Source: vLLM, model_executor/layers/linear.py, QKVParallelLinear.
    """
    if kv_lora_rank:
        return 0
    return kv_heads % tensor_parallel if tensor_parallel <= kv_heads else tensor_parallel % kv_heads


def layers_remainder(layers: int, pipeline_parallel: int) -> int:
    """Layers left over after division by the pipeline stages.

    layers_remainder = layers mod pp

    Args:
        layers: of the model. pipeline_parallel: stages.
    Returns:
        layers; vLLM gives one more to some stages, others refuse anything but 0.

    >>> layers_remainder(61, 2), layers_remainder(80, 4)
    (1, 0)

    Source: vLLM, distributed/utils.py, get_pp_indices.
    """
    return layers % pipeline_parallel


def stage_excess(stage_share: float, pipeline_parallel: int) -> float:
    """How much more than an even share the fullest pipeline stage holds.

    stage_excess = stage_share · pp − 1

    Args:
        stage_share: of the layers on the fullest stage. pipeline_parallel: stages.
    Returns:
        [ratio]

    >>> round(stage_excess(4 / 28, 8), 3)  # 28 layers in eight stages of 4 and 3
    0.143

    Source: definition.
    """
    return stage_share * pipeline_parallel - 1


def expert_ranks(expert_parallel_size: int | None) -> int:
    """Ranks that split the routed experts.

    expert_ranks = expert_parallel_size, or 1 where none is stated

    Args:
        expert_parallel_size: as stated, else None.
    Returns:
        ranks.

    >>> expert_ranks(8), expert_ranks(None)
    (8, 1)

    Source: SGLang, docs/advanced_features/server_arguments.md, `--ep-size`; TensorRT-LLM, `--ep_size`.
    """
    return expert_parallel_size or 1


def experts_remainder(experts: int | None, redundant_experts: int, expert_ranks: int) -> int:
    """Routed experts left over after division by their ranks.

    experts_remainder = (experts + redundant_experts) mod expert_ranks; 0 without experts

    Args:
        experts: routed experts of a layer, else None. redundant_experts: additional copies. expert_ranks: ranks.
    Returns:
        experts.
    Validity: vLLM refuses a remainder only with --enable-eplb; otherwise some ranks hold one expert more.

    >>> experts_remainder(256, 32, 72), experts_remainder(160, 0, 64), experts_remainder(None, 0, 8)
    (0, 32, 0)

    Source: vLLM, docs/serving/expert_parallel_deployment.md: 256 experts with 32 redundant ones; v0.33.0
        model_executor/layers/fused_moe/layer.py ("EPLB currently only supports even distribution").
    """
    return (experts + redundant_experts) % expert_ranks if experts else 0


def shard_remainder(
    weight_format: str,
    intermediate: int,
    layers: int,
    moe_layers: int,
    moe_intermediate: int | None,
    tensor_parallel: int,
    expert_ranks: int,
) -> int:
    """Columns of a rank's MLP shard beyond a multiple of the quantisation group.

    shard_remainder = (intermediate / tp) mod group, of the dense layers or of the experts, whichever is larger

    Args:
        weight_format: in memory; sets the group: 32, 64 or 128 columns of 4-bit weights, 128 of block-wise FP8.
        intermediate: width of the dense MLP. layers, moe_layers: all layers, and those with routed experts.
        moe_intermediate: width of an expert, else None. tensor_parallel: ranks.
        expert_ranks: ranks that experts are spread over whole; above 1 they are not cut.
    Returns:
        columns; an engine cannot load a shard whose rank begins inside a group. 0 for formats without groups.
    Validity: kernels that want whole tiles of 128 (Marlin) fall back or pad; only the group is a refusal. Shared experts
        are not looked at.

    >>> shard_remainder("int4-g128", 29568, 80, 0, None, 4, 1)  # Qwen2-72B: 7,392 columns, 57.75 groups
    96
    >>> shard_remainder("int4-g128", 29568, 80, 0, None, 1, 1), shard_remainder("bfloat16", 29568, 80, 0, None, 4, 1)
    (0, 0)
    >>> shard_remainder("fp8-block", 12288, 94, 94, 1536, 8, 1)  # Qwen3-235B-A22B-FP8: 192 columns of each expert
    64
    >>> shard_remainder("fp8-block", 12288, 94, 94, 1536, 8, 8)
    0

    Source: vLLM, model_executor/layers/quantization/awq.py ("input size is not aligned"), fp8.py and utils/fp8_utils.py,
        validate_fp8_block_shape and validate_fp8_block_shape_moe ("is not divisible by weight quantization block_n"),
        kernels/linear/mixed_precision/marlin.py (v0.33.0: a group across ranks is not padded); issues 9913 and 17604.
    """
    group = _GROUPS.get(weight_format)
    if group is None or tensor_parallel == 1:
        return 0
    cut = expert_ranks == 1 and moe_layers > 0 and moe_intermediate
    widths = [intermediate] * (moe_layers < layers) + [moe_intermediate or 0] * bool(cut)
    return max((width // tensor_parallel % group for width in widths), default=0)


def expert_shard_columns(moe_intermediate: int | None, tensor_parallel: int, expert_ranks: int) -> int:
    """Columns of each routed expert on one rank.

    expert_shard_columns = moe_intermediate / tp, or all of them where experts are spread over ranks whole

    Args:
        moe_intermediate: width of an expert, else None. tensor_parallel: ranks.
        expert_ranks: ranks that experts are spread over whole.
    Returns:
        columns; 0 for a dense model.

    >>> expert_shard_columns(1536, 8, 1), expert_shard_columns(1536, 8, 8), expert_shard_columns(None, 8, 1)
    (192, 1536, 0)

    Source: definition.
    """
    return (moe_intermediate or 0) // (tensor_parallel if expert_ranks == 1 else 1)


def split_block_columns(weight_format: str, expert_shard_columns: int) -> int:
    """Columns of an expert's shard beyond a multiple of the quantisation block of its weights.

    split_block_columns = expert_shard_columns mod 128, for weights in blocks of FP8

    Args:
        weight_format: in memory. expert_shard_columns: of each expert on one rank.
    Returns:
        columns; 0 for other formats.

    >>> split_block_columns("fp8-block", 192), split_block_columns("fp8-block", 384), split_block_columns("fp8", 192)
    (64, 0, 0)

    Source: vLLM v0.10.1 to v0.25.0, model_executor/layers/quantization/fp8.py, Fp8MoEMethod.create_weights; SGLang v0.5.23,
        srt/layers/quantization/fp8.py, create_fp8_moe_weight_: both raise ValueError ("is not divisible by weight
        quantization block_n").
    """
    return expert_shard_columns % _GROUPS[_BLOCKS] if weight_format == _BLOCKS else 0


_BLOCKS = "fp8-block"
_GROUPS = {"int4-g32": 32, "int4-g64": 64, "int4-g128": 128, "int8-g128": 128, "fp8-block": 128}
