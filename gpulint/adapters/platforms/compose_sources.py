"""Compose sources: files that a service mounts or its image copies, which only a folder above the stated one has."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from gpulint.adapters.platforms import compose_devices, compose_service
from gpulint.adapters.platforms.compose_service import Service, StatedValue
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin

MOUNTED = re.compile(r"\.{1,2}/[\w./@+-]*[\w@+-]")
COPIED = re.compile(r"/?[\w./@+-]*[\w@+-]/?")
OTHER_FOLDER = (
    r"(?m)--project-directory|project_directory|^[ \t]*include:"
    r"|(?:-f|--file)[ =]?[^\s-]\S*\.ya?ml[\"']?[ \t\\]+\n?[ \t]*(?:-f|--file)\b"
)
"""What moves the folder in which relative paths of a compose file start: an option, or a further file before it."""


def find_misplaced(service: Service, repository: Repository) -> dict[str, Field]:
    """Return the first file that a service mounts, and the first that its image copies, which only a folder above has."""
    found = next(_list_mounted(service, repository), {}) | next(_list_copied(service, repository), {})
    if not found or repository.search(OTHER_FOLDER, service.origin.document.path):
        return {}
    return found


def _list_mounted(service: Service, repository: Repository) -> Iterator[dict[str, Field]]:
    for stated in service.items("volumes"):
        source, folder = _read_source(stated), posixpath.dirname(stated.origin.document.path)
        if not MOUNTED.fullmatch(source):
            continue
        present = _find_above(source, folder, repository)
        if present and tuple(repository.list_files(present)) == (present,):
            yield {
                "absent_mount": Field(source, (stated.reference or stated.origin,)),
                "present_mount": Field(posixpath.relpath(present, folder or "."), source="a file of the repository"),
            }


def _read_source(stated: StatedValue) -> str:
    """Return the path of the host that a mount brings in; empty for another mount, or one that Docker refuses without it."""
    if isinstance(stated.value, dict):
        return str(stated.value.get("source") or "") if stated.value.get("type") == "bind" else ""
    source, colon, rest = str(stated.value).partition(":")
    return source if colon and rest.startswith("/") else ""


def _list_copied(service: Service, repository: Repository) -> Iterator[dict[str, Field]]:
    stated, build = compose_service.find_build(service), compose_service.read_build(service, repository)
    if stated is None or build is None or stated.context is None or not _is_plain(service):
        return
    for copy in (*build.image.copies, *(copy for stage in build.image.stages.values() for copy in stage)):
        for source in copy.sources if not copy.stage else ():
            present = _find_above(source.lstrip("/"), stated.context, repository) if COPIED.fullmatch(source) else ""
            if present:
                yield {
                    "absent_copy": Field(source, (_locate_context(service),)),
                    "present_copy": Field(
                        posixpath.relpath(present, stated.context or "."), source="a file of the repository"
                    ),
                    "build_context": Field(_show(service)),
                }


def _is_plain(service: Service) -> bool:
    """Return whether the build takes files from its context alone."""
    build = service.find("build")
    return build is not None and not (isinstance(build.value, dict) and build.value.get("additional_contexts"))


def _locate_context(service: Service) -> Origin:
    inner = service.find("build", "context")
    return compose_devices.locate(service, "build", "context") if inner else compose_devices.locate(service, "build")


def _show(service: Service) -> str:
    stated = service.find("build", "context") or service.find("build")
    return str(stated.value) if stated is not None and isinstance(stated.value, str) else "."


def _find_above(source: str, folder: str, repository: Repository) -> str:
    """Return the path above a folder at which the repository has what the folder lacks; empty if nothing has it."""
    at = posixpath.normpath(posixpath.join(folder, source))
    if at.startswith("..") or repository.exists(at):
        return ""
    while folder not in ("", "/", "."):
        folder = posixpath.dirname(folder)
        path = posixpath.normpath(posixpath.join(folder, source))
        if not path.startswith("..") and repository.exists(path):
            return path
    return ""
