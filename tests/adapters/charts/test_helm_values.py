"""Helm values: which files are, which chart they are of, and the pods that the chart makes of them."""

from __future__ import annotations

import textwrap

import pytest
import reading
import samples
from reading import claimed

from gpulint import adapters
from gpulint.adapters.charts import Values, generic
from gpulint.report.model import Severity
from gpulint.source import documents
from gpulint.workload import Role, Unknown, Workload


def workloads(text: str, path: str = "values.yaml") -> list[Workload]:
    loaded = documents.load(path, textwrap.dedent(text).lstrip("\n").encode())
    return [one for document in loaded.documents for one in adapters.read(document, samples.ExampleRepository())]


def role(text: str, path: str = "values.yaml") -> Role:
    (found,) = workloads(text, path)
    (only,) = found.roles
    return only


def lines(text: str, rule: str, path: str = "values.yaml") -> list[int]:
    """The lines at which a rule speaks."""
    return [
        one.location.line for one in samples.of_rule(samples.report(textwrap.dedent(text).lstrip("\n"), path), rule)
    ]


# ---- which files are values


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("resources: {limits: {memory: 1Gi}}", "charts/chat/values.yaml"),
        ("tolerations: [{key: nvidia.com/gpu, operator: Exists}]", "helm-values/device-plugin.yaml"),
        ("replicaCount: 2", "deploy/my-app-values-prod.yml"),
        ("servingEngineSpec: {modelSpec: []}", "stack.yaml"),
        ("modelArtifacts: {uri: hf://a/b}\ndecode: {containers: []}", "spec.yaml"),
        ("app: {image: a/b, resources: {limits: {nvidia.com/gpu: 1}}}", "config/app.yaml"),
        ("hub: {}\nproxy: {}\nsingleuser: {profileList: []}", "jupyter.yaml"),
    ],
)
def test_values_are_told_by_their_name_their_chart_or_a_block_that_asks_for_gpus(text: str, path: str) -> None:
    assert claimed(text, path) == "Helm values"


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("services: {web: {image: a/b, deploy: {resources: {limits: {cpus: '1'}}}}}", "values.yaml"),
        ("jobs: {test: {runs-on: gpu, steps: []}}", ".github/workflows/values.yaml"),
        ("model_name: chat\nresources: {accelerator: A100}", "config.yaml"),
        ("run: vllm serve a/b\nresources: {limits: {nvidia.com/gpu: 1}}", "task.yaml"),
        ("base_model: a/b\ndatasets: []", "train.yaml"),
        ("apiVersion: v1\nkind: Pod\nspec: {containers: []}", "values.yaml"),
        ("colour: blue", "settings.yaml"),
        ("version: v1\nmig-configs: {all: []}", "values.yaml"),
    ],
)
def test_other_formats_are_not_values(text: str, path: str) -> None:
    assert claimed(text, path) != "Helm values"


def test_a_scenario_of_llm_d_benchmark_is_known_and_left_alone() -> None:
    text = "scenario: [{name: a, model: {name: facebook/opt-125m}, decode: {replicas: 1}}]"
    assert claimed(text, "scenarios/a.yaml") == "llm-d-benchmark scenario"
    assert workloads(text, "scenarios/a.yaml") == []


# ---- production-stack

STACK = """
servingEngineSpec:
  runtimeClassName: ""
  modelSpec:
    - name: chat
      repository: vllm/vllm-openai
      tag: v0.10.1
      modelURL: Qwen/Qwen3-8B
      replicaCount: 2
      requestCPU: 8
      requestMemory: 32Gi
      requestGPU: 2
      pvcStorage: 50Gi
      vllmConfig:
        enablePrefixCaching: true
        maxModelLen: 8192
        tensorParallelSize: 2
        gpuMemoryUtilization: "0.85"
        extraArgs: [--max-num-seqs=64]
      nodeSelectorTerms:
        - matchExpressions:
            - {key: cloud.google.com/gke-accelerator, operator: In, values: [nvidia-l4]}
"""


