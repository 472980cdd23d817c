"""Starters: whether another file of the repository decides how a program is started.

A manifest that names a program decides it. A script does so only if its own workload runs the program: one that stops
the program, copies it or starts it on another machine leaves its settings to nobody else.
"""

from __future__ import annotations

import posixpath
import re

from gpulint import adapters
from gpulint.adapters.native import non_workloads
from gpulint.adapters.platforms import cerebrium
from gpulint.adapters.programs import python_program
from gpulint.adapters.python import locate
from gpulint.source import documents
from gpulint.source.repository import Repository

SCRIPTS_MAX = 8
"""The most scripts that are read for one program."""
OTHERS_MAX = 16
"""The most other files that name a program and are looked at."""
RECORDED = re.compile(r"(?:^|/)(?:wandb|mlruns)/")
"""Folders of past runs: docs.wandb.ai/guides/track/save-restore and mlflow.org/docs/latest/tracking/backend-stores."""
TRITON = "config.pbtxt"
"""The configuration of a model of Triton, in the folder above its versions."""
CEREBRIUM = "cerebrium.toml"
KERNEL = "kernel-metadata.json"
"""What Kaggle's command line pushes with a program, which Kaggle starts without arguments: Kaggle/kaggle-cli docs/kernels.md."""


def is_started(path: str, repository: Repository) -> bool:
    """Return whether a file starts a program; the main module of a package goes by the package's name."""
    folder, _, name = path.rpartition("/")
    if name == "model.py" and repository.exists(posixpath.join(posixpath.dirname(folder), TRITON)):
        return True
    if name == cerebrium.PROGRAM and repository.exists(posixpath.join(folder, CEREBRIUM)):
        return True
    naming = [spec for spec in repository.list_naming(path) if posixpath.basename(spec) != KERNEL]
    if name == "__main__.py" and folder:
        naming += repository.list_naming(f"{folder}.py")
    near = sorted(naming, key=lambda spec: (posixpath.dirname(spec) != folder, spec))
    scripts = [spec for spec in near if documents.find_format(spec) == "shell"]
    others = [spec for spec in near if documents.find_format(spec) != "shell"]
    if any(_may_start(spec, repository) for spec in others[:OTHERS_MAX]):
        return True
    return any(_runs(spec, path, repository) for spec in scripts[:SCRIPTS_MAX])


def _may_start(spec: str, repository: Repository) -> bool:
    """Return whether a file may start what it names, as a workflow of CI or the record of a past run does not."""
    found = [adapters.find_adapter(document) for document in repository.read_documents(spec)]
    return not RECORDED.search(spec) and not (found and all(adapter is non_workloads for adapter in found))


def _runs(spec: str, path: str, repository: Repository) -> bool:
    """Return whether a workload of a script runs a program."""
    for document in documents.load(spec, repository.read(spec) or b"").documents:
        adapter = adapters.find_adapter(document)
        for workload in adapters.workloads(adapter, document, repository) if adapter is not None else ():
            for role in workload.roles:
                started = python_program.find(role.command.words) if role.command is not None else None
                if started is not None and locate.find(started, spec, repository) == path:
                    return True
    return False
