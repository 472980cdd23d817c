"""Variables: settings of communication libraries that are not read, or not as intended.

`catalog/variable_names.csv` lists the names that a library reads, `retired_variables.csv` the names that it
no longer reads, `variable_stand_ins.csv` renamed and invented names, and `variable_values.csv` the values
of variables that accept no other.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from gpulint.adapters.programs import variable_names, visible_devices
from gpulint.catalog import tables
from gpulint.engines import Argument, Invocation
from gpulint.workload import Field, gather

TRIGGERS = ("nccl",)
OURS = re.compile(r"(?:TORCH_)?NCCL_\w+|RCCL_\w+|GLOO_\w+|FI_EFA_\w+|OFI_NCCL_\w+|TORCH_DISTRIBUTED_\w+|TP_SOCKET_\w+")
"""Names of the libraries through which ranks exchange data."""
OPEN = re.compile(r"\$|\{\{|<|^\s*$|^(?i:null|none|auto)$")
"""A placeholder, or no value."""
INTERFACES = ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME")
OF_ONE_HOST = frozenset({"lo", "docker0", "virbr0", "podman0"})
"""Interfaces that have the same address on every host, and so lead to no other."""
DEVICE = re.compile(r"=?(?:mlx[45]_\w+|bnxt_re\d+|rdmap\d\w+|efa_\d+)")
"""Names of RDMA devices: those of the drivers mlx4, mlx5, bnxt_re and efa."""
INTERFACE = re.compile(r"=?(?:eth\d+|en[ops]\d\w*|bond\d+|lo|docker\d+|net\d+)(?::\d+)?")
"""Names of network interfaces by kernels and systemd. None is an RDMA device."""
RECEIVING = re.compile(r"NCCL_(?:FASTRAK|GPUDIRECTTCPX)_\w+")
"""Variables of the plug-ins for GPUDirect-TCPX and TCPXO, which need a receive daemon in the pod."""
ON = frozenset({"1"})
OFF = frozenset({"0"})
SLOWING: Mapping[str, frozenset[str]] = {
    "CUDA_LAUNCH_BLOCKING": ON,
    "TORCH_DISTRIBUTED_DEBUG": frozenset({"detail"}),
    "NCCL_DEBUG": frozenset({"trace"}),
    "NCCL_CHECK_POINTERS": ON,
}
"""Debugging variables that make the run wait for each call."""
NO_PEER: Mapping[str, frozenset[str]] = {"NCCL_P2P_DISABLE": ON, "NCCL_P2P_LEVEL": frozenset({"loc", "0"})}
NO_MEMORY: Mapping[str, frozenset[str]] = {"NCCL_SHM_DISABLE": ON}
NO_SHARP: Mapping[str, frozenset[str]] = {"NCCL_NVLS_ENABLE": OFF}
NO_RACK: Mapping[str, frozenset[str]] = {"NCCL_MNNVL_ENABLE": OFF, "NCCL_CUMEM_ENABLE": OFF}
"""Values that keep NCCL off NVLink to other hosts, which needs cuMem memory (env.rst,
NCCL_MNNVL_ENABLE).
"""
NO_VERBS: Mapping[str, frozenset[str]] = {"NCCL_IB_DISABLE": ON, "NCCL_NET": frozenset({"socket"})}
NO_FABRIC: Mapping[str, frozenset[str]] = {
    "NCCL_NET": frozenset({"socket"}),
    "FI_PROVIDER": frozenset({"tcp", "sockets", "udp"}),
    "NCCL_NET_PLUGIN": frozenset({"none"}),
}
"""Values that keep NCCL off EFA, which it uses through a plug-in and libfabric's provider efa."""
NO_DIRECT: Mapping[str, frozenset[str]] = {
    "NCCL_NET_GDR_LEVEL": frozenset({"loc", "0"}),
    "FI_EFA_USE_DEVICE_RDMA": frozenset({"0", "false", "no", "off"}),
}
DEMANDING: Mapping[str, frozenset[str]] = {"FI_EFA_USE_DEVICE_RDMA": frozenset({"1", "true", "yes", "on"})}
OF_VERBS = re.compile(
    r"NCCL_IB_(?:HCA|GID_INDEX|TC|SL|QPS_PER_CONNECTION|TIMEOUT|RETRY_CNT|ADAPTIVE_ROUTING|SPLIT_DATA_ON_QPS)"
)
"""Variables that only set how NCCL uses InfiniBand and RoCE."""
OF_EFA = re.compile(r"FI_PROVIDER|FI_EFA_USE_DEVICE_RDMA")
SWITCHES: Mapping[str, Mapping[str, frozenset[str]]] = {
    "slowing_variable": SLOWING,
    "peer_copies_off": NO_PEER,
    "shared_memory_off": NO_MEMORY,
    "switch_reduction_off": NO_SHARP,
    "rack_link_off": NO_RACK,
    "verbs_off": NO_VERBS,
    "fabric_plugin_off": NO_FABRIC,
    "direct_network_off": NO_DIRECT,
    "device_rdma_demanded": DEMANDING,
}
"""Facts that hold the first variable with a value that switches something off, or on."""


