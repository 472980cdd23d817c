"""Training work: the tokens of a step and the floating-point operations that they cost, as done and
as MFU counts them.
"""

from __future__ import annotations


def step_sequences(
    global_batch_size: int | None,
    micro_batch_size: int | None,
    gradient_accumulation_steps: int | None,
    training_copies: int,
) -> int:
    """Sequences of one optimizer step over all ranks.

    step_sequences = global_batch_size where it is stated, else micro_batch_size · accumulation · training_copies

    Args:
        global_batch_size, micro_batch_size: sequences, else None. gradient_accumulation_steps: micro-batches of a step,
        one where nothing states them. training_copies: data parallel.
    Returns:
        sequences

    >>> step_sequences(256, None, None, 8), step_sequences(None, 2, 4, 8)
    (256, 64)

    Source: definition.
    """
    if global_batch_size is not None:
        return global_batch_size
    if micro_batch_size is None:
        raise LookupError("neither the batch of a step nor that of a rank is stated")
    return micro_batch_size * (gradient_accumulation_steps or 1) * training_copies


def accumulations(
    step_sequences: int, micro_batch_size: int | None, gradient_accumulation_steps: int | None, training_copies: int
) -> float:
    """Micro-batches that one data-parallel rank computes in sequence in a training step.

    accumulations = step_sequences / (micro_batch_size · training_copies)

    Args:
        step_sequences: of a step. micro_batch_size: of one rank at once, else None.
        gradient_accumulation_steps: as stated, where the micro-batch is not. training_copies: data parallel.
    Returns:
        micro-batches; at least 1

    >>> accumulations(256, 2, None, 8), accumulations(64, None, 4, 8)
    (16.0, 4.0)

    Source: NVIDIA/Megatron-LM d98e8a64 megatron/core/num_microbatches_calculator.py.
    """
    if micro_batch_size is None:
        if gradient_accumulation_steps is None:
            raise LookupError("neither the micro-batch nor the number of micro-batches per step is stated")
        return float(gradient_accumulation_steps)
    return max(1.0, step_sequences / (micro_batch_size * training_copies))


def pipeline_batches(engine: str | None, accumulations: float, micro_batch_size: int | None) -> float:
    """Micro-batches that pass through the pipeline stages in a training step, per data-parallel rank.

    pipeline_batches = accumulations; torchtitan sends each sequence of its local batch by itself

    Args:
        engine: the trainer. accumulations: micro-batches of a step. micro_batch_size: sequences of one, else None.
    Returns:
        micro-batches

    >>> pipeline_batches("megatron-lm", 16.0, 2), pipeline_batches("torchtitan", 1.0, 32)
    (16.0, 32.0)

    Source: pytorch/torchtitan b5bcd76c6 torchtitan/config (pipeline_parallel_microbatch_size: 1; before 2025-03 as many
        micro-batches as stages).
    """
    return accumulations * (micro_batch_size or 1) if engine == "torchtitan" else accumulations


def step_tokens(
    step_sequences: int,
    sequence_length: int | None,
    generations: int | None,
    rollout_tensor_parallel: int | None,
) -> float:
    """Tokens of one optimizer step over all ranks, if every sequence has the declared length.

    step_tokens = step_sequences · sequence_length

    Args:
        step_sequences: of a step. sequence_length: the longest [tokens].
        generations, rollout_tensor_parallel: of runs that generate their own samples, else None.
    Returns:
        [tokens]

    >>> step_tokens(256, 8192, None, None)
    2097152

    Source: definition.
    """
    if generations is not None or rollout_tensor_parallel is not None:
        raise LookupError("the time of runs that generate their own samples is not modelled")
    if sequence_length is None:
        raise LookupError("the training sequence's length is not stated")
    return step_sequences * sequence_length


def matrix_parameters(
    parameters: float,
    active_parameters: float | None,
    vocab: int,
    hidden: int,
    tied_embeddings: bool,
    encoder_layers: int,
    encoder_parameters: int,
) -> float:
    """Parameters that one token is multiplied with, without the look-up of its embedding.
    The output head counts, the look-up of the embedding does not.

    matrix_parameters = active_parameters (of a dense model all) − embedding of its own − encoder_parameters

    Args:
        parameters, active_parameters: all, and those a token passes through, else None. vocab, hidden: of a table.
        tied_embeddings: the head reuses the embedding. encoder_layers: 0 without an encoder besides the decoder.
        encoder_parameters: of a tower of images or sound, which text does not pass through.
    Returns:
        [parameters]

    >>> matrix_parameters(8030261248, None, 128256, 4096, False, 0, 0)  # Llama-3.1-8B
    7504924672

    Source: Kaplan et al., Scaling Laws for Neural Language Models, 2020, section 2.1; Chowdhery et al., PaLM, 2022, appendix B.
    """
    if encoder_layers:
        raise LookupError("the work of an encoder in addition to a decoder is not modelled")
    return (active_parameters or parameters) - encoder_parameters - (0 if tied_embeddings else vocab * hidden)


def attended_tokens(
    sequence_length: int | None,
    layers: int,
    sliding_layers: int,
    sliding_window: int | None,
    linear_attention_layers: int,
) -> float:
    """Average number of tokens that a token attends to, over a causal sequence and all layers.

    attended_tokens = (full layers · s / 2 + sliding layers · (w − w² / 2s)) / layers

    Args:
        sequence_length: s [tokens]. layers: of the model. sliding_layers, sliding_window: layers within w tokens.
        linear_attention_layers: layers that keep a state instead.
    Returns:
        [tokens]

    >>> attended_tokens(8192, 32, 0, None, 0), attended_tokens(4096, 26, 26, 2048, 0)
    (4096.0, 1536.0)

    Source: Dao et al., FlashAttention, 2022, section 3 (a causal kernel leaves out the masked half).
    """
    if sequence_length is None:
        raise LookupError("the training sequence's length is not stated")
    window = min(sequence_length, sliding_window or sequence_length)
    within = window - window**2 / (2 * sequence_length)
    full = layers - sliding_layers - linear_attention_layers
    return (full * sequence_length / 2 + sliding_layers * within) / layers


