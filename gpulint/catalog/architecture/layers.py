"""Layers: the parameters of modules of torch.nn, by the arguments that make them.

Source: pytorch/pytorch v2.9.0 torch/nn/modules (linear.py, sparse.py, normalization.py, batchnorm.py, conv.py, activation.py,
transformer.py, rnn.py).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

Stated: TypeAlias = Mapping[str, object]
FEED_FORWARD = 2048
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
WITHOUT = re.compile(
    r"Dropout\d?d?|Alpha\w*|Identity|Flatten|Unflatten|Upsample\w*|Fold|Unfold|PixelShuffle|PixelUnshuffle|"
    r"(?:Leaky|R)?ReLU6?|[CGS]?ELU|SiLU|Mish|Tanh|Sigmoid|Soft\w+|LogSoftmax|LogSigmoid|Hard\w+|GLU|CosineSimilarity|"
    r"\w*Loss\w*|\w*Pool\dd|\w*Pad\dd|InstanceNorm\dd"
)
"""Modules without parameters; InstanceNorm has none unless it is asked for."""
NAMES: Mapping[str, tuple[str, ...]] = {
    "Linear": ("in_features", "out_features", "bias"),
    "Embedding": ("num_embeddings", "embedding_dim"),
    "EmbeddingBag": ("num_embeddings", "embedding_dim"),
    "LayerNorm": ("normalized_shape", "eps", "elementwise_affine", "bias"),
    "RMSNorm": ("normalized_shape", "eps", "elementwise_affine"),
    "GroupNorm": ("num_groups", "num_channels"),
    **dict.fromkeys(("BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "SyncBatchNorm"), ("num_features",)),
    **dict.fromkeys(
        ("Conv1d", "Conv2d", "Conv3d"),
        ("in_channels", "out_channels", "kernel_size", "stride", "padding", "dilation", "groups", "bias"),
    ),
    **dict.fromkeys(
        ("ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"),
        ("in_channels", "out_channels", "kernel_size", "stride", "padding", "output_padding", "groups", "bias"),
    ),
    "MultiheadAttention": ("embed_dim", "num_heads", "dropout", "bias"),
    **dict.fromkeys(("TransformerEncoderLayer", "TransformerDecoderLayer"), ("d_model", "nhead", "dim_feedforward")),
    "Transformer": ("d_model", "nhead", "num_encoder_layers", "num_decoder_layers", "dim_feedforward"),
    **dict.fromkeys(GATES, ("input_size", "hidden_size", "num_layers", "bias")),
}
"""The arguments of each module in the order of its positions."""


def count(name: str, positional: Sequence[object], keywords: Stated) -> int | None:
    """Return the parameters of a module of torch.nn; None if it is not listed or a size is not known.

    >>> count("Linear", (1024, 4096), {}), count("Linear", (1024, 4096), {"bias": False})
    (4198400, 4194304)
    >>> count("TransformerEncoderLayer", (512, 8), {})
    3152384
    >>> count("Conv2d", (3, 64), {"kernel_size": 7, "bias": False}), count("ReLU", (), {}), count("Strange", (), {})
    (9408, 0, None)
    """
    if WITHOUT.fullmatch(name):
        return 0
    counted = _COUNTERS.get(name)
    if counted is None:
        return None
    try:
        return counted(name, {**dict(zip(NAMES[name], positional, strict=False)), **keywords})
    except (KeyError, TypeError, ValueError):
        return None


def _whole(stated: Stated, name: str, default: int | None = None) -> int:
    value = stated[name] if default is None else stated.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < 2**31:
        raise ValueError(name)
    return value


def _is_on(stated: Stated, name: str) -> bool:
    value = stated.get(name, True)
    if not isinstance(value, bool):
        raise TypeError(name)
    return value


def _product(value: object, dimensions: int = 1) -> int:
    """Return the elements of a shape; one number is every side of it."""
    sides = value if isinstance(value, Sequence) and not isinstance(value, str) else [value] * dimensions
    return math.prod(_whole({"side": side}, "side") for side in sides)


def _linear(name: str, stated: Stated) -> int:
    inputs, outputs = _whole(stated, "in_features"), _whole(stated, "out_features")
    return inputs * outputs + (outputs if _is_on(stated, "bias") else 0)


def _embedding(name: str, stated: Stated) -> int:
    return _whole(stated, "num_embeddings") * _whole(stated, "embedding_dim")


def _norm(name: str, stated: Stated) -> int:
    if not _is_on(stated, "elementwise_affine"):
        return 0
    vectors = 2 if name == "LayerNorm" and _is_on(stated, "bias") else 1
    return vectors * _product(stated["normalized_shape"])


def _channels(name: str, stated: Stated) -> int:
    size = _whole(stated, "num_channels" if name == "GroupNorm" else "num_features")
    return 2 * size if _is_on(stated, "affine") else 0


def _convolution(name: str, stated: Stated) -> int:
    inputs, outputs = _whole(stated, "in_channels"), _whole(stated, "out_channels")
    kernel = _product(stated["kernel_size"], int(name[-2]))
    return inputs * outputs // _whole(stated, "groups", 1) * kernel + (outputs if _is_on(stated, "bias") else 0)


def _attention(name: str, stated: Stated) -> int:
    size = _whole(stated, "embed_dim")
    return 4 * size * size + (4 * size if _is_on(stated, "bias") else 0)


def _transformer_layer(name: str, stated: Stated) -> int:
    size, inner = _whole(stated, "d_model"), _whole(stated, "dim_feedforward", FEED_FORWARD)
    attentions = 2 if name == "TransformerDecoderLayer" else 1
    return attentions * (4 * size * size + 6 * size) + 2 * size * inner + inner + 3 * size


def _transformer(name: str, stated: Stated) -> int:
    sized = {"d_model": stated.get("d_model", 512), "dim_feedforward": stated.get("dim_feedforward", FEED_FORWARD)}
    encoders, decoders = _whole(stated, "num_encoder_layers", 6), _whole(stated, "num_decoder_layers", 6)
    found = encoders * _transformer_layer("TransformerEncoderLayer", sized)
    found += decoders * _transformer_layer("TransformerDecoderLayer", sized)
    return found + 4 * _whole(sized, "d_model")


def _recurrent(name: str, stated: Stated) -> int:
    inputs, hidden, depth = (
        _whole(stated, "input_size"),
        _whole(stated, "hidden_size"),
        _whole(stated, "num_layers", 1),
    )
    ways = 2 if stated.get("bidirectional") is True else 1
    biases = 2 * hidden if _is_on(stated, "bias") else 0
    first = hidden * (inputs + hidden) + biases
    others = hidden * (ways * hidden + hidden) + biases
    return ways * GATES[name] * (first + (depth - 1) * others)


_COUNTERS: Mapping[str, Callable[[str, Stated], int]] = {
    "Linear": _linear,
    **dict.fromkeys(("Embedding", "EmbeddingBag"), _embedding),
    **dict.fromkeys(("LayerNorm", "RMSNorm"), _norm),
    **dict.fromkeys(("GroupNorm", "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "SyncBatchNorm"), _channels),
    **{name: _convolution for name in NAMES if name.startswith("Conv")},
    "MultiheadAttention": _attention,
    **dict.fromkeys(("TransformerEncoderLayer", "TransformerDecoderLayer"), _transformer_layer),
    "Transformer": _transformer,
    **dict.fromkeys(GATES, _recurrent),
}
