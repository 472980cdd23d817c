"""The runtime of a notebook or a program on Colab or Kaggle: what its metadata, its output and its paths say."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator

from gpulint.catalog import hardware, tables
from gpulint.pipeline.enrichment.evidence import Evidence
from gpulint.source.documents import Document
from gpulint.source.repository import Repository

PROGRAMS = frozenset({"python", "notebook"})
KERNEL = "kernel-metadata.json"
"""What Kaggle's command line pushes: the program, and the machine on which it runs."""
KERNEL_MAX, TEXT_MAX, OUTPUT_MAX = 20_000, 200_000, 200_000
"""Characters that are read of a kernel's metadata, of a program and of a notebook's output."""
ON_KAGGLE = re.compile(r"[\"']/kaggle/(?:working|input|tmp)\b|\bkaggle_secrets\b")
ON_COLAB = re.compile(r"\bgoogle\.colab\b|[\"']/content/")
NAMED = re.compile(r"(?:^|/)(?:[^/]*[-_])?(?P<platform>kaggle|colab)(?:[-_.][^/]*)?$", re.IGNORECASE)
"""A program whose file is named after the platform."""
DEFAULTS = {"kaggle": ("gpu", "nvidiateslat4"), "colab": ("T4", "L4", "A100")}
"""The runtimes between which a user of a platform chooses."""


def find(document: Document, repository: Repository) -> Iterator[Evidence]:
    """Yield the accelerator of a runtime: as stated, else as a run printed it, else those of the platform."""
    if document.format not in PROGRAMS:
        return
    stated = [*_read_metadata(document), *_read_kernel(document, repository)]
    yield from (stated or [*_read_output(document)] or [*_read_paths(document)])[:1]


def _read_metadata(document: Document) -> Iterator[Evidence]:
    """Yield what the metadata of a notebook states: Kaggle's accelerator precedes Colab's, which Kaggle keeps."""
    if document.format != "notebook":
        return
    kaggle, colab = document.get(("metadata", "kaggle")), document.get(("metadata", "colab"))
    if isinstance(kaggle, dict) and kaggle.get("isGpuEnabled", True):
        yield from _look_up("kaggle", str(kaggle.get("accelerator")).lower(), "metadata.kaggle.accelerator")
    if not isinstance(colab, dict) or ON_KAGGLE.search(document.text[:TEXT_MAX].replace("\\", "")):
        return
    if kind := colab.get("gpuType"):
        yield from _look_up("colab", str(kind), "metadata.colab.gpuType")
    elif str(document.get(("metadata", "accelerator"))).lower() == "gpu":
        yield from _look_up("colab", "", "metadata.accelerator")


def _read_kernel(document: Document, repository: Repository) -> Iterator[Evidence]:
    """Yield the machine that the metadata beside a program states for Kaggle."""
    folder, name = posixpath.split(document.path)
    path = posixpath.join(folder, KERNEL)
    content = repository.read(path) if repository.exists(path) else None
    try:
        found = json.loads(content[:KERNEL_MAX]) if content else None
    except (ValueError, RecursionError):
        return
    if not isinstance(found, dict) or str(found.get("enable_gpu")).lower() != "true" or found.get("code_file") != name:
        return
    shape = found.get("machine_shape") or found.get("accelerator") or "gpu"
    yield from _look_up("kaggle", str(shape).lower(), f"machine_shape in {path}")


def _read_output(document: Document) -> Iterator[Evidence]:
    """Yield the accelerator whose name the kept output of a notebook prints, if it prints one only."""
    cells = document.get(("cells",)) if document.format == "notebook" else None
    names, left = set(), OUTPUT_MAX
    for cell in cells if isinstance(cells, list) else ():
        outputs = cell.get("outputs") if isinstance(cell, dict) else None
        for output in outputs if isinstance(outputs, list) else ():
            text = _join(output)[:left]
            left -= len(text)
            names |= set(hardware.list_printed(text))
    if len(names) == 1 and all(names):
        yield Evidence(tuple(names), "the output of the notebook")


def _join(output: object) -> str:
    """Return the plain text of one output."""
    if not isinstance(output, dict):
        return ""
    data = output.get("data")
    text = output.get("text") or (data.get("text/plain") if isinstance(data, dict) else None) or ""
    return "".join(map(str, text)) if isinstance(text, list) else str(text)


def _read_paths(document: Document) -> Iterator[Evidence]:
    """Yield the runtimes of the one platform whose paths a program names."""
    text = document.text[:TEXT_MAX].replace("\\", "")
    found = {"kaggle": ON_KAGGLE.search(text), "colab": ON_COLAB.search(text)}
    named = {platform: match[0].strip("\"'") for platform, match in found.items() if match}
    if file := NAMED.search(document.path):
        named = {file["platform"].lower(): f"the file name {posixpath.basename(document.path)}", **named}
    if len(named) == 1:
        (platform, words), *_ = named.items()
        rows = [row for name in DEFAULTS[platform] for row in _list_rows(platform, name)]
        products = tuple(dict.fromkeys(row["accelerator"] for row in rows))
        yield Evidence(products, f"{platform.capitalize()} ({words})")


def _look_up(platform: str, name: str, place: str) -> Iterator[Evidence]:
    rows = _list_rows(platform, name)
    if rows:
        products = tuple(row["accelerator"] for row in rows)
        yield Evidence(products, f"{place} {name}".strip(), int(rows[0]["gpus"]))


def _list_rows(platform: str, name: str) -> list[tables.Row]:
    return [row for row in tables.rows("notebook_runtimes") if (row["platform"], row["name"]) == (platform, name)]
