"""KubeAI: the profile that a Model asks for, and the command that KubeAI makes of its engine, URL and arguments."""

from __future__ import annotations

import pytest
import reading
import samples

from gpulint.engines.serving import ollama
from gpulint.facts import checkpoints, resolver
from gpulint.workload import Role

MODEL = """
apiVersion: kubeai.org/v1
kind: Model
metadata:
  name: chat
spec:
  features: [TextGeneration]
  url: hf://Qwen/Qwen3-8B
  engine: VLLM
  args:
    - --max-model-len=8192
    - --tensor-parallel-size=2
    - --pipeline-parallel-size=4
  env:
    VLLM_ATTENTION_BACKEND: FLASHINFER
  minReplicas: 0
  resourceProfile: nvidia-gpu-l4:8
"""


def model(old: str = "", new: str = "") -> Role:
    assert old in MODEL
    return reading.role(MODEL.replace(old, new) if old else MODEL)


def test_a_model_is_an_inference_service_of_one_pod() -> None:
    found = reading.workload(MODEL)
    assert (found.name, found.kind, found.adapter) == ("chat", "inference", "kubeai")
    (role,) = found.roles
    assert reading.values(role, "engine", "checkpoint", "max_model_len", "tensor_parallel", "pipeline_parallel") == [
        "vllm",
        "Qwen/Qwen3-8B",
        8192,
        2,
        4,
    ]
    assert reading.values(role, "attention_backend", "shared_memory_default", "pods_per_replica") == [
        "FLASHINFER",
        False,
        1,
    ]


def test_each_word_has_its_place() -> None:
    role = model()
    assert [reading.source(role, name) for name in ("engine", "checkpoint", "tensor_parallel", "gpus_per_pod")] == [
        "VLLM",
        "Qwen/Qwen3-8B",
        "--tensor-parallel-size=2",
        "8",
    ]
    assert reading.source(role, "accelerator") == "nvidia-gpu-l4"
    assert role.arguments is not None
    assert role.arguments.text() == "--pipeline-parallel-size=4"


def test_two_ranks_and_four_stages_fill_eight_cards() -> None:
    role = model()
    assert (
        resolver.resolve(role, checkpoints.resolve(role, "x", samples.ExampleRepository(), None)).expected("spare_gpus")
        == 0
    )


@pytest.mark.parametrize(
    ("profile", "product", "gpus"),
    [
        ("nvidia-gpu-l4:1", "l4", 1),
        ("nvidia-gpu-h100:8", "h100-sxm-80gb", 8),
        ("nvidia-gpu-a100-80gb:8", "a100-sxm4-80gb", 8),
        ("nvidia-gpu-l40s:1", "l40s", 1),
        ("nvidia-gpu-gh200:1", "gh200-96gb", 1),
        ("nvidia-gpu-rtx4090-24gb:1", "rtx-4090", 1),
        ("amd-gpu-mi300x:8", "mi300x", 8),
        (
            "nvidia-gpu-rtx4070-8gb:1",
            "unknown: the catalog has no accelerator for the profile nvidia-gpu-rtx4070-8gb",
            1,
        ),
        (
            "my-gpu:2",
            "unknown: the cluster defines the profile my-gpu",
            "unknown: the cluster defines the profile my-gpu",
        ),
        ("nvidia-gpu-l4", "l4", "unknown: the count of nvidia-gpu-l4 is not a number"),
    ],
)
def test_a_profile_of_the_chart_names_its_accelerator(profile: str, product: str | None, gpus: object) -> None:
    role = model("nvidia-gpu-l4:8", profile)
    assert reading.values(role, "accelerator", "gpus_per_pod") == [product, gpus]


def test_that_a_profile_is_the_charts_is_assumed_aloud() -> None:
    assert (
        model().fields["accelerator"].assumption
        == "the profile nvidia-gpu-l4 is assumed to be the one in KubeAI's chart"
    )


def test_a_profile_of_the_cpu_needs_no_gpu() -> None:
    assert reading.values(model("nvidia-gpu-l4:8", "cpu:4"), "device", "gpus_per_pod") == ["cpu", 0]


@pytest.mark.parametrize(
    ("lines", "replicas"),
    [
        ("minReplicas: 8\n  maxReplicas: 8", 8),
        ("minReplicas: 0", "unknown: KubeAI's autoscaler decides the number of replicas"),
        ("minReplicas: 1\n  maxReplicas: 3", "unknown: KubeAI's autoscaler decides the number of replicas"),
    ],
)
def test_replicas_are_known_where_nothing_scales_them(lines: str, replicas: object) -> None:
    assert reading.values(model("minReplicas: 0", lines), "replicas") == [replicas]


def test_an_abbreviated_argument_is_noticed_at_its_place() -> None:
    role = model("--max-model-len=8192", "--max-num-batched-token=8192")
    assert reading.values(role, "abbreviated_argument", "max_num_batched_tokens") == ["--max-num-batched-token", 8192]
    assert reading.source(role, "abbreviated_argument") == "--max-num-batched-token=8192"


def test_a_release_is_known_from_an_image_of_ones_own() -> None:
    assert reading.values(model(), "engine_version") == [None]
    pinned = model("engine: VLLM", "engine: VLLM\n  image: vllm/vllm-openai:v0.10.1")
    assert reading.values(pinned, "engine_version") == ["0.10.1"]


def test_a_bucket_keeps_its_address() -> None:
    assert reading.values(model("hf://Qwen/Qwen3-8B", "s3://bucket/Qwen3-8B"), "checkpoint") == ["s3://bucket/Qwen3-8B"]


def test_without_arguments_there_is_no_place_for_another() -> None:
    text = MODEL.replace(MODEL[MODEL.index("  args:") : MODEL.index("  env:")], "")
    assert reading.role(text).arguments is None


@pytest.mark.parametrize("engine", ["Infinity", "FasterWhisper"])
def test_engines_that_are_not_read_have_a_checkpoint_all_the_same(engine: str) -> None:
    assert reading.values(model("engine: VLLM", f"engine: {engine}"), "engine", "checkpoint") == [None, "Qwen/Qwen3-8B"]


def test_an_ollama_name_is_looked_up_with_its_type(monkeypatch: pytest.MonkeyPatch) -> None:
    row = {"name": "llama3.3", "tag": "70b", "checkpoint": "meta-llama/Llama-3.3-70B-Instruct", "type": "Q4_K_M"}
    monkeypatch.setattr(ollama, "_list_models", lambda: {"llama3.3:70b": row})
    text = MODEL.replace("hf://Qwen/Qwen3-8B", "ollama://llama3.3:70b").replace("engine: VLLM", "engine: OLlama")
    role = reading.role(text.replace(MODEL[MODEL.index("  args:") : MODEL.index("  env:")], ""))
    assert reading.values(role, "engine", "checkpoint", "quantization") == ["ollama", row["checkpoint"], "gguf-q4_k_m"]
    assert reading.source(role, "checkpoint") == "llama3.3:70b"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(MODEL.replace("kubeai.org/v1", "example.com/v1"), id="another group"),
        pytest.param(MODEL.replace("kind: Model", "kind: ModelList"), id="another kind"),
        pytest.param(MODEL.replace("  url: hf://Qwen/Qwen3-8B\n", ""), id="no URL"),
    ],
)
def test_another_object_is_no_model(text: str) -> None:
    assert [found for found in reading.workloads(text) if found.adapter == "kubeai"] == []
