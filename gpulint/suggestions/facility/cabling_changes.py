"""Cable changes: other transceivers, fibres, cables and splits for one link, smallest change
first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from gpulint import units
from gpulint.catalog.hardware import transceivers
from gpulint.catalog.hardware.transceivers import Transceiver
from gpulint.facts.model import Facts
from gpulint.workload import Value

GRADES: Mapping[str, tuple[str, ...]] = {"multimode": ("OM4", "OM5"), "single-mode": ("OS2",)}
"""The grades of fibre that are laid today, by kind."""
OSFP = frozenset({"OSFP", "OSFP-RHS"})
COPPER = ("DAC", "ACC", "AEC")
MEDIA: Mapping[str, str] = {"dac": "DAC", "acc": "ACC", "aoc": "AOC"}


class CableChange(NamedTuple):
    """New values of a component's quantities, a title, and the trade-off."""

    title: str
    values: Mapping[str, Value]
    trade_off: str


def propose(quantity: str, facts: Facts) -> Iterator[CableChange]:
    """Return the proposed changes of one quantity of a cable or switch."""
    by_quantity: Mapping[str, Callable[[Facts], Iterator[CableChange]]] = {
        "cable_medium": _propose_media,
        "optic": _propose_optics,
        "far_optic": _propose_far_optics,
        "cable_connector": _propose_connectors,
        "cable_polish": _propose_polish,
        "cable_breakout": _propose_split,
        "cable_bytes_per_s": _propose_slower,
        "uplinks": _propose_uplinks,
    }
    return by_quantity[quantity](facts) if quantity in by_quantity else iter(())


def _find_optic(facts: Facts, quantity: str) -> Transceiver | None:
    return transceivers.find_optic(facts.role.text(quantity))


def _propose_media(facts: Facts) -> Iterator[CableChange]:
    """Yield better grades of the fibre that the transceiver needs, or active copper instead of
    passive.
    """
    stated, near = facts.role.text("cable_medium"), _find_optic(facts, "optic")
    better = COPPER[COPPER.index(stated) + 1 :] if stated in COPPER else GRADES.get(near.fibre if near else "", ())
    for medium in better:
        if medium != stated:
            yield CableChange(f"{medium} instead of {stated}", {"cable_medium": medium}, "a new cable")


def _propose_optics(facts: Facts) -> Iterator[CableChange]:
    """Yield other transceivers of the same maker, rate and form factor, or a longer ready-made
    cable.
    """
    near, far = _find_optic(facts, "optic"), _find_optic(facts, "far_optic")
    if near is None:
        return
    for optic in _find_replacements(near, caged=bool(facts.role.text("cable_cage"))):
        ends, medium = {"optic": optic.name, **_match_far_end(far, optic)}, _match_medium(optic, facts)
        if (far is None or "far_optic" in ends) and not (
            medium and optic.kind == near.kind and optic.fibre == near.fibre
        ):
            title = " and ".join(dict.fromkeys(ends.values()))
            yield CableChange(title, {**ends, **medium}, _describe_cost(optic, medium))


def _find_replacements(near: Transceiver, caged: bool) -> list[Transceiver]:
    """Return transceivers for the same port and links.

    Those on the same lanes come first, then those on the same fibre, then the shortest reach.

    If the cage is declared, the rules decide whether a finned or a flat connector fits it.
    """
    alike = [optic for optic in transceivers.optics() if optic.name != near.name and _is_compatible(optic, near, caged)]
    return sorted(
        alike, key=lambda optic: (optic.signal != near.signal, optic.fibre != near.fibre, _find_longest_reach(optic))
    )


def _is_compatible(optic: Transceiver, near: Transceiver, caged: bool) -> bool:
    plugs = {optic.form_factor, near.form_factor}
    fits = len(plugs) == 1 or (caged and plugs <= OSFP)
    same = (optic.vendor, optic.line_bytes_per_s, optic.ports) == (near.vendor, near.line_bytes_per_s, near.ports)
    return fits and same and (optic.length_m is None, optic.ends) == (near.length_m is None, near.ends)


def _find_longest_reach(optic: Transceiver) -> float:
    return optic.length_m if optic.length_m is not None else max(optic.reach_m.values())


