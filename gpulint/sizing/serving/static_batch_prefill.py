"""The prompt of a static batch in plain PyTorch: what its layers and logits need beyond weights and
KV cache.
"""

from __future__ import annotations

from gpulint.catalog.family_traits import has_trait, read_trait


def prompt_cache_bytes(
    generation_cache: str,
    generation_cache_bytes: float,
    kv_bytes_per_token: float,
    batch_size: int,
    prompt_tokens: int,
) -> float:
    """KV cache on the fullest GPU after the prompt has been computed.

    prompt_cache_bytes = batch · prompt · kv_bytes_per_token where it is grown, all of it where it is allocated

    Args:
        generation_cache: grown or allocated. generation_cache_bytes: complete [bytes]. kv_bytes_per_token: of all layers [bytes].
        batch_size: sequences. prompt_tokens: of each [tokens].
    Returns:
        [bytes]
    Validity: layers with a sliding window keep the whole prompt until the first token is generated.

    >>> prompt_cache_bytes("grown", 9.0, 2.0, 1, 3), prompt_cache_bytes("allocated", 9.0, 2.0, 1, 3)
    (6.0, 9.0)

    Source: huggingface/transformers 5.23.0 cache_utils.py, DynamicSlidingWindowLayer.update keeps a view; prefills traced.
    """
    return batch_size * prompt_tokens * kv_bytes_per_token if generation_cache == "grown" else generation_cache_bytes


def prompt_mlp_bytes(
    family: str,
    hidden: int,
    intermediate: int | None,
    gated_mlp: bool,
    experts: int | None,
    experts_per_token: int | None,
    moe_intermediate: int | None,
    shared_intermediate: int | None,
    expert_token_share: float,
    bytes_per_activation: float,
    tensor_parallel: int,
    batch_size: int,
    prompt_tokens: int,
) -> float:
    """Peak memory of the MLP of one layer during the prompt.
    What the residual stream keeps at that time is included.

    prompt_mlp_bytes = tokens · B · (4 · hidden + 3 · intermediate / tp)           gated: gate, up and their product
                       2 without a gate, 4 with GELU in single operations or one matrix for gate and up
    routed           = tokens · B · (2 · hidden + visits · max(4 · moe_intermediate + hidden, 4.3 · hidden)), visits: the
                       experts of a token that are computed at once

    Args:
        family: of the model. hidden, intermediate, moe_intermediate, shared_intermediate: widths. gated_mlp: three matrices.
        experts, experts_per_token: of a routed layer. expert_token_share: of the visits that one grouped product computes
        (fitted). bytes_per_activation: B [bytes]. tensor_parallel: ranks. batch_size: sequences. prompt_tokens: of each [tokens].
    Returns:
        [bytes]

    >>> round(prompt_mlp_bytes("qwen2", 5120, 27648, True, None, None, None, None, 1, 2, 1, 1, 30720) / 2**30, 2)
    5.92

    Source: prefills of 34 checkpoints traced under fake tensors (torch 2.15.0, transformers 5.23.0); QwenLM/Qwen3 branch v2.5,
        speed_benchmark.rst: Qwen2.5-32B takes 74.47 GiB at 30,720 tokens, of which 61.03 weights, 7.5 cache.
    """
    tokens = batch_size * prompt_tokens
    stream = read_trait(family, "prompt_streams", 4)
    if experts and moe_intermediate and experts_per_token:
        visit = max(4 * moe_intermediate / tensor_parallel + hidden, 4.3 * hidden)
        shared = hidden + 2 * (shared_intermediate or 0) / tensor_parallel if shared_intermediate else 0
        visits = experts_per_token * expert_token_share
        return tokens * bytes_per_activation * (2 * hidden + shared + visits * visit)
    whole = has_trait(family, "simple_gelu") or has_trait(family, "one_input_matrix")
    tensors = 4 if whole else 3 if gated_mlp else 2
    return tokens * bytes_per_activation * (stream * hidden + tensors * (intermediate or 0) / tensor_parallel)


