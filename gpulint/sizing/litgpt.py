"""LitGPT's own memory rule: what its bitsandbytes plugin converts while it loads."""

from __future__ import annotations


def quantised_parameters(parameters: float, vocab: int, hidden: int) -> float:
    """Parameters that a quantised format covers: every matrix, the output head too.

    quantised_parameters = parameters − vocab · hidden

    Args:
        parameters: all. vocab, hidden: of the embedding, which is looked up and stays.
    Returns:
        parameters

    >>> quantised_parameters(6738415616, 32000, 4096) / 1e9  # Llama-2-7B: 6.61 of 6.74 billion
    6.607343616

    Source: Lightning-AI/litgpt 26857050 litgpt/model.py, GPT.lm_head is a torch.nn.Linear; Lightning-AI/pytorch-lightning
        src/lightning/fabric/plugins/precision/bitsandbytes.py, convert_module replaces every torch.nn.Linear;
        tutorials/resource-tables.md: Llama-2-7B takes 4.57 GB with bnb.nf4.
    """
    return parameters - vocab * hidden
