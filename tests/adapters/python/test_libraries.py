"""Libraries: trainers, engines and frameworks of Python programs, and programs that only look like GPU workloads."""

from __future__ import annotations

import textwrap

import pytest

from gpulint.pipeline import enrichment
from gpulint.pipeline.rule_tests.samples import ExampleRepository
from gpulint.workload import Role, Unknown, Workload


def read(program: str, path: str = "x.py", **files: str) -> list[Workload]:
    texts = {path: program, **files}
    repository = ExampleRepository({name: textwrap.dedent(text).encode() for name, text in texts.items()})
    (document,) = repository.read_documents(path)
    return list(enrichment.read(document, repository))


def read_role(program: str, path: str = "x.py", **files: str) -> Role:
    (workload,) = read(program, path, **files)
    (role,) = workload.roles
    return role


def values(role: Role, *names: str) -> dict[str, object]:
    return {name: role.value(name) for name in names}


# ---- trainers

LOOP = "for batch in data:\n    model(batch).loss.backward()\n"
QWEN = "from transformers import AutoModelForCausalLM\nmodel = AutoModelForCausalLM.from_pretrained('Qwen/Qwen3-8B')\n"


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        pytest.param(
            QWEN
            + "import torch\nfrom composer import Trainer\nfrom composer.models import HuggingFaceModel\n"
            + "Trainer(model=HuggingFaceModel(model), optimizers=torch.optim.AdamW(model.parameters()),\n"
            + "        train_dataloader=torch.utils.data.DataLoader(data, batch_size=16), precision='amp_bf16',\n"
            + "        device_train_microbatch_size=2,\n"
            + "        parallelism_config={'fsdp': {'activation_checkpointing': True}}).fit()",
            {
                "task": "training",
                "checkpoint": "Qwen/Qwen3-8B",
                "optimizer": "adamw",
                "training_dtype": "bfloat16",
                "micro_batch_size": 2,
                "sharding": "fsdp",
                "activation_checkpointing": "full",
            },
            id="Composer",
        ),
        pytest.param(
            "from torchtune.models.llama3_1 import lora_llama3_1_8b\nimport torch\n"
            "model = lora_llama3_1_8b(['q_proj', 'v_proj'], lora_rank=32, apply_lora_to_mlp=True)\n"
            "torch.optim.AdamW(model.parameters())\n" + LOOP,
            {
                "task": "training",
                "checkpoint": "meta-llama/Meta-Llama-3.1-8B-Instruct",
                "lora_rank": 32,
                "lora_targets": "qvgud",
                "quantization": None,
            },
            id="torchtune with LoRA",
        ),
        pytest.param(
            "from torchtune.models.qwen2_5 import qlora_qwen2_5_7b_instruct\n"
            "model = qlora_qwen2_5_7b_instruct(['q_proj'])\n" + LOOP,
            {"checkpoint": "Qwen/Qwen2.5-7B-Instruct", "lora_rank": 8, "quantization": "nf4-double"},
            id="torchtune with QLoRA",
        ),
        pytest.param(
            "from torchtitan.config import JobConfig\nfrom torchtitan.train import Trainer\n"
            "config = JobConfig()\nconfig.model.name = 'llama3'\nconfig.model.flavor = '8B'\n"
            "config.training.local_batch_size = 2\nconfig.training.seq_len = 4096\nTrainer(config).train()",
            {
                "engine": "torchtitan",
                "checkpoint": "meta-llama/Llama-3.1-8B",
                "micro_batch_size": 2,
                "sequence_length": 4096,
            },
            id="torchtitan",
        ),
        pytest.param(
            "import torch\nfrom megatron.core import parallel_state\n"
            "from megatron.core.models.gpt.gpt_model import GPTModel\n"
            "from megatron.core.transformer.transformer_config import TransformerConfig\n"
            "parallel_state.initialize_model_parallel(tensor_model_parallel_size=2, pipeline_model_parallel_size=4)\n"
            "config = TransformerConfig(num_layers=32, hidden_size=4096, num_attention_heads=32)\n"
            "model = GPTModel(config=config, vocab_size=32000, max_sequence_length=4096)\n"
            "torch.optim.Adam(model.parameters())\n" + LOOP,
            {"layers": 32, "attention_heads": 32, "tensor_parallel": 2, "pipeline_parallel": 4, "optimizer": "adamw"},
            id="the core of Megatron",
        ),
        pytest.param(
            QWEN
            + "import torch\nfrom torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard\n"
            + "fully_shard(model, mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16))\n"
            + LOOP,
            {"task": "training", "sharding": "fsdp", "training_dtype": "bfloat16"},
            id="FSDP2",
        ),
        pytest.param(
            QWEN
            + "import lightning as L\nimport torch\n"
            + "class Net(L.LightningModule):\n"
            + "    def configure_optimizers(self):\n        return torch.optim.SGD(self.parameters())\n"
            + "L.Trainer(accelerator='gpu', devices=4, num_nodes=2, strategy='fsdp').fit(Net())",
            {"optimizer": "sgd", "gpus_per_pod": 4, "pods_per_replica": 2, "gpus_per_replica": 8},
            id="Lightning",
        ),
    ],
)
def test_a_trainer_is_read_as_a_library(program: str, expected: dict[str, object]) -> None:
    assert values(read_role(program), *expected) == expected


