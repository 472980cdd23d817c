"""Rendering: run the user's own helm or kustomize on a chart or overlay, only on request.

gpulint executes nothing of the chart. The tool starts without a shell, with limits on time and
output.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, NamedTuple, TypeVar

from gpulint.adapters.objects import references
from gpulint.report.model import Location, Report
from gpulint.source import documents, os_errors, programs, repository
from gpulint.source.documents import Document, Node
from gpulint.source.repository import Source

TOOLS = ("helm", "kustomize")
TIMEOUT_S = 120.0
OUTPUT_BYTES_MAX = 4_000_000
ERROR_BYTES_MAX = 4_000
LISTS = ("resources", "bases", "components", "patchesStrategicMerge", "patches", "patchesJson6902")
"""Where a Kustomization names files and folders of its own."""
FOLDERS_MAX = 64

T = TypeVar("T")


class RenderError(Exception):
    """Why a tool produced nothing to check, possibly with the tool's own error."""


class Rendering(NamedTuple):
    """The output of a tool for a folder: its shown path, the source, its documents, and the files
    it is made of.
    """

    shown: str
    source: Source
    documents: tuple[Document, ...]
    files: tuple[Document, ...] = ()


def render(tool: str, folder: str, values: Sequence[str] = ()) -> Rendering:
    """Render a chart with helm, or an overlay with kustomize."""
    if not Path(folder).is_dir():
        raise RenderError(f"--render {tool} needs a folder, and {folder} is not one")
    if missing := next((name for name in values if not Path(name).is_file()), None):
        raise RenderError(f"the values file {missing} does not exist")
    content = _run_program(_build_command(tool, folder, values))
    source = Source(f"{folder.rstrip('/')} (rendered).yaml", content)
    made = documents.load(source.path, content).documents
    return Rendering(folder.rstrip("/"), source, made, tuple(_read_files(folder)) if tool == "kustomize" else ())


def relocate(report: Report, found: Sequence[Rendering]) -> Report:
    """Return the report with locations in the source files where that is certain, else by object
    and line.
    """
    by_path = {rendering.source.path: rendering for rendering in found}

    def move(location: Location) -> Location:
        rendering = by_path.get(location.path)
        return location if rendering is None else _find_source(rendering, location)

    return _map_locations(report, move)


