"""Policy: which rules speak, and what a suppression in a file silences."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from gpulint.documents import Comment, Document
from gpulint.findings import Finding, Location, Waiver
from gpulint.policy import check
from gpulint.policy.rule import Rule, known, load_team
from gpulint.policy.settings import SettingsError

DIRECTIVE = re.compile(r"gpulint:\s*(?P<rest>.*)")
IGNORE = re.compile(r"ignore\[(?P<names>[\w-]+(?:\s*,\s*[\w-]+)*)\]\s+(?P<reason>\S.*)")
HINT = re.compile(r"gpulint:\s*(?P<words>[\w-]+=.*)")
ANNOTATION = "gpulint/ignore"


class Suppression(NamedTuple):
    """One name of one directive: the rule it silences, why, where it stands, and the lines it reaches."""

    rule: str
    reason: str
    location: Location
    lines: tuple[int, int]
    kind: str = "comment"

    @property
    def waiver(self) -> Waiver:
        return Waiver(self.kind, self.reason, self.location)


class Trouble(NamedTuple):
    """A directive that is wrong, by the name of the rule that says so."""

    rule: str
    message: str
    location: Location


def selected(select: Sequence[str], ignore: Sequence[str], folders: Iterable[str]) -> tuple[Rule, ...]:
    """The rules of this run, by name or family; SettingsError for a word that is neither."""
    rules = known(rule for folder in folders for rule in load_team(Path(folder)))
    families = {rule.family for rule in rules.values()}
    for word in (*select, *ignore):
        if word not in rules and word not in families:
            import difflib

            near = difflib.get_close_matches(word, [*rules, *families], n=1)
            raise SettingsError(f"no rule or family is called {word}" + (f"; did you mean {near[0]}?" if near else ""))
    return tuple(
        rule
        for rule in rules.values()
        if (not select or {rule.name, rule.family} & set(select)) and not {rule.name, rule.family} & set(ignore)
    )


def suppressions(
    documents: Sequence[Document], comments: Sequence[Comment], names: Iterable[str]
) -> tuple[list[Suppression], list[Trouble]]:
    """What the comments and annotations of a file silence, and the directives that cannot be read."""
    known = frozenset(names)
    found: list[Suppression] = []
    troubles: list[Trouble] = []
    for text, location, lines in (*_comments(documents, comments), *_annotations(documents)):
        for part in _directives(text, location, lines, known):
            (found if isinstance(part, Suppression) else troubles).append(part)  # type: ignore[arg-type]
    return found, troubles


def hint(comment: str) -> str:
    """The words of a comment that states quantities, as in `gpulint: accelerator=l4 model=Qwen/Qwen3-8B`; else empty."""
    match = HINT.fullmatch(comment)
    return match["words"] if match else ""


def applied(findings: Iterable[Finding], given: Sequence[Suppression]) -> tuple[list[Finding], list[Suppression]]:
    """The findings with those marked that a suppression reaches, and the suppressions that reached none."""
    used: set[Suppression] = set()
    marked: list[Finding] = []
    for finding in findings:
        reaching = next((one for one in given if _reaches(one, finding)), None)
        if reaching:
            used.add(reaching)
        marked.append(finding._replace(suppressed=reaching.waiver) if reaching else finding)
    return marked, [one for one in given if one not in used]


def troubles_as_findings(troubles: Iterable[Trouble], rules: Iterable[Rule]) -> Iterator[Finding]:
    """Findings for wrong directives, as far as their rules are selected."""
    by_name = {rule.name: rule for rule in rules}
    for trouble in troubles:
        if rule := by_name.get(trouble.rule):
            yield check.at_document(rule, trouble.location, trouble.message)


def _reaches(suppression: Suppression, finding: Finding) -> bool:
    if suppression.rule != finding.rule or suppression.location.path != finding.location.path:
        return False
    first, last = suppression.lines
    return first <= finding.location.line <= last


def _comments(
    documents: Sequence[Document], comments: Sequence[Comment]
) -> Iterator[tuple[str, Location, tuple[int, int]]]:
    """Directives in comments, with the lines they reach: their own, or the value that starts on the next line."""
    for comment in comments:
        match = DIRECTIVE.match(comment.text)
        if match is None or not documents or hint(comment.text):
            continue
        document = documents[0]
        lines = [line.removesuffix("\r") for line in document.text.split("\n")]
        text = lines[comment.line - 1]
        alone = not text[: comment.column - 1].strip()
        place = Location(document.path, comment.line, comment.column, comment.line, len(text) + 1, text)
        first = comment.line + 1 + _comment_lines(lines[comment.line :]) if alone else comment.line
        yield match["rest"].strip(), place, (comment.line, max(first, _end_of_scalar(documents, first)))


def _comment_lines(lines: Iterable[str]) -> int:
    """How many lines of comments stand before anything else."""
    return len(list(itertools.takewhile(lambda line: line.lstrip().startswith("#"), lines)))


def _end_of_scalar(documents: Sequence[Document], line: int) -> int:
    """The last line of the multi-line scalar that starts on a line, else that line."""
    text = documents[0].text
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    if line > len(starts):
        return line
    begin = starts[line - 1]
    end = starts[line] if line < len(starts) else len(text)
    spans = (node for document in documents for node in _scalars(document.root, begin, end))
    return max((text.count("\n", 0, node_end) + 1 for _, node_end in spans), default=line)


def _scalars(root: object, begin: int, end: int) -> Iterator[tuple[int, int]]:
    stack = [root]
    while stack:
        node = stack.pop()
        kind, value = getattr(node, "kind", ""), getattr(node, "value", None)
        if kind == "scalar" and begin <= getattr(node, "start", -1) < end:
            yield getattr(node, "start", 0), max(getattr(node, "start", 0), getattr(node, "end", 0) - 1)
        elif kind == "mapping" and isinstance(value, list):
            stack.extend(part for pair in value for part in pair)
        elif kind == "sequence" and isinstance(value, list):
            stack.extend(value)


def _annotations(documents: Sequence[Document]) -> Iterator[tuple[str, Location, tuple[int, int]]]:
    """`gpulint/ignore` annotations of objects; they reach the whole object."""
    for document in documents:
        annotations = document.get(("metadata", "annotations"))
        text = annotations.get(ANNOTATION) if isinstance(annotations, dict) else None
        if isinstance(text, str):
            place = document.locate(("metadata", "annotations", ANNOTATION))
            first, last = (document.text.count("\n", 0, at) + 1 for at in (document.root.start, document.root.end))
            for line in filter(None, map(str.strip, text.splitlines())):
                name, _, reason = line.partition(":")
                yield f"ignore[{name.strip()}] {reason.strip()}", place, (first, last)


def _directives(
    text: str, location: Location, lines: tuple[int, int], known: frozenset[str]
) -> Iterator[Suppression | Trouble]:
    match = IGNORE.fullmatch(text)
    if match is None:
        yield Trouble("malformed-suppression", f"cannot read `{text}`; write ignore[rule-name] and a reason", location)
        return
    for name in (part.strip() for part in match["names"].split(",")):
        if name in known:
            yield Suppression(name, match["reason"].strip(), location, lines)
        else:
            yield Trouble("malformed-suppression", f"no rule is called {name}", location)
