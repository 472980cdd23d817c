"""Open machine: what a file leaves open that states a server, and not the machine that runs it."""

from __future__ import annotations

from gpulint.workload import Field, Origin, Unknown

MACHINE = "any host"


def build(origin: Origin, subject: str) -> dict[str, Field]:
    """Return the fields of one replica on a machine that nothing states; `subject` is what the machine runs."""
    gpus = Field(Unknown(f"the GPU count depends on the machine that runs {subject}", MACHINE), (origin,))
    accelerator = Unknown(f"the accelerator depends on the machine that runs {subject}", MACHINE)
    return {
        "gpus_per_pod": gpus,
        "gpus_per_replica": gpus,
        "pods_per_replica": Field(1, source="one machine for each replica"),
        "replicas": Field(1, source="one replica"),
        "accelerator": Field(accelerator, (origin,)),
    }
