"""Settings that a program reads from a file of its own: by YAML, OmegaConf, Hydra, argparse, data classes or pydantic."""

from __future__ import annotations

import pytest

from gpulint.pipeline import enrichment
from gpulint.pipeline.rule_tests.samples import ExampleRepository
from gpulint.workload import Role


def read_role(files: dict[str, str], path: str) -> Role:
    repository = ExampleRepository({name: text.encode() for name, text in files.items()})
    (document,) = repository.read_documents(path)
    (workload,) = enrichment.read(document, repository)
    (role,) = workload.roles
    return role


def values(role: Role, *names: str) -> dict[str, object]:
    return {name: role.value(name) for name in names}


JOB = """\
#!/bin/bash
#SBATCH --gres=gpu:h100:1
{variables}
python train.py {words}
"""
SETTINGS = """\
model:
  name: Qwen/Qwen2.5-7B
training:
  output_dir: out
  learning_rate: 1.0e-4
  num_train_epochs: 2
  per_device_train_batch_size: 3
"""
FLAT = """\
name: Qwen/Qwen2.5-7B
output_dir: out
per_device_train_batch_size: 3
"""
HEAD = """
import argparse, json, sys
import torch, yaml
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from transformers import AutoModelForCausalLM, HfArgumentParser, Trainer, TrainingArguments
"""
PARSER = """
parser = argparse.ArgumentParser()
parser.add_argument("--config")
args = parser.parse_args()
"""
TAIL = """
model = AutoModelForCausalLM.from_pretrained(NAME, torch_dtype=torch.bfloat16)
Trainer(model=model, args=ARGUMENTS).train()
"""
EXPECTED = {"engine": "transformers", "checkpoint": "Qwen/Qwen2.5-7B", "micro_batch_size": 3}
PROGRAMS = {
    "setattr": (
        PARSER
        + """
cfg = yaml.safe_load(open(args.config))
for key, value in cfg["model"].items():
    setattr(args, key, value)
vars(args).update(cfg["training"])
""",
        "args.name",
        "TrainingArguments(output_dir='o', per_device_train_batch_size=args.per_device_train_batch_size)",
    ),
    "omegaconf": (
        PARSER.replace("args =", "args, _ =").replace("parse_args", "parse_known_args")
        + """
from omegaconf import OmegaConf
base = OmegaConf.create({"training": {"per_device_train_batch_size": 16}})
cfg = OmegaConf.merge(base, OmegaConf.load(args.config), OmegaConf.from_cli())
""",
        "cfg.model.name",
        "TrainingArguments(**OmegaConf.to_container(cfg.training))",
    ),
    "class method": (
        PARSER
        + """
@dataclass
class ModelConfig:
    name: str = "gpt2"

@dataclass
class Config:
    model: ModelConfig = field(default_factory=ModelConfig)
    training: dict = field(default_factory=dict)

    @classmethod
    def from_yaml(cls, path):
        with open(path) as file:
            raw = yaml.safe_load(file)
        return cls(model=ModelConfig(**raw["model"]), training=raw["training"])

cfg = Config.from_yaml(args.config)
""",
        "cfg.model.name",
        "TrainingArguments(**cfg.training)",
    ),
    "pydantic": (
        PARSER
        + """
from pydantic import BaseModel

class TrainingConfig(BaseModel):
    per_device_train_batch_size: int = 64
    output_dir: str = "o"

class ModelConfig(BaseModel):
    name: str

class Config(BaseModel):
    model: ModelConfig
    training: TrainingConfig

cfg = Config.model_validate(yaml.safe_load(Path(args.config).read_text()))
""",
        "cfg.model.name",
        "TrainingArguments('o', per_device_train_batch_size=cfg.training.per_device_train_batch_size)",
    ),
    "namespace": (
        PARSER + "cfg = SimpleNamespace(**yaml.safe_load(open(args.config)))\n",
        'cfg.model["name"]',
        "TrainingArguments(**cfg.training)",
    ),
}


@pytest.mark.parametrize("way", PROGRAMS)
def test_a_program_reads_its_settings(way: str) -> None:
    text, name, arguments = PROGRAMS[way]
    program = HEAD + text + TAIL.replace("NAME", name).replace("ARGUMENTS", arguments)
    job = JOB.format(variables="", words="--config cfg.yaml")
    role = read_role({"job.sh": job, "train.py": program, "cfg.yaml": SETTINGS}, "job.sh")
    assert values(role, *EXPECTED) == EXPECTED


