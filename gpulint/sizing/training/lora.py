"""Adapters: the parameters and activations of LoRA, and the frozen base model."""

from __future__ import annotations

from gpulint.catalog.family_traits import has_trait


def adapter_parameters(
    lora_rank: int | None,
    lora_targets: str | None,
    layers: int,
    moe_layers: int,
    hidden: int,
    intermediate: int | None,
    attention_heads: int,
    kv_heads: int,
    head_dim: int,
    gated_mlp: bool,
    experts: int | None,
    moe_intermediate: int | None,
    engine: str | None,
    adapted_experts: float,
    encoder_layers: int,
) -> int:
    """Parameters of all LoRA matrices.

    adapter_parameters = rank · (layers · Σ (d_in + d_out) over the attention's targets + dense layers · Σ over the MLP's
                                 + routed layers · experts · Σ over an expert's, with Megatron all, else adapted_experts of them)
                         beside an encoder twice the attention, and the encoder's layers

    Args:
        lora_rank: rank, None without LoRA. lora_targets: letters of the matrices: q, k, v, o, g (gate), u (up), d (down).
        layers, moe_layers: all, and those whose MLP is routed (without adapters). hidden, intermediate: widths.
        attention_heads, kv_heads, head_dim: shape of the attention. gated_mlp: the MLP has a gate.
        experts, moe_intermediate: of a routed layer. engine: Megatron's experts are linear modules. adapted_experts: 1 where
        those of the trainer's release are, 0 where they are one tensor, which targets of linear modules pass by (fitted).
        encoder_layers: of an encoder to whose output each layer attends too, else 0.
    Returns:
        [parameters]; 0 without LoRA.
    Validity: DoRA's magnitudes (one value a row) are not counted.

    >>> adapter_parameters(16, "qkvogud", 80, 0, 8192, 28672, 64, 8, 128, True, None, None, None, 0, 0)  # Unsloth, Llama-3.3-70B
    207093760
    >>> adapter_parameters(32, "qv", 28, 0, 3072, 8192, 24, 8, 128, True, None, None, None, 0, 0)  # PEFT, Llama-3.2-3B
    9175040
    >>> adapter_parameters(32, "qv", 32, 0, 1280, 5120, 20, 20, 64, False, None, None, None, 0, 32)  # PEFT, whisper-large-v2
    15728640

    Source: Hu et al., LoRA, 2021, section 4.1; Unsloth's Llama-3.3 notebook and PEFT's method comparison print the counts;
        modelscope/ms-swift 3602360a5 swift/megatron/utils/utils.py (grouped linear layers are targets);
        huggingface/transformers v4.51.3 and 5.23.0 models/qwen3_moe (experts as modules, and as one tensor).
    """
    if lora_rank is None:
        return 0
    if lora_targets is None:
        raise LookupError("the target matrices of the adapters are not stated")
    in_attention = _sum_attention_columns(lora_targets, hidden, attention_heads * head_dim, kv_heads * head_dim)
    in_mlp = sum(hidden + (intermediate or 0) for letter in lora_targets if letter in ("gud" if gated_mlp else "ud"))
    expert_columns = (hidden + (moe_intermediate or 0)) * len(set(lora_targets) & set("gud" if gated_mlp else "ud"))
    adapted = 1 if engine == "megatron-lm" else adapted_experts
    routed = round(adapted * moe_layers * (experts or 0) * expert_columns)
    attentions = layers * (2 if encoder_layers else 1) + encoder_layers
    dense = max(0, layers - moe_layers) + encoder_layers
    return lora_rank * (attentions * in_attention + dense * in_mlp + routed)


def _sum_attention_columns(letters: str, hidden: int, wide: int, narrow: int) -> int:
    """Return rows and columns of the attention's target matrices."""
    columns = {"q": hidden + wide, "k": hidden + narrow, "v": hidden + narrow, "o": wide + hidden}
    return sum(columns.get(letter, 0) for letter in letters)


