"""Acceptance over whole runs: what policies and a baseline accept, what they no longer do, and how a baseline is kept."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gpulint import cli

Run = Callable[..., Result]

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: train, namespace: ml}
spec:
  containers:
    - name: train
      image: python:3.12
      resources:
        requests: {nvidia.com/gpu: 1}
"""
"""One error: gpu-limit-missing on line 9."""
OTHER = POD.replace("name: train, ", "name: eval, ")
MENDED = POD.replace("requests", "limits")
BASELINE = ".gpulint-baseline.json"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs gpulint on a day in an empty repository."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()

    def invoke(*words: str) -> Result:
        dated = words if words[0] not in ("check", "baseline") else (*words, "--today=2026-11-22")
        return CliRunner().invoke(cli.main, dated)

    return invoke


def write(path: str, text: str) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text, encoding="utf-8")


def findings(result: Result) -> dict[str, list[str]]:
    """The rules of a JSON report by path: those that speak as they are, those that are silenced with a minus."""
    assert result.exit_code in (0, 1), result.stderr
    found: dict[str, list[str]] = {}
    for one in json.loads(result.stdout)["findings"]:
        found.setdefault(one["path"], []).append(("-" if one["suppressed"] else "") + one["rule"])
    return found


def waivers(*lines: str, further: str = "") -> str:
    """A gpulint.yaml with one waiver of gpu-limit-missing, which stands on line 2."""
    return "waivers:\n  - rules: gpu-limit-missing\n" + "".join(f"    {line}\n" for line in lines) + further


# ---- entries of a policy


@pytest.mark.parametrize(
    "about",
    [
        [],
        ["paths: old/"],
        ["paths: [new/, '*.yaml']"],
        ["workload: tra*"],
        ["object: Pod ml/train"],
        ["object: '* ml/*'"],
        ["owner: team-ml", "until: 2027-03-31", "while: gpus_per_pod <= 1"],
    ],
)
def test_an_entry_of_a_policy_silences_what_it_reaches(run: Run, about: list[str]) -> None:
    write("old/train.yaml", POD)
    write("gpulint.yaml", waivers("reason: the webhook adds it", *about))
    result = run("check", "--format=json")
    assert findings(result) == {"old/train.yaml": ["-gpu-limit-missing"]}
    assert json.loads(result.stdout)["findings"][0]["suppressed"]["kind"] == "policy"
    assert json.loads(result.stdout)["findings"][0]["suppressed"]["location"]["line"] == 2


@pytest.mark.parametrize(
    "about", [["paths: new/"], ["paths: /train.yaml"], ["workload: eval"], ["object: Pod prod/*"], ["paths: '!old/'"]]
)
def test_an_entry_that_reaches_nothing_is_said_at_its_line(run: Run, about: list[str]) -> None:
    write("old/train.yaml", POD)
    write("gpulint.yaml", waivers("reason: the webhook adds it", *about))
    found = findings(run("check", "--format=json"))
    assert found == {"gpulint.yaml": ["unused-suppression"], "old/train.yaml": ["gpu-limit-missing"]}


@pytest.mark.parametrize(
    "words",
    [
        ["check", "old/other.yaml"],
        ["check", "old"],
        ["check", "--select=kubernetes"],
        ["check", "--ignore=gpu-limit-missing"],
        ["check", "--exclude=new/"],
    ],
)
def test_an_entry_is_not_called_unused_by_a_run_that_did_not_look_at_all_it_could_reach(
    run: Run, words: list[str]
) -> None:
    write("old/other.yaml", MENDED)
    write("new/train.yaml", MENDED)
    write("gpulint.yaml", waivers("reason: the webhook adds it"))
    assert findings(run(*words, "--format=json")) == {}


def test_an_entry_that_has_ended_lets_its_findings_speak_and_is_pointed_at(run: Run) -> None:
    write("train.yaml", POD)
    write("gpulint.yaml", waivers("reason: the webhook adds it", "until: 2026-11-21"))
    found = findings(run("check", "--format=json"))
    assert found == {"gpulint.yaml": ["expired-suppression"], "train.yaml": ["gpu-limit-missing"]}


