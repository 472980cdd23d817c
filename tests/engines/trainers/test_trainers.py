"""Trainers: how a training run is recognised by its command line, and what its words state.

The commands follow the trainers' own documentation and examples.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from samples import report

from gpulint import engines
from gpulint.catalog import package_data, tables
from gpulint.catalog.architecture import stated
from gpulint.engines import Argument, Invocation, Reading, trainers
from gpulint.source import documents, shell
from gpulint.workload import CATEGORIES, Field, Origin, Unknown

TRAINERS = sorted(name for name, module in engines.modules().items() if hasattr(module, "PURPOSE"))


def invocation(script: str) -> Invocation:
    """The last command of a script, without a launcher, with the variables that are set in front of it."""
    (document,) = documents.load("run.yaml", f"- |\n{_indented(script)}".encode()).documents
    *_, command = shell.read_commands(str(document.get((0,))), {})
    words = tuple(_argument(document, word) for word in command.words)
    environment = {name: _argument(document, word) for name, word in command.assignments}
    return Invocation(Argument(None, Origin(document, (0,)), "no image"), words, environment, False)


def _indented(script: str) -> str:
    return "\n".join(f"  {line}" for line in script.splitlines())


def _argument(document: documents.Document, word: shell.Word) -> Argument:
    category = "" if word.text is not None else "caller's variable"
    return Argument(word.text, Origin(document, (0,), (word.start, word.end)), word.why, category=category)


def read(script: str) -> Reading:
    """What the one trainer that claims a command makes of it."""
    found = engines.read(invocation(script))
    assert found is not None, script
    return found


def values(script: str, *names: str) -> list[Any]:
    """Values of a command; the reason, after "unknown: ", where one is unknown, and None where nothing states it."""
    fields = read(script).fields
    found = [fields.get(name, Field(None)).value for name in names]
    return [f"unknown: {value.reason}" if isinstance(value, Unknown) else value for value in found]


def place(script: str, name: str) -> list[str]:
    return [origin.text() for origin in read(script).fields[name].origins]


# ---- which commands train, and with what


@pytest.mark.parametrize(
    ("script", "engine"),
    [
        ("axolotl train examples/llama-3/lora-1b.yml", "axolotl"),
        ("python -m axolotl.cli.train lora.yml", "axolotl"),
        ("axolotl.cli.train -- lora.yml", "axolotl"),
        ("train_sft.py --pretrain /models/llama --plugin zero2 --batch_size 8", "colossalai"),
        ("train_sft.py --pretrain /models/llama --plugin $PLUGIN", "colossalai"),
        ("main.py --model_name_or_path facebook/opt-1.3b --zero_stage 2 --deepspeed", "deepspeed"),
        ("train.py --deepspeed_config ds.json", "deepspeed"),
        ("train_dreambooth_lora.py --pretrained_model_name_or_path black-forest-labs/FLUX.1-dev", "diffusers"),
        ("fairseq-train data-bin --arch transformer_lm --max-tokens 2048", "fairseq"),
        ("python deepy.py train.py -d configs 125M.yml local_setup.yml", "gpt-neox"),
        ("litgpt finetune_lora EleutherAI/pythia-160m --data Alpaca2k", "litgpt"),
        ("litgpt pretrain pythia-14m --config config.yaml", "litgpt"),
        ("llamafactory-cli train examples/train_lora/llama3_lora_sft.yaml", "llama-factory"),
        ("python src/train.py --stage sft --finetuning_type lora --model_name_or_path a/b", "llama-factory"),
        ("train.py yamls/pretrain/mpt-125m.yaml train_loader.dataset.split=train_small", "llm-foundry"),
        ("python3 -m MaxText.train MaxText/configs/base.yml hardware=gpu", "maxtext"),
        ("python3 -m maxtext.trainers.post_train.sft.train_sft_native base.yml", "maxtext"),
        ("python3 -m maxtext.trainers.pre_train.train src/maxtext/configs/base.yml", "maxtext"),
        ("python3 $REPO/scripts/training/run_recipe.py --recipe llama3_8b_pretrain_config", "megatron-bridge"),
        ("pretrain_gpt.py --num-layers 24 --deepspeed --deepspeed_config ds.json", "megatron-deepspeed"),
        ("pretrain_gpt.py --num-layers 24 --micro-batch-size 4", "megatron-lm"),
        ("$HOME/Megatron-LM/pretrain_bert.py $ARGS", "megatron-lm"),
        ("train_own.py --num-layers 24 --tensor-model-parallel-size 2", "megatron-lm"),
        ("swift sft --model Qwen/Qwen2.5-7B-Instruct --dataset a", "ms-swift"),
        ("megatron pt --model Qwen/Qwen2.5-7B --tensor_model_parallel_size 4", "ms-swift"),
        ("run_train.py --config-file examples/config_tiny_llama.yaml", "nanotron"),
        ("python examples/nlp/language_modeling/megatron_gpt_pretraining.py trainer.devices=8", "nemo"),
        ("python3 $LAUNCHER/launcher_scripts/main.py training=gpt3/5b stages=[training]", "nemo"),
        ("nemo llm pretrain --factory llama3_8b trainer.devices=8", "nemo"),
        ('python $NEMO_SCRIPT --factory "recipe()" trainer.num_nodes=32 trainer.devices=4', "nemo"),
        ("python pretrain.py trainer.devices=4 model.micro_batch_size=8", "nemo"),
        ("python examples/run_grpo.py cluster.num_nodes=2 policy.model_name=Qwen/Qwen2.5-1.5B", "nemo-rl"),
        ("src/open_r1/sft.py --model_name_or_path a/b --config recipe.yaml", "open-r1"),
        ("src/open_r1/$TASK.py --config recipe.yaml", "open-r1"),
        ("python3 -m openrlhf.cli.train_ppo_ray --pretrain a/b", "openrlhf"),
        ("openrlhf.cli.train_sft --model.model_name_or_path a/b", "openrlhf"),
        ("torchtitan.train --job.config_file llama3_8b.toml", "torchtitan"),
        ("CONFIG_FILE=./llama3_8b.toml NGPU=4 ./run_train.sh", "torchtitan"),
        ("tune run --nproc_per_node 4 full_finetune_distributed --config llama3_1/8B_full", "torchtune"),
        ("python examples/pytorch/language-modeling/run_clm.py --model_name_or_path a/b", "transformers"),
        ("train_mem.py --model_name_or_path a/b --per_device_train_batch_size 4 --save_strategy steps", "transformers"),
        ("finetune.py --model_name_or_path a/b --per_device_train_batch_size 4 --deepspeed zero3.json", "transformers"),
        ("trl sft --model_name_or_path Qwen/Qwen2-0.5B --dataset_name trl-lib/Capybara", "trl"),
        ("trl/scripts/dpo.py --model_name_or_path a/b --per_device_train_batch_size 2 --report_to none", "trl"),
        ("sft.py --model_name_or_path a/b --dataset_name c/d --per_device_train_batch_size 2 --report_to none", "trl"),
        ("grpo_train.py --model_name_or_path a/b --dataset_name trl-lib/tldr --logging_steps 25", "trl"),
        ("python unsloth-cli.py --model_name unsloth/llama-3-8b --load_in_4bit", "unsloth"),
        ("python3 -m verl.trainer.main_ppo trainer.nnodes=1", "verl"),
        ("python3 -m verl.trainer.main_generation trainer.nnodes=1 model.path=a/b", "verl"),
        ("python3 -m recipe.dapo.main_dapo trainer.nnodes=1", "verl"),
        ("python -m verl.experimental.fully_async_policy.fully_async_main trainer.nnodes=1", "verl"),
        ("verl.trainer.fsdp_sft_trainer model.partial_pretrain=a/b", "verl"),
    ],
)
def test_a_training_run_is_recognised(script: str, engine: str) -> None:
    assert values(script, "engine") == [engine]
    assert engines.find_purpose(engine) == "training"


@pytest.mark.parametrize(
    "script",
    [
        "axolotl preprocess lora.yml",
        "axolotl inference lora.yml --lora-model-dir out",
        "pip install axolotl",
        "train.py --plugin notes",
        "gpt-bench.py --deepspeed -m facebook/opt-1.3b",
        "inference-test.py --deepspeed --model a/b",
        "ds_report --deepspeed",
        "python upload.py --pretrained_model_name_or_path a/b",
        "fairseq-generate data-bin --path checkpoint.pt",
        "python deepy.py generate.py configs/125M.yml",
        "litgpt serve EleutherAI/pythia-160m",
        "litgpt download EleutherAI/pythia-160m",
        "llamafactory-cli api examples/inference/llama3.yaml",
        "llamafactory-cli webui",
        "train.py config.yaml --lr 1e-4",
        "python3 -m MaxText.decode MaxText/configs/base.yml",
        "tools/checkpoint/convert.py --num-layers 24 --tensor-model-parallel-size 2",
        "tasks/eval_harness/evaluate.py --num-layers 24 --micro-batch-size 4 --deepspeed",
        "tasks/main.py --task LAMBADA --num-layers 24 --micro-batch-size 8",
        "nemo llm generate --factory llama3_8b",
        "python3 -m maxtext.trainers.pre_train.train_compile base.yml",
        "echo pretrain_gpt.py --num-layers 24 --micro-batch-size 4",
        "swift build -c release",
        "swift deploy --model Qwen/Qwen2.5-7B-Instruct",
        "swift rollout --model Qwen/Qwen2.5-7B-Instruct",
        "run_train.py --lr 1e-4",
        "python megatron_gpt_eval.py trainer.devices=1",
        "python3 $LAUNCHER/launcher_scripts/main.py stages=[evaluation] evaluation=gpt3/evaluate_all",
        "python main.py training=fast",
        "python run_sft.py --lr 1e-4",
        "scripts/open_r1/generate.py --model a/b",
        "python3 -m openrlhf.cli.serve_rm --model_name_or_path a/b",
        "NGPU=4 ./run_train.sh",
        "tune run eleuther_eval --config eleuther_evaluation",
        "tune download meta-llama/Llama-3.1-8B",
        "python train.py --model_name_or_path a/b",
        "python run_generation.py --model_name_or_path a/b",
        "trl vllm-serve --model a/b --tensor_parallel_size 2",
        "python sft.py --lr 1e-4",
        "python3 -m verl.trainer.main_eval data.path=a",
        "python -c 'import verl.trainer.main_ppo'",
        "python",
        "train.py",
    ],
)
def test_what_does_not_train_is_left_alone(script: str) -> None:
    assert engines.read(invocation(script)) is None


@pytest.mark.parametrize(
    ("engine", "purpose"), [("vllm", "inference"), ("llama.cpp", "inference"), ("torchrun", ""), ("", "")]
)
def test_an_inference_engine_does_not_train_and_a_launcher_has_no_purpose(engine: str, purpose: str) -> None:
    assert engines.find_purpose(engine) == purpose


# ---- what the words state


def test_megatron_states_its_parallelism_batches_and_number_format() -> None:
    script = (
        "pretrain_gpt.py --tensor-model-parallel-size 4 --pipeline-model-parallel-size=12 --context-parallel-size 2"
        " --expert-model-parallel-size 8 --micro-batch-size 2 --global-batch-size 2048 --seq-length 4096 --bf16"
    )
    names = ("tensor_parallel", "pipeline_parallel", "context_parallel", "expert_parallel_size")
    assert values(script, *names) == [4, 12, 2, 8]
    assert values(script, "micro_batch_size", "global_batch_size", "sequence_length", "training_dtype") == [
        *(2, 2048, 4096, "bfloat16")
    ]
    assert place(script, "tensor_parallel") == ["4"]
    assert place(script, "training_dtype") == ["--bf16"]


def test_megatron_states_the_shape_of_the_network_itself() -> None:
    script = "pretrain_gpt.py --num-layers 70 --hidden-size 14336 --num-attention-heads 112"
    checkpoint = read(script).fields["checkpoint"]
    assert checkpoint.value == Unknown("the command sets the model's shape itself", "own program")
    assert [origin.text() for origin in checkpoint.origins] == ["70"]


def test_megatron_deepspeed_states_its_zero_stage_and_names_its_configuration() -> None:
    script = "pretrain_gpt.py --num-layers 8 --deepspeed --deepspeed_config ds.json --zero-stage 0"
    assert values(script, "zero_stage", "deepspeed_config") == [0, "ds.json"]


def test_a_zero_stage_that_a_file_states_is_explained_at_the_file() -> None:
    script = "run_clm.py --model_name_or_path gpt2 --deepspeed ds.json"
    assert values(script, "zero_stage") == ["unknown: the configuration file sets it"]
    assert place(script, "zero_stage") == ["ds.json"]


def test_the_trainer_of_transformers_states_batches_and_number_format() -> None:
    script = (
        "run_clm.py --model_name_or_path gpt2 --per_device_train_batch_size 4 --gradient_accumulation_steps 16"
        " --block_size 1024 --bf16 True --fp16 False"
    )
    names = ("checkpoint", "micro_batch_size", "gradient_accumulation_steps", "sequence_length", "training_dtype")
    assert values(script, *names) == ["gpt2", 4, 16, 1024, "bfloat16"]


@pytest.mark.parametrize(
    ("arguments", "checkpoint"),
    [
        ("--config_name gpt2", "gpt2"),
        ("--model_type gpt2", "unknown: the command builds a new model of the named family"),
        ("--model_type gpt2 --config_overrides n_layer=24", "unknown: the command sets the model's shape itself"),
        ("--model_type gpt2 --model_name_or_path a/b", "a/b"),
    ],
)
def test_a_network_may_be_built_anew(arguments: str, checkpoint: str) -> None:
    assert values(f"run_clm.py --do_train {arguments}", "checkpoint") == [checkpoint]


def test_a_configuration_file_that_the_command_names_states_the_checkpoint_and_more() -> None:
    found = read("axolotl train lora.yml")
    assert found.fields["training_config"].value == "lora.yml"
    assert found.fields["checkpoint"].value == Unknown("the configuration file sets it", "another object")
    assert found.open_ended


@pytest.mark.parametrize(
    ("script", "config"),
    [
        ("llamafactory-cli train sft.yaml learning_rate=1e-5", "sft.yaml"),
        ("deepy.py train.py -d configs 125M.yml local_setup", "configs/125M.yml configs/local_setup.yml"),
        ("deepy.py train.py ./configs/20B.yml ./configs/cluster.yml", "./configs/20B.yml ./configs/cluster.yml"),
        ("tune run lora_finetune_single_device --config llama2/7B_lora", "llama2/7B_lora"),
        ("torchtitan.train --job.config_file=llama3_8b.toml", "llama3_8b.toml"),
        ("trl sft --config sft.yaml", "sft.yaml"),
        ("swift sft sft.yaml", "sft.yaml"),
        ("llmfoundry train mpt.yaml", "mpt.yaml"),
        ("python3 main/launcher_scripts/main.py peft=llama/squad stages=[peft]", "peft/llama/squad"),
        ("axolotl.cli.train -- examples/llama-3/fft-8b.yaml --wandb-project a", "examples/llama-3/fft-8b.yaml"),
        (
            "esm1nv/pretrain.py --config-path=conf --config-name=small trainer.devices=4 exp_manager.exp_dir=a",
            "conf/small.yaml",
        ),
        ("axolotl train $CONFIG", "unknown: the value of $CONFIG is not known"),
    ],
)
def test_configuration_files_are_named(script: str, config: str) -> None:
    assert values(script, "training_config") == [config]


def test_verl_states_the_trainings_parallelism_and_the_generations_apart() -> None:
    script = (
        "python3 -m verl.trainer.main_ppo --config-name=ppo_megatron_trainer"
        " actor_rollout_ref.model.path=Qwen/Qwen2-7B-Instruct"
        " actor_rollout_ref.actor.megatron.tensor_model_parallel_size=2"
        " +actor_rollout_ref.actor.megatron.pipeline_model_parallel_size=3"
        " actor_rollout_ref.rollout.tensor_model_parallel_size=4"
        " data.max_prompt_length=1024 data.max_response_length=512"
        " trainer.n_gpus_per_node=8 'trainer.nnodes=2'"
    )
    names = ("checkpoint", "tensor_parallel", "pipeline_parallel", "rollout_tensor_parallel", "sequence_length")
    assert values(script, *names) == ["Qwen/Qwen2-7B-Instruct", 2, 3, 4, 1536]
    assert values(script, "processes_per_pod", "pods_per_replica") == [8, 2]
    assert place(script, "processes_per_pod") == ["8"]


def test_a_program_with_the_keys_of_nemo_states_what_they_do() -> None:
    script = (
        "examples/protein/esm1nv/pretrain.py --config-name=pretrain_small ++trainer.num_nodes=2 ++trainer.devices=4"
        " ++trainer.precision=16-mixed ++model.micro_batch_size=8 ++model.tensor_model_parallel_size=1"
    )
    names = ("pods_per_replica", "processes_per_pod", "training_dtype", "micro_batch_size", "tensor_parallel")
    assert values(script, *names) == [2, 4, "float16", 8, 1]


def test_a_length_of_which_half_is_not_stated_is_not_summed() -> None:
    assert values("python -m verl.trainer.main_ppo data.max_prompt_length=1024", "sequence_length") == [None]


def test_the_nemo_launcher_states_the_quantities_of_the_stage_that_it_runs() -> None:
    script = (
        "python3 $LAUNCHER/launcher_scripts/main.py training=gpt3/40b stages=[training]"
        " training.trainer.num_nodes=32 training.trainer.devices=8 training.trainer.precision=bf16-mixed"
        " training.model.tensor_model_parallel_size=4 conversion.model.tensor_model_parallel_size=1"
        " ~training.model.optim.bucket_cap_mb"
    )
    names = ("pods_per_replica", "processes_per_pod", "tensor_parallel", "training_dtype", "training_config")
    assert values(script, *names) == [32, 8, 4, "bfloat16", "training/gpt3/40b"]


@pytest.mark.parametrize(
    ("script", "counts"),
    [
        ("NPROC_PER_NODE=4 NNODES=2 swift sft --model a/b", [4, 2]),
        ("FORCE_TORCHRUN=1 NPROC_PER_NODE=4 llamafactory-cli train a.yaml", [4, None]),
        ("CONFIG_FILE=a.toml NGPU=4 ./torchtitan/run_train.sh", [4, None]),
        ("axolotl train a.yaml --launcher torchrun -- --nproc_per_node 8 --nnodes=2", [8, 2]),
        ("axolotl train a.yaml -- --num_processes 8", [None, None]),
        ("tune run --nnodes 2 --nproc-per-node 8 full_finetune_distributed --config a", [8, 2]),
        ("tune run full_finetune_single_device --config a", [1, None]),
        (
            "tune run --nproc_per_node gpu full_finetune_distributed --config a",
            ["unknown: gpu is left to the trainer", None],
        ),
        ("litgpt finetune a/b --devices 4 --num_nodes 2", [4, 2]),
        ("litgpt finetune a/b --devices auto", ["unknown: auto is left to the trainer", None]),
        ("python examples/run_sft.py cluster.gpus_per_node=8 cluster.num_nodes=2", [8, 2]),
        ("NPROC_PER_NODE=4 trl sft --model_name_or_path a/b", [None, None]),
    ],
)
def test_processes_and_nodes_that_a_trainer_starts_itself(script: str, counts: list[Any]) -> None:
    assert values(script, "processes_per_pod", "pods_per_replica") == counts


@pytest.mark.parametrize(
    ("script", "name", "value"),
    [
        ("deepspeed_chat/main.py --deepspeed --actor_zero_stage 3", "zero_stage", 3),
        ("torchtitan.train --parallelism.tensor_parallel_degree 8", "tensor_parallel", 8),
        (
            "torchtitan.train --parallelism.tensor_parallel_degree=-1",
            "tensor_parallel",
            "unknown: -1 means the remaining GPUs",
        ),
        ("swift sft --model a/b --torch_dtype bfloat16", "training_dtype", "bfloat16"),
        ("swift sft --model a/b --deepspeed zero3_offload", "zero_stage", 3),
        ("swift sft --model a/b --deepspeed zero3_offload", "deepspeed_config", None),
        ("swift sft --model a/b --deepspeed ds.json", "zero_stage", "unknown: the configuration file sets it"),
        ("scripts/training/run_recipe.py --recipe a -tp 4 -pp 2 train.global_batch_size=8", "tensor_parallel", 4),
        ("scripts/training/run_recipe.py --recipe a", "checkpoint", f"unknown: {trainers.RECIPE.reason}"),
        ("nemo llm finetune --factory a trainer.strategy.tensor_model_parallel_size=8", "tensor_parallel", 8),
        ("python -m MaxText.train base.yml per_device_batch_size=8.0", "micro_batch_size", 8),
        ("swift rlhf --model a/b --vllm_tensor_parallel_size 2", "rollout_tensor_parallel", 2),
        ("megatron sft --model a/b --expert_model_parallel_size 4", "expert_parallel_size", 4),
        ("python -m openrlhf.cli.train_ppo_ray --ds.zero_stage 3", "zero_stage", 3),
        ("python -m openrlhf.cli.train_ppo_ray --vllm_tensor_parallel_size 2", "rollout_tensor_parallel", 2),
        ("train_sft.py --plugin 3d --tp 2 --pp 4", "pipeline_parallel", 4),
        ("axolotl train a.yaml --micro-batch-size 2", "micro_batch_size", 2),
        ("python -m MaxText.train base.yml model_name=llama2-7b ici_tensor_parallelism=8", "tensor_parallel", 8),
        (
            "python -m MaxText.train base.yml per_device_batch_size=0.5",
            "micro_batch_size",
            "unknown: 0.5 is not a whole number",
        ),
        ("fairseq-train data --fp16 --update-freq 16", "gradient_accumulation_steps", 16),
        (
            "trl sft --model_name_or_path a/b --gradient_accumulation_steps auto",
            "gradient_accumulation_steps",
            "unknown: auto is left to the trainer",
        ),
        ("pretrain_gpt.py --tensor-model-parallel-size 0", "tensor_parallel", "unknown: 0 cannot be"),
        ("pretrain_gpt.py --tensor-model-parallel-size 2 --tensor-model-parallel-size 4", "tensor_parallel", 4),
        ("pretrain_gpt.py --use-flash-attn --swiglu --micro-batch-size 4", "micro_batch_size", 4),
        ("pretrain_gpt.py '--micro-batch-size 4'", "micro_batch_size", None),
        ("python -m verl.trainer.main_ppo actor_rollout_ref.model.path=null", "checkpoint", None),
        ("trl dpo --model_name_or_path /data/llama", "checkpoint", "/data/llama"),
    ],
)
def test_a_word_states_its_quantity(script: str, name: str, value: Any) -> None:
    assert values(script, name) == [value]


# ---- what cannot be known


def test_a_variable_that_the_caller_sets_is_explained_at_its_place() -> None:
    script = "pretrain_gpt.py --tensor-model-parallel-size $TP --micro-batch-size 4"
    size = read(script).fields["tensor_parallel"]
    assert size.value == Unknown("the value of $TP is not known", "caller's variable")
    assert [origin.text() for origin in size.origins] == ["$TP"]


def test_a_key_whose_value_is_a_variable_is_still_read() -> None:
    script = "python3 -m verl.trainer.main_ppo trainer.nnodes=$NODES 'trainer.n_gpus_per_node=8'"
    assert values(script, "pods_per_replica", "processes_per_pod") == ["unknown: the value of $NODES is not known", 8]
    assert not read(script).open_ended


@pytest.mark.parametrize("word", ["$@", '"$@"', "$EXTRA_ARGS", "${GPT_ARGS}", '"${OPTIONS[@]}"'])
def test_words_that_stand_for_whole_arguments_leave_the_command_open(word: str) -> None:
    assert read(f"pretrain_gpt.py --micro-batch-size 4 --swiglu {word}").open_ended
    assert read(f"python -m verl.trainer.main_ppo trainer.nnodes=1 {word}").open_ended


@pytest.mark.parametrize(
    "script",
    [
        "pretrain_gpt.py --micro-batch-size 4 --save $CHECKPOINTS --data-path $DATA",
        "python -m verl.trainer.main_ppo data.train_files=$DATA trainer.nnodes=1",
        "run_clm.py --do_train --model_name_or_path a/b --output_dir $OUT",
        "pretrain_gpt.py --micro-batch-size 4 --vocab-file $BASE/opt/vocab.json",
    ],
)
def test_values_of_other_arguments_do_not(script: str) -> None:
    assert not read(script).open_ended


# ---- rules, and the tables


@pytest.mark.parametrize(
    "command",
    [
        "pretrain_gpt.py --tensor-model-parallel-size 1 --num-layers 70 --bf16",
        "python3 -m verl.trainer.main_ppo actor_rollout_ref.model.path=Qwen/Qwen2.5-0.5B-Instruct trainer.nnodes=4",
        "trl sft --model_name_or_path Qwen/Qwen2.5-0.5B --bf16 --max_length 30000",
        "tune run --nproc_per_node 1 lora_finetune_distributed --config llama3_2/1B_lora",
    ],
)
def test_a_valid_training_command_has_no_finding(command: str) -> None:
    found = report(
        f"""apiVersion: batch/v1
