"""What a checkpoint's files say of its weights: safetensors headers and indexes, whole, malformed, stale and hostile."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
import samples
from click.testing import CliRunner
from weight_files import (
    FP8,
    FP8_BYTES,
    HEAD,
    INDEX_FILES,
    QUANTISED,
    QWEN3,
    TINY,
    TINY_LAYER,
    TINY_PARAMETERS,
    WHOLE,
    Layout,
    header,
    listing,
)

from gpulint import cli
from gpulint.catalog import architecture, tables
from gpulint.catalog.architecture import Architecture, Resolution, index
from gpulint.facts import checkpoints
from gpulint.source import documents, repository
from gpulint.source.repository import WorkTree
from gpulint.workload import Field, Origin, Role


def head(files: Mapping[str, bytes]) -> index.Head:
    return lambda name, length: files[name][:length] if name in files else None


def loaded(layout: Layout, config: Mapping[str, object] = TINY, tied: bool = False) -> index.LoadedWeights:
    held = index.read_stored(head({"model.safetensors": header(layout)}))
    assert held is not None
    return index.select_loaded(held, json.dumps(config), tied)


def weighed(
    files: Mapping[str, bytes], config: Mapping[str, object], reference: str = "acme/net"
) -> tuple[Architecture, str]:
    text = json.dumps(config)
    shape = architecture.read_config(reference, text)
    found = index.apply_files(Resolution(shape, "config.json"), text, head(files))
    assert found.architecture is not None
    return found.architecture, found.assumption


# ---- headers


def test_a_header_tells_format_shape_and_bytes_of_each_tensor() -> None:
    content = header({"a": ("F16", (1, 16, 256)), "b": ("F8_E4M3", (3, 5)), "c": ("F32", ())}, {"format": "pt"})
    found = index.read_header("model.safetensors", head({"model.safetensors": content}))
    assert found is not None
    assert [(one.name, one.dtype, one.shape, one.bytes) for one in found] == [
        ("a", "F16", (1, 16, 256), 8192),
        ("b", "F8_E4M3", (3, 5), 15),
        ("c", "F32", (), 4),
    ]


def test_a_long_header_is_read_whole_and_nothing_behind_it() -> None:
    content = header({f"model.layers.{at}.weight": ("BF16", (1,)) for at in range(5_000)})
    asked: list[int] = []

    def first(name: str, length: int) -> bytes:
        asked.append(length)
        return (content + b"data")[:length]

    assert len(index.read_header("a.safetensors", first) or ()) == 5_000
    assert asked == [index.FIRST_BYTES, len(content)]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "a.safetensors is not a safetensors file: it ends before its header"),
        (
            b"\xff" * 64,
            "a.safetensors is not a safetensors file: its header would have 18,446,744,073,709,551,615 bytes",
        ),
        (b"\x10" + b"\0" * 7 + b'{"a":', "a.safetensors ends inside its header"),
        (b"\x02" + b"\0" * 7 + b"[]", "a.safetensors is not readable: its JSON is not a mapping"),
        (b"\x02" + b"\0" * 7 + b"{[", "a.safetensors is not readable: its JSON is malformed"),
        (b"\x20\x4e" + b"\0" * 6 + b"[" * 20_000, "a.safetensors is not readable: its JSON is malformed"),
    ],
)
def test_a_file_that_is_none_is_told_apart(content: bytes, reason: str) -> None:
    with pytest.raises(index.Unreadable, match=reason.replace(".", r"\.")):
        index.read_header("a.safetensors", head({"a.safetensors": content}))


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        (7, "a is not a tensor"),
        ({"dtype": "Q4_K", "shape": [1], "data_offsets": [0, 1]}, "a has an unknown number format Q4_K"),
        ({"dtype": ["F16"], "shape": [1], "data_offsets": [0, 1]}, "a has an unknown number format"),
        ({"dtype": "F16", "shape": [-1], "data_offsets": [0, 1]}, "a has no shape"),
        ({"dtype": "F16", "shape": [True], "data_offsets": [0, 1]}, "a has no shape"),
        ({"dtype": "F16", "shape": [2] * 99, "data_offsets": [0, 1]}, "a has no shape"),
        ({"dtype": "F16", "shape": [10**30], "data_offsets": [0, 1]}, "a has no shape"),
        ({"dtype": "F16", "shape": [4]}, "a has no data_offsets"),
        ({"dtype": "F16", "shape": [4], "data_offsets": [0, 4]}, "a has 4 bytes, but its shape needs 8"),
    ],
)
def test_a_tensor_that_contradicts_itself_is_refused(entry: object, reason: str) -> None:
    text = json.dumps({"a": entry}).encode()
    content = len(text).to_bytes(8, "little") + text
    with pytest.raises(index.Unreadable, match=reason):
        index.read_header("model.safetensors", head({"model.safetensors": content}))


# ---- indexes


@pytest.mark.parametrize(
    "file",
    ["../model.safetensors", "/etc/passwd", "a/b.safetensors", ".safetensors", "model.bin", "a\\b.safetensors", 7],
)
def test_an_index_names_files_beside_it_and_no_others(file: object) -> None:
    with pytest.raises(index.Unreadable, match="which is not a safetensors file next to it"):
        index.read_index(json.dumps({"weight_map": {"a": file}}).encode())


@pytest.mark.parametrize("content", [b"{}", b'{"weight_map": {}}', b'{"weight_map": []}'])
def test_an_index_without_tensors_is_refused(content: bytes) -> None:
    with pytest.raises(index.Unreadable, match="has no weight_map"):
        index.read_index(content)


def test_the_headers_of_all_files_are_added_up() -> None:
    shape, said = weighed(INDEX_FILES, TINY)
    assert (shape.parameters, said) == (TINY_PARAMETERS, "")
    assert shape.stored_formats == "BF16 97.44 KiB (headers of 2 safetensors files)"


def test_a_file_that_lacks_what_the_index_places_in_it_is_said() -> None:
    files = {index.INDEX: listing({"a": "m.safetensors", "b": "m.safetensors"}), "m.safetensors": header(HEAD)}
    _, said = weighed(files, TINY)
    assert said == (
        "weights follow from config.json alone: model.safetensors.index.json names a, but m.safetensors does not hold it"
    )


def test_where_the_files_are_not_there_the_total_counts() -> None:
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 3441185608\n"
    for files in ({}, {"model.safetensors": pointer}):
        shape, said = weighed({index.INDEX: listing({"a": "model.safetensors"}, 3_441_149_952), **files}, QWEN3)
        assert (shape.parameters, said) == (1_720_574_976, "")
        assert shape.stored_formats == "in all 3.2 GiB (model.safetensors.index.json)"


def test_a_total_that_contradicts_the_config_is_not_believed() -> None:
    shape, said = weighed({index.INDEX: listing({"a": "model.safetensors"}, 550_700_000_000)}, QWEN3)
    assert shape.parameters == 1_720_574_976
    assert said.startswith("weights follow from config.json alone: the files hold 550,700,000,000 bytes")


def test_a_quantised_copy_that_kept_the_total_of_its_original_is_not_believed() -> None:
    config = QWEN3 | {"quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 128}}
    shape, said = weighed({index.INDEX: listing({"a": "model.safetensors"}, 3_441_149_952)}, config)
    assert shape.stored_bytes is None
    assert "config.json describes" in said


def test_a_total_that_counts_a_layer_which_predicts_ahead_says_nothing() -> None:
    """XiaomiMiMo/MiMo-7B: its total of 15,666,819,072 bytes holds model.mtp_layers (github.com/jj8127/mimo_kor)."""
    places = dict.fromkeys(("model.norm.weight", "model.mtp_layers.0.token_layernorm.weight"), "m.safetensors")
    _, said = weighed({index.INDEX: listing(places, 3_441_149_952)}, QWEN3)
    assert said.endswith("the index's total includes model.mtp_layers.0.token_layernorm.weight, which is not loaded")


# ---- what is loaded


@pytest.mark.parametrize(
    "name",
    [
        "model.layers.1.mlp.up_proj.weight",
        "language_model.model.layers.1.mlp.up_proj.weight",
        "mtp.layers.0.mlp.up_proj.weight",
        "model.mtp_layers.0.mlp.up_proj.weight",
        "model.layers.0.self_attn.rotary_emb.inv_freq",
    ],
)
def test_layers_that_predict_ahead_and_buffers_are_not_loaded(name: str) -> None:
    assert loaded({**WHOLE, name: ("BF16", (128, 64))}).parameters == TINY_PARAMETERS


@pytest.mark.parametrize("name", ["visual.blocks.31.attn.proj.weight", "vision_model.encoder.layers.40.fc1.weight"])
def test_layers_of_a_tower_are_loaded(name: str) -> None:
    assert loaded({**WHOLE, name: ("BF16", (10, 10))}).parameters == TINY_PARAMETERS + 100


def test_a_head_that_is_stored_though_it_is_tied_is_loaded_once() -> None:
    assert loaded(WHOLE, tied=True).parameters == TINY_PARAMETERS - 6_400
    assert loaded({**TINY_LAYER, **HEAD}, tied=True).parameters == TINY_PARAMETERS - 6_400 - 64


def test_a_causal_mask_under_the_name_of_a_bias_is_not_loaded() -> None:
    mask: Layout = {"h.0.attn.bias": ("U8", (1, 1, 8, 8)), "h.0.attn.c_attn.bias": ("BF16", (12,))}
    found = loaded({**WHOLE, **mask})
    assert (found.parameters, found.is_quantised) == (TINY_PARAMETERS + 12, False)


def test_a_checkpoint_that_speaks_is_left_to_its_config() -> None:
    with pytest.raises(index.Unreadable, match="speech-output parts"):
        loaded({**WHOLE, "talker.model.norm.weight": ("BF16", (1,))})


def test_positions_and_flags_do_not_make_a_checkpoint_quantised() -> None:
    found = loaded({**WHOLE, "vision.position_ids": ("I64", (1, 577)), "tracked": ("BOOL", (1,))})
    assert (found.parameters, found.is_quantised) == (TINY_PARAMETERS, False)


def test_what_is_not_quantised_is_loaded_in_16_bits_and_scales_as_they_are() -> None:
    """vllm, model_executor/model_loader/base_loader.py, load_model: parameters are made in the network's dtype, then filled."""
    layout: Layout = {
        "a.weight": ("F8_E4M3", (128, 128)),
        "a.weight_scale_inv": ("F32", (1, 1)),
        "visual.proj": ("F32", (10, 10)),
    }
    assert loaded(layout).total_bytes == 128 * 128 + 4 + 10 * 10 * 2


