"""Do two versions of gpulint report the same?

    python bench/same_reports.py BEFORE AFTER DIR [--renamed OLD=NEW ...] [--texts]

BEFORE and AFTER are gpulint executables, DIR holds one folder per repository. Each repository is checked by both, as JSON.
`--renamed` names a key or a value that was renamed on purpose; `--texts` leaves out the fields that hold prose, so that a
change of wording alone counts as the same. The exit code is 1 if any report differs.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

TEXTS = frozenset(
    {
        "message",
        "label",
        "arithmetic",
        "why",
        "summary",
        "title",
        "trade_off",
        "asks",
        "assumptions",
        "reason",
    }
    | {
        "unknown",
        "explained",
        "detail",
        "doing",
        "error",
        "name_of_rule",
        "description",
        "tool",
        "catalog",
        "format",
        "note",
    }
)
"""Fields of a report that hold sentences, and those that name the version."""
MOST_SHOWN = 20


def main() -> int:
    options = _parse()
    renamed = dict(pair.split("=", 1) for pair in options.renamed)
    repositories = sorted(path for path in options.directory.iterdir() if path.is_dir())
    different = 0
    for repository in repositories:
        before, after = (_report(executable, repository) for executable in (options.before, options.after))
        differences = list(_differences(_rename(before, renamed), after, "", options.texts))
        different += bool(differences)
        for difference in differences[:MOST_SHOWN]:
            print(f"{repository.name}: {difference}")
    print(f"the same: {len(repositories) - different} of {len(repositories)} repositories")
    return min(different, 1)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--renamed", nargs="*", default=[], metavar="OLD=NEW")
    parser.add_argument("--texts", action="store_true")
    return parser.parse_args()


def _report(executable: str, repository: Path) -> object:
    command = [executable, "check", "--exit-zero", "--format", "json", "--today", "2026-11-22", "."]
    done = subprocess.run(command, cwd=repository, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{executable} ends with {done.returncode} on {repository.name}: {done.stderr[-500:]}")
    return json.loads(done.stdout)


def _rename(value: object, renamed: Mapping[str, str]) -> object:
    if isinstance(value, dict):
        return {renamed.get(key, key): _rename(held, renamed) for key, held in value.items()}
    if isinstance(value, list):
        return [_rename(held, renamed) for held in value]
    return renamed.get(value, value) if isinstance(value, str) else value


def _differences(before: object, after: object, path: str, texts: bool) -> list[str]:
    if isinstance(before, dict) and isinstance(after, dict):
        keys = sorted(before.keys() | after.keys())
        compared = (key for key in keys if not (texts and key in TEXTS))
        return [
            found for key in compared for found in _differences(before.get(key), after.get(key), f"{path}.{key}", texts)
        ]
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        pairs = enumerate(zip(before, after, strict=True))
        return [found for at, (old, new) in pairs for found in _differences(old, new, f"{path}[{at}]", texts)]
    return [] if before == after else [f"{path}: {json.dumps(before)[:150]} -> {json.dumps(after)[:150]}"]


if __name__ == "__main__":
    sys.exit(main())
