"""LMDeploy: how a server is recognised, what its arguments state, and its share of free memory."""

from __future__ import annotations

from typing import Any

import pytest
import reading
from samples import report

from gpulint import engines
from gpulint.catalog import architecture
from gpulint.facts import resolver
from gpulint.facts.model import Facts, Missing
from gpulint.report.model import Scenarios, Severity
from gpulint.source import documents
from gpulint.workload import Field, Origin, Role

GPU = "resources: {limits: {nvidia.com/gpu: 1}}"
GIB = 2**30


def server(arguments: str = "--tp=1", image: str = "openmmlab/lmdeploy:v0.10.0-cu12") -> Role:
    """The role of a container that starts LMDeploy's server with these arguments (the inside of a YAML flow list)."""
    command = f"[lmdeploy, serve, api_server, Qwen/Qwen3-8B, {arguments}]"
    return reading.started(f"image: {image}\ncommand: {command}\n{GPU}")


# ---- which containers are servers


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(
            "image: openmmlab/lmdeploy:v0.10.0\ncommand: [lmdeploy, serve, api_server, Qwen/Qwen3-8B]", id="command"
        ),
        pytest.param(
            "image: openmmlab/lmdeploy:latest\nargs: [lmdeploy, serve, api_server, Qwen/Qwen3-8B, --tp=1]", id="args"
        ),
        pytest.param("image: a:1\ncommand: [/opt/py3/bin/lmdeploy, serve, api_server, Qwen/Qwen3-8B]", id="a path"),
        pytest.param(
            "image: a:1\ncommand: [sh, -c, 'exec lmdeploy serve api_server Qwen/Qwen3-8B --server-port 23333']",
            id="a script",
        ),
        pytest.param("image: a:1\ncommand: [python3, -m, lmdeploy, serve, api_server, Qwen/Qwen3-8B]", id="the module"),
        pytest.param(
            "image: a:1\ncommand: [lmdeploy, serve, api_server, --tp=1, Qwen/Qwen3-8B]", id="the model behind flags"
        ),
    ],
)
def test_a_server_is_recognised(lines: str) -> None:
    assert reading.values(reading.started(f"{lines}\n{GPU}"), "engine", "checkpoint") == ["lmdeploy", "Qwen/Qwen3-8B"]


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param("image: openmmlab/lmdeploy:v0.10.0\ncommand: [sleep, infinity]", id="the image, another command"),
        pytest.param("image: openmmlab/lmdeploy:v0.10.0\nargs: [Qwen/Qwen3-8B]", id="the image, which runs no server"),
        pytest.param("image: a:1\ncommand: [lmdeploy, serve, proxy, --server-port=8000]", id="the proxy"),
        pytest.param("image: a:1\ncommand: [lmdeploy, chat, Qwen/Qwen3-8B]", id="another subcommand"),
        pytest.param("image: a:1\ncommand: [lmdeploy, lite, auto_awq, Qwen/Qwen3-8B]", id="quantisation"),
        pytest.param("image: a:1\ncommand: [sh, -c, 'echo lmdeploy serve the api_server']", id="only the words"),
    ],
)
def test_what_is_no_server_has_no_engine(lines: str) -> None:
    assert reading.values(reading.started(f"{lines}\n{GPU}"), "engine", "checkpoint") == [None, None]


@pytest.mark.parametrize(
    ("image", "release", "device"),
    [
        ("openmmlab/lmdeploy:v0.10.0-cu12", "0.10.0", None),
        ("openmmlab/lmdeploy:v0.7.2.post1", "0.7.2.post1", None),
        ("registry.example.com:5000/mirror/lmdeploy:v0.6.4-cu11", "0.6.4", None),
        ("openmmlab/lmdeploy:v0.12.0-cu12.8", "0.12.0", None),
        ("registry.example.com/lmdeploy-server:0.9.2-20250801", "0.9.2", None),
        ("registry.example.com/lmdeploy-chat:v0.9.2", None, None),
        ("registry.example.com/lmdeploy:v1.2.0", None, None),
        ("openmmlab/lmdeploy:latest-cu12", None, None),
        ("openmmlab/lmdeploy", None, None),
        ("example.com/chat:v0.10.0", None, None),
        ("registry.example.com/dlinfer/lmdeploy:ascend-a2", None, "ascend"),
    ],
)
def test_the_image_tells_release_and_device_or_they_stay_unknown(
    image: str, release: str | None, device: str | None
) -> None:
    assert reading.values(server(image=image), "engine_version", "device") == [release, device]


# ---- arguments


