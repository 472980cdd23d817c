"""Hints in policies: what each gpulint.yaml of a repository states about hardware and models that files leave open."""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gpulint.pipeline.hint_findings import NOT_APPLIED
from gpulint.policy.config.discovery import Policies
from gpulint.policy.config.files import Reader, RefusedFileError, SettingsError
from gpulint.policy.config.layer import Layer, Part
from gpulint.policy.config.settings import FILE, PROJECT
from gpulint.policy.rules import evaluate
from gpulint.policy.rules.rule import Rule
from gpulint.report.model import Finding, HintUse, Location
from gpulint.source.documents import Path

KEYS = ("accelerator", "hints", "objectives", "pools", "fabric", "like", "facility")
"""The keys of gpulint.yaml whose values the checks use like those of files."""
KIND = "settings"


def list_uses(reader: Reader) -> list[tuple[HintUse, Location]]:
    """Return what the policies of a repository state, with its location; nothing for a policy that cannot be used."""
    policies = Policies(reader)
    found: dict[object, tuple[HintUse, Location]] = {}
    for folder in _list_folders(reader):
        try:
            layers = policies.nearest(folder).layers
        except SettingsError:
            continue
        for use, place in (entry for layer in layers for entry in _list_entries(layer)):
            found.setdefault((use, place.column), (use, place))
    return list(found.values())


def list_new(known: Sequence[HintUse], found: Sequence[tuple[HintUse, Location]]) -> list[tuple[HintUse, Location]]:
    """Return the settings that the known ones do not contain for the same file."""
    left = Counter(_identify(use) for use in known)
    new = []
    for use, place in found:
        left[_identify(use)] -= 1
        if left[_identify(use)] < 0:
            new.append((use, place))
    return new


def find_pending(new: Sequence[tuple[HintUse, Location]], rules: Sequence[Rule], commit: str) -> Iterator[Finding]:
    """Yield a finding for each setting that a change adds and the --policy-from commit lacks."""
    for rule in (rule for rule in rules if rule.name == NOT_APPLIED):
        for use, place in new:
            message = f"setting {use.text} is new in this change and does not apply until {commit} has it"
            yield evaluate.make_document_finding(rule, place, message)


def _identify(use: HintUse) -> tuple[str, str]:
    return use.path, use.text


def _list_folders(reader: Reader) -> list[str]:
    """Return the folders with a file that may hold a policy, those above first."""
    folders = {""}
    try:
        for path in reader.names(""):
            if posixpath.basename(path) in (FILE, PROJECT):
                folders.add(posixpath.dirname(path))
    except RefusedFileError:  # the rest of a work tree with links or too many files
        pass
    return sorted(folders, key=lambda folder: (folder.count("/"), folder))


def _list_entries(layer: Layer) -> Iterator[tuple[HintUse, Location]]:
    """Yield the entries of one policy file, also those for some paths only."""
    parts = [Part(layer, layer.stated)]
    overrides = layer.stated.get("overrides", ())
    parts += [Part(layer, entry, ("overrides", index)) for index, entry in enumerate(overrides)]
    for part in parts:
        paths = part.stated.get("paths", ())
        about = f" for {', '.join(map(str, paths))}" if paths else ""
        for path, text in _list_values(part.stated):
            place = layer.document.locate((*layer.inside, *part.inside, *path))
            yield HintUse(f"{text}{about}", KIND, place.path, place.line), place


def _list_values(stated: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    for key in KEYS:
        value = stated.get(key)
        if isinstance(value, Mapping):
            yield from (((key, name), f"{key}: {name} = {text}") for name, text in value.items())
        elif isinstance(value, list | tuple):
            yield from (((key, index), f"{key}: {_render(entry)}") for index, entry in enumerate(value))
        elif value:
            yield (key,), f"{key}: {value}"


def _render(entry: object) -> str:
    """Return an entry as it is written on one line."""
    if isinstance(entry, Mapping):
        return ", ".join(f"{key} {_render(value)}" for key, value in entry.items() if value)
    return str(entry)
