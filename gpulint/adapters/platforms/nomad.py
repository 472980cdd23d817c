"""Nomad: the tasks of a job, their GPUs by device blocks, and what their drivers start."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from gpulint.adapters.claim import Claim
from gpulint.adapters.objects import embedded
from gpulint.adapters.platforms import task
from gpulint.adapters.programs import container_command, nccl_variables, replica, slurm
from gpulint.adapters.programs.container_command import Environment
from gpulint.adapters.trainers import settings_file
from gpulint.catalog import hardware
from gpulint.engines import Argument, Invocation
from gpulint.source.documents import Document, Path
from gpulint.source.repository import Repository
from gpulint.workload import Container, Field, Origin, Role, Unknown, Workload

MENTIONS = ("job ", "nomad_job", "job\t")
TRIGGERS = ("nvidia/gpu", "amd/gpu")
READS = ("hcl",)

DEVICE = re.compile(r"(?:(?P<vendor>[\w.-]+)/)?gpu(?:/(?P<model>.+))?")
"""The name of a device block: type, vendor/type or vendor/type/model (Nomad 1.10, jobspec device block)."""
VARIABLE = re.compile(r"\$\{(?:var|local)\.(?P<name>[\w-]+)\}")
ENVIRONMENT_LINE = re.compile(r"(?m)^[ \t]*(?P<name>[A-Za-z_]\w*)[ \t]*=[ \t]*(?P<value>[^\r\n]*?)[ \t]*$")
MODEL = "${device.model}"
MEMORY = "${device.attr.memory}"
SCHEDULER = "queue or partition"
FILES_MAX = 20


def claims(document: Document) -> Claim:
    """Claim HCL with a job of groups or tasks, and Terraform that registers jobs."""
    jobs = document.get(("job",))
    own = isinstance(jobs, dict) and any(
        isinstance(job, dict) and {"group", "task"} & job.keys() for job in jobs.values()
    )
    return Claim.EXACT.where(own or isinstance(document.get(("resource", "nomad_job")), dict))


def kind(document: Document) -> str:
    return "Nomad job" if document.get(("job",)) is not None else "Terraform"


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    """Yield one workload for each group of tasks that has GPUs or starts an engine."""
    values = _list_values(document, repository)
    for jobs in (document, *_find_embedded(document)):
        for job in _names(jobs, ("job",)):
            yield from _read_job(jobs, ("job", job), values, repository)


def _find_embedded(document: Document) -> Iterator[Document]:
    """Yield the jobs that Terraform's provider registers from a here-document."""
    for name in _names(document, ("resource", "nomad_job")):
        node = document.node(("resource", "nomad_job", name, "jobspec"))
        raw = document.text[node.start : node.end] if node is not None else ""
        if node is not None and raw.startswith("<<"):
            first, last = raw.find("\n") + 1, raw.rstrip().rfind("\n") + 1
            if inner := embedded.load_hcl(document, node.start + first, node.start + max(last, first)):
                yield inner


def _names(document: Document, path: Path) -> list[str]:
    found = document.get(path)
    return [name for name, value in found.items() if isinstance(value, dict)] if isinstance(found, dict) else []


def _read_job(
    document: Document, path: Path, values: Mapping[str, Argument], repository: Repository
) -> Iterator[Workload]:
    groups = [(*path, "group", name) for name in _names(document, (*path, "group"))] or [path]
    for group in groups:
        roles = tuple(
            role
            for name in _names(document, (*group, "task"))
            for role in _read_task(document, group, (*group, "task", name), values, repository)
        )
        if roles:
            own = f"{path[-1]}/{group[-1]}" if len(groups) > 1 else str(path[-1])
            yield Workload(own, task.purpose(roles), "nomad", document, group, roles, Origin(document, group))


