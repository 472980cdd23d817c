"""Networks that the settings of trainers state: every parameter is counted, against published totals."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpulint.catalog.architecture import stated
from gpulint.catalog.architecture.stated import Network


def _llama(*sizes: int) -> Network:
    """Return a network with Llama's blocks: a gated MLP, RMSNorm and no biases."""
    plain = Network("megatron", *sizes, gated=True, tied=False, norm_vectors=1)
    return replace(plain, qkv_bias=False, out_bias=False, mlp_bias=False)


PUBLISHED = {
    "GPT-NeoX-20B": (Network("gpt-neox", 44, 6144, 24576, 64, 64, 96, 50432, tied=False), 20_554_567_680),
    "Pythia 70M": (Network("gpt-neox", 6, 512, 2048, 8, 8, 64, 50304, tied=False), 70_426_624),
    "Pythia 1.4B": (Network("gpt-neox", 24, 2048, 8192, 16, 16, 128, 50304, tied=False), 1_414_647_808),
    "Pythia 6.9B": (Network("gpt-neox", 32, 4096, 16384, 32, 32, 128, 50432, tied=False), 6_857_302_016),
    "Pythia 12B": (Network("gpt-neox", 36, 5120, 20480, 40, 40, 128, 50688, tied=False), 11_846_072_320),
    "GPT-2 XL": (Network("megatron", 48, 1600, 6400, 25, 25, 64, 50257, positions=1024), 1_557_611_200),
    "GPT-3 175B of Megatron": (
        Network("megatron", 96, 12288, 49152, 96, 96, 128, 51200, positions=2048),
        174_615_846_912,
    ),
    "LLaMA 7B": (_llama(32, 4096, 11008, 32, 32, 128, 32000), 6_738_415_616),
    "Llama 2 70B": (_llama(80, 8192, 28672, 64, 8, 128, 32000), 68_976_648_192),
    "Llama 3 8B": (_llama(32, 4096, 14336, 32, 8, 128, 128256), 8_030_261_248),
    "Mixtral 8x7B": (
        replace(_llama(32, 4096, 14336, 32, 8, 128, 32000), experts=8, experts_per_token=2),
        46_702_792_704,
    ),
    "Falcon 7B": (
        replace(_llama(32, 4544, 18176, 71, 1, 64, 65024), gated=False, tied=True, norm_vectors=2, norms=1),
        6_921_720_704,
    ),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_parameters_of_a_stated_network_are_those_that_were_published(name: str) -> None:
    network, total = PUBLISHED[name]
    assert stated.build(network).parameters == total


def test_one_token_passes_through_its_experts_only() -> None:
    network, _ = PUBLISHED["Mixtral 8x7B"]
    assert stated.build(network).active_parameters == 12_879_925_248


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_network_is_the_same_after_it_was_a_field_of_a_role(name: str) -> None:
    network, _ = PUBLISHED[name]
    assert stated.parse(network.render()) == network


@pytest.mark.parametrize("size", ["layers", "hidden", "heads", "kv_heads", "vocab", "head_dim"])
@pytest.mark.parametrize("value", [0, -1])
def test_a_network_without_a_size_is_none(size: str, value: int) -> None:
    network, _ = PUBLISHED["LLaMA 7B"]
    assert stated.parse(replace(network, **{size: value}).render()) is None


@pytest.mark.parametrize(
    ("shape", "context", "vocab"),
    [
        ((32, 4096, 11008, 32, 32), 4096, 32000),
        ((32, 4096, 14336, 32, 8), 8192, 128256),
        ((32, 4096, 14336, 32, 8), 32768, 32000),
        ((33, 4096, 14336, 32, 8), 8192, None),
    ],
)
def test_listed_networks_of_a_shape_tell_the_vocabulary(
    shape: tuple[int, int, int, int, int], context: int, vocab: int | None
) -> None:
    assert stated.find_smallest_vocabulary(shape, True, context) == vocab
