"""Checkpoints whose config.json lies in the repository, by the paths that files give them."""

from __future__ import annotations

import json

import pytest
import samples

from gpulint.facts import checkpoints
from gpulint.source import documents
from gpulint.workload import Field, Origin, Role

CONFIG = json.dumps(
    {
        "model_type": "llama",
        "hidden_size": 4096,
        "intermediate_size": 11008,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "vocab_size": 32000,
        "tie_word_embeddings": False,
    }
).encode()
LLAMA_2_7B = 6_738_415_616


def _resolve(reference: str, *folders: str, content: bytes = CONFIG) -> tuple[int | None, str]:
    """Return the parameters of a checkpoint, and what was assumed, with a config.json in some folders."""
    files = {f"{folder}/config.json": content for folder in folders}
    (document,) = documents.load("jobs/run.yml", b"a: 1\n").documents
    role = Role("run", Origin(document, ()), {"checkpoint": Field(reference)})
    found = checkpoints.resolve(role, "jobs/run.yml", samples.ExampleRepository(files), None)
    assert found is not None
    return found.architecture.parameters if found.architecture else None, found.assumption


@pytest.mark.parametrize(
    ("reference", "folder"),
    [
        ("/workspace/models/own", "models/own"),
        ("/own", "own"),
        ("/mnt/nfs/team/own/", "own"),
        ("/models/own", "models/own"),
    ],
)
def test_a_path_on_a_machine_names_a_folder_of_the_repository(reference: str, folder: str) -> None:
    assert _resolve(reference, folder) == (LLAMA_2_7B, f"{reference} is the folder {folder} of the repository")


@pytest.mark.parametrize(
    ("reference", "folder"), [("own", "jobs/own"), ("models/own", "models/own"), ("./own", "jobs/own")]
)
def test_a_relative_path_is_no_assumption(reference: str, folder: str) -> None:
    assert _resolve(reference, folder) == (LLAMA_2_7B, "")


def test_the_longest_end_of_a_path_counts() -> None:
    assert _resolve("/workspace/a/own", "own", "a/own")[1] == "/workspace/a/own is the folder a/own of the repository"


@pytest.mark.parametrize(
    "reference",
    ["/workspace/other", "/workspace/own/../secret", "/own-7b", "https://a.example/own", f"/{'a/' * 20}own"],
)
def test_another_folder_is_not_meant(reference: str) -> None:
    assert "of the repository" not in _resolve(reference, "own", "secret")[1]


def test_a_file_of_another_kind_is_not_a_checkpoint() -> None:
    assert _resolve("/workspace/own", "own", content=b'{"name": "a web page"}') == (None, "")
