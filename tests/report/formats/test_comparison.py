"""What a change adds, in a sentence, in a table, in the comment on a pull request; and when that is silent."""

from __future__ import annotations

import json

import pytest

from gpulint.report.formats import comparison as formats_comparison
from gpulint.report.formats import json as formats_json
from gpulint.report.formats import markdown, summary_line, text
from gpulint.report.model import (
    Change,
    Comment,
    Comparison,
    Figures,
    Finding,
    Location,
    NotEvaluated,
    PoolChange,
    PoolFigures,
    Report,
    RoleSummary,
    Severity,
    Subject,
    Total,
    Totals,
    Waiver,
    WorkloadSummary,
)

SMALL = Figures(gpus=8, cost_usd_per_hour=10, power_w=2800, headroom=0.11)
LARGE = Figures(gpus=16, cost_usd_per_hour=20, power_w=5600, headroom=0.324)
UNKNOWN = Figures()


def compared(*changes: tuple[Figures | None, Figures | None]) -> Comparison:
    made = (Change(f"chat-{number}", "inference", f"{number}.yaml", *one) for number, one in enumerate(changes))
    return Comparison("main", "HEAD", tuple(made))


def finding(rule: str, path: str = "a.yaml", suppressed: Waiver | None = None) -> Finding:
    place = Location(path, 3, 1, 3, 5, "gpus: 8")
    return Finding(
        rule, "memory", Severity.ERROR, 3, "8 are too many", place, suppressed=suppressed, subject=Subject("a")
    )


# ---- the sentence


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ([(SMALL, LARGE)], "+8 GPUs, +$7,300 a month, +2.8 kW"),
        ([(LARGE, SMALL)], "-8 GPUs, -$7,300 a month, -2.8 kW"),
        ([(None, LARGE)], "+16 GPUs, +$14,600 a month, +5.6 kW"),
        ([(LARGE, None)], "-16 GPUs, -$14,600 a month, -5.6 kW"),
        ([(SMALL, LARGE), (LARGE, SMALL)], "no change in GPUs, cost or power"),
        ([], "no change in GPUs, cost or power"),
        ([(Figures(1, 1, 1), Figures(2, 1.001, 1))], "+1 GPU, +$0.73 a month"),
        ([(Figures(0.5, 1, 1), Figures(0.75, 1, 40))], "+0.25 GPUs, +0.04 kW"),
        (
            [(UNKNOWN, LARGE)],
            "the GPUs, cost and power of 1 workload are unknown",
        ),
        (
            [
                (SMALL, LARGE),
                (None, LARGE._replace(cost_usd_per_hour=None)),
                (SMALL, LARGE._replace(cost_usd_per_hour=None)),
            ],
            "+32 GPUs, +$7,300 a month (2 workloads unknown), +11.2 kW",
        ),
    ],
)
def test_a_change_in_one_sentence(changes: list[tuple[Figures | None, Figures | None]], said: str) -> None:
    assert formats_comparison.render_sentence(compared(*changes)) == said


def test_what_cannot_be_told_of_as_many_workloads_is_said_once() -> None:
    card = Figures(gpus=8)
    assert (
        formats_comparison.render_sentence(compared((None, card)))
        == "+8 GPUs; the cost and power of 1 workload are unknown"
    )
    found = compared((None, card), (None, UNKNOWN))
    assert (
        formats_comparison.render_sentence(found)
        == "+8 GPUs (1 workload unknown); the cost and power of 2 workloads are unknown"
    )
    found = compared((SMALL, SMALL._replace(power_w=None)), (None, Figures(gpus=1, power_w=70)), (None, card))
    assert formats_comparison.render_sentence(found) == (
        "+9 GPUs, +0.07 kW (2 workloads unknown); the cost of 2 workloads is unknown"
    )


