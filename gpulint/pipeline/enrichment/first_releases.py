"""First releases: a library that is older than the first of its releases that loads the checkpoint."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import replace

from gpulint.catalog import tables
from gpulint.source.documents import Document, Node
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Role, Workload

BUILT_ON = {"vllm": "vllm", "transformers": "transformers", "trl": "transformers"}
"""The library that reads the checkpoint, by engine."""
REQUIREMENTS = ("requirements.txt", "pyproject.toml")
PIN = re.compile(
    r"(?im)^[ \t]*[\"']?transformers(?:\[[\w,-]*+\])?[ \t]*==[ \t]*(?P<release>\d{1,4}(?:\.\d{1,4}){1,3})(?![\w.*])"
)
INSTALLED = "the release that {} pins is assumed to be installed"
BYTES_MAX = 200_000
FOLDERS_MAX = 6


def merge_first(workload: Workload, repository: Repository) -> Workload:
    """Return a workload with the first release that loads a checkpoint, if the one in use is older."""
    roles = tuple(role.having(**_find_older(role, workload, repository)) for role in workload.roles)
    return workload if roles == workload.roles else replace(workload, roles=roles)


def _find_older(role: Role, workload: Workload, repository: Repository) -> dict[str, Field]:
    library, checkpoint = BUILT_ON.get(role.text("engine")), role.text("checkpoint")
    if library is None or not checkpoint:
        return {}
    rows = [
        row for row in tables.rows("first_releases") if _fits(row["library"], row["checkpoint"], library, checkpoint)
    ]
    if not rows:
        return {}
    used = role.fields.get("engine_version") if library == "vllm" else _find_pin(role, workload, repository)
    first = max(rows, key=lambda row: tables.release(row["release"]) or ())
    release, least = tables.release(str(used.value)) if used is not None else None, tables.release(first["release"])
    if used is None or release is None or least is None or release >= least[: len(release)]:
        return {}
    assumption = used.assumption or role.fields["checkpoint"].assumption
    return {
        "too_old_release": replace(used, value=f"{library} {used.value}", assumption=assumption),
        "first_release": Field(first["release"], source=first["source"]),
        "newer_checkpoint": replace(role.fields["checkpoint"], value=checkpoint),
    }


def _fits(library: str, prefix: str, used: str, checkpoint: str) -> bool:
    return library == used and checkpoint.startswith(prefix)


def _find_pin(role: Role, workload: Workload, repository: Repository) -> Field | None:
    """Return the pinned release of Transformers that is nearest to the program."""
    origins = role.fields["checkpoint"].origins
    for folder in _list_folders(origins[0].document.path if origins else workload.document.path):
        for name in REQUIREMENTS:
            path = posixpath.join(folder, name)
            content = repository.read(path)
            found = {match["release"]: match for match in PIN.finditer(_decode(content))} if content else {}
            if len(found) == 1:
                ((release, match),) = found.items()
                text = match.string
                document = Document(path, 0, text, Node("scalar", 0, len(text), text), "text", text)
                return Field(release, (Origin(document, (), match.span("release")),), assumption=INSTALLED.format(name))
            if content and "transformers" in _decode(content):
                return None
    return None


def _decode(content: bytes) -> str:
    return content[:BYTES_MAX].decode("utf-8", "replace")


def _list_folders(path: str) -> Iterator[str]:
    folder = posixpath.dirname(path)
    for _ in range(FOLDERS_MAX):
        yield folder
        if folder == posixpath.dirname(folder):
            return
        folder = posixpath.dirname(folder)