def test_a_parser_of_transformers_reads_a_file() -> None:
    text = """
@dataclass
class ModelArguments:
    name: str = "gpt2"

margs, targs = HfArgumentParser((ModelArguments, TrainingArguments)).parse_yaml_file(sys.argv[1])
"""
    program = HEAD + text + TAIL.replace("NAME", "margs.name").replace("ARGUMENTS", "targs")
    files = {"job.sh": JOB.format(variables="", words="cfg.yaml"), "train.py": program, "cfg.yaml": FLAT}
    assert values(read_role(files, "job.sh"), *EXPECTED) == EXPECTED


def test_classes_of_llama_factory_keep_their_meaning() -> None:
    """A launcher of its own that parses LLaMA-Factory's classes trains what `finetuning_type` says."""
    program = """
import sys
from transformers import HfArgumentParser
from llamafactory.hparams import DataArguments, FinetuningArguments, ModelArguments, TrainingArguments
from llamafactory.train.tuner import run_exp

parser = HfArgumentParser((ModelArguments, DataArguments, TrainingArguments, FinetuningArguments))
run_exp(args=parser.parse_yaml_file(sys.argv[1]))
"""
    settings = """\
model_name_or_path: Qwen/Qwen2.5-7B-Instruct
stage: sft
finetuning_type: lora
lora_rank: 24
cutoff_len: 2048
per_device_train_batch_size: 3
learning_rate: 1.0e-4
"""
    files = {"job.sh": JOB.format(variables="", words="cfg.yaml"), "train.py": program, "cfg.yaml": settings}
    role = read_role(files, "job.sh")
    assert values(role, "engine", "checkpoint", "lora_rank", "micro_batch_size") == {
        "engine": "llama-factory",
        "checkpoint": "Qwen/Qwen2.5-7B-Instruct",
        "lora_rank": 24,
        "micro_batch_size": 3,
    }


HYDRA = (
    HEAD
    + """
import hydra

@hydra.main(version_base=None, config_path="conf", config_name="config")
def main(cfg):
    model = AutoModelForCausalLM.from_pretrained(cfg.model.name, torch_dtype=torch.bfloat16)
    Trainer(model=model, args=TrainingArguments(**cfg.trainer)).train()

main()
"""
)
GROUPS = {
    "train.py": HYDRA,
    "conf/config.yaml": "defaults:\n  - model: small\n  - trainer: default\n  - _self_\nsize: 3\n",
    "conf/model/small.yaml": "name: Qwen/Qwen2.5-0.5B\n",
    "conf/model/large.yaml": "name: ${size_name}\n",
    "conf/trainer/default.yaml": "output_dir: out\nper_device_train_batch_size: ${size}\n",
    "conf/experiment/big.yaml": (
        "# @package _global_\ndefaults:\n  - override /model: large\nsize_name: Qwen/Qwen2.5-72B\nsize: 2\n"
    ),
}


@pytest.mark.parametrize(
    ("words", "checkpoint", "batch"),
    [
        ("", "Qwen/Qwen2.5-0.5B", 3),
        ("trainer.per_device_train_batch_size=5", "Qwen/Qwen2.5-0.5B", 5),
        ("model=large +size_name=Qwen/Qwen2.5-7B size=1", "Qwen/Qwen2.5-7B", 1),
        ("+experiment=big", "Qwen/Qwen2.5-72B", 2),
        ("model.name=Qwen/Qwen2.5-14B", "Qwen/Qwen2.5-14B", 3),
    ],
)
def test_hydra_composes_groups_and_words(words: str, checkpoint: str, batch: int) -> None:
    role = read_role({**GROUPS, "job.sh": JOB.format(variables="", words=words)}, "job.sh")
    assert values(role, "checkpoint", "micro_batch_size") == {"checkpoint": checkpoint, "micro_batch_size": batch}


def test_settings_of_the_environment_have_a_prefix() -> None:
    text = """
from pydantic_settings import BaseSettings, SettingsConfigDict

class Settings(BaseSettings):
    model_config = SettingsConfigDict(env_prefix="APP_")
    name: str = "gpt2"
    batch: int = 3

settings = Settings()
"""
    tail = TAIL.replace("NAME", "settings.name")
    program = (
        HEAD + text + tail.replace("ARGUMENTS", "TrainingArguments('o', per_device_train_batch_size=settings.batch)")
    )
    job = JOB.format(variables="export APP_NAME=Qwen/Qwen2.5-7B", words="")
    assert values(read_role({"job.sh": job, "train.py": program}, "job.sh"), *EXPECTED) == EXPECTED


