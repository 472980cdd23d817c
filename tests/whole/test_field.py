"""What repositories never seen before showed: one defect each, in the smallest spec that has it."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
import reading
import samples

from gpulint.catalog import architecture
from gpulint.pipeline import check as pipeline_check
from gpulint.policy.resolved import ResolvedPolicy
from gpulint.policy.rules.rule import load_shipped
from gpulint.report.model import Finding, Report, RoleSummary, Severity, Suggestion
from gpulint.source import repository
from gpulint.suggestions.edits import accelerator_names
from gpulint.workload import Role

L4 = "cloud.google.com/gke-accelerator: nvidia-l4"
H100 = "cloud.google.com/gke-accelerator: nvidia-h100-80gb"
H200 = "nvidia.com/gpu.product: NVIDIA-H200"
A100 = "nvidia.com/gpu.product: NVIDIA-A100-SXM4-80GB"
GKE_A100 = "cloud.google.com/gke-accelerator: nvidia-a100-80gb"
G6 = "node.kubernetes.io/instance-type: g6.12xlarge"
"""Four L4."""

SMALL = "Qwen/Qwen2.5-7B-Instruct"
MIXTRAL = "mistralai/Mixtral-8x7B-Instruct-v0.1"
MEMORY = {"weights-exceed-memory", "serving-does-not-fit", "default-context-does-not-fit", "mig-slice-too-small"}
SHARED = "the GPU is shared: the memory of its other programs is not counted"

Check = Callable[..., Report]


def pod(
    command: str,
    gpus: int = 1,
    selector: str = L4,
    image: str = "vllm/vllm-openai:v0.10.1",
    asked: str = "",
    mounted: bool = True,
) -> str:
    """A pod of one server; `command` is its lines `command:` and `args:`, `asked` further resources."""
    mounts = "volumeMounts: [{name: shm, mountPath: /dev/shm}]" if mounted else "volumeMounts: []"
    container = (
        f"name: server\nimage: {image}\n{command}\nresources: {{limits: {{nvidia.com/gpu: {gpus}{asked}}}}}\n{mounts}"
    )
    return (
        f"apiVersion: v1\nkind: Pod\nmetadata: {{name: chat}}\nspec:\n  nodeSelector: {{{selector}}}\n"
        f"  volumes: [{{name: shm, emptyDir: {{medium: Memory}}}}]\n  containers:\n    - "
        + textwrap.indent(container, " " * 6).lstrip()
        + "\n"
    )


def checked(text: str, path: str = "spec.yaml") -> Report:
    """The report on one text; a fault of ours is never taken for silence."""
    found = samples.report(text, path)
    assert found.failures == ()
    return found


def said(found: Report) -> set[str]:
    return {finding.rule for finding in found.open}


def only_role(found: Report) -> RoleSummary:
    (role,) = samples.roles(found)
    return role


def finding(found: Report, name: str) -> Finding:
    (one,) = samples.of_rule(found, name)
    return one


def offered(text: str, name: str) -> tuple[Suggestion, ...]:
    return finding(checked(text), name).suggestions


def changes(text: str, name: str) -> set[tuple[str, str]]:
    """Quantity and new value of every edit that is offered; of `--flag=value`, the value."""
    return {(edit.quantity, edit.new.rpartition("=")[2]) for one in offered(text, name) for edit in one.edits}


@pytest.fixture
def check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Check:
    """Checks paths of a repository of these files."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()

    def run(files: Mapping[str, str], *paths: str) -> Report:
        for path, text in files.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(text, encoding="utf-8")
        rules = load_shipped()
        tree = repository.WorkTree(tmp_path)
        found = pipeline_check.check_files(
            tree.sources(paths or ["."]), tree, ResolvedPolicy(tuple(rules.values()), tuple(rules))
        )
        assert found.failures == ()
        return found

    return run


# ---- A. cards that a device plugin's configuration hands out in shares


DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: chat}}
spec:
  template:
    spec:
      nodeSelector: {{{selector}}}
      containers:
        - name: server
          image: vllm/vllm-openai:v0.10.1
          args: [--model=Qwen/Qwen2.5-7B-Instruct, --max-model-len=8192]
          resources: {{limits: {{nvidia.com/gpu: 4}}}}
"""
CONFIG_MAP = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: plugin-config, namespace: gpu-operator}
data:
  any: |-
    version: v1
    sharing:
      timeSlicing:
        resources:
          - name: nvidia.com/gpu
            replicas: 8
"""
CHART_VALUES = """\
config:
  map:
    default: |-
      version: v1
      sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 8}]}}
"""
NESTED_VALUES = """\
plugin:
  sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 8}]}}
"""
UNSHARED_VALUES = """\
config:
  map:
    default: |-
      version: v1
      flags: {migStrategy: none}
      resources: {gpus: [{name: nvidia.com/gpu, pattern: "*"}]}
"""

every_sharing_config = pytest.mark.parametrize(
    "config",
    [
        pytest.param({"infra/plugin.yaml": CONFIG_MAP}, id="ConfigMap"),
        pytest.param({"charts/plugin/values.yaml": CHART_VALUES}, id="text in chart values"),
        pytest.param({"charts/plugin/values.yaml": NESTED_VALUES}, id="chart values"),
    ],
)
only_that_file_or_all = pytest.mark.parametrize("paths", [(), ("apps/chat.yaml",)], ids=["all files", "that file"])


