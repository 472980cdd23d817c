"""Baseline: accepted findings in a file; reading it, matching findings against it and writing it."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from gpulint.policy.config.files import BYTES_MAX
from gpulint.policy.config.settings import BASELINE
from gpulint.report.model import Finding, Location, Subject, Waiver

FORMAT = "gpulint-baseline/1"
NEVER_BASELINED = "suppressions"
"""The family of problems with waivers, which a baseline never accepts."""
TEXTS = ("rule", "path", "object", "role", "quantity", "value")
CONFLICT = re.compile(r"^(?:<{7} |={7}$|>{7} )", re.MULTILINE)
FINDINGS = re.compile(r'"findings"\s*:\s*\[')
GAP = re.compile(r"[\s,]*")
AGAIN = "restore the file, or delete it and run gpulint baseline"
DECODER = json.JSONDecoder()
SURROGATE_ERRORS = "backslashreplace"
"""Lone surrogates are written as JSON escapes."""
Place = Callable[[str], str]
"""Converts a displayed path to one relative to the repository's root."""


class BaselineError(ValueError):
    """A baseline that cannot be used. The message starts with its location."""


class Entry(NamedTuple):
    """Accepted findings: their rule, role, subject and number, and their file relative to the repository's root."""

    rule: str
    path: str
    role: str
    subject: Subject
    number: int = 1
    line: int = 1


class Baseline(NamedTuple):
    """The accepted findings, the release that wrote them, and the displayed path of the file."""

    entries: tuple[Entry, ...]
    made_with: str
    path: str = BASELINE


class Match(NamedTuple):
    """The result of matching: the entry that accepts each finding, and the unused number of each entry."""

    accepted: Mapping[int, Entry]
    left: Mapping[Entry, int]


# ---- reading and writing


def read(path: str, content: bytes) -> Baseline:
    """Return the baseline in a file; raise BaselineError with the location of a mistake."""
    text = _decode(path, content)
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 1)
        raise BaselineError(f"{path}:{line}: invalid JSON: {getattr(error, 'msg', error)}; {AGAIN}") from None
    format_ = data.get("format") if isinstance(data, dict) else None
    if format_ != FORMAT:
        problem = f"its format is {format_}" if isinstance(format_, str) else "it declares no format"
        raise BaselineError(f"{path}:1: {problem}; this release reads {FORMAT}")
    findings = data.get("findings")
    if not isinstance(findings, list) or not isinstance(data.get("gpulint"), str) or len(data) != 3:
        raise BaselineError(f"{path}:1: a baseline must have exactly the keys format, gpulint and findings; {AGAIN}")
    lines = itertools.chain(_find_lines(text), itertools.repeat(1))
    entries = tuple(_parse_entry(path, item, line) for item, line in zip(findings, lines, strict=False))
    return Baseline(entries, data["gpulint"], path)


def _decode(path: str, content: bytes) -> str:
    if len(content) > BYTES_MAX:
        raise BaselineError(f"{path}:1: the file is larger than {BYTES_MAX // 1_000_000} MB")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BaselineError(f"{path}:1: the file is not UTF-8 text; {AGAIN}") from None
    if conflict := CONFLICT.search(text):
        line = text.count("\n", 0, conflict.start()) + 1
        raise BaselineError(
            f"{path}:{line}: a merge conflict; keep the entries of both sides, then run gpulint baseline --update"
        )
    return text


def _find_lines(text: str) -> Iterator[int]:
    """Yield the lines on which the entries of a well-formed baseline begin."""
    begins = FINDINGS.search(text)
    if begins is None:
        return
    position, line, counted = begins.end(), 1, 0
    while (gap := GAP.match(text, position)) and text[gap.end() : gap.end() + 1] not in ("]", ""):
        line += text.count("\n", counted, gap.end())
        counted = gap.end()
        yield line
        _, position = DECODER.raw_decode(text, counted)


def _parse_entry(path: str, data: object, line: int) -> Entry:
    keys = {*TEXTS, "count"}
    if not isinstance(data, dict) or set(data) - keys:
        unknown = ", ".join(sorted(set(data) - keys)) if isinstance(data, dict) else ""
        raise BaselineError(
            f"{path}:{line}: an entry has the keys {', '.join((*TEXTS, 'count'))}" + (unknown and f", not {unknown}")
        )
    texts = [data.get(key, "") for key in TEXTS]
    count = data.get("count", 1)
    is_count = isinstance(count, int) and not isinstance(count, bool) and count > 0
    if not all(isinstance(text, str) for text in texts) or not is_count or not texts[0]:
        raise BaselineError(f"{path}:{line}: an entry needs text values, at least a rule, and a count of at least 1")
    rule, place, object_, role, quantity, value = texts
    return Entry(rule, place, role, Subject(object_, quantity, value), count, line)


