"""Inventories: reads the types of a NetBox device-type library, and times an export of 50 racks and 400 nodes.

    python bench/netbox.py [--gpulint PATH]         the export alone, with the gpulint beside this Python or another one
    python bench/netbox.py [--gpulint PATH] LIBRARY  and every type of a checkout of netbox-community/devicetype-library

The export is made here, in the form that the REST API of NetBox 4 gives its objects; nothing of it is anyone's room.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from gpulint.facility.netbox import objects
from gpulint.facility.netbox.device_types import DeviceType, DeviceTypes
from gpulint.facility.netbox.objects import Entry
from gpulint.source import documents
from gpulint.workload import Unknown

HOST = "https://netbox.example.com"
RUNS = 5
TARGET_S = 1.0
FACILITY = """\
apiVersion: gpulint/v1
kind: Facility
metadata: {name: ams1}
spec:
  netbox: [export]
"""
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


def export(racks: int = 50, nodes: int = 8) -> Mapping[str, Row]:
    """The lists of a hall: racks of DGX A100, each on two feeds through two strips, every cord cabled; one in ten is short."""
    listed: dict[str, list[Row]] = {name: [] for name in objects.KINDS}
    hall = _Hall(listed)
    for number in range(1, racks + 1):
        hall.rack(number, nodes, 415, 60 if number % 10 == 0 else 100)
    return {
        name: {"count": len(rows), "next": None, "previous": None, "results": rows}
        for name, rows in listed.items()
        if rows
    }


class _Hall:
    """The lists of a hall while they are written."""

    def __init__(self, listed: Mapping[str, list[Row]]) -> None:
        self.listed = listed
        self.site = self.add("sites", name="ams1", slug="ams1", status=choice("active"))
        self.room = self.add("locations", name="hall-1", slug="hall-1", site=self.site, parent=None)
        self.panels = [self.add("power-panels", name=name, site=self.site, location=self.room) for name in ("PA", "PB")]
        maker, other = (
            nested("manufacturers", 1, name="NVIDIA", slug="nvidia"),
            nested("manufacturers", 2, name="Raritan"),
        )
        self.dgx = self.add(
            "device-types",
            manufacturer=maker,
            model="NVIDIA DGX A100 640GB",
            slug="nvidia-dgx-a100-640gb",
            u_height=6.0,
            is_full_depth=True,
        )
        self.strip = self.add(
            "device-types",
            manufacturer=other,
            model="PX3-5730",
            slug="raritan-px3-5730",
            u_height=0.0,
            is_full_depth=False,
        )

    def add(self, endpoint: str, **fields: object) -> Row:
        rows = self.listed[endpoint]
        rows.append(whole(endpoint, len(rows) + 1, **fields))
        short = {key: fields[key] for key in ("name", "model", "slug", "manufacturer", "device") if key in fields}
        return nested(endpoint, len(rows), **short)

    def rack(self, number: int, nodes: int, voltage: int, amperage: int) -> None:
        where: Row = {"site": self.site, "location": self.room}
        rack = self.add("racks", name=f"r{number:02}", status=choice("active"), u_height=52, desc_units=False, **where,
                        starting_unit=1, weight=None, max_weight=1800, weight_unit=choice("kg"))  # fmt: skip
        outlets = [self._strip(number, side, rack, where, voltage, amperage) for side in range(2)]
        for at in range(nodes):
            node = self._device(f"dgx-{number:02}-{at + 1}", self.dgx, rack, where, position=1.0 + 6 * at)
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


def types_of(library: Path) -> Iterator[tuple[str, DeviceType | str]]:
    """Every type of a library, as a device of it finds it, or what is wrong."""
    for path in sorted(library.glob("device-types/*/*.y*ml")):
        for document in documents.load(path.name, path.read_bytes()).documents:
            row = document.data if isinstance(document.data, dict) else {}
            named = {
                "model": row.get("model"),
                "slug": row.get("slug"),
                "manufacturer": {"name": row.get("manufacturer")},
            }
            device = Entry({"name": "one", "device_type": named}, document)
            try:
                yield str(path), DeviceTypes(objects.Inventory({}, (str(path),), _bytes, ())).find_type(device)
            except Exception as error:
                yield str(path), f"{type(error).__name__}: {error}"


def _bytes(path: str) -> bytes:
    return Path(path).read_bytes()


def of_library(library: Path) -> bool:
    """What is read of a library, in a few lines; whether all of it is."""
    found = list(types_of(library))
    wrong = [f"{path}: {one}" for path, one in found if isinstance(one, str)]
    kinds = [(path, one) for path, one in found if isinstance(one, DeviceType)]
    wrong += [f"{path}: not found by its model" for path, one in kinds if one.stated is None]
    wrong += [f"{path}: {name} {field.value.reason}" for path, one in kinds for name, field in one.fields.items()
              if isinstance(field.value, Unknown)]  # fmt: skip
    servers = [one for _, one in kinds if one.server]
    print(f"{len(kinds)} of {len(found)} types read, {len(wrong)} with something wrong")
    print(f"{sum(bool(one.outlets) for _, one in kinds)} with outlets, {sum(one.passive for _, one in kinds)} passive")
    drawing = [one for _, one in kinds if one.ports and all(port.draw_w is not None for port in one.ports)]
    print(f"{len(drawing)} state the draw of every inlet, {sum(bool(one.ports) for _, one in kinds)} have inlets")
    print(f"{len(servers)} in the catalog: {', '.join(one.server.id for one in servers if one.server)}")
    for line in wrong[:20]:
        print(f"  {line}")
    return not wrong


def timed(program: Path, runs: int = RUNS) -> float:
    """CPU seconds of `gpulint facility` over the export, the least of some runs."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "export").mkdir()
        written(Path(folder) / "export", export())
        (Path(folder) / "hall.yaml").write_text(FACILITY)
        command = [str(program), "facility", "hall.yaml"]
        spent = []
        for _ in range(runs):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        summary = next((line for line in done.stdout.splitlines() if line.startswith("facility ams1:")), "")
        if "50 racks, 400 servers" not in summary:
            raise SystemExit(f"not read as it was meant: {summary or done.stderr}")
        print(summary)
        return min(spent)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("libraries", nargs="*", type=Path)
    parser.add_argument("--gpulint", type=Path, default=Path(sys.executable).with_name("gpulint"))
    given = parser.parse_args()
    spent = timed(given.gpulint.absolute())
    print(f"50 racks, 400 nodes: {spent:.2f} s of CPU, target {TARGET_S}: {'met' if spent < TARGET_S else 'MISSED'}")
    whole = all(of_library(one) for one in given.libraries)
    return 0 if whole and spent < TARGET_S else 1


if __name__ == "__main__":
    sys.exit(main())
