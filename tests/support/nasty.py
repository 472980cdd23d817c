"""A report with everything that has broken a renderer: every kind of entry, and words that are markup somewhere."""

from __future__ import annotations

from gpulint.report.model import (
    Edit,
    Fact,
    Failure,
    Finding,
    Location,
    NotEvaluated,
    Related,
    Replacement,
    Report,
    RoleSummary,
    RuleCard,
    Scenarios,
    Severity,
    Skip,
    Subject,
    Suggestion,
    Waiver,
    WorkloadSummary,
)

EVIL = "two\nlines ]]> 100% | `t` @octocat #7 <b> [a](http://evil.example) \\| ::error::, \x1b[31m\u202e𝔘"
SHOWN = "two\ufffdlines ]]> 100% | `t` @octocat #7 <b> [a](http://evil.example) \\| ::error::, \ufffd[31m\ufffd𝔘"
"""The same without what a terminal would obey."""
LINE = '      args: ["ü 𝔘 ", --tensor-parallel-size=8]'
LONG = "x" * 5_000 + "WRONG"
PAGE = "https://gpulint.example/rules/parallel-size-exceeds-gpus/"

ARGUMENT = Location("apps/chat.yaml", 3, 22, 3, 46, LINE)
DIGIT = Location("apps/chat.yaml", 3, 45, 3, 46, LINE)
COUNT = Location("apps/ä %,|`.yaml", 9, 28, 9, 29, '          nvidia.com/gpu: "4"')

FEWER = Suggestion(
    "4 ranks",
    (
        Edit(
            "tensor_parallel",
            ARGUMENT,
            "--tensor-parallel-size=8",
            "--tensor-parallel-size=4",
            exact=Replacement(DIGIT, "4"),
        ),
    ),
    trade_off="memory",
)
MORE = Suggestion("8 GPUs", (Edit("spare_gpus", COUNT, "4", "8", exact=Replacement(COUNT, "8")),))
INEXACT = Suggestion("another card", (Edit("accelerator", None, "", "h100"),))

ERROR = Finding(
    rule="parallel-size-exceeds-gpus",
    family="parallelism",
    severity=Severity.ERROR,
    confidence=3,
    message=EVIL,
    location=ARGUMENT,
    label="tensor parallel 8 here",
    related=(Related("4 here", COUNT),),
    arithmetic=("8 > 4",),
    workload="chat",
    role="server",
    facts=(Fact("spare_gpus", "", Scenarios(-4, -4, -4)),),
    suggestions=(FEWER, MORE, INEXACT),
    fingerprint="0123456789abcdef",
    help="Start-up fails.",
    subject=Subject("apps/Deployment default/chat", "tensor_parallel", "8"),
)
WARNING = ERROR._replace(
    rule="team-rule",
    family="team",
    severity=Severity.WARNING,
    confidence=2,
    message="over several lines",
    location=Location("apps/chat.yaml", 5, 3, 6, 4, "  run: |\n    x"),
    label="",
    related=(),
    arithmetic=(),
    suggestions=(),
    subject=Subject(),
    fingerprint="",
)
NOTE = WARNING._replace(
    severity=Severity.NOTE,
    confidence=1,
    message="far to the right",
    location=Location("b.json", 1, 5_001, 1, 5_006, LONG),
)
WAIVED = ERROR._replace(
    suppressed=Waiver(
        "comment",
        "latency | test",
        Location("apps/chat.yaml", 2, 7, 2, 30, "      # gpulint: ignore…"),
        owner="@octocat",
        until="2027-01-31",
        bound="headroom < 0.1",
    ),
    suggestions=(),
)
ACCEPTED = NOTE._replace(suppressed=Waiver("baseline", "old debt"))

CARD = RuleCard(
    "parallel-size-exceeds-gpus",
    "parallelism",
    Severity.ERROR,
    "The parallelism needs more GPUs than there are",
    "Start-up fails.",
    ("https://docs.vllm.ai/en/latest/serving/parallelism_scaling.html",),
    "stable",
    PAGE,
    wrong="args: [--tensor-parallel-size=8]  # <- here",
    right="args: [--tensor-parallel-size=4]",
)
TEAM = RuleCard("team-rule", "team", Severity.WARNING, "Ours", "We say *so*.", status="preview")


def workload(name: str, *lacking: NotEvaluated) -> WorkloadSummary:
    """A workload with one role, which lacks what is named."""
    role = RoleSummary("server", engine="vllm", not_evaluated=lacking)
    return WorkloadSummary(
        name, "inference", "kubernetes", Location("apps/chat.yaml", 1, 1, 1, 5, "kind: Pod"), (role,)
    )


REPORT = Report(
    findings=(ERROR, WARNING, NOTE, WAIVED, ACCEPTED),
    workloads=(
        workload("chat", NotEvaluated("weights-exceed-memory", ("architecture",)), NotEvaluated("x", ("accelerator",))),
        workload("clean"),
    ),
    skipped=(Skip("charts/a.yaml", "a template", "template"),),
    failures=(Failure("c.yaml", "checking the file", "RuntimeError: ]]> \x00"),),
    files=5,
    rules={"parallel-size-exceeds-gpus": CARD, "team-rule": TEAM},
)
