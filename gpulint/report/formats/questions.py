"""Questions: the values whose statement decides most verdicts, each with the line that states it."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from gpulint.report import verdicts
from gpulint.report.escaping import count, safe
from gpulint.report.formats import summary_line
from gpulint.report.model import Report, RoleSummary, WorkloadSummary

ASKED_MAX = 3
EXAMPLES = {"accelerator": "h100-sxm-80gb", "checkpoint": "Qwen/Qwen3-8B", "gpus_per_replica": "8"}
HINTS = {"accelerator": "accelerator", "checkpoint": "checkpoint", "gpus_per_replica": "gpus"}
PARTITION = re.compile(r"partition (\S+) does not name it")
UNNAMED = re.compile(r"\? \(the model in (.+)\)")
OWN_NETWORK = re.compile(r" \([\d,]+ parameters\)$")
"""How a network is described that a program builds itself; no other one can stand for it."""
PLAIN = re.compile(r"[A-Za-z/_][\w./-]*", re.ASCII)
"""A text that YAML reads as itself inside a list or a mapping."""
FIT_RULES = "-does-not-fit"
"""The end of the names of rules that give the memory verdict."""


class Question(NamedTuple):
    """A value that somebody could state."""

    words: str
    line: str
    """What to paste, or how the value is stated."""
    decides: int
    """The workloads whose verdict it decides alone."""
    needed_by: int
    """The workloads or checks that need it."""
    noun: str = "workload"

    def render(self) -> str:
        """Return the question with its line and what it decides."""
        if self.decides:
            return f"{self.words} {self.line} in gpulint.yaml decides {count(self.decides, self.noun)}"
        if self.noun == "check":
            return f"{self.words} {self.line} ({count(self.needed_by, self.noun)})"
        lack = "lacks" if self.needed_by == 1 else "lack"
        return f"{self.words} {self.line} in gpulint.yaml is one of the values that {count(self.needed_by, self.noun)} {lack}"


def list_questions(report: Report) -> list[Question]:
    """Return the questions that a report asks, those that decide most workloads first."""
    workloads = summary_line.select_workloads(report)
    verdict = [*_ask_for_verdicts(workloads)]
    asked = {fact for fact, *_ in verdict}
    ranked = sorted((question for _, question in verdict), key=lambda entry: (-entry.decides, -entry.needed_by))
    return [*ranked, *_ask_for_checks(report, workloads, asked)][:ASKED_MAX]


# ---- verdicts


def _ask_for_verdicts(workloads: Iterable[WorkloadSummary]) -> Iterator[tuple[str, Question]]:
    """Yield each value that a verdict lacks and its question; the reason why it is open tells questions apart."""
    owners: dict[tuple[str, str], list[tuple[WorkloadSummary, RoleSummary, bool]]] = {}
    for workload, role in summary_line.select_known(workloads):
        needs = _find_needs(role)
        nameable = set() if OWN_NETWORK.search(role.architecture) else {"architecture"}
        for need in sorted(needs & EXAMPLES.keys() | needs & nameable):
            key = need, _find_topic(need, workload, role)
            owners.setdefault(key, []).append((workload, role, needs == {need}))
    for (need, topic), entries in owners.items():
        names = {(workload.location.path, workload.name) for workload, _, _ in entries}
        alone = {(workload.location.path, workload.name) for workload, _, is_alone in entries if is_alone}
        words, line = _word(need, topic, entries[0][0], len(names))
        yield need, Question(words, f"`{line}`", len(alone), len(names))


def _find_needs(role: RoleSummary) -> set[str]:
    """Return the values that the verdict on a role lacks. The answer to a missing accelerator is what the role needs."""
    outcome = verdicts.sort_verdict(role.verdict)
    needs = {need for check in role.not_evaluated if check.rule.endswith(FIT_RULES) for need in check.needs}
    if outcome == verdicts.DEPEND:
        return needs & {"accelerator"}
    return needs if outcome == verdicts.UNKNOWN else set()


def _find_topic(need: str, workload: WorkloadSummary, role: RoleSummary) -> str:
    """Return what one statement about a value covers: a partition, a checkpoint, a workload, or all."""
    if need == "accelerator":
        return find_partition(role)
    if need == "architecture":
        folder = UNNAMED.fullmatch(role.architecture)
        return folder[1] if folder else role.architecture.removesuffix(" (not in the catalog)")
    return f"{workload.location.path}\n{workload.name}"


def find_partition(role: RoleSummary) -> str:
    """Return the partition that decides the accelerator of a role; empty if none does."""
    found = PARTITION.search(role.unknown.get("accelerator", ""))
    return found[1] if found else ""


def _word(need: str, topic: str, workload: WorkloadSummary, workloads: int) -> tuple[str, str]:
    """Return a question and the line of gpulint.yaml that answers it."""
    name, subject = safe(workload.name), safe(topic)
    if need == "accelerator" and topic:
        pool = f"{{name: {quote(topic)}, partition: {quote(topic)}, accelerator: {EXAMPLES[need]}, gpus: 8}}"
        return f"Which GPU does partition `{subject}` have?", f"pools: [{pool}]"
    if need == "accelerator":
        words = f"does `{name}` run on?" if workloads == 1 else "do the workloads that name none run on?"
        return f"Which GPU {words}", f"accelerator: {EXAMPLES[need]}"
    if need == "architecture":
        return f"Which network does {subject} have?", f"like: {{{quote(topic)}: {EXAMPLES['checkpoint']}}}"
    words = f"Which model does `{name}` run?" if need == "checkpoint" else f"How many GPUs does `{name}` use?"
    where = f"path: {quote(workload.location.path)}, workload: {quote(workload.name)}"
    return words, f"hints: [{{{where}, {HINTS[need]}: {EXAMPLES[need]}}}]"


def quote(text: str) -> str:
    """Return text as a scalar of YAML.

    >>> quote("chat"), quote("a, b: {c}")
    ('chat', '"a, b: {c}"')
    """
    return text if PLAIN.fullmatch(text) else json.dumps(safe(text), ensure_ascii=False)


# ---- other checks


def _ask_for_checks(report: Report, workloads: Sequence[WorkloadSummary], asked: set[str]) -> Iterator[Question]:
    """Yield how the other values are stated that checks lack, the most needed first."""
    checks: Counter[str] = Counter()
    owners: dict[str, dict[str, None]] = {}
    for need, owner in _list_needs(report, workloads):
        if need not in asked:
            checks[need] += 1
            owners.setdefault(need, {})[owner] = None
    for need, number in checks.most_common():
        names = list(owners[need])
        further = f" and {len(names) - 1} more" if len(names) > 1 else ""
        yield Question(f"{safe(names[0])}{further}:", report.asks.get(need) or need, 0, number, "check")


def _list_needs(report: Report, workloads: Sequence[WorkloadSummary]) -> Iterator[tuple[str, str]]:
    for workload, role in summary_line.select_known(workloads):
        yield from ((need, workload.name) for check in role.not_evaluated for need in check.needs)
    for facility in summary_line.select_facilities(report):
        yield from ((need, part) for check in facility.not_evaluated for part in check.parts for need in check.needs)
