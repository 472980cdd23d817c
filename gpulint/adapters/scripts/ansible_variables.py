"""Variables of Ansible as data: defaults and vars of a role, group_vars, vars of a play, and plain look-ups of them."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping

from gpulint.source.documents import Document
from gpulint.source.recipes.translated import HOLE
from gpulint.source.repository import Repository

FOLDERS_MAX = 4
FILES_MAX = 40
DEPTH_MAX = 5
LOOK_UP = re.compile(
    r"\{\{\s*(?P<name>[A-Za-z_]\w*)(?P<filters>(?:\s*\|\s*(?:int|string|trim|default\([^(){}]{0,200}\)))*)\s*\}\}"
)
"""A variable with filters that gpulint applies; everything else between braces is open."""
TEMPLATE = re.compile(r"\{\{[^{}]*\}\}|\{%[^{}]*%\}|\{\{|\{%")
DEFAULT = re.compile(
    r"default\(\s*+(?P<quote>['\"]?)(?P<value>[^'\"(){}]*+)(?P=quote)\s*+(?:,\s*+true\s*+)?\)", re.IGNORECASE
)


def read(document: Document, repository: Repository, play: Mapping[str, object]) -> dict[str, str]:
    """Return the variables of a file of tasks, the strongest last: Ansible's precedence without inventories."""
    folder = posixpath.dirname(document.path)
    role = posixpath.dirname(folder) if posixpath.basename(folder) in ("tasks", "handlers") else ""
    found: dict[str, str] = {}
    if role:
        found |= _read_file(posixpath.join(role, "defaults/main.yml"), repository)
    found |= _read_groups(folder, repository)
    found |= _list_scalars(play)
    if role:
        found |= _read_file(posixpath.join(role, "vars/main.yml"), repository)
    return found


def fill(text: str, variables: Mapping[str, str], depth: int = 0) -> str:
    """Return a text with its plain look-ups filled in, and holes for all other templates.

    >>> fill("--tp {{ tp | int }} --model {{ model | default('m') }}", {"tp": "2"})
    '--tp 2 --model m'
    """
    filled = LOOK_UP.sub(lambda match: _look_up(match, variables, depth), text)
    return TEMPLATE.sub(HOLE, filled)


def _look_up(match: re.Match[str], variables: Mapping[str, str], depth: int) -> str:
    value = variables.get(match["name"])
    if value is not None:
        return fill(value, variables, depth + 1) if depth < DEPTH_MAX else HOLE
    default = DEFAULT.search(match["filters"])
    return default["value"] if default else HOLE


def _read_groups(folder: str, repository: Repository) -> dict[str, str]:
    """Return the variables of all hosts, and those that only one group sets, of the nearest folder with group_vars."""
    for _ in range(FOLDERS_MAX):
        base = posixpath.join(folder, "group_vars")
        if repository.exists(base):
            files = [path for path in repository.list_files(base) if path.endswith((".yml", ".yaml"))][:FILES_MAX]
            return _merge_groups(base, files, repository)
        if not folder or folder == "/":
            break
        folder = posixpath.dirname(folder)
    return {}


def _merge_groups(base: str, files: list[str], repository: Repository) -> dict[str, str]:
    every: dict[str, str] = {}
    groups: dict[str, list[str]] = {}
    for path in files:
        found = _read_file(path, repository)
        if path.removeprefix(f"{base}/").startswith("all"):
            every |= found
        else:
            for name, value in found.items():
                groups.setdefault(name, []).append(value)
    return every | {name: values[0] for name, values in groups.items() if len(set(values)) == 1}


def _read_file(path: str, repository: Repository) -> dict[str, str]:
    loaded = repository.read_documents(path) if repository.exists(path) else ()
    data = loaded[0].data if len(loaded) == 1 else None
    return dict(_iterate(data)) if isinstance(data, dict) else {}


def _list_scalars(play: Mapping[str, object]) -> dict[str, str]:
    given = play.get("vars")
    return dict(_iterate(given)) if isinstance(given, dict) else {}


def _iterate(data: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    for name, value in data.items():
        if isinstance(value, str | int | float):
            yield str(name), render(value)


def render(value: object) -> str:
    """Return a scalar as Ansible passes it on."""
    return ("true" if value else "false") if isinstance(value, bool) else str(value)
