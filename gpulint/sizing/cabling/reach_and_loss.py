"""Cabling: how far a link reaches over its medium, and how much optical loss it may have."""

from __future__ import annotations

from gpulint.catalog.errors import MissingInput
from gpulint.catalog.hardware import transceivers

MULTIMODE, SINGLE_MODE, COPPER, ACTIVE_OPTICAL = "multimode", "single-mode", "copper", "active optical"
FIBRES = {
    **dict.fromkeys(("OM1", "OM2", "OM3", "OM4", "OM5"), MULTIMODE),
    **dict.fromkeys(("OS1", "OS1a", "OS2"), SINGLE_MODE),
    **dict.fromkeys(("DAC", "ACC", "AEC"), COPPER),
    "AOC": ACTIVE_OPTICAL,
}
"""What each medium is."""
COPPER_REACH_M = {
    "DAC": ((12.6e9, 3.0), (6e9, 5.0)),
    "ACC": ((50e9, 5.0),),
    "AEC": ((50e9, 7.0),),
}
"""How long copper is made from a speed on [bytes/s, m]."""
LIKE = {"OS1": "OS2", "OS1a": "OS2"}
"""A grade whose reach is not published, by the better one: no link is called too long that may work."""


def cable_links(cables: float, cable_breakout: float) -> float:
    """Links that one entry of identical cables makes.

    cable_links = cables · cable_breakout

    Component: cable
    Args:
        cables: cables alike. cable_breakout: links that one port is split into.
    Returns:
        count

    >>> cable_links(16, 2)
    32

    Source: definition.
    """
    return cables * cable_breakout


def medium_fibre(cable_medium: str) -> str:
    """Kind of a medium: multimode or single-mode fibre, copper, or a cable with built-in optics.

    medium_fibre = kind of cable_medium

    Component: cable
    Args:
        cable_medium: the medium, as OM4, OS2 or DAC.
    Returns:
        multimode, single-mode, copper or active optical

    >>> medium_fibre("OM4"), medium_fibre("OS2"), medium_fibre("DAC")
    ('multimode', 'single-mode', 'copper')

    Source: ISO/IEC 11801-1:2017, 9 (cabled fibre categories OM3 to OM5, OS1a, OS2).
    """
    return FIBRES[cable_medium]


def fibre_link(cable_medium: str) -> bool:
    """Whether a link is fibre with a transceiver at each end.

    fibre_link = medium_fibre is multimode or single-mode

    Component: cable
    Args:
        cable_medium: the medium, as OM4, OS2 or DAC.
    Returns:
        true or false

    >>> fibre_link("OM3"), fibre_link("AOC")
    (True, False)

    Source: definition.
    """
    return medium_fibre(cable_medium) in (MULTIMODE, SINGLE_MODE)


def optic_fibre(optic: str, far_optic: str | None) -> str:
    """Fibre type that the transceivers of a link require.

    optic_fibre = fibre of optic, else that of far_optic

    Component: cable
    Args:
        optic: transceiver, by its listed name. far_optic: that of the other end, else None.
    Returns:
        multimode or single-mode; nothing of a ready-made cable

    >>> optic_fibre("400GBASE-DR4", None), optic_fibre("MMA4Z00-NS", "MMA1Z00-NS400"), optic_fibre("MCP4Y10-N002", None)
    ('single-mode', 'multimode', '')

    Source: catalog optics.
    """
    return transceivers.require_optic(optic, "optic").fibre or (
        transceivers.require_optic(far_optic, "far_optic").fibre if far_optic else ""
    )


def link_reach_m(optic: str, far_optic: str | None, cable_medium: str) -> float:
    """Maximum length of a fibre link, set by the transceiver with the shorter reach.

    link_reach_m = min(reach of optic, reach of far_optic) over cable_medium

    Component: cable
    Args:
        optic: transceiver, by its listed name. far_optic: that of the other end, else None.
        cable_medium: the fibre, as OM4.
    Returns:
        [m]
    Validity: fibre of that grade within the loss of the standard; where a maker contradicts itself, the catalog has the
        longer reach. Of OS1, whose reach is not published, that of OS2.

    >>> link_reach_m("MMA4Z00-NS", "MMA4Z00-NS400", "OM3")
    30.0
    >>> link_reach_m("MMS4X00-NM", "MMS4X00-NS400", "OS2")  # 500 m on one side, 100 m on the other
    100.0

    Source: catalog optics; NVIDIA, MMS4X00-NM application overview: "only up to their 100-meter maximum reach".
    """
    reaches = [end.reach_m.get(LIKE.get(cable_medium, cable_medium)) for end in _list_ends(optic, far_optic)]
    known = [reach for reach in reaches if reach is not None]
    if not known:
        raise LookupError(f"the reach of {optic} over {cable_medium} is not published")
    return min(known)


