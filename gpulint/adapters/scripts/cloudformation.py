"""CloudFormation: endpoints of SageMaker, machines with their start script, tasks of ECS and jobs of Batch on GPUs.

Each resource is read as the commands that it runs.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import replace

from gpulint.adapters.claim import Claim
from gpulint.adapters.nodes import machine_types
from gpulint.adapters.programs import replica
from gpulint.adapters.programs.process import Reader
from gpulint.adapters.scripts import alternatives, cloudformation_endpoints, gpu_programs, started_workloads
from gpulint.adapters.scripts import cloudformation_values as values
from gpulint.source import shell
from gpulint.source.documents import Document, Node, Path
from gpulint.source.recipes.translated import Builder, Translated
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Role, Unknown, Workload

MENTIONS = ("AWS::",)
TRIGGERS = (
    "AWS::SageMaker::EndpointConfig",
    "AWS::EC2::Instance",
    "AWS::EC2::LaunchTemplate",
    "AWS::AutoScaling::LaunchConfiguration",
    "AWS::ECS::TaskDefinition",
    "AWS::Batch::JobDefinition",
)
READS = ("plain",)
CLAIMS = ("shape",)

RESOURCES: Path = ("Resources",)
MACHINES = {
    "AWS::EC2::Instance": (),
    "AWS::EC2::LaunchTemplate": ("LaunchTemplateData",),
    "AWS::AutoScaling::LaunchConfiguration": (),
}
"""Resources that start machines, and the key below which they state them."""
CONTAINERS = {"AWS::ECS::TaskDefinition": "ContainerDefinitions", "AWS::Batch::JobDefinition": "ContainerProperties"}
ENDPOINT = "AWS::SageMaker::EndpointConfig"
COMPUTE = "AWS::Batch::ComputeEnvironment"
SERVICE = "AWS::ECS::Service"
ASSUMED = "the only machine type with GPUs of the template is assumed to run it"


def claims(document: Document) -> Claim:
    """Claim a template whose resources have the types of AWS."""
    return Claim.SHAPE.where(any(True for _ in _list_resources(document)))


def kind(document: Document) -> str:
    return "CloudFormation template"


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    """Yield what each resource starts on GPUs."""
    for name, path, type_ in _list_resources(document):
        if type_ == ENDPOINT:
            for variant in replica.items(document, (*path, "ProductionVariants")):
                yield from _read_variant(document, name, variant, repository)
        elif type_ in MACHINES:
            place = (*path, *MACHINES[type_])
            machine = _find_machine(document, (*place, "InstanceType"))
            if machine.get("gpus_per_pod", Field(1)).value != 0:
                script = _build_script(document, (*place, "UserData"))
                yield from _run(document, name, script, machine, Origin(document, path), repository)
        elif type_ in CONTAINERS:
            yield from _read_containers(document, name, (*path, CONTAINERS[type_]), repository)


def _list_resources(document: Document) -> Iterator[tuple[str, Path, str]]:
    """Yield the name, the path of the properties and the type of each resource."""
    found = document.get(RESOURCES) if isinstance(document.data, dict) else None
    for name, resource in found.items() if isinstance(found, dict) else ():
        type_ = resource.get("Type") if isinstance(resource, dict) else None
        if isinstance(type_, str) and type_.startswith("AWS::"):
            yield str(name), (*RESOURCES, name, "Properties"), type_


# ---- machines


def _find_machine(document: Document, path: Path) -> dict[str, Field]:
    """Return the accelerator and the GPUs of a machine type; nothing if the template leaves it open."""
    stated = values.read(document, path)
    if document.get(path) is None or stated.text is None:
        return {}
    node = machine_types.find_machine_type(stated.text, "aws")
    if node is None or not node.accelerator:
        absent = machine_types.has_gpus(stated.text.removeprefix("ml."), "aws") is False or node is not None
        return {"gpus_per_pod": Field(0, stated.origins)} if absent else {}
    found = {"accelerator": node.accelerator, "gpus_per_pod": node.node_gpus, "instance_type": node.instance_type}
    return {name: Field(value, stated.origins, assumption=stated.assumption) for name, value in found.items()}


def _find_only_machine(document: Document) -> dict[str, Field]:
    """Return the accelerator of the only machine type with GPUs of a template, which its tasks are assumed to run on."""
    found: dict[str, Field] = {}
    for _, path, type_ in _list_resources(document):
        places = [(*path, *MACHINES[type_], "InstanceType")] if type_ in MACHINES else []
        if type_ == COMPUTE:
            types = (*path, "ComputeResources", "InstanceTypes")
            listed = document.get(types)
            places = [(*types, at) for at, _ in enumerate(listed)] if isinstance(listed, list) else []
        for place in places:
            if (accelerator := _find_machine(document, place).get("accelerator")) is not None:
                found[str(accelerator.value)] = accelerator
    return {"accelerator": replace(next(iter(found.values())), assumption=ASSUMED)} if len(found) == 1 else {}


# ---- what runs


def _read_variant(document: Document, name: str, path: Path, repository: Repository) -> Iterator[Workload]:
    """Yield the model of a variant of an endpoint, on each of its machines."""
    machine = _find_machine(document, (*path, "InstanceType"))
    if machine.get("gpus_per_pod", Field(1)).value == 0:
        return
    model = cloudformation_endpoints.find_model(document, (*path, "ModelName"))
    if model is None:
        return
    gpus = machine["gpus_per_pod"].value if "gpus_per_pod" in machine else None
    commands = cloudformation_endpoints.build(document, model, gpus if isinstance(gpus, int) else None)
    count = values.read(document, (*path, "InitialInstanceCount"))
    if count.text is not None and count.text.isdecimal():
        machine["replicas"] = Field(int(count.text), count.origins, assumption=count.assumption)
    for workload in _run(document, name, commands, machine, Origin(document, path), repository):
        roles = tuple(cloudformation_endpoints.settle(role, document, model) for role in workload.roles)
        yield replace(workload, kind="inference", roles=roles)


def _read_containers(document: Document, name: str, path: Path, repository: Repository) -> Iterator[Workload]:
    """Yield the containers of a task or a job that request GPUs."""
    for container in replica.items(document, path):
        if _locate_gpus(document, container) is None:
            continue
        builder = Builder(document.node(container).start)  # type: ignore[union-attr]
        _add_container(builder, document, container)
        machine = {**_find_only_machine(document), **_count_tasks(document, name)}
        yield from _run(document, name, builder.finish(), machine, Origin(document, container), repository)


def _locate_gpus(document: Document, container: Path) -> Path | None:
    for at in replica.items(document, (*container, "ResourceRequirements")):
        if document.get((*at, "Type")) == "GPU":
            return (*at, "Value")
    return None


def _add_container(builder: Builder, document: Document, path: Path) -> None:
    """Add the `docker run` that a container stands for."""
    builder.add("docker run --gpus ", None)
    values.add(builder, document, _locate_gpus(document, path) or path, quoted=True)
    if (*path, "LinuxParameters") and document.get((*path, "LinuxParameters", "SharedMemorySize")) is not None:
        builder.add(" --shm-size ", None)
        values.add(builder, document, (*path, "LinuxParameters", "SharedMemorySize"))
        builder.add("m", None)
    for at in replica.items(document, (*path, "Environment")):
        builder.add(f" -e {document.get((*at, 'Name'))}=", None)
        values.add(builder, document, (*at, "Value"), quoted=True)
    entry = document.get((*path, "EntryPoint"))
    if isinstance(entry, list) and entry:
        builder.add(" --entrypoint ", None)
        values.add(builder, document, (*path, "EntryPoint", 0), quoted=True)
    builder.add(" ", None)
    values.add(builder, document, (*path, "Image"), quoted=True)
    words = [(*path, "EntryPoint", at) for at, _ in enumerate(entry) if at] if isinstance(entry, list) else []
    command = document.get((*path, "Command"))
    words += [(*path, "Command", at) for at, _ in enumerate(command)] if isinstance(command, list) else []
    for word in words:
        builder.add(" ", None)
        values.add(builder, document, word, quoted=True)


def _count_tasks(document: Document, task: str) -> dict[str, Field]:
    """Return how many tasks the only service runs that refers to a task definition."""
    found = []
    for _, path, type_ in _list_resources(document):
        named = document.get((*path, "TaskDefinition")) if type_ == SERVICE else None
        if named == task or named == {"Ref": task}:
            found.append(values.read(document, (*path, "DesiredCount")))
    count = found[0] if len(found) == 1 else None
    if count is None or count.text is None or not count.text.isdecimal():
        return {}
    return {"replicas": Field(int(count.text), count.origins, assumption=count.assumption)}


def _build_script(document: Document, path: Path) -> Translated | None:
    """Return the script that a machine runs when it starts; None of settings for cloud-init in another form."""
    if document.get(path) is None:
        return None
    builder = Builder(document.node(path).start)  # type: ignore[union-attr]
    values.add(builder, document, path)
    script = builder.finish()
    return script if script.text.lstrip().startswith("#!") else None


def _run(
    document: Document,
    name: str,
    commands: Translated | None,
    machine: dict[str, Field],
    anchor: Origin,
    repository: Repository,
) -> Iterator[Workload]:
    """Yield the programs on GPUs of a script, on the machine of their resource."""
    if commands is None:
        return
    text = document.text
    inner = Document(document.path, document.index, text, Node("scalar", 0, len(text), text), "shell", text)
    read = functools.partial(_read, inner, repository, commands)
    for alternative in alternatives.read(commands.text, read):
        found = started_workloads.build(
            alternative.gpu_programs, alternative.name(name), document, repository, anchor, adapter="cloudformation"
        )
        for workload in found:
            yield replace(workload, roles=tuple(_place(role, machine) for role in workload.roles))


def _read(
    document: Document, repository: Repository, commands: Translated, choices: shell.Choices
) -> alternatives.Read:
    reader = Reader(document, repository, choices, commands)
    return alternatives.Read(gpu_programs.find(reader.read()), reader.place_in)


def _place(role: Role, machine: dict[str, Field]) -> Role:
    """Return a program on a machine, of which it may take fewer GPUs."""
    stated = {name: field for name, field in machine.items() if name not in ("gpus_per_pod", "accelerator")}
    fields = {**role.fields, **stated}
    if "accelerator" in machine and isinstance(role.value("accelerator"), Unknown):
        fields["accelerator"] = machine["accelerator"]
    if "gpus_per_pod" in machine and not isinstance(role.value("gpus_per_pod"), int):
        fields["gpus_per_pod"] = machine["gpus_per_pod"]
    if not isinstance(role.value("gpus_per_replica"), int):
        fields["gpus_per_replica"] = fields["gpus_per_pod"]
    fields["pods_per_replica"] = Field(1, source="one machine for each replica")
    return replace(role, fields=fields)
