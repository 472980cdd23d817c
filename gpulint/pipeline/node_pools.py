"""Node pools of a run without workloads: which of the files that were checked provide GPUs."""

from __future__ import annotations

import re
from collections.abc import Collection

from gpulint.adapters import nodes
from gpulint.pipeline import file_report
from gpulint.pipeline.watchdog import OutOfTime, Watchdog
from gpulint.report.model import Report
from gpulint.source.repository import Repository


def add(found: Report, repository: Repository, seen: Collection[str], watchdog: Watchdog) -> Report:
    """Return a report with the names of the node pools with GPUs, if it has nothing else to say of the files."""
    near = next((path for path in seen if re.search(nodes.file_names(), path)), None)
    if near is None or found.workloads or found.facilities or found.failures:
        return found
    try:
        return found._replace(gpu_pools=watchdog.watch(lambda: _list_names(repository, near, frozenset(seen))))
    except OutOfTime:
        watchdog.rest()
        return found
    except Exception as error:  # counted: the report and the exit code say so
        return found._replace(failures=file_report.fail(near, "reading its node pools", error).failures)


def _list_names(repository: Repository, near: str, seen: frozenset[str]) -> tuple[str, ...]:
    found = (pool for pool in nodes.read_inventory(repository, near) if pool.origin is not None and pool.has_card())
    known = (pool for pool in found if isinstance(pool.accelerator.value, str) and pool.accelerator.value)
    return tuple(dict.fromkeys(pool.name for pool in known if pool.origin and pool.origin.document.path in seen))
