"""CloudFormation: each resource that runs a program on GPUs is a workload on the machine that the template states."""

from __future__ import annotations

import json
import textwrap

import pytest

from gpulint.pipeline import enrichment
from gpulint.pipeline.rule_tests.samples import ExampleRepository
from gpulint.workload import Field, Role, Unknown

TGI = "763104351884.dkr.ecr.us-east-1.amazonaws.com/huggingface-pytorch-tgi-inference:2.3.0-tgi2.2.0-gpu-py310"
ENDPOINT = """
    Parameters:
      Type: {Type: String, Default: ml.g5.12xlarge}
    Resources:
      Llm:
        Type: AWS::SageMaker::Model
        Properties:
          PrimaryContainer:
            Image: IMAGE
            Environment: {ENVIRONMENT}
      Config:
        Type: AWS::SageMaker::EndpointConfig
        Properties:
          ProductionVariants:
            - {ModelName: !GetAtt Llm.ModelName, InitialInstanceCount: 2, InstanceType: !Ref Type}
"""
MACHINE = """
    Parameters:
      Model: {Type: String, Default: Qwen/Qwen3-8B}
      Key: {Type: String}
    Resources:
      Box:
        Type: AWS::EC2::Instance
        Properties:
          InstanceType: g6.12xlarge
          UserData:
            Fn::Base64: USERDATA
"""
TASK = """
    Resources:
      Task:
        Type: AWS::ECS::TaskDefinition
        Properties:
          ContainerDefinitions:
            - Name: web
              Image: nginx
            - Name: llm
              Image: vllm/vllm-openai:v0.10.1
              Command: [--model, Qwen/Qwen3-8B, --tensor-parallel-size, "2"]
              Environment: [{Name: HF_HOME, Value: /models}]
              ResourceRequirements: [{Type: GPU, Value: "2"}]
      Service:
        Type: AWS::ECS::Service
        Properties: {TaskDefinition: !Ref Task, DesiredCount: 3}
      Group:
        Type: AWS::EC2::LaunchTemplate
        Properties: {LaunchTemplateData: {InstanceType: g6.12xlarge}}
"""


def read(text: str, path: str = "stack.yaml") -> list[Role]:
    repository = ExampleRepository({path: textwrap.dedent(text).encode()})
    (document,) = repository.read_documents(path)
    return [role for workload in enrichment.read(document, repository) for role in workload.roles]


def values(role: Role, *names: str) -> list[object]:
    return [role.value(name) for name in names]


def read_endpoint(environment: str, image: str = TGI) -> Role:
    (role,) = read(ENDPOINT.replace("ENVIRONMENT", environment).replace("IMAGE", image))
    return role


def test_an_endpoint_serves_its_model_on_each_of_its_machines() -> None:
    role = read_endpoint('HF_MODEL_ID: a/b, SM_NUM_GPUS: "4"')
    names = ("engine", "engine_version", "checkpoint", "tensor_parallel", "gpus_per_replica", "replicas", "accelerator")
    assert values(role, *names) == ["tgi", "2.2.0", "a/b", 4, 4, 2, "a10g"]


def test_the_default_of_a_parameter_is_assumed() -> None:
    role = read_endpoint("HF_MODEL_ID: a/b")
    assert role.fields["accelerator"].assumption == "the parameter Type has its default, which a deployment may replace"
    assert role.fields["checkpoint"].assumption == ""
    assert role.fields["accelerator"].origins[0].location().line == 3


def test_a_container_for_large_models_is_vllm_with_its_options() -> None:
    image = "763104351884.dkr.ecr.us-east-1.amazonaws.com/djl-inference:0.28.0-lmi10.0.0-cu124"
    environment = 'HF_MODEL_ID: a/b, OPTION_ROLLING_BATCH: vllm, OPTION_MAX_MODEL_LEN: "4096"'
    role = read_endpoint(f"{environment}, OPTION_TENSOR_PARALLEL_DEGREE: max", image)
    assert values(role, "engine", "checkpoint", "max_model_len", "tensor_parallel") == ["vllm", "a/b", 4096, 4]
    assert isinstance(read_endpoint(environment, image).value("tensor_parallel"), Unknown)


