"""vLLM's KV cache: its layer groups and blocks, and the tokens that fit."""

from __future__ import annotations

import math

from gpulint.catalog.family_traits import has_trait


def kv_group_layers(
    full_kv_layers: int, sliding_kv_layers: int, linear_attention_layers: int, uniform_kv_cache: bool
) -> int:
    """Layers that share one table of KV blocks.

    kv_group_layers = the fewest layers of one kind; the most where that is less than half as many again

    Args:
        full_kv_layers, sliding_kv_layers, linear_attention_layers: counts of the kinds.
        uniform_kv_cache: sliding layers count as full ones.
    Returns:
        layers.
    Validity: releases before 0.14 always take the fewest. Pipeline stages are taken to hold equal shares of every kind.

    >>> kv_group_layers(32, 0, 0, False), kv_group_layers(10, 52, 0, False), kv_group_layers(10, 52, 0, True)
    (32, 10, 62)
    >>> kv_group_layers(13, 12, 0, False)  # gpt-oss-20b with a draft of one layer
    13

    Source: vLLM, v1/core/kv_cache_utils.py, _get_kv_cache_groups_uniform_page_size (v0.33.0: kv_cache_planning.py).
    """
    kinds = _layer_kinds(full_kv_layers, sliding_kv_layers, linear_attention_layers, uniform_kv_cache)
    counts = [count for count in kinds if count]
    return max(counts) if max(counts) < 1.5 * min(counts) else min(counts)


def _layer_kinds(full: int, sliding: int, linear: int, uniform: bool) -> tuple[int, int, int]:
    """Return the layers that keep every token, those that keep a window, and those that keep a
    state.
    """
    return (full + sliding, 0, linear) if uniform and full else (full, sliding, linear)


def kv_page_bytes(
    full_kv_layers: int,
    sliding_kv_layers: int,
    kv_entry_bytes: float,
    sliding_kv_entry_bytes: float,
    block_size: int,
    linear_attention_layers: int,
    state_elements: int,
    state_element_bytes: float,
    tensor_parallel: int,
) -> float:
    """One KV block of one layer on one GPU, sized for the most demanding kind of layer.

    kv_page_bytes = max(block_size · kv_entry_bytes, block_size · sliding_kv_entry_bytes, state of one layer),
                    in whole blocks of an attention layer

    Args:
        full_kv_layers, sliding_kv_layers, linear_attention_layers: counts of the kinds.
        kv_entry_bytes, sliding_kv_entry_bytes: of one token [bytes]. block_size: [tokens].
        state_elements: of one linear-attention layer. state_element_bytes: (fitted) [bytes].
        tensor_parallel: ranks that share a state.
    Returns:
        [bytes]
    Validity: states are padded to the attention page, so that both kinds can use one pool.

    >>> kv_page_bytes(32, 0, 4096, 4096, 16, 0, 0, 2, 1)  # Llama-3.1-8B
    65536
    >>> kv_page_bytes(12, 0, 2048, 2048, 16, 36, 548864, 2, 1) / 2048  # Qwen3-Next-80B: 544 tokens to a block
    544.0

    Source: vLLM, platforms/interface.py, _align_hybrid_block_size ("Setting attention block size to 544 tokens"), and
        v1/core/kv_cache_utils.py, unify_kv_cache_spec_page_size.
    """
    entries = [kv_entry_bytes] * bool(full_kv_layers) + [sliding_kv_entry_bytes] * bool(sliding_kv_layers)
    page = max((block_size * entry for entry in entries), default=0)
    state = state_elements * state_element_bytes / tensor_parallel if linear_attention_layers else 0.0
    if not entries or state <= page:
        return max(page, state)
    block = block_size * max(entries)
    return math.ceil(state / block) * block


def full_kv_blocks(
    full_kv_layers: int,
    sliding_kv_layers: int,
    kv_group_layers: int,
    padded_kv_groups: bool,
    uniform_kv_cache: bool,
    kv_page_bytes: float,
    kv_entry_bytes: float,
    sliding_kv_entry_bytes: float,
    block_size: int,
    max_model_len: int,
    encoder_layers: int,
    encoder_tokens: int | None,
) -> float:
    """KV blocks that one sequence of maximum length takes in layers that keep all of its tokens.

    full_kv_blocks = groups · (ceil(max_model_len / block) + ceil(encoder_tokens / block) of an encoder-decoder)
    groups = layers / kv_group_layers, rounded up where padded_kv_groups

    Args:
        full_kv_layers, sliding_kv_layers: counts of the kinds. kv_group_layers: in one group.
        padded_kv_groups: the start-up check counts whole groups (since 0.14). uniform_kv_cache: sliding layers count as full.
        kv_page_bytes: of one block [bytes]. kv_entry_bytes, sliding_kv_entry_bytes: of one token [bytes].
        block_size: least tokens of a block [tokens]. max_model_len: [tokens].
        encoder_layers: of an encoder-decoder, else 0. encoder_tokens: positions that the decoder attends to, else None.
    Returns:
        blocks, each of kv_page_bytes in every layer of a group.
    Validity: layers of one uniform group all hold the tokens of the widest.

    >>> full_kv_blocks(32, 0, 32, True, False, 16.0, 1.0, 1.0, 16, 8192, 0, None)  # Llama-3.1-8B: 8,192 / 16
    512.0

    Source: vLLM, v1/kv_cache_interface.py, max_memory_usage_bytes of each spec.
    """
    layers, _, _ = _layer_kinds(full_kv_layers, sliding_kv_layers, 0, uniform_kv_cache)
    widest = max(kv_entry_bytes, sliding_kv_entry_bytes) if layers > full_kv_layers else kv_entry_bytes
    length = _block_tokens(kv_page_bytes, widest, block_size)
    encoder = math.ceil(encoder_tokens / length) if encoder_layers and encoder_tokens else 0
    return float(
        _count_groups(layers, kv_group_layers, padded_kv_groups) * (math.ceil(max_model_len / length) + encoder)
    )


