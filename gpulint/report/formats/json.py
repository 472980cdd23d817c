"""The report as JSON, the contract of schemas/report.json."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gpulint.report import json_text
from gpulint.report.fact import Fact
from gpulint.report.finding import Severity
from gpulint.report.json_keys import Entry, list_entries
from gpulint.report.report import Report, ReportFile
from gpulint.report.tool import THIS, Catalog


def render(report: Report) -> str:
    """Return one JSON object that ends in a newline."""
    return json_text.encode(build_data(report))


def build_data(report: Report) -> dict[str, object]:
    """Return the report as plain data."""
    return convert_record(
        ReportFile(
            format="gpulint-report/2",
            tool=THIS,
            catalog=Catalog(report.catalog_date),
            findings=report.findings,
            documents=report.documents,
            workloads=report.workloads,
            skipped=report.skipped,
            failures=report.failures,
            rules=tuple(card for _, card in sorted(report.rules.items())),
            budgets=report.budgets,
            facilities=report.facilities,
            comparison=report.comparison,
            summary=report.summary,
        )
    )


def convert_record(value: Any) -> dict[str, object]:
    """Return a record as plain data, under the keys that its fields declare."""
    data: dict[str, object] = {}
    kind: type = type(value)
    for entry in list_entries(kind):
        data.update(_convert_field(entry, getattr(value, entry.field)))
    return data


def convert_facts(found: Iterable[Fact]) -> dict[str, object]:
    """Return facts by name, each with its unit and its value in each scenario."""
    return {fact.name: convert_record(fact) for fact in found}


def _convert_field(entry: Entry, found: Any) -> dict[str, object]:
    """Return what one field adds to the JSON object of its record."""
    if entry.by_name:
        return {entry.key: convert_facts(found)}
    if entry.inlined is None:
        return {entry.key: _convert(found)}
    inner = {} if found is None else convert_record(found)
    return {key: inner[key] for key in entry.inlined if key in inner} if entry.inlined else inner


def _convert(value: object) -> object:
    """Return a value as JSON can hold it."""
    if isinstance(value, Severity):
        return value.word
    if isinstance(value, tuple):
        return convert_record(value) if hasattr(value, "_fields") else [_convert(item) for item in value]
    if isinstance(value, Mapping):
        return {key: _convert(item) for key, item in value.items()}
    return value
