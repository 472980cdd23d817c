"""Outputs: one report in several formats, one of them on stdout and the others in files."""

from __future__ import annotations

import importlib
import os
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from gpulint.catalog import package_data
from gpulint.report.model import Report, RuleCard
from gpulint.source import os_errors

STDOUT = ""
TEXT = "text"


class Output(NamedTuple):
    """A format and its file; without a file it goes to stdout."""

    format: str
    file: str = STDOUT


class OutputError(ValueError):
    """An output that cannot be produced: an unknown format, or a file that cannot be written."""


def list_formats() -> tuple[str, ...]:
    """Return all formats: the modules of the reports that render one."""
    found = package_data.list_functions(package_data.PACKAGE / "report" / "formats")
    return tuple(sorted(name for name, public in found.items() if "render" in public))


def parse_outputs(words: Sequence[str], on_stdout: str | None, paths: Iterable[str] = ()) -> tuple[Output, ...]:
    """Return the outputs of FORMAT[:FILE] words, or text on stdout; raise OutputError before
    anything is checked.
    """
    if not words and on_stdout is None:
        return (Output(TEXT),)
    outputs = (*((Output(_check_format(on_stdout)),) if on_stdout is not None else ()), *map(_parse_output, words))
    _refuse_doubles(outputs)
    for output in outputs:
        if output.file != STDOUT:
            _refuse_unwritable(output.file, paths)
    return outputs


def _parse_output(word: str) -> Output:
    """Parse FORMAT:FILE at the first colon; `-` is stdout."""
    name, colon, file = word.partition(":")
    if colon and not file:
        raise OutputError(f"{word} names no file: write {name}:FILE, or {name} for stdout")
    return Output(_check_format(name), STDOUT if file == "-" else file)


def _check_format(name: str) -> str:
    if name in list_formats():
        return name
    listed = ", ".join(list_formats())
    if "." in name or "/" in name:
        raise OutputError(f"{name} is not a format; write FORMAT:FILE with one of these formats: {listed}")
    raise OutputError(f"no format is called {name}; the formats are {listed}")


def _refuse_doubles(outputs: Sequence[Output]) -> None:
    shown = [output.format for output in outputs if output.file == STDOUT]
    if len(shown) > 1:
        raise OutputError(
            f"{' and '.join(shown)} would both go to stdout; name a file for one of them, as in {shown[-1]}:FILE"
        )
    files = [os.path.abspath(output.file) for output in outputs if output.file != STDOUT]
    for output in outputs:
        if output.file != STDOUT and files.count(os.path.abspath(output.file)) > 1:
            raise OutputError(f"two outputs would be written to {output.file}")


def _refuse_unwritable(file: str, paths: Iterable[str]) -> None:
    """Raise OutputError if a file cannot be written, before a long run instead of after it."""
    place = Path(file)
    if os.path.abspath(file) in map(os.path.abspath, paths):
        raise OutputError(f"{file} is one of the files to check, and the output would overwrite it")
    if not place.parent.is_dir():
        raise OutputError(f"{file} cannot be written: there is no folder {place.parent}")
    if link := _find_link(place):
        raise OutputError(f"{file} cannot be written: {link} is a symbolic link, which gpulint does not follow")
    try:
        mode = os.lstat(place).st_mode
    except FileNotFoundError:
        mode = None
    if mode is not None and not stat.S_ISREG(mode):
        kind = "a symbolic link" if stat.S_ISLNK(mode) else "not a regular file"
        raise OutputError(f"{file} is {kind}; gpulint overwrites only regular files")
    if not os.access(place.parent, os.W_OK) or (mode is not None and not os.access(place, os.W_OK)):
        raise OutputError(f"{file} cannot be written: permission denied")


def _find_link(place: Path) -> Path | None:
    """Return the first folder on the way to a file that is a link of this repository, if any."""
    from gpulint.source import repository

    root = repository.find_root(Path.cwd())
    above = Path(os.path.abspath(place)).parents
    inside = [folder for folder in reversed(above) if folder.is_relative_to(root) and folder != root]
    return next((folder for folder in inside if folder.is_symlink()), None)


def render(report: Report, name: str) -> str:
    """Return the report in a format; raise OutputError for an unknown one."""
    module = _load_module(_check_format(name))
    needy = getattr(module, "NEEDS_SAMPLES", False)
    shown: str = module.render(_add_samples(report) if needy else report)
    return shown


def _load_module(name: str) -> ModuleType:
    return importlib.import_module(f"gpulint.report.formats.{name}")


def write(report: Report, outputs: Iterable[Output]) -> list[str]:
    """Write the files and return the errors."""
    troubles = []
    for output in outputs:
        if output.file != STDOUT:
            from gpulint.source import atomic_write

            try:
                atomic_write.write(Path(output.file), render(report, output.format).encode("utf-8", "replace"))
            except OSError as error:
                troubles.append(f"{output.file} was not written: {os_errors.explain(error)}")
    return troubles


def _add_samples(report: Report) -> Report:
    """Return a report whose rules show their first bad and good example."""
    return report._replace(rules={name: _add_sample(card) for name, card in report.rules.items()})


def _add_sample(card: RuleCard) -> RuleCard:
    file = card.file or package_data.find_folder("rules") / card.family / f"{card.name}.yaml"
    data = package_data.read_yaml(file) if file.is_file() else {}
    samples = data.get("examples", {}) if isinstance(data, dict) else {}
    wrong, right = (str(next(iter(samples.get(side, ())), "")) for side in ("bad", "good"))
    return card._replace(wrong=wrong, right=right)
