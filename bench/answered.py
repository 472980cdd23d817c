"""How many workloads of repositories get an answer, and who decides the others.

    python bench/answered.py FOLDER [FOLDER ...] [--list]

A workload has an answer if the verdict on it says that it fits, does not fit, what the verdict depends on, or what it needs.
Workloads whose roles take no accelerator, or that others count, are left out; everything else counts, also files that only state
how some other run is sharded. The rest is listed by the party that decides the first value that is missing.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

import gpulint
from gpulint.report import verdicts
from gpulint.report.model import WorkloadSummary


def main() -> None:
    """Print the share of answers by kind, and the workloads without one by the party that decides them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--list", action="store_true", help="print each workload without an answer")
    options = parser.parse_args()
    counts: Counter[tuple[str, bool]] = Counter()
    deciders: Counter[tuple[str, str]] = Counter()
    for folder in options.folders:
        for workload in gpulint.check(folder).workloads:
            outcome = verdicts.find_outcome(workload)
            if not outcome:
                continue
            counts[workload.kind, outcome != verdicts.UNKNOWN] += 1
            if outcome == verdicts.UNKNOWN:
                deciders[workload.kind, _name_decider(workload)] += 1
                if options.list:
                    print(f"{workload.kind}  {_name_decider(workload)}  {workload.location.path}: {workload.name}")
    for kind in sorted({kind for kind, _ in counts}):
        answered, whole = counts[kind, True], counts[kind, True] + counts[kind, False]
        print(f"{kind}: {answered} of {whole} have an answer ({answered / whole:.1%})")
    for (kind, decider), number in deciders.most_common():
        print(f"  {number} {kind}: {decider}")


def _name_decider(workload: WorkloadSummary) -> str:
    """Return the party that decides the first value that is missing, else the first value itself."""
    role = workload.roles[0]
    if role.explained:
        return role.explained[0].category
    needs = [need for check in role.not_evaluated for need in check.needs]
    return Counter(needs).most_common(1)[0][0] if needs else "no network is named"


if __name__ == "__main__":
    main()