MEGATRON = """
    from megatron.core.models.gpt import GPTModel
    from megatron.training import get_args, pretrain
    if __name__ == "__main__":
        pretrain(datasets, provider, None, step, args_defaults={"num_layers": 48, "vocab_size": 32000,
                 "tokenizer_type": "NullTokenizer", "bf16": True})
"""


def test_an_entry_point_of_megatron_takes_the_words_of_its_command_and_the_defaults_of_the_program() -> None:
    job = """\
        #!/bin/bash
        #SBATCH --nodes=1
        #SBATCH --gres=gpu:h100:8
        torchrun --nproc_per_node 8 own.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 \\
            --seq-length 4096 --max-position-embeddings 4096 --micro-batch-size 1 --tensor-model-parallel-size 2
    """
    role = read_role(job, "run.sbatch", **{"own.py": MEGATRON})
    assert values(role, "engine", "layers", "training_dtype", "tensor_parallel", "micro_batch_size") == {
        "engine": "megatron-lm",
        "layers": 32,
        "training_dtype": "bfloat16",
        "tensor_parallel": 2,
        "micro_batch_size": 1,
    }
    assert "layers=32 hidden=4096" in str(role.value("network"))


@pytest.mark.parametrize(
    "sets",
    [
        "sys.argv += ['--num-layers', '32', '--micro-batch-size', str(SIZE)]",
        "sys.argv.extend(['--num-layers', '32', '--micro-batch-size', f'{SIZE}'])",
        "sys.argv = ['x.py', '--num-layers', '32', '--micro-batch-size', '2']",
    ],
)
def test_arguments_of_megatron_may_be_set_in_python(sets: str) -> None:
    role = read_role(f"""
        import sys
        from megatron.training import pretrain
        SIZE = 2
        {sets}
        pretrain(datasets, provider, None, step)
    """)
    assert values(role, "engine", "layers", "micro_batch_size") == {
        "engine": "megatron-lm",
        "layers": 32,
        "micro_batch_size": 2,
    }


# ---- servers of the program's own

LOADED = "AutoModelForCausalLM.from_pretrained('Qwen/Qwen3-8B', torch_dtype=torch.float16)"


