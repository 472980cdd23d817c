"""Truss: which files are one, the accelerator, the start command with its places, and the TensorRT-LLM build."""

from __future__ import annotations

import textwrap

import pytest
import reading
import samples

from gpulint.workload import Field, Unknown

RESOURCES = "resources: {accelerator: 'H100:2', use_gpu: true}\n"


def truss(lines: str) -> str:
    return f"model_name: chat\n{RESOURCES}" + textwrap.dedent(lines)


def started(command: str, more: str = "") -> str:
    return truss(
        f"base_image: {{image: 'vllm/vllm-openai:v0.10.1'}}\ndocker_server:\n  start_command: {command}\n{more}"
    )


# ---- which files are one


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("model_name: x\nresources: {accelerator: L4}", id="a model's own code"),
        pytest.param("trt_llm: {build: {}}\nresources: {accelerator: L4, cpu: '1', memory: 10Gi}", id="a build"),
        pytest.param("base_image: {image: x}\nresources: {accelerator: 'H100:8', node_count: 2}", id="several nodes"),
    ],
)
def test_a_mapping_of_its_keys_is_a_truss(text: str) -> None:
    assert reading.workload(text).adapter == "truss"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("model_name: x\nresources: {limits: {nvidia.com/gpu: 1}}", id="Helm values"),
        pytest.param("resources: {accelerator: L4}", id="nothing else of it"),
        pytest.param("resources: {accelerators: 'L4:1'}\nmodel_name: x", id="SkyPilot"),
        pytest.param(
            "apiVersion: v1\nkind: Foo\nmodel_name: x\nresources: {accelerator: L4}", id="a Kubernetes object"
        ),
        pytest.param("model_name: x\nresources: {cpu: '1', memory: 2Gi}", id="no accelerator"),
        pytest.param("- model_name: x", id="a list"),
    ],
)
def test_another_file_is_none(text: str) -> None:
    assert [found for found in reading.workloads(text) if found.adapter == "truss"] == []


# ---- what it runs on


@pytest.mark.parametrize(
    ("accelerator", "product", "mig_profile", "count"),
    [
        ("H100:2", "h100-sxm-80gb", None, 2),
        ("H100", "h100-sxm-80gb", None, 1),
        ("H100_40GB", "h100-sxm-80gb", "3g.40gb", 1),
        ("A100", "a100-sxm4-80gb", None, 1),
        ("A100_40GB", "a100-sxm4-40gb", None, 1),
        ("L4:4", "l4", None, 4),
        ("A10G", "a10g", None, 1),
        ("T4", "t4", None, 1),
        ("B200:8", "b200-sxm-180gb", None, 8),
        ("RTX_PRO_6000", "unknown: the accelerator RTX_PRO_6000 is not known", None, 1),
        ("TPU", "unknown: the accelerator TPU is not known", None, 1),
        ("H100:many", "h100-sxm-80gb", None, "unknown: the count of H100:many is not a number"),
    ],
)
def test_the_accelerator_is_one_of_basetens_names(
    accelerator: str, product: str, mig_profile: str | None, count: object
) -> None:
    role = reading.role(f"model_name: x\nresources: {{accelerator: '{accelerator}'}}")
    assert reading.values(role, "accelerator", "mig_profile", "gpus_per_pod") == [product, mig_profile, count]


def test_name_and_count_have_a_place_each() -> None:
    role = reading.role("model_name: x\nresources:\n  accelerator: H100:2\n")
    assert (reading.place(role, "accelerator"), reading.place(role, "gpus_per_pod")) == ("3:16-20", "3:21-22")


def test_a_count_that_is_not_written_has_no_place() -> None:
    role = reading.role("model_name: x\nresources: {accelerator: H100}")
    assert role.fields["gpus_per_pod"] == Field(1, (), source="default: one GPU")


def test_other_products_are_proposed_under_the_names_that_baseten_has() -> None:
    text = started("vllm serve meta-llama/Llama-3.1-70B-Instruct --max-model-len 8192").replace("H100:2", "H100:1")
    (finding,) = samples.of_rule(samples.report(text, "config.yaml"), "weights-exceed-memory")
    named = {edit.new for one in finding.suggestions for edit in one.edits if edit.quantity == "accelerator"}
    assert finding.suggestions
    assert named <= {"A10G", "A100", "A100_40GB", "B200", "B300", "GB300", "H200", "L4", "L40S", "T4"}


def test_several_nodes_form_one_instance() -> None:
    role = reading.role("model_name: x\nresources: {accelerator: 'H100:8', node_count: 2}")
    assert reading.values(role, "pods_per_replica", "gpus_per_replica") == [2, 16]


def test_an_instance_type_counts_more_than_an_accelerator() -> None:
    role = reading.role("model_name: x\nresources: {accelerator: 'H100:2', instance_type: 'L4:4x16'}")
    reason = "unknown: the accelerator depends on Baseten's instance L4:4x16"
    assert reading.values(role, "accelerator", "gpus_per_pod") == [reason, reason]


