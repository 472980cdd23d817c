"""The report as JSON, the contract of schemas/report.json."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from gpulint.report.fact import Fact
from gpulint.report.finding import Severity
from gpulint.report.json_keys import Entry, list_entries
from gpulint.report.report import Report, ReportFile
from gpulint.report.tool import THIS, Catalog

OBEYED = re.compile(
    r"[\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]"
)
"""Characters that JSON allows and a terminal may obey or hide."""


def render(report: Report) -> str:
    """Return one JSON object that ends in a newline."""
    return encode(build_data(report))


def encode(data: object) -> str:
    """Return data as JSON with readable letters, without characters that a terminal would obey."""
    text = json.dumps(data, indent=2, ensure_ascii=False) + "\n"
    return OBEYED.sub(lambda match: json.dumps(match[0])[1:-1], text)


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