@pytest.mark.parametrize(
    "program",
    [
        pytest.param(
            f"""
            import runpod
            model = None
            def handler(job):
                global model
                model = model or {LOADED}.to("cuda")
            runpod.serverless.start({{"handler": handler}})
            """,
            id="RunPod",
        ),
        pytest.param(
            f"""
            from cog import BasePredictor
            class Predictor(BasePredictor):
                def setup(self):
                    self.model = {LOADED}.to("cuda")
            """,
            id="Cog",
        ),
        pytest.param(
            f"""
            import litserve as ls
            class API(ls.LitAPI):
                def setup(self, device):
                    self.model = {LOADED}.to(device)
            ls.LitServer(API(), accelerator="gpu").run(port=8000)
            """,
            id="LitServe",
        ),
        pytest.param(
            f"""
            from ts.torch_handler.base_handler import BaseHandler
            class Handler(BaseHandler):
                def initialize(self, context):
                    self.device = torch.device("cuda:0")
                    self.model = {LOADED}.to(self.device)
            """,
            id="TorchServe",
        ),
        pytest.param(
            f"""
            from fastapi import FastAPI
            app = FastAPI()
            @app.on_event("startup")
            def load():
                app.state.model = {LOADED}.cuda()
            """,
            id="FastAPI at start-up",
        ),
        pytest.param(
            f"""
            from contextlib import asynccontextmanager
            from fastapi import FastAPI
            @asynccontextmanager
            async def lifespan(app):
                app.state.model = {LOADED}.to("cuda")
                yield
            app = FastAPI(lifespan=lifespan)
            """,
            id="FastAPI's lifespan",
        ),
        pytest.param(
            f"""
            import streamlit as st
            @st.cache_resource
            def load():
                return {LOADED}.to("cuda" if torch.cuda.is_available() else "cpu")
            load().generate()
            """,
            id="Streamlit",
        ),
        pytest.param(
            f"""
            import gradio as gr
            model = {LOADED}.to("cuda:0")
            gr.ChatInterface(lambda message, history: model.generate(message)).launch()
            """,
            id="Gradio",
        ),
    ],
)
def test_a_server_that_loads_a_model_runs_it(program: str) -> None:
    text = "import torch\nfrom transformers import AutoModelForCausalLM\n" + textwrap.dedent(program)
    role = read_role(text)
    assert values(role, "task", "engine", "checkpoint", "weight_dtype") == {
        "task": "inference",
        "engine": "transformers",
        "checkpoint": "Qwen/Qwen3-8B",
        "weight_dtype": "float16",
    }


def test_a_worker_of_runpod_is_a_workload_though_its_dockerfile_starts_it() -> None:
    handler = """
        import runpod
        from worker.model import load
        def main():
            load()
            runpod.serverless.start({"handler": print})
        main()
    """
    model = """
        import torch
        from transformers import AutoModelForCausalLM
        def load():
            AutoModelForCausalLM.from_pretrained("Qwen/Qwen3-8B", dtype=torch.bfloat16, device_map={"": 0})
    """
    files = {"src/worker/model.py": model, "Dockerfile": 'FROM pytorch/pytorch\nCMD ["python", "-u", "handler.py"]\n'}
    role = read_role(handler, "handler.py", **files)
    assert values(role, "checkpoint", "weight_dtype") == {"checkpoint": "Qwen/Qwen3-8B", "weight_dtype": "bfloat16"}


def test_a_path_names_a_checkpoint_like_its_text() -> None:
    role = read_role("""
        from pathlib import Path
        import torch
        from transformers import AutoModelForCausalLM
        MODELS = Path("/models")
        AutoModelForCausalLM.from_pretrained(MODELS / "Qwen3-8B", dtype=torch.bfloat16, device_map="auto")
    """)
    assert role.value("checkpoint") == "/models/Qwen3-8B"


def test_litserve_starts_a_copy_of_the_model_on_each_device() -> None:
    role = read_role(f"""
        import litserve as ls
        import torch
        from transformers import AutoModelForCausalLM
        class API(ls.LitAPI):
            def setup(self, device):
                self.model = {LOADED}.to(device)
        ls.LitServer(API(), accelerator="gpu", devices=2).run(port=8000)
    """)
    assert values(role, "gpus_per_pod", "gpus_per_replica", "replicas") == {
        "gpus_per_pod": 2,
        "gpus_per_replica": 1,
        "replicas": 2,
    }


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        pytest.param(
            "from ctransformers import AutoModelForCausalLM\n"
            "AutoModelForCausalLM.from_pretrained('TheBloke/Llama-2-13B-GGUF', model_file='llama-2-13b.Q4_K_M.gguf',\n"
            "                                     gpu_layers=50)",
            {"engine": "llama.cpp", "gpu_layers": 50, "quantization": "gguf-q4_k_m"},
            id="ctransformers",
        ),
        pytest.param(
            "from llama_cpp import Llama\nLlama.from_pretrained('a/b-GGUF', filename='m-Q4_K_M.gguf', n_gpu_layers=-1)",
            {"engine": "llama.cpp", "gpu_layers": 999, "max_model_len": 512},
            id="llama-cpp-python with its default context",
        ),
        pytest.param(
            "from exllamav2 import ExLlamaV2, ExLlamaV2Cache, ExLlamaV2Config\n"
            "config = ExLlamaV2Config('/models/Llama-3.1-8B-exl2')\nmodel = ExLlamaV2(config)\n"
            "model.load_autosplit(ExLlamaV2Cache(model, max_seq_len=32768, lazy=True))",
            {"task": "inference", "checkpoint": "/models/Llama-3.1-8B-exl2", "max_model_len": 32768},
            id="ExLlamaV2",
        ),
        pytest.param(
            "import torch\nfrom diffusers import AutoPipelineForText2Image, UNet2DConditionModel\n"
            "unet = UNet2DConditionModel.from_pretrained('latent-consistency/lcm-sdxl', torch_dtype=torch.float16)\n"
            "pipe = AutoPipelineForText2Image.from_pretrained('stabilityai/stable-diffusion-xl-base-1.0', unet=unet,\n"
            "                                                 torch_dtype=torch.float16)\n"
            "pipe.enable_model_cpu_offload()",
            {"checkpoint": "stabilityai/stable-diffusion-xl-base-1.0", "weight_dtype": "float16", "spills": True},
            id="a pipeline of Diffusers with a part of another model",
        ),
    ],
)
def test_other_engines_are_recognised(program: str, expected: dict[str, object]) -> None:
    assert values(read_role(program), *expected) == expected


