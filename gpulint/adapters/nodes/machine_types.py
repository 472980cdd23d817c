"""Machines of the clouds: which cards a machine type holds or is given, and which series hold none."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import replace

from gpulint.catalog import hardware
from gpulint.catalog import tables as catalog
from gpulint.workload import Field, Unknown

AWS_TYPE = re.compile(r"[a-z]+\d[\w-]*\.[\w-]+")
AWS_ACCELERATED = re.compile(r"(?:g|gr|p|inf|trn|dl|vt|f)\d")
"""docs.aws.amazon.com/ec2/latest/instancetypes/ac.html: the families of accelerated computing."""
AZURE_CPU = re.compile(r"(?i)standard_[abdefhlm]c?\w*_?")
"""learn.microsoft.com/azure/virtual-machines/sizes/overview: GPUs are those of the N family; NP holds FPGAs."""
NO_CARD = Field(None, source="a machine without GPUs")


def held(machine: Field | None, guest: Field | None, count: Field | None, cloud: str) -> tuple[Field, Field | None]:
    """The card of a machine and how many there are: those attached to it, else those of its type."""
    if guest is not None:
        return _attached(guest), count or Field(Unknown("the count of the attached GPUs is not stated"), guest.origins)
    if machine is None:
        return Field(Unknown("the machine type is not stated")), None
    if isinstance(machine.value, Unknown):
        return Field(machine.value, machine.origins), None
    node = of_type(str(machine.value), cloud)
    if node is not None:
        return Field(node.accelerator or None, machine.origins), Field(node.node_gpus, machine.origins)
    if has_gpus(str(machine.value), cloud) is False:
        return replace(NO_CARD, origins=machine.origins), Field(0, machine.origins)
    return Field(Unknown(f"the catalog has no machine type {machine.value}"), machine.origins), None


def _attached(guest: Field) -> Field:
    if isinstance(guest.value, Unknown):
        return guest
    named = str(guest.value).removesuffix("-vws")
    product = hardware.labels().get(("cloud.google.com/gke-accelerator", named))
    return Field(product or Unknown(f"the catalog has no accelerator {guest.value}"), guest.origins)


def of_type(name: str, cloud: str) -> hardware.Node | None:
    """The machine type of that name; Azure's names are the same in either case."""
    return hardware.node(name) or (_azure().get(name.lower()) if cloud == "azure" else None)


def has_gpus(machine: str, cloud: str) -> bool | None:
    """Whether a machine type that the catalog lacks holds GPUs, by its series; None where that is not known."""
    if cloud == "gcp":
        told = series(machine)
        return None if told is None else told == "built-in"
    if cloud == "aws" and AWS_TYPE.fullmatch(machine) and not AWS_ACCELERATED.match(machine):
        return False
    if cloud == "azure" and AZURE_CPU.match(machine):
        return False
    return None


def series(machine: str) -> str | None:
    """How a machine series of Google's has GPUs: `built-in`, `attached` or `none`; None of a series that is not listed."""
    return _series().get(machine.partition("-")[0])


@functools.cache
def _series() -> Mapping[str, str]:
    return {row["series"]: row["gpus"] for row in catalog.rows("machine_series") if row["cloud"] == "gcp"}


@functools.cache
def _azure() -> Mapping[str, hardware.Node]:
    return {node.instance_type.lower(): node for node in hardware.nodes() if node.cloud == "azure"}
