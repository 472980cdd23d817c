"""The volume that the weights of a container are downloaded to, and its size where the file states it."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping

from gpulint import units
from gpulint.engines import Argument
from gpulint.source.documents import Document, Path
from gpulint.workload import Field, Origin, Unknown

HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")
"""A checkpoint that is downloaded, not a path."""
CACHE_VARIABLES = ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME")
"""huggingface_hub, docs/source/en/package_reference/environment_variables.md, the narrower one first."""
ARGUMENTS = ("--download-dir", "--download_dir", "--huggingface-hub-cache", "--weights-cache-override")
"""Arguments of vLLM, SGLang and TGI that put the weights into another folder."""
MOVING = ("VLLM_USE_MODELSCOPE", "SGLANG_USE_MODELSCOPE", "WEIGHTS_CACHE_OVERRIDE")
"""Variables that do."""
CACHES = {"vllm": "/root/.cache/huggingface", "sglang": "/root/.cache/huggingface", "tgi": "/data"}
"""Where the official images keep downloads: docker/Dockerfile of vLLM and SGLang (root's home), Dockerfile of TGI."""


def size(
    document: Document, spec: Path, path: Path, environment: Mapping[str, Argument], engine: str, checkpoint: str
) -> Field | None:
    """The size of the volume under the container's download cache; None where none is stated."""
    folder = _cache(environment, engine)
    if any(name in environment for name in MOVING) or folder is None or not HUB_ID.fullmatch(checkpoint):
        return None
    mounts = document.get((*path, "volumeMounts"))
    held = [mount for mount in (mounts if isinstance(mounts, list) else ()) if _holds(mount, folder)]
    if not held:
        return None
    nearest = max(held, key=lambda mount: len(str(mount["mountPath"])))
    origin = next(_sizes(document, spec, str(nearest.get("name"))), None)
    return _read(document, origin) if origin else None


def elsewhere(words: Iterable[Argument]) -> bool:
    """Whether a command puts the weights into a folder of its own."""
    return any((word.text or word.flag).startswith(ARGUMENTS) for word in words)


def _cache(environment: Mapping[str, Argument], engine: str) -> str | None:
    """The folder of downloads; None where it is not known."""
    for name in CACHE_VARIABLES:
        if name in environment:
            return environment[name].text
    return CACHES.get(engine)


def _holds(mount: object, folder: str) -> bool:
    at = mount.get("mountPath") if isinstance(mount, dict) else None
    return isinstance(at, str) and at.startswith("/") and f"{posixpath.normpath(folder)}/".startswith(f"{_bare(at)}/")


def _bare(at: str) -> str:
    return "" if posixpath.normpath(at) == "/" else posixpath.normpath(at)


def _sizes(document: Document, spec: Path, name: str) -> Iterator[Origin]:
    """Where the size of a volume stands: an emptyDir's limit, a claim of its own, or a StatefulSet's claim."""
    volumes = document.get((*spec, "volumes"))
    for at, volume in enumerate(volumes if isinstance(volumes, list) else ()):
        if isinstance(volume, dict) and volume.get("name") == name:
            for inner in (("emptyDir", "sizeLimit"), ("ephemeral", "volumeClaimTemplate", *REQUESTED)):
                if document.get((*spec, "volumes", at, *inner)) is not None:
                    yield Origin(document, (*spec, "volumes", at, *inner))
    claims = (*spec[:-2], "volumeClaimTemplates")
    listed = document.get(claims)
    for at, claim in enumerate(listed if isinstance(listed, list) else ()):
        named = claim.get("metadata") if isinstance(claim, dict) else None
        if (
            isinstance(named, dict)
            and named.get("name") == name
            and document.get((*claims, at, *REQUESTED)) is not None
        ):
            yield Origin(document, (*claims, at, *REQUESTED))


REQUESTED = ("spec", "resources", "requests", "storage")


def _read(document: Document, origin: Origin) -> Field:
    value = document.get(origin.path)
    try:
        return Field(units.bytes_of(value), (origin,))  # type: ignore[arg-type]
    except (ValueError, TypeError):
        return Field(Unknown(f"{value} is not a quantity"), (origin,))
