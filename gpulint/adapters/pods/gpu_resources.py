"""Accelerator resources: the names under which nodes offer GPUs, and the product that a cluster of its own naming means.

The device plugin lets a cluster rename what it offers: `resources.gpus[].name`, NVIDIA/k8s-device-plugin v0.20.0
api/config/v1/resources.go.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from gpulint.catalog import hardware
from gpulint.workload import Field, Origin, Unknown

RENAMED = (
    r"nvidia\.com/(?!.*-\d+[abcqABCQ]$)"
    r"(?P<product>(?i:gpu-)?(?i:(?:tesla|quadro|geforce|titan|rtx|gtx)[\w-]*\d[\w-]*|(?:[abhlptv]|gh|gb)\d+[\w-]*))"
    r"(?:\.shared)?"
)
"""Names that are those of products, as the National Research Platform's; a virtual GPU's end in its profile (A100-10C)."""
GPU = re.compile(
    r"nvidia\.com/(?:gpu(?:\.shared)?|pgpu|mig-[\w.-]+)|amd\.com/gpu|habana\.ai/gaudi|gpu\.intel\.com/(?:i915|xe)|"
    + RENAMED
)
MIG = re.compile(r"nvidia\.com/mig-(?P<profile>\w+\.\w+)(?P<more>[\w.]*)")
SLICE = "nvidia.com/mig-"


def fields(name: str, origins: Sequence[Origin]) -> dict[str, Field]:
    """What the name of a resource tells of the cards behind it: a product, a slice, or that they are shared."""
    at = tuple(origin._replace(key=True) for origin in origins)
    found: dict[str, Field] = {}
    if product := re.fullmatch(RENAMED, name):
        listed = hardware.labels().get(("resource", f"nvidia.com/{product['product']}"))
        decided = Unknown(f"the nodes that offer {name} decide the card", "queue or partition")
        found["accelerator"] = Field(listed or decided, at)
    if mig := MIG.fullmatch(name):
        found["mig_profile"] = Field(mig["profile"], at)
    elif name.startswith(SLICE):
        found["accelerator"] = Field(Unknown(f"the cluster decides which slice {name} is", "queue or partition"), at)
    if name.endswith(".shared"):
        found["sharing"] = Field("time-slicing", at)
        found["gpus_per_pod"] = Field(Unknown("the count is of shares of cards"), tuple(origins))
    return found


def chosen(asked: Mapping[str, Field], placed: Mapping[str, Field]) -> dict[str, Field]:
    """The accelerator where both a resource's name and node labels may tell it: a product before what leaves it open."""
    stated = [given["accelerator"] for given in (placed, asked) if "accelerator" in given]
    name = asked.get("accelerator_resource")
    if name and str(name.value).startswith(SLICE) and "mig_profile" not in {**asked, **placed}:
        stated = stated[-1:]
    known = (field for field in stated if not isinstance(field.value, Unknown))
    return {"accelerator": next(known, stated[0])} if stated else {}
