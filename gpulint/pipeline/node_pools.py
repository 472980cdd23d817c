"""Node pools of a run without workloads: which of the files that were checked provide GPUs."""

from __future__ import annotations

import re
from collections.abc import Collection

from gpulint import adapters
from gpulint.adapters import nodes
from gpulint.adapters.nodes import machine_types
from gpulint.pipeline import file_report
from gpulint.pipeline.watchdog import OutOfTime, Watchdog
from gpulint.report.model import Report
from gpulint.source.repository import Repository


def add(found: Report, repository: Repository, seen: Collection[str], watchdog: Watchdog) -> Report:
    """Return a report with the names of the node pools with GPUs, if it has nothing else to say of the files."""
    if found.workloads or found.facilities or found.failures:
        return found
    near = next((path for path in seen if _may_provide_gpus(path, repository)), None)
    if near is None:
        return found
    try:
        return found._replace(gpu_pools=watchdog.watch(lambda: _list_names(repository, near, frozenset(seen))))
    except OutOfTime:
        watchdog.rest()
        return found
    except Exception as error:  # counted: the report and the exit code say so
        return found._replace(failures=file_report.fail(near, "reading its node pools", error).failures)


def _may_provide_gpus(path: str, repository: Repository) -> bool:
    """Return whether a file that may define node pools mentions GPUs or a machine that has some."""
    if not re.search(nodes.file_names(), path):
        return False
    text = (repository.read(path) or b"").decode("latin-1")
    return adapters.has_trigger(text) or machine_types.mentions_any(text)


def _list_names(repository: Repository, near: str, seen: frozenset[str]) -> tuple[str, ...]:
    found = (pool for pool in nodes.read_inventory(repository, near) if pool.origin is not None and pool.has_card())
    known = (pool for pool in found if isinstance(pool.accelerator.value, str) and pool.accelerator.value)
    return tuple(dict.fromkeys(pool.name for pool in known if pool.origin and pool.origin.document.path in seen))
