"""The pod template: GPU counts, placement, environment and where each value stands."""

from __future__ import annotations

import pytest
import reading

from gpulint.workload import Role, Unknown


def asking(resources: str) -> Role:
    return reading.started(f"image: registry.example.com/train:1\nresources: {resources}")


def placed(spec: str) -> Role:
    """The role of a pod with one GPU and these further lines of its spec."""
    return reading.role(
        f"""
        apiVersion: v1
        kind: Pod
        metadata: {{name: chat}}
        spec:
          containers: [{{name: server, resources: {{limits: {{nvidia.com/gpu: 1}}}}}}]
          {spec}
        """
    )


# ---- GPU counts


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        ("4", 4),
        ('"4"', 4),
        ('"0"', 0),
        ("0", 0),
        ("1e1", 10),
        ('"2000m"', 2),
        ("0.5", 0.5),
        ("500m", 0.5),
        ("null", "unknown: the GPU count is empty"),
        ("true", "unknown: the GPU count is empty"),
        ("${GPUS}", "unknown: the GPU count is ${GPUS}"),
        ("<gpus>", "unknown: the GPU count is <gpus>"),
        ("[1]", "unknown: the GPU count is empty"),
        ("many", "unknown: the GPU count is many"),
    ],
)
def test_a_gpu_count_is_what_kubernetes_reads_and_never_zero_when_it_cannot_be_read(
    count: str, expected: object
) -> None:
    assert reading.values(asking(f"\n  limits:\n    nvidia.com/gpu: {count}"), "gpus_per_pod") == [expected]


def test_a_count_of_zero_computes_on_the_cpu() -> None:
    assert reading.values(asking("{limits: {nvidia.com/gpu: 0}}"), "device") == ["cpu"]


def test_a_count_in_requests_alone_is_the_count_and_has_no_limit() -> None:
    found = asking("{requests: {nvidia.com/gpu: 2}}")
    assert reading.values(found, "gpus_per_pod", "gpu_request", "gpu_limit") == [2, 2, None]


def test_limits_decide_over_requests_and_both_are_origins() -> None:
    found = asking("{requests: {nvidia.com/gpu: 1}, limits: {nvidia.com/gpu: 2}}")
    assert reading.values(found, "gpus_per_pod", "gpu_request", "gpu_limit") == [2, 1, 2]
    assert [reading.place(found, "gpus_per_pod", nth) for nth in (0, 1)] == ["8:75-76", "8:46-47"]


@pytest.mark.parametrize(
    ("resource", "name", "value"),
    [
        ("nvidia.com/mig-1g.10gb", "mig_profile", "1g.10gb"),
        ("nvidia.com/mig-3g.40gb", "mig_profile", "3g.40gb"),
        ("amd.com/gpu", "accelerator_resource", "amd.com/gpu"),
        ("habana.ai/gaudi", "accelerator_resource", "habana.ai/gaudi"),
        ("gpu.intel.com/i915", "accelerator_resource", "gpu.intel.com/i915"),
    ],
)
def test_slices_shares_and_other_makers_are_counted_under_their_own_name(resource: str, name: str, value: str) -> None:
    found = asking(f"{{limits: {{{resource}: 2}}}}")
    assert reading.values(found, "gpus_per_pod", "accelerator_resource", name) == [2, resource, value]


def test_shares_of_cards_are_no_gpu_count() -> None:
    found = asking("{limits: {nvidia.com/gpu.shared: 2}}")
    assert reading.values(found, "sharing", "gpus_per_pod") == [
        "time-slicing",
        "unknown: the count is of GPU shares, not of whole GPUs",
    ]


def test_a_mig_profile_is_pointed_at_in_the_key_that_names_it() -> None:
    found = asking("{limits: {nvidia.com/mig-1g.10gb: 1}}")
    assert reading.source(found, "mig_profile") == "nvidia.com/mig-1g.10gb"


def test_two_accelerator_resources_in_one_container_leave_the_count_unknown() -> None:
    found = asking("{limits: {nvidia.com/gpu: 1, amd.com/gpu: 1}}")
    assert reading.values(found, "gpus_per_pod") == ["unknown: several accelerator resources are requested"]


