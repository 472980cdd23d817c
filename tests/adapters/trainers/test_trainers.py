"""Configurations of trainers: by themselves, and where a command names them."""

from __future__ import annotations

from samples import ExampleRepository

from gpulint import adapters
from gpulint.adapters import trainers
from gpulint.source import documents
from gpulint.workload import Role, Unknown

AXOLOTL = """\
base_model: meta-llama/Llama-3.1-8B
datasets: [{path: data, type: alpaca}]
sequence_len: 8192
sample_packing: true
micro_batch_size: 2
gradient_accumulation_steps: 4
optimizer: paged_adamw_8bit
bf16: auto
gradient_checkpointing: true
adapter: qlora
lora_r: 32
lora_target_linear: true
deepspeed: ds.json
"""
DEEPSPEED = """\
{"zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu"}, "offload_param": {"device": "none"}},
 "bf16": {"enabled": true}, "train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto"}
"""


def only_role(path: str, files: dict[str, str]) -> Role:
    """The one role of the one workload of a file among others."""
    repository = ExampleRepository({name: text.encode() for name, text in files.items()})
    (document,) = documents.load(path, files[path].encode()).documents
    (workload,) = adapters.read(document, repository)
    (role,) = workload.roles
    return role


def test_a_configuration_states_its_run_and_what_its_deepspeed_file_says() -> None:
    role = only_role("conf/run.yaml", {"conf/run.yaml": AXOLOTL, "conf/ds.json": DEEPSPEED})
    stated = {
        "engine": "axolotl",
        "checkpoint": "meta-llama/Llama-3.1-8B",
        "sequence_length": 8192,
        "micro_batch_size": 2,
        "gradient_accumulation_steps": 4,
        "optimizer": "paged-adamw-8bit",
        "activation_checkpointing": "full",
        "lora_rank": 32,
        "lora_targets": "qkvogud",
        "quantization": "nf4-double",
        "sharding": "deepspeed",
        "zero_stage": 3,
        "optimizer_offload": True,
        "parameter_offload": False,
    }
    assert {name: role.value(name) for name in stated} == stated
    assert role.fields["zero_stage"].origins[-1].document.path == "conf/ds.json"
    assert isinstance(role.value("gpus_per_pod"), Unknown)


SFT = """\
model_name_or_path: Qwen/Qwen2.5-7B-Instruct
stage: sft
do_train: true
finetuning_type: METHOD
template: qwen
cutoff_len: 4096
per_device_train_batch_size: 1
gradient_accumulation_steps: 8
bf16: true
"""


def of_llama_factory(method: str) -> Role:
    """The run of a command that names a configuration of this method."""
    script = "#!/bin/bash\nNPROC_PER_NODE=4 llamafactory-cli train sft.yaml\n"
    return only_role("run.sh", {"run.sh": script, "sft.yaml": SFT.replace("METHOD", method)})


def test_a_full_fine_tune_of_llama_factory_is_no_lora_of_its_command_s_default() -> None:
    """hiyouga/LLaMA-Factory src/llamafactory/model/adapter.py: what is trained is cast to 32 bits."""
    role = of_llama_factory("full")
    assert (role.value("lora_rank"), role.value("parameter_dtype")) == (None, "float32")
    kept = only_role("sft.yaml", {"sft.yaml": SFT.replace("METHOD", "full") + "pure_bf16: true\n"})
    assert kept.value("parameter_dtype") != "float32"


def test_adapters_of_llama_factory_have_the_rank_of_its_default() -> None:
    """hiyouga/LLaMA-Factory src/llamafactory/hparams/finetuning_args.py: lora_rank is 8."""
    assert of_llama_factory("lora").value("lora_rank") == 8


def test_a_command_takes_the_settings_of_the_configuration_that_it_names_and_its_own_count() -> None:
    script = """\
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --gres=gpu:h100:8
axolotl train run.yaml --micro-batch-size 1
"""
    role = only_role("job.sbatch", {"job.sbatch": script, "run.yaml": AXOLOTL, "ds.json": DEEPSPEED})
    assert (role.value("micro_batch_size"), role.value("sequence_length")) == (1, 8192)
    assert (role.value("gpus_per_pod"), role.value("pods_per_replica")) == (8, 2)
    assert role.value("checkpoint") == "meta-llama/Llama-3.1-8B"
    places = [origin.document.path for origin in role.fields["sequence_length"].origins]
    assert places == ["job.sbatch", "run.yaml"]


def test_a_file_outside_the_repository_is_not_looked_for() -> None:
    assert trainers.find_document(ExampleRepository({"etc/ds.json": b"{}"}), "run.yaml", "../etc/ds.json") is None
    assert trainers.find_document(ExampleRepository({"/etc/ds.json": b"{}"}), "run.yaml", "/etc/ds.json") is None
