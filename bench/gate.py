"""Seconds of the gate on two commits beside one check of the same files, in one process and in turns.

    python bench/gate.py [--files N] [--rounds N]

The repository is made of the samples of the shipped rules, repeated under other names until there are N files. The second
commit edits one Deployment in 25 and moves one in 50. Figures are medians of the CPU seconds of this process and of the
gits that it starts; a ratio above its target is marked, with exit code 1.
"""

from __future__ import annotations

import argparse
import itertools
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import gpulint
from gpulint.policy.rules import rule
from gpulint.source import git
from gpulint.source.repository.git_tree import GitTree

TODAY = "2026-11-22"
NAMED = re.compile(r"(\bname: [\w-]+)")
TARGETS = {"gate": 2.0, "gate --changed": 0.7}
"""Of the seconds of a check, without those of reading git."""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--files", type=int, default=1500)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        made(Path(folder), asked.files)
        sys.exit(told(asked.rounds))


def made(folder: Path, files: int) -> None:
    """A repository of two commits."""
    samples = [
        str(one)
        for known in rule.load_shipped().values()
        for side in rule.load_examples(known).values()
        for one in side
    ]
    texts = (text for text in itertools.cycle(samples) if "\n# file: " not in f"\n{text}" and "#!" not in text)
    for number, text in enumerate(itertools.islice(texts, files)):
        place = folder / f"team-{number % 20}" / f"app-{number}.yaml"
        place.parent.mkdir(exist_ok=True)
        place.write_text(NAMED.sub(rf"\1-{number}", text), encoding="utf-8")
    run("init", "-q")
    committed()
    servers = (one for one in sorted(folder.glob("team-*/*.yaml")) if "kind: Deployment" in one.read_text("utf-8"))
    for number, place in enumerate(servers):
        if number % 25 == 0:
            place.write_text("# edited\n" + place.read_text(encoding="utf-8"), encoding="utf-8")
        if number % 50 == 1:
            place.rename(place.with_name(f"moved-{place.name}"))
    committed()


def run(*words: str) -> None:
    subprocess.run(["git", "-c", "user.name=A", "-c", "user.email=a@example.com", *words], check=True)


def committed() -> None:
    run("add", "-A")
    run("commit", "-q", "-m", "change")


def check(**options: object) -> Callable[[], object]:
    chosen = gpulint.Options(today=TODAY, **options)  # type: ignore[arg-type]
    return lambda: gpulint.check(".", chosen)


def read() -> None:
    """All files of both commits, as the gate reads them."""
    held = git.Git(Path.cwd())
    for name in ("HEAD", "HEAD^"):
        list(GitTree(held, held.commit(name)).sources(["."]))


def seconds(does: Callable[[], object]) -> float:
    before = os.times()
    does()
    after = os.times()
    return sum(after[:4]) - sum(before[:4])


def told(rounds: int) -> int:
    """Prints the figures; 1 where a target is missed."""
    ways = {
        "check": check(),
        "read both commits": read,
        "gate": check(base="HEAD^"),
        "gate --changed": check(base="HEAD^", changed=True),
        "check --changed": check(changed=True),
    }
    ways["check"]()
    found: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, does in ways.items():
            found[name].append(seconds(does))
    medians = {name: statistics.median(values) for name, values in found.items()}
    missed = 0
    for name, value in medians.items():
        ratio = (value - medians["read both commits"]) / medians["check"]
        over = name in TARGETS and ratio > TARGETS[name]
        missed |= over
        mark = f"  over {TARGETS[name]}" if over else ""
        print(
            f"{name:<18} {value:7.2f} s CPU  {value / medians['check']:5.2f} × check  without reading {max(ratio, 0):5.2f}{mark}"
        )
    print(
        f"{time.strftime('%Y-%m-%d')}, n = {rounds}, git {subprocess.check_output(['git', '--version'], text=True).split()[2]}"
    )
    return missed


if __name__ == "__main__":
    main()
