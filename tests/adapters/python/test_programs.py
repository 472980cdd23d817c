"""Python programs: what starts one decides the hardware, and the text of the program decides the rest."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

import gpulint
from gpulint.pipeline import enrichment
from gpulint.pipeline.rule_tests.samples import ExampleRepository
from gpulint.workload import Role, Unknown, Workload


def read(files: dict[str, str], path: str) -> list[Workload]:
    repository = ExampleRepository({name: textwrap.dedent(text).encode() for name, text in files.items()})
    (document,) = repository.read_documents(path)
    return list(enrichment.read(document, repository))


def read_role(files: dict[str, str], path: str) -> Role:
    (workload,) = read(files, path)
    (role,) = workload.roles
    return role


def values(role: Role, *names: str) -> dict[str, object]:
    return {name: role.value(name) for name in names}


def text_at(role: Role, name: str) -> list[tuple[str, str]]:
    """Return the file and the text of each place of a field."""
    found = []
    for origin in role.fields[name].origins:
        location = origin.location()
        found.append((location.path, location.text[location.column - 1 : location.end_column - 1]))
    return found


POD = """
    apiVersion: v1
    kind: Pod
    metadata: {name: llm}
    spec:
      containers:
        - name: server
          image: registry.example/llm:1
          command: [COMMAND]
          env:
            - {name: MODEL_ID, value: Qwen/Qwen3-14B}
          resources: {limits: {nvidia.com/gpu: 2}}
"""
SERVE = """
    import argparse, os
    from vllm import LLM
    parser = argparse.ArgumentParser()
    parser.add_argument("--tp", type=int, default=1)
    args = parser.parse_args()
    llm = LLM(
        model=os.environ.get("MODEL_ID", "Qwen/Qwen3-8B"),
        tensor_parallel_size=args.tp,
        gpu_memory_utilization=0.85,
        max_model_len=8192,
        enforce_eager=True,
        enable_prefix_caching=False,
        quantization=None,
    )
"""


@pytest.mark.parametrize(
    ("command", "tensor_parallel"),
    [
        ('"python", "serve.py", "--tp", "2"', 2),
        ('"python3", "-u", "/app/serve.py", "--tp=2"', 2),
        ('"/usr/bin/python3.11", "app/serve.py"', 1),
        ('"python", "-m", "app.serve", "--tp", "2"', 2),
        ('"uvicorn", "app.serve:app", "--host", "0.0.0.0"', 1),
        ('"sh", "-c", "exec python app/serve.py --tp 2"', 2),
        ('"streamlit", "run", "app/serve.py"', 1),
    ],
)
def test_a_pod_that_starts_a_program_gets_its_engine(command: str, tensor_parallel: int) -> None:
    role = read_role({"k8s/pod.yaml": POD.replace("COMMAND", command), "app/serve.py": SERVE}, "k8s/pod.yaml")
    assert values(
        role, "engine", "checkpoint", "tensor_parallel", "max_model_len", "enforce_eager", "gpus_per_pod"
    ) == {
        "engine": "vllm",
        "checkpoint": "Qwen/Qwen3-14B",
        "tensor_parallel": tensor_parallel,
        "max_model_len": 8192,
        "enforce_eager": True,
        "gpus_per_pod": 2,
    } | ({} if tensor_parallel > 1 else {"tensor_parallel": 1})


def test_values_keep_the_place_of_their_literal() -> None:
    command = '"python", "/app/serve.py", "--tp", "2"'
    role = read_role({"k8s/pod.yaml": POD.replace("COMMAND", command), "app/serve.py": SERVE}, "k8s/pod.yaml")
    assert text_at(role, "max_model_len") == [("k8s/pod.yaml", '"/app/serve.py"'), ("app/serve.py", "8192")]
    assert text_at(role, "tensor_parallel") == [("k8s/pod.yaml", '"2"')]
    assert text_at(role, "checkpoint") == [("k8s/pod.yaml", "Qwen/Qwen3-14B")]


@pytest.mark.parametrize("folder", ["/srv/deploy/", "../deploy/", ""])
def test_a_path_from_the_root_of_the_machine_is_no_circle(folder: str) -> None:
    files = {
        f"{folder}pod.yaml": POD.replace("COMMAND", '"python", "x.py"'),
        f"{folder}x.py": "import helper\nhelper.load()",
    }
    files[f"{folder}helper.py"] = "from vllm import LLM\ndef load():\n    LLM('a/b')\n"
    assert read_role(files, f"{folder}pod.yaml").value("engine") == "vllm"


def test_a_program_outside_the_repository_stays_unknown() -> None:
    role = read_role({"pod.yaml": POD.replace("COMMAND", '"python", "other.py"'), "serve.py": SERVE}, "pod.yaml")
    assert values(role, "engine", "program") == {"engine": None, "program": "other.py"}


def test_two_programs_of_one_name_in_other_folders_stay_unknown() -> None:
    files = {
        "k8s/pod.yaml": POD.replace("COMMAND", '"python", "/srv/serve.py"'),
        "a/serve.py": SERVE,
        "b/serve.py": SERVE,
    }
    assert read_role(files, "k8s/pod.yaml").value("engine") is None


JOB = """\
    #!/bin/bash
    #SBATCH --nodes=1
    #SBATCH --gres=gpu:a100-sxm4-80gb:4
    torchrun --nproc_per_node 4 train.py --model Qwen/Qwen3-8B
