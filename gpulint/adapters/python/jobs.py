"""Jobs: work that a program hands to SkyPilot, Azure ML, Vertex AI, SageMaker, Kubeflow or RunPod, with its machines."""

from __future__ import annotations

import functools
import posixpath
import re
from collections.abc import Iterator, Mapping

from gpulint.adapters.nodes import machine_types
from gpulint.adapters.platforms import gpu_spec_strings, task
from gpulint.adapters.platforms.gpu_spec_strings import Choice
from gpulint.adapters.programs import container_command, python_program, replica
from gpulint.adapters.programs.container_command import Environment, Script
from gpulint.adapters.python import job_calls, reading, releases, serving
from gpulint.adapters.python.hardware import list_nodes
from gpulint.adapters.python.job_calls import Job
from gpulint.adapters.python.words import Reader, is_nothing, list_words, make_field, read_text
from gpulint.adapters.trainers import settings_file
from gpulint.engines import Argument, Invocation, Reading
from gpulint.source.documents import Document
from gpulint.source.python import Evaluated
from gpulint.source.python.values import Class, Constant, Function, Items, Object, Value
from gpulint.source.python.values import Mapping as Entries
from gpulint.source.repository import Repository
from gpulint.workload import Command, Field, Role, Unknown

CLOUDS = ("aws", "azure", "gcp")
RAY = "ray"
MACHINE = "any host"
PREFIX = "ml."
"""SageMaker's own mark before a machine type of EC2."""
PRODUCT = "cloud.google.com/gke-accelerator"
"""Vertex AI writes in capitals what labels of nodes write in small letters."""
INPUT = re.compile(r"\$\{\{ ?inputs\.(?P<name>\w+) ?\}\}")
"""learn.microsoft.com/azure/machine-learning/reference-yaml-job-command: what a command says for an input of the job."""
ONE = Field(1, source="one machine unless stated otherwise", basis="open")
FLAG = "-"
NESTED_MAX = 2
CHOICES_MAX = 32


def list_roles(document: Document, evaluated: Evaluated, name: str, repository: Repository) -> Iterator[Role]:
    """Yield a role for each job of a program that certainly gets GPUs, or whose work is known to need some."""
    jobs = list(job_calls.find([call for call in evaluated.calls if call.reached]))
    if any(isinstance(job.find("function"), Function | Class) for job in jobs):
        evaluated.enter_rest()
    for job in jobs:
        role = _read_role(job, document, evaluated, name, repository)
        if role is not None:
            yield role


def _read_role(job: Job, document: Document, evaluated: Evaluated, name: str, repository: Repository) -> Role | None:
    reader = Reader()
    counts = _read_machines(job, reader)
    if counts is None:
        return None
    anchor = reader.word(Constant(job.call.name, job.call.place), job.call.place).origin
    title = read_text(job.find("name")) or name
    if job.row["engine"]:
        pins = releases.read_files(document.path, repository)
        return _read_engine(job, Role(title, anchor, counts), reader, pins)
    role = _read_work(job, document, evaluated, Role(title, anchor, counts), repository)
    if role.text("engine") or role.text("task"):
        return role
    if isinstance(counts["gpus_per_pod"].value, Unknown) or isinstance(counts["accelerator"].value, Unknown):
        return role if isinstance(counts["gpus_per_pod"].value, int) else None
    return role


def _read_engine(job: Job, role: Role, reader: Reader, pins: releases.Pins) -> Role | None:
    """Return an engine that the platform starts with settings of the engine's own names."""
    settings = job.find("settings")
    entries = (
        settings.entries if isinstance(settings, Entries) else settings.keywords if isinstance(settings, Object) else {}
    )
    given = Object(job.call.name, job.call.place, [], {str(name): value for name, value in entries.items()})
    found = serving.read_settings(job.row["engine"], job.find("model"), given, reader, pins)
    if found is None:
        return None
    left_open = settings is not None and not isinstance(settings, Entries | Object)
    role = _apply(role, found._replace(open_ended="the program computes the settings at run time" if left_open else ""))
    return role if job.platform != RAY else _count_ranks(role)


def _count_ranks(role: Role) -> Role:
    """Return a role with one GPU for each rank, as Ray places them."""
    sizes = [role.fields.get(name, Field(1)) for name in ("tensor_parallel", "pipeline_parallel")]
    ranks = replica.product(*sizes)
    spread = Unknown("the Ray cluster decides how many ranks run on a node", MACHINE)
    one = ranks.value == 1
    return role.having(
        gpus_per_replica=ranks,
        gpus_per_pod=Field(1 if one else spread, ranks.origins or (role.anchor,)),
        pods_per_replica=Field(1 if one else spread, ranks.origins or (role.anchor,)),
    )


# ---- machines


