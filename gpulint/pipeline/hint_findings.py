"""Findings about hints: those that cannot be read, do not apply, or contradict the file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from gpulint.pipeline import contradictions
from gpulint.pipeline.enrichment.hints import LEFT_OUT
from gpulint.pipeline.parse import ParsedFile
from gpulint.policy.rules import evaluate, identity
from gpulint.policy.rules.evaluated_role import EvaluatedRole
from gpulint.policy.rules.rule import Rule
from gpulint.policy.waivers import declarations
from gpulint.report.model import Finding, HintUse, Location
from gpulint.source.documents import Comment, Document
from gpulint.workload import Hint, Origin, Unknown

if TYPE_CHECKING:
    from gpulint.pipeline.enrichment import Context

APPLIES = "all checks use the hint"
MALFORMED, NOT_APPLIED, CONTRADICTS = "malformed-hint", "hint-not-applied", "hint-contradicts-file"


def find(
    malformed: Iterable[tuple[Comment, str]], roles: Sequence[EvaluatedRole], parsed: ParsedFile, context: Context
) -> Iterator[Finding]:
    """Yield the findings about the hints of a file, if their rules are selected."""
    rules = {rule.name: rule for rule in context.policy.rules}
    documents = parsed.loaded.documents
    if rule := rules.get(MALFORMED):
        for comment, reason in malformed:
            yield evaluate.make_document_finding(rule, declarations.locate_comment(comment, documents), reason)
    if rule := rules.get(NOT_APPLIED):
        for entry in parsed.pending:
            yield evaluate.make_document_finding(rule, entry.declaration.location, entry.message)
        yield from _find_left_out(rule, roles)
    if rule := rules.get(CONTRADICTS):
        yield from _find_contradictions(rule, roles, documents, context)


def _find_left_out(rule: Rule, roles: Iterable[EvaluatedRole]) -> Iterator[Finding]:
    """Yield a finding for each hint of another file, or of an object inside a text, that does not apply."""
    left = [hint for role in roles for hint in role.facts.role.hints if hint.kind == LEFT_OUT]
    places = {(hint.text, place): hint for hint in left if (place := _locate(hint, ())) is not None}
    for text, place in places:
        message = (
            f"hint {text} does not apply: gpulint did not find it in the --policy-from commit. "
            "Declare it in a comment or in gpulint.yaml"
        )
        yield evaluate.make_document_finding(rule, place, message)


def _find_contradictions(
    rule: Rule, roles: Iterable[EvaluatedRole], documents: Sequence[Document], context: Context
) -> Iterator[Finding]:
    """Yield one finding for each hint and each value that it replaces."""
    seen: set[object] = set()
    for role in roles:
        for hint in role.facts.role.hints:
            if hint.kind == LEFT_OUT:
                continue
            stated = contradictions.find_stated(hint, role.facts.role, context.repository)
            found = _build(rule, hint, stated, role, documents) if stated else None
            if found is not None and (found.location, found.message) not in seen:
                seen.add((found.location, found.message))
                yield found


def _build(rule: Rule, hint: Hint, stated: str, role: EvaluatedRole, documents: Sequence[Document]) -> Finding:
    about = role.facts.role
    field = hint.stated if hint.stated is not None and hint.stated.origins else None
    origin = field.origins[0] if field else about.fields.get("gpus_per_pod", hint.field).origins[:1]
    place = origin if isinstance(origin, Origin) else next(iter(origin), about.anchor)
    where = _locate(hint, documents) or place.location()
    source = f" ({hint.kind})" if hint.place is None else ""
    message = (
        f"hint {hint.text}{source} contradicts the file, which states {stated}; {APPLIES}. "
        "Remove the hint, or correct the file"
    )
    found = evaluate.make_document_finding(rule, where, message, [(f"states {stated}", place.location())])
    subject = identity.identify_role(role.workload, about, hint.quantity, ())
    return found._replace(
        workload=role.workload.name,
        role=about.name,
        subject=subject._replace(value=identity.normalise(f"{hint.text}; {stated}")),
    )


def _locate(hint: Hint, documents: Sequence[Document]) -> Location | None:
    """Return the location of a hint in a file; None if settings state it."""
    if isinstance(hint.place, Comment):
        return declarations.locate_comment(hint.place, documents)
    return None if hint.place is None else hint.place.location()


def list_uses(role: EvaluatedRole) -> Iterator[HintUse]:
    """Yield the hints of comments and annotations that a role is checked with."""
    about = role.facts.role
    for hint in about.hints:
        if hint.place is None or hint.kind == LEFT_OUT:
            continue
        where = _locate(hint, (about.anchor.document,))
        if where is not None:
            yield HintUse(hint.text, hint.kind, where.path, where.line, role.workload.name, _describe_stated(hint))


def _describe_stated(hint: Hint) -> str:
    """Return what the file states or suggests instead; empty if it leaves the value open."""
    stated = hint.stated
    if (
        stated is None
        or stated.value == hint.field.value
        or not (stated.assumption or contradictions.is_written(stated))
    ):
        return ""
    return "" if isinstance(stated.value, Unknown) else contradictions.render(hint, stated.value)
