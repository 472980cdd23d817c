"""Platforms whose hardware a Python program states: SageMaker, Ray Train; and Trainers of Lightning."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

import gpulint
from gpulint.pipeline import enrichment
from gpulint.pipeline.rule_tests.samples import ExampleRepository
from gpulint.workload import Role, Unknown


def read_roles(files: dict[str, str], path: str) -> list[Role]:
    repository = ExampleRepository({name: textwrap.dedent(text).encode() for name, text in files.items()})
    (document,) = repository.read_documents(path)
    return [role for workload in enrichment.read(document, repository) for role in workload.roles]


def values(role: Role, *names: str) -> dict[str, object]:
    return {name: role.value(name) for name in names}


TRAIN = """
    import argparse
    from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="Qwen/Qwen3-0.6B")
    parser.add_argument("--batch", type=int, default=1)
    args = parser.parse_args()
    model = AutoModelForCausalLM.from_pretrained(args.model)
    Trainer(model=model, args=TrainingArguments("o", per_device_train_batch_size=args.batch, bf16=True)).train()
"""


def test_an_estimator_of_sagemaker_starts_a_script_with_its_hyperparameters() -> None:
    launch = """
        from sagemaker.huggingface import HuggingFace
        HuggingFace(entry_point="train.py", source_dir="./code", instance_type="ml.p4d.24xlarge", instance_count=2,
                    hyperparameters={"model": "Qwen/Qwen3-8B", "batch": 4}).fit()
    """
    (role,) = read_roles({"launch.py": launch, "code/train.py": TRAIN}, "launch.py")
    assert values(role, "accelerator", "gpus_per_pod", "pods_per_replica", "gpus_per_replica") == {
        "accelerator": "a100-sxm4-40gb",
        "gpus_per_pod": 8,
        "pods_per_replica": 2,
        "gpus_per_replica": 16,
    }
    assert values(role, "engine", "checkpoint", "micro_batch_size") == {
        "engine": "transformers",
        "checkpoint": "Qwen/Qwen3-8B",
        "micro_batch_size": 4,
    }


def test_a_model_of_sagemaker_is_served_by_its_container() -> None:
    deploy = """
        from sagemaker.huggingface import HuggingFaceModel, get_huggingface_llm_image_uri
        model = HuggingFaceModel(image_uri=get_huggingface_llm_image_uri("huggingface"),
                                 env={"HF_MODEL_ID": "Qwen/Qwen3-14B", "SM_NUM_GPUS": "4"})
        model.deploy(initial_instance_count=1, instance_type="ml.g5.12xlarge")
    """
    (role,) = read_roles({"deploy.py": deploy}, "deploy.py")
    assert values(role, "engine", "checkpoint", "tensor_parallel", "accelerator", "gpus_per_pod") == {
        "engine": "tgi",
        "checkpoint": "Qwen/Qwen3-14B",
        "tensor_parallel": 4,
        "accelerator": "a10g",
        "gpus_per_pod": 4,
    }


def test_ray_train_starts_a_function_on_each_worker() -> None:
    program = """
        from ray.train import ScalingConfig
        from ray.train.torch import TorchTrainer
        from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
        def work(config):
            model = AutoModelForCausalLM.from_pretrained(config["model"])
            Trainer(model=model, args=TrainingArguments("o", per_device_train_batch_size=2)).train()
        TorchTrainer(work, train_loop_config={"model": "Qwen/Qwen3-8B"},
                     scaling_config=ScalingConfig(num_workers=4, use_gpu=True)).fit()
    """
    (role,) = read_roles({"x.py": program}, "x.py")
    assert values(role, "engine", "checkpoint", "micro_batch_size", "gpus_per_replica") == {
        "engine": "transformers",
        "checkpoint": "Qwen/Qwen3-8B",
        "micro_batch_size": 2,
        "gpus_per_replica": 4,
    }
    assert isinstance(role.value("accelerator"), Unknown)


def test_a_trainer_of_lightning_states_precision_and_sharding() -> None:
    program = """
        import lightning as L
        trainer = L.Trainer(devices=4, strategy="deepspeed_stage_3", precision="bf16-mixed", accumulate_grad_batches=8)
        trainer.fit(model)
    """
    (role,) = read_roles({"x.py": program}, "x.py")
    assert values(role, "task", "training_dtype", "sharding", "zero_stage", "gradient_accumulation_steps") == {
        "task": "training",
        "training_dtype": "bfloat16",
        "sharding": "deepspeed",
        "zero_stage": 3,
        "gradient_accumulation_steps": 8,
    }


def test_a_number_is_no_machine_type_of_sagemaker() -> None:
    program = """
        from sagemaker.huggingface import HuggingFace
        HuggingFace(entry_point="train.py", instance_type=1_000, instance_count=2).fit()
    """
    (role,) = read_roles({"launch.py": program}, "launch.py")
    assert values(role, "gpus_per_pod", "pods_per_replica") == {
        "gpus_per_pod": Unknown("1000 is not a machine type"),
        "pods_per_replica": 2,
    }


LMI = """
    import sagemaker
    from sagemaker.model import Model
    from sagemaker.djl_inference import DJLModel
    model = MODEL
    model.deploy(initial_instance_count=1, instance_type="ml.g5.12xlarge")