@every_sharing_config
@only_that_file_or_all
def test_a_gpu_count_is_unknown_where_the_repository_hands_cards_out_in_shares(
    check: Check, config: Mapping[str, str], paths: tuple[str, ...]
) -> None:
    found = check({"apps/chat.yaml": DEPLOYMENT.format(selector=A100), **config}, *paths)
    assert said(found) == set()
    assert only_role(found).accelerator == "? × A100 SXM4 80GB"
    assert "gpus-left-idle" in samples.not_evaluated(found)
    assert SHARED in only_role(found).assumptions


@every_sharing_config
@only_that_file_or_all
def test_a_gpu_count_on_gke_is_kept_where_only_a_device_plugin_shares(
    check: Check, config: Mapping[str, str], paths: tuple[str, ...]
) -> None:
    found = check({"apps/chat.yaml": DEPLOYMENT.format(selector=GKE_A100), **config}, *paths)
    assert said(found) == {"gpus-left-idle"}
    assert only_role(found).accelerator == "4 × A100 SXM4 80GB"


@only_that_file_or_all
@pytest.mark.parametrize("others", [{}, {"charts/plugin/values.yaml": UNSHARED_VALUES}], ids=["alone", "unshared"])
def test_a_gpu_count_is_kept_where_nothing_hands_cards_out_in_shares(
    check: Check, others: Mapping[str, str], paths: tuple[str, ...]
) -> None:
    found = check({"apps/chat.yaml": DEPLOYMENT.format(selector=A100), **others}, *paths)
    assert said(found) == {"gpus-left-idle"}
    assert only_role(found).accelerator == "4 × A100 SXM4 80GB"


# ---- B. cards that a node label says are shared


def test_a_count_of_shares_leaves_no_gpu_idle_and_the_sharing_is_assumed_aloud() -> None:
    found = checked(DEPLOYMENT.format(selector=f"{A100}-SHARED"))
    assert said(found) == {"shared-gpu-taken-whole"}
    assert only_role(found).accelerator == "? × A100 SXM4 80GB"
    assert SHARED in only_role(found).assumptions


def test_a_count_of_whole_cards_leaves_gpus_idle_and_no_sharing_is_assumed() -> None:
    found = checked(DEPLOYMENT.format(selector=A100))
    assert said(found) == {"gpus-left-idle"}
    assert SHARED not in only_role(found).assumptions


# ---- C. vLLM-Omni places its stages itself


@pytest.mark.parametrize(
    ("image", "command"),
    [
        ("vllm/vllm-openai:v0.11.0", "command: [vllm, serve, Qwen/Qwen2.5-Omni-7B, --omni]"),
        ("registry.example.com/vllm-omni:v0.11.0", "command: [vllm, serve, Qwen/Qwen2.5-Omni-7B]"),
        ("registry.example.com/vllm-omni:v0.11.0", "args: [--model=Qwen/Qwen2.5-Omni-7B]"),
    ],
)
def test_the_stages_of_an_omni_server_leave_no_gpu_idle(image: str, command: str) -> None:
    assert "gpus-left-idle" not in said(checked(pod(command, 2, H100, image)))


def test_the_same_checkpoint_on_a_server_without_stages_leaves_a_gpu_idle() -> None:
    assert "gpus-left-idle" in said(checked(pod("command: [vllm, serve, Qwen/Qwen2.5-Omni-7B]", 2, H100)))


# ---- D. a flag and its value in one word of a list


UNSPLIT = """\
apiVersion: v1
kind: Pod
metadata: {name: chat}
spec:
  nodeSelector: {cloud.google.com/gke-accelerator: nvidia-l4}
  containers:
    - name: server
      image: vllm/vllm-openai:v0.10.1
      args: ["--model=Qwen/Qwen2.5-14B-Instruct", "--tensor-parallel-size 2"]
      resources: {limits: {nvidia.com/gpu: 2}}
"""


def test_a_flag_and_its_value_in_one_word_are_an_error_at_the_list_item() -> None:
    found = finding(checked(UNSPLIT), "argument-not-split")
    assert found.severity is Severity.ERROR
    assert found.location[:5] == ("spec.yaml", 9, 51, 9, 77)


def test_nothing_is_judged_on_a_size_that_the_engine_never_sees() -> None:
    found = checked(UNSPLIT)
    assert said(found) == {"argument-not-split"}
    assert reading.values(reading.role(UNSPLIT), "tensor_parallel")[0].startswith("unknown: ")


def test_the_same_list_without_the_size_is_judged_on_one_rank() -> None:
    found = checked(UNSPLIT.replace(', "--tensor-parallel-size 2"', ""))
    assert said(found) == {"weights-exceed-memory", "gpus-left-idle"}


