"""Jobs: what programs hand to SkyPilot, Azure ML, Vertex AI, SageMaker, Kubeflow, RunPod and Ray, with its machines."""

from __future__ import annotations

import textwrap

import pytest

from gpulint.pipeline import enrichment
from gpulint.pipeline.rule_tests.samples import ExampleRepository
from gpulint.workload import Role, Unknown, Workload

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


def read(program: str, **files: str) -> list[Workload]:
    texts = {"launch.py": program, "code/train.py": TRAIN, **files}
    repository = ExampleRepository({name: textwrap.dedent(text).encode() for name, text in texts.items()})
    (document,) = repository.read_documents("launch.py")
    return list(enrichment.read(document, repository))


def read_role(program: str) -> Role:
    (workload,) = read(program)
    (role,) = workload.roles
    return role


def values(role: Role, *names: str) -> dict[str, object]:
    return {name: role.value(name) for name in names}


MACHINES = ("accelerator", "gpus_per_pod", "pods_per_replica", "replicas")
TRAINED = {"engine": "transformers", "checkpoint": "Qwen/Qwen3-8B", "micro_batch_size": 2}


@pytest.mark.parametrize(
    ("program", "machines"),
    [
        pytest.param(
            """
            import sky
            task = sky.Task(run="torchrun --nproc_per_node 8 train.py --model Qwen/Qwen3-8B --batch 2",
                            workdir="code", num_nodes=2)
            task.set_resources(sky.Resources(accelerators={"A100-80GB": 8}))
            """,
            ("a100-sxm4-80gb", 8, 2, 1),
            id="SkyPilot",
        ),
        pytest.param(
            """
            from azure.ai.ml import MLClient, command
            from azure.ai.ml.entities import AmlCompute
            client.begin_create_or_update(AmlCompute(name="gpus", size="Standard_NC24ads_A100_v4", max_instances=4))
            job = command(code="./code", command="python train.py --model ${{inputs.model}} --batch 2",
                          inputs={"model": "Qwen/Qwen3-8B"}, compute="gpus", instance_count=2)
            """,
            ("a100-pcie-80gb", 1, 2, 1),
            id="Azure ML with a cluster of the program",
        ),
        pytest.param(
            """
            from azure.ai.ml import command
            from azure.ai.ml.entities import JobResourceConfiguration
            command(code="code", command="python train.py --model Qwen/Qwen3-8B --batch 2",
                    resources=JobResourceConfiguration(instance_type="Standard_NC24ads_A100_v4", instance_count=1))
            """,
            ("a100-pcie-80gb", 1, 1, 1),
            id="Azure ML without a cluster",
        ),
        pytest.param(
            """
            from google.cloud import aiplatform
            job = aiplatform.CustomContainerTrainingJob(display_name="ft", container_uri="gcr.io/p/train:1",
                                                        command=["python", "code/train.py", "--model", "Qwen/Qwen3-8B"])
            job.run(args=["--batch", "2"], replica_count=1, machine_type="a2-highgpu-8g",
                    accelerator_type="NVIDIA_TESLA_A100", accelerator_count=8)
            """,
            ("a100-sxm4-40gb", 8, 1, 1),
            id="Vertex AI, a container",
        ),
        pytest.param(
            """
            from google.cloud import aiplatform
            aiplatform.CustomTrainingJob(display_name="ft", script_path="code/train.py", container_uri="x").run(
                args=["--model", "Qwen/Qwen3-8B", "--batch", "2"], machine_type="n1-standard-8",
                accelerator_type="NVIDIA_TESLA_T4", accelerator_count=1)
            """,
            ("t4", 1, 1, 1),
            id="Vertex AI, a script",
        ),
        pytest.param(
            """
            from google.cloud import aiplatform
            spec = {"machine_type": "a2-ultragpu-1g", "accelerator_type": "NVIDIA_A100_80GB", "accelerator_count": 1}
            work = {"image_uri": "gcr.io/p/x", "command": ["python", "code/train.py"],
                    "args": ["--model", "Qwen/Qwen3-8B", "--batch", "2"]}
            pools = [{"machine_spec": spec, "replica_count": 1, "container_spec": work},
                     {"machine_spec": spec, "replica_count": 3, "container_spec": work}]
            aiplatform.CustomJob(display_name="ft", worker_pool_specs=pools).run()
            """,
            ("a100-sxm4-80gb", 1, 4, 1),
            id="Vertex AI, pools of workers",
        ),
        pytest.param(
            """
            from sagemaker.modules.train import ModelTrainer
            from sagemaker.modules.configs import Compute, SourceCode
            ModelTrainer(training_image="x", compute=Compute(instance_type="ml.p4d.24xlarge", instance_count=2),
                         source_code=SourceCode(source_dir="code", entry_script="train.py"),
                         hyperparameters={"model": "Qwen/Qwen3-8B", "batch": 2}).train()
            """,
            ("a100-sxm4-40gb", 8, 2, 1),
            id="SageMaker, an entry script",
        ),
        pytest.param(
            """
            from sagemaker.train import ModelTrainer
            from sagemaker.train.configs import Compute, SourceCode
            work = SourceCode(source_dir="code", command="torchrun train.py --model Qwen/Qwen3-8B --batch 2")
            ModelTrainer(training_image="x", compute=Compute(instance_type="ml.g5.12xlarge"), source_code=work).train()
            """,
            ("a10g", 4, 1, 1),
            id="SageMaker, a command",
        ),
    ],
)
def test_a_job_gets_its_machines_and_the_settings_of_its_program(program: str, machines: tuple[object, ...]) -> None:
    role = read_role(program)
    assert tuple(role.value(name) for name in MACHINES) == machines
    assert values(role, *TRAINED) == TRAINED


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        pytest.param(
            """
            import sky
            task = sky.Task("chat", setup="pip install vllm==0.8.5", run="vllm serve Qwen/Qwen3-32B --tensor-parallel-size 2")
            task.set_resources(sky.Resources(accelerators="L40S:4", use_spot=True))
            """,
            {"accelerator": "l40s", "gpus_per_pod": 4, "tensor_parallel": 2, "engine_version": "0.8.5"},
            id="SkyPilot",
        ),
        pytest.param(
            """
            from google.cloud import aiplatform
            model = aiplatform.Model.upload(
                display_name="chat", serving_container_image_uri="vllm/vllm-openai:v0.8.5",
                serving_container_args=["--model=Qwen/Qwen3-32B", "--tensor-parallel-size=2"])
            model.deploy(machine_type="g2-standard-24", accelerator_type="NVIDIA_L4", accelerator_count=2)
            """,
            {"accelerator": "l4", "gpus_per_pod": 2, "tensor_parallel": 2, "engine_version": "0.8.5"},
            id="Vertex AI",
        ),
        pytest.param(
            """
            import runpod
            runpod.create_pod("chat", "vllm/vllm-openai:v0.8.5", "NVIDIA L40S", gpu_count=2,
                              docker_args="--model Qwen/Qwen3-32B --tensor-parallel-size 2")
            """,
            {"accelerator": "l40s", "gpus_per_pod": 2, "tensor_parallel": 2, "engine_version": "0.8.5"},
            id="RunPod",
        ),
        pytest.param(
            """
            from ray.serve.llm import LLMConfig, build_openai_app
            config = LLMConfig(model_loading_config=dict(model_id="chat", model_source="Qwen/Qwen3-32B"),
                               accelerator_type="L40S", engine_kwargs=dict(tensor_parallel_size=2, max_model_len=8192))
            app = build_openai_app({"llm_configs": [config]})
            """,
            {"accelerator": "l40s", "gpus_per_replica": 2, "tensor_parallel": 2, "max_model_len": 8192},
            id="Ray Serve LLM",
        ),
        pytest.param(
            """
            from ray.data.llm import build_llm_processor, vLLMEngineProcessorConfig
            config = vLLMEngineProcessorConfig(model_source="Qwen/Qwen3-32B", accelerator_type="L40S", concurrency=3,
                                               engine_kwargs={"tensor_parallel_size": 2, "max_model_len": 16384})
            build_llm_processor(config)
            """,
            {"accelerator": "l40s", "gpus_per_replica": 2, "replicas": 3, "max_model_len": 16384},
            id="Ray Data LLM",
        ),
        pytest.param(
            """
            from beam.integrations import VLLM, VLLMArgs
            VLLM(name="chat", gpu="A10G", gpu_count=2,
                 vllm_args=VLLMArgs(model="Qwen/Qwen3-32B", tensor_parallel_size=2))
            """,
            {"accelerator": "a10g", "gpus_per_pod": 2, "tensor_parallel": 2},
            id="Beam",
        ),
    ],
)
def test_a_job_that_starts_a_server_gets_its_engine(program: str, expected: dict[str, object]) -> None:
    role = read_role(program)
    assert values(role, "engine", "checkpoint", *expected) == {
        "engine": "vllm",
        "checkpoint": "Qwen/Qwen3-32B",
        **expected,
    }