def trainable_parameters(
    parameters: float,
    lora_rank: int | None,
    adapter_parameters: int,
    quantization: str | None,
    trained_tables: int,
    vocab: int,
    hidden: int,
) -> float:
    """Parameters that a run trains.

    trainable_parameters = adapter_parameters + trained_tables · vocab · hidden with LoRA, else parameters

    Args:
        parameters: of the model. lora_rank: None without LoRA. adapter_parameters: of LoRA's matrices.
        quantization: of the base at load, else None: such weights are not trained.
        trained_tables: vocabulary tables that are trained whole besides adapters. vocab, hidden: of one.
    Returns:
        [parameters]
    Validity: copies of tables are counted as wide as adapters are kept.

    >>> trainable_parameters(8030261248, None, 0, None, 0, 128256, 4096)
    8030261248
    >>> trainable_parameters(8030261248, 8, 3407872, None, 2, 128256, 4096)  # modules_to_save: embed_tokens, lm_head
    1054081024

    Source: Hu et al., LoRA, 2021; Dettmers et al., QLoRA, 2023, section 3; huggingface/peft 0.21.2 utils/other.py,
        ModulesToSaveWrapper (a copy beside the frozen module).
    """
    if lora_rank is None and quantization is not None:
        raise LookupError(f"weights in {quantization} cannot be trained directly, and no LoRA rank is stated")
    return parameters if lora_rank is None else adapter_parameters + trained_tables * vocab * hidden


def trained_share(trainable_parameters: float, parameters: float) -> float:
    """Share of the parameters that is trained.

    trained_share = trainable_parameters / parameters

    Args:
        trainable_parameters, parameters: trained, and all.
    Returns:
        [ratio]

    >>> trained_share(4, 16)
    0.25

    Source: definition.
    """
    return trainable_parameters / parameters


def frozen_bytes_per_parameter(
    lora_rank: int | None,
    quantization: str | None,
    checkpoint_quantization: str | None,
    compute_bytes: int,
    embedding_parameters: int,
    encoder_parameters: int,
    parameters: float,
    expert_parameters: int,
    family: str,
    frozen_excess: float,
    engine: str | None,
    unquantised_dtype: str | None,
) -> float:
    """Bytes per frozen base weight, averaged over the model.

    frozen_bytes_per_parameter = (quantised · b · frozen_excess + (parameters − quantised) · compute_bytes) / parameters
                                 4 bytes instead of compute_bytes where the program casts them to 32 bits

    Args:
        lora_rank: None when nothing is frozen. quantization, checkpoint_quantization: of the base, else None.
        compute_bytes: of an unquantised weight [bytes]. parameters: all.
        embedding_parameters, encoder_parameters: of the vocabulary tables and of an encoder, which are not quantised.
        expert_parameters: routed; those of a family that keeps them in one tensor are not quantised at load.
        frozen_excess: what releases keep in 16 bits beyond that (fitted). engine: Unsloth makes gpt-oss' experts linear modules.
        unquantised_dtype: to which a program casts what bitsandbytes does not quantise, else None.
    Returns:
        [bytes]; 0 when every weight is trained.
    Validity: 4-bit NormalFloat keeps one 32-bit scale for 64 weights (one byte with double quantisation); a checkpoint in MXFP4
        is brought to 16 bits, as no kernel trains it (axolotl-ai-cloud/axolotl 067b021c8 examples/gpt-oss).

    >>> frozen_bytes_per_parameter(16, None, None, 2, 0, 0, 8, 0, "llama", 1.0, None, None)
    2.0
    >>> llama = (2, 1050673152, 0, 8030261248, 0, "llama", 1.0, None)  # Llama-3.1-8B
    >>> [round(frozen_bytes_per_parameter(16, "nf4", None, *llama, dtype), 3) for dtype in (None, "float32")]
    [0.751, 1.012]

    Source: Dettmers et al., QLoRA, 2023, section 3; bitsandbytes replaces linear modules only; unslothai/unsloth-zoo ce232d6c
        unsloth_zoo/temporary_patches/gpt_oss.py, GptOssExpertsBnb4bit; huggingface/peft 0.21.2 utils/other.py,
        prepare_model_for_kbit_training: "cast all non INT8 parameters to fp32".
    """
    if lora_rank is None:
        return 0.0
    scheme = quantization or checkpoint_quantization
    if scheme is None or (scheme == "mxfp4" and quantization is None):
        return float(compute_bytes)
    if scheme not in FROZEN:
        raise LookupError(f"the bytes of a base in {scheme} are not listed")
    whole = has_trait(family, "experts_in_one_tensor") and (engine, family) != ("unsloth", "gpt-oss")
    kept = embedding_parameters + encoder_parameters + (expert_parameters if whole else 0)
    casts = unquantised_dtype == "float32" and scheme in FOUR_BITS | {EIGHT_BITS}
    width = 4 if casts else compute_bytes
    return ((parameters - kept) * FROZEN[scheme] * frozen_excess + kept * width) / parameters


