"""What one decoding step moves and computes on a GPU: weights, KV cache, operations and messages."""

from __future__ import annotations

import math

SUMMED_MAX = 1_000
"""More drafts than this add nothing to the sum, unless all of them are accepted."""


def sequence_groups(data_parallel: int) -> int:
    """Attention replicas inside one instance; each decodes its own sequences.

    sequence_groups = dp

    Args:
        data_parallel: copies inside one instance.
    Returns:
        groups.

    >>> sequence_groups(8)
    8

    Source: vLLM, docs/serving/data_parallel_deployment.md.
    """
    return data_parallel


def attention_ranks(tensor_parallel: int) -> int:
    """Ranks that split the heads of one attention replica.

    attention_ranks = tp

    Args:
        tensor_parallel: ranks.
    Returns:
        ranks.

    >>> attention_ranks(8)
    8

    Source: Shoeybi et al., Megatron-LM, 2019, section 3.
    """
    return tensor_parallel


def layer_ranks(tensor_parallel: int, data_parallel: int, experts: int | None) -> int:
    """Ranks whose tokens meet in the experts of a layer and which split those experts.

    layer_ranks = tp · dp with experts, tp without

    Args:
        tensor_parallel, data_parallel: ranks. experts: routed experts of a layer, else None.
    Returns:
        ranks.

    >>> layer_ranks(1, 8, 256), layer_ranks(4, 2, None)
    (8, 4)

    Source: vLLM, docs/serving/expert_parallel_deployment.md: experts are shared out over tp · dp.
    """
    return tensor_parallel * data_parallel if experts else tensor_parallel


def decode_batch(
    target_concurrency: float | None, service_replicas: float, sequence_groups: int, admission_limit: int | None
) -> int:
    """Sequences that decode together in one attention group.

    decode_batch = ceil(min(concurrency / service_replicas, admission limit) / groups); 1 where no concurrency is stated

    Args:
        target_concurrency: requests of the whole service at once, else None. service_replicas: instances.
        sequence_groups: attention replicas in each. admission_limit: requests that a replica runs at once, else None.
    Returns:
        sequences.

    >>> decode_batch(256, 2, 8, None), decode_batch(256, 2, 8, 64), decode_batch(None, 2, 8, None)
    (16, 8, 1)

    Source: definition; requests are spread evenly.
    """
    running = (target_concurrency or 1) / service_replicas
    return max(1, math.ceil(min(running, admission_limit or running) / sequence_groups))


def wave_batch(decode_batch: int, pipeline_parallel: int) -> int:
    """Sequences of one attention group that pass through the pipeline stages together.

    wave_batch = ceil(decode_batch / pp)

    Args:
        decode_batch: sequences of the group. pipeline_parallel: stages, each of which works on another wave.
    Returns:
        sequences.

    >>> wave_batch(64, 1), wave_batch(64, 4)
    (64, 16)

    Source: vLLM, docs/serving/parallelism_scaling.md: as many batches are in flight as there are stages.
    """
    return math.ceil(decode_batch / pipeline_parallel)


def wave_tokens(wave_batch: int, draft_tokens: int) -> int:
    """Tokens of one attention group that pass through the layers together.
    Each sequence contributes its last token and its draft tokens.

    wave_tokens = wave_batch · (1 + drafted)

    Args:
        wave_batch: sequences. draft_tokens: drafted ahead of each step.
    Returns:
        [tokens].

    >>> wave_tokens(16, 0), wave_tokens(16, 3)
    (16, 64)

    Source: Leviathan et al., Fast Inference from Transformers via Speculative Decoding, 2023, section 2.1.
    """
    return wave_batch * (1 + draft_tokens)


def step_output_tokens(draft_tokens: int, rejected_share: float) -> float:
    """Output tokens that one decoding step yields per sequence.

    step_output_tokens = Σ p^i, i from 0 to the drafted, p = 1 − rejected

    Args:
        draft_tokens: drafted ahead of each step. rejected_share: of drafts whose forerunners were accepted (fitted).
    Returns:
        [tokens].

    >>> step_output_tokens(0, 0.3), round(step_output_tokens(3, 0.3), 2)
    (1.0, 2.53)

    Source: Leviathan et al., 2023, section 3.1, equation 1.
    """
    accepted_share = 1 - rejected_share
    if draft_tokens <= SUMMED_MAX:
        return float(sum(accepted_share**draft for draft in range(draft_tokens + 1)))
    return 1 / rejected_share if rejected_share else float(draft_tokens + 1)