def test_an_entry_whose_bound_no_longer_holds_is_neither_unused_nor_silent(run: Run) -> None:
    write("train.yaml", POD)
    write("gpulint.yaml", waivers("reason: the webhook adds it", "while: gpus_per_pod < 1"))
    result = run("check", "--format=json")
    assert findings(result) == {"train.yaml": ["gpu-limit-missing"]}
    assert json.loads(result.stdout)["findings"][0]["message"].endswith(
        "; accepted while gpus_per_pod < 1; now gpus_per_pod 1"
    )


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["reason: r", "untill: 2027-01-01"], "gpulint.yaml:4:5: unknown key untill; did you mean until?"),
        (["reason: r", "until: tomorrow"], "gpulint.yaml:4:12: until must be a date such as 2027-03-31, not tomorrow"),
        (["owner: team-ml"], "gpulint.yaml:2:5: reason is missing"),
        (
            ["reason: r", "while: gpus_per_pot < 1"],
            "gpulint.yaml:4:12: cannot parse `gpus_per_pot < 1`: no such fact: gpus_per_pot; did you mean ",
        ),
    ],
)
def test_an_entry_that_cannot_be_read_is_refused_with_its_place(run: Run, lines: list[str], said: str) -> None:
    write("train.yaml", POD)
    write("gpulint.yaml", waivers(*lines))
    result = run("check")
    assert (result.exit_code, said in result.stderr) == (2, True), result.stderr


def test_an_entry_of_an_unknown_rule_is_refused_with_the_nearest(run: Run) -> None:
    write("train.yaml", POD)
    write("gpulint.yaml", waivers("reason: r").replace("gpu-limit-missing", "gpu-limits-missing"))
    result = run("check")
    assert result.exit_code == 2
    assert "gpulint.yaml:2:5: no such rule: gpu-limits-missing; did you mean gpu-limit-missing?" in result.stderr


def test_entries_of_a_policy_that_is_extended_add_up(run: Run) -> None:
    write("train.yaml", POD)
    write("company.yaml", waivers("reason: the webhook adds it"))
    write("gpulint.yaml", "extends: ./company.yaml\nwaivers:\n  - {rules: heads-not-divisible, reason: r}\n")
    assert findings(run("check", "--format=json")) == {
        "gpulint.yaml": ["unused-suppression"],
        "train.yaml": ["-gpu-limit-missing"],
    }


def test_each_rule_of_an_entry_is_needed_or_said(run: Run) -> None:
    write("train.yaml", POD)
    write("gpulint.yaml", "waivers:\n  - {rules: [gpu-limit-missing, heads-not-divisible], reason: r}\n")
    result = run("check", "--format=json")
    assert findings(result) == {"gpulint.yaml": ["unused-suppression"], "train.yaml": ["-gpu-limit-missing"]}
    assert (
        json.loads(result.stdout)["findings"][0]["message"]
        == "unused suppression: no heads-not-divisible finding in the files it covers"
    )


def test_of_two_entries_for_the_same_finding_none_is_called_unused(run: Run) -> None:
    write("train.yaml", POD)
    entry = "  - {rules: gpu-limit-missing, reason: REASON}\n"
    write("gpulint.yaml", "waivers:\n" + entry.replace("REASON", "one") + entry.replace("REASON", "two"))
    assert findings(run("check", "--format=json")) == {"train.yaml": ["-gpu-limit-missing"]}


def test_an_entry_does_not_reach_below_a_policy_of_its_own(run: Run) -> None:
    write("team/train.yaml", POD)
    write("team/gpulint.yaml", "preview: false\n")
    write("gpulint.yaml", waivers("reason: r"))
    assert findings(run("check", "--format=json")) == {
        "gpulint.yaml": ["unused-suppression"],
        "team/train.yaml": ["gpu-limit-missing"],
    }


BUDGET = (
    "budgets:\n  - {paths: '*.yaml', gpus: 1}\nwaivers:\n  - {rules: gpu-budget-exceeded, reason: r, while: BOUND}\n"
)


@pytest.mark.parametrize(
    ("bound", "shown"),
    [("counted_gpus <= 2", ["-gpu-budget-exceeded"]), ("counted_gpus <= 1.5", ["gpu-budget-exceeded"])],
)
def test_a_budget_is_exceeded_as_far_as_the_policy_accepts(run: Run, bound: str, shown: list[str]) -> None:
    write("train.yaml", MENDED)
    write("eval.yaml", MENDED.replace("name: train, ", "name: eval, "))
    write("gpulint.yaml", BUDGET.replace("BOUND", bound))
    result = run("check", "--format=json")
    assert findings(result) == {"eval.yaml": shown}
    message = json.loads(result.stdout)["findings"][0]["message"]
    assert ("; accepted while counted_gpus <= 1.5; now counted_gpus 2" in message) == ("1.5" in bound)