def test_the_bits_of_a_model_for_exllama_are_left_open() -> None:
    role = read_role("from exllamav2 import ExLlamaV2Config\nExLlamaV2Config(model_dir='/models/Llama-3.1-8B-exl2')")
    assert isinstance(role.value("quantization"), Unknown)


def test_a_service_of_bentoml_returns_the_command_of_its_server() -> None:
    role = read_role("""
        import bentoml
        image = bentoml.images.Image(python_version="3.11").python_packages("vllm==0.8.5")
        @bentoml.service(image=image, resources={"gpu": 2, "gpu_type": "nvidia-l4"})
        class Chat:
            model = "Qwen/Qwen3-8B"
            def __command__(self):
                return ["vllm", "serve", self.model, "--tensor-parallel-size", "2"]
    """)
    assert values(role, "engine", "engine_version", "checkpoint", "tensor_parallel", "gpus_per_pod") == {
        "engine": "vllm",
        "engine_version": "0.8.5",
        "checkpoint": "Qwen/Qwen3-8B",
        "tensor_parallel": 2,
        "gpus_per_pod": 2,
    }


# ---- releases

MODAL = """
    import modal
    image = modal.Image.debian_slim(python_version="3.12")IMAGE
    app = modal.App("x", image=image)
    @app.function(gpu=modal.gpu.H100(count=2))
    def serve():
        from vllm import LLM
        LLM("Qwen/Qwen3-32B", tensor_parallel_size=2)
"""


@pytest.mark.parametrize(
    ("installs", "release"),
    [
        ('.pip_install("torch==2.4.0", "vllm==0.6.3")', "0.6.3"),
        ('.uv_pip_install(["vllm[flashinfer]==0.9.1"])', "0.9.1"),
        ('.run_commands("uv pip install --system vllm==0.10.0")', "0.10.0"),
        ('.pip_install("vllm==0.6.3").pip_install("vllm==0.6.4")', "0.6.4"),
        ('.pip_install_from_requirements("requirements.txt")', "0.8.2"),
        ('.pip_install("vllm>=0.6.3")', None),
        ('.pip_install("my-vllm==0.6.3")', None),
    ],
)
def test_the_image_of_a_function_states_the_release_of_its_engine(installs: str, release: str | None) -> None:
    role = read_role(MODAL.replace("IMAGE", installs), **{"requirements.txt": "vllm==0.8.2\n"})
    assert values(role, "engine_version", "accelerator", "gpus_per_pod") == {
        "engine_version": release,
        "accelerator": "h100-sxm-80gb",
        "gpus_per_pod": 2,
    }


def test_the_image_that_an_image_is_built_on_states_the_release_of_its_engine() -> None:
    role = read_role("""
        from modal import App, Image
        image = Image.from_registry("openmmlab/lmdeploy:v0.7.3-cu12").pip_install("timm==1.0.15")
        app = App("x")
        @app.function(image=image, gpu="H100")
        def serve():
            import subprocess
            subprocess.Popen(["lmdeploy", "serve", "api_server", "Qwen/Qwen3-14B", "--tp", "1"])
    """)
    assert values(role, "engine", "engine_version", "checkpoint") == {
        "engine": "lmdeploy",
        "engine_version": "0.7.3",
        "checkpoint": "Qwen/Qwen3-14B",
    }