"""


@pytest.mark.parametrize(
    ("model", "tensor_parallel", "copies"),
    [
        ('DJLModel(model_id="Qwen/Qwen3-14B", env={"OPTION_TENSOR_PARALLEL_DEGREE": "2", "OPTION_MAX_MODEL_LEN": "8192"})', 2, 2),
        ('DJLModel(model_id="Qwen/Qwen3-14B", env={"TENSOR_PARALLEL_DEGREE": "max", "OPTION_MAX_MODEL_LEN": "8192"})', 4, 1),
        ('Model(image_uri=sagemaker.image_uris.retrieve(framework="djl-lmi", region="x", version="0.29.0"),'
         ' env={"HF_MODEL_ID": "Qwen/Qwen3-14B", "OPTION_ROLLING_BATCH": "vllm", "OPTION_MAX_MODEL_LEN": "8192",'
         ' "OPTION_TENSOR_PARALLEL_DEGREE": "1"})', 1, 4),
    ],
)  # fmt: skip
def test_a_container_for_large_models_takes_the_arguments_of_vllm_as_variables(
    model: str, tensor_parallel: int, copies: int
) -> None:
    (role,) = read_roles({"deploy.py": LMI.replace("MODEL", model)}, "deploy.py")
    assert values(role, "gpus_per_replica", "replicas") == {"gpus_per_replica": tensor_parallel, "replicas": copies}
    assert values(role, "engine", "checkpoint", "tensor_parallel", "max_model_len", "gpus_per_pod") == {
        "engine": "vllm",
        "checkpoint": "Qwen/Qwen3-14B",
        "tensor_parallel": tensor_parallel,
        "max_model_len": 8192,
        "gpus_per_pod": 4,
    }


def test_a_container_for_large_models_with_another_engine_stays_unknown() -> None:
    model = 'DJLModel(model_id="Qwen/Qwen3-14B", env={"OPTION_ROLLING_BATCH": "trtllm"})'
    (role,) = read_roles({"deploy.py": LMI.replace("MODEL", model)}, "deploy.py")
    assert values(role, "engine", "accelerator", "gpus_per_pod") == {
        "engine": None,
        "accelerator": "a10g",
        "gpus_per_pod": 4,
    }


def test_a_model_of_the_hub_runs_as_a_pipeline() -> None:
    deploy = """
        from sagemaker.huggingface.model import HuggingFaceModel
        hub = {"HF_MODEL_ID": "BAAI/bge-m3", "HF_TASK": "feature-extraction"}
        HuggingFaceModel(env=hub, transformers_version="4.26", py_version="py39").deploy(
            initial_instance_count=2, instance_type="ml.g4dn.xlarge")
    """
    (role,) = read_roles({"deploy.py": deploy}, "deploy.py")
    assert values(role, "task", "checkpoint", "accelerator", "replicas") == {
        "task": "inference",
        "checkpoint": "BAAI/bge-m3",
        "accelerator": "t4",
        "replicas": 2,
    }


def test_the_release_of_the_container_is_that_of_its_address() -> None:
    deploy = """
        from sagemaker.huggingface import HuggingFaceModel, get_huggingface_llm_image_uri
        model = HuggingFaceModel(image_uri=get_huggingface_llm_image_uri("huggingface", version="2.0.2"),
                                 env={"HF_MODEL_ID": "Qwen/Qwen3-14B", "SM_NUM_GPUS": "4"})
        model.deploy(initial_instance_count=1, instance_type="ml.g5.12xlarge")
    """
    (role,) = read_roles({"deploy.py": deploy}, "deploy.py")
    assert values(role, "engine", "engine_version") == {"engine": "tgi", "engine_version": "2.0.2"}


def test_a_machine_without_gpus_is_no_workload() -> None:
    deploy = """
        from sagemaker.huggingface import HuggingFaceModel
        HuggingFaceModel(env={"HF_MODEL_ID": "BAAI/bge-m3"}).deploy(instance_type="ml.m5.xlarge")
    """
    assert read_roles({"deploy.py": deploy}, "deploy.py") == []


def test_a_model_of_sagemaker_runs_its_own_script() -> None:
    deploy = """
        from sagemaker.huggingface import HuggingFaceModel
        HuggingFaceModel(entry_point="inference.py", source_dir="code").deploy(instance_type="ml.g5.xlarge")
    """
    script = """
        import torch
        from transformers import AutoModelForCausalLM
        def model_fn(folder):
            return AutoModelForCausalLM.from_pretrained("Qwen/Qwen3-4B", torch_dtype=torch.float16).to("cuda")
    """
    (role,) = read_roles({"deploy.py": deploy, "code/inference.py": script}, "deploy.py")
    assert values(role, "engine", "checkpoint", "weight_dtype", "accelerator") == {
        "engine": "transformers",
        "checkpoint": "Qwen/Qwen3-4B",
        "weight_dtype": "float16",
        "accelerator": "a10g",
    }


def test_the_variables_of_a_container_of_vllm_are_its_arguments() -> None:
    deploy = """
        import sagemaker
        settings = {"SM_VLLM_MODEL": "Qwen/Qwen3-235B-A22B", "SM_VLLM_TENSOR_PARALLEL_SIZE": "8",
                    "SM_VLLM_MAX_MODEL_LEN": "32768", "SM_VLLM_ENFORCE_EAGER": ""}
        sagemaker.Model(image_uri=f"{account()}.dkr.ecr.us-east-1.amazonaws.com/own:1", env=settings).deploy(
            instance_type="ml.p4de.24xlarge", initial_instance_count=1)
    """
    (role,) = read_roles({"deploy.py": deploy}, "deploy.py")
    assert values(role, "engine", "checkpoint", "tensor_parallel", "max_model_len", "enforce_eager", "accelerator") == {
        "engine": "vllm",
        "checkpoint": "Qwen/Qwen3-235B-A22B",
        "tensor_parallel": 8,
        "max_model_len": 32768,
        "enforce_eager": True,
        "accelerator": "a100-sxm4-80gb",
    }


def test_a_model_of_jumpstart_has_machines_and_an_unknown_program() -> None:
    program = """
        from sagemaker.jumpstart.estimator import JumpStartEstimator
        estimator = JumpStartEstimator(model_id="meta-textgeneration-llama-3-8b", instance_type="ml.g5.12xlarge")
        estimator.fit({"training": "s3://data"})
    """
    (role,) = read_roles({"train.py": program}, "train.py")
    assert values(role, "engine", "accelerator", "gpus_per_pod") == {
        "engine": None,
        "accelerator": "a10g",
        "gpus_per_pod": 4,
    }


# ---- programs that KubeRay starts

RAY = """
    apiVersion: ray.io/v1
    kind: KIND
    metadata: {name: work}
    spec:
      START
      CLUSTER:
        workerGroupSpecs:
          - groupName: gpu
            replicas: 4
            minReplicas: 4
            maxReplicas: 4
            template:
              spec:
                nodeSelector: {cloud.google.com/gke-accelerator: nvidia-h100-80gb}
                containers:
                  - name: worker
                    image: registry.example/ray:1
                    resources: {limits: {nvidia.com/gpu: 2}}
