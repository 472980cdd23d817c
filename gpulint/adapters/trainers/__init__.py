"""Configuration files of trainers, alone as a workload or named by a command.

An adapter of such files has `ENGINE`, `claims(document)`, `kind(document)` and `read_fields(document,
find)`, which returns fields by fact name. `find` returns the document of a file that this one names.
It may also state:

- `RECIPES`: patterns of paths at which the trainer's repository keeps the recipes that commands name
- `STARTS_PROCESSES`: True if the command itself starts the nodes and processes of such a recipe
- `SEVERAL_FILES`: True if a command can name several files of one run
"""

from __future__ import annotations

import functools
import posixpath
import re
from collections.abc import Callable, Iterable, Mapping
from types import ModuleType

from gpulint import adapters
from gpulint.adapters.programs import file_stem, replica
from gpulint.adapters.trainers import key_tables
from gpulint.catalog import package_data
from gpulint.engines import Reading, trainers
from gpulint.engines.trainers import recipes as released_recipes
from gpulint.engines.trainers import vocabulary
from gpulint.source.documents import Document
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Role, Unknown, Workload

Find = Callable[[str], Document | None]

FOLDERS_MAX = 6
ONE_NODE = "one node unless stated otherwise"
LAUNCHER = Unknown("the launcher decides how many GPUs it runs on", "caller's variable")
CONFIGURED = "the training configuration states more"
"""The reason why a reading that names a configuration file is open (engines/training.py)."""
NAMED = ("training_config", "deepspeed_config")
"""Quantities whose value is the path of a file with more settings."""
SUFFIXED = re.compile(r"\.(?:ya?ml|json|toml)$")
OWN_WORLD = frozenset({"pods_per_replica", "processes_per_pod", "gpus_per_pod", "gpus_per_replica"})
"""Values in a file about the machines it is meant for; a command that runs it replaces them."""


def workload(module: ModuleType, document: Document, repository: Repository, sections: Iterable[str] = ()) -> Workload:
    """Return the training run of a configuration file, whose launcher decides the hardware.

    sections: keys of runs that the file starts together, each a role that the adapter reads below
    that key.
    """
    name = file_stem.find_stem(document.path)
    roles = tuple(_read_role(module, document, repository, section) for section in sections)
    return Workload(
        name, "training", adapters.name(module), document, (), roles or (_read_role(module, document, repository),)
    )


def _read_role(module: ModuleType, document: Document, repository: Repository, section: str = "") -> Role:
    """Read one run of a configuration file: the whole file, or the part below a key."""
    find = functools.partial(find_document, repository, document.path)
    stated: dict[str, Field] = dict(
        module.read_fields(document, find, (section,)) if section else module.read_fields(document, find)
    )
    anchor = Origin(document, (section,) if section else (), key=bool(section))
    pods = stated.get("pods_per_replica", Field(1, source=ONE_NODE, basis="open"))
    gpus = stated.get("gpus_per_pod") or stated.get("processes_per_pod") or Field(LAUNCHER, (anchor,))
    counts = {
        "gpus_per_pod": gpus,
        "pods_per_replica": pods,
        "gpus_per_replica": replica.product(gpus, pods),
        "replicas": Field(1, source="one run"),
    }
    engine = {"engine": Field(module.ENGINE, (anchor,))} if module.ENGINE else {}
    fields = {**counts, **engine, "task": Field("training"), **_find_undecided(module, document, stated), **stated}
    return Role(section or file_stem.find_stem(document.path), anchor if section else _find_anchor(document), fields)


def read_run(module: ModuleType, document: Document, repository: Repository) -> dict[str, Field]:
    """Return what a configuration file states of a run that another file starts, and what it leaves open."""
    find = functools.partial(find_document, repository, document.path)
    stated = dict(module.read_fields(document, find))
    return {"task": Field("training"), **_find_undecided(module, document, stated), **stated}


def merge_files(reading: Reading, find: Find) -> Reading:
    """Return a command's reading with its configuration files; the command takes precedence."""
    merged = dict(reading.fields)
    open_ended, read = reading.open_ended, False
    for name in NAMED:
        more = _read_files(merged.get(name), find, _read_engine(reading))
        if more is None:
            continue
        unread = {key for key, field in merged.items() if vocabulary.is_deferred(field)}
        decided = trainers.CONFIGURING.get(name, frozenset())
        merged = {key: field for key, field in merged.items() if key not in decided & unread - more.keys()}
        merged = {**more, **{key: field for key, field in merged.items() if key not in unread or key not in more}}
        read = read or name == "training_config"
    if not read:
        return reading._replace(fields=merged) if merged != reading.fields else reading
    kept = {
        name: field
        for name, field in merged.items()
        if not vocabulary.is_deferred(field) or (name == "checkpoint" and "network" not in merged)
    }
    return reading._replace(fields=kept, open_ended="" if open_ended == CONFIGURED else open_ended)


