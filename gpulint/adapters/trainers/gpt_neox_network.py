"""The network of a GPT-NeoX run, by its keys.

Source: EleutherAI/gpt-neox ea7aefd8 megatron/model/transformer.py, norms.py, word_embeddings.py, moe.py,
megatron/neox_arguments/neox_args.py (defaults) and megatron/tokenizer/tokenizer.py (padding of the vocabulary).
"""

from __future__ import annotations

from gpulint.adapters.trainers import key_tables
from gpulint.catalog.architecture import stated
from gpulint.catalog.architecture.stated import Network
from gpulint.source.documents import Document
from gpulint.workload import Field, Origin, Unknown

GATED = frozenset({"geglu", "reglu", "bilinear", "swiglu", "glu"})
NORMS = {"layernorm": 2, "te_layernorm": 2, "rmsnorm": 1, "te_rmsnorm": 1, "non_parametric_layernorm": 0}
"""Vectors of a norm; `use_bias_in_norms` reaches none of these classes."""
ATTENTIONS = frozenset({"global", "flash", "local", "sparse_fixed", "sparse_variable", "bigbird", "bslongformer"})
"""Kinds of attention with the matrices of a full one; RWKV, Mamba and gMLP have others."""
MULTIPLE = 128
MISSING = Unknown("the file does not state the whole network", "another object")


def find(document: Document) -> dict[str, Field]:
    """Return the network that a file states; empty if it states none."""
    place = find_key(document, "num_layers") or find_key(document, "hidden_size")
    if place is None:
        return {}
    found = _read(document)
    if isinstance(found, Unknown):
        return {"checkpoint": Field(found, (place,))}
    network, assumption = found
    return {"network": Field(network.render(), (place,), assumption=assumption)}


def _read(document: Document) -> tuple[Network, str] | Unknown:
    layers, hidden, heads = (_whole(document, name) for name in ("num_layers", "hidden_size", "num_attention_heads"))
    if not (layers and hidden and heads) or hidden % heads:
        return MISSING
    norm = NORMS.get(str(_raw(document, "norm") or "layernorm"))
    if norm is None or not list_attention(document) <= ATTENTIONS:
        return Unknown("the network has layers whose parameters are not counted", "own program")
    gated = str(_raw(document, "activation") or "gelu") in GATED
    experts = _whole(document, "moe_num_experts") or 1
    if experts > 1 and (gated or (_whole(document, "moe_expert_interval") or 1) > 1):
        return Unknown("the network has experts whose parameters are not counted", "own program")
    width = _find_width(document, hidden, gated)
    if width is None:
        return Unknown("the two matrices of the MLP do not fit together", "own program")
    vocab, assumption = _find_vocabulary(document)
    if vocab is None:
        return Unknown("the tokenizer is in another file", "another object")
    positions = _whole(document, "max_position_embeddings") or 0
    attention_bias, mlp_bias = (_raw(document, f"use_bias_in_{part}") is not False for part in ("attn_linear", "mlp"))
    return (
        Network(
            "gpt-neox" if _raw(document, "gpt_j_residual") is True else "megatron",
            *(layers, hidden, width, heads, _whole(document, "num_kv_heads") or heads, hidden // heads, vocab),
            gated=gated,
            tied=_raw(document, "no_weight_tying") is not True,
            qkv_bias=attention_bias,
            out_bias=attention_bias,
            mlp_bias=mlp_bias,
            norm_vectors=norm,
            positions=positions if (_raw(document, "pos_emb") or "learned") == "learned" else 0,
            context=positions,
            experts=experts if experts > 1 else 0,
            experts_per_token=(_whole(document, "moe_top_k") or 1) if experts > 1 else 0,
        ),
        assumption,
    )


def _find_width(document: Document, hidden: int, gated: bool) -> int | None:
    """Return the width of the MLP; None if the halves of its first matrix do not suit the second.

    A gated MLP has two thirds of the stated width in its first matrix, and half of that in the second; both are
    rounded up to `mlp_multiple_of`.
    """
    stated_width = _whole(document, "intermediate_size")
    factor = _raw(document, "expansion_factor")
    width = stated_width or stated.multiply(hidden, 4 if factor is None else factor)
    if width is None:
        return None
    multiple = _whole(document, "mlp_multiple_of") or 1
    first, second = (int(width * 2 / 3), int(width * 2 / 3) // 2) if gated else (width, width)
    first = stated.pad_vocabulary(first, 2 * multiple)
    second = stated.pad_vocabulary(second, multiple)
    return second if first == (2 * second if gated else second) else None


def _find_vocabulary(document: Document) -> tuple[int | None, str]:
    """Return the rows of the embedding table, and what was assumed of the tokenizer."""
    multiple = (_whole(document, "make_vocab_size_divisible_by") or MULTIPLE) * (
        _whole(document, "model_parallel_size") or 1
    )
    kind, file = _raw(document, "tokenizer_type"), _raw(document, "vocab_file")
    named = [name for name in (file, kind) if isinstance(name, str)]
    entries, assumption = stated.find_tokenizer(named), ""
    if entries is None and (kind is None or (kind == "HFTokenizer" and file is None)):
        entries = stated.TOKENIZERS["gpt2bpetokenizer" if kind is None else "20b_tokenizer.json"]
        whose = "GPT-2, the default of GPT-NeoX" if kind is None else "GPT-NeoX-20B"
        assumption = f"the tokenizer is that of {whose}, with {entries:,} entries"
    if entries is None:
        shape, gated = _find_shape(document)
        entries = stated.find_smallest_vocabulary(shape, gated, _whole(document, "max_position_embeddings") or 0)
        assumption = f"the tokenizer has {entries or 0:,} entries, the fewest of listed networks of this shape"
    return (stated.pad_vocabulary(entries, multiple) if entries else None), assumption


def _find_shape(document: Document) -> tuple[tuple[int, int, int, int, int], bool]:
    layers, hidden, heads = (
        _whole(document, name) or 0 for name in ("num_layers", "hidden_size", "num_attention_heads")
    )
    gated = str(_raw(document, "activation") or "gelu") in GATED
    width = _find_width(document, hidden, gated) or 0
    return (layers, hidden, width, heads, _whole(document, "num_kv_heads") or heads), gated


def list_attention(document: Document) -> frozenset[str]:
    """Return the kinds of attention in a list such as [[["flash", "global"], 12]]; empty if the file has none."""
    setting = _raw(document, "attention_config")
    kinds: set[str] = set()
    for part in setting if isinstance(setting, list) else ():
        named = part[0] if isinstance(part, list) and part else part
        kinds.update(str(kind) for kind in (named if isinstance(named, list) else [named]))
    return frozenset(kinds)


def _raw(document: Document, name: str) -> object:
    """Return the value of a key, which has `-` or `_`."""
    place = find_key(document, name)
    return None if place is None else document.get(place.path)


def _whole(document: Document, name: str) -> int | None:
    found = key_tables.field(document, (name,), "int")
    return found.value if found is not None and stated.is_size(found.value) else None  # type: ignore[return-value]


def find_key(document: Document, name: str) -> Origin | None:
    """Return the location of a key's value, under either spelling; None if the file does not have it."""
    spellings = (name, name.replace("_", "-"))
    return next((Origin(document, (key,)) for key in spellings if document.node((key,)) is not None), None)
