"""Launched: a program of one's own that a launcher of training starts in a container: the launcher stands for the engine.

A launcher's own defaults are left out: operators set them by variables (PET_NPROC_PER_NODE).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpulint import engines
from gpulint.adapters.programs import launchers as launch
from gpulint.adapters.programs import processes as ranks
from gpulint.adapters.programs import program_name as program
from gpulint.adapters.programs.launchers import AS_MODULE, Launch
from gpulint.adapters.trainers import settings_file as config_file
from gpulint.engines import Argument, Invocation, Reading
from gpulint.engines.trainers import vocabulary as training_words
from gpulint.workload import Field, Origin

TRAINERS = ("torchrun", "accelerate", "deepspeed", "colossalai", "composer", "horovodrun", "tune run")
"""Launchers that start one process a GPU."""


def fields(
    invocations: Sequence[Invocation], find: Callable[[str], Origin | None] = lambda name: None
) -> dict[str, Field]:
    """Launcher, ranks and program of the one command that a launcher of training stands in front of; of several, the launcher."""
    found = [taken for one in invocations if (taken := launch.unwrapped(one.arguments)) and is_trained(taken)]
    if not found:
        return {}
    told = [{**one.fields, **config_file.accelerated(one, find), **_meeting(one), **named(one.words)} for one in found]
    first = {name: field for name, field in told[0].items() if name != "pods_per_replica" and field.origins}
    if any(other["launcher"].value != first["launcher"].value for other in told):
        return {}
    engine = first["launcher"]
    return {"engine": engine, "launcher": engine} if len(told) > 1 else {**first, "engine": engine}


def reading(invocation: Invocation, find: Callable[[str], Origin | None] = lambda name: None) -> Reading | None:
    """The trainer that a launcher of training starts, with what the launcher and its configuration state."""
    taken = launch.unwrapped(invocation.arguments)
    found = engines.read(invocation._replace(arguments=taken.words)) if is_trained(taken) else None
    if found is None or engines.purpose(str(found.fields["engine"].value)) != "training":
        return None
    told = {name: field for name, field in taken.fields.items() if field.origins}
    launched = {**told, **config_file.accelerated(taken, find), **_meeting(taken)}
    return found._replace(fields=training_words.settled(found.fields, launched))


def _meeting(one: Launch) -> dict[str, Field]:
    """Where the ranks of several pods are told to meet, if that is each pod itself."""
    local = ranks.rendezvous(one.steps[-1], {})
    return {"local_rendezvous": local} if local is not None else {}


def started(invocations: Sequence[Invocation]) -> Argument | None:
    """The program that runs, behind the launchers that stand in front of it."""
    behind = ((one, launch.unwrapped(one.arguments).words) for one in invocations)
    return program.of([one._replace(arguments=words or one.arguments) for one, words in behind])


def is_trained(taken: Launch) -> bool:
    """Whether the innermost launcher is one of training, and not a program of its own that is read."""
    return bool(taken.launchers) and taken.launchers[-1] in TRAINERS


def named(words: Sequence[Argument]) -> dict[str, Field]:
    """The program that words start."""
    own = tuple(words[1:] if words and words[0].text in AS_MODULE else words)
    if not own:
        return {}
    found = program.of([Invocation(Argument(None, own[0].origin), own, {}, entrypoint=False)])
    return {"program": Field(found.text, (found.origin,))} if found and found.text else {}
