"""Cooling capacity: what the units of a room, a row or a loop remove, and what a kind of cooling
suits.
"""

from __future__ import annotations

from gpulint.catalog.errors import MissingInput


def cooling_installed_w(
    cooling_capacity_w: float | None, cooling_units: float | None, cooling_unit_w: float | None
) -> float | None:
    """Heat that the cooling of a component removes while all its units run.

    cooling_installed_w = cooling_capacity_w, else cooling_units · cooling_unit_w

    Component: rack row room site facility cdu
    Args:
        cooling_capacity_w: of all together, None where it is not stated [W]. cooling_units: alike, None not stated.
        cooling_unit_w: of one of them, None not stated [W].
    Returns:
        [W], None where nothing states it

    >>> cooling_installed_w(None, 4, 100_000), cooling_installed_w(None, None, None)
    (400000, None)

    Source: definition.
    """
    if cooling_capacity_w is not None:
        return cooling_capacity_w
    return cooling_units * cooling_unit_w if cooling_units is not None and cooling_unit_w is not None else None


def cooling_reserved_w(
    cooling_redundancy: str | None, cooling_units: float | None, cooling_unit_w: float | None
) -> float | None:
    """Heat that the cooling of a component removes without its redundant units.

    cooling_reserved_w = (cooling_units − reserve) · cooling_unit_w, the reserve 1 for N+1, 2 for N+2, half for 2N

    Component: row room site facility cdu
    Args:
        cooling_redundancy: N, N+1, N+2 or 2N, None where none is promised. cooling_units: alike, the reserve among them.
        cooling_unit_w: of one of them [W].
    Returns:
        [W], None where no reserve is promised
    Validity: from the capacity of one unit alone: a stated total may or may not count the reserve.

    >>> cooling_reserved_w("N+1", 4, 100_000), cooling_reserved_w("2N", 2, 800_000)
    (300000, 800000.0)

    Source: ANSI/TIA-942-B, Telecommunications Infrastructure Standard for Data Centers, 2017, annex F: N, N+1, 2N.
    """
    if cooling_redundancy in (None, "N"):
        return None
    if cooling_unit_w is None:
        raise MissingInput("cooling_unit_w")
    if cooling_units is None:
        raise MissingInput("cooling_units")
    reserve = {"N+1": 1, "N+2": 2, "2N": cooling_units / 2}[str(cooling_redundancy)]
    return max(0, cooling_units - reserve) * cooling_unit_w


def cooled_heat_w(cooling: str | None, heat_w: float, air_heat_w: float) -> float:
    """Heat that the cooling of a rack must remove.

    cooled_heat_w = air_heat_w, of cold plates heat_w − air_heat_w, of a bath heat_w

    Component: rack
    Args:
        cooling: of the rack. heat_w: of its servers [W]. air_heat_w: that they leave to air [W].
    Returns:
        [W]

    >>> cooled_heat_w("contained", 45200, 45200), cooled_heat_w("direct-liquid", 132000, 17000)
    (45200, 115000)

    Source: conservation of energy.
    """
    if cooling == "direct-liquid":
        return heat_w - air_heat_w
    return heat_w if cooling == "immersion" else air_heat_w


def least_cooled_heat_w(cooling: str | None, least_heat_w: float, least_air_heat_w: float) -> float:
    """Heat that the cooling of a rack must remove for the servers of known heat.

    least_cooled_heat_w = least_air_heat_w, of cold plates least_heat_w − least_air_heat_w, of a bath least_heat_w

    Component: rack
    Args:
        cooling: of the rack. least_heat_w: of its known servers [W]. least_air_heat_w: that they leave to air [W].
    Returns:
        [W]

    >>> least_cooled_heat_w("contained", 45200, 45200)
    45200

    Source: conservation of energy.
    """
    return cooled_heat_w(cooling, least_heat_w, least_air_heat_w)


def density_from_w(
    cooling: str | None,
    room_rack_from_w: float,
    contained_rack_from_w: float,
    in_row_rack_from_w: float,
    rear_door_rack_from_w: float,
) -> float | None:
    """Heat of a rack above which its kind of cooling needs special design.

    density_from_w = the threshold of the kind of cooling

    Component: rack
    Args:
        cooling: of the rack. room_rack_from_w: of open room air [W]. contained_rack_from_w: of a contained aisle [W].
        in_row_rack_from_w: of units in the row [W]. rear_door_rack_from_w: of a rear-door exchanger [W].
    Returns:
        [W], None for liquid, which has a stated capacity or none

    >>> density_from_w("room", 10e3, 20e3, 20e3, 50e3), density_from_w("direct-liquid", 10e3, 20e3, 20e3, 50e3)
    (10000.0, None)

    Source: HP, white paper on the Modular Cooling System, page 13 (room air: 10 kW); Coolnet, Power and cooling per rack for AI
        edge (contained air: 20 to 30 kW). Vendors disagree by a factor of two, so that each is a threshold.
    """
    bands = {
        "room": room_rack_from_w,
        "contained": contained_rack_from_w,
        "in-row": in_row_rack_from_w,
        "rear-door": rear_door_rack_from_w,
    }
    return bands.get(cooling or "")


def density_most_w(
    cooling: str | None,
    room_rack_most_w: float,
    contained_rack_most_w: float,
    in_row_rack_most_w: float,
    rear_door_rack_most_w: float,
) -> float | None:
    """Heat of a rack above which its kind of cooling is not normally built.

    density_most_w = the threshold of the kind of cooling

    Component: rack
    Args:
        cooling: of the rack. room_rack_most_w: of open room air [W]. contained_rack_most_w: of a contained aisle [W].
        in_row_rack_most_w: of units in the row [W]. rear_door_rack_most_w: of a rear-door exchanger [W].
    Returns:
        [W], None for liquid, which has a stated capacity or none

    >>> density_most_w("contained", 15e3, 35e3, 35e3, 60e3)
    35000.0

    Source: HP, white paper on the Modular Cooling System, page 13 (room air: containment from 15 kW on); Yobitel, Rear-door heat
        exchanger (60 kW with fans). Vendors disagree by a factor of two, so that each is a threshold.
    """
    return density_from_w(cooling, room_rack_most_w, contained_rack_most_w, in_row_rack_most_w, rear_door_rack_most_w)


def residual_most_w(
    air_cooling: str | None,
    room_rack_most_w: float,
    contained_rack_most_w: float,
    in_row_rack_most_w: float,
    rear_door_rack_most_w: float,
) -> float | None:
    """Maximum heat that a liquid-cooled rack may leave to the surrounding air.

    residual_most_w = the threshold of what takes the air's heat, a contained aisle where nothing states it

    Component: rack
    Args:
        air_cooling: what takes the heat that liquid leaves. room_rack_most_w: of open room air [W].
        contained_rack_most_w: of a contained aisle [W]. in_row_rack_most_w: of units in the row [W].
        rear_door_rack_most_w: of a rear-door exchanger [W].
    Returns:
        [W]

    >>> residual_most_w(None, 15e3, 35e3, 35e3, 60e3), residual_most_w("room", 15e3, 35e3, 35e3, 60e3)
    (35000.0, 15000.0)

    Source: as of density_most_w.
    """
    return density_from_w(
        air_cooling or "contained", room_rack_most_w, contained_rack_most_w, in_row_rack_most_w, rear_door_rack_most_w
    )