def find_document(repository: Repository, path: str, name: str) -> Document | None:
    """Return a file that another one names, from its folder or from one above.

    Commands are often run from a folder above the file.
    """
    if name.startswith(("/", "~")) or "://" in name or not name.strip():
        return None
    folder = posixpath.dirname(path)
    for _ in range(FOLDERS_MAX):
        there = posixpath.normpath(posixpath.join(folder, name))
        if there.startswith(".."):
            return None
        if repository.read(there) is not None:
            loaded = repository.read_documents(there)
            return loaded[0] if len(loaded) == 1 and loaded[0].format in adapters.DATA else None
        if not folder:
            return None
        folder = posixpath.dirname(folder)
    return None


def _read_engine(reading: Reading) -> str:
    engine = reading.fields.get("engine")
    return str(engine.value) if engine is not None else ""


def _read_files(named: Field | None, find: Find, engine: str) -> Mapping[str, Field] | None:
    """Return the fields of all files that a field names; None if one of them cannot be read."""
    if named is None or not isinstance(named.value, str):
        return None
    together: dict[str, Field] = {}
    for name in named.value.split() if _takes_several_files(engine) else (named.value,):
        more = _read_file(name, named, find, engine)
        if more is None:
            return None
        together |= {
            key: field for key, field in more.items() if key not in together or not vocabulary.is_deferred(field)
        }
    return together


def _read_file(name: str, named: Field, find: Find, engine: str) -> Mapping[str, Field] | None:
    """Return the fields of one file, found by its path or by the name of a trainer's recipe."""
    trainer = _find_trainer(engine)
    recipes = () if SUFFIXED.search(name) else getattr(trainer, "RECIPES", ())
    paths = (*(pattern.format(name=name) for pattern in recipes), name)
    document = next((file for path in paths if (file := find(path)) is not None), None)
    if document is None and (released := released_recipes.find_fields(engine, name, named.origins[:1])):
        return released
    module = _find_adapter(document, engine) if document is not None else None
    if document is None or module is None:
        return None
    starts = bool(recipes) and getattr(trainer, "STARTS_PROCESSES", False)
    within = dict(module.read_fields(document, find))
    if module.ENGINE or "engine" in within:
        within = {**_find_undecided(module, document, within), **within}
    fields = {quantity: field for quantity, field in within.items() if starts or quantity not in OWN_WORLD}
    return {quantity: add_reference(field, named) for quantity, field in fields.items()}


def _find_adapter(document: Document, engine: str) -> ModuleType | None:
    """Return the adapter that reads a document.

    If a run is spread over several files, it is the trainer's own for each of them.
    """
    module = adapters.find_adapter(document)
    if _takes_several_files(engine) and isinstance(document.data, dict):
        return _find_trainer(engine)
    return module if module is not None and hasattr(module, "read_fields") else None


@functools.cache
def _find_trainer(engine: str) -> ModuleType | None:
    """Return the adapter of a trainer's own configuration files: the one whose `ENGINE` it is."""
    stated = package_data.list_declared(adapters.HERE, "ENGINE")
    name = next((name for name, engines in stated.items() if engine in engines), None)
    return adapters.import_adapter(name) if name and engine else None


def _takes_several_files(engine: str) -> bool:
    return getattr(_find_trainer(engine), "SEVERAL_FILES", False)


def add_reference(field: Field, named: Field) -> Field:
    """Put the word that names a file before the locations of a field of that file."""
    origins = (*named.origins[:1], *field.origins)
    return Field(field.value, tuple(dict.fromkeys(origins)), field.source, field.assumption)


def _find_undecided(module: ModuleType, document: Document, stated: Mapping[str, Field]) -> dict[str, Field]:
    """Return values that decide memory and may be in the file under keys that are not read."""
    return vocabulary.list_undecided(stated, getattr(module, "SETTLES", ()), adapters.kind(module, document))


def _find_anchor(document: Document) -> Origin:
    first = next(iter(document.data), None) if isinstance(document.data, dict) else None
    return Origin(document, (str(first),) if first is not None else (), key=first is not None)


def read_fsdp(document: Document, place: Origin, path: tuple[str | int, ...]) -> dict[str, Field]:
    """Return the settings of fully sharded data parallel (FSDP).

    The keys are the same with and without the prefix `fsdp_`.
    """
    fields = {**key_tables.read_fields(document, "fsdp", path), "sharding": Field("fsdp", (place,))}
    strategy = fields.pop("fsdp_strategy", None)
    if strategy is not None and strategy.value == "none":
        fields["sharding"] = Field("ddp", strategy.origins)
    elif strategy is not None and strategy.value in ("full", "hybrid") and _names_strategy(strategy):
        fields["hybrid_sharding"] = Field(strategy.value == "hybrid", strategy.origins)
    elif strategy is not None and strategy.value != "full":
        fields["sharding"] = Field(Unknown("this strategy of FSDP is not modelled"), strategy.origins)
    return fields


def _names_strategy(field: Field) -> bool:
    """Return whether a strategy has the words of FSDP 1, which also has hybrid sharding."""
    return all(str(origin.path[-1]).endswith("sharding_strategy") for origin in field.origins)