def prompt_attention_bytes(
    hidden: int,
    attention_heads: int,
    kv_heads: int,
    head_dim: int,
    score_bytes: float,
    bytes_per_activation: float,
    tensor_parallel: int,
    batch_size: int,
    prompt_tokens: int,
) -> float:
    """Peak memory of the attention of one layer during the prompt.
    What the residual stream keeps at that time is included.

    prompt_attention_bytes = tokens · B · (3 · hidden + (2 · queries + 2 · copies + 2 · keys) / tp)
                             + batch · heads / tp · prompt² · score_bytes                            where scores are kept

    Args:
        hidden, attention_heads, kv_heads, head_dim: shape.
        score_bytes: of one score and its copies; 0 with kernels that never store them (fitted) [bytes].
        bytes_per_activation: B [bytes]. tensor_parallel: ranks. batch_size: sequences. prompt_tokens: of each [tokens].
    Returns:
        [bytes]

    >>> round(prompt_attention_bytes(4096, 32, 8, 128, 10, 2, 1, 8, 2048) / 2**30, 1)  # AutoAWQ: 16.82 in all
    10.9

    Source: huggingface/transformers 5.23.0, eager_attention_forward: scores, 32-bit softmax, its cast; casper-hansen/AutoAWQ
        v0.1.6 awq/modules/fused/attn.py: scores, their 32-bit copy and its softmax.
    """
    wide, narrow = attention_heads * head_dim, kv_heads * head_dim
    copies = 2 * wide if score_bytes and narrow < wide else 0
    stream = bytes_per_activation * (3 * hidden + (2 * wide + copies + 2 * narrow) / tensor_parallel)
    scores = attention_heads / tensor_parallel * prompt_tokens * score_bytes
    return batch_size * prompt_tokens * (stream + scores)


def prompt_logit_bytes(
    vocab: int,
    hidden: int,
    logit_positions: str,
    bytes_per_activation: float,
    logit_copy_bytes: float,
    tensor_parallel: int,
    batch_size: int,
    prompt_tokens: int,
) -> float:
    """Logits of the prompt: of its last token, or of every token.

    prompt_logit_bytes = batch · positions · vocab · (B + logit_copy_bytes) + tokens · B · hidden

    Args:
        vocab, hidden: entries and width. logit_positions: all or last. bytes_per_activation: B [bytes].
        logit_copy_bytes: of copies of one logit in 32 bits (fitted) [bytes]. tensor_parallel: ranks gather whole logits.
        batch_size: sequences. prompt_tokens: of each [tokens].
    Returns:
        [bytes]

    >>> round(prompt_logit_bytes(152064, 5120, "all", 2, 4, 1, 1, 30720) / 2**30, 1)  # Transformers before 4.45
    26.4

    Source: huggingface/transformers v4.44.2 models/llama/modeling_llama.py (logits of all positions, as float32) and v4.45.0
        (num_logits_to_keep).
    """
    positions = prompt_tokens if logit_positions == "all" else 1
    logits = batch_size * positions * vocab * (bytes_per_activation + logit_copy_bytes)
    return logits + batch_size * prompt_tokens * bytes_per_activation * hidden


def prompt_work_bytes(
    prompt_mlp_bytes: float, prompt_attention_bytes: float, prompt_logit_bytes: float, prompt_share: float
) -> float:
    """Peak memory of the prompt beyond weights and KV cache.

    prompt_work_bytes = max(MLP, attention, logits) · prompt_share

    Args:
        prompt_mlp_bytes, prompt_attention_bytes, prompt_logit_bytes: at their fullest moments [bytes].
        prompt_share: alive at once; a prompt computed in chunks needs less (fitted).
    Returns:
        [bytes]

    >>> prompt_work_bytes(3.0, 2.0, 1.0, 1.0)
    3.0

    Source: definition; a layer's attention is freed before its MLP runs.
    """
    return max(prompt_mlp_bytes, prompt_attention_bytes, prompt_logit_bytes) * prompt_share
