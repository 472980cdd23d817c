"""Programs that write weights: what their calls save, merge and quantise."""

from __future__ import annotations

import pytest

from gpulint.adapters.weights import programs
from gpulint.source import python
from gpulint.source.documents import Document, Node

TRAINS = """\
from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer, TrainingArguments
from peft import AutoPeftModelForCausalLM, LoraConfig, PeftModel, get_peft_model
model = AutoModelForCausalLM.from_pretrained("acme/own")
"""
GPTQ = """\
from auto_gptq import AutoGPTQForCausalLM, BaseQuantizeConfig
model = AutoGPTQForCausalLM.from_pretrained("acme/own", BaseQuantizeConfig(bits=8, group_size=128))
model.quantize([])
"""
AWQ = """\
from awq import AutoAWQForCausalLM
model = AutoAWQForCausalLM.from_pretrained("acme/own")
model.quantize(None)
"""
UNSLOTH = """\
from unsloth import FastLanguageModel
model, tokenizer = FastLanguageModel.from_pretrained(model_name="acme/own", load_in_4bit=True)
model = FastLanguageModel.get_peft_model(model, r=16)
"""
COMPRESSOR = """\
from llmcompressor import oneshot
from llmcompressor.modifiers.quantization import QuantizationModifier
"""


def read(text: str) -> list[tuple[str, str, str | None, bool]]:
    """Path, reference, format of what a program writes, and whether it is adapters."""
    document = Document("a.py", 0, text, Node("scalar", 0, len(text), text), "python", text)
    evaluated = python.evaluate("a.py", {"a.py": document}.get)
    return [(one.path, one.reference, one.quantization, one.is_adapter) for one in programs.read(evaluated.calls)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (TRAINS + "model.save_pretrained('w')", ("w", "acme/own", None, False)),
        (TRAINS + "get_peft_model(model, LoraConfig()).save_pretrained('w')", ("w", "acme/own", None, True)),
        (
            TRAINS + "PeftModel.from_pretrained(model, 'a').merge_and_unload().save_pretrained('w')",
            ("w", "acme/own", "", False),
        ),
        (
            TRAINS + "AutoPeftModelForCausalLM.from_pretrained('a').merge_and_unload().save_pretrained('w')",
            ("w", "a", "", False),
        ),
        (TRAINS + "Trainer(model, TrainingArguments(output_dir='w'))", ("w", "acme/own", None, False)),
        (TRAINS + "Trainer(model, TrainingArguments('w'), peft_config=LoraConfig())", ("w", "acme/own", None, True)),
        (TRAINS + "AutoTokenizer.from_pretrained('acme/own').save_pretrained('w')", None),
        (GPTQ + "model.save_quantized('w')", ("w", "acme/own", "int8-g128", False)),
        (AWQ + "model.save_quantized('w')", ("w", "acme/own", "int4-g128", False)),
        (UNSLOTH + "model.save_pretrained('w')", ("w", "acme/own", None, True)),
        (
            UNSLOTH + "model.save_pretrained_merged('w', tokenizer, save_method='merged_16bit')",
            ("w", "acme/own", "", False),
        ),
        (
            UNSLOTH + "model.save_pretrained_gguf('w', tokenizer, quantization_method='q4_k_m')",
            ("w", "acme/own", "gguf-q4_k_m", False),
        ),
        (
            COMPRESSOR + "oneshot(model='acme/own', recipe=QuantizationModifier(scheme='FP8_DYNAMIC'), output_dir='w')",
            ("w", "acme/own", "fp8", False),
        ),
    ],
)
def test_a_program_saves_what_it_loaded(text: str, found: tuple[str, str, str | None, bool] | None) -> None:
    assert read(text) == ([found] if found else [])
