"""Ansible: tasks and plays that start containers or commands on GPUs, with plain look-ups of variables filled in."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from gpulint.adapters.claim import Claim
from gpulint.adapters.programs.process import Reader
from gpulint.adapters.scripts import alternatives, ansible_variables, gpu_programs, started_workloads
from gpulint.source import excess, shell
from gpulint.source.documents import Document, Node, Path
from gpulint.source.recipes.translated import HOLE, RECIPES_MAX, Builder, Translated
from gpulint.source.repository import Repository
from gpulint.workload import Origin, Workload

MENTIONS = (
    "docker_container",
    "podman_container",
    "ansible.builtin.shell",
    "ansible.builtin.command",
    "hosts:",
    "shell:",
)
TRIGGERS = ()
READS = ("plain",)
CLAIMS = ("shape",)

CONTAINERS = {
    "community.docker.docker_container": "docker",
    "community.general.docker_container": "docker",
    "docker_container": "docker",
    "containers.podman.podman_container": "podman",
    "podman_container": "podman",
}
COMMANDS = frozenset({"shell", "command", "ansible.builtin.shell", "ansible.builtin.command"})
LISTS = ("tasks", "pre_tasks", "post_tasks", "handlers", "block", "rescue", "always")
"""Keys of plays and blocks that hold tasks."""
OPTIONS = {
    "name": "--name",
    "shm_size": "--shm-size",
    "ipc_mode": "--ipc",
    "ipc": "--ipc",
    "runtime": "--runtime",
    "memory": "--memory",
}
"""Keys of a container and the options of `docker run` that they stand for (community.docker.docker_container)."""
DEPTH_MAX = 6


class Task(NamedTuple):
    """A task: its path, its module and the play or file that holds it."""

    path: Path
    module: str
    play: Mapping[str, object]


def claims(document: Document) -> Claim:
    """Claim a list of plays or tasks."""
    data = document.data
    if not isinstance(data, list) or not data or not all(isinstance(item, dict) for item in data):
        return Claim.NONE
    plays = all("hosts" in item and item.keys() & {*LISTS, "roles"} for item in data)
    return Claim.SHAPE.where(plays or any(True for _ in _list_tasks(document)))


def kind(document: Document) -> str:
    return "Ansible tasks"


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    """Yield what each task starts on GPUs."""
    text = document.text
    inner = Document(document.path, document.index, text, Node("scalar", 0, len(text), text), "shell", text)
    for number, task in enumerate(_list_tasks(document)):
        if excess.is_over(number + 1, RECIPES_MAX, "an Ansible file has more than {} tasks"):
            return
        variables = ansible_variables.read(document, repository, task.play)
        commands = _translate(document, task, variables)
        if commands is None:
            continue
        name = ansible_variables.fill(str(document.get((*task.path, "name")) or task.module), variables).replace(
            HOLE, "?"
        )
        anchor = Origin(document, (*task.path, task.module))
        read = functools.partial(_read, inner, repository, commands)
        for alternative in alternatives.read(commands.text, read):
            yield from started_workloads.build(
                alternative.gpu_programs, alternative.name(name), document, repository, anchor, adapter="ansible"
            )


def _read(
    document: Document, repository: Repository, commands: Translated, choices: shell.Choices
) -> alternatives.Read:
    reader = Reader(document, repository, choices, commands)
    return alternatives.Read(gpu_programs.find(reader.read()), reader.place_in)


def _list_tasks(document: Document) -> Iterator[Task]:
    yield from _list_below(document, (), {}, 0)


def _list_below(document: Document, path: Path, play: Mapping[str, object], depth: int) -> Iterator[Task]:
    """Yield the tasks of a list of plays, blocks and tasks."""
    items = document.get(path)
    for at, item in enumerate(items if isinstance(items, list) and depth < DEPTH_MAX else ()):
        if not isinstance(item, dict):
            continue
        for module in item.keys() & (CONTAINERS.keys() | COMMANDS):
            yield Task((*path, at), str(module), play)
        for key in LISTS:
            if isinstance(item.get(key), list):
                yield from _list_below(document, (*path, at, key), item if "hosts" in item else play, depth + 1)


# ---- a task as the commands that it runs


def _translate(document: Document, task: Task, variables: Mapping[str, str]) -> Translated | None:
    path = (*task.path, task.module)
    node, given = document.node(path), document.get(path)
    if node is None:
        return None
    builder = Builder(node.start)
    if task.module in COMMANDS:
        place = (*path, "cmd") if isinstance(given, dict) else path
        _add(builder, document, place, variables)
    elif isinstance(given, dict) and isinstance(given.get("image"), str):
        _add_container(builder, document, path, given, CONTAINERS[task.module], variables)
    return builder.finish()


def _add_container(
    builder: Builder,
    document: Document,
    path: Path,
    given: Mapping[str, object],
    tool: str,
    variables: Mapping[str, str],
) -> None:
    """Add the `docker run` that a container stands for."""
    builder.add(f"{tool} run -d", None)
    for key, option in OPTIONS.items():
        if given.get(key) not in (None, "", [], {}):
            builder.add(f" {option} ", None)
            _add(builder, document, (*path, key), variables, quoted=True)
    _add_devices(builder, document, path, variables)
    for name in given["env"] if isinstance(given.get("env"), dict) else ():  # type: ignore[attr-defined]
        builder.add(f" -e {name}=", None)
        _add(builder, document, (*path, "env", name), variables, quoted=True)
    for key in ("device", "devices"):
        for at, _ in enumerate(given[key] if isinstance(given.get(key), list) else ()):  # type: ignore[arg-type]
            builder.add(" --device ", None)
            _add(builder, document, (*path, key, at), variables, quoted=True)
    builder.add(" ", None)
    _add(builder, document, (*path, "image"), variables)
    builder.add(" ", None)
    command = given.get("command")
    if isinstance(command, list):
        for at, _ in enumerate(command):
            builder.add(" ", None)
            _add(builder, document, (*path, "command", at), variables, quoted=True)
    elif command is not None:
        _add(builder, document, (*path, "command"), variables)


def _add_devices(builder: Builder, document: Document, path: Path, variables: Mapping[str, str]) -> None:
    """Add the GPUs of the first device request: a count, of which -1 is all, or ids."""
    place = (*path, "device_requests", 0)
    ids, count = document.get((*place, "device_ids")), document.get((*place, "count"))
    node = document.node((*place, "device_ids" if isinstance(ids, list) else "count"))
    if node is None:
        return
    if isinstance(ids, list):
        text = f"'\"device={','.join(ansible_variables.fill(str(one), variables) for one in ids)}\"'"
    else:
        filled = ansible_variables.fill(str(count), variables)
        text = "all" if filled == "-1" else filled
    builder.add(" --gpus ", None)
    builder.add(text, node.start, node.end)


def _add(builder: Builder, document: Document, path: Path, variables: Mapping[str, str], quoted: bool = False) -> None:
    """Add a scalar, line by line, with its look-ups filled in; each line keeps its place."""
    node, value = document.node(path), document.get(path)
    if node is None or isinstance(value, dict | list | None):
        return
    raw, cursor = document.text[node.start : node.end], 0
    for line in ansible_variables.render(value).splitlines(keepends=True):
        at = max(raw.find(line.strip(), cursor), 0) if line.strip() else cursor
        cursor = at
        filled = ansible_variables.fill(line, variables)
        if quoted and HOLE not in filled:
            filled = HOLE if "'" in filled else f"'{filled}'"
        end = node.start + at + len(line.strip())
        plain = filled == line and not line[:1].isspace()
        builder.add(filled, node.start + at, None if plain else max(end, node.start + at + 1))