def _read_task(
    document: Document, group: Path, path: Path, values: Mapping[str, Argument], repository: Repository
) -> Iterator[Role]:
    anchor = Origin(document, path)
    given = _read_device(document, path, anchor)
    variables = _read_environment(document, path, values)
    invocations = tuple(_read_invocations(document, path, variables, values))
    folder = posixpath.dirname(document.path)
    readings = task.read(invocations, lambda name: settings_file.find_in_parents(repository, folder, name))
    if "gpus_per_pod" not in given and not readings:
        return
    gpus = given.setdefault(
        "gpus_per_pod", Field(Unknown("the task requests no GPU by a device block", "any host"), (anchor,))
    )
    if gpus.value == 0:
        return
    count = replica.count(document, (*group, "count"), 1, "default of Nomad")
    fields = {
        **given,
        "pods_per_replica": Field(1, source="one task on one machine"),
        "gpus_per_replica": gpus,
        "replicas": count,
        "service_links": Field(False, source="Nomad"),
        **nccl_variables.fields(variables),
    }
    fields.setdefault(
        "accelerator", Field(Unknown("the accelerator depends on the node that Nomad chooses", SCHEDULER), (anchor,))
    )
    if readings and readings[0][0].fields.get("engine", Field(None)).value == "ollama":
        fields |= _read_pulled(document, path, values)
    program = {} if readings else task.program(invocations, anchor)
    container = _read_container(document, path, variables, values)
    for role in task.roles(str(path[-1]), anchor, {**fields, **program}, readings, invocations):
        yield replace(role, container=container)


# ---- GPUs


def _read_device(document: Document, path: Path, anchor: Origin) -> dict[str, Field]:
    """Return the count and the model of a device block, or all GPUs for Docker's NVIDIA runtime."""
    resources = next(replica.items(document, (*path, "resources")), None)
    names = _names(document, (*resources, "device")) if resources else []
    for name in names:
        place = (*resources, "device", name) if resources else path
        match = DEVICE.fullmatch(name)
        if match is None:
            continue
        count = replica.count(document, (*place, "count"), 1, "default of Nomad")
        origins = count.origins or (Origin(document, place),)
        fields = {"gpus_per_pod": Field(count.value, origins, source=count.source)}
        return {**fields, **_read_model(document, place, match["model"] or "")}
    runtime = next((Origin(document, (*item, "runtime")) for item in replica.items(document, (*path, "config"))), None)
    if runtime is not None and document.get(runtime.path) == "nvidia":
        every = Unknown("the container gets every GPU of the machine, and their number is not stated", "any host")
        return {"gpus_per_pod": Field(every, (runtime,))}
    return {}


def _read_model(document: Document, place: Path, model: str) -> dict[str, Field]:
    """Return the accelerator that a device block or one of its constraints names."""
    named = [(model, Origin(document, place))] if model else []
    for constraint in replica.items(document, (*place, "constraint")):
        value = document.get((*constraint, "value"))
        operator = str(document.get((*constraint, "operator")) or "=")
        if (
            document.get((*constraint, "attribute")) == MODEL
            and isinstance(value, str)
            and operator in ("=", "==", "is")
        ):
            named.append((value, Origin(document, (*constraint, "value"))))
        elif document.get((*constraint, "attribute")) == MEMORY:
            wanted = f"any GPU with memory {operator} {value}"
            unknown = Field(Unknown(f"{wanted} is requested", SCHEDULER), (Origin(document, constraint),))
            if not named:
                return {"accelerator": unknown}
    for name, origin in named:
        product = slurm.find_accelerator(name) or next(iter(hardware.find_in_name(name)), None)
        value = product or slurm.identify_type(name)
        return {"accelerator": Field(value, (origin,))}
    return {}


# ---- what it starts


def _list_values(document: Document, repository: Repository) -> dict[str, Argument]:
    """Return the defaults of the variables of a job, in its file or in one beside it."""
    siblings = repository.read_siblings(document.path) if document.path else ()
    found: dict[str, Argument] = {}
    documents = [document]
    for number, source in enumerate(siblings):
        if number >= FILES_MAX:
            break
        if source.path.endswith((".tf", ".hcl")) and b"variable" in source.content:
            documents += repository.read_documents(source.path)
    for one in documents:
        for name in _names(one, ("variable",)):
            place = Origin(one, ("variable", name, "default"))
            value = one.get(place.path)
            if isinstance(value, str | int | float) and "${" not in str(value):
                found.setdefault(name, Argument(str(value), place))
        for local in replica.items(one, ("locals",)):
            for name, value in (one.get(local) or {}).items():  # type: ignore[attr-defined]
                if isinstance(value, str | int | float) and "${" not in str(value):
                    found.setdefault(name, Argument(str(value), Origin(one, (*local, name))))
    return found


