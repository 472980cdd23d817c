"""Own files: the settings that a command gives a program which is not in the repository, or which recognises nothing."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.adapters import trainers
from gpulint.adapters.claim import Claim
from gpulint.adapters.programs import python_program
from gpulint.adapters.trainers import own_settings
from gpulint.engines import Argument, Reading
from gpulint.source.documents import Document
from gpulint.source.repository import Repository
from gpulint.workload import Command, Field

WORDS_MAX = 60
ASSUMED = "the training program is not known; its settings are assumed to mean the same as in Transformers and PEFT"


def read(command: Command, near: str, repository: Repository) -> Reading | None:
    """Return what the settings file of a Python program states of a training run; None if it names none that trains."""
    if python_program.find(command.words) is None:
        return None
    for word, document in _list_files(command, near, repository):
        if own_settings.claims(document) is not Claim.NONE:
            fields = trainers.read_run(own_settings, document, repository)
            engine = Field(own_settings.ENGINE, (word.origin,), assumption=ASSUMED)
            return Reading({**fields, "engine": engine}, word.origin)
    return None


def _list_files(command: Command, near: str, repository: Repository) -> Iterator[tuple[Argument, Document]]:
    """Yield the files of the repository that words of a command name."""
    for word in command.words[:WORDS_MAX]:
        name = (word.text or "").rpartition("=")[2]
        if trainers.SUFFIXED.search(name):
            document = trainers.find_document(repository, near, name)
            if document is not None:
                yield word, document
