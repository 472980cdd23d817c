"""Machines of the clouds: which GPUs a machine type has or can be given, and which series have none."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import replace

from gpulint.catalog import hardware, tables
from gpulint.workload import Field, Unknown

AWS_TYPE = re.compile(r"[a-z]+\d[\w-]*\.[\w-]+")
AWS_ACCELERATED = re.compile(r"(?:g|gr|p|inf|trn|dl|vt|f)\d")
"""docs.aws.amazon.com/ec2/latest/instancetypes/ac.html: the families of accelerated computing."""
AZURE_CPU = re.compile(r"(?i)standard_[abdefhlm]c?\w*_?")
"""learn.microsoft.com/azure/virtual-machines/sizes/overview: GPUs are those of the N family; NP holds FPGAs."""
NO_ACCELERATOR = Field(None, source="a machine without GPUs")


def find_accelerator(
    machine: Field | None, guest: Field | None, count: Field | None, cloud: str
) -> tuple[Field, Field | None]:
    """Return a machine's accelerator and count: the attached ones, or else those of its type."""
    if guest is not None:
        return _resolve_guest(guest), count or Field(
            Unknown("the count of the attached GPUs is not stated"), guest.origins
        )
    if machine is None:
        return Field(Unknown("the machine type is not stated")), None
    if isinstance(machine.value, Unknown):
        return Field(machine.value, machine.origins), None
    node = find_machine_type(str(machine.value), cloud)
    if node is not None:
        return Field(node.accelerator or None, machine.origins), Field(node.node_gpus, machine.origins)
    if has_gpus(str(machine.value), cloud) is False:
        return replace(NO_ACCELERATOR, origins=machine.origins), Field(0, machine.origins)
    return Field(Unknown(f"the catalog has no machine type {machine.value}"), machine.origins), None


def _resolve_guest(guest: Field) -> Field:
    if isinstance(guest.value, Unknown):
        return guest
    named = str(guest.value).removesuffix("-vws")
    product = hardware.labels().get(("cloud.google.com/gke-accelerator", named))
    return Field(product or Unknown(f"the catalog has no accelerator {guest.value}"), guest.origins)


def find_machine_type(name: str, cloud: str) -> hardware.Node | None:
    """Return the machine type of that name. Azure's names are case-insensitive."""
    return hardware.node(name) or (_load_azure_types().get(name.lower()) if cloud == "azure" else None)


def mentions_any(text: str) -> bool:
    """Return whether a machine type of the catalog occurs in a text."""
    return not _load_names().isdisjoint(re.findall(r"[\w.-]+", text.lower()))


@functools.cache
def _load_names() -> frozenset[str]:
    return frozenset(node.instance_type.lower() for node in hardware.list_nodes())


def has_gpus(machine: str, cloud: str) -> bool | None:
    """Return whether the series of an uncatalogued machine type has GPUs; None if that is unknown."""
    if cloud == "gcp":
        gpus = series(machine)
        return None if gpus is None else gpus == "built-in"
    if cloud == "aws" and AWS_TYPE.fullmatch(machine) and not AWS_ACCELERATED.match(machine):
        return False
    if cloud == "azure" and AZURE_CPU.match(machine):
        return False
    return None


def series(machine: str) -> str | None:
    """Return how a Google series has GPUs: `built-in`, `attached` or `none`; None if it is not
    listed.
    """
    return _load_series().get(machine.partition("-")[0])


@functools.cache
def _load_series() -> Mapping[str, str]:
    return {row["series"]: row["gpus"] for row in tables.rows("machine_series") if row["cloud"] == "gcp"}


@functools.cache
def _load_azure_types() -> Mapping[str, hardware.Node]:
    return {node.instance_type.lower(): node for node in hardware.list_nodes() if node.cloud == "azure"}