"""
TRAINER = """
    import argparse
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer, TrainingArguments

    def main():
        parser = argparse.ArgumentParser()
        parser.add_argument("--model", default="Qwen/Qwen3-0.6B")
        args = parser.parse_args()
        tokenizer = AutoTokenizer.from_pretrained(args.model)
        model = AutoModelForCausalLM.from_pretrained(args.model, dtype=torch.bfloat16)
        model.gradient_checkpointing_enable()
        tokens = tokenizer("text", truncation=True, max_length=1024)
        training = TrainingArguments(
            output_dir="out", per_device_train_batch_size=2, gradient_accumulation_steps=8, bf16=True, EXTRA
        )
        Trainer(model=model, args=training, train_dataset=tokens).train()

    if __name__ == "__main__":
        main()
"""


def test_a_trainer_of_transformers_is_read_like_its_command_line() -> None:
    files = {"jobs/run.sbatch": JOB, "jobs/train.py": TRAINER.replace("EXTRA", 'optim="adamw_8bit"')}
    role = read_role(files, "jobs/run.sbatch")
    assert values(
        role, "engine", "checkpoint", "micro_batch_size", "gradient_accumulation_steps", "optimizer", "training_dtype"
    ) == {
        "engine": "transformers",
        "checkpoint": "Qwen/Qwen3-8B",
        "micro_batch_size": 2,
        "gradient_accumulation_steps": 8,
        "optimizer": "adamw-8bit",
        "training_dtype": "bfloat16",
    }
    assert values(role, "activation_checkpointing", "sequence_length", "gpus_per_pod", "processes_per_pod") == {
        "activation_checkpointing": "full",
        "sequence_length": 1024,
        "gpus_per_pod": 4,
        "processes_per_pod": 4,
    }
    assert role.value("lora_rank") is None


def test_a_deepspeed_dict_of_the_program_states_the_stage() -> None:
    extra = 'deepspeed={"zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu"}}, "bf16": {"enabled": True}}'
    role = read_role({"run.sbatch": JOB, "train.py": TRAINER.replace("EXTRA", extra)}, "run.sbatch")
    assert values(role, "sharding", "zero_stage", "optimizer_offload") == {
        "sharding": "deepspeed",
        "zero_stage": 3,
        "optimizer_offload": True,
    }
    assert text_at(role, "zero_stage")[-1] == ("train.py", "3")


def test_a_deepspeed_file_of_the_repository_states_the_stage() -> None:
    settings = (
        '{"zero_optimization": {"stage": 2}, "train_micro_batch_size_per_gpu": "auto", "bf16": {"enabled": true}}'
    )
    files = {"run.sbatch": JOB, "train.py": TRAINER.replace("EXTRA", 'deepspeed="ds.json"'), "ds.json": settings}
    assert values(read_role(files, "run.sbatch"), "sharding", "zero_stage") == {
        "sharding": "deepspeed",
        "zero_stage": 2,
    }


SFT = """
    import torch
    from dataclasses import dataclass
    from peft import LoraConfig
    from transformers import AutoModelForCausalLM, BitsAndBytesConfig
    from trl import SFTConfig, SFTTrainer

    @dataclass
    class Settings:
        model: str = "meta-llama/Llama-3.1-70B"
        rank: int = 32

    s = Settings()
    four_bit = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_use_double_quant=True, bnb_4bit_compute_dtype=torch.bfloat16)
    model = AutoModelForCausalLM.from_pretrained(s.model, quantization_config=four_bit, device_map="auto")
    lora = LoraConfig(r=s.rank, target_modules=["q_proj", "k_proj", "v_proj", "o_proj"], lora_dropout=0.1)
    config = SFTConfig(output_dir="o", max_length=2048, packing=True, per_device_train_batch_size=4, bf16=True,
                       gradient_checkpointing=True)
    SFTTrainer(model=model, args=config, peft_config=lora).train()
