"""LitGPT's memory rule: what its bitsandbytes plugin converts while it loads."""

from __future__ import annotations


def quantised_parameters(parameters: float, vocab: int, hidden: int) -> float:
    """Parameters that a quantised format covers: every matrix, including the output head.

    quantised_parameters = parameters − vocab · hidden

    Args:
        parameters: all. vocab, hidden: of the embedding, which is looked up and stays.
    Returns:
        [parameters]

    >>> quantised_parameters(6738415616, 32000, 4096) / 1e9  # Llama-2-7B: 6.61 of 6.74 billion
    6.607343616

    Source: Lightning-AI/litgpt 26857050 litgpt/model.py, GPT.lm_head is a torch.nn.Linear; Lightning-AI/pytorch-lightning
        src/lightning/fabric/plugins/precision/bitsandbytes.py, convert_module replaces every torch.nn.Linear;
        tutorials/resource-tables.md: Llama-2-7B takes 4.57 GB with bnb.nf4.
    """
    return parameters - vocab * hidden


def loss_bytes(
    training_tokens: float,
    vocab: int,
    hidden: int,
    loss_bytes_per_logit: float,
    compute_bytes: int,
    quantization: str | None,
) -> float:
    """Peak memory of the output head and the loss, with a quantised head as it is used.

    loss_bytes = tokens · (loss_bytes_per_logit · vocab + (4 + 2 · compute_bytes) · hidden)
                 + compute_bytes · vocab · hidden with a quantised base

    Args:
        training_tokens: of a micro-batch. vocab, hidden: entries and width. loss_bytes_per_logit: of logits and copies (fitted).
        compute_bytes: of a value [bytes]. quantization: of the base at load, else None.
    Returns:
        [bytes]

    >>> loss_bytes(512, 256000, 3072, 8, 2, "nf4") - loss_bytes(512, 256000, 3072, 8, 2, None)  # Gemma-7B
    1572864000

    Source: Lightning-AI/litgpt 26857050 litgpt/model.py, GPT.lm_head; bitsandbytes autograd/_functions.py, MatMul4Bit.forward
        (the whole matrix is restored for the product).
    """
    restored = compute_bytes * vocab * hidden if quantization else 0
    return training_tokens * (loss_bytes_per_logit * vocab + (4 + 2 * compute_bytes) * hidden) + restored
