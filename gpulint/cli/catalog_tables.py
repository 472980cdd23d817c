"""Listings: the tables of the catalog, as `gpulint catalog` shows them."""

from __future__ import annotations

import dataclasses

from gpulint import units
from gpulint.catalog import architecture, hardware
from gpulint.catalog.hardware import servers, switches, transceivers
from gpulint.pipeline.memory_breakdown import align_columns


def list_rows(name: str) -> list[tuple[str, ...]]:
    """Return a table of the catalog with its header."""
    if name == "accelerators":
        head: tuple[str, ...] = ("accelerator", "memory", "bandwidth", "compute capability", "link", "board")
        return [head, *(_render_accelerator(accelerator) for accelerator in hardware.list_accelerators())]
    if name == "servers":
        head = ("server", "vendor", "GPUs", "maximum", "PSUs", "units", "weight", "cooling")
        return [head, *(_render_server(server) for server in servers.list_servers())]
    if name == "optics":
        head = ("optic", "kind", "rate", "links", "reach", "connectors", "plug")
        return [head, *(_render_optic(optic) for optic in transceivers.optics())]
    if name == "switches":
        head = ("switch", "ports", "of", "split", "cage", "network")
        return [head, *(_render_switch(switch) for switch in switches.list_switches())]
    head = ("architecture", "parameters", "layers", "hidden", "heads", "KV heads", "trained context")
    return [head, *(_render_architecture(architecture) for architecture in architecture.load_architectures())]


def _render_accelerator(accelerator: hardware.Accelerator) -> tuple[str, ...]:
    memory = accelerator.cuda_memory_bytes or accelerator.driver_memory_bytes
    cells = ((memory, "bytes"), (accelerator.memory_bytes_per_s, "bytes_per_s"), (accelerator.compute_capability, ""))
    shown = [units.human(value, unit) if value is not None else "?" for value, unit in cells]
    return (
        accelerator.id,
        *shown,
        accelerator.link,
        units.human(accelerator.board_w, "w") if accelerator.board_w else "?",
    )


def _render_server(server: servers.Server) -> tuple[str, ...]:
    psus = f"{server.psus} x {units.human(server.psu_w, 'w')}" if server.psus and server.psu_w else server.psus
    weight = None if server.server_weight_kg is None else units.human(server.server_weight_kg, "kg")
    maximum = None if server.server_max_w is None else units.human(server.server_max_w, "w")
    cells = (server.server_gpus, maximum, psus, server.server_units, weight, server.server_cooling)
    return (server.id, server.vendor, *("?" if cell is None else str(cell) for cell in cells))


def _render_optic(optic: transceivers.Transceiver) -> tuple[str, ...]:
    reach = ", ".join(f"{units.human(metres, 'm')} {grade}" for grade, metres in optic.reach_m.items())
    own = units.human(optic.length_m, "m") if optic.length_m is not None else reach
    rate = units.human(optic.line_bytes_per_s, "line_bytes_per_s")
    return (optic.name, optic.kind, rate, str(optic.ports), own, ", ".join(optic.connectors), optic.form_factor)


def _render_switch(switch: switches.Switch) -> tuple[str, ...]:
    speed, split = units.human(switch.port_bytes_per_s, "line_bytes_per_s"), switch.split_ports
    return (
        switch.name,
        str(switch.switch_ports),
        speed,
        "?" if split is None else str(split),
        switch.cage,
        switch.network,
    )


def _render_architecture(architecture: architecture.Architecture) -> tuple[str, ...]:
    counts = (
        architecture.parameters,
        architecture.layers,
        architecture.hidden,
        architecture.attention_heads,
        architecture.kv_heads,
        architecture.trained_context,
    )
    return (architecture.id, *(units.human(value, "") for value in counts))


def find_row(name: str, wanted: str) -> str | None:
    """Return one row with every cell and its source; None if there is none of that name."""
    record: (
        hardware.Accelerator
        | servers.Server
        | transceivers.Transceiver
        | switches.Switch
        | architecture.Architecture
        | None
    )
    if name == "accelerators":
        record = hardware.find_accelerator(wanted)
    elif name == "servers":
        record = servers.find_server(wanted)
    elif name == "optics":
        record = transceivers.find_optic(wanted)
    elif name == "switches":
        record = switches.find_switch(wanted)
    else:
        record = architecture.resolve(wanted).architecture if wanted in architecture.list_ids() else None
    if record is None:
        return None
    cells = [(field.name, getattr(record, field.name)) for field in dataclasses.fields(record)]
    return align_columns([(key, _render_cell(key, value)) for key, value in cells if value not in (None, "", (), {})])


def _render_cell(key: str, value: object) -> str:
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
"""The unit of a column by the ending of its name."""


def find_accelerator_id(name: str) -> str:
    """Return the id of an accelerator with any of its names."""
    product = hardware.find_accelerator(name)
    return product.id if product else name


def list_names(name: str) -> tuple[str, ...]:
    """Return the first column of a table."""
    return tuple(row[0] for row in list_rows(name)[1:]) if name != "architectures" else architecture.list_ids()
