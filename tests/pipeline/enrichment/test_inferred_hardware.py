"""Inferred hardware: what names and comments of a file suggest, and above all when they suggest nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest
import samples

import gpulint
from gpulint.policy.rules import evaluated_role
from gpulint.policy.rules.evaluate import Outcome, Verdict
from gpulint.policy.rules.evaluated_role import EvaluatedRole
from gpulint.policy.rules.rule import load_shipped
from gpulint.report.model import Severity

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: chat}
spec:
  containers:
    - name: server
      image: vllm/vllm-openai:v0.11.0
      args: [--model=Qwen/Qwen3-32B, --max-model-len=4096, --gpu-memory-utilization=1.5]
      resources: {limits: {nvidia.com/gpu: 1}}
"""
JOB = """\
#!/bin/bash
#SBATCH --nodes=1
#SBATCH --partition=PARTITION
#SBATCH --gres=gpu:1
srun vllm serve Qwen/Qwen3-32B --max-model-len 4096
"""
OPEN = "1 × nvidia.com/gpu"


def shown(text: str, path: str = "chat.yaml", **given: object) -> str:
    """The GPUs of the one role."""
    ((role,),) = (workload.roles for workload in samples.report(text, path=path, **given).workloads)
    return role.accelerator


# ---- comments


@pytest.mark.parametrize(
    ("comment", "accelerator"),
    [
        ("# 1x L40S", "1 × L40S 48GB"),
        ("# Chat server\n# Hardware: L40S", "1 × L40S 48GB"),
        ("# Tested on a single RTX 4090.", "1 × GeForce RTX 4090 24GB"),
        ("# Requires 1x A100 80GB", "1 × A100 SXM4 80GB"),
        ("# GPU: H100\n\n# 1xH100 per replica", "1 × H100 SXM5 80GB"),
    ],
)
def test_a_comment_at_the_head_that_names_the_hardware_is_assumed(comment: str, accelerator: str) -> None:
    assert shown(f"{comment}\n{POD}") == accelerator


@pytest.mark.parametrize(
    "comment",
    [
        "# A100 or H100",
        "# works on 1x L4",
        "# 1x L40S, also 1x L4",
        "# at least 1x L40S",
        "# 1x L40S would do",
        "# do not run on 1x L40S",
        "# faster than 1x L40S",
        "# e.g. 1x L40S",
        "# 1x L40S or larger",
        "# 1x L40S is too small",
        "# OOM on 1x L40S",
        "# 1x A100/H100",
        "# Uses H100 kernels",
        "# 1x H100\n# 1x L40S",
        "# 8x L40S",
        "# 1x H100 96GB",
        "# 1x MI300X",
        "# nvidia.com/gpu.product: NVIDIA-L40S",
    ],
)
def test_a_comment_that_compares_offers_or_contradicts_the_file_is_not(comment: str) -> None:
    assert shown(f"{comment}\n{POD}") == OPEN


def test_a_comment_within_the_object_is_not_about_all_of_it() -> None:
    assert shown(POD.replace("spec:\n", "spec:\n  # 1x L40S\n")) == OPEN


def test_a_comment_of_another_document_is_not_read() -> None:
    other = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\n"
    assert shown(f"# 1x L40S\n{other}---\n{POD}") == OPEN
    assert shown(f"{other}# 1x L40S\n---\n# plain\n{POD}") == OPEN
    (role,) = samples.report(f"# plain\n{other}---\n\n# 1x L40S\n{POD}").workloads[0].roles
    assert 'l40s, the accelerator that the comment "1x L40S" in line 7 names' in role.assumptions
    assert shown(f"---\n# 1x L40S\n{POD}") == "1 × L40S 48GB"


