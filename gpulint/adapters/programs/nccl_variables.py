"""Variables: what those of the communication libraries say that the libraries do not read, or not as it was meant.

`catalog/variable_names.csv` lists the names that a library reads, `retired_variables.csv` those that it read once,
`variable_stand_ins.csv` those that are told by another name today or that no library ever read, and
`variable_values.csv` the values of those that take no other.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from gpulint.catalog import tables as catalog
from gpulint.engines import Argument, Invocation
from gpulint.workload import Field

OURS = re.compile(r"(?:TORCH_)?NCCL_\w+|RCCL_\w+|GLOO_\w+|FI_EFA_\w+|OFI_NCCL_\w+|TORCH_DISTRIBUTED_\w+|TP_SOCKET_\w+")
"""Names of the libraries that ranks exchange data with."""
OPEN = re.compile(r"\$|\{\{|<|^\s*$|^(?i:null|none|auto)$")
"""A value that somebody fills in, or none."""
INTERFACES = ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME")
OF_ONE_HOST = frozenset({"lo", "docker0", "virbr0", "podman0"})
"""Interfaces that have the same address on every host, and lead to none of them."""
DEVICE = re.compile(r"=?(?:mlx[45]_\w+|bnxt_re\d+|rdmap\d\w+|efa_\d+)")
"""Names of RDMA devices: those of drivers mlx4, mlx5, bnxt_re and efa."""
INTERFACE = re.compile(r"=?(?:eth\d+|en[ops]\d\w*|bond\d+|lo|docker\d+|net\d+)(?::\d+)?")
"""Names of network interfaces as kernels and systemd give them; none is an RDMA device."""
RECEIVING = re.compile(r"NCCL_(?:FASTRAK|GPUDIRECTTCPX)_\w+")
"""Variables of the plug-ins for GPUDirect-TCPX and TCPXO, of which a daemon in the pod does the receiving."""
ON = frozenset({"1"})
OFF = frozenset({"0"})
SLOWING: Mapping[str, frozenset[str]] = {
    "CUDA_LAUNCH_BLOCKING": ON,
    "TORCH_DISTRIBUTED_DEBUG": frozenset({"detail"}),
    "NCCL_DEBUG": frozenset({"trace"}),
    "NCCL_CHECK_POINTERS": ON,
}
"""Variables that look for an error while the run waits for each call."""
NO_PEER: Mapping[str, frozenset[str]] = {"NCCL_P2P_DISABLE": ON, "NCCL_P2P_LEVEL": frozenset({"loc", "0"})}
NO_MEMORY: Mapping[str, frozenset[str]] = {"NCCL_SHM_DISABLE": ON}
NO_SHARP: Mapping[str, frozenset[str]] = {"NCCL_NVLS_ENABLE": OFF}
NO_RACK: Mapping[str, frozenset[str]] = {"NCCL_MNNVL_ENABLE": OFF, "NCCL_CUMEM_ENABLE": OFF}
"""NCCL reaches the GPUs of other hosts over NVLink only by memory of the cuMem interface (env.rst, NCCL_MNNVL_ENABLE)."""
NO_VERBS: Mapping[str, frozenset[str]] = {"NCCL_IB_DISABLE": ON, "NCCL_NET": frozenset({"socket"})}
NO_FABRIC: Mapping[str, frozenset[str]] = {
    "NCCL_NET": frozenset({"socket"}),
    "FI_PROVIDER": frozenset({"tcp", "sockets", "udp"}),
    "NCCL_NET_PLUGIN": frozenset({"none"}),
}
"""What keeps NCCL off EFA, which it reaches by a plug-in and libfabric's provider efa."""
NO_DIRECT: Mapping[str, frozenset[str]] = {
    "NCCL_NET_GDR_LEVEL": frozenset({"loc", "0"}),
    "FI_EFA_USE_DEVICE_RDMA": frozenset({"0", "false", "no", "off"}),
}
DEMANDING: Mapping[str, frozenset[str]] = {"FI_EFA_USE_DEVICE_RDMA": frozenset({"1", "true", "yes", "on"})}
OF_VERBS = re.compile(
    r"NCCL_IB_(?:HCA|GID_INDEX|TC|SL|QPS_PER_CONNECTION|TIMEOUT|RETRY_CNT|ADAPTIVE_ROUTING|SPLIT_DATA_ON_QPS)"
)
"""Variables that only say how NCCL is to use InfiniBand and RoCE."""
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
"""Facts that hold the first variable which is set to one of the values that switch something off, or on."""


EXPLAINED = re.compile(r"(?i)work-?\s?around|\bhangs?\b|do not (?:remove|change)|needed|necessary|required|otherwise")


class Permitted(NamedTuple):
    """The values that a variable takes, in words too, what becomes of another, and which fact says so."""

    pattern: re.Pattern[str]
    wanted: str
    effect: str
    kind: str


def fields(environment: Mapping[str, Argument]) -> dict[str, Field]:
    """What the variables of a program say, each fact at the first variable that it is about."""
    found: dict[str, Field] = {}
    for name, argument in environment.items():
        if OURS.fullmatch(name):
            for fact, value in _of_name(name, argument):
                found.setdefault(fact, value)
    for fact, switch in SWITCHES.items():
        name = next((name for name in switch if is_set(environment, name, switch[name])), "")
        if name and not (fact == "slowing_variable" and _is_explained(environment[name])):
            found[fact] = _shown(name, environment[name])
    found |= _idle(environment)
    if name := next((name for name in environment if RECEIVING.fullmatch(name)), ""):
        found["receive_variable"] = Field(name, (environment[name].origin,))
    connections = environment.get("CUDA_DEVICE_MAX_CONNECTIONS")
    if connections is not None and (connections.text or "").isdecimal():
        found["device_connections"] = Field(int(connections.text or ""), (connections.origin,))
    return found