def _map_locations(value: T, move: Callable[[Location], Location]) -> T:
    """Return a record with every Location inside it moved."""
    if isinstance(value, Location):
        return move(value)  # type: ignore[return-value]
    if isinstance(value, tuple):
        parts = [_map_locations(part, move) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return value


# ---- running the tool


def _build_command(tool: str, folder: str, values: Sequence[str]) -> list[str]:
    """Return the command: helm without tests, kustomize without plugins.

    Neither fetches a chart.
    """
    place = str(Path(folder).resolve())
    checkout = repository.find_root(Path(place))
    if tool == "helm":
        files = [word for name in values for word in ("--values", str(Path(name).resolve()))]
        return [_find_program("helm", checkout), "template", "gpulint", place, "--skip-tests", *files]
    if kustomize := programs.find("kustomize", checkout):
        return [kustomize, "build", place]
    return [_find_program("kubectl", checkout, "kustomize"), "kustomize", place]


def _find_program(name: str, checkout: Path, wanted: str = "") -> str:
    found = programs.find(name, checkout)
    if found is None:
        raise RenderError(
            f"{wanted or name} is not installed, or not on the PATH" + (f" (nor is {name})" if wanted else "")
        )
    return found


def _run_program(command: Sequence[str]) -> bytes:
    """Return the output of a program, limited in time and size."""
    name = Path(command[0]).name
    with tempfile.TemporaryFile() as errors:
        process = _start(command, errors)
        late = threading.Event()
        timer = threading.Timer(TIMEOUT_S, _kill, (process, late))
        timer.start()
        try:
            content = process.stdout.read(OUTPUT_BYTES_MAX + 1) if process.stdout else b""
            if len(content) > OUTPUT_BYTES_MAX:
                _kill(process, late)
                raise RenderError(f"{name} printed more than {OUTPUT_BYTES_MAX // 1_000_000} MB")
            status = process.wait()
        finally:
            timer.cancel()
            if process.stdout:
                process.stdout.close()
        if late.is_set():
            raise RenderError(f"{name} took longer than {TIMEOUT_S:.0f} s")
        if status != 0:
            errors.seek(0)
            raise RenderError(f"{name} failed:\n{errors.read(ERROR_BYTES_MAX).decode('utf-8', 'replace').strip()}")
    return content


def _start(command: Sequence[str], errors: IO[bytes]) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(  # noqa: S603  the user's own program, asked for by name
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, start_new_session=True
        )
    except OSError as error:
        raise RenderError(f"{command[0]} cannot be started: {os_errors.explain(error)}") from None


def _kill(process: subprocess.Popen[bytes], ended: threading.Event) -> None:
    """End a program of ours and everything that it started; Windows knows no process groups of ours."""
    ended.set()
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if os.name == "nt":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()


# ---- from the rendered text back to the files


def _read_files(folder: str) -> Iterator[Document]:
    """Yield the documents of the files that a Kustomization names, including patches."""
    todo, seen = [Path(folder)], set[Path]()
    while todo and len(seen) < FOLDERS_MAX:
        here = todo.pop()
        if here.resolve() in seen:
            continue
        seen.add(here.resolve())
        for place in _find_listed(here):
            if place.is_dir():
                todo.append(place)
            elif place.is_file():
                yield from documents.load(_shorten(place), place.read_bytes()).documents


def _find_listed(folder: Path) -> Iterator[Path]:
    for name in references.KUSTOMIZATIONS:
        if not (folder / name).is_file():
            continue
        for document in documents.load(name, (folder / name).read_bytes()).documents:
            for key in LISTS:
                listed = document.get((key,))
                for entry in listed if isinstance(listed, list) else ():
                    path = entry.get("path") if isinstance(entry, dict) else entry
                    if isinstance(path, str) and "\n" not in path and "://" not in path:
                        yield folder / path


def _shorten(place: Path) -> str:
    relative = os.path.relpath(place)
    return relative if not relative.startswith("..") else str(place)


def _find_source(rendering: Rendering, location: Location) -> Location:
    """Return the location in the one file with the same value at the same path; else the object and
    rendered line.
    """
    offset = _find_offset(rendering.source.content.decode("utf-8", "replace"), location)
    made = next(
        (document for document in rendering.documents if document.root.start <= offset <= document.root.end), None
    )
    if made is None:
        return location._replace(path=f"{rendering.shown} (rendered)")
    path = _find_path(made.root, offset)
    stating = [file for file in rendering.files if _is_same_object(file, made) and file.node(path) is not None]
    if (
        path
        and len(stating) == 1
        and stating[0].get(path) == made.get(path)
        and _has_same_names(stating[0], made, path)
    ):
        return _narrow(stating[0], made, path, location)
    kind, name = made.get(("kind",)), made.get(("metadata", "name"))
    return location._replace(path=f"{rendering.shown} (rendered): {kind}/{name}")


def _find_offset(text: str, location: Location) -> int:
    lines = text.splitlines(keepends=True)
    return sum(len(line) for line in lines[: location.line - 1]) + location.column - 1


def _find_path(node: Node, offset: int) -> documents.Path:
    """Return the path of the innermost value or key at an offset."""
    path: list[str | int] = []
    while True:
        step = next(_find_steps(node, offset), None)
        if step is None:
            return tuple(path)
        path.append(step[0])
        node = step[1]


def _find_steps(node: Node, offset: int) -> Iterator[tuple[str | int, Node]]:
    if node.kind == "mapping":
        for key, value in node.value:
            if key.start <= offset < max(key.end, value.end):
                yield key.value, value
    elif node.kind == "sequence":
        for at, item in enumerate(node.value):
            if item.start <= offset < max(item.end, item.start + 1):
                yield at, item


def _is_same_object(document: Document, other: Document) -> bool:
    """Return whether two documents have the same group, kind and name."""
    groups = {str(document.get(("apiVersion",))).rpartition("/")[0] for document in (document, other)}
    named = {(str(document.get(("kind",))), str(document.get(("metadata", "name")))) for document in (document, other)}
    return len(groups) == 1 and len(named) == 1


def _has_same_names(document: Document, other: Document, path: documents.Path) -> bool:
    """Return whether the list items along a path have the same names in both."""
    items = [path[: at + 1] for at, part in enumerate(path) if isinstance(part, int)]
    return all(document.get((*item, "name")) == other.get((*item, "name")) for item in items)


def _narrow(file: Document, made: Document, path: documents.Path, location: Location) -> Location:
    """Return the same part of the value if both write it identically, else the whole value."""
    whole, there = file.locate(path), made.locate(path)
    alike = _find_text(file, path) == _find_text(made, path) and "\n" not in _find_text(file, path)
    if not alike or location.line != there.line:
        return whole
    start, end = (column - there.column for column in (location.column, location.end_column))
    return whole._replace(column=whole.column + start, end_column=whole.column + end)


def _find_text(document: Document, path: documents.Path) -> str:
    node = document.node(path)
    return document.text[node.start : node.end] if node is not None and node.kind == "scalar" else "\n"