kind: Job
metadata: {{name: train}}
spec:
  template:
    spec:
      nodeSelector: {{nvidia.com/gpu.product: NVIDIA-L4}}
      containers:
      - name: trainer
        image: nvcr.io/nvidia/pytorch:25.01-py3
        command: [{", ".join(command.split())}]
        resources: {{limits: {{nvidia.com/gpu: 1}}}}
"""
    )
    assert [finding.rule for finding in found.open] == []
    assert [workload.kind for workload in found.workloads] == ["training"]


def test_every_trainer_names_itself_as_its_module() -> None:
    for name in TRAINERS:
        source = Path(str(engines.modules()[name].__file__)).read_text(encoding="utf-8")
        said = re.findall(r'trainers\.build_reading\(\s*"([^"]+)"', source)
        assert said or "No command names it" in source, name
        assert {engines.module_name(one) for one in said} <= {name}


KINDS = {
    *("int", "from-zero", "minutes", "text", "dtype", "file", "switch", "boolean"),
    *("unsettles", "optimizer", "sharding", "letters", "number"),
}


def test_every_row_of_the_table_belongs_to_a_trainer_and_carries_its_source() -> None:
    used = "".join(Path(str(engines.modules()[name].__file__)).read_text(encoding="utf-8") for name in TRAINERS)
    with (Path(trainers.__file__).parent / "trainer_flags.csv").open(encoding="utf-8") as file:
        listed = file.read().splitlines()[1:]
    assert listed == sorted(set(listed))
    for line in listed:
        trainer, _, field, kind, source, date = line.split(",")
        assert f'"{trainer}"' in used, line
        assert field in package_data.load_glossary() or field in trainers.OWN_FIELDS, line
        assert kind.partition(":")[0] in KINDS, line
        assert source, line
        assert re.fullmatch(r"20\d\d-\d\d-\d\d", date), line


def test_the_defaults_of_a_trainer_are_of_a_trainer() -> None:
    known = {row["engine"] for row in tables.rows("engine_defaults")}
    assert {one for one in known if one.startswith("megatron")} == {
        *("megatron-lm", "megatron-deepspeed", "megatron-bridge")
    }


@pytest.mark.parametrize(
    "unknown", [trainers.SHAPE, trainers.FAMILY, trainers.RECIPE, trainers.build_configured_field(Field("a")).value]
)
def test_explanations_have_a_category(unknown: Unknown) -> None:
    assert unknown.category in CATEGORIES


@pytest.mark.parametrize(
    ("command", "kernel"),
    [
        ("trl sft --model_name_or_path a/b --dataset_name c/d", "by-release"),
        ("python trl/scripts/sft.py --model_name_or_path a/b --dataset_name c/d", "by-release"),
        ("python -m trl.scripts.sft --model_name_or_path a/b --dataset_name c/d", "by-release"),
        (
            "trl dpo --model_name_or_path a/b --dataset_name c/d",
            "plain",
        ),
        (
            "python trl/scripts/grpo.py --model_name_or_path a/b",
            "plain",
        ),
        ("trl reward --model_name_or_path a/b --dataset_name c/d", "score"),
    ],
)
def test_the_loss_of_trl_is_known_up_to_its_release(command: str, kernel: str) -> None:
    assert values(command, "loss_kernel") == [kernel]


@pytest.mark.parametrize(
    ("more", "length"),
    [
        ("--max_prompt_length 512 --max_completion_length 2048", [2560]),
        ("--max_completion_length 2048", [2048]),  # a prompt of any length precedes it
        ("--max_length 1024 --max_prompt_length 512 --max_completion_length 2048", [1024]),
    ],
)
def test_the_length_of_reinforcement_learning_is_that_of_prompt_and_completion(
    more: str, length: list[int | None]
) -> None:
    script = f"grpo_train.py --model_name_or_path a/b --dataset_name trl-lib/tldr --logging_steps 25 {more}"
    assert values(script, "sequence_length") == length


VERL = "python3 -m verl.trainer.main_ppo actor_rollout_ref.model.path=a/b trainer.n_gpus_per_node=8"
OPENRLHF = "python3 -m openrlhf.cli.train_ppo_ray --pretrain a/b --actor_num_gpus_per_node 8 --vllm_num_engines 4"


@pytest.mark.parametrize(
    ("command", "names", "expected"),
    [
        (VERL, ("training_method", "critic_placement", "kl_coefficient"), ["ppo", "gpu", 0.0]),
        (f"{VERL} critic.model.fsdp_config.optimizer_offload=True", ("critic_placement",), ["parked"]),
        (f"{VERL} algorithm.adv_estimator=grpo", ("training_method", "critic_placement"), ["grpo", None]),
        (f"{VERL} --config-name=ppo_megatron_trainer", ("sharding",), ["distributed-optimizer"]),
        (f"{VERL} actor_rollout_ref.actor.fsdp_config.param_offload=True", ("weights_parked",), [True]),
        (f"{VERL} actor_rollout_ref.actor.use_dynamic_bsz=True", ("micro_batch_tokens",), [16_384]),
        (f"{VERL} actor_rollout_ref.actor.ppo_micro_batch_size=64 trainer.nnodes=2", ("micro_batch_size",), [4]),
        (OPENRLHF, ("training_method", "critic_placement", "reference_placement"), ["ppo", "elsewhere", "elsewhere"]),
        (f"{OPENRLHF} --colocate_all_models", ("critic_placement", "rollout_mode"), ["gpu", "colocate"]),
        (f"{OPENRLHF} --advantage_estimator group_norm", ("training_method", "critic_placement"), ["grpo", None]),
        ("deepspeed --module openrlhf.cli.train_dpo --pretrain a/b", ("training_method",), ["dpo"]),
        (
            "swift rlhf --rlhf_type grpo --model a/b --sleep_level 1",
            ("training_method", "rollout_sleeps"),
            ["grpo", True],
        ),
        ("swift rlhf --model a/b", ("training_method", "kl_coefficient"), ["dpo", 0.1]),
        (
            "llamafactory-cli train --stage dpo --pref_loss simpo --model_name_or_path a/b",
            ("training_method",),
            ["simpo"],
        ),
        ("python run_grpo.py policy.model_name=a/b", ("training_method",), ["grpo"]),
    ],
)
def test_reinforcement_learning_states_what_is_beside_its_model(
    command: str, names: tuple[str, ...], expected: list[object]
) -> None:
    assert values(command.replace("deepspeed --module", "python -m"), *names) == expected


MEGATRON = "pretrain_gpt.py --num-layers 32 --hidden-size 4096 --micro-batch-size 1 --bf16"


@pytest.mark.parametrize(
    ("more", "name", "value"),
    [
        ("", "activation_checkpointing", "none"),
        ("--recompute-activations", "activation_checkpointing", "scores"),
        ("--recompute-granularity selective", "activation_checkpointing", "scores"),
        ("--recompute-granularity full --recompute-method uniform", "activation_checkpointing", "full"),
        (
            "--recompute-granularity full --recompute-method block --recompute-num-layers 4",
            "activation_checkpointing",
            "unknown: the number of recomputed layers is not modelled",
        ),
        ("--use-distributed-optimizer", "sharding", "distributed-optimizer"),
        ("--use-torch-fsdp2", "sharding", "unknown: --use-torch-fsdp2 is not modelled"),
        ("--optimizer sgd", "optimizer", "sgd"),
        ("--optimizer muon", "optimizer", "unknown: muon is not modelled"),
        ("--optimizer-cpu-offload", "optimizer_offload", True),
        ("--grad-reduce-in-bf16", "gradient_dtype", "bfloat16"),
    ],
)
def test_what_megatron_s_own_scripts_keep_is_stated_by_their_arguments_or_their_defaults(
    more: str, name: str, value: object
) -> None:
    """NVIDIA/Megatron-LM d98e8a64 megatron/training/arguments.py."""
    assert values(f"{MEGATRON} {more}", name) == [value]


def test_a_script_of_somebody_s_own_with_megatron_s_arguments_leaves_what_it_keeps_open() -> None:
    (kept,) = values(MEGATRON.replace("pretrain_gpt.py", "train_ours.py"), "activation_checkpointing")
    assert str(kept).startswith("unknown: ")


GPT3 = (
    "pretrain_gpt.py --num-layers 96 --hidden-size 12288 --num-attention-heads 96 --seq-length 2048"
    " --max-position-embeddings 2048 --micro-batch-size 1 --tensor-model-parallel-size 8 --tokenizer-type GPT2BPETokenizer"
)
LLAMA_3 = (
    "pretrain_gpt.py --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32"
    " --group-query-attention --num-query-groups 8 --seq-length 8192 --max-position-embeddings 8192 --micro-batch-size 1"
    " --normalization RMSNorm --swiglu --disable-bias-linear --untie-embeddings-and-output-weights"
    " --position-embedding-type rope --tokenizer-type HuggingFaceTokenizer --tokenizer-model meta-llama/Meta-Llama-3-8B"
)
MIXTRAL = (
    f"{LLAMA_3.replace('8192', '32768').partition(' --tokenizer-type')[0]}"
    " --num-experts 8 --moe-router-topk 2 --tokenizer-type Llama2Tokenizer --tokenizer-model tokenizer.model"
)


@pytest.mark.parametrize(
    ("command", "parameters"),
    [
        (GPT3, 174_615_846_912),  # 50,257 entries, a multiple of 8 × 128: 51,200
        (LLAMA_3, 8_030_261_248),
        (MIXTRAL, 46_702_792_704),
        (LLAMA_3.replace(" --tokenizer-model meta-llama/Meta-Llama-3-8B", " --vocab-size 128256"), 8_030_261_248),
        (LLAMA_3.replace("meta-llama/Meta-Llama-3-8B", "/data/tokenizer"), 8_030_261_248),
        (f"{GPT3} --padded-vocab-size 50304", 174_604_836_864),
    ],
)
def test_a_network_that_megatron_s_arguments_state_is_counted_to_the_unit(command: str, parameters: int) -> None:
    network = stated.parse(str(read(command).fields["network"].value))
    assert network is not None
    assert stated.build(network).parameters == parameters


@pytest.mark.parametrize(
    "command",
    [
        GPT3.replace(" --tokenizer-type GPT2BPETokenizer", "").replace("96", "97", 1),
        GPT3.replace(" --max-position-embeddings 2048", ""),
        GPT3.replace("--num-layers 96", "--num-layers $LAYERS"),
        GPT3.replace("pretrain_gpt.py", "pretrain_mamba.py"),
        GPT3.replace("pretrain_gpt.py", "train_ours.py"),
        f"{GPT3} --multi-latent-attention",
        GPT3.replace("12288", "9" * 300),
        f"{GPT3} $EXTRA_ARGS",
        MIXTRAL.replace(" --disable-bias-linear", ""),
    ],
)
def test_a_network_that_megatron_s_arguments_leave_open_is_none(command: str) -> None:
    assert "network" not in read(command).fields
    assert isinstance(read(command).fields["checkpoint"].value, Unknown)


def test_the_location_of_a_stated_network_is_that_of_its_layers() -> None:
    assert place(GPT3, "network") == ["96"]
    assert "checkpoint" not in read(GPT3).fields


@pytest.mark.parametrize(
    ("command", "checkpoint"),
    [
        ("nemo llm pretrain --factory llama3_8b", "meta-llama/Meta-Llama-3-8B"),
        ('nemo llm pretrain --factory "llama31_70b(num_nodes=4)"', "meta-llama/Llama-3.1-70B"),
        ("nemo llm pretrain --factory own_9b", f"unknown: {trainers.RECIPE.reason}"),
        ("python -m MaxText.train MaxText/configs/base.yml model_name=llama3.1-8b", "meta-llama/Llama-3.1-8B"),
        ("python -m MaxText.train MaxText/configs/base.yml model_name=mine-8b", "mine-8b"),
        ("trl sft --model_name_or_path llama3_8b", "llama3_8b"),
    ],
)
def test_the_name_of_a_recipe_or_model_names_the_network_that_its_trainer_builds(command: str, checkpoint: str) -> None:
    assert values(command, "checkpoint") == [checkpoint]


def test_a_network_that_is_known_by_the_name_of_a_recipe_is_an_assumption() -> None:
    (found,) = [read("nemo llm pretrain --factory llama3_8b").fields["checkpoint"]]
    assert found.assumption == "llama3_8b builds the architecture of meta-llama/Meta-Llama-3-8B"
