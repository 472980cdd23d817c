"""Switching: the ports of a switch, its links, and the oversubscription of its uplinks."""

from __future__ import annotations

from gpulint.catalog.errors import MissingInput
from gpulint.catalog.hardware import switches


def switch_ports(switch_type: str | None) -> float:
    """Links that a switch takes when its ports are split as far as possible.

    switch_ports = ports of switch_type, split

    Args:
        switch_type: model of the switch, by its listed name, else None.
    Returns:
        count
    Validity: where it is not established how far ports split, it is not known.

    >>> switch_ports("QM9700"), switch_ports("SN4700")
    (128, 128)

    Source: catalog switches.
    """
    found = switches.find_switch(switch_type) if switch_type else None
    if found is None or found.split_ports is None:
        raise MissingInput("switch_ports")
    return found.split_ports


def ports_most(
    switch_type: str | None,
    switch_ports: float,
    port_bytes_per_s: float | None = None,
    uplink_bytes_per_s: float | None = None,
    downlink_bytes_per_s: float | None = None,
) -> float:
    """Maximum links of a switch whose ports are split down to its slowest link.

    ports_most = switch_ports · ⌊port_bytes_per_s / min(uplink_bytes_per_s, downlink_bytes_per_s)⌋, at least those of switch_type

    Component: switch
    Args:
        switch_type: model of the switch, by its listed name, else None.
        switch_ports: ports of the switch. port_bytes_per_s: speed of one that is not split, where it is known [bytes/s].
        uplink_bytes_per_s: speed of a link up, where it is known [bytes/s].
        downlink_bytes_per_s: speed of a link down, where it is known [bytes/s].
    Returns:
        count

    >>> ports_most(None, 64), ports_most(None, 32, 100e9, 50e9, 50e9), ports_most("QM9700", 32)
    (64, 64, 128)

    Source: definition; catalog switches.
    """
    listed = switches.find_switch(switch_type) if switch_type else None
    links = [rate for rate in (uplink_bytes_per_s, downlink_bytes_per_s) if rate]
    split = max(1, int(port_bytes_per_s // min(links))) if port_bytes_per_s and links else 1
    return max(switch_ports * split, (listed.split_ports or 0) if listed else 0)


def port_bytes_per_s(switch_type: str | None) -> float:
    """Speed of an unsplit port of a switch.

    port_bytes_per_s = speed of a port of switch_type

    Args:
        switch_type: model of the switch, by its listed name, else None.
    Returns:
        [line bytes/s]

    >>> port_bytes_per_s("QM9700") * 8 / 1e9
    400.0

    Source: catalog switches.
    """
    found = switches.find_switch(switch_type) if switch_type else None
    if found is None:
        raise MissingInput("port_bytes_per_s")
    return found.port_bytes_per_s


def uplink_bytes_per_s(port_bytes_per_s: float) -> float:
    """Speed of an uplink that does not declare its own.

    uplink_bytes_per_s = port_bytes_per_s

    Args:
        port_bytes_per_s: speed of a port that is not split [bytes/s].
    Returns:
        [line bytes/s]

    >>> uplink_bytes_per_s(50e9)
    50000000000.0

    Source: definition.
    """
    return port_bytes_per_s


def downlink_bytes_per_s(port_bytes_per_s: float) -> float:
    """Speed of a downlink that does not declare its own.

    downlink_bytes_per_s = port_bytes_per_s

    Args:
        port_bytes_per_s: speed of a port that is not split [bytes/s].
    Returns:
        [line bytes/s]

    >>> downlink_bytes_per_s(50e9)
    50000000000.0

    Source: definition.
    """
    return port_bytes_per_s


def ports_used(
    each_cable_links: tuple[float, ...], uplinks: float | None = None, downlinks: float | None = None
) -> float:
    """Links of a switch: its uplinks and downlinks, or those of its cables, whichever is more.

    ports_used = max(uplinks + downlinks, Σ each_cable_links)

    Component: switch
    Args:
        each_cable_links: links of each cable that begins or ends at the switch.
        uplinks: links to the switches above, where they are stated. downlinks: links to servers and to the switches below.
    Returns:
        count, at least

    >>> ports_used((), 32, 32), ports_used((64, 2), None, None)
    (64, 66)

    Source: definition.
    """
    return max((uplinks or 0) + (downlinks or 0), sum(each_cable_links))


def switch_capacity_bytes_per_s(switch_type: str | None) -> float:
    """Total bandwidth of all ports of a switch in one direction.

    switch_capacity_bytes_per_s = ports of switch_type · speed of a port

    Component: switch
    Args:
        switch_type: model of the switch, by its listed name, else None.
    Returns:
        [line bytes/s] per direction

    >>> switch_capacity_bytes_per_s("SN5600") * 8 / 1e12  # 51.2 Tb/s
    51.2

    Source: catalog switches.
    """
    found = switches.find_switch(switch_type) if switch_type else None
    if found is None:
        raise MissingInput("switch_type")
    return found.switch_ports * found.port_bytes_per_s


def links_bytes_per_s(
    uplinks: float, uplink_bytes_per_s: float, downlinks: float, downlink_bytes_per_s: float
) -> float:
    """Total bandwidth of the links of a switch in one direction.

    links_bytes_per_s = uplinks · uplink_bytes_per_s + downlinks · downlink_bytes_per_s

    Component: switch
    Args:
        uplinks: links to the switches above. uplink_bytes_per_s: speed of one [bytes/s].
        downlinks: links to servers and to the switches below. downlink_bytes_per_s: speed of one [bytes/s].
    Returns:
        [line bytes/s] per direction

    >>> links_bytes_per_s(32, 50e9, 32, 50e9) * 8 / 1e12
    25.6

    Source: definition.
    """
    return uplinks * uplink_bytes_per_s + downlinks * downlink_bytes_per_s


def oversubscription(uplinks: float, uplink_bytes_per_s: float, downlinks: float, downlink_bytes_per_s: float) -> float:
    """Bandwidth of a switch's downlinks relative to that of its uplinks.

    oversubscription = downlinks · downlink_bytes_per_s / (uplinks · uplink_bytes_per_s)

    Component: switch
    Args:
        uplinks: links to the switches above. uplink_bytes_per_s: speed of one [bytes/s].
        downlinks: links to servers and to the switches below. downlink_bytes_per_s: speed of one [bytes/s].
    Returns:
        ratio; 0 of a switch without uplinks, which is alone or one of rails that meet in the servers
    Validity: traffic that stays below the switch needs no uplink.

    >>> oversubscription(32, 50e9, 32, 50e9), oversubscription(8, 100e9, 32, 50e9), oversubscription(0, 50e9, 32, 50e9)
    (1.0, 2.0, 0.0)

    Source: definition; Al-Fares, Loukissas, Vahdat, "A Scalable, Commodity Data Center Network Architecture" (SIGCOMM 2008), 2.1.
    """
    if not uplinks:
        return 0.0
    return downlinks * downlink_bytes_per_s / (uplinks * uplink_bytes_per_s)


def oversubscription_allowed(
    switch_traffic: str, training_oversubscription_most: float, oversubscription_most: float
) -> float:
    """Maximum oversubscription for the kind of traffic that the switch carries.

    oversubscription_allowed = training_oversubscription_most of training, oversubscription_most of inference, no limit of storage
    and management

    Component: switch
    Args:
        switch_traffic: training, inference, storage or management.
        training_oversubscription_most: policy for training. oversubscription_most: policy for inference.
    Returns:
        ratio

    >>> oversubscription_allowed("training", 1, 2), oversubscription_allowed("inference", 1, 2)
    (1, 2)
    >>> oversubscription_allowed("storage", 1, 2)
    inf

    Source: policy.
    """
    if switch_traffic in ("storage", "management"):
        return float("inf")
    return training_oversubscription_most if switch_traffic == "training" else oversubscription_most


def switch_network(switch_type: str | None) -> str:
    """Network type that a switch supports.

    switch_network = network of switch_type

    Args:
        switch_type: model of the switch, by its listed name, else None.
    Returns:
        infiniband or ethernet

    >>> switch_network("QM9700"), switch_network("SN5600")
    ('infiniband', 'ethernet')

    Source: catalog switches.
    """
    found = switches.find_switch(switch_type) if switch_type else None
    if found is None:
        raise MissingInput("switch_network")
    return found.network
