"""Allocated load: what the workloads allocated to a pool make its servers, racks and rooms draw."""

from __future__ import annotations

from collections.abc import Sequence


def server_group_gpus(server_gpus: float, servers: float) -> float:
    """GPUs of all the servers of one kind.

    server_group_gpus = server_gpus · servers

    Component: server
    Args:
        server_gpus: of one server. servers: alike.
    Returns:
        GPUs

    >>> server_group_gpus(8, 4)
    32

    Source: definition.
    """
    return server_gpus * servers


def held_gpus(each_server_group_gpus: Sequence[float]) -> float:
    """GPUs of all the servers in a pool, a rack or a room.

    held_gpus = Σ server_group_gpus

    Component: pool rack row room site facility
    Args:
        each_server_group_gpus: GPUs of each kind of server.
    Returns:
        GPUs

    >>> held_gpus((32, 16))
    48

    Source: definition.
    """
    return sum(each_server_group_gpus)


def held_servers(each_server_count: Sequence[float]) -> float:
    """Servers that belong to a pool.

    held_servers = Σ servers

    Component: pool rack row room site facility
    Args:
        each_server_count: how many there are of each kind.
    Returns:
        servers

    >>> held_servers((4, 2))
    6

    Source: definition.
    """
    return sum(each_server_count)


def pool_busy_gpus(
    pool_gpus_held: float | None,
    pool_service_gpus: float | None,
    pool_queued_gpus: float | None,
    pool_largest_job_gpus: float | None,
    queue_share: float,
) -> float | None:
    """GPUs of a pool that compute at the same time.

    pool_busy_gpus = min(held, services + jobs), jobs from none (queue_share 0) over the largest (0.5) to all (1)

    Component: server
    Args:
        pool_gpus_held: GPUs of the pool. pool_service_gpus: of services, which always run. pool_queued_gpus: of all jobs.
        pool_largest_job_gpus: of the largest job. queue_share: how many of the jobs run at once (assumed).
    Returns:
        GPUs; None where nothing is placed

    >>> [pool_busy_gpus(64, 16, 96, 32, share) for share in (0.0, 0.5, 1.0)]
    [16.0, 48.0, 64]

    Source: definition; jobs of a queue wait for one another, services do not.
    """
    if pool_gpus_held is None or pool_service_gpus is None:
        return None
    queued = pool_queued_gpus or 0.0
    largest = min(pool_largest_job_gpus or 0.0, queued)
    early, late = min(1.0, 2 * queue_share), max(0.0, 2 * queue_share - 1)
    return min(pool_gpus_held, pool_service_gpus + largest * early + (queued - largest) * late)


def group_busy_gpus(
    server_group_gpus: float, pool_gpus_held: float | None, pool_busy_gpus: float | None, packing_share: float
) -> float | None:
    """GPUs of the servers of one kind that compute, from those of their pool.

    From what the rest of the pool cannot take (packing_share 0) over their part of the pool (0.5) to all they can take (1).

    Component: server
    Args:
        server_group_gpus: of these servers. pool_gpus_held: of the whole pool. pool_busy_gpus: that compute in the pool.
        packing_share: whether the scheduler fills these servers last or first (assumed).
    Returns:
        GPUs; None where nothing is placed

    >>> [group_busy_gpus(16, 64, 56, share) for share in (0.0, 0.5, 1.0)]
    [8.0, 14.0, 16.0]

    Source: definition: of 56 in 64, 48 fit elsewhere, and 8 have to be here.
    """
    if not pool_gpus_held or pool_busy_gpus is None:
        return None
    least = max(0.0, pool_busy_gpus - (pool_gpus_held - server_group_gpus))
    even = pool_busy_gpus * server_group_gpus / pool_gpus_held
    most = min(pool_busy_gpus, server_group_gpus)
    early, late = min(1.0, 2 * packing_share), max(0.0, 2 * packing_share - 1)
    return least + (even - least) * early + (most - even) * late


