"""Two reports compared: which finding is whose partner, and what ended."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from gpulint.pipeline.diff import comparison
from gpulint.pipeline.diff.comparison import Context, Side
from gpulint.report.model import (
    Failure,
    Figures,
    Finding,
    Location,
    NotEvaluated,
    Report,
    RoleSummary,
    Severity,
    Skip,
    Subject,
    Waiver,
    WorkloadSummary,
)

CHAT = "apps/Deployment chat"


def finding(
    path: str = "a.yaml",
    rule: str = "too-many",
    severity: Severity = Severity.ERROR,
    value: str = "8",
    object: str = CHAT,
    line: int = 3,
    waiver: Waiver | None = None,
) -> Finding:
    return Finding(
        rule=rule,
        family="memory",
        severity=severity,
        confidence=3,
        message="8 are too many",
        location=Location(path, line, 1, line, 5, "gpus: 8"),
        workload="chat",
        role="vllm",
        subject=Subject(object, "gpus", value),
        suppressed=waiver,
    )


def workload(path: str = "a.yaml", lacks: tuple[str, ...] = (), figures: Figures | None = None) -> WorkloadSummary:
    lacking = tuple(NotEvaluated(name, ("gpus",)) for name in lacks)
    role = RoleSummary("vllm", not_evaluated=lacking, figures=figures)
    return WorkloadSummary("chat", "inference", "kubernetes", Location(path, 1, 1, 1, 2), (role,))


def side(name: str, *found: Finding, held: Mapping[str, set[str]] | None = None, **parts: object) -> Side:
    """A side whose files hold the objects of its findings, or those that are given."""
    objects = held if held is not None else {one.location.path: {CHAT} for one in found}
    report = Report(tuple(found))._replace(**parts)
    return Side(name, report, lambda path, named: named in objects.get(path, ()))


def told(base: Side, head: Side, known: Context = Context()) -> tuple[list[str], list[str], list[str]]:  # noqa: B008
    """The places of what counts, of what is fixed, and of what is no longer told."""
    report = comparison.compare(base, head, known)
    assert report.comparison is not None
    sides = report.open, report.comparison.gone, report.comparison.untold
    counted, gone, untold = ([f"{one.location.path}:{one.location.line}" for one in found] for found in sides)
    return counted, gone, untold


# ---- partners


def test_a_finding_that_speaks_louder_counts_and_the_old_one_is_not_fixed() -> None:
    base = side("main", finding(severity=Severity.WARNING))
    assert told(base, side("HEAD", finding())) == (["a.yaml:3"], [], [])


def test_a_finding_that_speaks_less_loudly_stood_before() -> None:
    assert told(side("main", finding()), side("HEAD", finding(severity=Severity.NOTE))) == ([], [], [])


def test_partners_are_counted() -> None:
    base = side("main", finding(line=3), finding(line=5))
    head = side("HEAD", finding(line=4), finding(line=6), finding(line=8))
    assert told(base, head)[0] == ["a.yaml:8"]
    assert told(head, base._replace(report=base.report._replace(workloads=(workload(),))))[1] == ["a.yaml:8"]


@pytest.mark.parametrize(
    ("at_head", "at_base", "counts"),
    [
        ({"b.yaml": {CHAT}}, {"a.yaml": {CHAT}}, []),
        ({"a.yaml": {CHAT}, "b.yaml": {CHAT}}, {"a.yaml": {CHAT}}, ["b.yaml:3"]),
        ({"b.yaml": {CHAT}}, {"a.yaml": {CHAT}, "b.yaml": {CHAT}}, ["b.yaml:3"]),
    ],
)
def test_a_partner_in_another_file_is_one_only_where_the_object_moved(
    at_head: dict[str, set[str]], at_base: dict[str, set[str]], counts: list[str]
) -> None:
    base, head = side("main", finding(), held=at_base), side("HEAD", finding("b.yaml"), held=at_head)
    assert told(base, head)[0] == counts


def test_in_a_renamed_file_the_place_is_enough() -> None:
    base, head = side("main", finding(object="a.sh")), side("HEAD", finding("b.yaml", object="b.sh"))
    assert told(base, head)[0] == ["b.yaml:3"]
    assert told(base, head, Context({"b.yaml": "a.yaml"})) == ([], [], [])


def test_what_was_waived_on_base_excuses_nothing_on_head() -> None:
    waived = finding(waiver=Waiver("comment", "known"))
    assert told(side("main", waived), side("HEAD", finding()))[0] == ["a.yaml:3"]
    assert told(side("main", finding()), side("HEAD", waived)) == ([], [], [])


# ---- what ended


def test_a_rule_that_speaks_instead_leaves_nothing_fixed() -> None:
    base, head = side("main", finding()), side("HEAD", finding(rule="far-too-many"), workloads=(workload(),))
    assert told(base, head)[1] == ["a.yaml:3"]
    assert told(base, head, Context(absorbed={"too-many": frozenset({"far-too-many"})}))[1] == []


def test_another_value_is_no_cure() -> None:
    assert told(side("main", finding()), side("HEAD", finding(value="9"))) == (["a.yaml:3"], [], [])


@pytest.mark.parametrize(
    "head",
    [
        side("HEAD", held={"a.yaml": {CHAT}}, workloads=(workload(lacks=("too-many",)),)),
        side("HEAD", held={"a.yaml": {CHAT}}),
        side("HEAD", held={}, skipped=(Skip("a.yaml", "larger than 5 MB", "limit"),)),
        side("HEAD", held={}, failures=(Failure("a.yaml", "checking the file", "ValueError"),)),
        side("HEAD", held={"b.yaml": {CHAT}}, workloads=(workload("b.yaml", lacks=("too-many",)),)),
    ],
)
def test_what_head_cannot_tell_is_not_fixed(head: Side) -> None:
    assert told(side("main", finding()), head) == ([], [], ["a.yaml:3"])


@pytest.mark.parametrize(
    "head",
    [
        side("HEAD", held={"a.yaml": {CHAT}}, workloads=(workload(),)),
        side("HEAD", held={"a.yaml": {CHAT}}, workloads=(workload(lacks=("another-rule",)),)),
        side("HEAD", held={"a.yaml": {CHAT}}, workloads=(workload("values.yaml", lacks=("too-many",)), workload())),
        side("HEAD", held={}),
        side("HEAD", held={"a.yaml": {"apps/Deployment code"}}),
    ],
)
def test_what_head_judges_or_no_longer_has_is_fixed(head: Side) -> None:
    assert told(side("main", finding()), head) == ([], ["a.yaml:3"], [])


def test_faults_of_base_are_told_under_its_name() -> None:
    base = side("main", failures=(Failure("a.yaml", "checking the file", "ValueError"),))
    report = comparison.compare(base, side("HEAD"), Context())
    assert [one.path for one in report.failures] == ["main:a.yaml"]


# ---- figures


def test_one_role_that_cannot_be_told_makes_the_whole_unknown() -> None:
    roles = (RoleSummary("a", figures=Figures(8, 10, None, 0.3)), RoleSummary("b", figures=Figures(2, None, 5, 0.1)))
    two = workload()._replace(roles=(*roles, RoleSummary("part", part_of="a")))
    assert comparison.sum_figures(two) == Figures(10, None, None, 0.1)


def test_a_workload_whose_figures_stay_is_no_change_unless_its_card_may_cost_something_else() -> None:
    known, lacking = Figures(8, 10, 100, 0.3), Figures(8, None, None, None)

    def changes(before: WorkloadSummary, after: WorkloadSummary) -> int:
        sides = (
            Side(name, Report(workloads=(one,)), lambda _, __: True) for name, one in (("a", before), ("b", after))
        )
        return len(list(comparison.find_changes(*sides, {})))

    other = workload(figures=lacking)
    other = other._replace(roles=(other.roles[0]._replace(accelerator="8 × H200"),))
    assert changes(workload(figures=known), workload(figures=known)) == 0
    assert changes(workload(figures=lacking), workload(figures=lacking)) == 0
    assert changes(workload(figures=lacking), other) == 1
    assert changes(workload(figures=known), workload(figures=lacking)) == 1
    assert changes(workload(), workload(figures=known)) == 1
    assert changes(workload(), workload()) == 0
