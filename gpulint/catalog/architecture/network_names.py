"""Names that libraries give to networks: `large-v3` of Whisper, `yolov8n.pt`, `vit_b_16`, and the checkpoint of each."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from gpulint.catalog import tables

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
def _load() -> Mapping[str, Mapping[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for row in tables.rows("network_names"):
        found.setdefault(row["library"], {})[row["name"]] = row["checkpoint"]
    return found
