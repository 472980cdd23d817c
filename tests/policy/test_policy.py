"""Policy: which rules speak, how sure they are, what silences them, and what a team adds or sets."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import samples

from gpulint.policy.conditions import cel
from gpulint.policy.config import load, settings
from gpulint.policy.config.files import DiskReader, SettingsError
from gpulint.policy.rules import diagnostics, rule, selection
from gpulint.policy.rules.rule import Rule, RuleError, Target
from gpulint.report.model import Report, Severity

BARE = """\
apiVersion: v1
kind: Pod
metadata: {name: train}
spec:
  containers:
    - name: train
      image: python:3.12
      resources:
        requests: {nvidia.com/gpu: 1}
"""
"""One error: gpu-limit-missing on line 9."""

SERVER = """\
apiVersion: v1
kind: Pod
metadata: {name: chat}
spec:
  nodeSelector: {cloud.google.com/gke-accelerator: nvidia-l4}
  containers:
    - name: server
      image: vllm/vllm-openai:v0.10.1
      args:
        - --model=meta-llama/Llama-3.1-8B-Instruct
        - --max-model-len=131072
      resources: {limits: {nvidia.com/gpu: 1}}
"""
"""One error: serving-does-not-fit on line 11."""

SCRIPT = """\
apiVersion: v1
kind: Pod
metadata: {name: chat}
spec:
  nodeSelector: {cloud.google.com/gke-accelerator: nvidia-l4}
  containers:
    - name: server
      image: vllm/vllm-openai:v0.10.1
      command: [sh, -c]
      args:
        - |
          vllm serve meta-llama/Llama-3.1-8B-Instruct \\
            --max-model-len=131072
      resources: {limits: {nvidia.com/gpu: 1}}
