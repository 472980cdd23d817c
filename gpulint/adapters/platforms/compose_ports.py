"""Compose ports: the ports of a container that a service publishes on the host."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpulint.adapters.platforms.compose_service import Service, StatedValue
from gpulint.workload import Origin

MAPPING = re.compile(r"(?:(?:[\d.]+:|\[[\da-fA-F:]+\]:)?(?:[\d-]*|\$)?:)?(?P<port>\d+)(?:/tcp)?")
"""[[IP:]HOST:]CONTAINER[/PROTOCOL] (compose-spec, 05-services.md, ports); ranges and UDP are left out."""
OWN_NETWORK = frozenset({"", "bridge", "default"})


def read_ports(service: Service) -> Sequence[tuple[int, Origin]]:
    """Return the published ports of a container; nothing if one of them is not known, or the host's network is used."""
    network = service.text("network_mode")
    if network is not None and network.text not in OWN_NETWORK:
        return ()
    found = [_read_port(service, stated) for stated in service.items("ports")]
    known = [port for port in found if port is not None]
    return known if len(known) == len(found) else ()


def _read_port(service: Service, stated: StatedValue) -> tuple[int, Origin] | None:
    if isinstance(stated.value, dict):
        target, protocol = stated.value.get("target"), stated.value.get("protocol", "tcp")
        return (target, stated.reference or stated.origin) if isinstance(target, int) and protocol == "tcp" else None
    text = service.fill_variables(stated)
    shown = text.text
    for hole in sorted(text.holes, reverse=True):
        shown = f"{shown[: hole.start]}${shown[hole.end :]}"
    match = MAPPING.fullmatch(shown)
    return (int(match["port"]), stated.reference or stated.origin) if match else None