@pytest.mark.parametrize(
    "resources",
    [
        "{sky.Resources(accelerators='L4:1'), sky.Resources(accelerators='L40S:1')}",
        "[sky.Resources(sky.AWS(), accelerators={'L40S': 1}), sky.Resources(sky.GCP(), accelerators={'L4': 1})]",
        "sky.Resources(accelerators=['L4:1', 'L40S:1'])",
    ],
)
def test_several_resources_are_a_choice_of_skypilot(resources: str) -> None:
    role = read_role(f"""
        import sky
        task = sky.Task(run="vllm serve Qwen/Qwen3-8B")
        task.set_resources({resources})
    """)
    left = role.value("accelerator")
    assert role.value("gpus_per_pod") == 1
    assert isinstance(left, Unknown)
    assert left.choices == ("l4", "l40s")


def test_an_image_of_an_online_deployment_of_azure_is_its_engine() -> None:
    role = read_role("""
        from azure.ai.ml.entities import Environment, ManagedOnlineDeployment
        ManagedOnlineDeployment(name="chat", endpoint_name="e", instance_type="Standard_NC24ads_A100_v4", instance_count=2,
                                environment=Environment(image="vllm/vllm-openai:v0.6.3"))
    """)
    assert values(role, "engine", "engine_version", *MACHINES) == {
        "engine": "vllm",
        "engine_version": "0.6.3",
        "accelerator": "a100-pcie-80gb",
        "gpus_per_pod": 1,
        "pods_per_replica": 1,
        "replicas": 2,
    }


