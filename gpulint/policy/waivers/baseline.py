"""Baseline: the findings that stood when a team began, as a file that is read, held against findings, and written."""

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
ALWAYS_SAID = "suppressions"
"""The family of what is wrong with waivers, which a baseline never takes in."""
TEXTS = ("rule", "path", "object", "role", "quantity", "value")
CONFLICT = re.compile(r"^(?:<{7} |={7}$|>{7} )", re.MULTILINE)
FINDINGS = re.compile(r'"findings"\s*:\s*\[')
GAP = re.compile(r"[\s,]*")
AGAIN = "restore it, or delete it and run gpulint baseline"
DECODER = json.JSONDecoder()
HALVES = "backslashreplace"
"""Halves of characters are written as JSON spells them."""
Place = Callable[[str], str]
"""From a path as it is shown to that from the repository's root."""


class BaselineError(ValueError):
    """A baseline that cannot be used; the message starts with its place."""


class Entry(NamedTuple):
    """Findings that are accepted: their rule, role and subject, their file from the repository's root, and how many they are."""

    rule: str
    path: str
    role: str
    subject: Subject
    number: int = 1
    line: int = 1


class Baseline(NamedTuple):
    """What is accepted, the release that told it, and the file that says so, as shown."""

    entries: tuple[Entry, ...]
    made_with: str
    path: str = BASELINE


class Held(NamedTuple):
    """A baseline held against findings: each with the entry that accepts it, and how many of each entry are left."""

    accepted: Mapping[int, Entry]
    left: Mapping[Entry, int]


# ---- read and written


def read(path: str, content: bytes) -> Baseline:
    """The baseline in a file; BaselineError says what is wrong with it and where."""
    text = _text(path, content)
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 1)
        raise BaselineError(f"{path}:{line}: this is no JSON: {getattr(error, 'msg', error)}; {AGAIN}") from None
    stated = data.get("format") if isinstance(data, dict) else None
    if stated != FORMAT:
        named = f"its format is {stated}" if isinstance(stated, str) else "it states no format"
        raise BaselineError(f"{path}:1: {named}; this release reads {FORMAT}")
    findings = data.get("findings")
    if not isinstance(findings, list) or not isinstance(data.get("gpulint"), str) or len(data) != 3:
        raise BaselineError(f"{path}:1: a baseline has the keys format, gpulint and findings; {AGAIN}")
    lines = itertools.chain(_lines(text), itertools.repeat(1))
    entries = tuple(_entry(path, one, line) for one, line in zip(findings, lines, strict=False))
    return Baseline(entries, data["gpulint"], path)


def _text(path: str, content: bytes) -> str:
    if len(content) > BYTES_MAX:
        raise BaselineError(f"{path}:1: larger than {BYTES_MAX // 1_000_000} MB")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BaselineError(f"{path}:1: this is not UTF-8 text; {AGAIN}") from None
    if conflict := CONFLICT.search(text):
        line = text.count("\n", 0, conflict.start()) + 1
        raise BaselineError(
            f"{path}:{line}: a merge conflict; keep the entries of both sides, then run gpulint baseline --update"
        )
    return text


def _lines(text: str) -> Iterator[int]:
    """The lines on which the entries of a well-formed baseline begin."""
    begins = FINDINGS.search(text)
    if begins is None:
        return
    at, line, counted = begins.end(), 1, 0
    while (gap := GAP.match(text, at)) and text[gap.end() : gap.end() + 1] not in ("]", ""):
        line += text.count("\n", counted, gap.end())
        counted = gap.end()
        yield line
        _, at = DECODER.raw_decode(text, counted)


def _entry(path: str, data: object, line: int) -> Entry:
    known = {*TEXTS, "count"}
    if not isinstance(data, dict) or set(data) - known:
        keys = ", ".join(sorted(set(data) - known)) if isinstance(data, dict) else ""
        raise BaselineError(
            f"{path}:{line}: an entry has the keys {', '.join((*TEXTS, 'count'))}" + (keys and f", not {keys}")
        )
    texts = [data.get(key, "") for key in TEXTS]
    count = data.get("count", 1)
    sound = isinstance(count, int) and not isinstance(count, bool) and count > 0
    if not all(isinstance(one, str) for one in texts) or not sound or not texts[0]:
        raise BaselineError(f"{path}:{line}: an entry states texts, at least its rule, and a count from 1 on")
    rule, place, object_, role, quantity, value = texts
    return Entry(rule, place, role, Subject(object_, quantity, value), count, line)


