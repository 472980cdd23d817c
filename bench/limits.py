"""How much of each limit real files use at most.

    python bench/limits.py FOLDER [FOLDER ...]

Each file of each folder is checked in place. The figures are those of the limits beyond which a file is reported as not
checked (gpulint/source/excess.py), and of the size, the nesting, the values and the documents of a file.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import gpulint
from gpulint.pipeline import run as pipeline_run
from gpulint.pipeline import session
from gpulint.report.model import Report
from gpulint.source import documents, excess
from gpulint.source.documents import nodes
from gpulint.source.shell import limits

LOOKED_THROUGH = 100_000
"""How many values of a file are counted one by one."""


class Use(NamedTuple):
    """The largest use of a limit, and how often it was looked at."""

    most: int = 0
    limit: int = 0
    times: int = 0

    def add(self, used: int, limit: int) -> Use:
        """Return the use with one more."""
        return Use(max(self.most, used), limit, self.times + 1)


class Uses:
    """The largest use of each limit, by the reason that a file over it is given."""

    def __init__(self) -> None:
        self.found: dict[str, Use] = {}
        self._is_over = excess.is_over

    def observe(self, used: int, limit: int, reason: str, path: str = "") -> bool:
        """Note a use, and say whether it exceeds its limit."""
        self.add(used, limit, reason)
        return self._is_over(used, limit, reason, path)

    def add(self, used: int, limit: int, reason: str) -> None:
        """Note a use."""
        self.found[reason] = self.found.get(reason, Use()).add(used, limit)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    uses, files, skipped = Uses(), 0, []
    excess.is_over = uses.observe
    for folder in parser.parse_args().folders:
        report = _check(folder)
        files += report.files
        skipped += [(skip.path, skip.reason) for skip in report.skipped if skip.cause == "limit"]
        for path in _list_files(folder):
            _measure(path, uses)
    print(f"{files} files\n\n| a file is not checked if | N | largest use | looked at |\n|---|---|---|---|")
    for reason, use in sorted(uses.found.items()):
        print(f"| {reason.format('N')} | {use.limit:,} | {use.most:,} | {use.times:,} |")
    print("\n".join(f"not checked: {path}: {reason}" for path, reason in skipped))


def _check(folder: Path) -> Report:
    """Check a folder without a search for suggestions."""
    run = session.disable_suggestions(session.prepare([str(folder)], gpulint.Options()))
    return pipeline_run.report(run, [str(folder)])


def _list_files(folder: Path) -> Iterator[Path]:
    for root, names, found in os.walk(folder):
        names[:] = [name for name in names if name != ".git"]
        yield from (Path(root, name) for name in found if not Path(root, name).is_symlink())


def _measure(path: Path, uses: Uses) -> None:
    """Note the size, the nesting, the values and the documents of a file that gpulint reads."""
    kind = documents.find_format(str(path))
    if not kind:
        return
    content = path.read_bytes()
    uses.add(len(content), documents.FILE_BYTES_MAX, "a file has more than {} bytes")
    if kind == "shell":
        uses.add(len(content), limits.SCRIPT_CHARACTERS_MAX, "a script has more than {} characters")
        return
    loaded = documents.load(str(path), content)
    uses.add(len(loaded.documents), documents.DOCUMENTS_MAX, "a file has more than {} documents")
    sizes = [_count(document.data) for document in loaded.documents]
    uses.add(sum(count for count, _ in sizes), nodes.NODES_MAX, "a file has more than {} values")
    uses.add(
        max((depth for _, depth in sizes), default=0), nodes.DEPTH_MAX, "values nest deeper than {} levels in a file"
    )


def _count(data: object) -> tuple[int, int]:
    """Return the number of values in data, and how deep they nest."""
    count, deepest, left = 0, 0, [(data, 1)]
    while left and count < LOOKED_THROUGH:
        value, depth = left.pop()
        count, deepest = count + 1, max(deepest, depth)
        if isinstance(value, dict | list):
            left += [(item, depth + 1) for item in (value.values() if isinstance(value, dict) else value)]
    return count, deepest


if __name__ == "__main__":
    main()