"""
"""One error: serving-does-not-fit on line 13, inside a block scalar that starts on line 11."""


def spoken(report: Report) -> list[str]:
    return sorted(finding.rule for finding in report.open)


def silenced(report: Report) -> dict[str, str]:
    return {finding.rule: finding.suppressed.reason for finding in report.findings if finding.suppressed is not None}


def after(text: str, line: int, addition: str) -> str:
    """The text with an addition at the end of a line."""
    lines = text.splitlines()
    lines[line - 1] += addition
    return "\n".join(lines) + "\n"


def above(text: str, line: int, *additions: str) -> str:
    """The text with lines above a line."""
    lines = text.splitlines()
    return "\n".join([*lines[: line - 1], *additions, *lines[line - 1 :]]) + "\n"


def annotated(text: str, *lines: str) -> str:
    """The text with a gpulint/ignore annotation of these lines."""
    block = ["metadata:", "  name: x", "  annotations:", "    gpulint/ignore: |", *(f"      {line}" for line in lines)]
    head, _, tail = text.partition(text.splitlines()[2])
    return head + "\n".join(block) + tail


def team(folder: Path, name: str = "own-rule", family: str = "house", **change: Any) -> Path:
    """A folder with one rule file of a team."""
    parts = {
        "summary": "s",
        "severity": "warning",
        "for": "{scope: workload}",
        "why": "w.",
        "when": "gpus_per_pod > 0",
        "message": "m",
        "examples": "{bad: [a], good: [b]}",
        **change,
    }
    place = folder / family / f"{name}.yaml"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("".join(f"{key}: {value}\n" for key, value in parts.items() if value is not None))
    return folder


def made(name: str, when: str, severity: Severity = Severity.ERROR, absorbs: Sequence[str] = ()) -> Rule:
    return Rule(
        *(name, "house", "s", severity, "w.", Target("workload"), when, "m"), at=("engine",), absorbs=tuple(absorbs)
    )


# ---- select and ignore


def selected(select: Sequence[str] = (), ignore: Sequence[str] = (), folders: Sequence[str] = ()) -> tuple[Rule, ...]:
    return selection.enable_rules(selection.load_rules(settings.DEFAULTS, folders), settings.DEFAULTS, select, ignore)


def test_every_rule_is_selected_when_nothing_is_said() -> None:
    assert {one.name for one in selected()} == set(rule.load_shipped())


def test_a_name_selects_one_rule_and_a_family_all_of_its() -> None:
    assert [one.name for one in selected(["gpus-left-idle"])] == ["gpus-left-idle"]
    families = {one.family for one in selected(["memory", "precision"])}
    assert families == {"memory", "precision"}


def test_ignoring_goes_before_selecting() -> None:
    names = {one.name for one in selected(["memory"], ["weights-exceed-memory"])}
    assert "weights-exceed-memory" not in names
    assert "serving-does-not-fit" in names
    assert selected(["memory"], ["memory"]) == ()


@pytest.mark.parametrize("side", ["select", "ignore"])
@pytest.mark.parametrize(
    ("word", "meant"), [("gpu-left-idle", "gpus-left-idle"), ("memroy", "memory"), ("paralelism", "parallelism")]
)
def test_a_mistyped_name_is_refused_with_the_nearest_one(side: str, word: str, meant: str) -> None:
    with pytest.raises(SettingsError) as caught:
        selected([word] if side == "select" else [], [word] if side == "ignore" else [])
    assert str(caught.value) == f"no such rule or family: {word}; did you mean {meant}?"


def test_a_name_that_is_near_to_none_is_refused_without_a_guess() -> None:
    with pytest.raises(SettingsError, match=r"^no such rule or family: xyzzyxyzzy$"):
        selected(["xyzzyxyzzy"])


# ---- suppression by comment


def test_a_comment_on_the_line_silences_the_rule_it_names() -> None:
    report = samples.report(after(BARE, 9, "  # gpulint: ignore[gpu-limit-missing] the webhook adds it"))
    assert spoken(report) == []
    assert silenced(report) == {"gpu-limit-missing": "the webhook adds it"}


def test_a_comment_on_its_own_line_silences_the_line_below() -> None:
    report = samples.report(above(BARE, 9, "        # gpulint: ignore[gpu-limit-missing] the webhook adds it"))
    assert (spoken(report), list(silenced(report))) == ([], ["gpu-limit-missing"])


def test_comments_above_one_another_silence_the_first_line_below_them() -> None:
    given = ("# gpulint: ignore[gpu-limit-missing] the webhook adds it", "# as agreed with the platform team")
    report = samples.report(above(BARE, 9, *(f"        {line}" for line in given)))
    assert (spoken(report), list(silenced(report))) == ([], ["gpu-limit-missing"])


def test_a_comment_above_a_block_scalar_reaches_into_it() -> None:
    report = samples.report(
        above(SCRIPT, 11, "        # gpulint: ignore[serving-does-not-fit] trained on smaller cards")
    )
    assert spoken(report) == []
    assert silenced(report) == {"serving-does-not-fit": "trained on smaller cards"}


def test_a_comment_on_the_first_line_of_a_block_scalar_reaches_into_it() -> None:
    report = samples.report(after(SCRIPT, 11, "  # gpulint: ignore[serving-does-not-fit] a try"))
    assert (spoken(report), list(silenced(report))) == ([], ["serving-does-not-fit"])


def test_a_comment_names_several_rules() -> None:
    text = BARE.replace("requests: {nvidia.com/gpu: 1}", "requests: {nvidia.com/gpu: 0.5}")
    assert spoken(samples.report(text)) == ["gpu-count-fractional", "gpu-limit-missing"]
    report = samples.report(after(text, 9, "  # gpulint: ignore[gpu-limit-missing, gpu-count-fractional] a test"))
    assert spoken(report) == []
    assert silenced(report) == {"gpu-limit-missing": "a test", "gpu-count-fractional": "a test"}


def test_a_comment_elsewhere_silences_nothing_and_is_reported_as_unused() -> None:
    report = samples.report(after(BARE, 7, "  # gpulint: ignore[gpu-limit-missing] the webhook adds it"))
    assert spoken(report) == ["gpu-limit-missing", "unused-suppression"]
    (unused,) = samples.of_rule(report, "unused-suppression")
    assert unused.location.line == 7


def test_a_comment_two_lines_above_silences_nothing() -> None:
    report = samples.report(above(BARE, 8, "      # gpulint: ignore[gpu-limit-missing] the webhook adds it"))
    assert "gpu-limit-missing" in spoken(report)


def test_a_comment_for_a_rule_that_does_not_run_is_not_unused() -> None:
    text = after(BARE, 9, "  # gpulint: ignore[gpu-limit-missing] the webhook adds it")
    report = samples.report(text, rules=selected((), ["gpu-limit-missing"]))
    assert spoken(report) == []


@pytest.mark.parametrize(
    "directive",
    [
        "ignore[gpu-limit-missing]",
        "ignore[gpu-limit-missing]   ",
        "ignore gpu-limit-missing because",
        "ignore[] because",
        "ignore[gpu-limit-missing because",
        "disable[gpu-limit-missing] because",
        "",
    ],
)
def test_a_comment_without_a_reason_or_in_another_form_is_reported_and_silences_nothing(directive: str) -> None:
    report = samples.report(after(BARE, 9, f"  # gpulint: {directive}"))
    assert spoken(report) == ["gpu-limit-missing", "malformed-suppression"]
    (malformed,) = samples.of_rule(report, "malformed-suppression")
    assert (malformed.location.line, malformed.severity) == (9, Severity.WARNING)


def test_a_comment_that_names_no_rule_is_reported_and_its_other_names_hold() -> None:
    report = samples.report(after(BARE, 9, "  # gpulint: ignore[gpu-limit-missing, no-such-rule] a test"))
    assert spoken(report) == ["malformed-suppression"]
    assert samples.of_rule(report, "malformed-suppression")[0].message == (
        "no such rule: no-such-rule; name single rules, which `gpulint rules` lists"
    )


@pytest.mark.parametrize(
    "text",
    [
        after(BARE, 7, "  # see the gpulint documentation"),
        after(BARE, 7, "  # run gpulint: it tells"),
        BARE.replace("image: python:3.12", 'image: "python # gpulint: ignore[gpu-limit-missing] no comment"'),
    ],
)
def test_a_comment_that_only_speaks_of_gpulint_and_a_text_that_looks_like_one_are_left_alone(text: str) -> None:
    assert spoken(samples.report(text)) == ["gpu-limit-missing"]


def test_a_suppressed_finding_is_counted_and_not_open() -> None:
    report = samples.report(after(BARE, 9, "  # gpulint: ignore[gpu-limit-missing] the webhook adds it"))
    assert (len(report.findings), len(report.open)) == (1, 0)


def test_a_suppression_works_over_windows_line_ends() -> None:
    text = after(BARE, 9, "  # gpulint: ignore[gpu-limit-missing] the webhook adds it").replace("\n", "\r\n")
    assert silenced(samples.report(text)) == {"gpu-limit-missing": "the webhook adds it"}


def test_a_suppression_in_the_second_document_of_a_file_stays_there() -> None:
    text = BARE + "---\n" + after(BARE, 9, "  # gpulint: ignore[gpu-limit-missing] the webhook adds it")
    report = samples.report(text)
    assert [finding.location.line for finding in report.open] == [9]
    assert list(silenced(report)) == ["gpu-limit-missing"]


# ---- suppression by annotation


def test_an_annotation_silences_a_rule_in_the_whole_object() -> None:
    report = samples.report(annotated(BARE, "gpu-limit-missing: the webhook adds it"))
    assert (spoken(report), silenced(report)) == ([], {"gpu-limit-missing": "the webhook adds it"})


def test_an_annotation_of_several_lines_names_a_rule_in_each() -> None:
    text = BARE.replace("requests: {nvidia.com/gpu: 1}", "requests: {nvidia.com/gpu: 0.5}")
    report = samples.report(annotated(text, "gpu-limit-missing: one", "gpu-count-fractional: two"))
    assert (spoken(report), silenced(report)) == ([], {"gpu-limit-missing": "one", "gpu-count-fractional": "two"})


def test_an_annotation_does_not_reach_the_next_object() -> None:
    report = samples.report(annotated(BARE, "gpu-limit-missing: the webhook adds it") + "---\n" + BARE)
    assert spoken(report) == ["gpu-limit-missing"]
    assert list(silenced(report)) == ["gpu-limit-missing"]


@pytest.mark.parametrize("line", ["gpu-limit-missing", "gpu-limit-missing:", "no-such-rule: because"])
def test_an_annotation_without_a_reason_or_of_no_rule_is_reported(line: str) -> None:
    report = samples.report(annotated(BARE, line))
    assert spoken(report) == ["gpu-limit-missing", "malformed-suppression"]


def test_an_annotation_that_matches_nothing_is_reported_as_unused() -> None:
    report = samples.report(annotated(BARE, "gpu-limit-missing: a", "heads-not-divisible: b"))
    assert spoken(report) == ["unused-suppression"]


# ---- a team's rules


def test_a_teams_rule_speaks_beside_the_shipped_ones(tmp_path: Path) -> None:
    folder = team(tmp_path, when="gpus_per_pod >= 1", at="[gpus_per_pod]", message='"{gpus_per_pod} GPUs"')
    rules = selected((), (), [str(folder)])
    (found,) = samples.of_rule(samples.report(BARE, rules=rules), "own-rule")
    assert (found.message, found.family, found.location.line, found.severity) == (
        "1 GPU",
        "house",
        9,
        Severity.WARNING,
    )


def test_a_teams_rule_and_its_family_can_be_selected(tmp_path: Path) -> None:
    folder = str(team(tmp_path))
    assert [one.name for one in selected(["own-rule"], (), [folder])] == ["own-rule"]
    assert [one.name for one in selected(["house"], (), [folder])] == ["own-rule"]


def test_a_teams_rule_of_a_shipped_name_is_refused_unless_it_says_that_it_replaces_it(tmp_path: Path) -> None:
    folder = team(tmp_path, name="gpus-left-idle", family="parallelism", summary="ours")
    with pytest.raises(RuleError, match=r"gpus-left-idle\.yaml:1:1: gpulint already has a rule gpus-left-idle"):
        selected((), (), [str(folder)])
    team(tmp_path, name="gpus-left-idle", family="parallelism", summary="ours", replaces="true")
    (one,) = selected(["gpus-left-idle"], (), [str(folder)])
    assert one.summary == "ours"


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RuleError, match="no such folder of rules"):
        list(diagnostics.load_folder(tmp_path / "rulez"))


def test_a_change_that_nothing_can_make_gives_no_alternative_and_breaks_nothing(tmp_path: Path) -> None:
    folder = team(tmp_path, change="[max_num_seqs]")
    report = samples.report(SERVER, rules=selected(["own-rule"], (), [str(folder)]))
    assert report.failures == ()
    assert samples.of_rule(report, "own-rule")[0].suggestions == ()


# ---- rules about objects

REPLICAS = {"for": "{scope: document, kind: Deployment}", "when": "object.spec.replicas < 2", "message": "too few"}


def deployment(spec: str) -> str:
    return f"apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web}}\nspec: {spec}\n"


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (deployment("{replicas: 1}"), [2]),
        (deployment("{replicas: 2}"), []),
        (deployment("{replicas: 2}") + "---\n" + deployment("{replicas: 0}"), [7]),
        ("kind: StatefulSet\nspec: {replicas: 1}\n", []),
    ],
)
def test_a_rule_about_objects_reads_every_object_of_its_kind(tmp_path: Path, text: str, lines: list[int]) -> None:
    rules = selected(["own-rule"], (), [str(team(tmp_path, **REPLICAS))])
    report = samples.report(text, rules=rules)
    assert [finding.location.line for finding in samples.of_rule(report, "own-rule")] == lines
    assert (report.failures, report.skipped) == ((), ())


def test_an_object_that_lacks_what_a_rule_reads_is_not_judged_and_that_is_said(tmp_path: Path) -> None:
    rules = selected((), (), [str(team(tmp_path, **REPLICAS))])
    report = samples.report(deployment("{paused: true}") + "---\n" + BARE, rules=rules)
    assert spoken(report) == ["gpu-limit-missing"]
    assert report.failures == ()
    assert [skip.reason.startswith("rule own-rule was not evaluated: ") for skip in report.skipped] == [True]


def test_a_rule_about_objects_can_ask_whether_a_key_is_there(tmp_path: Path) -> None:
    when = "'!has(object.spec.replicas) || object.spec.replicas < 2'"
    rules = selected(["own-rule"], (), [str(team(tmp_path, **{**REPLICAS, "when": when}))])
    report = samples.report(deployment("{paused: true}"), rules=rules)
    assert [finding.rule for finding in report.open] == ["own-rule"]


# ---- unknown is a value


def test_a_missing_fact_is_not_evaluated_and_says_what_is_missing() -> None:
    text = SERVER.replace("  nodeSelector: {cloud.google.com/gke-accelerator: nvidia-l4}\n", "")
    report = samples.report(text)
    assert spoken(report) == []
    (role,) = samples.roles(report)
    lacking = {one.rule: one.needs for one in role.not_evaluated}
    assert lacking["serving-does-not-fit"] == ("accelerator",)
    assert lacking["weights-exceed-memory"] == ("accelerator",)


def test_a_condition_that_is_decided_by_what_is_known_is_evaluated() -> None:
    text = SERVER.replace("  nodeSelector: {cloud.google.com/gke-accelerator: nvidia-l4}\n", "")
    (role,) = samples.roles(samples.report(text))
    lacking = {one.rule for one in role.not_evaluated}
    assert "default-context-does-not-fit" not in lacking  # a length is stated, whatever the card
    assert "mig-slice-too-small" not in lacking  # no slice is asked for


def test_a_rule_that_is_not_about_a_workload_is_neither_evaluated_nor_missed() -> None:
    (role,) = samples.roles(samples.report(BARE))
    assert role.not_evaluated == ()


def test_cel_gives_none_for_an_absent_name_unless_the_rest_decides() -> None:
    assert cel.evaluate("tensor_parallel > 1", {}) is None
    assert cel.evaluate("tensor_parallel > 1 || gpus_per_pod > 1", {"gpus_per_pod": 2}) is True
    assert cel.evaluate("tensor_parallel > 1 || gpus_per_pod > 1", {"gpus_per_pod": 1}) is None
    assert cel.evaluate("tensor_parallel > 1 && gpus_per_pod > 1", {"gpus_per_pod": 1}) is False


def test_cel_compares_whole_numbers_with_fractions_and_known_absences_with_null() -> None:
    assert cel.evaluate("single_gpu_share < 1", {"single_gpu_share": 0.5}) is True
    assert cel.evaluate("compute_capability < 8.0", {"compute_capability": 7}) is True
    assert cel.evaluate("speculative == null", {"speculative": None}) is True


def test_a_condition_that_fails_on_known_facts_is_a_defect_of_the_rule() -> None:
    with pytest.raises(cel.ConditionError):
        cel.evaluate("gpus_per_pod > 'a'", {"gpus_per_pod": 1})
    with pytest.raises(cel.ConditionError):
        cel.evaluate("gpus_per_pod", {"gpus_per_pod": 1})


def test_a_defect_of_a_rule_is_counted_with_the_rules_name() -> None:
    report = samples.report(SERVER, rules=[made("broken-rule", "gpus_per_pod > 'a'")])
    assert ["broken-rule" in failure.error for failure in report.failures] == [True]


# ---- confidence and severity

SCENARIOS = """\
apiVersion: v1
kind: Pod
metadata: {name: chat}
spec:
  nodeSelector: {cloud.google.com/gke-accelerator: nvidia-l4}
  containers:
    - name: server
      image: vllm/vllm-openai:latest
      args: [--model=meta-llama/Llama-3.1-8B-Instruct, --max-model-len=4096]
      resources: {limits: {nvidia.com/gpu: 1}}
