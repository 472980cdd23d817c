"""SkyPilot: a task's accelerators and nodes, and the engines and launchers that its script starts on them."""

from __future__ import annotations

import functools
import posixpath
import re
from collections.abc import Iterator, Mapping

from gpulint import units
from gpulint.adapters.claim import Claim
from gpulint.adapters.platforms import gpu_spec_strings, key_sets, task
from gpulint.adapters.platforms.gpu_spec_strings import Choice
from gpulint.adapters.programs import (
    container_command,
    file_stem,
    nccl_variables,
    replica,
    visible_devices,
    visible_gpu_count,
)
from gpulint.adapters.trainers import settings_file
from gpulint.catalog import hardware
from gpulint.engines import Argument, Invocation
from gpulint.source.documents import Document, Path
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Role, Unknown, Value, Workload

MENTIONS = ("resources", "num_nodes", "SKYPILOT_")
TRIGGERS = ("SKYPILOT_",)
READS = ("plain",)
CLAIMS = ("shape",)

TOP = key_sets.keys("SkyPilot", "task")
RESOURCES = key_sets.keys("SkyPilot", "resources")
TELLING = frozenset(
    {
        "accelerators",
        "cloud",
        "infra",
        "instance_type",
        "use_spot",
        "any_of",
        "ordered",
        "image_id",
        "disk_tier",
        "network_tier",
    }
)
ACCELERATORS: Path = ("resources", "accelerators")
OTHERS = re.compile(r"(?i)tpu|inferentia|trainium|.*neuron|gaudi hl")
SHARED = "SkyPilot sets up the machine or the container"
NODE_VARIABLES = ("SKYPILOT_NODE_RANK", "SKYPILOT_NODE_IPS", "SKYPILOT_TASK_ID", "SKYPILOT_SERVE_REPLICA_ID")
"""skypilot, docs/source/running-jobs/environment-variables.rst."""
MOUNTS = ("file_mounts", "volumes", "storage")
STORE = re.compile(
    r"(?i)\b(?:s3|gs|gcs|r2|az|azure|oci|cos|hf)://|\brclone\b|\bgsutil\b|\baws s3\b|resume|push_to_hub|hub_|rsync|nfs|/mnt/|scp "
)
"""Tools and stores that may copy checkpoints out of a machine, or bring them back."""
TIERED = frozenset({"gcp", "nebius", "aws", "k8s", "kubernetes"})
"""Clouds where `network_tier: best` enables the machines' own network (skypilot,
docs/source/network_tier).
"""
PLATFORM = "platform variable"
CALLER = "caller's variable"


def claims(document: Document) -> Claim:
    """Claim a mapping of SkyPilot's keys with SkyPilot's resources, or a script that runs
    on nodes.
    """
    data = document.data
    if not isinstance(data, dict) or not data or not data.keys() <= TOP:
        return Claim.NONE
    resources = data.get("resources")
    if resources is not None and not (isinstance(resources, dict) and resources.keys() <= RESOURCES):
        return Claim.NONE
    runs = isinstance(data.get("run"), str)
    if resources and TELLING & resources.keys():
        return Claim.SHAPE
    return Claim.SHAPE.where(runs and (bool(resources) or "num_nodes" in data or "SKYPILOT_" in str(data["run"])))


