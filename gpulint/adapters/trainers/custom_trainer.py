"""Launched: programs that a training launcher starts in a container. The launcher is the engine.

The defaults of a launcher are left out, because operators set them by variables
(PET_NPROC_PER_NODE).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpulint import engines
from gpulint.adapters.programs import launchers, processes, program_name
from gpulint.adapters.programs.launchers import AS_MODULE, Launch
from gpulint.adapters.trainers import settings_file
from gpulint.engines import Argument, Invocation, Reading
from gpulint.engines.trainers import vocabulary
from gpulint.workload import Field, Origin

TRAINERS = ("torchrun", "accelerate", "deepspeed", "colossalai", "composer", "horovodrun", "tune run")
"""Launchers that start one process per GPU."""


def fields(
    invocations: Sequence[Invocation], find: Callable[[str], Origin | None] = lambda name: None
) -> dict[str, Field]:
    """Return launcher, ranks and program of the one command behind a training launcher; of several,
    the launcher.
    """
    launches = [
        taken
        for invocation in invocations
        if (taken := launchers.unwrap(invocation.arguments)) and is_training_launch(taken)
    ]
    if not launches:
        return {}
    settings_by_command = [
        {
            **command.fields,
            **settings_file.read_accelerate(command, find),
            **_find_local_rendezvous(command),
            **read_program(command.words),
        }
        for command in launches
    ]
    first = {
        name: field for name, field in settings_by_command[0].items() if name != "pods_per_replica" and field.origins
    }
    if any(other["launcher"].value != first["launcher"].value for other in settings_by_command):
        return {}
    engine = first["launcher"]
    return {"engine": engine, "launcher": engine} if len(settings_by_command) > 1 else {**first, "engine": engine}


def reading(invocation: Invocation, find: Callable[[str], Origin | None] = lambda name: None) -> Reading | None:
    """Return the trainer that a training launcher starts, with the settings of launcher and
    configuration.
    """
    taken = launchers.unwrap(invocation.arguments)
    is_started = is_training_launch(taken) or (not taken.launchers and taken.words != invocation.arguments)
    trainer = engines.read(invocation._replace(arguments=taken.words)) if is_started else None
    if trainer is None or engines.find_purpose(str(trainer.fields["engine"].value)) != "training":
        return None
    stated = {name: field for name, field in taken.fields.items() if field.origins}
    launched = {**stated, **settings_file.read_accelerate(taken, find), **_find_local_rendezvous(taken)}
    if invocation.sealed and "sharding" not in trainer.fields and _is_one_rank(taken):
        launched.pop("sharding", None)
    return trainer._replace(fields=vocabulary.merge_launcher(trainer.fields, launched))


def _is_one_rank(taken: Launch) -> bool:
    """Return whether Accelerate's launcher is to start one process and nothing else.

    It then reads a file in the user's home, which does not exist in a container with the files of a published image alone.
    """
    step = taken.steps[-1] if taken.steps else None
    if step is None or step.launcher != "accelerate":
        return False
    count = step.last("processes")
    options = ("config_file", "deepspeed_config", "zero_stage", "use_deepspeed", "use_fsdp", "multi_gpu")
    return count is not None and count.text == "1" and not any(step.last(name) for name in options)


def _find_local_rendezvous(command: Launch) -> dict[str, Field]:
    """Return the rendezvous address of a run over several pods, if it is each pod itself."""
    local = processes.rendezvous(command.steps[-1], {}) if command.steps else None
    return {"local_rendezvous": local} if local is not None else {}


def find_program(invocations: Sequence[Invocation]) -> Argument | None:
    """Return the program that runs behind the launchers."""
    behind = ((invocation, launchers.unwrap(invocation.arguments).words) for invocation in invocations)
    return program_name.find_program(
        [invocation._replace(arguments=words or invocation.arguments) for invocation, words in behind]
    )


def is_training_launch(taken: Launch) -> bool:
    """Return True if the innermost launcher is a training launcher."""
    return bool(taken.launchers) and taken.launchers[-1] in TRAINERS


def read_program(words: Sequence[Argument]) -> dict[str, Field]:
    """Return the program that words start."""
    own = tuple(words[1:] if words and words[0].text in AS_MODULE else words)
    if not own:
        return {}
    name = program_name.find_program([Invocation(Argument(None, own[0].origin), own, {}, entrypoint=False)])
    return {"program": Field(name.text, (name.origin,))} if name and name.text else {}
