"""Inventories: reads the types of a NetBox device-type library, and times an export of 50 racks and 400 nodes.

    python bench/netbox.py                 the export alone
    python bench/netbox.py LIBRARY         and every type of a checkout of netbox-community/devicetype-library

The export is made here, in the form that the REST API of NetBox 4 gives its objects; nothing of it is anyone's room.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from gpulint import hardware
from gpulint.facility import inventory
from gpulint.facility.device_types import Types

HOST = "https://netbox.example.com"
RUNS = 5
Row = dict[str, object]


def nested(endpoint: str, number: int, **fields: object) -> Row:
    """An object as others name it."""
    named = fields.get("name", fields.get("model", ""))
    return {"id": number, "url": f"{HOST}/api/dcim/{endpoint}/{number}/", "display": named, "description": "", **fields}


def whole(endpoint: str, number: int, **fields: object) -> Row:
    """An object as a list of the API holds it."""
    kept = {"comments": "", "tags": [], "custom_fields": {}, "created": "2026-03-02T09:00:00.000000Z"}
    return {**nested(endpoint, number, **fields), **kept, "last_updated": "2026-03-02T09:00:00.000000Z"}


def choice(value: str) -> Row:
    return {"value": value, "label": value.replace("-", " ").capitalize()}


def export(racks: int = 50, nodes: int = 8, voltage: int = 415, amperage: int = 60) -> Mapping[str, Row]:
    """The lists of a hall: racks of DGX H100, each on two feeds through two strips, every cord cabled."""
    listed: dict[str, list[Row]] = {name: [] for name in inventory.KINDS}
    hall = _Hall(listed)
    for number in range(1, racks + 1):
        hall.rack(number, nodes, voltage, amperage)
    return {
        name: {"count": len(rows), "next": None, "previous": None, "results": rows} for name, rows in listed.items() if rows
    }


class _Hall:
    """The lists of a hall while they are written."""

    def __init__(self, listed: Mapping[str, list[Row]]) -> None:
        self.listed = listed
        self.site = self.add("sites", name="ams1", slug="ams1", status=choice("active"))
        self.room = self.add("locations", name="hall-1", slug="hall-1", site=self.site, parent=None)
        self.panels = [self.add("power-panels", name=name, site=self.site, location=self.room) for name in ("PA", "PB")]
        maker, other = nested("manufacturers", 1, name="NVIDIA", slug="nvidia"), nested("manufacturers", 2, name="Raritan")
        self.dgx = self.add(
            "device-types", manufacturer=maker, model="DGX H100", slug="nvidia-dgx-h100", u_height=8.0, is_full_depth=True
        )
        self.strip = self.add(
            "device-types", manufacturer=other, model="PX3-5730", slug="raritan-px3-5730", u_height=0.0, is_full_depth=False
        )

    def add(self, endpoint: str, **fields: object) -> Row:
        rows = self.listed[endpoint]
        rows.append(whole(endpoint, len(rows) + 1, **fields))
        short = {key: fields[key] for key in ("name", "model", "slug", "manufacturer", "device") if key in fields}
        return nested(endpoint, len(rows), **short)

    def rack(self, number: int, nodes: int, voltage: int, amperage: int) -> None:
        where = {"site": self.site, "location": self.room}
        rack = self.add("racks", name=f"r{number:02}", status=choice("active"), u_height=52, desc_units=False, **where,
                        starting_unit=1, weight=None, max_weight=1800, weight_unit=choice("kg"))  # fmt: skip
        outlets = [self._strip(number, side, rack, where, voltage, amperage) for side in range(2)]
        for at in range(nodes):
            node = self._device(f"dgx-{number:02}-{at + 1}", self.dgx, rack, where, position=1.0 + 8 * (at % 6))
            for cord in range(6):
                self._port(node, f"PSU{cord}", "iec-60320-c20", outlets[cord % 2][3 * at + cord // 2], "poweroutlet")

    def _device(self, name: str, kind: Row, rack: Row, where: Row, position: float | None) -> Row:
        role = nested("device-roles", 1, name="GPU node", slug="gpu-node")
        return self.add("devices", name=name, device_type=kind, role=role, tenant=None, platform=None, serial="",
                        rack=rack, position=position, face=choice("front"), parent_device=None, status=choice("active"),
                        airflow=None, config_context={}, local_context_data=None, **where)  # fmt: skip

    def _strip(self, number: int, side: int, rack: Row, where: Row, voltage: int, amperage: int) -> list[Row]:
        strip = self._device(f"pdu-{number:02}-{'ab'[side]}", self.strip, rack, where, position=None)
        feed = self.add("power-feeds", name=f"r{number:02}-{'AB'[side]}", power_panel=self.panels[side], rack=rack,
                        status=choice("active"), type=choice(("primary", "redundant")[side]), supply=choice("ac"),
                        phase=choice("three-phase"), voltage=voltage, amperage=amperage, max_utilization=80)  # fmt: skip
        inlet = self._port(strip, "Inlet", "iec-60309-3p-n-e-6h", feed, "powerfeed")
        return [
            self.add("power-outlets", device=strip, name=f"Outlet {at}", type=choice("iec-60320-c19"), power_port=inlet)
            for at in range(1, 4 * 8 + 1)
        ]

    def _port(self, device: Row, name: str, kind: str, peer: Row, of: str) -> Row:
        return self.add("power-ports", device=device, name=name, type=choice(kind), maximum_draw=None, allocated_draw=None,
                        link_peers=[peer], link_peers_type=f"dcim.{of}", connected_endpoints=[peer])  # fmt: skip


def written(folder: Path, lists: Mapping[str, Row]) -> Path:
    """The folder with each list in a file of its own."""
    for name, page in lists.items():
        (folder / f"{name}.json").write_text(json.dumps(page))
    return folder


def types_of(library: Path) -> Iterator[tuple[str, str]]:
    """What came of every type of a library: its path, and read, in the catalog, or what is wrong with it."""
    for path in sorted(library.glob("device-types/*/*.y*ml")):
        name = path.relative_to(library).as_posix()
        try:
            found = _read(path)
        except Exception as error:  # noqa: BLE001  a bench counts what fails
            yield name, f"{type(error).__name__}: {error}"
        else:
            yield name, found


def _read(path: Path) -> str:
    raise NotImplementedError(path)
