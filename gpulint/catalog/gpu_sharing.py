"""Shares: in words, how a card is handed out to several programs that run on it in turns, and to how many."""

from __future__ import annotations

import re

TURNS = "time-sharing"
STRATEGY_KEY = "cloud.google.com/gke-gpu-sharing-strategy"
CLIENTS_KEY = "cloud.google.com/gke-max-shared-clients-per-gpu"
"""Labels of GKE's nodes: cloud.google.com/kubernetes-engine/docs/concepts/timesharing-gpus."""
CLIENTS = re.compile(r"(\d+) clients$")


def named(strategy: str, clients: int | str) -> str:
    """The strategy, if any, and how many programs a card is for at most."""
    return f"{strategy} by {clients} clients" if strategy else f"{clients} clients"


def strategy(sharing: str) -> str:
    """The strategy that the words name; empty where they only count."""
    return CLIENTS.sub("", sharing).removesuffix("by ").strip()


def clients(sharing: str) -> int | None:
    """How many programs a card is for at most; None where the words do not say."""
    found = CLIENTS.search(sharing)
    return int(found[1]) or None if found else None
