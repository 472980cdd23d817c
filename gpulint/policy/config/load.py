"""Find and load a policy: the nearest `gpulint.yaml` or `[tool.gpulint]`, validated if there is one."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from gpulint.policy.config.files import Reader, RefusedFileError, SettingsError
from gpulint.policy.config.settings import DEFAULTS, FILE, PROJECT, Settings

MISNAMED = ("gpulint.yml", ".gpulint.yaml", ".gpulint.yml")
"""Names that are mistaken for `gpulint.yaml`. Below the root, a workflow may have such a name."""
TABLE = re.compile(rb"^[ \t]*\[\[?[ \t]*tool[ \t]*\.[ \t]*gpulint[ \t]*[.\]]", re.MULTILINE)


def find_nearest(reader: Reader, folder: str = "") -> Settings:
    """Return the settings of the nearest folder with a policy, from `folder` up, without overrides."""
    for place in list_parents(folder):
        if found := read_folder(reader, place):
            return found
    return DEFAULTS


def read_folder(reader: Reader, folder: str) -> Settings | None:
    """Return the settings of exactly this folder; None if it has none."""
    file = _find_policy(reader, folder)
    return _merge_layers(reader, *file) if file else None


def read_file(reader: Reader, file: str) -> Settings:
    """Return the settings of one policy file at any path. Its globs are relative to the root."""
    try:
        if reader.read(file) is None:
            raise SettingsError(f"there is no policy file {reader.render_path(file)}")
    except RefusedFileError as error:
        raise SettingsError(str(error)) from None
    return _merge_layers(reader, file, "tool.gpulint" if file.endswith(".toml") else "", "")


def _merge_layers(reader: Reader, file: str, table: str, folder: str | None = None) -> Settings:
    from gpulint.policy.config import merge, packs  # most repositories have no policy

    return merge.merge_settings(packs.load_layers(reader, file, table, folder))


def list_parents(folder: str) -> Iterator[str]:
    """Yield a folder and its parents up to the root, which is empty."""
    place = posixpath.normpath(folder) if folder else ""
    place = "" if place == "." else place
    while place:
        yield place
        place = posixpath.dirname(place)
    yield ""


def _find_policy(reader: Reader, folder: str) -> tuple[str, str] | None:
    """Return the policy file of a folder and the table in it."""
    file = posixpath.join(folder, FILE)
    try:
        if reader.read(file) is not None:
            return file, ""
        for name in MISNAMED if not folder else ():
            if reader.read(name) is not None:
                raise SettingsError(
                    f"{reader.render_path(name)}: gpulint does not read a file of this name; rename it to {FILE}"
                )
    except RefusedFileError as error:
        raise SettingsError(str(error)) from None
    file = posixpath.join(folder, PROJECT)
    try:
        content = reader.read(file)
    except RefusedFileError:
        return None
    return (file, "tool.gpulint") if content is not None and TABLE.search(content) else None