def _read_word(document: Document, path: Path, values: Mapping[str, Argument]) -> Argument:
    """Return a text with the defaults of its variables; what Nomad fills in stays unknown."""
    value, origin = document.get(path), Origin(document, path)
    text = str(value) if isinstance(value, str | int | float) else ""
    names = [match["name"] for match in VARIABLE.finditer(text)]
    if all(name in values for name in names):
        text = VARIABLE.sub(lambda match: values[match["name"]].text or "", text)
    if "${" in text or "{{" in text:
        return Argument(None, origin, f"{text} is filled in by Nomad", category="platform variable")
    behind = values[names[0]].origin if len(names) == 1 else None
    return Argument(text, origin, behind=behind)


def _read_environment(document: Document, path: Path, values: Mapping[str, Argument]) -> Environment:
    """Return the variables of a task: its env blocks, and the templates that become variables."""
    variables = Environment()
    for block in replica.items(document, (*path, "env")):
        for name in document.get(block) or {}:  # type: ignore[attr-defined]
            variables[name] = _read_word(document, (*block, name), values)
    for template in replica.items(document, (*path, "template")):
        data = document.get((*template, "data"))
        if document.get((*template, "env")) not in (True, "true") or not isinstance(data, str):
            continue
        place = Origin(document, (*template, "data"))
        for match in ENVIRONMENT_LINE.finditer(data):
            value = match["value"].strip("\"'")
            unread = Argument(None, place, f"{match['name']} is filled in by a template", category="platform variable")
            variables.setdefault(match["name"], unread if "{{" in value or "${" in value else Argument(value, place))
    return variables


def _read_invocations(
    document: Document, path: Path, variables: Environment, values: Mapping[str, Argument]
) -> Iterator[Invocation]:
    for config in replica.items(document, (*path, "config")):
        image_path = (*config, "image")
        image = (
            _read_word(document, image_path, values)
            if document.get(image_path) is not None
            else Argument(None, Origin(document, image_path), "no image")
        )
        stated = [key for key in ("entrypoint", "command", "args") if document.get((*config, key)) is not None]
        words = tuple(word for key in stated for word in _read_words(document, (*config, key), values))
        own = not {"entrypoint", "command"} & set(stated) and image.text is not None
        yield from container_command.programs(image, words, variables, _read_script, image_program=own)


def _read_container(
    document: Document, path: Path, variables: Environment, values: Mapping[str, Argument]
) -> Container | None:
    """Return how Docker starts a task's image: its own entry point, and the words in place of the image's command."""
    for config in replica.items(document, (*path, "config")):
        if document.get((*config, "image")) is None:
            continue
        words = {key: _read_words(document, (*config, key), values) for key in ("entrypoint", "command", "args")}
        command = (*words["command"], *words["args"])
        folder = document.get((*config, "work_dir"))
        return Container(
            _read_word(document, (*config, "image"), values),
            words["entrypoint"] or None,
            command or None,
            variables,
            folder=folder if isinstance(folder, str) else "",
        )
    return None


def _read_words(document: Document, path: Path, values: Mapping[str, Argument]) -> tuple[Argument, ...]:
    listed = document.get(path)
    places = [(*path, at) for at in range(len(listed))] if isinstance(listed, list) else [path]
    return tuple(_read_word(document, place, values) for place in places) if listed is not None else ()


def _read_script(word: Argument) -> container_command.Script:
    """Return the script in an argument, for its shell to expand."""
    text = word.origin.document.get(word.origin.path)
    return container_command.Script(
        text if isinstance(text, str) else "", lambda start, end: word.origin._replace(span=(start, end))
    )


def _read_pulled(document: Document, path: Path, values: Mapping[str, Argument]) -> dict[str, Field]:
    """Return the model that an action of the task pulls into Ollama; of several, the first."""
    for name in _names(document, (*path, "action")):
        place = (*path, "action", name, "args")
        listed = document.get(place)
        if isinstance(listed, list) and len(listed) == 2 and listed[0] in ("pull", "run"):
            word = _read_word(document, (*place, 1), values)
            if word.text:
                return {"checkpoint": Field(word.text, (word.origin, word.behind) if word.behind else (word.origin,))}
    return {}
