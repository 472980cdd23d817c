"""Hardware: the GPUs that a program asks a platform for: Modal, Beam, BentoML, Ray, and the estimators of SageMaker."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gpulint.adapters.nodes import machine_types
from gpulint.adapters.platforms import gpu_spec_strings
from gpulint.adapters.platforms.gpu_spec_strings import Choice
from gpulint.adapters.programs import replica
from gpulint.adapters.python.words import Reader, is_nothing, is_on, last_name, make_field, read_number, read_text, root
from gpulint.catalog import hardware
from gpulint.source.documents import Document
from gpulint.source.python import Evaluated
from gpulint.source.python.values import Class, Constant, Function, Items, Mapping, Object, Place, Value
from gpulint.workload import Field, Origin, Unknown
from gpulint.workload import Value as Stated

SPEC = re.compile(r"(?P<name>[\w.-]+!?\+?)(?::(?P<count>\d+))?")
ONE = Field(1, source="one container for each replica")
SERVERLESS = ("modal", "beam", "beta9", "cerebrium")
RAY = "ray"
DEVICES = frozenset(
    {("lightning", "Trainer"), ("pytorch_lightning", "Trainer"), ("lightning", "Fabric"), ("litserve", "LitServer")}
)
"""Lightning-AI/pytorch-lightning src/lightning/pytorch/trainer/trainer.py and Lightning-AI/LitServe src/litserve/server.py:
calls with `devices` and `accelerator`."""
COMMAND, STARTED = "__command__", "subprocess.Popen"
"""bentoml/BentoML src/_bentoml_sdk/service/factory.py: a method that returns the words of a server's command."""
MAPPED = frozenset({"map_batches", "map", "flat_map", "filter"})
"""ray-project/ray python/ray/data/dataset.py: methods with num_gpus."""
DECORATED = frozenset(
    {"function", "cls", "endpoint", "task_queue", "asgi", "realtime", "schedule", "remote", "deployment", "service"}
)


class Placement(NamedTuple):
    """A function or class that gets GPUs of its own: its name, its place, the nodes of its code, and its hardware.

    `image` is what its container is built from. One that `takes_arguments` may be given an engine's settings that
    another part of the program makes.
    """

    name: str
    anchor: Origin
    nodes: frozenset[int]
    fields: dict[str, Field]
    image: Value | None = None
    takes_arguments: bool = False


def list_placements(document: Document, evaluated: Evaluated) -> tuple[Placement, ...]:
    """Return what the decorators of a program ask for."""
    scope = evaluated.modules.get(document.path)
    if scope is None:
        return ()
    reader = Reader()
    found: dict[int, Placement] = {}
    for name, value in scope.names.items():
        if isinstance(value, Function | Class) and value.scope is scope:
            for placement in _read_decorators(name, value, reader):
                found.setdefault(id(value.node), placement)
    for placement in _list_started(evaluated.calls, reader):
        found.setdefault(min(placement.nodes), placement)
    listed = tuple(found.values())
    return listed if len(listed) == 1 else tuple(one._replace(takes_arguments=False) for one in listed)


def _list_started(calls: Sequence[Object], reader: Reader) -> Iterator[Placement]:
    """Yield the functions and classes that Ray starts with GPUs that a call asks for."""
    for call in calls:
        target = call.receiver if last_name(call) == "options" else _find_target(call)
        if not isinstance(target, Function | Class) or not isinstance(call.place, Place):
            continue
        fields = _finish(_read_ray(call, reader))
        nodes = frozenset(list_nodes(target))
        if fields and nodes:
            anchor = next(iter(fields["gpus_per_pod"].origins))
            replicas = call.get("concurrency") or call.get("num_replicas")
            if replicas is not None and read_number(replicas):
                fields["replicas"] = make_field(reader, replicas, call.place)
            yield Placement(target.name, anchor, nodes, fields)


def _find_target(call: Object) -> Value | None:
    """Return the function or class that a method of a dataset of Ray applies to each batch."""
    if last_name(call) not in MAPPED:
        return None
    return call.arguments[0] if call.arguments else call.get("fn")