def test_a_model_of_the_production_stack_is_the_command_that_its_template_writes() -> None:
    found = role(STACK)
    names = ("engine", "engine_version", "checkpoint", "tensor_parallel", "max_model_len", "gpu_memory_utilization")
    assert reading.values(found, *names) == ["vllm", "0.10.1", "Qwen/Qwen3-8B", 2, 8192, 0.85]
    assert reading.values(found, "max_num_seqs", "gpus_per_pod", "replicas", "accelerator") == [64, 2, 2, "l4"]
    assert reading.values(found, "enable_prefix_caching", "shared_memory_default") == [True, False]
    assert found.value("model_volume_bytes") == 53_687_091_200, "HF_HOME is on the claim of 50 Gi"


def test_each_value_of_a_chart_stands_where_the_file_writes_it() -> None:
    found = role(STACK)
    assert reading.source(found, "tensor_parallel") == "2"
    assert reading.place(found, "tensor_parallel") == "16:29-30"
    assert reading.source(found, "checkpoint") == "Qwen/Qwen3-8B"
    assert reading.source(found, "gpus_per_pod") == "2"
    assert reading.source(found, "accelerator") == "nvidia-l4"


def test_a_model_or_engine_that_is_switched_off_is_none() -> None:
    assert workloads(STACK.replace("- name: chat", "- enabled: false\n      name: chat")) == []
    assert workloads(STACK.replace('runtimeClassName: ""', "enableEngine: false")) == []


def test_the_chart_mounts_shared_memory_only_for_tensor_parallel_ranks() -> None:
    alone = STACK.replace("        tensorParallelSize: 2\n", "")
    assert role(alone).value("shared_memory_default") is True


def test_the_fraction_of_a_gpu_is_no_whole_number() -> None:
    """D07: the chart's `int` makes it 0."""
    found = role(STACK.replace("requestGPU: 2", "requestGPU: 0.5"))
    assert found.value("gpu_count_whole") is False
    assert reading.source(found, "gpu_count_whole") == "0.5"


def test_a_slice_is_named_by_the_type_of_the_request() -> None:
    found = role(STACK.replace("requestGPU: 2", "requestGPU: 1\n      requestGPUType: nvidia.com/mig-4g.71gb"))
    assert reading.values(found, "mig_profile", "gpus_per_pod") == ["4g.71gb", 1]
    assert reading.source(found, "mig_profile") == "nvidia.com/mig-4g.71gb"


def test_visible_devices_without_a_request_are_past_the_scheduler() -> None:
    """D08."""
    text = STACK.replace("requestGPU: 2\n", 'lmcacheConfig: {cudaVisibleDevices: "1", enabled: true}\n')
    found = role(text)
    assert found.value("devices_unscheduled") == "1"
    assert reading.source(found, "devices_unscheduled") in ('"1"', "1")
    assert found.value("engine_image") is None
    assert lines(text, "visible-devices-without-gpu-request") == [11]
    assert lines(text, "gpu-engine-without-gpu") == []


def test_the_offloading_buffer_is_host_memory_that_the_pod_must_have() -> None:
    """D09 and D10."""
    cached = STACK.replace(
        "      vllmConfig", '      lmcacheConfig: {enabled: true, cpuOffloadingBufferSize: "60"}\n      vllmConfig'
    )
    one = cached.replace("        tensorParallelSize: 2\n", "").replace("requestGPU: 2", "requestGPU: 1")
    assert lines(one, "host-memory-request-too-small") == [13]
    limited = one.replace("requestMemory: 32Gi", "requestMemory: 32Gi\n      limitMemory: 32Gi")
    assert lines(limited, "host-memory-too-small") == [14]
    assert lines(one.replace('"60"', '"4"'), "host-memory-request-too-small") == []


def test_an_engine_on_ray_spans_the_head_and_its_workers() -> None:
    text = STACK.replace("requestGPU: 2", "requestGPU: 1").replace("tensorParallelSize: 2", "pipelineParallelSize: 3")
    ray = "      raySpec: {enabled: true, headNode: {requestCPU: 2, requestMemory: 20Gi, requestGPU: 1}}\n      vllmConfig"
    (found,) = workloads(text.replace("      vllmConfig", ray))
    head, worker = found.roles
    assert reading.values(head, "gpus_per_replica", "gpus_per_pod") == [3, 1]
    assert worker.text("part_of") == head.name