@pytest.mark.parametrize(
    ("arguments", "quantity", "value"),
    [
        ("--tp=4", "tensor_parallel", 4),
        ("--tp, '4'", "tensor_parallel", 4),
        ("--dp=2", "data_parallel", 2),
        ("--tp=8, --ep=8", "expert_parallel_size", 8),
        ("--tp=8, --ep=8", "expert_parallel", True),
        ("--tp=8, --ep=1", "expert_parallel", None),
        ("--session-len=32768", "max_model_len", 32768),
        ("--session-len=32768", "max_model_len_stated", True),
        ("--tp=1", "max_model_len_stated", False),
        ("--cache-max-entry-count=0.5", "kv_cache_free_fraction", 0.5),
        (
            "--cache-max-entry-count=4096",
            "kv_cache_free_fraction",
            "unknown: --cache-max-entry-count 4096 is not a share",
        ),
        ("--max-batch-size=32", "max_num_seqs", 32),
        ("--max-prefill-token-num=4096", "max_num_batched_tokens", 4096),
        ("--cache-block-seq-len=128", "block_size", 128),
        ("--quant-policy=8", "kv_cache_dtype", "int8"),
        ("--quant-policy=4", "kv_cache_dtype", "int4"),
        ("--quant-policy=0", "kv_cache_dtype", None),
        ("--quant-policy=fp8", "kv_cache_dtype", "fp8_e4m3"),
        ("--quant-policy=turbo_quant", "kv_cache_dtype", "unknown: --quant-policy turbo_quant is not modelled"),
        ("--model-format=awq", "quantization", "awq"),
        ("--model-format=hf", "quantization", None),
        ("--dtype=bfloat16", "weight_dtype", "bfloat16"),
        ("--eager-mode", "enforce_eager", True),
        ("--enable-prefix-caching", "enable_prefix_caching", True),
        ("--adapters, a=/a, b=/b, --tp=1", "enable_lora", True),
        ("--device=ascend", "device", "ascend"),
        ("--device=cuda", "device", None),
        ("--language-model-only", "encoder_skipped", True),
        ("--rope-scaling-factor=2.0", "context_extended", True),
        ("--rope-scaling-factor=0.0", "context_extended", None),
        ("--speculative-algorithm=eagle3", "speculative", "eagle3"),
        ("--nnodes=2, --node-rank=0", "multi_node", True),
        ("--nnodes=1", "multi_node", None),
        ("--num-gpu-blocks=1000", "kv_cache_bytes", "unknown: --num-gpu-blocks sets the size of the KV cache"),
    ],
)
def test_an_argument_states_its_quantity(arguments: str, quantity: str, value: object) -> None:
    assert reading.values(server(arguments, "openmmlab/lmdeploy:v0.18.0"), quantity) == [value]


def test_an_argument_has_its_exact_place() -> None:
    found = reading.started(
        f"image: a:1\ncommand: [sh, -c, 'lmdeploy serve api_server Qwen/Qwen3-8B --tp 2 --session-len=8192']\n{GPU}"
    )
    assert reading.source(found, "checkpoint") == "Qwen/Qwen3-8B"
    assert reading.source(found, "tensor_parallel") == "2"
    assert reading.source(found, "max_model_len") == "--session-len=8192"


@pytest.mark.parametrize("arguments", ["--tp=4, --dp=2", "--tp=4, --ep=8", "--tp=4, --cp=2"])
def test_layouts_that_the_backends_place_differently_are_unknown(arguments: str) -> None:
    found = reading.values(server(arguments, "openmmlab/lmdeploy:v0.18.0"), "parallel_size", "weight_bytes_per_gpu")
    assert found == ["unknown: the two backends place copies and experts differently"] * 2


@pytest.mark.parametrize(
    ("arguments", "image", "notice"),
    [
        ("--tensor-parallel-size=2", "openmmlab/lmdeploy:v0.10.0", "unknown_argument"),
        ("--cache_max_entry_count=0.5", "openmmlab/lmdeploy:v0.10.0", "unknown_argument"),
        ("--nnodes=2", "openmmlab/lmdeploy:v0.7.0", "unavailable_argument"),
        ("--disable-vision-encoder", "openmmlab/lmdeploy:latest", "removed_argument"),
        ("--cache-max-entry=0.5", "openmmlab/lmdeploy:v0.10.0", "abbreviated_argument"),
        ("--session-len=long", "openmmlab/lmdeploy:v0.10.0", "impossible_argument"),
    ],
)
def test_an_argument_that_a_release_lacks_is_noticed(arguments: str, image: str, notice: str) -> None:
    spelling = arguments.replace("=", " ") if notice == "impossible_argument" else arguments.partition("=")[0]
    assert reading.values(server(arguments, image), notice) == [spelling]


@pytest.mark.parametrize(
    ("arguments", "image"),
    [
        ("--tp=2, --session-len=8192, --server-port=23333", "openmmlab/lmdeploy:v0.5.0"),
        ("--cache-max-entry-count=4096", "openmmlab/lmdeploy:v0.10.0"),
        ("--nnodes=1, --node-rank=0, --rope-scaling-factor=0.0", "openmmlab/lmdeploy:v0.10.0"),
        ("--disable-vision-encoder", "openmmlab/lmdeploy:v0.10.0"),
        ("--quant-policy=fp8", "openmmlab/lmdeploy:v0.16.0"),
        ("--whatever=1", "openmmlab/lmdeploy:v0.19.0"),
    ],
)
def test_an_argument_that_a_release_may_have_is_not_noticed(arguments: str, image: str) -> None:
    kinds = ("unknown_argument", "unavailable_argument", "removed_argument", "abbreviated_argument")
    assert reading.values(server(arguments, image), *kinds, "impossible_argument") == [None] * 5


