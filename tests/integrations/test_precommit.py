"""The hook: the real pre-commit, with this checkout as the hook's source, in a repository of its own."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import checkout
import pytest
import started_program
from checkout import committed
from pre_commit.clientlib import load_manifest

from gpulint.source import documents
from gpulint.source.repository import mentions

EXAMPLES = checkout.ROOT / "examples"

MISSPELT = """\
apiVersion: v1
kind: Pod
metadata: {name: chat}
spec:
  nodeSelector: {cloud.google.com/gke-accelerator: nvidia-l4}
  containers:
    - name: server
      image: vllm/vllm-openai:v0.10.1
      args: [--model=Qwen/Qwen2.5-7B-Instruct, --max-model-len=8192, --max-num-batched-token=4096]
      resources: {limits: {nvidia.com/gpu: 1}}
"""
STARTS = started_program.pod("python, /srv/app/serve.py")
SERVES = "from vllm import LLM\nllm = LLM('Qwen/Qwen3-8B', max_model_len=65536)\n"

pytestmark = [
    pytest.mark.first,
    pytest.mark.sweep,
    pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed"),
]


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return checkout.environment(tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="module")
def hook(tmp_path_factory: pytest.TempPathFactory, environment: dict[str, str]) -> tuple[Path, str]:
    """A repository that a hook can be taken from, and its commit."""
    source = tmp_path_factory.mktemp("source")
    checkout.copied(source)
    return source, committed(source, environment)


@pytest.fixture
def repository(tmp_path: Path, hook: tuple[Path, str]) -> Path:
    source, revision = hook
    config = f"repos:\n  - repo: file://{source}\n    rev: {revision}\n    hooks:\n      - id: gpulint\n"
    (tmp_path / ".pre-commit-config.yaml").write_text(config, encoding="utf-8")
    return tmp_path


def run(repository: Path, environment: dict[str, str]) -> tuple[int, str]:
    """Exit code and output of pre-commit over all files of a repository."""
    committed(repository, environment)
    return precommit(repository, environment, "--all-files")


def test_a_wrong_spec_fails_the_hook_with_the_finding(repository: Path, environment: dict[str, str]) -> None:
    (repository / "deploy").mkdir()
    shutil.copy(EXAMPLES / "70b-on-two-l4.yaml", repository / "deploy" / "chat.yaml")
    code, shown = run(repository, environment)
    assert code == 1, shown
    assert "error[weights-exceed-memory]: the model weights take 65.71 GiB per GPU" in shown
    assert "--> deploy/chat.yaml:24:15" in shown


def test_a_right_spec_passes_the_hook(repository: Path, environment: dict[str, str]) -> None:
    shutil.copy(EXAMPLES / "right-two-node-group.yaml", repository / "group.yaml")
    code, shown = run(repository, environment)
    assert code == 0, shown
    assert "gpulint..." in shown
    assert "Passed" in shown


def test_scripts_are_checked_and_other_files_without_a_suffix_are_let_pass(
    repository: Path, environment: dict[str, str]
) -> None:
    script = "#!/bin/bash\n#SBATCH --gpus-per-node=2\nvllm serve Qwen/Qwen3-8B --tensor-parallel-size 4\n"
    (repository / "serve.slurm").write_text(script, encoding="utf-8")
    (repository / "NOTES").write_text("run:\n\tdocker run --gpus all nvidia/cuda {{\n", encoding="utf-8")
    code, shown = run(repository, environment)
    assert code == 1, shown
    assert "error[parallel-size-exceeds-gpus]: the parallelism needs 4 GPUs, but the instance has 2" in shown
    assert "--> serve.slurm:3:49" in shown
    assert "NOTES" not in shown


def test_a_program_that_is_committed_alone_is_checked_with_the_manifest_that_starts_it(
    repository: Path, environment: dict[str, str]
) -> None:
    (repository / "app").mkdir()
    shutil.copy(EXAMPLES / "70b-on-two-l4.yaml", repository / "other.yaml")
    (repository / "pod.yaml").write_text(STARTS, encoding="utf-8")
    (repository / "app" / "serve.py").write_text(SERVES.replace("65536", "8192"), encoding="utf-8")
    committed(repository, environment)
    (repository / "app" / "serve.py").write_text(SERVES, encoding="utf-8")
    checkout.git(repository, environment, "add", "app/serve.py")
    code, shown = precommit(repository, environment)
    assert (code, "--> app/serve.py:2:42" in shown, "other.yaml" in shown) == (1, True, False), shown


def test_the_files_of_one_commit_are_checked_in_one_run(repository: Path, environment: dict[str, str]) -> None:
    for number in range(40):
        shutil.copy(EXAMPLES / "right-two-node-group.yaml", repository / f"group-{number}.yaml")
    code, shown = run(repository, environment)
    assert code == 0, shown
    assert shown.count("workloads, no findings") == 1


def test_other_kinds_of_files_do_not_start_the_hook(repository: Path, environment: dict[str, str]) -> None:
    (repository / ".pre-commit-config.yaml").rename(repository / "hooks.cfg")
    shutil.copy(EXAMPLES / "70b-on-two-l4.yaml", repository / "chat.txt")
    shutil.copy(EXAMPLES / "70b-on-two-l4.yaml", repository / "chat.md")
    committed(repository, environment)
    command = [sys.executable, "-m", "pre_commit", "run", "--all-files", "--config", "hooks.cfg"]
    done = subprocess.run(command, cwd=repository, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, "(no files to check)Skipped" in done.stdout) == (0, True), done.stdout + done.stderr


@pytest.mark.parametrize("hook_id", ["gpulint", "gpulint-fix"])
def test_the_filter_of_a_hook_lets_each_format_pass_that_is_read(hook_id: str) -> None:
    pattern = next(
        re.compile(one["files"])
        for one in load_manifest(checkout.ROOT / ".pre-commit-hooks.yaml")
        if one["id"] == hook_id
    )
    suffixes = {*documents.SUFFIXES, *documents.TEMPLATES}
    spelled = {f"deploy/chat.{letters}" for suffix in suffixes for letters in (suffix, suffix.upper())}
    read = spelled | {*documents.NAMES, "base/Kustomization", "slurm.conf.j2"}
    assert [name for name in sorted(read) if not documents.is_read(name) or not pattern.search(name)] == []


@pytest.mark.parametrize("name", ["train.py", "deploy.yaml/x.PY", "notebooks/train.ipynb"])
def test_the_filter_of_a_hook_lets_programs_pass(name: str) -> None:
    assert documents.is_program(name)
    assert all(re.search(one["files"], name) for one in load_manifest(checkout.ROOT / ".pre-commit-hooks.yaml")[:2])


@pytest.mark.parametrize(
    "name", [".env", "config/serving.env", ".env.production", "Dockerfile", "docker/Dockerfile.gpu", "vllm.dockerfile"]
)
def test_the_filter_of_a_hook_lets_variables_and_image_builds_pass(name: str) -> None:
    assert mentions.is_used(name)
    assert all(re.search(one["files"], name) for one in load_manifest(checkout.ROOT / ".pre-commit-hooks.yaml")[:2])


@pytest.mark.parametrize("name", ["chat.md", "gpu.go", "notes.txt", "a.yaml.bak", "x.conf", "deploy.yaml/x.go"])
def test_the_filter_of_a_hook_lets_nothing_pass_that_is_never_read(name: str) -> None:
    assert not documents.is_read(name)
    assert not documents.is_program(name)
    assert not any(re.search(one["files"], name) for one in load_manifest(checkout.ROOT / ".pre-commit-hooks.yaml")[:2])


def test_the_hook_can_be_tried_before_it_is_adopted(
    tmp_path: Path, hook: tuple[Path, str], environment: dict[str, str]
) -> None:
    shutil.copy(EXAMPLES / "70b-on-two-l4.yaml", tmp_path / "chat.yaml")
    committed(tmp_path, environment)
    command = [sys.executable, "-m", "pre_commit", "try-repo", str(hook[0]), "gpulint", "--all-files"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "error[weights-exceed-memory]: the model weights take 65.71 GiB per GPU" in done.stdout
    assert "1 file, 1 workload, 1 error" in done.stdout


def test_the_fixing_hook_changes_the_file_and_fails_so_that_the_change_is_seen(
    repository: Path, environment: dict[str, str]
) -> None:
    use(repository, "gpulint-fix")
    (repository / "chat.yaml").write_text(MISSPELT, encoding="utf-8")
    code, shown = run(repository, environment)
    assert code == 1, shown
    assert "files were modified by this hook" in shown
    assert (repository / "chat.yaml").read_text(encoding="utf-8") == MISSPELT.replace(
        "batched-token=", "batched-tokens="
    )
    assert run(repository, environment)[0] == 0


def use(repository: Path, hook_id: str) -> None:
    config = repository / ".pre-commit-config.yaml"
    config.write_text(config.read_text(encoding="utf-8").replace("id: gpulint", f"id: {hook_id}"), encoding="utf-8")


def precommit(repository: Path, environment: dict[str, str], *words: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "pre_commit", "run", "--verbose", *words]
    done = subprocess.run(command, cwd=repository, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_settings_that_change_are_held_against_files_that_do_not(repository: Path, environment: dict[str, str]) -> None:
    use(repository, "gpulint-settings")
    shutil.copy(EXAMPLES / "70b-on-two-l4.yaml", repository / "chat.yaml")
    settings = repository / "gpulint.yaml"
    settings.write_text("ignore: [weights-exceed-memory]\n", encoding="utf-8")
    committed(repository, environment)
    settings.write_text("fail-on: error\n", encoding="utf-8")
    checkout.git(repository, environment, "add", "gpulint.yaml")
    code, shown = precommit(repository, environment)
    assert (code, "--> chat.yaml:24:15" in shown) == (1, True), shown


def test_the_hook_of_settings_leaves_other_commits_alone(repository: Path, environment: dict[str, str]) -> None:
    use(repository, "gpulint-settings")
    committed(repository, environment)
    shutil.copy(EXAMPLES / "70b-on-two-l4.yaml", repository / "chat.yaml")
    checkout.git(repository, environment, "add", "chat.yaml")
    code, shown = precommit(repository, environment)
    assert (code, "(no files to check)Skipped" in shown) == (0, True), shown


def test_rules_of_a_team_are_held_against_their_samples(repository: Path, environment: dict[str, str]) -> None:
    use(repository, "gpulint-rules")
    shutil.copytree(EXAMPLES / "policies", repository / "policies")
    (repository / "gpulint.yaml").write_text("rules: [policies]\n", encoding="utf-8")
    code, shown = run(repository, environment)
    assert (code, "all passed" in shown) == (0, True), shown
    rule = repository / "policies" / "budget" / "gpus-above-quota.yaml"
    rule.write_text(rule.read_text(encoding="utf-8").replace("> 8", "> 800"), encoding="utf-8")
    assert run(repository, environment)[0] == 1


def test_a_push_is_held_to_what_its_branch_adds(
    repository: Path, environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    use(repository, "gpulint-gate")
    shutil.copy(EXAMPLES / "70b-on-two-l4.yaml", repository / "old.yaml")
    committed(repository, environment)
    clone = tmp_path_factory.mktemp("clone")
    checkout.git(clone, environment, "clone", "-q", str(repository), ".")
    assert precommit(clone, environment, "--hook-stage", "pre-push")[0] == 0
    shutil.copy(EXAMPLES / "70b-on-two-l4.yaml", clone / "new.yaml")
    committed(clone, environment)
    code, shown = precommit(clone, environment, "--hook-stage", "pre-push")
    assert (code, "--> new.yaml:24:15" in shown, "--> old.yaml" in shown) == (1, True, False), shown
