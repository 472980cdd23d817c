"""Keys that a trainer's configuration leaves to a default: offered on a line of their own where the mapping is sure, else not."""

from __future__ import annotations

import pytest
import samples

from gpulint import adapters
from gpulint.source import documents
from gpulint.suggestions.edits import insertions
from gpulint.workload import Role

AXOLOTL = """\
# gpulint: gpus=1 accelerator=l4
base_model: meta-llama/Llama-3.2-3B
datasets:
  - path: data.jsonl
    type: alpaca
sequence_len: 2048
num_epochs: 1
optimizer: adamw_torch
attn_implementation: flash_attention_2
bf16: true
adapter: lora
lora_r: 16
lora_target_linear: true
micro_batch_size: 8
"""
NEMO = """\
trainer:
  devices: 8
  num_nodes: 8
model:
  micro_batch_size: 1
  pipeline_model_parallel_size: 8
"""


def role(path: str, text: str) -> Role:
    (document,) = documents.load(path, text.encode()).documents
    adapter = adapters.find_adapter(document)
    assert adapter is not None
    (workload,) = adapters.workloads(adapter, document, samples.ExampleRepository({path: text.encode()}))
    return workload.roles[0]


def test_a_run_that_states_neither_accumulation_nor_recomputation_is_cured_by_both() -> None:
    (finding,) = samples.of_rule(samples.report(AXOLOTL), "training-does-not-fit")
    cure = next(
        one for one in finding.suggestions if any(edit.quantity == "activation_checkpointing" for edit in one.edits)
    )
    assert [edit.new for edit in cure.edits if not edit.old] == [
        "gradient_checkpointing: true",
        "gradient_accumulation_steps: 4",
    ]
    after = samples.report(samples.changed(AXOLOTL, cure))
    assert after.failures == ()
    assert samples.of_rule(after, "training-does-not-fit") == []


def test_a_key_stands_beside_one_of_its_own_mapping() -> None:
    edit = insertions.insert_key(role("nemo.yaml", NEMO), "virtual_stages", "4")
    assert edit is not None and edit.location is not None
    assert edit.new == "virtual_pipeline_model_parallel_size: 4"
    assert edit.location.text.startswith("  ")


@pytest.mark.parametrize(
    ("path", "text", "name", "value"),
    [
        ("nemo.yaml", NEMO.partition("model:")[0] + "model: {micro_batch_size: 1}\n", "virtual_stages", "4"),
        ("nemo.yaml", NEMO + "  virtual_pipeline_model_parallel_size: null\n", "virtual_stages", "4"),
        ("nemo.yaml", NEMO, "activation_checkpointing", "products"),
        ("nemo.yaml", NEMO, "optimizer", "adamw-8bit"),
        ("axolotl.yaml", AXOLOTL, "virtual_stages", "4"),
        (
            "ds.json",
            '{"train_micro_batch_size_per_gpu": 2, "zero_optimization": {"stage": 2}}',
            "global_batch_size",
            "8",
        ),
    ],
)
def test_a_key_is_not_guessed(path: str, text: str, name: str, value: str) -> None:
    """No mapping to put it in, a key that stands already, a word that the file has none for, no such key, and JSON."""
    assert insertions.insert_key(role(path, text), name, value) is None


def test_a_mapping_in_braces_is_left_alone() -> None:
    braces = "trainer: {devices: 8, num_nodes: 8}\nmodel: {micro_batch_size: 1, pipeline_model_parallel_size: 8}\n"
    assert insertions.insert_key(role("nemo.yaml", braces), "virtual_stages", "4") is None
