"""The report as SARIF 2.1.0, which code scanning services and editors read.

Braces in messages are left as they are: the standard would double them, and the readers that there are show them doubled.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import quote

from gpulint.report.formats import fingerprints as identity
from gpulint.report.formats import json, markdown, text
from gpulint.report.formats import summary_line as counts
from gpulint.report.model import (
    Failure,
    Finding,
    Location,
    Replacement,
    Report,
    RoleSummary,
    RuleCard,
    Skip,
    Spent,
    Suggestion,
    Waiver,
    WorkloadSummary,
)
from gpulint.version import PROJECT, __version__

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
ROOT = "%SRCROOT%"
NEEDS_SAMPLES = True
"""The help of a rule shows its wrong and its right sample."""
SHOWN_CHARACTERS_MAX = 2_000
IN_SOURCE = frozenset({"comment", "annotation"})
BASE = "base"
MARK = "gpulintSubject/v1"
DRIVE = re.compile(r"[A-Za-z]:/")
URI_SAFE = "/:?#@!$&'()*+,;=%~"
NOTIFICATIONS = {
    "internal-error": (
        "A fault of gpulint ended the check of a file",
        "The other files were checked. Nothing is known of this one: please report the fault.",
    ),
    "not-read": (
        "A file, or a document of it, was not read",
        "Nothing is known of it; the reason stands in the message.",
    ),
    "not-evaluated": (
        "Checks lacked a quantity that nobody states",
        "They neither passed nor failed; an annotation, a comment or gpulint.yaml can state what they need.",
    ),
}
Object = dict[str, object]


def render(report: Report) -> str:
    """One run: the rules that speak, every finding, and a notification of each thing that was not looked at."""
    cards = _cards(report)
    index = {name: at for at, name in enumerate(cards)}
    driver = {
        "name": "gpulint",
        "fullName": f"gpulint {__version__}",
        "version": __version__,
        **({"informationUri": PROJECT} if PROJECT else {}),
        "rules": [_rule(card) for card in cards.values()],
        "notifications": [_descriptor(name, *said) for name, said in NOTIFICATIONS.items()],
    }
    compared = report.comparison is not None
    results = [_result(one, mark, index[one.rule], compared) for one, mark in identity.told_apart(report.findings)]
    run = {
        "tool": {"driver": driver},
        "invocations": [_invocation(report)],
        "originalUriBaseIds": {ROOT: {"description": {"text": "the folder that gpulint ran in"}}},
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    return json.encoded({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]})


# ---- rules


def _cards(report: Report) -> Mapping[str, RuleCard]:
    """The card of every rule that has a finding, by name."""
    speaking = {one.rule: one for one in report.findings}
    return {name: report.rules.get(name) or _unlisted(one) for name, one in sorted(speaking.items())}


def _unlisted(finding: Finding) -> RuleCard:
    return RuleCard(finding.rule, finding.family, finding.severity, finding.rule, finding.help)


def _rule(card: RuleCard) -> Object:
    page = card.page or next(iter(card.references), "")
    return {
        "id": card.name,
        "name": _pascal(card.name),
        "shortDescription": {"text": _inert(card.summary)},
        "fullDescription": {"text": _inert(card.why)},
        "help": {"text": "\n\n".join(_help(card)), "markdown": "\n\n".join(_marked_help(card))},
        **({"helpUri": page} if page else {}),
        "defaultConfiguration": {"level": card.severity.word},
        "properties": {"tags": [card.family], "precision": "high" if card.status == "stable" else "medium"},
    }


def _descriptor(name: str, short: str, full: str) -> Object:
    return {
        "id": name,
        "name": _pascal(name),
        "shortDescription": {"text": short},
        "fullDescription": {"text": full},
        "help": {"text": full},
    }


def _pascal(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("-"))


def _help(card: RuleCard) -> Iterator[str]:
    yield card.why
    for title, sample in (("Wrong", card.wrong), ("Right", card.right)):
        if sample:
            yield f"{title}:\n{sample.rstrip()}"
    if card.references:
        yield "\n".join(("See:", *card.references))
    if not card.page:
        yield f"More: gpulint explain {card.name}"


def _marked_help(card: RuleCard) -> Iterator[str]:
    yield markdown.prose(card.why)
    for title, sample in (("Wrong", card.wrong), ("Right", card.right)):
        if sample:
            yield f"**{title}**\n\n{markdown.fenced(sample.rstrip())}"
    if card.references:
        yield "\n".join(("See", "", *(f"- <{quote(one, safe=URI_SAFE)}>" for one in card.references)))
    if not card.page:
        yield f"More: {markdown.code(f'gpulint explain {card.name}')}"


# ---- results


def _result(finding: Finding, mark: str, rule: int, compared: bool) -> Object:
    waiver = finding.suppressed
    fixes = [_fix(one) for one in sorted(finding.suggestions, key=_gives_up_something) if _is_exact(one)]
    said = (finding.message, *finding.arithmetic, *map(text.alternative, finding.suggestions))
    return {
        "ruleId": finding.rule,
        "ruleIndex": rule,
        "level": finding.severity.word,
        "message": {"text": _inert("\n".join(said))},
        "locations": [_location(finding.location, finding.label, text.owner(finding.workload, finding.role))],
        "relatedLocations": [
            {"id": at, **_location(one.location, one.label)} for at, one in enumerate(finding.related, start=1)
        ],
        "partialFingerprints": {MARK: mark},
        "suppressions": [_suppression(waiver)] if waiver and waiver.kind != BASE else [],
        **({"baselineState": "unchanged" if waiver else "new"} if compared else {}),
        **({"fixes": fixes} if fixes else {}),
        "properties": {
            "family": finding.family,
            "confidence": finding.confidence,
            "facts": json.facts(finding.facts),
            **{key: value for key, value in finding.subject._asdict().items() if value},
        },
    }


def _suppression(waiver: Waiver) -> Object:
    """Why a finding does not count; who says so, until when and up to what stands in its properties."""
    kind = "inSource" if waiver.kind in IN_SOURCE else "external"
    stated = {key: getattr(waiver, key) for key in ("kind", "owner", "until", "bound")}
    return {
        "kind": kind,
        "status": "accepted",
        "justification": waiver.reason,
        **({"location": _location(waiver.location)} if waiver.location else {}),
        "properties": {key: value for key, value in stated.items() if value},
    }


# ---- fixes


def _is_exact(suggestion: Suggestion) -> bool:
    return bool(suggestion.edits) and all(edit.exact for edit in suggestion.edits)


def _gives_up_something(suggestion: Suggestion) -> bool:
    return not suggestion.is_safe


def _fix(suggestion: Suggestion) -> Object:
    """An alternative as changes of files, each with all that is replaced in it."""
    files: dict[str, list[Replacement]] = {}
    for edit in suggestion.edits:
        if edit.exact:
            files.setdefault(edit.exact.location.path, []).append(edit.exact)
    changes = [{"artifactLocation": _artifact(path), "replacements": _replaced(all_)} for path, all_ in files.items()]
    safe = {"properties": {"safe": suggestion.is_safe}}
    return {"description": {"text": _inert(text.alternative(suggestion))}, "artifactChanges": changes, **safe}


def _replaced(replacements: Iterable[Replacement]) -> list[Object]:
    return [{"deletedRegion": _region(one.location), "insertedContent": {"text": one.text}} for one in replacements]


# ---- places


def _location(location: Location, label: str = "", owner: str = "") -> Object:
    region = _region(location)
    snippet = _snippet(location)
    shown = {"snippet": {"text": snippet}} if snippet else {}
    around = {"startLine": location.line, "endLine": location.end_line, "snippet": {"text": location.text}}
    physical = {
        "artifactLocation": _artifact(location.path),
        "region": {**region, **shown},
        **({"contextRegion": around} if snippet and len(snippet) < len(location.text) <= SHOWN_CHARACTERS_MAX else {}),
    }
    return {
        "physicalLocation": physical,
        **({"message": {"text": _inert(label)}} if label else {}),
        **({"logicalLocations": [{"fullyQualifiedName": owner}]} if owner else {}),
    }


def _region(location: Location) -> dict[str, object]:
    return {
        "startLine": location.line,
        "startColumn": location.column,
        "endLine": location.end_line,
        "endColumn": location.end_column,
    }


def _snippet(location: Location) -> str:
    """The characters of a span; nothing where they are too many to be shown."""
    lines = location.text.split("\n")[: location.end_line - location.line + 1]
    if len(lines) == location.end_line - location.line + 1:
        lines[-1] = lines[-1][: location.end_column - 1]
    lines[0] = lines[0][location.column - 1 :]
    snippet = "\n".join(lines)
    return snippet if len(snippet) <= SHOWN_CHARACTERS_MAX else ""


def _artifact(path: str) -> Object:
    """A file by its address: relative to the root where it lies below."""
    address = quote(path, errors="replace")
    if path.startswith("/"):
        return {"uri": f"file://{address}"}
    return {"uri": f"file:///{quote(path, safe='/:', errors='replace')}"} if DRIVE.match(path) else _below_root(address)


def _below_root(address: str) -> Object:
    return {"uri": address, "uriBaseId": ROOT}


def _inert(words: str) -> str:
    """Words that no reader takes for a link."""
    return words.replace("](", "] (")


# ---- what was not looked at


def _invocation(report: Report) -> Object:
    roles = ((workload, role) for workload in report.workloads for role in workload.roles if role.not_evaluated)
    notifications = [
        *map(_fault, report.failures),
        *map(_unread, report.skipped),
        *(_lacking(workload, role) for workload, role in roles),
        *(_unknown_budget(one) for one in report.budgets if one.verdict == counts.UNTOLD),
        *map(_untold, report.comparison.untold if report.comparison else ()),
    ]
    return {"executionSuccessful": not report.failures, "toolExecutionNotifications": notifications}


def _fault(failure: Failure) -> Object:
    return _notification("internal-error", "error", f"while {failure.doing}: {failure.error}", failure.path)


def _unread(skip: Skip) -> Object:
    return _notification("not-read", "warning", f"not read: {skip.reason}", skip.path)


def _lacking(workload: WorkloadSummary, role: RoleSummary) -> Object:
    needs = sorted({need for one in role.not_evaluated for need in one.needs})
    checks = [{"rule": one.rule, "needs": list(one.needs)} for one in role.not_evaluated]
    whose = text.owner(workload.name, role.name)
    said = f"{whose}: {len(checks)} checks were not evaluated; to have them, add {', '.join(needs)}"
    told = _notification("not-evaluated", "note", said, workload.location.path)
    return {**told, "properties": {"checks": checks}}


def _unknown_budget(spent: Spent) -> Object:
    return _notification("not-evaluated", "note", counts.budget(spent), spent.location.path)


def _untold(finding: Finding) -> Object:
    said = f"{finding.rule} stood before, and cannot be told any more: {finding.message}"
    return _notification("not-evaluated", "warning", said, finding.location.path)


def _notification(name: str, level: str, said: str, path: str) -> Object:
    return {
        "descriptor": {"id": name, "index": list(NOTIFICATIONS).index(name)},
        "level": level,
        "message": {"text": _inert(said)},
        "locations": [{"physicalLocation": {"artifactLocation": _artifact(path)}}],
    }
