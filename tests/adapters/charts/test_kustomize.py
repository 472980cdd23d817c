"""kustomize and charts: instructions, patches and templates are known and never read as whole objects."""

from __future__ import annotations

import pytest
import samples
from reading import claimed

from gpulint import adapters
from gpulint.source import documents

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat}
spec:
  selector: {matchLabels: {app: chat}}
  template:
    spec:
      containers:
        - name: server
          image: vllm/vllm-openai:v0.10.1
          args: [--model=Qwen/Qwen3-8B]
          resources: {limits: {nvidia.com/gpu: 1}}
"""
PATCH = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat}
spec:
  template:
    spec:
      containers:
        - name: server
          args: [--model=Qwen/Qwen3-8B, --max-model-len=1024]
          resources: {limits: {nvidia.com/gpu: 2}}
"""


def names(text: str, path: str, files: dict[str, str]) -> list[str]:
    """The workloads of a file in a repository that holds others."""
    repository = samples.ExampleRepository({name: content.encode() for name, content in files.items()})
    found = documents.load(path, text.encode()).documents
    return [workload.name for document in found for workload in adapters.read(document, repository)]


@pytest.mark.parametrize(
    ("text", "path", "kind"),
    [
        (
            "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n",
            "a.yaml",
            "kustomize.config.k8s.io/Kustomization",
        ),
        (
            "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n",
            "a.yaml",
            "kustomize.config.k8s.io/Component",
        ),
        ("resources: [deployment.yaml]\n", "overlays/gpu/kustomization.yaml", "Kustomization"),
        ("- op: replace\n  path: /spec/replicas\n  value: 2\n", "patch.yaml", "kustomize patch"),
        ("apiVersion: v2\nname: chat\nversion: 0.1.0\n", "charts/chat/Chart.yaml", "Helm chart"),
        (
            'apiVersion: v1\nkind: Pod\nmetadata: {name: "{{ .Values.name }}"}\n',
            "chat/templates/pod.yaml",
            "Helm template",
        ),
    ],
)
def test_instructions_and_templates_are_known(text: str, path: str, kind: str) -> None:
    assert claimed(text, path) == kind
    assert names(text, path, {}) == []


@pytest.mark.parametrize(
    ("text", "path", "kind"),
    [
        ("resources: {limits: {nvidia.com/gpu: 1}}\n", "deploy/settings.yaml", "kustomize"),
        ("- op: sum\n  args: [a, b]\n", "graph.yaml", "kustomize patch"),
        (DEPLOYMENT, "chat/templates/deployment.yaml", "Helm template"),
        (DEPLOYMENT.replace("chat", '"{{ name }}"', 1), "chat/deployment.yaml", "Helm template"),
        ("apiVersion: v2\nname: chat\nversion: 0.1.0\n", "package.yaml", "Helm chart"),
    ],
)
def test_look_alikes_are_not_instructions_or_templates(text: str, path: str, kind: str) -> None:
    assert kind not in claimed(text, path)


@pytest.mark.parametrize(
    "instructions",
    [
        "patches: [{path: patch.yaml}]",
        "patchesStrategicMerge: [patch.yaml]",
        "patches: [{path: ./patch.yaml, target: {kind: Deployment}}]",
    ],
)
def test_a_file_that_a_kustomization_lists_as_a_patch_is_no_workload(instructions: str) -> None:
    files = {"overlay/kustomization.yaml": f"resources: [base.yaml]\n{instructions}\n"}
    assert names(DEPLOYMENT, "overlay/patch.yaml", files) == []
    assert names(DEPLOYMENT, "overlay/base.yaml", files) == ["chat"]


def test_a_kustomization_above_may_list_it() -> None:
    files = {"overlay/kustomization.yaml": "patches: [{path: patches/gpu.yaml}]\n"}
    assert names(DEPLOYMENT, "overlay/patches/gpu.yaml", files) == []


def test_an_object_that_lacks_selector_and_images_is_a_patch() -> None:
    assert names(PATCH, "gpu.yaml", {}) == []
    assert names(
        PATCH.replace("- name: server\n", "- name: server\n          image: vllm/vllm-openai:v0.10.1\n"), "gpu.yaml", {}
    ) == ["chat"]


def test_values_that_a_kustomization_gives_to_a_chart_are_read() -> None:
    text = """\
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
helmCharts:
  - name: vllm-stack
    valuesInline:
      servingEngineSpec:
        modelSpec: [{name: chat, repository: vllm/vllm-openai, tag: v0.10.1, modelURL: Qwen/Qwen3-8B, requestGPU: 1}]
"""
    assert names(text, "kustomization.yaml", {}) == ["chat"]


