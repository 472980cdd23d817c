"""Task: what formats that run a command on a machine have in common, from compose services to SkyPilot tasks."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from gpulint import engines
from gpulint.adapters import pods as pod
from gpulint.adapters.programs import launchers as launch
from gpulint.adapters.programs import processes as ranks
from gpulint.adapters.programs import program_name as programs
from gpulint.adapters.trainers import settings_file as config_file
from gpulint.engines import Argument, Invocation, Reading
from gpulint.workload import Field, Origin, Role, Unknown

Read = tuple[Reading, Invocation]

CHECKPOINT = re.compile(r"--(?:pretrained[-_])?model[-_]name[-_]or[-_]path")
"""What Hugging Face's example scripts, and those written after them, call the checkpoint (transformers, examples/pytorch)."""
OF_TRAINING = frozenset({"torchrun", "accelerate", "deepspeed", "horovodrun", "colossalai", "composer", "tune run"})


def read(invocations: Iterable[Invocation], find: Callable[[str], Origin | None] = lambda name: None) -> list[Read]:
    """The engines, and the programs behind a launcher of training, that commands start; `find` tells where a file stands."""
    found = ((config_file.trainer(_read(one, find), find), one) for one in invocations)
    return [(reading, one) for reading, one in found if reading is not None]


def _read(invocation: Invocation, find: Callable[[str], Origin | None]) -> Reading | None:
    launched = launch.unwrapped(invocation.arguments)
    reading = engines.read(invocation) or engines.read(invocation._replace(arguments=launched.words))
    stated = {**launched.fields, **config_file.accelerated(launched, find)}
    if reading is not None:
        return reading._replace(fields={**stated, **reading.fields})
    launcher = stated.get("launcher")
    if launcher is None or launcher.value not in OF_TRAINING:
        return None
    return Reading({**stated, "engine": launcher, **_named(launched.words), **_checkpoint(launched.words)}, None)


def _named(words: Sequence[Argument]) -> dict[str, Field]:
    """The program behind a launcher."""
    name = posixpath.basename(words[0].text or "") if words else ""
    return {"program": Field(name, ranks.origins(words[0]))} if name else {}


def roles(name: str, anchor: Origin, fields: Mapping[str, Field], found: Sequence[Read]) -> Iterator[Role]:
    """One role for each engine that a container or machine starts, or one for whatever it runs."""
    for reading in _settled(found, fields["gpus_per_pod"]):
        own = {**fields, **reading.fields}
        if reading.fields.get("engine", Field(None)).value == "ollama" and "checkpoint" not in own:
            own["checkpoint"] = Field(pod.REQUESTED, reading.fields["engine"].origins or (anchor,))
        if "gpus_per_pod" in reading.fields:
            own["gpus_per_pod"], own["gpus_per_replica"] = fields["gpus_per_pod"], reading.fields["gpus_per_pod"]
        if "pods_per_replica" in fields:
            own["pods_per_replica"] = fields["pods_per_replica"]
        yield Role(name, anchor, own, reading.arguments, reading.open_ended)


def _settled(found: Sequence[Read], gpus: Field) -> tuple[Reading, ...]:
    """The readings with what several of them leave open; runs of training come one after another."""
    if found and all(trains(reading.fields.get("engine")) for reading, _ in found):
        return tuple(reading for reading, _ in found)
    return pod.settled(found, gpus.value) or (Reading({}, None),)


def program(invocations: Sequence[Invocation], image: Origin) -> dict[str, Field]:
    """What runs where no engine that we read does: the program that is named, or else what the image holds."""
    checkpoint = next((found for one in invocations if (found := _checkpoint(one.arguments))), {})
    bare = [one._replace(arguments=launch.unwrapped(one.arguments).words) for one in invocations]
    if named := programs.of(bare):
        return {"program": Field(named.text, (named.origin,)), **checkpoint}
    return {"program": Field(Unknown("the image decides what runs", "image default"), (image,))}


def _checkpoint(words: Sequence[Argument]) -> dict[str, Field]:
    """The checkpoint that a program's arguments name."""
    for at, word in enumerate(words):
        flag, equals, value = (word.text or word.flag).partition("=")
        if not CHECKPOINT.fullmatch(flag):
            continue
        stated = word._replace(text=word.text and value) if equals or word.flag else _next(words, at)
        if stated is not None:
            unknown = Unknown(stated.why, stated.category or ranks.category(stated))
            return {"checkpoint": Field(stated.text or unknown, ranks.origins(stated))}
    return {}


def _next(words: Sequence[Argument], at: int) -> Argument | None:
    return words[at + 1] if at + 1 < len(words) else None


def trains(engine: Field | None) -> bool:
    """Whether an engine is a trainer, or the launcher of one."""
    name = engine.value if engine else None
    return isinstance(name, str) and (name in OF_TRAINING or _told(name) == "training")


def purpose(found: Sequence[Role]) -> str:
    """What a workload is for, as its engines tell."""
    if any(trains(role.fields.get("engine")) for role in found):
        return "training"
    return "inference" if any(role.text("engine") for role in found) else "unknown"


def _told(engine: str) -> str:
    tell = getattr(engines, "purpose", None)
    return str(tell(engine)) if tell else "inference"


def stem(path: str) -> str:
    """The name of a file without its folder and suffixes; of a file that has no other name, its folder's."""
    name = posixpath.basename(path).split(".")[0]
    return name or posixpath.basename(posixpath.dirname(path)) or posixpath.basename(path)
