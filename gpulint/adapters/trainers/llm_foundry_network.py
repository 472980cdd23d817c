"""The network of a run with LLM-Foundry, by the keys below `model`: an MPT.

Source: mosaicml/llm-foundry 8c8dd48f7 llmfoundry/models/mpt/configuration_mpt.py and llmfoundry/models/utils/config_defaults.py
(defaults), llmfoundry/models/mpt/modeling_mpt.py, llmfoundry/models/layers.
"""

from __future__ import annotations

from gpulint.adapters.trainers import omegaconf
from gpulint.catalog.architecture import stated
from gpulint.catalog.architecture.stated import Network
from gpulint.source.documents import Document
from gpulint.workload import Field, Origin, Unknown

MODEL = "mpt_causal_lm"
VOCABULARY, CONTEXT, RATIO = 50_368, 2_048, 4
NORMS = {"low_precision_layernorm": 2, "layernorm": 2, "low_precision_rmsnorm": 1, "rmsnorm": 1}
GATED = {"mptmlp": False, "mptglu": True}


def find(document: Document) -> dict[str, Field]:
    """Return the network that a file states; empty if it states none that is counted."""
    if document.get(("model", "name")) != MODEL:
        return {}
    network = _read(document)
    return {} if network is None else {"network": Field(network.render(), (Origin(document, ("model", "n_layers")),))}


def _read(document: Document) -> Network | None:
    layers, hidden, heads = (_whole(document, name) for name in ("n_layers", "d_model", "n_heads"))
    norm = NORMS.get(str(_value(document, "norm_type") or "low_precision_layernorm"))
    gated = GATED.get(str(_value(document, "ffn_config", "ffn_type") or "mptmlp"))
    others = (
        ("block_overrides",),
        ("attn_config", "qk_ln"),
        ("attn_config", "qk_gn"),
        ("ffn_config", "ffn_hidden_size"),
    )
    if (
        not (layers and hidden and heads)
        or norm is None
        or gated is None
        or any(_value(document, *one) for one in others)
    ):
        return None
    if hidden % heads or not _are_counts(document):
        return None
    ratio = _value(document, "expansion_ratio")
    width = stated.multiply(hidden, RATIO if ratio is None else ratio)
    if width is None:
        return None
    bias = _value(document, "no_bias") is not True
    queries_bias = _value(document, "attention_bias")
    moves = _value(document, "attn_config", "alibi") is True or _value(document, "attn_config", "rope") is True
    learned = _value(document, "learned_pos_emb") is not False and not moves
    context = _whole(document, "max_seq_len") or CONTEXT
    kind = _value(document, "attn_config", "attn_type")
    kv_heads = 1 if kind == "multiquery_attention" else _whole(document, "attn_config", "kv_n_heads") or heads
    return Network(
        "mpt",
        *(layers, hidden, width, heads, kv_heads),
        *(_whole(document, "head_dim") or hidden // heads, _whole(document, "vocab_size") or VOCABULARY),
        gated=gated,
        tied=_value(document, "tie_word_embeddings") is not False,
        qkv_bias=bias if not isinstance(queries_bias, bool) else queries_bias,
        out_bias=bias,
        mlp_bias=bias,
        norm_vectors=norm if bias else 1,
        positions=context if learned else 0,
        context=context,
    )


def _are_counts(document: Document) -> bool:
    """Return whether each size that the file states could be read."""
    sizes = (("vocab_size",), ("max_seq_len",), ("expansion_ratio",), ("head_dim",), ("attn_config", "kv_n_heads"))
    given = (name for name in sizes if document.get(("model", *name)) is not None)
    return all(_value(document, *name) is not None for name in given)


def _value(document: Document, *name: str) -> object:
    """Return the value of a key below `model`; None if it is missing or cannot be read."""
    path = ("model", *name)
    found = omegaconf.value(document, path) if document.node(path) is not None else None
    return None if isinstance(found, Unknown) else found


def _whole(document: Document, *name: str) -> int | None:
    found = _value(document, *name)
    return found if stated.is_size(found) else None  # type: ignore[return-value]
