"""Whether gpulint reads 56 Python programs of our own, half of them mis-sized, as a reader who works them out by hand does.

    python bench/python_programs.py [--list] [--only WORD]

`python_programs/` has a folder for each case: a program and what starts it. `python_programs.yaml` has what each must give, with
the arithmetic, written before gpulint was run on any. Each folder is checked as a repository of its own. The columns:

- program: the engine or trainer. A loop of the program's own, or a library that runs a model inside it, may have no engine:
  it is right if the kind of workload and the model are read
- checkpoint: its id, or the parameters of a network of the program's own within 3 %
- method, GPUs, accelerator
- verdict: of the same kind as by hand, one of the expected rules fires if the case is mis-sized, and no error if it is not.
  That only the weights fit is an answer for a program that runs a model itself, and for no other
- alone: the folder has no other workload than that of the case; a file of settings that says so itself is none

What is not found, not read or not evaluated counts against the ratio.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ruamel.yaml import YAML

import gpulint
from gpulint.facts.model import Missing
from gpulint.pipeline import evaluate
from gpulint.policy.resolved import ResolvedPolicy
from gpulint.policy.rules import selection
from gpulint.policy.rules.evaluated_role import EvaluatedRole
from gpulint.report import verdicts
from gpulint.report.model import Report, RoleSummary, Severity, WorkloadSummary
from gpulint.source.repository import Source, WorkTree

HERE = Path(__file__).parent
PROGRAMS, EXPECTED = HERE / "python_programs", HERE / "python_programs.yaml"
COLUMNS = ("program", "checkpoint", "method", "GPUs", "accelerator", "verdict", "alone")
OWN = {
    "training": ("accelerate", "composer", "deepspeed", "lightning", "pytorch"),
    "inference": ("diffusers", "sentence-transformers", "transformers", "whisper"),
}
"""Programs without an engine, by the kind of workload."""
LAUNCHERS = ("accelerate", "composer", "deepspeed", "pytorch", "torchrun")
"""What computes a loop of the program's own or starts its processes, and may be named in its place."""
OUTCOMES = {"fits": verdicts.FIT, "not": verdicts.FAIL}
Row = Mapping[str, Any]


class Score(NamedTuple):
    """Whether one column of a case is right, with what gpulint says."""

    case: str
    column: str
    is_right: bool
    ours: str
    theirs: str


def main() -> None:
    """Print each column's ratio, and what is not right."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--list", action="store_true", help="print each column of a case that is not right")
    parser.add_argument("--only", default="", help="only the cases whose name contains this word")
    options = parser.parse_args()
    scores = [score for row in load_rows() if options.only in row["case"] for score in score_case(row)]
    for score in scores:
        if options.list and not score.is_right:
            print(f"{score.case}: {score.column}: ours {score.ours!r}, by hand {score.theirs!r}")
    for column in COLUMNS:
        asked = [score.is_right for score in scores if score.column == column]
        print(f"{column}: {sum(asked)} of {len(asked)} ({sum(asked) / max(1, len(asked)):.1%})")
    wrong = {score.case for score in scores if not score.is_right}
    cases = {score.case for score in scores}
    print(f"every column: {len(cases - wrong)} of {len(cases)}")


def load_rows() -> list[Row]:
    """Return the cases with what each must give."""
    rows: list[Row] = YAML(typ="safe").load(EXPECTED.read_text(encoding="utf-8"))
    return rows


def score_case(row: Row) -> Iterator[Score]:
    """Check a case as a repository of its own, and yield the score of each column that it asks for."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / row["case"]
        shutil.copytree(PROGRAMS / row["case"], root, ignore=shutil.ignore_patterns("__pycache__"))
        for words in (["init", "-q"], ["add", "-A"]):
            subprocess.run(["git", *words], cwd=root, check=True, capture_output=True)
        report = gpulint.check(root)
        found = _find_workload(row, report)
        facts = _evaluate(root, row["file"], found.name) if found else None
    role = _choose_role(found)
    named = str(row.get("checkpoint", row.get("parameters")))
    answers = {
        "program": (_is_program(row, found, role), role.engine if role else "", row["program"]),
        "checkpoint": (_is_checkpoint(row, role, facts), role.architecture if role else "", named),
        "GPUs": (_count_gpus(role) == str(row["gpus"]), _count_gpus(role), str(row["gpus"])),
        "accelerator": (_is_accelerator(row, role), _read(role, "accelerator"), str(row["accelerator"])),
        "verdict": (_is_verdict(row, role, report), _tell(role, report), f"{row['verdict']} {row.get('rules', '')}"),
    }
    if "method" in row:
        method = _find_method(facts)
        answers["method"] = (method == row["method"], method, row["method"])
    others = [f"{one.name} in {Path(one.location.path).name}" for one in report.workloads if _is_other(one, found)]
    answers["alone"] = (not others, ", ".join(others), "")
    for column, (is_right, ours, theirs) in answers.items():
        yield Score(row["case"], column, is_right, ours, theirs)


