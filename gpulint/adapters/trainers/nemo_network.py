"""The network of a NeMo run, by the keys below `model`: a GPT, LLaMA or Mixtral of Megatron Core.

Source: NVIDIA/NeMo nemo/collections/nlp/models/language_modeling/megatron_base_model.py (build_transformer_config,
_vocab_size_with_padding) and megatron_gpt_model.py; NVIDIA/Megatron-LM megatron/core/transformer.
"""

from __future__ import annotations

from dataclasses import replace

from gpulint.adapters.trainers import omegaconf
from gpulint.catalog import architecture
from gpulint.catalog.architecture import stated
from gpulint.catalog.architecture.stated import Network
from gpulint.source.documents import Document, Path
from gpulint.workload import Field, Origin, Unknown

POSITIONS = "learned_absolute"
NORMS = {"layernorm": 2, "layernorm1p": 2, "low_precision_layernorm": 2, "rmsnorm": 1}
MULTIPLE = 128
OTHERS = frozenset({"encoder", "decoder", "vision", "text", "mcore_bert", "mm_cfg"})
"""Keys of networks with two stacks, and of BERT."""


class _Settings:
    """The keys below `model`, with references resolved."""

    def __init__(self, document: Document, root: Path) -> None:
        self.document, self.root = document, root

    def place(self, name: str) -> Path:
        return (*self.root, "model", *name.split("."))

    def value(self, name: str) -> object:
        """Return the value of a key; None if it is missing or cannot be read."""
        if self.document.node(self.place(name)) is None:
            return None
        found = omegaconf.value(self.document, self.place(name), self.root)
        return None if isinstance(found, Unknown) else found

    def whole(self, name: str) -> int | None:
        found = self.value(name)
        if isinstance(found, float) and found.is_integer():
            found = int(found)
        return found if stated.is_size(found) else None  # type: ignore[return-value]


def find(document: Document, root: Path = ()) -> dict[str, Field]:
    """Return the network that a file states; empty if it states none that is counted."""
    model = document.get((*root, "model"))
    if not isinstance(model, dict) or "num_layers" not in model or OTHERS & model.keys():
        return {}
    settings = _Settings(document, root)
    network = _read(settings)
    if network is None:
        return {}
    place = Origin(document, settings.place("num_layers"))
    entries, assumption = _find_vocabulary(settings, network)
    if entries is None:
        return {"checkpoint": Field(Unknown("the tokenizer is in another file", "another object"), (place,))}
    multiple = (settings.whole("make_vocab_size_divisible_by") or MULTIPLE) * (
        settings.whole("tensor_model_parallel_size") or 1
    )
    padded = replace(network, vocab=stated.pad_vocabulary(entries, multiple))
    return {"network": Field(padded.render(), (place,), assumption=assumption)}


def _read(settings: _Settings) -> Network | None:
    """Return the network without its vocabulary; None if a size is missing or a part is not counted."""
    layers, hidden, heads = (settings.whole(name) for name in ("num_layers", "hidden_size", "num_attention_heads"))
    norm = NORMS.get(str(settings.value("normalization") or "layernorm").lower())
    if not (layers and hidden and heads and norm is not None):
        return None
    width, head_dim = settings.whole("ffn_hidden_size"), settings.whole("kv_channels") or hidden // heads
    if width is None and settings.document.node(settings.place("ffn_hidden_size")) is not None:
        return None
    block = str(settings.value("transformer_block_type") or "pre_ln")
    experts = settings.whole("num_moe_experts") or 0
    bias = settings.value("bias") is not False
    if block != "pre_ln" or settings.value("multi_latent_attention") is True or (experts and bias):
        return None
    context = settings.whole("max_position_embeddings") or settings.whole("encoder_seq_length") or 0
    return Network(
        "megatron",
        *(layers, hidden, width or 4 * hidden, heads, settings.whole("num_query_groups") or heads, head_dim, 1),
        gated=str(settings.value("activation") or "gelu").endswith("glu"),
        tied=settings.value("share_embeddings_and_output_weights") is not False,
        qkv_bias=bias or settings.value("qkv_bias") is True,
        out_bias=bias,
        mlp_bias=bias,
        norm_vectors=norm,
        norms=1 if _shares_norm(settings) else 2,
        head_norms=settings.value("qk_layernorm") is True,
        positions=context if (settings.value("position_embedding_type") or POSITIONS) == POSITIONS else 0,
        context=context,
        experts=experts,
        experts_per_token=(settings.whole("moe_router_topk") or 2) if experts else 0,
    )


def _shares_norm(settings: _Settings) -> bool:
    """Return whether attention and MLP of a layer read the same norm, as in Falcon 7B.

    Source: NVIDIA/NeMo nemo/collections/nlp/models/language_modeling/megatron/falcon/falcon_decoder_layer.py.
    """
    own = "mcore_customization_config"
    older = settings.value(f"{own}.new_decoder_architecture") is not True
    return older and settings.value(f"{own}.parallel_attention") is True


def _find_vocabulary(settings: _Settings, network: Network) -> tuple[int | None, str]:
    """Return the entries of the tokenizer, and what was assumed of it."""
    for key in ("override_vocab_size", "tokenizer.vocab_size", "vocab_size"):
        if (number := settings.whole(key)) is not None:
            return number, ""
    names = [name for key in ("type", "model") if isinstance(name := settings.value(f"tokenizer.{key}"), str)]
    if (listed := stated.find_tokenizer(names)) is not None:
        return listed, ""
    for name in names:
        known = architecture.resolve(name).architecture if "/" in name else None
        if known is not None and known.vocab:
            return known.vocab, f"the tokenizer has {known.vocab:,} entries, the vocabulary of {name}"
    shape = (network.layers, network.hidden, network.intermediate, network.heads, network.kv_heads)
    fewest = stated.find_smallest_vocabulary(shape, network.gated, network.context)
    if fewest is not None:
        return fewest, f"the tokenizer has {fewest:,} entries, the fewest of listed networks of this shape"
    return None, ""