EXPLAINED = re.compile(r"(?i)work-?\s?around|\bhangs?\b|do not (?:remove|change)|needed|necessary|required|otherwise")


class AllowedValues(NamedTuple):
    """A variable's allowed values, also in words, the effect of another, and the fact that reports
    it.
    """

    pattern: re.Pattern[str]
    wanted: str
    effect: str
    kind: str


def fields(environment: Mapping[str, Argument]) -> dict[str, Field]:
    """Return the facts of a program's variables, each with the variables that it is about."""
    facts = gather(
        found
        for name, argument in environment.items()
        for found in (_check_name(name, argument) if OURS.fullmatch(name) else _check_spelling(name, argument))
    )
    for fact, switch in SWITCHES.items():
        name = next((name for name in switch if is_set(environment, name, switch[name])), "")
        if name and not (fact == "slowing_variable" and _is_explained(environment[name])):
            facts[fact] = _show(name, environment[name])
    facts |= {**_find_idle(environment), **visible_devices.find_repeated(environment)}
    if name := next((name for name in environment if RECEIVING.fullmatch(name)), ""):
        facts["receive_variable"] = Field(name, (environment[name].origin,))
    connections = environment.get("CUDA_DEVICE_MAX_CONNECTIONS")
    if connections is not None and (connections.text or "").isdecimal():
        facts["device_connections"] = Field(int(connections.text or ""), (connections.origin,))
    return facts


def merge_exported(environment: Mapping[str, Argument], invocations: Iterable[Invocation]) -> dict[str, Argument]:
    """Return the variables of a container, overridden by those of its scripts and of `mpirun -x`."""
    seen = dict(environment)
    for invocation in invocations:
        seen |= invocation.exported
        if any(word.text == "-x" for word in invocation.arguments):
            from gpulint.adapters.programs import launchers  # most containers start an engine by itself

            seen |= launchers.unwrap(invocation.arguments).environment
    return seen


def is_set(environment: Mapping[str, Argument], name: str, values: frozenset[str]) -> bool:
    """Return True if a variable has one of these values, in upper or lower case."""
    return name in environment and (environment[name].text or "").strip().lower() in values


def _find_idle(environment: Mapping[str, Argument]) -> dict[str, Field]:
    """Return a variable that configures a network which another variable switches off."""
    efa = is_set(environment, "FI_PROVIDER", frozenset({"efa"}))
    for pattern, switch, applies in ((OF_VERBS, NO_VERBS, True), (OF_EFA, NO_FABRIC, efa)):
        off = next((name for name in switch if is_set(environment, name, switch[name])), "")
        stated = (name for name in environment if pattern.fullmatch(name) and environment[name].text)
        name = next(stated, "") if off and applies else ""
        if name and not OPEN.search(environment[name].text or ""):
            switched = Field(f"{off}={(environment[off].text or '').strip()}", (environment[off].origin,))
            return {"idle_variable": _show(name, environment[name]), "idle_because": switched}
    return {}