def _find_workload(row: Row, report: Report) -> WorkloadSummary | None:
    here = [one for one in report.workloads if Path(one.location.path).name == row["file"]]
    return here[0] if len(here) == 1 else None


def _is_other(one: WorkloadSummary, found: WorkloadSummary | None) -> bool:
    return one is not found and not one.roles[0].verdict.startswith("depends on the network")


def _choose_role(found: WorkloadSummary | None) -> RoleSummary | None:
    """Return the role that decides a workload: the first that takes a GPU."""
    roles = found.roles if found else ()
    return next((role for role in roles if verdicts.sort_verdict(role.verdict)), roles[0] if roles else None)


def _evaluate(root: Path, file: str, name: str) -> EvaluatedRole | None:
    """Return the role of a workload with all its facts."""
    rules = selection.enable_rules(selection.load_rules())
    policy = ResolvedPolicy(rules, tuple(rule.name for rule in rules))
    source = Source(file, (root / file).read_bytes())
    roles = evaluate.file(source, WorkTree(root, base=root), policy, name).roles
    return next((one for one in roles if one.workload.name == name and not one.facts.role.text("part_of")), None)


def _fact(one: EvaluatedRole | None, quantity: str) -> Any:
    """Return a fact of a role, with the likely members where the file leaves values open."""
    if one is None:
        return None
    value = (one.bounds.expected if one.bounds else one).facts.expected(quantity)
    return None if isinstance(value, Missing) else value


def _read(role: RoleSummary | None, quantity: str) -> str:
    return next((str(fact.values.expected) for fact in (role.facts if role else ()) if fact.name == quantity), "")


def _is_program(row: Row, found: WorkloadSummary | None, role: RoleSummary | None) -> bool:
    if role is None or found is None:
        return False
    kind = next((kind for kind, names in OWN.items() if row["program"] in names), "")
    is_read = found.kind == kind and not role.architecture.startswith("?")
    return bool(role.engine == row["program"] or (is_read and role.engine in ("", *LAUNCHERS)))


def _is_checkpoint(row: Row, role: RoleSummary | None, facts: EvaluatedRole | None) -> bool:
    if role is None:
        return False
    if "parameters" in row:
        parameters = _fact(facts, "parameters")
        return parameters is not None and abs(parameters / row["parameters"] - 1) < 0.03
    return role.architecture.partition(" ")[0] == row["checkpoint"].removesuffix("-GGUF")


def _find_method(facts: EvaluatedRole | None) -> str:
    """Return what is trained: all weights, adapters, or adapters on quantised weights; empty if it is not known."""
    trained, whole = _fact(facts, "trainable_parameters"), _fact(facts, "parameters")
    weights, ranks = _fact(facts, "training_weight_bytes"), _fact(facts, "shard_ranks")
    if not (trained and whole and weights):
        return ""
    if trained > whole / 2:
        return "full"
    return "qlora" if weights * (ranks or 1) < whole * 1.5 else "lora"


def _count_gpus(role: RoleSummary | None) -> str:
    count = role.accelerator.partition(" ×")[0] if role else ""
    return "open" if count == "?" else count


def _is_accelerator(row: Row, role: RoleSummary | None) -> bool:
    """Whether the accelerator is one of the row's; where the row has several products of one name, that it is open is right."""
    if role is None:
        return False
    ours = _read(role, "accelerator")
    if row["accelerator"] == "open":
        return not ours
    listed = set(re.findall(r"[a-z]\w*(?:-\w+)+", role.accelerator))
    return ours in row["accelerator"] or (not ours and bool(listed) and listed <= set(row["accelerator"]))


def _is_verdict(row: Row, role: RoleSummary | None, report: Report) -> bool:
    if role is None:
        return False
    fired = {finding.rule for finding in report.findings}
    if row.get("rules") and not fired & set(row["rules"]):
        return False
    if row["verdict"] in ("depends", "needs"):
        return role.verdict.startswith(row["verdict"])
    if row["verdict"] == "-":
        return True
    is_part = bool(verdicts.PART_FITS.search(role.verdict))
    is_asked = verdicts.sort_verdict(role.verdict) == OUTCOMES[row["verdict"]]
    if row["verdict"] == "fits":
        is_asked = is_asked and not any(finding.severity == Severity.ERROR for finding in report.findings)
    return (is_asked or _is_fired_error(row, report)) and (not is_part or row["program"] in OWN["inference"])


def _is_fired_error(row: Row, report: Report) -> bool:
    """Whether an expected rule is an error: the verdict on memory may then speak of the trainer alone."""
    errors = {finding.rule for finding in report.findings if finding.severity == Severity.ERROR}
    return bool(errors & set(row.get("rules", ())))


def _tell(role: RoleSummary | None, report: Report) -> str:
    rules: Sequence[str] = sorted({finding.rule for finding in report.findings})
    return f"{role.verdict if role else 'no workload'} {rules}"


if __name__ == "__main__":
    main()
