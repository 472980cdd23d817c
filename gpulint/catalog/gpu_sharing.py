"""GPU sharing (time-slicing, MPS): strategy and number of clients in words."""

from __future__ import annotations

import re

TURNS = "time-sharing"
STRATEGY_KEY = "cloud.google.com/gke-gpu-sharing-strategy"
CLIENTS_KEY = "cloud.google.com/gke-max-shared-clients-per-gpu"
"""Labels of GKE's nodes: cloud.google.com/kubernetes-engine/docs/concepts/timesharing-gpus."""
CLIENTS = re.compile(r"(?<!\d)(\d++) clients$")


def describe(strategy: str, clients: int | str) -> str:
    """Return the words for a strategy, if any, and the maximum number of clients of a GPU."""
    return f"{strategy} by {clients} clients" if strategy else f"{clients} clients"


def parse_strategy(sharing: str) -> str:
    """Return the strategy in the words; empty if they only count."""
    return CLIENTS.sub("", sharing).removesuffix("by ").strip()


def parse_clients(sharing: str) -> int | None:
    """Return the maximum number of clients of a GPU; None if the words do not tell."""
    found = CLIENTS.search(sharing)
    return int(found[1]) or None if found else None
