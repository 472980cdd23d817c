"""Node configuration files: mig-parted's MIG layouts and the device plugin's sharing.

No workloads.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.adapters.claim import Claim
from gpulint.source.documents import Document
from gpulint.source.repository import Repository
from gpulint.workload import Workload

MENTIONS = ("mig-configs", "sharing", "migStrategy")
TRIGGERS = ("mig-configs", "mig-devices", "migStrategy")
READS = ("plain",)
CLAIMS = ("shape",)

LAYOUTS = "mig-configs"
PLUGIN = frozenset({"sharing", "flags", "resources"})
"""The device plugin's configuration (NVIDIA/k8s-device-plugin v0.18 api/config/v1/config.go)."""
SHARED = frozenset({"timeSlicing", "mps"})
FLAGS = frozenset({"migStrategy", "failOnInitError", "plugin", "gfd", "nvidiaDriverRoot", "mpsRoot"})


def claims(document: Document) -> Claim:
    data = document.data
    if not isinstance(data, dict) or "kind" in data or "apiVersion" in data:
        return Claim.NONE
    return Claim.SHAPE.where(isinstance(data.get(LAYOUTS), dict) or _is_plugin(data))


def kind(document: Document) -> str:
    return "MIG-parted config" if document.get((LAYOUTS,)) is not None else "device-plugin config"


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    """Yield nothing: these files set how GPUs are partitioned and shared, not what runs on them."""
    yield from ()


def _is_plugin(data: dict[str, object]) -> bool:
    sharing, flags = (data.get(key) for key in ("sharing", "flags"))
    shared = isinstance(sharing, dict) and bool(SHARED & sharing.keys())
    flagged = isinstance(flags, dict) and bool(FLAGS & flags.keys())
    return data.get("version") == "v1" and (shared or flagged)
