"""State ranks: those that shard one set of training states, and the replicas of that set."""

from __future__ import annotations


def state_ranks(sharding_stage: int, shard_ranks: int, training_copies: int, context_ranks: int) -> int:
    """Ranks that hold one set of the states of a model-parallel part.

    state_ranks = shard_ranks, at most training_copies · cp; 1 where nothing is sharded

    Args:
        sharding_stage: what is sharded. shard_ranks: over how many. training_copies, context_ranks: ranks of a run.
    Returns:
        ranks

    >>> state_ranks(3, 8, 64, 1), state_ranks(0, 64, 64, 1)
    (8, 1)

    Source: Zhao et al., PyTorch FSDP, 2023, section 3.2.
    """
    return min(shard_ranks, training_copies * context_ranks) if sharding_stage else 1


def state_copies(state_ranks: int, training_copies: int, context_ranks: int) -> int:
    """Replicas of the states. Their gradients are summed between the ranks with the same part.

    state_copies = training_copies · cp / state_ranks

    Args:
        state_ranks: ranks of one set. training_copies, context_ranks: ranks of a run.
    Returns:
        copies

    >>> state_copies(8, 64, 1), state_copies(64, 64, 1)
    (8, 1)

    Source: Zhao et al., PyTorch FSDP, 2023, section 3.2.2.
    """
    return training_copies * context_ranks // state_ranks


def copy_stride(tensor_parallel: int, state_ranks: int) -> int:
    """Distance in GPUs between two ranks that hold the same part of neighbouring state replicas.

    copy_stride = tp · state_ranks: all ranks of a node sum up their parts at once, so each has its share of the network

    Args:
        tensor_parallel: ranks. state_ranks: ranks of one replica of the states.
    Returns:
        GPUs.

    >>> copy_stride(2, 8)
    16

    Source: Zhao et al., PyTorch FSDP, 2023, section 3.2.2; pytorch/torchtitan b5bcd76c6
        torchtitan/distributed/parallel_dims.py (pp, dp_replicate, dp_shard, cp, tp).
    """
    return tensor_parallel * state_ranks
