"""docker-compose: each service that gets GPUs or runs an engine, from the file and its `.env`."""

from __future__ import annotations

import functools
import posixpath
import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from gpulint import units
from gpulint.adapters.claim import Claim
from gpulint.adapters.platforms import (
    compose_devices,
    compose_program,
    compose_service,
    compose_sources,
    key_sets,
    task,
)
from gpulint.adapters.platforms.compose_service import Service
from gpulint.adapters.programs import example_settings, nccl_variables, visible_devices
from gpulint.adapters.programs.container_command import Environment
from gpulint.adapters.trainers import settings_file
from gpulint.engines import Argument, Invocation, Reading
from gpulint.source.documents import Document
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Role, Unknown, Value, Workload

MENTIONS = ("services", "include")
TRIGGERS = ("model: ai/", "model: hf.co/", "model: huggingface.co/")
READS = ("plain",)
CLAIMS = ("shape",)

TOP = frozenset({"configs", "include", "models", "name", "networks", "secrets", "services", "version", "volumes"})
KEYS = key_sets.keys("docker-compose", "service")
TELLING = frozenset(
    {
        *("image", "build", "command", "entrypoint", "extends", "deploy", "environment", "gpus", "provider"),
        *("container_name", "depends_on", "env_file", "network_mode", "restart", "runtime", "shm_size"),
    }
)
NAMED = re.compile(r"(?:^|/)(?:docker-)?compose(?:[.-][\w.-]+)?\.ya?ml$")
"""Names of compose files, also of those that only include others.

Source: compose-spec, 03-compose-file.md.
"""
MEMORY = "/dev/shm"
MEMORY_DEFAULT_BYTES = 64 * units.MIB
"""docs.docker.com/reference/cli/docker/container/run (--shm-size)."""
UNASKED = "no GPU is requested; the host's default runtime decides"
ON_CPU = "the service requests no GPU, so Ollama computes on the CPU"


def claims(document: Document) -> Claim:
    """Claim where all keys of a document, and of its services, are compose's or extensions."""
    data = document.data
    if not isinstance(data, dict) or not data or not all(_is_key(str(key), TOP) for key in data):
        return Claim.NONE
    services = data.get("services") or {}
    if not isinstance(services, dict):
        return Claim.NONE
    stated = [service for service in services.values() if service is not None]
    if not all(isinstance(service, dict) and all(_is_key(str(key), KEYS) for key in service) for service in stated):
        return Claim.NONE
    return Claim.SHAPE.where(any(TELLING & service.keys() for service in stated) or bool(NAMED.search(document.path)))


def _is_key(name: str, keys: frozenset[str]) -> bool:
    return name in keys or name.startswith("x-")


def kind(document: Document) -> str:
    return "docker-compose"


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    """Yield one workload of one role for each complete service that has GPUs or an engine.

    The other services patch a service or prepare something. Models that Docker Model Runner serves follow.
    """
    services = document.get(("services",))
    for name in services if isinstance(services, dict) else ():
        service = compose_service.read_service(document, str(name), repository)
        if not _is_whole(service) and _has_gpus(service, repository):
            service = compose_service.add_default_file(service, repository)
        if _is_whole(service):
            yield from _read_workload(service, repository)
    if document.get(("models",)) is not None or document.mentions("provider"):
        from gpulint.adapters.platforms import compose_models  # few files declare models

        yield from compose_models.list_workloads(document)


def _is_whole(service: Service) -> bool:
    return any(stated.value is not None for key in ("image", "build") if (stated := service.find(key)))


def _has_gpus(service: Service, repository: Repository) -> bool:
    return bool(compose_devices.fields(service, compose_service.environment(service, repository)))


