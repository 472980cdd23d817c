"""Forty stated needs, and whether what an expert would take is among the first two that `gpulint suggest` names.

    python bench/needs.py [--list]

needs.tsv was written and committed before gpulint ran on it. Each row is a model to serve with vLLM at one length, in one
cloud or in any. `least_gb` and `statement` are those of vLLM's own recipe: the memory that the weights and a working cache
take in all GPUs. `most_gb` and `most_gpus` bound what an expert would still take for it: the hardware that the recipe names,
else the next usual size above. The sizes of GPUs are those of their names.
"""

from __future__ import annotations

import argparse
import csv
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from gpulint.catalog.offers import Available
from gpulint.pipeline.plan import plan_file
from gpulint.policy.resolved import ResolvedPolicy
from gpulint.policy.rules import selection
from gpulint.report.model import Fit
from gpulint.source.repository import Source, WorkTree

NEEDS = Path(__file__).parent / "needs.tsv"
FIRST = 2
SIZE = re.compile(r"(\d+)(?= ?GB)")
SIZES_GB = {"b300-sxm-288gb": 288, "b200-sxm-180gb": 180}
"""Memory of products whose name does not state it."""
SPEC = """\
apiVersion: gpulint/v1
kind: InferenceService
metadata: {{name: needed}}
spec:
  roles:
    - name: server
      engine: vllm
      engine_version: "0.15.0"
      checkpoint: {checkpoint}
      max_model_len: {max_model_len}
"""


class Answered(NamedTuple):
    """A need, the first hardware that is named for it, and whether an expert would take one of it."""

    need: dict[str, str]
    named: tuple[Fit, ...]

    @property
    def is_right(self) -> bool:
        return any(self._is_accepted(fit) for fit in self.named)

    def _is_accepted(self, fit: Fit) -> bool:
        total_gb = fit.gpus * read_size_gb(fit)
        least, most, gpus = (int(self.need[name]) for name in ("least_gb", "most_gb", "most_gpus"))
        return least <= total_gb <= most and fit.gpus <= gpus


def read_size_gb(fit: Fit) -> int:
    """Return the memory of a product by its name."""
    stated = SIZE.search(fit.name)
    return int(stated[1]) if stated else SIZES_GB.get(fit.accelerator, 0)


def answer(need: dict[str, str], tree: WorkTree) -> Answered:
    """Return the first hardware that is named for a need."""
    clouds = (need["cloud"],) if need["cloud"] else ()
    rules = selection.enable_rules(selection.load_rules())
    policy = ResolvedPolicy(rules, available=Available(clouds=clouds))
    (plan,) = plan_file(Source("needed.yaml", SPEC.format(**need).encode()), None, tree, policy)
    return Answered(need, plan.smallest[:FIRST])


def answer_all() -> Iterator[Answered]:
    with NEEDS.open(encoding="utf-8") as file, tempfile.TemporaryDirectory() as folder:
        tree = WorkTree(Path(folder))
        for need in csv.DictReader(file, delimiter="\t"):
            yield answer(need, tree)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--list", action="store_true", dest="listed", help="print each need, not only those missed")
    arguments = parser.parse_args()
    answered = list(answer_all())
    for one in answered:
        if arguments.listed or not one.is_right:
            named = "; ".join(f"{fit.gpus} × {fit.name}" for fit in one.named) or "nothing"
            wanted = f"{one.need['least_gb']} to {one.need['most_gb']} GB in at most {one.need['most_gpus']}"
            print(f"{one.need['checkpoint']} ({one.need['cloud'] or 'any cloud'}): {named}; wanted {wanted}")
    right = sum(one.is_right for one in answered)
    print(f"an expert's choice is among the first {FIRST}: {right} of {len(answered)}")


if __name__ == "__main__":
    main()
