"""Rewordings: the right word in the place of a wrong one where a rule's facts name it, or the entry gone that says nothing."""

from __future__ import annotations

from gpulint.facts.model import Facts
from gpulint.policy.rules.rule import Rule
from gpulint.report.model import Edit, Suggestion
from gpulint.workload import Origin


def of(rule: Rule, known: Facts) -> tuple[Suggestion, ...]:
    """What a rule says should stand at its place instead; nothing where a place or the word is not known."""
    field = known.role.fields.get(rule.at[0]) if rule.at else None
    if field is None or not field.origins:
        return ()
    origin = field.origins[0]
    if rule.superfluous:
        edit = Edit(rule.at[0], origin.location(), origin.text(), "", "remove")
        return (Suggestion("leave it out", (edit,), gives_up=rule.gives_up),)
    instead = known.likely(rule.instead) if rule.instead else None
    place = _place(origin, str(field.value))
    if not isinstance(instead, str) or place is None:
        return ()
    edit = Edit(rule.at[0], place.location(), str(field.value), instead)
    return (Suggestion(f"{instead} in its place", (edit,), gives_up=rule.gives_up),)


def _place(origin: Origin, word: str) -> Origin | None:
    """Where a word itself stands: at the beginning of its place, or as the name of the value that stands there."""
    if origin.text().startswith(word):
        if origin.span is None and origin.text() == word:
            return origin
        start = origin.span[0] if origin.span else 0
        return origin._replace(span=(start, start + len(word)))
    return _name(origin, word)


def _name(origin: Origin, word: str) -> Origin | None:
    """The name of the variable whose value stands at a place."""
    *above, last = origin.path or ("",)
    if origin.span is not None:
        value = origin.document.get(origin.path)
        before = str(value)[: origin.span[0]].rstrip("\"'")
        end = len(before) - 1
        return origin._replace(span=(end - len(word), end)) if before.endswith(f"{word}=") else None
    if last == "value" and origin.document.get((*above, "name")) == word:
        return Origin(origin.document, (*above, "name"))
    return Origin(origin.document, origin.path, key=True) if last == word else None