def kind(document: Document) -> str:
    return "SkyPilot task"


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    """Yield the one task of a document, if it has GPUs or starts an engine."""
    choices = tuple(_list_choices(document))
    given = _read_gpus(document, choices)
    counts = {**given, **_count(document, given)}
    find = functools.partial(settings_file.find_in_parents, repository, posixpath.dirname(document.path))
    invocations = tuple(settings_file.expand(invocation, find) for invocation in _list_invocations(document, counts))
    readings = task.read(invocations, find)
    if not given and not readings:
        return
    fields = counts | ({} if readings or not given else task.program(invocations, _find_anchor(document)))
    fields |= {**_read_disk(document), **_read_spot(document), **_read_tier(document), **_read_own_machines(document)}
    environment = nccl_variables.merge_exported(_read_environment(document, counts), invocations)
    fields |= nccl_variables.fields(environment)
    fields |= visible_devices.cut_short(environment, counts.get("gpus_per_pod"))
    name = document.get(("name",))
    label = str(name) if isinstance(name, str) else file_stem.find_stem(document.path)
    roles = tuple(
        _mark_separate_nodes(role) for role in task.roles(label, _find_anchor(document), fields, readings, invocations)
    )
    purpose = "inference" if document.get(("service",)) else task.purpose(roles)
    yield Workload(label, purpose, "skypilot", document, (), roles)


def _find_anchor(document: Document) -> Origin:
    for path in (("name",), ACCELERATORS, ("resources",), ("run",)):
        if document.get(path) is not None:
            return Origin(document, path)
    return Origin(document, ())


# ---- what it runs on


def _read_gpus(document: Document, choices: tuple[Choice, ...]) -> dict[str, Field]:
    """Return the GPUs of a node: one of several choices, or those of an instance type."""
    if choices:
        gpus = [choice for choice in choices if not OTHERS.match(choice.name)]
        return (
            gpu_spec_strings.fields("skypilot", gpus, _find_cloud(document))
            if len(gpus) == len(choices)
            else _read_other_choices(choices)
        )
    machine = document.get(("resources", "instance_type"))
    node = hardware.node(machine) if isinstance(machine, str) else None
    if node is None or not isinstance(machine, str):
        return {}
    place = (Origin(document, ("resources", "instance_type")),)
    fields = {"instance_type": Field(machine, place), "gpus_per_pod": Field(node.node_gpus, place)}
    return fields if not node.accelerator else {**fields, "accelerator": Field(node.accelerator, place)}


def _find_cloud(document: Document) -> str:
    """Return the one cloud of a task, which may have its own names for accelerators."""
    named = document.get(("resources", "infra")) or document.get(("resources", "cloud"))
    return str(named or "").partition("/")[0].strip().lower()


def _read_other_choices(choices: tuple[Choice, ...]) -> dict[str, Field]:
    """Return choices of which some or all are not GPUs."""
    if any(not OTHERS.match(choice.name) for choice in choices):
        why = Unknown(f"one of {', '.join(choice.name for choice in choices)}", gpu_spec_strings.DECIDED)
        places = tuple(choice.place for choice in choices)
        return {"gpus_per_pod": Field(why, places), "accelerator": Field(why, places)}
    return {}


def _list_choices(document: Document) -> Iterator[Choice]:
    """Yield every accelerator that the task may get, including `any_of` and `ordered`."""
    listed = [
        (*ACCELERATORS[:1], key, at)
        for key in ("any_of", "ordered")
        for at in range(len(_ensure_list(document.get(("resources", key)))))
    ]
    own = [(*path, "accelerators") for path in listed if document.get((*path, "accelerators")) is not None]
    for path in own if len(own) == len(listed) and own else [*own, ACCELERATORS]:
        yield from _read_choices(document, path)


def _ensure_list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _read_choices(document: Document, path: Path) -> Iterator[Choice]:
    """Yield the accelerators of one key: `H100:8`, a list of those, or a map to counts."""
    value = document.get(path)
    if isinstance(value, str):
        yield _parse_choice(value, Origin(document, path))
    elif isinstance(value, list):
        for at, name in enumerate(value):
            if isinstance(name, str):
                yield _parse_choice(name, Origin(document, (*path, at)))
    elif isinstance(value, dict):
        for name, count in value.items():
            place = Origin(document, (*path, str(name)), key=True)
            if count is None:
                yield _parse_choice(str(name), place)
            else:
                yield Choice(str(name), place, _parse_number(str(count)), (place._replace(key=False),))