def _read_workload(service: Service, repository: Repository) -> Iterator[Workload]:
    environment = compose_service.environment(service, repository)
    given = {**compose_devices.fields(service, environment)}
    find = functools.partial(_find_file, service, repository)
    started = [
        *compose_program.invocations(service, environment, given.get("gpus_per_pod") or Field(None), find, repository)
    ]
    invocations = tuple(settings_file.expand(invocation, find) for invocation in started)
    readings = [
        (_hide_arguments(reading, invocation), invocation) for reading, invocation in task.read(invocations, find)
    ]
    given = given or _place_unasked(service, readings)
    if not given:
        return
    fields = {**given, **_read_settings(service, environment), **compose_devices.read_visible_devices(environment)}
    fields |= visible_devices.find_hidden(environment)
    if service.text("privileged") is None and visible_devices.is_granted(given.get("gpus_per_pod"), environment):
        fields |= visible_devices.find_first(environment)
        fields |= visible_devices.cut_short(environment, given.get("gpus_per_pod"))
    fields |= _count_replicas(service, fields["gpus_per_pod"])
    fields |= nccl_variables.fields(nccl_variables.merge_exported(environment, invocations))
    fields |= compose_sources.find_misplaced(service, repository)
    program = {} if readings else _read_program(service, invocations)
    read_roles = task.roles(service.name, service.origin, {**fields, **program}, readings, invocations)
    container = compose_program.read_container(service, environment)
    example = example_settings.build(compose_service.find_example(service, repository))
    roles = tuple(replace(_count_instance(role).having(**example), container=container) for role in read_roles)
    path = service.origin.path
    yield Workload(service.name, task.purpose(roles), "compose", service.origin.document, path, roles)


def _place_unasked(service: Service, readings: list[task.Read]) -> dict[str, Field]:
    """Return where a service runs that requests no GPU; empty if it starts no engine."""
    if any(invocation.arguments and not _runs_on_cpu(reading) for reading, invocation in readings):
        unasked = Field(Unknown(UNASKED, compose_devices.HOST), (service.origin,))
        return compose_devices.read_render_nodes(service) or {"gpus_per_pod": unasked, "accelerator": unasked}
    if not any(reading.fields["engine"].value == "ollama" for reading, _ in readings):
        return {}
    none = Field(0, (service.origin,), assumption=ON_CPU)
    return compose_devices.read_render_nodes(service) or {
        "device": Field("cpu", (service.origin,)),
        "gpus_per_pod": none,
    }


def _hide_arguments(reading: Reading, invocation: Invocation) -> Reading:
    """Return a reading without the location of its arguments if they are in another file."""
    last = invocation.arguments[-1] if invocation.arguments else None
    elsewhere = last is not None and last.behind is not None and last.behind.document is not last.origin.document
    return reading._replace(arguments=None) if elsewhere else reading


def _runs_on_cpu(reading: Reading) -> bool:
    """Return whether an engine, or its image, is set to use no GPU."""
    device = reading.fields.get("device")
    return device is not None and device.value == "cpu"


def _read_program(service: Service, invocations: tuple[Invocation, ...]) -> dict[str, Field]:
    """Return what runs if no known engine does."""
    if service.find("build"):
        place = compose_devices.locate(service, "build")
        unread = Field(Unknown(compose_program.BUILT, "own program"), (place,))
        named = task.program(
            [
                invocation._replace(entrypoint=not invocation.image.text and invocation.entrypoint)
                for invocation in invocations
            ],
            place,
        )
        decided = isinstance(named["program"].value, Unknown)
        return {"checkpoint": unread, **named, **({"program": unread} if decided else {})}
    return task.program(invocations, compose_devices.locate(service, "image"))


# ---- what it is given


def _read_settings(service: Service, environment: Environment) -> dict[str, Field]:
    """Read the memory, processors and shared memory of a container."""
    fields = {
        "shared_memory_default": Field(not _has_shared_memory(service), (service.origin,)),
        "shared_memory_remedy": Field("set shm_size: 8g or ipc: host"),
        "service_links": Field(False, source="compose sets no variables for services"),
        **_find_missing_tool(service),
        "engines_on_card": Field(Unknown("other services of the host may use the same GPUs"), (service.origin,)),
    }
    size, ipc = service.text("shm_size"), service.text("ipc")
    if size is not None and size.text != "" and ipc is not None and ipc.text == "host":
        fields["unused_shared_memory_size"] = Field(size.text or "…", (size.origin,))
    limits = ("deploy", "resources", "limits")
    for name, keys, read in (
        ("host_memory_bytes", (("mem_limit",), (*limits, "memory")), units.binary_bytes),
        ("cpu_cores", (("cpus",), (*limits, "cpus")), float),
    ):
        for key in keys:
            if word := service.text(*key):
                fields[name] = Field(_parse(word, read), (word.origin,))
    return fields


