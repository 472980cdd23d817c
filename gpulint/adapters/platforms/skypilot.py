"""SkyPilot: a task's accelerators and nodes, and the engines and launchers that its script starts on them."""

from __future__ import annotations

import functools
import posixpath
import re
from collections.abc import Iterator, Mapping

from gpulint import units
from gpulint.adapters.platforms import gpu_spec_strings as rented
from gpulint.adapters.platforms import key_sets as shapes
from gpulint.adapters.platforms import task
from gpulint.adapters.platforms.gpu_spec_strings import Choice
from gpulint.adapters.programs import container_command as command
from gpulint.adapters.programs import nccl_variables as variables
from gpulint.adapters.programs import replica as instance
from gpulint.adapters.programs import visible_gpu_count as counted
from gpulint.adapters.trainers import settings_file as config_file
from gpulint.catalog import hardware
from gpulint.engines import Argument, Invocation
from gpulint.source.documents import Document, Path
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Role, Unknown, Value, Workload

MENTIONS = ("resources", "num_nodes", "SKYPILOT_")
READS = ("plain",)

TOP = shapes.keys("SkyPilot", "task")
RESOURCES = shapes.keys("SkyPilot", "resources")
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
"""What may carry checkpoints out of a machine, or bring them back."""
TIERED = frozenset({"gcp", "nebius", "aws", "k8s", "kubernetes"})
"""Clouds where `network_tier: best` brings the network that the machines have (skypilot, docs/source/network_tier)."""
PLATFORM = "platform variable"
CALLER = "caller's variable"


def claims(document: Document) -> bool:
    """A mapping of SkyPilot's keys whose resources are SkyPilot's, or that runs a script on nodes."""
    data = document.data
    if not isinstance(data, dict) or not data or not data.keys() <= TOP:
        return False
    resources = data.get("resources")
    if resources is not None and not (isinstance(resources, dict) and resources.keys() <= RESOURCES):
        return False
    runs = isinstance(data.get("run"), str)
    if resources and TELLING & resources.keys():
        return True
    return runs and (bool(resources) or "num_nodes" in data or "SKYPILOT_" in str(data["run"]))


def kind(document: Document) -> str:
    return "SkyPilot task"


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    """The one task of a document, where it has GPUs or starts an engine."""
    choices = tuple(_choices(document))
    given = _asked(document, choices)
    counts = {**given, **_counted(document, given)}
    find = functools.partial(config_file.of_repository_above, repository, posixpath.dirname(document.path))
    invocations = tuple(config_file.expanded(one, find) for one in _invocations(document, counts))
    found = task.read(invocations, find)
    if not given and not found:
        return
    fields = counts | ({} if found or not given else task.program(invocations, _anchor(document)))
    fields |= {**_disk(document), **_spot(document), **_tier(document), **_own_machines(document)}
    fields |= variables.fields(variables.exported(_environment(document, counts), invocations))
    name = document.get(("name",))
    label = str(name) if isinstance(name, str) else task.stem(document.path)
    roles = tuple(_together(role) for role in task.roles(label, _anchor(document), fields, found))
    purpose = "inference" if document.get(("service",)) else task.purpose(roles)
    yield Workload(label, purpose, "skypilot", document, (), roles)


def _anchor(document: Document) -> Origin:
    for path in (("name",), ACCELERATORS, ("resources",), ("run",)):
        if document.get(path) is not None:
            return Origin(document, path)
    return Origin(document, ())


# ---- what it runs on


def _asked(document: Document, choices: tuple[Choice, ...]) -> dict[str, Field]:
    """The GPUs of a node: one of several choices, or those of an instance type."""
    if choices:
        gpus = [one for one in choices if not OTHERS.match(one.name)]
        return rented.fields("skypilot", gpus, _cloud(document)) if len(gpus) == len(choices) else _other(choices)
    machine = document.get(("resources", "instance_type"))
    node = hardware.node(machine) if isinstance(machine, str) else None
    if node is None or not isinstance(machine, str):
        return {}
    place = (Origin(document, ("resources", "instance_type")),)
    fields = {"instance_type": Field(machine, place), "gpus_per_pod": Field(node.node_gpus, place)}
    return fields if not node.accelerator else {**fields, "accelerator": Field(node.accelerator, place)}


def _cloud(document: Document) -> str:
    """The one cloud that a task is to run on, which may mean a product of its own by a name."""
    named = document.get(("resources", "infra")) or document.get(("resources", "cloud"))
    return str(named or "").partition("/")[0].strip().lower()