def _parse_choice(text: str, place: Origin) -> Choice:
    """Read `NAME` or `NAME:COUNT`."""
    name, colon, count = text.rpartition(":") if ":" in text else (text, "", "")
    named = place._replace(span=(0, len(name))) if colon else place
    if not colon:
        return Choice(text.strip(), named, 1)
    counted = place._replace(span=(len(name) + 1, len(text.rstrip())))
    return Choice(name.strip(), named, _parse_number(count.strip()), (counted,))


def _parse_number(text: str) -> Value | Unknown:
    if text.isdecimal():
        return int(text)
    if re.fullmatch(r"\d*\.\d+", text):
        amount = float(text)
        return int(amount) if amount.is_integer() else amount
    return Unknown(f"the count {text} is not a number", "placeholder" if re.search(r"[${<]", text) else "")


def _count(document: Document, given: Mapping[str, Field]) -> dict[str, Field]:
    """Return the fields of a task.

    Its nodes form one instance, and a service runs several instances.
    """
    gpus = given.get("gpus_per_pod") or Field(Unknown("no accelerator is requested"), (_find_anchor(document),))
    nodes = Field(1, source="default: one node")
    stated, place = document.get(("num_nodes",)), (Origin(document, ("num_nodes",)),)
    if stated is not None:
        nodes = Field(stated if _is_whole(stated) else Unknown(f"num_nodes is {stated}"), place)  # type: ignore[arg-type]
    return {
        "gpus_per_pod": gpus,
        "pods_per_replica": nodes,
        "gpus_per_replica": replica.product(gpus, nodes),
        "replicas": _read_replicas(document),
        "shared_memory_default": Field(False, source=SHARED),
        "service_links": Field(False, source="SkyPilot"),
    }


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _read_replicas(document: Document) -> Field:
    path: Path = ("service", "replicas")
    stated = document.get(path)
    if stated is None and isinstance(document.get(("service", "replica_policy")), dict):
        minimum, maximum = (
            document.get(("service", "replica_policy", key)) for key in ("min_replicas", "max_replicas")
        )
        place = (Origin(document, ("service", "replica_policy", "min_replicas")),)
        if _is_whole(minimum) and maximum in (None, minimum):
            return Field(minimum, place)  # type: ignore[arg-type]
        return Field(Unknown("SkyServe scales the replicas"), place)
    if stated is None:
        return Field(1, source="default: one replica")
    return Field(stated if _is_whole(stated) else Unknown(f"replicas is {stated}"), (Origin(document, path),))  # type: ignore[arg-type]


def _mark_separate_nodes(role: Role) -> Role:
    """Return a server on several nodes. The script decides whether they serve together."""
    if role.value("pods_per_replica") == 1 or not role.text("engine") or task.is_training(role.fields.get("engine")):
        return role
    reason = Unknown("the script decides whether the nodes serve together")
    return role.having(gpus_per_replica=Field(reason, role.fields["pods_per_replica"].origins))


# ---- what stays on the machine


def _read_disk(document: Document) -> dict[str, Field]:
    """Return the disk that downloads use, if nothing is mounted on the machine."""
    stated = document.get(("resources", "disk_size"))
    if not _is_whole(stated) or any(document.get((key,)) for key in MOUNTS):
        return {}
    return {"model_volume_bytes": Field(stated * units.GIB, (Origin(document, ("resources", "disk_size")),))}  # type: ignore[operator]


def _read_own_machines(document: Document) -> dict[str, Field]:
    """Return a task's cloud, where SkyPilot rents whole machines.

    Pods of a cluster share theirs.
    """
    cloud = _find_cloud(document)
    if not hardware.is_cloud(cloud):
        return {}
    at = next(path for path in (("resources", "infra"), ("resources", "cloud")) if document.get(path))
    machine_fields = {
        "cloud": Field(cloud, (Origin(document, at),)),
        "whole_machine": Field(True, source="a SkyPilot cluster"),
    }
    stated = document.get(("resources", "region")) or str(document.get(("resources", "infra")) or "").split("/")[1:2]
    region = stated[0] if isinstance(stated, list) and stated else stated
    if isinstance(region, str) and region not in ("", "*"):
        place = ("resources", "region") if document.get(("resources", "region")) else at
        machine_fields["region"] = Field(region, (Origin(document, place),))
    return machine_fields


