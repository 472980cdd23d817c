"""Settings programs: the program of the repository that reads a file of training settings, and what it makes of them.

Settings in words of a repository's own mean what the program does with them that takes the path of the file.
"""

from __future__ import annotations

import itertools
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from gpulint import engines
from gpulint.engines import Argument, Reading
from gpulint.pipeline.enrichment import python_programs
from gpulint.source.documents import Document
from gpulint.source.repository import Repository
from gpulint.workload import Command, Field, Origin, Role, Unknown, Workload

FORMATS = frozenset({"own_settings", "hf_trainer"})
"""Formats of settings whose keys programs of one's own use as well."""
ARGUMENT = re.compile(rb"(?:add_argument|option)\(\s*[\"']([\w-]{1,40})[\"'](?:,\s*[\"']([\w-]{1,40})[\"'])?")
OF_SETTINGS = re.compile(r"config|settings|cfg|yaml|recipe")
"""What the name of an argument says that takes a file of settings."""
PROGRAM = r"(?!test_|conftest).*\.py"
FILES_MAX, PROGRAMS_MAX = 100, 6
"""The most files that are looked at, and the most programs that are read, for one file of settings."""
INTERPRETER = "python"


def merge_programs(workload: Workload, repository: Repository) -> Workload:
    """Return the run of a file of settings with what the program makes of them that reads the file."""
    if workload.adapter not in FORMATS or len(workload.roles) != 1 or not _lacks(workload.roles[0]):
        return workload
    (role,) = workload.roles
    readings = list(_list_readings(workload.document, repository))
    agreed = _agree([reading.fields for reading in readings])
    own = {name: field for name, field in agreed.items() if name not in python_programs.COUNTS}
    return replace(workload, roles=(role.having(**own),)) if own else workload


def _lacks(role: Role) -> bool:
    """Return whether the settings do not say in the words of a known trainer what is trained."""
    return not role.text("checkpoint")


def _list_readings(document: Document, repository: Repository) -> Iterator[Reading]:
    """Yield what the programs of the repository train that take the file as an argument and use what it names."""
    from gpulint.adapters.python import reading

    for path, flag in _list_programs(document, repository):
        at = Origin(document, (), (0, 0))
        words = (INTERPRETER, path, *((flag,) if flag.startswith("-") else ()), document.path)
        command = Command(Argument(None, at), tuple(Argument(word, at) for word in words), {}, True, path)
        found = reading.read(command, document.path, repository)
        if found is not None and _trains(found) and _uses(found.fields, document):
            yield found


def _list_programs(document: Document, repository: Repository) -> Iterator[tuple[str, str]]:
    """Yield the nearest programs that take a file of settings, each with the name of the argument."""
    folder = posixpath.dirname(document.path) or "."
    paths = repository.find_named(PROGRAM, document.path)
    near = sorted(paths, key=lambda path: (-len(_share(folder, path)), path.count("/"), path))
    found = ((path, _find_argument(repository.read(path) or b"")) for path in near[:FILES_MAX])
    yield from itertools.islice(((path, name) for path, name in found if name), PROGRAMS_MAX)


def _share(folder: str, path: str) -> str:
    return posixpath.commonpath([folder, posixpath.dirname(path) or "."]) if folder[:1] == path[:1] else ""


def _find_argument(content: bytes) -> str:
    """Return the name of the argument by which a program takes a file of settings; empty if it has none."""
    names = (name.decode() for match in ARGUMENT.finditer(content) for name in match.groups() if name)
    return next((name for name in names if OF_SETTINGS.search(name)), "")


def _trains(reading: Reading) -> bool:
    engine, task = reading.fields.get("engine"), reading.fields.get("task")
    if task is not None and task.value == "training":
        return True
    return engine is not None and engines.find_purpose(str(engine.value)) == "training"


def _uses(fields: Mapping[str, Field], document: Document) -> bool:
    """Return whether the file names what is trained."""
    named = [fields[name] for name in ("checkpoint", "network", "checkpoint_parameters") if name in fields]
    return any(origin.document.path == document.path and origin.path for field in named for origin in field.origins)


def _agree(readings: Sequence[Mapping[str, Field]]) -> dict[str, Field]:
    """Return the values that all programs compute alike."""
    first, *others = readings or ({},)
    return {
        name: field
        for name, field in first.items()
        if not isinstance(field.value, Unknown)
        and all(name in other and other[name].value == field.value for other in others)
    }
