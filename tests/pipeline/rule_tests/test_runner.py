"""`gpulint rule`: what is begun works, and a rule that its samples do not show is told apart from one that they do."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gpulint import cli
from gpulint.catalog import package_data
from gpulint.cli.scaffold import rule
from gpulint.pipeline.rule_tests import runner, samples
from gpulint.policy.rules.rule import load_shipped

FOLDER = "policies/gpulint"


@pytest.fixture(autouse=True)
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words: str) -> Result:
    return CliRunner().invoke(cli.main, ["rule", *words])


def begun(name: str, old: str = "", new: str = "", scope: str = "workload") -> Path:
    """The file that `rule new` writes, with one text in the place of another."""
    text = rule.render(name, scope, FOLDER)
    assert old in text
    path = Path(FOLDER) / "organisation" / f"{name}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text.replace(old, new) if old else text, encoding="utf-8")
    return path


def complaints(path: Path) -> list[str]:
    """What is wrong with a rule and its samples."""
    (found,) = runner.run([path], ())
    return [*found.complaints, *(line for trial in found.trials for line in trial.complaints)]


# ---- new


@pytest.mark.parametrize("scope", ["workload", "document"])
def test_what_is_begun_passes_its_own_samples_as_it_is_written(scope: str) -> None:
    result = run("new", "pod-too-large", "--scope", scope)
    assert (result.exit_code, result.stdout) == (
        0,
        "wrote policies/gpulint/organisation/pod-too-large.yaml\n"
        "next: gpulint rule test policies/gpulint\n"
        "then add to gpulint.yaml so that gpulint check runs it: rules: [policies/gpulint]\n",
    )
    result = run("test", FOLDER)
    assert (result.exit_code, result.stdout) == (
        0,
        "ok    pod-too-large  1 bad, 1 good\n\n1 rule, 2 samples: all passed\n",
    )


@pytest.mark.parametrize("scope", ["workload", "document"])
def test_every_key_of_what_is_begun_is_explained_above_it(scope: str) -> None:
    lines = rule.render("pod-too-large", scope, FOLDER).splitlines()
    keys = [number for number, line in enumerate(lines) if line[:1].isalpha()]
    assert len(keys) >= 7
    assert all(lines[number - 1].startswith("# ") for number in keys)


def test_the_folder_that_the_settings_name_takes_it_and_no_step_is_left_out() -> None:
    Path("gpulint.yaml").write_text("rules: [house/rules, more]\n", encoding="utf-8")
    result = run("new", "pod-too-large", "--family", "capacity")
    assert result.stdout == ("wrote house/rules/capacity/pod-too-large.yaml\nnext: gpulint rule test house/rules\n")
    assert run("test", "house/rules").exit_code == 0


def test_a_further_folder_is_named_beside_those_of_the_settings() -> None:
    Path("gpulint.yaml").write_text("rules: [policies/gpulint]\n", encoding="utf-8")
    result = run("new", "pod-too-large", "--dir", "house")
    assert result.stdout.splitlines()[-1] == (
        "then add to gpulint.yaml so that gpulint check runs it: rules: [policies/gpulint, house]"
    )


def test_a_rule_in_the_shipped_folder_needs_no_line_in_gpulint_yaml(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load_shipped()
    monkeypatch.setattr(package_data, "find_folder", lambda name: tmp_path / name)
    result = run("new", "pod-too-large", "--dir", str(tmp_path / "rules"))
    assert [line.partition(" ")[0] for line in result.stdout.splitlines()] == ["wrote", "next:"]


def test_a_rule_of_ones_own_is_listed_explained_and_run_beside_ours() -> None:
    (found,) = runner.run([begun("pod-too-large")], ())
    Path("gpulint.yaml").write_text("rules: [policies/gpulint]\n", encoding="utf-8")
    Path("pod.yaml").write_text(found.trials[0].text, encoding="utf-8")
    listed = CliRunner().invoke(cli.main, ["rules"]).stdout.splitlines()
    assert [line.split()[:3] for line in listed if "pod-too" in line] == [["organisation", "pod-too-large", "warning"]]
    assert CliRunner().invoke(cli.main, ["explain", "pod-too-large"]).stdout.startswith("pod-too-large (organisation, ")
    said = CliRunner().invoke(cli.main, ["check", "pod.yaml", "--select", "organisation"]).stdout
    assert "warning[pod-too-large]: 16 GPUs for one instance; above 8, ask the platform team first\n" in said


def test_a_folder_that_cannot_be_made_is_said_with_the_reason() -> None:
    Path("policies").write_text("# a file\n", encoding="utf-8")
    result = run("new", "pod-too-large", "--family", "capacity")
    path = "policies/gpulint/capacity/pod-too-large.yaml"
    assert (result.exit_code, result.stderr) == (2, f"gpulint: {path} cannot be written: not a directory\n")


def test_nothing_is_overwritten_in_whatever_family_it_lies() -> None:
    path = begun("pod-too-large")
    path.write_text("# mine\n", encoding="utf-8")
    result = run("new", "pod-too-large", "--family", "capacity")
    assert (result.exit_code, result.stderr) == (2, f"gpulint: {path} already exists; nothing was written\n")
    assert path.read_text(encoding="utf-8") == "# mine\n"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("PodTooLarge", "PodTooLarge is not in kebab-case; write pod-too-large"),
        ("pod_too_large", "pod_too_large is not in kebab-case; write pod-too-large"),
        ("../pod-too-large", "../pod-too-large is not in kebab-case; write pod-too-large"),
        ("the-pod-too-large", "the-pod-too-large contains an article; write pod-too-large"),
        (
            "no-large-pods",
            "no-large-pods says what to do; name the defect, as in gpu-limit-missing or replicas-beyond-quota",
        ),
        ("check-pods", "check-pods says what to do; name the defect, as in gpu-limit-missing or replicas-beyond-quota"),
        ("checkpoint", "checkpoint is one word; say what is wrong with it, as in checkpoint-missing"),
        ("gpus-left-idle", "gpulint already has a rule gpus-left-idle; choose another name"),
    ],
)
def test_a_name_that_is_no_name_of_a_defect_is_refused_and_nothing_is_written(name: str, said: str) -> None:
    result = run("new", name)
    assert (result.exit_code, result.stderr) == (2, f"gpulint: {said}\n")
    assert not Path("policies").exists()


def test_a_name_that_only_begins_like_a_forbidden_word_is_let_pass() -> None:
    assert [rule.find_naming_error(name) for name in ("node-too-large", "checkpoints-lost", "anode-missing")] == [
        "",
        "",
        "",
    ]


# ---- test: what fails


def test_a_rule_that_finds_nothing_is_shown_with_what_its_condition_sees() -> None:
    path = begun("pod-too-large", "gpus_per_replica > 8", "gpus_per_replica > 100")
    result = run("test", FOLDER)
    assert result.exit_code == 1
    assert result.stdout == (
        "FAIL  pod-too-large  1 bad, 1 good\n"
        f"  {path}:32  bad sample 1\n"
        "  = the condition does not hold: gpus_per_replica is 16\n"
        "      …\n"
        "    5 |   containers:\n"
        "    6 |     - name: server\n"
        "    7 |       image: vllm/vllm-openai:v0.10.1\n"
        "  - 8 |       resources: {limits: {nvidia.com/gpu: 16}}  # <- here\n"
        "      |   expected here, but did not fire\n"
        "\n"
        "1 rule, 2 samples: 1 failed\n"
    )


def test_a_rule_that_speaks_elsewhere_is_shown_at_both_places() -> None:
    begun("pod-too-large", "at: [gpus_per_pod]", "at: [engine]")
    result = run("test", FOLDER)
    assert result.exit_code == 1
    assert "  = the rule fires at line 7, but is expected at line 8\n" in result.stdout
    assert (
        "  + 7 |       image: vllm/vllm-openai:v0.10.1\n"
        "      |   fired here: warning: 16 GPUs for one instance; above 8, ask the platform team first\n"
        "  - 8 |       resources: {limits: {nvidia.com/gpu: 16}}  # <- here\n"
        "      |   expected here, but did not fire\n"
    ) in result.stdout


def test_a_good_sample_that_the_rule_finds_is_shown_where_it_does() -> None:
    begun("pod-too-large", "gpus_per_replica > 8", "gpus_per_replica > 4")
    result = run("test", FOLDER)
    assert "  = the rule fires at line 8, but this sample is good\n" in result.stdout
    assert "  + 8 |       resources: {limits: {nvidia.com/gpu: 8}}\n" in result.stdout


LACKING = (
    "it lacks accelerator (state the accelerator: a nodeSelector, the annotation gpulint/accelerator, "
    "a comment # gpulint: accelerator=NAME, --accelerator, or hints: in gpulint.yaml)"
)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "gpus_per_replica > 8",
            "gpus_per_replica > 8 && accelerator == 'h100-sxm-80gb'",
            [f"the rule was not evaluated: {LACKING}"],
        ),
        (
            "gpus_per_replica > 8",
            "accelerator == 'h100-sxm-80gb'",
            [f"the rule was not evaluated: {LACKING}", f"it passes only because the rule was not evaluated: {LACKING}"],
        ),
        (
            "scope: workload}",
            "scope: workload, kind: training, engine: megatron-lm}",
            [
                "no good sample contains what the rule applies to: show the smallest change that makes a bad one right",
                "the rule applies to training run by megatron-lm; this is inference run by vllm",
            ],
        ),
        (
            "  # <- here",
            "",
            [
                "no line of it is marked: put `# <- here` at the end of the line that the rule must find",
                "the rule fires at line 8, which is not marked",
            ],
        ),
        (
            "nvidia.com/gpu: 8}}",
            "nvidia.com/gpu: 8}}  # <- here",
            ["a good sample must not be marked; line 8 is"],
        ),
        (
            "{gpus_per_replica} GPUs for",
            "{gpus_per_replica} {accelerator} for",
            [
                "the message prints {accelerator}, which is unknown here: "
                + LACKING.removeprefix("it lacks accelerator (").removesuffix(")")
            ],
        ),
        (
            "resources: {limits: {nvidia.com/gpu: 16}}",
            "resources: {limits: {cpu: 16}}",
            ["the rule matches nothing: a Pod was read, but it contains no workload on a GPU; does it request one?"],
        ),
        (
            "gpu: 16}}  # <- here",
            "gpu: 16}}  # gpulint: ignore[pod-too-large] a test  # <- here",
            ["a directive in the sample suppresses the rule at line 8"],
        ),
    ],
)
def test_what_does_not_agree_is_said_with_its_reason(old: str, new: str, said: list[str]) -> None:
    assert complaints(begun("pod-too-large", old, new)) == said


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("replaces: true", "replaces: true, but gpulint has no rule pod-too-large: remove it"),
        (
            "absorbs: [weights-exceed-memroy]",
            "absorbs: no rule is called weights-exceed-memroy; did you mean weights-exceed-memory",
        ),
    ],
)
def test_a_key_that_names_a_rule_that_is_not_there_is_said(key: str, said: str) -> None:
    path = begun("pod-too-large", "severity: warning", f"severity: warning\n{key}")
    (found,) = complaints(path)
    assert found.startswith(f"{path}:1:1: {said}")


def test_a_rule_about_documents_that_reads_a_key_that_is_not_there_is_not_evaluated() -> None:
    path = begun(
        "claim-without-class", '"!has(object.spec.storageClassName)"', "object.spec.storageClass == 'slow'", "document"
    )
    found = complaints(path)
    assert len(found) == 2
    assert found[0].startswith("the rule was not evaluated: ")
    assert "storageClass" in found[0]


CARD = """\
      spec:
        nodeSelector: {cloud.google.com/gke-accelerator: nvidia-l4}
        containers:
          - name: server
            args: [--model=Qwen/Qwen3-8B, --max-model-len=8192]
