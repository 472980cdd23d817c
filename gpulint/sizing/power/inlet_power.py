"""Inlets: power of a server type that only an inventory describes, from the draw of its power
inlets.
"""

from __future__ import annotations

from gpulint.catalog.errors import MissingInput


def server_inlets_w(inlets_w: float | None, inlet_share: float) -> float:
    """Maximum power of a server that only an inventory describes.

    server_inlets_w = inlets_w · inlet_share

    Component: server
    Args:
        inlets_w: what is stated as the most of every inlet, added up, else None [W]. inlet_share: of that sum the server
        draws at most (ratio, fitted).
    Returns:
        [W]
    Validity: sources disagree on its meaning. NetBox means what the port consumes, and adds it up; much of its library
        of device types holds the rating of a supply instead, of which the server draws a part, as others back it.

    >>> server_inlets_w(1500, 1.0), round(server_inlets_w(18000, 0.36))
    (1500.0, 6480)

    Source: NetBox documentation, Power Ports, Maximum Draw: "the maximum amount of power this port consumes (in watts)".
    """
    if inlets_w is None:
        raise MissingInput("server_max_w")
    return inlets_w * inlet_share
