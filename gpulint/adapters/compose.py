"""docker-compose: each service that is given GPUs or runs an engine, as the file and the `.env` beside it state it."""

from __future__ import annotations

import functools
import posixpath
import re
from collections.abc import Callable, Iterator, Mapping

from gpulint import units
from gpulint.adapters import command, compose_devices, compose_service, config_file, counted, shapes, task
from gpulint.adapters.command import Environment, Script
from gpulint.adapters.compose_service import Service
from gpulint.adapters.interpolation import Text
from gpulint.documents import Document
from gpulint.engines import Argument, Invocation, images
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
UNASKED = "no GPU is asked for; the host's default runtime decides"
BUILT = "the image is built from the repository's own files"


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
        if service.stated("image") or service.stated("build"):
            yield from _workload(service, repository)


def _workload(service: Service, repository: Repository) -> Iterator[Workload]:
    environment = compose_service.environment(service, repository)
    given = {**compose_devices.fields(service, environment)}
    find = functools.partial(_file, service, repository)
    started = _invocations(service, environment, given.get("gpus_per_pod") or Field(None), find)
    invocations = tuple(config_file.expanded(one, find) for one in started)
    readings = task.read(invocations)
    if not given and not any(one.arguments for _, one in readings):
        return
    unasked = Field(Unknown(UNASKED, compose_devices.HOST), (service.origin,))
    given = given or {"gpus_per_pod": unasked, "accelerator": unasked}
    fields = {**given, **_settings(service, environment), **compose_devices.named(environment)}
    fields |= _counted(service, fields["gpus_per_pod"])
    program = {} if readings else _program(service, invocations)
    found = task.roles(service.name, service.origin, {**fields, **program}, readings)
    roles = tuple(_spread(role) for role in found)
    path = service.origin.path
    yield Workload(service.name, task.purpose(roles), "compose", service.origin.document, path, roles)


def _program(service: Service, invocations: tuple[Invocation, ...]) -> dict[str, Field]:
    """What runs where no engine that we read does."""
    if service.stated("build"):
        place = compose_devices.place_of(service, "build")
        unread = Field(Unknown(BUILT, "own program"), (place,))
        named = task.program(invocations, place)
        decided = isinstance(named["program"].value, Unknown)
        return {"checkpoint": unread, **named, **({"program": unread} if decided else {})}
    return task.program(invocations, compose_devices.place_of(service, "image"))


# ---- what it starts


def _invocations(
    service: Service, environment: Environment, gpus: Field, find: Callable[[str], Origin | None]
) -> Iterator[Invocation]:
    """The programs of a service: its entry point's and command's words after one another, or the script they start."""
    entrypoint, arguments = (compose_service.words(service, key) for key in ("entrypoint", "command"))
    given = [*entrypoint, *arguments]
    texts: dict[Origin, Text] = {}
    counts: dict[str, Argument] = {}
    for word, text in given:
        script, names = counted.filled(text.text, gpus, word.origin)
        texts[word.origin] = text._replace(text=script)
        counts |= names
    words = tuple(command.placeheld(word) for word, _ in given)
    image = _image(service)
    own_program = service.stated("entrypoint")
    holes = {hole.name for _, text in given for hole in text.holes}
    known = _without(environment, holes)
    known = _with(known, counts) if counts else known
    if held := command.script_file(words, find):
        for one in command.scripted(image, held.script, known, held.given):
            yield one._replace(arguments=tuple(_referred(word, held.named.origin) for word in one.arguments))
        return
    yield from command.programs(image, words, known, _written(texts), own_program is None or own_program.value is None)


def _image(service: Service) -> Argument:
    """The image; one whose name is stated keeps it where only its registry or tag is the caller's to set."""
    stated, image = service.stated("image"), service.text("image")
    if stated is None or image is None:
        return Argument(None, compose_devices.place_of(service, "build"), BUILT, category="own program")
    written = service.filled(stated).text
    name = images.split(written)[0].rpartition("/")[2]
    return image._replace(text=written, why="", category="") if image.text is None and "$" not in name else image


def _referred(word: Argument, named: Origin) -> Argument:
    """A word of a script in another file, at the place in the compose file that brings it there."""
    if word.origin.document is named.document:
        return word
    if word.behind is not None and word.behind.document is named.document:
        return word._replace(origin=word.behind, behind=word.origin)
    return word._replace(origin=named, behind=word.origin)


def _without(environment: Environment, names: set[str]) -> Environment:
    """The variables of a container but for those that a script shares a name with one of the caller's."""
    if not names & environment.keys():
        return environment
    known = Environment(environment)
    known.open_ended = environment.open_ended
    for name in names & environment.keys():
        unknown = environment[name]._replace(
            text=None, why=f"{name} is the caller's to set", category=compose_service.CALLER
        )
        known[name] = unknown
    return known


def _with(environment: Environment, counts: Mapping[str, Argument]) -> Environment:
    known = Environment({**environment, **counts})
    known.open_ended = environment.open_ended
    return known


def _written(texts: Mapping[Origin, Text]) -> Callable[[Argument], Script]:
    """The script that a word is, after compose has filled in its variables."""

    def script(word: Argument) -> Script:
        text = texts[word.origin]
        place = word.behind or word.origin
        return Script(text.text, lambda start, end: place._replace(span=text.span(start, end)))

    return script


# ---- what it is given


def _settings(service: Service, environment: Environment) -> dict[str, Field]:
    """Memory, processors and shared memory of a container."""
    fields = {
        "shared_memory_default": Field(not _has_shared_memory(service), (service.origin,)),
        "service_links": Field(False, source="compose sets no variables for services"),
        "engines_on_card": Field(Unknown("other services of the host may use the same cards"), (service.origin,)),
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
    replicas = Field(1, source="one container a service")
    if count is not None:
        text, unread = count.text or "", Unknown(count.why or f"replicas is {count.text}", count.category)
        replicas = Field(int(text) if text.isdecimal() else unread, (count.origin,))
    return {"replicas": replicas, "gpus_per_replica": gpus}


def _spread(role: Role) -> Role:
    """One container is an instance, unless its launcher joins others on further hosts to it."""
    nodes = role.fields.get("pods_per_replica")
    if nodes is None or nodes.value == 1:
        return role.having(pods_per_replica=nodes or Field(1, source="one container an instance"))
    unknown = Unknown("how many GPUs the other hosts give is not stated", compose_devices.HOST)
    return role.having(gpus_per_replica=Field(unknown, nodes.origins))
