"""Servers: whole machines of the catalog as their vendors publish them, looked up by name."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from gpulint import units
from gpulint.catalog import tables

_BETWEEN = re.compile(r"[\s_-]+")


@dataclass(frozen=True, slots=True)
class Server:
    """One machine as its vendor publishes it, in base units;

    None means unpublished or dependent on the configuration.
    """

    id: str
    name: str
    vendor: str
    accelerator: str | None
    server_gpus: int | None
    server_units: int | None
    server_weight_kg: float | None
    server_max_w: float | None
    server_idle_w: float | None
    server_heat_w: float | None
    psus: int | None
    psu_w: float | None
    psus_needed: int | None
    psu_inlet: str | None
    psu_volts_min: float | None
    psu_volts_max: float | None
    server_cooling: str | None
    server_liquid_share: float | None
    server_flow_m3_per_s: float | None
    server_airflow_m3_per_s: float | None
    server_inlet_min_c: float | None
    server_inlet_max_c: float | None
    source: str
    date: str

    @property
    def published_max_w(self) -> float | None:
        """The maximum power of a machine with a fixed configuration; else None."""
        return self.server_max_w if self.accelerator else None


def find_server(name: str) -> Server | None:
    """Return the server with an id, a name with or without vendor, or another listed name, in any
    case.

    Space, hyphen and underscore are equivalent: people write Dell XE9680, device-type libraries
    dell-xe9680.
    """
    return _index_by_name().get(_normalise(name))


def list_servers() -> tuple[Server, ...]:
    """Return all servers of the catalog, by id."""
    return tuple(_load_servers().values())


@functools.cache
def _load_servers() -> dict[str, Server]:
    return {row["id"]: _read_server(row) for row in tables.rows("servers")}


@functools.cache
def _index_by_name() -> dict[str, Server]:
    listed = {_normalise(row["name"]): _load_servers()[row["server"]] for row in tables.rows("server_names")}
    return listed | {_normalise(name): server for server in list_servers() for name in _list_names(server)}


def _normalise(name: str) -> str:
    return _BETWEEN.sub("-", name.lower())


def _list_names(server: Server) -> tuple[str, ...]:
    """Return the names that follow from vendor and model, such as the slug of a device-type
    library.
    """
    return server.id, f"{server.vendor}-{server.id}", server.name, f"{server.vendor} {server.name}"


def _read_server(row: tables.Row) -> Server:
    return Server(
        id=row["id"],
        name=row["name"],
        vendor=row["vendor"],
        accelerator=row["accelerator"] or None,
        server_gpus=units.count(row["gpus"]),
        server_units=units.count(row["units"]),
        server_weight_kg=units.scale(row["weight_kg"], 1),
        server_max_w=units.scale(row["max_w"], 1),
        server_idle_w=units.scale(row["idle_w"], 1),
        server_heat_w=units.scale(row["heat_btu_per_h"], units.BTU_PER_HOUR_W),
        psus=units.count(row["psus"]),
        psu_w=units.scale(row["psu_w"], 1),
        psus_needed=units.count(row["psus_needed"]),
        psu_inlet=row["plug"] or None,
        psu_volts_min=units.scale(row["volts_min"], 1),
        psu_volts_max=units.scale(row["volts_max"], 1),
        server_cooling=row["cooling"] or None,
        server_liquid_share=units.scale(row["liquid_share"], 1),
        server_flow_m3_per_s=units.scale(row["flow_l_per_min"], units.L_PER_MIN),
        server_airflow_m3_per_s=units.scale(row["airflow_cfm"], units.CFM),
        server_inlet_min_c=units.scale(row["inlet_min_c"], 1),
        server_inlet_max_c=units.scale(row["inlet_max_c"], 1),
        source=row["source"],
        date=row["date"],
    )
