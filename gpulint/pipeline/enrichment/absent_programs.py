"""Absent programs: what a script starts at a path at which the repository has nothing, although it has that file elsewhere."""

from __future__ import annotations

import itertools
import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from gpulint.adapters.programs import python_program
from gpulint.source.documents import Document
from gpulint.source.repository import Repository
from gpulint.workload import Field, Role, Workload

PATH = re.compile(r"/*+[\w.-]++(?:/++[\w.-]++)++")
ELSEWHERE = re.compile(
    r"\b(?:cd|pushd|chdir|workdir|clone|ln|cp|mv|rsync|wget|curl|docker|podman|enroot|singularity|apptainer|container-image)\b"
    r"|(?<![\w-])-D\b"
)
"""Words of scripts that start a program in another folder, bring it from elsewhere, or start it in a container."""
SIBLINGS_MAX = 40


def merge_absent(workload: Workload, repository: Repository) -> Workload:
    """Return a workload of a script with the program that is not where it is started."""
    if workload.adapter != "scripts" or ELSEWHERE.search(workload.document.text):
        return workload
    roles = tuple(role.having(**_find_absent(role, workload.document, repository)) for role in workload.roles)
    return workload if roles == workload.roles else replace(workload, roles=roles)


def _find_absent(role: Role, document: Document, repository: Repository) -> dict[str, Field]:
    """Return the program of a role that is absent where it is started, and the place where the repository has it."""
    started = python_program.find(role.command.words) if role.command is not None else None
    path = started.word.text if started is not None and not started.is_module else None
    if started is None or path is None or not PATH.fullmatch(path):
        return {}
    found = repository.find_programs(posixpath.basename(path), document.path)
    known = path if not found or path.startswith("/") else _strip(path)
    if not found or any(_ends_alike(known, other) for other in found) or _exists(path, document, repository):
        return {}
    if not (_is_rooted(path, document, repository) if path.startswith("/") else _is_inside(path, document, repository)):
        return {}
    return {
        "absent_program": Field(path, (started.word.origin,)),
        "present_program": Field(_choose(found, posixpath.dirname(document.path)), source="a file of the repository"),
    }


def _strip(path: str) -> str:
    parts = posixpath.normpath(path).split("/")
    return "/".join(part for part in parts if part != "..")


def _ends_alike(path: str, other: str) -> bool:
    """Return whether two paths may be the same file, seen from different folders."""
    return f"/{path}".endswith(f"/{other}") or f"/{other}".endswith(f"/{path}")


def _list_folders(document: Document) -> Iterator[str]:
    """Yield the folder of a script and those above."""
    folder = posixpath.dirname(document.path)
    while folder not in ("", "/"):
        yield folder
        folder = posixpath.dirname(folder)
    yield folder


def _exists(path: str, document: Document, repository: Repository) -> bool:
    return any(repository.exists(posixpath.normpath(posixpath.join(at, path))) for at in _list_folders(document))


def _is_inside(path: str, document: Document, repository: Repository) -> bool:
    """Return whether a relative path starts in the repository: at a folder that it has, or below one above the script."""
    joined = posixpath.normpath(posixpath.join(posixpath.dirname(document.path), path))
    if path.startswith("../"):
        return not joined.startswith("..")
    first = _strip(path).split("/")[0]
    return any(repository.exists(posixpath.join(at, first)) for at in _list_folders(document))


def _is_rooted(path: str, document: Document, repository: Repository) -> bool:
    """Return whether the folder of an absolute path is the repository's: scripts beside this one find programs below it."""
    below = re.compile(rf"{re.escape(posixpath.dirname(path))}/((?:[\w.-]++/)++([\w.-]++))")
    for source in itertools.islice(repository.read_siblings(document.path), SIBLINGS_MAX):
        for match in below.finditer(source.content.decode(errors="replace")):
            found = repository.find_programs(match[2], document.path)
            if any(_ends_alike(match[1], other) for other in found):
                return True
    return False


def _choose(found: Sequence[str], folder: str) -> str:
    """Return the path, seen from a script's folder, of the file that shares most folders with it."""
    paths = [posixpath.relpath(path, folder or ".") for path in found]
    return min(paths, key=lambda path: path.count("/"))