def engineered_link(cable_loss_db: float | None, loss_limit_db: float | None) -> bool:
    """Whether a link's loss was measured and lies within the loss that it is allowed.

    engineered_link = cable_loss_db <= loss_limit_db

    Component: cable
    Args:
        cable_loss_db: measured loss from end to end, else None [dB]. loss_limit_db: loss that the link may have, else None [dB].
    Returns:
        true where both are stated and the first is not above the second

    >>> engineered_link(1.2, 1.9), engineered_link(2.4, 1.9), engineered_link(None, 1.9)
    (True, False, False)

    Source: IEEE 802.3 88.10 (100GBASE-ER4): links longer than the operating range for the same link power budget are
        considered engineered links.
    """
    return cable_loss_db is not None and loss_limit_db is not None and cable_loss_db <= loss_limit_db


def standard_loss_db(optic: str, far_optic: str | None, cable_medium: str) -> float:
    """End-to-end loss that the standard of a link's transceivers allows.

    standard_loss_db = the least channel insertion loss of optic and far_optic over cable_medium

    Component: cable
    Args:
        optic: transceiver, by its listed name. far_optic: that of the other end, else None. cable_medium: the fibre, as OM4.
    Returns:
        [dB]

    >>> standard_loss_db("400GBASE-DR4", None, "OS2"), standard_loss_db("400GBASE-SR4.2", None, "OM5")
    (3.0, 2.0)

    Source: IEEE 802.3, channel insertion loss of each clause; catalog optics.
    """
    known = [end.loss_db[cable_medium] for end in _list_ends(optic, far_optic) if cable_medium in end.loss_db]
    if not known:
        raise MissingInput("loss_limit_db")
    return min(known)


def copper_reach_m(cable_medium: str, cable_bytes_per_s: float | None, optic: str | None = None) -> float:
    """Longest copper cable made for a speed: passive, or active with amplifiers in its connectors.

    copper_reach_m = 5 m passive up to 100 Gb/s and 3 m beyond; from 400 Gb/s, 5 m with amplifiers and 7 m with retimers

    Component: cable
    Args:
        cable_medium: DAC, ACC or AEC. cable_bytes_per_s: speed of the link, else None [bytes/s].
        optic: part number of the cable, which gives the speed if none is stated.
    Returns:
        [m]; unlimited of other media, and where nothing is established
    Validity: the most favourable division into lanes: 5 m over four lanes of 25 Gb/s (100GBASE-CR4), 3 m over lanes of 50
        (200GBASE-CR4) and of 100 Gb/s, for which IEEE 802.3 clause 162 goes no further than 2 m; makers sell 3.

    >>> copper_reach_m("DAC", 12.5e9), copper_reach_m("DAC", 50e9), copper_reach_m("ACC", 50e9), copper_reach_m("OM4", 50e9)
    (5.0, 3.0, 5.0, inf)
    >>> copper_reach_m("DAC", None, "MCP4Y10-N002")
    3.0

    Source: IEEE 802.3 clauses 92, 136, 162; NVIDIA, LinkX 100G-PAM4 product line overview (2025-11-27): DAC up to 3 m, active
        copper 3, 4 and 5 m.
    """
    if FIBRES[cable_medium] != COPPER:
        return float("inf")
    part = transceivers.find_optic(optic) if optic else None
    speed = cable_bytes_per_s or (part.line_bytes_per_s if part else None)
    if speed is None:
        raise MissingInput("cable_bytes_per_s")
    return next((reach for least, reach in COPPER_REACH_M[cable_medium] if speed >= least), float("inf"))


def assembly_length_m(optic: str) -> float:
    """Length of a ready-made copper or optical cable, from its part number.

    assembly_length_m = length of optic

    Component: cable
    Args:
        optic: part number of a DAC, ACC or AOC.
    Returns:
        [m]; unlimited of a transceiver, whose fibre is bought by itself

    >>> assembly_length_m("MCP4Y10-N002"), assembly_length_m("MCA4J80-N005"), assembly_length_m("MMA4Z00-NS")
    (2.0, 5.0, inf)

    Source: catalog optics.
    """
    length = transceivers.require_optic(optic, "optic").length_m
    return float("inf") if length is None else length


def _list_ends(optic: str, far_optic: str | None) -> tuple[transceivers.Transceiver, ...]:
    """Return the declared transceivers of a link."""
    near = transceivers.require_optic(optic, "optic")
    return (near, transceivers.require_optic(far_optic, "far_optic")) if far_optic else (near,)