@pytest.mark.parametrize(
    ("quantity", "value", "spelling"),
    [
        ("tensor_parallel", 4, "--tp=4"),
        ("max_model_len", 8192, "--session-len=8192"),
        ("kv_cache_free_fraction", 0.9, "--cache-max-entry-count=0.9"),
        ("max_model_len", "auto", None),
        ("gpu_memory_utilization", 0.9, None),
    ],
)
def test_a_suggestion_is_spelled_as_the_engine_reads_it(quantity: str, value: Any, spelling: str | None) -> None:
    assert engines.render_argument("lmdeploy", "0.10.0", quantity, value) == spelling


# ---- memory


def known(checkpoint: str, accelerator: str, **stated: Any) -> Facts:
    """The facts of an LMDeploy role, as an adapter would state them."""
    fields = {
        "engine": "lmdeploy",
        "engine_version": "0.10.0",
        "accelerator": accelerator,
        "pods_per_replica": 1,
        **stated,
    }
    nowhere = Origin(documents.load("nowhere.yaml", b"{}").documents[0], ())
    role = Role("server", nowhere, {name: Field(value) for name, value in fields.items()})
    return resolver.resolve(role, architecture.resolve(checkpoint))


def scenarios(found: Facts, name: str) -> Scenarios[Any]:
    values = found.scenarios(name)
    assert not isinstance(values, Missing), values
    return values


def test_the_cache_takes_its_share_of_what_is_free_after_loading() -> None:
    found = known("Qwen/Qwen3-8B", "h100-sxm-80gb", kv_cache_free_fraction=0.5)
    left = (
        scenarios(found, "device_memory_bytes").expected - scenarios(found, "loaded_bytes_per_gpu").expected - 0.5 * GIB
    )
    assert scenarios(found, "kv_cache_bytes").expected == pytest.approx(0.5 * left)
    pool = scenarios(found, "kv_cache_bytes")
    assert pool.best >= pool.expected >= pool.worst


def test_the_buffer_of_the_pytorch_backend_is_taken_out_in_the_worst_scenario_only() -> None:
    """v0.10.0, executor/base.py: (8192 + 2 · 128) · 151936 · 2 bytes on a card that is in no list of batch sizes."""
    buffer = scenarios(known("Qwen/Qwen3-8B", "l4"), "prefill_buffer_bytes")
    assert (buffer.best, buffer.expected, buffer.worst) == (0, 0, (8192 + 2 * 128) * 151936 * 2)


@pytest.mark.parametrize(
    ("accelerator", "release", "sequences"),
    [
        # utils.py, get_max_batch_size: by the product's name, so others of the generation have 128
        ("h100-sxm-80gb", "0.10.0", (128, 1024, 1024)),
        ("h100-sxm-80gb", "0.8.0", (128, 512, 512)),
        ("a100-sxm4-80gb", "0.18.0", (128, 384, 384)),
        ("l4", "0.18.0", (128, 128, 128)),
        ("h100-sxm-80gb", "0.5.0", (128, 128, 128)),
    ],
)
def test_the_batch_limit_follows_card_and_release(
    accelerator: str, release: str, sequences: tuple[int, int, int]
) -> None:
    found = scenarios(known("Qwen/Qwen3-8B", accelerator, engine_version=release), "max_num_seqs")
    assert tuple(found) == sequences


def test_an_integer_cache_keeps_a_scale_for_each_head_and_token() -> None:
    plain, small = known("Qwen/Qwen3-8B", "l4"), known("Qwen/Qwen3-8B", "l4", kv_cache_dtype="int8")
    ratio = scenarios(small, "kv_bytes_per_token").expected / scenarios(plain, "kv_bytes_per_token").expected
    assert ratio == (128 + 4) / 256  # 128 values of a byte with two 16-bit numbers, against 128 of two bytes


def test_the_cache_of_compressed_attention_is_unknown() -> None:
    assert isinstance(known("deepseek-ai/DeepSeek-V2-Lite-Chat", "h100-sxm-80gb").scenarios("kv_cache_tokens"), Missing)


SPEC = """
apiVersion: v1
kind: Pod
metadata: {{name: chat}}
spec:
  nodeSelector: {{cloud.google.com/gke-accelerator: nvidia-l4}}
  containers:
    - name: server
      image: openmmlab/lmdeploy:v0.10.0
      command: [lmdeploy, serve, api_server, meta-llama/Llama-3.1-8B-Instruct, {arguments}]
      resources: {{limits: {{nvidia.com/gpu: 1}}}}
"""


@pytest.mark.parametrize("arguments", ["--tp=1", "--cache-max-entry-count=0.5", "--session-len=131072"])
def test_what_starts_is_not_called_an_error(arguments: str) -> None:
    said = report(SPEC.format(arguments=arguments)).open
    assert [one.rule for one in said if one.severity is Severity.ERROR] == []