@pytest.mark.parametrize("word", ["--port 8000", "-tp 2", "--max-model-len 4096", "--enforce-eager --port=8000"])
def test_any_argument_in_one_word_with_its_value_is_an_error(word: str) -> None:
    found = checked(pod(f'args: [--model={SMALL}, "{word}"]'))
    assert finding(found, "argument-not-split").severity is Severity.ERROR
    assert not said(found) & MEMORY


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(f"command: [sh, -c, 'vllm serve {SMALL} --tensor-parallel-size 2']", id="script"),
        pytest.param(f"command: [sh, -c]\nargs: ['vllm serve {SMALL} --tensor-parallel-size 2']", id="script in args"),
        pytest.param(f"args: [--model={SMALL}, --tensor-parallel-size, '2']", id="two words"),
        pytest.param(f"args: [--model={SMALL}, -tp=2, '--served-model-name=my model']", id="blank in a name"),
        pytest.param(f"args: [--model={SMALL}, -tp=2, --served-model-name, my model]", id="blank in the next word"),
        pytest.param(f"args: [--model={SMALL}, -tp=2, '--chat-template=a b']", id="blank in a template"),
        pytest.param(f"args: [--model={SMALL}, -tp=2, '--hf-overrides={{\"a\": 1}}']", id="blank in JSON"),
    ],
)
def test_blanks_in_a_script_or_a_value_split_no_argument(command: str) -> None:
    assert said(checked(pod(command, 2))) == set()


# ---- E. shared memory of ranks on several pods, or of pods that an operator completes


RANKS = f"args: [--model={SMALL}, --max-model-len=8192, --tensor-parallel-size=2]"
WORKER = f"command: [vllm, serve, {SMALL}, --max-model-len=8192, --tensor-parallel-size=2]"


def test_ranks_on_a_pod_of_one_gpu_each_share_no_memory() -> None:
    joined = RANKS.replace("]", ", --distributed-executor-backend, ray]")
    assert "shared-memory-too-small" not in said(checked(pod(joined, mounted=False)))


@pytest.mark.parametrize(("kind", "under"), [("RayCluster", ""), ("RayService", "rayClusterConfig")])
def test_workers_of_ray_have_the_shared_memory_that_kuberay_mounts(kind: str, under: str) -> None:
    container = (
        f"{{name: worker, image: 'vllm/vllm-openai:v0.10.1', {WORKER}, resources: {{limits: {{nvidia.com/gpu: 2}}}}}}"
    )
    groups = f"workerGroupSpecs: [{{groupName: gpu, replicas: 1, template: {{spec: {{containers: [{container}]}}}}}}]"
    spec = f"{{{under}: {{{groups}}}}}" if under else f"{{{groups}}}"
    found = checked(f"apiVersion: ray.io/v1\nkind: {kind}\nmetadata: {{name: chat}}\nspec: {spec}\n")
    assert only_role(found).engine == "vllm"
    assert "shared-memory-too-small" not in said(found)


@pytest.mark.parametrize("command", [RANKS, WORKER])
def test_ranks_on_the_gpus_of_one_pod_share_its_memory(command: str) -> None:
    assert said(checked(pod(command, 2, mounted=False))) == {"memory-volume-not-mounted"}
    bare = pod(command, 2, mounted=False).replace("emptyDir: {medium: Memory}", "emptyDir: {}")
    assert said(checked(bare)) == {"shared-memory-too-small"}


# ---- F. JSON and TOML that deploy nothing


LOCK = '{"packages": {"nvidia-smi-reader": {"version": "1.0.0"}, "nvidia-smi-reader": {"version": "1.0.1"}}}\n'
LOG = '{"level": "info", "message": "4 GPUs found: nvidia-l4, vllm starts"\n{"level" "info"}\n'
PYPROJECT = '[project]\nname = "acme"\nname = "acme-cuda"\ndependencies = ["torch-cuda"]\n'
BROKEN_PYPROJECT = '[project]\nname = "acme"\nkeywords = ["cuda",\n[tool\n'
MANIFEST = (
    '{{"apiVersion": "v1", "kind": "Pod", "metadata": {{"name": "train"}}, "spec": {{"containers": [{{"name": "train",'
    ' "image": "python:3.12", {image}"resources": {{"limits": {{"nvidia.com/gpu": 1}}}}}}]}}}}\n'
)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        pytest.param("package-lock.json", LOCK, id="lock"),
        pytest.param("run.json", LOG, id="broken log"),
        pytest.param("run.json", LOG.splitlines()[0], id="log cut short"),
        pytest.param("pyproject.toml", PYPROJECT, id="TOML with a key twice"),
        pytest.param("pyproject.toml", BROKEN_PYPROJECT, id="broken TOML"),
    ],
)
def test_json_and_toml_that_deploy_nothing_are_nobodys_business(path: str, text: str) -> None:
    assert said(checked(text, path)) == set()


@pytest.mark.parametrize(
    ("path", "text", "rule"),
    [
        ("pod.json", MANIFEST.format(image='"image": "python:3.13", '), "duplicate-key"),
        ("pod.json", MANIFEST.format(image='"image" "python:3.13", '), "invalid-syntax"),
        ("limits.json", '{"limits": {"nvidia.com/gpu": 1}\n', "invalid-syntax"),
        ("spec.toml", 'apiVersion = "gpulint/v1"\nkind = "InferenceService"\nkind = \n', "invalid-syntax"),
    ],
)
def test_json_and_toml_that_deploy_something_are_read_strictly(path: str, text: str, rule: str) -> None:
    assert said(checked(text, path)) == {rule}


