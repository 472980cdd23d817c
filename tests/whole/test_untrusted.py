"""Untrusted input: a check of a hostile repository executes, imports, fetches, follows and writes nothing of it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import commits
import pytest
from folders import ROOT

CANARY = "canary-5f1c"
"""The content of a file outside the repository."""
WATCH = """
import json, os, sys

seen = []
repository, log = os.path.realpath(sys.argv[1]), sys.argv[2]
WATCHED = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "socket.connect", "socket.getaddrinfo",
           "socket.bind", "ftplib.connect", "urllib.Request", "os.symlink", "os.remove", "os.rename", "shutil.rmtree", "os.chmod")


def watch(event, values):
    if event == "open" and isinstance(values[0], (str, bytes)):
        path = os.path.realpath(os.fsdecode(values[0]))
        mode, flags = values[1], values[2] or 0
        writes = (isinstance(mode, str) and any(letter in mode for letter in "wax+")) or flags & (os.O_WRONLY | os.O_RDWR)
        if writes and path != os.path.devnull:
            seen.append(["write", path])
        elif os.path.dirname(repository) in path and not path.startswith(repository + os.sep) and path != repository:
            seen.append(["read outside", path])
    elif event == "import":
        pass
    elif event in WATCHED:
        seen.append([event, repr(values)[:200]])


sys.argv = ["gpulint", *sys.argv[3:]]
sys.dont_write_bytecode = True
os.chdir(repository)
sys.addaudithook(watch)
from gpulint.cli import main

try:
    main()
finally:
    inside = [module for module in list(sys.modules.values()) if str(getattr(module, "__file__", "")).startswith(repository)]
    found = list(seen) + [["import", str(module)] for module in inside]
    with open(log, "w") as file:
        json.dump(found, file)
"""
POD = """apiVersion: v1
kind: Pod
metadata: {name: train}
spec:
  containers:
    - name: train
      image: vllm/vllm-openai:v0.10.0
      command: [sh, -c, "touch executed; $(touch executed); vllm serve $(cat ../canary.txt)"]
      resources: {limits: {nvidia.com/gpu: 1}}
"""
FILES = {
    "pod.yaml": POD,
    "object.yaml": "gpus: !!python/object/apply:os.system ['touch executed']\n",
    "train.sh": "#!/bin/bash\ntouch executed\n. ../canary.txt\neval 'touch executed'\nsource <(touch executed)\n"
    "curl http://127.0.0.1:9/ | sh\ntorchrun --nproc-per-node `touch executed` train.py < ../canary.txt\n",
    "main.tf": 'resource "google_container_node_pool" "gpu" {\n  node_count = file("../canary.txt")\n}\n'
    'module "m" {\n  source = "git::http://127.0.0.1:9/m.git"\n}\n',
    "kustomization.yaml": "resources: [http://127.0.0.1:9/base, ../canary.txt, pod.yaml]\n",
    "Chart.yaml": "apiVersion: v2\nname: a\nversion: 1.0.0\ndependencies: [{name: b, repository: 'http://127.0.0.1:9'}]\n",
    "values.yaml": "gpu: '{{ .Files.Get \"../canary.txt\" }}'\n",
    "docker-compose.yml": "services: {a: {image: vllm/vllm-openai, env_file: ../canary.txt, gpus: all}}\n",
    "config.json": '{"architectures": ["LlamaForCausalLM"], "auto_map": {"AutoConfig": "config.Config"}}',
    "gpulint.py": "open('executed', 'w')\n",
    "sitecustomize.py": "open('executed', 'w')\n",
    "click.py": "open('executed', 'w')\n",
    "train.py": "open('executed', 'w')\nimport torch\n",
    ".env": "PYTHONSTARTUP=train.py\n",
    ".gitattributes": "* filter=run diff=run\n",
}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A hostile repository beside a file that it must not reach."""
    (tmp_path / "canary.txt").write_text(f"{CANARY}\n", encoding="utf-8")
    root = commits.started(tmp_path / "repository")
    for name, content in FILES.items():
        (root / name).write_text(content, encoding="utf-8")
    (root / "link.yaml").symlink_to("../canary.txt")
    (root / "folder").symlink_to("..")
    commits.committed(root)
    (root / "pod.yaml").write_text(POD.replace("gpu: 1", "gpu: 2"), encoding="utf-8")
    commits.committed(root)
    return root


@pytest.mark.parametrize(
    "words",
    [
        ("check", "."),
        ("check", "--format", "json", "link.yaml", "folder", "train.sh", "pod.yaml"),
        ("facts", "pod.yaml"),
    ],
)
def test_a_command_executes_fetches_follows_and_writes_nothing(
    repository: Path, tmp_path: Path, words: tuple[str, ...]
) -> None:
    (tmp_path / "log").mkdir()
    done = watched(repository, tmp_path, words)
    assert events(tmp_path) == []
    assert CANARY not in done.stdout + done.stderr
    assert not list(repository.rglob("executed"))


def test_the_gate_starts_git_alone_and_follows_and_writes_nothing(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    done = watched(repository, tmp_path, ("check", "--base", "HEAD~1", "--policy-from", "HEAD~1"))
    assert {name for name, _ in events(tmp_path)} == {"subprocess.Popen"}
    assert all("cat-file" in values or "ls-tree" in values or "rev-parse" in values for _, values in events(tmp_path))
    assert CANARY not in done.stdout + done.stderr
    assert not list(repository.rglob("executed"))


def test_the_watch_sees_a_file_that_is_written(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    watched(repository, tmp_path, ("check", "--output", "json:report.json", "pod.yaml"))
    assert {name for name, _ in events(tmp_path)} >= {"write"}


def watched(repository: Path, tmp_path: Path, words: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-P", "-c", WATCH, str(repository), str(tmp_path / "log" / "events.json"), *words]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)


def events(tmp_path: Path) -> list[list[str]]:
    """What the run did that a check does not do; git is read through pipes, which open no file."""
    found: list[list[str]] = json.loads((tmp_path / "log" / "events.json").read_text(encoding="utf-8"))
    return [entry for entry in found if not entry[1].endswith("events.json")]


def test_each_promise_of_the_threat_model_names_tests_that_exist() -> None:
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    named = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", text)
    assert len(named) >= 15
    sources = {file: (ROOT / file).read_text(encoding="utf-8") for file, _ in named}
    assert [f"{file}::{name}" for file, name in named if f"def {name}(" not in sources[file]] == []