@pytest.mark.parametrize(
    ("call", "gpus", "nodes"),
    [
        ("kubeflow.trainer.CustomTrainer(func=work, num_nodes=2, resources_per_node={'cpu': 8, 'gpu': 4})", 4, 2),
        ("kubeflow.training.TrainingClient().create_job(train_func=work, num_workers=3,"
         " resources_per_worker={'nvidia.com/gpu': '1'})", 1, 3),
    ],
)  # fmt: skip
def test_kubeflow_starts_a_function_on_each_node(call: str, gpus: int, nodes: int) -> None:
    role = read_role(f"""
        import kubeflow.trainer, kubeflow.training
        def work():
            from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
            model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen3-8B")
            Trainer(model=model, args=TrainingArguments("o", per_device_train_batch_size=2)).train()
        {call}
    """)
    assert values(role, *TRAINED, "gpus_per_pod", "pods_per_replica", "gpus_per_replica") == {
        **TRAINED,
        "gpus_per_pod": gpus,
        "pods_per_replica": nodes,
        "gpus_per_replica": gpus * nodes,
    }
    assert isinstance(role.value("accelerator"), Unknown)


def test_the_trainer_of_the_older_kubeflow_client_gets_model_and_adapters() -> None:
    role = read_role("""
        from kubeflow.training import TrainingClient
        from kubeflow.storage_initializer.hugging_face import HuggingFaceModelParams, HuggingFaceTrainerParams
        from transformers import AutoModelForCausalLM, TrainingArguments
        from peft import LoraConfig
        TrainingClient().train(
            name="ft", num_workers=2, resources_per_worker={"gpu": 1},
            model_provider_parameters=HuggingFaceModelParams(model_uri="hf://google/gemma-2b"),
            trainer_parameters=HuggingFaceTrainerParams(
                training_parameters=TrainingArguments("o", per_device_train_batch_size=4), lora_config=LoraConfig(r=16)))
    """)
    assert values(role, "engine", "checkpoint", "lora_rank", "micro_batch_size", "gpus_per_replica") == {
        "engine": "transformers",
        "checkpoint": "google/gemma-2b",
        "lora_rank": 16,
        "micro_batch_size": 4,
        "gpus_per_replica": 2,
    }


