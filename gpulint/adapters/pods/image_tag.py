"""The tag of an image, and whether it moves from release to release."""

from __future__ import annotations

import re

from gpulint.engines import image_tags
from gpulint.source.documents import Document, Path
from gpulint.workload import Field, Origin

MOVED = frozenset({"latest", "nightly", "main", "master", "stable", "dev", "develop", "edge", "head"})
BUILDS = frozenset({"cpu", "gpu", "cuda", "rocm", "xpu", "hpu", "slim", "runtime", "server"})
"""Words that may accompany a moving tag: latest-cuda; nightly-2025-08-25 is a single build."""
OF_A_RELEASE = re.compile(r"[-_.]\d+[-_.]\d+[-_.]")
"""A repository for one release: huggingface-text-generation-inference-cu121.2-2.ubuntu2204."""


def fields(document: Document, path: Path) -> dict[str, Field]:
    """Return the image as a field if its tag moves; another tool may fill in a missing tag."""
    image = document.get(path)
    if not isinstance(image, str) or not moves(image):
        return {}
    return {"moving_image": Field(image, (Origin(document, path),))}


def moves(image: str, *, complete: bool = False) -> bool:
    """Return whether a tag moves; of a complete name, also if there is none, as the registry then takes `latest`.

    >>> moves("vllm/vllm-openai:latest-cu129"), moves("vllm/vllm-openai:nightly-2025-08-25")
    (True, False)
    >>> moves("ollama/ollama"), moves("ollama/ollama", complete=True)
    (False, True)
    """
    if "@" in image or "$" in image:
        return False
    repository, tag = image_tags.split_image(image)
    if OF_A_RELEASE.search(repository.rpartition("/")[2]):
        return False
    words = set(re.split(r"[-_.]+", image_tags.PLATFORM.sub("", tag).strip("-_.")))
    return (complete and not tag) or bool(words & MOVED and not words - MOVED - BUILDS)