def test_a_budget_in_a_baseline_holds_its_gpus_and_no_price(run: Run) -> None:
    write("train.yaml", MENDED)
    write("eval.yaml", MENDED.replace("name: train, ", "name: eval, "))
    write("gpulint.yaml", BUDGET.partition("waivers")[0])
    run("baseline")
    (entry,) = json.loads(Path(BASELINE).read_text())["findings"]
    assert (entry["object"], entry["quantity"], entry["value"]) == ("budget *.yaml", "counted_gpus", "2 GPUs")
    assert run("check").exit_code == 0


# ---- what a policy wants of waivers

COMMENTED = POD.replace("gpu: 1}", "gpu: 1}  # gpulint: ignore[gpu-limit-missing] WORDS")


@pytest.mark.parametrize(
    ("wanted", "words", "message"),
    [
        (
            "waivers-need: [owner, until]\n",
            "a reason",
            "the policy requires owner= and until= in each waiver; without it the waiver has no effect",
        ),
        (
            "waivers-need: [while]\n",
            "owner=x r",
            "the policy requires while= in each waiver; without it the waiver has no effect",
        ),
        (
            "waivers-last: 180d\n",
            "a reason",
            "the policy requires until= in each waiver; without it the waiver has no effect",
        ),
        (
            "waivers-last: 180d\n",
            "until=2027-11-22 r",
            "until=2027-11-22 is 365 days away; the policy allows at most 180",
        ),
    ],
)
def test_a_waiver_without_what_the_policy_wants_silences_nothing_and_is_said(
    run: Run, wanted: str, words: str, message: str
) -> None:
    write("gpulint.yaml", wanted)
    write("train.yaml", COMMENTED.replace("WORDS", words))
    result = run("check", "--format=json")
    assert findings(result) == {"train.yaml": ["gpu-limit-missing", "malformed-suppression"]}
    assert json.loads(result.stdout)["findings"][1]["message"] == message


@pytest.mark.parametrize("words", ["until=2027-05-21 owner=x r", "until=2026-11-22 owner=x r"])
def test_a_waiver_with_what_the_policy_wants_holds(run: Run, words: str) -> None:
    write("gpulint.yaml", "waivers-need: [owner]\nwaivers-last: 180d\n")
    write("train.yaml", COMMENTED.replace("WORDS", words))
    assert findings(run("check", "--format=json")) == {"train.yaml": ["-gpu-limit-missing"]}


def test_entries_of_the_policy_itself_need_what_it_wants(run: Run) -> None:
    write("train.yaml", POD)
    write("gpulint.yaml", waivers("reason: r", further="waivers-need: [owner]\n"))
    assert findings(run("check", "--format=json")) == {
        "gpulint.yaml": ["malformed-suppression"],
        "train.yaml": ["gpu-limit-missing"],
    }


# ---- a baseline


def test_a_baseline_accepts_what_stands_and_nothing_else(run: Run) -> None:
    write("k8s/train.yaml", POD)
    assert run("check").exit_code == 1
    assert run("baseline").stdout.splitlines() == [
        ".gpulint-baseline.json: 1 finding in 1 file accepted",
        "commit it; from now on gpulint check reports only new findings",
    ]
    assert run("check").exit_code == 0
    write("k8s/eval.yaml", OTHER)
    result = run("check", "--format=json")
    assert findings(result) == {"k8s/eval.yaml": ["gpu-limit-missing"], "k8s/train.yaml": ["-gpu-limit-missing"]}
    accepted = json.loads(result.stdout)["findings"][1]["suppressed"]
    assert (accepted["kind"], accepted["location"]["path"], accepted["location"]["line"]) == ("baseline", BASELINE, 5)
    assert "1 error, 1 accepted by .gpulint-baseline.json" in run("check").stdout


