"""TGI: how a server is recognised, what its arguments and its environment state, and where."""

from __future__ import annotations

from typing import Any

import pytest
import reading

from gpulint import engines
from gpulint.catalog import architecture
from gpulint.facts import resolver
from gpulint.facts.model import Facts, Missing
from gpulint.report.model import Scenarios
from gpulint.source import documents
from gpulint.workload import Field, Origin, Role

GPU = "resources: {limits: {nvidia.com/gpu: 1}}"
GPUS = "resources: {limits: {nvidia.com/gpu: 4}}"
OFFICIAL = "ghcr.io/huggingface/text-generation-inference"


# ---- which containers are servers


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(f"image: {OFFICIAL}:2.2.0\nargs: [--model-id=Qwen/Qwen2.5-7B]", id="the image's entry point"),
        pytest.param(
            "image: registry.example.com:5000/mirror/text-generation-inference@sha256:00\n"
            "args: [--model-id, Qwen/Qwen2.5-7B]",
            id="a mirror, by digest",
        ),
        pytest.param(
            f"image: {OFFICIAL}:3.3.4\nenv: [{{name: MODEL_ID, value: Qwen/Qwen2.5-7B}}]", id="environment only"
        ),
        pytest.param(
            "image: us-docker.pkg.dev/deeplearning-platform-release/gcr.io/"
            "huggingface-text-generation-inference-cu124.2-3.ubuntu2204.py311\nargs: [--model-id=Qwen/Qwen2.5-7B]",
            id="Google's deep learning image",
        ),
        pytest.param(
            "image: 763104351884.dkr.ecr.us-east-1.amazonaws.com/huggingface-pytorch-tgi-inference:"
            "2.7.0-tgi3.3.4-gpu-py311-cu124-ubuntu22.04\nenv: [{name: HF_MODEL_ID, value: Qwen/Qwen2.5-7B}]",
            id="SageMaker's image",
        ),
        pytest.param(
            "image: example.com/app:1\ncommand: [text-generation-launcher, --model-id, Qwen/Qwen2.5-7B]",
            id="the launcher",
        ),
        pytest.param(
            "image: example.com/app:1\ncommand: [sh, -c, 'exec text-generation-launcher --model-id Qwen/Qwen2.5-7B']",
            id="the launcher in a script",
        ),
        pytest.param(f"image: {OFFICIAL}:3.3.4-rocm\nargs: [--model-id=Qwen/Qwen2.5-7B]", id="the build for AMD GPUs"),
    ],
)
def test_a_server_is_recognised(lines: str) -> None:
    assert reading.values(reading.started(f"{lines}\n{GPU}"), "engine", "checkpoint") == ["tgi", "Qwen/Qwen2.5-7B"]


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param("image: example.com/app:1\ncommand: [python, app.py, --model-id=Qwen/Qwen2.5-7B]", id="another"),
        pytest.param(f"image: {OFFICIAL}:2.2.0\ncommand: [sleep, infinity]", id="the image, another command"),
        pytest.param(f"image: {OFFICIAL}:2.2.0\ncommand: [text-generation-benchmark]", id="its benchmark"),
        pytest.param(f"image: {OFFICIAL}:2.2.0\ncommand: [text-generation-router]", id="its router alone"),
        pytest.param(f"image: {OFFICIAL}:3.3.4-gaudi\nargs: [--model-id=Qwen/Qwen2.5-7B]", id="the build for Gaudi"),
        pytest.param(f"image: {OFFICIAL}:3.3.4-trtllm\nargs: [--model-id=Qwen/Qwen2.5-7B]", id="another backend"),
        pytest.param(
            "image: us-docker.pkg.dev/deeplearning-platform-release/gcr.io/"
            "huggingface-text-generation-inference-tpu.0-2.ubuntu2204.py310\nargs: [--model-id=Qwen/Qwen2.5-7B]",
            id="the build for TPUs",
        ),
        pytest.param(
            "image: example.com/text-generation-inference-proxy:1\nargs: [--model-id=Qwen/Qwen2.5-7B]", id="a proxy"
        ),
        pytest.param("image: example.com/app:1\ncommand: [sh, -c, 'echo text generation launcher']", id="the words"),
    ],
)
def test_what_is_no_server_has_no_engine(lines: str) -> None:
    assert reading.values(reading.started(f"{lines}\n{GPU}"), "engine", "checkpoint") == [None, None]