@pytest.mark.parametrize("resource", ["cpu", "memory", "nvidia.com/gpumem", "example.com/gpu", "ephemeral-storage"])
def test_other_resources_are_no_gpus(resource: str) -> None:
    lines = f"image: registry.example.com/train:1\nresources: {{limits: {{{resource}: 1}}}}"
    assert reading.started_all(lines) == []


def test_an_engine_without_a_gpu_resource_has_an_unknown_count() -> None:
    found = reading.started("image: vllm/vllm-openai:v0.10.1\nargs: [--model=Qwen/Qwen3-8B]")
    assert reading.values(found, "gpus_per_pod") == ["unknown: no GPU resource is requested"]


def test_a_resource_claim_is_said_to_be_where_the_gpus_come_from() -> None:
    found = reading.started(
        "image: vllm/vllm-openai:v0.10.1\nargs: [--model=Qwen/Qwen3-8B]\nresources: {claims: [{name: gpu}]}"
    )
    assert reading.values(found, "gpus_per_pod") == ["unknown: the pod has no claim of that name"]


def test_memory_cpu_and_rdma_are_read_in_base_units() -> None:
    found = asking('{limits: {nvidia.com/gpu: 8, memory: 80Gi, cpu: "1500m", rdma/hca_shared: 1}}')
    assert reading.values(found, "host_memory_bytes", "cpu_cores", "rdma_devices") == [85_899_345_920, 1.5, 1]


@pytest.mark.parametrize(
    ("lines", "too_small"),
    [
        ("volumeMounts: []", True),
        ("volumeMounts: [{name: models, mountPath: /models}]", True),
        ("volumeMounts: [{name: shm, mountPath: /dev/shm}]", False),
        ("volumeMounts: [{name: shm, mountPath: /dev/shm/}]", False),
    ],
)
def test_shared_memory_is_the_runtimes_unless_something_is_mounted_there(lines: str, too_small: bool) -> None:
    found = reading.started(f"resources: {{limits: {{nvidia.com/gpu: 1}}}}\n{lines}")
    assert reading.values(found, "shared_memory_default") == [too_small]


def test_the_hosts_ipc_namespace_brings_the_hosts_shared_memory() -> None:
    assert reading.values(placed("hostIPC: true"), "shared_memory_default") == [False]


# ---- placement


@pytest.mark.parametrize(
    ("label", "accelerator"),
    [
        ("cloud.google.com/gke-accelerator: nvidia-l4", "l4"),
        ("cloud.google.com/gke-accelerator: nvidia-h100-80gb", "h100-sxm-80gb"),
        ("nvidia.com/gpu.product: NVIDIA-A100-SXM4-80GB", "a100-sxm4-80gb"),
        ("nvidia.com/gpu.product: NVIDIA-H100-80GB-HBM3", "h100-sxm-80gb"),
        ("nvidia.com/gpu.product: NVIDIA-H100-80GB-HBM3-SHARED", "h100-sxm-80gb"),
        ("nvidia.com/gpu.product: NVIDIA-A100-SXM4-80GB-MIG-1g.10gb", "a100-sxm4-80gb"),
        ("node.kubernetes.io/instance-type: g6.2xlarge", "l4"),
        ("beta.kubernetes.io/instance-type: p5.48xlarge", "h100-sxm-80gb"),
        ("karpenter.k8s.aws/instance-family: g6e", "l40s"),
    ],
)
def test_a_selector_names_the_accelerator(label: str, accelerator: str) -> None:
    assert reading.values(placed(f"nodeSelector: {{{label}}}"), "accelerator") == [accelerator]


@pytest.mark.parametrize(
    ("label", "reason"),
    [
        ("cloud.google.com/gke-accelerator: nvidia-l99", "unknown: the label value nvidia-l99 is unknown"),
        ("nvidia.com/gpu.product: NVIDIA-H100", "unknown: the label value NVIDIA-H100 is unknown"),
        ("cloud.google.com/gke-accelerator: ${ACCELERATOR}", "unknown: the label value ${ACCELERATOR} is unknown"),
    ],
)
def test_a_label_that_is_not_listed_exactly_is_unknown(label: str, reason: str) -> None:
    assert reading.values(placed(f"nodeSelector:\n            {label}"), "accelerator") == [reason]


