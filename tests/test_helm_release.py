"""Values inside objects: Flux's HelmRelease, k3s's HelmChart, Argo CD's Application, with places in the object's file."""

from __future__ import annotations

import textwrap

import reading
import samples

from gpulint import adapters
from gpulint.source import documents
from gpulint.workload import Role, Workload

STACK = """
servingEngineSpec:
  modelSpec:
    - name: chat
      repository: vllm/vllm-openai
      tag: v0.10.1
      modelURL: Qwen/Qwen3-8B
      requestGPU: 2
      vllmConfig:
        tensorParallelSize: 2
"""


def indented(columns: int) -> str:
    return textwrap.indent(STACK.strip("\n"), " " * columns)


RELEASE = f"""
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {{name: chat}}
spec:
  chart: {{spec: {{chart: vllm-stack, version: 0.1.9}}}}
  values:
{indented(4)}
"""
TEXT = f"""
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {{name: chat}}
spec:
  source:
    chart: vllm-stack
    helm:
      values: |
{indented(8)}
"""


def only(text: str) -> tuple[Workload, Role]:
    (found,) = reading.workloads(text)
    (role,) = found.roles
    return found, role


def test_a_helm_release_holds_values() -> None:
    found, role = only(RELEASE)
    assert (found.name, found.adapter, found.kind) == ("chat", "helm_release", "inference")
    assert reading.values(role, "checkpoint", "gpus_per_pod", "tensor_parallel") == ["Qwen/Qwen3-8B", 2, 2]
    assert reading.place(role, "tensor_parallel") == "15:33-34"


def test_values_from_elsewhere_leave_the_arguments_open() -> None:
    further = RELEASE.replace("  values:\n", "  valuesFrom: [{kind: ConfigMap, name: more}]\n  values:\n")
    assert only(further)[1].open_ended == "valuesFrom brings further values"


def test_a_helm_chart_of_k3s_holds_values_as_text() -> None:
    _, role = only(
        f"""
apiVersion: helm.cattle.io/v1
kind: HelmChart
metadata: {{name: chat}}
spec:
  chart: oci://example.com/charts/vllm-stack
  valuesContent: |-
{indented(4)}
"""
    )
    assert reading.place(role, "tensor_parallel") == "15:33-34"


def test_an_application_holds_values_as_text_with_exact_places() -> None:
    found, role = only(TEXT)
    assert (found.name, found.adapter) == ("chat", "argo_cd")
    assert reading.place(role, "tensor_parallel") == "17:37-38"
    assert reading.source(role, "checkpoint") == "Qwen/Qwen3-8B"


def test_an_application_holds_values_as_a_mapping_which_comes_first() -> None:
    other = TEXT.replace(
        "    helm:\n", f"    helm:\n      valuesObject:\n{indented(8).replace('Qwen3-8B', 'Qwen3-4B')}\n"
    )
    assert only(other)[1].value("checkpoint") == "Qwen/Qwen3-4B"


def test_parameters_come_before_all_values() -> None:
    parameters = """
      parameters:
        - name: servingEngineSpec.modelSpec[0].vllmConfig.tensorParallelSize
          value: "1"
        - {name: 'servingEngineSpec.modelSpec[0].requestGPU', value: "1"}
"""
    _, role = only(TEXT.replace("      values: |", parameters.strip("\n") + "\n      values: |"))
    assert reading.values(role, "tensor_parallel", "gpus_per_pod") == [1, 1]
    assert reading.place(role, "tensor_parallel") == "10:19-20"


def test_parameters_alone_make_a_model() -> None:
    _, role = only(
        """
        apiVersion: argoproj.io/v1alpha1
        kind: Application
        metadata: {name: chat}
        spec:
          sources:
            - path: charts/chat
              helm:
                parameters:
                  - {name: image.repository, value: vllm/vllm-openai}
                  - {name: model.id, value: Qwen/Qwen3-8B}
                  - {name: maxModelLen, value: "8192"}
                  - {name: 'resources.limits.nvidia\\.com/gpu', value: "1"}
                  - {name: 'nodeSelector.nvidia\\.com/gpu\\.product', value: NVIDIA-L4}
        """
    )
    assert reading.values(role, "engine", "checkpoint", "max_model_len", "gpus_per_pod") == [
        "vllm",
        "Qwen/Qwen3-8B",
        8192,
        1,
    ]
    assert role.value("accelerator") == "l4"
    assert reading.source(role, "gpus_per_pod") == "1"


def test_the_template_of_an_application_set_is_read_too() -> None:
    _, role = only(
        f"""
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {{name: chat}}
spec:
  generators: [{{list: {{elements: [{{cluster: a}}]}}}}]
  template:
    spec:
      source:
        chart: vllm-stack
        helm:
          valuesObject:
{indented(12)}
"""
    )
    assert role.value("checkpoint") == "Qwen/Qwen3-8B"


def test_objects_without_values_or_of_other_charts_hold_no_workload() -> None:
    bare = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nspec: {source: {repoURL: https://example.com/a}}"
    text = bare.replace("source: {", "source: {helm: {values: 'a: [unclosed'}, ")
    broken = bare.replace("source: {", "source: {helm: {parameters: [{name: 'a[99999].b', value: x}, {name: ''}, 3]}, ")
    release = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nspec: {chart: {spec: {chart: redis}}, values: {a: 1}}"
    operator = release.replace("redis", "gpu-operator").replace("a: 1", "driver: {enabled: false}")
    for spec in (bare, text, broken, release, operator, release.replace("values: {a: 1}", "values: null")):
        assert reading.workloads(spec) == []


def test_a_workload_on_top_of_the_values_has_the_name_of_its_release() -> None:
    values = "image: {repository: vllm/vllm-openai, tag: v0.10.1}\nresources: {limits: {nvidia.com/gpu: 1}}\n"
    flux = (
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: chat}\nspec:\n  values:\n"
        + textwrap.indent(values, "    ")
    )
    argo = (
        "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: talk}\nspec:\n  source:\n    helm:\n"
        + "      valuesObject:\n"
        + textwrap.indent(values, " " * 8)
    )
    for text, name in ((flux, "chat"), (argo, "talk")):
        (document,) = documents.load("apps/chat.yaml", text.encode()).documents
        (found,) = adapters.read(document, samples.ExampleRepository())
        assert (found.name, found.roles[0].name) == (name, "server")