def _read_decorators(name: str, value: Function | Class, reader: Reader) -> Iterator[Placement]:
    for decorator in value.decorators:
        if not isinstance(decorator, Object) or last_name(decorator) not in DECORATED:
            continue
        fields = _read_request(decorator, reader)
        place = decorator.place
        if fields and isinstance(place, Place):
            anchor = next(iter(fields["gpus_per_pod"].origins), Origin(place.document, place.path, place.span))
            app = decorator.receiver.get("image") if isinstance(decorator.receiver, Object) else None
            image = decorator.get("image") or app
            hooks = (one for one in decorator.keywords.values() if isinstance(one, Function))
            nodes = frozenset(node for one in (value, *hooks) for node in list_nodes(one))
            yield Placement(name, anchor, nodes, fields, image, root(decorator) == RAY)


def list_commands(document: Document, evaluated: Evaluated, placement: Placement) -> list[Object]:
    """Return the command that a service of BentoML returns in place of a program of its own, as the call of a process."""
    scope = evaluated.modules.get(document.path)
    made = scope.names.get(placement.name) if scope is not None else None
    method = made.body.get(COMMAND) if isinstance(made, Class) else None
    result = evaluated.returned.get(id(method.node)) if isinstance(method, Function) else None
    return [Object(STARTED, result.place, [result])] if isinstance(result, Items) else []


def list_nodes(value: Function | Class) -> Iterator[int]:
    """Yield the nodes of the code of a function, or of the methods of a class."""
    if isinstance(value, Function):
        yield id(value.node)
        return
    for member in value.body.values():
        if isinstance(member, Function):
            yield id(member.node)


def _read_request(call: Object, reader: Reader) -> dict[str, Field]:
    """Return the accelerator and the GPUs that a decorator asks for; nothing if it asks for none."""
    platform = root(call)
    if platform in SERVERLESS:
        return _finish(_read_serverless("modal" if platform == "modal" else "beam", call, reader))
    if platform == "bentoml":
        return _finish(_read_bentoml(call, reader))
    if platform == "ray":
        return _finish(_read_ray(call, reader))
    return {}


def _finish(fields: dict[str, Field]) -> dict[str, Field]:
    if not fields:
        return {}
    return {
        **fields,
        "pods_per_replica": ONE,
        "replicas": Field(1, source="one replica"),
        "gpus_per_replica": fields["gpus_per_pod"],
    }


def _read_serverless(platform: str, call: Object, reader: Reader) -> dict[str, Field]:
    stated = call.get("gpu")
    if stated is None or is_nothing(stated):
        return {}
    values = stated.items if isinstance(stated, Items) else [stated]
    choices = [choice for value in values if (choice := _read_choice(value, call, reader)) is not None]
    if not choices or len(choices) < len(values):
        unknown = make_field(reader, stated, call.place)
        why = unknown.value if isinstance(unknown.value, Unknown) else Unknown("the requested GPU is not known")
        return {"gpus_per_pod": Field(why, unknown.origins), "accelerator": Field(why, unknown.origins)}
    fields = gpu_spec_strings.fields(platform, choices)
    count = call.get("gpu_count")
    if count is not None and not is_nothing(count):
        fields["gpus_per_pod"] = make_field(reader, count, call.place)
    return fields


def _read_choice(value: Value, call: Object, reader: Reader) -> Choice | None:
    """Return `"A100-80GB:2"`, or the older `gpu.A100(count=2, size="80GB")`."""
    if isinstance(value, Object) and ".gpu." in value.name:
        memory = read_number(value.get("memory"))
        size = f"{memory}GB" if memory else read_text(value.get("size"))
        name = last_name(value) + (f"-{size}" if size else "")
        count: Stated = read_number(value.get("count")) or 1
        return Choice(name, reader.origins(Constant(name, value.place), call.place)[0], count)
    text = read_text(value)
    match = SPEC.fullmatch(text or "")
    if match is None or text == "any":
        return None
    return Choice(match["name"].rstrip("!+"), reader.origins(value, call.place)[0], int(match["count"] or 1))