@pytest.mark.parametrize(
    ("stated", "meant"),
    [
        ("extraArgs: [--max-model-len=8192]", "vllmConfig.extraArgs"),
        ("nodeSelector: {gpu: l4}", "nodeSelectorTerms"),
        ("maxModelLen: 8192", "vllmConfig.maxModelLen"),
        ("requestGpu: 1", "requestGPU"),
    ],
)
def test_a_key_that_no_template_reads_is_told_with_the_one_that_is(stated: str, meant: str) -> None:
    """D16."""
    text = STACK.replace("      requestCPU: 8\n", f"      {stated}\n")
    (found,) = samples.of_rule(samples.report(text.lstrip("\n"), "values.yaml"), "unread-value")
    assert meant in found.message
    assert found.location.line == 9


@pytest.mark.parametrize(
    "stated", ["tolerations: []", "hf_token: a", "shmSize: 8Gi", "somethingOfTomorrow: 1", "pdb: {}"]
)
def test_keys_that_the_chart_reads_or_a_newer_one_may_read_are_left_alone(stated: str) -> None:
    assert lines(STACK.replace("      requestCPU: 8\n", f"      {stated}\n"), "unread-value") == []


# ---- llm-d modelservice

SERVICE = """
multinode: false
accelerator: {type: nvidia}
modelArtifacts:
  name: Qwen/Qwen3-8B
  uri: hf://{{ .Values.modelArtifacts.name }}
  size: 20Gi
routing: {servicePort: 8000}
decode:
  create: true
  replicas: 1
  parallelism: {tensor: 2, data: 4, dataLocal: 4}
  containers:
    - name: vllm
      image: ghcr.io/llm-d/llm-d-cuda:v0.3.0
      modelCommand: vllmServe
      args: [--max-model-len=8192]
prefill:
  create: false
"""


def test_the_gpus_of_a_modelservice_follow_from_its_parallelism() -> None:
    found = role(SERVICE)
    assert found.name == "decode"
    assert reading.values(found, "gpus_per_pod", "tensor_parallel", "data_parallel") == [8, 2, 4]
    assert reading.source(found, "gpus_per_pod") == "4"
    assert reading.values(found, "checkpoint", "max_model_len") == ["Qwen/Qwen3-8B", 8192]
    assert reading.place(found, "checkpoint") == "4:9-22"


def test_gpus_that_the_container_states_come_first() -> None:
    stated = SERVICE.replace("      args:", "      resources: {limits: {nvidia.com/gpu: 4}}\n      args:")
    assert role(stated).value("gpus_per_pod") == 4


def test_several_nodes_share_out_the_data_parallel_ranks() -> None:
    several = SERVICE.replace("multinode: false", "multinode: true").replace("dataLocal: 4", "dataLocal: 2")
    found = role(several)
    assert reading.values(found, "gpus_per_pod", "pods_per_replica") == [4, 2]


def test_a_claim_holds_as_many_devices_as_the_parallelism() -> None:
    claimed_devices = SERVICE.replace("{type: nvidia}", "{type: intel-gaudi, dra: true}")
    found = role(claimed_devices.replace("llm-d-cuda:v0.3.0", "vllm:0.10.0-xpu"))
    assert reading.values(found, "gpus_per_pod", "accelerator_resource") == [8, "habana.ai/gaudi"]
    assert found.text("image_vendor") == "intel"


def test_a_part_may_have_an_accelerator_of_its_own() -> None:
    own = SERVICE.replace("  replicas: 1\n", "  accelerator: {type: amd}\n")
    assert role(own).value("accelerator_resource") == "amd.com/gpu"


@pytest.mark.parametrize(
    ("image", "accelerator", "spoken"),
    [
        ("vault.habana.ai/gaudi-docker/1.18.0/pytorch:latest", "{type: nvidia}", [14]),
        ("intel/vllm:0.10.0-xpu", "{type: intel-gaudi, dra: true}", [14]),
        ("vault.habana.ai/gaudi-docker/1.18.0/pytorch:latest", "{type: intel-gaudi}", []),
        ("ghcr.io/llm-d/llm-d-xpu:v0.4.0", "{type: intel-xe}", []),
        ("vllm/vllm-openai-rocm:v0.12.0", "{type: amd}", []),
        ("ghcr.io/llm-d/llm-d-cuda:v0.3.0", "{type: nvidia, dra: true}", []),
    ],
)
def test_an_image_for_another_makers_cards_is_found(image: str, accelerator: str, spoken: list[int]) -> None:
    """D42 and D43."""
    text = SERVICE.replace("ghcr.io/llm-d/llm-d-cuda:v0.3.0", image).replace("{type: nvidia}", accelerator)
    assert lines(text, "image-of-another-vendor") == spoken


