"""Values of app-template and other charts on its library: a controller is a workload, with its storage and pod options."""

from __future__ import annotations

import textwrap

import samples

from gpulint import adapters
from gpulint.source import documents
from gpulint.workload import Role, Unknown, Workload

RELEASE = """
    apiVersion: helm.toolkit.fluxcd.io/v2
    kind: HelmRelease
    metadata: {name: chat}
    spec:
      chartRef: {kind: OCIRepository, name: app-template}
      values:
        controllers:
          server:
            containers:
              app:
                image: {repository: vllm/vllm-openai, tag: v0.10.1}
                args: [--model, Qwen/Qwen3-8B, --max-model-len, "8192"]
                env: {HF_HOME: /models}
                resources: {limits: {nvidia.com/gpu: 2}}
              logs:
                image: {repository: busybox, tag: "1.37"}
        defaultPodOptions:
          nodeSelector: {nvidia.com/gpu.product: NVIDIA-L40S}
          runtimeClassName: nvidia
        persistence:
          models: {existingClaim: models}
          shm: {type: emptyDir, medium: Memory, sizeLimit: 8Gi, globalMounts: [{path: /dev/shm}]}
    """


def workloads(text: str, path: str = "helmrelease.yaml") -> list[Workload]:
    loaded = documents.load(path, textwrap.dedent(text).lstrip("\n").encode())
    return [one for document in loaded.documents for one in adapters.read(document, samples.ExampleRepository())]


def roles(text: str, path: str = "helmrelease.yaml") -> list[Role]:
    return [role for workload in workloads(text, path) for role in workload.roles]


def test_a_controller_is_a_workload_named_as_its_release_with_what_the_pod_options_and_storage_say() -> None:
    (found,) = workloads(RELEASE)
    (role,) = found.roles
    assert (found.name, role.name, role.text("engine"), role.text("checkpoint")) == (
        "chat",
        "app",
        "vllm",
        "Qwen/Qwen3-8B",
    )
    assert role.value("gpus_per_pod") == 2
    assert role.text("accelerator") == "l40s"
    assert role.value("shared_memory_default") is False
    assert role.open_ended == ""


def test_each_controller_that_is_switched_on_stands_alone_under_its_own_name() -> None:
    text = """
        controllers:
          chat: {containers: {app: {image: {repository: a/b, tag: v1}, resources: {limits: {nvidia.com/gpu: 1}}}}}
          draw: {containers: {app: {image: {repository: a/c, tag: v1}, resources: {limits: {amd.com/gpu: 2}}}}}
          off: {enabled: false, containers: {app: {image: {repository: a/d}, resources: {limits: {nvidia.com/gpu: 8}}}}}
        """
    found = workloads(text, "values.yaml")
    assert [(one.name, one.roles[0].value("gpus_per_pod")) for one in found] == [("chat", 1), ("draw", 2)]


def test_a_sub_chart_of_the_library_is_read_beside_controllers_of_its_own() -> None:
    text = """
        app-template:
          controllers:
            main: {containers: {main: {image: {repository: a/b, tag: v1}, resources: {limits: {nvidia.com/gpu: 1}}}}}
        """
    both = """
        controllers: {main: {containers: {main: {image: {tag: v2}}}}}
        machine-learning:
          controllers:
            main: {containers: {main: {image: {tag: v2-cuda}, resources: {limits: {nvidia.com/gpu: 1}}}}}
        """
    assert [role.value("gpus_per_pod") for role in roles(text, "values.yaml")] == [1]
    assert [role.value("gpus_per_pod") for role in roles(both, "values.yaml")] == [1]


def test_the_options_of_a_pod_come_before_the_defaults_unless_they_are_merged() -> None:
    text = """
        {strategy}
        defaultPodOptions: {{nodeSelector: {{nvidia.com/gpu.product: NVIDIA-L4}}}}
        controllers:
          main:
            pod: {{nodeSelector: {{zone: a}}}}
            containers: {{app: {{image: {{repository: a/b, tag: v1}}, resources: {{limits: {{nvidia.com/gpu: 1}}}}}}}}
        """
    (kept,) = roles(text.format(strategy="defaultPodOptionsStrategy: merge"), "values.yaml")
    (replaced,) = roles(text.format(strategy="global: {}"), "values.yaml")
    assert kept.text("accelerator") == "l4"
    assert replaced.text("accelerator") == ""


def test_default_container_options_hold_where_a_container_states_nothing() -> None:
    text = """
        controllers:
          main:
            defaultContainerOptions: {resources: {limits: {nvidia.com/gpu: 4}}}
            containers: {app: {image: {repository: a/b, tag: v1}}}
        """
    (role,) = roles(text, "values.yaml")
    assert role.value("gpus_per_pod") == 4


def test_types_make_other_objects_and_a_daemon_has_no_number_of_its_own() -> None:
    text = """
        controllers:
          main:
            type: {kind}
            replicas: 3
            containers: {{app: {{image: {{repository: a/b, tag: v1}}, resources: {{limits: {{nvidia.com/gpu: 1}}}}}}}}
        """
    (stateful,) = roles(text.format(kind="statefulset"), "values.yaml")
    (daemon,) = roles(text.format(kind="daemonset"), "values.yaml")
    assert stateful.value("replicas") == 3
    assert daemon.value("replicas") is None or isinstance(daemon.fields["replicas"].value, Unknown)
    assert (
        len(roles(text.format(kind="job"), "values.yaml"))
        == len(roles(text.format(kind="cronjob"), "values.yaml"))
        == 1
    )


def test_resources_on_top_of_the_controllers_are_not_of_the_library_and_make_no_second_pod() -> None:
    text = """
        resources: {limits: {nvidia.com/gpu: 1}}
        controllers:
          main: {containers: {main: {image: {repository: a/b, tag: v1}, resources: {limits: {nvidia.com/gpu: 1}}}}}
        """
    assert len(workloads(text, "values.yaml")) == 1


def test_controllers_without_gpus_or_of_another_chart_hold_no_workload() -> None:
    cpu = "controllers: {main: {containers: {main: {image: {repository: a/b, tag: gpu}}}}}"
    other = "controllers: {manager: {image: a/b, tolerations: [{key: nvidia.com/gpu}]}}"
    unknown = (
        "controllers: {main: {type: other, containers: {m: {image: a/b, resources: {limits: {nvidia.com/gpu: 1}}}}}}"
    )
    assert [workloads(text, "values.yaml") for text in (cpu, other, unknown)] == [[], [], []]