def _read_machines(job: Job, reader: Reader) -> dict[str, Field] | None:
    """Return the machines of a job; None if they certainly have no GPU."""
    stated = _read_gpus(job, reader)
    if stated.get("gpus_per_pod", Field(1)).value in (0, None):
        return None
    left = Unknown("the machine depends on the platform", MACHINE)
    at = (reader.word(Constant(job.call.name, job.call.place), job.call.place).origin,)
    fields = {"gpus_per_pod": Field(left, at), "accelerator": Field(left, at), **stated}
    nodes = _add(job, "nodes", reader)
    fields["pods_per_replica"] = nodes
    fields["replicas"] = _count_replicas(job, reader)
    return {**fields, "gpus_per_replica": replica.product(fields["gpus_per_pod"], nodes)}


def _count_replicas(job: Job, reader: Reader) -> Field:
    stated = job.find("replicas")
    if stated is None:
        return Field(1, source="one run or replica unless stated otherwise")
    field = make_field(reader, stated, job.call.place)
    return (
        field
        if isinstance(field.value, int)
        else Field(Unknown("the platform decides the number of replicas"), field.origins)
    )


def _read_gpus(job: Job, reader: Reader) -> dict[str, Field]:
    """Return the accelerator and the GPUs of one machine, as far as the job states them."""
    machine, product, count = (job.find(name) for name in ("machine", "accelerator", "gpus"))
    number = _read_count(count, job, reader)
    if job.platform in CLOUDS:
        return _read_cloud(job, machine, product, number, reader)
    if product is not None:
        return {**_read_products(job, product, reader), **({"gpus_per_pod": number} if number is not None else {})}
    if machine is not None:
        return _read_cloud(job, machine, None, None, reader)
    return {"gpus_per_pod": number} if number is not None else {}


def _read_count(value: Value | None, job: Job, reader: Reader) -> Field | None:
    if value is None:
        return None
    field = make_field(reader, value, job.call.place)
    text = field.value
    return Field(int(text), field.origins) if isinstance(text, str) and text.isdecimal() else field


def _read_cloud(
    job: Job, machine: Value | None, product: Value | None, count: Field | None, reader: Reader
) -> dict[str, Field]:
    """Return the GPUs of a cloud's machine type, or those that are attached to it."""
    if machine is None and product is None:
        return {}
    kind = make_field(reader, machine, job.call.place) if machine is not None else None
    if kind is not None and isinstance(kind.value, str):
        kind = Field(kind.value.removeprefix(PREFIX), kind.origins)
    attached = make_field(reader, product, job.call.place) if product is not None else None
    if attached is not None and isinstance(attached.value, str):
        attached = Field(attached.value.lower().replace("_", "-"), attached.origins)
    accelerator, gpus = machine_types.find_accelerator(kind, attached, count, job.platform)
    if attached is not None and count is None:
        gpus = Field(1, accelerator.origins, source="one GPU unless stated otherwise")
    return {"accelerator": accelerator, "gpus_per_pod": gpus or Field(accelerator.value, accelerator.origins)}


def _read_products(job: Job, value: Value, reader: Reader) -> dict[str, Field]:
    """Return `"A100:8"`, a list of such names, or a dict of names and counts."""
    choices = list(_list_choices(job, value, reader))
    if not choices:
        return {}
    cloud = read_text(_find_cloud(job)) or ""
    return gpu_spec_strings.fields(job.platform, choices, cloud.lower())


def _find_cloud(job: Job) -> Value | None:
    owner = job.call.get("resources")
    return owner.get("infra") if isinstance(owner, Object) else None


def _list_choices(job: Job, value: Value, reader: Reader, depth: int = 0) -> Iterator[Choice]:
    if depth > NESTED_MAX:
        return
    if isinstance(value, Items):
        for item in value.items[:CHOICES_MAX]:
            yield from _list_choices(job, item, reader, depth + 1)
    elif isinstance(value, Entries):
        for name, number in value.entries.items():
            count = make_field(reader, number, job.call.place)
            place = reader.origins(number, job.call.place)
            yield Choice(str(name), place[0], count.value, count.origins)
    elif text := read_text(value):
        name, _, written = text.partition(":")
        unread = Unknown(f"the count {written} is not a number")
        known = int(written) if written.isdecimal() else unread if written else 1
        yield Choice(name.strip(), reader.origins(value, job.call.place)[0], known)


def _add(job: Job, column: str, reader: Reader) -> Field:
    """Return the machines of a job: of several pools, their sum."""
    stated = job.find_each(column)
    if not stated:
        return ONE
    fields = [make_field(reader, value, job.call.place) if value is not None else ONE for value in stated]
    whole = [field.value for field in fields if isinstance(field.value, int)]
    origins = tuple(origin for field in fields for origin in field.origins)
    if len(whole) < len(fields):
        return next(field for field in fields if not isinstance(field.value, int))
    return Field(sum(whole), origins, source="" if origins else ONE.source)


# ---- work


