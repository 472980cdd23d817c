"""Weights: the number of parameters, their bytes, and their distribution over GPUs."""

from __future__ import annotations


def weight_format(
    checkpoint_quantization: str | None, quantization: str | None, weight_dtype: str, checkpoint_dtype: str
) -> str:
    """Number format of the weights in memory.

    The checkpoint's own quantisation, else the one asked for at load, else `--dtype`; `auto` keeps 16 bits and casts a
    float32 checkpoint down.

    Args:
        checkpoint_quantization, quantization, weight_dtype, checkpoint_dtype: as stated.
    Returns:
        a name of the catalog's quantisation table.
    Validity: vLLM and SGLang; the other engines have rules of their own.

    >>> weight_format(None, None, "auto", "float32"), weight_format("fp8", None, "auto", "bfloat16")
    ('float16', 'fp8')

    Source: vLLM, config/model.py, _get_and_verify_dtype; docs/features/quantization; SGLang v0.5.23,
        srt/configs/model_config.py, _get_and_verify_dtype and _verify_quantization.
    """
    if checkpoint_quantization:
        return checkpoint_quantization
    if quantization in _AT_LOAD:
        return _AT_LOAD[quantization]
    if quantization:
        raise LookupError(f"--quantization {quantization} with a checkpoint that is not listed as quantised")
    if weight_dtype == "auto":
        return "float16" if checkpoint_dtype == "float32" else checkpoint_dtype
    return _SHORT.get(weight_dtype, weight_dtype)


_LISTED = ("int8", "int8-bnb", "int8-g128", "int4-bnb", "nf4", "int4-g128", "int4-g64", "int4-g32", "fp8-block")
"""Formats that programs convert to in place or read besides the stated checkpoint, by their names in the catalog."""
_AT_LOAD = {"fp8": "fp8", "bitsandbytes": "int4-bnb", "nf4-double": "nf4", **{name: name for name in _LISTED}}
_SHORT = {"half": "float16", "float": "float32"}


def bytes_per_activation(weight_dtype: str) -> float:
    """Bytes per unquantised value.

    Args:
        weight_dtype: as stated.
    Returns:
        [bytes]

    >>> bytes_per_activation("auto"), bytes_per_activation("float32")
    (2.0, 4.0)

    Source: vLLM, config/model.py, and SGLang v0.5.23, srt/configs/model_config.py: `auto` never keeps float32.
    """
    return 4.0 if weight_dtype in {"float", "float32"} else 2.0


def parameters(named_parameters: float, named_parameter_ratio: float) -> float:
    """Parameters of a model of which only the name is known.

    parameters = named_parameters · named_parameter_ratio

    Args:
        named_parameters: count in the checkpoint's name.
        named_parameter_ratio: true count against the one in the name (fitted).
    Returns:
        [parameters]
    Validity: an assumption; gemma-7b holds 8.54e9, Qwen2.5-7B 7.62e9.

    >>> parameters(7e9, 1.22)
    8540000000.0

    Source: model cards of the named checkpoints.
    """
    return named_parameters * named_parameter_ratio


def embedding_parameters(vocab: int, hidden: int, tied_embeddings: bool) -> int:
    """Parameters of the embedding table and the output head.
    Quantised releases keep them in 16 bits.

    embedding_parameters = vocab · hidden · (1 if tied else 2)

    Args:
        vocab: entries. hidden: width. tied_embeddings: one matrix serves both.
    Returns:
        [parameters]

    >>> embedding_parameters(128256, 4096, False)  # Llama-3.1-8B: 1.05 of its 8.03 billion
    1050673152

    Source: Hugging Face transformers, `tie_word_embeddings`.
    """
    return vocab * hidden * (1 if tied_embeddings else 2)


def expert_parameters(
    experts: int | None,
    moe_layers: int,
    hidden: int,
    moe_intermediate: int | None,
    gated_mlp: bool,
    moe_hidden: int | None,
) -> int:
    """Parameters of all routed experts.

    expert_parameters = experts · moe_layers · (3 if gated else 2) · (moe_hidden, else hidden) · moe_intermediate

    Args:
        experts: routed experts of a layer. moe_layers: layers that have them. hidden, moe_intermediate: widths.
        gated_mlp: three matrices an expert instead of two. moe_hidden: narrower width that experts read; None for hidden.
    Returns:
        [parameters]; 0 for a dense model.

    >>> expert_parameters(8, 32, 4096, 14336, True, None)  # Mixtral-8x7B: 45.1 of its 46.7 billion
    45097156608
    >>> expert_parameters(512, 40, 4096, 2688, False, 1024)  # Nemotron 3 Super: 112.7 of its 120.7 billion
    112742891520

    Source: Jiang et al., Mixtral of Experts, 2024, table 1; NVIDIA, Nemotron 3, 2025 (LatentMoE).
    """
    if not experts or not moe_intermediate:
        return 0
    return experts * moe_layers * (3 if gated_mlp else 2) * (moe_hidden or hidden) * moe_intermediate