def test_workloads_of_one_name_are_told_apart_by_their_files() -> None:
    paths = ("apps/a/x.yaml", "apps/b/x.yaml", "apps/y.yaml")
    changes = (Change("chat", "inference", path, None, SMALL) for path in paths)
    rows = formats_comparison.make_rows([*changes, Change("code", "inference", "c.yaml", None, SMALL)])
    assert [row[0] for row in rows] == ["chat (a/x.yaml)", "chat (b/x.yaml)", "chat (y.yaml)", "code"]


def test_what_does_not_run_all_the_time_costs_so_much_only_while_it_does() -> None:
    server, run = (Change("a", kind, "a.yaml", None, SMALL) for kind in ("inference", "training"))
    assert (
        formats_comparison.render_sentence(Comparison("main", "HEAD", (server,))) == "+8 GPUs, +$7,300 a month, +2.8 kW"
    )
    assert formats_comparison.render_sentence(Comparison("main", "HEAD", (server, run))) == (
        "+16 GPUs, +$14,600 a month of running, +5.6 kW"
    )


def test_what_cannot_be_told_is_counted_and_never_zero() -> None:
    found = compared((UNKNOWN, LARGE), (SMALL, LARGE)).total
    assert found == Totals(Total(8, 1), Total(7300, 1), Total(2800, 1))


def pooled(*changes: tuple[PoolFigures | None, PoolFigures | None]) -> Comparison:
    made = (PoolChange(f"pool-{number}", "a.tf", *one) for number, one in enumerate(changes))
    return Comparison("main", "HEAD", pools=tuple(made))


def fixed(figures: Figures, accelerator: str | None = "H100") -> PoolFigures:
    return PoolFigures(accelerator, "", figures, figures)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ([(fixed(SMALL), fixed(LARGE))], "+8 GPUs (H100: 8 → 16), +$7,300 a month, +2.8 kW of boards"),
        ([(fixed(LARGE), None)], "-16 GPUs (H100: 16 → 0), -$14,600 a month, -5.6 kW of boards"),
        (
            [(fixed(SMALL), fixed(LARGE)), (None, fixed(UNKNOWN, None))],
            "+8 GPUs (1 node pool unknown) (H100: 8 → 16), +$7,300 a month (1 node pool unknown), "
            "+2.8 kW of boards (1 node pool unknown)",
        ),
        ([(None, fixed(UNKNOWN, None))], "the GPUs, cost and power of 1 node pool are unknown"),
        ([(fixed(SMALL), fixed(LARGE)), (fixed(LARGE), fixed(SMALL))], "+0 GPUs (H100: 24)"),
        (
            [(PoolFigures("H100", "", LARGE, SMALL), PoolFigures("H100", "", LARGE, LARGE))],
            "+8 GPUs at the start (H100: 8 to 16 → 16), +$7,300 a month, +2.8 kW of boards",
        ),
    ],
)
def test_node_pools_have_a_part_of_their_own(
    changes: list[tuple[PoolFigures | None, PoolFigures | None]], said: str
) -> None:
    sentence = formats_comparison.render_sentence(pooled(*changes))
    assert sentence == f"workloads: no change in GPUs, cost or power; node pools: {said}"


@pytest.mark.parametrize(
    ("change", "threshold", "quiet"),
    [
        ((fixed(SMALL), fixed(LARGE)), Comment(), False),
        ((fixed(SMALL), fixed(LARGE)), Comment(gpus=8), False),
        ((fixed(SMALL), fixed(LARGE)), Comment(gpus=9), True),
        ((fixed(SMALL), fixed(LARGE)), Comment(usd_per_month=8_000), True),
        ((PoolFigures("H100", "", LARGE, SMALL), fixed(LARGE)), Comment(usd_per_month=7_000), False),
        ((None, fixed(UNKNOWN, None)), Comment(usd_per_month=8_000), False),
    ],
)
def test_a_change_of_pools_alone_is_quiet_only_below_the_threshold(
    change: tuple[PoolFigures | None, PoolFigures | None], threshold: Comment, quiet: bool
) -> None:
    report = Report(comparison=pooled(change), comment=threshold)
    assert formats_comparison.is_quiet(report) is quiet


