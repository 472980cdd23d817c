"""Rewordings: replace a wrong word with the right one that a fact supplies, or remove a redundant
entry.
"""

from __future__ import annotations

from gpulint.facts.model import Facts
from gpulint.policy.rules.rule import Rule
from gpulint.report.model import Edit, Suggestion
from gpulint.workload import Origin


def propose(rule: Rule, facts: Facts) -> tuple[Suggestion, ...]:
    """Return the replacement that a rule proposes at its location; empty if location or word is
    unknown.
    """
    field = facts.role.fields.get(rule.at[0]) if rule.at else None
    if field is None or not field.origins:
        return ()
    origin = field.origins[0]
    if rule.superfluous:
        edit = Edit(rule.at[0], origin.location(), origin.text(), "", "remove")
        return (Suggestion("remove it", (edit,), trade_off=rule.trade_off),)
    instead = facts.expected(rule.instead) if rule.instead else None
    place = _locate_word(origin, str(field.value))
    if not isinstance(instead, str) or place is None:
        return ()
    edit = Edit(rule.at[0], place.location(), str(field.value), instead)
    return (Suggestion(f"{instead} instead", (edit,), trade_off=rule.trade_off),)


def _locate_word(origin: Origin, word: str) -> Origin | None:
    """Return the location of a word: at the beginning of its value, or as the name of that
    value.
    """
    if origin.text().startswith(word):
        if origin.span is None and origin.text() == word:
            return origin
        start = origin.span[0] if origin.span else 0
        return origin._replace(span=(start, start + len(word)))
    return _locate_name(origin, word)


def _locate_name(origin: Origin, word: str) -> Origin | None:
    """Return the name of the variable whose value is at a location."""
    *above, last = origin.path or ("",)
    if origin.span is not None:
        value = origin.document.get(origin.path)
        before = str(value)[: origin.span[0]].rstrip("\"'")
        end = len(before) - 1
        return origin._replace(span=(end - len(word), end)) if before.endswith(f"{word}=") else None
    if last == "value" and origin.document.get((*above, "name")) == word:
        return Origin(origin.document, (*above, "name"))
    return Origin(origin.document, origin.path, key=True) if last == word else None
