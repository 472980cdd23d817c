"""Programs and images that run no model: they test or show the GPUs, or only hold them."""

from __future__ import annotations

import re

from gpulint.workload import Role

NCCL_TEST = re.compile(
    r"(?:all_reduce|all_gather|alltoall|broadcast|gather|hypercube|reduce|reduce_scatter|scatter|sendrecv)_perf(?:_mpi)?"
)
"""The programs of NVIDIA/nccl-tests."""
TESTS = re.compile(
    r"nvidia-smi|rocm-smi|amd-smi|hl-smi|xpu-smi|clinfo|rocminfo|nvbandwidth|nvidia-bug-report\.sh|gpu[-_]?burn|gpu-fryer"
    r"|vector_?[aA]dd|deviceQuery|bandwidthTest|p2pBandwidthLatencyTest|dcgmi|dcgmproftester\d*"
    r"|ib_(?:write|read|send)_(?:bw|lat)"
)
"""Tools of drivers, samples of CUDA, and the programs of linux-rdma/perftest."""
HOLDS = frozenset({"sleep", "tail", "pause"})
"""Programs that wait for somebody who works in the container."""
IMAGES = re.compile(
    r"(?:^|/)(?:cuda-sample|k8s-samples|cuda-vector-add|agnhost|pause|sleep|gpu-burn|nccl-tests?|nccl-plugin-[\w-]+)"
    r"(?::[\w.-]+)?(?:@\S+)?$"
)


def describe(role: Role) -> str:
    """Return in words what a role does that runs no model; empty if it may run one."""
    if role.text("engine") or role.text("checkpoint"):
        return ""
    program = role.text("program")
    if TESTS.fullmatch(program) or NCCL_TEST.fullmatch(program):
        return f"no model: {program} only tests the GPUs"
    if program in HOLDS:
        return f"no model: {program} only holds the GPUs"
    named = IMAGES.search(role.text("image"))
    return f"no model: the image {named[0].strip('/')} only tests the GPUs" if named else ""
