"""The command line: what each option changes, and the exit code of each outcome."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from command_line import ELSEWHERE, RIGHT, WRONG, Run, write
from folders import ROOT

import gpulint
from gpulint import cli
from gpulint.source import documents

EXAMPLES = ROOT / "examples" / "policies"

WARNED = RIGHT.replace("nvidia-l4", "nvidia-a100-80gb").replace("--max", "--kv-cache-dtype=fp8, --max")
UNPLACED = (
    RIGHT.replace("nodeSelector: {cloud.google.com/gke-accelerator: nvidia-l4}", "hostNetwork: false")
    .replace("Qwen/Qwen2.5-7B-Instruct", "meta-llama/Llama-3.1-8B-Instruct")
    .replace("8192", "131072")
)


def found(result: Result) -> set[tuple[str, str]]:
    """Path and rule of every finding of a JSON report."""
    return {(one["path"], one["rule"]) for one in json.loads(result.stdout)["findings"]}


# ---- exit codes


def test_nothing_to_say_is_zero(run: Run) -> None:
    write("right.yaml", RIGHT)
    assert run("check").exit_code == 0


def test_an_error_is_one(run: Run) -> None:
    write("wrong.yaml", WRONG)
    assert run("check").exit_code == 1


def test_a_warning_fails_only_when_asked_to(run: Run) -> None:
    write("warned.yaml", WARNED)
    assert [run("check").exit_code, run("check", "--fail-on", "warning").exit_code] == [0, 1]
    assert run("check", "--fail-on", "note").exit_code == 1


def test_exit_zero_reports_and_passes(run: Run) -> None:
    write("wrong.yaml", WRONG)
    result = run("check", "--exit-zero")
    assert result.exit_code == 0
    assert "error[context-exceeds-trained-maximum]" in result.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("check", "--select", "no-such"), "no such rule or family: no-such"),
        (("check", "--ignore", "memorie"), "no such rule or family: memorie; did you mean memory?"),
        (("check", "--accelerator", "l44"), "no accelerator is called l44; did you mean l4,"),
        (("check", "missing.yaml"), "there is no file or folder missing.yaml"),
        (("check", "--rules", "missing"), "missing: no such folder of rules"),
        (("check", "-", "."), "the path - reads one file from stdin; it cannot be combined with other paths"),
        (("explain", "weights-exceed-memori"), "engine or word: weights-exceed-memori; did you mean weights-exceed-memory,"),
        (("catalog", "accelerators", "l44"), "the catalog has no accelerator l44; did you mean l4,"),
        (("catalog", "architectures", "Qwen/Qwen3-8"), "no architecture Qwen/Qwen3-8; did you mean Qwen/Qwen3-8B,"),
        (("size", "Qwen/Qwen3-8"), "no checkpoint is called Qwen/Qwen3-8; did you mean Qwen/Qwen3-8B,"),
        (("size", "Qwen/Qwen3-8B", "--accelerator", "l44"), "no accelerator is called l44; did you mean l4,"),
    ],
)  # fmt: skip
def test_misuse_is_two_and_says_what_was_meant(run: Run, words: tuple[str, ...], message: str) -> None:
    result = run(*words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr


@pytest.mark.parametrize(
    "words", [("chek",), ("check", "--fail-on", "sometimes"), ("check", "--format", "xml"), ("check", "--nope")]
)
def test_an_unknown_command_or_option_is_two(run: Run, words: tuple[str, ...]) -> None:
    assert run(*words).exit_code == 2


def test_a_settings_file_that_is_wrong_is_two_and_has_a_place(run: Run) -> None:
    write("right.yaml", RIGHT)
    write("gpulint.yaml", "fail-no: error\n")
    result = run("check")
    assert result.exit_code == 2
    assert "gpulint.yaml:1:1: unknown key fail-no; did you mean fail-on?" in result.stderr


def test_our_own_fault_is_three_and_spares_the_other_files(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    write("a.yaml", WRONG)
    write("b.yaml", WRONG)
    load = documents.load

    def faulty(path: str, content: bytes, *relevance: documents.Relevance) -> documents.Loaded:
        if path == "a.yaml":
            raise RuntimeError("a fault of ours")
        return load(path, content, *relevance)

    monkeypatch.setattr(documents, "load", faulty)
    result = run("check")
    assert result.exit_code == 3
    assert "internal error in a.yaml while checking the file: RuntimeError: a fault of ours" in result.stdout
    assert "--> b.yaml:9:" in result.stdout
    assert run("check", "--exit-zero").exit_code == 3


# ---- what is read


def test_what_does_not_concern_gpus_is_zero_and_said_on_stderr(run: Run) -> None:
    write("settings.yaml", ELSEWHERE)
    result = run("check")
    assert (result.exit_code, result.stderr) == (0, "gpulint: nothing here concerns GPUs\n")


MACHINE = 'resource "aws_instance" "{name}" {{\n  instance_type = "{kind}"\n}}\n'


@pytest.mark.parametrize(
    ("names", "kind", "said"),
    [
        ("a", "p5.48xlarge", "no GPU workload was found in the files that were checked; their node pools with GPUs: a"),
        ("abcde", "p5.48xlarge", "…: a, b, c and 2 more"),
        ("a", "m7i.large", "nothing here concerns GPUs"),
    ],
)
def test_terraform_that_creates_gpus_concerns_them(run: Run, names: str, kind: str, said: str) -> None:
    write("main.tf", "".join(MACHINE.format(name=name, kind=kind) for name in names))
    result = run("check")
    assert result.exit_code == 0
    assert result.stderr.endswith(f"{said.removeprefix('…')}\n")


def test_node_pools_of_files_that_were_not_checked_are_not_named(run: Run) -> None:
    write("main.tf", MACHINE.format(name="a", kind="p5.48xlarge"))
    write("other.tf", MACHINE.format(name="b", kind="m7i.large"))
    assert run("check", "other.tf").stderr == "gpulint: nothing here concerns GPUs\n"


def test_an_empty_folder_is_zero_and_said_on_stderr(run: Run) -> None:
    Path("empty").mkdir()
    result = run("check", "empty")
    assert (result.exit_code, result.stderr) == (0, "gpulint: nothing here concerns GPUs\n")


def test_a_file_that_concerns_gpus_is_not_said_not_to(run: Run) -> None:
    write("right.yaml", RIGHT)
    assert run("check").stderr == ""


def test_folders_are_walked_and_what_git_ignores_is_left_out(run: Run) -> None:
    write("apps/a.yaml", WRONG)
    write("apps/deep/b.yml", WRONG)
    write("build/c.yaml", WRONG)
    write("apps/notes.txt", WRONG)
    write(".gitignore", "build/\n")
    assert {path for path, _ in found(run("check", "--format", "json"))} == {"apps/a.yaml", "apps/deep/b.yml"}
    assert {path for path, _ in found(run("check", "--format", "json", "apps/deep"))} == {"apps/deep/b.yml"}


def test_a_file_that_is_named_is_read_although_git_ignores_it(run: Run) -> None:
    write("build/c.yaml", WRONG)
    write(".gitignore", "build/\n")
    assert {path for path, _ in found(run("check", "--format", "json", "build/c.yaml"))} == {"build/c.yaml"}


def test_excluded_paths_are_left_out_even_when_named(run: Run) -> None:
    write("a.yaml", WRONG)
    write("vendor/b.yaml", WRONG)
    assert {path for path, _ in found(run("check", "--format", "json", "--exclude", "vendor/"))} == {"a.yaml"}
    assert found(run("check", "--format", "json", "--exclude", "vendor/", "vendor/b.yaml")) == set()


def test_links_are_not_followed(run: Run) -> None:
    write("a.yaml", WRONG)
    Path("link.yaml").symlink_to("a.yaml")
    Path("loop").symlink_to(".")
    assert {path for path, _ in found(run("check", "--format", "json"))} == {"a.yaml"}


def test_stdin_is_one_file_under_the_name_it_is_given(run: Run) -> None:
    assert found(run("check", "--format", "json", "-", stdin=WRONG)) == {
        ("stdin.yaml", "context-exceeds-trained-maximum")
    }
    named = run("check", "--format", "json", "-", "--stdin-filename", "apps/chat.yaml", stdin=WRONG)
    assert found(named) == {("apps/chat.yaml", "context-exceeds-trained-maximum")}
    assert named.exit_code == 1


def test_the_name_given_to_stdin_decides_how_it_is_read(run: Run) -> None:
    text = json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"gpu": 1}})
    assert run("check", "-", "--stdin-filename", "a.json", stdin=text + "}").exit_code == 1
    assert run("check", "-", "--stdin-filename", "a.json", stdin=text).exit_code == 0


def test_a_broken_file_that_concerns_gpus_is_a_finding_at_its_place(run: Run) -> None:
    write("broken.yaml", "spec:\n\tlimits: {nvidia.com/gpu: 1}\n")
    result = run("check")
    assert result.exit_code == 1
    assert (
        "error[invalid-syntax]: a tab indents this line; YAML allows only spaces there\n  --> broken.yaml:2:1"
        in result.stdout
    )


def test_a_broken_file_that_does_not_concern_gpus_is_nobodys_business(run: Run) -> None:
    write("broken.yaml", "spec:\n\tcolour: blue\n")
    assert run("check").exit_code == 0


# ---- which rules speak


def test_rules_and_families_are_selected_and_ignored_by_name(run: Run) -> None:
    write("wrong.yaml", WRONG)
    rule = ("wrong.yaml", "context-exceeds-trained-maximum")
    assert found(run("check", "--format", "json", "--select", "context-exceeds-trained-maximum")) == {rule}
    assert found(run("check", "--format", "json", "--select", "memory,serving")) == {rule}
    assert found(run("check", "--format", "json", "--select", "memory", "--select", "serving")) == {rule}
    assert found(run("check", "--format", "json", "--ignore", "serving")) == set()
    assert found(run("check", "--format", "json", "--select", "precision")) == set()


def test_a_rule_of_ones_own_speaks_beside_the_others(run: Run) -> None:
    write("right.yaml", RIGHT)
    write(
        "policies/cost/one-gpu-only.yaml",
        "summary: More than no GPU is used\nseverity: error\nfor: {scope: workload}\nwhy: They are dear.\n"
        'when: gpus_per_replica > 0\nat: [gpus_per_pod]\nmessage: "{gpus_per_replica} GPU"\n'
        "examples: {bad: ['kind: Pod'], good: ['kind: Pod']}\n",
    )
    assert run("check").exit_code == 0
    result = run("check", "--format", "json", "--rules", "policies")
    assert (found(result), result.exit_code) == ({("right.yaml", "one-gpu-only")}, 1)
    assert run("check", "--rules", "policies", "--ignore", "cost").exit_code == 0


def test_a_mistyped_fact_in_a_rule_of_ones_own_is_misuse_with_a_place(run: Run) -> None:
    write("right.yaml", RIGHT)
    write(
        "policies/cost/dear.yaml",
        "summary: Dear\nseverity: error\nfor: {scope: workload}\nwhy: Dear.\nwhen: gpu_per_pod > 0\nmessage: dear\n"
        "examples: {bad: ['kind: Pod'], good: ['kind: Pod']}\n",
    )
    result = run("check", "--rules", "policies")
    assert result.exit_code == 2
    assert "policies/cost/dear.yaml:5:7: no such fact: gpu_per_pod; did you mean gpus_per_pod?" in result.stderr
    assert "gpu_per_pod" in result.stderr


# ---- settings and hints


def test_the_accelerator_of_the_command_line_is_taken_where_a_file_names_none(run: Run) -> None:
    write("unplaced.yaml", UNPLACED)
    assert found(run("check", "--format", "json")) == set()
    assert found(run("check", "--format", "json", "--accelerator", "l4")) == {("unplaced.yaml", "serving-does-not-fit")}
    assert found(run("check", "--format", "json", "--accelerator", "h100-sxm-80gb")) == set()


def test_the_accelerator_of_a_file_stands_against_the_command_lines(run: Run) -> None:
    write("right.yaml", RIGHT)
    report = json.loads(run("check", "--format", "json", "--accelerator", "t4").stdout)
    assert report["workloads"][0]["roles"][0]["accelerator"] == "1 × L4 24GB"


def test_hints_and_likes_of_the_settings_say_what_files_cannot(run: Run) -> None:
    write("apps/ours.yaml", UNPLACED.replace("meta-llama/Llama-3.1-8B-Instruct", "/models/ours"))
    assert found(run("check", "--format", "json")) == set()
    write(
        "gpulint.yaml",
        "hints:\n  - {path: 'apps/*', accelerator: l4}\nlike:\n  /models/ours: meta-llama/Llama-3.1-8B-Instruct\n",
    )
    assert found(run("check", "--format", "json")) == {("apps/ours.yaml", "serving-does-not-fit")}


def test_the_nearest_settings_count_and_the_command_line_adds_to_them(run: Run) -> None:
    write("gpulint.yaml", "fail-on: note\n")
    write("apps/pyproject.toml", '[tool.gpulint]\nfail-on = "warning"\nignore = ["precision"]\n')
    write("apps/warned.yaml", WARNED)
    assert run("check", "apps").exit_code == 0
    write("apps/pyproject.toml", "[tool.other]\n")
    assert run("check", "apps").exit_code == 1


@pytest.mark.parametrize("folder", ["..", "/etc", "apps/../../elsewhere"])
def test_settings_cannot_name_rules_outside_the_repository(run: Run, folder: str) -> None:
    write("right.yaml", RIGHT)
    write("gpulint.yaml", f"rules: [{folder}]\n")
    result = run("check")
    assert result.exit_code == 2
    assert f"rules: {folder} is outside the repository" in result.stderr


def test_links_to_settings_or_rules_elsewhere_are_not_followed(
    run: Run, tmp_path_factory: pytest.TempPathFactory
) -> None:
    secret = tmp_path_factory.mktemp("elsewhere") / "secret.yaml"
    secret.write_text("password: hunter2\n", encoding="utf-8")
    write("right.yaml", RIGHT)
    Path("policies").mkdir()
    Path("policies/secret.yaml").symlink_to(secret)
    linked = run("check", "--rules", "policies")
    Path("gpulint.yaml").symlink_to(secret)
    for result in (linked, run("check")):
        assert (result.exit_code, "password" in result.output) == (2, False)


# ---- suppressions


def test_a_comment_silences_its_line_and_is_counted(run: Run) -> None:
    write("wrong.yaml", WRONG.replace("40960]", "40960]  # gpulint: ignore[context-exceeds-trained-maximum] tried it"))
    result = run("check")
    assert result.exit_code == 0
    assert "no findings, 1 suppressed" in result.stdout


def test_a_suppression_that_silences_nothing_or_cannot_be_read_is_said(run: Run) -> None:
    write("right.yaml", RIGHT.replace("8192]", "8192]  # gpulint: ignore[weights-exceed-memory] it fits"))
    assert "warning[unused-suppression]" in run("check").stdout
    write("right.yaml", RIGHT.replace("8192]", "8192]  # gpulint: ignore[weights-exceed-memory]"))
    assert "warning[malformed-suppression]" in run("check").stdout


# ---- the other commands


def test_the_version_is_printed_without_reading_anything(run: Run) -> None:
    result = run("--version")
    assert (result.exit_code, result.stdout.startswith("gpulint 0.")) == (0, True)


def test_a_rule_is_explained_with_what_is_wrong_and_what_is_right(run: Run) -> None:
    shown = run("explain", "weights-exceed-memory").stdout
    assert shown.startswith(
        "weights-exceed-memory (memory, error)\n\nThe model weights alone do not fit in the memory of one accelerator.\n"
    )
    assert "\nFires when\n  weight_bytes_per_gpu > device_memory_bytes\n" in shown
    assert shown.index("\nWrong\n  apiVersion: apps/v1") < shown.index("\nRight\n  apiVersion: apps/v1")
    assert "\n  weight_bytes_per_gpu  bytes       weights on the fullest GPU\n" in shown
    assert "\n  # gpulint: ignore[weights-exceed-memory] REASON\n" in shown


def test_a_fact_is_explained_with_its_unit_and_its_formula(run: Run) -> None:
    shown = run("explain", "weight_bytes_per_gpu").stdout
    assert shown.startswith("weight_bytes_per_gpu (number, bytes, computed)\n\nWeights on the fullest GPU.\n")
    assert "\nFormula of every other engine\n  Weights on the fullest GPU.\n" in shown
    assert "\nFormula of llama.cpp\n" in shown
    assert "\nComputed from weight_bytes, expert_parameters," in shown


def test_an_adapter_and_an_engine_are_explained_by_what_they_read(run: Run) -> None:
    assert run("explain", "kserve").stdout.startswith("kserve (reads objects of an API)\n\nKServe: inference services")
    shown = run("explain", "llama.cpp").stdout
    assert shown.startswith("llama-cpp (inference)\n\nllama.cpp: ")
    assert "  --ctx-size / LLAMA_ARG_CTX_SIZE " in shown


def test_a_family_is_explained_by_its_rules(run: Run) -> None:
    shown = run("explain", "suppressions").stdout
    assert "\n  unused-suppression" in shown
    assert "--select suppressions" in shown


def test_a_rule_of_the_team_is_explained_where_the_settings_or_an_option_name_its_folder(run: Run) -> None:
    own = Path("own/budget/gpus-above-quota.yaml")
    write(str(own), (EXAMPLES / own.relative_to("own")).read_text(encoding="utf-8"))
    assert "no such rule, family, fact, adapter, engine or word: gpus-above-quota" in run("explain", own.stem).stderr
    assert run("explain", "--rules", "own", own.stem).stdout.startswith("gpus-above-quota (budget, warning)\n")
    Path("gpulint.yaml").write_text("rules: [own]\n")
    assert run("explain", own.stem).stdout.startswith("gpus-above-quota (budget, warning)\n")


def test_rules_are_listed_by_family(run: Run) -> None:
    lines = run("rules").stdout.splitlines()
    assert [line.split()[0] for line in lines] == sorted(line.split()[0] for line in lines)
    assert any(line.split()[:3] == ["memory", "weights-exceed-memory", "error"] for line in lines)


def test_the_catalog_lists_and_shows_one_row_with_its_source(run: Run) -> None:
    listed = run("catalog", "accelerators").stdout.splitlines()
    assert listed[0].split()[:2] == ["accelerator", "memory"]
    assert any(line.startswith("l4 ") for line in listed)
    shown = dict(line.split(maxsplit=1) for line in run("catalog", "accelerators", "l4").stdout.splitlines())
    assert (shown["id"], shown["compute_capability"]) == ("l4", "8.9")
    assert "source" in shown
    assert "parameters               8,190,735,360" in run("catalog", "architectures", "Qwen/Qwen3-8B").stdout


def test_a_checkpoint_is_sized_term_by_term(run: Run) -> None:
    lines = run("size", "Qwen/Qwen3-8B", "--accelerator", "l40s", "--max-model-len", "8192").stdout.splitlines()
    assert lines[0] == "Qwen/Qwen3-8B, L40S 48GB, tensor parallel 1, pipeline parallel 1, 8,192 tokens"
    assert lines[2].split() == ["weight_bytes_per_gpu", "15.26", "GiB", "15.26", "GiB", "15.26", "GiB", "34.4%"]
    assert "verdict: fits" in lines


def test_a_file_and_one_workload_of_it_are_sized(run: Run) -> None:
    write("two.yaml", RIGHT + "---\n" + RIGHT.replace("name: chat", "name: other"))
    assert run("size", "two.yaml").stdout.count("verdict: ") == 2
    assert run("size", "two.yaml:other").stdout.count("verdict: ") == 1
    assert run("size", "two.yaml:third").exit_code == 2


def test_sizes_are_given_as_json_in_base_units(run: Run) -> None:
    (table,) = json.loads(run("size", "Qwen/Qwen3-8B", "--accelerator", "l4", "--format", "json").stdout)
    assert table["terms"]["weight_bytes_per_gpu"]["expected"] == 16_381_470_720
    assert table["terms"]["weight_bytes_per_gpu"]["unit"] == "bytes"


# ---- init


def test_init_asks_once_for_the_gpu_of_a_partition(run: Run) -> None:
    for number in range(3):
        write(
            f"job{number}.sh",
            "#!/bin/bash\n#SBATCH --partition=main\n#SBATCH --gres=gpu:4\nsrun vllm serve Qwen/Qwen3-8B\n",
        )
    run("init")
    settings = Path("gpulint.yaml").read_text(encoding="utf-8")
    assert "#   - {name: main, partition: main, accelerator: , gpus: }    # 3 workloads\n" in settings
    assert "hints:" not in settings.partition("# Values that")[2]


def test_init_writes_a_hint_for_each_workload_that_lacks_one(run: Run) -> None:
    write("apps/unplaced.yaml", UNPLACED)
    write("apps/right.yaml", RIGHT)
    result = run("init", "--spec", "spec.yaml")
    assert (result.exit_code, result.stdout.splitlines()[:2]) == (0, ["wrote gpulint.yaml", "wrote spec.yaml"])
    settings = Path("gpulint.yaml").read_text(encoding="utf-8")
    assert "# accelerator:    # named by none of 1 workload\n" in settings
    assert "apps/right.yaml" not in settings
    assert run("check", "spec.yaml").exit_code == 0


def test_init_says_what_stands_and_what_to_do_next(run: Run) -> None:
    write("apps/wrong.yaml", WRONG)
    result = run("init", "--hook", "--repo", "https://git.example.com/tools/gpulint")
    assert result.stdout == (
        "wrote gpulint.yaml\nwrote .pre-commit-config.yaml\n"
        "1 workload found, 0 of them without a value that a hint can declare\ncurrent findings: 1 error\nnext\n"
        "  gpulint baseline           accepts the current findings, so that only new ones are reported\n"
        "  pre-commit install         checks the files of each commit; gpulint init --hook writes the hook\n"
        "  gpulint check --base main  reports only what a branch changes\n"
    )
    assert "      - id: gpulint\n" in Path(".pre-commit-config.yaml").read_text(encoding="utf-8")


def test_where_nothing_stands_init_speaks_of_no_baseline(run: Run) -> None:
    write("apps/right.yaml", RIGHT)
    assert "baseline" not in run("init").stdout


def test_init_counts_the_workloads_that_it_writes_a_hint_for(run: Run) -> None:
    write("train.sbatch", "#!/bin/bash\n#SBATCH --gpus-per-node=h100:8\nsrun python train.py $EXTRA\n")
    write("serve.sh", "#!/bin/bash\n#SBATCH --gpus-per-node=l4:1\nvllm serve Qwen/Qwen3-8B $EXTRA\n")
    said = run("init").stdout
    hints = Path("gpulint.yaml").read_text(encoding="utf-8").count("#   - path: ")
    assert f"2 workloads found, {hints} of them without a value" in said


def test_init_says_what_to_add_to_a_hook_file_that_is_there_and_writes_the_settings(run: Run) -> None:
    write(".pre-commit-config.yaml", "# mine\n")
    result = run("init", "--hook", "--repo", "https://git.example.com/tools/gpulint")
    assert (result.exit_code, Path("gpulint.yaml").is_file()) == (0, True)
    assert "add to .pre-commit-config.yaml under repos:\n  - repo: https://" in result.stdout
    assert Path(".pre-commit-config.yaml").read_text(encoding="utf-8") == "# mine\n"


def test_init_says_what_to_add_to_a_hook_file_where_settings_are_there(run: Run) -> None:
    write("gpulint.yaml", "# mine\n")
    result = run("init", "--hook", "--repo", "https://git.example.com/tools/gpulint")
    assert (result.exit_code, [path.name for path in Path().glob("[.g]*.yaml")]) == (2, ["gpulint.yaml"])
    assert "add to .pre-commit-config.yaml under repos:\n  - repo: https://" in result.stderr


@pytest.mark.parametrize("taken", ["gpulint.yaml", "spec.yaml"])
def test_init_overwrites_nothing_and_then_writes_nothing(run: Run, taken: str) -> None:
    write(taken, "# mine\n")
    result = run("init", "--spec", "spec.yaml")
    assert result.exit_code == 2
    assert f"{taken} already exists; nothing was written" in result.stderr
    assert [path.name for path in Path().glob("*.yaml")] == [taken]
    assert Path(taken).read_text(encoding="utf-8") == "# mine\n"


def test_init_says_where_it_cannot_write(run: Run) -> None:
    result = run("init", "--spec", "specs/chat.yaml")
    assert (result.exit_code, result.stderr) == (
        2,
        "gpulint: specs/chat.yaml cannot be written: no such file or directory\n",
    )


def test_init_writes_through_no_link(run: Run, tmp_path: Path) -> None:
    Path("gpulint.yaml").symlink_to(tmp_path.parent / "elsewhere.yaml")
    assert run("init").exit_code == 2
    assert not (tmp_path.parent / "elsewhere.yaml").exists()


# ---- help


def test_every_command_is_told_in_one_whole_line(run: Run) -> None:
    for words in ((), ("policy",), ("rule",)):
        assert "..." not in run(*words, "--help").output.partition("Commands:")[2]


# ---- as a program


def test_the_program_is_installed_under_its_name(tmp_path: Path) -> None:
    program = Path(sys.executable).with_name("gpulint")
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


def test_siblings_are_looked_for_in_the_repository_of_the_checked_path_not_of_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shares = "sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}\n"
    spec = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: chat}\nspec:\n  containers:\n"
        "    - {name: a, image: 'vllm/vllm-openai:v0.10.1', args: [--model=Qwen/Qwen2.5-1.5B-Instruct],"
        " resources: {limits: {nvidia.com/gpu: 4}}}\n"
    )
    (tmp_path / "ours").mkdir()
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "plugin.yaml").write_text(shares)
    (tmp_path / "ours" / "chat.yaml").write_text(spec)
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(cli.main, ["check", "ours"])
    assert "gpus-left-idle" in result.output
    result = CliRunner().invoke(cli.main, ["check", "."])
    assert "gpus-left-idle" in result.output  # nothing says that the two folders belong together
    (tmp_path / ".git").mkdir()
    result = CliRunner().invoke(cli.main, ["check", "."])
    assert "gpus-left-idle" not in result.output


def test_a_check_imports_neither_what_completes_words_nor_what_writes_files(tmp_path: Path) -> None:
    (tmp_path / "pod.yaml").write_text("apiVersion: v1\nkind: Pod\nmetadata: {name: x}\n# nvidia.com/gpu\n")
    script = (
        "import sys; from click.testing import CliRunner; from gpulint import cli\n"
        "assert CliRunner().invoke(cli.main, ['check', 'pod.yaml']).exit_code == 0\n"
        "late = {'click.shell_completion', 'gpulint.source.atomic_write', 'gpulint.source.git', 'subprocess'}\n"
        "print(sorted(late & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("file", ["../outside.json", "/etc/outside.json"])
@pytest.mark.parametrize("command", ["check", "baseline"])
def test_a_policy_names_no_baseline_outside_the_repository(run: Run, command: str, file: str) -> None:
    write("gpulint.yaml", f"baseline: {file}\n")
    write("a.yaml", WRONG)
    result = run(command)
    assert result.exit_code == 2
    assert f"gpulint.yaml:1:11: {file} is outside the repository" in result.stderr
    assert not Path("../outside.json").exists()


def test_what_a_policy_states_reaches_no_terminal_as_a_command(run: Run) -> None:
    write("gpulint.yaml", 'fail-on: "\\e[31m\\u202e"\n')
    result = run("check")
    assert result.exit_code == 2
    assert "not �[31m�" in result.stderr


def test_each_of_many_waivers_that_reach_nothing_is_told(run: Run) -> None:
    entries = "".join(
        f'- {{rules: [gpu-limit-missing], reason: agreed, paths: ["x{index}"]}}\n' for index in range(400)
    )
    write("gpulint.yaml", f"waivers:\n{entries}")
    write("a.yaml", RIGHT)
    result = run("check", "--format", "json")
    told = [one["rule"] for one in json.loads(result.stdout)["findings"]]
    assert told.count("unused-suppression") == 400


# ---- the clock


def test_one_module_asks_what_day_it_is() -> None:
    asks = re.compile(r"strftime|date\.today\(|\.now\(|localtime|gmtime")
    package = Path(gpulint.__file__).parent
    asking = {
        path.relative_to(package).as_posix() for path in package.rglob("*.py") if asks.search(path.read_text("utf-8"))
    }
    assert asking == {"pipeline/today.py"}


def test_a_rule_of_a_pack_is_explained(run: Run) -> None:
    write("gpulint.yaml", "extends: selection-table\n")
    result = run("explain", "small-fine-tune-off-table")
    assert result.exit_code == 0


@pytest.mark.parametrize("words", [("--base", ""), ("--policy-from", ""), ("--base", "main", "--head", "")])
def test_a_commit_that_is_empty_is_misuse(run: Run, words: tuple[str, ...]) -> None:
    """An unset variable of a pipeline must not turn the gate into a plain check."""
    result = run("check", *words)
    assert (result.exit_code, result.stderr) == (
        2,
        f"gpulint: {words[-2]} is empty; give a commit or drop the option\n",
    )


def test_servers_are_listed_with_what_a_rack_needs_and_shown_with_their_source(run: Run) -> None:
    listed = run("catalog", "servers").stdout.splitlines()
    assert listed[0].split() == ["server", "vendor", "GPUs", "maximum", "PSUs", "units", "weight", "cooling"]
    (line,) = (one for one in listed if one.startswith("dgx-h100 "))
    assert " ".join(line.split()) == "dgx-h100 NVIDIA 8 10.2 kW 6 x 3,300 W 8 130 kg air"
    assert "NVIDIA DGX H100/H200 System User Guide" in run("catalog", "servers", "DGX H100").stdout