def test_a_manifest_in_json_without_trouble_is_silent() -> None:
    assert said(checked(MANIFEST.format(image=""), "pod.json")) == set()


# ---- G. releases that nothing states


RELEASE = "the release of vllm is not declared: 0.9.0 or later"


@pytest.mark.parametrize(
    "image",
    [
        "vllm/vllm-openai:latest",
        "vllm/vllm-openai",
        "vllm/vllm-openai@sha256:00ff",
        "registry.example.com/vllm-chat:1.2",
    ],
)
def test_an_image_without_a_release_is_taken_for_0_9_0_or_later(image: str) -> None:
    assert RELEASE in only_role(checked(pod(f"args: [--model={SMALL}]", image=image))).assumptions


def test_no_release_is_assumed_where_the_tag_states_one() -> None:
    assumed = only_role(checked(pod(f"args: [--model={SMALL}]", image="vllm/vllm-openai:v0.7.0"))).assumptions
    assert not any("release" in one for one in assumed)


# ---- H. number formats that nothing states


def named(checkpoint: str, gpus: int, selector: str) -> dict[str, Severity]:
    command = f"args: [--model=/models/{checkpoint}, --max-model-len=8192, --tensor-parallel-size={gpus}]"
    return samples.severities(checked(pod(command, gpus, selector)))


def test_weights_that_fit_in_a_common_format_are_at_most_a_note_when_none_is_stated() -> None:
    """671 billion parameters over 8 × 141 GB: 84 GB each in 8 bits, 168 GB in 16."""
    found = named("acme-671B", 8, H200)
    assert set(found) <= MEMORY
    assert max(found.values(), default=Severity.NOTE) is Severity.NOTE


def test_a_release_of_a_hub_that_fits_in_fewer_bits_only_is_warned_of_but_no_error() -> None:
    """70 billion parameters in 16 bits are 140 GB; a release that says nothing of its format is likely not quantised."""
    text = pod("args: [--model=acme/Llama-9-70b-chat-hf, --max-model-len=4096]", 1, A100)
    assert samples.severities(checked(text))["weights-exceed-memory"] is Severity.WARNING


def test_a_copy_of_a_listed_release_in_a_folder_has_the_release_s_size() -> None:
    """openai/gpt-oss-120b holds 65 GB in MXFP4 and runs on one card of 80 GB, as its makers say."""
    found = checked(
        pod("args: [--model=/models/gpt-oss-120b, --max-model-len=8192]", 1, A100, "vllm/vllm-openai:v0.10.1")
    )
    assert MEMORY.isdisjoint(said(found))
    assert only_role(found).architecture == "openai/gpt-oss-120b"


def test_a_folder_of_the_hugging_face_cache_is_judged_as_its_checkpoint() -> None:
    path = "/models/models--meta-llama--Meta-Llama-3.1-8B-Instruct/snapshots/0e9e39f249a16976918f6564b8830bc894c89659"
    role = only_role(checked(pod(f"args: [--model={path}, --max-model-len=8192]")))
    assert role.verdict == "fits"
    assert f"{path} is the Hugging Face cache of meta-llama/Meta-Llama-3.1-8B-Instruct" in role.assumptions


@pytest.mark.parametrize(
    ("checkpoint", "gpus", "selector"),
    [
        pytest.param("acme-70B-FP8", 1, L4, id="70 GB as stated against 24"),
        pytest.param("acme-671B-FP8", 8, H100, id="84 GB as stated against 80"),
        pytest.param("acme-671B", 8, L4, id="42 GB in 4 bits against 24"),
    ],
)
def test_weights_that_do_not_fit_even_in_their_format_are_said_to(checkpoint: str, gpus: int, selector: str) -> None:
    assert named(checkpoint, gpus, selector)["weights-exceed-memory"] >= Severity.WARNING


@pytest.mark.parametrize(("checkpoint", "gpus"), [("acme-70B-FP8", 1), ("acme-671B-FP8", 8), ("acme-671B-AWQ", 8)])
def test_weights_that_fit_in_their_format_are_silent(checkpoint: str, gpus: int) -> None:
    assert "weights-exceed-memory" not in named(checkpoint, gpus, H200)


# ---- I. alternatives that cannot be had, and the one that is nearest


LARGE = f"args: [--model={MIXTRAL}, --max-model-len=8192, --tensor-parallel-size=4]"


def test_no_alternative_asks_for_more_gpus_than_the_machine_type_holds() -> None:
    assert ("gpus_per_pod", "8") not in changes(pod(LARGE, 4, G6), "serving-does-not-fit")


def test_an_alternative_asks_for_more_gpus_where_no_machine_type_is_stated() -> None:
    assert ("gpus_per_pod", "8") in changes(pod(LARGE, 4, L4), "serving-does-not-fit")


def machine(gpus: int, selector: str) -> str:
    return (
        f"apiVersion: v1\nkind: Pod\nmetadata: {{name: train}}\nspec:\n  nodeSelector: {{{selector}}}\n"
        "  containers:\n    - name: train\n      image: python:3.12\n"
        f"      resources: {{limits: {{nvidia.com/gpu: {gpus}}}}}\n"
    )


