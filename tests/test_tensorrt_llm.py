"""TensorRT-LLM: how `trtllm-serve` is recognised, what its arguments and its files state, and where."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest
import reading

from gpulint import engines
from gpulint.catalog import architecture
from gpulint.engines.serving import tensorrt_llm
from gpulint.facts import resolver
from gpulint.facts.model import Facts, Missing
from gpulint.report.model import Scenarios
from gpulint.source import documents
from gpulint.source.documents import Document
from gpulint.workload import Field, Origin, Role, Unknown

GPU = "resources: {limits: {nvidia.com/gpu: 1}}"
IMAGE = "image: nvcr.io/nvidia/tensorrt-llm/release:1.0.0"
GIB = 2**30


# ---- which containers are servers


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(f"{IMAGE}\ncommand: [trtllm-serve, Qwen/Qwen3-8B]", id="the command"),
        pytest.param(f"{IMAGE}\ncommand: [trtllm-serve, serve, Qwen/Qwen3-8B]", id="the subcommand"),
        pytest.param(f"{IMAGE}\nargs: [trtllm-serve, serve, Qwen/Qwen3-8B]", id="in args"),
        pytest.param(f"{IMAGE}\ncommand: [sh, -c, 'trtllm-serve Qwen/Qwen3-8B --port 8000']", id="in a script"),
        pytest.param(
            "image: example.com/app:1\ncommand: [/usr/local/bin/trtllm-serve, Qwen/Qwen3-8B]",
            id="another image, a path",
        ),
        pytest.param(
            f"{IMAGE}\ncommand: [mpirun, -n, '1', --allow-run-as-root, trtllm-serve, Qwen/Qwen3-8B]", id="mpirun"
        ),
        pytest.param(f"{IMAGE}\ncommand: [trtllm-llmapi-launch, trtllm-serve, Qwen/Qwen3-8B]", id="its launcher"),
        pytest.param(f"{IMAGE}\ncommand: [python3, -m, tensorrt_llm.commands.serve, Qwen/Qwen3-8B]", id="the module"),
    ],
)
def test_a_server_is_recognised(lines: str) -> None:
    found = reading.started(f"{lines}\n{GPU}")
    assert reading.values(found, "engine", "checkpoint") == ["tensorrt-llm", "Qwen/Qwen3-8B"]


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(f"{IMAGE}\ncommand: [sleep, infinity]", id="the image, another command"),
        pytest.param(f"{IMAGE}", id="the image alone, which runs nothing"),
        pytest.param(f"{IMAGE}\ncommand: [trtllm-build, --checkpoint_dir=/ckpt]", id="the builder"),
        pytest.param(f"{IMAGE}\ncommand: [trtllm-bench, --model=Qwen/Qwen3-8B]", id="the benchmark"),
        pytest.param(f"{IMAGE}\ncommand: [pip, install, trtllm-serve]", id="only the word"),
        pytest.param("image: example.com/app:1\ncommand: [sh, -c, 'pkill -f trtllm-serve']", id="its name"),
        pytest.param("image: example.com/tensorrt-llm-router:1\nargs: [--model=Qwen/Qwen3-8B]", id="a router"),
        pytest.param("image: example.com/app:1\ncommand: [python, train.py]", id="another program"),
    ],
)
def test_what_is_no_server_has_no_engine(lines: str) -> None:
    assert reading.values(reading.started(f"{lines}\n{GPU}"), "engine", "checkpoint") == [None, None]


@pytest.mark.parametrize(
    ("image", "release"),
    [
        ("nvcr.io/nvidia/tensorrt-llm/release:1.0.0", "1.0.0"),
        ("us-docker.pkg.dev/team/tensorrt-llm/release:0.20.0", "0.20.0"),
        ("nvcr.io/nvidia/tensorrt-llm/release:1.2.0rc4", "1.2.0"),
        ("registry.example.com/tensorrt-llm:1.1.0", "1.1.0"),
        ("example.com/djl-inference:0.33.0-tensorrtllm0.21.0-cu128", "0.21.0"),
        ("nvcr.io/nvidia/ai-dynamo/tensorrtllm-runtime:0.7.0", None),
        ("registry.example.com/trtllm-chat:1.1.0", None),
        ("nvcr.io/nvidia/tensorrt-llm/release:latest", None),
        ("nvcr.io/nvidia/tensorrt-llm/release@sha256:00", None),
        ("example.com/serving:1.0.0", None),
    ],
)
def test_the_tag_of_the_image_tells_the_release(image: str, release: str | None) -> None:
    found = reading.started(f"image: {image}\ncommand: [trtllm-serve, Qwen/Qwen3-8B]\n{GPU}")
    assert reading.values(found, "engine_version") == [release]


# ---- the command line, as click reads it


def served(arguments: str) -> Role:
    """The role of a server of Qwen3-8B with these further arguments."""
    return reading.started(f"{IMAGE}\ncommand: [trtllm-serve, Qwen/Qwen3-8B, {arguments}]\n{GPU}")


@pytest.mark.parametrize(
    ("arguments", "quantity", "value"),
    [
        ("--tp_size, '4'", "tensor_parallel", 4),
        ("--tp_size=4", "tensor_parallel", 4),
        ("--tensor_parallel_size=4", "tensor_parallel", 4),
        ("--pp_size=2", "pipeline_parallel", 2),
        ("--ep_size=4", "expert_parallel_size", 4),
        ("--ep_size=4", "expert_parallel", True),
        ("--ep_size=1", "expert_parallel", None),
        ("--cp_size=2", "parallel_size", "unknown: context parallelism changes it"),
        ("--cp_size=1", "parallel_size", None),
        ("--max_batch_size=64", "max_num_seqs", 64),
        ("--max_num_tokens=4096", "max_num_batched_tokens", 4096),
        ("--max_seq_len=8192", "max_model_len", 8192),
        ("--kv_cache_free_gpu_memory_fraction=0.85", "kv_cache_free_fraction", 0.85),
        ("--free_gpu_memory_fraction=0.85", "kv_cache_free_fraction", 0.85),
        ("--kv_cache_dtype, fp8", "kv_cache_dtype", "fp8"),
        ("--enable_attention_dp", "data_parallel_attention", True),
        ("--enable_chunked_prefill", "enable_chunked_prefill", True),
        ("--tp_size=four", "tensor_parallel", "unknown: four is not a number"),
        ("--trust_remote_code, --tp_size=2", "tensor_parallel", 2),
    ],
)
def test_an_argument_is_read(arguments: str, quantity: str, value: object) -> None:
    assert reading.values(served(arguments), quantity) == [value]


@pytest.mark.parametrize(
    "argument", ["--tp-size=4", "--tensor-parallel-size=4", "--tp=4", "--tp_siz=4", "--gpus_per_node=4", "-tp=4"]
)
def test_click_takes_neither_dashes_nor_beginnings(argument: str) -> None:
    assert reading.values(served(argument), "tensor_parallel") == [None]


def test_the_place_of_an_argument_is_its_word() -> None:
    found = served("--tp_size, '4', --max_seq_len=8192")
    assert [reading.source(found, name) for name in ("tensor_parallel", "max_model_len")] == [
        "'4'",
        "--max_seq_len=8192",
    ]


@pytest.mark.parametrize(("arguments", "length"), [("--tp_size=2", None), ("--max_seq_len=8192", 8192)])
def test_a_length_is_shortened_to_what_fits_whether_it_is_stated_or_not(arguments: str, length: int | None) -> None:
    """Start-up log of 1.1.0rc3: `Adjusted max_seq_len to 86720`."""
    found = served(arguments)
    unstated = "unknown: the engine chooses the longest length that fits"
    names = ("max_model_len", "max_model_len_stated", "max_model_len_fitted")
    assert reading.values(found, *names) == [length or unstated, length is not None, True]


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("[trtllm-serve, /engines/llama, --tp_size=2]", "the path may hold a built engine, whose layout is fixed"),
        ("[trtllm-serve, a/b, --extra_llm_api_options, o.yaml]", "a file of options overrules the command line"),
        ("[trtllm-serve, a/b, --config=o.yaml]", "a file of options overrules the command line"),
        ("[trtllm-serve, disaggregated, -c, o.yaml]", "a file of its own places the servers"),
        ("[trtllm-serve, mm_embedding_serve, a/b]", "an encoder alone is served"),
        ("[trtllm-serve, a/b, --tp_size=2]", ""),
    ],
)
def test_what_files_hold_is_open(command: str, reason: str) -> None:
    found = reading.started(f"{IMAGE}\ncommand: {command}\n{GPU}")
    assert (found.text("engine"), found.open_ended) == ("tensorrt-llm", reason)


def test_a_file_of_options_may_replace_the_share_of_the_kv_cache() -> None:
    found = served("--config=o.yaml, --kv_cache_free_gpu_memory_fraction=0.5, --tp_size=2")
    assert isinstance(found.value("kv_cache_free_fraction"), Unknown)
    assert found.value("tensor_parallel") == 2


@pytest.mark.parametrize(
    ("launcher", "joins"),
    [("mpirun, -n, '2', ", True), ("trtllm-llmapi-launch, ", True), ("python3, -m, ", None), ("", None)],
)
def test_launchers_may_lend_ranks_of_other_pods(launcher: str, joins: bool | None) -> None:
    program = "tensorrt_llm.commands.serve" if "python3" in launcher else "trtllm-serve"
    found = reading.started(f"{IMAGE}\ncommand: [{launcher}{program}, Qwen/Qwen3-8B]\n{GPU}")
    assert found.value("multi_node") == joins


def test_arguments_are_spelled_as_every_release_has_them() -> None:
    assert engines.render_argument("tensorrt-llm", "0.19.0", "tensor_parallel", 4) == "--tp_size=4"
    assert engines.render_argument("tensorrt-llm", "1.0.0", "max_model_len", 4096) == "--max_seq_len=4096"
    assert engines.render_argument("tensorrt-llm", "1.0.0", "gpu_memory_utilization", 0.9) is None


# ---- files


def loaded(text: str, name: str = "options.yaml") -> Document:
    (document,) = documents.load(name, textwrap.dedent(text).encode()).documents
    return document


def shown(found: dict[str, Field]) -> dict[str, Any]:
    return {
        name: f"unknown: {field.value.reason}" if isinstance(field.value, Unknown) else field.value
        for name, field in found.items()
        if not name.startswith("max_model_len_")
    }


def test_a_file_of_options_is_read_with_its_places() -> None:
    document = loaded(
        """
        tensor_parallel_size: 8
        moe_expert_parallel_size: 4
        enable_attention_dp: true
        max_seq_len: 8192
        kv_cache_config:
          free_gpu_memory_fraction: 0.8
          dtype: FP8
          enable_block_reuse: false
          host_cache_size: 1073741824
        cuda_graph_config: {max_batch_size: 128}
        """
    )
    found = tensorrt_llm.read_options(document, ())
    assert shown(found) == {
        "tensor_parallel": 8,
        "expert_parallel_size": 4,
        "expert_parallel": True,
        "data_parallel_attention": True,
        "max_model_len": 8192,
        "kv_cache_free_fraction": 0.8,
        "kv_cache_dtype": "fp8",
        "enable_prefix_caching": False,
        "host_kv_bytes": "unknown: each rank keeps its own host tier",
    }
    assert found["kv_cache_free_fraction"].origins[0].location().line == 7


def test_the_host_tier_of_a_single_rank_is_that_of_the_pod() -> None:
    found = tensorrt_llm.read_options(loaded("kv_cache_config: {host_cache_size: 1073741824}"), ())
    assert found["host_kv_bytes"].value == GIB


def test_the_configuration_of_a_built_engine_is_read() -> None:
    document = loaded(
        """
        {"version": "0.12.0",
         "pretrained_config": {"dtype": "bfloat16", "mapping": {"world_size": 4, "tp_size": 2, "pp_size": 2, "cp_size": 1},
                               "quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8"}},
         "build_config": {"max_input_len": 1024, "max_seq_len": 4096, "max_batch_size": 64, "max_num_tokens": 8192}}
        """,
        "config.json",
    )
    assert shown(tensorrt_llm.read_engine(document, ())) == {
        "tensor_parallel": 2,
        "pipeline_parallel": 2,
        "context_parallel": 1,
        "weight_dtype": "bfloat16",
        "quantization": "fp8",
        "kv_cache_dtype": "fp8",
        "max_num_seqs": 64,
        "max_num_batched_tokens": 8192,
        "max_input_len": 1024,
        "max_model_len": 4096,
    }


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("no_quant", {}),
        ("fp8", {"quantization": "fp8"}),
        ("fp8_kv", {"quantization": "fp8", "kv_cache_dtype": "fp8"}),
    ],
)
def test_a_truss_section_is_read(kind: str, expected: dict[str, str]) -> None:
    document = loaded(
        f"""
        trt_llm:
          build:
            checkpoint_repository: {{source: HF, repo: meta-llama/Llama-3.1-70B-Instruct}}
            max_seq_len: 8192
            quantization_type: {kind}
            tensor_parallel_count: 2
          runtime: {{kv_cache_free_gpu_mem_fraction: 0.9}}
        """
    )
    found = tensorrt_llm.read_truss(document, ("trt_llm",))
    assert shown(found) == {
        "checkpoint": "meta-llama/Llama-3.1-70B-Instruct",
        "max_model_len": 8192,
        "tensor_parallel": 2,
        "kv_cache_free_fraction": 0.9,
        **expected,
    }
    assert found["tensor_parallel"].origins[0].location().line == 7


def test_a_file_that_holds_nothing_of_the_kind_states_no_quantity() -> None:
    assert shown(tensorrt_llm.read_options(loaded("server: {port: 8000}"), ())) == {
        "max_model_len": "unknown: the engine chooses the longest length that fits"
    }


# ---- memory: figures that others measured


def known(checkpoint: str, **fields: Any) -> Facts:
    """The facts of a TensorRT-LLM role that states these values."""
    nowhere = Origin(documents.load("nowhere.yaml", b"{}").documents[0], ())
    given = {"engine": "tensorrt-llm", "checkpoint": checkpoint, "tensor_parallel": 1, **fields}
    role = Role("server", nowhere, {name: Field(value) for name, value in given.items()})
    return resolver.resolve(role, architecture.resolve(checkpoint))


def values(found: Facts, name: str) -> Scenarios[Any]:
    scenarios = found.scenarios(name)
    assert isinstance(scenarios, Scenarios), f"{name} lacks {scenarios}: {found.reasons}"
    return scenarios


def test_the_measured_kv_cache_lies_between_the_scenarios() -> None:
    """NVIDIA/TensorRT-LLM issue 6294: Llama-3.1-8B in FP8 on H100, `Allocated 52.51 GiB for max tokens in paged KV cache
    (860320)`, at a fraction of 0.8 with 23,552 tokens a pass."""
    found = known(
        "meta-llama/Llama-3.1-8B-Instruct",
        engine_version="0.20.0",
        accelerator="h100-sxm-80gb",
        quantization="fp8",
        kv_cache_dtype="fp8",
        kv_cache_free_fraction=0.8,
        max_num_batched_tokens=23_552,
    )
    assert values(found, "weight_bytes_per_gpu").best / GIB == pytest.approx(8.46, abs=0.05)
    assert values(found, "kv_bytes_per_token").expected == pytest.approx(52.51 * GIB / 860_320, rel=1e-3)
    best, usual, worst = (value / GIB for value in values(found, "kv_cache_bytes"))
    assert worst < 52.51 < best
    assert usual == pytest.approx(52.51, rel=0.03)


def test_the_budget_is_what_weights_run_and_cache_take_together() -> None:
    found = known("meta-llama/Llama-3.1-8B-Instruct", accelerator="h100-sxm-80gb", max_model_len=8192)
    parts = ("loaded_bytes_per_gpu", "reserve_bytes", "kv_cache_bytes")
    assert sum(values(found, name).expected for name in parts) == pytest.approx(
        values(found, "memory_budget_bytes").expected
    )
    assert values(found, "kv_needed_bytes").expected / GIB == 1.0


@pytest.mark.parametrize(
    ("checkpoint", "fields", "quantity"),
    [
        ("mistralai/Mixtral-8x7B-Instruct-v0.1", {}, "activation_bytes"),
        ("google/gemma-2-9b-it", {}, "kv_bytes_per_token"),
        ("hugging-quants/Meta-Llama-3.1-8B-Instruct-AWQ-INT4", {}, "bytes_per_kv_element"),
        ("meta-llama/Llama-3.1-8B-Instruct", {"quantization": "w4a8_awq"}, "weight_format"),
    ],
)
def test_what_is_not_modelled_stays_unknown(checkpoint: str, fields: dict[str, str], quantity: str) -> None:
    assert isinstance(known(checkpoint, accelerator="h100-sxm-80gb", **fields).scenarios(quantity), Missing)


def test_an_fp8_checkpoint_keeps_its_cache_in_one_byte_or_in_two() -> None:
    """NVIDIA/TensorRT-LLM issue 6294: 860,320 tokens of 32 layers, 8 heads and 128 values in 52.51 GiB are one byte each."""
    found = known("nvidia/Llama-3.1-8B-Instruct-FP8", accelerator="h100-sxm-80gb")
    assert found.scenarios("bytes_per_kv_element") == (1.0, 1.0, 2.0)
    assert found.expected("kv_bytes_per_token") * 860_320 / GIB == pytest.approx(52.51, abs=0.01)  # type: ignore[operator]