"""


def test_a_trainer_of_trl_has_adapters_and_quantisation() -> None:
    files = {"run.sbatch": JOB.replace("torchrun --nproc_per_node 4", "python"), "train.py": SFT}
    role = read_role(files, "run.sbatch")
    assert values(role, "engine", "checkpoint", "quantization", "lora_rank", "lora_targets", "lora_dropout") == {
        "engine": "trl",
        "checkpoint": "meta-llama/Llama-3.1-70B",
        "quantization": "nf4-double",
        "lora_rank": 32,
        "lora_targets": "qkvo",
        "lora_dropout": 0.1,
    }
    assert values(role, "sequence_length", "packed", "micro_batch_size", "activation_checkpointing", "supervised") == {
        "sequence_length": 2048,
        "packed": True,
        "micro_batch_size": 4,
        "activation_checkpointing": "full",
        "supervised": True,
    }


def test_unsloth_states_length_rank_and_recomputation() -> None:
    program = """
        from unsloth import FastLanguageModel
        from trl import SFTConfig, SFTTrainer
        model, tokenizer = FastLanguageModel.from_pretrained(
            model_name="unsloth/Qwen3-14B", max_seq_length=4096, load_in_4bit=True)
        model = FastLanguageModel.get_peft_model(model, r=16, target_modules=["q_proj", "gate_proj"],
                                                 use_gradient_checkpointing="unsloth")
        SFTTrainer(model=model, args=SFTConfig(per_device_train_batch_size=2, optim="adamw_8bit")).train()
    """
    role = read_role(
        {"run.sbatch": JOB.replace("torchrun --nproc_per_node 4", "python"), "train.py": program}, "run.sbatch"
    )
    assert values(role, "engine", "checkpoint", "sequence_length", "quantization", "lora_rank", "lora_targets") == {
        "engine": "unsloth",
        "checkpoint": "unsloth/Qwen3-14B",
        "sequence_length": 4096,
        "quantization": "nf4",
        "lora_rank": 16,
        "lora_targets": "qg",
    }
    assert values(role, "activation_checkpointing", "optimizer", "micro_batch_size") == {
        "activation_checkpointing": "full",
        "optimizer": "adamw-8bit",
        "micro_batch_size": 2,
    }


@pytest.mark.parametrize(
    ("adapts", "recomputed"),
    [
        ("", "full"),  # Unsloth's default
        ("use_gradient_checkpointing=True", "full"),
        ("use_gradient_checkpointing=False", None),
    ],
)
def test_unsloth_recomputes_activations_unless_it_is_told_not_to(adapts: str, recomputed: str | None) -> None:
    program = f"""
        from unsloth import FastLanguageModel
        from transformers import TrainingArguments
        from trl import SFTTrainer
        model, tokenizer = FastLanguageModel.from_pretrained("unsloth/Qwen3-14B", max_seq_length=4096, load_in_4bit=True)
        model = FastLanguageModel.get_peft_model(model, r=16, {adapts})
        SFTTrainer(model=model, args=TrainingArguments(per_device_train_batch_size=2)).train()
    """
    role = read_role(
        {"run.sbatch": JOB.replace("torchrun --nproc_per_node 4", "python"), "train.py": program}, "run.sbatch"
    )
    assert values(role, "activation_checkpointing") == {"activation_checkpointing": recomputed}


@pytest.mark.parametrize(
    ("prepares", "dtype"), [("", None), ("model = prepare_model_for_kbit_training(model)", "float32")]
)
def test_the_preparation_of_a_quantised_model_casts_the_rest_to_32_bits(prepares: str, dtype: str | None) -> None:
    program = f"""
        from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training
        from transformers import AutoModelForCausalLM, BitsAndBytesConfig, Trainer, TrainingArguments
        model = AutoModelForCausalLM.from_pretrained(
            "Qwen/Qwen3-14B", quantization_config=BitsAndBytesConfig(load_in_4bit=True))
        {prepares}
        model = get_peft_model(model, LoraConfig(r=16, target_modules=["q_proj"]))
        Trainer(model=model, args=TrainingArguments(output_dir="out", per_device_train_batch_size=2)).train()
    """
    role = read_role(
        {"run.sbatch": JOB.replace("torchrun --nproc_per_node 4", "python"), "train.py": program}, "run.sbatch"
    )
    assert values(role, "unquantised_dtype") == {"unquantised_dtype": dtype}


def test_a_program_that_asks_the_gpu_for_bfloat16_takes_it_where_the_gpu_has_it() -> None:
    extra = "fp16=not torch.cuda.is_bf16_supported()"
    program = TRAINER.replace("bf16=True, EXTRA", f"bf16=torch.cuda.is_bf16_supported(), {extra}")
    for gres, dtype in (("a100-sxm4-80gb", "bfloat16"), ("t4", "float16")):
        role = read_role({"run.sbatch": JOB.replace("a100-sxm4-80gb", gres), "train.py": program}, "run.sbatch")
        assert values(role, "training_dtype", "half_formats") == {"training_dtype": dtype, "half_formats": None}
        assert role.value("takes_either_half") is True


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        (
            "from sglang import Engine\nEngine(model_path='Qwen/Qwen3-8B', tp_size=2, mem_fraction_static=0.8)",
            {"engine": "sglang", "checkpoint": "Qwen/Qwen3-8B", "tensor_parallel": 2, "static_memory_fraction": 0.8},
        ),
        (
            "import lmdeploy\nfrom lmdeploy import TurbomindEngineConfig, pipeline\n"
            "pipeline('Qwen/Qwen3-8B', backend_config=TurbomindEngineConfig(tp=2, session_len=8192))",
            {"engine": "lmdeploy", "checkpoint": "Qwen/Qwen3-8B", "tensor_parallel": 2, "max_model_len": 8192},
        ),
        (
            "from vllm import AsyncEngineArgs, AsyncLLMEngine\n"
            "args = AsyncEngineArgs(model='Qwen/Qwen3-8B', max_num_seqs=64)\nargs.tensor_parallel_size = 4\n"
            "AsyncLLMEngine.from_engine_args(args)",
            {"engine": "vllm", "checkpoint": "Qwen/Qwen3-8B", "max_num_seqs": 64, "tensor_parallel": 4},
        ),
        (
            "import subprocess\nN = 2\n"
            "subprocess.Popen(['vllm', 'serve', 'Qwen/Qwen3-8B', '--tensor-parallel-size', str(N)])",
            {"engine": "vllm", "checkpoint": "Qwen/Qwen3-8B", "tensor_parallel": 2},
        ),
        (
            "import subprocess\nsubprocess.run('vllm serve Qwen/Qwen3-8B --max-model-len 4096', shell=True)",
            {"engine": "vllm", "checkpoint": "Qwen/Qwen3-8B", "max_model_len": 4096},
        ),
        (
            "import torch\nfrom transformers import AutoModelForCausalLM, BitsAndBytesConfig\n"
            "m = AutoModelForCausalLM.from_pretrained('Qwen/Qwen3-8B', torch_dtype=torch.float16, device_map='auto')\n"
            "m.generate(max_new_tokens=256)",
            {
                "engine": "transformers",
                "task": "inference",
                "checkpoint": "Qwen/Qwen3-8B",
                "weight_dtype": "float16",
                "spills": True,
                "new_tokens": 256,
            },
        ),
        (
            "from transformers import pipeline\n"
            "pipeline('text-generation', model='Qwen/Qwen3-8B', model_kwargs={'torch_dtype': 'bfloat16'}, device=0)",
            {"engine": "transformers", "task": "inference", "checkpoint": "Qwen/Qwen3-8B", "weight_dtype": "bfloat16"},
        ),
        (
            "from sentence_transformers import SentenceTransformer\nSentenceTransformer('BAAI/bge-m3', device='cuda')",
            {"task": "inference", "checkpoint": "BAAI/bge-m3"},
        ),
        (
            "from faster_whisper import WhisperModel\nWhisperModel('large-v3', device='cuda', compute_type='float16')",
            {"task": "inference", "checkpoint": "openai/whisper-large-v3", "weight_dtype": "float16"},
        ),
        (
            "import torch\nfrom diffusers import FluxPipeline\n"
            "FluxPipeline.from_pretrained('black-forest-labs/FLUX.1-dev', torch_dtype=torch.bfloat16).to('cuda')",
            {"task": "inference", "checkpoint": "black-forest-labs/FLUX.1-dev", "weight_dtype": "bfloat16"},
        ),
        (
            "from llama_cpp import Llama\nLlama(model_path='m.gguf', n_gpu_layers=20, n_ctx=8192)",
            {"engine": "llama.cpp", "gpu_layers": 20},
        ),
        (
            "from accelerate import Accelerator\nimport torch\nfrom transformers import AutoModelForCausalLM\n"
            "a = Accelerator(mixed_precision='bf16', gradient_accumulation_steps=4)\n"
            "m = AutoModelForCausalLM.from_pretrained('Qwen/Qwen3-8B')\no = torch.optim.AdamW(m.parameters())\n"
            "for b in data:\n    a.backward(m(b).loss)",
            {
                "task": "training",
                "checkpoint": "Qwen/Qwen3-8B",
                "training_dtype": "bfloat16",
                "gradient_accumulation_steps": 4,
                "optimizer": "adamw",
            },
        ),
        ("print('vllm')", {"engine": None, "task": None, "program": "x.py"}),
        (
            "from transformers import AutoTokenizer\nAutoTokenizer.from_pretrained('a/b')",
            {"task": None, "program": "x.py"},
        ),
        ("from openai import OpenAI\nOpenAI(base_url='http://vllm:8000')", {"engine": None, "program": "x.py"}),
    ],
)
def test_libraries_are_recognised(program: str, expected: dict[str, object]) -> None:
    files = {"pod.yaml": POD.replace("COMMAND", '"python", "x.py"'), "x.py": program}
    assert values(read_role(files, "pod.yaml"), *expected) == expected


def test_the_llm_class_of_vllm_batches_more_tokens_than_the_server() -> None:
    """vllm v0.33.0 vllm/engine/arg_utils.py: 8,192 for UsageContext.LLM_CLASS, 2,048 for the API server."""
    for call, tokens in (
        ("LLM('a/b')", 8192),
        ("LLM('a/b', max_num_batched_tokens=1024)", 1024),
        ("EngineArgs('a/b')", None),
    ):
        files = {"pod.yaml": POD.replace("COMMAND", '"python", "x.py"'), "x.py": f"import vllm\nvllm.{call}"}
        assert read_role(files, "pod.yaml").value("max_num_batched_tokens") == tokens


def test_engines_with_different_settings_leave_them_open() -> None:
    program = "from vllm import LLM\nLLM('Qwen/Qwen3-8B')\nLLM('Qwen/Qwen3-14B')"
    role = read_role({"pod.yaml": POD.replace("COMMAND", '"python", "x.py"'), "x.py": program}, "pod.yaml")
    assert role.value("engine") == "vllm"
    assert isinstance(role.value("checkpoint"), Unknown)


def test_an_unknown_word_of_the_command_leaves_its_value_open() -> None:
    job = JOB.replace("--model Qwen/Qwen3-8B", '--model "$MODEL"')
    role = read_role({"run.sbatch": job, "train.py": TRAINER.replace("EXTRA", "")}, "run.sbatch")
    assert isinstance(role.value("checkpoint"), Unknown)
    assert role.value("micro_batch_size") == 2


# ---- programs that nothing starts

ALONE = 'from vllm import LLM\nif __name__ == "__main__":\n    llm = LLM("Qwen/Qwen3-8B", tensor_parallel_size=2)\n'


def test_a_program_that_nothing_starts_is_a_workload_whose_host_is_open() -> None:
    (workload,) = read({"serve.py": ALONE}, "serve.py")
    (role,) = workload.roles
    assert (workload.name, workload.kind, workload.adapter) == ("serve", "inference", "python")
    assert values(role, "engine", "checkpoint", "tensor_parallel") == {
        "engine": "vllm",
        "checkpoint": "Qwen/Qwen3-8B",
        "tensor_parallel": 2,
    }
    assert isinstance(role.value("gpus_per_pod"), Unknown)
    assert isinstance(role.value("accelerator"), Unknown)


@pytest.mark.parametrize(
    ("path", "file", "text"),
    [
        ("serve.py", "run.sh", "python serve.py"),
        ("app/serve.py", "run.sh", "python -m app.serve --tp 2"),
        ("app/serve.py", "pod.yaml", 'command: ["python", "-m", "app.serve"]'),
        ("app/serve.py", "pod.yaml", "command:\n  - python\n  - -m\n  - app.serve\n"),
        ("app/serve.py", "pod.yaml", 'command: ["uvicorn", "app.serve:app", "--port", "80"]'),
        ("app/serve.py", "pod.yaml", "command:\n  - gunicorn\n  - -w\n  - '1'\n  - app.serve:app\n"),
        ("serve.py", "service.yaml", "applications:\n  - import_path: serve:app\n"),
        ("serve/__main__.py", "pod.yaml", 'command: ["python", "-m", "serve"]'),
    ],
)
def test_a_program_that_a_file_names_is_no_workload_of_its_own(path: str, file: str, text: str) -> None:
    assert read({path: ALONE, file: text}, path) == []


SCRIPT = """
    import argparse
    from own.start import start
    def main():
        parser = argparse.ArgumentParser()
        parser.add_argument("--model", default="Qwen/Qwen3-8B")
        start(parser.parse_args().model)