def test_a_comment_gives_the_count_that_no_line_states() -> None:
    unstated = POD.replace("nvidia.com/gpu: 1", "nvidia.com/gpu: $COUNT").replace(
        "--max-model-len", "--tensor-parallel-size=2, --max-model-len"
    )
    assert shown(f"# 2xL40S\n{unstated}") == "2 × L40S 48GB"
    assert shown(f"# 3xL40S\n{unstated}") == "? × nvidia.com/gpu"


def test_a_comment_never_replaces_what_the_file_states() -> None:
    stated = POD.replace("spec:", "spec:\n  nodeSelector: {cloud.google.com/gke-accelerator: nvidia-l4}")
    assert shown(f"# 1x L40S\n{stated}", path="values-h100.yaml") == "1 × L4 24GB"
    assert shown(f"# gpulint: accelerator=l4\n# 1x L40S\n{POD}") == "1 × L4 24GB"
    assert shown(f"# 1x L40S\n{POD}", accelerator="l4") == "1 × L4 24GB"


def test_the_assumption_quotes_the_comment_and_its_line() -> None:
    (role,) = samples.report(f"# Chat server\n# 1x L40S\n{POD}").workloads[0].roles
    assert 'l40s, the accelerator that the comment "1x L40S" in line 2 names' in role.assumptions


@pytest.mark.parametrize(
    "comment",
    ["# 各占 1 张 L40S", "# L40S 1장", "# 1 枚の L40S", "# 1 карта L40S", "# 硬件: L40S"],
)
def test_a_comment_in_any_language_names_the_hardware(comment: str) -> None:
    assert shown(f"{comment}\n{POD}") == "1 × L40S 48GB"


@pytest.mark.parametrize(
    "comment", ["# L40S 以上", "# 1 张 L40S 或者更大", "# 至少 1 张 L40S", "# не менее 1x L40S", "# 不支持 L40S"]
)
def test_a_comment_in_any_language_that_limits_or_offers_is_not(comment: str) -> None:
    assert shown(f"{comment}\n{POD}") == OPEN


def test_a_comment_that_offers_two_products_leaves_both_open() -> None:
    assert shown(f"# GPU: L40S or H100\n{POD}") == (
        '1 × nvidia.com/gpu (the comment "GPU: L40S or H100" in line 1 names one of h100-sxm-80gb, l40s)'
    )
    assert shown(f"# GPU: L40S or H100, faster than A100\n{POD}") == OPEN
    assert shown(f"# GPU: L40S or larger\n{POD}") == OPEN


@pytest.mark.parametrize(
    ("line", "accelerator"),
    [
        ("#SBATCH --gres=gpu:1   # 1x L40S", "1 × L40S 48GB"),
        ("#SBATCH --gres=gpu:1   # L40S", "1 × L40S 48GB"),
        (
            "#SBATCH --gres=gpu:1   # not L40S",
            "1 × ? (the accelerator depends on the cluster: partition PARTITION does not name it)",
        ),
        (
            "#SBATCH --gres=gpu:1\n#SBATCH --time=1:00 # enough on L40S",
            "1 × ? (the accelerator depends on the cluster: partition PARTITION does not name it)",
        ),
    ],
)
def test_a_comment_beside_a_request_for_gpus_names_them(line: str, accelerator: str) -> None:
    assert shown(JOB.replace("#SBATCH --gres=gpu:1", line), path="chat.sbatch") == accelerator


def test_a_file_that_a_script_sources_may_name_the_hardware(tmp_path: Path) -> None:
    (tmp_path / "serving.env").write_text("# 2x H100 80GB\nMODEL=Qwen/Qwen3-32B\n")
    (tmp_path / "run.sh").write_text("#!/bin/bash\nsource serving.env\nvllm serve $MODEL --tensor-parallel-size 2\n")
    ((role,),) = (workload.roles for workload in gpulint.check(tmp_path).workloads)
    assert role.accelerator == "2 × H100 SXM5 80GB"
    assert any('the comment "2x H100 80GB" in line 1 of' in text for text in role.assumptions)


