"""Terraform: the files that make clusters. They hold no workload; what their pools hold others are joined with."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from gpulint.source.documents import Document
from gpulint.source.repository import Repository
from gpulint.workload import Workload

MENTIONS = ("=", "{")
READS = ("hcl",)


def claims(document: Document) -> bool:
    return document.format == "hcl"


def kind(document: Document) -> str:
    return "Terraform variables" if ".tfvars" in posixpath.basename(document.path) else "Terraform"


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    """None: the files say what a cluster is made of."""
    yield from ()
