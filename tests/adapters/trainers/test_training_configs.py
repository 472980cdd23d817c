"""Configuration files of trainers: what each format states, by itself and joined with the command that names it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
import samples

from gpulint import adapters
from gpulint.source import documents
from gpulint.workload import Role, Unknown, Value

Files = Mapping[str, str]
Expected = Mapping[str, Value]


def role(files: Files, path: str) -> Role:
    """The one role of a file among others."""
    (found,) = roles(files, path)
    return found


def roles(files: Files, path: str) -> tuple[Role, ...]:
    """The roles of the one workload of a file among others."""
    held = {name: text.encode() for name, text in files.items()}
    (document,) = documents.load(path, held[path]).documents
    adapter = adapters.find_adapter(document)
    assert adapter is not None
    (workload,) = adapters.workloads(adapter, document, samples.ExampleRepository(held))
    return workload.roles


def stated(found: Role, names: Expected) -> dict[str, Value | None]:
    """What a role states of some quantities; unknown is None."""
    values = {name: found.value(name) for name in names}
    return {name: None if isinstance(value, Unknown) else value for name, value in values.items()}


AXOLOTL = "base_model: Qwen/Qwen2.5-7B\ndatasets: [{path: a/b, type: alpaca}]\nnum_epochs: 1\n"
TRAINER = "model_name_or_path: Qwen/Qwen2.5-1.5B\noutput_dir: out\nnum_train_epochs: 1\nlearning_rate: 1.0e-5\n"
TORCHTUNE = (
    "tokenizer: {_component_: torchtune.models.llama3.llama3_tokenizer, max_seq_len: 8192}\n"
    "optimizer: {_component_: torch.optim.AdamW}\n"
)
NEMO = "trainer: {devices: 8, num_nodes: 4, precision: bf16}\nexp_manager: {}\n"
NEOX = "num_layers: 12\nhidden_size: 768\nnum_attention_heads: 12\n"
NANOTRON = (
    "model:\n  dtype: bfloat16\n  model_config: {is_llama_config: true, hidden_size: 64, intermediate_size: 256,"
    " num_attention_heads: 4, num_key_value_heads: 2, num_hidden_layers: 2, vocab_size: 128, tie_word_embeddings: false}\n"
    "optimizer: {accumulate_grad_in_fp32: true, zero_stage: 1, optimizer_factory: {name: adamW}}\n"
    "parallelism: {dp: 4, pp: 1, tp: 2, recompute_layer: true}\n"
    "tokens: {micro_batch_size: 2, sequence_length: 4096, batch_accumulation_per_replica: 4}\n"
)
MPT = "name: mpt_causal_lm, d_model: 768, n_heads: 12, n_layers: 12"
FOUNDRY = f"max_seq_len: 2048\nmodel: {{{MPT}}}\ntrain_loader: {{}}\noptimizer: {{name: decoupled_adamw}}\n"
LITGPT = "checkpoint_dir: checkpoints/meta-llama/Llama-2-7b-hf\ndata: {class_path: litgpt.data.Alpaca}\n"
VERL = (
    "actor_rollout_ref:\n  model: {path: Qwen/Qwen2.5-7B}\n  actor: {strategy: fsdp, ppo_mini_batch_size: 256}\n"
    "  rollout: {n: 5, tensor_model_parallel_size: 2}\n"
)

ALONE: Mapping[str, tuple[str, str, Expected]] = {
    "deepspeed: offloaded": (
        "ds.json",
        '{"train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 4, "bf16": {"enabled": true},'
        ' "zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu"}}}',
        {"micro_batch_size": 2, "gradient_accumulation_steps": 4, "zero_stage": 3, "training_dtype": "bfloat16"},
    ),
    "deepspeed: only the optimizer is offloaded": (
        "ds.json",
        '{"train_batch_size": "auto", "zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu"}}}',
        {"optimizer_offload": True, "parameter_offload": False},
    ),
    "deepspeed: only the weights are offloaded": (
        "ds.json",
        '{"train_batch_size": "auto", "zero_optimization": {"stage": 3, "offload_param": {"device": "nvme"}}}',
        {"optimizer_offload": False, "parameter_offload": True},
    ),
    "deepspeed: stage 2 keeps the weights on the GPU": (
        "ds.json",
        '{"train_batch_size": "auto", "zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"},'
        ' "offload_param": {"device": "cpu"}}}',
        {"optimizer_offload": True, "parameter_offload": False},
    ),
    "accelerate: only the optimizer is offloaded": (
        "acc.yaml",
        "compute_environment: LOCAL_MACHINE\ndistributed_type: DEEPSPEED\nnum_processes: 4\n"
        "deepspeed_config: {zero_stage: 2, offload_optimizer_device: cpu}\n",
        {"optimizer_offload": True, "parameter_offload": False},
    ),
    "llama-factory: rotations": (
        "oft.yaml",
        f"{TRAINER}stage: sft\nfinetuning_type: oft\noft_block_size: 64\nquantization_bit: 4\n",
        {"lora_rank": 16, "quantization": "nf4-double"},
    ),
    "deepspeed: left to the trainer": (
        "ds.json",
        '{"train_micro_batch_size_per_gpu": "auto", "train_batch_size": "auto", "zero_optimization": {"stage": 2}}',
        {"micro_batch_size": None, "global_batch_size": None, "zero_stage": 2, "sharding": "deepspeed"},
    ),
    "deepspeed: float16 without stages": (
        "ds.json",
        '{"train_batch_size": 64, "fp16": {"enabled": true, "loss_scale": 0}, "steps_per_print": 10}',
        {"global_batch_size": 64, "training_dtype": "float16"},
    ),
    "accelerate: two machines": (
        "acc.yaml",
        "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\n"
        "num_machines: 2\nnum_processes: 16\nmixed_precision: bf16\n",
        {"pods_per_replica": 2, "processes_per_pod": 8, "sharding": "ddp", "training_dtype": "bfloat16"},
    ),
    "accelerate: FSDP": (
        "acc.yaml",
        "distributed_type: FSDP\nnum_processes: 4\n"
        "fsdp_config: {fsdp_sharding_strategy: FULL_SHARD, fsdp_offload_params: true}\n",
        {"processes_per_pod": 4, "sharding": "fsdp", "parameter_offload": True},
    ),
    "accelerate: one process": (
        "acc.yaml",
        "distributed_type: 'NO'\nmixed_precision: fp16\nuse_cpu: false\n",
        {"processes_per_pod": 1, "sharding": "none", "training_dtype": "float16"},
    ),
    "axolotl: LoRA": (
        "run.yml",
        f"{AXOLOTL}adapter: qlora\nload_in_4bit: true\nlora_r: 16\nmicro_batch_size: 2\nsequence_len: 4096\n",
        {"checkpoint": "Qwen/Qwen2.5-7B", "lora_rank": 16, "quantization": "nf4-double", "sequence_length": 4096},
    ),
    "axolotl: LoRA on 8-bit weights": (
        "run.yml",
        f"{AXOLOTL}adapter: lora\nload_in_8bit: true\nlora_r: 16\nlora_target_linear: true\nmicro_batch_size: 2\n",
        {"quantization": "int8-bnb", "lora_targets": "qkvogud", "trainable_parameters": None},
    ),
    "axolotl: 8 bits switched off": (
        "run.yml",
        f"{AXOLOTL}adapter: lora\nload_in_8bit: false\nlora_r: 16\nlora_target_linear: true\nmicro_batch_size: 2\n",
        {"quantization": None, "lora_rank": 16},
    ),
    "trainer: LoRA on 8-bit weights": (
        "sft.yaml",
        f"{TRAINER}per_device_train_batch_size: 4\nuse_peft: true\nload_in_8bit: true\nlora_r: 8\n",
        {"quantization": "int8-bnb"},
    ),
    "axolotl: whole weights with FSDP": (
        "run.yml",
        f"{AXOLOTL}fsdp: [full_shard]\nmicro_batch_size: 1\ngradient_accumulation_steps: 8\nbf16: auto\n",
        {"micro_batch_size": 1, "gradient_accumulation_steps": 8, "sharding": "fsdp", "lora_rank": None},
    ),
    "axolotl: shards and replicas": (
        "run.yml",
        f"{AXOLOTL}dp_shard_size: 4\ndp_replicate_size: 2\nmicro_batch_size: 1\nsequence_len: 8192\n",
        {"gpus_per_replica": 8, "shard_group": 4},
    ),
    "trainer: TRL": (
        "sft.yaml",
        f"{TRAINER}per_device_train_batch_size: 4\ngradient_accumulation_steps: 2\nmax_length: 2048\npacking: true\nbf16: true\n",
        {"engine": "trl", "micro_batch_size": 4, "sequence_length": 2048, "packed": True, "training_dtype": "bfloat16"},
    ),
    "trainer: LLaMA-Factory": (
        "sft.yaml",
        f"{TRAINER}per_device_train_batch_size: 1\nstage: sft\n"
        f"finetuning_type: lora\nlora_rank: 8\nlora_target: all\ncutoff_len: 2048\n",
        {"engine": "llama-factory", "lora_rank": 8, "lora_targets": "qkvogud", "sequence_length": 2048},
    ),
    "trainer: loaders": (
        "args.yaml",
        f"{TRAINER}per_device_train_batch_size: 8\ndataloader_num_workers: 4\ngradient_checkpointing: true\n",
        {"engine": "transformers", "dataloader_workers": 4, "activation_checkpointing": "full"},
    ),
    "torchtune: whole weights": (
        "full.yaml",
        f"{TORCHTUNE}model: {{_component_: torchtune.models.llama3_1.llama3_1_8b}}\nbatch_size: 2\ndtype: bf16\n",
        {"checkpoint": "meta-llama/Meta-Llama-3.1-8B-Instruct", "micro_batch_size": 2, "sequence_length": 8192},
    ),
    "torchtune: adapters": (
        "lora.yaml",
        f"{TORCHTUNE}model:\n  _component_: torchtune.models.qwen2.lora_qwen2_7b\n"
        f"  lora_rank: 8\n  lora_attn_modules: [q_proj, v_proj]\nbatch_size: 4\n",
        {"checkpoint": "Qwen/Qwen2-7B-Instruct", "lora_rank": 8, "lora_targets": "qv"},
    ),
    "torchtune: a builder of its own": (
        "own.yaml",
        f"{TORCHTUNE}model: {{_component_: torchtune.models.llama2.llama2, num_layers: 4}}\nbatch_size: 4\n",
        {"checkpoint": None, "micro_batch_size": 4},
    ),
    "torchtune: optimizer, loss and offload": (
        "full.yaml",
        "tokenizer: {_component_: torchtune.models.llama3.llama3_tokenizer}\nbatch_size: 2\noptimizer_in_bwd: true\n"
        "model: {_component_: torchtune.models.llama3.llama3_8b}\n"
        "optimizer: {_component_: bitsandbytes.optim.PagedAdamW8bit}\n"
        "loss: {_component_: torchtune.modules.loss.CEWithChunkedOutputLoss}\n"
        "enable_activation_checkpointing: true\nenable_activation_offloading: true\n",
        {
            "optimizer": "paged-adamw-8bit-in-backward",
            "loss_kernel": "chunked",
            "activation_checkpointing": "offloaded",
            "lora_rank": None,
            "quantization": None,
        },
    ),
    "torchtune: QLoRA": (
        "lora.yaml",
        "tokenizer: {_component_: torchtune.models.llama3.llama3_tokenizer}\nbatch_size: 2\n"
        "optimizer: {_component_: torch.optim.AdamW, fused: true}\nmodel:\n"
        "  _component_: torchtune.models.llama3.qlora_llama3_8b\n  lora_rank: 8\n"
        "  lora_attn_modules: [q_proj, v_proj, output_proj]\n  apply_lora_to_mlp: true\n",
        {"quantization": "nf4-double", "lora_targets": "qvogud", "optimizer": "adamw-fused"},
    ),
    "torchtune: an optimizer that is not listed": (
        "full.yaml",
        "tokenizer: {_component_: torchtune.models.llama3.llama3_tokenizer}\nbatch_size: 2\n"
        "optimizer: {_component_: torchao.optim.AdamW4bit}\nmodel: {_component_: torchtune.models.llama3.llama3_8b}\n",
        {"optimizer": None, "lora_rank": None},
    ),
    "nemo: tensor and pipeline": (
        "gpt.yaml",
        f"{NEMO}model: {{micro_batch_size: 1, global_batch_size: 256, "
        f"tensor_model_parallel_size: 8, pipeline_model_parallel_size: 2}}\n",
        {
            "gpus_per_pod": 8,
            "pods_per_replica": 4,
            "tensor_parallel": 8,
            "pipeline_parallel": 2,
            "global_batch_size": 256,
        },
    ),
    "nemo: FSDP": (
        "gpt.yaml",
        f"{NEMO}model: {{micro_batch_size: 1, fsdp: true, optim: {{name: fused_adam}}}}\n",
        {"sharding": "fsdp", "optimizer": "adam-fused"},
    ),
    "nemo: a reference and arithmetic": (
        "gpt.yaml",
        f"{NEMO}model:\n  micro_batch_size: 2\n  encoder_seq_length: 4096\n"
        f"  global_batch_size: ${{multiply:${{trainer.num_nodes}}, 16}}\n",
        {"sequence_length": 4096, "global_batch_size": 64},
    ),
    "gpt-neox: hyphens": (
        "a.yml",
        f'{NEOX}"pipe-parallel-size": 2\n"model-parallel-size": 4\n"train_micro_batch_size_per_gpu": 4\n',
        {"pipeline_parallel": 2, "tensor_parallel": 4, "micro_batch_size": 4, "layers": 12},
    ),
    "gpt-neox: no pipeline": (
        "a.yml",
        f"{NEOX}pipe_parallel_size: 0\nmodel_parallel_size: 1\nzero_optimization: {{stage: 1}}\nfp16: {{enabled: true}}\n",
        {"pipeline_parallel": 1, "zero_stage": 1, "sharding": "deepspeed", "training_dtype": "float16"},
    ),
    "nanotron: a Llama": (
        "a.yaml",
        NANOTRON,
        {
            "micro_batch_size": 2,
            "gradient_accumulation_steps": 4,
            "sequence_length": 4096,
            "gpus_per_replica": 8,
            "tensor_parallel": 2,
            "sharding": "deepspeed",
            "zero_stage": 1,
            "parameter_dtype": "bfloat16",
            "gradient_dtype": "float32",
            "master_weights": True,
            "activation_checkpointing": "full",
            "optimizer": "adamw",
            "network": "family=llama layers=2 hidden=64 intermediate=256 heads=4 kv_heads=2 head_dim=16 vocab=128 "
            "gated=True tied=False qkv_bias=False out_bias=False mlp_bias=False norm_vectors=1",
        },
    ),
    "nanotron: experts are not counted": (
        "a.yaml",
        NANOTRON.replace("is_llama_config: true", "is_qwen2_config: true, moe_config: {num_experts: 8}"),
        {"network": None, "checkpoint": None, "micro_batch_size": 2},
    ),
    "torchtune: states in host memory": (
        "a.yaml",
        f"{TORCHTUNE}batch_size: 1\nfsdp_cpu_offload: true\n",
        {"parameter_offload": True, "optimizer_offload": True},
    ),
    "gpt-neox: identity": (
        "a.yml",
        f"{NEOX}pipe_parallel_size: 1\nmodel_parallel_size: 2\ntrain_batch_size: 128\ngradient_accumulation_steps: 4\n",
        {"global_batch_size": 128, "gradient_accumulation_steps": 4},
    ),
    "torchtitan: two dimensions": (
        "llama.toml",
        '[job]\ndescription = "x"\n[model]\nname = "llama3"\nflavor = "8B"\n[training]\nlocal_batch_size = 1\nseq_len = 8192\n'
        "[parallelism]\ntensor_parallel_degree = 2\npipeline_parallel_degree = 4\n",
        {
            "micro_batch_size": 1,
            "sequence_length": 8192,
            "tensor_parallel": 2,
            "pipeline_parallel": 4,
            "checkpoint": "meta-llama/Llama-3.1-8B",
        },
    ),
    "torchtitan: a flavour of its own": (
        "llama.toml",
        '[job]\ndescription = "x"\n[model]\nname = "llama3"\nflavor = "debugmodel"\n[training]\nlocal_batch_size = 1\n'
        "seq_len = 8192\n[parallelism]\ntensor_parallel_degree = 2\n",
        {"checkpoint": None},
    ),
    "torchtitan: the older name of the batch": (
        "llama.toml",
        '[job]\ndescription = "x"\n[model]\nname = "llama3"\n[training]\nbatch_size = 8\nseq_len = 2048\n'
        '[parallelism]\ntensor_parallel_degree = 1\n[activation_checkpoint]\nmode = "full"\n',
        {"micro_batch_size": 8, "activation_checkpointing": "full"},
    ),
    "torchtitan: context": (
        "llama.toml",
        '[job]\ndescription = "x"\n[model]\nname = "llama3"\n[training]\n'
        "local_batch_size = 1\nseq_len = 131072\n[parallelism]\ncontext_parallel_degree = 8\n",
        {"context_parallel": 8, "sequence_length": 131072},
    ),
    "verl: FSDP": (
        "ppo.yaml",
        f"{VERL}trainer: {{n_gpus_per_node: 8, nnodes: 2}}\n",
        {"gpus_per_pod": 8, "pods_per_replica": 2, "rollout_tensor_parallel": 2, "global_batch_size": 1280},
    ),
    "verl: a count from outside": (
        "ppo.yaml",
        f"{VERL}trainer: {{n_gpus_per_node: '???', nnodes: 1}}\n",
        {"checkpoint": "Qwen/Qwen2.5-7B", "pods_per_replica": 1},
    ),
    "verl: Megatron": (
        "ppo.yaml",
        VERL.replace("strategy: fsdp", "strategy: megatron, megatron: {tensor_model_parallel_size: 4}")
        + "trainer: {n_gpus_per_node: 8, nnodes: 1}\n",
        {"tensor_parallel": 4, "sharding": "distributed-optimizer"},
    ),
    "llm-foundry: MPT": (
        "mpt.yaml",
        f"{FOUNDRY}global_train_batch_size: 256\ndevice_train_microbatch_size: 8\nprecision: amp_bf16\n",
        {"global_batch_size": 256, "micro_batch_size": 8, "training_dtype": "bfloat16", "layers": 12},
    ),
    "llm-foundry: a checkpoint": (
        "hf.yaml",
        f"{FOUNDRY.replace(MPT, 'name: hf_causal_lm, pretrained_model_name_or_path: gpt2')}global_train_batch_size: 8\n",
        {"checkpoint": "gpt2", "global_batch_size": 8},
    ),
    "llm-foundry: a variable": (
        "var.yaml",
        "variables: {max_seq_len: 4096}\nglobal_train_batch_size: 8\n"
        + FOUNDRY.replace("max_seq_len: 2048", "max_seq_len: ${variables.max_seq_len}"),
        {"sequence_length": 4096},
    ),
    "litgpt: LoRA": (
        "lora.yaml",
        f"{LITGPT}devices: 4\nlora_r: 32\nprecision: bf16-true\ntrain: {{save_interval: 200, "
        f"global_batch_size: 16, micro_batch_size: 2, max_seq_length: 512}}\n",
        {"gpus_per_pod": 4, "lora_rank": 32, "global_batch_size": 16, "micro_batch_size": 2, "sequence_length": 512},
    ),
    "litgpt: nodes": (
        "full.yaml",
        f"{LITGPT}devices: 8\nnum_nodes: 2\ntrain: {{save_interval: 200, global_batch_size: 64, micro_batch_size: 1}}\n",
        {"gpus_per_pod": 8, "pods_per_replica": 2},
    ),
    "litgpt: half precision": (
        "full.yaml",
        f"{LITGPT}devices: 1\nprecision: 16-true\ntrain: {{save_interval: 200, global_batch_size: 8, micro_batch_size: 8}}\n",
        {"training_dtype": "float16", "gpus_per_pod": 1},
    ),
}


@pytest.mark.parametrize("name", ALONE)
def test_a_file_by_itself_states_its_run(name: str) -> None:
    path, text, expected = ALONE[name]
    assert stated(role({path: text}, path), expected) == expected


DEEPSPEED = '{"train_micro_batch_size_per_gpu": "auto", "bf16": {"enabled": true}, "zero_optimization": {"stage": 3}}'
JOINED: Mapping[str, tuple[Files, Expected]] = {
    "accelerate with DeepSpeed inside": (
        {
            "run.sh": "accelerate launch --config_file conf/acc.yaml train.py --lr 1",
            "conf/acc.yaml": "distributed_type: DEEPSPEED\nnum_machines: 2\nnum_processes: 16\nmixed_precision: bf16\n"
            "deepspeed_config: {zero_stage: 2, offload_optimizer_device: cpu}\n",
        },
        {
            "pods_per_replica": 2,
            "processes_per_pod": 8,
            "zero_stage": 2,
            "sharding": "deepspeed",
            "optimizer_offload": True,
        },
    ),
    "accelerate with FSDP inside": (
        {
            "run.sh": "accelerate launch --config_file acc.yaml sft.py --model_name_or_path gpt2 --dataset_name a/b",
            "acc.yaml": "distributed_type: FSDP\nnum_processes: 8\nmixed_precision: bf16\n"
            "fsdp_config: {fsdp_sharding_strategy: FULL_SHARD}\n",
        },
        {"processes_per_pod": 8, "sharding": "fsdp", "training_dtype": "bfloat16", "checkpoint": "gpt2"},
    ),
    "accelerate: options before the file": (
        {
            "run.sh": "accelerate launch --config_file acc.yaml --num_processes 4 --zero_stage 3 --mixed_precision fp16 train.py",
            "acc.yaml": "distributed_type: DEEPSPEED\nnum_processes: 16\n"
            "mixed_precision: bf16\ndeepspeed_config: {zero_stage: 2}\n",
        },
        {"processes_per_pod": 4, "zero_stage": 3, "training_dtype": "float16"},
    ),
    "accelerate that names DeepSpeed's file": (
        {
            "run.sh": "accelerate launch --config_file acc.yaml train.py",
            "acc.yaml": "distributed_type: DEEPSPEED\nnum_processes: 8\ndeepspeed_config: {deepspeed_config_file: ds.json}\n",
            "ds.json": DEEPSPEED,
        },
        {"zero_stage": 3, "training_dtype": "bfloat16", "processes_per_pod": 8},
    ),
    "DeepSpeed's own launcher": (
        {
            "run.sh": "deepspeed --num_gpus 8 run_clm.py --model_name_or_path gpt2 --output_dir out --deepspeed ds.json",
            "ds.json": DEEPSPEED,
        },
        {"zero_stage": 3, "sharding": "deepspeed", "processes_per_pod": 8},
    ),
    "torchtune by the name of a recipe": (
        {
            "run.sh": "tune run --nproc_per_node 4 full_finetune_distributed --config llama3_1/8B_full batch_size=8",
            "recipes/configs/llama3_1/8B_full.yaml": f"{TORCHTUNE}model: {{_component_: torchtune.models.llama3_1.llama3_1_8b}}\n"
            f"batch_size: 2\n",
        },
        {"processes_per_pod": 4, "micro_batch_size": 8, "sequence_length": 8192},
    ),
    "NeMo's launcher": (
        {
            "examples/run.sh": "python launcher_scripts/main.py training=llama/llama2_7b training.trainer.num_nodes=2",
            "launcher_scripts/conf/training/llama/llama2_7b.yaml": f"run: {{name: a, results_dir: b, time_limit: c}}\n{NEMO}"
            "model: {micro_batch_size: 1, global_batch_size: 128, tensor_model_parallel_size: 2, optim: {name: fused_adam}}\n",
        },
        {
            "gpus_per_pod": 8,
            "pods_per_replica": 2,
            "tensor_parallel": 2,
            "global_batch_size": 128,
            "sharding": "megatron",
        },
    ),
    "NeMo's launcher: a word in place of the file": (
        {
            "examples/run.sh": "python launcher_scripts/main.py training=gpt3/5b +training.model.fsdp=True "
            "training.model.optim.name=fused_adam",
            "launcher_scripts/conf/training/gpt3/5b.yaml": f"run: {{name: a, results_dir: b, time_limit: c}}\n{NEMO}"
            "model: {micro_batch_size: 4, optim: {name: distributed_fused_adam}}\n",
        },
        {"sharding": "fsdp", "micro_batch_size": 4, "pods_per_replica": 4},
    ),
    "GPT-NeoX over several files": (
        {
            "run.sh": "python ./deepy.py train.py -d configs small.yml cluster.yml",
            "configs/small.yml": f"{NEOX}pipe_parallel_size: 1\nmodel_parallel_size: 2\n",
            "configs/cluster.yml": "train_micro_batch_size_per_gpu: 4\nzero_optimization: {stage: 1}\n",
        },
        {"tensor_parallel": 2, "micro_batch_size": 4, "zero_stage": 1, "layers": 12},
    ),
    "GPT-NeoX over several files, the network last": (
        {
            "run.sh": "python ./deepy.py train.py cluster.yml small.yml",
            "small.yml": f"{NEOX}pipe_parallel_size: 1\nmodel_parallel_size: 2\n",
            "cluster.yml": "optimizer: {type: Adam}\nzero_optimization: {stage: 1}\n",
        },
        {"optimizer": "adam-fused", "zero_stage": 1, "checkpoint": None},
    ),
    "Axolotl": (
        {
            "run.sh": "axolotl train conf/run.yml",
            "conf/run.yml": f"{AXOLOTL}deepspeed: ds.json\nmicro_batch_size: 2\nsequence_len: 4096\n",
            "conf/ds.json": DEEPSPEED,
        },
        {"checkpoint": "Qwen/Qwen2.5-7B", "micro_batch_size": 2, "sequence_length": 4096},
    ),
    "LLaMA-Factory": (
        {
            "run.sh": "llamafactory-cli train conf/sft.yaml",
            "conf/sft.yaml": f"{TRAINER}per_device_train_batch_size: 1\nstage: sft\nfinetuning_type: full\ncutoff_len: 2048\n",
        },
        {"checkpoint": "Qwen/Qwen2.5-1.5B", "micro_batch_size": 1, "sequence_length": 2048},
    ),
}


@pytest.mark.parametrize("name", JOINED)
def test_a_command_and_the_file_it_names_are_one_run(name: str) -> None:
    files, expected = JOINED[name]
    assert stated(role(files, next(iter(files))), expected) == expected


def test_settings_of_megatron_are_not_those_of_gpt_neox() -> None:
    text = (
        "model_parallel_size: null\nnum_layers: 24\nhidden_size: 1024\nnum_attention_heads: 16\nextends: [base.yaml]\n"
    )
    (document,) = documents.load("language_model.yaml", text.encode()).documents
    assert adapters.find_adapter(document) is None


@pytest.mark.parametrize(("strange", "said"), [(1, 1), (3, 3), (4, 0)])
def test_many_keys_that_a_trainer_does_not_know_are_those_of_a_fork(strange: int, said: int) -> None:
    own = "".join(f"our_{letter}_thing: 1\n" for letter in "abcd"[:strange])
    found = samples.report(f"{NEOX}pipe_parallel_size: 1\nmodel_parallel_size: 2\n{own}", "small.yml")
    assert [finding.rule for finding in found.findings].count("setting-unknown") == said


def test_a_search_of_nemos_launcher_states_its_machines_and_leaves_open_what_it_varies() -> None:
    sizes = "model_size_in_b: 20, num_nodes: 16, gpus_per_node: 8, seq_length: 2048, tensor_parallel_sizes: auto"
    found = role({"search.yaml": f"train_settings: {{{sizes}}}\n"}, "search.yaml")
    assert [found.value(name) for name in ("gpus_per_replica", "sequence_length")] == [128, 2048]
    assert all(isinstance(found.value(name), Unknown) for name in ("tensor_parallel", "micro_batch_size"))


def test_critic_and_actor_of_one_file_are_runs_of_their_own() -> None:
    run = "{trainer: {devices: 8, num_nodes: NODES, precision: bf16, ppo: {}}, model: {micro_batch_size: NODES}}"
    text = f"name: ppo\ncritic: {run.replace('NODES', '1')}\nactor: {run.replace('NODES', '2')}\n"
    found = roles({"ppo.yaml": f"run: {{name: a, results_dir: b, time_limit: c}}\n{text}"}, "ppo.yaml")
    assert [(one.name, one.value("gpus_per_replica"), one.value("micro_batch_size")) for one in found] == [
        ("critic", 8, 1),
        ("actor", 16, 2),
    ]
    assert [one.anchor.path for one in found] == [("critic",), ("actor",)]


def test_what_a_file_states_is_shown_where_the_command_names_it() -> None:
    files, _ = JOINED["accelerate with DeepSpeed inside"]
    first, second = role(files, "run.sh").fields["zero_stage"].origins[:2]
    assert (first.text(), second.location().path) == ("conf/acc.yaml", "conf/acc.yaml")


def test_a_file_that_is_not_there_leaves_the_run_open() -> None:
    found = role({"run.sh": "accelerate launch --config_file missing.yaml --num_processes 8 train.py"}, "run.sh")
    assert isinstance(found.fields["sharding"].value, Unknown)
    assert found.value("processes_per_pod") == 8 or isinstance(found.fields["processes_per_pod"].value, Unknown)


def test_a_task_of_skypilot_reads_the_file_of_accelerate() -> None:
    files = {
        "task.yaml": "resources: {accelerators: 'A100-80GB:8'}\nrun: accelerate launch --config_file acc.yaml train.py\n",
        "acc.yaml": "distributed_type: FSDP\nnum_processes: 8\nfsdp_config: {fsdp_sharding_strategy: FULL_SHARD}\n",
    }
    assert stated(role(files, "task.yaml"), {"sharding": "", "processes_per_pod": 0}) == {
        "sharding": "fsdp",
        "processes_per_pod": 8,
    }


POD = """
apiVersion: v1
kind: ConfigMap
metadata: {name: accelerate}
data:
  acc.yaml: |
    distributed_type: FSDP
    num_processes: 8
    mixed_precision: bf16
    fsdp_config: {fsdp_sharding_strategy: FULL_SHARD}