def test_fewer_visible_devices_than_ranks_are_seen() -> None:
    """D41."""
    text = SERVICE.replace("      args:", "      env: [{name: CUDA_VISIBLE_DEVICES, value: '0'}]\n      args:")
    assert lines(text.replace("data: 4, dataLocal: 4", "data: 1"), "visible-devices-too-few") == [16]


# ---- other charts


def test_the_basic_chart_of_coreweave_serves_a_model_with_shared_memory() -> None:
    found = role(
        """
        vllm:
          image: {repository: ghcr.io/example/vllm, tag: v0.10.0}
          model: Qwen/Qwen3-8B
          extraArgs: [--tensor-parallel-size=2]
          resources: {limits: {nvidia.com/gpu: "2"}}
          workload: {type: deployment, deployment: {replicaCount: 1, autoScale: {enabled: true, minReplicas: 1}}}
        pdb: {enabled: true, minAvailable: 1}
        """
    )
    assert reading.values(found, "checkpoint", "tensor_parallel", "gpus_per_pod") == ["Qwen/Qwen3-8B", 2, 2]
    assert reading.values(found, "shared_memory_default", "replicas_least", "pods_kept") == [False, 1, 1]


def test_a_budget_that_keeps_the_only_replica_blocks_a_drain() -> None:
    """D48."""
    text = """
        vllm:
          model: Qwen/Qwen3-8B
          resources: {limits: {nvidia.com/gpu: "1"}}
          workload: {type: deployment, deployment: {replicaCount: 1}}
        pdb: {enabled: true, minAvailable: 1}
    """
    assert lines(text, "disruption-budget-blocks-drain") == [5]
    assert lines(text.replace("replicaCount: 1", "replicaCount: 2"), "disruption-budget-blocks-drain") == []
    assert lines(text.replace("enabled: true", "enabled: false"), "disruption-budget-blocks-drain") == []


def test_without_a_product_a_large_model_gets_what_it_needs() -> None:
    """D39."""
    said = samples.report(
        "vllm:\n"
        "  model: deepseek-ai/DeepSeek-R1\n"
        "  extraArgs: [--tensor-parallel-size=8]\n"
        "  resources: {limits: {nvidia.com/gpu: 8, memory: 1920Gi}}\n"
        "  workload: {deployment: {replicaCount: 1}}\n",
        "hack/values-deepseek.yaml",
    )
    (summary,) = samples.roles(said)
    assert summary.verdict.startswith("needs 8 × H200 SXM 141GB: ")
    others = {rule: severity for rule, severity in samples.severities(said).items() if rule != "startup-probe-missing"}
    assert set(others.values()) <= {Severity.NOTE}, "only the chart's own liveness probe of 300 s is more than a note"


def test_the_group_of_the_basic_chart_is_one_instance() -> None:
    (found,) = workloads(
        """
        vllm:
          image: {repository: ghcr.io/example/vllm, tag: v0.10.0}
          model: Qwen/Qwen3-8B
          extraArgs: [--pipeline-parallel-size=2]
          resources: {limits: {nvidia.com/gpu: "1"}}
          workload: {type: leaderWorkerSet, leaderWorkerSet: {groups: 3, groupSize: 2}}
        """
    )
    assert reading.values(found.roles[0], "gpus_per_replica", "pipeline_parallel", "replicas") == [2, 2, 3]


def test_models_of_kubeais_catalog_count_when_they_are_switched_on() -> None:
    text = """
        catalog:
          small: {enabled: true, url: hf://Qwen/Qwen3-8B, engine: VLLM, resourceProfile: nvidia-gpu-l4:1}
          large: {enabled: false, url: hf://Qwen/Qwen3-32B, engine: VLLM, resourceProfile: nvidia-gpu-l4:4}
          named: {enabled: true}
    """
    (found,) = workloads(text)
    assert found.name == "small"
    assert reading.values(found.roles[0], "checkpoint", "gpus_per_pod", "accelerator") == ["Qwen/Qwen3-8B", 1, "l4"]
    assert [one.name for one in workloads(f"        all: {{enabled: true}}\n{text}")] == ["small", "large"]


