"""Team rules about documents: evaluate them over the object, and print and locate parts of it by path."""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Iterator, Sequence

from gpulint import units
from gpulint.policy.conditions import cel
from gpulint.policy.rules import evaluate
from gpulint.policy.rules.rule import Rule
from gpulint.report.model import Finding, Location, Skip
from gpulint.source.documents import Document, Path

STEP = re.compile(r"\.(?P<key>[A-Za-z_][\w-]*)|\[(?P<index>\d+)\]|\[(?P<quote>['\"])(?P<text>[^'\"]*)(?P=quote)\]")
SHOWN_MAX = 100


def reads_object(rule: Rule) -> bool:
    """True if a rule reads documents as data rather than errors in their text."""
    return rule.target.scope == "document" and "problem" not in cel.find_names(rule.when)


def find(found: Iterable[Document], rules: Sequence[Rule]) -> Iterator[Finding | Skip]:
    """Yield the findings of these rules in documents. A rule whose condition reads a missing key is skipped."""
    applicable = [rule for rule in rules if reads_object(rule)]
    for document in found if applicable else ():
        data = document.data
        for rule in applicable:
            if not isinstance(data, dict) or (rule.target.kind and data.get("kind") not in rule.target.kind):
                continue
            try:
                holds = cel.evaluate(rule.when, {"object": data})
            except cel.ConditionError as error:
                yield Skip(document.path, f"rule {rule.name} was not evaluated: {error}", "rule")
                continue
            if holds:
                yield evaluate.make_document_finding(
                    rule, _locate(rule, document), fill_message(rule.message, document)
                )


def parse_path(text: str) -> Path | None:
    """Return the path of a part of an object, written as `object.spec.replicas`; None for other text."""
    if not text.startswith("object"):
        return None
    steps: list[str | int] = []
    at = len("object")
    while at < len(text):
        step = STEP.match(text, at)
        if step is None:
            return None
        steps.append(int(step["index"]) if step["index"] else step["key"] or step["text"])
        at = step.end()
    return tuple(steps)


def fill_message(message: str, document: Document) -> str:
    """Return a message with the named parts of an object filled in."""
    parts = []
    for text, name, _, _ in string.Formatter().parse(message):
        parts.append(text)
        path = parse_path(name) if name else None
        if path is not None:
            parts.append(_render(document.get(path)))
    return "".join(parts)


def _render(value: object) -> str:
    text = units.human(value, "")
    return text if len(text) <= SHOWN_MAX else f"{text[:SHOWN_MAX]}…"


def _locate(rule: Rule, document: Document) -> Location:
    """Return the first of the rule's parts that exists, otherwise the parent of the first one, otherwise the kind."""
    paths = [path for name in rule.at if (path := parse_path(name)) is not None]
    existing = [path for path in paths if document.node(path) is not None]
    return document.locate(next(iter([*existing, *paths]), ("kind",)))
