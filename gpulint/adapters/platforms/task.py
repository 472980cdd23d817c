"""Task: what formats that run a command on a machine share, from compose services to SkyPilot tasks."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from gpulint import engines
from gpulint.adapters import pods
from gpulint.adapters.pods import several_commands
from gpulint.adapters.programs import launchers, processes, program_name, python_program
from gpulint.adapters.trainers import settings_file
from gpulint.engines import Argument, Invocation, Reading
from gpulint.workload import Field, Origin, Role, Unknown

Read = tuple[Reading, Invocation]

CHECKPOINT = re.compile(r"--(?:pretrained[-_])?model[-_]name[-_]or[-_]path")
"""The argument for the checkpoint in Hugging Face's example scripts (transformers,
examples/pytorch).
"""
OF_TRAINING = frozenset({"torchrun", "accelerate", "deepspeed", "horovodrun", "colossalai", "composer", "tune run"})


def read(invocations: Iterable[Invocation], find: Callable[[str], Origin | None] = lambda name: None) -> list[Read]:
    """Return the engines, and the programs behind a training launcher. `find` locates a file."""
    candidates = (
        (settings_file.merge_trainer_files(_read_engine(invocation, find), find), invocation)
        for invocation in invocations
    )
    return [(reading, invocation) for reading, invocation in candidates if reading is not None]


def _read_engine(invocation: Invocation, find: Callable[[str], Origin | None]) -> Reading | None:
    launched = launchers.unwrap(invocation.arguments)
    reading = engines.read(invocation) or engines.read(invocation._replace(arguments=launched.words))
    stated = {**launched.fields, **settings_file.read_accelerate(launched, find)}
    if reading is not None:
        return reading._replace(fields={**stated, **reading.fields})
    launcher = stated.get("launcher")
    if launcher is None or launcher.value not in OF_TRAINING:
        return None
    return Reading(
        {**stated, "engine": launcher, **_find_program(launched.words), **_find_checkpoint(launched.words)}, None
    )


def _find_program(words: Sequence[Argument]) -> dict[str, Field]:
    """Return the program behind a launcher."""
    name = posixpath.basename(words[0].text or "") if words else ""
    return {"program": Field(name, processes.origins(words[0]))} if name else {}


def roles(
    name: str,
    anchor: Origin,
    fields: Mapping[str, Field],
    readings: Sequence[Read],
    invocations: Iterable[Invocation] = (),
) -> Iterator[Role]:
    """Yield one role per engine that a container or machine starts, or one for its program."""
    command = python_program.choose(invocations)
    for reading in merge_readings(readings, fields["gpus_per_pod"]):
        own = {**fields, **reading.fields}
        if reading.fields.get("engine", Field(None)).value == "ollama" and "checkpoint" not in own:
            own["checkpoint"] = Field(pods.REQUESTED, reading.fields["engine"].origins or (anchor,))
        if "gpus_per_pod" in reading.fields:
            own["gpus_per_pod"], own["gpus_per_replica"] = fields["gpus_per_pod"], reading.fields["gpus_per_pod"]
        if "pods_per_replica" in fields:
            own["pods_per_replica"] = fields["pods_per_replica"]
        yield Role(name, anchor, own, reading.arguments, reading.open_ended, command=command)


def merge_readings(readings: Sequence[Read], gpus: Field) -> tuple[Reading, ...]:
    """Return the readings.

    Several engines leave fields unknown, but training runs are sequential.
    """
    if readings and all(is_training(reading.fields.get("engine")) for reading, _ in readings):
        return tuple(reading for reading, _ in readings)
    return several_commands.settle(readings, gpus.value) or (Reading({}, None),)


def program(invocations: Sequence[Invocation], image: Origin) -> dict[str, Field]:
    """Return what runs without a known engine: the named program, or else the image's."""
    checkpoint = next(
        (
            checkpoint_fields
            for invocation in invocations
            if (checkpoint_fields := _find_checkpoint(invocation.arguments))
        ),
        {},
    )
    bare = [invocation._replace(arguments=launchers.unwrap(invocation.arguments).words) for invocation in invocations]
    if named := program_name.find_program(bare):
        return {"program": Field(named.text, (named.origin,)), **checkpoint}
    return {"program": Field(Unknown("the image decides what runs", "image default"), (image,))}


def _find_checkpoint(words: Sequence[Argument]) -> dict[str, Field]:
    """Return the checkpoint in a program's arguments."""
    for at, word in enumerate(words):
        flag, equals, value = (word.text or word.flag).partition("=")
        if not CHECKPOINT.fullmatch(flag):
            continue
        stated = word._replace(text=word.text and value) if equals or word.flag else _next_word(words, at)
        if stated is not None:
            unknown = Unknown(stated.why, stated.category or processes.category(stated))
            return {"checkpoint": Field(stated.text or unknown, processes.origins(stated))}
    return {}


def _next_word(words: Sequence[Argument], at: int) -> Argument | None:
    return words[at + 1] if at + 1 < len(words) else None


def is_training(engine: Field | None) -> bool:
    """Return True for a trainer, or for a launcher of one."""
    name = engine.value if engine else None
    return isinstance(name, str) and (name in OF_TRAINING or engines.find_purpose(name) == "training")


def purpose(task_roles: Sequence[Role]) -> str:
    """Return the purpose of a workload, according to its engines."""
    if any(is_training(role.fields.get("engine")) for role in task_roles):
        return "training"
    return "inference" if any(role.text("engine") for role in task_roles) else "unknown"
