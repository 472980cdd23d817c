"""Runtime classes: a pod that names the one of NVIDIA gets GPUs of its node without a request for them.

The NVIDIA GPU Operator creates the classes nvidia, nvidia-cdi and nvidia-legacy; k3s creates nvidia. The runtime mounts the
GPUs that NVIDIA_VISIBLE_DEVICES lists, which CUDA images set to all (NVIDIA Container Toolkit, docker-specialized.md).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from gpulint.engines import Argument
from gpulint.source.documents import Document, Path
from gpulint.workload import Field, Origin, Unknown

CLASSES = frozenset({"nvidia", "nvidia-cdi", "nvidia-legacy"})
VARIABLE = "NVIDIA_VISIBLE_DEVICES"
LISTED = re.compile(r"\d+(?:,\d+)*|(?:GPU-[\w-]+)(?:,GPU-[\w-]+)*")
HIDDEN = frozenset({"none", "void", ""})
ALL = "the runtime class gives the container every GPU of its node, and their number is not stated"


def fields(document: Document, spec: Path, environment: Mapping[str, Argument]) -> dict[str, Field]:
    """Return the GPUs that a pod's runtime class gives a container; none if a container of the pod requests some."""
    if not document.mentions("runtimeClassName") or document.get((*spec, "runtimeClassName")) not in CLASSES:
        return {}
    visible = environment.get(VARIABLE)
    if (visible is not None and visible.text in HIDDEN) or _requests_devices(document, spec):
        return {}
    if visible is not None and LISTED.fullmatch(visible.text or ""):
        return {"gpus_per_pod": Field((visible.text or "").count(",") + 1, (visible.origin,))}
    return {"gpus_per_pod": Field(Unknown(ALL, "any host"), (Origin(document, (*spec, "runtimeClassName")),))}


def _requests_devices(document: Document, spec: Path) -> bool:
    """Return whether a container of a pod requests devices, so that the others are meant to have none."""
    for key in ("containers", "initContainers"):
        listed = document.get((*spec, key))
        for at in range(len(listed)) if isinstance(listed, list) else ():
            asked = [document.get((*spec, key, at, "resources", side)) for side in ("limits", "requests")]
            if any("/" in str(name) for amounts in asked if isinstance(amounts, dict) for name in amounts):
                return True
    return False