def test_files_that_hold_another_network_than_the_config_describes_are_not_believed() -> None:
    wide: Layout = {**WHOLE, "adapter.weight": ("BF16", (100, 100))}
    shape, said = weighed({"model.safetensors": header(wide)}, TINY)
    assert (shape.parameters, shape.stored_formats) == (TINY_PARAMETERS, None)
    assert "the files hold 59,888 parameters" in said


def test_files_and_config_that_differ_over_quantisation_are_not_believed() -> None:
    plain, said = weighed({"model.safetensors": header(WHOLE)}, TINY | {"quantization_config": {"quant_method": "fp8"}})
    assert plain.stored_bytes is None
    assert "config.json declares quantised tensors, but the files hold none" in said
    packed, said = weighed({"model.safetensors": header(QUANTISED)}, TINY)
    assert packed.stored_bytes is None
    assert "the files hold quantised tensors, but config.json does not declare their format" in said


# ---- formats: one matrix of 4096 inputs and 14336 outputs in each layout

IN, OUT = 4096, 14336
LAYOUTS: dict[str, tuple[Layout, float]] = {
    "int4-g128": (  # AutoAWQ awq/modules/linear/gemm.py: packed along the outputs
        {
            "up.qweight": ("I32", (IN, OUT // 8)),
            "up.qzeros": ("I32", (IN // 128, OUT // 8)),
            "up.scales": ("F16", (IN // 128, OUT)),
        },
        0,
    ),
    "int4-g32": (  # AutoGPTQ qlinear: packed along the inputs, and the group of each
        {
            "up.qweight": ("I32", (IN // 8, OUT)),
            "up.qzeros": ("I32", (IN // 32, OUT // 8)),
            "up.scales": ("F16", (IN // 32, OUT)),
            "up.g_idx": ("I32", (IN,)),
        },
        0.0005,
    ),
    "int4-g128-symmetric": (  # compressed-tensors, pack-quantized
        {
            "up.weight_packed": ("I32", (OUT, IN // 8)),
            "up.weight_scale": ("BF16", (OUT, IN // 128)),
            "up.weight_shape": ("I64", (2,)),
        },
        0.000001,
    ),
    "fp8": ({"up.weight": ("F8_E4M3", (OUT, IN)), "up.weight_scale": ("BF16", (OUT, 1))}, 0.001),
    "fp8-block": (  # DeepSeek-V3
        {"up.weight": ("F8_E4M3", (OUT, IN)), "up.weight_scale_inv": ("F32", (OUT // 128, IN // 128))},
        0,
    ),
    "nvfp4": (  # ModelOpt
        {
            "up.weight": ("U8", (OUT, IN // 2)),
            "up.weight_scale": ("F8_E4M3", (OUT, IN // 16)),
            "up.weight_scale_2": ("F32", ()),
            "up.input_scale": ("F32", ()),
        },
        0.000001,
    ),
    "mxfp4": ({"up_blocks": ("U8", (OUT, IN // 32, 16)), "up_scales": ("U8", (OUT, IN // 32))}, 0),
    "nf4": (  # bitsandbytes without double quantisation
        {
            "up.weight": ("U8", (OUT * IN // 2, 1)),
            "up.weight.absmax": ("F32", (OUT * IN // 64,)),
            "up.weight.quant_map": ("F32", (16,)),
            "up.weight.quant_state.bitsandbytes__nf4": ("U8", (80,)),
        },
        0.00001,
    ),
    "int4-bnb": (
        {
            "up.weight": ("U8", (OUT * IN // 2, 1)),
            "up.weight.absmax": ("U8", (OUT * IN // 64,)),
            "up.weight.nested_absmax": ("F32", (OUT * IN // 64 // 256,)),
            "up.weight.nested_quant_map": ("F32", (256,)),
            "up.weight.quant_map": ("F32", (16,)),
            "up.weight.quant_state.bitsandbytes__nf4": ("U8", (90,)),
        },
        0.0001,
    ),
    "int8-bnb": ({"up.weight": ("I8", (OUT, IN)), "up.SCB": ("F32", (OUT,)), "up.weight_format": ("U8", ())}, 0.001),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_layouts_tensors_weigh_what_the_catalog_says(name: str) -> None:
    layout, tolerance = LAYOUTS[name]
    found = loaded({**layout, "norm.weight": ("BF16", (IN,))})
    row = tables.index_rows("quantization", "quantization")[name]
    assert (found.is_quantised, found.unquantised_parameters) == (True, IN)
    held = (found.total_bytes - 2 * IN) / (IN * OUT)
    assert held == pytest.approx(float(row["bytes_per_weight"]), rel=tolerance, abs=0)


@pytest.mark.parametrize(
    ("reference", "format_", "kept", "total"),
    [
        # github.com/kvcache-ai/sglang_awq at 1e697f1, model.safetensors.index.json: groups of 64
        ("deepseek-ai/DeepSeek-R1", "int4-g64", 1_960_809_984, 364_589_799_936),
        # github.com/llmariner/inference-manager, test of unmarshalSafetensorsIndex; embeddings, head and 161 norms
        ("meta-llama/Llama-3.1-70B", "int4-g128", 2 * 128_256 * 8_192 + 161 * 8_192, 39_767_785_472),
        # index of openai/gpt-oss-20b and sum of the tensors of openai/gpt-oss-120b
        ("openai/gpt-oss-20b", "mxfp4", 1_804_459_584, 13_761_264_768),
        ("openai/gpt-oss-120b", "mxfp4", 2_167_371_072, 65_248_815_744),
    ],
)
def test_a_formats_bytes_give_published_totals_to_the_byte(reference: str, format_: str, kept: int, total: int) -> None:
    shape = architecture.resolve(reference).architecture
    assert shape is not None
    assert shape.parameters is not None
    width = float(tables.index_rows("quantization", "quantization")[format_]["bytes_per_weight"])
    assert (shape.parameters - kept) * width + kept * 2 == total


@pytest.mark.parametrize(
    ("reference", "total"),
    [
        ("alpindale/WizardLM-2-8x22B", 281_241_268_224),  # github.com/tbressers/WizardLM-2-8x22B
        ("mistralai/Devstral-Small-2507", 47_144_806_400),  # github.com/fetchwiki/mistralai-Devstral-Small-2507
        ("Qwen/Qwen3-1.7B", 3_441_149_952),  # github.com/root-hypercube/qwen3-mlx at 30b5402
    ],
)
def test_the_catalogs_parameters_give_published_totals_to_the_byte(reference: str, total: int) -> None:
    shape = architecture.resolve(reference).architecture
    assert shape is not None
    assert shape.parameters == total // 2


# ---- the whole program


def checkpoint(folder: Path, config: Mapping[str, object], layout: Layout) -> None:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "model.safetensors").write_bytes(header(layout) + b"\0" * 100)


def size(*words: str) -> dict[str, object]:
    result = CliRunner().invoke(cli.main, ["size", *words, "--accelerator", "l4", "--format", "json"])
    assert result.exit_code == 0, result.output
    (table,) = json.loads(result.stdout)
    return dict(table)


def test_the_weights_of_a_quantised_folder_are_those_of_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    checkpoint(tmp_path / "models/tiny", FP8, QUANTISED)
    table = size("models/tiny")
    assert (
        table["stored"]
        == "F8_E4M3 36 KiB, BF16 26.44 KiB (header of model.safetensors); 26.1% of the parameters are not quantised"
    )
    weights = table["terms"]["weight_bytes_per_gpu"]  # type: ignore[index]
    assert {weights[scenario] for scenario in ("best", "expected", "worst")} == {FP8_BYTES}
    shape = resolved("models/tiny", WorkTree(tmp_path))
    assert shape is not None
    assert (shape.stored_bytes, shape.unquantised_parameters) == (FP8_BYTES, 13_024)


def test_a_links_target_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    checkpoint(tmp_path / "models/tiny", FP8, QUANTISED)
    (tmp_path / "models/tiny/model.safetensors").rename(tmp_path / "elsewhere")
    (tmp_path / "models/tiny/model.safetensors").symlink_to(tmp_path / "elsewhere")
    assert size("models/tiny")["stored"] == ""


def test_a_large_file_is_read_as_far_as_its_header(tmp_path: Path) -> None:
    with (tmp_path / "model.safetensors").open("wb") as file:
        file.write(header(WHOLE))
        file.truncate(repository.FILE_BYTES_MAX * 4)
    tree = WorkTree(tmp_path, base=tmp_path)
    assert tree.read("model.safetensors") is None
    assert tree.head("model.safetensors", 8) == header(WHOLE)[:8]
    assert tree.head("../model.safetensors", 8) is None


def resolved(reference: str, tree: repository.Repository) -> Architecture | None:
    document = documents.load("a.yaml", b"{}").documents[0]
    role = Role("server", Origin(document, ()), {"checkpoint": Field(reference)})
    found = checkpoints.resolve(role, "", tree, None)
    return found.architecture if found else None


def test_check_sizes_a_checkpoint_of_the_repository_by_its_files() -> None:
    files = {"models/tiny/config.json": json.dumps(FP8).encode(), "models/tiny/model.safetensors": header(QUANTISED)}
    shape = resolved("models/tiny", samples.ExampleRepository(files))
    assert shape is not None
    assert shape.stored_bytes == FP8_BYTES
