"""Settings in words of a repository's own mean what the program makes of them that takes their file."""

from __future__ import annotations

from gpulint.pipeline import enrichment
from gpulint.pipeline.rule_tests.samples import ExampleRepository
from gpulint.workload import Role

SETTINGS = """
model_id: Qwen/Qwen3-4B-Instruct-2507
rank_of_adapters: 32
per_device_train_batch_size: 4
num_train_epochs: 5
learning_rate: 1.0e-4
"""
PROGRAM = """
import argparse
import yaml
from peft import LoraConfig
from transformers import AutoModelForCausalLM
from trl import SFTConfig, SFTTrainer
parser = argparse.ArgumentParser()
parser.add_argument("--config", required=True)
config = yaml.safe_load(open(parser.parse_args().config))
model = AutoModelForCausalLM.from_pretrained(config["model_id"])
arguments = SFTConfig("out", per_device_train_batch_size=config["per_device_train_batch_size"])
SFTTrainer(model, arguments, peft_config=LoraConfig(r=config["rank_of_adapters"])).train()
"""


def read(**files: str) -> Role:
    contents = {
        name.replace("__", "/") + (".py" if name != "settings" else ".yaml"): text for name, text in files.items()
    }
    repository = ExampleRepository({path: text.encode() for path, text in contents.items()})
    (document,) = repository.read_documents("settings.yaml")
    (workload,) = enrichment.read(document, repository)
    (role,) = workload.roles
    return role


def values(role: Role) -> tuple[object, ...]:
    return tuple(role.value(name) for name in ("checkpoint", "lora_rank", "micro_batch_size"))


def test_settings_get_the_model_that_their_program_loads() -> None:
    role = read(settings=SETTINGS, src__train=PROGRAM)
    assert values(role) == ("Qwen/Qwen3-4B-Instruct-2507", 32, 4)
    assert role.fields["checkpoint"].origins[0].document.path == "settings.yaml"


def test_programs_that_differ_decide_only_what_they_compute_alike() -> None:
    role = read(settings=SETTINGS, train=PROGRAM, other=PROGRAM.replace('r=config["rank_of_adapters"]', "r=8"))
    assert values(role)[::2] == ("Qwen/Qwen3-4B-Instruct-2507", 4)
    assert role.value("lora_rank") not in (8, 32)


def test_a_program_that_takes_no_file_or_another_model_decides_nothing() -> None:
    fixed = PROGRAM.replace('config["model_id"]', '"Qwen/Qwen3-8B"')
    for program in (PROGRAM.replace("--config", "--output"), fixed):
        assert not read(settings=SETTINGS, train=program).text("checkpoint")
