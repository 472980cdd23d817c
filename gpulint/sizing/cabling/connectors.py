"""Connectors: whether a cable and the port cages at its ends fit its transceivers."""

from __future__ import annotations

from gpulint.catalog.hardware import transceivers

MATING = {
    **dict.fromkeys(("MPO-8", "MPO-12", "MTP-8", "MTP-12"), "MPO-12"),
    "MTP-16": "MPO-16",
    "MTP-24": "MPO-24",
}
"""Connectors that mate under another name: a ferrule of twelve holds eight fibres as well, and MTP is a make of MPO."""
TAKES = {
    "OSFP": ("OSFP", "OSFP-RHS"),
    "OSFP224": ("OSFP", "OSFP-RHS"),
    "OSFP-IHS": ("OSFP",),
    "OSFP-RHS": ("OSFP-RHS",),
    "QSFP-DD800": ("QSFP-DD", "QSFP112", "QSFP56", "QSFP28", "QSFP+"),
    "QSFP-DD": ("QSFP-DD", "QSFP112", "QSFP56", "QSFP28", "QSFP+"),
    "QSFP112": ("QSFP112", "QSFP56", "QSFP28", "QSFP+"),
    "QSFP56": ("QSFP56", "QSFP28", "QSFP+"),
    "QSFP28": ("QSFP28", "QSFP+"),
}
"""The plugs that a cage takes; where it is not said whether an OSFP cage has a heat sink of its own, both."""


def optic_connectors(optic: str) -> tuple[str, ...]:
    """Connectors that a transceiver accepts.

    optic_connectors = connectors of optic

    Component: cable
    Args:
        optic: transceiver, by its listed name.
    Returns:
        names of connectors; none where they are not established

    >>> optic_connectors("MMA4Z00-NS"), optic_connectors("MMS4X00-NM16")
    (('MPO-12',), ('MPO-16',))

    Source: catalog optics.
    """
    return transceivers.require_optic(optic, "optic").connectors


def connector_fits(cable_connector: str | None, optic: str) -> bool:
    """Whether a cable's connector fits the transceiver.

    connector_fits = cable_connector in the connectors of optic, or nothing is known against it

    Component: cable
    Args:
        cable_connector: connector of the cable at the transceiver, else None. optic: transceiver, by its listed name.
    Returns:
        true or false

    >>> connector_fits("MTP-12", "400GBASE-DR4"), connector_fits("MPO-16", "400GBASE-DR4"), connector_fits("LC", "MMS4X50-NM")
    (True, False, True)

    Source: IEC 61754-7-1 (MPO, one row of 12) and 61754-7-3 (one row of 16: the key is offset); catalog optics.
    """
    connectors = transceivers.require_optic(optic, "optic").connectors
    if cable_connector in ("MPO", "MTP"):
        return not connectors or any(connector.startswith("MPO") for connector in connectors)
    return not connectors or cable_connector is None or MATING.get(cable_connector, cable_connector) in connectors


def optic_polish(optic: str) -> str:
    """End-face polish of the fibres that a transceiver's connector requires.

    optic_polish = polish of optic

    Component: cable
    Args:
        optic: transceiver, by its listed name.
    Returns:
        APC (at an angle), UPC (flat), or nothing where it is not established

    >>> optic_polish("MMA4Z00-NS"), optic_polish("MMA1B00-C100D")
    ('APC', 'UPC')

    Source: catalog optics.
    """
    return transceivers.require_optic(optic, "optic").polish


def polish_fits(cable_polish: str | None, optic: str) -> bool:
    """Whether a cable's end-face polish matches that of the transceiver.

    polish_fits = cable_polish is that of optic, or nothing is known against it

    Component: cable
    Args:
        cable_polish: polish of the cable's ends, else None. optic: transceiver, by its listed name.
    Returns:
        true or false

    >>> polish_fits("UPC", "MMA4Z00-NS"), polish_fits("APC", "MMA4Z00-NS"), polish_fits("UPC", "400GBASE-SR4")
    (False, True, True)

    Source: NVIDIA, MMA4Z00-NS400-T introduction (2024-08-14): APC "is not compatible with" flat polished connectors.
    """
    own = transceivers.require_optic(optic, "optic").polish
    return not own or cable_polish is None or (own == "APC") == (cable_polish == "APC")


def optic_form_factor(optic: str) -> str:
    """Form factor of a transceiver or cable.

    optic_form_factor = form factor of optic

    Component: cable
    Args:
        optic: transceiver or cable, by its listed name.
    Returns:
        OSFP (finned), OSFP-RHS (flat top), QSFP112 and so on; nothing where it is not established

    >>> optic_form_factor("MMA4Z00-NS"), optic_form_factor("MMA4Z00-NS400")
    ('OSFP', 'OSFP-RHS')

    Source: catalog optics.
    """
    return transceivers.require_optic(optic, "optic").form_factor


def cage_fits(cable_cage: str | None, optic: str) -> bool:
    """Whether a form factor fits the port cage of the switch or adapter.

    cage_fits = form factor of optic is one that cable_cage takes, or nothing is known against it

    Component: cable
    Args:
        cable_cage: cage at this end, else None. optic: transceiver or cable, by its listed name.
    Returns:
        true or false

    >>> cage_fits("OSFP-RHS", "MMA4Z00-NS"), cage_fits("OSFP-RHS", "MMA4Z00-NS400"), cage_fits("QSFP-DD", "MMA1B00-C100D")
    (False, True, True)

    Source: OSFP MSA 5.0: a finned module does not fit a cage with a riding heat sink, nor the other way round; QSFP-DD MSA 7.1:
        QSFP modules fit; NVIDIA, XDR part numbers: IHS in air-cooled switches, RHS in adapters.
    """
    return _fits_cage(transceivers.require_optic(optic, "optic").form_factor, cable_cage)


def far_form_factor(far_optic: str | None) -> str:
    """Form factor of the transceiver at the far end.

    far_form_factor = form factor of far_optic

    Component: cable
    Args:
        far_optic: transceiver, by its listed name, else None.
    Returns:
        OSFP, OSFP-RHS, QSFP112 and so on; nothing where none is stated

    >>> far_form_factor("MMA1Z00-NS400")
    'QSFP112'

    Source: catalog optics.
    """
    return transceivers.require_optic(far_optic, "far_optic").form_factor if far_optic else ""


def far_cage_fits(far_cage: str | None, far_optic: str | None) -> bool:
    """Whether the form factor at the far end fits the port cage there.

    far_cage_fits = form factor of far_optic is one that far_cage takes, or nothing is known against it

    Component: cable
    Args:
        far_cage: cage at the other end, else None. far_optic: transceiver, by its listed name, else None.
    Returns:
        true or false

    >>> far_cage_fits("OSFP-RHS", "MMA4Z00-NS"), far_cage_fits("QSFP112", "MMA1Z00-NS400"), far_cage_fits("QSFP112", None)
    (False, True, True)

    Source: as of cage_fits.
    """
    return _fits_cage(transceivers.require_optic(far_optic, "far_optic").form_factor if far_optic else "", far_cage)


def _fits_cage(plug: str, cage: str | None) -> bool:
    """Return whether a port cage accepts a form factor, or nothing is known against it."""
    return not plug or cage is None or cage not in TAKES or plug in TAKES[cage]