"""
"""A release that is not stated: gpu_memory_utilization is 0.92, 0.92 and 0.90 by scenario."""


@pytest.mark.parametrize(
    ("when", "severity", "said"),
    [
        ("gpu_memory_utilization < 0.95", Severity.ERROR, (3, Severity.ERROR)),
        ("gpu_memory_utilization > 0.91", Severity.ERROR, (2, Severity.WARNING)),
        ("gpu_memory_utilization < 0.91", Severity.ERROR, (1, Severity.NOTE)),
        ("gpu_memory_utilization < 0.95", Severity.WARNING, (3, Severity.WARNING)),
        ("gpu_memory_utilization > 0.91", Severity.WARNING, (2, Severity.NOTE)),
        ("gpu_memory_utilization < 0.91", Severity.WARNING, None),
        ("gpu_memory_utilization < 0.95", Severity.NOTE, (3, Severity.NOTE)),
        ("gpu_memory_utilization > 0.91", Severity.NOTE, None),
        ("gpu_memory_utilization > 0.95", Severity.ERROR, None),
    ],
)
def test_a_rule_speaks_lower_for_each_scenario_it_does_not_hold_in(
    when: str, severity: Severity, said: tuple[int, Severity] | None
) -> None:
    found = samples.of_rule(samples.report(SCENARIOS, rules=[made("own-rule", when, severity)]), "own-rule")
    assert [(one.confidence, one.severity) for one in found] == ([said] if said else [])


# ---- absorption


def test_a_rule_speaks_instead_of_those_it_absorbs() -> None:
    rules = [made("cause", "gpus_per_pod == 1", absorbs=["effect"]), made("effect", "gpus_per_pod > 0")]
    assert spoken(samples.report(SCENARIOS, rules=rules)) == ["cause"]


def test_a_rule_that_does_not_hold_absorbs_nothing() -> None:
    rules = [made("cause", "gpus_per_pod == 2", absorbs=["effect"]), made("effect", "gpus_per_pod > 0")]
    assert spoken(samples.report(SCENARIOS, rules=rules)) == ["effect"]


def test_a_milder_finding_does_not_absorb_a_graver_one() -> None:
    rules = [
        made("cause", "gpu_memory_utilization < 0.91", absorbs=["effect"]),
        made("effect", "gpus_per_pod > 0"),
    ]
    assert spoken(samples.report(SCENARIOS, rules=rules)) == ["cause", "effect"]


def remapped(one: Rule, severity: Severity) -> Rule:
    """The rule with the severity that a policy gives it."""
    return dataclasses.replace(one, severity=severity, stated=one.severity)


def test_a_rule_that_a_policy_lowers_still_absorbs() -> None:
    rules = [made("cause", "gpus_per_pod == 1", absorbs=["effect"]), made("effect", "gpus_per_pod > 0")]
    assert spoken(samples.report(SCENARIOS, rules=[remapped(rules[0], Severity.NOTE), rules[1]])) == ["cause"]


def test_a_rule_that_a_policy_raises_is_not_absorbed_by_a_milder_one() -> None:
    cause = made("cause", "gpus_per_pod == 1", Severity.WARNING, absorbs=["effect"])
    effect = made("effect", "gpus_per_pod > 0", Severity.NOTE)
    assert spoken(samples.report(SCENARIOS, rules=[cause, effect])) == ["cause"]
    assert spoken(samples.report(SCENARIOS, rules=[cause, remapped(effect, Severity.ERROR)])) == ["cause", "effect"]


SLICE = """\
apiVersion: v1
kind: Pod
metadata: {name: sliced}
spec:
  nodeSelector: {nvidia.com/gpu.product: NVIDIA-H100-80GB-HBM3}
  containers:
    - name: server
      image: vllm/vllm-openai:v0.10.1
      args: [--model=Qwen/Qwen2.5-1.5B-Instruct LENGTH]
      resources: {limits: {nvidia.com/mig-1g.10gb: 1}}
