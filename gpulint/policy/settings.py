"""Settings of a repository: `gpulint.yaml` or `[tool.gpulint]`, nearest first, validated when there is one."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from gpulint.offers import EVERYTHING, Available, Energy, Price

if TYPE_CHECKING:
    from gpulint.policy import schema

FILE = "gpulint.yaml"
PROJECT = "pyproject.toml"


class SettingsError(ValueError):
    """A settings file that cannot be used; the message starts with its place."""


class Hint(NamedTuple):
    """What a file cannot say or has as its objective: for workloads of matching files, and of matching names if given."""

    path: str
    workload: str = "*"
    accelerator: str = ""
    checkpoint: str = ""
    gpus: int = 0
    nodes: int = 0
    objective: Mapping[str, str | float] = MappingProxyType({})

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

    def matches(self, path: str, workload: str, cloud: str, pool: str) -> bool:
        told = ((path, self.path), (workload, self.workload), (cloud, self.cloud), (pool, self.pool))
        return all(fnmatch.fnmatchcase(one, pattern) for one, pattern in told)


class Settings(NamedTuple):
    """Defaults that the command line overrides."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    fail_on: str = "error"
    accelerator: str = ""
    hints: tuple[Hint, ...] = ()
    pools: tuple[NamedPool, ...] = ()
    fabrics: tuple[NamedFabric, ...] = ()
    like: Mapping[str, str] = MappingProxyType({})
    available: Available = EVERYTHING
    path: Path | None = None


def nearest(start: Path, root: Path) -> Settings:
    """The settings of the nearest directory that has any, from `start` up to the repository's root."""
    for folder in (start, *start.parents):
        if (file := folder / FILE).is_symlink():
            raise SettingsError(f"{file}: a symbolic link, which gpulint does not follow")
        if file.is_file():
            return _checked(file, "", root)
        file = folder / PROJECT
        if file.is_file() and not file.is_symlink() and b"[tool.gpulint]" in file.read_bytes():
            return _checked(file, "tool.gpulint", root)
        if folder == root:
            break
    return Settings()


def _checked(path: Path, table: str, root: Path) -> Settings:
    from gpulint.policy import schema

    stated = schema.settings(path, table)
    hints = tuple(Hint(**{key: value for key, value in hint.model_dump().items() if value}) for hint in stated.hints)
    aims = tuple(Hint(one.path, one.workload or "*", objective=one.words()) for one in stated.objectives)
    return Settings(
        select=tuple(stated.select),
        ignore=tuple(stated.ignore),
        exclude=tuple(stated.exclude),
        rules=tuple(_inside(folder, path, root) for folder in stated.rules),
        fail_on=stated.fail_on,
        accelerator=stated.accelerator,
        hints=(*hints, *aims),
        pools=tuple(NamedPool(**pool.model_dump()) for pool in stated.pools),
        fabrics=tuple(NamedFabric(**one.where(), quantities=one.quantities()) for one in stated.fabric),
        like=dict(stated.like),
        available=_available(stated),
        path=path,
    )


def _available(stated: schema.PolicyFile) -> Available:
    """What a team can have and pays, by the names that it gives."""
    had = stated.available
    return Available(
        clouds=had.clouds,
        regions=had.regions,
        instance_types=had.instance_types,
        accelerators=had.accelerators,
        forbidden=had.forbidden,
        pools_only=had.pools and not (had.clouds or had.regions or had.instance_types),
        prices=tuple(Price(**one.model_dump() | {"date": one.date.isoformat()}) for one in stated.prices),
        energy=Energy(**stated.energy.model_dump()),
    )


def _inside(stated: str, path: Path, root: Path) -> str:
    """A folder of rules as settings name it; they may be a stranger's, so it lies in the same repository."""
    folder = path.parent / stated
    if not folder.resolve().is_relative_to(root.resolve()):
        raise SettingsError(f"{path}: rules: {stated} lies outside the repository; give such a folder with --rules")
    return str(folder)