def matrix_step_flop(step_tokens: float, matrix_parameters: float, trained_share: float) -> float:
    """Operations of the matrices in one training step over all ranks, without recomputation.

    matrix_step_flop = step_tokens · (4 + 2 · trained_share) · matrix_parameters

    Args:
        step_tokens: [tokens]. matrix_parameters: that a token is multiplied with. trained_share: of the parameters;
        a frozen weight has no gradient of its own, but passes on that of its input.
    Returns:
        [FLOP]

    >>> matrix_step_flop(1000.0, 7e9, 1.0) / (1000 * 7e9), matrix_step_flop(1000.0, 7e9, 0.0) / (1000 * 7e9)
    (6.0, 4.0)

    Source: Kaplan et al., Scaling Laws for Neural Language Models, 2020, section 2.1; Hu et al., LoRA, 2021, section 4.2.
    """
    return step_tokens * (4 + 2 * trained_share) * matrix_parameters


def attention_step_flop(
    step_tokens: float, layers: int, attention_heads: int, head_dim: int, attended_tokens: float
) -> float:
    """Operations of attention in one training step over all ranks.
    The masked half and what kernels recompute are left out.

    attention_step_flop = step_tokens · layers · 12 · heads · head_dim · attended_tokens

    Args:
        step_tokens: [tokens]. layers, attention_heads, head_dim: of the model. attended_tokens: of one token [tokens].
    Returns:
        [FLOP]
    Validity: MLA's wider keys are counted like values.

    >>> attention_step_flop(1.0, 32, 32, 128, 4096.0)  # Llama-3.1-8B at 8,192 tokens: 12 · 32 · 4096 · 4096
    6442450944.0

    Source: Chowdhery et al., PaLM, 2022, appendix B: 12 · L · H · Q · T for the full matrix; half of it is masked.
    """
    return step_tokens * layers * 12 * attention_heads * head_dim * attended_tokens


def step_flop(matrix_step_flop: float, attention_step_flop: float) -> float:
    """Minimum operations of one training step over all ranks.

    step_flop = matrix_step_flop + attention_step_flop

    Args:
        matrix_step_flop, attention_step_flop: [FLOP].
    Returns:
        [FLOP]

    >>> step_flop(6.0, 1.0)
    7.0

    Source: Chowdhery et al., PaLM, 2022, appendix B.
    """
    return matrix_step_flop + attention_step_flop


def counted_step_flop(matrix_step_flop: float, attention_step_flop: float) -> float:
    """Operations of one training step as MFU usually counts them: attention includes its masked half.

    counted_step_flop = matrix_step_flop + 2 · attention_step_flop

    Args:
        matrix_step_flop, attention_step_flop: [FLOP].
    Returns:
        [FLOP]
    Validity: PaLM, llm-foundry and torchtitan count so; Megatron-LM halves attention since 2025.

    >>> counted_step_flop(6.0, 1.0)
    8.0

    Source: Chowdhery et al., PaLM, 2022, appendix B; mosaicml/llm-foundry 8c8dd48f7 scripts/train/benchmarking/README.md.
    """
    return matrix_step_flop + 2 * attention_step_flop


def recompute(activation_checkpointing: str) -> float:
    """Share of the layers' forward pass that is recomputed in the backward pass.

    recompute = 1 for whole layers, 1/2 where every second matrix product is kept, else 0

    Args:
        activation_checkpointing: none, scores, products, full, offloaded.
    Returns:
        [ratio]
    Validity: what attention kernels repeat by themselves is not counted, so `scores` costs nothing with them.

    >>> recompute("full"), recompute("products"), recompute("none")
    (1.0, 0.5, 0.0)

    Source: Korthikanti et al., Reducing Activation Recomputation, 2022, section 5; pytorch/torchtitan b5bcd76c6
        torchtitan/distributed/activation_checkpoint.py (every second matrix product is kept).
    """
    if activation_checkpointing not in _REPEATED:
        raise LookupError(f"the recomputation of {activation_checkpointing} is not listed")
    return _REPEATED[activation_checkpointing]


_REPEATED = {"none": 0.0, "scores": 0.0, "products": 0.5, "full": 1.0, "offloaded": 1.0}


def repeated_flop(
    matrix_step_flop: float,
    attention_step_flop: float,
    trained_share: float,
    matrix_parameters: float,
    vocab: int,
    hidden: int,
    recompute: float,
) -> float:
    """Operations of one training step over all ranks that recomputation adds.

    repeated_flop = recompute · (matrix_step_flop / (2 + trained_share) · (1 − vocab · hidden / matrix_parameters)
                    + attention_step_flop / 3 where whole layers are repeated)

    Args:
        matrix_step_flop, attention_step_flop: of a step [FLOP]. trained_share: of the parameters. matrix_parameters: that a
        token is multiplied with. vocab, hidden: of the head, which is not repeated. recompute: share of the forward pass.
    Returns:
        [FLOP]

    >>> repeated_flop(6e9, 3e8, 1.0, 1e6, 0, 1, 1.0)
    2100000000.0

    Source: Korthikanti et al., Reducing Activation Recomputation, 2022, equation 8 and appendix A.
    """
    layers = matrix_step_flop / (2 + trained_share) * (1 - vocab * hidden / matrix_parameters)
    return recompute * layers + (attention_step_flop / 3 if recompute == 1 else 0.0)
