"""Activations of an encoder beside a decoder (Whisper, T5): its layers, and what the decoder's layers keep to attend to it."""

from __future__ import annotations

from gpulint.catalog.family_traits import has_trait
from gpulint.sizing.training import activations, attention_activations
from gpulint.sizing.training.lora import adapter_activation_bytes as list_adapter_bytes


def encoder_length(
    encoder_layers: int, encoder_tokens: int | None, sequence_length: int | None, family: str
) -> int | None:
    """Positions of the longest sample in an encoder.

    encoder_length = encoder_tokens of sound that is padded, else sequence_length

    Args:
        encoder_layers: 0 without an encoder. encoder_tokens: most positions of its output. sequence_length: [tokens]
        family: of the model.
    Returns:
        [tokens]; None where nothing states it
    Validity: sources and targets of text are taken to be equally long.

    >>> encoder_length(32, 1500, 256, "whisper"), encoder_length(12, 1024, 256, "bart"), encoder_length(0, None, 256, "llama")
    (1500, 256, None)

    Source: huggingface/transformers 5.23.0 models/whisper (30 s of sound are 1,500 positions, whatever their contents).
    """
    if not encoder_layers:
        return None
    return encoder_tokens if has_trait(family, "hears_fixed_length") else sequence_length


def encoder_training_tokens(
    encoder_layers: int,
    encoder_length: int | None,
    sequence_length: int | None,
    micro_batch_size: int | None,
    training_tokens: float,
) -> float:
    """Positions that an encoder computes for one micro-batch on one rank.

    encoder_training_tokens = micro_batch_size · encoder_length; as many as the decoder's if both are equally long;
                              0 without an encoder

    Args:
        encoder_layers: 0 without an encoder. encoder_length, sequence_length: of encoder and decoder [tokens].
        micro_batch_size: samples of one rank. training_tokens: of the decoder.
    Returns:
        [tokens]

    >>> encoder_training_tokens(32, 1500, 256, 8, 2048.0), encoder_training_tokens(12, 512, 512, 8, 3000.0)
    (12000.0, 3000.0)

    Source: definition.
    """
    if not encoder_layers:
        return 0.0
    if encoder_length == sequence_length or not encoder_length or not micro_batch_size:
        return training_tokens
    return float(encoder_length * micro_batch_size)


def encoder_attention_bytes(
    encoder_layers: int,
    encoder_length: int | None,
    family: str,
    attention_heads: int,
    kv_heads: int,
    head_dim: int,
    compute_bytes: int,
    attention_backend: str | None,
    training_kernels: str,
    kept_scores: float,
) -> float:
    """Bytes per position that the attention of one encoder layer keeps.

    encoder_attention_bytes = attention_activation_bytes at the encoder's length; 0 without an encoder

    Args:
        encoder_layers: 0 without an encoder. encoder_length: its positions [tokens].
        family, attention_heads, kv_heads, head_dim, compute_bytes, attention_backend, training_kernels, kept_scores: as there.
    Returns:
        [bytes]

    >>> encoder_attention_bytes(32, 1500, "whisper", 20, 20, 64, 2, None, "eager", 0)
    10320.0

    Source: as attention_activation_bytes.
    """
    if not encoder_layers:
        return 0.0
    shape = (family, attention_heads, kv_heads, head_dim, compute_bytes)
    return attention_activations.attention_activation_bytes(
        attention_activations.kernel_attention_bytes(
            *shape, attention_backend, encoder_length, training_kernels, 0, None, None, None
        ),
        attention_activations.eager_attention_bytes(*shape, encoder_length, None),
        family,
        attention_backend,
        training_kernels,
        0,
        kept_scores,
    )


def cross_attention_bytes(
    encoder_layers: int,
    encoder_training_tokens: float,
    training_tokens: float,
    encoder_attention_bytes: float,
    norm_bytes: float,
    hidden: int,
    kv_heads: int,
    head_dim: int,
    compute_bytes: int,
    parameter_bytes: int,
    lora_rank: int | None,
    sharding: str,
    adapter_inputs: str,
    adapter_bytes: int,
    autocast: bool,
    lora_dropout: float,
) -> float:
    """Activations that one layer of a decoder keeps to attend to the encoder's output.

    cross_attention_bytes = positions · (keys and values · compute_bytes + casts + adapters' inputs of k and v)
                            + tokens · (encoder_attention_bytes without keys and values + norms / 2); 0 without an encoder

    Args:
        encoder_layers: 0 without an encoder. encoder_training_tokens, training_tokens: positions of encoder and decoder.
        encoder_attention_bytes, norm_bytes: of one token [bytes]. hidden, kv_heads, head_dim: shape.
        compute_bytes, parameter_bytes, adapter_bytes: of a value [bytes]. lora_rank: None when the matrices are trained; under
        autocast each keeps a cast of the encoder's output. sharding: FSDP and DeepSpeed cast the stream with the weights.
        adapter_inputs: letters of the matrices that keep their input for an adapter. autocast, lora_dropout: as there.
    Returns:
        [bytes]

    >>> cross_attention_bytes(1, 1500.0, 100.0, 10320.0, 0.0, 1280, 20, 64, 2, 2, None, "none", "", 2, False, 0)
    8200000.0

    Source: huggingface/transformers 5.23.0 models/whisper/modeling_whisper.py, WhisperDecoderLayer (encoder_attn).
    """
    if not encoder_layers:
        return 0.0
    narrow = 2.0 * compute_bytes * kv_heads * head_dim
    casts = parameter_bytes > compute_bytes and lora_rank is None and sharding not in ("fsdp", "deepspeed")
    letters = "".join(letter for letter in adapter_inputs if letter in "kv")
    adapters = list_adapter_bytes(
        letters, hidden, None, 0, head_dim, adapter_bytes, compute_bytes, autocast, 1, 0, None, sharding, lora_dropout
    )
    per_position = narrow + (2 * compute_bytes * hidden if casts else 0) + adapters
    per_token = max(0.0, encoder_attention_bytes - narrow) + norm_bytes / 2
    return encoder_training_tokens * per_position + training_tokens * per_token