def test_more_gpus_than_the_machine_type_holds_are_an_error_at_the_count() -> None:
    found = checked(machine(8, G6))
    assert said(found) == {"pod-larger-than-node"}
    one = finding(found, "pod-larger-than-node")
    assert one.severity is Severity.ERROR
    assert one.location[:5] == ("spec.yaml", 9, 44, 9, 45)


@pytest.mark.parametrize(("gpus", "selector"), [(4, G6), (1, G6), (8, L4), (16, "pool: big")])
def test_a_count_that_a_machine_can_hold_is_silent_and_counts_as_judged(gpus: int, selector: str) -> None:
    found = checked(machine(gpus, selector))
    assert "pod-larger-than-node" not in said(found) | samples.not_evaluated(found)


def idle(release: str, checkpoint: str = SMALL) -> str:
    command = f"args: [--model={checkpoint}, --max-model-len=8192]"
    return pod(command, 2, H100, f"vllm/vllm-openai:{release}")


@pytest.mark.parametrize("release", ["v0.7.0", "v0.8.2"])
def test_data_parallel_is_not_offered_to_a_release_without_the_argument(release: str) -> None:
    assert "data_parallel" not in {name for name, _ in changes(idle(release), "gpus-left-idle")}


@pytest.mark.parametrize("release", ["v0.8.3", "v0.10.1", "latest"])
def test_data_parallel_is_offered_to_a_release_with_the_argument(release: str) -> None:
    assert ("data_parallel", "2") in changes(idle(release), "gpus-left-idle")


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        pytest.param(idle("v0.10.1", "/models/acme-30B-FP8"), "gpus-left-idle", id="idle"),
        pytest.param(
            pod("args: [--model=/models/acme-70B-FP8, --max-model-len=8192]", 4, L4),
            "weights-exceed-memory",
            id="large",
        ),
        pytest.param(
            pod("args: [--model=/models/acme-30B-FP8, --max-model-len=8192]"), "weights-exceed-memory", id="one GPU"
        ),
    ],
)
def test_no_other_tensor_parallel_size_is_offered_when_the_heads_are_unknown(text: str, rule: str) -> None:
    assert "tensor_parallel" not in {name for name, _ in changes(text, rule)}


def test_another_tensor_parallel_size_is_offered_when_the_heads_divide() -> None:
    assert ("tensor_parallel", "2") in changes(idle("v0.10.1"), "gpus-left-idle")


def test_a_low_utilisation_is_raised_before_anything_is_given_up() -> None:
    text = pod(f"args: [--model={SMALL}, --max-model-len=8192, --gpu-memory-utilization=0.35]")
    first = offered(text, "serving-does-not-fit")[0]
    (edit,) = first.edits
    assert (edit.quantity, edit.old) == ("gpu_memory_utilization", "--gpu-memory-utilization=0.35")
    assert 0.35 < float(edit.new.rpartition("=")[2]) <= 0.95
    assert said(checked(samples.changed(text, first))) == set()


def test_a_utilisation_that_is_high_already_is_left_alone() -> None:
    text = pod(
        "args: [--model=meta-llama/Llama-3.1-8B-Instruct, --max-model-len=131072, --gpu-memory-utilization=0.95]"
    )
    assert "gpu_memory_utilization" not in {name for name, _ in changes(text, "serving-does-not-fit")}


# ---- J. what is read


GPU = "resources: {limits: {nvidia.com/gpu: 2}}"


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(
            "command: [sh, -c, 'exec vllm serve \"$@\"', x]\nargs: [Qwen/Qwen3-8B, --tensor-parallel-size=2]",
            id="arguments of a script",
        ),
        pytest.param(
            "command: [sh, -c, 'exec vllm serve Qwen/Qwen3-8B \"$@\"', x, --tensor-parallel-size, '2']",
            id="further arguments of a script",
        ),
        pytest.param(
            'command: [/bin/bash, -lc, --]\nargs: ["export A=b; vllm serve Qwen/Qwen3-8B --tensor-parallel-size 2"]',
            id="two dashes before the script",
        ),
        pytest.param(
            "command: [python3, -m, vllm.entrypoints.grpc_server, --model, Qwen/Qwen3-8B, -tp, '2']", id="gRPC"
        ),
    ],
)
def test_a_server_and_its_arguments_are_read(command: str) -> None:
    found = reading.started(f"image: example.com/app:1\n{command}\n{GPU}")
    assert reading.values(found, "engine", "checkpoint", "tensor_parallel") == ["vllm", "Qwen/Qwen3-8B", 2]


def test_the_first_word_after_a_script_is_its_name_and_no_argument() -> None:
    command = "command: [sh, -c, 'exec vllm serve \"$@\"', Qwen/Qwen3-8B, --tensor-parallel-size=2]"
    found = reading.started(f"image: example.com/app:1\n{command}\n{GPU}")
    assert reading.values(found, "engine", "checkpoint", "tensor_parallel") == ["vllm", None, 2]


def predictor(model_format: str) -> str:
    return f"""\
apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
metadata: {{name: chat}}
spec:
  predictor:
    nodeSelector: {{cloud.google.com/gke-accelerator: nvidia-h100-80gb}}
    model:
      modelFormat: {{name: {model_format}}}
      storageUri: hf://Qwen/Qwen2.5-7B-Instruct
      args: [--max-model-len=8192]
      resources: {{limits: {{nvidia.com/gpu: 2}}}}
"""