def test_ollama_has_the_gpus_that_are_switched_on_and_the_one_model_it_pulls() -> None:
    text = "ollama: {gpu: {enabled: true, number: 2}, models: {pull: ['gemma2:27b']}}"
    found = role(text)
    assert reading.values(found, "engine", "gpus_per_pod", "checkpoint") == ["ollama", 2, "google/gemma-2-27b-it"]
    assert workloads(text.replace("enabled: true", "enabled: false")) == []
    several = role(text.replace("'gemma2:27b'", "'gemma2:27b', 'llama3:8b'"))
    assert isinstance(several.value("checkpoint"), Unknown)


def test_a_ray_cluster_chart_has_a_head_and_groups_of_workers() -> None:
    (found,) = workloads(
        """
        image: {repository: rayproject/ray, tag: 2.50.0-gpu}
        head: {rayStartParams: {dashboard-host: 0.0.0.0}, resources: {limits: {cpu: 4}}}
        worker: {disabled: true, resources: {limits: {nvidia.com/gpu: 1}}}
        additionalWorkerGroups:
          large:
            replicas: 4
            resources: {limits: {nvidia.com/gpu: 8}}
            nodeSelector: {cloud.google.com/gke-accelerator: nvidia-b200}
        """
    )
    (worker,) = [one for one in found.roles if one.value("gpus_per_pod") == 8]
    assert worker.value("accelerator") == "b200-sxm-180gb"


def test_a_sub_chart_is_read_below_its_own_key() -> None:
    nested = "vllm-stack:\n" + textwrap.indent(STACK.strip("\n"), "  ")
    assert role(nested).value("checkpoint") == "Qwen/Qwen3-8B"
    assert workloads("vllm-stack:\n  enabled: false\n" + textwrap.indent(STACK.strip("\n"), "  ")) == []


@pytest.mark.parametrize(
    "text",
    [
        "toolkit: {enabled: true}\ndevicePlugin: {enabled: true}\nmigManager: {enabled: true}\nmig: {strategy: mixed}",
        "gfd: {enabled: true}\nnfd: {worker: {}}",
        "config: {map: {shared: 'version: v1', whole: 'version: v1'}}",
        "image: {trainingImage: cfg.container, numGPUs: training.trainer.devices}\ntrainingConfig: {shmSize: 512Gi}",
    ],
)
def test_charts_that_run_no_model_have_no_workload(text: str) -> None:
    assert claimed(text) == "Helm values"
    assert workloads(text) == []


# ---- any chart

ANY = """
replicaCount: 2
image: {registry: docker.io, repository: vllm/vllm-openai, tag: v0.10.1}
model: {id: Qwen/Qwen3-8B}
tensorParallelSize: 2
maxModelLen: 8192
resources: {limits: {nvidia.com/gpu: 2, memory: 64Gi}}
nodeSelector: {cloud.google.com/gke-accelerator: nvidia-l4}
"""


def test_a_block_that_asks_for_gpus_is_a_workload_with_what_stands_beside_it() -> None:
    found = role(ANY)
    names = ("engine", "engine_version", "gpus_per_pod", "replicas", "accelerator", "tensor_parallel", "max_model_len")
    assert reading.values(found, *names) == ["vllm", "0.10.1", 2, 2, "l4", 2, 8192]
    assert found.value("checkpoint") == "Qwen/Qwen3-8B"
    assert found.fields["checkpoint"].assumption


def test_what_the_templates_add_stays_open() -> None:
    found = role(ANY)
    assert found.open_ended
    assert found.value("shared_memory_default") is False
    assert samples.severities(samples.report(ANY.lstrip("\n"), "values.yaml")) == {}


def test_arguments_and_variables_are_read_in_each_of_their_forms() -> None:
    found = role(
        """
        server:
          image: vllm/vllm-openai:v0.10.1
          args: {--model: Qwen/Qwen3-8B, --enforce-eager: "", --max-model-len: 4096}
          env: {CUDA_VISIBLE_DEVICES: "0,1"}
          resources: {limits: {nvidia.com/gpu: 2}}
        """
    )
    assert reading.values(found, "checkpoint", "enforce_eager", "max_model_len") == ["Qwen/Qwen3-8B", True, 4096]
    assert found.value("visible_devices") == 2


