"""Estimated maxima of servers against those that vendors publish, each left out of the fit in turn, and against measured power.

    python bench/server_power.py

Published: servers of the catalog with a maximum and an accelerator, and those of PUBLISHED_WITH. Measured: server_power.csv, wall
power by the second of MLPerf submissions; a capped run bounds a maximum from below only.
"""

from __future__ import annotations

import csv
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from gpulint.catalog import hardware, tables
from gpulint.catalog.hardware import servers
from gpulint.sizing.power import server_power

HERE = Path(__file__).resolve().parent
PUBLISHED_WITH = {"poweredge-xe9680": "h100-sxm-80gb"}
"""What a machine holds whose maximum is published for whatever it is ordered with."""
ALIKE = {
    "dgx-a100-320gb": "dgx-a100-640gb",
    "dgx-h200": "dgx-h100",
    "gb200-compute-tray": "dgx-gb200",
    "ars-121gl-nb3-lcc-r1": "lenovo-gb300-nvl72",
}
"""Rows of one machine, and trays whose maximum is a rack's over 18; one of them counts."""
CONDITIONS = {"air": "link_domain_gpus!=1", "hybrid": "server_cooling==hybrid", "liquid": "server_cooling==liquid"}


class Case(NamedTuple):
    """A machine whose maximum is published: what its boards take together, and its maximum."""

    name: str
    cooling: str
    boards_w: float
    maximum_w: float


def published() -> Iterator[Case]:
    for one in servers.list_servers():
        card = hardware.accelerator(one.accelerator or PUBLISHED_WITH.get(one.id, ""))
        if card and card.board_w and one.server_gpus and one.server_max_w and one.id not in ALIKE:
            yield Case(one.id, one.server_cooling or "air", one.server_gpus * card.board_w, one.server_max_w)


def fit(cases: Sequence[Case]) -> float:
    """The ratio with the least squares of relative errors."""
    shares = [one.boards_w / one.maximum_w for one in cases]
    return sum(shares) / sum(share * share for share in shares)


def left_out(cases: Sequence[Case]) -> Iterator[tuple[Case, float]]:
    """Each case with the relative error of an estimate that was fitted to the others."""
    for one in cases:
        estimate = fit([other for other in cases if other is not one]) * one.boards_w
        yield one, estimate / one.maximum_w - 1


def shipped(cooling: str, cards: bool = False) -> tuple[tables.Row, tables.Row]:
    """The rows of board_overhead and host_w that hold for a machine."""
    ending = "link_domain_gpus==1" if cards else CONDITIONS[cooling]
    rows = [row for row in tables.rows("fitted") if row["condition"].endswith(ending)]
    overhead = next(row for row in rows if row["name"] == "board_overhead")
    ends = "==1" if cards else "!=1"
    host = next(row for row in tables.rows("fitted") if row["name"] == "host_w" and row["condition"].endswith(ends))
    return overhead, host


def measured() -> Iterator[tuple[str, bool, float, list[float]]]:
    with (HERE / "server_power.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            card = hardware.accelerator(row["accelerator"])
            assert card is not None
            assert card.board_w is not None
            overhead, host = shipped(row["cooling"], card.link_domain_gpus == 1)
            ends = [
                server_power.server_estimated_w(
                    int(row["gpus"]), card.board_w, float(overhead[scenario]), float(host[scenario])
                )
                for scenario in ("best", "expected", "worst")
            ]
            yield row["server"], row["capped"] == "yes", float(row["busy_w"]), ends


def main() -> None:
    for cooling in ("air", "hybrid"):
        cases = [one for one in published() if one.cooling == cooling]
        row, _ = shipped(cooling)
        errors = [abs(error) for _, error in left_out(cases)]
        print(f"{cooling}: {len(cases)} machines, ratio {fit(cases):.2f} (catalog: {row['expected']})")
        for one, error in left_out(cases):
            inside = float(row["best"]) <= one.maximum_w / one.boards_w <= float(row["worst"]) + 0.005
            print(
                f"  {one.name:22} {one.maximum_w:9,.0f} W  left out {error:+6.1%}  {'in' if inside else 'OUT OF'} the interval"
            )
        print(f"  left out: mean {statistics.mean(errors):.1%}, worst {max(errors):.1%}")
    print("measured at the wall, 99 of 100 seconds, against the estimate of a maximum")
    for name, capped, busy_w, (low, expected, high) in measured():
        print(
            f"  {name:22} {busy_w:7,.0f} W{' (capped)' if capped else '':9} {low:9,.0f} {expected:9,.0f} {high:9,.0f} W"
        )


if __name__ == "__main__":
    main()