@pytest.mark.parametrize("model_format", ["vLLM", "vllm", "VLLM"])
def test_a_predictor_of_the_vllm_format_is_a_server_to_which_its_runtime_may_add(model_format: str) -> None:
    text = predictor(model_format)
    assert reading.values(reading.role(text), "engine", "max_model_len", "checkpoint") == [
        "vllm",
        8192,
        "hf://Qwen/Qwen2.5-7B-Instruct",
    ]
    found = checked(text)
    assert said(found) == set()
    assert "gpus-left-idle" in samples.not_evaluated(found)


@pytest.mark.parametrize("model_format", ["sklearn", "vllm-adapter"])
def test_a_predictor_of_another_format_is_no_server(model_format: str) -> None:
    assert reading.role(predictor(model_format)).text("engine") == ""


@pytest.mark.parametrize("share", ["gpumem-percentage: 10", "gpumem: 8000"])
def test_what_is_granted_a_share_of_a_card_is_not_said_to_fit(share: str) -> None:
    found = checked(pod(f"args: [--model={SMALL}, --max-model-len=8192]", 1, H100, asked=f", nvidia.com/{share}"))
    assert only_role(found).verdict not in ("fits", "likely fits")


def test_what_is_granted_a_whole_card_is_said_to_fit() -> None:
    found = checked(pod(f"args: [--model={SMALL}, --max-model-len=8192]", 1, H100))
    assert only_role(found).verdict == "fits"


def engines_of(lines: str) -> list[str]:
    return [role.text("engine") for role in reading.started_all(lines) if role.text("engine")]


@pytest.mark.parametrize("name", ["mock-vllm", "vllm-gateway", "vllm-latency-proxy", "gradio-rag-vllm"])
def test_a_helper_with_vllm_in_its_name_is_no_server(name: str) -> None:
    assert engines_of(f"image: registry.example.com/acme/{name}:v0.10.1") == []


@pytest.mark.parametrize("name", ["vllm-openai:v0.10.1", "vllm-gemma:1.2", "acme-vllm"])
def test_an_image_with_vllm_in_its_name_that_is_given_gpus_is_a_server(name: str) -> None:
    assert engines_of(f"image: registry.example.com/acme/{name}\n{GPU}") == ["vllm"]


@pytest.mark.parametrize(
    ("image", "release"),
    [
        ("vllm/vllm-openai:v0.10.1", "0.10.1"),
        ("mirror.example.com/vllm/vllm-openai:v0.10.1", "0.10.1"),
        ("nvcr.io/nvidia/ai-dynamo/vllm-runtime:0.6.1.post1", None),
        ("ai-dynamo/vllm-runtime:0.6.1.post1", None),
        ("acme/vllm-gemma:1.2", None),
        ("lmcache/vllm-openai:v0.3.9", None),
        ("docker.io/lmcache/vllm-openai:v0.3.9", None),
    ],
)
def test_only_the_tags_of_the_engines_own_image_tell_its_release(image: str, release: str | None) -> None:
    found: Role = reading.server(f"[--model={SMALL}]", image)
    assert reading.values(found, "engine", "engine_version") == ["vllm", release]


@pytest.mark.parametrize("path", ["/models/llama-3.1-8b-instruct/", "/models/Llama-3.1-8B-Instruct"])
def test_a_path_names_a_checkpoint_of_the_catalogue_in_either_case(path: str) -> None:
    found = architecture.resolve(path).architecture
    assert found is not None
    assert (found.id, found.attention_heads) == ("meta-llama/Llama-3.1-8B-Instruct", 32)


@pytest.mark.parametrize("path", ["/models/llama-3.1-8b-instruct-acme", "/models/my-llama-3.1-8b-instruct"])
def test_a_path_that_names_more_than_a_checkpoint_is_not_taken_for_it(path: str) -> None:
    found = architecture.resolve(path).architecture
    assert found is not None
    assert (found.id, found.attention_heads) == (path, None)


# ---- K. objects that ask for GPUs and are not read


RUNTIME = """\
apiVersion: runtimes.example.com/v1alpha1
kind: ServingRuntime
metadata: {name: chat}
spec: {engineConfig: {runner: {resources: {limits: {nvidia.com/gpu: 1}}}}}
"""


def test_an_object_that_asks_for_gpus_and_is_not_read_is_counted_among_the_skipped() -> None:
    found = checked(RUNTIME)
    assert (said(found), found.workloads) == (set(), ())
    (skip,) = found.skipped
    assert skip.path == "spec.yaml"
    assert "GPU" in skip.reason


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(machine(1, L4), id="read"),
        pytest.param("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {colour: blue}  # gpu\n", id="none"),
        pytest.param(
            "apiVersion: v1\nkind: Pod\nmetadata: {name: agent}\nspec:\n  tolerations: [{key: nvidia.com/gpu, "
            "operator: Exists}]\n  containers: [{name: agent, image: 'example.com/agent:1'}]\n",
            id="only tolerated",
        ),
        pytest.param(
            RUNTIME.replace("limits: {nvidia.com/gpu: 1}", "limits: {cpu: 1}") + "# no nvidia.com/gpu\n", id="comment"
        ),
    ],
)
def test_what_is_read_or_asks_for_no_gpu_is_not_counted_among_the_skipped(text: str) -> None:
    assert checked(text).skipped == ()


