"""dstack: the GPUs, nodes and replicas of a task or service, and what its commands start."""

from __future__ import annotations

import functools
import posixpath
import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from gpulint import units
from gpulint.adapters.claim import Claim
from gpulint.adapters.platforms import gpu_spec_strings, key_sets, task
from gpulint.adapters.platforms.gpu_spec_strings import DECIDED, Choice
from gpulint.adapters.programs import container_command, file_stem, nccl_variables, replica, visible_gpu_count
from gpulint.adapters.trainers import settings_file
from gpulint.catalog import hardware, tables
from gpulint.engines import Argument, Invocation
from gpulint.source.documents import Document, Path
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Role, Unknown, Value, Workload

MENTIONS = ("type:", 'type":')
TRIGGERS = ("dstack",)
READS = ("plain",)
CLAIMS = ("shape",)

RUNS = frozenset({"task", "service", "dev-environment"})
TYPES = RUNS | {"fleet", "volume", "gateway"}
NAMED = re.compile(r"(?:^|[/.])dstack\.ya?ml$")
"""The file names that dstack requires (docs/docs/concepts/tasks.md)."""
RUN_KEYS = key_sets.keys("dstack", "run")
TELLING: Mapping[str, frozenset[str]] = {
    "task": frozenset({"commands", "resources", "image", "groups", "nodes", "env", "python"}),
    "service": frozenset({"commands", "resources", "image", "groups", "port", "env", "python"}),
    "dev-environment": frozenset({"ide", "resources", "init", "python", "image"}),
    "fleet": frozenset({"nodes", "ssh_config", "resources", "placement", "backends", "blocks"}),
    "volume": frozenset({"backend", "size", "volume_id", "instance_path"}),
    "gateway": frozenset({"backend", "domain", "region"}),
}
NOT_GPUS = frozenset({"google", "tpu", "tenstorrent", "tt"})
VENDORS = NOT_GPUS | {"nvidia", "amd", "intel"}
OTHERS = re.compile(r"(?i)tpu-|v\d\w*-\d+|n150|n300|tt-|gaudi")
CARD_IS_NO_DEVICE = frozenset({"mi250", "mi250x"})
"""Accelerators that gpuhunt counts by board, although each half is a device.

Source: gpuhunt, _internal/constraints.py: 128 GB.
"""
PLATFORM = "platform variable"
CALLER = "caller's variable"
DEFAULT_IMAGE = "dstack's base image"


class Part(NamedTuple):
    """Nodes or replicas of a run that are alike: the path of their group, or of the whole run."""

    name: str
    path: Path


class Request(NamedTuple):
    """What `resources.gpu` requests: names with locations, a count, and a range of memory."""

    names: tuple[tuple[str, Origin], ...]
    gpus: Value | Unknown
    counted: tuple[Origin, ...]
    memory: str
    place: Origin


def claims(document: Document) -> Claim:
    """Claim a document with a `type` of dstack's and only dstack's keys."""
    data = document.data
    if not isinstance(data, dict) or "apiVersion" in data:
        return Claim.NONE
    named = str(data.get("type"))
    if named not in TYPES or not TELLING[named] & data.keys():
        return Claim.NONE
    if named not in RUNS or data.keys() <= RUN_KEYS:
        return Claim.SHAPE
    return Claim.SHAPE.where("resources" in data and bool(NAMED.search(document.path)))


def kind(document: Document) -> str:
    return f"dstack {document.get(('type',))}"


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    """Yield the one run of a document.

    Each group of nodes or replicas that has GPUs or starts an engine is a role.
    """
    named = document.get(("type",))
    if named not in RUNS:
        return
    name = document.get(("name",))
    label = str(name) if isinstance(name, str) else file_stem.find_stem(document.path)
    find = functools.partial(settings_file.find_in_parents, repository, posixpath.dirname(document.path))
    roles = tuple(role for part in _find_parts(document, label) for role in _read_roles(document, part, find))
    if roles:
        purpose = "inference" if named == "service" else task.purpose(roles)
        yield Workload(label, purpose, "dstack", document, (), roles)


def _find_parts(document: Document, label: str) -> Iterator[Part]:
    """Yield the groups of a run, or the run itself."""
    for key in ("groups", "replicas"):
        groups = document.get((key,))
        if isinstance(groups, list):
            for at, group in enumerate(groups):
                own = group.get("name") if isinstance(group, dict) else None
                yield Part(str(own or at), (key, at))
            return
    yield Part(label, ())


