"""Console scripts: the functions of a package that the commands which it installs call."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from gpulint.source.repository import Repository

PROJECT = "pyproject.toml"
TABLES = (("project", "scripts"), ("project", "gui-scripts"), ("tool", "poetry", "scripts"))
"""packaging.python.org/specifications/entry-points and python-poetry.org/docs/pyproject."""
TARGET = re.compile(r"(?P<module>[A-Za-z_][\w.]*):(?P<function>\w+)")


def find(path: str, repository: Repository) -> tuple[str, ...]:
    """Return the functions of a module that commands call, by the project file of a folder above it."""
    folder = posixpath.dirname(path)
    while True:
        project = posixpath.join(folder, PROJECT)
        if repository.exists(project):
            targets = dict.fromkeys(_list_targets(project, repository))
            return tuple(function for module, function in targets if _is_module(path, module))
        if not folder or folder == posixpath.dirname(folder):
            return ()
        folder = posixpath.dirname(folder)


def _list_targets(project: str, repository: Repository) -> Iterator[tuple[str, str]]:
    """Yield the modules of a project's commands with the functions that they call."""
    for document in repository.read_documents(project):
        for table in TABLES:
            stated = document.get(table)
            for target in stated.values() if isinstance(stated, dict) else ():
                if found := TARGET.fullmatch(str(target)):
                    yield found["module"], found["function"]


def _is_module(path: str, module: str) -> bool:
    inner = module.replace(".", "/")
    return any(path == end or path.endswith(f"/{end}") for end in (f"{inner}.py", f"{inner}/__init__.py"))
