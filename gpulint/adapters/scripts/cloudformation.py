"""CloudFormation: endpoints of SageMaker, machines with their start script, tasks of ECS and jobs of Batch on GPUs.

Each resource is read as the commands that it runs.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import replace

from gpulint.adapters.claim import Claim
from gpulint.adapters.nodes import machine_types
from gpulint.adapters.programs import replica
from gpulint.adapters.programs.process import Reader
from gpulint.adapters.scripts import alternatives, cloudformation_endpoints, gpu_programs, started_workloads
from gpulint.adapters.scripts import cloudformation_values as values
from gpulint.source import excess, shell
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
RESOURCES_MAX = 500
"""docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html: resources of one template."""
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
            yield from _read_machine(document, name, (*path, *MACHINES[type_]), repository)
        elif type_ in CONTAINERS:
            yield from _read_containers(document, name, (*path, CONTAINERS[type_]), repository)


def machines(document: Document) -> Iterator[Path]:
    """Yield the places of the machine types with GPUs of a template."""
    for _, path, type_ in _list_resources(document):
        if type_ in MACHINES:
            yield from _keep_machines(document, [(*path, *MACHINES[type_], "InstanceType")])
        elif type_ == ENDPOINT:
            variants = replica.items(document, (*path, "ProductionVariants"))
            yield from _keep_machines(document, [(*variant, "InstanceType") for variant in variants])


def _keep_machines(document: Document, places: Sequence[Path]) -> Iterator[Path]:
    yield from (place for place in places if "accelerator" in _find_machine(document, place))


def _list_resources(document: Document) -> Iterator[tuple[str, Path, str]]:
    """Yield the name, the path of the properties and the type of each resource."""
    found = document.get(RESOURCES) if isinstance(document.data, dict) else None
    for number, (name, resource) in enumerate(found.items() if isinstance(found, dict) else ()):
        if excess.is_over(number + 1, RESOURCES_MAX, "a CloudFormation template has more than {} resources"):
            return
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
    first = Field(node.accelerator, stated.origins, assumption=stated.assumption)
    counted, named = replace(first, value=node.node_gpus), replace(first, value=node.instance_type)
    return {"accelerator": first, "gpus_per_pod": counted, "instance_type": named}


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


def _read_machine(document: Document, name: str, path: Path, repository: Repository) -> Iterator[Workload]:
    """Yield what a machine starts by its script; settings for cloud-init in another form are not read."""
    machine, start = _find_machine(document, (*path, "InstanceType")), document.node((*path, "UserData"))
    if start is None or machine.get("gpus_per_pod", Field(1)).value == 0:
        return
    builder = Builder(start.start)
    defaults = values.add(builder, document, (*path, "UserData"))
    script = builder.finish()
    if script.text.lstrip().startswith("#!"):
        for workload in _run(document, name, script, machine, Origin(document, path), repository):
            yield replace(workload, roles=tuple(_mark(role, defaults) for role in workload.roles))


def _is_alone(role: Role) -> Role:
    """Return the program of a container, whose GPUs no other program has."""
    return replace(role, fields={name: field for name, field in role.fields.items() if name != "engines_on_card"})


def _mark(role: Role, defaults: Sequence[values.Default]) -> Role:
    """Return a role whose fields say which parameters they have by their defaults."""
    fields = {name: _mark_field(field, defaults) for name, field in role.fields.items()}
    return replace(role, fields=fields)


def _mark_field(field: Field, defaults: Sequence[values.Default]) -> Field:
    spans = [origin.span for origin in field.origins if origin.span is not None]
    said = [one.assumption for one in defaults for start, end in spans if start < one.span[1] and one.span[0] < end]
    return replace(field, assumption=said[0]) if said and not field.assumption else field


def _read_variant(document: Document, name: str, path: Path, repository: Repository) -> Iterator[Workload]:
    """Yield the model of a variant of an endpoint, on each of its machines."""
    machine = _find_machine(document, (*path, "InstanceType"))
    if machine.get("gpus_per_pod", Field(1)).value == 0:
        return
    model = cloudformation_endpoints.find_model(document, (*path, "ModelName"))
    if model is None:
        return
    gpus = machine["gpus_per_pod"].value if "gpus_per_pod" in machine else None
    commands, defaults = cloudformation_endpoints.build(document, model, gpus if isinstance(gpus, int) else None)
    count = values.read(document, (*path, "InitialInstanceCount"))
    if count.text is not None and count.text.isdecimal():
        machine["replicas"] = Field(int(count.text), count.origins, assumption=count.assumption)
    for workload in _run(document, name, commands, machine, Origin(document, path), repository):
        settled = (cloudformation_endpoints.settle(role, document, model) for role in workload.roles)
        roles = tuple(_is_alone(_mark(role, defaults)) for role in settled)
        yield replace(workload, kind="inference", roles=roles)


def _read_containers(document: Document, name: str, path: Path, repository: Repository) -> Iterator[Workload]:
    """Yield the containers of a task or a job that request GPUs."""
    for container in replica.items(document, path):
        if _locate_gpus(document, container) is None:
            continue
        node = document.node(container)
        builder = Builder(node.start if node is not None else 0)
        defaults = _add_container(builder, document, container)
        machine = {**_find_only_machine(document), **_count_tasks(document, name)}
        for workload in _run(document, name, builder.finish(), machine, Origin(document, container), repository):
            yield replace(workload, roles=tuple(_is_alone(_mark(role, defaults)) for role in workload.roles))


def _locate_gpus(document: Document, container: Path) -> Path | None:
    for at in replica.items(document, (*container, "ResourceRequirements")):
        if document.get((*at, "Type")) == "GPU":
            return (*at, "Value")
    return None


def _add_container(builder: Builder, document: Document, path: Path) -> list[values.Default]:
    """Add the `docker run` that a container stands for; return the defaults of parameters in it."""
    found: list[values.Default] = []
    for option, place in _list_options(document, path):
        builder.add(option, None)
        if place is not None:
            found += values.add(builder, document, place, quoted=True)
    return found


def _list_options(document: Document, path: Path) -> Iterator[tuple[str, Path | None]]:
    """Yield the options of `docker run` for a container, each with the place of its value, and then its words."""
    yield "docker run --gpus ", _locate_gpus(document, path)
    shared = (*path, "LinuxParameters", "SharedMemorySize")
    if (size := values.read(document, shared).text) is not None and document.get(shared) is not None:
        yield f" --shm-size {size}m", None
    for at in replica.items(document, (*path, "Environment")):
        yield f" -e {document.get((*at, 'Name'))}=", (*at, "Value")
    entry, command = (document.get((*path, key)) for key in ("EntryPoint", "Command"))
    entries = [(*path, "EntryPoint", at) for at, _ in enumerate(entry)] if isinstance(entry, list) else []
    if entries:
        yield " --entrypoint ", entries[0]
    yield " ", (*path, "Image")
    words = [(*path, "Command", at) for at, _ in enumerate(command)] if isinstance(command, list) else []
    yield from ((" ", word) for word in (*entries[1:], *words))


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