def test_the_entry_point_of_vllm_takes_variables() -> None:
    role = read_endpoint(
        "SM_VLLM_MODEL: a/b, SM_VLLM_ENFORCE_EAGER: 'true', SM_VLLM_MAX_MODEL_LEN: '8192'", "own/vllm:1"
    )
    assert values(role, "engine", "checkpoint", "max_model_len") == ["vllm", "a/b", 8192]


@pytest.mark.parametrize(
    "script",
    [
        pytest.param("!Sub |\n  #!/bin/bash\n  vllm serve ${Model} --api-key ${Key}\n", id="Sub"),
        pytest.param('{"Fn::Sub": "#!/bin/bash\\nvllm serve ${Model} --api-key ${Key}\\n"}', id="Sub in full"),
        pytest.param(
            '{"Fn::Join": ["\\n", ["#!/bin/bash", {"Fn::Join": [" ", ["vllm serve", {Ref: Model}]]}]]}', id="Join"
        ),
    ],
)
def test_the_script_of_a_machine_is_read_with_the_defaults_of_parameters(script: str) -> None:
    indented = script.replace("\n", "\n" + " " * 14)
    (role,) = read(MACHINE.replace("USERDATA", indented))
    assert values(role, "engine", "checkpoint", "gpus_per_pod", "accelerator") == ["vllm", "Qwen/Qwen3-8B", 4, "l4"]
    assert role.fields["checkpoint"].assumption.startswith("the parameter Model")


def test_a_plain_script_assumes_nothing() -> None:
    script = "|\n              #!/bin/bash\n              docker run --gpus 2 vllm/vllm-openai:v0.10.1 --model a/b\n"
    (role,) = read(MACHINE.replace("USERDATA", script))
    assert values(role, "checkpoint", "gpus_per_pod") == ["a/b", 2]
    assert role.fields["checkpoint"] == Field("a/b", role.fields["checkpoint"].origins)
    assert role.fields["checkpoint"].origins[0].location().line == 13


def test_a_task_runs_its_containers_with_gpus() -> None:
    (role,) = read(TASK)
    names = ("checkpoint", "tensor_parallel", "gpus_per_replica", "replicas", "accelerator")
    assert values(role, *names) == ["Qwen/Qwen3-8B", 2, 2, 3, "l4"]
    assert role.fields["accelerator"].assumption


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            MACHINE.replace("g6.12xlarge", "m5.large").replace("USERDATA", "'#!/bin/sh\nvllm serve a/b'"), id="no GPUs"
        ),
        pytest.param(MACHINE.replace("USERDATA", '"#cloud-config\\nruncmd: [vllm serve a/b]"'), id="cloud-init"),
        pytest.param(
            ENDPOINT.replace("ml.g5.12xlarge", "ml.m5.large").replace("ENVIRONMENT", "A: b"), id="a CPU endpoint"
        ),
        pytest.param("Resources: {A: {Type: 'AWS::S3::Bucket'}}\n", id="no machine"),
        pytest.param("Resources: {A: {Type: own}}\nTriggers: 'AWS::EC2::Instance'\n", id="no template"),
    ],
)
def test_other_templates_run_nothing_on_gpus(text: str) -> None:
    assert read(text) == []


def test_a_template_has_no_more_resources_than_cloudformation_accepts() -> None:
    many = {f"R{number}": {"Type": "AWS::S3::Bucket"} for number in range(500)}
    box = {
        "Type": "AWS::EC2::Instance",
        "Properties": {"InstanceType": "g5.xlarge", "UserData": "#!/bin/sh\nvllm serve a/b"},
    }
    assert len(read(json.dumps({"Resources": {"Box": box, **many}}), "stack.json")) == 1
    assert read(json.dumps({"Resources": {**many, "Box": box}}), "stack.json") == []
