"""Optimizers: the bytes that training keeps per parameter, by number format and algorithm."""

from __future__ import annotations


def parameter_bytes(parameter_dtype: str, loaded_parameter_bytes: int) -> int:
    """Bytes per trained weight as it is kept.

    parameter_bytes = width of parameter_dtype; loaded_parameter_bytes where weights stay as a release loads them

    Args:
        parameter_dtype: number format of the trained weights. loaded_parameter_bytes: by release (fitted) [bytes].
    Returns:
        [bytes]

    >>> parameter_bytes("float32", 4), parameter_bytes("bfloat16", 4), parameter_bytes("as-loaded", 4)
    (4, 2, 4)

    Source: IEEE 754-2019; Intel BFLOAT16 hardware numerics definition, 2018.
    """
    return loaded_parameter_bytes if parameter_dtype == "as-loaded" else _width(parameter_dtype)


def compute_bytes(training_dtype: str | None) -> int:
    """Bytes per activation value.

    compute_bytes = width of training_dtype; 2 for the 8- and 4-bit formats of matrix products

    Args:
        training_dtype: number format that the run computes in.
    Returns:
        [bytes]
    Validity: FP8 and NVFP4 recipes keep their activations in 16 bits outside the matrix products.

    >>> compute_bytes("bfloat16"), compute_bytes("float32"), compute_bytes("fp8")
    (2, 4, 2)

    Source: Micikevicius et al., Mixed Precision Training, 2018; NVIDIA Transformer Engine, fp8_autocast.
    """
    if training_dtype is None:
        raise LookupError("the number format that the run computes in is not stated")
    return 2 if training_dtype in ("fp8", "nvfp4", "mxfp8") else _width(training_dtype)


def gradient_bytes_per_parameter(gradient_dtype: str | None, parameter_bytes: int, optimizer: str) -> int:
    """Bytes per gradient value.

    gradient_bytes_per_parameter = width of gradient_dtype, else parameter_bytes; 0 where the optimizer runs in the backward pass

    Args:
        gradient_dtype: as stated, else None. parameter_bytes: of one weight [bytes]. optimizer: its name.
    Returns:
        [bytes]

    >>> gradient_bytes_per_parameter(None, 2, "adamw"), gradient_bytes_per_parameter("float32", 2, "adamw")
    (2, 4)
    >>> gradient_bytes_per_parameter(None, 2, "adamw-in-backward"), gradient_bytes_per_parameter("bfloat16+float32", 2, "adam")
    (0, 6)

    Source: PyTorch, a leaf's `.grad` has its type; pytorch/torchtune bd2a0fc7c torchtune/modules/optim.py,
        OptimizerInBackward; deepspeedai/DeepSpeed runtime/bf16_optimizer.py (fp32_groups_gradients);
        NVIDIA Megatron-LM, --accumulate-allreduce-grads-in-fp32.
    """
    if optimizer.endswith(IN_BACKWARD):
        return 0
    if gradient_dtype == BOTH:
        return 6
    return _width(gradient_dtype) if gradient_dtype else parameter_bytes


def reduced_bytes_per_parameter(
    reduction_dtype: str | None, gradient_bytes_per_parameter: int, compute_bytes: int
) -> int:
    """Bytes per gradient value as FSDP reduces it.

    reduced_bytes_per_parameter = width of reduction_dtype, compute_bytes for 8- and 4-bit formats, else as it is kept

    Args:
        reduction_dtype: as stated, else None. gradient_bytes_per_parameter: of one that is kept [bytes].
        compute_bytes: of an activation [bytes].
    Returns:
        [bytes]

    >>> reduced_bytes_per_parameter("bfloat16", 4, 2), reduced_bytes_per_parameter(None, 4, 2)
    (2, 4)

    Source: PyTorch documentation, torch.distributed.fsdp.MixedPrecisionPolicy, reduce_dtype.
    """
    if reduction_dtype is None or gradient_bytes_per_parameter == 0:
        return gradient_bytes_per_parameter
    return WIDTHS.get(reduction_dtype, compute_bytes)