"""
TUNE_WORKERS = """
    from ray.train import ScalingConfig
    from ray.train.torch import TorchTrainer
    from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
    def train(config):
        model = AutoModelForCausalLM.from_pretrained(config["model"])
        Trainer(model=model, args=TrainingArguments(output_dir="out", bf16=True)).train()
    TorchTrainer(
        train, train_loop_config={"model": "Qwen/Qwen3-8B"}, scaling_config=ScalingConfig(num_workers=8, use_gpu=True)
    ).fit()
"""
ANSWER = """
    from ray import serve
    from vllm import AsyncEngineArgs, AsyncLLMEngine
    @serve.deployment(ray_actor_options={"num_gpus": 2})
    class Answer:
        def __init__(self, model):
            self.engine = AsyncLLMEngine.from_engine_args(AsyncEngineArgs(model=model, tensor_parallel_size=2))
    app = Answer.bind("Qwen/Qwen3-14B")
"""


def read_ray(kind: str, cluster: str, start: str, **programs: str) -> Role:
    text = RAY.replace("KIND", kind).replace("CLUSTER", cluster).replace("START", start)
    files = {"work.yaml": text, **{f"{name}.py": program for name, program in programs.items()}}
    repository = ExampleRepository({name: textwrap.dedent(text).encode() for name, text in files.items()})
    for name in programs:
        (document,) = repository.read_documents(f"{name}.py")
        assert list(enrichment.read(document, repository)) == [], "what a file starts is no workload of its own"
    (document,) = repository.read_documents("work.yaml")
    (workload,) = enrichment.read(document, repository)
    return workload.roles[0]


def test_the_program_of_a_ray_job_trains_on_all_workers_without_sharding() -> None:
    role = read_ray("RayJob", "rayClusterSpec", "entrypoint: python tune.py", tune=TUNE_WORKERS)
    assert values(role, "engine", "checkpoint", "sharding", "gpus_per_replica") == {
        "engine": "transformers",
        "checkpoint": "Qwen/Qwen3-8B",
        "sharding": "ddp",
        "gpus_per_replica": 8,
    }


def test_the_application_of_a_ray_service_has_one_gpu_for_each_rank() -> None:
    start = "serveConfigV2: 'applications: [{name: a, import_path: \"answer:app\"}]'"
    role = read_ray("RayService", "rayClusterConfig", start, answer=ANSWER)
    assert values(role, "engine", "checkpoint", "tensor_parallel", "gpus_per_replica") == {
        "engine": "vllm",
        "checkpoint": "Qwen/Qwen3-14B",
        "tensor_parallel": 2,
        "gpus_per_replica": 2,
    }


def test_an_endpoint_of_beam_computes_what_its_start_loads() -> None:
    program = """
        from beam import endpoint
        def load():
            import torch
            from transformers import AutoModelForCausalLM
            return AutoModelForCausalLM.from_pretrained("Qwen/Qwen3-4B", torch_dtype=torch.bfloat16).to("cuda")
        def unused():
            from transformers import AutoModelForCausalLM
            return AutoModelForCausalLM.from_pretrained("Qwen/Qwen3-32B")
        @endpoint(name="titles", gpu="A10G", on_start=load)
        def titles(context, text):
            return context.on_start_value.generate(text)
    """
    (role,) = read_roles({"titles.py": program}, "titles.py")
    assert values(role, "engine", "checkpoint", "accelerator", "gpus_per_pod") == {
        "engine": "transformers",
        "checkpoint": "Qwen/Qwen3-4B",
        "accelerator": "a10g",
        "gpus_per_pod": 1,
    }


@pytest.mark.parametrize(
    ("program", "names"),
    [
        (
            "import modal\napp = modal.App('x')\n@app.function(gpu='H100:2')\ndef serve():\n    from vllm import LLM\n"
            "    LLM('Qwen/Qwen2.5-72B-Instruct', tensor_parallel_size=2)\n",
            {"H200:2", "B200:2", "H100:4"},
        ),
        (
            "import sky\n"
            "task = sky.Task(run='vllm serve Qwen/Qwen2.5-72B-Instruct --tensor-parallel-size 4 --max-model-len 8192')\n"
            "task.set_resources(sky.Resources(accelerators='L4:4'))\n",
            {"L40S:4", "A100-80GB:4", "H100:4", "A10G:4", "H200:4", "A100:4"},
        ),
    ],
)
def test_a_suggestion_writes_the_names_of_the_platform(
    program: str, names: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "x.py").write_text(program)
    monkeypatch.chdir(tmp_path)
    report = gpulint.check(["x.py"])
    found = {edit.new for one in report.findings for each in one.suggestions for edit in each.edits if ":" in edit.new}
    assert found and found <= names


def test_an_endpoint_starts_copies_with_gpus_of_their_own() -> None:
    deploy = """
        from sagemaker.compute_resource_requirements.resource_requirements import ResourceRequirements
        from sagemaker.huggingface import HuggingFaceModel, get_huggingface_llm_image_uri
        model = HuggingFaceModel(image_uri=get_huggingface_llm_image_uri("huggingface", version="1.1.0"),
                                 env={"HF_MODEL_ID": "Qwen/Qwen3-14B", "SM_NUM_GPUS": "2"})
        each = ResourceRequirements(requests={"copies": 4, "num_accelerators": 2, "num_cpus": 10, "memory": 10240})
        model.deploy(initial_instance_count=1, instance_type="ml.p4d.24xlarge", resources=each)
    """
    (role,) = read_roles({"deploy.py": deploy}, "deploy.py")
    assert values(role, "gpus_per_pod", "gpus_per_replica", "replicas", "tensor_parallel") == {
        "gpus_per_pod": 8,
        "gpus_per_replica": 2,
        "replicas": 4,
        "tensor_parallel": 2,
    }


@pytest.mark.parametrize(
    ("image", "release", "assumed"),
    [
        (
            '"763104351884.dkr.ecr.us-east-1.amazonaws.com/huggingface-pytorch-tgi-inference:2.4-tgi2.3-gpu-py311"',
            "2.3",
            False,
        ),
        (
            'f"763104351884.dkr.ecr.{region()}.amazonaws.com/huggingface-pytorch-tgi-inference:2.4-tgi2.3-gpu-py311"',
            None,
            True,
        ),
    ],
)
def test_the_container_is_known_by_its_address_or_by_its_variables(
    image: str, release: str | None, assumed: bool
) -> None:
    deploy = f"""
        import json
        from sagemaker.huggingface import HuggingFaceModel
        settings = {{"HF_MODEL_ID": "Qwen/Qwen3-32B", "SM_NUM_GPUS": json.dumps(4), "MAX_TOTAL_TOKENS": json.dumps(8192)}}
        HuggingFaceModel(image_uri={image}, env=settings).deploy(instance_type="ml.g6.12xlarge")
    """
    (role,) = read_roles({"deploy.py": deploy}, "deploy.py")
    assert values(role, "engine", "engine_version", "checkpoint", "tensor_parallel") == {
        "engine": "tgi",
        "engine_version": release,
        "checkpoint": "Qwen/Qwen3-32B",
        "tensor_parallel": 4,
    }
    assert bool(role.fields["engine"].assumption) is assumed


def test_a_container_that_nothing_tells_of_stays_unknown() -> None:
    deploy = """
        from sagemaker.huggingface import HuggingFaceModel
        HuggingFaceModel(image_uri=f"{own()}/x:1", env={"HF_MODEL_ID": "Qwen/Qwen3-32B"}).deploy(instance_type="ml.g6.12xlarge")
    """
    (role,) = read_roles({"deploy.py": deploy}, "deploy.py")
    assert values(role, "engine", "checkpoint") == {"engine": None, "checkpoint": None}


def test_an_encoder_that_is_trained_is_the_checkpoint() -> None:
    program = """
        from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments
        model = SentenceTransformer("BAAI/bge-base-en-v1.5")
        args = SentenceTransformerTrainingArguments(output_dir="o", per_device_train_batch_size=32)
        SentenceTransformerTrainer(model=model, args=args).train()
    """
    (role,) = read_roles({"train.py": program}, "train.py")
    assert values(role, "checkpoint", "micro_batch_size") == {
        "checkpoint": "BAAI/bge-base-en-v1.5",
        "micro_batch_size": 32,
    }
