"""Link ends: whether the two ends of a link agree in wavelength, lane rate, speed and network type."""

from __future__ import annotations

from gpulint.catalog.hardware import transceivers

MANAGEMENT = ("mgmt", "management", "eth0", "oob", "bmc", "console")
"""How ports begin that a switch has for its own management, which are Ethernet's on every switch."""


def optics_interoperate(optic: str, far_optic: str | None) -> bool:
    """Whether two transceivers use the same wavelengths at the same lane rate.

    optics_interoperate = signal of optic = signal of far_optic

    Component: cable
    Args:
        optic: transceiver, by its listed name. far_optic: that of the other end, else None.
    Returns:
        true or false; true where one of the signals is not established
    Validity: reach, number of lanes and error correction are not compared. Lanes of 200 Gb/s do not go down to 100.

    >>> optics_interoperate("MMA4Z00-NS", "MMA1Z00-NS400")  # a twin port of 2 x 400 Gb/s and an adapter of 400
    True
    >>> optics_interoperate("400GBASE-DR4", "400GBASE-FR4"), optics_interoperate("MMS4A20", "MMS4X00-NS400")
    (False, False)

    Source: IEEE 802.3, wavelengths and signalling rates of each clause; NVIDIA, XDR transceivers and fibre part numbers:
        200G-PAM4 transceivers cannot downshift to 100G-PAM4.
    """
    if far_optic is None:
        return True
    signals = (
        transceivers.require_optic(optic, "optic").signal,
        transceivers.require_optic(far_optic, "far_optic").signal,
    )
    return not all(signals) or signals[0] == signals[1]


def optic_signal(optic: str) -> str:
    """Wavelengths of a transceiver, and the Gb/s of each of its lanes.

    optic_signal = signal of optic

    Component: cable
    Args:
        optic: transceiver, by its listed name.
    Returns:
        wavelengths and rate; nothing where it is not established

    >>> optic_signal("MMA4Z00-NS"), optic_signal("400GBASE-FR4")
    ('850 nm at 100 Gb/s a lane', 'CWDM4 at 100 Gb/s a lane')

    Source: catalog optics.
    """
    return transceivers.require_optic(optic, "optic").signal


def far_signal(far_optic: str | None) -> str:
    """Wavelengths of the transceiver at the far end, and the Gb/s of each of its lanes.

    far_signal = signal of far_optic

    Component: cable
    Args:
        far_optic: transceiver, by its listed name, else None.
    Returns:
        wavelengths and rate; nothing where none is stated

    >>> far_signal("400GBASE-DR4")
    '1310 nm at 100 Gb/s a lane'

    Source: catalog optics.
    """
    return transceivers.require_optic(far_optic, "far_optic").signal if far_optic else ""


def optic_port_bytes_per_s(optic: str) -> float:
    """Rate of one link of a transceiver or cable: half of its total if it carries two links.

    optic_port_bytes_per_s = rate of optic / links in it

    Component: cable
    Args:
        optic: transceiver or cable, by its listed name.
    Returns:
        [line bytes/s]

    >>> optic_port_bytes_per_s("MMA4Z00-NS") * 8 / 1e9, optic_port_bytes_per_s("400GBASE-SR8") * 8 / 1e9
    (400.0, 400.0)

    Source: catalog optics.
    """
    return transceivers.require_optic(optic, "optic").port_bytes_per_s


def optic_bytes_per_s(optic: str) -> float:
    """Total rate of a transceiver or cable.

    optic_bytes_per_s = rate of optic

    Component: cable
    Args:
        optic: transceiver or cable, by its listed name.
    Returns:
        [line bytes/s]

    >>> optic_bytes_per_s("MMA4Z00-NS") * 8 / 1e9
    800.0

    Source: catalog optics.
    """
    return transceivers.require_optic(optic, "optic").line_bytes_per_s


def far_port_bytes_per_s(far_optic: str | None) -> float | None:
    """Rate of one link of the transceiver at the far end.

    far_port_bytes_per_s = rate of far_optic / links in it

    Component: cable
    Args:
        far_optic: transceiver, by its listed name, else None.
    Returns:
        [line bytes/s]; None where none is stated

    >>> (far_port_bytes_per_s("MMA4Z00-NS400") or 0) * 8 / 1e9
    400.0

    Source: catalog optics.
    """
    return transceivers.require_optic(far_optic, "far_optic").port_bytes_per_s if far_optic else None


def optic_rates_match(optic: str, far_optic: str | None, split_link: bool) -> bool:
    """Whether the transceivers of a link share a rate, or the link is split on purpose.

    optic_rates_match = a rate of optic, whole or of one link in it, is one of far_optic

    Component: cable
    Args:
        optic: transceiver, by its listed name. far_optic: that of the other end, else None.
        split_link: a port of the link is split.
    Returns:
        true or false

    >>> optic_rates_match("MMA4Z00-NS", "MMA1Z00-NS400", False), optic_rates_match("400GBASE-DR4", "100GBASE-DR", False)
    (True, False)
    >>> optic_rates_match("400GBASE-DR4", "100GBASE-DR", True)
    True

    Source: definition.
    """
    if far_optic is None or split_link:
        return True
    near, far = transceivers.require_optic(optic, "optic"), transceivers.require_optic(far_optic, "far_optic")
    return bool({near.line_bytes_per_s, near.port_bytes_per_s} & {far.line_bytes_per_s, far.port_bytes_per_s})


