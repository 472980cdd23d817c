"""How many functions are named by a past participle or a preposition?

    python bench/function_names.py [FOLDER] [--list]

Every function and method of FOLDER (default: gpulint) counts, properties and nested functions too; names with two leading
underscores do not. A name is judged by its first word without leading underscores: `stated_bytes` and `_told` are named by a
participle, `of_budget` and `beside` by a preposition. `--list` prints each. The exit code is 1 at 4 % or more.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

LIMIT = 0.04
PREPOSITIONS = frozenset(
    "about above across after against along among around as at before behind below beneath beside besides between beyond by "
    "despite down during except for from in inside into like near of off on onto out outside over past per since than "
    "through throughout till to toward towards under until unto up upon via with within without".split()
)
IRREGULAR = frozenset(
    "been begun bent bound borne bought bred broken brought built caught chosen clung dealt done drawn driven dug "
    "eaten fallen fed felt fled flown forbidden forgotten found fought frozen given gone ground grown hidden held heard hung "
    "kept known laid lain led left lent lit lost made meant met mown paid ridden risen rung said sat seen sent sewn shaken "
    "shone shot shown shrunk slept slid sold sought spent spoken sprung spun stolen stood struck stuck sung sunk sworn swept "
    "swung taken taught thought thrown told torn understood withdrawn won worn wound woven written".split()
)
"""Participles that do not end in -ed and are not also the verb's own form, as `read`, `set` or `split` are."""
NO_PARTICIPLES = frozenset(
    "need feed seed speed embed exceed proceed succeed weed shed bed red bleed breed greed".split()
)
"""Words that end in -ed and are no participle."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=Path(__file__).resolve().parent.parent / "gpulint")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    functions = list(find_functions(options.folder))
    kinds = [(kind, where, name) for where, name in functions if (kind := classify(name))]
    if options.list:
        for kind, where, name in sorted(kinds):
            print(f"{kind:12} {where}  {name}")
    share = len(kinds) / len(functions)
    counts = Counter(kind for kind, _, _ in kinds)
    parts = ", ".join(f"{count} by a {kind}" for kind, count in sorted(counts.items()))
    print(f"{len(kinds)} of {len(functions)} functions ({share:.1%}): {parts}")
    return int(share >= LIMIT)


def find_functions(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the location and the name of every function below a folder."""
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("__"):
                yield f"{path.relative_to(folder.parent)}:{node.lineno}", node.name


def classify(name: str) -> str:
    """Return `participle`, `preposition`, or nothing for a name of neither kind."""
    first = name.lstrip("_").split("_")[0]
    if first in PREPOSITIONS:
        return "preposition"
    is_regular = first.endswith("ed") and first not in NO_PARTICIPLES
    return "participle" if is_regular or first in IRREGULAR else ""


if __name__ == "__main__":
    sys.exit(main())
