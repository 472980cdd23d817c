"""Parameters counted from a shape alone, against the catalog's published counts."""

import statistics
from dataclasses import replace

import pytest

from gpulint.catalog import architecture
from gpulint.catalog.architecture import Architecture, shape

LLAMA = Architecture(
    id="a/b",
    family="",
    layers=32,
    hidden=4096,
    intermediate=14336,
    gated_mlp=True,
    attention_heads=32,
    kv_heads=8,
    head_dim=128,
    vocab=128256,
    tied_embeddings=False,
)


def total(known: Architecture) -> int | None:
    found = shape.count_parameters(known)
    return found.total() if found is not None else None


def test_llama_3_1_8b_is_counted_to_the_parameter() -> None:
    """safetensors.total of meta-llama/Llama-3.1-8B."""
    assert total(LLAMA) == 8030261248


def test_mixtral_8x7b_is_counted_to_the_parameter() -> None:
    """Keras presets: mixtral_8_7b_en."""
    mixtral = replace(LLAMA, vocab=32000, experts=8, moe_layers=32, moe_intermediate=14336)
    assert total(mixtral) == 46702792704


def test_shared_experts_stand_beside_the_routed_ones() -> None:
    """3 x 4096 x 1024 more in each of 32 layers."""
    routed = replace(LLAMA, experts=8, moe_layers=32, moe_intermediate=14336)
    assert (total(replace(routed, shared_intermediate=1024)) or 0) - (total(routed) or 0) == 32 * 3 * 4096 * 1024


@pytest.mark.parametrize(
    "unlike",
    [
        {"kv_lora_rank": 512},
        {"linear_attention_layers": 24},
        {"encoder_layers": 24},
        {"sliding_head_dim": 256},
        {"kv_shared_layers": 10},
        {"layers": None},
        {"vocab": None},
        {"intermediate": None},
        {"experts": 8, "moe_layers": 32},
    ],
    ids=str,
)
def test_what_a_shape_does_not_tell_is_not_counted(unlike: dict[str, int | None]) -> None:
    assert total(replace(LLAMA, **unlike)) is None  # type: ignore[arg-type]


def test_the_networks_of_the_catalog_are_counted_alike_from_their_shape_alone() -> None:
    """Learned positions, biases and audio projectors are what is missing; only small or odd networks feel it."""
    errors = []
    for known in architecture.load_architectures():
        if known.task != "generate" or not known.parameters or (found := total(known)) is None:
            continue
        errors.append(abs((found + (known.encoder_parameters or 0)) / known.parameters - 1))
    assert len(errors) > 300
    assert statistics.median(errors) < 0.0001 and sorted(errors)[int(0.9 * len(errors))] < 0.001
