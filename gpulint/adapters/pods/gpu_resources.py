"""Accelerator resources: the names under which nodes offer GPUs, and the GPU model they mean.

The device plugin lets a cluster rename what it offers: `resources.gpus[].name`,
NVIDIA/k8s-device-plugin v0.20.0 api/config/v1/resources.go.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from gpulint.catalog import hardware, resource_names
from gpulint.source.documents import Document
from gpulint.workload import Field, Origin, Unknown

RENAMED = (
    r"nvidia\.com/(?!.*-\d+[abcqABCQ]$)"
    r"(?P<product>(?i:gpu-)?(?i:(?:tesla|quadro|geforce|titan|rtx|gtx)(?:[^\W\d]|-)*+\d[\w-]*+|"
    r"(?:[abhlptv]|gh|gb)\d[\w-]*+))"
    r"(?:\.shared)?"
)
"""Names that contain a GPU model, as those of the National Research Platform do.

The name of a virtual GPU ends in its profile (A100-10C) and is not one of them.
"""
GPU = re.compile(f"{resource_names.pattern('gpus', 'slices')}|{RENAMED}")
SLICE = resource_names.slice_prefix()
MIG = re.compile(rf"{re.escape(SLICE)}(?P<profile>\w++\.\w++)(?P<more>[\w.]*)")


def fields(name: str, origins: Sequence[Origin]) -> dict[str, Field]:
    """Return what a resource's name states: a GPU model, a MIG slice, or time-slicing."""
    at = tuple(origin._replace(key=True) for origin in origins)
    stated: dict[str, Field] = {}
    if renamed := re.fullmatch(RENAMED, name):
        listed = hardware.labels().get(("resource", f"nvidia.com/{renamed['product']}"))
        decided = Unknown(f"the accelerator depends on the nodes that offer {name}", "queue or partition")
        stated["accelerator"] = Field(listed or decided, at)
    if mig := MIG.fullmatch(name):
        stated["mig_profile"] = Field(mig["profile"], at)
    elif name.startswith(SLICE):
        stated["accelerator"] = Field(
            Unknown(f"the cluster decides which MIG slice {name} is", "queue or partition"), at
        )
    if name.endswith(".shared"):
        stated["sharing"] = Field("time-slicing", at)
        stated["gpus_per_pod"] = Field(Unknown("the count is of GPU shares, not of whole GPUs"), tuple(origins))
    return stated


def find_uncounted(
    document: Document, resources: Mapping[str, Sequence[Origin]], stated: Mapping[str, Field]
) -> dict[str, Field]:
    """Return a resource that is listed without a count beside a program that starts ranks on GPUs.

    The API server reads an empty quantity as 0 (apimachinery, resource.Quantity.UnmarshalJSON).
    """
    for name, origins in resources.items():
        ranks = _count_ranks(stated)
        if ranks and all(document.get(origin.path) is None for origin in origins):
            return {"uncounted_resource": Field(name, tuple(origins)), "uncounted_ranks": Field(ranks)}
    return {}


def _count_ranks(stated: Mapping[str, Field]) -> int:
    """Return the ranks that a command states for its own node; 0 if it states none."""
    counts = [stated[name].value for name in ("tensor_parallel", "pipeline_parallel") if name in stated]
    if "processes_per_pod" in stated:
        counts = [stated["processes_per_pod"].value]
    whole = [count for count in counts if isinstance(count, int) and not isinstance(count, bool)]
    return math.prod(whole) if whole and len(whole) == len(counts) else 0


def choose_accelerator(asked: Mapping[str, Field], placed: Mapping[str, Field]) -> dict[str, Field]:
    """Return the accelerator where a resource name and node labels may both state it.

    A stated GPU model takes precedence over an unresolved one.
    """
    stated = [given["accelerator"] for given in (placed, asked) if "accelerator" in given]
    name = asked.get("accelerator_resource")
    if name and str(name.value).startswith(SLICE) and "mig_profile" not in {**asked, **placed}:
        stated = stated[-1:]
    resolved = (field for field in stated if not isinstance(field.value, Unknown))
    return {"accelerator": next(resolved, stated[0])} if stated else {}
