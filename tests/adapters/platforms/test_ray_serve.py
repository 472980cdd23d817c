"""Configuration files of Ray Serve: a list of models, one model, or a prefill and a decode part."""

from __future__ import annotations

import samples

from gpulint.pipeline import enrichment
from gpulint.pipeline.rule_tests.samples import ExampleRepository
from gpulint.workload import Role, Unknown

APPLICATION = """\
applications:
  - name: chat
    import_path: {builder}
    args:
{arguments}
"""
MODEL = """\
model_loading_config: {model_id: chat, model_source: Qwen/Qwen3-32B}
engine_kwargs: {tensor_parallel_size: SIZE, max_model_len: 8192}
"""
OWN = "builder:builder"


def write(arguments: dict[str, int], builder: str = OWN) -> str:
    """A file whose application has one configuration of a tensor-parallel size under each key."""
    parts = []
    for key, size in arguments.items():
        inner = "".join(f"        {line}\n" for line in MODEL.replace("SIZE", str(size)).splitlines())
        parts.append(f"      {key}:\n{inner}")
    return APPLICATION.format(builder=builder, arguments="".join(parts).rstrip())


def test_prefill_and_decode_are_roles_with_their_own_gpus() -> None:
    found = samples.report(write({"prefill_config": 2, "decode_config": 4}), path="serve.yaml")
    roles = {role.name: (role.engine, role.architecture, role.accelerator[0]) for role in samples.roles(found)}
    assert roles == {"prefill": ("vllm", "Qwen/Qwen3-32B", "2"), "decode": ("vllm", "Qwen/Qwen3-32B", "4")}


def test_an_anyscale_service_runs_on_the_only_gpu_machine_that_it_states() -> None:
    # 61.0 GiB of 16-bit weights on one of the four L4 of a g6.12xlarge
    text = write({"llm_config": 1}) + "compute_config: {worker_nodes: [{instance_type: g6.12xlarge}]}\n"
    (role,) = samples.roles(samples.report(text, path="service.yaml"))
    assert (role.accelerator, role.verdict) == ("1 × L4 24GB", "does not fit")
    several = text.replace("}]}", "}, {instance_type: p5.48xlarge}]}")
    assert samples.roles(samples.report(several, path="service.yaml"))[0].accelerator == "1 × ?"


def test_the_bundles_of_a_placement_group_count_the_gpus() -> None:
    placed = write({"llm_config": 1}) + "        placement_group_config: {bundles: [{GPU: 1, CPU: 1}, {GPU: 1}]}\n"
    (role,) = samples.roles(samples.report(placed, path="serve.yaml"))
    assert role.accelerator == "2 × ?"


def test_applications_that_name_no_model_are_not_read() -> None:
    text = "applications:\n  - import_path: app:main\n    args: {llm_config: {model: a}}\n"
    assert samples.report(text, path="serve.yaml").workloads == ()


DEPLOYMENT = """\
applications:
  - name: llm
    import_path: app:main
    deployments:
      - name: Chat
        num_replicas: 2
        ray_actor_options: {OPTIONS}
"""
PROGRAM = """\
from ray import serve
from vllm import LLM


@serve.deployment
class Chat:
    def __init__(self):
        self.llm = LLM(model="Qwen/Qwen3-32B", max_model_len=8192)


main = Chat.bind()
"""


def read(options: str) -> list[Role]:
    text = DEPLOYMENT.replace("OPTIONS", options)
    repository = ExampleRepository({"serve.yaml": text.encode(), "app.py": PROGRAM.encode()})
    (document,) = repository.read_documents("serve.yaml")
    return [role for workload in enrichment.read(document, repository) for role in workload.roles]


def test_a_deployment_on_gpus_runs_its_own_program() -> None:
    # 61.0 GiB of 16-bit weights on one L4
    (role,) = read("num_gpus: 1, accelerator_type: L4")
    names = ("accelerator", "gpus_per_replica", "replicas", "checkpoint", "max_model_len")
    assert [role.value(name) for name in names] == ["l4", 1, 2, "Qwen/Qwen3-32B", 8192]


def test_a_deployment_without_gpus_is_no_workload() -> None:
    assert read("num_cpus: 1") == []
    assert read("num_gpus: 0") == []


def test_a_share_of_a_gpu_is_no_whole_number() -> None:
    (role,) = read("num_gpus: 0.5")
    assert isinstance(role.value("gpus_per_replica"), Unknown)


def test_an_own_program_of_an_anyscale_service_runs_on_its_machine() -> None:
    text = "applications: [{import_path: 'app:main'}]\ncompute_config: {worker_nodes: [{instance_type: g6.xlarge}]}\n"
    (role,) = samples.roles(samples.report(text, path="service.yaml"))
    assert role.accelerator.endswith("L4 24GB")