def _read_spot(document: Document) -> dict[str, Field]:
    """Return the use of spot machines, and whether the task names no store for its results."""
    if document.get(("resources", "use_spot")) is not True:
        return {}
    spot = Field(True, (Origin(document, ("resources", "use_spot")),))
    return {"spot": spot} if _has_store(document) else {"spot": spot, "spot_without_store": spot}


def _has_store(document: Document) -> bool:
    """Return True if a task mounts something, or names a store."""
    texts = (document.get((key,)) for key in ("run", "setup", "envs"))
    return any(document.get((key,)) for key in MOUNTS) or any(STORE.search(str(text)) for text in texts if text)


def _read_tier(document: Document) -> dict[str, Field]:
    """Return a fact if a task on several nodes leaves the network tier unset."""
    if document.get(("resources", "network_tier")) is not None or document.get(("resources", "instance_type")):
        return {}
    cloud = _find_cloud(document)
    if cloud and cloud not in TIERED:
        return {}
    nodes = Origin(document, ("num_nodes",))
    return {"network_tier_unset": Field(True, (nodes,))} if document.get(("num_nodes",)) is not None else {}


# ---- what it starts


def _list_invocations(document: Document, given: Mapping[str, Field]) -> Iterator[Invocation]:
    text = document.get(("run",))
    if not isinstance(text, str):
        return
    environment = _read_environment(document, given)
    text, counts = visible_gpu_count.replace_counts(text, given["gpus_per_pod"], _find_anchor(document))
    environment.update(counts)
    script = container_command.Script(text, lambda start, end: Origin(document, ("run",), (start, end)))
    yield from container_command.expand_script(_read_image(document), script, environment)


def _read_image(document: Document) -> Argument:
    """Return the container image of the task. A machine image states no engine."""
    named, place = document.get(("resources", "image_id")), Origin(document, ("resources", "image_id"))
    if isinstance(named, str) and named.startswith("docker:"):
        return Argument(named.removeprefix("docker:"), place._replace(span=(len("docker:"), len(named))))
    return Argument(None, place, "the machine's image")


def _read_environment(document: Document, given: Mapping[str, Field]) -> container_command.Environment:
    """Return the task's own variables and those that SkyPilot sets."""
    environment = container_command.Environment()
    for section in ("envs", "secrets"):
        stated = document.get((section,))
        for name, value in stated.items() if isinstance(stated, dict) else ():
            place = Origin(document, (section, str(name)))
            if value is None or section == "secrets":
                environment[str(name)] = Argument(
                    None, place, f"{name} is set when the task is launched", category=CALLER
                )
            else:
                environment[str(name)] = Argument(container_command.read_spelling(place, value), place)
    environment["SKYPILOT_NUM_GPUS_PER_NODE"] = _fill_variable(
        "SKYPILOT_NUM_GPUS_PER_NODE", given["gpus_per_pod"], document
    )
    environment["SKYPILOT_NUM_NODES"] = _fill_variable("SKYPILOT_NUM_NODES", given["pods_per_replica"], document)
    for name in NODE_VARIABLES:
        environment[name] = Argument(None, Origin(document, ("run",)), f"SkyPilot sets {name}", category=PLATFORM)
    return environment


def _fill_variable(name: str, stated: Field, document: Document) -> Argument:
    """Return a variable that SkyPilot sets to a count of the task."""
    place = stated.origins[0] if stated.origins else Origin(document, ("run",))
    if isinstance(stated.value, int):
        return Argument(str(stated.value), place)
    return Argument(None, place, f"SkyPilot sets {name}", category=PLATFORM)