@pytest.mark.parametrize(
    ("label", "stated"),
    [
        ("pool: gpu-l4", "pool gpu-l4"),
        ("agentpool: gpu", "agentpool gpu"),
        ("cloud.google.com/gke-nodepool: a3", "cloud.google.com/gke-nodepool a3"),
        ("karpenter.sh/nodepool: g6", "karpenter.sh/nodepool g6"),
    ],
)
def test_a_label_of_the_clusters_own_explains_who_decides_the_card(label: str, stated: str) -> None:
    found = placed(f"nodeSelector: {{{label}}}")
    assert reading.values(found, "accelerator") == [f"unknown: the accelerator depends on the nodes labelled {stated}"]
    value = found.value("accelerator")
    assert isinstance(value, Unknown) and value.category == "queue or partition"
    assert reading.source(found, "accelerator") == label.partition(": ")[2]


@pytest.mark.parametrize(
    "label",
    [
        *("kubernetes.io/os: linux", "topology.kubernetes.io/zone: a", "nvidia.com/gpu.present: 'true'"),
        *("cloud.google.com/gke-spot: 'true'", "karpenter.sh/capacity-type: spot"),
    ],
)
def test_labels_that_every_card_may_stand_behind_say_nothing(label: str) -> None:
    assert reading.values(placed(f"nodeSelector: {{{label}}}"), "accelerator") == [None]


def affinity(values: str, operator: str = "In", when: str = "requiredDuringSchedulingIgnoredDuringExecution") -> str:
    expression = f"{{key: cloud.google.com/gke-accelerator, operator: {operator}, values: {values}}}"
    terms = f"{{nodeSelectorTerms: [{{matchExpressions: [{expression}]}}]}}"
    return f"affinity: {{nodeAffinity: {{{when}: {terms}}}}}"


def test_an_affinity_for_one_value_names_the_accelerator_and_its_place() -> None:
    found = placed(affinity("[nvidia-l4]"))
    assert reading.values(found, "accelerator") == ["l4"]
    assert reading.source(found, "accelerator") == "nvidia-l4"


def test_an_affinity_for_two_products_leaves_the_accelerator_unknown() -> None:
    found = placed(affinity("[nvidia-l4, nvidia-h100-80gb]"))
    assert reading.values(found, "accelerator") == ["unknown: one of h100-sxm-80gb, l4"]


def test_an_affinity_for_two_machine_types_with_the_same_card_names_the_card() -> None:
    found = placed(
        affinity("[g6.xlarge, g6.2xlarge]").replace(
            "cloud.google.com/gke-accelerator", "node.kubernetes.io/instance-type"
        )
    )
    assert reading.values(found, "accelerator", "instance_type") == ["l4", None]


def test_a_node_satisfies_both_the_selector_and_the_affinity() -> None:
    selector = "nodeSelector: {cloud.google.com/gke-accelerator: nvidia-l4}\n          "
    narrowed = placed(selector + affinity("[nvidia-l4, nvidia-h100-80gb]"))
    assert reading.values(narrowed, "accelerator") == ["l4"]
    contradicted = placed(selector + affinity("[nvidia-h100-80gb]"))
    assert reading.values(contradicted, "accelerator") == ["unknown: the labels contradict each other"]


@pytest.mark.parametrize("values", ["5", "null", "nvidia-l4", "{a: b}", "[null, [1], {a: b}]"])
def test_an_affinity_of_the_wrong_shape_names_no_accelerator(values: str) -> None:
    assert not isinstance(placed(affinity(values)).value("accelerator"), str)


@pytest.mark.parametrize(
    "spec",
    [
        affinity("[nvidia-l4]", operator="NotIn"),
        affinity("[nvidia-l4]", operator="Exists"),
        affinity("[nvidia-l4]", when="preferredDuringSchedulingIgnoredDuringExecution"),
        "tolerations: [{key: nvidia.com/gpu, operator: Exists}]",
    ],
    ids=["not in", "exists", "preferred", "toleration"],
)
def test_what_does_not_bind_the_scheduler_names_no_accelerator(spec: str) -> None:
    assert reading.values(placed(spec), "accelerator") == [None]


