"""A hundred sentences that users read, drawn by a seed, each beside what stood there in another version.

    python bench/sentences.py [--seed N] [--count N] [--before FOLDER] [--output TSV]

A fourth each is drawn from the messages of rules, from their summaries and reasons, from the help of the command line, and
from the hand-written pages. `--before` is a checkout of the version to compare with: the text of the same rule, option or, in
pages, the most similar sentence. A second reader marks what is not clear at first reading in the last column of the TSV.
"""

from __future__ import annotations

import argparse
import ast
import csv
import difflib
import random
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent
PAGES = re.compile(r"(?s:```.*?```)|^\s*[|#<>].*$|^ {4}.*$", re.MULTILINE)
"""Code, tables, headings and HTML, which hold no sentences."""
PARAGRAPH = re.compile(r"\n\s*\n|^\s*(?:[-*]|\d+\.)\s+", re.MULTILINE)
"""What stands between two paragraphs: an empty line, or the sign before an item of a list."""
SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z`*\"])")
WORDS_MIN = 5


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=20)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--before", type=Path)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    rows = draw(options.seed, options.count, ROOT, options.before)
    stream = options.output.open("w", encoding="utf-8", newline="") if options.output else sys.stdout
    writer = csv.writer(stream, delimiter="\t", lineterminator="\n")
    writer.writerow(("source", "place", "before", "after", "marked"))
    writer.writerows((*row, "") for row in rows)
    return 0


def draw(seed: int, count: int, now: Path, before: Path | None) -> list[tuple[str, str, str, str]]:
    """Draw sentences of the version in `now`: (source, place, text before, text now) each."""
    chance = random.Random(seed)
    found: list[tuple[str, str, str, str]] = []
    readers = {"message": read_messages, "rule": read_reasons, "help": read_help, "page": read_pages}
    for source, read in readers.items():
        texts = dict(read(now))
        old = dict(read(before)) if before else {}
        for place in chance.sample(sorted(texts), min(count // len(readers), len(texts))):
            found.append((source, place, _find_former(place, texts[place], old), texts[place]))
    return found


def _find_former(place: str, text: str, old: Mapping[str, str]) -> str:
    """Return the former text of a place; for a sentence of a page, the most similar sentence of that page."""
    if "#" not in place:
        return old.get(place, "")
    page = place.partition("#")[0]
    candidates = [former for key, former in old.items() if key.startswith(f"{page}#")]
    return next(iter(difflib.get_close_matches(text, candidates, n=1, cutoff=0.4)), "")


def read_messages(root: Path) -> Iterator[tuple[str, str]]:
    """Yield the message of every rule."""
    for name, rule in _read_rules(root):
        if "message" in rule:
            yield f"{name}:message", str(rule["message"])


def read_reasons(root: Path) -> Iterator[tuple[str, str]]:
    """Yield the summary and the reason of every rule."""
    for name, rule in _read_rules(root):
        yield from ((f"{name}:{key}", str(rule[key])) for key in ("summary", "why") if key in rule)


def _read_rules(root: Path) -> Iterator[tuple[str, Mapping[str, object]]]:
    for path in sorted((root / "rules").rglob("*.yaml")):
        rule = yaml.safe_load(path.read_text(encoding="utf-8"))
        yield f"rules/{path.parent.name}/{path.stem}", rule


def read_help(root: Path) -> Iterator[tuple[str, str]]:
    """Yield the help of every option and the description of every command, read from the source."""
    for path in sorted((root / "gpulint" / "cli").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                flag = next((word for word in map(_read_literal, node.args) if word and word.startswith("--")), "")
                texts = {key.arg: _read_literal(key.value) for key in node.keywords}
                if flag and texts.get("help"):
                    yield f"{path.stem} {flag}", str(texts["help"])
                if texts.get("short_help"):
                    yield f"{path.stem}", str(texts["short_help"])
            if isinstance(node, ast.FunctionDef) and node.name == "command" and ast.get_docstring(node):
                yield f"{path.stem} --help", " ".join(str(ast.get_docstring(node)).split())


def _read_literal(node: ast.expr) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def read_pages(root: Path) -> Iterator[tuple[str, str]]:
    """Yield every sentence of README.md, CONTRIBUTING.md and the pages of docs/ that are written by hand."""
    pages = [root / "README.md", root / "CONTRIBUTING.md", *sorted((root / "docs").glob("*.md"))]
    for path in pages:
        if not path.is_file() or "<!-- Written by" in (text := path.read_text(encoding="utf-8"))[:200]:
            continue
        for paragraph in PARAGRAPH.split(PAGES.sub("\n\n", text)):
            for at, sentence in enumerate(SENTENCE.split(" ".join(paragraph.split()))):
                if len(sentence.split()) >= WORDS_MIN:
                    yield f"{path.name}#{sentence[:30]}{at}", sentence


if __name__ == "__main__":
    sys.exit(main())
