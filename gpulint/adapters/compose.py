"""docker-compose: each service that is given GPUs or runs an engine, as the file and the `.env` beside it state it."""

from __future__ import annotations

import functools
import posixpath
import re
from collections.abc import Callable, Iterator

from gpulint import units
from gpulint.adapters import compose_devices, compose_program, compose_service, config_file, shapes, task, variables
from gpulint.adapters.command import Environment
from gpulint.adapters.compose_service import Service
from gpulint.documents import Document
from gpulint.engines import Argument, Invocation, Reading
from gpulint.repository import Repository
from gpulint.workload import Field, Origin, Role, Unknown, Value, Workload

MENTIONS = ("services", "include")
READS = ("plain",)

TOP = frozenset({"configs", "include", "models", "name", "networks", "secrets", "services", "version", "volumes"})
KEYS = shapes.keys("docker-compose", "service")
TELLING = frozenset(
    {
        *("image", "build", "command", "entrypoint", "extends", "deploy", "environment", "gpus", "provider"),
        *("container_name", "depends_on", "env_file", "network_mode", "restart", "runtime", "shm_size"),
    }
)
NAMED = re.compile(r"(?:^|/)(?:docker-)?compose(?:[.-][\w.-]+)?\.ya?ml$")
"""How compose files are called, those that only name others among them (compose-spec, 03-compose-file.md)."""
MEMORY = "/dev/shm"
MEMORY_DEFAULT_BYTES = 64 * units.MIB
"""docs.docker.com/reference/cli/docker/container/run (--shm-size)."""
UNASKED = "no GPU is requested; the host's default runtime decides"


def claims(document: Document) -> bool:
    """`services` of nothing but compose's keys, and no other top-level key than compose's and its extensions."""
    data = document.data
    if not isinstance(data, dict) or not data or not all(_is_key(str(key), TOP) for key in data):
        return False
    services = data.get("services") or {}
    if not isinstance(services, dict):
        return False
    stated = [service for service in services.values() if service is not None]
    if not all(isinstance(one, dict) and all(_is_key(str(key), KEYS) for key in one) for one in stated):
        return False
    return any(TELLING & one.keys() for one in stated) or bool(NAMED.search(document.path))


def _is_key(name: str, known: frozenset[str]) -> bool:
    return name in known or name.startswith("x-")


def kind(document: Document) -> str:
    return "docker-compose"


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    """One workload of one role for each service that is whole and has GPUs or an engine; the others patch or prepare."""
    services = document.get(("services",))
    for name in services if isinstance(services, dict) else ():
        service = compose_service.of(document, str(name), repository)
        if not _is_whole(service) and _gives_gpus(service, repository):
            service = compose_service.completed(service, repository)
        if _is_whole(service):
            yield from _workload(service, repository)


def _is_whole(service: Service) -> bool:
    return bool(service.stated("image") or service.stated("build"))


def _gives_gpus(service: Service, repository: Repository) -> bool:
    return bool(compose_devices.fields(service, compose_service.environment(service, repository)))


def _workload(service: Service, repository: Repository) -> Iterator[Workload]:
    environment = compose_service.environment(service, repository)
    given = {**compose_devices.fields(service, environment)}
    find = functools.partial(_file, service, repository)
    started = [
        *compose_program.invocations(service, environment, given.get("gpus_per_pod") or Field(None), find, repository)
    ]
    invocations = tuple(config_file.expanded(one, find) for one in started)
    readings = [(_placed(reading, one), one) for reading, one in task.read(invocations, find)]
    if not given and not any(one.arguments and not _on_processors(reading) for reading, one in readings):
        return
    unasked = Field(Unknown(UNASKED, compose_devices.HOST), (service.origin,))
    given = given or compose_devices.rendering(service) or {"gpus_per_pod": unasked, "accelerator": unasked}
    fields = {**given, **_settings(service, environment), **compose_devices.named(environment)}
    fields |= _counted(service, fields["gpus_per_pod"])
    fields |= variables.fields(variables.exported(environment, invocations))
    program = {} if readings else _program(service, invocations)
    found = task.roles(service.name, service.origin, {**fields, **program}, readings)
    roles = tuple(_spread(role) for role in found)
    path = service.origin.path
    yield Workload(service.name, task.purpose(roles), "compose", service.origin.document, path, roles)


def _placed(reading: Reading, one: Invocation) -> Reading:
    """A reading without the place of its arguments where the compose file only names the file that they stand in."""
    last = one.arguments[-1] if one.arguments else None
    elsewhere = last is not None and last.behind is not None and last.behind.document is not last.origin.document
    return reading._replace(arguments=None) if elsewhere else reading