def _read_roles(document: Document, part: Part, find: Callable[[str], Origin | None]) -> Iterator[Role]:
    request = _read_request(document, (*part.path, "resources", "gpu"))
    anchor = _find_anchor(document, part)
    if request is not None and (request.gpus == 0 or _is_other_device(request)):
        return
    given = _read_gpus(request) if request else {}
    fields = {**given, **_read_counts(document, part, given, anchor), **_read_cloud(document), **_read_spot(document)}
    invocations = tuple(_read_invocations(document, part, fields))
    readings = task.read(invocations, find)
    if not given and not readings:
        return
    program = {} if readings else task.program(invocations, anchor)
    fields |= nccl_variables.fields(nccl_variables.merge_exported(_read_environment(document, fields), invocations))
    yield from task.roles(part.name, anchor, {**fields, **program}, readings, invocations)


def _read_cloud(document: Document) -> dict[str, Field]:
    """Return the one cloud that a run names, whose machines dstack rents for it."""
    backends = document.get(("backends",))
    cloud = backends[0] if isinstance(backends, list) and len(backends) == 1 else None
    if not isinstance(cloud, str) or not hardware.is_cloud(cloud):
        return {}
    place = Origin(document, ("backends", 0))
    fields = {"cloud": Field(cloud, (place,)), "whole_machine": Field(True, source="an instance of dstack")}
    regions = document.get(("regions",))
    if isinstance(regions, list) and len(regions) == 1 and isinstance(regions[0], str):
        fields["region"] = Field(regions[0], (Origin(document, ("regions", 0)),))
    return fields


def _read_spot(document: Document) -> dict[str, Field]:
    """Return `spot` if a run accepts interruptible machines only."""
    place = Origin(document, ("spot_policy",))
    return {"spot": Field(True, (place,))} if document.get(place.path) == "spot" else {}


def _find_anchor(document: Document, part: Part) -> Origin:
    for path in ((*part.path, "name"), (*part.path, "resources", "gpu"), ("type",)):
        if document.get(path) is not None:
            return Origin(document, path)
    return Origin(document, ())


def _is_other_device(request: Request) -> bool:
    """Return whether every requested accelerator is something other than a GPU."""
    names = [name for name, _ in request.names]
    return bool(NOT_GPUS & set(names)) or (bool(names) and all(OTHERS.match(name) for name in names))


# ---- what it runs on


def _read_request(document: Document, path: Path) -> Request | None:
    """Parse `8`, `H100:8`, `24GB..`, `80GB:2`, `A10G,A100:1..2`, or a map of the same parts."""
    value, place = document.get(path), Origin(document, path)
    if isinstance(value, int) and not isinstance(value, bool):
        return Request((), value, (place,), "", place)
    if isinstance(value, str):
        return _parse_text(value, place)
    if isinstance(value, dict):
        return _parse_mapping(document, path)
    return None


def _parse_text(text: str, place: Origin) -> Request:
    names: list[tuple[str, Origin]] = []
    count: Value | Unknown = 1
    counted: tuple[Origin, ...] = ()
    memory = ""
    at = 0
    for token in text.split(":"):
        start = at + len(token) - len(token.lstrip())
        span = place._replace(span=(start, start + len(token.strip())))
        at += len(token) + 1
        word = token.replace(" ", "")
        if not word or word.lower() in VENDORS:
            names += [(word.lower(), span)] if word.lower() in NOT_GPUS else []
        elif word[0].isalpha() or OTHERS.match(word):
            names += _split_names(word, span)
        elif any(character.isalpha() for character in word):
            memory = word
        else:
            count, counted = _parse_range(word), (span,)
    return Request(tuple(names), count, counted, memory, place)


def _split_names(word: str, place: Origin) -> Iterator[tuple[str, Origin]]:
    at = place.span[0] if place.span else 0
    for name in word.split(","):
        yield name, place._replace(span=(at, at + len(name)))
        at += len(name) + 1