# ---- the table


def test_rows_show_both_sides_and_the_dearest_change_first() -> None:
    changes = compared((SMALL, SMALL._replace(headroom=0.2)), (UNKNOWN, SMALL), (None, LARGE), (SMALL, None)).changes
    assert formats_comparison.make_rows(changes) == [
        ("chat-2", "– → 16", "– → 14,600", "– → 5.6", "– → 32 %"),
        ("chat-3", "8 → –", "7,300 → –", "2.8 → –", "11 % → –"),
        ("chat-0", "8", "7,300", "2.8", "11 % → 20 %"),
        ("chat-1", "? → 8", "? → 7,300", "? → 2.8", "? → 11 %"),
    ]


def test_the_text_tells_the_change_and_what_it_ends() -> None:
    comparison = compared((SMALL, LARGE))._replace(
        gone=(finding("fixed-one"),), untold=(finding("lost-one", "b.yaml"),)
    )
    assert text.render(Report(files=1, comparison=comparison)) == (
        "change from main: +8 GPUs, +$7,300 a month, +2.8 kW\n"
        "  workload  GPUs    USD a month     kW         headroom\n"
        "  chat-0    8 → 16  7,300 → 14,600  2.8 → 5.6  11 % → 32 %\n"
        "\n"
        "fixed: 1 finding\n"
        "  error[fixed-one]: 8 are too many  (a.yaml:3)\n"
        "no longer evaluated because facts are missing: 1 finding\n"
        "  error[lost-one]: 8 are too many  (b.yaml:3)\n"
        "\n"
        "1 file, 0 workloads, no findings\n"
    )


def lacking(number: int) -> WorkloadSummary:
    """A workload, of which one check lacked its card."""
    role = RoleSummary("server", engine="vllm", not_evaluated=(NotEvaluated("too-large", ("accelerator",)),))
    return WorkloadSummary(f"chat-{number}", "inference", "pod", Location(f"{number}.yaml", 1, 1, 1, 1), (role,))


@pytest.mark.parametrize(("changes", "number"), [([(SMALL, LARGE)], 1), ([(SMALL, LARGE)] * 3, 3), ([], 0)])
def test_only_of_what_the_change_touches_is_said_what_it_lacks(
    changes: list[tuple[Figures | None, Figures | None]], number: int
) -> None:
    report = Report(workloads=tuple(map(lacking, range(5))), comparison=compared(*changes))
    assert summary_line.count_not_evaluated(report) == (
        "" if number == 0 else f"not evaluated: {number} check{'s' if number > 1 else ''}"
    )
    assert summary_line.count_not_evaluated(report._replace(comparison=None)) == "not evaluated: 5 checks"


def test_json_has_the_sums() -> None:
    comparison = compared((SMALL, LARGE), (None, UNKNOWN))
    data = json.loads(formats_json.render(Report(comparison=comparison)))["comparison"]
    assert data["total"] == {
        "gpus": {"amount": 8, "untold": 1},
        "usd_per_month": {"amount": 7300, "untold": 1},
        "power_w": {"amount": 2800, "untold": 1},
    }
    assert (data["base"], data["head"], data["gone"], data["untold"]) == ("main", "HEAD", [], [])
    assert data["changes"][1]["before"] is None


# ---- the comment


