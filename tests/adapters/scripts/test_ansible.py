"""Ansible: what tasks start, with which variables, and what stays open."""

from __future__ import annotations

from pathlib import Path

import pytest

import gpulint
from gpulint.report.model import WorkloadSummary

LLAMA = "meta-llama/Llama-3.1-8B-Instruct"
CONTAINER = """- name: Run vLLM
  community.docker.docker_container:
    name: vllm
    image: "{{ vllm_image }}"
    command: "--model {{ vllm_model }} --tensor-parallel-size {{ vllm_tp | int }}"
    shm_size: 16g
    env:
      HF_HOME: /data
    device_requests:
      - driver: nvidia
        count: 2
        capabilities: [[gpu]]
"""
DEFAULTS = f"vllm_model: {LLAMA}\nvllm_tp: 2\nvllm_image: vllm/vllm-openai:v0.10.0\n"


def check(tmp_path: Path, files: dict[str, str]) -> tuple[WorkloadSummary, ...]:
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    return tuple(gpulint.check(tmp_path).workloads)


def test_a_container_has_the_variables_of_its_role(tmp_path: Path) -> None:
    files = {"roles/vllm/tasks/main.yml": CONTAINER, "roles/vllm/defaults/main.yml": DEFAULTS}
    (workload,) = check(tmp_path, files)
    (role,) = workload.roles
    assert (workload.name, workload.adapter) == ("Run vLLM", "ansible")
    assert (role.engine, role.architecture, role.parallelism) == ("vllm", LLAMA, "TP 2")
    assert role.accelerator.startswith("2 ×")
    assert workload.location.line == 2


@pytest.mark.parametrize(
    ("requests", "gpus"), [("count: -1", "2 ×"), ('device_ids: ["0"]', "1 ×"), ("count: 4", "4 ×")]
)
def test_device_requests_count_gpus(tmp_path: Path, requests: str, gpus: str) -> None:
    tasks = CONTAINER.replace("count: 2", requests)
    (workload,) = check(tmp_path, {"tasks/main.yml": tasks, "group_vars/all.yml": DEFAULTS})
    assert workload.roles[0].accelerator.startswith(gpus)


@pytest.mark.parametrize("module", ["ansible.builtin.shell", "shell", "command"])
def test_a_play_runs_commands(tmp_path: Path, module: str) -> None:
    play = (
        f"- hosts: gpu\n  vars: {{model: {LLAMA}}}\n  tasks:\n    - name: serve\n"
        f"      {module}: |\n        vllm serve {{{{ model }}}} --max-model-len 4096\n"
    )
    (workload,) = check(tmp_path, {"playbook.yml": play})
    assert (workload.name, workload.roles[0].architecture) == ("serve", LLAMA)


@pytest.mark.parametrize("value", ["{{ lookup('env', 'MODEL') }}", "{{ models[0] }}", "{{ unknown }}", "{{ a ~ b }}"])
def test_all_other_templates_stay_open(tmp_path: Path, value: str) -> None:
    tasks = CONTAINER.replace("{{ vllm_model }}", value)
    (workload,) = check(tmp_path, {"tasks/main.yml": tasks, "group_vars/all.yml": DEFAULTS})
    assert workload.roles[0].architecture.startswith("?")


def test_a_variable_that_two_groups_set_differently_stays_open(tmp_path: Path) -> None:
    files = {"group_vars/a.yml": DEFAULTS, "group_vars/b.yml": DEFAULTS.replace("8B", "70B")}
    (workload,) = check(tmp_path, {"tasks/main.yml": CONTAINER, **files})
    assert workload.roles[0].architecture.startswith("?")


def test_tasks_that_start_nothing_on_gpus_are_no_workloads(tmp_path: Path) -> None:
    tasks = "- name: web\n  docker_container: {name: web, image: nginx}\n- shell: systemctl restart nginx\n"
    assert check(tmp_path, {"tasks/main.yml": tasks}) == ()
