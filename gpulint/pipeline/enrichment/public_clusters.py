"""Public clusters: the accelerator of a partition, a QOS or a path that only one well-known cluster has."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator

from gpulint.catalog import tables
from gpulint.pipeline.enrichment.evidence import Evidence
from gpulint.source.documents import Document
from gpulint.workload import Role

TEXT_MAX = 20_000
"""Characters of a job script in which a path or the name of a cluster is looked for."""
REQUESTED = {"partition": "partition", "qos": "QOS", "node_features": "node features"}


def find(role: Role, document: Document) -> Iterator[Evidence]:
    """Yield the accelerator of the one cluster whose partitions, QOS, features and paths a job names."""
    if document.format != "shell":
        return
    text = f"{document.path}\n{document.text[:TEXT_MAX]}".lower()
    fitting = [row for row in tables.rows("public_clusters") if _fits(row, role, text)]
    if len({row["accelerator"] for row in fitting}) == 1:
        row = fitting[0]
        named = [f"{words} {role.text(name)}" for name, words in REQUESTED.items() if row[name]] or [row["text"]]
        yield Evidence((row["accelerator"],), f"{' and '.join(named)} of {row['cluster']}")


def _fits(row: tables.Row, role: Role, text: str) -> bool:
    asked = [name for name in REQUESTED if row[name]]
    if not all(fnmatch.fnmatchcase(role.text(name), row[name]) for name in asked):
        return False
    return row["text"] in text