"""


@pytest.mark.parametrize(
    "project",
    [
        '[project.scripts]\nserve = "own.cli:main"',
        '[tool.poetry.scripts]\nserve = "own.cli:main"',
    ],
)
def test_a_command_that_a_package_installs_is_a_program(project: str) -> None:
    start = "from vllm import LLM\ndef start(name):\n    LLM(name)\n"
    files = {"src/own/cli.py": SCRIPT, "src/own/start.py": start, "pyproject.toml": project}
    assert read_role(files, "src/own/cli.py").text("checkpoint") == "Qwen/Qwen3-8B"
    assert read({**files, "pyproject.toml": project.replace("cli:main", "cli:other")}, "src/own/cli.py") == []


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("wandb/run-20260102_030405-abc/files/wandb-metadata.json", '{"program": "C:\\\\x\\\\serve.py"}'),
        (".github/workflows/start.yml", "on: push\njobs:\n  a: {steps: [{run: python serve.py}]}"),
        (".devcontainer/devcontainer.json", '{"customizations": {}, "postAttachCommand": "python serve.py"}'),
        ("setup.sh", 'echo "  python serve.py --tp 2"'),
    ],
)
def test_a_program_that_a_log_or_a_workflow_of_ci_names_is_a_workload_of_its_own(file: str, text: str) -> None:
    (workload,) = read({"serve.py": ALONE, file: text}, "serve.py")
    assert workload.roles[0].text("checkpoint") == "Qwen/Qwen3-8B"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("app.py", 'command: ["uvicorn", "main:app"]'),
        ("serve/__main__.py", 'command: ["python", "serve.sh"]'),
        ("serve.py", "image: serve:app"),
        ("serve.py", "args: [-w, serve]"),
    ],
)
def test_a_program_of_another_name_is_a_workload_of_its_own(path: str, text: str) -> None:
    assert len(read({path: ALONE, "pod.yaml": text}, path)) == 1


@pytest.mark.parametrize(
    "program",
    [
        "from transformers import AutoModel\nAutoModel.from_pretrained('Qwen/Qwen3-8B')\n",
        "from transformers import AutoTokenizer\nAutoTokenizer.from_pretrained('Qwen/Qwen3-8B')\n",
        "import vllm\nprint(vllm.__version__)\n",
        "import ray\nray.init()\n",
    ],
)
def test_a_module_that_runs_no_model_is_no_workload(program: str) -> None:
    assert read({"module.py": program}, "module.py") == []


def test_handlers_of_a_module_belong_to_the_application_that_imports_it() -> None:
    routes = """
        from fastapi import APIRouter
        from models import Chat
        router = APIRouter()
        @router.post("/chat")
        def chat(name):
            return Chat(name)
    """
    models = """
        from vllm import LLM
        class Chat:
            def __init__(self, name):
                self.llm = LLM(name)
    """
    app = """
        from fastapi import FastAPI
        from models import Chat
        from routes import router
        app = FastAPI()
        app.include_router(router)
        chat = Chat("Qwen/Qwen3-8B")
    """
    files = {"routes.py": routes, "models.py": models}
    assert len(read(files, "routes.py")) == 1
    assert read({**files, "app.py": app}, "routes.py") == []
    assert read_role({**files, "app.py": app}, "app.py").text("checkpoint") == "Qwen/Qwen3-8B"


@pytest.mark.parametrize(
    "start",
    [
        "@app.post('/x')\ndef x():\n    Chat()\n",
        "Chat()\n",
        "def x():\n    Chat()\nif __name__ == '__main__':\n    x()\n",
    ],
)
def test_a_program_without_a_word_about_gpus_starts_what_it_imports(
    start: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "chat.py").write_text("from vllm import LLM\nclass Chat:\n    llm = LLM('Qwen/Qwen3-8B')\n")
    (tmp_path / "app.py").write_text(f"from fastapi import FastAPI\nfrom chat import Chat\napp = FastAPI()\n{start}")
    monkeypatch.chdir(tmp_path)
    assert [workload.name for workload in gpulint.check(["app.py"]).workloads] == ["app"]


MODAL = """
    import modal
    app = modal.App("x")
    N = 2
    @app.function(gpu=f"A100-80GB:{N}")
    def serve():
        import subprocess
        subprocess.Popen(" ".join(["vllm", "serve", "Qwen/Qwen3-32B", "--tensor-parallel-size", str(N)]), shell=True)
    @app.cls(gpu=modal.gpu.A10G(count=1))
    class Embedder:
        @modal.enter()
        def load(self):
            from sentence_transformers import SentenceTransformer
            self.model = SentenceTransformer("BAAI/bge-m3")
    @app.function(gpu=["H100", "A100-80GB"])
    def either():
        from vllm import LLM
        LLM("Qwen/Qwen3-8B")
    @app.function()
    def on_cpu():
        pass
