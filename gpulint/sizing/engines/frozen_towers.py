"""Trainers whose full fine-tuning leaves the vision and audio towers frozen: LLaMA-Factory and ms-swift."""

from __future__ import annotations


def trainable_parameters(
    parameters: float, encoder_parameters: int, lora_rank: int | None, adapter_parameters: int, quantization: str | None
) -> float:
    """Parameters that a run trains. The vision and audio towers stay frozen.

    trainable_parameters = adapter_parameters with LoRA, else parameters − encoder_parameters

    Args:
        parameters, encoder_parameters: of the model, and of its towers. lora_rank: None without LoRA.
        adapter_parameters: of LoRA's matrices. quantization: of the base at load, else None: such weights are not trained.
    Returns:
        [parameters]
    Validity: freeze_vision_tower (LLaMA-Factory) and freeze_vit (ms-swift) may be switched off; the tower's own weights
        are then counted too low.

    >>> trainable_parameters(8292166656, 675750912, None, 0, None)
    7616415744

    Source: hiyouga/LLaMA-Factory ff6d4d12 src/llamafactory/hparams/finetuning_args.py, freeze_vision_tower (on);
        modelscope/ms-swift 3602360a5 swift/arguments/tuner_args.py, freeze_vit and freeze_aligner (on).
    """
    if lora_rank is not None:
        return adapter_parameters
    if quantization is not None:
        raise LookupError(f"weights in {quantization} cannot be trained directly, and no LoRA rank is stated")
    return parameters - encoder_parameters