def quantised_parameters(
    weight_format: str,
    parameters: float,
    embedding_parameters: int,
    expert_parameters: int,
    encoder_parameters: int,
    unquantised_parameters: int | None,
) -> float:
    """Parameters that a quantised format covers.

    quantised_parameters = expert_parameters for MXFP4, else parameters − unquantised_parameters where those are known,
                           else parameters − embedding_parameters − encoder_parameters

    Args:
        weight_format: in memory. parameters: all. embedding_parameters, expert_parameters: parts of them.
        encoder_parameters: of a vision or audio tower. unquantised_parameters: what the release keeps in 16 bits, else None.
    Returns:
        [parameters]
    Validity: where the release does not say it, it may keep more (Meta's FP8 release its attention); `quantised_excess`
        covers that.

    >>> quantised_parameters("fp8", 8030261248, 1050673152, 0, 0, None)
    6979588096
    >>> quantised_parameters("fp8", 8030261248, 1050673152, 0, 0, 1051205632)  # embeddings and norms, as its config.json says
    6979055616

    Source: OpenAI, gpt-oss model card, 2025 (only the experts are MXFP4); AutoAWQ and llm-compressor defaults.
    """
    if weight_format == "mxfp4":
        return expert_parameters
    kept = embedding_parameters + encoder_parameters if unquantised_parameters is None else unquantised_parameters
    return parameters - kept


def weight_bytes(
    parameters: float,
    quantised_parameters: float,
    expert_parameters: int,
    bytes_per_weight: float,
    bytes_per_activation: float,
    quantised_excess: float,
    stored_bytes: int | None,
    loaded_as_stored: bool,
) -> float:
    """All weights of the model in memory.

    weight_bytes = stored_bytes                                          (quantised, where its files say what they hold)
                 = parameters · b                                                       (one format for all)
                 = min(quantised · b · quantised_excess, experts · b + (quantised − experts) · B)
                   + (parameters − quantised) · B                                       (quantised)

    Args:
        parameters: all. quantised_parameters: those a quantised format covers. expert_parameters: of routed experts.
        bytes_per_weight: b, scales included [bytes]. bytes_per_activation: B, of an unquantised value [bytes].
        quantised_excess: what releases keep in 16 bits beyond embeddings, and layouts' padding (fitted).
        stored_bytes: of the quantised checkpoint's files, else None [bytes]. loaded_as_stored: as they are.
    Returns:
        [bytes]
    Validity: at most everything but the routed experts stays in 16 bits (a bound where they are not all).
        Norms count as quantised (below 0.01 %).

    >>> round(weight_bytes(8030261248, 6979588096, 0, 2, 2, 1.2, None, False) / 2**30, 2)  # vLLM: "Model loading took 14.96 GiB"
    14.96

    Source: vLLM start-up log of Llama-3.1-8B; config.json, `quantization_config.ignore`, of quantised releases.
    """
    if stored_bytes is not None and loaded_as_stored:
        return stored_bytes
    if bytes_per_weight >= bytes_per_activation:
        return parameters * bytes_per_weight
    rest = (parameters - quantised_parameters) * bytes_per_activation
    covered = quantised_parameters * bytes_per_weight * quantised_excess
    dense = quantised_parameters - expert_parameters
    if dense > 0:
        covered = min(covered, expert_parameters * bytes_per_weight + dense * bytes_per_activation)
    return covered + rest


def loaded_as_stored(weight_format: str, checkpoint_quantization: str | None) -> bool:
    """Whether a quantised checkpoint's tensors take the same bytes in memory as in its files.

    loaded_as_stored = the format in memory is the checkpoint's own, and loading neither pads nor unpacks it

    Args:
        weight_format: in memory. checkpoint_quantization: in the files, else None.
    Returns:
        true or false.
    Validity: zero points and group indices of symmetric GPTQ are dropped after loading (below 1 %). MXFP4 is padded, the
        scales of double-quantised NF4 become float32.

    >>> loaded_as_stored("int4-g128", "int4-g128"), loaded_as_stored("mxfp4", "mxfp4"), loaded_as_stored("fp8", None)
    (True, False, False)

    Source: vllm, model_executor/layers/quantization: awq_marlin.py at 0322f29, gptq_marlin.py at 00161ce, mxfp4.py at
        v0.11.0; model_executor/model_loader/bitsandbytes_loader.py, _dequantize_dq.
    """
    return weight_format == checkpoint_quantization and checkpoint_quantization not in _CHANGED_AT_LOAD


