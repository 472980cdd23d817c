"""Configured: a trainer's configuration file, by itself as a workload, and as what a command that names it states.

An adapter of such files has `ENGINE`, `claims(document)`, `kind(document)` and `stated(document, find)`: its fields by glossary
name, where `find` gives the document of a file that this one names.
"""

from __future__ import annotations

import functools
import importlib
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import ModuleType

from gpulint import adapters, documents
from gpulint.adapters import instance, settings, task
from gpulint.documents import Document
from gpulint.engines import Reading, training, training_words
from gpulint.repository import Repository
from gpulint.workload import Field, Origin, Role, Unknown, Workload

Find = Callable[[str], Document | None]

FOLDERS_MAX = 6
LAUNCHER = Unknown("the launcher decides how many GPUs it runs on", "caller's variable")
CONFIGURED = "the training configuration states more"
"""Why a reading is open that names a configuration file (engines/training.py)."""
NAMED = ("training_config", "deepspeed_config")
"""Quantities whose value is the path of a file that states more."""
RECIPES: Mapping[str, tuple[str, ...]] = {
    "torchtune": ("recipes/configs/{name}.yaml",),
    "nemo": ("conf/{name}.yaml", "launcher_scripts/conf/{name}.yaml"),
}
"""Where a trainer's own repository keeps what commands call by name (torchtune _recipe_registry.py; NeMo main.py)."""
STARTING = frozenset({"nemo"})
"""Trainers whose command starts the nodes and processes that its recipe states."""
SEVERAL: Mapping[str, str] = {"gpt-neox": "gpt_neox_config"}
"""Trainers that take several files for one run, in any order, and what reads a part of it."""
SUFFIXED = re.compile(r"\.(?:ya?ml|json|toml)$")
OWN_WORLD = frozenset({"pods_per_replica", "processes_per_pod", "gpus_per_pod", "gpus_per_replica"})
"""What a file says of the machines it is meant for; where a command runs it there, that counts."""


def workload(module: ModuleType, document: Document, repository: Repository, sections: Iterable[str] = ()) -> Workload:
    """A configuration file by itself: a training run whose hardware only a launcher knows, unless the file says it.

    sections: keys of runs that the file starts together, each a role that the adapter reads below that key.
    """
    name = task.stem(document.path)
    roles = tuple(_role(module, document, repository, section) for section in sections)
    return Workload(
        name, "training", adapters.name(module), document, (), roles or (_role(module, document, repository),)
    )


def _role(module: ModuleType, document: Document, repository: Repository, section: str = "") -> Role:
    """One run that a configuration file states: all of the file, or what stands below a key."""
    find = functools.partial(beside, repository, document.path)
    found: dict[str, Field] = dict(
        module.stated(document, find, (section,)) if section else module.stated(document, find)
    )
    anchor = Origin(document, (section,) if section else (), key=bool(section))
    if not OWN_WORLD & found.keys():
        from gpulint.adapters import launched_by

        found |= launched_by.fields(document, repository)
    pods = found.get("pods_per_replica", Field(1, source="one node unless stated otherwise"))
    gpus = found.get("gpus_per_pod") or found.get("processes_per_pod") or Field(LAUNCHER, (anchor,))
    counts = {
        "gpus_per_pod": gpus,
        "pods_per_replica": pods,
        "gpus_per_replica": instance.product(gpus, pods),
        "replicas": Field(1, source="one run"),
    }
    engine = {"engine": Field(module.ENGINE, (anchor,))} if module.ENGINE else {}
    fields = {**counts, **engine, "task": Field("training"), **_left_open(module, document, found), **found}
    return Role(section or task.stem(document.path), anchor if section else _anchor(document), fields)


def joined(reading: Reading, find: Find) -> Reading:
    """A command with what the configuration files say that it names: what it states itself counts."""
    found = dict(reading.fields)
    open_ended, read = reading.open_ended, False
    for name in NAMED:
        more = _of_files(found.get(name), find, _engine(reading))
        if more is None:
            continue
        unread = {key for key, field in found.items() if training_words.deferred(field)}
        decided = training.CONFIGURING.get(name, frozenset())
        found = {key: field for key, field in found.items() if key not in decided & unread - more.keys()}
        found = {**more, **{key: field for key, field in found.items() if key not in unread or key not in more}}
        read = read or name == "training_config"
    if not read:
        return reading._replace(fields=found) if found != reading.fields else reading
    kept = {
        name: field for name, field in found.items() if not (training_words.deferred(field) and name != "checkpoint")
    }
    return reading._replace(fields=kept, open_ended="" if open_ended == CONFIGURED else open_ended)