---
apiVersion: batch/v1
kind: Job
metadata: {name: sft}
spec:
  template:
    spec:
      containers:
        - name: trainer
          image: ghcr.io/team/trainer:1
          command: [accelerate, launch, --config_file, /etc/acc/acc.yaml, sft.py]
          args: [--model_name_or_path, gpt2, --dataset_name, a/b, --per_device_train_batch_size, "4"]
          resources: {limits: {nvidia.com/gpu: 8}}
          volumeMounts: [{name: config, mountPath: /etc/acc}]
      volumes: [{name: config, configMap: {name: accelerate}}]
"""


def test_a_pod_reads_the_mounted_file_and_the_trainer_behind_its_launcher() -> None:
    _, job = documents.load("job.yaml", POD.encode()).documents
    adapter = adapters.find_adapter(job)
    assert adapter is not None
    (workload,) = adapters.workloads(adapter, job, samples.ExampleRepository({"job.yaml": POD.encode()}))
    expected: Expected = {"sharding": "fsdp", "processes_per_pod": 8, "micro_batch_size": 4, "checkpoint": "gpt2"}
    assert stated(workload.roles[0], expected) == expected


@pytest.mark.parametrize(
    ("settings", "is_open"),
    [
        ('"bf16": {"enabled": true}, "zero_optimization": {"stage": 2}', False),
        ('"fp16": {"enabled": true}, "zero_optimization": {"stage": 3}', False),
        ('"bf16": {"enabled": false}, "zero_optimization": {"stage": 2}', True),
        ('"train_batch_size": "auto", "zero_optimization": {"stage": 2}', True),
    ],
)
def test_deepspeed_keeps_the_weights_in_the_16_bits_that_it_casts_them_to(settings: str, is_open: bool) -> None:
    found = role({"ds.json": f"{{{settings}}}"}, "ds.json")
    assert ("parameter_dtype" in found.fields) is is_open


def test_how_much_llama_factory_trains_of_frozen_layers_is_unknown() -> None:
    found = role(
        {"sft.yaml": f"{TRAINER}stage: sft\nfinetuning_type: freeze\nfreeze_trainable_layers: 4\n"}, "sft.yaml"
    )
    assert isinstance(found.value("trainable_parameters"), Unknown)