"""


def test_a_bad_sample_that_the_rule_finds_in_some_scenarios_only_is_not_clear_enough() -> None:
    path = begun("weights-near-memory", "gpus_per_replica > 8", "required_bytes_per_gpu > 19e9")
    text = path.read_text(encoding="utf-8").replace("{gpus_per_replica} GPUs", "{required_bytes_per_gpu}")
    text = text.replace("      spec:\n        containers:\n          - name: server\n", CARD)
    path.write_text(text.replace("gpu: 16", "gpu: 1").replace("gpu: 8", "gpu: 2"), encoding="utf-8")
    assert complaints(path)[0] == (
        "it is reported as note, firing in 2 of 3 scenarios; the rule declares warning: show a clearer case"
    )


# ---- test: what is looked for, and exit codes


def test_without_a_folder_those_of_the_settings_are_tested() -> None:
    Path("gpulint.yaml").write_text("rules: [policies/gpulint]\n", encoding="utf-8")
    begun("pod-too-large")
    assert run("test").stdout == "ok    pod-too-large  1 bad, 1 good\n\n1 rule, 2 samples: all passed\n"


def test_a_file_and_a_name_narrow_what_is_tested() -> None:
    path = begun("pod-too-large")
    begun("pod-too-small")
    assert run("test", str(path)).stdout.startswith("ok    pod-too-large")
    assert run("test", FOLDER, "--select", "pod-too-small").stdout.startswith("ok    pod-too-small")
    assert "2 rules, 4 samples" in run("test", FOLDER, "--select", "organisation").stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("test",),
            "no rule folder is given; name one, or list it under rules: in gpulint.yaml; `gpulint rule new NAME` creates one",
        ),
        (("test", "nowhere"), "nowhere: no such folder of rules"),
        (("test", "empty"), "empty contains no rule; `gpulint rule new NAME --dir empty` creates one"),
        (("test", FOLDER, "--select", "pod-too-larg"), "these folders contain no rule or family called pod-too-larg"),
    ],
)
def test_where_nothing_is_tested_the_run_is_misused(words: tuple[str, ...], said: str) -> None:
    Path("empty").mkdir()
    begun("pod-too-large")
    result = run(*words)
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", f"gpulint: {said}\n")


def test_a_file_that_is_no_rule_is_said_beside_the_others_and_ends_with_2() -> None:
    begun("pod-too-large")
    path = begun("pod-too-small", "when: gpus", "wen: gpus")
    result = run("test", FOLDER)
    assert result.exit_code == 2
    assert result.stdout == (
        "ok    pod-too-large  1 bad, 1 good\n"
        "FAIL  pod-too-small  no rule\n"
        f"  {path}:17:1: unknown key wen; did you mean when?\n"
        "\n"
        "2 rules, 2 samples: 1 failed\n"
    )


def test_a_name_that_is_taken_is_no_rule() -> None:
    path = begun("gpus-left-idle")
    assert complaints(path) == [
        f"{path}:1:1: gpulint has a rule gpus-left-idle of its own: rename the file, or write replaces: true"
    ]
    path.write_text(f"replaces: true\n{path.read_text(encoding='utf-8')}", encoding="utf-8")
    assert complaints(path) == []


def test_the_trials_are_given_as_json() -> None:
    path = begun("pod-too-large", "gpus_per_replica > 8", "gpus_per_replica > 4")
    result = run("test", FOLDER, "--format", "json")
    data = json.loads(result.stdout)
    assert (result.exit_code, data["format"], data["summary"]) == (
        1,
        "gpulint-rule-test/1",
        {"rules": 1, "samples": 2, "failed": 1},
    )
    (one,) = data["rules"]
    assert (one["rule"], one["family"], one["path"], one["passed"]) == (
        "pod-too-large",
        "organisation",
        str(path),
        False,
    )
    assert one["samples"][0] == {
        "side": "bad",
        "number": 1,
        "line": 32,
        "passed": True,
        "expected": [8],
        "said": [
            {
                "line": 8,
                "severity": "warning",
                "message": "16 GPUs for one instance; above 8, ask the platform team first",
            }
        ],
        "complaints": [],
    }
    assert one["samples"][1]["complaints"] == ["the rule fires at line 8, but this sample is good"]


# ---- samples of several files, of other formats, with several marks

SEVERAL = """\
# file: serving/chat.yaml
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat}
spec:
  replicas: 2
  template:
    spec:
      containers:
        - name: server
          image: vllm/vllm-openai:v0.10.1
          resources: {limits: {nvidia.com/gpu: 1}}