# ---- the start command


def test_a_command_in_quotes_has_exact_places() -> None:
    role = reading.role(started('sh -c "vllm serve Qwen/Qwen3-8B --tensor-parallel-size 2 --max-model-len=8192"'))
    assert reading.values(role, "engine", "engine_version", "checkpoint", "tensor_parallel", "max_model_len") == [
        "vllm",
        "0.10.1",
        "Qwen/Qwen3-8B",
        2,
        8192,
    ]
    assert reading.source(role, "checkpoint") == "Qwen/Qwen3-8B"
    assert reading.source(role, "tensor_parallel") == "2"
    assert reading.source(role, "max_model_len") == "--max-model-len=8192"


def test_a_command_without_a_shell_is_read_too() -> None:
    role = reading.role(started("vllm serve Qwen/Qwen3-8B --tensor-parallel-size 2"))
    assert (reading.values(role, "tensor_parallel"), reading.source(role, "tensor_parallel")) == ([2], "2")


def test_places_survive_escaped_quotes_and_folded_lines() -> None:
    command = """>-
        sh -c "TOKEN=x vllm serve Qwen/Qwen3-8B
        --override \\"a b\\"
        --tensor-parallel-size 2"
    """
    role = reading.role(truss(f"docker_server:\n  start_command: {command}"))
    assert (reading.values(role, "tensor_parallel"), reading.source(role, "tensor_parallel")) == ([2], "2")


@pytest.mark.parametrize(
    "command",
    [
        'sh -c "GPUS=$(nvidia-smi --list-gpus | wc -l); vllm serve Qwen/Qwen3-8B --tensor-parallel-size $GPUS"',
        'sh -c "vllm serve Qwen/Qwen3-8B --tensor-parallel-size $(nvidia-smi -L | wc -l)"',
    ],
)
def test_a_size_counted_at_the_start_is_the_number_of_gpus(command: str) -> None:
    assert reading.role(started(f"'{command}'")).value("tensor_parallel") == 2


@pytest.mark.parametrize(
    "command",
    [
        pytest.param("python3 /app/server.py --tensor-parallel-size 2", id="a program of one's own"),
        pytest.param("'sh -c \"python3 server.py & vllm bench latency\"'", id="another subcommand"),
        pytest.param("'sh -c vllm'", id="no script"),
    ],
)
def test_a_command_that_starts_no_known_engine_has_none(command: str) -> None:
    assert reading.values(reading.role(started(command)), "engine") == [None]


def test_a_branch_leaves_open_what_runs() -> None:
    role = reading.role(started("'sh -c \"if test -e /a; then vllm serve Qwen/Qwen3-8B; fi\"'"))
    assert (reading.values(role, "engine", "checkpoint"), role.open_ended) == (
        ["vllm", None],
        "the start command decides what runs",
    )


@pytest.mark.parametrize(
    ("mounts", "place"),
    [
        ("weights: [{source: 'hf://Qwen/Qwen3-8B@main', mount_location: /models/q}]", "/models/q/"),
        (
            "model_cache: [{repo_id: Qwen/Qwen3-8B, revision: main, use_volume: true, volume_folder: q}]",
            "/app/model_cache/q",
        ),
    ],
)
def test_a_path_where_weights_are_mounted_is_their_checkpoint(mounts: str, place: str) -> None:
    role = reading.role(started(f"'sh -c \"vllm serve {place}\"'", mounts))
    assert reading.values(role, "checkpoint") == ["Qwen/Qwen3-8B"]
    assert (reading.source(role, "checkpoint"), reading.source(role, "checkpoint", 1)) == ("Qwen/Qwen3-8B", place)


def test_weights_from_elsewhere_keep_their_path() -> None:
    mounts = "weights: [{source: 's3://bucket/q', mount_location: /models/q}]"
    assert reading.values(reading.role(started("'sh -c \"vllm serve /models/q\"'", mounts)), "checkpoint") == [
        "/models/q"
    ]


def test_a_comment_states_nothing() -> None:
    role = reading.role("# vllm serve x --tensor-parallel-size 2\n" + started("vllm serve Qwen/Qwen3-8B"))
    assert reading.values(role, "tensor_parallel") == [None]


def test_an_image_that_is_run_as_it_is_has_its_own_entry_point() -> None:
    role = reading.role(truss("base_image: {image: 'vllm/vllm-openai:v0.10.1'}\ndocker_server: {no_build: true}"))
    assert (reading.values(role, "engine"), role.open_ended != "") == (["vllm"], True)


# ---- the name


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("Llama 3 70B Instruct", 70e9),
        ("llama-3.1-8b", 8e9),
        ("Qwen3-30B-A3B", 30e9),
        ("Mixtral 8x7B", None),
        ("7B against 70B", None),
        ("Stable Diffusion XL", None),
    ],
)
def test_a_name_with_one_count_states_it(name: str, count: float | None) -> None:
    role = reading.role(f"model_name: {name}\nresources: {{accelerator: L4}}")
    assert reading.values(role, "stated_parameters") == [count]


