"""Charts that run no model: operators, device plugins and launchers.

Their values are known and are not checked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpulint.adapters.charts.values import Values
from gpulint.source.repository import Repository
from gpulint.workload import Workload

NAMES = frozenset({"gpu-operator", "nvidia-device-plugin", "kueue", "kuberay-operator", "dra-driver-nvidia-gpu"})
OPERATOR = frozenset(
    {
        *("toolkit", "devicePlugin", "dcgmExporter", "dcgm", "migManager", "mig", "gfd", "nodeStatusExporter", "gds"),
        *("vgpuManager", "sandboxDevicePlugin", "vfioManager", "kataManager", "ccManager", "gdrcopy", "validator"),
    }
)
"""Sections of the GPU operator's values.

Source: NVIDIA/gpu-operator v25.10.1 deployments/gpu-operator/values.yaml.
"""
OPERATOR_LEAST = 3
SHARING = frozenset({"migStrategy", "deviceListStrategy", "failOnInitError", "nvidiaDriverRoot"})
"""Settings of the device plugin's chart.

Source: NVIDIA/k8s-device-plugin v0.18 deployments/helm/nvidia-device-plugin/values.yaml.
"""

CONFIGURED = re.compile(r"^version:\s*v1\b", re.MULTILINE)
"""The start of the device plugin's own configuration, as a text under `config.map`."""


def fits(values: Values) -> bool:
    has = values.entries().keys()
    launcher = "trainingConfig" in has and "trainingImage" in values.entries("image")
    maps = values.entries("config", "map").values()
    shared = any(isinstance(text, str) and CONFIGURED.search(text) for text in maps)
    plugin = bool(SHARING & has) or {"gfd", "nfd"} <= has or shared
    return launcher or plugin or len(OPERATOR & has) >= OPERATOR_LEAST


def workloads(values: Values, repository: Repository) -> Iterator[Workload]:
    """Yield nothing: a launcher fills these values in, or they set up the cluster."""
    yield from ()
