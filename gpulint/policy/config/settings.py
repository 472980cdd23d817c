"""Settings of a policy, as records."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from gpulint.catalog.offers import EVERYTHING, Available
from gpulint.policy.config.files import Reader
from gpulint.policy.config.governance import NONE, PolicyRequirements
from gpulint.report.model import Comment, Waiver

if TYPE_CHECKING:
    from gpulint.policy.config.layer import Layer

FILE = "gpulint.yaml"
PROJECT = "pyproject.toml"
BASELINE = ".gpulint-baseline.json"


class Hint(NamedTuple):
    """Values that a file cannot declare, or its objective, for workloads of matching files and names.

    `path` is relative to `folder`, which is relative to the root.
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
    """Nodes that no file of the repository defines: how workloads select them, and their hardware."""

    name: str
    labels: Mapping[str, str] = MappingProxyType({})
    partition: str = ""
    queue: str = ""
    accelerator: str = ""
    gpus: int = 0
    instance_type: str = ""


class NamedFabric(NamedTuple):
    """The interconnect of the nodes and GPUs of matching files, clouds and pools, as facts in base units."""

    path: str = "*"
    workload: str = "*"
    cloud: str = "*"
    pool: str = "*"
    quantities: Mapping[str, float | str | bool] = MappingProxyType({})
    folder: str = ""

    def matches(self, path: str, workload: str, cloud: str, pool: str) -> bool:
        pairs = ((path, self.path), (workload, self.workload), (cloud, self.cloud), (pool, self.pool))
        return all(fnmatch.fnmatchcase(text, pattern) for text, pattern in pairs)


class Level(NamedTuple):
    """A policy's statement about a rule or family: `on`, `off` or a severity; `ignored` if from `ignore`."""

    word: str
    level: str
    place: str
    ignored: bool = False


class Folder(NamedTuple):
    """A folder of a team's rules, and the location at which a policy names it."""

    reader: Reader
    path: str
    place: str


class Override(NamedTuple):
    """Settings for files that match lines of a .gitignore at the root. `layer` and `entry` locate them."""

    paths: tuple[str, ...]
    layer: int
    entry: int


class AcceptedFindings(NamedTuple):
    """Findings that a policy accepts: rules, files as lines of a .gitignore at the root, workloads and objects.

    Its lines are about `folder`.
    """

    rules: tuple[str, ...]
    waiver: Waiver
    paths: tuple[str, ...] = ()
    workload: str = "*"
    object: str = "*"
    folder: str = ""


class Settings(NamedTuple):
    """Settings of a policy, which the command line overrides.

    The last group of `levels` that names a rule wins; `named` are all levels, including those of overrides. `stated` is the
    merged content of the layers, and `origins` the location of each value by path. `folder` is the policy file's folder,
    relative to the root, and `layers` are the files of the policy.
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
    waivers: tuple[AcceptedFindings, ...] = ()
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
    governance: PolicyRequirements = NONE

    def place(self, *path: str | int) -> str:
        """Return the location of a value, else of its parent, else the file."""
        while path and path not in self.origins:
            path = path[:-1]
        return self.origins.get(path, self.path)


DEFAULTS = Settings()