FROZEN = {
    "nf4": 0.5 + 4 / 64,
    "nf4-double": 0.5 + 1 / 64 + 4 / (64 * 256),
    "int4-bnb": 0.5 + 1 / 64 + 4 / (64 * 256),
    "int4-g128": 0.5 + 2.5 / 128,
    "fp8-block": 1 + 4 / 128**2,
    **dict.fromkeys(("int8", "int8-bnb", "fp8"), 1.0),
}
"""Bytes of a frozen weight by the format of the base, scales included."""


def adapter_bytes(adapter_dtype: str) -> int:
    """Bytes per adapter weight.

    Args:
        adapter_dtype: number format of the adapters.
    Returns:
        [bytes]

    >>> adapter_bytes("float32")
    4

    Source: huggingface/peft 0.21.2 tuners/tuners_utils.py, cast_adapter_dtype: 16-bit adapters are kept in float32.
    """
    return 4 if adapter_dtype == "float32" else 2


def adapter_inputs(
    lora_rank: int | None,
    lora_targets: str | None,
    family: str,
    gated_mlp: bool,
    sharding: str,
    adapter_bytes: int,
    compute_bytes: int,
    compiled: bool,
    lora_dropout: float,
) -> str:
    """Letters of the matrices whose input adapters keep, each for itself.

    adapter_inputs = the targets; where no cast is needed, one of those with the same input;
                     compiled, without those that are kept anyway; with dropout each by itself

    Args:
        lora_rank: None without LoRA. lora_targets: letters of the matrices. family: of the model; one matrix for
        queries, keys and values has one input. gated_mlp: the MLP has a gate. sharding: FSDP gathers
        adapters in the number format of the computation. adapter_bytes, compute_bytes: of a value [bytes].
        compiled: the attention's output is kept once, the MLP's product computed again.
        lora_dropout: share of an adapter's input that is dropped.
    Returns:
        letters of lora_targets

    >>> adapter_inputs(8, "qv", "llama", True, "none", 4, 2, False, 0)
    'qv'
    >>> adapter_inputs(8, "qv", "llama", True, "none", 2, 2, False, 0)
    'q'

    Source: huggingface/peft 0.21.2 tuners/lora/layer.py, Linear.forward.
    """
    letters = "" if lora_rank is None else (lora_targets or "").replace("g", "g" if gated_mlp else "")
    if has_trait(family, "one_qkv_matrix") and set(letters) & set("qkv"):
        letters = "q" + letters.translate(str.maketrans("", "", "qkv"))
    if _gather_adapters(sharding, adapter_bytes, compute_bytes) > compute_bytes or lora_dropout:
        return letters
    shared = [first for first in ("qkv", "o", "gu", "d") if set(first) & set(letters)]
    return "".join(first[0] for first in shared if not compiled or first not in ("o", "d"))