# ---- configurations of nodes


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("version: v1\nmig-configs: {all-1g.5gb: [{devices: all, mig-enabled: true}]}\n", "MIG-parted config"),
        (
            "version: v1\nsharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}\n",
            "device-plugin config",
        ),
        ("version: v1\nflags: {migStrategy: mixed}\n", "device-plugin config"),
    ],
)
def test_layouts_and_sharing_of_cards_are_known(text: str, kind: str) -> None:
    assert claimed(text, "config.yaml") == kind
    assert names(text, "config.yaml", {}) == []


@pytest.mark.parametrize(
    "text",
    ["version: v1\nsharing: {link: public}\n", "version: 2\nflags: {migStrategy: mixed}\n", "sharing: {mps: {}}\n"],
)
def test_other_sharing_and_flags_are_not(text: str) -> None:
    assert claimed(text, "config.yaml") == ""


SERVED = DEPLOYMENT.replace("--model=Qwen/Qwen3-8B", "--model=$(MODEL)").replace(
    "          resources:", "          envFrom: [{configMapRef: {name: model}}]\n          resources:"
)
BASE = "resources: [deployment.yaml]\nconfigMapGenerator: [{name: model, literals: [MODEL=Qwen/Qwen3-8B]}]\n"
OVERLAY = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [../base]\n"
FILES = {"base/kustomization.yaml": BASE, "base/deployment.yaml": SERVED}


def built(overlay: str, files: dict[str, str] | None = None) -> list[tuple[str, str]]:
    """The checkpoint and GPUs of the workloads that an overlay changes."""
    held = {name: text.encode() for name, text in {**FILES, **(files or {})}.items()}
    found = samples.report(OVERLAY + overlay, path="prod/kustomization.yaml", files=held)
    return [(role.architecture, role.accelerator) for role in samples.roles(found)]


@pytest.mark.parametrize(
    ("overlay", "workloads"),
    [
        (
            "configMapGenerator: [{name: model, behavior: merge, literals: [MODEL=Qwen/Qwen3-32B]}]\n",
            ("Qwen/Qwen3-32B", "1"),
        ),
        ("patches: [{path: patch.yaml}]\n", ("Qwen/Qwen3-8B", "2")),
        ("patchesStrategicMerge: [patch.yaml]\n", ("Qwen/Qwen3-8B", "2")),
        ("components: [../gpus]\n", ("Qwen/Qwen3-8B", "2")),
        (
            "patches:\n  - target: {kind: Deployment}\n    patch: |\n      - op: replace\n"
            "        path: /spec/template/spec/containers/0/resources/limits/nvidia.com~1gpu\n        value: 4\n",
            ("Qwen/Qwen3-8B", "4"),
        ),
        (
            "patches:\n  - target: {kind: Deployment, name: chat}\n    patch: |\n      - op: add\n"
            "        path: /spec/template/spec/containers/0/args/-\n        value: --max-model-len=1024\n",
            ("Qwen/Qwen3-8B", "1"),
        ),
    ],
)
def test_an_overlay_that_changes_a_workload_is_one_of_its_own(overlay: str, workloads: tuple[str, str]) -> None:
    files = {"prod/patch.yaml": PATCH, "gpus/patch.yaml": PATCH}
    files["gpus/kustomization.yaml"] = "kind: Component\npatches: [{path: patch.yaml}]\n"
    ((checkpoint, accelerator),) = built(overlay, files)
    assert (checkpoint, accelerator.partition(" ")[0]) == workloads


@pytest.mark.parametrize(
    "overlay",
    [
        "",
        "namePrefix: prod-\n",
        "images: [{name: vllm/vllm-openai, newName: mirror/vllm-openai}]\n",
        "patches:\n  - target: {kind: Service}\n    patch: |\n      - {op: replace, path: /spec/type, value: NodePort}\n",
        "patches:\n  - target: {kind: Deployment}\n    patch: |\n      - {op: replace, path: /no/such, value: 1}\n",
        "patches: [{path: missing.yaml}]\n",
        "configMapGenerator: [{name: other, literals: [MODEL=Qwen/Qwen3-32B]}]\n",
    ],
)
def test_an_overlay_that_changes_nothing_of_what_runs_adds_no_workload(overlay: str) -> None:
    assert built(overlay) == []


def test_a_kustomization_of_itself_ends() -> None:
    assert (
        built(
            "components: [.]\npatches: [{path: patch.yaml}]\n", {"base/kustomization.yaml": "resources: [../prod, .]\n"}
        )
        == []
    )
