"""Whether --fix changes only what it says, over a directory of real specs.

    python bench/fixes.py DIR [--unsafe] [--under PREFIX] [--diff] [--format text|json]

Each file is checked alone, its siblings in reach; what a fix writes goes to a copy in a temporary folder, never to DIR. The
changed file is then held against the old one by other parsers than ours (PyYAML, bash, json, tomllib): it parses, its data
differ only where the edits say, comments, quoting, anchors, line endings, the byte order mark and the last line's end are
kept, the finding is gone, and no rule speaks anew or lacks facts that it had. A second run changes nothing, and the same
file with CRLF, a byte order mark, in UTF-16 or without its last line's end is fixed alike. `broken` counts what fails any
of that.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml
from alone import Folder

from gpulint.pipeline import check
from gpulint.pipeline import fix as pipeline_fix
from gpulint.pipeline.fix import FixRun
from gpulint.report.model import Edit, Report
from gpulint.source import documents, repository
from gpulint.suggestions.edits import apply

COMMENT = re.compile(r"(?m)(?:^|(?<=\s))(?:#(?!SBATCH|PBS|BSUB)|//).*$")
"""Comments, but for the lines of them that a batch system obeys."""
QUOTES = re.compile(r"[\"']")
WORD = re.compile(r"[^\s\"'=:{},\[\]]+")
ENTRY = {"name", "value", "CUDA_VISIBLE_DEVICES"}
"""What goes with the value of a variable that is left out."""
BRIEF = re.compile(r"`[^`]*`|[\w./-]*/[\w./-]+")
"""Names of one file in a reason."""


@dataclass
class Counts:
    """What was found and done over all files."""

    files: int = 0
    findings: int = 0
    offered: int = 0
    safe: int = 0
    fixed: Counter[str] = field(default_factory=Counter)
    left: Counter[str] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)
    unchecked: Counter[str] = field(default_factory=Counter)
    diffs: list[str] = field(default_factory=list)
    touched: int = 0


def measured(folder: Folder, prefix: str, unsafe: bool) -> Counts:
    """The counts over every file below a prefix."""
    counts = Counts()
    with tempfile.TemporaryDirectory() as copies:
        for path in folder.paths():
            if path.startswith(prefix) and (documents.is_read(path) or folder.content(path).startswith(b"#!")):
                _one(counts, folder, path, unsafe, Path(copies))
    return counts


def _one(counts: Counts, folder: Folder, path: str, unsafe: bool, copies: Path) -> None:
    counts.files += 1
    run = pipeline_fix.compute([repository.Source(path, folder.content(path))], folder.tree, folder.given, unsafe)
    counts.findings += len(run.report.open)
    counts.offered += sum(bool(one.suggestions) for one in run.report.open)
    counts.safe += sum(any(better.is_safe for better in one.suggestions) for one in run.report.open)
    counts.fixed.update(one.finding.rule for one in run.outcome.applied)
    counts.left.update(BRIEF.sub("…", reason) for one in run.outcome.skipped for reason in {_brief(one.reason)})
    if not run.outcome.contents:
        return
    counts.touched += 1
    (after,) = run.outcome.contents.values()
    place = _written(folder, run, path, copies)
    counts.diffs.append(pipeline_fix.diff(run.files, run.outcome.contents))
    counts.broken += [f"{path}: {why}" for why in _objections(counts, folder, path, run, place.read_bytes())]
    counts.broken += [f"{path}: {why}" for why in _in_other_forms(folder, path, run.files[path], after, unsafe)]


def _brief(reason: str) -> str:
    """The reason why the first alternative was refused."""
    return reason.partition("; ")[0].rpartition(": ")[2]


def _written(folder: Folder, run: FixRun, path: str, copies: Path) -> Path:
    """The copy of a file after the fix was written to it as on a disk."""
    place = copies / path
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(folder.root / path, place)
    tree = repository.WorkTree(copies, base=copies)
    for reason in pipeline_fix.write(run, tree).refused.values():
        raise SystemExit(f"{path}: {reason}")
    return place


# ---- what must hold


def _objections(counts: Counts, folder: Folder, path: str, run: FixRun, after: bytes) -> Iterator[str]:
    before = run.files[path]
    edits = [edit for one in run.outcome.applied for edit in one.suggestion.edits]
    yield from _of_bytes(before, after)
    old, new = before.decode("utf-8-sig"), after.decode("utf-8-sig")
    yield from _of_text(old, new, edits)
    yield from _of_data(counts, path, old, new, edits)
    changed = folder.tree.rewritten({path: after})
    yield from _of_rules(run, check.check_files([repository.Source(path, after)], changed, folder.given))


FORMS: Mapping[str, Callable[[bytes], bytes]] = {
    "with CRLF": lambda content: content.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"),
    "with a byte order mark": lambda content: apply.MARK_8 + content.removeprefix(apply.MARK_8),
    "in UTF-16": lambda content: b"\xff\xfe" + content.decode("utf-8-sig").encode("utf-16-le"),
    "without the last line's end": lambda content: content.rstrip(b"\r\n"),
}
"""Other ways to write the same file."""


def _in_other_forms(folder: Folder, path: str, before: bytes, after: bytes, unsafe: bool) -> Iterator[str]:
    """Whether a second run changes nothing, and the same file in another form is fixed alike."""
    if _fixed(folder, path, after, unsafe) != after:
        yield "a second run changes it again"
    for name, form in FORMS.items():
        if _fixed(folder, path, form(before), unsafe) != form(after):
            yield f"other changes {name}"


def _fixed(folder: Folder, path: str, content: bytes, unsafe: bool) -> bytes:
    tree = folder.tree.rewritten({path: content})
    run = pipeline_fix.compute([repository.Source(path, content)], tree, folder.given, unsafe)
    return run.outcome.contents.get(path, content)


def _of_bytes(before: bytes, after: bytes) -> Iterator[str]:
    if before == after:
        yield "nothing changed"
    if before.startswith(apply.MARK_8) != after.startswith(apply.MARK_8):
        yield "the byte order mark"
    if before.endswith(b"\n") != after.endswith(b"\n"):
        yield "the end of the last line"
    if (b"\r" in after) != (b"\r" in before) or _bare(before) != _bare(after):
        yield "line endings"


def _bare(content: bytes) -> bool:
    """Whether any line ends without a carriage return."""
    return re.search(rb"(?<!\r)\n", content) is not None


def _of_text(old: str, new: str, edits: list[Edit]) -> Iterator[str]:
    if Counter(COMMENT.findall(old)) != Counter(COMMENT.findall(new)):
        yield "comments"
    added = sum(edit.how != "replace" for edit in edits)
    if len(QUOTES.findall(new)) - len(QUOTES.findall(old)) not in range(
        -6 * added if _removes(edits) else 0, 2 * added + 1
    ):
        yield "quotes"
    if re.findall(r"(?<=\s)[&*]\w+", old) != re.findall(r"(?<=\s)[&*]\w+", new):
        yield "anchors"
    if abs(len(new.splitlines()) - len(old.splitlines())) > 2 * added:
        yield "lines"


def _of_data(counts: Counts, path: str, old: str, new: str, edits: list[Edit]) -> Iterator[str]:
    """Whether the parsed values differ only where an edit says so."""
    try:
        before = _leaves(path, old)
    except (ValueError, yaml.YAMLError, SyntaxError):
        counts.unchecked[Path(path).suffix] += 1
        return
    try:
        after = _leaves(path, new)
    except (ValueError, yaml.YAMLError, SyntaxError) as error:
        yield f"no longer parses: {error}"
        return
    gone, come = before - after, after - before
    if gone.total() > 2 * len(edits) or come.total() > 2 * len(edits):
        yield f"{gone.total()} values gone and {come.total()} come with {len(edits)} edits"
    old_words, new_words = _words(gone.elements()), _words(come.elements())
    told_old, told_new = (
        set(WORD.findall(" ".join(words))) for words in ([one.old for one in edits], [one.new for one in edits])
    )
    if odd := set(new_words - old_words) - told_new - {"\\"}:
        yield f"{sorted(odd)} come, and no edit says so"
    if odd := set(old_words - new_words) - told_old - (ENTRY if _removes(edits) else set()):
        yield f"{sorted(odd)} gone, and no edit says so"


def _words(leaves: Iterable[tuple[str, ...]]) -> Counter[str]:
    """The words of values, with those that are their keys."""
    return Counter(word for leaf in leaves for word in WORD.findall(" ".join(leaf[-2:])) if word != "*")


def _removes(edits: Iterable[Edit]) -> bool:
    return any(edit.how == "remove" for edit in edits)


def _leaves(path: str, text: str) -> Counter[tuple[str, ...]]:
    """Every value of a file by its path, as another parser reads it; of a script, its lines if bash takes them."""
    if path.endswith(".json"):
        return Counter(_flat(json.loads(text), ()))
    if path.endswith(".toml"):
        return Counter(_flat(tomllib.loads(text), ()))
    if path.endswith((".yaml", ".yml")):
        return Counter(leaf for one in yaml.load_all(text, yaml.BaseLoader) for leaf in _flat(one, ()))
    if subprocess.run(["bash", "-n"], input=text.encode(), capture_output=True, check=False).returncode:
        raise ValueError("bash does not take it")
    return Counter((line,) for line in text.splitlines())


def _flat(value: object, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(inner, (*path, str(key)))
    elif isinstance(value, list):
        for inner in value:
            yield from _flat(inner, (*path, "*"))
    else:
        yield from ((*path, line) for line in str(value).splitlines() or [""])


def _of_rules(run: FixRun, after: Report) -> Iterator[str]:
    before = run.report
    said, now = (Counter(one.rule for one in report.open) for report in (before, after))
    messages = {(one.rule, one.message) for one in after.open}
    for rule, count in now.items():
        if count > said[rule]:
            yield f"{rule} speaks anew"
    for one in run.outcome.applied:
        if now[one.finding.rule] == said[one.finding.rule] and (one.finding.rule, one.finding.message) in messages:
            yield f"{one.finding.rule} still speaks"
    if new := _lacking(after) - _lacking(before):
        yield f"not evaluated any more: {sorted(new)}"
    if len(before.workloads) != len(after.workloads) or after.failures:
        yield "workloads"


def _lacking(report: Report) -> Counter[str]:
    return Counter(one.rule for workload in report.workloads for role in workload.roles for one in role.not_evaluated)


def as_text(counts: Counts) -> str:
    """The counts, one a line."""
    fixed, left = counts.fixed.total(), counts.left.total()
    lines = [
        f"{counts.files} files, {counts.findings} findings, {counts.offered} with alternatives, {counts.safe} of them safe",
        f"fixed: {fixed} in {counts.touched} files",
        *(f"  {number:>4}  {rule}" for rule, number in counts.fixed.most_common()),
        f"left: {left}",
        *(f"  {number:>4}  {reason}" for reason, number in counts.left.most_common()),
        f"not parsed by the other parser before either: {dict(counts.unchecked)}",
        f"broken: {len(counts.broken)}",
        *(f"  {one}" for one in counts.broken),
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("dir", type=Path)
    parser.add_argument("--unsafe", action="store_true")
    parser.add_argument("--under", default="", metavar="PREFIX", help="only files whose path begins so")
    parser.add_argument("--diff", action="store_true", help="print what was changed")
    arguments = parser.parse_args()
    counts = measured(Folder(arguments.dir), arguments.under, arguments.unsafe)
    if arguments.diff:
        print("".join(counts.diffs))
    print(as_text(counts))
    sys.exit(bool(counts.broken))


if __name__ == "__main__":
    main()
