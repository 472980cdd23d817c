"""Own variables: names that no library reads, but a program of the repository does."""

from __future__ import annotations

import re
from dataclasses import replace

from gpulint.source.repository import Repository
from gpulint.workload import Role, Workload, gather, list_occurrences

UNREAD = {
    "misspelt_variable": ("misspelt_variable", "meant_variable"),
    "unread_variable": ("unread_variable", "unread_variable_library", "unread_variable_instead"),
}
"""The facts about a variable that no library reads, by the one that names it."""
PROGRAMS = (
    r"(?i).*\.(?:py|ipynb|sh|bash|go|rs|cc?|cpp|h|hpp|cu|js|ts|java|rb|pl|lua)|.*Dockerfile.*|.*Makefile|.*entrypoint.*"
)
PROGRAMS_MAX = 400
"""Maximum of programs that are searched."""
PROGRAM_BYTES_MAX = 400_000


def leave_out_own(workload: Workload, repository: Repository) -> Workload:
    """Return a workload without the variables that a program of the repository reads by their name."""
    if not any(name in role.fields for role in workload.roles for name in UNREAD):
        return workload
    roles = tuple(_leave_out(role, workload.document.path, repository) for role in workload.roles)
    return replace(workload, roles=roles)


def _leave_out(role: Role, near: str, repository: Repository) -> Role:
    for name, about in UNREAD.items():
        if name not in role.fields:
            continue
        first = {fact: role.fields[fact] for fact in about if fact in role.fields}
        first[name] = replace(first[name], further=())
        every = (first, *list_occurrences(role.fields, name))
        kept = gather(found for found in every if not _is_read(str(found[name].value), near, repository))
        others = {fact: field for fact, field in role.fields.items() if fact not in about}
        role = replace(role, fields={**others, **kept})
    return role


def _is_read(variable: str, near: str, repository: Repository) -> bool:
    """Return whether a program of the repository reads a variable: as `$NAME`, or as a word that it does not assign."""
    word = re.escape(variable)
    reads = re.compile(rf"\$\{{?{word}\b|(?<![\w$]){word}\b(?![\"']?\]?\s*=(?!=))(?!=)".encode())
    for path in repository.find_named(PROGRAMS, near)[:PROGRAMS_MAX]:
        content = (repository.read(path) or b"")[:PROGRAM_BYTES_MAX] if path != near else b""
        lines = content.splitlines() if variable.encode() in content else ()
        if any(_is_code(line) and reads.search(line) for line in lines):
            return True
    return False


def _is_code(line: bytes) -> bool:
    return not line.lstrip().startswith((b"#", b"//"))