def _match_far_end(far: Transceiver | None, near: Transceiver) -> dict[str, str]:
    """Return a matching transceiver for the other end; empty if no other end is declared."""
    if far is None:
        return {}
    fitting = [
        optic for optic in (far, *_find_replacements(far, caged=False)) if optic.signal == near.signal and optic.reach_m
    ]
    return {"far_optic": fitting[0].name} if fitting else {}


def _match_medium(optic: Transceiver, facts: Facts) -> dict[str, str]:
    """Return the medium that a transceiver or cable needs, if the declared one differs."""
    stated = facts.role.text("cable_medium")
    if optic.length_m is not None:
        return {} if MEDIA[optic.kind] == stated else {"cable_medium": MEDIA[optic.kind]}
    grades = GRADES[optic.fibre]
    return {} if stated[:2] == grades[0][:2] else {"cable_medium": grades[0]}


def _describe_cost(optic: Transceiver, medium: Mapping[str, str]) -> str:
    if optic.length_m is not None:
        return "a new cable"
    return f"new transceivers and {optic.fibre} fibre" if medium else "new transceivers"


def _propose_far_optics(facts: Facts) -> Iterator[CableChange]:
    """Yield transceivers for the other end that fit its cage and match the one at this end."""
    near, far = _find_optic(facts, "optic"), _find_optic(facts, "far_optic")
    if near is None or far is None:
        return
    rates = {near.line_bytes_per_s, near.port_bytes_per_s}
    for optic in transceivers.optics():
        goes_with = optic.signal == near.signal and optic.vendor == far.vendor and optic.port_bytes_per_s in rates
        if goes_with and (optic.form_factor == far.form_factor or facts.role.text("far_cage")):
            yield CableChange(f"{optic.name} at the other end", {"far_optic": optic.name}, "a new transceiver")
    yield CableChange(
        f"{near.name} at both ends", {"far_optic": near.name}, "a new transceiver, in a port that accepts it"
    )


def _propose_connectors(facts: Facts) -> Iterator[CableChange]:
    near = _find_optic(facts, "optic")
    for name in near.connectors if near else ():
        yield CableChange(f"a cable with {name} connectors", {"cable_connector": name}, "a new cable")


def _propose_polish(facts: Facts) -> Iterator[CableChange]:
    near = _find_optic(facts, "optic")
    if near is not None and near.polish:
        yield CableChange(f"a cable with {near.polish} connectors", {"cable_polish": near.polish}, "a new cable")


def _propose_split(facts: Facts) -> Iterator[CableChange]:
    """Yield the port split into as many links as the other end is slower."""
    near = facts.number("cable_bytes_per_s") or facts.number("optic_port_bytes_per_s")
    far = facts.number("far_bytes_per_s") or facts.number("far_port_bytes_per_s")
    if near and far and near > far and near % far == 0:
        links = int(near // far)
        asked = f"a breakout cable, and a port split into {links}"
        yield CableChange(f"one port split into {links}", {"cable_breakout": links}, asked)


def _propose_slower(facts: Facts) -> Iterator[CableChange]:
    """Yield the port at the speed of the transceiver, or of the other end."""
    speeds = [facts.number(name) for name in ("far_bytes_per_s", "optic_bytes_per_s")]
    now = facts.number("cable_bytes_per_s")
    for speed in speeds:
        if speed and now and speed < now:
            shown = units.human(speed, "line_bytes_per_s")
            yield CableChange(
                f"port speed {shown}", {"cable_bytes_per_s": speed}, "part of the port speed stays unused"
            )


def _propose_uplinks(facts: Facts) -> Iterator[CableChange]:
    """Yield the number of uplinks that the allowed oversubscription requires."""
    names = ("uplinks", "oversubscription", "oversubscription_allowed")
    up, ratio, most = (facts.number(name) for name in names)
    if up and ratio and most:
        wanted = math.ceil(up * ratio / most)
        asked = f"{wanted - int(up)} more ports and cables, on this switch and on the switches above"
        yield CableChange(f"{wanted} uplinks", {"uplinks": wanted}, asked)
