"""Run: check paths under resolved policies and return a Report, for the command line and the Python
API.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from gpulint.pipeline import check, literals, node_pools, unchecked, users
from gpulint.pipeline.session import Options, Session, Unusable
from gpulint.pipeline.watchdog import Watchdog
from gpulint.policy.config.files import SettingsError
from gpulint.policy.rules.rule import RuleError
from gpulint.report.model import Report, Skip
from gpulint.source.repository import Source
from gpulint.source.repository.listing import EXCLUDED

Progress = Callable[[Iterable[Source | Skip]], Iterable[Source | Skip]]


def find_sources(run: Session, paths: Sequence[str]) -> Iterator[Source | Skip]:
    """Yield the files that the paths name; raise Unusable for a missing path or an unusable
    policy.
    """
    accepting = run.baseline.path if run.baseline else None
    try:
        for source in run.tree.sources(list(paths) or ["."]):
            path = run.tree.find_root_path(source.path)
            if source.path == accepting:
                continue
            if path is not None and run.policies.excludes(path):
                yield Skip(source.path, EXCLUDED, "excluded")
                continue
            if isinstance(source, Source) and path is not None:
                run.given.resolve(source.path)
            yield source
    except (FileNotFoundError, SettingsError, RuleError) as error:
        raise Unusable(str(error)) from None


def report(run: Session, paths: Sequence[str], watched: Progress = iter) -> Report:
    """Return the report on the named files; `watched` passes them on one by one."""
    found, seen = evaluate(run, watched(find_sources(run, paths)))
    found = node_pools.add(found, run.tree, seen, build_watchdog(run.options))
    found = users.add(found, run, paths, seen, build_watchdog(run.options))
    found = unchecked.add_findings(found, run, unchecked.build_is_named(run, paths))
    return literals.relocate(suppress(run, found, seen, paths or ["."]), run)


def check_files(run: Session, files: Iterable[Source | Skip]) -> Report:
    """Return the report on files that do not come from folders, with suppression applied."""
    found, seen = evaluate(run, files)
    return suppress(run, unchecked.add_findings(found, run, lambda path: False), seen)


def settle(run: Session, found: Report, paths: Sequence[str]) -> Report:
    """Add what was not checked to a report on these paths, and apply suppression."""
    found = unchecked.add_findings(unchecked.add_skips(found, run), run, unchecked.build_is_named(run, paths))
    return literals.relocate(suppress(run, found), run)


def evaluate(
    run: Session, files: Iterable[Source | Skip], watchdog: Watchdog | None = None
) -> tuple[Report, tuple[str, ...]]:
    """Return the report on files without suppression, and the paths of those checked."""
    seen: list[str] = []
    found = check.check_files(_record(files, seen), run.tree, run.given, watchdog or build_watchdog(run.options))
    found = unchecked.add_skips(found, run)
    return found._replace(comment=run.settings.comment), tuple(seen)


def build_watchdog(options: Options) -> Watchdog:
    """Return the watchdog of a run that begins now."""
    return Watchdog(options.file_timeout_s, options.timeout_s)


def suppress(run: Session, found: Report, seen: Iterable[str] = (), walked: Iterable[str] = ()) -> Report:
    """Apply the baseline and policy waivers to a report and add findings about unused ones."""
    if (
        run.baseline is None
        and run.options.ignores
        and not any(policy.waivers for policy in run.policies.list_policies())
    ):
        return found
    from gpulint.pipeline import acceptance

    return acceptance.suppress(found, run, acceptance.resolve_scope(run, seen, walked))


def _record(files: Iterable[Source | Skip], seen: list[str]) -> Iterator[Source | Skip]:
    for source in files:
        if isinstance(source, Source):
            seen.append(source.path)
        yield source
