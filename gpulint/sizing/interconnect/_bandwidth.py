"""Fabric: time to move bytes between ranks, from hop latency and achieved bandwidth.

Bandwidths are per GPU and per direction. A *bus* bandwidth is that of the NCCL tests, the load of
the busiest link. One figure therefore holds for every collective and any number of ranks.
"""

from __future__ import annotations

import math

RAMP = 1.0
"""Factor of the term between latency and bandwidth: protocols for medium sizes cost their geometric
mean once (bench/fabric.py).
"""


def all_reduce_s(payload_bytes: float, ranks: float, bus_bytes_per_s: float, hop_s: float) -> float:
    """Return the time of an all-reduce, ring or tree.

    t = latency + transfer + √(latency · transfer), latency = ⌈log₂ n⌉ · hop, transfer = 2 · (n − 1) / n · payload / bus

    Args:
        payload_bytes: of one rank's buffer [bytes]. ranks: n. bus_bytes_per_s: achieved by large payloads [bytes/s].
        hop_s: latency of one doubling of the group [s].
    Returns:
        [s]; 0 for one rank.

    >>> round(all_reduce_s(2 * 268435456, 8, 480e9, 5.2e-6) * 1e3, 2)  # 1 GiB / 2 on eight H100: 2.11 ms measured
    2.15

    Source: nccl-tests, doc/PERFORMANCE.md (bus bandwidth); NCCL, src/graph/tuning.cc (trees: log₂ n steps).
    """
    return _estimate_s(2 * _find_other_share(ranks) * payload_bytes, ranks, bus_bytes_per_s, hop_s)


def reduce_scatter_s(payload_bytes: float, ranks: float, bus_bytes_per_s: float, hop_s: float) -> float:
    """Return the time of a reduce-scatter, which is half an all-reduce.

    t as of all_reduce_s, transfer = (n − 1) / n · payload / bus

    Args:
        payload_bytes: whole buffer of one rank before it is scattered [bytes]. ranks: n.
        bus_bytes_per_s: achieved by large payloads [bytes/s]. hop_s: latency of one doubling of the group [s].
    Returns:
        [s]; 0 for one rank.

    >>> round(reduce_scatter_s(1e9, 8, 400e9, 5e-6) * 1e3, 2)
    2.38

    Source: nccl-tests, doc/PERFORMANCE.md.
    """
    return _estimate_s(_find_other_share(ranks) * payload_bytes, ranks, bus_bytes_per_s, hop_s)


def all_gather_s(payload_bytes: float, ranks: float, bus_bytes_per_s: float, hop_s: float) -> float:
    """Return the time of an all-gather, which is a reduce-scatter in reverse.

    t as of all_reduce_s, transfer = (n − 1) / n · payload / bus

    Args:
        payload_bytes: whole buffer of one rank once it is gathered [bytes]. ranks: n.
        bus_bytes_per_s: achieved by large payloads [bytes/s]. hop_s: latency of one doubling of the group [s].
    Returns:
        [s]; 0 for one rank.

    >>> all_gather_s(1e9, 8, 400e9, 5e-6) == reduce_scatter_s(1e9, 8, 400e9, 5e-6)
    True

    Source: nccl-tests, doc/PERFORMANCE.md.
    """
    return _estimate_s(_find_other_share(ranks) * payload_bytes, ranks, bus_bytes_per_s, hop_s)


def all_to_all_s(payload_bytes: float, ranks: float, bus_bytes_per_s: float, hop_s: float) -> float:
    """Return the time of an all-to-all: every rank sends each other rank its part.

    t as of all_reduce_s, transfer = (n − 1) / n · payload / bus

    Args:
        payload_bytes: all that one rank sends, its own part included [bytes]. ranks: n.
        bus_bytes_per_s: achieved by large payloads [bytes/s]. hop_s: latency of one doubling of the group [s].
    Returns:
        [s]; 0 for one rank.

    >>> all_to_all_s(1e9, 1, 400e9, 5e-6)
    0.0

    Source: nccl-tests, doc/PERFORMANCE.md.
    """
    return _estimate_s(_find_other_share(ranks) * payload_bytes, ranks, bus_bytes_per_s, hop_s)


def send_s(payload_bytes: float, bytes_per_s: float, hop_s: float) -> float:
    """Return the time to send a payload from one rank to another.

    t = hop + payload / bandwidth

    Args:
        payload_bytes: handed over [bytes]. bytes_per_s: achieved between two ranks [bytes/s]. hop_s: latency [s].
    Returns:
        [s]

    >>> round(send_s(64e6, 12.5e9, 2e-5), 5)
    0.00514

    Source: Hockney, The communication challenge for MPP (1994): latency and bandwidth.
    """
    return hop_s + payload_bytes / bytes_per_s


def all_reduce_floor_s(payload_bytes: float, ranks: float, link_bytes_per_s: float, in_switch: bool) -> float:
    """Return the physical lower bound of an all-reduce.

    t = 2 · (n − 1) / n · payload / link; where switches add up (NVLS, SHARP), payload / link

    Args:
        payload_bytes: of one rank's buffer [bytes]. ranks: n. link_bytes_per_s: nominal, of one GPU, per direction.
        in_switch: the switches of the fabric can reduce.
    Returns:
        [s]; 0 for one rank.

    >>> all_reduce_floor_s(450e9, 8, 450e9, True), all_reduce_floor_s(450e9, 8, 450e9, False)
    (1.0, 1.75)

    Source: Patarasuk and Yuan, Bandwidth optimal all-reduce (2009), theorem 1; Klenk et al., An In-Network Architecture for
        Accelerating Shared-Memory Multiprocessor Collectives (2020), section 3.
    """
    if ranks <= 1:
        return 0.0
    return (1 if in_switch else 2 * _find_other_share(ranks)) * payload_bytes / link_bytes_per_s


def _find_other_share(ranks: float) -> float:
    """Return the share of a buffer that belongs to the other ranks."""
    return (ranks - 1) / ranks if ranks > 1 else 0.0


def _estimate_s(carried_bytes: float, ranks: float, bus_bytes_per_s: float, hop_s: float) -> float:
    """Return the time of the busiest link, with the latency of the group and the ramp between the
    two.
    """
    if ranks <= 1:
        return 0.0
    latency, transfer = hop_s * math.ceil(math.log2(ranks)), carried_bytes / bus_bytes_per_s
    return latency + transfer + RAMP * math.sqrt(latency * transfer)
