"""The volume to which a container downloads its weights, and its size if the file states it."""

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
"""huggingface_hub, docs/source/en/package_reference/environment_variables.md, the narrowest first."""
ARGUMENTS = ("--download-dir", "--download_dir", "--huggingface-hub-cache", "--weights-cache-override")
"""Arguments of vLLM, SGLang and TGI that move the weights to another folder."""
MOVING = ("VLLM_USE_MODELSCOPE", "SGLANG_USE_MODELSCOPE", "WEIGHTS_CACHE_OVERRIDE")
"""Variables that move the weights to another folder."""
CACHES = {"vllm": "/root/.cache/huggingface", "sglang": "/root/.cache/huggingface", "tgi": "/data"}
"""Download folders of the official images: docker/Dockerfile of vLLM and SGLang (root's home),
Dockerfile of TGI.
"""


def size(
    document: Document, spec: Path, path: Path, environment: Mapping[str, Argument], engine: str, checkpoint: str
) -> Field | None:
    """Return the size of the volume of the container's download cache; None if none is stated."""
    folder = _find_cache(environment, engine)
    if any(name in environment for name in MOVING) or folder is None or not HUB_ID.fullmatch(checkpoint):
        return None
    mounts = document.get((*path, "volumeMounts"))
    covering = [mount for mount in (mounts if isinstance(mounts, list) else ()) if _is_mounted_at(mount, folder)]
    if not covering:
        return None
    nearest = max(covering, key=lambda mount: len(str(mount["mountPath"])))
    origin = next(_locate_sizes(document, spec, str(nearest.get("name"))), None)
    return _parse_size(document, origin) if origin else None


def is_moved(words: Iterable[Argument]) -> bool:
    """Return True if a command moves the weights to a folder of its own."""
    return any((word.text or word.flag).startswith(ARGUMENTS) for word in words)


def _find_cache(environment: Mapping[str, Argument], engine: str) -> str | None:
    """Return the download folder; None if it is not known."""
    for name in CACHE_VARIABLES:
        if name in environment:
            return environment[name].text
    return CACHES.get(engine)


def _is_mounted_at(mount: object, folder: str) -> bool:
    at = mount.get("mountPath") if isinstance(mount, dict) else None
    return (
        isinstance(at, str)
        and at.startswith("/")
        and f"{posixpath.normpath(folder)}/".startswith(f"{_strip_volume(at)}/")
    )


def _strip_volume(at: str) -> str:
    return "" if posixpath.normpath(at) == "/" else posixpath.normpath(at)


def _locate_sizes(document: Document, spec: Path, name: str) -> Iterator[Origin]:
    """Yield where a volume's size is stated: an emptyDir's limit, a claim, or a StatefulSet's claim."""
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


def _parse_size(document: Document, origin: Origin) -> Field:
    value = document.get(origin.path)
    try:
        return Field(units.bytes_of(value), (origin,))  # type: ignore[arg-type]
    except (ValueError, TypeError):
        return Field(Unknown(f"{value} is not a quantity"), (origin,))