def beside(repository: Repository, path: str, name: str) -> Document | None:
    """A file that another one names: from its own folder, or from one above it, where commands are often run."""
    if name.startswith(("/", "~")) or "://" in name or not name.strip():
        return None
    folder = posixpath.dirname(path)
    for _ in range(FOLDERS_MAX):
        there = posixpath.normpath(posixpath.join(folder, name))
        if there.startswith(".."):
            return None
        if (content := repository.read(there)) is not None:
            loaded = documents.load(there, content).documents
            return loaded[0] if len(loaded) == 1 and loaded[0].format in adapters.DATA else None
        if not folder:
            return None
        folder = posixpath.dirname(folder)
    return None


def _engine(reading: Reading) -> str:
    engine = reading.fields.get("engine")
    return str(engine.value) if engine is not None else ""


def _of_files(named: Field | None, find: Find, engine: str) -> Mapping[str, Field] | None:
    """What the files that a field names state together; None where one of them cannot be read as a trainer's."""
    if named is None or not isinstance(named.value, str):
        return None
    together: dict[str, Field] = {}
    for name in named.value.split() if engine in SEVERAL else (named.value,):
        more = _of_file(name, named, find, engine)
        if more is None:
            return None
        together |= more
    return together


def _of_file(name: str, named: Field, find: Find, engine: str) -> Mapping[str, Field] | None:
    """What one file states, found as the trainer finds it: by its path, or by the name of a recipe among its own."""
    own = [pattern.format(name=name) for pattern in RECIPES.get(engine, ()) if not SUFFIXED.search(name)]
    held = next((document for path in (*own, name) if (document := find(path)) is not None), None)
    module = _reads(held, engine) if held is not None else None
    if held is None or module is None:
        return None
    starts = bool(own) and engine in STARTING
    within = dict(module.stated(held, find))
    if module.ENGINE or "engine" in within:
        within = {**_left_open(module, held, within), **within}
    fields = {quantity: field for quantity, field in within.items() if starts or quantity not in OWN_WORLD}
    return {quantity: _placed(field, named) for quantity, field in fields.items()}


def _reads(document: Document, engine: str) -> ModuleType | None:
    """The adapter that reads a document; of a run that is spread over several files, the trainer's own for each of them."""
    module = adapters.claiming(document)
    if engine in SEVERAL and isinstance(document.data, dict):
        return importlib.import_module(f"gpulint.adapters.{SEVERAL[engine]}")
    return module if module is not None and hasattr(module, "stated") else None


def _placed(field: Field, named: Field) -> Field:
    """A field of another file: the word that names the file first, then where it really stands."""
    origins = (*named.origins[:1], *field.origins)
    return Field(field.value, tuple(dict.fromkeys(origins)), field.source, field.assumption)


def _left_open(module: ModuleType, document: Document, found: Mapping[str, Field]) -> dict[str, Field]:
    """What decides memory and may stand in the file under keys that are not read."""
    return training_words.undecided(found, getattr(module, "SETTLES", ()), adapters.kind(module, document))


def _anchor(document: Document) -> Origin:
    first = next(iter(document.data), None) if isinstance(document.data, dict) else None
    return Origin(document, (str(first),) if first is not None else (), key=first is not None)


def deepspeed(document: Document, path: tuple[str | int, ...], find: Find) -> Iterator[tuple[str, Field]]:
    """What a key states that holds DeepSpeed's configuration, or names its file."""
    from gpulint.adapters import deepspeed_config

    value = document.get(path)
    if isinstance(value, dict):
        yield from deepspeed_config.within(document, path).items()
    elif isinstance(value, str) and value:
        yield "deepspeed_config", Field(value, (Origin(document, path),))
        held = find(value)
        if held is not None and deepspeed_config.claims(held):
            named = Field(value, (Origin(document, path),))
            yield from ((name, _placed(one, named)) for name, one in deepspeed_config.stated(held, find).items())
        else:
            yield (
                "zero_stage",
                Field(Unknown("DeepSpeed's configuration states it", "another object"), (Origin(document, path),)),
            )


def fsdp(document: Document, place: Origin, path: tuple[str | int, ...]) -> dict[str, Field]:
    """What the settings of PyTorch's fully sharded data parallel state: the same keys with and without `fsdp_` in front."""
    found = {**settings.stated(document, "fsdp", path), "sharding": Field("fsdp", (place,))}
    strategy = found.pop("fsdp_strategy", None)
    if strategy is not None and strategy.value == "none":
        found["sharding"] = Field("ddp", strategy.origins)
    elif strategy is not None and strategy.value in ("full", "hybrid") and _names_strategy(strategy):
        found["hybrid_sharding"] = Field(strategy.value == "hybrid", strategy.origins)
    elif strategy is not None and strategy.value != "full":
        found["sharding"] = Field(Unknown("this strategy of FSDP is not modelled"), strategy.origins)
    return found


def _names_strategy(field: Field) -> bool:
    """Whether a strategy is stated in words that hybrid sharding has too, as FSDP's first version takes them."""
    return all(str(origin.path[-1]).endswith("sharding_strategy") for origin in field.origins)
