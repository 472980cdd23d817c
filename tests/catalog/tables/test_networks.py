"""Networks that are counted as a whole, and the names that libraries give them."""

from __future__ import annotations

import pytest

from gpulint.catalog import architecture, tables
from gpulint.catalog.architecture import network_names, whole

NETWORKS = tables.rows("networks")
DTYPES = {"float32", "bfloat16", "float16"}
TASKS = {"classify", "detect", "segment", "embed", "transcribe", "speak", "generate", "image", "video", "forecast"}
DEVICES = {"gpu", "cpu", "argument"}


def test_each_network_is_listed_once_and_says_what_it_is() -> None:
    assert [row["id"] for row in NETWORKS] == sorted({row["id"] for row in NETWORKS})
    for row in NETWORKS:
        assert int(row["parameters"]) > 0 and row["source"], row
        assert row["dtype"] in DTYPES and row["task"] in TASKS, row
        assert row["modality"] in {"text", "vision", "audio", "image", "video", "series"}, row
        assert row["id"] not in tables.index_rows("architectures", "id"), row


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("torchvision/resnet50", 25_557_032),  # He et al. 2015: 25.6 million
        ("torchvision/vit_b_16", 86_567_656),  # Dosovitskiy et al. 2020: 86 million
        ("timm/vit_base_patch16_224", 86_567_656),
        ("google/vit-base-patch16-224", 86_567_656),
        ("ultralytics/yolov8n.pt", 3_157_200),  # 3.2 million in the README of ultralytics
        ("openai/clip-vit-base-patch32", 151_277_313),  # 151.28 million in the profile of open_clip
    ],
)
def test_the_count_of_a_network_is_the_published_one(name: str, parameters: int) -> None:
    found = architecture.resolve(name).architecture
    assert found is not None and found.parameters == parameters
    assert found.is_known and found.is_whole and found.layers is None


def test_every_name_of_a_library_stands_for_a_checkpoint() -> None:
    for row in tables.rows("network_names"):
        library = row["library"]
        assert row["name"] and row["checkpoint"], row
        if library in ("torchvision", "timm", "ultralytics"):
            assert whole.find(row["checkpoint"]) is not None, row
    known = {row["library"] for row in tables.rows("network_names")}
    assert {row["library"] for row in tables.rows("network_loaders")} - {""} <= known


@pytest.mark.parametrize("size", ["tiny", "base.en", "small", "medium", "large-v2", "large-v3", "turbo"])
def test_the_sizes_of_whisper_are_in_the_catalog(size: str) -> None:
    for library in ("openai-whisper", "faster-whisper"):
        checkpoint = network_names.find(library, size)
        assert checkpoint is not None and architecture.resolve(checkpoint).how == "catalog"


def test_each_loader_says_where_its_network_computes() -> None:
    for row in tables.rows("network_loaders"):
        assert row["device"] in DEVICES and row["dtype"] in {*DTYPES, ""}, row
        assert not row["at"] or row["name"], row


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("acme/whisper-tiny-cantonese", 37_760_640),
        ("acme/whisper-large-v3-turbo-german", 808_878_080),
        ("/models/whisper-small_hi", 241_734_912),
        ("acme/whisper-small-ct2", None),
        ("acme/whisper-large-v3-french-distil-dec16", None),
        ("acme/whisper-small-hi-int8", None),
        ("acme/my-whisper-small", None),
    ],
)
def test_a_fine_tune_of_a_network_of_speech_has_its_shape(name: str, parameters: int | None) -> None:
    found = architecture.resolve(name)
    assert (found.architecture.parameters if found.architecture else None) == parameters
    assert parameters is None or "fine-tune of openai/whisper-" in found.assumption
