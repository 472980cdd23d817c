"""llama.cpp: how a server is recognised, what its arguments and variables state, and what it sets aside on GPUs."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
import reading
from samples import not_evaluated, of_rule, report

from gpulint import engines
from gpulint.catalog import architecture
from gpulint.catalog.architecture import gguf_names
from gpulint.engines.serving import llama_cpp
from gpulint.facts import resolver
from gpulint.facts.model import Facts, Missing
from gpulint.report.model import Scenarios
from gpulint.workload import Field

GPU = "resources: {limits: {nvidia.com/gpu: 1}}"
CUDA = "ghcr.io/ggml-org/llama.cpp:server-cuda-b8500"
OLD = "ghcr.io/ggml-org/llama.cpp:server-cuda-b6000"
MODEL = "--model, /models/Meta-Llama-3.1-8B-Instruct-Q4_K_M.gguf"


# ---- which containers are servers


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(f"image: {CUDA}\nargs: [{MODEL}]", id="the server image"),
        pytest.param(f"image: ghcr.io/ggerganov/llama.cpp:server-cuda\nargs: [{MODEL}]", id="the old owner"),
        pytest.param(
            f"image: registry.example.com:5000/mirror/llama.cpp:server-cuda\nargs: [{MODEL}]", id="a private mirror"
        ),
        pytest.param(f"image: ghcr.io/ggml-org/llama.cpp:full-cuda\nargs: [--server, {MODEL}]", id="the full image"),
        pytest.param(f"image: example.com/app:1\ncommand: [/app/llama-server, {MODEL}]", id="the program"),
        pytest.param(
            "image: example.com/app:1\ncommand: [sh, -c, 'exec llama-server -m /models/Meta-Llama-3.1-8B-Instruct-Q4_K_M.gguf']",
            id="in a script",
        ),
        pytest.param(
            f"image: example.com/app:1\ncommand: [numactl, --interleave=all, llama-server, {MODEL}]",
            id="behind numactl",
        ),
        pytest.param(
            f"image: example.com/app:1\ncommand: [python3, -m, llama_cpp.server, {MODEL}]", id="llama-cpp-python"
        ),
        pytest.param(
            f"image: {CUDA}\nenv: [{{name: LLAMA_ARG_MODEL, value: /models/Meta-Llama-3.1-8B-Instruct-Q4_K_M.gguf}}]",
            id="by variables alone",
        ),
    ],
)
def test_a_server_is_recognised(lines: str) -> None:
    found = reading.started(f"{lines}\n{GPU}")
    assert reading.values(found, "engine", "checkpoint", "quantization") == [
        "llama.cpp",
        "Meta-Llama-3.1-8B-Instruct",
        "gguf-q4_k_m",
    ]


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(
            f"image: ghcr.io/ggml-org/llama.cpp:full-cuda\nargs: [--run, {MODEL}]", id="the full image, a chat"
        ),
        pytest.param(f"image: ghcr.io/ggml-org/llama.cpp:light-cuda\nargs: [{MODEL}]", id="the command line image"),
        pytest.param(f"image: {CUDA}\ncommand: [sleep, infinity]", id="the image, another command"),
        pytest.param(f"image: ghcr.io/ikawrakow/ik-llama-cpp:1\ncommand: [llama-server, {MODEL}]", id="a fork"),
        pytest.param("image: example.com/app:1\ncommand: [pkill, llama-server]", id="only the word"),
        pytest.param(f"image: example.com/app:1\ncommand: [llama-bench, {MODEL}]", id="a benchmark"),
        pytest.param("image: ghcr.io/mostlygeek/llama-swap:cuda\nargs: [--config, /app/config.yaml]", id="llama-swap"),
    ],
)
def test_what_is_no_server_has_no_engine(lines: str) -> None:
    assert reading.values(reading.started(f"{lines}\n{GPU}"), "engine", "checkpoint") == [None, None]


@pytest.mark.parametrize(
    ("image", "release", "device"),
    [
        ("ghcr.io/ggml-org/llama.cpp:server-cuda-b5000", "0.0.5000", None),
        ("ghcr.io/ggml-org/llama.cpp:server-cuda13-b10236", "0.0.10236", None),
        ("ghcr.io/ggml-org/llama.cpp:server-cuda", None, None),
        ("ghcr.io/ggml-org/llama.cpp:server-rocm-b5000", "0.0.5000", None),
        ("ghcr.io/ggml-org/llama.cpp:server-b5000", "0.0.5000", "cpu"),
        ("ghcr.io/ggml-org/llama.cpp:server", None, "cpu"),
        ("registry.example.com/llama.cpp:server-cuda-b5000@sha256:00", "0.0.5000", None),
        ("registry.example.com/llama.cpp:server-cuda-b5000-patched", "0.0.5000", None),
        ("registry.example.com/llama.cpp:server-cuda-20250801", None, None),
        ("ghcr.io/ggml-org/llama.cpp:server-cuda-1a2b5000", None, None),
    ],
)
def test_the_tag_of_the_image_tells_the_build_and_the_device(
    image: str, release: str | None, device: str | None
) -> None:
    found = reading.server(f"[{MODEL}]", image)
    assert reading.values(found, "engine_version", "device") == [release, device]


# ---- arguments and variables


@pytest.mark.parametrize(
    ("arguments", "quantity", "value"),
    [
        ("[-hf, 'bartowski/Llama-3.3-70B-Instruct-GGUF:Q4_K_M']", "checkpoint", "bartowski/Llama-3.3-70B-Instruct"),
        ("[-hf, 'bartowski/Llama-3.3-70B-Instruct-GGUF:Q4_K_M']", "quantization", "gguf-q4_k_m"),
        ("[-hf, Qwen/Qwen3-8B-GGUF, -hff, Qwen3-8B-Q8_0.gguf]", "quantization", "gguf-q8_0"),
        ("[-m, /models/Qwen3-8B-F16.gguf]", "quantization", "float16"),
        ("[-m, /models/model.gguf]", "checkpoint", "unknown: the name /models/model.gguf does not show it"),
        ("[-hf, Qwen/Qwen3-8B-GGUF]", "quantization", "unknown: the name Qwen/Qwen3-8B-GGUF does not show it"),
        ("[-c, '16384']", "max_model_len", 16_384),
        ("[--ctx_size, '16384']", "max_model_len", 16_384),
        ("[-c, '16384', -np, '4']", "max_model_len", 4096),
        ("[-c, '16384', -np, '4', -kvu]", "max_model_len", 16_384),
        ("[-c, '16384', -np, '-1']", "max_model_len", 16_384),
        ("[--ctx-size]", "max_model_len", "unknown: --ctx-size has no value"),
        ("[-c, 16k]", "max_model_len", "unknown: 16k is not a number"),
        ("[-c, '16384', -np, '4']", "kv_unified", False),
        ("[-ngl, '20']", "gpu_layers", 20),
        ("[-ngl, all]", "gpu_layers", 999),
        ("[-ngl, '99']", "gpu_layers_fitted", False),
        ("[--fit, 'off']", "gpu_layers_fitted", False),
        ("[-ts, '3,1']", "stage_share", 0.75),
        ("[-ts, '3,1']", "pipeline_parallel", 2),
        ("[-sm, none]", "pipeline_parallel", 1),
        ("[-dev, 'CUDA0,CUDA1']", "pipeline_parallel", 2),
        ("[-dev, none]", "device", "cpu"),
        ("[-ctk, q8_0, -ctv, q8_0]", "kv_cache_dtype", "q8_0"),
        ("[-ctk, q8_0]", "kv_cache_dtype", "q8_0/f16"),
        ("[-nkvo]", "kv_needed_bytes", 0),
        ("[--cpu-moe]", "cpu_offload_bytes", "unknown: selected tensors stay in host memory"),
        ("[-ub, '1024']", "max_num_batched_tokens", 1024),
        ("[--rope-scaling, yarn, --yarn-orig-ctx, '32768']", "context_extended", True),
        ("[--rpc, '10.0.0.2:50052']", "multi_node", True),
        ("[--lora, /models/adapter.gguf]", "enable_lora", True),
        ("[-md, /models/draft.gguf]", "speculative", "draft"),
        ("[--override-kv, 'gemma4.context_length=int:262144']", "context_extended", True),
    ],
)
def test_an_argument_is_read_as_llama_server_reads_it(arguments: str, quantity: str, value: object) -> None:
    assert reading.values(reading.server(arguments, CUDA), quantity) == [value]


@pytest.mark.parametrize(
    ("arguments", "quantity"),
    [
        ("[-ngl, auto]", "gpu_layers"),
        ("[-ngl, '-1']", "gpu_layers"),
        ("[-c, '0']", "max_model_len"),
        ("[-np, '-1']", "max_num_seqs"),
        ("[--gpu-lay, '20']", "gpu_layers"),
        ("[-n, '512']", "max_model_len"),
        ("[--spec-type, ngram-mod]", "speculative"),
        ("[--override-kv, 'tokenizer.ggml.add_bos_token=bool:false']", "context_extended"),
    ],
)
def test_what_is_left_to_the_engine_or_is_no_argument_states_nothing(arguments: str, quantity: str) -> None:
    assert reading.values(reading.server(arguments, CUDA), quantity) == [None]


def test_a_variable_states_what_the_command_line_does_not() -> None:
    found = reading.started(
        f"image: {CUDA}\nargs: [{MODEL}, -c, '8192']\n"
        "env: [{name: LLAMA_ARG_CTX_SIZE, value: '4096'}, {name: LLAMA_ARG_N_GPU_LAYERS, value: '99'}]\n"
        f"{GPU}"
    )
    assert reading.values(found, "max_model_len", "gpu_layers") == [8192, 99]
    assert reading.source(found, "gpu_layers") == "'99'"


def test_variables_of_another_object_leave_the_settings_open() -> None:
    found = reading.started(f"image: {CUDA}\nargs: [{MODEL}]\nenvFrom: [{{configMapRef: {{name: llama}}}}]\n{GPU}")
    assert found.open_ended == "envFrom may state further arguments"


def test_llama_cpp_python_has_its_own_arguments_and_defaults() -> None:
    command = "command: [python3, -m, llama_cpp.server, --model, /models/Qwen3-8B-Q8_0.gguf"
    names = ("gpu_layers", "max_model_len", "attention_backend", "gpu_layers_fitted")
    plain = reading.started(f"image: example.com/app:1\n{command}]\n{GPU}")
    assert reading.values(plain, *names) == [0, 2048, "off", False]
    stated = reading.started(f"image: example.com/app:1\n{command}, --n_gpu_layers, '-1', --n_ctx, '8192']\n{GPU}")
    assert reading.values(stated, *names) == [999, 8192, "off", False]


def test_places_are_those_of_the_words() -> None:
    found = reading.server("[-hf, 'bartowski/Llama-3.3-70B-Instruct-GGUF:Q4_K_M', -c, 8192]", CUDA)
    assert reading.source(found, "checkpoint") == "'bartowski/Llama-3.3-70B-Instruct-GGUF:Q4_K_M'"
    assert reading.place(found, "max_model_len") == "8:71-75"


def test_a_part_of_the_context_has_no_place_that_a_suggestion_could_change() -> None:
    found = reading.server("[-c, 8192, -np, 2]", CUDA)
    assert found.fields["max_model_len"].origins == ()


# ---- what a release does not take


@pytest.mark.parametrize(
    ("image", "arguments", "notice", "value"),
    [
        (CUDA, "[--ctx-size=8192]", "unknown_argument", "--ctx-size=8192"),
        (CUDA, "[--no-such-argument]", "unknown_argument", "--no-such-argument"),
        (OLD, "[--fit, 'on']", "unavailable_argument", "--fit"),
        (CUDA, "[-fa, --port, '8080']", "impossible_argument", "-fa without on, off or auto"),
    ],
)
def test_an_argument_that_the_release_refuses_is_noticed(image: str, arguments: str, notice: str, value: str) -> None:
    assert reading.values(reading.server(arguments, image), notice) == [value]


@pytest.mark.parametrize(
    ("image", "arguments"),
    [
        (CUDA, "[-c, '8192', -fa, 'on', --override-tensor, 'exps=CPU', -ngl, '-1']"),
        (OLD, "[-fa, --port, '8080']"),
        ("ghcr.io/ggml-org/llama.cpp:server-cuda", "[--ctx-size=8192, --no-such-argument]"),
        ("ghcr.io/ggml-org/llama.cpp:server-cuda-b10236", "[--load-mode, none, --some-new-argument]"),
    ],
)
def test_what_the_release_may_take_is_not_noticed(image: str, arguments: str) -> None:
    notices = ("unknown_argument", "unavailable_argument", "impossible_argument", "abbreviated_argument")
    assert reading.values(reading.server(arguments, image), *notices) == [None] * 4


def test_no_argument_is_suggested_since_its_value_is_a_word_of_its_own() -> None:
    assert engines.render_argument("llama.cpp", "0.0.8500", "max_model_len", 4096) is None


def test_every_flag_of_the_table_has_a_kind_and_a_source() -> None:
    for name in ("llama_cpp", "llama_cpp_python"):
        with (Path(llama_cpp.__file__).parent / f"{name}_flags.csv").open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        kinds = {"bool", "false", "optional-value", "int", "float", "string", "list"}
        assert [row["flag"] for row in rows if row["kind"] not in kinds or not row["source"]] == []
        assert len({row["flag"] for row in rows}) == len(rows)


# ---- defaults by release, read in the released sources (common/common.h; tools/server/server.cpp)


def known(image: str, arguments: str, gpus: int = 1, product: str = "nvidia-l4") -> Facts:
    """The facts of a pod on cards of a Google Cloud label."""
    role = reading.role(
        f"""
        apiVersion: v1
        kind: Pod
        metadata: {{name: chat}}
        spec:
          nodeSelector: {{cloud.google.com/gke-accelerator: {product}}}
          containers:
            - name: server
              image: {image}
              args: {arguments}
              resources: {{limits: {{nvidia.com/gpu: {gpus}}}}}
        """
    )
    return resolver.resolve(role, architecture.resolve(role.text("checkpoint")))


def expected_value(found: Facts, *names: str) -> list[object]:
    return [found.expected(name) for name in names]


@pytest.mark.parametrize(
    ("build", "values"),
    [
        ("b6000", [0, False, 4096, False, 1, "off"]),
        ("b6400", [999, False, 4096, False, 1, "auto"]),
        ("b7410", [999, True, 131_072, True, 1, "auto"]),
        ("b8500", [999, True, 131_072, True, 4, "auto"]),
    ],
)
def test_defaults_are_those_of_the_build(build: str, values: list[object]) -> None:
    found = known(f"ghcr.io/ggml-org/llama.cpp:server-cuda-{build}", f"[{MODEL}]")
    names = ("gpu_layers", "gpu_layers_fitted", "max_model_len", "max_model_len_fitted", "max_num_seqs")
    assert expected_value(found, *names, "attention_backend") == values


def test_layers_are_spread_over_all_gpus_given() -> None:
    found = known(CUDA, f"[{MODEL}]", gpus=4)
    assert expected_value(found, "pipeline_parallel", "tensor_parallel", "spare_gpus") == [4, 1, 0]


# ---- memory, against figures that others measured

MIB, GIB = 2**20, 2**30


def ends(found: Facts, name: str) -> Scenarios[float]:
    values = found.scenarios(name)
    assert isinstance(values, Scenarios)
    return values  # type: ignore[return-value]


def test_weights_of_a_70b_file_are_what_the_driver_is_asked_for() -> None:
    """ggml-org/llama.cpp issue 24436 (b8780): "allocating 39979.48 MiB on device 1: cudaMalloc failed"."""
    found = known(CUDA, "[-m, llama-3.1-70b-instruct-Q4_K_M.gguf, -ngl, '99']", product="nvidia-rtx-pro-6000")
    asked = ends(found, "weight_bytes_per_gpu")
    assert asked.best <= 39979.48 * MIB <= asked.worst
    assert asked.expected == pytest.approx(39979.48 * MIB, rel=0.02)


def test_a_file_of_an_8b_checkpoint_has_its_published_size() -> None:
    """XiongjieDai/GPU-Benchmarks-on-LLM-Inference, README: Llama 3 8B Q4_K_M is a file of 4.58 GiB."""
    found = known(CUDA, "[-m, Meta-Llama-3-8B-Instruct-Q4_K_M.gguf]")
    assert ends(found, "weight_bytes").expected == pytest.approx(4.58 * GIB, rel=0.01)


def test_the_kv_cache_of_a_3b_checkpoint_is_what_the_log_prints() -> None:
    """SciSharp/LLamaSharp issue 1099 (b4701): "CUDA0 KV buffer size = 144.00 MiB" for 4,096 tokens."""
    found = known(CUDA, "[-m, Qwen2.5-3B-Instruct-Q4_K_M.gguf, -c, '4096', -ngl, '99']")
    assert ends(found, "kv_needed_bytes").expected == 144 * MIB


def test_a_quantised_cache_takes_34_bytes_for_32_values() -> None:
    """llama.cpp, ggml/src/ggml-common.h, block_q8_0."""
    found = known(CUDA, "[-m, Qwen2.5-3B-Instruct-Q4_K_M.gguf, -c, '4096', -ngl, '99', -ctk, q8_0, -ctv, q8_0]")
    assert ends(found, "kv_needed_bytes").expected == 144 * MIB * 34 / 64


def test_slots_split_the_context_and_do_not_multiply_it() -> None:
    one = known(CUDA, f"[{MODEL}, -c, '16384', -np, '1']")
    four = known(CUDA, f"[{MODEL}, -c, '16384', -np, '4']")
    assert expected_value(four, "max_model_len", "max_num_seqs") == [4096, 4]
    assert expected_value(one, "kv_needed_bytes") == expected_value(four, "kv_needed_bytes")


def test_layers_left_to_the_cpu_take_neither_weights_nor_cache_of_the_gpu() -> None:
    whole = known(CUDA, f"[{MODEL}, -c, '4096', -ngl, '33']")
    half = known(CUDA, f"[{MODEL}, -c, '4096', -ngl, '17']")
    for name in ("weight_bytes_per_gpu", "kv_needed_bytes"):
        assert ends(half, name).expected == ends(whole, name).expected / 2


def test_what_the_engine_fits_is_never_more_than_the_card_holds() -> None:
    found = known(CUDA, "[-hf, 'bartowski/Llama-3.3-70B-Instruct-GGUF:Q4_K_M', -c, '8192']")
    weights, memory = ends(found, "weight_bytes_per_gpu"), ends(found, "device_memory_bytes")
    assert weights.worst <= memory.best
    assert ends(found, "kv_cache_bytes").worst >= ends(found, "kv_needed_bytes").worst
    assert ends(found, "unplaced_bytes").best > 15 * GIB


@pytest.mark.parametrize("term", ["non_torch_bytes", "activation_slack_bytes", "sampler_bytes_per_logit"])
def test_more_of_a_fitted_term_never_leaves_more_memory(term: str) -> None:
    found = known(CUDA, f"[{MODEL}, -c, '8192', -ngl, '99']")
    left = [
        resolver.resolve(found.role.having(**{term: Field(amount)}), found.resolved).expected("headroom_bytes")
        for amount in (0, 4, 2**28, 2**30)
    ]
    assert left == sorted(left, reverse=True)  # type: ignore[type-var]
    assert left[0] > left[-1]  # type: ignore[operator]


def test_a_format_that_no_gguf_file_has_is_not_sized() -> None:
    found = known(CUDA, "[-m, Meta-Llama-3.1-8B-Instruct-F16.gguf, -ngl, '99']")
    asked = resolver.resolve(found.role.having(quantization=Field("fp8")), found.resolved)
    assert found.expected("bytes_per_weight") == 2.0
    assert isinstance(asked.scenarios("weight_bytes"), Missing)


def test_gpt_oss_keeps_its_experts_in_mxfp4_under_any_name() -> None:
    assert expected_value(known(CUDA, "[-hf, 'unsloth/gpt-oss-20b-GGUF:F16']"), "weight_format") == ["mxfp4"]


def test_unified_memory_makes_the_size_of_the_card_unknown() -> None:
    spec = f"""