def _find_missing_tool(service: Service) -> dict[str, Field]:
    """Return the program of a health check that the service's image lacks."""
    image, stated = service.text("image"), service.find("healthcheck", "test")
    further = [service.find(key) for key in ("build", "entrypoint")]
    if stated is None or image is None or image.text is None or any(further) or service.find("healthcheck", "disable"):
        return {}
    from gpulint.adapters.programs import health_check

    words = [str(word) for word in stated.value] if isinstance(stated.value, list) else ["CMD-SHELL", str(stated.value)]
    tool = health_check.find_missing(image.text, words[1:])
    return {"missing_tool": Field(tool, (stated.reference or stated.origin,))} if tool else {}


def _parse(word: Argument, read: Callable[[str], Value]) -> Value | Unknown:
    if word.text is None:
        return Unknown(word.why, word.category)
    try:
        return read(word.text)
    except ValueError:
        return Unknown(f"{word.text} is not a quantity")


def _has_shared_memory(service: Service) -> bool:
    """Return whether /dev/shm is, or may be, more than Docker's 64 MiB."""
    size = service.text("shm_size")
    if size is not None:
        stated = _parse(size, units.binary_bytes)
        return not isinstance(stated, int) or stated > MEMORY_DEFAULT_BYTES
    shared = service.text("ipc")
    if shared is not None and shared.text not in ("private", "shareable", "none", ""):
        return True
    mounts = (*service.items("volumes"), *service.items("tmpfs"))
    return any(_read_target(mount.value) == MEMORY for mount in mounts)


def _find_file(service: Service, repository: Repository, name: str) -> Origin | None:
    """Return a file of the repository that a bind mount brings into the container."""
    folder = posixpath.dirname(service.origin.document.path)
    within = service.text("working_dir")
    name = posixpath.join((within and within.text) or "", name)
    for mount in service.items("volumes"):
        source, target = _read_source(mount.value), posixpath.normpath(_read_target(mount.value) or "/")
        below = posixpath.relpath(posixpath.normpath(name), target) if name.startswith("/") else ".."
        if source.startswith(".") and not below.startswith(".."):
            return settings_file.find_in_repository(repository, folder, posixpath.join(source, below))
    return None


def _read_source(mount: object) -> str:
    """Return the source of a mount: a path, or the name of a volume."""
    return str(mount.get("source") or "") if isinstance(mount, dict) else str(mount).partition(":")[0]


def _read_target(mount: object) -> str:
    """Return the folder of the container that a mount appears at."""
    if isinstance(mount, dict):
        return str(mount.get("target") or "")
    source, colon, rest = str(mount).partition(":")
    return rest.partition(":")[0] if colon and rest.startswith("/") else source


def _count_replicas(service: Service, gpus: Field) -> dict[str, Field]:
    """Return how many containers run: `scale` or `deploy.replicas`."""
    count = service.text("scale") or service.text("deploy", "replicas")
    replicas = Field(1, source="one container per service")
    if count is not None:
        text, unread = count.text or "", Unknown(count.why or f"replicas is {count.text}", count.category)
        replicas = Field(int(text) if text.isdecimal() else unread, (count.origin,))
    return {"replicas": replicas, "gpus_per_replica": gpus}


def _count_instance(role: Role) -> Role:
    """Return a role of one container per instance, unless its launcher uses further hosts."""
    nodes = role.fields.get("pods_per_replica")
    if nodes is None or nodes.value == 1:
        return role.having(pods_per_replica=nodes or Field(1, source="one container per instance"))
    unknown = Unknown("how many GPUs the other hosts have is not stated", compose_devices.HOST)
    return role.having(gpus_per_replica=Field(unknown, nodes.origins))
