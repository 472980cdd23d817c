"""Time of a prompt: its computation, its waiting time, and the transfer of its KV cache."""

from __future__ import annotations


def prompt_flop(
    request_prompt_tokens: float,
    token_flop: float,
    vocab: int,
    hidden: int,
    layers: int,
    linear_attention_layers: int,
    sliding_layers: int,
    sliding_window: int | None,
    attention_heads: int,
    head_dim: int,
) -> float:
    """Operations of one prompt.

    prompt_flop = prompt · (token_flop − 2 · vocab · hidden) + 2 · heads · width · prompt · Σ tokens that a layer sees

    Args:
        request_prompt_tokens: [tokens]. token_flop: of one token [FLOP]. vocab, hidden: of the output head, which sees only the
            last token. layers, linear_attention_layers, sliding_layers: counts. sliding_window: [tokens] or None.
        attention_heads, head_dim: of a layer.
    Returns:
        [FLOP]
    Validity: causal attention; nothing of the prompt is cached.

    >>> round(prompt_flop(2048, 139e9, 128256, 8192, 80, 0, 0, None, 64, 128) / 1e12)  # Llama-3.1-70B
    286

    Source: Kaplan et al., 2020, section 2.1; causal half as in Dao, FlashAttention-2, 2023, section 4.1.
    """
    window = min(request_prompt_tokens, sliding_window or request_prompt_tokens)
    full = (layers - linear_attention_layers - sliding_layers) * request_prompt_tokens
    scores = 2 * attention_heads * head_dim * request_prompt_tokens * (full + 2 * sliding_layers * window)
    return request_prompt_tokens * (token_flop - 2 * vocab * hidden) + scores


def ttft_floor_s(
    prompt_flop: float,
    weight_read_floor_s: float,
    attention_ranks: int,
    layer_ranks: int,
    pipeline_parallel: int,
    best_flop_per_s: float,
) -> float:
    """Minimum time from a request to its first token.

    ttft_floor_s = max(operations / (GPUs · best peak), weights / bandwidth)

    Args:
        prompt_flop: of the prompt [FLOP]. weight_read_floor_s: reading what one token touches [s].
        attention_ranks, layer_ranks, pipeline_parallel: ranks, which make the GPUs. best_flop_per_s: of the GPU [FLOP/s].
    Returns:
        [s]
    Validity: no prefix is cached, no other request waits, all GPUs run at full peak.

    >>> round(ttft_floor_s(286e12, 0.0104, 4, 4, 1, 1979e12) * 1e3)
    36

    Source: Williams et al., Roofline, 2009.
    """
    return max(
        prompt_flop / (max(attention_ranks, layer_ranks) * pipeline_parallel * best_flop_per_s), weight_read_floor_s
    )


def prefill_s(
    prompt_flop: float,
    expert_token_flop: float,
    request_prompt_tokens: float,
    layers: int,
    hidden: int,
    attention_ranks: int,
    layer_ranks: int,
    bytes_per_activation: float,
    matrix_flop_per_s: float,
    message_s_per_byte: float,
    prefill_excess: float,
    prefill_release_ratio: float,
    prefill_latency_s: float,
) -> float:
    """Time that one prompt takes in its attention group when nothing else runs.

    prefill_s = (other operations / attention_ranks + those of experts / layer_ranks) / peak · max(1, excess · release)
                + 2 · layers · sum of prompt · hidden · B + prefill_latency_s

    Args:
        prompt_flop: [FLOP]. expert_token_flop: of one token in routed experts [FLOP]. request_prompt_tokens: [tokens].
        layers, hidden: of the model. attention_ranks, layer_ranks: ranks. bytes_per_activation: B [bytes].
        matrix_flop_per_s: peak of one GPU [FLOP/s]. message_s_per_byte: of a sum over the ranks (fitted) [s/byte].
        prefill_excess, prefill_release_ratio: time against the peak, by GPU, format and kind of model, and by release
            (fitted). prefill_latency_s: whatever the prompt's length (fitted) [s].
    Returns:
        [s]
    Validity: with data-parallel attention the groups compute prompts of their own at the same time.

    >>> round(prefill_s(286e12, 0, 2048, 80, 8192, 4, 4, 2, 989e12, 3e-12, 1.6, 1.0, 0.01) * 1e3)
    150

    Source: measured; bench/silicon.py.
    """
    routed = request_prompt_tokens * expert_token_flop
    computing = (prompt_flop - routed) / attention_ranks + routed / layer_ranks
    excess = max(1.0, prefill_excess * prefill_release_ratio)
    payload = request_prompt_tokens * hidden * bytes_per_activation
    sending = 2 * layers * _all_reduce_s(payload, attention_ranks, message_s_per_byte)
    return computing / matrix_flop_per_s * excess + sending + prefill_latency_s


def ttft_s(
    prefill_s: float,
    decode_step_s: float,
    decode_batch: int,
    queued_share: float,
    first_token_latency_s: float,
    ttft_floor_s: float,
) -> float:
    """Time from a request to its first token while other requests decode.

    ttft_s = max(ttft_floor_s, prefill_s · (1 + queued · (batch − 1)) + decode_step_s + first_token_latency_s)

    Args:
        prefill_s: of one prompt [s]. decode_step_s: that is under way [s]. decode_batch: sequences of a group.
        queued_share: of the other prompts, those that come before it (fitted).
        first_token_latency_s: of the server around the model (fitted) [s]. ttft_floor_s: what physics allows [s].
    Returns:
        [s]
    Validity: a band: how requests arrive decides.

    >>> round(ttft_s(0.16, 0.02, 16, 0.1, 0.03, 0.05), 2)
    0.45

    Source: measured; bench/silicon.py.
    """
    queued = prefill_s * (1 + queued_share * (decode_batch - 1))
    return max(ttft_floor_s, queued + decode_step_s + first_token_latency_s)


def kv_transfer_s(
    request_prompt_tokens: float,
    full_kv_layers: int,
    sliding_kv_layers: int,
    kv_entry_bytes: float,
    sliding_kv_entry_bytes: float,
    network_bytes_per_s_per_gpu: float,
) -> float:
    """Time to send a prompt's KV cache from the prefill GPUs to the decoding GPUs.

    kv_transfer_s = prompt · (full · entry + sliding · entry) / network of one GPU

    Args:
        request_prompt_tokens: [tokens]. full_kv_layers, sliding_kv_layers: with a cache. kv_entry_bytes,
            sliding_kv_entry_bytes: of a token on one GPU [bytes]. network_bytes_per_s_per_gpu: one way [bytes/s].
    Returns:
        [s]
    Validity: each GPU sends its own shard; nothing overlaps with the prefill.

    >>> round(kv_transfer_s(8192, 80, 0, 512, 512, 50e9) * 1e3, 1)  # Llama-3.1-70B, eight ranks, 400 Gb/s a GPU
    6.7

    Source: Zhong et al., DistServe, 2024, section 3.3.
    """
    entries = full_kv_layers * kv_entry_bytes + sliding_kv_layers * sliding_kv_entry_bytes
    return request_prompt_tokens * entries / network_bytes_per_s_per_gpu


def _all_reduce_s(payload_bytes: float, ranks: int, s_per_byte: float) -> float:
    """Return the bandwidth part of an all-reduce's time."""
    return 2 * (ranks - 1) / ranks * payload_bytes * s_per_byte