def sliding_kv_blocks(
    full_kv_layers: int,
    sliding_kv_layers: int,
    kv_group_layers: int,
    padded_kv_groups: bool,
    uniform_kv_cache: bool,
    kv_page_bytes: float,
    sliding_kv_entry_bytes: float,
    block_size: int,
    max_model_len: int,
    sliding_window: int | None,
    max_num_batched_tokens: int,
    batches_in_flight: int,
) -> float:
    """KV blocks that one sequence of maximum length takes in layers that keep a window of its tokens.

    sliding_kv_blocks = groups · (ceil(min(window − 1 + batches_in_flight · batch, max_model_len) / block) + 1)

    Args:
        full_kv_layers, sliding_kv_layers: counts of the kinds. kv_group_layers: in one group.
        padded_kv_groups: the start-up check counts whole groups (since 0.14). uniform_kv_cache: sliding layers count as full.
        kv_page_bytes: of one block [bytes]. sliding_kv_entry_bytes: of one token [bytes].
        block_size: least tokens of a block [tokens]. max_model_len, sliding_window, max_num_batched_tokens: [tokens].
        batches_in_flight: passes whose tokens a window still holds.
    Returns:
        blocks, each of kv_page_bytes in every layer of a group.
    Validity: chunked attention (Llama 4) counts as a window, one block too many.

    >>> sliding_kv_blocks(10, 52, 10, True, False, 16.0, 1.0, 16, 8192, 1024, 2048, 1)  # Gemma-3-27B: 6 · (192 + 1)
    1158.0

    Source: vLLM, v1/kv_cache_interface.py, SlidingWindowSpec.max_memory_usage_bytes.
    """
    _, sliding, _ = _layer_kinds(full_kv_layers, sliding_kv_layers, 0, uniform_kv_cache)
    if not sliding:
        return 0.0
    kept = (sliding_window or max_model_len) - 1 + batches_in_flight * max_num_batched_tokens
    length = _block_tokens(kv_page_bytes, sliding_kv_entry_bytes, block_size)
    blocks = math.ceil(min(kept, max_model_len) / length) + 1
    return float(_count_groups(sliding, kv_group_layers, padded_kv_groups) * blocks)


def kv_blocks(
    full_kv_blocks: float,
    sliding_kv_blocks: float,
    linear_attention_layers: int,
    kv_group_layers: int,
    padded_kv_groups: bool,
) -> float:
    """KV blocks that one sequence of maximum length takes, over all layer groups.

    kv_blocks = full_kv_blocks + sliding_kv_blocks + groups of linear attention, whose state takes a block
    groups = layers / kv_group_layers, rounded up where padded_kv_groups

    Args:
        full_kv_blocks, sliding_kv_blocks: of layers that keep all tokens, and of those that keep a window.
        linear_attention_layers: count. kv_group_layers: in one group.
        padded_kv_groups: the start-up check counts whole groups (since 0.14).
    Returns:
        blocks, each of kv_page_bytes in every layer of a group.

    >>> kv_blocks(512, 1158, 0, 10, True)  # Gemma-3-27B
    1670.0

    Source: vLLM, v1/core/kv_cache_utils.py, _max_memory_usage_bytes_from_groups.
    """
    return (
        full_kv_blocks
        + sliding_kv_blocks
        + float(_count_groups(linear_attention_layers, kv_group_layers, padded_kv_groups))
    )


def _count_groups(layers: int, kv_group_layers: int, padded: bool) -> float:
    """Return the groups that layers of one kind fill; whole ones if the start-up check pads them."""
    groups = layers / kv_group_layers
    return math.ceil(groups) if padded else groups


def _block_tokens(page: float, entry: float, block_size: int) -> int:
    """Return the tokens of a layer that one page holds: a whole multiple of the block size, or the
    padded block.
    """
    times = page / (block_size * entry)
    return block_size * max(1, int(times)) if times == int(times) else block_size


