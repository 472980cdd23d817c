"""Objects: rules of a team that read a document as data, and print and point at parts of it by their paths."""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Iterator, Sequence

from gpulint import units
from gpulint.policy.rules import cel
from gpulint.policy.rules import evaluate as check
from gpulint.policy.rules.rule import Rule
from gpulint.report.model import Finding, Location, Skip
from gpulint.source.documents import Document, Path

STEP = re.compile(r"\.(?P<key>[A-Za-z_][\w-]*)|\[(?P<index>\d+)\]|\[(?P<quote>['\"])(?P<text>[^'\"]*)(?P=quote)\]")
SHOWN_MAX = 100


def about(rule: Rule) -> bool:
    """Whether a rule reads documents as data, and not what is wrong with their text."""
    return rule.target.scope == "document" and "problem" not in cel.names(rule.when)


def findings(found: Iterable[Document], rules: Sequence[Rule]) -> Iterator[Finding | Skip]:
    """What these rules say of documents; one that lacks a key that a condition reads is not judged by it."""
    asked = [rule for rule in rules if about(rule)]
    for document in found if asked else ():
        data = document.data
        for rule in asked:
            if not isinstance(data, dict) or (rule.target.kind and data.get("kind") not in rule.target.kind):
                continue
            try:
                held = cel.evaluate(rule.when, {"object": data})
            except cel.ConditionError as error:
                yield Skip(document.path, f"rule {rule.name} was not evaluated: {error}")
                continue
            if held:
                yield check.at_document(rule, _place(rule, document), filled(rule.message, document))


def path_of(text: str) -> Path | None:
    """The path of a part of an object, written as a condition does (`object.spec.replicas`); None of any other text."""
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


def filled(message: str, document: Document) -> str:
    """A message with the parts of an object that it names in braces."""
    parts = []
    for text, name, _, _ in string.Formatter().parse(message):
        parts.append(text)
        path = path_of(name) if name else None
        if path is not None:
            parts.append(_shown(document.get(path)))
    return "".join(parts)


def _shown(value: object) -> str:
    text = units.human(value, "")
    return text if len(text) <= SHOWN_MAX else f"{text[:SHOWN_MAX]}…"


def _place(rule: Rule, document: Document) -> Location:
    """The first stated part that is there; else what the first one is missing from; else the kind."""
    stated = [path for name in rule.at if (path := path_of(name)) is not None]
    there = [path for path in stated if document.node(path) is not None]
    return document.locate(next(iter([*there, *stated]), ("kind",)))