@pytest.mark.parametrize("program", ["from elsewhere import run\nrun()\n", None])
def test_the_settings_of_a_program_that_cannot_be_read_count_as_those_of_a_trainer(program: str | None) -> None:
    files = {"job.sh": JOB.format(variables="", words="--config=cfg.yaml"), "cfg.yaml": SETTINGS}
    role = read_role({**files, **({"train.py": program} if program else {})}, "job.sh")
    assert values(role, *EXPECTED) == EXPECTED
    assert "the training program is not known" in role.fields["engine"].assumption


def test_settings_that_train_nothing_are_no_run() -> None:
    files = {"job.sh": JOB.format(variables="", words="--config cfg.yaml"), "cfg.yaml": "port: 8000\nname: api\n"}
    assert read_role(files, "job.sh").value("engine") is None


ASKS_FOR_A_VARIABLE = """
import os
import torch
from transformers import AutoModelForCausalLM
model = AutoModelForCausalLM.from_pretrained(os.environ["MODEL"], torch_dtype=torch.float16).to("cuda")
model.generate(x)
"""


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        pytest.param(".env.example", "MODEL=Qwen/Qwen2.5-7B\n", "Qwen/Qwen2.5-7B", id="an example above the program"),
        pytest.param("src/.env", "MODEL=Qwen/Qwen2.5-7B\n", "Qwen/Qwen2.5-7B", id="a file beside the program"),
        pytest.param(".env.example", "MODEL=<your-model>\n", None, id="what the user fills in"),
        pytest.param("other/.env", "MODEL=Qwen/Qwen2.5-7B\n", None, id="a file of another folder"),
    ],
)
def test_a_variable_that_nothing_sets_is_taken_from_the_files_of_variables_near_the_program(
    name: str, text: str, expected: str | None
) -> None:
    role = read_role({"src/serve.py": ASKS_FOR_A_VARIABLE, name: text}, "src/serve.py")
    assert role.text("checkpoint") == (expected or "")
    assumed = "the variables of" in role.fields["checkpoint"].assumption
    assert assumed is (expected is not None)


SERVICES = """
import subprocess
class Service:
    def __init__(self, command):
        self.command = command
    def start(self):
        subprocess.Popen(self.command)
large = Service(["llama-server", "-m", "Qwen3-32B-Q4_K_M.gguf", "-ngl", "99"])
small = Service(["llama-server", "-m", "{small}", "-ngl", "99"])
large.start()
small.start()
"""


@pytest.mark.parametrize(
    ("small", "expected"),
    [
        pytest.param("Qwen3-0.6B-Q8_0.gguf", "", id="two models"),
        pytest.param("Qwen3-32B-Q4_K_M.gguf", "Qwen3-32B", id="the same model twice"),
    ],
)
def test_one_call_that_starts_several_servers_serves_no_one_model(small: str, expected: str) -> None:
    role = read_role({"serve.py": SERVICES.replace("{small}", small)}, "serve.py")
    assert role.text("checkpoint") == expected


CHOOSES = """
import torch
from lib import convert, has_adapter
from transformers import AutoModelForCausalLM
{name}
model = AutoModelForCausalLM.from_pretrained(NAME, torch_dtype=torch.float16).to("cuda")
model.generate(x)
"""


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param(
            "NAME = 'Qwen/Qwen3-8B'\nif has_adapter():\n    NAME = convert(NAME)",
            "Qwen/Qwen3-8B",
            id="converted at times",
        ),
        pytest.param(
            "NAME = None\nif has_adapter():\n    NAME = 'Qwen/Qwen3-8B'", "Qwen/Qwen3-8B", id="set in one branch"
        ),
        pytest.param("NAME = None\nif has_adapter():\n    NAME = convert()", "", id="none is named"),
        pytest.param("NAME = convert()\nif has_adapter():\n    NAME = '/data/out'", "", id="a folder is named"),
    ],
)
def test_the_only_model_that_a_program_names_is_the_one_it_loads(name: str, expected: str) -> None:
    role = read_role({"serve.py": CHOOSES.replace("{name}", name)}, "serve.py")
    assert role.text("checkpoint") == expected
    assert ("the only model" in role.fields["checkpoint"].assumption) is bool(expected)
