"""What an encoder beside a decoder keeps in training, against tensors counted one by one in a trace."""

from __future__ import annotations

import pytest
import samples

from gpulint.sizing.training import activations, encoder

POSITIONS = 4 * 1500  # four samples of 30 s of sound
WIDE, INNER = 1280, 5120  # whisper-large-v2
ADAPTERS = 2 * 2 * WIDE + 2 * WIDE  # inputs of q and v in 16 bits, and the masks of their dropout


def test_a_layer_of_an_encoder_keeps_what_its_trace_shows() -> None:
    """Two 32-bit inputs of norms; queries, keys, values and output; the GELU's input; the inputs of two adapters; masks.

    torch 2.15.0, transformers 5.23.0 and peft 0.21.2 under fake tensors, autocast in bfloat16.
    """
    norms, attention = 2 * 4 * WIDE, 4 * 2 * WIDE + 4 * 20
    kept = encoder.encoder_layer_bytes(
        32, POSITIONS, norms, encoder.encoder_attention_bytes(32, 1500, "whisper", 20, 20, 64, 2, None, "eager", 0), 2 * INNER,
        ADAPTERS, 0, 1, False, 1.0,
    )  # fmt: skip
    assert kept == POSITIONS * (norms + attention + 2 * INNER + ADAPTERS)


def test_each_layer_of_the_decoder_keeps_keys_and_values_of_all_positions() -> None:
    kept = encoder.cross_attention_bytes(
        32, POSITIONS, 0.0, 10320.0, 0.0, WIDE, 20, 64, 2, 4, 32, "none", "qv", 4, True, 0.05
    )
    assert kept == POSITIONS * (2 * 2 * WIDE + ADAPTERS / 2)


@pytest.mark.parametrize(("trained", "casts"), [(None, 2), (32, 0)])
def test_trained_matrices_keep_casts_of_the_encoders_output(trained: int | None, casts: int) -> None:
    kept = encoder.cross_attention_bytes(
        32, POSITIONS, 0.0, 10320.0, 0.0, WIDE, 20, 64, 2, 4, trained, "none", "", 4, True, 0
    )
    assert kept == POSITIONS * 2 * WIDE * (2 + casts)


def test_a_model_without_an_encoder_keeps_nothing_for_one() -> None:
    assert encoder.encoder_length(0, None, 2048, "llama") is None
    assert encoder.encoder_training_tokens(0, None, 2048, 1, 2048.0) == 0
    assert encoder.cross_attention_bytes(0, 0.0, 2048.0, 0.0, 1.0, 64, 1, 64, 2, 2, None, "none", "", 2, False, 0) == 0
    assert activations.kept_activation_bytes(2.0, 32, 1, 1, 0.0) == 64


@pytest.mark.parametrize(("family", "length"), [("whisper", 1500), ("t5", 256)])
def test_sound_is_padded_and_text_is_as_long_as_its_samples(family: str, length: int) -> None:
    assert encoder.encoder_length(12, 1500 if family == "whisper" else 512, 256, family) == length


PROGRAM = """
from peft import LoraConfig, get_peft_model
from transformers import Seq2SeqTrainer, Seq2SeqTrainingArguments, WhisperForConditionalGeneration
model = WhisperForConditionalGeneration.from_pretrained("openai/whisper-large-v2")
model = get_peft_model(model, LoraConfig(r=32, target_modules=["q_proj", "v_proj"], lora_dropout=0.05))
arguments = Seq2SeqTrainingArguments(output_dir="out", per_device_train_batch_size={batch}, fp16=True)
Seq2SeqTrainer(model=model, args=arguments).train()
"""
JOB = "#!/bin/bash\n#SBATCH --gres=gpu:l40s:1\npython train.py\n"


@pytest.mark.parametrize(("batch", "fits"), [(2, True), (64, False)])
def test_samples_of_sound_decide_whether_whisper_fits(batch: int, fits: bool) -> None:
    """Each sample keeps about 2.2 GiB in 32 layers of 1,500 positions, beside 5.8 GiB of weights in 32 bits."""
    files = {"run.sbatch": JOB.encode(), "train.py": PROGRAM.format(batch=batch).encode()}
    (role,) = samples.roles(samples.report(JOB, "run.sbatch", files=files))
    assert ("not fit" not in role.verdict) is fits
