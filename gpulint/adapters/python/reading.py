"""Reading: what a Python program of the repository computes on GPUs, from the command that starts it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from gpulint.adapters.programs import python_program
from gpulint.adapters.programs.python_program import Started
from gpulint.adapters.python import (
    alternatives,
    inference,
    locate,
    loops,
    releases,
    serving,
    training,
    variables,
)
from gpulint.adapters.python.finding import Find
from gpulint.adapters.python.words import Reader, Slot
from gpulint.adapters.trainers import settings_file
from gpulint.engines import Argument, Reading
from gpulint.source import python
from gpulint.source.documents import Document
from gpulint.source.python import Evaluated, Given
from gpulint.source.python.values import Constant, Object, Place, Point
from gpulint.source.repository import Repository
from gpulint.workload import Command, Field, Origin, Unknown

KNOWN: Mapping[str, bool] = {
    "torch.cuda.is_available": True,
    "torch.backends.mps.is_available": False,
    "torch.xpu.is_available": False,
    "transformers.utils.is_torch_npu_available": False,
    "transformers.is_torch_npu_available": False,
}
"""What a program finds on a machine with GPUs of NVIDIA or AMD."""
ANOTHER = Unknown("the program starts several engines with different settings", "own program")
KEPT_MAX = 8
_points: dict[int, tuple[Evaluated, tuple[Point, ...]]] = {}
"""The points that matter of the last programs."""
_evaluated: dict[object, tuple[Find, Evaluated]] = {}
"""The last programs, by what starts them."""


def read(command: Command, near: str, repository: Repository) -> Reading | None:
    """Return what the program of a command computes; None if it is not in the repository, or computes nothing known."""
    started = python_program.find(command.words)
    path = command.program or (locate.find(started, near, repository) if started is not None else None)
    if started is None or path is None:
        return None
    slots: dict[Slot, Argument] = {Slot("word", str(at)): word for at, word in enumerate(started.words)}
    slots |= {Slot("variable", name): word for name, word in command.environment.items()}
    evaluated = _evaluate(path, started, command, repository)
    reader = Reader(started.word.origin, slots)
    pins = releases.read_files(path, repository)

    def read_again(ways: alternatives.Ways) -> Reading | None:
        again = _evaluate(path, started, command, repository, ways)
        found = recognise(again, reader, started.word, command, pins)
        return merge_files(found, path, repository) if found is not None else None

    reading = recognise(evaluated, reader, started.word, command, pins)
    if reading is None:
        return None
    merged = merge_files(reading, path, repository)
    return alternatives.settle(merged, find_points(merged, evaluated, read_again), read_again)


def find_points(reading: Reading, evaluated: Evaluated, read_again: alternatives.Read) -> tuple[Point, ...]:
    """Return the points of a program that matter, found once."""
    known = _points.pop(id(evaluated), None)
    if known is None or known[0] is not evaluated:
        known = evaluated, alternatives.find_points(reading, evaluated, read_again)
    _points[id(evaluated)] = known
    while len(_points) > KEPT_MAX:
        del _points[next(iter(_points))]
    return known[1]


def computes(command: Command, near: str, repository: Repository) -> bool:
    """Return whether the program of a command is in the repository and computes on GPUs."""
    started = python_program.find(command.words)
    path = locate.find(started, near, repository) if started is not None else None
    if started is None or path is None:
        return False
    evaluated = _evaluate(path, started, command, repository)
    pins = releases.read_files(path, repository)
    return recognise(evaluated, Reader(started.word.origin), started.word, command, pins) is not None


def _evaluate(
    path: str,
    started: Started,
    command: Command,
    repository: Repository,
    ways: alternatives.Ways | None = None,
) -> Evaluated:
    """Return an evaluated program; one whose files, words and variables are the same is evaluated once."""
    module = started.path if started.imported else "__main__"
    words = tuple((word.text, word.why) for word in started.words)
    stated = tuple(sorted((name, word.text, word.why) for name, word in command.environment.items()))
    key = (path, module, words, stated, command.open_environment, tuple((ways or {}).items()))
    known = _evaluated.pop(key, None)
    if known is None or not known[0].is_same(repository):
        find = Find(repository)
        evaluated = python.evaluate(
            path,
            find,
            [Given(text, Slot("word", str(at)), why) for at, (text, why) in enumerate(words)],
            {name: Given(text, Slot("variable", name), why) for name, text, why in stated},
            open_environment=command.open_environment,
            known=KNOWN,
            module=module,
            ways=ways,
            unstated=variables.Unstated(path, find.read),
        )
        if ways is not None:
            return evaluated
        known = find, evaluated
    _evaluated[key] = known
    while len(_evaluated) > KEPT_MAX:
        del _evaluated[next(iter(_evaluated))]
    return known[1]


def is_engineless(reading: Reading) -> bool:
    """Return whether a program runs a model itself, as one that only downloads it may seem to do."""
    task = reading.fields.get("task")
    return task is not None and task.value == "inference"


def recognise_calls(
    calls: Sequence[Object], document: Document, pins: releases.Pins, stated: Mapping[str, Given] | None = None
) -> Reading | None:
    """Return what some calls of a program compute that nothing here starts; `stated` are the variables that it sets."""
    at = Argument(document.path.rpartition("/")[2], Origin(document, (), (0, 0)))
    return _recognise(calls, Reader(), at, Command(at._replace(text=None), (at,), {}, True), pins, stated)


def recognise(
    evaluated: Evaluated, reader: Reader, program: Argument, command: Command, pins: releases.Pins
) -> Reading | None:
    """Return what the calls of a program compute: those that it reaches, else those of its functions."""
    for calls in _list_sets(evaluated):
        if (found := _recognise(calls, reader, program, command, pins, evaluated.list_variables())) is not None:
            return None if _may_train(found, evaluated, reader, program, command) else found
    return None


def _may_train(found: Reading, evaluated: Evaluated, reader: Reader, program: Argument, command: Command) -> bool:
    """Return whether a word that cannot be read may choose a trainer instead of the model that the program runs."""
    if not is_engineless(found) or all(word.text is not None for word in command.words):
        return False
    evaluated.enter_rest()
    return training.read(evaluated.calls, reader, program, command) is not None


def _recognise(
    calls: Sequence[Object],
    reader: Reader,
    program: Argument,
    command: Command,
    pins: releases.Pins,
    stated: Mapping[str, Given] | None = None,
) -> Reading | None:
    found = (
        training.read(calls, reader, program, command)
        or _serve(calls, reader, command, pins, stated or {})
        or inference.read(calls, reader)
    )
    return _mark_defaults(found, calls) if found is not None else None


def _list_sets(evaluated: Evaluated) -> Iterator[list[Object]]:
    """Yield the calls that a program reaches, and then those of its other functions as well."""
    yield [call for call in evaluated.calls if call.reached]
    evaluated.enter_rest()
    yield list(evaluated.calls)


def _serve(
    calls: Sequence[Object],
    reader: Reader,
    command: Command,
    pins: releases.Pins,
    exported: Mapping[str, Given],
) -> Reading | None:
    """Return the engine that a program starts; of several, what they have in common.

    The variables of the command count, and those that the program sets itself.
    """
    image = command.image._replace(text="") if command.image.text is None else command.image
    started = python_program.find(command.words)
    given = started.words if started is not None else ()
    own = {
        name: reader.word(Constant(variable.text), variable.place)
        for name, variable in exported.items()
        if name not in command.environment and variable.text is not None
    }
    read = serving.read(calls, reader, image, {**command.environment, **own}, pins, given)
    found = {(call.place, _name_model(reading)): reading for call, reading in read}
    named = {place for place, model in found if model}
    found = {key: reading for key, reading in found.items() if key[1] or key[0] not in named}
    if not found:
        return None
    first, *others = found.values()
    if any(other.fields.get("engine", Field(None)).value != first.fields["engine"].value for other in others):
        return Reading({"engine": Field(ANOTHER, first.fields["engine"].origins)}, None, ANOTHER.reason)
    fields = dict(first.fields)
    for name in dict.fromkeys(name for reading in found.values() for name in reading.fields):
        stated = [reading.fields.get(name) for reading in found.values()]
        if any(field is None or field.value != (stated[0] or Field(None)).value for field in stated):
            fields[name] = Field(ANOTHER, next(field.origins for field in stated if field is not None))
    return first._replace(fields=fields)


def _name_model(reading: Reading) -> str:
    """Return the model that an engine serves; empty if it is open."""
    stated = reading.fields.get("checkpoint", Field(None)).value
    return stated if isinstance(stated, str) else ""


def _mark_defaults(reading: Reading, calls: Sequence[Object]) -> Reading:
    """Return a reading whose fields say which variable or flag could replace the default that they rest on."""
    defaults: dict[tuple[object, object], str] = {}
    for call in calls:
        for value in (*call.arguments, *call.keywords.values(), *call.attributes.values()):
            if not isinstance(value, Constant) or not isinstance(value.place, Place):
                continue
            place = value.place.document.path, value.place.span
            if variables.is_file(value.place.document):
                defaults[place] = variables.ASSUMED.format(place[0].rpartition("/")[2])
            elif value.name:
                defaults[place] = f"the program's default is used; {value.name} can replace it"
    if not defaults:
        return reading
    fields = {}
    for name, field in reading.fields.items():
        found = next(
            (defaults[key] for origin in field.origins if (key := (origin.document.path, origin.span)) in defaults), ""
        )
        fields[name] = replace(field, assumption=found, basis="open") if found and not field.assumption else field
    return reading._replace(fields=fields)


def merge_files(reading: Reading, path: str, repository: Repository) -> Reading:
    """Return a reading with the settings files that the program names, such as DeepSpeed's."""

    def find(name: str) -> Origin | None:
        return settings_file.find_in_parents(repository, path.rpartition("/")[0], name)

    merged = settings_file.merge_trainer_files(reading, find) or reading
    return (
        merged._replace(fields=loops.drop_compared_batch(merged.fields))
        if loops.loads_for_deepspeed(reading)
        else merged
    )
