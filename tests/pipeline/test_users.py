"""Users: a named or changed program, script or file of variables is checked with the specs that use it, and no more."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import started_program
from click.testing import CliRunner

import gpulint
from gpulint import cli
from gpulint.source.repository import mentions

POD = started_program.pod("python, -m, app.serve")
LOST = """\
---
apiVersion: v1
kind: Pod
metadata: {name: lost}
spec:
  nodeSelector: {cloud.google.com/gke-accelerator: nvidia-l4}
  containers:
    - name: server
      image: vllm/vllm-openai:v0.10.1
      args: [--model=Qwen/Qwen2.5-72B-Instruct]
      resources: {limits: {nvidia.com/gpu: 1}}
"""
SERVE = "from vllm import LLM\nfrom app.settings import LENGTH\nllm = LLM('Qwen/Qwen3-8B', max_model_len=LENGTH)\n"
FILES = {"k8s/pod.yaml": POD + LOST, "app/serve.py": SERVE, "app/settings.py": "LENGTH = 65536\n"}
TOO_LONG = "context-exceeds-trained-maximum"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    git("init", "-q", "-b", "main")
    write(tmp_path, FILES)
    return tmp_path


def write(folder: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")


def git(*words: str) -> None:
    author = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *author, *words], check=True, capture_output=True)


def commit() -> None:
    git("add", "-A")
    git("commit", "-qm", "a")


def rules(paths: list[str], options: gpulint.Options | None = None) -> set[tuple[str, str]]:
    return {(finding.rule, finding.workload) for finding in gpulint.check(paths, options).open}


@pytest.mark.parametrize("named", ["app/serve.py", "app/settings.py"])
def test_only_what_the_named_file_causes_is_reported(folder: Path, named: str) -> None:
    commit()
    report = gpulint.check([named])
    assert {(finding.rule, finding.workload) for finding in report.open} == {(TOO_LONG, "llm")}
    assert [workload.name for workload in report.workloads] == ["llm"]


def test_a_manifest_that_is_named_as_well_is_checked_once_and_completely(folder: Path) -> None:
    commit()
    report = gpulint.check(["app/serve.py", "k8s/pod.yaml"])
    assert [workload.name for workload in report.workloads] == ["llm", "lost"]
    assert [finding.rule for finding in report.open].count(TOO_LONG) == 1


def test_a_file_that_nothing_uses_is_silent(folder: Path) -> None:
    write(folder, {"app/plot.py": "LENGTH = 65536\n", "docker/Dockerfile": "FROM python:3.12\n", ".env": "A=1\n"})
    commit()
    assert rules(["app/plot.py", "docker/Dockerfile", ".env"]) == set()


def test_a_manifest_that_is_excluded_stays_so(folder: Path) -> None:
    write(folder, {"gpulint.yaml": "exclude: [k8s/]\n"})
    commit()
    assert {workload for _, workload in rules(["app/serve.py"])} == {"serve"}


def test_more_users_than_are_checked_are_reported(folder: Path) -> None:
    write(folder, {f"k8s/pod-{number}.yaml": POD for number in range(mentions.USERS_MAX)})
    commit()
    reasons = {skip.path: skip.reason for skip in gpulint.check(["app/serve.py"]).skipped}
    assert reasons == {"app/serve.py": "more than 50 files use it; only the first 50 were checked with it"}


def test_a_change_of_a_module_alone_reaches_the_manifest(folder: Path) -> None:
    write(folder, {"app/settings.py": "LENGTH = 8192\n"})
    commit()
    write(folder, {"app/settings.py": "LENGTH = 65536\n"})
    assert rules(["."], gpulint.Options(changed=True)) == {(TOO_LONG, "llm")}
    commit()
    assert rules(["."], gpulint.Options(base="HEAD~1")) == {(TOO_LONG, "llm")}
    assert rules(["."], gpulint.Options(base="HEAD~1", changed=True)) == {(TOO_LONG, "llm")}


def test_a_change_of_variables_alone_reaches_the_script(folder: Path) -> None:
    script = "#!/bin/bash\n#SBATCH --gres=gpu:h100:1\n. ./config/a.env\nvllm serve Qwen/Qwen3-8B --max-model-len $L\n"
    write(folder, {"run.sh": script, "config/a.env": "L=8192\n"})
    commit()
    write(folder, {"config/a.env": "L=65536\n"})
    assert rules(["."], gpulint.Options(changed=True)) == {(TOO_LONG, "run")}
    commit()
    assert rules(["."], gpulint.Options(base="HEAD~1", changed=True)) == {(TOO_LONG, "run")}


def test_a_baseline_keeps_the_place_in_the_manifest(folder: Path) -> None:
    assert CliRunner().invoke(cli.main, ["baseline", "."]).exit_code == 0
    assert rules(["."]) == set()
    write(folder, {"app/settings.py": "# moved\nLENGTH = 65536\n"})
    assert rules(["."]) == set()


@pytest.mark.parametrize(
    ("path", "is_used"),
    [
        ("a/train.py", True),
        ("run.sh", True),
        (".env", True),
        ("config/serving.env", True),
        (".env.production", True),
        ("Dockerfile", True),
        ("docker/Dockerfile.gpu", True),
        ("gpu.Dockerfile", True),
        ("k8s/pod.yaml", False),
        ("environment.json", False),
        ("notes.md", False),
        ("dockerfiles.txt", False),
    ],
)
def test_files_that_state_values_of_others_are_known_by_name(path: str, is_used: bool) -> None:
    assert mentions.is_used(path) is is_used


def test_sources_in_a_circle_end(folder: Path) -> None:
    script = "#!/bin/bash\n#SBATCH --gres=gpu:h100:1\n. ./{}.sh\nvllm serve Qwen/Qwen3-8B --max-model-len 65536\n"
    write(folder, {"a.sh": script.format("b"), "b.sh": script.format("a")})
    commit()
    assert TOO_LONG in {rule for rule, _ in rules(["a.sh"])}


def test_a_program_that_git_does_not_track_yet_is_found_from_the_folders_above(folder: Path) -> None:
    write(folder, {"k8s/pod.yaml": POD.replace("-m, app.serve", "/srv/app/serve.py")})
    git("add", "k8s")
    git("commit", "-qm", "a")
    assert rules(["k8s/pod.yaml"]) == {(TOO_LONG, "llm")}


def test_a_program_that_git_does_not_track_yet_is_found_where_the_run_lists_it(folder: Path) -> None:
    files = {"k8s/pod.yaml": POD.replace("-m, app.serve", "/srv/serve.py"), "deep/image/serve.py": SERVE}
    write(folder, {**files, "deep/image/app/settings.py": "LENGTH = 65536\n"})
    (folder / "app" / "serve.py").unlink()
    git("add", "k8s")
    git("commit", "-qm", "a")
    assert rules(["."]) == {(TOO_LONG, "llm")}
    assert rules(["k8s/pod.yaml", "deep/image/serve.py"]) == {(TOO_LONG, "llm")}
