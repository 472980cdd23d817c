"""Test report: what `gpulint rule test` prints, and for failing examples the expected and actual
lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpulint.pipeline.rule_tests.runner import RuleTest, Trial
from gpulint.report import json_text

FORMAT = "gpulint-rule-test/1"
AROUND = 3
"""Lines of an example that are shown around each line of interest."""


def render_text(found: Sequence[RuleTest]) -> str:
    """Return a line for each rule, the complaints of those that fail, and the counts."""
    width = max((len(result.name) for result in found), default=0)
    lines = [line for result in found for line in _render_rule(result, width)]
    return "\n".join([*lines, "", _render_counts(found)]) + "\n"


def _render_rule(result: RuleTest, width: int) -> Iterator[str]:
    counts = ", ".join(f"{sum(trial.side == side for trial in result.trials)} {side}" for side in ("bad", "good"))
    if result.has_passed:
        yield f"ok    {result.name:<{width}}  {counts}"
        return
    yield f"FAIL  {result.name:<{width}}  {counts if result.trials else 'no rule'}"
    yield from (f"  {line}" for complaint in result.complaints for line in complaint.splitlines())
    for trial in result.trials:
        if not trial.has_passed:
            yield from _render_trial(result.path, trial)


def _render_trial(path: str, trial: Trial) -> Iterator[str]:
    yield f"  {path}:{trial.line}  {trial.side} sample {trial.number}"
    yield from (f"  = {complaint}" for complaint in trial.complaints)
    yield from _render_diff(trial)


def _render_diff(trial: Trial) -> Iterator[str]:
    """Yield the lines of an example around those of interest: `-` expected but missing, `+`
    unexpected.
    """
    lines = trial.text.splitlines()
    wide = len(str(len(lines)))
    signs = {**{line_said.line: "+" for line_said in trial.said}, **dict.fromkeys(trial.silent, "-")}
    met = {line for line in trial.expected if line not in trial.silent} - {line_said.line for line_said in trial.astray}
    signs |= dict.fromkeys(met, " ")
    shown = {near for line in signs for near in range(line - AROUND, line + AROUND + 1)} or range(len(lines) + 1)
    above = 0
    for number, line in enumerate(lines, 1):
        if number not in shown:
            continue
        if number != above + 1:
            yield f"    {'':<{wide}} …"
        above = number
        yield f"  {signs.get(number, ' ')} {number:>{wide}} | {line}"
        for reported in trial.said:
            if reported.line == number:
                yield f"    {'':<{wide}} |   fired here: {reported.severity}: {reported.message}"
        if number in trial.silent:
            yield f"    {'':<{wide}} |   expected here, but did not fire"
    if above < len(lines):
        yield f"    {'':<{wide}} …"


def _render_counts(found: Sequence[RuleTest]) -> str:
    samples = sum(len(result.trials) for result in found)
    failing = sum(not result.has_passed for result in found)
    rules = f"{len(found)} rule{'' if len(found) == 1 else 's'}"
    return f"{rules}, {samples} samples: " + (f"{failing} failed" if failing else "all passed")


def render_json(found: Sequence[RuleTest]) -> str:
    """Return the same as JSON."""
    rules = [
        {
            "rule": result.name,
            "family": result.family,
            "path": result.path,
            "passed": result.has_passed,
            "complaints": list(result.complaints),
            "samples": [_build_sample(trial) for trial in result.trials],
        }
        for result in found
    ]
    summary = {
        "rules": len(found),
        "samples": sum(len(result.trials) for result in found),
        "failed": sum(not result.has_passed for result in found),
    }
    return json_text.encode({"format": FORMAT, "rules": rules, "summary": summary})


def _build_sample(trial: Trial) -> dict[str, object]:
    return {
        "side": trial.side,
        "number": trial.number,
        "line": trial.line,
        "passed": trial.has_passed,
        "expected": list(trial.expected),
        "said": [reported._asdict() for reported in trial.said],
        "complaints": list(trial.complaints),
    }
