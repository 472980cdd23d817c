"""Policies and waivers of a commit: a change cannot waive itself, and which policy counts on which side."""

from __future__ import annotations

from pathlib import Path

import commits
import pytest
from gate_sides import EXCEEDS, RIGHT, WRONG, deployment, put, run, spoken

import gpulint

ONE_REPLICA = """\
summary: One replica serves
severity: error
for: {scope: workload, kind: inference}
why: Its node goes, and nobody is served.
when: replicas == 1
at: [replicas]
message: "{replicas} replica"
examples:
  bad:
    - |
      kind: inference
      name: a
      model: Qwen/Qwen3-8B
      replicas: 1  # <- here
  good:
    - |
      kind: inference
      name: a
      model: Qwen/Qwen3-8B
      replicas: 2
"""


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty repository, which is the current folder."""
    monkeypatch.chdir(commits.started(tmp_path / "repository"))
    return tmp_path / "repository"


def changed(folder: Path, before: dict[str, str], after: dict[str, str], policy_from: str = "main") -> gpulint.Report:
    """The report on a branch that grows from main, under the policy of a commit."""
    put(folder, before)
    commits.committed(folder)
    commits.git(folder, "checkout", "-q", "-b", "topic")
    put(folder, after)
    commits.committed(folder)
    return gpulint.check(".", gpulint.Options(today="2026-11-22", base="main", policy_from=policy_from))


def waived(text: str, words: str = "the operator patches it") -> str:
    return text.replace("          args:", f"          # gpulint: ignore[{EXCEEDS}] {words}\n          args:")


# ---- a change that waives itself


def test_a_waiver_of_the_change_itself_does_not_count_and_says_when_it_will(repository: Path) -> None:
    report = changed(repository, {"a.yaml": RIGHT}, {"a.yaml": waived(WRONG)})
    assert spoken(report) == [(EXCEEDS, "a.yaml")]
    (finding,) = report.open
    assert finding.message.endswith("; the waiver is new in this change and takes effect once main has it")


def test_without_a_commit_for_policies_the_waiver_counts(repository: Path) -> None:
    assert spoken(changed(repository, {"a.yaml": RIGHT}, {"a.yaml": waived(WRONG)}, policy_from="")) == []


def test_an_annotation_of_the_change_itself_does_not_count(repository: Path) -> None:
    annotation = f"annotations: {{gpulint/ignore: '{EXCEEDS}: the operator patches it'}}"
    text = WRONG.replace("{name: chat}\nspec:\n  replicas", f"{{name: chat, {annotation}}}\nspec:\n  replicas")
    assert text != WRONG
    assert spoken(changed(repository, {"a.yaml": RIGHT}, {"a.yaml": text})) == [(EXCEEDS, "a.yaml")]


@pytest.mark.parametrize(
    "words", ["another reason", "the operator patches it until=2027-01-01", "the operator patches it owner=me"]
)
def test_a_waiver_with_other_words_is_another_one(repository: Path, words: str) -> None:
    before = {"a.yaml": waived(WRONG)}
    report = changed(repository, before, {"a.yaml": waived(deployment(ranks=4), words)})
    assert spoken(report) == [(EXCEEDS, "a.yaml")]


def test_a_waiver_that_is_copied_to_another_object_does_not_count_there(repository: Path) -> None:
    both = f"{waived(WRONG)}---\n{waived(deployment('code', 2))}"
    report = changed(repository, {"a.yaml": waived(WRONG)}, {"a.yaml": both})
    assert [(one.rule, one.workload) for one in report.open] == [(EXCEEDS, "code")]


def test_a_policy_of_the_change_itself_does_not_count(repository: Path) -> None:
    report = changed(repository, {"a.yaml": RIGHT}, {"a.yaml": WRONG, "gpulint.yaml": f"ignore: [{EXCEEDS}]\n"})
    assert spoken(report) == [(EXCEEDS, "a.yaml")]


def test_a_nested_policy_and_exclude_of_the_change_itself_do_not_count(repository: Path) -> None:
    report = changed(repository, {"x/a.yaml": RIGHT}, {"x/a.yaml": WRONG, "x/gpulint.yaml": "exclude: [a.yaml]\n"})
    assert spoken(report) == [(EXCEEDS, "x/a.yaml")]


def test_a_baseline_of_the_change_itself_does_not_count(repository: Path) -> None:
    put(repository, {"a.yaml": RIGHT})
    commits.committed(repository)
    commits.git(repository, "checkout", "-q", "-b", "topic")
    put(repository, {"a.yaml": WRONG})
    from click.testing import CliRunner

    from gpulint.cli import main

    assert CliRunner().invoke(main, ["baseline"]).exit_code == 0
    commits.committed(repository)
    assert run("--base", "main").exit_code == 0
    assert run("--base", "main", "--policy-from", "main").exit_code == 1
    assert run("--base", "main", "--baseline", ".gpulint-baseline.json").exit_code == 0
    done = run("--base", "main", "--baseline", ".gpulint-baseline.json", "--policy-from", "main")
    assert (done.exit_code, "--baseline: there is no file main:.gpulint-baseline.json" in done.stderr) == (2, True)


def test_a_rule_of_the_team_that_the_change_deletes_still_speaks(repository: Path) -> None:
    policy = {"rules/team/one-replica.yaml": ONE_REPLICA, "gpulint.yaml": "rules: [rules]\n"}
    report = changed(repository, {"a.yaml": RIGHT, **policy}, {"a.yaml": RIGHT, "b.yaml": deployment("code")})
    assert ("one-replica", "b.yaml") in spoken(report)


def test_rules_named_on_the_command_line_are_those_of_the_commit(repository: Path) -> None:
    put(repository, {"rules/team/one-replica.yaml": ONE_REPLICA})
    commits.committed(repository)
    put(repository, {"rules/team/one-replica.yaml": ONE_REPLICA.replace("== 1", "== 9"), "a.yaml": RIGHT})
    commits.committed(repository)
    words = ("--base", "HEAD^", "--rules", "rules")
    assert "[one-replica]" not in run(*words).stdout
    assert "[one-replica]" in run(*words, "--policy-from", "HEAD^").stdout


# ---- what counts all the same


def test_a_waiver_that_the_commit_has_counts_wherever_its_line_is(repository: Path) -> None:
    report = changed(repository, {"a.yaml": waived(RIGHT)}, {"a.yaml": "# a comment\n" + waived(WRONG)})
    assert spoken(report) == []


@pytest.mark.parametrize("content", [waived(WRONG), "# edited\n" + waived(deployment(ranks=4))])
def test_a_waiver_moves_with_its_object(repository: Path, content: str) -> None:
    assert spoken(changed(repository, {"a.yaml": waived(WRONG)}, {"x/b.yaml": content})) == []


def test_the_policy_of_the_commit_counts_also_where_the_change_deletes_it(repository: Path) -> None:
    report = changed(repository, {"a.yaml": RIGHT, "gpulint.yaml": f"ignore: [{EXCEEDS}]\n"}, {"a.yaml": WRONG})
    assert EXCEEDS not in [one.rule for one in report.findings]


def test_the_work_tree_is_held_to_the_policy_of_a_commit(repository: Path) -> None:
    put(repository, {"a.yaml": RIGHT, "b.yaml": waived(deployment("code", 2))})
    commits.committed(repository)
    put(repository, {"a.yaml": waived(WRONG), "b.yaml": waived(deployment("code", 2)), "gpulint.yaml": "select: [x]\n"})
    done = run("--policy-from", "HEAD")
    assert done.exit_code == 1
    assert "a.yaml:15" in done.stdout
    assert f"[{EXCEEDS}]: the parallelism needs 2 GPUs" in done.stdout
    assert "b.yaml:15" not in done.stdout


def test_what_is_wrong_with_the_policy_of_the_commit_is_no_finding_of_the_change(repository: Path) -> None:
    policy = f"waivers:\n  - {{rules: [{EXCEEDS}], reason: none needs it}}\n"
    put(repository, {"a.yaml": RIGHT, "gpulint.yaml": policy})
    commits.committed(repository)
    assert "[unused-suppression]" in run(".").stdout
    commits.committed(repository)
    assert "unused-suppression" not in run("--base", "HEAD^", "--policy-from", "main", "--format", "json").stdout


# ---- which policy counts on which side


def test_a_stricter_policy_does_not_make_old_findings_count(repository: Path) -> None:
    before = {"a.yaml": WRONG, "gpulint.yaml": f"ignore: [{EXCEEDS}]\n"}
    after = {"a.yaml": WRONG, "gpulint.yaml": "preview: false\n", "b.yaml": deployment("code", 2)}
    assert spoken(changed(repository, before, after, policy_from="")) == [(EXCEEDS, "b.yaml")]


def test_a_hint_that_makes_a_workload_wrong_counts(repository: Path) -> None:
    plain = deployment(model="Qwen/Qwen3-32B").replace(
        "cloud.google.com/gke-accelerator: nvidia-l4, node.kubernetes.io/instance-type: g2-standard-4", "disk: ssd"
    )
    hint = "hints:\n  - {path: '*', accelerator: %s}\n"
    report = changed(
        repository,
        {"a.yaml": plain, "gpulint.yaml": hint % "h100-sxm-80gb"},
        {"a.yaml": plain, "gpulint.yaml": hint % "l4"},
        policy_from="",
    )
    assert "weights-exceed-memory" in [rule for rule, _ in spoken(report)]


def test_a_rule_that_only_head_has_may_be_selected(repository: Path) -> None:
    put(repository, {"a.yaml": RIGHT})
    commits.committed(repository)
    put(repository, {"a.yaml": RIGHT, "rules/team/one-replica.yaml": ONE_REPLICA})
    commits.committed(repository)
    done = run("--base", "HEAD^", "--rules", "rules", "--select", "one-replica", "--format", "json")
    assert done.exit_code == 0
    assert '"kind": "base"' in done.stdout
    assert '"skipped": []' in done.stdout


def test_a_policy_of_base_that_cannot_be_used_is_passed_by_and_said(repository: Path) -> None:
    report = changed(repository, {"a.yaml": WRONG, "gpulint.yaml": "selekt: [x]\n"}, {"a.yaml": WRONG}, policy_from="")
    assert spoken(report) == []
    (skip,) = report.skipped
    assert "so the policy of HEAD applies to both sides" in skip.reason


def test_a_policy_of_head_or_of_the_commit_that_cannot_be_used_ends_the_run(repository: Path) -> None:
    put(repository, {"a.yaml": RIGHT})
    commits.committed(repository)
    put(repository, {"a.yaml": RIGHT, "gpulint.yaml": "selekt: [x]\n"})
    commits.committed(repository)
    assert run("--base", "HEAD^").exit_code == 2
    assert run("--base", "HEAD^", "--policy-from", "HEAD^").exit_code == 0
    done = run("--base", "HEAD^", "--policy-from", "HEAD")
    assert (done.exit_code, "HEAD:gpulint.yaml" in done.stderr) == (2, True)


def test_a_policy_that_is_a_link_is_refused_in_a_commit_too(repository: Path) -> None:
    put(repository, {"a.yaml": RIGHT, "other.yaml": "select: [memory]\n"})
    (repository / "gpulint.yaml").symlink_to("other.yaml")
    commits.committed(repository)
    done = run("--base", "HEAD")
    assert (done.exit_code, "gpulint.yaml: gpulint does not follow symbolic links" in done.stderr) == (2, True)
