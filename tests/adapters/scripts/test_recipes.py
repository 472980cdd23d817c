"""Makefiles, justfiles, units, Procfiles, supervisord's settings: each target is a workload, each value keeps its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpulint import adapters
from gpulint.source import documents, recipes, repository
from gpulint.workload import Workload

MAKEFILE = """\
MODEL ?= Qwen/Qwen2.5-7B-Instruct
TP := 2
ARGS = --max-model-len 8192 \\
       --tensor-parallel-size $(TP)
.PHONY: serve
serve: build ## start it
\t@echo starting $@
\tdocker run --gpus '"device=0,1"' vllm/vllm-openai:v0.11.0 \\
\t  --model $(MODEL) $(ARGS)
train:
\tCUDA_VISIBLE_DEVICES=0,1 torchrun --nproc_per_node=2 train.py
clean:
\trm -rf out
"""
JUSTFILE = """\
model := env_var_or_default("MODEL", "Qwen/Qwen2.5-7B-Instruct")
# start
serve port="8000" tp="2":
    @echo hi
    vllm serve {{model}} --port {{port}} --tensor-parallel-size {{tp}}
"""
UNIT = """\
[Service]
Environment="HF_HOME=/x" MODEL=Qwen/Qwen2.5-7B-Instruct
Environment=CUDA_VISIBLE_DEVICES=0,1
ExecStart=-/opt/venv/bin/vllm serve ${MODEL} \\
  --tensor-parallel-size 2
"""
QUADLET = """\
[Container]
Image=docker.io/vllm/vllm-openai:v0.11.0
AddDevice=nvidia.com/gpu=0
AddDevice=nvidia.com/gpu=1
Exec=--model Qwen/Qwen2.5-7B-Instruct --tensor-parallel-size 2
"""
PROCFILE = (
    "web: CUDA_VISIBLE_DEVICES=0,1 vllm serve Qwen/Qwen2.5-7B-Instruct --tensor-parallel-size 2\nworker: celery\n"
)
SUPERVISOR = """\
[program:llm]
command=vllm serve Qwen/Qwen2.5-7B-Instruct
    --tensor-parallel-size 2
environment=CUDA_VISIBLE_DEVICES="0,1",HF_HOME="/x"
"""


def read(tmp_path: Path, path: str, text: str, **beside: str) -> list[Workload]:
    for name, content in beside.items():
        (tmp_path / name.replace("__", ".")).write_text(content)
    (document,) = documents.load(path, text.encode()).documents
    return list(adapters.read(document, repository.WorkTree(tmp_path, base=tmp_path)))


@pytest.mark.parametrize(
    ("path", "text", "name", "line"),
    [
        ("Makefile", MAKEFILE, "serve", 6),
        ("justfile", JUSTFILE, "serve", 3),
        ("llm.service", UNIT, "llm", 1),
        ("llm.container", QUADLET, "llm", 1),
        ("Procfile", PROCFILE, "web", 1),
        ("supervisord.conf", SUPERVISOR, "llm", 1),
    ],
)
def test_a_server_is_read_with_its_model_and_ranks(tmp_path: Path, path: str, text: str, name: str, line: int) -> None:
    workload = read(tmp_path, path, text)[0]
    assert (workload.name, workload.kind, workload.adapter) == (name, "inference", "recipe_files")
    assert workload.location().line == line
    (role,) = workload.roles
    assert role.text("checkpoint") == "Qwen/Qwen2.5-7B-Instruct"
    assert role.value("tensor_parallel") == 2
    if path != "justfile":
        assert role.value("gpus_per_replica") == 2


def test_a_value_points_to_where_the_variable_is_defined(tmp_path: Path) -> None:
    serve, train = read(tmp_path, "Makefile", MAKEFILE)
    (role,) = serve.roles
    places = {name: role.fields[name].origins[0] for name in ("checkpoint", "max_model_len", "tensor_parallel")}
    assert {name: (place.location().line, place.text()) for name, place in places.items()} == {
        "checkpoint": (1, "Qwen/Qwen2.5-7B-Instruct"),
        "max_model_len": (3, "8192"),
        "tensor_parallel": (2, "2"),
    }
    assert (train.name, train.kind, train.roles[0].value("gpus_per_replica")) == ("train", "training", 2)


def test_targets_without_gpus_and_files_of_other_names_are_no_workloads(tmp_path: Path) -> None:
    assert [workload.name for workload in read(tmp_path, "Makefile", MAKEFILE)] == ["serve", "train"]
    assert recipes.find_dialect("Makefile.am") == ""
    assert recipes.find_dialect("docs/service") == ""
    assert recipes.find_dialect("notes.md") == ""


@pytest.mark.parametrize(
    "text",
    [
        "A = $(B)\nB = $(A)\nserve:\n\tvllm serve $(A)\n",
        "A = $(A)x\nserve:\n\tvllm serve $(A)\n",
        "serve:\n\tvllm serve $(call pick,$(MODEL))\n",
        "ifeq ($(X),1)\nM = a\nelse\nM = b\nendif\nserve:\n\tvllm serve $(M)\n",
    ],
)
def test_a_value_that_only_make_can_tell_is_unknown(tmp_path: Path, text: str) -> None:
    (workload,) = read(tmp_path, "Makefile", text)
    assert workload.roles[0].text("checkpoint") == ""


def test_what_a_makefile_includes_and_appends_counts(tmp_path: Path) -> None:
    text = "include .env\nARGS = --dtype half\nARGS += --max-model-len 4096\nserve:\n\tvllm serve $(MODEL) $(ARGS)\n"
    (workload,) = read(tmp_path, "Makefile", text, __env="MODEL=Qwen/Qwen3-8B\n")
    (role,) = workload.roles
    assert role.text("checkpoint") == "Qwen/Qwen3-8B"
    assert role.value("max_model_len") == 4096


def test_an_environment_file_beside_a_unit_counts(tmp_path: Path) -> None:
    text = "[Service]\nEnvironmentFile=-/etc/llm/llm.env\nExecStart=vllm serve ${MODEL} %i\n"
    (workload,) = read(tmp_path, "llm.service", text, llm__env="MODEL=Qwen/Qwen3-8B\n")
    assert workload.roles[0].text("checkpoint") == "Qwen/Qwen3-8B"


def test_variables_that_double_one_another_expand_to_a_bounded_text(tmp_path: Path) -> None:
    lines = [f"A{number} = $(A{number - 1})$(A{number - 1})\n" for number in range(1, 18)]
    text = "A0 = xxxxxxxxxxxxxxxx\n" + "".join(lines) + "serve:\n\tvllm serve $(A17)\n"
    (recipe,) = recipes.read("Makefile", text)
    assert len(recipe.commands.text) <= 100_000
    assert len(read(tmp_path, "Makefile", text)) <= 1