@pytest.mark.parametrize(
    ("directive", "accelerator"),
    [
        ("--qos=h100", "1 × H100 SXM5 80GB"),
        ("--gres=gpu:3090:1", "1 × GeForce RTX 3090 24GB"),
        ("--constraint=rtxa4000", "1 × RTX A4000 16GB"),
    ],
)
def test_what_a_job_requests_may_be_named_after_a_product(directive: str, accelerator: str) -> None:
    text = JOB.replace("--partition=PARTITION", directive)
    text = text.replace("#SBATCH --gres=gpu:1\n", "") if "gres" in directive else text
    assert shown(text, path="chat.sbatch") == accelerator


# ---- names


@pytest.mark.parametrize(
    ("partition", "accelerator"),
    [
        ("h100", "1 × H100 SXM5 80GB"),
        ("gpu-l40s", "1 × L40S 48GB"),
        (
            "a100,a100-80gb",
            "1 × ? (partition a100,a100-80gb names one of a100-pcie-40gb, a100-pcie-80gb, "
            "a100-sxm4-40gb, a100-sxm4-80gb)",
        ),
        ("gold", "1 × ? (the accelerator depends on the cluster: partition gold does not name it)"),
        ("h100,gold", "1 × ? (the accelerator depends on the cluster: partition h100,gold does not name it)"),
        ("a100-mig", "1 × ? (the accelerator depends on the cluster: partition a100-mig does not name it)"),
    ],
)
def test_a_partition_that_is_named_after_a_product_has_it(partition: str, accelerator: str) -> None:
    assert shown(JOB.replace("PARTITION", partition), path="chat.sbatch") == accelerator


@pytest.mark.parametrize(
    ("selector", "accelerator"),
    [
        ("{pool: h100}", "1 × H100 SXM5 80GB"),
        ("{gpu: l40s}", "1 × L40S 48GB"),
        ("{kubernetes.io/hostname: h100-01}", "1 × H100 SXM5 80GB"),
        ("{pool: gold}", "1 × nvidia.com/gpu (the accelerator depends on the nodes labelled pool gold)"),
        ("{pool: h100-mig}", "1 × nvidia.com/gpu (the accelerator depends on the nodes labelled pool h100-mig)"),
        ("{pool: mi300x}", "1 × nvidia.com/gpu (the accelerator depends on the nodes labelled pool mi300x)"),
    ],
)
def test_nodes_whose_label_is_named_after_a_product_have_it(selector: str, accelerator: str) -> None:
    assert shown(POD.replace("spec:", f"spec:\n  nodeSelector: {selector}")) == accelerator


@pytest.mark.parametrize(
    ("path", "accelerator"),
    [
        ("values-l40s.yaml", "1 × L40S 48GB"),
        ("g6.xlarge/chat.yaml", "1 × L4 24GB"),
        ("a3-highgpu-8g/server/chat.yaml", "1 × H100 SXM5 80GB"),
        ("h100/chat.yaml", "1 × H100 SXM5 80GB"),
        ("h100/chat-l40s.yaml", OPEN),
        ("a100-and-h100/chat.yaml", OPEN),
        ("l4/chat.yaml", OPEN),
        ("llama-4/chat.yaml", OPEN),
    ],
)
def test_a_file_or_folder_that_is_named_after_a_machine_runs_on_it(path: str, accelerator: str) -> None:
    assert shown(POD, path=path) == accelerator


def test_a_name_that_disagrees_with_a_comment_suggests_nothing() -> None:
    assert shown(f"# 1x L40S\n{POD}", path="values-h100.yaml") == OPEN
    assert shown(f"# 1x A100 80GB\n{POD}", path="values-a100.yaml") == "1 × A100 SXM4 80GB"


# ---- severity


def severities(text: str, **given: object) -> dict[str, Severity]:
    return {finding.rule: finding.severity for finding in samples.report(text, **given).findings}