def encoder_layer_bytes(
    encoder_layers: int,
    encoder_training_tokens: float,
    norm_bytes: float,
    encoder_attention_bytes: float,
    mlp_activation_bytes: float,
    adapter_activation_bytes: float,
    quantised_input_bytes: float,
    tensor_parallel: int,
    sequence_parallel: bool,
    activation_ratio: float,
) -> float:
    """Activations that one layer of an encoder keeps per micro-batch and rank without recomputation.

    encoder_layer_bytes = layer_activation_bytes of the encoder's positions; 0 without an encoder

    Args:
        encoder_layers: 0 without an encoder. encoder_training_tokens: positions of a micro-batch.
        norm_bytes, encoder_attention_bytes, mlp_activation_bytes, adapter_activation_bytes, quantised_input_bytes: of one
        position [bytes]. tensor_parallel, sequence_parallel, activation_ratio: as for a layer of the decoder.
    Returns:
        [bytes]

    >>> encoder_layer_bytes(32, 1500.0, 10240, 10320, 10240, 0, 0, 1, False, 1.0)
    46200000.0

    Source: as layer_activation_bytes.
    """
    if not encoder_layers:
        return 0.0
    return activations.layer_activation_bytes(
        encoder_training_tokens,
        norm_bytes,
        encoder_attention_bytes,
        mlp_activation_bytes,
        adapter_activation_bytes,
        quantised_input_bytes,
        0.0,
        tensor_parallel,
        sequence_parallel,
        activation_ratio,
    )


def kept_encoder_bytes(
    encoder_layers: int,
    activation_checkpointing: str,
    encoder_layer_bytes: float,
    encoder_training_tokens: float,
    hidden: int,
    intermediate: int | None,
    attention_heads: int,
    kv_heads: int,
    head_dim: int,
    compute_bytes: int,
    tensor_parallel: int,
    sequence_parallel: bool,
) -> float:
    """Activations that the layers of an encoder keep until its backward pass, which comes after the decoder's.

    kept_encoder_bytes = encoder_layers · kept_layer_bytes of the encoder's positions

    Args:
        encoder_layers: of the encoder. activation_checkpointing: what is recomputed. encoder_layer_bytes: of one layer
        without recomputation [bytes]. encoder_training_tokens: positions of a micro-batch.
        hidden, intermediate, attention_heads, kv_heads, head_dim, compute_bytes, tensor_parallel, sequence_parallel: as there.
    Returns:
        [bytes]

    >>> kept_encoder_bytes(32, "none", 46200000.0, 1500.0, 1280, 5120, 20, 20, 64, 2, 1, False)
    1478400000.0

    Source: as kept_layer_bytes.
    """
    if not encoder_layers:
        return 0.0
    kept = activations.kept_layer_bytes(
        activation_checkpointing,
        encoder_layer_bytes,
        encoder_training_tokens,
        hidden,
        intermediate,
        attention_heads,
        kv_heads,
        head_dim,
        compute_bytes,
        tensor_parallel,
        sequence_parallel,
    )
    return encoder_layers * kept


def encoder_work_bytes(
    encoder_layers: int,
    activation_checkpointing: str,
    encoder_layer_bytes: float,
    kept_encoder_bytes: float,
    encoder_training_tokens: float,
    encoder_length: int | None,
    family: str,
    attention_heads: int,
    attention_backend: str | None,
    training_kernels: str,
    kept_scores: float,
    hidden: int,
    intermediate: int | None,
    compute_bytes: int,
    tensor_parallel: int,
    layer_gradient_multiple: float,
    sequence_parallel: bool,
    quantization: str | None,
    mlp_activation_bytes: float,
) -> float:
    """Working memory of the backward pass of one encoder layer beyond its kept activations.

    encoder_work_bytes = layer_work_bytes of the encoder's positions, with the gradients of scores at its length

    Args:
        encoder_layers, encoder_length, encoder_training_tokens, encoder_layer_bytes, kept_encoder_bytes: of the encoder.
        activation_checkpointing, family, attention_heads, attention_backend, training_kernels, kept_scores,
        hidden, intermediate, compute_bytes, tensor_parallel, layer_gradient_multiple, sequence_parallel, quantization,
        mlp_activation_bytes: as for a layer of the decoder.
    Returns:
        [bytes]

    >>> encoder_work_bytes(
    ...     2, "none", 100.0, 200.0, 10.0, 10, "whisper", 1, None, "eager", 0, 4, 8, 2, 1, 2.0, False, None, 0.0
    ... )
    400.0

    Source: as layer_work_bytes.
    """
    if not encoder_layers:
        return 0.0
    gradients = attention_activations.score_gradient_bytes(
        family,
        attention_heads,
        attention_backend,
        training_kernels,
        encoder_training_tokens,
        encoder_length,
        None,
        compute_bytes,
        tensor_parallel,
        kept_scores,
    )
    return activations.layer_work_bytes(
        activation_checkpointing,
        encoder_layer_bytes,
        kept_encoder_bytes / encoder_layers,
        encoder_training_tokens,
        hidden,
        intermediate,
        None,
        None,
        compute_bytes,
        tensor_parallel,
        layer_gradient_multiple,
        sequence_parallel,
        quantization,
        mlp_activation_bytes,
        gradients,
    )