def test_llm_of_older_releases_has_no_fixed_number_of_batched_tokens() -> None:
    """vllm v0.6.3 vllm/config.py SchedulerConfig: the largest of the context and 2,048; v0.8.0 has 8,192."""
    for release, tokens in (("0.6.3", None), ("0.8.2", 8192)):
        role = read_role(MODAL.replace("IMAGE", f'.pip_install("vllm=={release}")'))
        assert role.value("max_num_batched_tokens") == tokens


@pytest.mark.parametrize(
    ("files", "release"),
    [
        ({"requirements.txt": "torch==2.4.0\nvllm==0.6.3  # pinned\n"}, "0.6.3"),
        ({"app/requirements.txt": "vllm[audio]==0.7.1\n", "requirements.txt": "vllm==0.6.3\n"}, "0.7.1"),
        ({"pyproject.toml": '[project]\ndependencies = ["vllm==0.8.4"]\n'}, "0.8.4"),
        ({"environment.yml": "dependencies:\n  - pip:\n      - vllm==0.9.0\n"}, "0.9.0"),
        ({"requirements.txt": "# vllm==0.6.3\nvllm>=0.7\n"}, None),
        ({"other/requirements.txt": "vllm==0.6.3\n"}, None),
    ],
)
def test_requirements_next_to_a_program_state_the_release_of_its_engine(
    files: dict[str, str], release: str | None
) -> None:
    role = read_role("from vllm import LLM\nLLM('Qwen/Qwen3-8B')", "app/serve.py", **files)
    assert role.value("engine_version") == release
    if release is not None:
        assert role.fields["engine_version"].origins[0].document.path in files


# ---- arguments of vLLM that a program parses

PARSED = """
    import os
    from vllm.engine.arg_utils import AsyncEngineArgs
    from vllm.engine.async_llm_engine import AsyncLLMEngine
    from vllm.entrypoints.openai.cli_args import make_arg_parser
    from vllm.utils import FlexibleArgumentParser
    def parse(given):
        words = []
        for key, value in given.items():
            words.extend([f"--{key}", str(value)])
        return make_arg_parser(FlexibleArgumentParser()).parse_args(args=words)
    settings = {"model": os.environ["MODEL_ID"], "tensor-parallel-size": os.environ["TENSOR_PARALLELISM"]}
    engine = AsyncLLMEngine.from_engine_args(AsyncEngineArgs.from_cli_args(parse(settings)))
"""
SERVICE = """
    apiVersion: ray.io/v1
    kind: RayService
    metadata: {name: chat}
    spec:
      serveConfigV2: |
        applications:
          - name: llm
            import_path: app.server:engine
            runtime_env:
              env_vars: {MODEL_ID: Qwen/Qwen3-8B, TENSOR_PARALLELISM: "2"}
      rayClusterConfig:
        headGroupSpec:
          template: {spec: {containers: [{name: head, image: "rayproject/ray:2.40.0"}]}}
        workerGroupSpecs:
          - groupName: gpus
            replicas: 1
            template:
              spec:
                containers:
                  - {name: worker, image: "rayproject/ray:2.40.0", resources: {limits: {nvidia.com/gpu: 2}}}
"""


def test_words_that_a_program_gives_the_parser_of_vllm_are_those_of_its_server() -> None:
    program = PARSED.replace('os.environ["MODEL_ID"]', '"Qwen/Qwen3-8B"').replace(
        'os.environ["TENSOR_PARALLELISM"]', "4"
    )
    assert values(read_role(program), "engine", "checkpoint", "tensor_parallel") == {
        "engine": "vllm",
        "checkpoint": "Qwen/Qwen3-8B",
        "tensor_parallel": 4,
    }


