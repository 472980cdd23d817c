"""Entry scripts: whether an image starts a script of the repository, and is a workload by itself or by another file."""

from __future__ import annotations

import posixpath
import re

from gpulint.adapters.images import declared, dockerfiles, join, layers
from gpulint.adapters.images.layers import Layer
from gpulint.source.repository import Repository
from gpulint.workload import Build


def runs_elsewhere(path: str, repository: Repository) -> bool:
    """Return whether an image starts a script, and a compose file builds it, another file names it, or it is a workload."""
    name = posixpath.basename(path).encode()
    for dockerfile in join.list_dockerfiles(path, repository):
        content = repository.read(dockerfile)
        layer = layers.read(Build(dockerfile), repository) if content is not None and name in content else None
        if layer is None or not _starts(layer, path, repository):
            continue
        if _is_run(dockerfile, path, repository) or dockerfiles.serves(dockerfile, repository):
            return True
    return False


def _starts(layer: Layer, path: str, repository: Repository) -> bool:
    """Return whether the entry point or the command of an image is a script."""
    for start in (layer.image.entrypoint, layer.image.command):
        words = [*(start.words[:2] or start.script.split()[:3])] if start is not None else []
        if any(layers.find_file((layer,), word, layer.image.folder, repository) == path for word in words):
            return True
    return False


def _is_run(dockerfile: str, path: str, repository: Repository) -> bool:
    """Return whether a compose file builds a Dockerfile, or a file names an image that it builds."""
    names = set(join.list_names(dockerfile)) - {"", "docker", "."}
    for one in join.list_declared(path, repository):
        if declared.resolve(one, (dockerfile,)) is not None:
            if not one.image:
                return True
            names.add(join.read_name(one.image))
    if not any(names):
        return False
    words = "|".join(re.escape(name) for name in sorted(filter(None, names)))
    return repository.search(rf"(?m)^[ \t-]*image[ \t]*[:=][ \t]*\S*?\b(?:{words})\b", path) is not None
