"""Names of variables: the one that a library reads and that a misspelling means.

`catalog/variable_names.csv` lists the names that libraries read. The table is complete for the communication
libraries; for the others, a variable that it lacks may be a team's own, so only long names are compared.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gpulint.catalog import slips, tables

LONG = 14
"""Minimum length of a name that is compared where the table may lack names of the same beginning."""
REST_MIN = 10
"""Minimum length of what follows a misspelt first word."""
COLLECTIVES = "CCL"
"""The end of the first word of many vendors' communication libraries: HCCL_, MCCL_, RCCL_."""


class KnownNames(NamedTuple):
    """The names that libraries read: all of them, by their first word, and by what follows it."""

    names: frozenset[str]
    by_first: Mapping[str, Sequence[str]]
    by_rest: Mapping[str, Sequence[str]]


@functools.lru_cache(maxsize=1024)
def find_meant(name: str) -> str:
    """Return the variable that a misspelling means; empty if the name is known or resembles none.

    >>> find_meant("NCLL_SOCKET_IFNAME"), find_meant("NCCL_SOCKET_IFNAME")
    ('NCCL_SOCKET_IFNAME', '')
    """
    first, _, rest = name.partition("_")
    known = _load()
    if not rest or name in known.names:
        return ""
    if first in known.by_first:
        return slips.find_nearest(name, known.by_first[first])
    if len(rest) < REST_MIN or first.endswith(COLLECTIVES):
        return ""
    alike = (meant for meant in known.by_rest.get(rest, ()) if meant[0] == first[:1])
    return next((meant for meant in alike if slips.measure_distance(first, meant.partition("_")[0]) == 1), "")


@functools.cache
def _load() -> KnownNames:
    by_first: dict[str, list[str]] = {}
    by_rest: dict[str, list[str]] = {}
    names: set[str] = set()
    for row in tables.rows("variable_names"):
        for name in row["names"].split():
            names.add(name)
            if row["complete"] or len(name) >= LONG:
                first, _, rest = name.partition("_")
                by_first.setdefault(first, []).append(name)
                by_rest.setdefault(rest, []).append(name)
    return KnownNames(frozenset(names), by_first, by_rest)