def test_a_program_may_take_the_arguments_of_vllm_from_its_command() -> None:
    program = """
        from vllm import AsyncEngineArgs, AsyncLLMEngine
        from vllm.utils import FlexibleArgumentParser
        parser = AsyncEngineArgs.add_cli_args(FlexibleArgumentParser())
        args = parser.parse_args()
        AsyncLLMEngine.from_engine_args(AsyncEngineArgs.from_cli_args(args))
    """
    job = "#!/bin/bash\n#SBATCH --gres=gpu:h100:2\npython serve.py --model Qwen/Qwen3-8B --tensor-parallel-size 2\n"
    role = read_role(job, "run.sbatch", **{"serve.py": program})
    assert values(role, "engine", "checkpoint", "tensor_parallel") == {
        "engine": "vllm",
        "checkpoint": "Qwen/Qwen3-8B",
        "tensor_parallel": 2,
    }


def test_a_rayservice_imports_its_application_with_its_own_variables() -> None:
    (workload,) = read(SERVICE, "service.yaml", **{"app/server.py": PARSED})
    (role,) = [role for role in workload.roles if role.value("gpus_per_pod") == 2]
    assert values(role, "engine", "checkpoint", "tensor_parallel") == {
        "engine": "vllm",
        "checkpoint": "Qwen/Qwen3-8B",
        "tensor_parallel": 2,
    }
    assert read(PARSED, "app/server.py", **{"service.yaml": SERVICE}) == []


def test_a_class_of_ray_serve_gets_the_settings_that_it_is_bound_to() -> None:
    role = read_role("""
        from ray import serve
        from vllm import AsyncEngineArgs, AsyncLLMEngine
        @serve.deployment(ray_actor_options={"num_gpus": 2})
        class Chat:
            def __init__(self, args):
                self.engine = AsyncLLMEngine.from_engine_args(args)
        app = Chat.bind(AsyncEngineArgs(model="Qwen/Qwen3-8B", tensor_parallel_size=2))
    """)
    assert values(role, "engine", "checkpoint", "tensor_parallel", "gpus_per_pod") == {
        "engine": "vllm",
        "checkpoint": "Qwen/Qwen3-8B",
        "tensor_parallel": 2,
        "gpus_per_pod": 2,
    }


# ---- what is no GPU workload


@pytest.mark.parametrize(
    "program",
    [
        pytest.param("from llama_cpp import Llama\nLlama(model_path='m.gguf', n_ctx=2048)", id="layers on the CPU"),
        pytest.param(
            "from ctransformers import AutoModelForCausalLM\nAutoModelForCausalLM.from_pretrained('a/b-GGUF')",
            id="ctransformers on the CPU",
        ),
        pytest.param("from mlx_lm import load\nload('mlx-community/Qwen3-8B-4bit')", id="MLX"),
        pytest.param(
            "from transformers import AutoTokenizer\nfrom openai import OpenAI\n"
            "AutoTokenizer.from_pretrained('Qwen/Qwen3-8B')\n"
            "OpenAI(base_url='http://vllm:8000/v1').chat.completions.create(model='Qwen/Qwen3-8B', messages=[])",
            id="a client of OpenAI's API",
        ),
        pytest.param(
            "from huggingface_hub import InferenceClient\nimport transformers\n"
            "InferenceClient('http://tgi:8080').text_generation('x', max_new_tokens=8)",
            id="a client of Text Generation Inference",
        ),
        pytest.param(
            "import argparse\nfrom transformers import AutoTokenizer\n"
            "argparse.ArgumentParser(description='vllm serve Qwen/Qwen3-8B')\nprint('vllm serve Qwen/Qwen3-8B')",
            id="a help text",
        ),
        pytest.param(
            "from unittest.mock import patch\nimport pytest\n@patch('vllm.LLM')\ndef test_x(made):\n"
            "    from vllm import LLM\n    LLM('Qwen/Qwen3-8B').generate('x')\n"
            "if __name__ == '__main__':\n    pytest.main([__file__])",
            id="a test with a mock",
        ),
        pytest.param(
            "from peft import PeftModel\nfrom transformers import AutoModelForCausalLM\n"
            "base = AutoModelForCausalLM.from_pretrained('Qwen/Qwen3-32B', device_map='cpu')\n"
            "PeftModel.from_pretrained(base, 'out').merge_and_unload().save_pretrained('merged')",
            id="merging adapters on the CPU",
        ),
        pytest.param(
            "from peft import PeftModel\nfrom transformers import AutoModelForCausalLM\n"
            "base = AutoModelForCausalLM.from_pretrained('Qwen/Qwen3-32B', device_map='auto')\n"
            "PeftModel.from_pretrained(base, 'out').merge_and_unload().save_pretrained('merged')",
            id="merging adapters",
        ),
        pytest.param(
            "from huggingface_hub import snapshot_download\nfrom transformers import AutoModelForCausalLM\n"
            "snapshot_download('Qwen/Qwen3-32B')\nAutoModelForCausalLM.from_pretrained('Qwen/Qwen3-32B')",
            id="a download",
        ),
        pytest.param(
            "import lightning as L\nL.Trainer(accelerator='cpu').fit(model)",
            id="a Trainer on the CPU",
        ),
        pytest.param(
            "import torch, transformers\nmodel = torch.nn.Linear(10, 1)\nmodel(x).sum().backward()",
            id="a loop over a network of its own on the CPU",
        ),
        pytest.param(
            "import modal\napp = modal.App('x')\n@app.function()\ndef fetch():\n"
            "    from huggingface_hub import snapshot_download\n    snapshot_download('Qwen/Qwen3-32B')",
            id="a function of Modal without a GPU",
        ),
    ],
)
def test_a_program_that_needs_no_gpu_is_no_workload(program: str) -> None:
    assert read(program) == []