def _read_pins(job: Job) -> releases.Pins:
    """Return the releases that a job installs before it starts its work."""
    return releases.read_texts([job.call.get("setup"), job.call.get("packages_to_install")], job.call)


def _read_work(job: Job, document: Document, evaluated: Evaluated, role: Role, repository: Repository) -> Role:
    """Return a role with what its job runs: a function of the program, a script, a command, or what the image starts."""
    function = job.find("function")
    if isinstance(function, Function | Class):
        nodes = frozenset(list_nodes(function))
        inside = [call for call in evaluated.calls if nodes & set(call.within)]
        return _apply(role, reading.recognise_calls(inside, document, _read_pins(job)))
    near = posixpath.normpath(posixpath.join(posixpath.dirname(document.path), _read_folder(job), "x"))
    invocations = _list_invocations(job, near, repository)
    readings = task.read(invocations)
    if readings:
        return next(task.roles(role.name, role.anchor, role.fields, readings, invocations), role)
    command = python_program.choose(invocations) or _build_command(job)
    found = reading.read(command, near, repository) if command is not None else None
    model = job.find("model")
    if found is None and model is not None:
        found = reading.recognise_calls(evaluated.calls, document, _read_pins(job))
        found = found and found._replace(fields={**found.fields, **_read_model(job, model)})
    named = task.program(invocations, role.anchor) if invocations and found is None else {}
    return _apply(role.having(**named), found)


def _read_model(job: Job, model: Value) -> dict[str, Field]:
    field = make_field(Reader(), model, job.call.place)
    return {
        "checkpoint": Field(field.value.removeprefix("hf://"), field.origins) if isinstance(field.value, str) else field
    }


def _apply(role: Role, found: Reading | None) -> Role:
    if found is None:
        return role.having(program=role.fields.get("program", Field(role.name, (role.anchor,))))
    own = {name: field for name, field in found.fields.items() if name not in role.fields}
    kept = {name: field for name, field in role.fields.items() if name != "program"}
    return Role(role.name, role.anchor, {**own, **kept}, open_ended=found.open_ended)


def _read_folder(job: Job) -> str:
    text = read_text(job.find("folder"))
    return text if text and "://" not in text and not text.startswith("/") else ""


def _list_invocations(job: Job, near: str, repository: Repository) -> list[Invocation]:
    """Return the programs that the command of a job starts in its image."""
    reader = Reader()
    place = job.call.place
    image_value = job.find("image")
    pins = _read_pins(job)
    at = reader.word(Constant(job.call.name, place), place)
    image = (
        reader.word(image_value, place)
        if image_value is not None
        else at._replace(text=None, why="the platform's image")
    )
    if image_value is None and pins:
        image = next(iter(pins.values()))
    environment = Environment()
    stated = job.find("environment")
    for name, value in stated.entries.items() if isinstance(stated, Entries) else ():
        environment[str(name)] = reader.word(value, place)
    command, arguments = job.find("command"), job.find("arguments")
    further = tuple(list_words(arguments, reader, place) or ()) if arguments is not None else ()
    text = _fill(command, job)
    if text is not None and not text.startswith(FLAG):
        origin = reader.word(command or Constant(text, place), place).origin
        found = container_command.expand_script(image, Script(text, lambda start, end: origin), environment, further)
    else:
        words = tuple(list_words(command, reader, place) or ()) if command is not None else ()
        own = not words or text is not None
        written = _write_script
        found = container_command.programs(image, (*words, *further), environment, written, image_program=own)
    find = functools.partial(settings_file.find_in_parents, repository, posixpath.dirname(near))
    return [settings_file.expand(invocation, find) for invocation in found]


def _write_script(word: Argument) -> Script:
    return Script(word.text or "", lambda start, end: word.origin)


def _fill(command: Value | None, job: Job) -> str | None:
    """Return a command that is one text, with the inputs of the job in it."""
    if not isinstance(command, Constant) or not isinstance(command.value, str):
        return None
    inputs = job.find("inputs")
    given: Mapping[object, Value] = inputs.entries if isinstance(inputs, Entries) else {}

    def replace(match: re.Match[str]) -> str:
        value = given.get(match["name"])
        return str(value.value) if isinstance(value, Constant) else f"${match['name']}"

    return INPUT.sub(replace, command.value)


def _build_command(job: Job) -> Command | None:
    """Return the command of a job that names a script, with its parameters as flags."""
    script = job.find("script")
    if script is None or read_text(script) is None:
        return None
    reader, place = Reader(), job.call.place
    at = reader.word(script, place)
    parameters, arguments = job.find("parameters"), job.find("arguments")
    flags: list[Argument] = list(list_words(arguments, reader, place) or ()) if arguments is not None else []
    for name, value in parameters.entries.items() if isinstance(parameters, Entries) else ():
        if not is_nothing(value):
            flags.append(reader.pair(f"--{name}", value, place))
    return Command(at._replace(text=None), (at._replace(text="python"), at, *flags), {}, open_environment=True)