def test_what_a_caller_fills_in_is_explained() -> None:
    filled_in = ANY.replace("nvidia.com/gpu: 2", "nvidia.com/gpu: '${gpus}'")
    found = role(filled_in.replace("Qwen/Qwen3-8B", "'{{ .Values.global.model }}'"))
    unknown = [found.value(name) for name in ("gpus_per_pod", "checkpoint")]
    assert [one.category for one in unknown if isinstance(one, Unknown)] == ["caller's variable"] * 2


def test_an_autoscaler_on_cpu_is_told_with_its_place() -> None:
    found = role(ANY + "hpa: {enabled: true, minReplicas: 1, maxReplicas: 4, targetCPUUtilizationPercentage: 80}\n")
    assert found.value("autoscaler_metric") == "cpu"
    assert reading.source(found, "autoscaler_metric") == "80"


@pytest.mark.parametrize(
    "text",
    [
        "enabled: false\n" + ANY.lstrip("\n"),
        "server: {enabled: false, image: vllm/vllm-openai, resources: {limits: {nvidia.com/gpu: 1}}}",
        "steps: {train: {enabled: false, gpu: 8, image: a/b, script: torchrun train.py}}",
        "image: a/b\nresources: {limits: {nvidia.com/gpu: 0}}",
        "image: a/b\nresources: {limits: {cpu: 1}}",
        "image: a/b\nresources: {limits: {google.com/tpu: 4}}",
        "gpu: 4\ncolour: blue",
    ],
)
def test_no_gpus_or_a_block_that_is_switched_off_is_no_workload(text: str) -> None:
    assert workloads(text) == []


def test_a_gpu_count_beside_an_image_is_read_where_it_can_be_nothing_else() -> None:
    found = role("trainer: {image: example/train:1, gpus: 4, command: [torchrun, train.py]}")
    assert found.value("gpus_per_pod") == 4
    assert reading.source(found, "gpus_per_pod") == "4"


def test_a_bare_count_beyond_a_node_is_that_of_several_pods() -> None:
    found = role("trainer: {image: example/train:1, gpus: 64, command: [torchrun, train.py]}")
    assert isinstance(found.value("gpus_per_pod"), Unknown)
    assert found.value("gpus_per_replica") == 64


def test_the_gpus_of_gpu_recipes_are_those_of_all_nodes() -> None:
    """A node has 8 GPUs, or 4: how many pods there are, the templates know."""
    text = "workload: {gpus: 256, image: nvcr.io/nvidia/nemo:25.11, configFile: setup.py, envs: []}\nnetwork: {hostNetwork: true}"
    found = role(text)
    assert found.value("gpus_per_replica") == 256
    assert isinstance(found.value("gpus_per_pod"), Unknown)
    assert found.value("accelerator") == Unknown("the templates of the chart choose the nodes", "another object")
    assert role(text.replace("256", "4")).value("gpus_per_pod") == 4


def test_the_servers_of_gpu_recipes_span_the_nodes_of_their_parallelism() -> None:
    found = role(
        """
        model: {name: deepseek-ai/DeepSeek-R1, tp_size: 8, pp_size: 2}
        job: {image: {repository: null, tag: null}, gpus: 16}
        vllm: {replicaCount: 1, serverArgs: {max-model-len: 32768, disable-log-requests: true}}
        """
    )
    names = ("engine", "checkpoint", "tensor_parallel", "pipeline_parallel", "max_model_len", "gpus_per_pod")
    assert reading.values(found, *names) == ["vllm", "deepseek-ai/DeepSeek-R1", 8, 2, 32768, 8]
    assert found.value("pods_per_replica") == 2


def test_arguments_in_a_file_that_the_values_name_are_read() -> None:
    text = "workload: {gpus: 4, framework: vllm, model: {name: Qwen/Qwen3-8B}, configFile: serving-args.yaml}\n"
    files = samples.ExampleRepository(
        {"recipe/serving-args.yaml": b"tensor-parallel-size: 4\nmax-model-len: 8192\nenforce-eager: true\n"}
    )
    (document,) = documents.load("recipe/values.yaml", text.encode()).documents
    ((found,),) = [one.roles for one in adapters.read(document, files)]
    names = ("engine", "checkpoint", "tensor_parallel", "max_model_len", "enforce_eager", "gpus_per_pod")
    assert reading.values(found, *names) == ["vllm", "Qwen/Qwen3-8B", 4, 8192, True, 4]
    assert reading.source(found, "tensor_parallel") == "serving-args.yaml"
    assert reading.source(found, "tensor_parallel", 1) == "4"