# ---- releases


@pytest.mark.parametrize(
    ("image", "release"),
    [
        (f"{OFFICIAL}:2.2.0", "2.2.0"),
        (f"{OFFICIAL}:3.3", "3.3"),
        (f"{OFFICIAL}:3.3.4-rocm", "3.3.4"),
        ("registry.example.com:5000/ml/text-generation-inference:1.4.5", "1.4.5"),
        ("example.com/gcr.io/huggingface-text-generation-inference-cu121.1-4.ubuntu2204.py310", "1.4"),
        ("example.com/huggingface-pytorch-tgi-inference:2.6.0-tgi3.2.3-gpu-py311-cu124-ubuntu22.04-v2.0", "3.2.3"),
        ("registry.example.com/text-generation-inference-custom:2.4.0-20241101", "2.4.0"),
        ("registry.example.com/huggingface-pytorch-tgi-inference:2.0.1-gpu-py39-cu118-ubuntu20.04", None),
        (f"{OFFICIAL}:latest", None),
        (f"{OFFICIAL}:sha-a1b2c3d", None),
        (f"{OFFICIAL}@sha256:00ff", None),
        (OFFICIAL, None),
    ],
)
def test_the_image_tells_the_release_or_it_stays_unknown(image: str, release: str | None) -> None:
    assert reading.values(reading.server("[--model-id=Qwen/Qwen2.5-7B]", image), "engine_version") == [release]


def test_the_build_for_cpus_needs_no_gpu() -> None:
    found = reading.started(f"image: {OFFICIAL}:3.3.4-intel-cpu\nargs: [--model-id=Qwen/Qwen2.5-7B]")
    assert reading.values(found, "device") == ["cpu"]


# ---- the command line, as clap reads it


@pytest.mark.parametrize(
    ("arguments", "quantity", "value"),
    [
        ("[--num-shard=2]", "tensor_parallel", 2),
        ("[--num-shard, '2']", "tensor_parallel", 2),
        ("[--num-shard=2, --num-shard=4]", "tensor_parallel", 4),
        ("[--sharded=false]", "tensor_parallel", 1),
        ("[--sharded, 'false', --num-shard, '2']", "tensor_parallel", 2),
        ("[--max-total-tokens=8192]", "max_model_len", 8192),
        ("[--max-input-tokens=4000]", "max_input_len", 4000),
        ("[--max-input-length=4000]", "max_input_len", 4000),
        ("[--max-batch-prefill-tokens=2048]", "max_num_batched_tokens", 2048),
        ("[--max-batch-size=16]", "max_num_seqs", 16),
        ("[--quantize, eetq]", "quantization", "eetq"),
        ("[--dtype, bfloat16]", "weight_dtype", "bfloat16"),
        ("[--kv-cache-dtype, fp8_e4m3fn]", "kv_cache_dtype", "fp8_e4m3fn"),
        ("[--cuda-memory-fraction=0.8]", "gpu_memory_utilization", 0.8),
        ("[--speculate=2]", "draft_tokens", 2),
        ("[--cuda-graphs=0]", "enforce_eager", True),
        ("['--cuda-graphs=1,2,4']", "enforce_eager", False),
        ("['--lora-adapters=a,b']", "enable_lora", True),
        ("[--rope-factor=2]", "context_extended", True),
        ("[--num-shard=two]", "tensor_parallel", "unknown: two is not a number"),
        ("[--max-batch-size=16]", "max_num_batched_tokens", "unknown: --max-batch-size changes its default"),
    ],
)
def test_an_argument_is_read(arguments: str, quantity: str, value: object) -> None:
    assert reading.values(reading.server(arguments, f"{OFFICIAL}:2.2.0"), quantity) == [value]


@pytest.mark.parametrize(
    ("arguments", "quantity"),
    [
        ("[--num_shard=2]", "tensor_parallel"),
        ("[--num-sh=2]", "tensor_parallel"),
        ("[--max_total_tokens=8192]", "max_model_len"),
        ("[--tensor-parallel-size=2]", "tensor_parallel"),
        ("[--max-concurrent-requests=16]", "max_num_seqs"),
    ],
)
def test_clap_takes_neither_underscores_nor_beginnings(arguments: str, quantity: str) -> None:
    assert reading.values(reading.server(arguments, f"{OFFICIAL}:2.2.0"), quantity) == [None]


