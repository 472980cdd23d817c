"""The report as SARIF 2.1.0 for code scanning services and editors.

Braces in messages are not doubled: the standard requires it, but existing readers would show them doubled.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import quote

from gpulint.report import json_text
from gpulint.report.formats import comparison as formats_comparison
from gpulint.report.formats import finding_lines, fingerprints, json, markdown, suggestion_lines, summary_line
from gpulint.report.model import (
    Failure,
    Finding,
    HintUse,
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
from gpulint.report.report import STATING_GPUS
from gpulint.report.verdicts import NOT_EVALUATED
from gpulint.version import PROJECT, __version__

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
ROOT = "%SRCROOT%"
NEEDS_SAMPLES = True
"""The help of a rule shows its bad and good sample."""
SHOWN_CHARACTERS_MAX = 2_000
IN_SOURCE = frozenset({"comment", "annotation"})
BASE = "base"
MARK = "gpulintSubject/v1"
DRIVE = re.compile(r"[A-Za-z]:/")
URI_SAFE = "/:?#@!$&'()*+,;=%~"
NOTIFICATIONS = {
    "internal-error": (
        "An internal error of gpulint ended the check of a file",
        "The other files were checked, but this one was not. Please report the error.",
    ),
    "not-checked": (
        "A file, or a document of it, was not checked",
        "It was not checked; the message gives the reason.",
    ),
    "not-evaluated": (
        "Checks were not evaluated because facts are missing",
        "They neither passed nor failed; declare the facts in an annotation, a comment or gpulint.yaml.",
    ),
    "hint": (
        "A change adds or changes a hint",
        "All checks use the value of the hint; review whether it is true.",
    ),
}
Object = dict[str, object]


def render(report: Report) -> str:
    """Return one run: the rules with findings, every finding, and a notification for everything not checked."""
    cards = _cards(report)
    index = {name: position for position, name in enumerate(cards)}
    driver = {
        "name": "gpulint",
        "fullName": f"gpulint {__version__}",
        "version": __version__,
        **({"informationUri": PROJECT} if PROJECT else {}),
        "rules": [_rule(card) for card in cards.values()],
        "notifications": [_descriptor(name, *texts) for name, texts in NOTIFICATIONS.items()],
    }
    compared = report.comparison is not None
    results = [
        _result(finding, mark, index[finding.rule], compared)
        for finding, mark in fingerprints.mark_unique(report.findings)
    ]
    run = {
        "tool": {"driver": driver},
        "invocations": [_invocation(report)],
        "originalUriBaseIds": {ROOT: {"description": {"text": "the folder that gpulint ran in"}}},
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    return json_text.encode({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]})


# ---- rules


def _cards(report: Report) -> Mapping[str, RuleCard]:
    """Return the rules with findings by name."""
    fired = {finding.rule: finding for finding in report.findings}
    return {name: report.rules.get(name) or _minimal_card(finding) for name, finding in sorted(fired.items())}


def _minimal_card(finding: Finding) -> RuleCard:
    return RuleCard(finding.rule, finding.family, finding.severity, finding.rule, finding.help)


def _rule(card: RuleCard) -> Object:
    page = card.page or next(iter(card.references), "")
    return {
        "id": card.name,
        "name": _pascal(card.name),
        "shortDescription": {"text": _inert(card.summary)},
        "fullDescription": {"text": _inert(card.why)},
        "help": {"text": "\n\n".join(_help(card)), "markdown": "\n\n".join(_markdown_help(card))},
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


def _markdown_help(card: RuleCard) -> Iterator[str]:
    yield markdown.escape(card.why)
    for title, sample in (("Wrong", card.wrong), ("Right", card.right)):
        if sample:
            yield f"**{title}**\n\n{markdown.format_block(sample.rstrip())}"
    if card.references:
        yield "\n".join(("See", "", *(f"- <{quote(reference, safe=URI_SAFE)}>" for reference in card.references)))
    if not card.page:
        yield f"More: {markdown.format_code(f'gpulint explain {card.name}')}"


# ---- results


def _result(finding: Finding, mark: str, rule: int, compared: bool) -> Object:
    waiver = finding.suppressed
    fixes = [
        _fix(suggestion) for suggestion in sorted(finding.suggestions, key=_has_trade_off) if _is_exact(suggestion)
    ]
    texts = (finding.message, *finding.arithmetic, *map(suggestion_lines.render_suggestion, finding.suggestions))
    return {
        "ruleId": finding.rule,
        "ruleIndex": rule,
        "level": finding.severity.word,
        "message": {"text": _inert("\n".join(texts))},
        "locations": [
            _location(finding.location, finding.label, finding_lines.name_owner(finding.workload, finding.role))
        ],
        "relatedLocations": [
            {"id": number, **_location(related.location, related.label)}
            for number, related in enumerate(finding.related, start=1)
        ],
        "partialFingerprints": {MARK: mark},
        "suppressions": [_suppression(waiver)] if waiver and waiver.kind != BASE else [],
        **({"baselineState": "unchanged" if waiver else "new"} if compared else {}),
        **({"fixes": fixes} if fixes else {}),
        "properties": {
            "family": finding.family,
            "confidence": finding.confidence,
            "facts": json.convert_facts(finding.facts),
            **{key: value for key, value in finding.subject._asdict().items() if value},
        },
    }


def _suppression(waiver: Waiver) -> Object:
    """Return why a finding is suppressed. Owner, end and condition are in its properties."""
    kind = "inSource" if waiver.kind in IN_SOURCE else "external"
    fields = {key: getattr(waiver, key) for key in ("kind", "owner", "until", "bound")}
    return {
        "kind": kind,
        "status": "accepted",
        "justification": waiver.reason,
        **({"location": _location(waiver.location)} if waiver.location else {}),
        "properties": {key: value for key, value in fields.items() if value},
    }


# ---- fixes


def _is_exact(suggestion: Suggestion) -> bool:
    return bool(suggestion.edits) and all(edit.exact for edit in suggestion.edits)


def _has_trade_off(suggestion: Suggestion) -> bool:
    return not suggestion.is_safe


def _fix(suggestion: Suggestion) -> Object:
    """Return a suggestion as changes of files with all replacements."""
    files: dict[str, list[Replacement]] = {}
    for edit in suggestion.edits:
        if edit.exact:
            files.setdefault(edit.exact.location.path, []).append(edit.exact)
    changes = [
        {"artifactLocation": _artifact(path), "replacements": _replacements(all_)} for path, all_ in files.items()
    ]
    safe = {"properties": {"safe": suggestion.is_safe}}
    return {
        "description": {"text": _inert(suggestion_lines.render_suggestion(suggestion))},
        "artifactChanges": changes,
        **safe,
    }


def _replacements(replacements: Iterable[Replacement]) -> list[Object]:
    return [
        {"deletedRegion": _region(replacement.location), "insertedContent": {"text": replacement.text}}
        for replacement in replacements
    ]


# ---- locations


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
    """Return the text of a location; empty if it is too long."""
    lines = location.text.split("\n")[: location.end_line - location.line + 1]
    if len(lines) == location.end_line - location.line + 1:
        lines[-1] = lines[-1][: location.end_column - 1]
    lines[0] = lines[0][location.column - 1 :]
    snippet = "\n".join(lines)
    return snippet if len(snippet) <= SHOWN_CHARACTERS_MAX else ""


def _artifact(path: str) -> Object:
    """Return the address of a file, relative to the root if it is below."""
    address = quote(path, errors="replace")
    if path.startswith("/"):
        return {"uri": f"file://{address}"}
    if DRIVE.match(path):
        return {"uri": f"file:///{quote(path, safe='/:', errors='replace')}"}
    return _build_relative_address(address)


def _build_relative_address(address: str) -> Object:
    return {"uri": address, "uriBaseId": ROOT}


def _inert(words: str) -> str:
    """Return text that no reader renders as a link."""
    return words.replace("](", "] (")


# ---- what was not checked


def _invocation(report: Report) -> Object:
    roles = ((workload, role) for workload in report.workloads for role in workload.roles if role.not_evaluated)
    notifications = [
        *map(_fault, report.failures),
        *map(_unread, report.skipped),
        *(_not_evaluated(workload, role) for workload, role in roles),
        *(_unknown_budget(spent) for spent in report.budgets if spent.verdict == NOT_EVALUATED),
        *map(_no_longer_evaluated, report.comparison.untold if report.comparison else ()),
        *map(_hint, report.comparison.hints if report.comparison else ()),
    ]
    return {"executionSuccessful": not report.failures, "toolExecutionNotifications": notifications}


def _fault(failure: Failure) -> Object:
    return _notification("internal-error", "error", f"while {failure.doing}: {failure.error}", failure.path)


def _unread(skip: Skip) -> Object:
    line = skip.line if skip.cause in STATING_GPUS else None
    return _notification("not-checked", "warning", f"not checked: {skip.reason}", skip.path, line)


def _not_evaluated(workload: WorkloadSummary, role: RoleSummary) -> Object:
    needs = sorted({need for check in role.not_evaluated for need in check.needs})
    checks = [{"rule": check.rule, "needs": list(check.needs)} for check in role.not_evaluated]
    owner = finding_lines.name_owner(workload.name, role.name)
    message = f"{owner}: {len(checks)} checks were not evaluated; to evaluate them, add {', '.join(needs)}"
    notification = _notification("not-evaluated", "note", message, workload.location.path)
    return {**notification, "properties": {"checks": checks}}


def _unknown_budget(spent: Spent) -> Object:
    return _notification("not-evaluated", "note", summary_line.render_budget(spent), spent.location.path)


def _no_longer_evaluated(finding: Finding) -> Object:
    message = f"{finding.rule} was found before and is no longer evaluated: {finding.message}"
    return _notification("not-evaluated", "warning", message, finding.location.path)


def _hint(use: HintUse) -> Object:
    message = f"hint added or changed: {formats_comparison.render_hint(use)}"
    return _notification("hint", "note", message, use.path)


def _notification(name: str, level: str, message: str, path: str, line: int | None = None) -> Object:
    region = {"region": {"startLine": line}} if line else {}
    return {
        "descriptor": {"id": name, "index": list(NOTIFICATIONS).index(name)},
        "level": level,
        "message": {"text": _inert(message)},
        "locations": [{"physicalLocation": {"artifactLocation": _artifact(path), **region}}],
    }