def test_the_charts_own_probes_hold_where_the_values_state_none() -> None:
    assert reading.values(role(STACK), "startup_probe", "startup_budget_s") == [True, 615]
    shorter = STACK.replace('runtimeClassName: ""', "startupProbe: {failureThreshold: 120, periodSeconds: 30}")
    assert role(shorter).value("startup_budget_s") == 3615
    without = STACK.replace('runtimeClassName: ""', "startupProbe: null")
    assert reading.values(role(without), "startup_probe", "startup_budget_s") == [None, 45]


def test_an_argument_is_added_only_to_a_list_that_the_file_has() -> None:
    listed = role(STACK).arguments
    assert listed is not None
    assert listed.text() == "--max-num-seqs=64"
    assert role(STACK.replace("        extraArgs: [--max-num-seqs=64]\n", "")).arguments is None


def test_aliases_of_aliases_take_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is searched for blocks is bounded, and so is what is read: the second with a lower bound, a workload a block."""
    levels = "\n".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 6))
    bomb = f"a0: &a0 {{image: a/b, gpu: 1}}\n{levels}\nresources: {{limits: {{nvidia.com/gpu: 1}}}}\nimage: a/b\n"
    (document,) = documents.load("values.yaml", bomb.encode()).documents
    assert 15_000 < sum(1 for _ in generic.blocks(Values(document))) < 20_000
    monkeypatch.setattr(generic, "VISITED_MAX", 1_000)
    assert 500 < len(workloads(bomb)) < 1_000


NOTEBOOKS = """\
hub: {db: {type: sqlite-memory}}
singleuser:
  extraResource: {limits: {nvidia.com/gpu: "1"}}
  profileList:
    - display_name: Small
      kubespawner_override: {image: jupyter/base-notebook, cpu_limit: 2}
    - display_name: Large
      kubespawner_override:
        image: quay.io/jupyter/pytorch-notebook:cuda12
        node_selector: {cloud.google.com/gke-accelerator: nvidia-l4}
        extra_resource_limits: {nvidia.com/gpu: "4"}
