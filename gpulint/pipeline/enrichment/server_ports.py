"""Server ports: what asks a server on a port on which it does not listen."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from gpulint.adapters.pods import ports
from gpulint.adapters.pods.ports import Asked
from gpulint.adapters.programs.container_command import SHELLS
from gpulint.catalog import tables
from gpulint.source.documents import Document
from gpulint.source.repository import Repository
from gpulint.workload import Container, Field, Role, Workload

AT_ONCE = re.compile(r"(?<![&>|])&(?![&>\d])")
"""The operator by which a script starts a further program beside the server."""
ADDRESS = re.compile(r"(?:(?P<scheme>https?)://)?[\w.-]*(?::(?P<port>\d+))?/?")
CONTROLLERS = ("Deployment", "StatefulSet")
UNKNOWN = -1
"""The port of a Service that names none which the pod declares."""


def merge_ports(workload: Workload, repository: Repository) -> Workload:
    """Return a workload whose only server does not listen where it is asked, with that port."""
    role = workload.roles[0] if len(workload.roles) == 1 else None
    port = _find_port(role) if role is not None else None
    if role is None or port is None or _starts_several(role.container):
        return workload
    asked = _list_asked(workload, role, repository)
    wrong = next((group[0] for group in asked if all(one.port not in (port.value, UNKNOWN) for one in group)), None)
    if wrong is None:
        return workload
    found = {
        "listening_port": replace(port, value=str(port.value)),
        "unserved_port": Field(str(wrong.port), (wrong.origin,)),
        "unserved_port_asker": Field(wrong.asker, (wrong.origin,)),
    }
    return replace(workload, roles=(role.having(**found),))


def _find_port(role: Role) -> Field | None:
    """Return the port of a role's server: stated, else the engine's default if all of its arguments are known."""
    stated, container = role.fields.get("server_port"), role.container
    if role.open_ended or container is None:
        return None
    if stated is not None:
        return stated if isinstance(stated.value, int) else None
    row = tables.index_rows("server_ports", "engine").get(role.text("engine"))
    if row is None or container.further_environment:
        return None
    if role.text("engine") == "ollama":
        return _read_address(container, int(row["port"]))
    is_stated = bool(container.command or container.entrypoint) and role.arguments is not None
    return Field(int(row["port"]), source=f"default of {role.text('engine')}") if is_stated else None


def _read_address(container: Container, default: int) -> Field | None:
    """Return the port of OLLAMA_HOST; http without a port is 80 (ollama/ollama envconfig/config.go, Host)."""
    stated = container.environment.get("OLLAMA_HOST")
    if stated is None:
        return Field(default, source="default of ollama")
    match = ADDRESS.fullmatch((stated.text or "?").strip())
    if match is None:
        return None
    by_scheme = {None: default, "http": 80, "https": 443}[match["scheme"]]
    return Field(int(match["port"] or by_scheme), (stated.origin,))


def _starts_several(container: Container | None) -> bool:
    """Return whether a container's script may start another server beside the engine."""
    words = [] if container is None else [*(container.entrypoint or ()), *(container.command or ())]
    shell = any((word.text or "").rsplit("/", 1)[-1] in SHELLS for word in words[:1])
    return any(word.text is None or AT_ONCE.search(word.text) for word in words[1:]) if shell else False


def _list_asked(workload: Workload, role: Role, repository: Repository) -> Iterator[Sequence[Asked]]:
    """Yield what asks the server, in groups of which one has to name its port."""
    document = role.anchor.document
    if workload.adapter == "compose":
        from gpulint.adapters.platforms import compose_ports, compose_service

        service = compose_service.read_service(document, workload.name, repository)
        if found := compose_ports.read_ports(service):
            yield [Asked("the port mapping", port, origin) for port, origin in found]
        return
    container = ports.find_container(document, role.anchor.path)
    if container is None:
        return
    yield from ([asked] for asked in ports.list_probed(document, container))
    own = ports.read_labels(document, container)
    if not own:
        return
    services = (*document.find_beside("Service"), *repository.neighbours("Service", "", document.path).documents)
    selecting = [service for service in services if _selects(service, own)]
    others = [_read_labels(other) for other in _list_controllers(document, repository)] if selecting else []
    alone = [service for service in selecting if not any(_selects(service, labels) for labels in others if labels)]
    yield from ports.list_served(document, container, dict.fromkeys(alone))


def _list_controllers(document: Document, repository: Repository) -> Iterator[Document]:
    """Yield the other objects of a file and its folder that start pods."""
    for kind in CONTROLLERS:
        listed = (*document.find_beside(kind), *repository.neighbours(kind, "", document.path).documents)
        yield from (other for other in listed if other.get(("metadata", "name")) != document.get(("metadata", "name")))


def _read_labels(controller: Document) -> Mapping[object, object]:
    labels = controller.get(("spec", "template", "metadata", "labels"))
    return labels if isinstance(labels, dict) else {}


def _selects(service: Document, labels: Mapping[object, object]) -> bool:
    selector = service.get(("spec", "selector"))
    return isinstance(selector, dict) and selector.items() <= labels.items()