def test_a_baseline_is_the_same_from_any_folder(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    write("k8s/train.yaml", POD)
    run("baseline")
    monkeypatch.chdir("k8s")
    assert findings(run("check", "--format=json")) == {"train.yaml": ["-gpu-limit-missing"]}
    assert findings(run("check", "..", "--format=json")) != {}
    assert run("check", "..").exit_code == 0


def test_a_moved_file_keeps_its_debt_also_where_the_run_looks_at_it_alone(run: Run) -> None:
    write("k8s/train.yaml", POD)
    run("baseline")
    Path("k8s/train.yaml").rename("moved.yaml")
    assert findings(run("check", "moved.yaml", "--format=json")) == {"moved.yaml": ["-gpu-limit-missing"]}


def test_a_copy_is_new_also_where_the_run_looks_at_it_alone(run: Run) -> None:
    write("k8s/train.yaml", POD)
    run("baseline")
    write("copy.yaml", POD)
    assert findings(run("check", "copy.yaml", "--format=json")) == {"copy.yaml": ["gpu-limit-missing"]}


def test_an_entry_that_is_paid_is_said_in_a_run_that_saw_its_file(run: Run) -> None:
    write("train.yaml", POD)
    write("eval.yaml", OTHER)
    run("baseline")
    write("train.yaml", MENDED)
    assert findings(run("check", "eval.yaml", "--format=json")) == {"eval.yaml": ["-gpu-limit-missing"]}
    result = run("check", "train.yaml", "--format=json")
    assert findings(result) == {BASELINE: ["stale-baseline-entry"]}
    (stale,) = json.loads(result.stdout)["findings"]
    assert stale["message"] == (
        "gpu-limit-missing of Pod ml/train is no longer found in train.yaml; remove the entry with gpulint baseline --prune"
    )
    assert (stale["severity"], stale["line"], result.exit_code) == ("note", 14, 0)


def test_an_entry_of_a_file_that_is_gone_is_said_only_where_all_was_looked_at(run: Run) -> None:
    write("k8s/train.yaml", POD)
    write("k8s/eval.yaml", OTHER)
    run("baseline")
    Path("k8s/train.yaml").unlink()
    assert findings(run("check", "k8s", "--format=json")) == {"k8s/eval.yaml": ["-gpu-limit-missing"]}
    assert findings(run("check", "--format=json")) == {
        BASELINE: ["stale-baseline-entry"],
        "k8s/eval.yaml": ["-gpu-limit-missing"],
    }


@pytest.mark.parametrize("words", [["--select=memory"], ["--ignore=gpu-limit-missing"]])
def test_an_entry_of_a_rule_that_did_not_run_is_not_stale(run: Run, words: list[str]) -> None:
    write("train.yaml", POD)
    run("baseline")
    write("train.yaml", MENDED)
    assert findings(run("check", *words, "--format=json")) == {}


def test_a_baseline_is_not_written_over(run: Run) -> None:
    write("train.yaml", POD)
    run("baseline")
    before = Path(BASELINE).read_bytes()
    write("eval.yaml", OTHER)
    result = run("baseline")
    assert (result.exit_code, Path(BASELINE).read_bytes()) == (2, before)
    assert result.stderr == (
        "gpulint: .gpulint-baseline.json already exists; use --update to bring it up to date "
        "or --prune to remove fixed findings\n"
    )


def test_an_update_takes_in_nothing_new_and_says_so(run: Run) -> None:
    write("train.yaml", POD)
    run("baseline")
    write("eval.yaml", OTHER)
    Path("train.yaml").rename("moved.yaml")
    result = run("baseline", "--update")
    assert result.exit_code == 1
    assert result.stderr.splitlines() == [
        "gpulint: new, not accepted: eval.yaml:9 error[gpu-limit-missing] "
        "nvidia.com/gpu has a request of 1 but no limit; set the same number under limits"
    ]
    assert result.stdout.splitlines() == [
        ".gpulint-baseline.json: 1 finding in 1 file accepted, 1 new",
        "fix the new findings, waive them with a reason, or accept them with --update --accept-new",
    ]
    assert [one["path"] for one in json.loads(Path(BASELINE).read_text())["findings"]] == ["moved.yaml"]
    assert findings(run("check", "--format=json"))["eval.yaml"] == ["gpu-limit-missing"]


def test_an_update_that_may_take_in_what_is_new_does(run: Run) -> None:
    write("train.yaml", POD)
    run("baseline")
    write("eval.yaml", OTHER)
    assert run("baseline", "--update", "--accept-new").exit_code == 0
    assert [one["path"] for one in json.loads(Path(BASELINE).read_text())["findings"]] == ["eval.yaml", "train.yaml"]
    assert run("check").exit_code == 0


def test_an_update_over_some_files_leaves_the_entries_of_others(run: Run) -> None:
    write("train.yaml", POD)
    write("eval.yaml", OTHER)
    run("baseline")
    before = Path(BASELINE).read_bytes()
    assert run("baseline", "train.yaml", "--update").exit_code == 0
    assert Path(BASELINE).read_bytes() == before


def test_pruning_takes_out_what_is_gone_and_nothing_else(run: Run) -> None:
    write("train.yaml", POD)
    write("eval.yaml", OTHER)
    run("baseline")
    write("train.yaml", MENDED)
    write("new.yaml", POD.replace("name: train, ", "name: new, "))
    result = run("baseline", "--prune")
    assert (result.exit_code, result.stderr) == (
        0,
        "gpulint: fixed: gpu-limit-missing of Pod ml/train (train.yaml)\n",
    )
    assert [one["path"] for one in json.loads(Path(BASELINE).read_text())["findings"]] == ["eval.yaml"]


def test_what_waivers_accept_and_what_is_wrong_with_waivers_is_not_taken_into_a_baseline(run: Run) -> None:
    write("train.yaml", COMMENTED.replace("WORDS", "the webhook adds it"))
    write("eval.yaml", OTHER.replace("python:3.12", "python:3.12  # gpulint: ignore[gpu-limit-missing] a reason"))
    run("baseline")
    assert [one["path"] for one in json.loads(Path(BASELINE).read_text())["findings"]] == ["eval.yaml"]
    assert findings(run("check", "--format=json"))["eval.yaml"] == ["unused-suppression", "-gpu-limit-missing"]


def test_what_a_waiver_accepts_from_now_on_leaves_the_baseline(run: Run) -> None:
    write("train.yaml", POD)
    run("baseline")
    write("train.yaml", COMMENTED.replace("WORDS", "the webhook adds it"))
    assert run("baseline", "--update").exit_code == 0
    assert json.loads(Path(BASELINE).read_text())["findings"] == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", ".gpulint-baseline.json:1: invalid JSON"),
        ('{"format": "gpulint-baseline/2"}', "its format is gpulint-baseline/2; this release reads gpulint-baseline/1"),
        ("<<<<<<< HEAD\n{}\n", ".gpulint-baseline.json:1: a merge conflict"),
    ],
)
def test_a_baseline_that_cannot_be_used_ends_the_run(run: Run, text: str, said: str) -> None:
    write("train.yaml", POD)
    write(BASELINE, text)
    for words in (["check"], ["baseline", "--update"]):
        result = run(*words)
        assert (result.exit_code, said in result.stderr) == (2, True), result.stderr