"""


def test_notebooks_that_ask_for_gpus_are_workloads_of_one_pod_a_user() -> None:
    found = workloads(NOTEBOOKS)
    assert [one.name for one in found] == ["singleuser", "Large"]
    assert [reading.values(one.roles[0], "gpus_per_pod") for one in found] == [[1], [4]]
    assert reading.values(found[1].roles[0], "accelerator", "replicas") == ["l4", "unknown: one pod per user"]


def test_notebooks_without_gpus_are_none() -> None:
    text = NOTEBOOKS.replace("nvidia.com/gpu", "example.com/disk")
    assert workloads(text) == []


# ---- GPUs that a chart of one's own counts in its own words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("image: vllm/vllm-openai:v0.10.1\ngpu: 1", ["nvidia.com/gpu", 1]),
        ("image: a/b:v1\naccelerator: {resourceName: amd.com/gpu, count: 2}", ["amd.com/gpu", 2]),
        ("image: a/b:v1\naccelerator: {vendor: amd, count: 2}", ["amd.com/gpu", 2]),
        (
            "model: {name: a/b}\nresources: {}\ngpu: {enabled: true, nvidia: {enabled: true, count: 4}}",
            ["nvidia.com/gpu", 4],
        ),
        ("image: a/b:v1\nresources: {gpus: 1, cpus: 4}", ["nvidia.com/gpu", 1]),
        ("image: a/b:v1\ngpuCount: '2'", ["nvidia.com/gpu", 2]),
        ("image: a/b:v1\nresources: {limits: {gpu: 2, memory: 8Gi}}", ["nvidia.com/gpu", 2]),
    ],
)
def test_gpus_are_counted_by_keys_and_sections_that_can_only_mean_them(text: str, expected: list[object]) -> None:
    assert reading.values(role(text), "accelerator_resource", "gpus_per_pod") == expected


@pytest.mark.parametrize(
    "text",
    [
        "image: a/b:v1\ngpu: {enabled: false, count: 2}",
        "image: a/b:v1\ngpu: {enabled: true, nvidia: {enabled: false, count: 2}}",
        "image: a/b:v1\naccelerator: {count: 0}",
        "image: a/b:v1\naccelerator: {count: true}",
        "limits: {gpu: {count: 3}}",
        "image: a/b:v1\nresources: {limits: {gpu: 0}}",
        "image: a/b:v1\ngpuCount: '0'",
        "image: a/b:v1\ngpuCount: '{{ .gpus }}'",
    ],
)
def test_a_count_that_is_switched_off_or_of_nothing_that_runs_is_none(text: str) -> None:
    assert workloads(text) == []


def test_what_counts_gpus_below_a_block_that_asks_for_them_is_no_second_pod() -> None:
    text = """
        image: {repository: vllm/vllm-openai, tag: v0.10.1}
        resources: {limits: {nvidia.com/gpu: 1}}
        vllm:
          args: [--model, Qwen/Qwen3-8B]
          gpu: {enabled: true, number: 1}
        """
    assert reading.values(role(text), "gpus_per_pod", "checkpoint") == [1, "Qwen/Qwen3-8B"]


def test_settings_stand_in_the_section_of_the_engine_too() -> None:
    text = """
        model: {huggingfaceName: Qwen/Qwen3-8B}
        deployment: {image: {repository: vllm/vllm-openai, tag: v0.10.1}}
        resources: {limits: {nvidia.com/gpu: 4}}
        """
    assert reading.values(role(text), "engine", "checkpoint", "gpus_per_pod") == ["vllm", "Qwen/Qwen3-8B", 4]


def test_parallelism_that_a_chart_may_add_is_none_where_the_stated_sizes_take_all_gpus() -> None:
    image = "image: vllm/vllm-openai:v0.10.1"
    sizes = ("tensor_parallel", "pipeline_parallel", "data_parallel")
    alone = role(f"{image}\nresources: {{limits: {{nvidia.com/gpu: 1}}}}")
    taken = role(f"{image}\nextraArgs: [-tp, '2']\nresources: {{limits: {{nvidia.com/gpu: 2}}}}")
    room = role(f"{image}\nextraArgs: [-tp, '2']\nresources: {{limits: {{nvidia.com/gpu: 4}}}}")
    assert reading.values(alone, *sizes) == [1, 1, 1]
    assert reading.values(taken, *sizes) == [2, 1, 1]
    assert not {"pipeline_parallel", "data_parallel"} & room.fields.keys()


def test_values_may_choose_the_kind_of_their_object_and_an_object_is_no_values() -> None:
    chosen = "kind: Deployment\nimage: {repository: vllm/vllm-openai}\nresources: {}"
    assert claimed(chosen, "charts/chat/values.yaml") == "Helm values"
    assert claimed(chosen, "charts/chat/chat.yaml") == ""
    assert claimed("kind: Deployment\nmetadata: {name: values}\nspec: {}", "charts/chat/values.yaml") == ""


def test_the_ollama_chart_passes_on_gpus_that_its_resources_name() -> None:
    intel = "ollama: {models: {pull: [gemma3:12b]}}\nresources: {limits: {gpu.intel.com/i915: 1}}"
    cpu = "ollama: {models: {pull: [gemma3:12b]}}\nresources: {limits: {cpu: 8}}"
    assert reading.values(role(intel), "accelerator_resource", "gpus_per_pod") == ["gpu.intel.com/i915", 1]
    assert workloads(cpu) == []


def test_a_section_for_the_server_with_gpus_is_not_of_the_ollama_chart() -> None:
    text = """
        ollama:
          gpu: {enabled: true, image: {repository: ollama/ollama, tag: 0.12.0}, resources: {limits: {nvidia.com/gpu: 1}}}
        draw: {enabled: true, image: {repository: a/draw, tag: v1}, resources: {limits: {nvidia.com/gpu: 2}}}
        """
    assert [(one.name, one.roles[0].value("gpus_per_pod")) for one in workloads(text)] == [
        ("ollama.gpu", 1),
        ("draw", 2),
    ]