def placed_group_w(
    group_idle_w: float,
    group_busy_w: float,
    packing_share: float,
    server_group_gpus: float | None = None,
    group_busy_gpus: float | None = None,
) -> float:
    """Power of the servers of one kind under the workloads allocated to their pool.

    placed_group_w = group_idle_w + (group_busy_w − group_idle_w) · group_busy_gpus / server_group_gpus

    Component: server
    Args:
        group_idle_w: without work [W]. group_busy_w: while all compute [W].
        packing_share: 0 where as little as possible is assumed. server_group_gpus: of these servers.
        group_busy_gpus: of them that compute.
    Returns:
        [W]
    Validity: it is unknown what runs on servers outside every pool: at best they are idle, else busy.

    >>> placed_group_w(6000, 30_000, 0.5, 32, 8), placed_group_w(6000, 30_000, 0.5), placed_group_w(6000, 30_000, 0.0)
    (12000.0, 30000, 6000)

    Source: Barroso, Clidaras, Hölzle, The Datacenter as a Computer, 2013, section 5.3: power grows nearly linearly with load.
    """
    if group_busy_gpus is None or not server_group_gpus:
        return group_busy_w if packing_share > 0 else group_idle_w
    return group_idle_w + (group_busy_w - group_idle_w) * group_busy_gpus / server_group_gpus


def placed_load_w(each_placed_group_w: Sequence[float], each_pool_service_gpus: Sequence[float | None]) -> float | None:
    """Power of the servers of a rack or room under the workloads allocated there.

    placed_load_w = Σ placed_group_w

    Component: rack row room site facility
    Args:
        each_placed_group_w: of each kind of server of which it is known [W].
        each_pool_service_gpus: of the pool of each, None where nothing is placed on it.
    Returns:
        [W]; None where nothing is placed on any pool of these servers

    >>> placed_load_w((12_000.0, 800.0), (16, None)), placed_load_w((800.0,), (None,))
    (12800.0, None)

    Source: definition.
    """
    return sum(each_placed_group_w) if any(gpus is not None for gpus in each_pool_service_gpus) else None


def placed_load_va(placed_load_w: float | None, supply_power_factor: float) -> float | None:
    """Apparent power of the servers of a rack or room under the workloads allocated there.

    placed_load_va = placed_load_w / supply_power_factor

    Component: rack row room site facility
    Args:
        placed_load_w: of the servers, None where nothing is placed [W]. supply_power_factor: under load (ratio).
    Returns:
        [VA]; None where nothing is placed

    >>> placed_load_va(19_000.0, 0.95), placed_load_va(None, 0.95)
    (20000.0, None)

    Source: definition.
    """
    return None if placed_load_w is None else placed_load_w / supply_power_factor


def placed_cooled_heat_w(placed_load_w: float | None, heat_w: float, cooled_heat_w: float) -> float | None:
    """Heat that the cooling of a rack must remove under the workloads allocated there.

    placed_cooled_heat_w = placed_load_w · cooled_heat_w / heat_w

    Component: rack
    Args:
        placed_load_w: of the servers, None where nothing is placed [W]. heat_w: of all of them [W].
        cooled_heat_w: of it that what cools the rack has to take [W].
    Returns:
        [W]; None where nothing is placed

    >>> placed_cooled_heat_w(20_000.0, 45_200, 45_200), placed_cooled_heat_w(60_000.0, 132_000, 33_000)
    (20000.0, 15000.0)

    Source: conservation of energy; the parts of a server's heat that liquid and air take stay as they are.
    """
    return None if placed_load_w is None else placed_load_w * cooled_heat_w / heat_w


def placed_room_heat_w(placed_load_w: float | None, heat_w: float, room_heat_w: float) -> float | None:
    """Heat that servers leave to the air of a room under the workloads allocated there.

    placed_room_heat_w = placed_load_w · room_heat_w / heat_w

    Component: row room
    Args:
        placed_load_w: of the servers, None where nothing is placed [W]. heat_w: of all of them [W].
        room_heat_w: of it that goes to the air of the room [W].
    Returns:
        [W]; None where nothing is placed

    >>> placed_room_heat_w(200_000.0, 400_000, 100_000)
    50000.0

    Source: conservation of energy; the parts of a server's heat that liquid and air take stay as they are.
    """
    return None if placed_load_w is None else placed_load_w * room_heat_w / heat_w


def most_gpus(gpus_per_replica: float, replicas_most: int | None) -> float | None:
    """GPUs of all replicas that an autoscaler may start.

    most_gpus = gpus_per_replica · replicas_most

    Args:
        gpus_per_replica: of one instance. replicas_most: that the autoscaler may start, None without one.
    Returns:
        GPUs; None without an autoscaler

    >>> most_gpus(2, 12), most_gpus(2, None)
    (24, None)

    Source: definition.
    """
    return None if replicas_most is None else gpus_per_replica * replicas_most
