"""gpulint checks GPU deployment specs against what the hardware can do.

`check` returns the Report on files and folders, `size` the memory terms of one workload.
docs/python.md explains both with examples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpulint.version import __version__

if TYPE_CHECKING:
    from gpulint.pipeline.memory_breakdown import Sizing, SizingError
    from gpulint.pipeline.session import Options, Unusable
    from gpulint.report.model import Finding, Report, Severity

__all__ = [
    "Finding",
    "Options",
    "Report",
    "Severity",
    "Sizing",
    "SizingError",
    "Unusable",
    "__version__",
    "check",
    "size",
]
HOMES = {
    **dict.fromkeys(("Finding", "Report", "Severity"), "gpulint.report.model"),
    **dict.fromkeys(("Options", "Unusable"), "gpulint.pipeline.session"),
    **dict.fromkeys(("Sizing", "SizingError"), "gpulint.pipeline.memory_breakdown"),
}
"""Home module of each public type. A type is imported only when it is used."""


def check(
    paths: str | Path | Sequence[str | Path],
    options: Options | None = None,
    *,
    policy: str | Path | Mapping[str, object] | None = None,
    watched: Callable[[Iterable[Any]], Iterable[Any]] = iter,
) -> Report:
    """Return the report on files and folders, as `gpulint check` makes it.

    Args:
        paths: files and folders, relative to the current folder; files that git ignores are skipped unless named.
        options: the options of the command line; see `gpulint.Options`.
        policy: a policy file or its content, in place of every gpulint.yaml.
        watched: passes the files on, one by one, as they are checked.

    Raises:
        Unusable: a path does not exist, or a policy, rule or option cannot be used; the message has the location.
    """
    from gpulint.pipeline import run, session

    named = tuple(sorted({str(path) for path in ([paths] if isinstance(paths, str | Path) else paths)}))
    chosen = options or session.Options()
    if chosen.base or chosen.policy_from or chosen.changed:
        from gpulint.pipeline.diff import gate

        return gate.report(named, chosen, policy, watched)
    return run.report(session.prepare(named, chosen, policy), named, watched)


def size(workload: str | Path | Mapping[str, object], stated: Mapping[str, object] | None = None) -> tuple[Sizing, ...]:
    """Return the memory terms of each role of a workload, as `gpulint size` shows them.

    Args:
        workload: a checkpoint, a file, FILE:WORKLOAD, a native spec, or the keys of one role.
        stated: quantities by name, as {"accelerator": "l4", "tensor_parallel": 2}; for a file they override its values.

    Returns:
        One Sizing a role: `terms` in base units in three scenarios, `verdict`, `missing`, `assumptions`.

    Raises:
        SizingError: there is no such checkpoint or workload, or a key is unknown.
    """
    from gpulint.pipeline import memory_breakdown
    from gpulint.source import repository

    return memory_breakdown.compute(workload, stated or {}, repository.WorkTree(repository.find_root(Path.cwd())))


def __getattr__(name: str) -> object:
    if name not in HOMES:
        raise AttributeError(f"module 'gpulint' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(HOMES[name]), name)