def _is_explained(argument: Argument) -> bool:
    """Return True if a comment at a value, or on the line above, says that the run needs it."""
    lines = argument.origin.document.text.splitlines()
    line = argument.origin.location().line
    return any(EXPLAINED.search(text.partition("#")[2]) for text in lines[max(line - 2, 0) : line])


def _show(name: str, argument: Argument) -> Field:
    return Field(f"{name}={(argument.text or '').strip()}", (argument.origin,))


def _check_name(name: str, argument: Argument) -> Iterator[dict[str, Field]]:
    """Yield the facts of one variable: of its name, or else of its value."""
    retired, stand_in = (
        tables.index_rows(table, "variable").get(name) for table in ("retired_variables", "variable_stand_ins")
    )
    if retired is not None:
        instead = f"the closest is {retired['successor']}" if retired["successor"] else "it has no replacement"
        yield {
            "retired_variable": Field(name, (argument.origin,)),
            "retired_variable_library": Field(retired["library"]),
            "successor_variable": Field(instead),
        }
    elif stand_in is not None and stand_in["state"] == "renamed":
        yield {
            "renamed_variable": Field(name, (argument.origin,)),
            "current_variable": Field(stand_in["instead"]),
        }
    elif stand_in is not None and not _is_own(name, argument):
        yield {
            "unread_variable": Field(name, (argument.origin,)),
            "unread_variable_library": Field(stand_in["library"]),
            "unread_variable_instead": Field(stand_in["instead"]),
        }
    elif spelling := next(_check_spelling(name, argument), None):
        yield spelling
    elif argument.text is not None and not OPEN.search(argument.text):
        yield from _check_value(name, argument.text.strip(), argument)


def _check_spelling(name: str, argument: Argument) -> Iterator[dict[str, Field]]:
    """Yield the facts of a name that no library reads and that differs by typing errors from one that a library reads."""
    if (meant := variable_names.find_meant(name)) and not _is_own(name, argument):
        yield {"misspelt_variable": Field(name, (argument.origin,)), "meant_variable": Field(meant)}


def _check_value(name: str, text: str, argument: Argument) -> Iterator[dict[str, Field]]:
    permitted = _load_permitted().get(name)
    if permitted is not None and not permitted.pattern.fullmatch(text):
        prefix = "impossible" if permitted.kind == "impossible" else "silent"
        yield {
            f"{prefix}_value": _show(name, argument),
            f"{prefix}_value_wanted": Field(permitted.wanted),
            f"{prefix}_value_effect": Field(permitted.effect),
        }
    listed = [device.strip() for device in text.removeprefix("^").split(",") if device.strip()]
    if name in INTERFACES and listed and not text.startswith("^"):
        if all(device.removeprefix("=") in OF_ONE_HOST for device in listed):
            yield {"interface_of_one_host": _show(name, argument)}
        if all(DEVICE.fullmatch(device) for device in listed):
            yield {
                "interface_mistaken": _show(name, argument),
                "interface_wanted": Field("the name of a network interface, as shown by ip link"),
            }
    if name == "NCCL_IB_HCA" and listed and not text.startswith("^") and all(map(INTERFACE.fullmatch, listed)):
        yield {
            "interface_mistaken": _show(name, argument),
            "interface_wanted": Field("the name of an RDMA device, as shown by ibv_devices"),
        }


def _is_own(name: str, argument: Argument) -> bool:
    """Return True if the file itself uses a variable that no library reads."""
    used = rf"\$\{{?{name}\b|(?:environ|getenv)\W{{1,6}}(?:get\W{{1,3}})?{name}\b"
    return re.search(used, argument.origin.document.text) is not None


@functools.cache
def _load_permitted() -> Mapping[str, AllowedValues]:
    rows: Sequence[tables.Row] = tables.rows("variable_values")
    return {
        name: AllowedValues(re.compile(row["pattern"]), row["wanted"], row["effect"], row["kind"])
        for row in rows
        for name in row["variables"].split()
    }