@pytest.mark.parametrize(
    "program",
    [
        pytest.param(
            "from transformers import AutoModelForCausalLM\n"
            "AutoModelForCausalLM.from_pretrained('Qwen/Qwen3-0.6B', device_map='cpu').generate('x')",
            id="by device_map",
        ),
        pytest.param(
            "import torch\nfrom transformers import AutoModelForCausalLM\n"
            "AutoModelForCausalLM.from_pretrained('Qwen/Qwen3-0.6B').to(torch.float32).generate('x')",
            id="by default",
        ),
        pytest.param(
            "from transformers import pipeline\npipeline('text-generation', 'Qwen/Qwen3-0.6B', device=-1)('x')",
            id="a pipeline",
        ),
        pytest.param(
            "from faster_whisper import WhisperModel\nWhisperModel('small', device='cpu').transcribe('a.wav')",
            id="speech",
        ),
        pytest.param(
            "from sentence_transformers import SentenceTransformer\n"
            "SentenceTransformer('BAAI/bge-m3', device='cpu').encode(['x'])",
            id="embeddings",
        ),
        pytest.param(
            "from llama_cpp import Llama\nLlama(model_path='Qwen3-8B-Q4_K_M.gguf', n_ctx=2048)('x')",
            id="llama-cpp-python",
        ),
    ],
)
def test_a_program_that_asks_a_model_on_the_processor_takes_no_gpu(program: str) -> None:
    assert values(read_role(program), "device", "gpus_per_pod") == {"device": "cpu", "gpus_per_pod": 0}
    assert read(program, "tests/test_x.py") == []


def test_unsloth_runs_on_a_gpu_although_the_program_moves_nothing() -> None:
    program = """
        from unsloth import FastLanguageModel
        model, tokenizer = FastLanguageModel.from_pretrained("unsloth/mistral-7b-bnb-4bit")
        model.generate("x")
    """
    role = read_role(program)
    assert role.text("checkpoint") == "unsloth/mistral-7b-bnb-4bit"
    assert isinstance(role.value("gpus_per_pod"), Unknown)
    assert "device" not in role.fields


@pytest.mark.parametrize(
    "program",
    [
        "from auto_gptq import AutoGPTQForCausalLM\n"
        "AutoGPTQForCausalLM.from_pretrained('Qwen/Qwen3-8B', config).quantize(samples)",
        "from awq import AutoAWQForCausalLM\nAutoAWQForCausalLM.from_pretrained('Qwen/Qwen3-8B').quantize(t)",
    ],
)
def test_quantising_takes_a_gpu_for_one_layer_at_a_time(program: str) -> None:
    expected = {"checkpoint": "Qwen/Qwen3-8B", "spills": True, "engine": None, "task": "inference"}
    assert values(read_role(program), *expected) == expected