def _read_bentoml(call: Object, reader: Reader) -> dict[str, Field]:
    resources = call.get("resources")
    if not isinstance(resources, Mapping) or "gpu" not in resources.entries:
        return {}
    count = make_field(reader, resources.entries["gpu"], call.place)
    if isinstance(count.value, str) and count.value.isdecimal():
        count = Field(int(count.value), count.origins)
    kind = resources.entries.get("gpu_type")
    named = read_text(kind)
    if kind is None or named is None:
        left = Unknown("the accelerator depends on the deployment", "any host")
        return {"gpus_per_pod": count, "accelerator": Field(left, count.origins)}
    place = reader.origins(kind, call.place)
    found = gpu_spec_strings.product(("bentoml",), named.removeprefix("nvidia-").removeprefix("tesla-"))
    return {
        "gpus_per_pod": count,
        "accelerator": Field(found or Unknown(f"the accelerator {named} is not known"), place),
    }


def _read_ray(call: Object, reader: Reader) -> dict[str, Field]:
    options = call.get("ray_actor_options")
    entries = options.entries if isinstance(options, Mapping) else call.keywords
    stated = entries.get("num_gpus")
    if stated is None or is_nothing(stated):
        return {}
    count = make_field(reader, stated, call.place)
    if isinstance(count.value, float):
        count = Field(
            Unknown("the program requests a share of a GPU") if count.value % 1 else int(count.value), count.origins
        )
    if count.value == 0:
        return {}
    return {"gpus_per_pod": count, "accelerator": _find_product(entries.get("accelerator_type"), call, count, reader)}


def _find_product(kind: Value | None, call: Object, count: Field, reader: Reader) -> Field:
    """Return the accelerator that Ray is asked for by its name; a name of several products leaves the choice open."""
    named = (read_text(kind) or "").removeprefix("NVIDIA_TESLA_").removeprefix("NVIDIA_")
    if kind is None or not named:
        return Field(Unknown("the accelerator depends on the Ray cluster", "any host"), count.origins)
    place = reader.origins(kind, call.place)
    product = gpu_spec_strings.product(
        ("ray",), named.replace("A100-40G", "A100-40GB").replace("A100-80G", "A100-80GB")
    )
    family = hardware.find_family(named)
    reason = f"several products have the name {named}" if family else f"the accelerator {named} is not known"
    left = Unknown(reason, gpu_spec_strings.DECIDED if family else "any host", choices=family)
    return Field(product or left, place)


def read_scaling(calls: Sequence[Object], reader: Reader) -> dict[str, Field]:
    """Return the GPUs of a run of Ray Train: one for each worker unless stated otherwise."""
    config = next((call for call in calls if last_name(call) == "ScalingConfig" and root(call) == "ray"), None)
    workers = config.get("num_workers") if config is not None else None
    if config is None or workers is None or not is_on(config.get("use_gpu")):
        return {}
    count = make_field(reader, workers, config.place)
    resources = config.get("resources_per_worker")
    each = resources.entries.get("GPU", Constant(1)) if isinstance(resources, Mapping) else Constant(1)
    if isinstance(count.value, int):
        gpus = read_number(each)
        count = Field(
            count.value * gpus if gpus else Unknown("the number of GPUs of each worker is not known"), count.origins
        )
    spread = Unknown("the Ray cluster decides how many workers run on a node", "any host")
    return {
        "gpus_per_replica": count,
        "gpus_per_pod": Field(count.value if count.value == 1 else spread, count.origins),
        "pods_per_replica": Field(1 if count.value == 1 else spread, count.origins),
        "replicas": Field(1, source="one run"),
        "accelerator": _find_product(config.get("accelerator_type"), config, count, reader),
    }