# ---- a second round on repositories never seen


NAMED_BY_CLASS = """\
apiVersion: v1
kind: Pod
metadata: {{name: chat}}
spec:
  nodeSelector: {{{selector}}}
  containers:
    - name: server
      image: vllm/vllm-openai:v0.10.1
      args: [--model=Qwen/Qwen2.5-1.5B-Instruct, --max-model-len=4096]
      resources: {{limits: {{nvidia.com/gpu: 1}}}}
"""


@pytest.mark.parametrize(
    ("selector", "name"),
    [
        ("gpu.nvidia.com/class: L40S", "1 × L40S 48GB"),
        ("gpu.nvidia.com/model: rtx-a5000", "1 × RTX A5000 24GB"),
        ("gpu.nvidia.com/class: RTX_A5000", "1 × RTX A5000 24GB"),
    ],
)
def test_clusters_that_borrow_a_clouds_label_write_plain_product_names(selector: str, name: str) -> None:
    assert only_role(checked(NAMED_BY_CLASS.format(selector=selector))).accelerator == name


def test_a_name_that_means_nothing_stays_unknown_under_a_borrowed_label() -> None:
    role = only_role(checked(NAMED_BY_CLASS.format(selector="gpu.nvidia.com/class: fast")))
    assert role.accelerator == "1 × nvidia.com/gpu (the label value fast is unknown)"


def test_a_missing_document_marker_is_one_finding_that_says_so() -> None:
    text = """\
apiVersion: v1
kind: Service
metadata: {name: chat}
apiVersion: v1
kind: Pod
metadata: {name: chat}
spec: {containers: [{name: a, image: 'example.com/a:1', resources: {limits: {nvidia.com/gpu: 1}}}]}
"""
    (finding,) = checked(text).findings
    assert (finding.rule, finding.location.line) == ("duplicate-key", 4)
    assert "without `---`" in finding.message


def test_an_omni_server_is_a_vllm_server() -> None:
    script = "exec vllm-omni serve Qwen/Qwen2.5-Omni-7B --gpu-memory-utilization=0.25"
    text = NAMED_BY_CLASS.format(selector="gpu.nvidia.com/class: L40S")
    text = text.replace(
        "args: [--model=Qwen/Qwen2.5-1.5B-Instruct, --max-model-len=4096]", f"command: [sh, -c, '{script}']"
    )
    assert only_role(checked(text)).engine == "vllm"


def test_a_product_label_of_the_single_mig_strategy_makes_each_gpu_a_slice() -> None:
    role = only_role(
        checked(NAMED_BY_CLASS.format(selector="nvidia.com/gpu.product: NVIDIA-A100-SXM4-80GB-MIG-1g.10gb"))
    )
    assert role.accelerator == "1 × 1g.10gb of A100 SXM4 80GB"
    (memory,) = (fact for fact in role.facts if fact.name == "device_memory_bytes")
    assert memory.values.expected < 10 * 2**30  # type: ignore[operator]


def test_a_length_beyond_the_trained_one_is_answered_even_where_the_weights_do_not_fit() -> None:
    text = NAMED_BY_CLASS.format(selector="cloud.google.com/gke-accelerator: nvidia-l4")
    text = text.replace(
        "--model=Qwen/Qwen2.5-1.5B-Instruct, --max-model-len=4096",
        "--model=mistralai/Mixtral-8x7B-Instruct-v0.1, --max-model-len=65536",
    )
    (finding,) = (one for one in checked(text).findings if one.rule == "context-exceeds-trained-maximum")
    assert [suggestion.title for suggestion in finding.suggestions] == ["sequences of at most 32,768 tokens"]


# ---- I. a third round: what else stands in a group, in a patch, in a file


GROUP = """
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {{name: chat}}
spec:
  leaderWorkerTemplate:
    size: {size}
{templates}
"""
SGLANG = """
    {name}:
      spec:
        containers:
          - name: server
            image: lmsysorg/sglang:v0.5.5
            command: [python3, -m, sglang.launch_server, --model-path, Qwen/Qwen2.5-7B-Instruct, {arguments}]
            resources: {{limits: {{nvidia.com/gpu: 1}}}}
"""


def test_the_worker_of_a_group_is_not_judged_for_itself() -> None:
    leader, worker = (
        SGLANG.format(name=name, arguments=f'--tp, "2", --nnodes, "2", --node-rank, "{rank}"')
        for rank, name in enumerate(("leaderTemplate", "workerTemplate"))
    )
    assert said(checked(GROUP.format(size=2, templates=leader + worker))) == set()


def test_pods_of_a_group_that_nothing_joins_leave_no_gpu_idle() -> None:
    templates = SGLANG.format(name="workerTemplate", arguments='--tp, "1"')
    found = checked(GROUP.format(size=3, templates=templates))
    assert said(found) == set()
    assert "gpus-left-idle" in samples.not_evaluated(found)


