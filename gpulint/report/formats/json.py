"""The report as JSON, the contract of schemas/report.json."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from gpulint.report.model import (
    Change,
    Comparison,
    Explanation,
    FacilitySummary,
    Fact,
    FeedSummary,
    Finding,
    Fit,
    Location,
    Meter,
    RackSummary,
    Replacement,
    Report,
    RoleSummary,
    RuleCard,
    Spent,
    Suggestion,
    Waiver,
    WorkloadSummary,
)
from gpulint.version import __version__

FORMAT = "gpulint-report/2"
OBEYED = re.compile(
    r"[\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]"
)
"""Characters that JSON lets stand and a terminal may obey or hide."""


def render(report: Report) -> str:
    """One JSON object, ending in a newline."""
    return encoded(as_data(report))


def encoded(data: object) -> str:
    """Data as JSON with readable letters, without characters that a terminal would obey, ending in a newline."""
    text = json.dumps(data, indent=2, ensure_ascii=False) + "\n"
    return OBEYED.sub(lambda match: json.dumps(match[0])[1:-1], text)


def as_data(report: Report) -> dict[str, object]:
    """The report as plain data."""
    return {
        "format": FORMAT,
        "tool": {"name": "gpulint", "version": __version__},
        "catalog": {"date": report.catalog_date},
        "findings": [_finding(finding) for finding in report.findings],
        "documents": [document._asdict() for document in report.documents],
        "workloads": [_workload(workload) for workload in report.workloads],
        "skipped": [{"path": skip.path, "reason": skip.reason} for skip in report.skipped],
        "failures": [failure._asdict() for failure in report.failures],
        "rules": [_rule(card) for _, card in sorted(report.rules.items())],
        "budgets": [_budget(one) for one in report.budgets],
        "facilities": [_facility(one) for one in report.facilities],
        "comparison": report.comparison and _comparison(report.comparison),
        "summary": _summary(report),
    }


def _budget(one: Spent) -> dict[str, object]:
    taken = {key: getattr(one, key) for key in ("budget", "unit", "limit", "least", "verdict", "reason", "workloads")}
    return {**taken, **place(one.location)}


def _summary(report: Report) -> dict[str, object]:
    counts = dict.fromkeys(("error", "warning", "note"), 0)
    for finding in report.open:
        counts[finding.severity.word] += 1
    return {
        "files": report.files,
        "workloads": len(report.workloads),
        "findings": counts,
        "suppressed": len(report.findings) - len(report.open),
        "unsilenced": report.unsilenced,
        "skipped": len(report.skipped),
        "failures": len(report.failures),
        "not_evaluated": _not_evaluated(report),
    }


def _not_evaluated(report: Report) -> int:
    of_workloads = sum(len(role.not_evaluated) for workload in report.workloads for role in workload.roles)
    return of_workloads + sum(len(one.parts) for facility in report.facilities for one in facility.not_evaluated)


def _facility(facility: FacilitySummary) -> dict[str, object]:
    return {
        "name": facility.name,
        "path": facility.location.path,
        "line": facility.location.line,
        "areas": [
            {
                "kind": one.kind,
                "name": one.name,
                "line": one.location.line,
                "meters": [_meter(each) for each in one.meters],
            }
            for one in facility.areas
        ],
        "racks": [_rack(one) for one in facility.racks],
        "not_evaluated": [
            {"rule": one.rule, "needs": list(one.needs), "parts": list(one.parts)} for one in facility.not_evaluated
        ],
        "facts": facts(facility.year),
    }


def _rack(rack: RackSummary) -> dict[str, object]:
    return {
        "name": rack.name,
        "place": rack.place,
        "line": rack.location.line,
        "units": rack.units,
        "servers": rack.servers,
        "stacked": rack.stacked,
        "slots": [slot._asdict() for slot in rack.slots],
        "undrawn": list(rack.undrawn),
        "meters": [_meter(one) for one in rack.meters],
        "feeds": [_feed(one) for one in rack.feeds],
    }


def _meter(meter: Meter) -> dict[str, object]:
    return {**meter._asdict(), "taken": meter.taken and meter.taken._asdict(), "needs": list(meter.needs)}


def _feed(feed: FeedSummary) -> dict[str, object]:
    loads = {name: getattr(feed, name) for name in ("load_va", "load_share", "lost_share")}
    shown = {name: scenarios and scenarios._asdict() for name, scenarios in loads.items()}
    return {**feed._asdict(), **shown, "needs": list(feed.needs)}


def _finding(finding: Finding) -> dict[str, object]:
    return {
        "rule": finding.rule,
        "family": finding.family,
        "severity": finding.severity.word,
        "confidence": finding.confidence,
        "message": finding.message,
        **place(finding.location),
        "label": finding.label,
        "related": [{"label": one.label, **place(one.location)} for one in finding.related],
        "arithmetic": list(finding.arithmetic),
        "workload": finding.workload,
        "role": finding.role,
        "subject": finding.subject._asdict(),
        "facts": facts(finding.facts),
        "suggestions": [suggestion(one) for one in finding.suggestions],
        "fingerprint": finding.fingerprint,
        "suppressed": finding.suppressed and _waiver(finding.suppressed),
    }


def _waiver(waiver: Waiver) -> dict[str, object]:
    return {**waiver._asdict(), "location": waiver.location and place(waiver.location)}


def _rule(card: RuleCard) -> dict[str, object]:
    return {
        "name": card.name,
        "family": card.family,
        "severity": card.severity.word,
        "status": card.status,
        "summary": card.summary,
        "why": card.why,
        "page": card.page,
        "references": list(card.references),
    }


def _comparison(comparison: Comparison) -> dict[str, object]:
    from gpulint.report.formats import comparison as delta

    return {
        "base": comparison.base,
        "head": comparison.head,
        "changes": [_change(one) for one in comparison.changes],
        "total": {name: total._asdict() for name, total in delta.totals(comparison)._asdict().items()},
        "gone": [_finding(one) for one in comparison.gone],
        "untold": [_finding(one) for one in comparison.untold],
    }


def _change(change: Change) -> dict[str, object]:
    sides = {"before": change.before, "after": change.after}
    return {**change._asdict(), **{name: figures and figures._asdict() for name, figures in sides.items()}}


def _replacement(exact: Replacement | None) -> dict[str, object] | None:
    return None if exact is None else {**place(exact.location), "text": exact.text}


def suggestion(suggestion: Suggestion) -> dict[str, object]:
    """An alternative as plain data."""
    changes = [
        {
            "quantity": edit.quantity,
            "old": edit.old,
            "new": edit.new,
            "how": edit.how,
            "replacement": _replacement(edit.exact),
            **(place(edit.location) if edit.location else {}),
        }
        for edit in suggestion.edits
    ]
    return {
        "title": suggestion.title,
        "changes": changes,
        "facts": facts(suggestion.facts),
        "gives_up": suggestion.gives_up,
        "cost_before_usd_per_hour": suggestion.cost_before_usd_per_hour,
        "cost_after_usd_per_hour": suggestion.cost_after_usd_per_hour,
        "prices": suggestion.prices,
        "values": dict(suggestion.values),
        "answers": list(suggestion.answers),
    }


def _workload(workload: WorkloadSummary) -> dict[str, object]:
    return {
        "name": workload.name,
        "kind": workload.kind,
        "path": workload.location.path,
        "line": workload.location.line,
        "adapter": workload.adapter,
        "roles": [_role(role) for role in workload.roles],
    }


def _role(role: RoleSummary) -> dict[str, object]:
    return {
        "name": role.name,
        "engine": role.engine,
        "part_of": role.part_of,
        "architecture": role.architecture,
        "accelerator": role.accelerator,
        "parallelism": role.parallelism,
        "verdict": role.verdict,
        "headroom": role.headroom,
        "cost": role.cost,
        "cost_of_work": role.cost_of_work,
        "prices": role.prices,
        "objectives": [{**one._asdict(), "needs": list(one.needs)} for one in role.objectives],
        "fits_on": list(role.fits_on),
        "borderline": list(role.borderline),
        "too_small": list(role.too_small),
        "smallest": [fit(one) for one in role.smallest],
        "facts": facts(role.facts),
        "assumptions": list(role.assumptions),
        "unknown": dict(role.unknown),
        "explained": [_explanation(one) for one in role.explained],
        "not_evaluated": [{"rule": one.rule, "needs": list(one.needs)} for one in role.not_evaluated],
    }


def fit(one: Fit) -> dict[str, object]:
    """Hardware that a role fits on as plain data."""
    return {**one._asdict(), "headroom": one.headroom._asdict()}


def _explanation(one: Explanation) -> dict[str, object]:
    return {"quantity": one.quantity, "category": one.category, "reason": one.reason, **place(one.location)}


def facts(facts: Iterable[Fact]) -> dict[str, object]:
    """Facts by name, each with its unit and scenarios."""
    return {fact.name: {"unit": fact.unit, **fact.values._asdict()} for fact in facts}


def place(location: Location) -> dict[str, object]:
    """A span as plain data."""
    return {
        "path": location.path,
        "line": location.line,
        "column": location.column,
        "end_line": location.end_line,
        "end_column": location.end_column,
    }