apiVersion: v1
kind: Pod
metadata: {{name: chat}}
spec:
  nodeSelector: {{cloud.google.com/gke-accelerator: nvidia-l4}}
  containers:
    - name: server
      image: {CUDA}
      args: [-hf, "bartowski/Llama-3.3-70B-Instruct-GGUF:Q4_K_M"]
      env: [{{name: GGML_CUDA_ENABLE_UNIFIED_MEMORY, value: "1"}}]
      resources: {{limits: {{nvidia.com/gpu: 1}}}}
"""
    found = report(spec)
    assert of_rule(found, "layers-fall-back-to-cpu") == []
    assert "layers-fall-back-to-cpu" in not_evaluated(found)


# ---- names of files and repositories


@pytest.mark.parametrize(
    ("path", "checkpoint", "quantization"),
    [
        ("/models/qwen2.5-7b-instruct-q4_k_m.gguf", "qwen2.5-7b-instruct", "gguf-q4_k_m"),
        ("llama-2-7b.Q5_K_S.gguf", "llama-2-7b", "gguf-q5_k_s"),
        ("UD-IQ4_XS/GLM-4.7-UD-IQ4_XS-00001-of-00004.gguf", "GLM-4.7", "gguf-ud-iq4_xs"),
        ("https://huggingface.co/x/y/resolve/main/Qwen3-8B-Q8_0.gguf", "Qwen3-8B", "gguf-q8_0"),
        ("gpt-oss-20b-mxfp4.gguf", "gpt-oss-20b", "mxfp4"),
        ("Carnice-V2-27B-Q5_K_M-mtp.gguf", "Carnice-V2-27B-Q5_K_M-mtp", ""),
        ("/models/model.gguf", "", ""),
        ("/models/ggml-model-q4_0.gguf", "", "gguf-q4_0"),
        ("/models/Qwen3-8B/q4_0.gguf", "", "gguf-q4_0"),
    ],
)
def test_the_name_of_a_file_tells_checkpoint_and_type_or_nothing(path: str, checkpoint: str, quantization: str) -> None:
    assert gguf_names.parse_file_name(path) == (checkpoint, quantization)


@pytest.mark.parametrize(
    ("reference", "checkpoint", "quantization"),
    [
        ("bartowski/Llama-3.3-70B-Instruct-GGUF:Q4_K_M", "bartowski/Llama-3.3-70B-Instruct", "gguf-q4_k_m"),
        ("ggml-org/gemma-3-12b-it-gguf:q8_0", "ggml-org/gemma-3-12b-it", "gguf-q8_0"),
        ("ggml-org/gemma-3-12b-it-GGUF:latest", "ggml-org/gemma-3-12b-it", ""),
        ("ggml-org/gemma-3-12b-it-GGUF", "ggml-org/gemma-3-12b-it", ""),
    ],
)
def test_the_name_of_a_repository_tells_the_checkpoint(reference: str, checkpoint: str, quantization: str) -> None:
    assert gguf_names.parse_repository(reference) == (checkpoint, quantization)