def split_link(cable_breakout: float, optic: str | None = None) -> bool:
    """Whether a port of a link is split: as declared, or as its breakout cable shows.

    split_link = cable_breakout > 1, or optic has several ends

    Component: cable
    Args:
        cable_breakout: links that one port is split into. optic: transceiver or cable, where it is known.
    Returns:
        true or false

    >>> split_link(1, "MCP7Y00-N002"), split_link(1, "MCP4Y10-N002"), split_link(2)
    (True, False, True)

    Source: definition; catalog optics.
    """
    found = transceivers.find_optic(optic) if optic else None
    return cable_breakout > 1 or (found is not None and " x " in found.ends)


def speeds_agree(
    cable_bytes_per_s: float | None,
    far_bytes_per_s: float | None,
    split_link: bool,
    optic: str | None = None,
    far_optic: str | None = None,
) -> bool:
    """Whether the ports of a link have the same speed.
    A port may be one of two links in its cage.

    speeds_agree = cable_bytes_per_s = far_bytes_per_s, whole or divided by the links in the transceiver of each end

    Component: cable
    Args:
        cable_bytes_per_s: speed of the port at this end, else None [bytes/s].
        far_bytes_per_s: speed of the port at the other end, else None [bytes/s]. split_link: a port of the link is split.
        optic: transceiver or cable, where it is known. far_optic: that of the other end, where it is known.
    Returns:
        true or false; true where one of the speeds is not stated

    >>> speeds_agree(50e9, 25e9, False), speeds_agree(100e9, 50e9, False, "MMA4Z00-NS", "MMA4Z00-NS400")
    (False, True)

    Source: definition.
    """
    if cable_bytes_per_s is None or far_bytes_per_s is None or split_link:
        return True
    near, far = (transceivers.find_optic(name) if name else None for name in (optic, far_optic))
    here = {cable_bytes_per_s, cable_bytes_per_s / (near.ports if near else 1)}
    return bool(here & {far_bytes_per_s, far_bytes_per_s / (far.ports if far else 1)})


def optic_networks(optic: str) -> tuple[str, ...]:
    """Network types (Ethernet, InfiniBand) that a transceiver or cable supports.

    optic_networks = networks of optic

    Component: cable
    Args:
        optic: transceiver or cable, by its listed name.
    Returns:
        ethernet, infiniband; nothing where it is not established

    >>> optic_networks("MMA4Z00-NS-T"), optic_networks("MMA4Z00-NS")
    (('ethernet',), ('infiniband', 'ethernet'))

    Source: catalog optics.
    """
    return transceivers.require_optic(optic, "optic").networks


def link_network(cable_network: str | None, each_end_network: tuple[str, ...]) -> str:
    """Network type that the link belongs to.

    link_network = cable_network, else the network of the switches at its ends where there is one only

    Component: cable
    Args:
        cable_network: infiniband or ethernet, else None. each_end_network: of each switch that the cable names.
    Returns:
        infiniband, ethernet, or nothing where it is not known

    >>> link_network(None, ("infiniband",)), link_network("ethernet", ()), link_network(None, ())
    ('infiniband', 'ethernet', '')

    Source: definition.
    """
    ends = set(each_end_network)
    return cable_network or (ends.pop() if len(ends) == 1 else "")


def ends_agree(each_end_network: tuple[str, ...], cable_from: str | None = None, cable_to: str | None = None) -> bool:
    """Whether the switches at both ends of a link have the same network type.

    ends_agree = each_end_network are alike, or an end is a port for management

    Component: cable
    Args:
        each_end_network: network of each switch that the cable names. cable_from, cable_to: names with their ports, else None.
    Returns:
        true or false

    >>> ends_agree(("infiniband", "ethernet"), "leaf1:mgmt0", "oob:3")
    True
    >>> ends_agree(("infiniband", "ethernet")), ends_agree(("ethernet", "ethernet")), ends_agree(())
    (False, True, True)

    Source: definition.
    """
    ports = [end.partition(":")[2].lower() for end in (cable_from, cable_to) if end]
    return len(set(each_end_network)) < 2 or any(port.startswith(MANAGEMENT) for port in ports)


def network_fits(link_network: str, optic: str) -> bool:
    """Whether a transceiver or cable supports the network type of its link.

    network_fits = link_network in the networks of optic, or nothing is known against it

    Component: cable
    Args:
        link_network: infiniband, ethernet, or nothing. optic: transceiver or cable, by its listed name.
    Returns:
        true or false

    >>> network_fits("infiniband", "MMA4Z00-NS-T"), network_fits("infiniband", "MMA4Z00-NS"), network_fits("", "MMA4Z00-NS-T")
    (False, True, True)

    Source: NVIDIA, MMA4Z00-NS-T: Ethernet only; catalog optics.
    """
    made_for = transceivers.require_optic(optic, "optic").networks
    return not made_for or not link_network or link_network in made_for
