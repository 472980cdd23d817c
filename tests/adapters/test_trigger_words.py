"""Trigger words: every format is reached by its own words, and no list has to be extended for a new one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from folders import ROOT

from gpulint import adapters
from gpulint.catalog import package_data
from gpulint.cli.explain import seen

FORMATS = package_data.list_mentions(adapters.HERE)

MODULE = '''
"""Zebra fleet: the herds of a savanna."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.adapters.claim import Claim
from gpulint.source.documents import Document
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Role, Workload

MENTIONS = ("zebra_stripes",)
READS = ("plain",)


def claims(document: Document) -> Claim:
    return Claim.EXACT.where(isinstance(document.data, dict) and "zebra_stripes" in document.data)


def kind(document: Document) -> str:
    return "zebra fleet"


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    anchor = Origin(document, ("zebra_stripes",))
    fields = {"gpus_per_replica": Field(document.get(anchor.path), (anchor,))}
    yield Workload("herd", "training", "zebra_fleet", document, (), (Role("herd", anchor, fields),))
'''
SAMPLE = "zebra_stripes: 2\n"


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of gpulint with one format more, of which there is a module and a sample and nothing else."""
    root = tmp_path_factory.mktemp("extended")
    for name in ("gpulint", "rules", "schemas", "packs", "formats"):
        shutil.copytree(ROOT / name, root / name)
    (root / "gpulint" / "adapters" / "platforms" / "zebra_fleet.py").write_text(textwrap.dedent(MODULE))
    (root / "formats" / "zebra_fleet.yaml").write_text(SAMPLE)
    return root


def run(root: Path, code: str, *arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(root)}
    command = (sys.executable, "-c", code, *arguments)
    done = subprocess.run(command, cwd=root / "formats", env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


WITHOUT_WORKLOAD = frozenset({"chart_yaml"})
"""Formats that declare nothing to run: such a file is read only where it names GPUs."""

CHECK = "from gpulint.cli import main; main()"
ARGUMENTS = ("check", "--exit-zero", "--format", "json", "--today", "2026-11-22", "zebra_fleet.yaml")


def test_a_new_format_of_a_module_and_a_sample_is_reached(extended: Path) -> None:
    (workload,) = json.loads(run(extended, CHECK, *ARGUMENTS))["workloads"]
    assert (workload["name"], workload["adapter"]) == ("herd", "zebra_fleet")


def test_a_new_format_is_reached_through_the_built_index(extended: Path) -> None:
    build = "import json; from gpulint.catalog import package_data as p; "
    build += "(p.PACKAGE / 'index.json').write_text(json.dumps(p.list_built(p.find_folder('rules'))))"
    run(extended, build)
    (workload,) = json.loads(run(extended, CHECK, *ARGUMENTS))["workloads"]
    assert (workload["name"], workload["adapter"]) == ("herd", "zebra_fleet")
    (extended / "gpulint" / "index.json").unlink()


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_is_reached_without_its_neighbours_words(name: str) -> None:
    owned = package_data.trigger_words_by_module()
    neighbours = {
        f"adapters.{module}" for other, module in package_data.modules(adapters.HERE).items() if other != name
    }
    words = {word.lower() for module, words in owned.items() if module not in neighbours for word in words}
    text = seen.find_sample(name).lower()
    assert any(word in text for word in words) == (name not in WITHOUT_WORKLOAD)


def test_the_trigger_words_of_a_module_are_its_mentions_unless_it_states_others() -> None:
    owned = package_data.trigger_words_by_module()
    assert owned["adapters.trainers.verl"] == ("actor_rollout_ref", "verl.workers", "ppo_mini_batch_size")
    assert owned["adapters.kubernetes"] == ()
    assert owned["engines.serving.sglang"] == ("sglang",)
    assert owned["engines.serving.nim"] == ("nvcr.io/",)


def test_every_line_that_states_words_is_read() -> None:
    stated = {
        (package_data.name_module(file, package_data.PACKAGE), line.partition(" = ")[0])
        for package in ("adapters", "engines", "catalog")
        for file in (package_data.PACKAGE / package).rglob("*.py")
        for line in file.read_text().splitlines()
        if line.startswith(("MENTIONS = ", "TRIGGERS = "))
    }
    owned = package_data.trigger_words_by_module()
    assert {module for module, _ in stated} == set(owned)
    for module, name in stated:
        if name == "TRIGGERS":
            assert owned[module] == tuple(_import(module).TRIGGERS), module


def _import(module: str) -> object:
    import importlib

    return importlib.import_module(f"gpulint.{module}")


@pytest.mark.parametrize(
    "text",
    [
        "nvidia.com/gpu: 1",
        "amd.com/gpu",
        "image: vllm/x",
        "CUDA_VISIBLE_DEVICES",
        "Accelerators: A100",
        "# gpulint: x",
        "SlurmQueues:",
        "swift sft --model x",
        "srun python train.py",
        "habana.ai/gaudi: 8",
        "type: fleet # dstack",
        "data_type: TYPE_FP32\n",
    ],
)
def test_words_of_gpu_work_make_a_text_worth_reading(text: str) -> None:
    assert adapters.mentions_gpus(text)


@pytest.mark.parametrize("word", package_data.trigger_words())
def test_every_trigger_word_is_found_in_every_spelling(word: str) -> None:
    escaped = "".join(f"\\x{ord(letter):02x}" for letter in word)
    quoted = "".join(f"{letter}''" for letter in word)
    folded = word.replace(" ", " \\\n  ")
    assert all(map(adapters.mentions_gpus, (word, word.upper(), f'"{escaped}"', quoted, folded)))
    assert adapters.mentions_gpus(word.encode("utf-16").decode("latin-1"))
    assert adapters.mentions_gpus("a: !!binary Z3B1")


@pytest.mark.parametrize(
    ("text", "format", "relevant"),
    [
        ("gpu: {a}b", "yaml", True),
        ("gpu: \xff", "", True),
        ('{"apiVersion": "v1", "gpu": 1,}', "json", True),
        ('{"amd.com/gpu": 1,}', "json", True),
        ('{"habana.ai/gaudi": 1,}', "json", True),
        ("gpulint = ", "toml", True),
        ("name: {a}b", "yaml", False),
        ("name: \xff", "", False),
        ('{"gpu": 1,}', "json", False),
        ('{"apiVersion": "v1", "name": 1,}', "json", False),
        ("cuda = ", "toml", False),
        ("gpus = ", "hcl", False),
    ],
)
def test_what_is_wrong_is_a_problem_in_yaml_about_gpus_and_in_specs(text: str, format: str, relevant: bool) -> None:
    assert adapters.is_relevant(text, format) == relevant


@pytest.mark.parametrize(
    "text",
    [
        "",
        "name: web",
        "image: nginx",
        "apiVersion: apps/v1\nkind: Deployment\nspec: {replicas: 3, minReadySeconds: 10}\n",
        "services:\n  web:\n    image: nginx\n    ports: ['80:80']\n",
        "name: ci\non: push\njobs:\n  test:\n    needs: [job]\n    steps: [{run: python main.py}]\n",
        "apiVersion: v2\nname: web\nversion: 1.0.0\ndependencies: []\n",
        'resource "google_compute_instance_group" "web" {\n  name = "overlap"\n}\n',
        '{"name": "site", "scripts": {"train": "python train.py"}, "control": "reward"}',
        "#!/bin/sh\nset -e\ntune2fs -l /dev/sda1\n",
        "apiVersion: argoproj.io/v1alpha1\nkind: Application\nspec: {source: {chart: redis}}\n",
        "resources:\n  - deployment.yaml\npatches:\n  - path: minimum.yaml\n",
    ],
)
def test_words_of_other_work_do_not(text: str) -> None:
    assert not adapters.mentions_gpus(text)
