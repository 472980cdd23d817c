"""Server load: what servers draw while their GPUs are busy, and while they are idle."""

from __future__ import annotations

from collections.abc import Sequence


def idle_w(server_w: float, idle_server_share: float, server_idle_w: float | None = None) -> float:
    """Power of one server whose GPUs are idle.

    idle_w = server_idle_w, or server_w · idle_server_share where none is published

    Component: server
    Args:
        server_w: planned maximum of one [W]. idle_server_share: of that maximum (fitted).
        server_idle_w: as published or measured [W].
    Returns:
        [W]

    >>> idle_w(10_000, 0.15), idle_w(6667, 0.15, 1000)
    (1500.0, 1000)

    Source: NVIDIA Domain Power Service, device specifications: a GB200 tray idles at 1000 W of 6667 W.
    """
    return server_w * idle_server_share if server_idle_w is None else min(server_idle_w, server_w)


def busy_w(server_w: float, busy_server_share: float, idle_w: float, server_max_w: float | None = None) -> float:
    """Power of one server while all its GPUs are busy.

    busy_w = max(idle_w, min(server_w, uncapped maximum · busy_server_share))

    Component: server
    Args:
        server_w: planned maximum of one, a cap of its GPUs taken into account [W].
        busy_server_share: of the maximum without a cap (fitted). idle_w: of one [W]. server_max_w: published maximum [W].
    Returns:
        [W]
    Validity: mean over minutes; a cap does not lower what draws less than it.

    >>> busy_w(10_200, 0.76, 1530), busy_w(7000, 0.76, 1530, 10_200)
    (7752.0, 7000)

    Source: Newkirk et al., Empirically-Calibrated H100 Node Power Models, 2025: 76 % of the rated maximum while training.
    """
    uncapped = max(server_w, server_max_w or 0)
    return max(idle_w, min(server_w, uncapped * busy_server_share))


def group_idle_w(idle_w: float, servers: float) -> float:
    """Power of the servers of one kind while their GPUs are idle.

    group_idle_w = idle_w · servers

    Component: server
    Args:
        idle_w: of one [W]. servers: alike.
    Returns:
        [W]

    >>> group_idle_w(1500, 4)
    6000

    Source: definition.
    """
    return idle_w * servers


def group_busy_w(busy_w: float, servers: float) -> float:
    """Power of the servers of one kind while all their GPUs are busy.

    group_busy_w = busy_w · servers

    Component: server
    Args:
        busy_w: of one [W]. servers: alike.
    Returns:
        [W]

    >>> group_busy_w(7700, 4)
    30800

    Source: definition.
    """
    return busy_w * servers


def idle_load_w(each_group_idle_w: Sequence[float]) -> float:
    """Power of the servers of a rack, a room or a pool while their GPUs are idle.

    idle_load_w = Σ group_idle_w

    Component: rack row room site facility pool
    Args:
        each_group_idle_w: of each kind of server [W].
    Returns:
        [W]

    >>> idle_load_w((6000, 300))
    6300

    Source: definition.
    """
    return sum(each_group_idle_w)


def busy_load_w(each_group_busy_w: Sequence[float]) -> float:
    """Power of the servers of a rack, a room or a pool while all their GPUs are busy.

    busy_load_w = Σ group_busy_w

    Component: rack row room site facility pool
    Args:
        each_group_busy_w: of each kind of server [W].
    Returns:
        [W]

    >>> busy_load_w((30_800, 600))
    31400

    Source: definition.
    """
    return sum(each_group_busy_w)
