"""Storage: sizes and times of checkpoints and of loading against published figures, and what each fitted term does."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from gpulint.catalog import architecture, tables
from gpulint.facts import resolver
from gpulint.facts.model import Facts, Missing
from gpulint.report.model import Scenarios
from gpulint.sizing.interconnect import storage
from gpulint.sizing.training import checkpoint_interval, checkpoint_size
from gpulint.source import documents
from gpulint.workload import Field, Origin, Role, Value

NOWHERE = Origin(documents.load("nowhere.yaml", b"{}").documents[0], ())
PUBLISHED = Path(__file__).parent / "known_answers" / "storage.csv"
MIXED: dict[str, Value] = {
    "parameter_dtype": "bfloat16",
    "master_weights": True,
    "optimizer": "adamw",
    "lora_rank": None,
}
"""Weights in 16 bits with a 32-bit master copy and moments: 14 bytes a parameter."""
TERA, GIGA = 1e12, 1e9


def known(checkpoint: str = "", **stated: Value) -> Facts:
    """The facts of a role, as an adapter would state them."""
    fields = {**stated, **({"checkpoint": checkpoint} if checkpoint else {})}
    role = Role("trainer", NOWHERE, {name: Field(value) for name, value in fields.items()})
    return resolver.resolve(role, architecture.resolve(checkpoint) if checkpoint else None)


def scenarios(found: Facts, name: str) -> Scenarios[float]:
    values = found.scenarios(name)
    assert not isinstance(values, Missing), f"{name} lacks {values}"
    return values  # type: ignore[return-value]


def trained(parameters: float, **stated: Value) -> Facts:
    return known(engine="transformers", trainable_parameters=parameters, **{**MIXED, **stated})


# ---- published sizes of checkpoints

SIZES = [
    # id of tests/known_answers/storage.csv, what is saved, ours against theirs
    ("bloom-size", "resumable", 0.10),
    ("bloom-weights", "weights", 0.10),
    ("megatron21-size", "resumable", 0.05),
    ("mlperf-storage-8b", "resumable", 0.10),
    ("mlperf-storage-70b", "resumable", 0.10),
    ("mlperf-storage-405b", "resumable", 0.10),
]


def published(name: str) -> dict[str, str]:
    with PUBLISHED.open(encoding="utf-8", newline="") as file:
        return next(row for row in csv.DictReader(file) if row["id"] == name)


@pytest.mark.parametrize(("name", "contents", "band"), SIZES, ids=[name for name, _, _ in SIZES])
def test_a_checkpoint_is_as_large_as_published(name: str, contents: str, band: float) -> None:
    row = published(name)
    found = trained(float(row["parameters"]), checkpoint_contents=contents)
    measured = float(row["value"]) * (TERA if row["unit"] == "TB" else GIGA)
    assert scenarios(found, "checkpoint_bytes").expected == pytest.approx(measured, rel=band)


def test_seventy_billion_parameters_with_their_state_are_980_gb() -> None:
    assert scenarios(trained(70e9), "checkpoint_bytes").expected == 980e9


def test_adapters_of_rank_8_on_q_and_v_of_llama_2_7b_are_17_mb() -> None:
    """Hugging Face PEFT, adapter_model.bin of Llama-2-7B with r=8 in 32 bits: 16.8 MB."""
    found = trained(4194304, lora_rank=8, adapter_dtype="float32", checkpoint_contents="weights")
    assert scenarios(found, "checkpoint_bytes").expected == 16777216


def test_a_checkpoint_of_pure_32_bit_training_holds_12_bytes_a_parameter() -> None:
    found = trained(8030261248, parameter_dtype="float32", master_weights=False)
    assert scenarios(found, "checkpoint_bytes").expected / 8030261248 == 12


# ---- published times


def test_a_trillion_parameters_are_written_in_51_s_at_273_gb_per_s() -> None:
    """Narayanan et al., 2021, section 5.10: 13.8 TB, saves reach 40 % of the peak, 273 GB/s."""
    assert checkpoint_size.checkpoint_write_s(13.8e12, 273e9) == pytest.approx(50.5, abs=0.1)


def test_bloom_is_written_in_40_s_at_the_rate_of_its_file_system() -> None:
    row = published("bloom-write")
    assert checkpoint_size.checkpoint_write_s(2.3e12, 57e9) == pytest.approx(float(row["value"]), rel=0.02)


def test_llama_3_met_a_failure_every_three_hours() -> None:
    found = known(engine="megatron-lm", world_size=16384)
    assert scenarios(found, "mean_time_between_failures_s").expected / 3600 == pytest.approx(54 * 24 / 419, rel=0.01)


def test_512_gpus_meet_a_failure_in_99_hours_and_save_best_every_1_8() -> None:
    between = 1 / (512 * 419 / (54 * 24 * 3600 * 16384))
    assert between / 3600 == pytest.approx(99, rel=0.01)
    assert checkpoint_size.checkpoint_optimum_s(60, between) / 3600 == pytest.approx(1.8, abs=0.03)


LOADS = [
    # id, of the volume in bytes/s or None, streamed
    ("runai-8b-gp3-safetensors", 1e9, None),
    ("runai-8b-gp3-streamer", 1e9, "runai_streamer"),
    ("vllm-qwen30-safetensors", None, None),
]


@pytest.mark.parametrize(("name", "volume", "load_format"), LOADS, ids=[name for name, _, _ in LOADS])
def test_a_published_time_of_loading_lies_between_our_scenarios(
    name: str, volume: float | None, load_format: str | None
) -> None:
    row = published(name)
    stated = {"weight_bytes": float(row["parameters"]) * 2, "pods_per_replica": 1, "load_format": load_format}
    more = {"weights_volume": "gp3", "provisioned_bytes_per_s": volume} if volume else {}
    found = scenarios(known(engine="vllm", **stated, **more), "weight_load_s")
    assert found.best * 0.95 <= float(row["value"]) <= found.worst * 1.05


# ---- classes of volumes


@pytest.mark.parametrize("row", tables.rows("volumes"), ids=lambda row: f"{row['name']} {row['parameter']}".strip())
def test_every_class_of_volumes_has_rates_for_both_directions(row: tables.Row) -> None:
    for name, column in (
        ("storage_read_s_per_byte", "weights_volume"),
        ("storage_write_s_per_byte", "checkpoint_volume"),
    ):
        assert not isinstance(known(**{column: row["class"]}).scenarios(name), Missing)


def test_a_volume_nobody_knows_holds_no_engine_up() -> None:
    assert scenarios(known(), "storage_read_s_per_byte") == Scenarios(0, 0, 0)
    assert isinstance(known().scenarios("storage_read_bytes_per_s"), Missing)


def test_what_a_class_is_given_on_purpose_goes_before_what_it_comes_with() -> None:
    found = known(weights_volume="gp3", provisioned_bytes_per_s=500e6)
    assert scenarios(found, "storage_read_bytes_per_s") == Scenarios(500e6, 500e6, 500e6)


# ---- monotone in each fitted term


def test_a_slower_volume_never_loads_sooner() -> None:
    times = [storage.weight_load_s(16e9, 1, 8.3e-10, rate * 1e-9, None, 1.5) for rate in range(12)]
    assert times == sorted(times) and times[-1] > times[0]


def test_a_larger_read_excess_never_loads_sooner() -> None:
    times = [storage.weight_load_s(16e9, 1, 8.3e-10, 7.6e-9, None, 1 + excess / 4) for excess in range(9)]
    assert times == sorted(times) and times[-1] > times[0]


def test_a_slower_volume_never_writes_more_and_a_slower_hub_never_downloads_sooner() -> None:
    rates = [storage.storage_write_bytes_per_s(rate * 1e-9, None) for rate in range(1, 9)]
    assert rates == sorted(rates, reverse=True)
    times = [storage.download_s(16e9, rate * 1e-9) for rate in range(9)]
    assert times == sorted(times)


def test_more_failures_never_leave_more_time_between_them() -> None:
    times = [checkpoint_size.mean_time_between_failures_s(1024, rate * 1e-9) for rate in range(1, 40, 4)]
    assert times == sorted(times, reverse=True)


# ---- what lies on a volume at the end


@pytest.mark.parametrize(
    ("kept", "every", "steps", "expected"),
    [(None, 500, 10000, 20), (2, 500, 10000, 3), (50, 500, 10000, 20), (3, None, None, 4), (None, None, 10000, None)],
)
def test_a_bound_keeps_one_more_than_it_says_and_never_more_than_are_written(
    kept: int | None, every: int | None, steps: int | None, expected: int | None
) -> None:
    assert checkpoint_size.kept_checkpoints(kept, every, steps) == expected


# ---- what saving and failing cost


@pytest.mark.parametrize(
    ("write", "interval", "background", "expected"),
    [
        (98, 1800, False, 0.0516),  # 980 GB at 10 GB/s, every half hour
        (148.8, 600, False, 0.199),  # PyTorch and IBM, 2024: a 7B network saved in 148.8 s
        (148.8, 600, True, 0.0),
        (600, 300, True, 0.5),  # the save before is not done
    ],
)
def test_a_run_waits_for_its_checkpoints(write: float, interval: float, background: bool, expected: float) -> None:
    assert checkpoint_interval.checkpoint_stall(write, interval, background) == pytest.approx(expected, abs=0.001)


@pytest.mark.parametrize(("between", "expected"), [(36000, 0.049), (3600, 0.418), (360, 0.9995)])
def test_failures_repeat_half_an_interval_and_in_the_end_everything(between: float, expected: float) -> None:
    assert checkpoint_interval.repeated_share(3600, between) == pytest.approx(expected, abs=0.001)


def test_more_steps_between_checkpoints_never_repeat_less() -> None:
    shares = [
        checkpoint_interval.repeated_share(checkpoint_interval.checkpoint_interval_s(steps, 3.0), 3e5)
        for steps in (10, 100, 10**4, 10**6, 10**9)
    ]
    assert shares == sorted(shares)
    assert shares[-1] <= 1