def _parse_mapping(document: Document, path: Path) -> Request:
    place = Origin(document, path)
    named, stated = document.get((*path, "name")), document.get((*path, "count"))
    listed = (
        [(str(name), Origin(document, (*path, "name", at))) for at, name in enumerate(named)]
        if isinstance(named, list)
        else [(str(named), Origin(document, (*path, "name")))]
        if named is not None
        else []
    )
    if str(document.get((*path, "vendor"))) in NOT_GPUS:
        listed = [("google", Origin(document, (*path, "vendor")))]
    if isinstance(stated, dict):
        stated = f"{stated.get('min') or ''}..{stated.get('max') or ''}"
    count = _parse_range(str(stated).replace(" ", "")) if stated is not None else 1
    counted = (Origin(document, (*path, "count")),) if stated is not None else ()
    memory = document.get((*path, "memory"))
    return Request(tuple(listed), count, counted, "" if memory is None else str(memory).replace(" ", ""), place)


def _parse_range(word: str) -> Value | Unknown:
    """Return a count, also from a range whose ends are equal."""
    minimum, dots, maximum = word.partition("..")
    if minimum.isdecimal() and (not dots or maximum == minimum):
        return int(minimum)
    if dots:
        return Unknown(f"between {minimum or 'none'} and {maximum or 'any number'} are requested", DECIDED)
    return Unknown(f"the GPU count is {word}")


def _read_gpus(request: Request) -> dict[str, Field]:
    origins = request.counted or (request.place,)
    fields = {
        "gpus_per_pod": Field(request.gpus, origins, source="" if request.counted else "one unless stated otherwise")
    }
    if not request.names:
        wanted = f"any GPU with {request.memory}" if request.memory else "any GPU"
        return {**fields, "accelerator": Field(Unknown(f"{wanted} is requested", DECIDED), (request.place,))}
    choices = [Choice(_add_size(name, request.memory), place, request.gpus, origins) for name, place in request.names]
    named = gpu_spec_strings.fields("dstack", choices)
    if any(name.lower() in CARD_IS_NO_DEVICE for name, _ in request.names):
        named["accelerator"] = Field(
            Unknown("the count is of accelerator boards with two GPUs each"), (choices[0].place,)
        )
    return {**fields, "accelerator": named["accelerator"]}


def _add_size(name: str, memory: str) -> str:
    """Return the name with its memory size, as `A100:80GB`, if only one size matches."""
    sizes = [
        row["profile"].partition(":")[2]
        for row in tables.rows("resource_profiles")
        if row["platform"] == "dstack" and row["profile"].lower().startswith(f"{name.lower()}:")
    ]
    left = [size for size in sizes if _is_within(size, memory)]
    return f"{name}:{left[0]}" if len(left) == 1 else name


def _is_within(size: str, memory: str) -> bool:
    """Return whether a size is in a range such as `40GB..80GB`."""
    minimum, dots, maximum = memory.partition("..")
    try:
        amount = units.binary_bytes(size)
        lowest = units.binary_bytes(minimum) if minimum else 0
        highest = units.binary_bytes(maximum) if maximum else amount if dots or not minimum else lowest
    except ValueError:
        return False
    return lowest <= amount <= highest


def _read_counts(document: Document, part: Part, given: Mapping[str, Field], anchor: Origin) -> dict[str, Field]:
    """Return the counts: a task's nodes form one run; a service's replicas are instances."""
    gpus = given.get("gpus_per_pod") or Field(Unknown("no GPU is requested"), (anchor,))
    task_like = document.get(("type",)) != "service"
    nodes = _read_count(document, (*part.path, "nodes")) if task_like else Field(1, source="one node per replica")
    replicas = Field(1, source="one run") if task_like else _read_count(document, (*part.path, "replicas"))
    return {
        "gpus_per_pod": gpus,
        "pods_per_replica": nodes,
        "gpus_per_replica": replica.product(gpus, nodes),
        "replicas": replicas,
        "service_links": Field(False, source="dstack"),
        **_read_shared_memory(document, part),
    }


def _read_count(document: Document, path: Path) -> Field:
    stated = document.get(path)
    if stated is None:
        return Field(1, source="one unless stated otherwise")
    if isinstance(stated, int) and not isinstance(stated, bool):
        return Field(stated, (Origin(document, path),))
    return Field(_parse_range(str(stated).replace(" ", "")), (Origin(document, path),))


