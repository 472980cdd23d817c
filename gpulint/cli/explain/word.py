"""Explain a word that a report prints: a verdict, a severity, a title of a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gpulint.cli.explain.parts import Explanation

WORDS: Mapping[str, str] = {
    "fits": "The memory is sufficient in all three scenarios, and nothing else prevents the start.",
    "likely fits": "The memory is sufficient in the best and the expected scenario, but not in the worst.",
    "fits in every case": "The file leaves values open, and the memory is sufficient with each of them.",
    "likely fits in every case": "The file leaves values open; with each of them, the memory is sufficient in the "
    "expected scenario.",
    "depends on": "The file leaves a value open, and the memory is sufficient with some of its possible values only. "
    "The verdict names the value, and up to or from which one the workload fits.",
    "needs": "No file names the accelerator. The verdict is the smallest hardware on which the workload fits.",
    "does not fit": "The memory is not sufficient in any scenario.",
    "likely does not fit": "The memory is sufficient only in the best scenario.",
    "does not fit in any case": "The file leaves values open, and the memory is not sufficient with any of them.",
    "does not run": "An error of a rule that is not about the GPU's memory prevents the start. What the workload needs "
    "follows if no file names the accelerator.",
    "undersized": "The workload runs, but misses an objective or a limit that it declares.",
    "likely undersized": "The workload runs, but misses an objective in the expected scenario.",
    "beyond physics": "Not even the best possible hardware efficiency reaches the objective.",
    "not evaluated": "A value is missing that has no known set of possible values, so no verdict is possible.",
    "part of": "Another role of the workload counts this one's hardware.",
    "no GPU": "The role uses no accelerator.",
    "fit": "Workloads whose verdict is fits, likely fits, or either of them in every case.",
    "depend": "Workloads whose verdict depends on a value that the files leave open, among them the accelerator.",
    "fail": "Workloads that do not fit, do not run, or miss an objective, at least likely.",
    "unknown": "Workloads for which a value is missing that has no known set of possible values.",
    "error": "It will fail, or waste most of what it costs.",
    "warning": "It will probably hurt.",
    "note": "You may not know this.",
    "likely": "The rule fires in two of the three scenarios; its severity is one step lower.",
    "possible": "The rule fires in only one of the three scenarios; its severity is two steps lower.",
    "scenario": "The best, expected or worst case of all fitted and assumed quantities.",
    "workload": "A training job or an inference service, as one file declares it.",
    "role": "A part of a workload with its own program and hardware, such as prefill and decode.",
    "verdict": "Whether a role fits in memory, starts, and reaches its objectives.",
    "parallelism": "The ranks of tensor (TP), pipeline (PP) and data parallelism (DP).",
    "cost": "USD per hour of all replicas; a month has 730 hours.",
    "assumed": "A value that gpulint inferred, because the file leaves it open.",
    "not checked": "A file or a document of it on which the rules were not evaluated, with the reason.",
    "suppressed": "A finding that a waiver or the baseline accepts.",
}
"""Each word of the text report that is not the name of a rule, a fact, an adapter or an engine."""
LONGEST_FIRST = sorted(WORDS, key=len, reverse=True)


def explain(name: str) -> Iterator[Explanation]:
    """Yield the meaning of a word, or of the verdict that begins with it."""
    known = name if name in WORDS else next((word for word in LONGEST_FIRST if name.startswith(f"{word} ")), "")
    if known:
        yield Explanation(known, "word", WORDS[known], (("", "word of the report"),), ())
