"""Names that libraries give to networks: `large-v3` of Whisper, `yolov8n.pt`, `vit_b_16`, and the checkpoint of each."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from gpulint.catalog import architecture, tables

TAG = "."
"""What separates a network of timm from the tag of its weights."""


def find(library: str, name: str) -> str | None:
    """Return the checkpoint that a library loads by a name; None if the table does not list it.

    >>> find("openai-whisper", "turbo"), find("openai-whisper", "my-model")
    ('openai/whisper-large-v3-turbo', None)
    >>> find("timm", "resnet50.a1_in1k")
    'timm/resnet50'
    """
    known = _load().get(library, {})
    return known.get(name) or (known.get(name.partition(TAG)[0]) if library == "timm" else None)


@functools.cache
def find_largest(library: str) -> tuple[str, int]:
    """Return the largest network to which a library gives a name, and its parameters.

    >>> find_largest("openai-whisper")
    ('openai/whisper-large-v3', 1543490560)
    """
    found = ((architecture.resolve(name).architecture, name) for name in _load()[library].values())
    return max(((name, shape.parameters or 0) for shape, name in found if shape is not None), key=lambda one: one[1])


@functools.cache
def _load() -> Mapping[str, Mapping[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for row in tables.rows("network_names"):
        found.setdefault(row["library"], {})[row["name"]] = row["checkpoint"]
    return found
