def server_w(server_max_w: float, server_measured_w: float | None) -> float:
    return server_max_w if server_measured_w is None else server_measured_w


def server_group_w(server_w: float, servers: int) -> float:
    return server_w * servers