def test_what_fires_only_on_assumed_hardware_is_one_step_lower() -> None:
    stated = severities(POD, accelerator="l40s")
    assumed = severities(f"# 1x L40S\n{POD}")
    assert stated["weights-exceed-memory"] is Severity.ERROR
    assert assumed["weights-exceed-memory"] is Severity.WARNING


def test_what_fires_without_the_assumption_keeps_its_severity() -> None:
    bare, assumed = severities(POD), severities(f"# 1x L40S\n{POD}")
    assert Severity.ERROR in bare.values()
    assert {rule: assumed[rule] for rule in bare} == bare


def test_a_finding_on_assumed_hardware_says_what_it_rests_on() -> None:
    (finding,) = (
        finding for finding in samples.report(f"# 1x L40S\n{POD}").findings if finding.rule == "weights-exceed-memory"
    )
    assert finding.message.endswith('; the accelerator is assumed from the comment "1x L40S" in line 1')


def test_a_budget_counts_no_assumed_gpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    unstated = POD.replace("nvidia.com/gpu: 1", "nvidia.com/gpu: $COUNT")
    (tmp_path / "gpulint.yaml").write_text("budgets:\n  - {paths: '*.yaml', gpus: 1}\n")
    for comment, exceeded in (("# 8xL40S", False), ("# gpulint: gpus=8 accelerator=l40s", True)):
        (tmp_path / "chat.yaml").write_text(f"{comment}\n{unstated}")
        found = gpulint.check(".", gpulint.Options(today="2026-11-22")).findings
        assert ("gpu-budget-exceeded" in {finding.rule for finding in found}) is exceeded


def evaluated(*severities: Severity) -> EvaluatedRole:
    """A role on which one rule fires with a severity, or does not."""
    rule = load_shipped()["weights-exceed-memory"]
    verdicts = tuple(Verdict(rule, 3, severity) for severity in severities)
    nothing = cast("Any", None)
    return EvaluatedRole(nothing, nothing, (), Outcome(verdicts, (), frozenset()))


@pytest.mark.parametrize(
    ("stated", "assumed", "expected"),
    [
        ((), (), ()),
        ((), (Severity.ERROR,), (Severity.WARNING,)),
        ((), (Severity.WARNING,), (Severity.NOTE,)),
        ((), (Severity.NOTE,), ()),
        ((Severity.ERROR,), (), (Severity.ERROR,)),
        ((Severity.NOTE,), (), (Severity.NOTE,)),
        ((Severity.ERROR,), (Severity.NOTE,), (Severity.ERROR,)),
        ((Severity.ERROR,), (Severity.ERROR,), (Severity.ERROR,)),
        ((Severity.NOTE,), (Severity.ERROR,), (Severity.WARNING,)),
    ],
)
def test_assumed_hardware_neither_removes_nor_lowers_a_finding(
    stated: tuple[Severity, ...], assumed: tuple[Severity, ...], expected: tuple[Severity, ...]
) -> None:
    found = evaluated_role.add_assumed(evaluated(*stated), evaluated(*assumed), "a comment")
    assert tuple(verdict.severity for verdict in found.verdicts) == expected


def test_a_finding_on_two_assumptions_is_two_steps_lower() -> None:
    """671 billion parameters cannot be on an L4, but folder and README may both mislead."""
    pod = """\
apiVersion: v1
kind: Pod
metadata: {name: chat}
spec:
  containers:
    - name: server
      image: vllm/vllm-openai:v0.11.0
      args: [MODEL--max-model-len=4096]
      resources: {limits: {nvidia.com/gpu: 1}}
"""
    files = {"README.md": b"- GPU: L4\n"}
    severities = {}
    for model in ("", "--model=deepseek-ai/DeepSeek-R1, "):
        found = samples.report(pod.replace("MODEL", model), path="deepseek-r1/pod.yaml", files=files)
        severities[model] = {one.severity.name.lower() for one in found.findings if one.rule == "weights-exceed-memory"}
    assert list(severities.values()) == [{"note"}, {"warning"}]