def test_a_model_whose_name_may_be_none_leaves_the_checkpoint_to_the_other() -> None:
    program = """
        from peft import PeftModel
        from transformers import AutoModelForCausalLM
        base = None
        adapted = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(base, device_map="auto"), "out")
        AutoModelForCausalLM.from_pretrained("Qwen/Qwen3-8B", device_map="auto").generate("x")
    """
    assert read_role(program).text("checkpoint") == "Qwen/Qwen3-8B"


@pytest.mark.parametrize(
    "program",
    [
        "from sentence_transformers import SentenceTransformer\nSentenceTransformer('BAAI/bge-m3').encode(['x'])",
        "from transformers import pipeline\npipeline('text-generation', model='Qwen/Qwen3-0.6B')('x')",
        "import whisper\nwhisper.load_model('base').transcribe('a.wav')",
        "from faster_whisper import WhisperModel\nWhisperModel('small', device='auto').transcribe('a.wav')",
    ],
)
def test_a_library_that_looks_for_a_gpu_itself_takes_one(program: str) -> None:
    device = read_role(program).fields["device"]
    assert (device.value, device.assumption.endswith("takes a GPU if the machine has one")) == ("gpu", True)


TRITON = """
    import torch
    import triton_python_backend_utils as pb_utils
    from transformers import AutoModelForCausalLM
    class TritonPythonModel:
        def initialize(self, args):
            self.model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen3-8B", torch_dtype=torch.float16, device_map="auto")
        def execute(self, requests):
            return [self.model.generate(one, max_new_tokens=64) for one in requests]
"""
CONFIG = 'name: "chat"\nbackend: "python"\nmax_batch_size: 8\ninstance_group [{ kind: KIND_GPU count: 1 gpus: [0] }]\n'


def test_a_model_of_triton_runs_what_its_own_program_loads() -> None:
    role = read_role(CONFIG, "models/chat/config.pbtxt", **{"models/chat/1/model.py": TRITON})
    assert values(role, "engine", "checkpoint", "weight_dtype", "gpus_per_pod") == {
        "engine": "transformers",
        "checkpoint": "Qwen/Qwen3-8B",
        "weight_dtype": "float16",
        "gpus_per_pod": 1,
    }
    assert read(TRITON, "models/chat/1/model.py", **{"models/chat/config.pbtxt": CONFIG}) == []


def test_a_model_of_triton_without_its_program_stays_unknown() -> None:
    role = read_role(CONFIG, "models/chat/config.pbtxt")
    assert isinstance(role.value("engine"), Unknown)
    assert isinstance(role.value("checkpoint"), Unknown)


LOOP = """
    import torch
    from transformers import AutoModelForCausalLM
    device = CHOSEN
    model = AutoModelForCausalLM.from_pretrained("gpt2").to(torch.float32)
    model.to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for batch in loader:
        model(batch.to(device)).loss.backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("chosen", "on_cpu"),
    [
        ("'cpu'", True),
        ("torch.device('cpu')", True),
        ("'mps' if torch.backends.mps.is_available() else 'cpu'", True),
        ("'cuda' if torch.cuda.is_available() else 'cpu'", False),
        ("torch.device('cuda:0')", False),
        ("find_device()", False),
    ],
)
def test_a_training_loop_that_moves_everything_to_the_processor_takes_no_gpu(chosen: str, on_cpu: bool) -> None:
    role = read_role(LOOP.replace("CHOSEN", chosen))
    assert (role.value("gpus_per_pod") == 0) is on_cpu


def test_a_device_that_the_caller_may_choose_is_no_processor() -> None:
    parser = "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--device', default='cpu')\n"
    role = read_role(parser + textwrap.dedent(LOOP).replace("CHOSEN", "parser.parse_args().device"))
    assert role.value("gpus_per_pod") != 0


@pytest.mark.parametrize(("setting", "extended"), [('"1"', True), ('"0"', None), ("flag", None)])
def test_a_variable_that_a_program_sets_counts_for_the_engine_that_it_starts(setting: str, extended: object) -> None:
    program = (
        "import os\nfrom vllm import LLM\nflag = input()\n"
        f'os.environ["VLLM_ALLOW_LONG_MAX_MODEL_LEN"] = {setting}\n'
        'LLM("Qwen/Qwen2.5-7B-Instruct-1M", max_model_len=1048576)\n'
    )
    assert read_role(program, "serve.py").value("context_extended") is extended
