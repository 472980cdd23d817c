"""Builds: the names of files that build an image, which are read as texts with `#` comments."""

from __future__ import annotations

import re

NAME = r"(?:docker|container)file[\w.-]*|[\w.-]+\.(?:docker|container)file"
"""Names in lower case: `Dockerfile`, `Dockerfile.gpu`, `Containerfile-dev`, `DockerfileOllama` and `chat.dockerfile`."""
OTHER_FILES = frozenset(
    {
        *("dockerignore", "containerignore", "lock", "bak", "orig", "rej", "log", "patch", "diff"),
        *("md", "txt", "rst", "html", "pdf", "png", "svg", "jpg", "jpeg", "gif", "webp"),
    }
)
"""Suffixes that make another file of such a name."""


def is_build(name: str) -> bool:
    """Return whether a file name, without its folder, is one of a Dockerfile."""
    lowered = name.lower()
    if "file" not in lowered or not re.fullmatch(NAME, lowered):
        return False
    return lowered.rpartition(".")[2] not in OTHER_FILES
