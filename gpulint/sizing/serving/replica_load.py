"""Capacity of one replica: concurrent requests, tokens per second, power and energy."""

from __future__ import annotations

import math


def output_tokens_per_s(
    decode_batch: int,
    sequence_groups: int,
    tpot_s: float,
    ttft_s: float,
    request_output_tokens: float,
    admitted_sequences: int | None = None,
) -> float:
    """Output tokens per second of one replica at constant concurrency.

    output_tokens_per_s = min(batch · groups, admitted) · output / (ttft_s + (output − 1) · tpot_s)

    Args:
        decode_batch: sequences of a group. sequence_groups: groups of a replica. tpot_s, ttft_s: [s].
        request_output_tokens: of an answer [tokens]. admitted_sequences: by the KV cache if it is known, else None.
    Returns:
        [tokens/s]

    >>> round(output_tokens_per_s(16, 1, 0.02, 0.1, 512))
    794

    Source: Little's law.
    """
    output = max(1.0, request_output_tokens)
    running = min(decode_batch * sequence_groups, admitted_sequences or decode_batch * sequence_groups)
    return running * output / (ttft_s + (output - 1) * tpot_s)


def sequence_limit(max_num_seqs: int) -> int:
    """Sequences of one attention group that the settings allow at once.

    sequence_limit = max_num_seqs; absent where the engine works it out

    Args:
        max_num_seqs: as stated or by default.
    Returns:
        sequences.

    >>> sequence_limit(256)
    256

    Source: vLLM, config/scheduler.py, max_num_seqs.
    """
    return max_num_seqs


def admission_limit(admitted_sequences: int) -> int:
    """Requests that one replica admits at once.
    It is absent if the KV cache is unknown or holds no request.

    admission_limit = admitted_sequences

    Args:
        admitted_sequences: by KV cache and settings.
    Returns:
        requests.

    >>> admission_limit(39)
    39

    Source: definition.
    """
    if admitted_sequences < 1:
        raise LookupError("the KV cache cannot hold a single request of that length")
    return admitted_sequences


def admitted_sequences(
    kv_cache_bytes: float,
    full_kv_layers: int,
    sliding_kv_layers: int,
    kv_entry_bytes: float,
    sliding_kv_entry_bytes: float,
    stage_share: float,
    state_bytes: float,
    sliding_window: int | None,
    request_prompt_tokens: float,
    request_output_tokens: float,
    sequence_groups: int,
    sequence_limit: int | None,
) -> int:
    """Requests that run at once in one replica, limited by its KV cache and its settings.

    admitted_sequences = groups · min(limit, floor(cache / (entries of prompt + output / 2 + state)))

    Args:
        kv_cache_bytes: on one GPU [bytes]. full_kv_layers, sliding_kv_layers: with a cache. kv_entry_bytes,
            sliding_kv_entry_bytes: of a token [bytes]. stage_share: of the layers on the fullest stage.
        state_bytes: of a sequence [bytes]. sliding_window: [tokens] or None.
        request_prompt_tokens, request_output_tokens: of a usual request [tokens].
        sequence_groups: groups of the replica. sequence_limit: sequences of a group at most, else None.
    Returns:
        sequences.
    Validity: requests are at every stage of their answer; shared prefixes would admit more.

    >>> admitted_sequences(54e9, 80, 0, 1024, 1024, 1.0, 0, None, 1024, 1024, 1, 256)  # Llama-3.1-70B, four ranks
    256
    >>> admitted_sequences(5e9, 80, 0, 1024, 1024, 1.0, 0, None, 1024, 1024, 1, 256)
    39

    Source: vLLM, v1/core/kv_cache_manager.py: blocks are taken as a sequence grows.
    """
    tokens = request_prompt_tokens + request_output_tokens / 2
    window = min(tokens, sliding_window or tokens)
    entries = full_kv_layers * kv_entry_bytes * tokens + sliding_kv_layers * sliding_kv_entry_bytes * window
    held = entries * stage_share + state_bytes
    fitting = math.floor(max(0.0, kv_cache_bytes) / held) if held else sequence_limit or 1
    return sequence_groups * min(sequence_limit or fitting, fitting)


def average_power_w(board_w: float, loaded_board_share: float) -> float:
    """Average power of one accelerator while it serves.

    average_power_w = board_w · share

    Args:
        board_w: power of the board [W]. loaded_board_share: of it (fitted).
    Returns:
        [W]

    >>> average_power_w(700, 0.6)
    420.0

    Source: Patel et al., POLCA: Power Oversubscription in LLM Cloud Providers, 2024.
    """
    return board_w * loaded_board_share


def energy_j_per_token(
    board_w: float,
    loaded_board_share: float,
    layer_ranks: int,
    attention_ranks: int,
    pipeline_parallel: int,
    output_tokens_per_s: float,
) -> float:
    """Energy of one replica's accelerators per output token.

    energy_j_per_token = board_w · share · GPUs / output_tokens_per_s

    Args:
        board_w: power of one board [W]. loaded_board_share: of it that is drawn on average (fitted).
        layer_ranks, attention_ranks, pipeline_parallel: ranks, which make the GPUs.
        output_tokens_per_s: of the replica [tokens/s].
    Returns:
        [J]
    Validity: boards only; hosts, cooling and switches are not in it.

    >>> round(energy_j_per_token(700, 0.6, 4, 4, 1, 800), 2)
    2.1

    Source: Patel et al., POLCA, 2024; Samsi et al., From Words to Watts, 2023.
    """
    return board_w * loaded_board_share * max(layer_ranks, attention_ranks) * pipeline_parallel / output_tokens_per_s
