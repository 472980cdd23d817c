"""Ports of a pod: those that its probes and the Services of its folder ask."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from gpulint.adapters.pods import probes
from gpulint.source.documents import Document, Path
from gpulint.workload import Origin

PROBES = ("startupProbe", "livenessProbe", "readinessProbe")
ASKING = ("httpGet", "tcpSocket", "grpc")


class Asked(NamedTuple):
    """A port that something asks, and what asks it."""

    asker: str
    port: int
    origin: Origin


def find_container(document: Document, anchor: Path) -> Path | None:
    """Return the path of the only container of a pod that Kubernetes' own controllers start; None for any other one."""
    path = anchor[:-1] if anchor and anchor[-1] == "name" else anchor
    if len(path) < 3 or path[-2] != "containers":
        return None
    if f"{document.get(('apiVersion',))}/{document.get(('kind',))}" not in probes.UNCHANGED:
        return None
    listed, before = document.get(path[:-1]), document.get((*path[:-2], "initContainers"))
    sidecars = (
        [one for one in before if isinstance(one, dict) and one.get("restartPolicy")]
        if isinstance(before, list)
        else []
    )
    return path if isinstance(listed, list) and len(listed) == 1 and not sidecars else None


def list_probed(document: Document, container: Path) -> Iterator[Asked]:
    """Yield the ports that the probes of a container ask."""
    for probe in PROBES:
        for way in ASKING:
            place = (*container, probe, way, "port")
            port = _resolve(document, container, document.get(place))
            if port is not None:
                yield Asked(f"the {probe}", port, Origin(document, place))


def list_served(document: Document, container: Path, services: Iterable[Document]) -> Iterator[Sequence[Asked]]:
    """Yield the ports that each Service asks which selects the pod."""
    labels = read_labels(document, container)
    for service in services:
        selector = service.get(("spec", "selector"))
        if not isinstance(selector, dict) or not selector or not selector.items() <= labels.items():
            continue
        if service.get(("metadata", "namespace")) == document.get(("metadata", "namespace")):
            yield list(_read_service(service, document, container))


def _read_service(service: Document, document: Document, container: Path) -> Iterator[Asked]:
    listed = service.get(("spec", "ports"))
    for at, entry in enumerate(listed if isinstance(listed, list) else ()):
        if not isinstance(entry, dict) or entry.get("protocol", "TCP") != "TCP":
            continue
        key = "targetPort" if entry.get("targetPort") is not None else "port"
        port = _resolve(document, container, entry.get(key))
        name = str(service.get(("metadata", "name")))
        yield Asked(f"Service {name}", -1 if port is None else port, Origin(service, ("spec", "ports", at, key)))


def _resolve(document: Document, container: Path, port: object) -> int | None:
    """Return the number of a port, which may be the name of one that the container declares."""
    if isinstance(port, int) and not isinstance(port, bool):
        return port
    if isinstance(port, str) and port.isdecimal():
        return int(port)
    declared = document.get((*container, "ports"))
    named = [one for one in declared if isinstance(one, dict)] if isinstance(declared, list) else []
    numbers = [one.get("containerPort") for one in named if isinstance(port, str) and one.get("name") == port]
    return numbers[0] if len(numbers) == 1 and isinstance(numbers[0], int) else None


def read_labels(document: Document, container: Path) -> Mapping[object, object]:
    """Return the labels of the pod of a container."""
    labels = document.get((*container[:-3], "metadata", "labels"))
    return labels if isinstance(labels, dict) else {}
