"""One spec through the whole pipeline, and the edits of a suggestion carried out on its text."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

from gpulint.catalog.offers import EVERYTHING
from gpulint.pipeline import check
from gpulint.pipeline.rule_tests import samples
from gpulint.pipeline.rule_tests.samples import MARK, ExampleRepository, find_marked_lines, find_path
from gpulint.policy.resolved import ResolvedPolicy
from gpulint.policy.rules.rule import Rule, load_shipped
from gpulint.report.model import Edit, Finding, Location, Report, RoleSummary, Severity, Suggestion
from gpulint.source.repository import Source
from gpulint.suggestions.edits import apply, splices

__all__ = ["MARK", "ExampleRepository", "find_marked_lines", "find_path"]


def report(
    text: str,
    path: str = "",
    rules: Sequence[Rule] | None = None,
    files: Mapping[str, bytes] | None = None,
    today: str = "",
    **given: Any,
) -> Report:
    """The report on one text, or on the files that it holds, under the shipped rules or under those given."""
    if today:
        given["available"] = given.get("available", EVERYTHING)._replace(today=today)
    chosen = tuple(load_shipped().values()) if rules is None else tuple(rules)
    every = tuple(dict.fromkeys((*load_shipped(), *(rule.name for rule in chosen))))
    if not path and not files and len(samples.split_files(text)) > 1:
        return samples.report(text, ResolvedPolicy(chosen, every, **given))
    source = Source(path or find_path(text), text.encode())
    return check.check_files([source], ExampleRepository(files), ResolvedPolicy(chosen, every, **given))


def of_rule(found: Report, name: str) -> list[Finding]:
    """The findings of one rule that nothing suppresses."""
    return [finding for finding in found.open if finding.rule == name]


def severities(found: Report) -> dict[str, Severity]:
    """The rules that speak, each with its worst severity."""
    worst: dict[str, Severity] = {}
    for finding in found.open:
        worst[finding.rule] = max(finding.severity, worst.get(finding.rule, finding.severity))
    return worst


def newly_said(before: Report, after: Report) -> set[str]:
    """The rules that speak now and did not before, or not as severely."""
    known = severities(before)
    return {name for name, severity in severities(after).items() if severity > known.get(name, 0)}


def roles(found: Report) -> list[RoleSummary]:
    """Every role that was understood."""
    return [role for workload in found.workloads for role in workload.roles]


def not_evaluated(found: Report) -> set[str]:
    """The rules that lacked facts on some role."""
    return {one.rule for role in roles(found) for one in role.not_evaluated}


def marked_line(text: str) -> int | None:
    """The line that carries the mark."""
    return next(iter(find_marked_lines(text)), None)


# ---- suggestions, carried out as a person would


def changed(text: str, suggestion: Suggestion) -> str:
    """The text after every edit of a suggestion, as `--fix` writes it; where it refuses, by hand."""
    with contextlib.suppress(splices.Inexact):
        path = find_path(text)
        return apply.apply_edits(suggestion, {path: text.encode()})[path].decode()
    edits = dict.fromkeys(suggestion.edits)
    for edit in sorted(edits, key=lambda edit: (_span(text, _place(edit)), not edit.old), reverse=True):
        start, end = _span(text, _place(edit))
        if edit.old:
            written = text[start:end].strip("'\"")
            assert written == edit.old, f"{edit} does not stand at its place: {text[start:end]!r}"
            text = text[:start] + text[start:end].replace(edit.old, edit.new) + text[end:]
        else:
            text = _added(text, start, end, edit)
    return text


def _added(text: str, start: int, end: int, edit: Edit) -> str:
    """A further list item after the last argument, a further word of a script, or a further key beside the one shown."""
    line_start = text.rfind("\n", 0, start) + 1
    line_end = text.find("\n", start) if "\n" in text[start:] else len(text)
    line = text[line_start:line_end]
    indent = " " * (len(line) - len(line.lstrip()))
    if not edit.new.startswith("-"):
        if line.lstrip().startswith(("{", "- {")):
            return text[:start] + f"{edit.new}, " + text[start:]
        if line.lstrip().startswith("- "):
            return text[:line_end] + f"\n{indent}  {edit.new}" + text[line_end:]
        return text[:line_start] + f"{indent}{edit.new}\n" + text[line_start:]
    if line.strip().startswith("- "):
        return text[:line_end] + f"\n{indent}- {edit.new}" + text[line_end:]
    listed = "[" in line[: start - line_start] or text[end:].lstrip()[:1] in ("]", ",")
    between = ", " if listed else " "
    return text[:end] + between + edit.new + text[end:]


def _place(edit: Edit) -> Location:
    assert edit.location is not None, f"{edit} has no place to stand"
    return edit.location


def _span(text: str, location: Location) -> tuple[int, int]:
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    return starts[location.line - 1] + location.column - 1, starts[location.end_line - 1] + location.end_column - 1
