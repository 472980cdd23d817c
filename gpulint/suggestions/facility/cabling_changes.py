"""Cable moves: other transceivers, fibres, cables and splits that are worth a try for one link, those that change least first."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from gpulint import units
from gpulint.catalog.hardware import transceivers as optics
from gpulint.catalog.hardware.transceivers import Optic
from gpulint.facts.model import Facts
from gpulint.workload import Value

GRADES: Mapping[str, tuple[str, ...]] = {"multimode": ("OM4", "OM5"), "single-mode": ("OS2",)}
"""The grades of fibre that are laid today, by what they are."""
OSFP = frozenset({"OSFP", "OSFP-RHS"})
COPPER = ("DAC", "ACC", "AEC")
MEDIA: Mapping[str, str] = {"dac": "DAC", "acc": "ACC", "aoc": "AOC"}


class Rewrite(NamedTuple):
    """Other values of a part's quantities, what to call them, and what they ask of whoever lays the cables."""

    title: str
    values: Mapping[str, Value]
    gives_up: str


def rewrites(quantity: str, known: Facts) -> Iterator[Rewrite]:
    """The changes of one quantity of a cable or switch that are worth a try."""
    by_quantity: Mapping[str, Callable[[Facts], Iterator[Rewrite]]] = {
        "cable_medium": _other_medium,
        "optic": _other_optic,
        "far_optic": _other_far_optic,
        "cable_connector": _its_connector,
        "cable_polish": _its_polish,
        "cable_breakout": _split,
        "cable_bytes_per_s": _slower,
        "uplinks": _more_uplinks,
    }
    return by_quantity[quantity](known) if quantity in by_quantity else iter(())


def _named(known: Facts, quantity: str) -> Optic | None:
    return optics.named(known.role.text(quantity))


def _other_medium(known: Facts) -> Iterator[Rewrite]:
    """A better grade of the fibre that the transceiver is made for; active copper in the place of passive."""
    stated, near = known.role.text("cable_medium"), _named(known, "optic")
    better = COPPER[COPPER.index(stated) + 1 :] if stated in COPPER else GRADES.get(near.fibre if near else "", ())
    for medium in better:
        if medium != stated:
            yield Rewrite(f"{medium} in the place of {stated}", {"cable_medium": medium}, "another cable")


def _other_optic(known: Facts) -> Iterator[Rewrite]:
    """Another transceiver of the same maker, rate and plug at each end, with its fibre; of a ready-made cable, a longer one."""
    near, far = _named(known, "optic"), _named(known, "far_optic")
    if near is None:
        return
    for one in _instead_of(near, caged=bool(known.role.text("cable_cage"))):
        ends, medium = {"optic": one.name, **_far_end(far, one)}, _medium_of(one, known)
        if (far is None or "far_optic" in ends) and not (medium and one.kind == near.kind and one.fibre == near.fibre):
            title = " and ".join(dict.fromkeys(ends.values()))
            yield Rewrite(title, {**ends, **medium}, _cost(one, medium))


def _instead_of(near: Optic, caged: bool) -> list[Optic]:
    """What goes into the same port for the same links: on the same lanes, then on the same fibre, first the shortest reach.

    Where the cage is stated, the rules say whether a plug with fins or a flat one goes into it.
    """
    alike = [one for one in optics.optics() if one.name != near.name and _alike(one, near, caged)]
    return sorted(alike, key=lambda one: (one.signal != near.signal, one.fibre != near.fibre, _longest(one)))


def _alike(one: Optic, near: Optic, caged: bool) -> bool:
    plugs = {one.form_factor, near.form_factor}
    fits = len(plugs) == 1 or (caged and plugs <= OSFP)
    same = (one.vendor, one.line_bytes_per_s, one.ports) == (near.vendor, near.line_bytes_per_s, near.ports)
    return fits and same and (one.length_m is None, one.ends) == (near.length_m is None, near.ends)


