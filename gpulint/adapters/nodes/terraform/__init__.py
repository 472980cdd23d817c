"""Terraform: the files that create clusters.

They declare no workload; workloads use their node pools.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from gpulint.adapters.claim import Claim
from gpulint.source.documents import Document
from gpulint.source.repository import Repository
from gpulint.workload import Workload

MENTIONS = ("=", "{")
TRIGGERS = ()
READS = ("hcl",)
CLAIMS = ("shape",)


def claims(document: Document) -> Claim:
    return Claim.SHAPE.where(document.format == "hcl")


def kind(document: Document) -> str:
    return "Terraform variables" if ".tfvars" in posixpath.basename(document.path) else "Terraform"


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    """Yield nothing: the files describe a cluster."""
    yield from ()
