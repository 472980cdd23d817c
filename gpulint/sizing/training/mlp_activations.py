"""MLP activations in training: what one dense or routed layer keeps until the backward pass."""

from __future__ import annotations

from gpulint.catalog.family_traits import has_trait, read_trait


def mlp_activation_bytes(
    intermediate: int | None,
    gated_mlp: bool,
    hidden: int,
    layers: int,
    experts_per_token: int | None,
    moe_layers: int,
    moe_intermediate: int | None,
    shared_intermediate: int | None,
    compute_bytes: int,
    training_kernels: str,
    compiled: bool,
    family: str,
    expert_parallel_size: int | None,
    expert_imbalance: float,
    lora_rank: int | None,
) -> float:
    """Bytes per token that the MLP of one layer keeps, averaged over dense and routed layers.

    dense  = compute_bytes · intermediate · tensors: gate, its activation, up and
             product (fused without the second), 2 without a gate, 1 with ReLU, 5 with GELU in single operations
    routed = imbalance (over expert ranks) · experts_per_token · compute_bytes · (tensors · moe_intermediate + 2 · hidden)
             + shared + 4 · hidden where the router computes in 32 bits; a frozen expert keeps its output alone

    Args:
        intermediate, moe_intermediate, shared_intermediate: widths. gated_mlp: three matrices. hidden: width of the stream.
        layers, moe_layers: all, and routed. experts_per_token: that a token visits. compute_bytes: of a value [bytes].
        training_kernels, compiled: fused kernels recompute the activation. family: of the model.
        expert_parallel_size: ranks, else None. expert_imbalance: fullest against mean rank (fitted).
        lora_rank: None when the last matrix is trained, else its input is not kept.
    Returns:
        [bytes]

    >>> mlp_activation_bytes(14336, True, 4096, 32, None, 0, None, None, 2, "eager", False, "llama", None, 1.2, None) / 14336
    8.0

    Source: Korthikanti et al., Reducing Activation Recomputation, 2022, section 4.1; saved tensors of Llama's MLP traced;
        NVIDIA/Megatron-LM, --moe-token-dispatcher-type alltoall.
    """
    tensors = _count_tensors(training_kernels, compiled, gated_mlp, family) - (0 if lora_rank is None else 1)
    dense = compute_bytes * (intermediate or 0) * tensors
    if not moe_layers or not moe_intermediate or not experts_per_token:
        return float(dense)
    visit = compute_bytes * (moe_intermediate * tensors + (2 if lora_rank is None else 1) * hidden)
    uneven = expert_imbalance if (expert_parallel_size or 1) > 1 else 1
    router = 4 * hidden if has_trait(family, "router_in_32_bits") and lora_rank is None else 0
    routed = uneven * experts_per_token * visit + compute_bytes * (shared_intermediate or 0) * tensors + router
    return (moe_layers * routed + (layers - moe_layers) * dense) / layers


def _count_tensors(training_kernels: str, compiled: bool, gated_mlp: bool, family: str) -> float:
    """Return how many tensors of its inner width an MLP keeps."""
    single = training_kernels == "eager"
    if not gated_mlp:
        return read_trait(family, "plain_mlp_tensors", 2) if single and not compiled else 2
    if training_kernels == "fused" or compiled:
        return 3
    return read_trait(family, "gated_mlp_tensors", 4) if single else 4