# ---- annotations


def annotated(annotation: str) -> Role:
    return reading.role(
        f"""
        apiVersion: v1
        kind: Pod
        metadata: {{name: chat, annotations: {{{annotation}}}}}
        spec:
          nodeSelector: {{cloud.google.com/gke-accelerator: nvidia-l4}}
          containers:
            - name: server
              image: vllm/vllm-openai:v0.10.1
              args: [--model=/models/ours]
              resources: {{limits: {{nvidia.com/gpu: 1}}}}
        """
    )


def test_an_annotation_states_the_checkpoint_and_the_accelerator_against_what_the_file_says() -> None:
    assert reading.values(annotated("gpulint/model: Qwen/Qwen3-8B"), "checkpoint") == ["Qwen/Qwen3-8B"]
    found = annotated("gpulint/accelerator: a100-sxm4-80gb")
    assert reading.values(found, "accelerator") == ["a100-sxm4-80gb"]
    assert reading.source(found, "accelerator") == "a100-sxm4-80gb"


def test_an_annotation_with_an_unlisted_accelerator_is_unknown() -> None:
    assert reading.values(annotated("gpulint/accelerator: h1000"), "accelerator") == [
        "unknown: the catalog has no accelerator h1000"
    ]


def test_other_annotations_say_nothing() -> None:
    assert reading.values(annotated("example.com/model: Qwen/Qwen3-8B"), "checkpoint") == ["/models/ours"]


# ---- environment and references


def with_environment(environment: str, arguments: str) -> Role:
    return reading.started(
        f"image: vllm/vllm-openai:v0.10.1\nargs: {arguments}\nenv: {environment}\nresources: {{limits: {{nvidia.com/gpu: 1}}}}"
    )


def test_a_reference_in_parentheses_is_expanded_and_its_value_is_the_deciding_place() -> None:
    found = with_environment('[{name: TP, value: "4"}]', '["--tensor-parallel-size=$(TP)"]')
    assert reading.values(found, "tensor_parallel") == [4]
    assert [reading.source(found, "tensor_parallel", nth) for nth in (0, 1)] == [
        '"4"',
        '"--tensor-parallel-size=$(TP)"',
    ]


def test_references_are_expanded_from_earlier_entries_only() -> None:
    found = with_environment(
        '[{name: ORG, value: Qwen}, {name: MODEL, value: "$(ORG)/Qwen3-8B"}]', '["--model=$(MODEL)"]'
    )
    assert reading.values(found, "checkpoint") == ["Qwen/Qwen3-8B"]
    found = with_environment(
        '[{name: MODEL, value: "$(ORG)/Qwen3-8B"}, {name: ORG, value: Qwen}]', '["--model=$(MODEL)"]'
    )
    assert reading.values(found, "checkpoint") == ["unknown: $(ORG)/Qwen3-8B is filled in elsewhere"]


def test_two_dollars_are_one_and_refer_to_nothing() -> None:
    found = with_environment("[{name: MODEL, value: Qwen/Qwen3-8B}]", '["--model=$$(MODEL)"]')
    assert reading.values(found, "checkpoint") == ["unknown: $(MODEL) is filled in elsewhere"]


def test_a_value_from_another_object_is_unknown_and_says_which() -> None:
    found = with_environment(
        "[{name: MODEL, valueFrom: {configMapKeyRef: {name: chat, key: model}}}]", '["--model=$(MODEL)"]'
    )
    assert reading.values(found, "checkpoint") == ["unknown: MODEL comes from another object"]


@pytest.mark.parametrize("reference", ["${MODEL}", "$MODEL", "<model>", "{{ .Values.model }}"])
def test_what_only_a_shell_or_a_template_fills_in_is_unknown_in_a_list(reference: str) -> None:
    found = with_environment("[{name: MODEL, value: Qwen/Qwen3-8B}]", f'["--model={reference}"]')
    assert reading.values(found, "checkpoint") == [f"unknown: {reference} is filled in elsewhere"]