"""


@pytest.mark.parametrize(
    ("checkpoint", "length"),
    [
        ("Qwen/Qwen2.5-7B-Instruct", ", --max-model-len=8192"),  # the weights alone are too much
        ("meta-llama/Llama-3.2-3B-Instruct", ", --max-model-len=131072"),  # a stated length is
        ("meta-llama/Llama-3.2-3B-Instruct", ""),  # the checkpoint's own length is
    ],
)
def test_a_slice_that_is_too_small_gives_one_finding_whatever_is_too_much(checkpoint: str, length: str) -> None:
    text = SLICE.replace("Qwen/Qwen2.5-1.5B-Instruct LENGTH", checkpoint + length)
    assert spoken(samples.report(text)) == ["mig-slice-too-small"]


# ---- settings


def test_there_are_defaults_without_any_file(tmp_path: Path) -> None:
    found = load.find_nearest(DiskReader(tmp_path))
    assert (found.fail_on, found.select, found.path) == ("error", (), "")


def test_the_nearest_file_decides_alone(tmp_path: Path) -> None:
    (tmp_path / "gpulint.yaml").write_text("ignore: [memory]\nfail-on: note\n")
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    assert load.find_nearest(DiskReader(tmp_path), inner.relative_to(tmp_path).as_posix()).stated["ignore"] == [
        "memory"
    ]
    (tmp_path / "a" / "gpulint.yaml").write_text("ignore: [serving]\n")
    found = load.find_nearest(DiskReader(tmp_path), inner.relative_to(tmp_path).as_posix())
    assert (found.stated["ignore"], found.fail_on) == (["serving"], "error")


def test_a_file_above_the_root_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "gpulint.yaml").write_text("ignore: [memory]\n")
    (tmp_path / "repository").mkdir()
    assert "ignore" not in load.find_nearest(DiskReader(tmp_path / "repository")).stated


def test_a_table_of_pyproject_is_read_too_and_a_pyproject_without_one_is_passed_by(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.gpulint]\nignore = ["memory"]\nfail-on = "warning"\n')
    inner = tmp_path / "a"
    inner.mkdir()
    (inner / "pyproject.toml").write_text("[tool.ruff]\nline-length = 100\n")
    found = load.find_nearest(DiskReader(tmp_path), inner.relative_to(tmp_path).as_posix())
    assert (found.stated["ignore"], found.fail_on) == (["memory"], "warning")


def test_gpulint_yaml_goes_before_pyproject_in_one_folder(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.gpulint]\nignore = ["memory"]\n')
    (tmp_path / "gpulint.yaml").write_text("ignore: [serving]\n")
    assert load.find_nearest(DiskReader(tmp_path)).stated["ignore"] == ["serving"]


def test_an_empty_file_is_one_of_defaults(tmp_path: Path) -> None:
    (tmp_path / "gpulint.yaml").write_text("")
    assert load.find_nearest(DiskReader(tmp_path)).fail_on == "error"


def test_folders_of_rules_are_relative_to_the_file_that_names_them(tmp_path: Path) -> None:
    (tmp_path / "gpulint.yaml").write_text("rules: [policies]\n")
    (tmp_path / "a").mkdir()
    assert [one.path for one in load.find_nearest(DiskReader(tmp_path), "a").rules] == ["policies"]


def test_hints_and_likes_are_read(tmp_path: Path) -> None:
    (tmp_path / "gpulint.yaml").write_text(
        "accelerator: l4\nlike: {acme/house: meta-llama/Llama-3.1-8B-Instruct}\n"
        "hints:\n  - {path: 'deploy/*.yaml', accelerator: h100-sxm-80gb}\n  - {path: x.yaml, workload: chat, checkpoint: a/b}\n"
    )
    found = load.find_nearest(DiskReader(tmp_path))
    first, second = found.hints
    assert (found.accelerator, found.like) == ("l4", {"acme/house": "meta-llama/Llama-3.1-8B-Instruct"})
    assert first.matches("deploy/chat.yaml", "anything")
    assert not first.matches("other/chat.yaml", "anything")
    assert second.matches("x.yaml", "chat")
    assert not second.matches("x.yaml", "other")


@pytest.mark.parametrize("key", ["hints: [{path: '', gpus: 8}]", "objectives: [{path: '', tpot: 50ms}]"])
def test_an_entry_needs_the_path_of_a_file(tmp_path: Path, key: str) -> None:
    (tmp_path / "gpulint.yaml").write_text(f"{key}\n")
    with pytest.raises(SettingsError, match=r"gpulint\.yaml:1:\d+: path has no value; give it one or remove the key"):
        load.find_nearest(DiskReader(tmp_path))


NO_BANDWIDTH = '"400 Gibps" is not a bandwidth; write 400 Gb/s, 50 GB/s or 900 GB/s both ways'


def test_a_fabric_is_read_in_base_units(tmp_path: Path) -> None:
    (tmp_path / "gpulint.yaml").write_text(
        "fabric:\n  - {pool: lab, network: 400 Gb/s, kind: roce, nics: 2, oversubscription: 4, rail-optimized: true}\n"
        "  - {cloud: aws, network-per-gpu: 100 Gb/s, nvlink-bridge: false}\n"
    )
    first, second = load.find_nearest(DiskReader(tmp_path)).fabrics
    assert first.quantities == {
        "network_bytes_per_s": 50e9,
        "network_kind": "roce",
        "node_nics": 2,
        "network_oversubscription": 4,
        "rail_optimized": True,
    }
    assert second.quantities == {"network_bytes_per_s_per_gpu": 12.5e9, "nvlink_bridge": False}
    assert first.matches("any.yaml", "chat", "", "lab")
    assert not first.matches("any.yaml", "chat", "", "other")


@pytest.mark.parametrize(
    ("name", "text", "place", "said"),
    [
        ("gpulint.yaml", "fabric:\n  - {network: 400}\n", "2:15", "network must be a text, not 400"),
        ("gpulint.yaml", "fabric:\n  - {network: 400 Gibps}\n", "2:15", NO_BANDWIDTH),
        ("gpulint.yaml", "fabric:\n  - {netwrk: 400 Gb/s}\n", "2:6", "unknown key netwrk; did you mean network?"),
        ("gpulint.yaml", "ignore: [memory]\nselct: [x]\n", "2:1", "unknown key selct; did you mean select?"),
        ("gpulint.yaml", "fail_on: note\n", "1:1", "unknown key fail_on; did you mean fail-on?"),
        (
            "gpulint.yaml",
            "hints:\n  - {path: a, acelerator: l4}\n",
            "2:15",
            "unknown key acelerator; did you mean accelerator?",
        ),
        ("gpulint.yaml", "fail-on: fatal\n", "1:10", "fail-on must be error, warning or note, not fatal"),
        ("gpulint.yaml", "ignore: memory\n", "1:9", "ignore must be a list: write [memory]"),
        (
            "gpulint.yaml",
            "budgets: {team: a, gpus: 2}\n",
            "1:1",
            "budgets must be a list: begin each entry with `- `, or use brackets: [{…}, {…}]",
        ),
        (
            "gpulint.yaml",
            "waivers:\n  - {rules: heads-not-divisible, reason: r, until: 2027-13-01}\n",
            "2:52",
            "until must be a date such as 2027-03-31, not 2027-13-01",
        ),
        (
            "gpulint.yaml",
            "severity:\noversizing: note\n",
            "1:10",
            "severity has no value; give it one or remove the key\n"
            "{path}:2:1: unknown key oversizing; indent it if it belongs to severity",
        ),
        (
            "pyproject.toml",
            '[project]\nname = "x"\n[tool.gpulint]\nselct = []\n',
            "4:1",
            "unknown key selct; did you mean select?",
        ),
    ],
)
def test_a_wrong_setting_is_refused_at_its_place(tmp_path: Path, name: str, text: str, place: str, said: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(SettingsError) as caught:
        load.find_nearest(DiskReader(tmp_path))
    assert str(caught.value) == f"{tmp_path / name}:{place}: {said.replace('{path}', str(tmp_path / name))}"


@pytest.mark.parametrize(
    "text", ["ignore: [memory\n", "ignore:\n\t- memory\n", "select: [a]\n---\nignore: [b]\n", "a: {{ b }}\n"]
)
def test_a_settings_file_that_cannot_be_read_is_refused_at_its_place(tmp_path: Path, text: str) -> None:
    (tmp_path / "gpulint.yaml").write_text(text)
    with pytest.raises(SettingsError, match=r"gpulint\.yaml:\d+:\d+: "):
        load.find_nearest(DiskReader(tmp_path))


def test_a_settings_file_of_comments_is_one_of_defaults(tmp_path: Path) -> None:
    (tmp_path / "gpulint.yaml").write_text("# nothing yet\n")
    assert load.find_nearest(DiskReader(tmp_path)).fail_on == "error"


# ---- the status of a rule


def test_a_deprecated_rule_speaks_with_a_word_about_it() -> None:
    old = dataclasses.replace(made("house-rule", "gpus_per_pod >= 1"), status="deprecated")
    (found,) = samples.report(BARE, rules=[old]).findings
    assert found.message == "m (this rule is deprecated and will be removed)"
    assert samples.report(BARE, rules=[old]).rules["house-rule"].status == "deprecated"
