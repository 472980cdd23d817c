"""Recipes: Makefiles, justfiles, units of systemd and Podman, Procfiles and supervisord's settings, each target a workload."""

from __future__ import annotations

import functools
import posixpath
from collections.abc import Iterator

from gpulint.adapters.claim import Claim
from gpulint.adapters.programs.process import Reader
from gpulint.adapters.scripts import alternatives, gpu_programs, started_workloads
from gpulint.source import recipes, shell
from gpulint.source.documents import Document
from gpulint.source.recipes import Recipe
from gpulint.source.repository import Repository
from gpulint.workload import Origin, Workload

MENTIONS = ("",)
TRIGGERS = ()
READS = ("shell",)

KINDS = {
    "makefile": "Makefile",
    "justfile": "justfile",
    "procfile": "Procfile",
    "supervisor": "supervisord settings",
    "unit": "systemd unit",
}


def claims(document: Document) -> Claim:
    """Claim a file whose name is that of a tool that runs commands."""
    return Claim.EXACT.where(document.format == "shell" and recipes.find_dialect(document.path))


def kind(document: Document) -> str:
    """Return the tool that runs the commands."""
    return KINDS[recipes.find_dialect(document.path)]


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    """Yield what each target, service or process computes on GPUs."""
    stem = posixpath.splitext(posixpath.basename(document.path))[0]
    for recipe in recipes.read(document.path, document.text):
        anchor = Origin(document, (), span=recipe.span)
        for alternative in alternatives.read(
            recipe.commands.text, functools.partial(_read, document, repository, recipe)
        ):
            name = alternative.name(recipe.name or stem)
            place = alternative.anchor or anchor
            yield from started_workloads.build(
                alternative.gpu_programs, name, document, repository, place, adapter="recipe_files"
            )


def _read(document: Document, repository: Repository, recipe: Recipe, choices: shell.Choices) -> alternatives.Read:
    reader = Reader(document, repository, choices, recipe.commands)
    commands = reader.read()
    built = gpu_programs.find_built(commands, document, repository)
    return alternatives.Read((*gpu_programs.find(commands), *built), reader.place_in)
