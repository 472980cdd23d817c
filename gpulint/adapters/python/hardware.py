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
from gpulint.source.documents import Document
from gpulint.source.python import Evaluated
from gpulint.source.python.values import Class, Constant, Function, Items, Mapping, Object, Place, Value
from gpulint.workload import Field, Origin, Unknown
from gpulint.workload import Value as Stated

SPEC = re.compile(r"(?P<name>[\w.-]+!?\+?)(?::(?P<count>\d+))?")
ONE = Field(1, source="one container for each replica")
SERVERLESS = ("modal", "beam", "beta9", "cerebrium")
DECORATED = frozenset(
    {"function", "cls", "endpoint", "task_queue", "asgi", "realtime", "schedule", "remote", "deployment", "service"}
)


class Placement(NamedTuple):
    """A function or class that gets GPUs of its own: its name, its place, the nodes of its code, and its hardware."""

    name: str
    anchor: Origin
    nodes: frozenset[int]
    fields: dict[str, Field]


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
    return tuple(found.values())


def _read_decorators(name: str, value: Function | Class, reader: Reader) -> Iterator[Placement]:
    for decorator in value.decorators:
        if not isinstance(decorator, Object) or last_name(decorator) not in DECORATED:
            continue
        fields = _read_request(decorator, reader)
        place = decorator.place
        if fields and isinstance(place, Place):
            anchor = next(iter(fields["gpus_per_pod"].origins), Origin(place.document, place.path, place.span))
            yield Placement(name, anchor, frozenset(_list_nodes(value)), fields)


def _list_nodes(value: Function | Class) -> Iterator[int]:
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
        why = unknown.value if isinstance(unknown.value, Unknown) else Unknown("the GPU is not known")
        return {"gpus_per_pod": Field(why, unknown.origins), "accelerator": Field(why, unknown.origins)}
    fields = gpu_spec_strings.fields(platform, choices)
    count = call.get("gpu_count")
    if count is not None and not is_nothing(count):
        fields["gpus_per_pod"] = make_field(reader, count, call.place)
    return fields


def _read_choice(value: Value, call: Object, reader: Reader) -> Choice | None:
    """Return `"A100-80GB:2"`, or the older `gpu.A100(count=2, size="80GB")`."""
    if isinstance(value, Object) and ".gpu." in value.name:
        size = read_text(value.get("size"))
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
        left = Unknown("the accelerator is up to the deployment", "any host")
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
        count = Field(Unknown("a share of a GPU is requested") if count.value % 1 else int(count.value), count.origins)
    if count.value == 0:
        return {}
    kind = entries.get("accelerator_type")
    named = read_text(kind)
    product = (
        gpu_spec_strings.product(("ray",), named.removeprefix("NVIDIA_TESLA_").removeprefix("NVIDIA_"))
        if named
        else None
    )
    left = Unknown("the accelerator is up to the Ray cluster", "any host")
    place = reader.origins(kind, call.place) if kind is not None else count.origins
    return {"gpus_per_pod": count, "accelerator": Field(product or left, place)}


def read_scaling(calls: Sequence[Object], reader: Reader) -> dict[str, Field]:
    """Return the GPUs of a run of Ray Train: one for each worker unless stated otherwise."""
    config = next((call for call in calls if last_name(call) == "ScalingConfig" and root(call) == "ray"), None)
    workers = config.get("num_workers") if config is not None else None
    if config is None or workers is None or not is_on(config.get("use_gpu")):
        return {}
    count = make_field(reader, workers, config.place)
    resources = config.get("resources_per_worker")
    each = read_number(resources.entries.get("GPU")) if isinstance(resources, Mapping) else 1
    if isinstance(count.value, int) and each:
        count = Field(count.value * each, count.origins)
    named = read_text(kind := config.get("accelerator_type"))
    product = gpu_spec_strings.product(("ray",), named) if named else None
    left = Unknown("the accelerator is up to the Ray cluster", "any host")
    place = reader.origins(kind, config.place) if kind is not None else count.origins
    spread = Unknown("how the workers spread over nodes is up to the Ray cluster", "any host")
    return {
        "gpus_per_replica": count,
        "gpus_per_pod": Field(count.value if count.value == 1 else spread, count.origins),
        "pods_per_replica": Field(1 if count.value == 1 else spread, count.origins),
        "replicas": Field(1, source="one run"),
        "accelerator": Field(product or left, place),
    }


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
        else Field(1, source="one machine unless stated otherwise")
    )
    deployed = last_name(call) == "deploy"
    one = Field(1, source="one machine for each replica" if deployed else "one run")
    fields |= {"pods_per_replica": one if deployed else count, "replicas": count if deployed else one}
    return {**fields, "gpus_per_replica": replica.product(fields["gpus_per_pod"], fields["pods_per_replica"])}


def read_instance(value: Value, call: Object, reader: Reader) -> dict[str, Field]:
    """Return the accelerator and GPUs of a machine type of SageMaker."""
    field = make_field(reader, value, call.place)
    if not isinstance(field.value, str):
        left = field.value if isinstance(field.value, Unknown) else Unknown(f"{field.value} is no machine type")
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
