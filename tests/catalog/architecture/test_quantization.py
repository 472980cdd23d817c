"""What quantised releases hold, against the totals that the hub prints of their files.

The hub counts elements, packed 4-bit values two to a byte or one by one, and the scales of some formats. So a total says
how many weights are quantised: the number of scales, or the elements that packing saves.
"""

import csv

import pytest
from folders import DATA

from gpulint.catalog import architecture
from gpulint.catalog import tables as catalog_tables
from gpulint.catalog.architecture import Architecture
from gpulint.sizing.memory import weights

with (DATA / "quantised_totals.csv").open(encoding="utf-8", newline="") as handle:
    RELEASES = {row["checkpoint"]: row for row in csv.DictReader(handle)}
ELEMENTS = {
    "halves": -1 / 2,
    "halves and scales": -1 / 2 + 1 / 16,
    "scales of blocks": 1 / 128**2,
    "scales of groups": 1 / 128,
}
"""How many more elements a file has for each weight that is quantised, by what it counts."""
HEAD = " and the tied head"
WITHIN = 0.01


def known(checkpoint: str) -> Architecture:
    found = architecture.resolve(checkpoint).architecture
    assert found is not None
    return found


def quantised(shape: Architecture) -> float:
    tables = weights.embedding_parameters(shape.vocab, shape.hidden, shape.tied_embeddings)
    experts = weights.expert_parameters(
        shape.experts,
        shape.moe_layers or 0,
        shape.hidden,
        shape.moe_intermediate,
        shape.gated_mlp,
        shape.moe_hidden,
    )
    return weights.quantised_parameters(
        shape.checkpoint_quantization,
        shape.parameters,
        tables,
        experts,
        shape.encoder_parameters or 0,
        shape.unquantised_parameters,
    )


def more(checkpoint: str) -> int:
    """Elements of the release beyond the network's parameters and the tied head stored a second time."""
    shape, row = known(checkpoint), RELEASES[checkpoint]
    twice = shape.vocab * shape.hidden if row["counted"].endswith(HEAD) else 0
    return int(row["total"]) - shape.parameters - twice


@pytest.mark.parametrize("checkpoint", [name for name, row in RELEASES.items() if "channels" not in row["counted"]])
def test_the_bytes_of_a_release_are_those_that_its_total_means(checkpoint: str) -> None:
    shape = known(checkpoint)
    row = catalog_tables.index_rows("quantization", "quantization")[shape.checkpoint_quantization]
    size, all_ = float(row["bytes_per_weight"]), shape.parameters
    counted = more(checkpoint) / ELEMENTS[RELEASES[checkpoint]["counted"].removesuffix(HEAD)]
    ours = quantised(shape)
    assert ours * size + 2 * (all_ - ours) == pytest.approx(counted * size + 2 * (all_ - counted), rel=WITHIN)


@pytest.mark.parametrize("checkpoint", [name for name, row in RELEASES.items() if "channels" in row["counted"]])
def test_every_matrix_of_the_layers_and_no_other_has_a_scale_an_output_channel(checkpoint: str) -> None:
    """Query, key, value, output, gate, up and down: all are quantised; the head, tables and towers are not."""
    shape = known(checkpoint)
    attention = (shape.attention_heads + 2 * shape.kv_heads) * shape.head_dim + shape.hidden
    assert more(checkpoint) == shape.layers * (attention + 2 * shape.intermediate + shape.hidden)


def test_more_than_thirty_releases_of_each_size_are_compared() -> None:
    assert len(RELEASES) > 2 * 30