def adapter_activation_bytes(
    adapter_inputs: str,
    hidden: int,
    intermediate: int | None,
    attention_heads: int,
    head_dim: int,
    adapter_bytes: int,
    compute_bytes: int,
    autocast: bool,
    layers: int,
    moe_layers: int,
    shared_intermediate: int | None,
    sharding: str,
    lora_dropout: float,
) -> float:
    """Bytes per token and layer that adapters keep.
    They keep their inputs, cast to their own number format if it differs.

    adapter_activation_bytes = adapter_bytes · Σ d_in over adapter_inputs, in compute_bytes where autocast casts them back;
                               with dropout a mask of one byte a value

    Args:
        adapter_inputs: letters of the matrices whose input is kept. hidden, intermediate: widths.
        attention_heads, head_dim: input of the output projection. adapter_bytes, compute_bytes: of a value [bytes].
        autocast: matrix products run in the number format of the computation. layers, moe_layers: all, and routed;
        shared_intermediate: of experts that every token visits; routed ones carry no adapters. sharding: FSDP gathers
        adapters in the number format of the computation. lora_dropout: share of an adapter's input that is dropped.
    Returns:
        [bytes]

    >>> adapter_activation_bytes("qv", 4096, 11008, 32, 128, 4, 2, False, 32, 0, None, "none", 0)
    32768.0
    >>> adapter_activation_bytes("qv", 4096, 11008, 32, 128, 4, 2, False, 32, 0, None, "none", 0.05)
    40960.0

    Source: huggingface/peft 0.21.2 tuners/lora/layer.py, Linear.forward: `_cast_input_dtype` to the adapter's type,
        lora_A(dropout(x)).
    """
    kept = _gather_adapters(sharding, adapter_bytes, compute_bytes)
    width = (min(kept, compute_bytes) if autocast else kept) + (1 if lora_dropout else 0)
    dense = (layers - moe_layers) / layers
    inner = {
        **dict.fromkeys("gu", (dense if not shared_intermediate else 1) * hidden),
        "o": attention_heads * head_dim,
        "d": dense * (intermediate or 0) + (1 - dense) * (shared_intermediate or 0),
    }
    return float(width * sum(inner.get(letter, hidden) for letter in adapter_inputs))


def _gather_adapters(sharding: str, adapter_bytes: int, compute_bytes: int) -> int:
    """Return the bytes of an adapter's value in the computation."""
    return min(adapter_bytes, compute_bytes) if sharding == "fsdp" else adapter_bytes


def quantised_input_bytes(
    quantization: str | None,
    quantised_inputs: float,
    hidden: int,
    intermediate: int | None,
    attention_heads: int,
    head_dim: int,
    compute_bytes: int,
) -> float:
    """Bytes per token and layer that 4-bit and 8-bit matrices keep.
    They keep their inputs, which a frozen 16-bit matrix does not need.

    quantised_input_bytes = quantised_inputs · compute_bytes · (2 · hidden + heads · head_dim + intermediate)
                            0 without bitsandbytes; in 8 bits all releases keep them (quantised_inputs = 1)

    Args:
        quantization: of the base at load, else None. quantised_inputs: 1 where bitsandbytes keeps inputs, else 0 (fitted).
        hidden, intermediate, attention_heads, head_dim: shape of a layer. compute_bytes: of a value [bytes].
    Returns:
        [bytes]

    >>> quantised_input_bytes("nf4", 1, 4096, 11008, 32, 128, 2)
    46592.0
    >>> quantised_input_bytes("int8-bnb", 0, 4096, 11008, 32, 128, 2)
    46592.0

    Source: bitsandbytes, autograd/_functions.py, MatMul4Bit.forward: early releases save the input, 95f9af30 does not;
        MatMul8bitLt.forward saves it (ctx.tensors), and no quantised copy for a frozen weight.
    """
    if quantization not in FOUR_BITS | {EIGHT_BITS}:
        return 0.0
    kept = 1 if quantization == EIGHT_BITS else quantised_inputs
    return float(kept * compute_bytes * (2 * hidden + attention_heads * head_dim + (intermediate or 0)))


FOUR_BITS = frozenset({"nf4", "nf4-double", "int4-bnb"})
EIGHT_BITS = "int8-bnb"