@pytest.mark.parametrize(
    ("environment", "variable"),
    [
        ("[{name: LD_LIBRARY_PATH, value: '/usr/lib:${LD_LIBRARY_PATH}'}]", "LD_LIBRARY_PATH"),
        ("[{name: PATH, value: '/opt/bin:${PATH}'}]", "PATH"),
        ("[{name: PATH, value: '${PATH}'}]", None),
        ("[{name: PATH, value: '${HOME}/bin'}]", None),
        ("[{name: PATH, value: '$(PATH):/opt/bin'}]", None),
        ("[{name: PATH, value: /opt/bin}]", None),
        ("[{name: PATH, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}]", None),
        ("[{name: PATH}]", None),
        ("[null, 7, {value: orphan}]", None),
    ],
)
def test_an_entry_that_holds_its_own_name_in_braces_is_seen(environment: str, variable: str | None) -> None:
    found = with_environment(environment, "[--model=Qwen/Qwen3-8B]")
    assert reading.values(found, "unexpanded_variable") == [variable]


def test_an_entry_that_holds_its_own_name_is_pointed_at_inside_the_value() -> None:
    found = with_environment("[{name: PATH, value: '/a:${PATH}:/b'}]", "[--model=Qwen/Qwen3-8B]")
    assert reading.source(found, "unexpanded_variable") == "${PATH}"


# ---- a GPU engine without a GPU


def started_with(resources: str, image: str = "vllm/vllm-openai:v0.10.1") -> Role:
    return reading.started(f"image: {image}\nargs: [--model=Qwen/Qwen3-8B]\n{resources}")


def test_a_gpu_engine_whose_resources_ask_for_none_names_its_image() -> None:
    found = started_with("resources: {limits: {cpu: 4}}")
    assert reading.values(found, "engine_image") == ["vllm/vllm-openai:v0.10.1"]


@pytest.mark.parametrize(
    ("resources", "image"),
    [
        pytest.param("resources: {limits: {nvidia.com/gpu: 1}}", "vllm/vllm-openai:v0.10.1", id="it asks for one"),
        pytest.param("resources: {limits: {aws.amazon.com/neuron: 1}}", "vllm/vllm-openai:v0.10.1", id="a device"),
        pytest.param("imagePullPolicy: Always", "vllm/vllm-openai:v0.10.1", id="no resources at all: others add them"),
        pytest.param("resources: {claims: [{name: gpu}], limits: {cpu: 4}}", "vllm/vllm-openai:v0.10.1", id="a claim"),
    ],
)
def test_a_container_that_may_have_a_gpu_says_nothing(resources: str, image: str) -> None:
    assert started_with(resources, image).value("engine_image") is None


def test_an_image_that_installs_the_engine_may_run_on_another_device() -> None:
    found = reading.started(
        "image: ubuntu:22.04\ncommand: [sh, -c, 'vllm serve Qwen/Qwen3-8B']\nresources: {limits: {cpu: 4}}"
    )
    assert found.value("engine_image") is None


@pytest.mark.parametrize(
    ("word", "quantity", "value"),
    [
        ("!!binary LS10ZW5zb3ItcGFyYWxsZWwtc2l6ZT04", "tensor_parallel", 8),  # --tensor-parallel-size=8
        ('"--tensor\\x2dparallel-size=8"', "tensor_parallel", 8),
        ("!!str --tensor-parallel-size=8", "tensor_parallel", 8),
        ("[--gpu-memory-utilization, 0.90]", "gpu_memory_utilization", 0.9),
        ("!!binary ====", "tensor_parallel", None),
        ("!!str LS10ZW5zb3ItcGFyYWxsZWwtc2l6ZT04", "tensor_parallel", None),
    ],
)
def test_an_argument_is_what_its_tag_and_its_escapes_spell(word: str, quantity: str, value: object) -> None:
    words = word.strip("[]") if word.startswith("[") else word
    role = reading.started(f"image: vllm/vllm-openai:v0.10.1\nargs: [--model=m/x, {words}]\nresources: {{}}")
    assert role.value(quantity) == value