def optimizer_bytes_per_parameter(
    optimizer: str, parameter_bytes: int, master_weights: bool, moment_dtype: str | None
) -> float:
    """Bytes of optimizer state per trained weight, including a 32-bit master weight.

    optimizer_bytes_per_parameter = moments · width + (4 if master), width = of moment_dtype, else 4 with a master copy, else
                                    parameter_bytes; 2 of a master copy besides 16-bit moments, whose upper half is the weight

    Args:
        optimizer: its name. parameter_bytes: of one weight [bytes]. master_weights: the optimizer keeps a 32-bit copy.
        moment_dtype: number format of the moments as stated, else None.
    Returns:
        [bytes]
    Validity: Adafactor's factored moments (a row and a column of each matrix) are below 0.1 % and count as nothing; Muon
        keeps one moment for matrices, Adam's second for embeddings and norms is not counted.

    >>> optimizer_bytes_per_parameter("adamw", 2, True, None), optimizer_bytes_per_parameter("adamw", 4, False, None)
    (12, 8)
    >>> optimizer_bytes_per_parameter("adamw", 2, False, None), optimizer_bytes_per_parameter("sgd", 4, False, None)
    (4, 0)
    >>> optimizer_bytes_per_parameter("adamw-8bit", 2, False, None)  # two moments, one 32-bit scale for each block of 256
    2.03125
    >>> optimizer_bytes_per_parameter("paged-adamw-8bit", 2, False, None)
    0
    >>> optimizer_bytes_per_parameter("adam-fused", 2, True, "bfloat16")  # Megatron's precision-aware optimizer
    6

    Validity: paged moments lie in managed memory, which the driver moves to the host when the GPU is full.

    Source: Rajbhandari et al., ZeRO, 2020, section 3.1 (12 bytes with the master copy); Dettmers et al., 8-bit Optimizers via
        Block-wise Quantization, 2022; bitsandbytes 0.44 optim/optimizer.py, blocksize 256; EleutherAI cookbook,
        calc_transformer_mem.py (SGD, Lion, Muon); Shazeer and Stern, Adafactor, 2018; bitsandbytes 95f9af30 functional.py,
        get_paged (cudaMallocManaged, outside PyTorch's allocator); NVIDIA/Megatron-LM d98e8a64
        core/optimizer/optimizer_config.py, use_precision_aware_optimizer, exp_avg_dtype, store_param_remainders.
    """
    name = optimizer.removesuffix(IN_BACKWARD)
    master = 4 if master_weights else 0
    if name.startswith(PAGED):
        return master
    if name in EIGHT_BIT:
        return EIGHT_BIT[name] * (1 + 4 / BLOCK) + master
    if name not in MOMENTS:
        raise LookupError(f"the optimizer {optimizer} is not listed")
    if moment_dtype is not None:
        return MOMENTS[name] * _width(moment_dtype) + (master // 2 if _width(moment_dtype) == 2 else master)
    return MOMENTS[name] * (4 if master_weights else parameter_bytes) + master


def step_bytes_per_parameter(
    optimizer: str, parameter_bytes: int, master_weights: bool, foreach_copies: float
) -> float:
    """Bytes per weight that the optimizer step needs beyond its state.

    step_bytes_per_parameter = foreach_copies · parameter_bytes where many tensors are updated in one operation (foreach), else 0

    Args:
        optimizer: its name; `-fused` runs in one kernel. parameter_bytes: of one weight [bytes].
        master_weights: the optimizer keeps a 32-bit copy. foreach_copies: lists of temporaries at once (fitted).
    Returns:
        [bytes]
    Validity: optimizers with a master copy work in groups of a bounded size and are not counted.

    >>> step_bytes_per_parameter("adamw", 2, False, 1), step_bytes_per_parameter("adamw-fused", 2, False, 1)
    (2, 0)

    Source: PyTorch 2.15.0, torch/optim/adam.py, _multi_tensor_adam: one list of temporaries as large as the
        parameters; traced; 2.0 (torch/optim/adamw.py) makes a second one for the denominator.
    """
    return foreach_copies * parameter_bytes if optimizer in FOREACH and not master_weights else 0


IN_BACKWARD = "-in-backward"
PAGED = "paged-"
BOTH = "bfloat16+float32"
"""Gradients in 16 bits as they are made, and their sum in 32 bits besides them."""
BLOCK = 256
EIGHT_BIT = {"adam-8bit": 2, "adamw-8bit": 2, "lion-8bit": 1, "sgd-8bit": 1}
"""Optimizers with 8-bit moments, and how many."""
MOMENTS = {
    **dict.fromkeys(("adam", "adamw", "adam-fused", "adamw-fused", "adam-single", "adamw-single"), 2),
    **dict.fromkeys(("lion", "muon", "sgd-momentum", "adagrad", "rmsprop"), 1),
    **dict.fromkeys(("sgd", "adafactor"), 0),
}
"""Optimizers with moments as wide as what they update, and how many."""
FOREACH = frozenset({"adam", "adamw"})
WIDTHS = {"float32": 4, "float16": 2, "bfloat16": 2, "bfloat16-or-float16": 2}


def _width(dtype: str) -> int:
    if dtype not in WIDTHS:
        raise LookupError(f"{dtype} is not a number format for trained weights")
    return WIDTHS[dtype]