"""


def test_functions_of_modal_have_hardware_of_their_own() -> None:
    roles = {workload.name: workload.roles[0] for workload in read({"x.py": MODAL}, "x.py")}
    assert list(roles) == ["serve", "Embedder", "either"]
    assert values(roles["serve"], "accelerator", "gpus_per_pod", "engine", "checkpoint", "tensor_parallel") == {
        "accelerator": "a100-sxm4-80gb",
        "gpus_per_pod": 2,
        "engine": "vllm",
        "checkpoint": "Qwen/Qwen3-32B",
        "tensor_parallel": 2,
    }
    assert values(roles["Embedder"], "accelerator", "gpus_per_pod", "checkpoint") == {
        "accelerator": "a10g",
        "gpus_per_pod": 1,
        "checkpoint": "BAAI/bge-m3",
    }
    open_choice = roles["either"].value("accelerator")
    assert isinstance(open_choice, Unknown)
    assert open_choice.choices == ("a100-sxm4-80gb", "h100-sxm-80gb")


def test_a_package_comes_before_a_module_of_the_same_name() -> None:
    program = "from vllm import LLM\nfrom bot import MODEL\nLLM(MODEL)"
    files = {"x.py": program, "bot.py": "MODEL = 'Qwen/Qwen3-8B'", "bot/__init__.py": "MODEL = 'Qwen/Qwen3-32B'"}
    assert read_role(files, "x.py").value("checkpoint") == "Qwen/Qwen3-32B"


def test_a_function_of_modal_gets_what_the_local_entry_point_gives_it() -> None:
    program = """
        import modal
        app = modal.App("x")
        @app.function(gpu="H100")
        def serve(name):
            from vllm import LLM
            LLM(name)
        @app.local_entrypoint()
        def main(model: str = "Qwen/Qwen3-8B"):
            serve.remote(model)
    """
    role = read_role({"x.py": program}, "x.py")
    assert values(role, "checkpoint", "accelerator") == {"checkpoint": "Qwen/Qwen3-8B", "accelerator": "h100-sxm-80gb"}


def test_each_function_of_modal_is_listed_where_it_asks_for_gpus() -> None:
    places = [(workload.name, workload.location().line) for workload in read({"x.py": MODAL}, "x.py")]
    assert places == [("serve", 5), ("Embedder", 9), ("either", 15)]


@pytest.mark.parametrize(
    ("decorator", "accelerator", "gpus"),
    [
        ("@beam.endpoint(gpu='RTX4090', gpu_count=2)", "rtx-4090", 2),
        ("@bentoml.service(resources={'gpu': 1, 'gpu_type': 'nvidia-l4'})", "l4", 1),
        ("@ray.serve.deployment(ray_actor_options={'num_gpus': 2, 'accelerator_type': 'L4'})", "l4", 2),
        ("@ray.remote(num_gpus=1)", None, 1),
    ],
)
def test_other_platforms_state_hardware(decorator: str, accelerator: str | None, gpus: int) -> None:
    program = (
        f"import beam, bentoml, ray\nfrom vllm import LLM\n{decorator}\nclass S:\n def __init__(self):\n  LLM('a/b')\n"
    )
    role = read_role({"x.py": program}, "x.py")
    assert role.value("gpus_per_pod") == gpus
    found = role.value("accelerator")
    assert found == accelerator if accelerator else isinstance(found, Unknown)
    assert role.value("engine") == "vllm"


def test_a_word_that_cannot_be_read_and_may_choose_a_trainer_leaves_the_program_unknown() -> None:
    program = """
        import sys
        from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
        model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen3-8B")
        def train():
            Trainer(model=model, args=TrainingArguments("o", per_device_train_batch_size=2)).train()
        METHODS = {"train": train}
        METHODS[sys.argv[1]]()
        model.generate(max_new_tokens=8)
    """
    job = JOB.replace("torchrun --nproc_per_node 4 train.py --model Qwen/Qwen3-8B", "python train.py METHOD")
    trained = read_role({"run.sbatch": job.replace("METHOD", "train"), "train.py": program}, "run.sbatch")
    assert values(trained, "engine", "micro_batch_size") == {"engine": "transformers", "micro_batch_size": 2}
    unknown = read_role({"run.sbatch": job.replace("METHOD", '"$METHOD"'), "train.py": program}, "run.sbatch")
    assert values(unknown, "engine", "task") == {"engine": None, "task": None}


def test_a_suggestion_edits_the_literal_of_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pod = """
        apiVersion: v1
        kind: Pod
        metadata: {name: llm}
        spec:
          nodeSelector: {nvidia.com/gpu.product: NVIDIA-L40S}
          containers:
            - name: server
              image: registry.example/llm:1
              command: ["python", "serve.py"]
              resources: {limits: {nvidia.com/gpu: 2}}
              volumeMounts: [{name: shm, mountPath: /dev/shm}]
          volumes: [{name: shm, emptyDir: {medium: Memory}}]
    """
    serve = 'from vllm import LLM\nLLM("Qwen/Qwen2.5-32B-Instruct", tensor_parallel_size=1, max_model_len=16384)\n'
    for name, text in {"pod.yaml": pod, "serve.py": serve}.items():
        (tmp_path / name).write_text(textwrap.dedent(text))
    monkeypatch.chdir(tmp_path)
    report = gpulint.check(["pod.yaml"])
    (finding,) = (finding for finding in report.findings if finding.rule == "weights-exceed-memory")
    assert (finding.location.path, finding.location.line) == ("serve.py", 2)
    assert "pod.yaml" in [place.location.path for place in finding.related]
    (change,) = finding.suggestions[0].edits
    assert (change.location.path, change.location.line, change.old, change.new) == ("serve.py", 2, "1", "2")


TUNE = """
    import argparse
    from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
    parser = argparse.ArgumentParser()
    parser.add_argument("--deepspeed")
    options = parser.parse_args()
    model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen3-8B")
    arguments = TrainingArguments(output_dir="out", deepspeed=options.deepspeed, bf16=True)
    Trainer(model=model, args=arguments).train()
