"""Recipes: the shell commands in Makefiles, justfiles, units of systemd and Podman, Procfiles and supervisord's settings.

Each becomes the text that a shell gets, of which every part keeps its place in the file. Nothing is executed.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator

from gpulint.source.recipes.translated import Builder, Recipe, Translated

__all__ = ["Builder", "Recipe", "Translated", "find_dialect", "is_build", "read"]

NAMES = {
    "makefile": "makefile",
    "gnumakefile": "makefile",
    "justfile": "justfile",
    ".justfile": "justfile",
    "procfile": "procfile",
    "supervisord.conf": "supervisor",
    "supervisor.conf": "supervisor",
}
"""Dialects by complete file name, in lower case."""
SUFFIXES = {"mk": "makefile", "just": "justfile", "service": "unit", "container": "unit"}
VARIANT = re.compile(r"(makefile|procfile)\.\w+")
"""Files beside the one of the plain name, such as Procfile.dev."""
OTHER_FILES = frozenset({"in", "am", "py", "md", "txt", "lock", "j2", "win", "mak"})
"""Suffixes that make another file of such a name: templates of Automake, and text."""
IMAGES = r"(?:docker|container)file[\w.-]*|[\w.-]+\.(?:docker|container)file"
"""Names in lower case of files that build an image, such as `Dockerfile.gpu`, `DockerfileOllama` and `chat.dockerfile`."""
OTHER_IMAGES = frozenset(
    {
        *("dockerignore", "containerignore", "lock", "bak", "orig", "rej", "log", "patch", "diff"),
        *("md", "txt", "rst", "html", "pdf", "png", "svg", "jpg", "jpeg", "gif", "webp"),
    }
)
"""Suffixes that make another file of such a name."""


def find_dialect(path: str) -> str:
    """Return the dialect of a file name; empty if such a file holds no recipes."""
    name = path.rpartition("/")[2].lower()
    stem, dot, suffix = name.rpartition(".")
    if name in NAMES:
        return NAMES[name]
    if (match := VARIANT.fullmatch(name)) and suffix not in OTHER_FILES:
        return NAMES[match[1]]
    return SUFFIXES.get(suffix, "") if dot and stem else ""


def read(path: str, text: str) -> Iterator[Recipe]:
    """Yield the recipes of a file, each with the text that a shell gets."""
    dialect = find_dialect(path)
    if dialect:
        module = importlib.import_module(f"{__name__}.{dialect}")
        yield from module.read(text)


def is_build(name: str) -> bool:
    """Return whether a file name, without its folder, is one of a Dockerfile, which holds no recipes."""
    lowered = name.lower()
    if "file" not in lowered or not re.fullmatch(IMAGES, lowered):
        return False
    return lowered.rpartition(".")[2] not in OTHER_IMAGES
