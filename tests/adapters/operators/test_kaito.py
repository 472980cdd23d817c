"""KAITO: a preset is a checkpoint on a machine type; how it is spread is KAITO's to decide."""

from __future__ import annotations

import pytest
import reading

from gpulint.workload import Unknown

WORKSPACE = """
apiVersion: kaito.sh/v1beta1
kind: Workspace
metadata: {name: chat}
resource:
  instanceType: Standard_NC48ads_A100_v4
  labelSelector: {matchLabels: {apps: chat}}
inference:
  preset: {name: llama-3.3-70b-instruct}
"""


def test_a_preset_is_a_checkpoint_on_whole_machines() -> None:
    found = reading.workload(WORKSPACE)
    assert (found.name, found.kind, found.adapter) == ("chat", "inference", "kaito")
    (role,) = found.roles
    assert reading.values(
        role, "checkpoint", "instance_type", "accelerator", "gpus_per_pod", "shared_memory_default"
    ) == [
        "meta-llama/Llama-3.3-70B-Instruct",
        "Standard_NC48ads_A100_v4",
        "a100-pcie-80gb",
        2,
        False,
    ]
    assert reading.source(role, "checkpoint") == "llama-3.3-70b-instruct"
    assert reading.source(role, "accelerator") == "Standard_NC48ads_A100_v4"


def test_how_it_is_spread_is_not_stated() -> None:
    role = reading.role(WORKSPACE)
    reason = "unknown: KAITO spreads the model over GPUs and nodes by its size"
    assert reading.values(role, "gpus_per_replica", "replicas", "tensor_parallel", "pipeline_parallel") == [reason] * 4
    assert role.open_ended == "KAITO writes the engine's arguments"


@pytest.mark.parametrize(
    ("preset", "checkpoint"),
    [
        ("phi-4-mini-instruct", "microsoft/Phi-4-mini-instruct"),
        ("gemma-3-27b-instruct", "google/gemma-3-27b-it"),
        ("deepseek-v3-0324", "deepseek-ai/DeepSeek-V3-0324"),
        ("microsoft/phi-4", "microsoft/phi-4"),
        ("my-model", "unknown: the catalog does not know the preset my-model"),
    ],
)
def test_a_preset_has_the_checkpoint_of_kaitos_list(preset: str, checkpoint: str) -> None:
    """kaito v0.12.0 presets/workspace/models/supported_models.yaml."""
    role = reading.role(WORKSPACE.replace("llama-3.3-70b-instruct", preset))
    assert reading.values(role, "checkpoint") == [checkpoint]


def test_without_a_machine_type_nothing_is_known_of_the_hardware() -> None:
    role = reading.role(WORKSPACE.replace("  instanceType: Standard_NC48ads_A100_v4\n", ""))
    assert role.value("accelerator") == Unknown("the labels choose the nodes", "queue or partition")
    assert role.value("gpus_per_pod") == Unknown("the machines are not named", "queue or partition")


def test_a_part_of_a_machine_is_not_the_whole() -> None:
    text = WORKSPACE.replace("  labelSelector", "  partition: {mode: mig, profile: 1g.10gb}\n  labelSelector")
    assert reading.values(reading.role(text), "gpus_per_pod") == ["unknown: only part of the machine is requested"]


def test_tuning_is_training() -> None:
    assert reading.workload(WORKSPACE.replace("inference:", "tuning:")).kind == "training"


def test_a_set_states_its_workspaces_in_a_template() -> None:
    text = """
    apiVersion: kaito.sh/v1alpha1
    kind: InferenceSet
    metadata: {name: phi}
    spec:
      replicas: 2
      template:
        resource: {instanceType: Standard_NC24ads_A100_v4}
        inference: {preset: {name: phi-4-mini-instruct}}
    """
    assert reading.values(reading.role(text), "checkpoint", "gpus_per_pod") == ["microsoft/Phi-4-mini-instruct", 1]


