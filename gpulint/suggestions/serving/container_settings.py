"""Container settings: shared memory, the memory limit, the visible devices and the ranks of a draft, each as a change."""

from __future__ import annotations

import math
from collections.abc import Iterator

from gpulint import units
from gpulint.facts.model import Facts, Missing
from gpulint.suggestions.generators import FAMILIES, Candidate, generates
from gpulint.suggestions.serving.changes import find_count, name_gpus

BESIDE_WEIGHTS_BYTES = 4 * units.GIB
"""Host memory of a rank besides the weights that it loads: its libraries, its CUDA context and pinned buffers."""
STEP_BYTES = 8 * units.GIB
"""Memory limits are proposed in multiples of this."""


@generates("shared_memory_default", families=FAMILIES)
def _propose_shared_memory(facts: Facts) -> Iterator[Candidate]:
    if facts.expected("shared_memory_default") is True:
        yield Candidate("a larger /dev/shm", {"shared_memory_default": False})


@generates("unmounted_memory_volume", families=FAMILIES)
def _propose_mount(facts: Facts) -> Iterator[Candidate]:
    """Yield the mount that the volume was probably meant for."""
    if facts.expected("shared_memory_default") is True:
        yield Candidate("mount it at /dev/shm", {"unmounted_memory_volume": None, "shared_memory_default": False})


@generates("host_memory_bytes")
def _propose_host_memory(facts: Facts) -> Iterator[Candidate]:
    """Yield a limit for all weights that the pod's ranks load, if its machine has as much."""
    weights, ranks = facts.scenarios("weight_bytes_per_gpu"), find_count(facts, "ranks_per_pod")
    now, most = facts.expected("host_memory_bytes"), facts.expected("node_memory_bytes")
    if not isinstance(now, int | float) or not ranks or isinstance(weights, Missing):
        return
    if not isinstance(weights.worst, int | float):
        return
    needed = math.ceil((weights.worst + BESIDE_WEIGHTS_BYTES) * ranks / STEP_BYTES) * STEP_BYTES
    if needed > now and not (isinstance(most, int | float) and needed > most):
        yield Candidate(f"a memory limit of {units.human(needed, 'bytes')}", {"host_memory_bytes": needed})


@generates("draft_tensor_parallel")
def _propose_draft_ranks(facts: Facts) -> Iterator[Candidate]:
    """Yield one rank, with which a small draft exchanges nothing, and the ranks of its target."""
    for ranks in dict.fromkeys((1, find_count(facts, "tensor_parallel") or 1)):
        yield Candidate(f"draft tensor parallel {ranks}", {"draft_tensor_parallel": ranks})


@generates("visible_devices")
def _propose_visible_devices(facts: Facts) -> Iterator[Candidate]:
    """Yield the pod's GPUs without the list, else a list of as many as the ranks need."""
    now, gpus = find_count(facts, "visible_devices"), find_count(facts, "gpus_per_pod")
    if not now or not gpus or gpus <= now:
        return
    if facts.role.text("accelerator_resource"):
        title = f"no CUDA_VISIBLE_DEVICES: the container sees the {name_gpus(gpus)} that it requests"
        yield Candidate(title, {"visible_devices": None})
    needed = find_count(facts, "parallel_size")
    if needed and now < needed <= gpus:
        yield Candidate(f"{needed} visible devices", {"visible_devices": needed})