def decode_context_tokens(request_prompt_tokens: float, request_output_tokens: float) -> float:
    """Mean length of a sequence while its answer is decoded.

    decode_context_tokens = prompt + output / 2

    Args:
        request_prompt_tokens, request_output_tokens: of a usual request [tokens].
    Returns:
        [tokens]

    >>> decode_context_tokens(1024, 1024)
    1536.0

    Source: definition; the answer grows by one token a step.
    """
    return request_prompt_tokens + request_output_tokens / 2


def meeting_tokens(wave_tokens: int, attention_ranks: int, layer_ranks: int) -> float:
    """Tokens of one step that meet in the experts of a layer.

    meeting_tokens = wave_tokens · layer_ranks / attention_ranks

    Args:
        wave_tokens: of one attention group. attention_ranks, layer_ranks: ranks.
    Returns:
        tokens.

    >>> meeting_tokens(16, 1, 8)
    128.0

    Source: vLLM, docs/serving/expert_parallel_deployment.md.
    """
    return wave_tokens * max(1.0, layer_ranks / attention_ranks)


def touched_expert_share(experts: int | None, experts_per_token: int | None, meeting_tokens: float) -> float:
    """Share of the routed experts that at least one token of a step uses.

    touched_expert_share = 1 − (1 − k / E)^tokens

    Args:
        experts: E, routed experts of a layer, else None. experts_per_token: k. meeting_tokens: of one step.
    Returns:
        [ratio]; 0 without routed experts.
    Validity: even routing; a router with favourites touches fewer.

    >>> round(touched_expert_share(256, 8, 1), 5), round(touched_expert_share(256, 8, 64), 3)
    (0.03125, 0.869)

    Source: expectation of distinct draws; Kamahori et al., Fiddler, 2024, observe it for Mixtral.
    """
    if not experts or not experts_per_token:
        return 0.0
    return float(1 - (1 - experts_per_token / experts) ** meeting_tokens)


def shared_read_bytes(
    weight_bytes: float,
    expert_parameters: int,
    bytes_per_weight: float,
    table_bytes: float,
    tied_embeddings: bool,
    attention_ranks: int,
) -> float:
    """Weights other than routed experts that each GPU reads per step, over all pipeline stages.

    shared_read_bytes = (weight_bytes − experts · b − table where it is not the output head) / attention_ranks

    Args:
        weight_bytes: of the whole model [bytes]. expert_parameters: of routed experts. bytes_per_weight: b [bytes].
        table_bytes: of the embedding table, of which a step reads single rows [bytes]. tied_embeddings: it is the head too.
        attention_ranks: that share them.
    Returns:
        [bytes]
    Validity: encoders are counted although text does not pass through them (below 2 % of a large model).

    >>> round(shared_read_bytes(141107412992, 0, 2, 2101346304, False, 4) / 1e9, 1)  # Llama-3.1-70B on four ranks
    34.8

    Source: Pope et al., Efficiently Scaling Transformer Inference, 2022, section 2.
    """
    read = weight_bytes - expert_parameters * bytes_per_weight - (0 if tied_embeddings else table_bytes)
    return max(0.0, read) / attention_ranks


def expert_read_bytes(
    expert_parameters: int, bytes_per_weight: float, touched_expert_share: float, layer_ranks: int
) -> float:
    """Routed experts that each GPU reads per step, over all pipeline stages.

    expert_read_bytes = experts · b · touched / ranks

    Args:
        expert_parameters: of all routed experts. bytes_per_weight: b [bytes]. touched_expert_share: those visited.
        layer_ranks: that share them out.
    Returns:
        [bytes]

    >>> round(expert_read_bytes(653908770816, 1, 0.03125, 8) / 1e9, 2)  # DeepSeek-V3, one token, eight ranks
    2.55

    Source: as touched_expert_share.
    """
    return expert_parameters * bytes_per_weight * touched_expert_share / layer_ranks


