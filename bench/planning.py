"""How long a search for alternatives takes: every workload of the mis-sized specs and of the examples, one after another.

Time is that of the processor, on one core; each search runs three times and the fastest counts. Beside it, as a measure of
the machine: how often the rules could have judged the same workload meanwhile.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from gpulint.pipeline import evaluate, session
from gpulint.pipeline.plan import plan_file
from gpulint.policy.rules import evaluate as rules_evaluate
from gpulint.policy.rules.evaluated_role import EvaluatedRole
from gpulint.source import repository
from gpulint.suggestions import ranking, search

HERE = Path(__file__).resolve().parent
ROUNDS = 3
TODAY = "2026-11-22"
LIMIT_S = 0.1


class Timed(NamedTuple):
    """A workload, how long its search takes with and without the proof in the text, and one judgement of it [s]."""

    name: str
    search_s: float
    proven_s: float
    judged_s: float


def timed(path: Path) -> Iterator[Timed]:
    """Each role of a file, once everything that is read lazily has been."""
    tree = repository.WorkTree(repository.find_root(path.parent))
    given = session.prepare([str(path)], session.Options(TODAY)).given
    for source in tree.sources([str(path)]):
        if not isinstance(source, repository.Source):
            continue
        for one in evaluate.file(source, tree, given).roles:
            targets = ranking.find_targets(one.outcome)
            before = search.SearchStart(one.workload, one.facts, one.rules, one.outcome, targets)
            yield Timed(
                f"{path.name} {one.workload.name}/{one.facts.role.name}",
                fastest(lambda before=before: ranking.propose_plan(before)),  # type: ignore[misc]
                fastest(lambda source=source: plan_file(source, None, tree, given)),  # type: ignore[misc]
                fastest(lambda one=one: _judged(one)),  # type: ignore[misc]
            )


def _judged(one: EvaluatedRole) -> None:
    from gpulint.facts import resolver

    rules_evaluate.evaluate(one.rules, resolver.resolve(one.facts.role, one.facts.resolved))


def fastest(run: Callable[[], object]) -> float:
    """The least time of the processor of a few runs [s]."""
    times = []
    for _ in range(ROUNDS):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path, default=[HERE / "mis_sized", HERE.parent / "examples"])
    found = [
        one
        for folder in parser.parse_args().folders
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "gpulint.yaml"
        for one in timed(path)
    ]
    found.sort(key=lambda one: one.search_s)
    within = sum(one.search_s <= LIMIT_S for one in found)
    print(f"{len(found)} workloads, each on one core")
    print(
        f"  a search: median {_ms([one.search_s for one in found])}, worst {found[-1].search_s * 1e3:.0f} ms ({found[-1].name})"
    )
    print(f"  within {LIMIT_S * 1e3:.0f} ms: {within}/{len(found)}")
    print(
        f"  in judgements of the same workload: median {statistics.median(one.search_s / one.judged_s for one in found):.0f}"
    )
    print(f"  file read, options written and judged anew as well: median {_ms([one.proven_s for one in found])}")


def _ms(times: list[float]) -> str:
    return f"{statistics.median(times) * 1e3:.0f} ms"


if __name__ == "__main__":
    main()