def rendered(entries: Iterable[Entry], made_with: str) -> str:
    """A baseline as its file has it: sorted, one key a line, what is empty left out; BaselineError where none could read it."""
    rows = [_row(one) for one in sorted(entries, key=lambda one: (one.path, one.rule, one.subject, one.role))]
    data = {"format": FORMAT, "gpulint": made_with, "findings": rows}
    text = json.dumps(data, indent=2, ensure_ascii=False) + "\n"
    if len(text.encode("utf-8", HALVES)) > BYTES_MAX:
        raise BaselineError(
            f"{len(rows):,} entries are more than a baseline can hold; write one for each part of the repository"
        )
    return text


def _row(one: Entry) -> dict[str, str | int]:
    texts = (one.rule, one.path, one.subject.object, one.role, one.subject.quantity, one.subject.value)
    return {**{key: text for key, text in zip(TEXTS, texts, strict=True) if text}, "count": one.number}


# ---- held against findings


def of(findings: Iterable[Finding], place: Place) -> tuple[Entry, ...]:
    """The entries that accept findings, but for those about waivers themselves."""
    counts: dict[Entry, int] = {}
    for one in findings:
        if one.family != ALWAYS_SAID:
            entry = Entry(one.rule, place(one.location.path), one.role, one.subject)
            counts[entry] = counts.get(entry, 0) + 1
    return tuple(entry._replace(number=count) for entry, count in counts.items())


def held(known: Baseline, findings: Sequence[Finding], place: Place, free: Callable[[str], bool], release: str) -> Held:
    """Which findings a baseline accepts: where they were first, then those of entries whose file is `free`.

    It is where it is gone, or was checked and holds fewer of them now. A baseline that another release told is compared by
    the quantities that both know.
    """
    left = {one: one.number for one in known.entries}
    accepted: dict[int, Entry] = {}
    by_object: dict[tuple[str, str, str], list[Entry]] = {}
    for entry in known.entries:
        by_object.setdefault((entry.rule, entry.role, _owner(entry.subject, entry.path)), []).append(entry)
    asked = [(index, one, place(one.location.path)) for index, one in enumerate(findings) if _counts(one)]

    def moved(entry: Entry, _: str) -> bool:
        return free(entry.path)

    for same in (_same,) if known.made_with == release else (_same, _akin):
        for near in (_here, moved):
            for index, finding, path in asked:
                known_of_it = by_object.get((finding.rule, finding.role, _owner(finding.subject, path)), ())
                held_by = (one for one in known_of_it if left[one] and same(one, finding) and near(one, path))
                if index not in accepted and (found := next(held_by, None)):
                    left[found] -= 1
                    accepted[index] = found
    return Held(accepted, {one: count for one, count in left.items() if count})


def _counts(finding: Finding) -> bool:
    return finding.suppressed is None and finding.family != ALWAYS_SAID


def _here(entry: Entry, path: str) -> bool:
    return entry.path == path


def _owner(subject: Subject, path: str) -> str:
    """The object of a subject; empty where it goes by the name of its file or of a folder, which a move may change."""
    parts = path.split("/")
    return "" if subject.object in (*parts, parts[-1].rpartition(".")[0]) else subject.object


def _same(entry: Entry, finding: Finding) -> bool:
    return entry.subject[1:] == finding.subject[1:]


def _akin(entry: Entry, finding: Finding) -> bool:
    """Whether the quantities that two subjects both state are the same."""
    one, other = _quantities(entry.subject), _quantities(finding.subject)
    common = one.keys() & other.keys()
    return all(one[name] == other[name] for name in common) and (bool(common) or not (one and other))


def _quantities(subject: Subject) -> dict[str, str]:
    """The quantities that a subject states, the one at fault first."""
    if not subject.value:
        return {}
    first, *rest = subject.value.split("; ") if subject.quantity else ("", *subject.value.split("; "))
    named = dict(part.partition(" ")[::2] for part in rest)
    return {subject.quantity: first, **named} if subject.quantity else named


def waiver(known: Baseline, entry: Entry) -> Waiver:
    """Why a finding that stands in a baseline does not count."""
    place = Location(known.path, entry.line, 1, entry.line, 1)
    return Waiver("baseline", f"accepted by {known.path}", place)