def render(entries: Iterable[Entry], made_with: str) -> str:
    """Return the text of a baseline file: sorted, empty values omitted; raise BaselineError if it is too large."""
    rows = [
        _row(entry) for entry in sorted(entries, key=lambda entry: (entry.path, entry.rule, entry.subject, entry.role))
    ]
    data = {"format": FORMAT, "gpulint": made_with, "findings": rows}
    text = json.dumps(data, indent=2, ensure_ascii=False) + "\n"
    if len(text.encode("utf-8", SURROGATE_ERRORS)) > BYTES_MAX:
        raise BaselineError(
            f"{len(rows):,} entries are too many for one baseline; write one for each part of the repository"
        )
    return text


def _row(entry: Entry) -> dict[str, str | int]:
    texts = (entry.rule, entry.path, entry.subject.object, entry.role, entry.subject.quantity, entry.subject.value)
    return {**{key: text for key, text in zip(TEXTS, texts, strict=True) if text}, "count": entry.number}


# ---- matching findings


def make_entries(findings: Iterable[Finding], place: Place) -> tuple[Entry, ...]:
    """Return the entries that accept findings. Findings about waivers are excluded."""
    counts: dict[Entry, int] = {}
    for finding in findings:
        if finding.family != NEVER_BASELINED:
            entry = Entry(finding.rule, place(finding.location.path), finding.role, finding.subject)
            counts[entry] = counts.get(entry, 0) + 1
    return tuple(entry._replace(number=count) for entry, count in counts.items())


def match_findings(
    baseline: Baseline, findings: Sequence[Finding], place: Place, free: Callable[[str], bool], release: str
) -> Match:
    """Match findings to the entries of a baseline: first in the same file, then in a file that is `free`.

    A file is free if it no longer exists, or if it was checked and now has fewer such findings. A baseline of another
    release is compared by the facts that both releases know.
    """
    left = {entry: entry.number for entry in baseline.entries}
    accepted: dict[int, Entry] = {}
    by_object: dict[tuple[str, str, str], list[Entry]] = {}
    for entry in baseline.entries:
        by_object.setdefault((entry.rule, entry.role, _owner(entry.subject, entry.path)), []).append(entry)
    counted = [
        (index, finding, place(finding.location.path)) for index, finding in enumerate(findings) if _counts(finding)
    ]

    def is_moved(entry: Entry, _: str) -> bool:
        return free(entry.path)

    for same in (_has_same_values,) if baseline.made_with == release else (_has_same_values, _shares_values):
        for near in (_is_in_file, is_moved):
            for index, finding, path in counted:
                candidates = by_object.get((finding.rule, finding.role, _owner(finding.subject, path)), ())
                matches = (entry for entry in candidates if left[entry] and same(entry, finding) and near(entry, path))
                if index not in accepted and (match := next(matches, None)):
                    left[match] -= 1
                    accepted[index] = match
    return Match(accepted, {entry: count for entry, count in left.items() if count})


def _counts(finding: Finding) -> bool:
    return finding.suppressed is None and finding.family != NEVER_BASELINED


def _is_in_file(entry: Entry, path: str) -> bool:
    return entry.path == path


def _owner(subject: Subject, path: str) -> str:
    """Return the object of a subject; empty if it is named after its file or folder, which may be renamed."""
    parts = path.split("/")
    return "" if subject.object in (*parts, parts[-1].rpartition(".")[0]) else subject.object


def _has_same_values(entry: Entry, finding: Finding) -> bool:
    return entry.subject[1:] == finding.subject[1:]


def _shares_values(entry: Entry, finding: Finding) -> bool:
    """True if the facts that both subjects declare have the same values."""
    accepted, current = _quantities(entry.subject), _quantities(finding.subject)
    common = accepted.keys() & current.keys()
    return all(accepted[name] == current[name] for name in common) and (bool(common) or not (accepted and current))


def _quantities(subject: Subject) -> dict[str, str]:
    """Return the facts that a subject declares, the one at fault first."""
    if not subject.value:
        return {}
    first, *rest = subject.value.split("; ") if subject.quantity else ("", *subject.value.split("; "))
    others = dict(part.partition(" ")[::2] for part in rest)
    return {subject.quantity: first, **others} if subject.quantity else others


def make_waiver(baseline: Baseline, entry: Entry) -> Waiver:
    """Return the waiver of a finding that a baseline accepts."""
    place = Location(baseline.path, entry.line, 1, entry.line, 1)
    return Waiver("baseline", f"accepted by {baseline.path}", place)