"""


@pytest.mark.parametrize(("stage", "sharding"), [(3, "deepspeed"), (1, "deepspeed")])
def test_deepspeed_leaves_sharding_to_the_settings_that_a_program_names(stage: int, sharding: str) -> None:
    command = '"deepspeed", "--num_gpus=2", "train.py", "--deepspeed", "zero.json"'
    settings = f'{{"bf16": {{"enabled": true}}, "zero_optimization": {{"stage": {stage}}}}}'
    role = read_role({"pod.yaml": POD.replace("COMMAND", command), "train.py": TUNE, "zero.json": settings}, "pod.yaml")
    assert values(role, "engine", "sharding", "zero_stage") == {
        "engine": "transformers",
        "sharding": sharding,
        "zero_stage": stage,
    }


@pytest.mark.parametrize("launcher", ["torchrun", "deepspeed"])
def test_nothing_is_open_of_a_trainer_that_a_program_settles_itself(launcher: str) -> None:
    command = f'"{launcher}", "{"--nproc_per_node=2" if launcher == "torchrun" else "--num_gpus=2"}", "train.py"'
    role = read_role({"pod.yaml": POD.replace("COMMAND", command), "train.py": TUNE}, "pod.yaml")
    assert [name for name, field in role.fields.items() if isinstance(field.value, Unknown)] == []


FLUX = """
    import torch
    from diffusers import FluxPipeline
    pipe = FluxPipeline.from_pretrained("black-forest-labs/FLUX.1-dev", torch_dtype=torch.bfloat16)
    LAST
