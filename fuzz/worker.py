"""Worker: one process that tries mutated inputs of a target, with coverage where atheris is installed."""

from __future__ import annotations

import base64
import importlib
import itertools
import json
import os
import pkgutil
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from fuzz.targets import Target

REPORT_EVERY_S = 2.0
SEEDS_FIRST = 20
"""So many seeds of each target are tried as they are."""
CORPUS_OF_SEVERAL = 12
"""So many seeds of each target begin a search of several targets, so that none takes all of its time."""
KEPT = 0.02
"""The share of random mutations that replace their seed, so that later ones build on them."""
COVERAGE_SLOWS_DOWN = 4
"""How many times longer an instrumented run may take; a failure is tried again without."""


class Search:
    """The executions of one process and the smallest input of each failure; the parent reads them from a file."""

    def __init__(self, names: Sequence[str], out: Path, runs: int, seconds: float, slower: float) -> None:
        from fuzz import targets

        found = targets.select(names)
        self.targets = [found[name] for name in names]
        self.out, self.runs, self.stop = out, runs, time.monotonic() + seconds
        self.slower = slower
        self.counts = dict.fromkeys(names, 0)
        self.failures: dict[str, dict[str, str]] = {}
        self.done = 0
        self._reported = 0.0
        self._current = os.open(f"{out}.current", os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)

    def try_one(self, data: bytes) -> None:
        """Try an input; with several targets its first byte chooses one."""
        from fuzz import trial

        target, content = self._choose(data)
        os.pwrite(self._current, len(data).to_bytes(4, "little") + data, 0)
        self.done += 1
        self.counts[target.name] += 1
        failure = trial.attempt(target.run, content, self.done, trial.CPU_S_MAX * self.slower)
        if failure is not None:
            self._keep(target.name, failure.kind, failure.key, failure.text, content)
        now = time.monotonic()
        if now - self._reported > REPORT_EVERY_S or failure is not None:
            self._reported = now
            self.report()
        if self.done >= self.runs or now > self.stop:
            self.finish()

    def _choose(self, data: bytes) -> tuple[Target, bytes]:
        if len(self.targets) == 1:
            return self.targets[0], data
        return self.targets[(data[0] if data else 0) % len(self.targets)], data[1:]

    def _keep(self, target: str, kind: str, key: str, text: str, content: bytes) -> None:
        known = self.failures.get(f"{target} {key}")
        if known is None or len(base64.b64decode(known["input"])) > len(content):
            self.failures[f"{target} {key}"] = {
                "target": target, "kind": kind, "key": key, "text": text, "input": base64.b64encode(content).decode(),
            }  # fmt: skip

    def report(self) -> None:
        """Write what is known so far, without the audit hook's notice."""
        from fuzz import trial

        with trial.paused():
            written = {"done": self.done, "counts": self.counts, "failures": [*self.failures.values()]}
            self.out.with_suffix(".new").write_text(json.dumps(written), encoding="utf-8")
            os.replace(self.out.with_suffix(".new"), self.out)

    def finish(self) -> NoReturn:
        """Write the result and end at once: libFuzzer has no other end."""
        self.report()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


def main() -> None:
    """Search as the words of the command line say: names, file, runs, seconds, seed, mode."""
    names, out, runs, seconds, seed, mode = sys.argv[1:7]
    listed = names.split(",")
    if mode == "coverage":
        _search_with_coverage(listed, Path(out), int(runs), float(seconds), int(seed))
    else:
        _search_plainly(listed, Path(out), int(runs), float(seconds), int(seed))


def _search_plainly(names: Sequence[str], out: Path, runs: int, seconds: float, seed: int) -> NoReturn:
    """Try the seeds, then mutations of seeds and of earlier mutations."""
    from fuzz import trial

    search = Search(names, out, runs, seconds, 1)
    chance = random.Random(seed)
    pools = _list_seeds(search)
    trial.watch()
    for pool in pools:
        for data in chance.sample(pool, min(len(pool), SEEDS_FIRST)):
            search.try_one(data)
    while True:
        pool = chance.choice(pools)
        at = chance.randrange(len(pool))
        data = pool[at]
        for _ in range(chance.choice((1, 1, 2, 4))):
            data = _mutate(search, data, chance)
        if chance.random() < KEPT:
            pool[at] = data
        search.try_one(data)


def _mutate(search: Search, data: bytes, chance: random.Random) -> bytes:
    """Mutate an input; a first byte that chooses the target and a first line that names the file change rarely."""
    from fuzz import mutation

    head, body = (data[:1], data[1:]) if len(search.targets) > 1 else (b"", data)
    name, line_end, content = body.partition(b"\n")
    if line_end and b"." in name and len(name) < 80 and b" " not in name and chance.random() < 0.98:
        return head + name + line_end + mutation.mutate(content, chance)
    return head + mutation.mutate(body, chance)


def _list_seeds(search: Search) -> list[list[bytes]]:
    """Return the seeds of each target; with several targets the first byte of an input is the number of its target."""
    if len(search.targets) == 1:
        return [[*search.targets[0].seeds()]]
    return [[bytes([at]) + data for data in target.seeds()] for at, target in enumerate(search.targets)]


def _search_with_coverage(names: Sequence[str], out: Path, runs: int, seconds: float, seed: int) -> None:
    import atheris

    from fuzz import targets, trial

    packages = ("gpulint",) if len(names) > 1 else targets.select(names)[names[0]].packages
    with atheris.instrument_imports(include=[*packages]):
        _import_everything(packages)
    search = Search(names, out, runs, seconds, COVERAGE_SLOWS_DOWN)
    corpus = Path(tempfile.mkdtemp(prefix="fuzz-corpus-"))
    pools = _list_seeds(search)
    most = CORPUS_OF_SEVERAL if len(pools) > 1 else max(map(len, pools))
    chosen = [random.Random(seed).sample(pool, min(len(pool), most)) for pool in pools]
    for number, data in enumerate(itertools.chain.from_iterable(chosen)):
        (corpus / str(number)).write_bytes(data)

    def change(data: bytes, longest: int, number: int) -> bytes:
        chance = random.Random(number)
        if chance.random() < 0.25:
            return bytes(atheris.Mutate(data, longest))
        return _mutate(search, data, chance)[:longest]

    words = [
        sys.argv[0],
        str(corpus),
        f"-seed={seed or 1}",
        "-max_len=30000",
        "-len_control=0",
        "-timeout=120",
        "-rss_limit_mb=4096",
    ]
    atheris.Setup([*words, f"-artifact_prefix={corpus}/"], search.try_one, custom_mutator=change)
    trial.watch()
    atheris.Fuzz()


def _import_everything(packages: Sequence[str]) -> None:
    """Import the modules whose coverage counts, so that they are instrumented once."""
    for name in packages:
        package = importlib.import_module(name)
        for found in pkgutil.walk_packages(getattr(package, "__path__", ()), f"{name}."):
            if ".cli" not in found.name:
                importlib.import_module(found.name)


if __name__ == "__main__":
    main()
