"""Checkpoints: resolve the architecture of a role's checkpoint from the catalog or the
repository.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from posixpath import dirname, join, normpath

from gpulint.catalog import architecture
from gpulint.catalog.architecture import Resolution, stated
from gpulint.catalog.architecture.model import Architecture
from gpulint.source.repository import Repository
from gpulint.workload import Role

COUNTED = "the layers of the program"
LARGEST = "the largest network of the library"
BUILT = "the configuration in the program"
PARTS_MAX = 12
"""Parts of a path on a machine beyond which no folder of the repository is looked for."""


def resolve(role: Role, path: str, repository: Repository, like: Mapping[str, str] | None) -> Resolution | None:
    """Return the architecture of a role's checkpoint, or of the network that its settings state; None if it has neither."""
    reference = role.text("checkpoint")
    network = find_stated(role)
    if not reference:
        return network
    mounted = None if like and reference in like else _resolve_mounted(reference, repository)
    resolved = mounted or architecture.resolve(reference, lambda name: _read_config(repository, path, name), like)
    if network is not None and (resolved.architecture is None or not resolved.architecture.is_known):
        return network
    if resolved.architecture is not None and (assumed := role.text("format_assumed")):
        return resolved._replace(architecture=replace(resolved.architecture, format_assumed=assumed))
    config = _read_config(repository, path, reference) if resolved.how.startswith("config.json") else None
    if config is None:
        return resolved
    from gpulint.catalog.architecture import index

    return index.apply_files(
        resolved, config, lambda name, length: _read_head(repository, path, reference, name, length)
    )


def find_stated(role: Role) -> Resolution | None:
    """Return the network that the settings of a role state; None if they state none."""
    text = role.text("network")
    if text.startswith("{"):
        return _find_built(text)
    network = stated.parse(text)
    return None if network is None else Resolution(stated.build(network), stated.SOURCE)


def _find_built(text: str) -> Resolution | None:
    """Return the network that a program builds: of a configuration of Transformers, or of counted layers."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return None
    counted = data.get("parameters")
    if isinstance(counted, int):
        name = f"{data.get('name')} ({counted:,} parameters)"
        if data.get("largest"):
            return Resolution(Architecture(name, "", counted, checkpoint_dtype="float32"), LARGEST)
        return Resolution(Architecture(name, "", counted, named_parameters=counted), COUNTED)
    shape = architecture.read_config(f"{data.get('model_type')} configuration", text)
    return Resolution(shape, BUILT) if shape is not None else None


def _resolve_mounted(reference: str, repository: Repository) -> Resolution | None:
    """Return the architecture of a folder of the repository that the end of a path on a machine names.

    Images and mounts put a repository below a folder that it does not state: /workspace/models/own-7b is models/own-7b.
    """
    parts = [part for part in reference.split("/") if part] if reference.startswith("/") else []
    if ".." in parts or len(parts) > PARTS_MAX:
        return None
    for at in range(len(parts)):
        folder = "/".join(parts[at:])
        content = repository.read_at_root(f"{folder}/config.json")
        shape = architecture.read_config(reference, content.decode("utf-8", "replace")) if content else None
        if shape is not None:
            return Resolution(shape, "name", f"{reference} is the folder {folder} of the repository")
    return None


def _read_config(repository: Repository, path: str, reference: str) -> str | None:
    """Return the text of a checkpoint's config.json, next to the file or in the repository."""
    if reference.startswith("/") or "://" in reference:
        return None
    name = join(reference, "config.json")
    content = repository.read(normpath(join(dirname(path), name))) or repository.read_at_root(normpath(name))
    return None if content is None else content.decode("utf-8", "replace")


def _read_head(repository: Repository, path: str, reference: str, name: str, length: int) -> bytes | None:
    """Return the first bytes of a file next to a checkpoint's config.json."""
    near = normpath(join(dirname(path), reference))
    if repository.read(join(near, "config.json")) is not None:
        return repository.head(join(near, name), length)
    content = repository.read_at_root(normpath(join(reference, name)))
    return None if content is None else content[:length]