def test_an_argument_that_clap_refuses_is_noticed() -> None:
    found = reading.server("[--model-id=Qwen/Qwen2.5-7B, --num_shard=2]", f"{OFFICIAL}:2.2.0")
    assert reading.values(found, "unknown_argument") == ["--num_shard"]
    assert reading.source(found, "unknown_argument") == "--num_shard=2"


@pytest.mark.parametrize(
    ("argument", "release", "said"),
    [
        ("--kv-cache-dtype=fp8_e5m2", "2.3.1", "--kv-cache-dtype"),
        ("--max-input-tokens=512", "1.4.5", "--max-input-tokens"),
        ("--disable-usage-stats", "2.3.0", "--disable-usage-stats"),
        ("--kv-cache-dtype=fp8_e5m2", "2.4.0", None),
        ("--max-input-length=512", "3.3.7", None),
        ("--disable-usage-stats", "2.2.0", None),
    ],
)
def test_an_argument_of_another_release_is_noticed(argument: str, release: str, said: str | None) -> None:
    found = reading.server(f"[{argument}]", f"{OFFICIAL}:{release}")
    assert reading.values(found, "unavailable_argument") == [said]


# ---- the environment


def test_the_environment_states_the_same_and_has_its_places() -> None:
    found = reading.started(
        f'image: {OFFICIAL}:2.2.0\nenv: [{{name: MODEL_ID, value: Qwen/Qwen2.5-7B}}, {{name: NUM_SHARD, value: "4"}},\n'
        f'  {{name: MAX_TOTAL_TOKENS, value: "8192"}}, {{name: QUANTIZE, value: awq}}]\n{GPUS}'
    )
    names = ("checkpoint", "tensor_parallel", "max_model_len", "quantization", "max_model_len_stated")
    assert reading.values(found, *names) == ["Qwen/Qwen2.5-7B", 4, 8192, "awq", True]
    assert reading.place(found, "tensor_parallel") == "8:80-83"
    assert reading.source(found, "max_model_len") == '"8192"'
    assert found.open_ended == ""


def test_the_command_line_overrules_the_environment() -> None:
    found = reading.started(
        f'image: {OFFICIAL}:2.2.0\nargs: [--num-shard=2]\nenv: [{{name: NUM_SHARD, value: "4"}}]\n{GPUS}'
    )
    assert reading.values(found, "tensor_parallel") == [2]
    assert reading.source(found, "tensor_parallel") == "--num-shard=2"


def test_a_reference_to_the_environment_stands_where_the_value_is() -> None:
    found = reading.started(
        f"image: {OFFICIAL}:2.2.0\nargs: [--model-id=$(MODEL_ID)]\n"
        f"env: [{{name: MODEL_ID, value: google/gemma-2b}}]\n{GPU}"
    )
    assert reading.values(found, "checkpoint") == ["google/gemma-2b"]
    assert [reading.source(found, "checkpoint", nth) for nth in (0, 1)] == ["google/gemma-2b", "--model-id=$(MODEL_ID)"]


@pytest.mark.parametrize(
    ("variables", "value"),
    [
        ('[{name: CUDA_VISIBLE_DEVICES, value: "0,1"}]', 2),
        ('[{name: CUDA_VISIBLE_DEVICES, value: "0,1"}, {name: NUM_SHARD, value: "1"}]', 1),
        ('[{name: NVIDIA_VISIBLE_DEVICES, value: "all"}]', "unknown: NVIDIA_VISIBLE_DEVICES does not list the devices"),
        ("[{name: NUM_SHARD, valueFrom: {configMapKeyRef: {name: a, key: b}}}]", "unknown: NUM_SHARD comes from another object"),
        ('[{name: NUM_SHARD, value: ""}]', "unknown: it is set to nothing"),
        ('[{name: num_shard, value: "2"}]', None),
        ('[{name: PORT, value: "8080"}]', None),
    ],
)  # fmt: skip
def test_shards_are_as_many_as_the_environment_says(variables: str, value: object) -> None:
    found = reading.started(f"image: {OFFICIAL}:2.2.0\nargs: [--model-id=a/b]\nenv: {variables}\n{GPUS}")
    assert reading.values(found, "tensor_parallel") == [value]