def _other(choices: tuple[Choice, ...]) -> dict[str, Field]:
    """Choices that are not, or not all, GPUs."""
    if any(not OTHERS.match(one.name) for one in choices):
        why = Unknown(f"one of {', '.join(one.name for one in choices)}", rented.DECIDED)
        places = tuple(one.place for one in choices)
        return {"gpus_per_pod": Field(why, places), "accelerator": Field(why, places)}
    return {}


def _choices(document: Document) -> Iterator[Choice]:
    """Every accelerator that the task may get: of `any_of` or `ordered`, each with what stands beside them."""
    listed = [
        (*ACCELERATORS[:1], key, at)
        for key in ("any_of", "ordered")
        for at in range(len(_list(document.get(("resources", key)))))
    ]
    own = [(*path, "accelerators") for path in listed if document.get((*path, "accelerators")) is not None]
    for path in own if len(own) == len(listed) and own else [*own, ACCELERATORS]:
        yield from _named(document, path)


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _named(document: Document, path: Path) -> Iterator[Choice]:
    """The accelerators of one key: `H100:8`, a list of those, or a map to counts, whose keys may hold the count."""
    value = document.get(path)
    if isinstance(value, str):
        yield _choice(value, Origin(document, path))
    elif isinstance(value, list):
        for at, name in enumerate(value):
            if isinstance(name, str):
                yield _choice(name, Origin(document, (*path, at)))
    elif isinstance(value, dict):
        for name, count in value.items():
            place = Origin(document, (*path, str(name)), key=True)
            if count is None:
                yield _choice(str(name), place)
            else:
                yield Choice(str(name), place, _number(str(count)), (place._replace(key=False),))


def _choice(text: str, place: Origin) -> Choice:
    """`NAME` or `NAME:COUNT`."""
    name, colon, count = text.rpartition(":") if ":" in text else (text, "", "")
    named = place._replace(span=(0, len(name))) if colon else place
    if not colon:
        return Choice(text.strip(), named, 1)
    return Choice(name.strip(), named, _number(count.strip()), (place._replace(span=(len(name) + 1, len(text))),))


def _number(text: str) -> Value | Unknown:
    if text.isdecimal():
        return int(text)
    if re.fullmatch(r"\d*\.\d+", text):
        amount = float(text)
        return int(amount) if amount.is_integer() else amount
    return Unknown(f"the count is {text}", "placeholder" if re.search(r"[${<]", text) else "")


def _counted(document: Document, given: Mapping[str, Field]) -> dict[str, Field]:
    """Nodes of a task form one instance; a service runs several of them."""
    gpus = given.get("gpus_per_pod") or Field(Unknown("no accelerator is asked for"), (_anchor(document),))
    nodes = Field(1, source="one node unless said otherwise")
    stated, place = document.get(("num_nodes",)), (Origin(document, ("num_nodes",)),)
    if stated is not None:
        nodes = Field(stated if _whole(stated) else Unknown(f"num_nodes is {stated}"), place)  # type: ignore[arg-type]
    return {
        "gpus_per_pod": gpus,
        "pods_per_replica": nodes,
        "gpus_per_replica": instance.product(gpus, nodes),
        "replicas": _replicas(document),
        "shared_memory_default": Field(False, source=SHARED),
        "service_links": Field(False, source="SkyPilot"),
    }


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _replicas(document: Document) -> Field:
    path: Path = ("service", "replicas")
    stated = document.get(path)
    if stated is None and isinstance(document.get(("service", "replica_policy")), dict):
        least, most = (document.get(("service", "replica_policy", key)) for key in ("min_replicas", "max_replicas"))
        place = (Origin(document, ("service", "replica_policy", "min_replicas")),)
        if _whole(least) and most in (None, least):
            return Field(least, place)  # type: ignore[arg-type]
        return Field(Unknown("SkyServe scales the replicas"), place)
    if stated is None:
        return Field(1, source="one unless said otherwise")
    return Field(stated if _whole(stated) else Unknown(f"replicas is {stated}"), (Origin(document, path),))  # type: ignore[arg-type]


def _together(role: Role) -> Role:
    """A server on several nodes: the script runs on each of them, and may join them or not."""
    if role.value("pods_per_replica") == 1 or not role.text("engine") or task.trains(role.fields.get("engine")):
        return role
    reason = Unknown("whether the nodes serve together is decided by the script")
    return role.having(gpus_per_replica=Field(reason, role.fields["pods_per_replica"].origins))


# ---- what stays on the machine


