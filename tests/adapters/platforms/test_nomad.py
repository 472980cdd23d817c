"""Nomad jobs: their GPUs, what their tasks start, and the defaults of their variables."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpulint import adapters
from gpulint.source import documents, repository
from gpulint.workload import Role, Workload

JOB = """\
variable "model" {
  default = "Qwen/Qwen3-32B"
}
job "llm" {
  group "server" {
    count = 3
    task "vllm" {
      driver = "docker"
      config {
        image = "vllm/vllm-openai:v0.11.0"
        args  = ["--model", "${var.model}", "--tensor-parallel-size", "2"]
      }
      env {
        HF_HOME = "/x"
      }
      resources {
        device "nvidia/gpu" {
          count = 2
          constraint {
            attribute = "${device.model}"
            value     = "NVIDIA L40S"
          }
        }
      }
    }
  }
}
"""


def read(tmp_path: Path, text: str, path: str = "llm.nomad.hcl") -> list[Workload]:
    (document,) = documents.load(path, text.encode()).documents
    return list(adapters.read(document, repository.WorkTree(tmp_path, base=tmp_path)))


def role(tmp_path: Path, text: str, path: str = "llm.nomad.hcl") -> Role:
    (workload,) = read(tmp_path, text, path)
    (found,) = workload.roles
    return found


@pytest.mark.parametrize("path", ["llm.nomad", "llm.hcl", "deploy/llm.nomad.hcl"])
def test_a_task_has_the_gpus_of_its_device_block(tmp_path: Path, path: str) -> None:
    found = role(tmp_path, JOB, path)
    names = ("engine", "checkpoint", "tensor_parallel", "gpus_per_replica", "replicas", "accelerator")
    assert [found.value(name) for name in names] == ["vllm", "Qwen/Qwen3-32B", 2, 2, 3, "l40s"]
    assert found.fields["gpus_per_pod"].origins[0].location().line == 18


def test_a_job_in_a_here_document_of_terraform_is_read_at_its_lines(tmp_path: Path) -> None:
    text = 'resource "nomad_job" "llm" {\n  jobspec = <<-EOT\n' + JOB.split("}\n", 1)[1] + "  EOT\n}\n"
    found = role(tmp_path, 'variable "model" {\n  default = "Qwen/Qwen3-8B"\n}\n' + text, "llm.tf")
    assert (found.value("checkpoint"), found.value("gpus_per_replica")) == ("Qwen/Qwen3-8B", 2)
    assert found.fields["gpus_per_pod"].origins[0].text() == "2"


def test_a_task_without_gpus_or_an_engine_is_no_workload(tmp_path: Path) -> None:
    text = 'job "web" {\n  group "a" {\n    task "n" {\n      config { image = "nginx" }\n    }\n  }\n}\n'
    assert read(tmp_path, text) == []


def test_another_device_is_no_gpu(tmp_path: Path) -> None:
    text = JOB.replace("nvidia/gpu", "google/edge_tpu").replace("vllm/vllm-openai:v0.11.0", "own/image:1")
    assert read(tmp_path, text) == []


def test_a_model_that_an_action_pulls_is_what_ollama_serves(tmp_path: Path) -> None:
    text = """\
job "o" {
  group "o" {
    task "ollama" {
      driver = "docker"
      config { image = "ollama/ollama" }
      resources {
        device "nvidia/gpu" { count = 4 }
      }
      action "pull" {
        command = "ollama"
        args    = ["pull", "llama3.1:8b"]
      }
    }
  }
}
"""
    found = role(tmp_path, text)
    assert (found.value("checkpoint"), found.value("gpus_per_replica")) == ("llama3.1:8b", 4)