def _on_processors(reading: Reading) -> bool:
    """Whether an engine is told, or its image is built, to use no GPU."""
    device = reading.fields.get("device")
    return device is not None and device.value == "cpu"


def _program(service: Service, invocations: tuple[Invocation, ...]) -> dict[str, Field]:
    """What runs where no engine that we read does."""
    if service.stated("build"):
        place = compose_devices.place_of(service, "build")
        unread = Field(Unknown(compose_program.BUILT, "own program"), (place,))
        named = task.program(
            [one._replace(entrypoint=not one.image.text and one.entrypoint) for one in invocations], place
        )
        decided = isinstance(named["program"].value, Unknown)
        return {"checkpoint": unread, **named, **({"program": unread} if decided else {})}
    return task.program(invocations, compose_devices.place_of(service, "image"))


# ---- what it is given


def _settings(service: Service, environment: Environment) -> dict[str, Field]:
    """Memory, processors and shared memory of a container."""
    fields = {
        "shared_memory_default": Field(not _has_shared_memory(service), (service.origin,)),
        "service_links": Field(False, source="compose sets no variables for services"),
        "engines_on_card": Field(Unknown("other services of the host may use the same GPUs"), (service.origin,)),
    }
    limits = ("deploy", "resources", "limits")
    for name, keys, read in (
        ("host_memory_bytes", (("mem_limit",), (*limits, "memory")), units.binary_bytes),
        ("cpu_cores", (("cpus",), (*limits, "cpus")), float),
    ):
        for key in keys:
            if word := service.text(*key):
                fields[name] = Field(_read(word, read), (word.origin,))
    return fields


def _read(word: Argument, read: Callable[[str], Value]) -> Value | Unknown:
    if word.text is None:
        return Unknown(word.why, word.category)
    try:
        return read(word.text)
    except ValueError:
        return Unknown(f"{word.text} is not a quantity")


def _has_shared_memory(service: Service) -> bool:
    """Whether /dev/shm is, or may be, more than Docker's 64 MiB."""
    size = service.text("shm_size")
    if size is not None:
        stated = _read(size, units.binary_bytes)
        return not isinstance(stated, int) or stated > MEMORY_DEFAULT_BYTES
    shared = service.text("ipc")
    if shared is not None and shared.text not in ("private", "shareable", "none", ""):
        return True
    mounts = (*service.items("volumes"), *service.items("tmpfs"))
    return any(_target(one.value) == MEMORY for one in mounts)


def _file(service: Service, repository: Repository, name: str) -> Origin | None:
    """A file of the repository that a bind mount brings into the container."""
    folder = posixpath.dirname(service.origin.document.path)
    within = service.text("working_dir")
    name = posixpath.join((within and within.text) or "", name)
    for mount in service.items("volumes"):
        source, target = _source(mount.value), posixpath.normpath(_target(mount.value) or "/")
        below = posixpath.relpath(posixpath.normpath(name), target) if name.startswith("/") else ".."
        if source.startswith(".") and not below.startswith(".."):
            return config_file.of_repository(repository, folder, posixpath.join(source, below))
    return None


def _source(mount: object) -> str:
    """What a mount brings: a path, or the name of a volume."""
    return str(mount.get("source") or "") if isinstance(mount, dict) else str(mount).partition(":")[0]


def _target(mount: object) -> str:
    """The folder of the container that a mount stands at."""
    if isinstance(mount, dict):
        return str(mount.get("target") or "")
    source, colon, rest = str(mount).partition(":")
    return rest.partition(":")[0] if colon and rest.startswith("/") else source


def _counted(service: Service, gpus: Field) -> dict[str, Field]:
    """How many containers run is `scale` or `deploy.replicas`."""
    count = service.text("scale") or service.text("deploy", "replicas")
    replicas = Field(1, source="one container per service")
    if count is not None:
        text, unread = count.text or "", Unknown(count.why or f"replicas is {count.text}", count.category)
        replicas = Field(int(text) if text.isdecimal() else unread, (count.origin,))
    return {"replicas": replicas, "gpus_per_replica": gpus}


def _spread(role: Role) -> Role:
    """One container is an instance, unless its launcher joins others on further hosts to it."""
    nodes = role.fields.get("pods_per_replica")
    if nodes is None or nodes.value == 1:
        return role.having(pods_per_replica=nodes or Field(1, source="one container per instance"))
    unknown = Unknown("how many GPUs the other hosts have is not stated", compose_devices.HOST)
    return role.having(gpus_per_replica=Field(unknown, nodes.origins))