def _longest(one: Optic) -> float:
    return one.length_m if one.length_m is not None else max(one.reach_m.values())


def _far_end(far: Optic | None, near: Optic) -> dict[str, str]:
    """The transceiver for the other end that goes with one at this end; none where no other end is stated."""
    if far is None:
        return {}
    fitting = [one for one in (far, *_instead_of(far, caged=False)) if one.signal == near.signal and one.reach_m]
    return {"far_optic": fitting[0].name} if fitting else {}


def _medium_of(one: Optic, known: Facts) -> dict[str, str]:
    """The medium that a transceiver or cable asks for, where the stated one is another."""
    stated = known.role.text("cable_medium")
    if one.length_m is not None:
        return {} if MEDIA[one.kind] == stated else {"cable_medium": MEDIA[one.kind]}
    grades = GRADES[one.fibre]
    return {} if stated[:2] == grades[0][:2] else {"cable_medium": grades[0]}


def _cost(one: Optic, medium: Mapping[str, str]) -> str:
    if one.length_m is not None:
        return "another cable"
    return f"other transceivers, and {one.fibre} fibre" if medium else "other transceivers"


def _other_far_optic(known: Facts) -> Iterator[Rewrite]:
    """A transceiver for the other end that goes into its cage and understands the one at this end."""
    near, far = _named(known, "optic"), _named(known, "far_optic")
    if near is None or far is None:
        return
    rates = {near.line_bytes_per_s, near.port_bytes_per_s}
    for one in optics.optics():
        goes_with = one.signal == near.signal and one.vendor == far.vendor and one.port_bytes_per_s in rates
        if goes_with and (one.form_factor == far.form_factor or known.role.text("far_cage")):
            yield Rewrite(f"{one.name} at the other end", {"far_optic": one.name}, "another transceiver")
    yield Rewrite(f"{near.name} at both ends", {"far_optic": near.name}, "another transceiver, in a port that takes it")


def _its_connector(known: Facts) -> Iterator[Rewrite]:
    near = _named(known, "optic")
    for name in near.connectors if near else ():
        yield Rewrite(f"a cable that ends in {name}", {"cable_connector": name}, "another cable")


def _its_polish(known: Facts) -> Iterator[Rewrite]:
    near = _named(known, "optic")
    if near is not None and near.polish:
        yield Rewrite(f"a cable with {near.polish} ends", {"cable_polish": near.polish}, "another cable")


def _split(known: Facts) -> Iterator[Rewrite]:
    """The port split into as many links as the other end is slower."""
    near = known.number("cable_bytes_per_s") or known.number("optic_port_bytes_per_s")
    far = known.number("far_bytes_per_s") or known.number("far_port_bytes_per_s")
    if near and far and near > far and near % far == 0:
        links = int(near // far)
        asked = f"a cable that fans out, and a port split into {links}"
        yield Rewrite(f"one port split into {links}", {"cable_breakout": links}, asked)


def _slower(known: Facts) -> Iterator[Rewrite]:
    """The port set to what the transceiver carries, or to the speed of the other end."""
    speeds = [known.number(name) for name in ("far_bytes_per_s", "optic_bytes_per_s")]
    now = known.number("cable_bytes_per_s")
    for speed in speeds:
        if speed and now and speed < now:
            shown = units.human(speed, "line_bytes_per_s")
            yield Rewrite(f"the port at {shown}", {"cable_bytes_per_s": speed}, "the rest of the port's speed")


def _more_uplinks(known: Facts) -> Iterator[Rewrite]:
    """As many uplinks as what the switch carries asks for."""
    names = ("uplinks", "oversubscription", "oversubscription_allowed")
    up, ratio, most = (known.number(name) for name in names)
    if up and ratio and most:
        wanted = math.ceil(up * ratio / most)
        asked = f"{wanted - int(up)} more ports and cables, here and on the switches above"
        yield Rewrite(f"{wanted} uplinks", {"uplinks": wanted}, asked)