def _read_shared_memory(document: Document, part: Part) -> dict[str, Field]:
    """Return Docker's 64 MiB unless `shm_size` states more.

    Source: dstack 0.21.2, runner/internal/shim/models.go.
    """
    path = (*part.path, "resources", "shm_size")
    if document.get(path) is not None:
        return {"shared_memory_default": Field(False, (Origin(document, path),))}
    place = Origin(document, (*part.path, "resources"))
    return {
        "shared_memory_default": Field(
            True, (place,), source="default of dstack 0.21.2 (runner/internal/shim/models.go)"
        ),
        "shared_memory_remedy": Field("set shm_size: 8GB under resources"),
    }


# ---- what it starts


def _read_invocations(document: Document, part: Part, given: Mapping[str, Field]) -> Iterator[Invocation]:
    key = "init" if document.get(("type",)) == "dev-environment" else "commands"
    environment, image = _read_environment(document, given), _read_image(document, part)
    script = _build_script(document, (*part.path, key))
    text, counts = visible_gpu_count.replace_counts(script.text, given["gpus_per_pod"], Origin(document, ("type",)))
    script = script._replace(text=text)
    environment.update(counts)
    if script.text:
        yield from container_command.expand_script(image, script, environment)
    elif image.text and document.get((*part.path, "entrypoint")) is None:
        yield Invocation(image, (), environment, entrypoint=True)


def _build_script(document: Document, path: Path) -> container_command.Script:
    """Return the commands as the one script that dstack makes of them."""
    listed = document.get(path)
    texts = [str(text) for text in listed if text is not None] if isinstance(listed, list) else []
    starts = [0]
    for text in texts:
        starts.append(starts[-1] + len(text) + 1)

    def origin(start: int, end: int) -> Origin:
        at = max(index for index, first in enumerate(starts) if first <= start)
        at = min(at, len(texts) - 1)
        return Origin(document, (*path, at), (start - starts[at], min(end - starts[at], len(texts[at]))))

    return container_command.Script("\n".join(texts), origin)


def _read_image(document: Document, part: Part) -> Argument:
    for path in ((*part.path, "image"), ("image",)):
        named = document.get(path)
        if isinstance(named, str):
            return Argument(named, Origin(document, path))
    return Argument(None, Origin(document, ("type",)), DEFAULT_IMAGE)


def _read_environment(document: Document, given: Mapping[str, Field]) -> container_command.Environment:
    """Return the run's own variables, a map or a list of NAME=value, and those that dstack sets."""
    environment = container_command.Environment()
    stated = document.get(("env",))
    for name, value in stated.items() if isinstance(stated, dict) else ():
        place = Origin(document, ("env", str(name)))
        environment[str(name)] = (
            _build_caller_value(str(name), place)
            if value is None
            else Argument(container_command.read_spelling(place, value), place)
        )
    for at, entry in enumerate(stated if isinstance(stated, list) else ()):
        name, equals, text = str(entry).partition("=")
        place = Origin(document, ("env", at), (len(name) + 1, len(str(entry))))
        environment[name] = Argument(text, place) if equals else _build_caller_value(name, place._replace(span=None))
    per_node, nodes, total = (given[name] for name in ("gpus_per_pod", "pods_per_replica", "gpus_per_replica"))
    environment["DSTACK_GPUS_PER_NODE"] = _fill_variable("DSTACK_GPUS_PER_NODE", per_node, document)
    environment["DSTACK_GPUS_NUM"] = _fill_variable("DSTACK_GPUS_NUM", total, document)
    environment["DSTACK_NODES_NUM"] = _fill_variable("DSTACK_NODES_NUM", nodes, document)
    for name in ("DSTACK_NODE_RANK", "DSTACK_MASTER_NODE_IP", "DSTACK_NODES_IPS", "DSTACK_RUN_NAME"):
        environment[name] = Argument(None, Origin(document, ("type",)), f"dstack sets {name}", category=PLATFORM)
    return environment


def _build_caller_value(name: str, place: Origin) -> Argument:
    return Argument(None, place, f"{name} is taken from the caller's environment", category=CALLER)


def _fill_variable(name: str, stated: Field, document: Document) -> Argument:
    """Return a variable that dstack sets to a count of the run.

    Source: dstack 0.21.2, mkdocs/docs/reference/env.md.
    """
    place = stated.origins[0] if stated.origins else Origin(document, ("type",))
    if isinstance(stated.value, int):
        return Argument(str(stated.value), place)
    return Argument(None, place, f"dstack sets {name}", category=PLATFORM)
