"""Launch commands: the GPUs of a trainer's configuration file, from its comments or from a script beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpulint.pipeline import enrichment
from gpulint.source import documents
from gpulint.source.repository.work_tree import WorkTree
from gpulint.workload import Role, Unknown

CONFIGURATION = """\
model:
  _component_: torchtune.models.llama3.llama3_8b
tokenizer: {_component_: torchtune.models.llama3.llama3_tokenizer, max_seq_len: 4096}
optimizer: {_component_: torch.optim.AdamW}
batch_size: 2
dtype: bf16
"""
COMMENT = """\
# To launch on 4 devices, run from root:
#   tune run --nproc_per_node 4 full_finetune_distributed \\
#     --config llama3/8B_full
"""


def read_role(folder: Path, path: str, files: dict[str, str]) -> Role:
    """Write files into a folder, and return the one role of one of them as the pipeline reads it."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    (document,) = documents.load(path, files[path].encode()).documents
    (workload,) = enrichment.read(document, WorkTree(folder, base=folder))
    (role,) = workload.roles
    return role


def write_script(gpus: int) -> str:
    return f"#!/bin/bash\ntune run --nnodes 1 --nproc_per_node {gpus} full_finetune_distributed --config run.yaml\n"


def test_a_command_in_a_comment_states_on_how_many_gpus_the_file_runs(tmp_path: Path) -> None:
    role = read_role(tmp_path, "llama3/8B_full.yaml", {"llama3/8B_full.yaml": COMMENT + CONFIGURATION})
    assert (role.value("processes_per_pod"), role.value("gpus_per_pod"), role.value("gpus_per_replica")) == (4, 4, 4)
    assert role.fields["processes_per_pod"].assumption == "from a command in the file's comments"


def test_a_command_in_a_comment_about_another_file_states_nothing(tmp_path: Path) -> None:
    role = read_role(tmp_path, "llama3/70B_full.yaml", {"llama3/70B_full.yaml": COMMENT + CONFIGURATION})
    assert isinstance(role.value("gpus_per_pod"), Unknown)


def test_two_commands_with_different_counts_state_nothing(tmp_path: Path) -> None:
    text = COMMENT + COMMENT.replace("4", "2") + CONFIGURATION
    role = read_role(tmp_path, "llama3/8B_full.yaml", {"llama3/8B_full.yaml": text})
    assert isinstance(role.value("gpus_per_pod"), Unknown)


@pytest.mark.parametrize(
    ("scripts", "gpus"),
    [
        pytest.param({"run.sh": write_script(8)}, 8, id="one script"),
        pytest.param({"a.sh": write_script(8), "b.sh": write_script(8)}, 8, id="two scripts that agree"),
        pytest.param({"a.sh": write_script(8), "b.sh": write_script(4)}, None, id="two scripts that differ"),
        pytest.param({"run.sh": write_script(8).replace("run.yaml", "other.yaml")}, None, id="another file"),
        pytest.param({"other/run.sh": write_script(8)}, None, id="another folder"),
    ],
)
def test_a_script_in_the_same_folder_states_on_how_many_gpus_the_file_runs(
    tmp_path: Path, scripts: dict[str, str], gpus: int | None
) -> None:
    value = read_role(tmp_path, "run.yaml", {"run.yaml": CONFIGURATION, **scripts}).value("gpus_per_replica")
    assert (None if isinstance(value, Unknown) else value) == gpus


def test_a_file_that_states_its_machines_keeps_them(tmp_path: Path) -> None:
    text = "trainer: {num_nodes: 2, devices: 8, precision: bf16}\nmodel:\n  mcore_gpt: true\n"
    text += "  tensor_model_parallel_size: 2\n  micro_batch_size: 1\n  global_batch_size: 64\n"
    text += "  num_layers: 32\n  hidden_size: 4096\n"
    comment = "# torchrun --nproc_per_node 4 train.py --config conf/run.yaml\n"
    role = read_role(tmp_path, "conf/run.yaml", {"conf/run.yaml": comment + text})
    assert (role.value("gpus_per_pod"), role.value("pods_per_replica")) == (8, 2)
