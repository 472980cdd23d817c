"""Listings: the tables of the catalog, row by row, as `gpulint catalog` shows them."""

from __future__ import annotations

import dataclasses

from gpulint import units
from gpulint.catalog import architecture, hardware
from gpulint.catalog.hardware import servers, switches
from gpulint.catalog.hardware import transceivers as optics
from gpulint.pipeline.memory_breakdown import columns


def rows(name: str) -> list[tuple[str, ...]]:
    """A table of the catalog with its head."""
    if name == "accelerators":
        head: tuple[str, ...] = ("accelerator", "memory", "bandwidth", "compute capability", "link", "board")
        return [head, *(_accelerator(one) for one in hardware.list_accelerators())]
    if name == "servers":
        head = ("server", "vendor", "GPUs", "maximum", "PSUs", "units", "weight", "cooling")
        return [head, *(_server(one) for one in servers.servers())]
    if name == "optics":
        head = ("optic", "kind", "rate", "links", "reach", "connectors", "plug")
        return [head, *(_optic(one) for one in optics.optics())]
    if name == "switches":
        head = ("switch", "ports", "of", "split", "cage", "network")
        return [head, *(_network_switch(one) for one in switches.switches())]
    head = ("architecture", "parameters", "layers", "hidden", "heads", "KV heads", "trained context")
    return [head, *(_architecture(one) for one in architecture.architectures())]


def _accelerator(one: hardware.Accelerator) -> tuple[str, ...]:
    memory = one.cuda_memory_bytes or one.driver_memory_bytes
    cells = ((memory, "bytes"), (one.memory_bytes_per_s, "bytes_per_s"), (one.compute_capability, ""))
    shown = [units.human(value, unit) if value is not None else "?" for value, unit in cells]
    return (one.id, *shown, one.link, units.human(one.board_w, "w") if one.board_w else "?")


def _server(one: servers.Server) -> tuple[str, ...]:
    psus = f"{one.psus} x {units.human(one.psu_w, 'w')}" if one.psus and one.psu_w else one.psus
    weight = None if one.server_weight_kg is None else units.human(one.server_weight_kg, "kg")
    maximum = None if one.server_max_w is None else units.human(one.server_max_w, "w")
    cells = (one.server_gpus, maximum, psus, one.server_units, weight, one.server_cooling)
    return (one.id, one.vendor, *("?" if cell is None else str(cell) for cell in cells))


def _optic(one: optics.Optic) -> tuple[str, ...]:
    reach = ", ".join(f"{units.human(metres, 'm')} {grade}" for grade, metres in one.reach_m.items())
    own = units.human(one.length_m, "m") if one.length_m is not None else reach
    rate = units.human(one.line_bytes_per_s, "line_bytes_per_s")
    return (one.name, one.kind, rate, str(one.ports), own, ", ".join(one.connectors), one.form_factor)


def _network_switch(one: switches.Switch) -> tuple[str, ...]:
    speed, split = units.human(one.port_bytes_per_s, "line_bytes_per_s"), one.split_ports
    return (one.name, str(one.switch_ports), speed, "?" if split is None else str(split), one.cage, one.network)


def _architecture(one: architecture.Architecture) -> tuple[str, ...]:
    counts = (one.parameters, one.layers, one.hidden, one.attention_heads, one.kv_heads, one.trained_context)
    return (one.id, *(units.human(value, "") for value in counts))


def row(name: str, wanted: str) -> str | None:
    """One row with every cell and its source; None when there is none of that name."""
    record: hardware.Accelerator | servers.Server | optics.Optic | switches.Switch | architecture.Architecture | None
    if name == "accelerators":
        record = hardware.named(wanted)
    elif name == "servers":
        record = servers.named(wanted)
    elif name == "optics":
        record = optics.named(wanted)
    elif name == "switches":
        record = switches.named(wanted)
    else:
        record = architecture.resolve(wanted).architecture if wanted in architecture.ids() else None
    if record is None:
        return None
    cells = [(field.name, getattr(record, field.name)) for field in dataclasses.fields(record)]
    return columns([(key, _cell(key, value)) for key, value in cells if value not in (None, "", (), {})])


def _cell(key: str, value: object) -> str:
    unit = next((unit for ending, unit in ENDINGS.items() if key.endswith(ending)), "")
    return units.human(value, unit)


ENDINGS = {
    "line_bytes_per_s": "line_bytes_per_s",
    "port_bytes_per_s": "line_bytes_per_s",
    "_bytes_per_s": "bytes_per_s",
    "_flop_per_s": "flop_per_s",
    "_bytes": "bytes",
    "reach_m": "m",
    "length_m": "m",
    "airflow_m3_per_s": "m3_per_s",
    "flow_m3_per_s": "liquid_m3_per_s",
    "liquid_share": "ratio",
    "volts_min": "v",
    "volts_max": "v",
    "_kg": "kg",
    "_c": "c",
    "_db": "db",
    "_w": "w",
}
"""The unit of a column by how its name ends."""


def accelerator_id(name: str) -> str:
    """The id of an accelerator that is named in any of the ways it is known by."""
    product = hardware.named(name)
    return product.id if product else name


def known(name: str) -> tuple[str, ...]:
    """The first column of a table."""
    return tuple(row[0] for row in rows(name)[1:]) if name != "architectures" else architecture.ids()