def kv_cache_tokens(
    kv_cache_bytes: float,
    kv_needed_bytes: float,
    max_model_len: int,
    tokens_by_group: bool,
    full_kv_layers: int,
    sliding_kv_layers: int,
    linear_attention_layers: int,
    uniform_kv_cache: bool,
    kv_group_layers: int,
    kv_page_bytes: float,
    kv_entry_bytes: float,
    block_size: int,
    stage_share: float,
    encoder_layers: int,
    draft_kv_bytes_per_token: float,
) -> int:
    """Tokens of the KV cache as vLLM prints them.

    kv_cache_tokens = kv_cache_bytes / kv_needed_bytes · max_model_len
                    = blocks / groups · tokens of a block, in earlier releases and for layers of several kinds

    Args:
        kv_cache_bytes: memory of the cache [bytes]. kv_needed_bytes: of one longest sequence [bytes].
        max_model_len: [tokens]. tokens_by_group: every group counts as if it kept all tokens (before 0.21).
        full_kv_layers, sliding_kv_layers, linear_attention_layers: counts of the kinds.
        uniform_kv_cache: sliding layers count as full ones. kv_group_layers: layers of a group.
        kv_page_bytes: of one block of one layer [bytes]. kv_entry_bytes: of one token [bytes]. block_size: [tokens].
        stage_share: of the layers on the fullest stage. encoder_layers: of an encoder-decoder, else 0.
        draft_kv_bytes_per_token: of the draft [bytes].
    Returns:
        [tokens]

    >>> plain = (262144, True, 12, 0, 36, False, 12, 544 * 1024, 1024, 16, 1.0, 0, 0)
    >>> kv_cache_tokens(44.59 * 2**30, 6.1 * 2**30, *plain)  # Qwen3-Next-80B on two H200 with 0.10.2 printed 973,760
    973760

    Source: vLLM v0.19.0, v1/core/kv_cache_utils.py, _report_kv_cache_config; v0.22.0, the same.
    """
    kinds = _layer_kinds(full_kv_layers, sliding_kv_layers, linear_attention_layers, uniform_kv_cache)
    several = sum(1 for layers in kinds if layers) > 1
    if tokens_by_group and several and full_kv_layers and not encoder_layers and not draft_kv_bytes_per_token:
        groups = sum(math.ceil(layers / kv_group_layers) for layers in kinds)
        blocks = int(kv_cache_bytes / (kv_group_layers * stage_share * kv_page_bytes))
        return max(0, blocks // groups) * _block_tokens(kv_page_bytes, kv_entry_bytes, block_size)
    return max(0, int(kv_cache_bytes / kv_needed_bytes * max_model_len)) if kv_needed_bytes else 0


def kv_needed_bytes(
    kv_blocks: float,
    kv_group_layers: int,
    kv_page_bytes: float,
    stage_share: float,
    draft_kv_bytes_per_token: float,
    max_model_len: int,
    family: str,
) -> float:
    """KV cache and state of one sequence of maximum length on the fullest GPU, in vLLM's blocks.

    kv_needed_bytes = kv_blocks · kv_group_layers · kv_page_bytes · stage_share + draft_kv_bytes_per_token · max_model_len
                    = 0 for encoders, whose attention sees the whole text at once

    Args:
        kv_blocks: over all groups. kv_group_layers: layers of a group. kv_page_bytes: one block of one layer [bytes].
        stage_share: of the layers on the fullest pipeline stage. draft_kv_bytes_per_token: of the draft [bytes].
        max_model_len: [tokens]. family: of the model.
    Returns:
        [bytes]

    >>> kv_needed_bytes(8192.0, 32, 65536, 1.0, 0, 131072, "llama") / 2**30  # Llama-3.1-8B at its full 131,072 tokens
    16.0

    Source: vLLM, v1/core/kv_cache_utils.py, check_enough_kv_cache_memory; v1/kv_cache_interface.py,
        EncoderOnlyAttentionSpec.
    """
    if has_trait(family, "encodes"):
        return 0.0
    return kv_blocks * kv_group_layers * kv_page_bytes * stage_share + draft_kv_bytes_per_token * max_model_len


def kv_cache_bytes(
    kv_cache_memory_bytes: int | None,
    memory_budget_bytes: float,
    loaded_bytes_per_gpu: float,
    reserve_bytes: float,
) -> float:
    """Memory left for the KV cache on one GPU.
    It is negative if even the weights and the reserve exceed the budget.

    kv_cache_bytes = what is stated, else memory_budget_bytes − loaded_bytes_per_gpu − reserve_bytes

    Args:
        kv_cache_memory_bytes: `--kv-cache-memory-bytes`, else None [bytes].
        memory_budget_bytes, loaded_bytes_per_gpu, reserve_bytes: [bytes]
    Returns:
        [bytes]

    >>> left = kv_cache_bytes(None, 0.95 * 79.19, 15.0, 1.89 + 0.25)  # Llama-3.1-8B on H100, measured 58.10
    >>> round(left, 2)
    58.09

    Source: vLLM, v1/worker/gpu_worker.py, determine_available_memory.
    """
    if kv_cache_memory_bytes is not None:
        return kv_cache_memory_bytes
    return memory_budget_bytes - loaded_bytes_per_gpu - reserve_bytes