@pytest.mark.parametrize(
    "started",
    [
        "ray.data.read_text('x').map_batches(Predictor, concurrency=4, num_gpus=2, accelerator_type='L40S')",
        "Predictor.options(num_gpus=2, accelerator_type='L40S').remote()",
    ],
)
def test_ray_starts_a_class_with_the_gpus_that_a_call_asks_for(started: str) -> None:
    role = read_role(f"""
        import ray
        from vllm import LLM
        class Predictor:
            def __init__(self):
                self.llm = LLM("Qwen/Qwen3-32B", tensor_parallel_size=2)
        {started}
    """)
    assert values(role, "engine", "checkpoint", "tensor_parallel", "gpus_per_pod", "accelerator") == {
        "engine": "vllm",
        "checkpoint": "Qwen/Qwen3-32B",
        "tensor_parallel": 2,
        "gpus_per_pod": 2,
        "accelerator": "l40s",
    }


def test_a_name_that_several_products_share_leaves_the_choice_to_the_ray_cluster() -> None:
    role = read_role("""
        from ray.train import ScalingConfig
        from ray.train.torch import TorchTrainer
        from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
        def work(config):
            model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen3-8B")
            Trainer(model=model, args=TrainingArguments("o", per_device_train_batch_size=2)).train()
        scaling = ScalingConfig(num_workers=2, use_gpu=True, resources_per_worker={"CPU": 8, "GPU": 2}, accelerator_type="A100")
        TorchTrainer(work, scaling_config=scaling).fit()
    """)
    left = role.value("accelerator")
    assert role.value("gpus_per_replica") == 4
    assert isinstance(left, Unknown)
    assert {"a100-sxm4-40gb", "a100-sxm4-80gb"} <= set(left.choices)


@pytest.mark.parametrize(
    "program",
    [
        "import sky\nsky.launch(sky.Task(run='python etl.py'), cluster_name='c')",
        "import sky\nsky.Task(run='python etl.py').set_resources(sky.Resources(instance_type='m5.large'))",
        "import sky\nsky.launch(sky.Task.from_yaml('task.yaml'))",
        "from azure.ai.ml import command\ncommand(code='.', command='python etl.py', compute='cpu-cluster')",
        "from azure.ai.ml import command\ncommand(command='python etl.py', resources={'instance_type': 'Standard_D4s_v3'})",
        "from google.cloud import aiplatform\n"
        "aiplatform.CustomTrainingJob(script_path='etl.py').run(machine_type='n1-standard-4')",
        "from google.cloud import storage\nstorage.Client().bucket('x')",
        "from kubeflow.trainer import CustomTrainer\nCustomTrainer(func=print, num_nodes=2, resources_per_node={'cpu': 2})",
        "from sagemaker.train import ModelTrainer\nfrom sagemaker.train.configs import Compute, SourceCode\n"
        "ModelTrainer(compute=Compute(instance_type='ml.m5.large'), source_code=SourceCode(entry_script='etl.py')).train()",
        "import ray\nray.data.read_text('x').map_batches(print, num_cpus=2)",
    ],
)
def test_a_job_without_gpus_is_no_workload(program: str) -> None:
    assert read(program, **{"etl.py": "import pandas\n"}) == []