def test_a_policy_and_an_option_name_another_baseline(run: Run) -> None:
    write("train.yaml", POD)
    assert run("baseline", "--output=debt.json").exit_code == 0
    assert run("check").exit_code == 1
    assert run("check", "--baseline=debt.json").exit_code == 0
    write("gpulint.yaml", "baseline: debt.json\n")
    assert run("check").exit_code == 0
    Path("debt.json").unlink()
    result = run("check")
    assert (result.exit_code, result.stderr) == (2, "gpulint: gpulint.yaml:1:11: there is no file debt.json\n")
    assert run("check", "--baseline=debt.json").exit_code == 2


def test_a_link_in_the_place_of_a_baseline_is_not_followed(run: Run) -> None:
    write("train.yaml", POD)
    write("elsewhere.json", "{}")
    Path(BASELINE).symlink_to("elsewhere.json")
    assert run("check").exit_code == 2
    assert run("baseline").exit_code == 2
    assert Path("elsewhere.json").read_text() == "{}"


# ---- nothing ignored


def test_without_ignores_all_speaks_and_what_would_be_silenced_is_counted(run: Run) -> None:
    write("train.yaml", COMMENTED.replace("WORDS", "the webhook adds it"))
    write("eval.yaml", OTHER)
    write("gpulint.yaml", waivers("reason: r", "paths: third.yaml"))
    write("third.yaml", POD.replace("name: train, ", "name: third, "))
    run("baseline", "--output", BASELINE)
    assert run("check").exit_code == 0
    result = run("check", "--no-ignores", "--format=json")
    assert findings(result) == {path: ["gpu-limit-missing"] for path in ("eval.yaml", "third.yaml", "train.yaml")}
    assert result.exit_code == 1
    assert "3 of them suppressed without --no-ignores" in run("check", "--no-ignores").stdout
