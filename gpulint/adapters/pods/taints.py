"""Taints of nodes, and whether a pod tolerates them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from gpulint.catalog import resource_names
from gpulint.source.documents import Document, Path

UNTOLERATED = frozenset({"NoSchedule", "NoExecute"})


class Taint(NamedTuple):
    """A taint keeps pods off a pool unless they tolerate it."""

    key: str
    value: str
    effect: str

    def __str__(self) -> str:
        return f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"


def find_untolerated(tainted: Iterable[Taint], document: Document, spec: Path, resource: str) -> Taint | None:
    """Return the first taint that a pod does not tolerate.

    A taint named after the resource is tolerated.

    The admission plugin ExtendedResourceToleration does so on GKE and, since 1.19, on EKS.
    """
    listed = document.get((*spec, "tolerations"))
    tolerations = [entry for entry in (listed if isinstance(listed, list) else ()) if isinstance(entry, dict)]
    hard = (
        taint
        for taint in tainted
        if taint.effect in UNTOLERATED and taint.key not in (resource, resource_names.find_name("nvidia"))
    )
    return next((taint for taint in hard if not any(_tolerates(toleration, taint) for toleration in tolerations)), None)


def _tolerates(toleration: Mapping[str, object], taint: Taint) -> bool:
    key, effect = toleration.get("key"), toleration.get("effect")
    if effect not in (None, "", taint.effect) or (key not in (None, "") and key != taint.key):
        return False
    if toleration.get("operator") == "Exists":
        return True
    value = toleration.get("value")
    return key is not None and ("$" in str(value) or str(value if value is not None else "") == taint.value)


def read(text: str) -> Taint | None:
    """Read `key=value:effect`, as command lines and kubelets write it."""
    match = re.fullmatch(r"(?P<key>[^=:]+)(?:=(?P<value>[^:]*))?:(?P<effect>\w+)", text)
    return Taint(match["key"], match["value"] or "", match["effect"]) if match else None


def strings(values: Iterable[object]) -> Iterator[str]:
    return (value for value in values if isinstance(value, str))