# file: serving/scaler.yaml
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: chat}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: chat}
  minReplicas: 1
  maxReplicas: 64  # <- here
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 60}}}]
"""
RIGHT = SEVERAL.replace("64  # <- here", "8")


def test_a_sample_of_several_files_is_read_as_a_repository_and_its_lines_are_counted_through() -> None:
    found = samples.split_files(SEVERAL)
    assert [(one.path, one.above, one.text.splitlines()[0]) for one in found] == [
        ("serving/chat.yaml", 1, "apiVersion: apps/v1"),
        ("serving/scaler.yaml", 13, "apiVersion: autoscaling/v2"),
    ]
    path = begun("replicas-unbounded", "gpus_per_replica > 8", "replicas_most != null && replicas_most > 32")
    text = path.read_text(encoding="utf-8").replace("at: [gpus_per_pod]", "at: [replicas_most]")
    text = text[: text.index("examples:")].replace("{gpus_per_replica} GPUs", "{replicas_most} replicas")
    bad, good = (textwrap.indent(f"- |\n{textwrap.indent(one, '  ')}", "    ") for one in (SEVERAL, RIGHT))
    path.write_text(f"{text}examples:\n  bad:\n{bad}  good:\n{good}", encoding="utf-8")
    assert complaints(path) == []


def test_a_comment_on_the_first_line_names_the_one_file_of_a_sample() -> None:
    assert samples.find_path("# main.tf\nresource {}\n") == "main.tf"
    assert samples.find_path("# apps/dev/chat.yaml\nkind: Pod\n") == "apps/dev/chat.yaml"
    assert samples.find_path("# see the docs.\nkind: Pod\n") == "spec.yaml"


def test_each_of_several_marks_wants_a_finding_of_its_own() -> None:
    pod = "kind: Pod\nspec:\n  a: 1  # <- here\n---\nb: 2  # <- here\n"
    assert samples.find_marked_lines(pod) == (3, 5)
    said = (runner.ReportedLine(3, "warning", "m"), runner.ReportedLine(3, "warning", "n"))
    trial = runner.Trial("bad", 1, 1, pod, (3, 5), said)
    assert (trial.silent, trial.astray) == ((5,), (said[1],))


GOLD = """\
apiVersion: v1
kind: Pod
metadata: {name: train, labels: {tier: gold}}
spec:
  containers:
    - name: train
      image: python:3.12
      resources: {requests: {nvidia.com/gpu: 1}}
"""


def test_a_rule_of_ones_own_that_fails_on_one_spec_is_not_evaluated_there_and_loses_nothing_else() -> None:
    begun("tier-too-low", "gpus_per_replica > 8", "\"'tier' in labels && int(labels['tier']) < 2\"")
    Path("pod.yaml").write_text(GOLD, encoding="utf-8")
    result = CliRunner().invoke(cli.main, ["check", "pod.yaml", "--rules", FOLDER, "--format", "json"])
    data = json.loads(result.stdout)
    assert (result.exit_code, [one["rule"] for one in data["findings"]]) == (1, ["gpu-limit-missing"])
    lacking = {one["rule"]: one["needs"] for role in data["workloads"][0]["roles"] for one in role["not_evaluated"]}
    assert lacking["tier-too-low"] == ["labels"]