def test_variables_of_another_object_leave_the_rest_open() -> None:
    found = reading.started(
        f"image: {OFFICIAL}:2.2.0\nargs: [--model-id=a/b]\nenvFrom: [{{configMapRef: {{name: tgi}}}}]\n{GPU}"
    )
    assert found.open_ended == "another object supplies variables of the environment"


def test_an_image_without_arguments_or_model_says_that_they_are_elsewhere() -> None:
    found = reading.started(f"image: {OFFICIAL}:2.2.0\n{GPU}")
    assert found.open_ended == "the arguments are in the image or in a script"


# ---- lengths and defaults by release, from the launcher's source


@pytest.mark.parametrize(
    ("release", "length", "prefill", "share"),
    [
        ("0.8.2", 1512, None, 1.0),
        ("1.4.5", 2048, 4096, 1.0),
        ("2.2.0", 4096, 4145, 1.0),
        ("3.0.2", None, None, 0.95),
        ("3.2.3", None, None, 0.93),
        ("3.3.7", None, None, 0.9),
    ],
)
def test_defaults_are_those_of_the_release(release: str, length: int | None, prefill: int | None, share: float) -> None:
    found = known(reading.server("[--model-id=meta-llama/Llama-3.1-8B-Instruct]", f"{OFFICIAL}:{release}"))
    assert [
        expected_value(found, name) for name in ("max_model_len", "max_num_batched_tokens", "static_memory_fraction")
    ] == [
        length,
        prefill,
        share,
    ]


@pytest.mark.parametrize(
    ("release", "arguments", "expected"),
    [
        ("2.4.0", "[--model-id=a/b]", [None, False, None]),
        ("2.4.1", "[--model-id=a/b]", ["unknown: the engine chooses the longest length that fits", False, True]),
        ("latest", "[--model-id=a/b]", ["unknown: the engine chooses the longest length that fits", False, True]),
        ("3.3.7", "[--model-id=a/b, --max-total-tokens=512]", [512, True, None]),
    ],
)
def test_later_releases_take_the_longest_that_fits(release: str, arguments: str, expected: list[object]) -> None:
    found = reading.server(arguments, f"{OFFICIAL}:{release}")
    assert reading.values(found, "max_model_len", "max_model_len_stated", "max_model_len_fitted") == expected


@pytest.mark.parametrize(
    ("release", "gpus", "expected"),
    [("3.3.6", 1, [1, 1, 1]), ("3.3.6", 4, [4, 4, 1]), ("3.3.7", 4, [4, 4, 4]), ("1.4.5", 4, [4, 4, 1])],
)
def test_unstated_shards_are_all_devices_or_one(release: str, gpus: int, expected: list[int]) -> None:
    """A device plugin that lists no devices in the environment leaves one shard before 3.3.7."""
    lines = f"image: {OFFICIAL}:{release}\nargs: [--model-id=a/b]\nresources: {{limits: {{nvidia.com/gpu: {gpus}}}}}"
    assert list(values(known(reading.started(lines)), "tensor_parallel")) == expected


def test_a_missing_number_of_shards_is_spelled_as_clap_wants_it() -> None:
    assert engines.render_argument("tgi", "3.3.4", "tensor_parallel", 4) == "--num-shard=4"
    assert engines.render_argument("tgi", "2.3.1", "kv_cache_dtype", "fp8_e5m2") is None
    assert engines.render_argument("tgi", "3.3.4", "pipeline_parallel", 2) is None


# ---- memory: figures that others measured


def known(role: Role, **stated: Any) -> Facts:
    """The facts of a role with further fields."""
    given = role.having(**{name: Field(value) for name, value in stated.items()})
    return resolver.resolve(given, architecture.resolve(given.text("checkpoint")))


def stated(checkpoint: str, **fields: Any) -> Facts:
    """The facts of a TGI role that states these values."""
    nowhere = Origin(documents.load("nowhere.yaml", b"{}").documents[0], ())
    given = {"engine": "tgi", "checkpoint": checkpoint, "max_model_len_stated": "max_model_len" in fields, **fields}
    return known(Role("server", nowhere, {name: Field(value) for name, value in given.items()}))


def values(found: Facts, name: str) -> Scenarios[Any]:
    scenarios = found.scenarios(name)
    assert isinstance(scenarios, Scenarios), f"{name} lacks {scenarios}: {found.reasons}"
    return scenarios


def expected_value(found: Facts, name: str) -> object:
    value = found.expected(name)
    return None if isinstance(value, Missing) else value