def test_the_count_is_found_in_the_name() -> None:
    role = reading.role(
        "model_name: Llama 3 70B Instruct\nmodel_metadata: {repo_id: a/b-8B}\nresources: {accelerator: L4}"
    )
    assert (reading.source(role, "stated_parameters"), reading.values(role, "checkpoint")) == ("70B", ["a/b-8B"])


# ---- builds


def built(build: str, more: str = "") -> str:
    repository = "checkpoint_repository: {source: HF, repo: Qwen/Qwen2.5-7B-Instruct}"
    return truss(f"trt_llm:\n  build: {{base_model: decoder, {repository}, {build}}}\n{more}")


def test_a_build_states_what_the_engine_is_made_for() -> None:
    role = reading.role(
        built("max_seq_len: 32768, tensor_parallel_count: 2, quantization_type: fp8_kv, max_batch_size: 16")
    )
    names = (
        "engine",
        "checkpoint",
        "max_model_len",
        "tensor_parallel",
        "quantization",
        "kv_cache_dtype",
        "max_num_seqs",
    )
    assert reading.values(role, *names) == ["tensorrt-llm", "Qwen/Qwen2.5-7B-Instruct", 32768, 2, "fp8", "fp8", 16]
    assert reading.source(role, "max_model_len") == "32768"


def test_what_a_build_leaves_out_is_trusss_default() -> None:
    """truss v0.18.26 truss/base/trt_llm_config.py, TrussTRTLLMBuildConfiguration and -RuntimeConfiguration."""
    role = reading.role(built("quantization_type: no_quant"))
    names = ("tensor_parallel", "pipeline_parallel", "max_num_seqs", "max_num_batched_tokens", "kv_cache_free_fraction")
    assert reading.values(role, *names) == [1, 1, 256, 8192, 0.9]
    assert reading.values(role, "quantization", "max_model_len", "max_model_len_stated") == [
        None,
        "unknown: the engine chooses the longest length that fits",
        False,
    ]


def test_the_second_stack_states_them_for_the_run() -> None:
    runtime = "  inference_stack: v2\n  runtime: {max_seq_len: 16384, tensor_parallel_size: 2}\n"
    role = reading.role(built("quantization_type: fp8", runtime))
    assert reading.values(role, "tensor_parallel", "max_model_len") == [2, 16384]


@pytest.mark.parametrize("base_model", ["encoder", "encoder_bert", "whisper"])
def test_an_encoder_has_a_checkpoint_and_no_engine_with_a_kv_cache(base_model: str) -> None:
    role = reading.role(built("").replace("base_model: decoder", f"base_model: {base_model}"))
    assert reading.values(role, "engine", "checkpoint") == [None, "Qwen/Qwen2.5-7B-Instruct"]


def test_weights_of_a_bucket_are_not_known() -> None:
    role = reading.role(built("").replace("source: HF", "source: S3"))
    assert reading.values(role, "engine", "checkpoint") == [
        "tensorrt-llm",
        "unknown: the weights are not from Hugging Face",
    ]


# ---- what explains the rest


@pytest.mark.parametrize(
    ("lines", "checkpoint"),
    [
        pytest.param("python_version: py311", "unknown: own program", id="nothing is said"),
        pytest.param("model_cache: [{repo_id: a/b, volume_folder: x}]", "a/b", id="the one that is cached"),
        pytest.param("weights: [{source: 'hf://a/b@main', mount_location: /x}]", "a/b", id="the one that is mounted"),
        pytest.param(
            "model_cache: [{repo_id: a/b, volume_folder: x}, {repo_id: c/d, volume_folder: y}]",
            "unknown: own program",
            id="one of two",
        ),
        pytest.param("model_metadata: {repo_id: e/f}", "e/f", id="the one that the metadata names"),
    ],
)
def test_a_models_own_code_decides_what_is_not_said(lines: str, checkpoint: str) -> None:
    role = reading.role(truss(lines))
    found = [role.value(name) for name in ("engine", "checkpoint")]
    assert [f"unknown: {one.category}" if isinstance(one, Unknown) else one for one in found] == [
        "unknown: own program",
        checkpoint,
    ]


def test_encoders_are_served_by_basetens_own_program() -> None:
    role = reading.role(
        truss("trt_llm: {build: {base_model: encoder_bert, checkpoint_repository: {source: HF, repo: a/b}}}")
    )
    assert reading.values(role, "program", "engine", "checkpoint") == ["Baseten Embeddings Inference", None, "a/b"]


@pytest.mark.parametrize("name", ["engine-qwen-3-06b", "llama-4-maverick-17b-128e-instruct"])
def test_a_number_that_is_no_size_states_none(name: str) -> None:
    assert reading.role(f"model_name: {name}\n{RESOURCES}").value("stated_parameters") is None