def test_the_comment_leads_with_the_change() -> None:
    comparison = compared((SMALL, LARGE))._replace(
        gone=(finding("fixed-one"),), untold=(finding("lost-one", "b.yaml"),)
    )
    stood = finding("old-one", suppressed=Waiver("base", "it stands in main too"))
    report = Report((finding("new-one"), stood), files=2, comparison=comparison, comment=Comment("gpu / prod"))
    lines = markdown.render(report).splitlines()
    assert lines[:8] == [
        "<!-- gpulint report: gpu-prod -->",
        "",
        "### gpulint: +8 GPUs, +$7,300 a month, +2.8 kW; 1 error",
        "",
        "| | rule | where | what |",
        "|---|---|---|---|",
        "| error | `new-one` | `a.yaml:3` | `8 are too many` |",
        "",
    ]
    assert lines[8:16] == [
        "<details><summary>1 workload changed</summary>",
        "",
        "| workload | GPUs | USD a month | kW | headroom |",
        "|---|---|---|---|---|",
        "| `chat-0` | 8 → 16 | 7,300 → 14,600 | 2.8 → 5.6 | 11 % → 32 % |",
        "",
        "</details>",
        "",
    ]
    assert "<details><summary>1 fixed</summary>" in lines
    assert "- error `fixed-one` at `a.yaml:3`: `8 are too many`" in lines
    assert "<details><summary>1 no longer evaluated because facts are missing</summary>" in lines
    assert lines[-3:] == [
        "`2 files, 0 workloads, 1 error, 1 existed before`  ",
        "Compared with `main`.  ",
        "To read about a rule: `gpulint explain RULE`",
    ]


def test_a_name_of_a_workload_or_commit_can_write_no_markup() -> None:
    changes = (Change("a|b`<img>", "inference", "a.yaml", SMALL, LARGE),)
    said = markdown.render(Report(comparison=Comparison("x`<b>`", "HEAD", changes)))
    assert "| ``a\\|b`<img>`` |" in said
    assert "Compared with `` x`<b>` ``." in said


def test_a_quiet_comment_says_so_on_its_second_line_and_that_nothing_is_left() -> None:
    assert markdown.render(Report(files=3, comparison=compared())) == (
        "<!-- gpulint report -->\n"
        "<!-- gpulint: quiet -->\n"
        "\n"
        "### gpulint: no change in GPUs, cost or power; no findings\n"
        "\n"
        "`3 files, 0 workloads, no findings`  \n"
        "Compared with `main`.\n"
    )


LESS = (SMALL, SMALL._replace(cost_usd_per_hour=10.1))
"""73 USD a month more."""


@pytest.mark.parametrize(
    "report",
    [
        Report(),
        Report(comparison=compared()),
        Report(comparison=compared(LESS), comment=Comment(usd_per_month=100)),
        Report(comparison=compared((SMALL, LARGE), (LARGE, SMALL)), comment=Comment(usd_per_month=1)),
        Report(comparison=compared((SMALL, SMALL._replace(gpus=9))), comment=Comment(usd_per_month=100)),
        Report(comparison=compared((SMALL, SMALL._replace(gpus=9))), comment=Comment(gpus=2)),
        Report((finding("a", suppressed=Waiver("base", "")),), comparison=compared()),
        Report(comparison=compared()._replace(gone=(finding("a"),)), comment=Comment(usd_per_month=100)),
    ],
)
def test_nothing_worth_a_comment_is_quiet(report: Report) -> None:
    assert formats_comparison.is_quiet(report)


@pytest.mark.parametrize(
    "report",
    [
        Report((finding("a"),)),
        Report((finding("a"),), comparison=compared(), comment=Comment(usd_per_month=100)),
        Report(comparison=compared(LESS)),
        Report(comparison=compared((SMALL, LARGE)), comment=Comment(usd_per_month=7300)),
        Report(comparison=compared((LARGE, SMALL)), comment=Comment(usd_per_month=7300)),
        Report(comparison=compared((SMALL, LARGE)), comment=Comment(usd_per_month=10_000, gpus=8)),
        Report(comparison=compared((UNKNOWN, SMALL)), comment=Comment(usd_per_month=1e9)),
        Report(comparison=compared()._replace(gone=(finding("a"),))),
        Report(comparison=compared()._replace(untold=(finding("a"),)), comment=Comment(usd_per_month=1e9)),
    ],
)
def test_what_is_new_unknown_or_over_the_threshold_is_told(report: Report) -> None:
    assert not formats_comparison.is_quiet(report)