@pytest.mark.parametrize(
    ("checkpoint", "fields", "tokens"),
    [
        pytest.param(
            "meta-llama/Llama-3.1-8B-Instruct",
            {"engine_version": "2.2.0", "accelerator": "a10g", "tensor_parallel": 1},
            19_056,
            id="2.2.0 on A10G: guide of 2024-09-03, `Setting max batch total tokens to 19056`",
        ),
        pytest.param(
            "tiiuae/falcon-40b-instruct",
            {"engine_version": "1.4", "accelerator": "l4", "tensor_parallel": 2, "quantization": "bitsandbytes-nf4"},
            133_696,
            id="1.4 on two L4: docs.cloud.google.com serve-multiple-gpu, `Setting max batch total tokens to 133696`",
        ),
    ],
)
def test_the_measured_kv_cache_lies_between_the_scenarios(
    checkpoint: str, fields: dict[str, object], tokens: int
) -> None:
    found = stated(checkpoint, **fields)
    per_token = float(values(found, "kv_bytes_per_token").expected)
    best, usual, worst = (float(value) / per_token for value in values(found, "kv_cache_bytes"))
    assert worst < tokens < best
    assert usual == pytest.approx(tokens, rel=0.1)


def test_weights_that_were_measured_not_to_fit_do_not() -> None:
    """The same guide: Llama-3.1-8B with TGI 2.2.0 on a T4, out of memory while loading."""
    found = stated("meta-llama/Llama-3.1-8B-Instruct", engine_version="2.2.0", accelerator="t4", tensor_parallel=1)
    assert values(found, "weight_bytes_per_gpu").best > values(found, "device_memory_bytes").best


@pytest.mark.parametrize(
    ("checkpoint", "fields", "more"),
    [
        pytest.param("google/gemma-7b", {"tensor_parallel": 1}, 256_000 * 3072 * 2, id="tied: the head once more"),
        pytest.param("google/gemma-7b", {"tensor_parallel": 2}, 256_000 * 3072, id="divided"),
        pytest.param("google/gemma-7b", {"tensor_parallel": 3}, 256_000 * 3072 * 2, id="256,000 rows not by three"),
        pytest.param("meta-llama/Llama-3.1-8B-Instruct", {"tensor_parallel": 1}, 0, id="untied: already counted"),
        pytest.param(
            "meta-llama/Llama-3.1-8B-Instruct",
            {"tensor_parallel": 1, "quantization": "bitsandbytes", "engine_version": "2.1.1"},
            -128_256 * 4096,
            id="8 bits for the head, too, before 2.2",
        ),
        pytest.param(
            "meta-llama/Llama-3.1-8B-Instruct",
            {"tensor_parallel": 1, "quantization": "bitsandbytes", "engine_version": "2.2.0"},
            0,
            id="16 bits for the head since",
        ),
    ],
)
def test_the_output_head_has_a_copy_of_its_own(checkpoint: str, fields: dict[str, Any], more: int) -> None:
    found = stated(checkpoint, **fields)
    held = values(found, "loaded_bytes_per_gpu").best - values(found, "weight_bytes_per_gpu").best
    assert held == pytest.approx(more)


@pytest.mark.parametrize(
    ("checkpoint", "shards", "remainder"),
    [
        ("google/gemma-2b", 8, 1),
        ("meta-llama/Llama-3.1-8B-Instruct", 8, 0),
        ("meta-llama/Llama-3.1-8B-Instruct", 16, 8),
        ("meta-llama/Llama-3.1-8B-Instruct", 1, 0),
    ],
)
def test_key_and_value_heads_are_not_copied_to_further_shards(checkpoint: str, shards: int, remainder: int) -> None:
    assert values(stated(checkpoint, tensor_parallel=shards), "kv_heads_remainder").expected == remainder


@pytest.mark.parametrize(
    ("checkpoint", "quantity"),
    [("mistralai/Mixtral-8x7B-Instruct-v0.1", "activation_bytes"), ("tiiuae/falcon-7b", "kv_heads_remainder")],
)
def test_what_is_not_modelled_stays_unknown(checkpoint: str, quantity: str) -> None:
    found = stated(checkpoint, engine_version="2.2.0", tensor_parallel=2, accelerator="l4")
    assert isinstance(found.scenarios(quantity), Missing)