_CHANGED_AT_LOAD = {None, "mxfp4", "int4-bnb"}


def weight_bytes_per_gpu(
    weight_bytes: float,
    expert_parameters: int,
    bytes_per_weight: float,
    stage_share: float,
    tensor_parallel: int,
    data_parallel: int,
    cpu_offload_bytes: float,
    pipeline_parallel: int,
    table_bytes: float,
    tied_embeddings: bool,
) -> float:
    """Weights on the fullest GPU.

    weight_bytes_per_gpu = (shared / tp + experts / (tp · dp)) − cpu_offload_bytes                            (one stage)
                         = stage_share · ((shared − tables) / tp + experts / (tp · dp)) + table / tp − cpu_offload_bytes

    Args:
        weight_bytes: of the whole model [bytes]. expert_parameters: of all routed experts.
        bytes_per_weight: of one expert weight [bytes]. stage_share: of the layers on the fullest stage.
        tensor_parallel, data_parallel: ranks. cpu_offload_bytes: kept in host memory for each GPU [bytes].
        pipeline_parallel: stages. table_bytes: of the embedding table or the output head [bytes].
        tied_embeddings: one matrix serves both; then the first and the last stage hold a copy each.
    Returns:
        [bytes]
    Validity: the first or the last stage is the fullest; key and value projections that tensor parallelism beyond the KV
        heads copies are not added (below 1 % of a model with grouped-query attention).

    >>> round(weight_bytes_per_gpu(141107412992, 0, 2, 1.0, 4, 1, 0, 1, 2101346304, False) / 2**30, 2)  # Llama-3.1-70B, 4 ranks
    32.85
    >>> round(weight_bytes_per_gpu(16060522496, 0, 2, 0.25, 1, 1, 0, 4, 1050673152, False) / 2**30, 2)  # 8B, 4 stages: 4.26
    4.23

    Source: vLLM, docs/serving/data_parallel_deployment.md: experts are sharded over tp · dp, the rest is copied for
        each data-parallel rank. 32.85 GiB: aiconfigurator 0.12 for the same layout. Stages: vllm v0.19.0
        model_executor/models/llama.py, embed_tokens on the first and lm_head on the last rank of the pipeline.
    """
    routed = expert_parameters * bytes_per_weight
    spread = routed / (tensor_parallel * data_parallel)
    if pipeline_parallel == 1:
        return max(0.0, (weight_bytes - routed) / tensor_parallel + spread - cpu_offload_bytes)
    tables = table_bytes * (1 if tied_embeddings else 2)
    layers = max(0.0, weight_bytes - routed - tables) / tensor_parallel + spread
    return max(0.0, stage_share * layers + table_bytes / tensor_parallel - cpu_offload_bytes)


def table_bytes(vocab: int, hidden: int, bytes_per_activation: float) -> float:
    """Bytes of the embedding table or of the output head.

    table_bytes = vocab · hidden · B

    Args:
        vocab: entries. hidden: width. bytes_per_activation: B, of an unquantised value [bytes].
    Returns:
        [bytes]
    Validity: quantised releases keep both in 16 bits.

    >>> table_bytes(128256, 4096, 2)  # Llama-3.1-8B: 1.0 GB
    1050673152

    Source: Hugging Face transformers, `embed_tokens` and `lm_head`.
    """
    return vocab * hidden * bytes_per_activation


def stated_size_ratio(stated_parameters: float | None, parameters: float) -> float | None:
    """Parameter count in the workload's own name relative to that of its checkpoint.

    stated_size_ratio = stated_parameters / parameters

    Args:
        stated_parameters: count in the name, else None. parameters: of the checkpoint.
    Returns:
        [ratio]; None where the name states none.

    >>> stated_size_ratio(70e9, 8.03e9) > 8
    True

    Source: definition.
    """
    return None if stated_parameters is None else stated_parameters / parameters


def loaded_bytes_per_gpu(weight_bytes_per_gpu: float, weight_buffer_bytes: float) -> float:
    """Weights and the framework's buffers on one GPU, as engines print it after loading.

    loaded_bytes_per_gpu = weight_bytes_per_gpu + weight_buffer_bytes

    Args:
        weight_bytes_per_gpu: on the fullest GPU [bytes]. weight_buffer_bytes: (fitted) [bytes]
    Returns:
        [bytes]

    >>> loaded_bytes_per_gpu(30.51, 0.08)  # Qwen3-32B on two ranks: "Model loading took 30.59 GiB"
    30.59

    Source: vLLM, v1/worker/gpu_model_runner.py, load_model.
    """
    return weight_bytes_per_gpu + weight_buffer_bytes