def _disk(document: Document) -> dict[str, Field]:
    """The disk that downloads go to, where nothing is mounted into the machine."""
    stated = document.get(("resources", "disk_size"))
    if not _whole(stated) or any(document.get((key,)) for key in MOUNTS):
        return {}
    return {"model_volume_bytes": Field(stated * units.GIB, (Origin(document, ("resources", "disk_size")),))}  # type: ignore[operator]


def _own_machines(document: Document) -> dict[str, Field]:
    """The cloud that a task names, whose machines SkyPilot rents for it alone; pods of a cluster share theirs."""
    cloud = _cloud(document)
    if not hardware.is_cloud(cloud):
        return {}
    at = next(path for path in (("resources", "infra"), ("resources", "cloud")) if document.get(path))
    found = {"cloud": Field(cloud, (Origin(document, at),)), "whole_machine": Field(True, source="a SkyPilot cluster")}
    stated = document.get(("resources", "region")) or str(document.get(("resources", "infra")) or "").split("/")[1:2]
    region = stated[0] if isinstance(stated, list) and stated else stated
    if isinstance(region, str) and region not in ("", "*"):
        place = ("resources", "region") if document.get(("resources", "region")) else at
        found["region"] = Field(region, (Origin(document, place),))
    return found


def _spot(document: Document) -> dict[str, Field]:
    """That a task runs on machines that may be taken back, and whether it names no store to keep its results in."""
    if document.get(("resources", "use_spot")) is not True:
        return {}
    told = Field(True, (Origin(document, ("resources", "use_spot")),))
    return {"spot": told} if _stores(document) else {"spot": told, "spot_without_store": told}


def _stores(document: Document) -> bool:
    """Whether a task mounts something, or names a store."""
    texts = (document.get((key,)) for key in ("run", "setup", "envs"))
    return any(document.get((key,)) for key in MOUNTS) or any(STORE.search(str(text)) for text in texts if text)


def _tier(document: Document) -> dict[str, Field]:
    """That the nodes of a task are to have whatever network is usual."""
    if document.get(("resources", "network_tier")) is not None or document.get(("resources", "instance_type")):
        return {}
    cloud = _cloud(document)
    if cloud and cloud not in TIERED:
        return {}
    nodes = Origin(document, ("num_nodes",))
    return {"network_tier_unset": Field(True, (nodes,))} if document.get(("num_nodes",)) is not None else {}


# ---- what it starts


def _invocations(document: Document, given: Mapping[str, Field]) -> Iterator[Invocation]:
    text = document.get(("run",))
    if not isinstance(text, str):
        return
    known = _environment(document, given)
    text, counts = counted.filled(text, given["gpus_per_pod"], _anchor(document))
    known.update(counts)
    script = command.Script(text, lambda start, end: Origin(document, ("run",), (start, end)))
    yield from command.scripted(_image(document), script, known)


def _image(document: Document) -> Argument:
    """The container image that a machine runs the task in; a machine image tells nothing of engines."""
    named, place = document.get(("resources", "image_id")), Origin(document, ("resources", "image_id"))
    if isinstance(named, str) and named.startswith("docker:"):
        return Argument(named.removeprefix("docker:"), place._replace(span=(len("docker:"), len(named))))
    return Argument(None, place, "the machine's image")


def _environment(document: Document, given: Mapping[str, Field]) -> command.Environment:
    """The task's own variables, and those that SkyPilot sets."""
    known = command.Environment()
    for section in ("envs", "secrets"):
        stated = document.get((section,))
        for name, value in stated.items() if isinstance(stated, dict) else ():
            place = Origin(document, (section, str(name)))
            if value is None or section == "secrets":
                known[str(name)] = Argument(None, place, f"{name} is given when the task is launched", category=CALLER)
            else:
                known[str(name)] = Argument(command.spelled(place, value), place)
    known["SKYPILOT_NUM_GPUS_PER_NODE"] = _filled("SKYPILOT_NUM_GPUS_PER_NODE", given["gpus_per_pod"], document)
    known["SKYPILOT_NUM_NODES"] = _filled("SKYPILOT_NUM_NODES", given["pods_per_replica"], document)
    for name in NODE_VARIABLES:
        known[name] = Argument(None, Origin(document, ("run",)), f"SkyPilot sets {name}", category=PLATFORM)
    return known


def _filled(name: str, stated: Field, document: Document) -> Argument:
    """A variable that SkyPilot sets to a count of the task."""
    place = stated.origins[0] if stated.origins else Origin(document, ("run",))
    if isinstance(stated.value, int):
        return Argument(str(stated.value), place)
    return Argument(None, place, f"SkyPilot sets {name}", category=PLATFORM)