def test_ranks_that_no_pod_holds_join_the_pods_of_their_group() -> None:
    templates = SGLANG.format(name="workerTemplate", arguments='--tp, "2"')
    assert "gpus-left-idle" in said(checked(GROUP.format(size=3, templates=templates)))


def test_a_reference_that_nothing_defines_is_no_impossible_value() -> None:
    text = pod("args: ['--gpu-memory-utilization=$(SHARE)', --model=Qwen/Qwen3-8B]")
    assert said(checked(text)) == set()


@pytest.mark.parametrize(
    ("release", "refused"), [("v0.9.2", False), ("v0.11.0", False), ("v0.12.0", True), ("v0.19.0", True)]
)
def test_prompts_are_cut_into_chunks_whatever_is_asked_of_early_releases(release: str, refused: bool) -> None:
    arguments = "--model=Qwen/Qwen3-8B, --max-model-len=16384, --max-num-batched-tokens=4096"
    text = pod(f"args: [{arguments}, --no-enable-chunked-prefill]", 1, H100, f"vllm/vllm-openai:{release}")
    assert ("batched-tokens-too-small" in said(checked(text))) is refused


def test_more_offload_than_weights_is_no_offload_of_that_size() -> None:
    text = pod("args: [--model=openai-community/gpt2, --cpu-offload-gb=32]", 1, H100)
    assert "cpu-offload-in-production" not in said(checked(text))


def test_user_data_of_a_node_is_no_broken_yaml() -> None:
    text = 'MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="B"\n\n--B\necho nvidia-smi: {a\n'
    found = checked(text)
    assert said(found) == set()
    assert [skip.reason for skip in found.skipped] == ["a MIME message of several parts"]


# ---- J. a fourth round


def test_cores_of_another_accelerator_are_not_judged_as_gpus() -> None:
    text = pod("command: [vllm, serve, Qwen/Qwen3-32B, -tp, '32']", 1, H100, "registry.example.com/vllm-neuronx:0.9.1")
    assert said(checked(text)) == set()


def test_the_program_behind_nvidias_entry_point_is_read() -> None:
    command = (
        "command: [/opt/nvidia/nvidia_entrypoint.sh]\nargs: [trtllm-serve, Qwen/Qwen2.5-7B-Instruct, --tp_size, '2']"
    )
    found = checked(pod(command, 2, H100, "nvcr.io/nvidia/tensorrt-llm/release:1.1.0"))
    assert only_role(found).engine == "tensorrt-llm"


def test_one_pod_of_a_knative_service_is_one_replica() -> None:
    text = """
apiVersion: serving.knative.dev/v1
kind: Service
metadata: {name: chat}
spec:
  template:
    spec:
      containers:
        - name: server
          image: vllm/vllm-openai:v0.10.1
          args: [--model=Qwen/Qwen3-8B, --max-model-len=4096, --tensor-parallel-size=2]
          resources: {limits: {nvidia.com/gpu: 1}}
"""
    assert "parallel-size-exceeds-gpus" in said(checked(text))


def test_relative_positions_are_no_limit_of_the_context() -> None:
    command = "env: [{name: MODEL_ID, value: google/flan-t5-xl}, {name: MAX_TOTAL_TOKENS, value: '2048'}]"
    found = checked(pod(command, 1, H100, "ghcr.io/huggingface/text-generation-inference:1.1.0"))
    assert "context-beyond-training" not in said(found)


def test_a_label_that_is_suggested_is_one_that_drivers_print_today() -> None:
    role = reading.role(pod("args: [--model=Qwen/Qwen3-8B]", 1, "nvidia.com/gpu.product: NVIDIA-H100-80GB-HBM3"))
    assert accelerator_names.relabel(role, "a100-sxm4-80gb") == ("NVIDIA-A100-SXM4-80GB",)


SERVICE = "apiVersion: v1\nkind: Service\nmetadata: {name: vllm}\nspec: {ports: [{port: 8000}]}\n---\n"


@pytest.mark.parametrize(
    ("lines", "collides"),
    [
        pytest.param("args: [--model=Qwen/Qwen3-8B, --max-model-len=4096]", True, id="nothing else"),
        pytest.param(
            "args: [--model=Qwen/Qwen3-8B, --max-model-len=4096]\nenv: [{name: VLLM_PORT, value: '5000'}]",
            False,
            id="a value of its own",
        ),
        pytest.param(
            "args: [--model=Qwen/Qwen3-8B, --max-model-len=4096]\nenvFrom: [{configMapRef: {name: own}}]",
            False,
            id="variables of another object",
        ),
    ],
)
def test_a_service_named_like_the_engine_sets_its_port(lines: str, collides: bool) -> None:
    """vLLM, docs/configuration/env_vars.md."""
    assert ("service-variable-collides" in said(checked(SERVICE + pod(lines, 1, H100)))) is collides


def test_a_service_of_another_namespace_sets_nothing() -> None:
    elsewhere = SERVICE.replace("{name: vllm}", "{name: vllm, namespace: other}")
    text = elsewhere + pod("args: [--model=Qwen/Qwen3-8B, --max-model-len=4096]", 1, H100)
    assert "service-variable-collides" not in said(checked(text))