"""
L4 = POD.replace("spec:", "spec:\n      nodeSelector: {cloud.google.com/gke-accelerator: nvidia-l4}", 1).replace(
    "gpu: 2", "gpu: 1"
)


def list_memory_errors(files: dict[str, str], folder: Path) -> list[str]:
    for name, text in files.items():
        (folder / name).write_text(textwrap.dedent(text))
    return [found.rule for found in gpulint.check(folder).findings if found.rule.startswith(("weights-", "program-"))]


@pytest.mark.parametrize(
    ("last", "rules"),
    [
        ("pipe.to('cuda')", ["weights-exceed-all-gpus"]),
        ("pipe.enable_model_cpu_offload()", []),
        ("quantize_(pipe.transformer, int8())\n    pipe.to('cuda')", []),
    ],
)
def test_a_pipeline_of_33_gb_on_24_gb_fails_unless_it_is_offloaded_or_quantised(
    last: str, rules: list[str], tmp_path: Path
) -> None:
    files = {"pod.yaml": L4.replace("COMMAND", '"python", "draw.py"'), "draw.py": FLUX.replace("LAST", last)}
    assert list_memory_errors(files, tmp_path) == rules


@pytest.mark.parametrize(
    ("program", "kind"),
    [(SERVE, "inference"), (TUNE, "training"), ("print('nothing that is known')", "training")],
)
def test_a_job_does_what_its_program_does(program: str, kind: str) -> None:
    job = """
        apiVersion: batch/v1
        kind: Job
        metadata: {name: label}
        spec:
          template:
            spec:
              containers:
                - name: main
                  image: registry.example/label:1
                  command: [python, label.py]
                  env: [{name: MODEL_ID, value: Qwen/Qwen3-8B}]
                  resources: {limits: {nvidia.com/gpu: 2}}
    """
    (workload,) = read({"job.yaml": job, "label.py": program}, "job.yaml")
    assert workload.kind == kind


LOADS = "from vllm import LLM\ndef load(name='Qwen/Qwen3-8B'):\n    return LLM(name)\n"


def test_a_module_that_nothing_imports_computes_what_its_functions_load_by_default() -> None:
    (workload,) = read({"module.py": LOADS}, "module.py")
    assert values(workload.roles[0], "engine", "checkpoint") == {"engine": "vllm", "checkpoint": "Qwen/Qwen3-8B"}


def test_a_module_belongs_to_the_program_that_imports_it() -> None:
    serve = "from module import load\nload('Qwen/Qwen3-4B').generate('x')\n"
    files = {"module.py": LOADS, "serve.py": serve, "test_module.py": "import module\nmodule.load()\n"}
    assert read(files, "module.py") == []
    (workload,) = read(files, "serve.py")
    assert values(workload.roles[0], "checkpoint") == {"checkpoint": "Qwen/Qwen3-4B"}
    assert read({"test_module.py": LOADS}, "test_module.py") == []


def test_a_workload_of_a_program_stands_in_its_own_file() -> None:
    model = """
        from transformers import AutoModelForCausalLM
        def load():
            return AutoModelForCausalLM.from_pretrained("Qwen/Qwen3-8B").to("cuda")
    """
    files = {"app/model.py": model, "app/main.py": "import model\nmodel.load().generate('x')\n"}
    (workload,) = read(files, "app/main.py")
    assert workload.roles[0].anchor.document.path == "app/main.py"


def test_a_script_that_only_stops_a_program_does_not_start_it() -> None:
    serve = "from vllm import LLM\nLLM('Qwen/Qwen3-8B').generate('x')\n"
    assert len(read({"serve.py": serve, "stop.sh": "pkill -f serve.py\n"}, "serve.py")) == 1
    assert read({"serve.py": serve, "start.sh": "python serve.py\n"}, "serve.py") == []


def test_an_argument_that_only_one_branch_adds_is_not_stated() -> None:
    serve = """
        import subprocess, torch
        words = ["vllm", "serve", "Qwen/Qwen3-8B", "--max-model-len", "8192"]
        if torch.cuda.get_device_name() == "NVIDIA H100":
            words.extend(["--kv-cache-dtype", "fp8"])
        subprocess.run(words)
    """
    job = "#!/bin/bash\n#SBATCH --gres=gpu:a100:1\npython serve.py\n"
    role = read_role({"run.sbatch": job, "serve.py": serve}, "run.sbatch")
    assert values(role, "engine", "max_model_len") == {"engine": "vllm", "max_model_len": 8192}
    assert isinstance(role.value("kv_cache_dtype"), Unknown)