def exported(environment: Mapping[str, Argument], invocations: Iterable[Invocation]) -> dict[str, Argument]:
    """The variables of a container with those that its scripts set, or hand to `mpirun -x`, over them."""
    seen = dict(environment)
    for one in invocations:
        seen |= one.exported
        if any(word.text == "-x" for word in one.arguments):
            from gpulint.adapters.programs import launchers as launch  # most containers start an engine by itself

            seen |= launch.unwrapped(one.arguments).environment
    return seen


def is_set(environment: Mapping[str, Argument], name: str, values: frozenset[str]) -> bool:
    """Whether a variable holds one of these values, in any case of letters."""
    return name in environment and (environment[name].text or "").strip().lower() in values


def _idle(environment: Mapping[str, Argument]) -> dict[str, Field]:
    """A variable that says how to use a network, beside the one that switches that network off."""
    efa = is_set(environment, "FI_PROVIDER", frozenset({"efa"}))
    for pattern, switch, told in ((OF_VERBS, NO_VERBS, True), (OF_EFA, NO_FABRIC, efa)):
        off = next((name for name in switch if is_set(environment, name, switch[name])), "")
        stated = (name for name in environment if pattern.fullmatch(name) and environment[name].text)
        name = next(stated, "") if off and told else ""
        if name and not OPEN.search(environment[name].text or ""):
            switched = Field(f"{off}={(environment[off].text or '').strip()}", (environment[off].origin,))
            return {"idle_variable": _shown(name, environment[name]), "idle_because": switched}
    return {}


def _is_explained(argument: Argument) -> bool:
    """Whether a comment beside a value, or in the line above it, tells that the run needs it."""
    lines = argument.origin.document.text.splitlines()
    line = argument.origin.location().line
    return any(EXPLAINED.search(text.partition("#")[2]) for text in lines[max(line - 2, 0) : line])


def _shown(name: str, argument: Argument) -> Field:
    return Field(f"{name}={(argument.text or '').strip()}", (argument.origin,))


def _of_name(name: str, argument: Argument) -> Iterator[tuple[str, Field]]:
    """What is worth a word about one variable: its name, or else its value."""
    retired, stand_in = (
        catalog.by(table, "variable").get(name) for table in ("retired_variables", "variable_stand_ins")
    )
    if retired is not None:
        instead = f"{retired['successor']} comes nearest to it" if retired["successor"] else "nothing takes its place"
        yield "retired_variable", Field(name, (argument.origin,))
        yield "retired_variable_library", Field(retired["library"])
        yield "successor_variable", Field(instead)
    elif stand_in is not None and stand_in["state"] == "renamed":
        yield "renamed_variable", Field(name, (argument.origin,))
        yield "current_variable", Field(stand_in["instead"])
    elif stand_in is not None and not _is_own(name, argument):
        yield "unread_variable", Field(name, (argument.origin,))
        yield "unread_variable_library", Field(stand_in["library"])
        yield "unread_variable_instead", Field(stand_in["instead"])
    elif (meant := _meant(name)) and not _is_own(name, argument):
        yield "misspelt_variable", Field(name, (argument.origin,))
        yield "meant_variable", Field(meant)
    elif argument.text is not None and not OPEN.search(argument.text):
        yield from _of_value(name, argument.text.strip(), argument)


def _of_value(name: str, text: str, argument: Argument) -> Iterator[tuple[str, Field]]:
    permitted = _permitted().get(name)
    if permitted is not None and not permitted.pattern.fullmatch(text):
        prefix = "impossible" if permitted.kind == "impossible" else "silent"
        yield f"{prefix}_value", _shown(name, argument)
        yield f"{prefix}_value_wanted", Field(permitted.wanted)
        yield f"{prefix}_value_effect", Field(permitted.effect)
    listed = [one.strip() for one in text.removeprefix("^").split(",") if one.strip()]
    if name in INTERFACES and listed and not text.startswith("^"):
        if all(one.removeprefix("=") in OF_ONE_HOST for one in listed):
            yield "interface_of_one_host", _shown(name, argument)
        if all(DEVICE.fullmatch(one) for one in listed):
            yield "interface_mistaken", _shown(name, argument)
            yield "interface_wanted", Field("the name of a network interface, as ip link lists them")
    if name == "NCCL_IB_HCA" and listed and not text.startswith("^") and all(map(INTERFACE.fullmatch, listed)):
        yield "interface_mistaken", _shown(name, argument)
        yield "interface_wanted", Field("the name of an RDMA device, as ibv_devices lists them")


def _is_own(name: str, argument: Argument) -> bool:
    """Whether the file itself makes use of a variable that no library reads."""
    used = rf"\$\{{?{name}\b|(?:environ|getenv)\W{{1,6}}(?:get\W{{1,3}})?{name}\b"
    return re.search(used, argument.origin.document.text) is not None


@functools.cache
def _meant(name: str) -> str:
    """The variable that a misspelling means; nothing for a name that is known or like no other."""
    known = _known()
    if name in known:
        return ""
    from gpulint.adapters.programs import unknown_settings as misstated

    return misstated.nearest(name, known)


@functools.cache
def _known() -> frozenset[str]:
    return frozenset(name for row in catalog.rows("variable_names") for name in row["names"].split())


@functools.cache
def _permitted() -> Mapping[str, Permitted]:
    rows: Sequence[catalog.Row] = catalog.rows("variable_values")
    return {
        name: Permitted(re.compile(row["pattern"]), row["wanted"], row["effect"], row["kind"])
        for row in rows
        for name in row["variables"].split()
    }
