"""Settings of a repository: `gpulint.yaml` or `[tool.gpulint]`, nearest first, validated when there is one."""

from __future__ import annotations

import fnmatch
import posixpath
import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from gpulint.catalog.offers import EVERYTHING, Available
from gpulint.policy.config.files import Reader, Refused
from gpulint.policy.config.governance import NONE, Governance
from gpulint.report.model import Comment, Waiver

if TYPE_CHECKING:
    from gpulint.policy.config.packs import Layer

FILE = "gpulint.yaml"
PROJECT = "pyproject.toml"
MISNAMED = ("gpulint.yml", ".gpulint.yaml", ".gpulint.yml")
"""Names that are mistaken for it; below the root a workflow may have such a name."""
BASELINE = ".gpulint-baseline.json"
TABLE = re.compile(rb"^[ \t]*\[\[?[ \t]*tool[ \t]*\.[ \t]*gpulint[ \t]*[.\]]", re.MULTILINE)


class SettingsError(ValueError):
    """A settings file that cannot be used; the message starts with its place."""


class Hint(NamedTuple):
    """What a file cannot say or has as its objective: for workloads of matching files, and of matching names if given.

    `folder` is the one that the path is relative to, from the root.
    """

    path: str
    workload: str = "*"
    accelerator: str = ""
    checkpoint: str = ""
    gpus: int = 0
    nodes: int = 0
    objective: Mapping[str, str | float] = MappingProxyType({})
    folder: str = ""

    def matches(self, path: str, workload: str) -> bool:
        return fnmatch.fnmatchcase(path, self.path) and fnmatch.fnmatchcase(workload, self.workload)


class NamedPool(NamedTuple):
    """Nodes that no file of the repository defines: what leads to them, and what they hold."""

    name: str
    labels: Mapping[str, str] = MappingProxyType({})
    partition: str = ""
    queue: str = ""
    accelerator: str = ""
    gpus: int = 0
    instance_type: str = ""


class NamedFabric(NamedTuple):
    """What joins the nodes and cards of matching files, clouds and pools; each quantity as a fact, in base units."""

    path: str = "*"
    workload: str = "*"
    cloud: str = "*"
    pool: str = "*"
    quantities: Mapping[str, float | str | bool] = MappingProxyType({})
    folder: str = ""

    def matches(self, path: str, workload: str, cloud: str, pool: str) -> bool:
        told = ((path, self.path), (workload, self.workload), (cloud, self.cloud), (pool, self.pool))
        return all(fnmatch.fnmatchcase(one, pattern) for one, pattern in told)


class Level(NamedTuple):
    """What a policy says of a rule or family: `on`, `off`, or a severity; `ignored` where `ignore` says it."""

    word: str
    level: str
    place: str
    ignored: bool = False


class Folder(NamedTuple):
    """A folder of a team's rules, and where a policy names it."""

    reader: Reader
    path: str
    place: str


class Override(NamedTuple):
    """What holds in the files that match, by the lines of a .gitignore at the root; `layer` and `entry` say where it stands."""

    paths: tuple[str, ...]
    layer: int
    entry: int


class Accepted(NamedTuple):
    """What a policy accepts: rules, in files by the lines of a .gitignore at the root, of workloads and objects by name.

    `folder` is the one that its lines are about.
    """

    rules: tuple[str, ...]
    waiver: Waiver
    paths: tuple[str, ...] = ()
    workload: str = "*"
    object: str = "*"
    folder: str = ""


class Settings(NamedTuple):
    """Defaults that the command line overrides.

    `levels` are groups of which the last that names a rule counts, `named` all of them, of every override. `stated` is what
    the layers say together, `origins` where each value of it stands, by its path; `folder` is the one of the policy file,
    from the root, and `layers` what it is made of.
    """

    select: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    rules: tuple[Folder, ...] = ()
    fail_on: str = "error"
    at_most: str = ""
    preview: bool = False
    levels: tuple[tuple[Level, ...], ...] = ()
    named: tuple[Level, ...] = ()
    overrides: tuple[Override, ...] = ()
    accelerator: str = ""
    hints: tuple[Hint, ...] = ()
    pools: tuple[NamedPool, ...] = ()
    fabrics: tuple[NamedFabric, ...] = ()
    like: Mapping[str, str] = MappingProxyType({})
    available: Available = EVERYTHING
    waivers: tuple[Accepted, ...] = ()
    waivers_need: tuple[str, ...] = ()
    waivers_last_s: float | None = None
    baseline: str = ""
    facility: str = ""
    comment: Comment = Comment()
    path: str = ""
    folder: str = ""
    stated: Mapping[str, Any] = MappingProxyType({})
    origins: Mapping[tuple[str | int, ...], str] = MappingProxyType({})
    layers: tuple[Layer, ...] = ()
    governance: Governance = NONE

    def place(self, *path: str | int) -> str:
        """Where a value stands, else what it belongs to, else the file."""
        while path and path not in self.origins:
            path = path[:-1]
        return self.origins.get(path, self.path)


DEFAULTS = Settings()


def nearest(reader: Reader, folder: str = "") -> Settings:
    """The settings of the nearest folder that has any, from `folder` up to the root; what `overrides` say is left open."""
    for place in upwards(folder):
        if found := stated(reader, place):
            return found
    return DEFAULTS


def stated(reader: Reader, folder: str) -> Settings | None:
    """The settings of this very folder; None where it has none."""
    if named := _held(reader, folder):
        from gpulint.policy.config import merge as merging
        from gpulint.policy.config import packs

        return merging.settings(packs.layers(reader, *named))
    return None


def of(reader: Reader, file: str) -> Settings:
    """The settings of one policy file wherever it lies; its globs are relative to the root."""
    from gpulint.policy.config import merge as merging
    from gpulint.policy.config import packs

    try:
        if reader.read(file) is None:
            raise SettingsError(f"there is no policy {reader.shown(file)}")
    except Refused as error:
        raise SettingsError(str(error)) from None
    return merging.settings(packs.layers(reader, file, "tool.gpulint" if file.endswith(".toml") else "", ""))


def upwards(folder: str) -> Iterator[str]:
    """A folder and those above it, up to the root, which is empty."""
    place = posixpath.normpath(folder) if folder else ""
    place = "" if place == "." else place
    while place:
        yield place
        place = posixpath.dirname(place)
    yield ""


def _held(reader: Reader, folder: str) -> tuple[str, str] | None:
    """The policy file of a folder, and the table of it that is meant."""
    file = posixpath.join(folder, FILE)
    try:
        if reader.read(file) is not None:
            return file, ""
        for name in MISNAMED if not folder else ():
            if reader.read(name) is not None:
                raise SettingsError(f"{reader.shown(name)}: gpulint reads {FILE} and not this name; rename the file")
    except Refused as error:
        raise SettingsError(str(error)) from None
    file = posixpath.join(folder, PROJECT)
    try:
        content = reader.read(file)
    except Refused:
        return None
    return (file, "tool.gpulint") if content is not None and TABLE.search(content) else None