def sequence_read_bytes(
    full_kv_layers: int,
    sliding_kv_layers: int,
    kv_entry_bytes: float,
    sliding_kv_entry_bytes: float,
    sliding_window: int | None,
    indexer_head_dim: int | None,
    linear_attention_layers: int,
    state_elements: int,
    attention_ranks: int,
    decode_context_tokens: float,
) -> float:
    """KV cache and state of one sequence that each GPU reads per step, over all pipeline stages.

    sequence_read_bytes = full · entry · context + sliding · entry · min(context, window) + 2 · linear · state
    sparse: full · (entry · min(context, 2048) + (indexer + 4) · context)

    Args:
        full_kv_layers, sliding_kv_layers: with a cache of their own. kv_entry_bytes, sliding_kv_entry_bytes: of a token [bytes].
        sliding_window: [tokens] or None. indexer_head_dim: of a sparse-attention indexer, else None.
        linear_attention_layers, state_elements: of recurrent states, read and written in 16 bits.
        attention_ranks: that share the states. decode_context_tokens: [tokens].
    Returns:
        [bytes]
    Validity: layers that share another's cache read it as well; the sparse layers of all known models choose 2,048 tokens.

    >>> sequence_read_bytes(80, 0, 4096, 4096, None, None, 0, 0, 1, 1000)  # Llama-3.1-70B
    327680000.0
    >>> sequence_read_bytes(18, 18, 2048, 2048, 128, None, 0, 0, 1, 4096)  # gpt-oss: half of the layers see 128 tokens
    155713536.0

    Source: Pope et al., 2022, section 2; DeepSeek-AI, DeepSeek-V3.2-Exp, 2025, index_topk.
    """
    context = decode_context_tokens
    window = min(context, sliding_window or context)
    if indexer_head_dim:
        index = (indexer_head_dim + _SCALE_BYTES) * context
        full = (kv_entry_bytes - indexer_head_dim - _SCALE_BYTES) * min(context, _SPARSE_TOKENS) + index
    else:
        full = kv_entry_bytes * context
    state = 2 * linear_attention_layers * (state_elements or 0) * _STATE_BYTES / attention_ranks
    return float(full_kv_layers * full + sliding_kv_layers * sliding_kv_entry_bytes * window + state)


_SPARSE_TOKENS = 2048
_SCALE_BYTES = 4
_STATE_BYTES = 2


def token_flop(
    parameters: float, active_parameters: float | None, vocab: int, hidden: int, tied_embeddings: bool
) -> float:
    """Operations of all matrices for one token, without attention.

    token_flop = 2 · (active parameters − embedding table where it is not the output head)

    Args:
        parameters, active_parameters: all, and those one token passes through, else None. vocab, hidden: of the table.
        tied_embeddings: the table is the output head too.
    Returns:
        [FLOP]

    >>> round(token_flop(70553706496, None, 128256, 8192, False) / 1e9)  # Llama-3.1-70B
    139

    Source: Kaplan et al., Scaling Laws for Neural Language Models, 2020, section 2.1.
    """
    return 2.0 * ((active_parameters or parameters) - (0 if tied_embeddings else vocab * hidden))


def context_flop(
    layers: int,
    linear_attention_layers: int,
    sliding_layers: int,
    sliding_window: int | None,
    attention_heads: int,
    head_dim: int,
    kv_lora_rank: int | None,
    qk_rope_head_dim: int | None,
    indexer_head_dim: int | None,
    decode_context_tokens: float,
) -> float:
    """Operations of all attention layers for one token of a decoding step.

    context_flop = 4 · heads · width · Σ tokens that a layer sees; 2 · heads · (2 · rank + rotary) · Σ with MLA

    Args:
        layers, linear_attention_layers, sliding_layers: counts. sliding_window: [tokens] or None.
        attention_heads, head_dim: of a layer. kv_lora_rank, qk_rope_head_dim: of MLA, else None.
        indexer_head_dim: of a sparse-attention indexer, else None. decode_context_tokens: [tokens].
    Returns:
        [FLOP]

    >>> context_flop(80, 0, 0, None, 64, 128, None, None, None, 1000)  # Llama-3.1-70B
    2621440000.0
    >>> context_flop(61, 0, 0, None, 128, 192, 512, 64, None, 1000)  # DeepSeek-V3
    16990208000.0

    Source: DeepSeek-AI, DeepSeek-V2, 2024, section 2.1.2 (queries absorb the up-projection).
    """
    context = min(decode_context_tokens, _SPARSE_TOKENS) if indexer_head_dim else decode_context_tokens
    window = min(context, sliding_window or context)
    seen = (layers - linear_attention_layers - sliding_layers) * context + sliding_layers * window
    width = 2 * (2 * kv_lora_rank + (qk_rope_head_dim or 0)) if kv_lora_rank else 4 * head_dim
    return float(attention_heads * width * seen)


def expert_token_flop(expert_parameters: int, experts: int | None, experts_per_token: int | None) -> float:
    """Operations of the routed experts of all layers for one token.

    expert_token_flop = 2 · expert_parameters · k / E

    Args:
        expert_parameters: of all routed experts. experts, experts_per_token: E, k; None without.
    Returns:
        [FLOP]

    >>> round(expert_token_flop(653908770816, 256, 8) / 1e9, 1), expert_token_flop(0, None, None)  # DeepSeek-V3
    (40.9, 0.0)

    Source: as token_flop.
    """
    return 2.0 * expert_parameters * experts_per_token / experts if experts and experts_per_token else 0.0