def test_a_template_is_a_pod_on_the_machine() -> None:
    text = """
    apiVersion: kaito.sh/v1beta1
    kind: Workspace
    metadata: {name: own}
    resource: {instanceType: Standard_NC24ads_A100_v4}
    inference:
      template:
        spec:
          containers:
            - name: server
              image: vllm/vllm-openai:v0.10.1
              args: [--model=Qwen/Qwen3-8B]
              resources: {limits: {nvidia.com/gpu: 1}}
    """
    role = reading.role(text)
    assert reading.values(role, "engine", "checkpoint", "gpus_per_pod", "accelerator") == [
        "vllm",
        "Qwen/Qwen3-8B",
        1,
        "a100-pcie-80gb",
    ]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(WORKSPACE.replace("kaito.sh/v1beta1", "example.com/v1"), id="another group"),
        pytest.param(WORKSPACE.replace("inference:\n  preset: {name: llama-3.3-70b-instruct}\n", ""), id="no preset"),
    ],
)
def test_another_object_is_none(text: str) -> None:
    assert reading.workloads(text) == []


@pytest.mark.parametrize(
    ("runtime", "engine"),
    [("", "vllm"), ("vllm", "vllm"), ("transformers", "unknown: the runtime transformers serves the model")],
)
def test_vllm_serves_unless_an_annotation_says_otherwise(runtime: str, engine: str) -> None:
    metadata = (
        f"metadata: {{name: chat, annotations: {{kaito.sh/runtime: {runtime}}}}}"
        if runtime
        else "metadata: {name: chat}"
    )
    role = reading.role(WORKSPACE.replace("metadata: {name: chat}", metadata))
    assert reading.values(role, "engine") == [engine]


CONFIG = """
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data:
  inference_config.yaml: |
    max_probe_steps: 6
    vllm:
      gpu-memory-utilization: 0.95
      max-model-len: 131072
      tensor-parallel-size: 2
---
"""


def test_a_config_map_states_arguments_but_not_how_the_model_is_spread() -> None:
    text = CONFIG + WORKSPACE.replace("  preset:", "  config: settings\n  preset:")
    (found,) = [one for one in reading.workloads(text) if one.adapter == "kaito"]
    (role,) = found.roles
    assert reading.values(role, "gpu_memory_utilization", "max_model_len") == [0.95, 131072]
    assert reading.source(role, "max_model_len") == "131072"
    assert isinstance(role.value("tensor_parallel"), Unknown)


def test_another_config_map_states_nothing() -> None:
    text = CONFIG + WORKSPACE.replace("  preset:", "  config: others\n  preset:")
    (found,) = [one for one in reading.workloads(text) if one.adapter == "kaito"]
    (role,) = found.roles
    assert reading.values(role, "gpu_memory_utilization", "max_model_len_fitted", "kaito_context_tokens") == [
        0.84,
        True,
        2048,
    ]
    assert isinstance(role.value("max_model_len"), Unknown)


def test_prefill_and_decode_have_machines_of_their_own() -> None:
    text = """
    apiVersion: kaito.sh/v1alpha1
    kind: MultiRoleInference
    metadata: {name: pd}
    spec:
      model: {name: deepseek-ai/DeepSeek-V3}
      roles:
        - {type: prefill, replicas: 2, instanceType: Standard_NC24ads_A100_v4}
        - {type: decode, instanceType: Standard_NC48ads_A100_v4}
    """
    found = reading.workload(text)
    assert [role.name for role in found.roles] == ["prefill", "decode"]
    assert [reading.values(role, "gpus_per_pod", "replicas", "checkpoint") for role in found.roles] == [
        [1, 2, "deepseek-ai/DeepSeek-V3"],
        [2, 1, "deepseek-ai/DeepSeek-V3"],
    ]


def test_a_rag_engine_embeds_on_the_machine_that_it_asks_for() -> None:
    text = """
    apiVersion: kaito.sh/v1alpha1
    kind: RAGEngine
    metadata: {name: rag}
    spec:
      compute: {instanceType: Standard_NC24ads_A100_v4}
      embedding: {local: {modelID: BAAI/bge-small-en-v1.5}}
    """
    role = reading.role(text)
    assert reading.values(role, "gpus_per_pod", "checkpoint", "engine") == [1, "BAAI/bge-small-en-v1.5", None]
    assert reading.workloads(text.replace("Standard_NC24ads_A100_v4", "Standard_D2s_v4")) == []