def read_devices(calls: Sequence[Object], reader: Reader) -> dict[str, Field]:
    """Return the GPUs that a Trainer of Lightning or a server of LitServe takes on the machine that runs the program."""
    call = next((call for call in calls if (root(call), last_name(call)) in DEVICES), None)
    devices = call.get("devices") if call is not None else None
    if call is None or devices is None or not read_number(devices) or (read_number(devices) or 0) < 1:
        return {}
    gpus = make_field(reader, devices, call.place)
    if last_name(call) == "LitServer":
        one = Field(1, source="LitServe starts a copy of the model on each device")
        return {"gpus_per_pod": gpus, "gpus_per_replica": one, "replicas": gpus}
    nodes = call.get("num_nodes")
    pods = make_field(reader, nodes, call.place) if nodes is not None else Field(1, source="default of Lightning")
    return {"gpus_per_pod": gpus, "pods_per_replica": pods, "gpus_per_replica": replica.product(gpus, pods)}


def is_on_cpu(calls: Sequence[Object]) -> bool:
    """Return whether a program tells its trainer or its server to compute on the processor."""
    for call in calls:
        name = last_name(call)
        named = read_text(call.get("accelerator")) or read_text(call.get("device")) or ""
        if ((root(call), name) in DEVICES or name == "Trainer") and named.startswith("cpu"):
            return True
        switches = ("use_cpu", "no_cuda", *(("cpu",) if name == "Accelerator" else ()))
        if any(is_on(call.get(switch)) for switch in switches):
            return True
    return False


def read_machines(call: Object, reader: Reader) -> dict[str, Field]:
    """Return the machines of an estimator or a deployed model of SageMaker."""
    kind = call.get("instance_type")
    if kind is None:
        return {}
    fields = read_instance(kind, call, reader)
    nodes = call.get("instance_count") or call.get("initial_instance_count")
    count = (
        make_field(reader, nodes, call.place)
        if nodes is not None
        else Field(1, source="one machine unless stated otherwise", basis="open")
    )
    deployed = last_name(call) == "deploy"
    one = Field(1, source="one machine for each replica" if deployed else "one run")
    fields |= {"pods_per_replica": one if deployed else count, "replicas": count if deployed else one}
    fields["gpus_per_replica"] = replica.product(fields["gpus_per_pod"], fields["pods_per_replica"])
    return {**fields, **_read_copies(call, reader)}


def _read_copies(call: Object, reader: Reader) -> dict[str, Field]:
    """Return the copies of a model that an endpoint starts, each with GPUs of its own.

    Source: aws/sagemaker-python-sdk src/sagemaker/compute_resource_requirements/resource_requirements.py.
    """
    resources = call.get("resources")
    requests = resources.get("requests") if isinstance(resources, Object) else None
    if resources is None or is_nothing(resources):
        return {}
    entries = requests.entries if isinstance(requests, Mapping) else {}
    gpus, copies = entries.get("num_accelerators"), entries.get("copies", Constant(1, call.place))
    if gpus is None:
        unread = Unknown("the number of GPUs of each copy of the model is not known")
        return {"gpus_per_replica": Field(unread, reader.origins(resources, call.place))}
    return {
        "gpus_per_replica": make_field(reader, gpus, call.place),
        "replicas": make_field(reader, copies, call.place),
    }


def read_instance(value: Value, call: Object, reader: Reader) -> dict[str, Field]:
    """Return the accelerator and GPUs of a machine type of SageMaker."""
    field = make_field(reader, value, call.place)
    if not isinstance(field.value, str):
        left = field.value if isinstance(field.value, Unknown) else Unknown(f"{field.value} is not a machine type")
        unknown = Field(left, field.origins)
        return {"gpus_per_pod": unknown, "accelerator": unknown}
    machine = Field(field.value.removeprefix("ml."), field.origins)
    accelerator, gpus = machine_types.find_accelerator(machine, None, None, "aws")
    return {"accelerator": accelerator, "gpus_per_pod": gpus or accelerator}


def list_instances(calls: Sequence[Object]) -> Iterator[Object]:
    """Yield the estimators and the deployed models of SageMaker that name a machine type."""
    for call in calls:
        runs = last_name(call) == "deploy" or call.get("entry_point") is not None
        if root(call) == "sagemaker" and call.get("instance_type") is not None and runs:
            yield call
