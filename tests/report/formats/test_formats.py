"""Every renderer on one nasty report, whole, read back by a reader that is not ours."""

from __future__ import annotations

import functools
import json
import re
import subprocess
import sys
import unicodedata
from typing import Any
from xml.etree import ElementTree

import nasty
import pytest
from nasty import EVIL, PAGE, REPORT, SHOWN

from gpulint.cli import output_files
from gpulint.report.formats import checkstyle, concise, github, gitlab, junit, rdjson, text
from gpulint.report.formats.terminal_view import UNWRAPPED
from gpulint.report.model import Comparison, Report, Severity, Spent, Waiver

CLEAN = Report(files=2, workloads=(nasty.workload("clean"),))
CONTROLS = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}


# ---- all of them


@pytest.mark.parametrize("name", output_files.list_formats())
def test_no_format_lets_a_control_character_through_and_each_ends_its_last_line(name: str) -> None:
    shown = output_files.render(REPORT, name)
    assert [char for char in shown if char != "\n" and unicodedata.category(char) in CONTROLS] == []
    assert shown.endswith("\n")
    assert not shown.endswith("\n\n")
    shown.encode()


@pytest.mark.parametrize("name", output_files.list_formats())
def test_surrogates_of_a_broken_file_do_not_stop_a_report(name: str) -> None:
    broken = nasty.ERROR._replace(
        message="\ud800", location=nasty.ARGUMENT._replace(path="\udcff.yaml", text="\udcff" * 60)
    )
    output_files.render(REPORT._replace(findings=(broken,)), name).encode()


@functools.cache
def rendered_with(seed: str) -> dict[str, str]:
    """Every format of the report, as another process with this seed of hashes writes it."""
    code = (
        "import json, sys, nasty\n"
        "from gpulint.cli import output_files\n"
        "print(json.dumps({name: output_files.render(nasty.REPORT, name) for name in output_files.list_formats()}))"
    )
    variables = {"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], env=variables, capture_output=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", output_files.list_formats())
def test_a_format_is_the_same_from_one_process_to_the_next(name: str) -> None:
    assert rendered_with("1")[name] == rendered_with("2")[name] == output_files.render(REPORT, name)


@pytest.mark.parametrize("name", sorted(set(output_files.list_formats()) - {"json"}))
def test_what_is_suppressed_is_no_finding_of_a_format_that_cannot_say_so(name: str) -> None:
    silenced = REPORT._replace(findings=(nasty.WAIVED,), failures=(), skipped=(), workloads=())
    shown = output_files.render(silenced, name)
    said = {"sarif": '"kind": "inSource"', "junit": "<skipped", "markdown": "1 suppressed"}
    if name in {"text", "concise", "github"}:
        assert "no findings, 1 suppressed" in shown
    elif name in said:
        assert said[name] in shown
    else:
        assert "parallel-size-exceeds-gpus" not in shown


@pytest.mark.parametrize("name", output_files.list_formats())
def test_a_fault_of_ours_is_said_in_every_format(name: str) -> None:
    shown = output_files.render(Report(failures=REPORT.failures), name)
    assert "checking the file" in shown
    assert "c.yaml" in shown


# ---- text and JSON


def test_the_text_shows_every_finding_at_its_place_and_the_counts() -> None:
    shown = text.render(REPORT, UNWRAPPED).split("\n\n")
    assert [one.splitlines()[0] for one in shown[:3]] == [
        f"error[parallel-size-exceeds-gpus]: {SHOWN}",
        "warning (likely)[team-rule]: over several lines",
        "note (possible)[team-rule]: far to the right",
    ]
    assert shown[-1].splitlines()[:2] == [
        "not checked: 1 × a template",
        "internal error in c.yaml while checking the file: RuntimeError: ]]> \ufffd",
    ]
    assert shown[-1].splitlines()[-1] == "5 files, 2 workloads, 1 error, 1 warning, 1 note, 2 suppressed"


def test_json_keeps_every_word_as_it_is() -> None:
    data = json.loads(output_files.render(REPORT, "json"))
    assert [one["message"] for one in data["findings"]] == [one.message for one in REPORT.findings]
    assert [one["suppressed"] and one["suppressed"]["reason"] for one in data["findings"]] == [
        None,
        None,
        None,
        "latency | test",
        "old debt",
    ]
    assert data["failures"] == [{"path": "c.yaml", "doing": "checking the file", "error": "RuntimeError: ]]> \x00"}]


# ---- budgets

BUDGETS = Report(
    budgets=(
        Spent("team a", "", 8, 4, "within", "", 1, nasty.DIGIT._replace(path="gpulint.yaml")),
        Spent(
            "b | @x",
            "w",
            9e3,
            4e3,
            "not evaluated",
            "power of 1 workload",
            2,
            nasty.DIGIT._replace(path="gpulint.yaml"),
        ),
    )
)
TOLD = [
    "budget team a: 4 of 8, within",
    "budget b | @x: at least 4,000 W of 9,000 W, not evaluated (power of 1 workload)",
]


def test_a_budget_that_cannot_be_told_is_said_and_passes_nowhere() -> None:
    assert outcomes(BUDGETS) == {
        ("gpulint.yaml", "budget of team a (gpus)"): ("system-out", ""),
        ("gpulint.yaml", "budget of b | @x (w)"): ("skipped", TOLD[1]),
    }
    assert output_files.render(BUDGETS, "text").splitlines()[:-1] == TOLD
    assert output_files.render(BUDGETS, "concise").splitlines()[1:] == TOLD
    assert command(output_files.render(BUDGETS, "github").splitlines()[-1])[2].splitlines()[1:] == TOLD
    assert "``budget b" not in output_files.render(BUDGETS, "markdown")
    assert f"`{TOLD[1]}`".replace("|", "\\|") in output_files.render(BUDGETS, "markdown")
    told = json.loads(output_files.render(BUDGETS, "sarif"))["runs"][0]["invocations"][0]["toolExecutionNotifications"]
    assert [one["message"]["text"] for one in told] == TOLD[1:]


# ---- concise


def test_concise_is_one_line_a_finding_and_the_counts() -> None:
    assert concise.render(REPORT) == (
        f"apps/chat.yaml:3:22: error[parallel-size-exceeds-gpus] {SHOWN}\n"
        "apps/chat.yaml:5:3: warning (likely)[team-rule] over several lines\n"
        "b.json:1:5001: note (possible)[team-rule] far to the right\n"
        "5 files, 2 workloads, 1 error, 1 warning, 1 note, 2 suppressed\n"
        "not checked: 1 × a template\n"
        "internal error in c.yaml while checking the file: RuntimeError: ]]> \ufffd\n"
        "not evaluated: 2 checks\n"
    )
    assert concise.render(CLEAN) == "2 files, 1 workload, no findings\n"


# ---- GitHub


def command(line: str) -> tuple[str, dict[str, str], str]:
    """A line as the runner of GitHub's actions takes it apart: name, properties, message."""
    match = re.fullmatch(r"::(\w+) ([^:]*)::(.*)", line)
    assert match, line
    stated = dict(part.split("=", 1) for part in match[2].split(",") if part)
    properties = {
        key: value.replace("%2C", ",").replace("%3A", ":").replace("%0D", "\r").replace("%0A", "\n").replace("%25", "%")
        for key, value in stated.items()
    }
    return match[1], properties, match[3].replace("%0D", "\r").replace("%0A", "\n").replace("%25", "%")


def test_every_line_for_github_is_a_command_with_its_place() -> None:
    why = "Start-up fails."
    counts = "5 files, 2 workloads, 1 error, 1 warning, 1 note, 2 suppressed"
    fault = "while checking the file: RuntimeError: ]]> \ufffd"
    assert [command(line) for line in github.render(REPORT).splitlines()] == [
        ("error", {"title": "internal error of gpulint", "file": "c.yaml"}, fault),
        (
            "error",
            {
                "title": "parallel-size-exceeds-gpus",
                "file": "apps/chat.yaml",
                "line": "3",
                "endLine": "3",
                "col": "22",
                "endColumn": "46",
            },
            f"{SHOWN}\n8 > 4\ntry 4 ranks (trade-off: memory)\ntry 8 GPUs\ntry another card\n{why}",
        ),
        (
            "warning",
            {"title": "team-rule (likely)", "file": "apps/chat.yaml", "line": "5", "endLine": "6"},
            f"over several lines\n{why}",
        ),
        (
            "notice",
            {
                "title": "team-rule (possible)",
                "file": "b.json",
                "line": "1",
                "endLine": "1",
                "col": "5001",
                "endColumn": "5006",
            },
            f"far to the right\n{why}",
        ),
        (
            "notice",
            {"title": "gpulint"},
            f"{counts}\nnot checked: 1 × a template\ninternal error in c.yaml {fault}\nnot evaluated: 2 checks",
        ),
    ]


def test_a_path_cannot_end_the_properties_of_a_command() -> None:
    place = nasty.COUNT._replace(path="a,title=x::b%0A.yaml")
    line = github.render(Report(findings=(nasty.ERROR._replace(location=place),))).splitlines()[0]
    assert command(line)[1]["file"] == "a,title=x::b%0A.yaml"
    assert line.startswith(
        "::error title=parallel-size-exceeds-gpus,file=a%2Ctitle=x%3A%3Ab%250A.yaml,line=9,endLine=9,col=28,endColumn=29::"
    )


# ---- GitLab


def issue(name: str, grade: str, path: str, lines: tuple[int, int], said: str) -> dict[str, object]:
    return {
        "description": said,
        "check_name": name,
        "severity": grade,
        "location": {"path": path, "lines": {"begin": lines[0], "end": lines[1]}},
    }


def test_gitlab_gets_an_issue_a_finding_a_fault_and_an_unread_file() -> None:
    issues = json.loads(gitlab.render(REPORT))
    marks = [one.pop("fingerprint") for one in issues]
    fault = "internal error of gpulint while checking the file: RuntimeError: ]]> \x00"
    assert issues == [
        issue("internal-error", "blocker", "c.yaml", (1, 1), fault),
        issue("parallel-size-exceeds-gpus", "critical", "apps/chat.yaml", (3, 3), EVIL),
        issue("team-rule", "major", "apps/chat.yaml", (5, 6), "over several lines"),
        issue("team-rule", "minor", "b.json", (1, 1), "far to the right"),
        issue("not-checked", "info", "charts/a.yaml", (1, 1), "not checked: a template"),
    ]
    assert len(set(marks)) == 5
    assert json.loads(gitlab.render(CLEAN)) == []


def test_gitlab_knows_a_finding_again_wherever_in_its_file_it_stands_and_tells_two_alike_apart() -> None:
    def marks(*findings: Any) -> list[str]:
        return [one["fingerprint"] for one in json.loads(gitlab.render(Report(findings=findings)))]

    one = nasty.ERROR
    moved = one._replace(location=one.location._replace(line=40, end_line=40), message="reworded")
    assert marks(one) == marks(moved)
    copied = one._replace(location=one.location._replace(path="a copy.yaml"))
    assert marks(one)[0] in marks(copied, one)
    assert len(set(marks(copied, one))) == 2
    assert len(set(marks(one, one))) == 2
    assert marks(one, one)[0] == marks(one)[0]
    assert marks(one) != marks(one._replace(subject=one.subject._replace(value="16")))


def test_gitlab_compares_by_itself_and_gets_what_stood_before() -> None:
    kinds = [nasty.ERROR._replace(suppressed=Waiver(kind, "x")) for kind in ("base", "baseline", "comment", "policy")]
    assert len(json.loads(gitlab.render(Report(findings=tuple(kinds))))) == 1
    assert json.loads(gitlab.render(Report(findings=(kinds[0],)))) == json.loads(
        gitlab.render(Report(findings=(nasty.ERROR,)))
    )


def test_what_cannot_be_told_any_more_is_fixed_nowhere() -> None:
    report = Report(comparison=Comparison("main", "HEAD", untold=(nasty.WARNING,)))
    assert json.loads(gitlab.render(report)) == json.loads(gitlab.render(Report(findings=(nasty.WARNING,))))
    said = "it was found before and is no longer evaluated"
    assert outcomes(report) == {("apps/chat.yaml", "team-rule (chat/server)"): ("skipped", said)}
    told = json.loads(output_files.render(report, "sarif"))["runs"][0]["invocations"][0]["toolExecutionNotifications"]
    assert [(one["level"], one["message"]["text"]) for one in told] == [
        ("warning", "team-rule was found before and is no longer evaluated: over several lines")
    ]
    assert "1 no longer evaluated" in output_files.render(report, "markdown")
    line = "change from main: no change in GPUs, cost or power, 1 finding no longer evaluated"
    assert concise.render(report) == f"{line}\n0 files, 0 workloads, no findings\n"
    assert command(github.render(report).strip())[2] == f"{line}\n0 files, 0 workloads, no findings"


# ---- Checkstyle and JUnit


def tree(text: str) -> Any:
    """An XML text as nested tuples: tag, attributes, children; the text of a leaf in the place of its children."""

    def taken(node: ElementTree.Element) -> Any:
        return node.tag, dict(node.attrib), [taken(one) for one in node] or node.text

    return taken(ElementTree.fromstring(text))


def style(line: int, column: int, grade: str, said: str, source: str) -> Any:
    stated = {"line": str(line), "column": str(column), "severity": grade, "message": said, "source": source}
    return ("error", stated, None)


def test_checkstyle_lists_the_findings_of_each_file() -> None:
    fault = "internal error of gpulint while checking the file: RuntimeError: ]]> \ufffd"
    first = SHOWN.replace("two\ufffdlines", "two\nlines")
    found = style(3, 22, "error", first, "gpulint.parallelism.parallel-size-exceeds-gpus")
    expected = style(5, 3, "warning", "over several lines", "gpulint.team.team-rule")
    possible = style(1, 5001, "info", "far to the right", "gpulint.team.team-rule")
    broken = ("error", {"line": "1", "severity": "error", "message": fault, "source": "gpulint.internal-error"}, None)
    said = {"line": "1", "severity": "info", "message": "not checked: a template", "source": "gpulint.not-checked"}
    unread = ("error", said, None)
    assert tree(checkstyle.render(REPORT)) == (
        "checkstyle",
        {"version": "4.3"},
        [
            ("file", {"name": "apps/chat.yaml"}, [found, expected]),
            ("file", {"name": "b.json"}, [possible]),
            ("file", {"name": "c.yaml"}, [broken]),
            ("file", {"name": "charts/a.yaml"}, [unread]),
        ],
    )
    assert tree(checkstyle.render(CLEAN)) == ("checkstyle", {"version": "4.3"}, None)


def outcomes(report: Report) -> dict[tuple[str, str], tuple[str, str]]:
    """The tests of a JUnit report by class and name, with what became of each and its message."""
    found = {}
    for case in ElementTree.fromstring(junit.render(report)).iter("testcase"):
        ends = [(one.tag, one.get("message", "")) for one in case]
        found[case.attrib["classname"], case.attrib["name"]] = ends[0] if ends else ("passed", "")
    return found


def test_junit_fails_errs_skips_and_passes_each_thing_as_what_it_is() -> None:
    first = SHOWN.replace("two\ufffdlines", "two\nlines")
    assert outcomes(REPORT) == {
        ("apps/chat.yaml", "parallel-size-exceeds-gpus (chat/server)"): ("failure", first),
        ("apps/chat.yaml", "team-rule (chat/server)"): ("system-out", ""),
        ("apps/chat.yaml", "parallel-size-exceeds-gpus (chat/server) #2"): (
            "skipped",
            "suppressed (comment): latency | test",
        ),
        ("apps/chat.yaml", "checks (chat/server)"): (
            "skipped",
            "2 not evaluated; to evaluate them, add accelerator, architecture",
        ),
        ("apps/chat.yaml", "checks (clean/server)"): ("passed", ""),
        ("b.json", "team-rule (chat/server)"): ("system-out", ""),
        ("b.json", "team-rule (chat/server) #2"): ("skipped", "suppressed (baseline): old debt"),
        ("c.yaml", "internal error of gpulint"): ("error", "RuntimeError: ]]> \ufffd"),
        ("charts/a.yaml", "not checked"): ("skipped", "a template"),
    }


def test_junit_counts_what_it_lists() -> None:
    root = ElementTree.fromstring(junit.render(REPORT))
    assert root.attrib == {"name": "gpulint", "tests": "9", "failures": "1", "errors": "1"}
    assert [one.attrib for one in root] == [
        {"name": "apps/chat.yaml", "tests": "5", "failures": "1", "errors": "0", "skipped": "2"},
        {"name": "b.json", "tests": "2", "failures": "0", "errors": "0", "skipped": "1"},
        {"name": "c.yaml", "tests": "1", "failures": "0", "errors": "1", "skipped": "0"},
        {"name": "charts/a.yaml", "tests": "1", "failures": "0", "errors": "0", "skipped": "1"},
    ]


def test_junit_has_a_test_even_where_there_is_nothing_to_test() -> None:
    assert outcomes(Report()) == {("gpulint", "check"): ("skipped", "nothing here concerns GPUs")}
    pools = Report(gpu_pools=("h100",))
    assert outcomes(pools) == {
        ("gpulint", "check"): ("skipped", "the files define node pools with GPUs and no workload")
    }
    assert outcomes(CLEAN) == {("apps/chat.yaml", "checks (clean/server)"): ("passed", "")}


HELD = {
    "testsuites": {"name", "tests", "failures", "errors"},
    "testsuite": {"name", "tests", "failures", "errors", "skipped"},
    "testcase": {"classname", "name"},
    "failure": {"message", "type"},
    "error": {"message", "type"},
    "skipped": {"message"},
    "system-out": set(),
}
"""What our suites are made of; junit-10.xsd of Jenkins' xunit plugin allows each of it (see bench/schemas.py)."""


def test_junit_is_made_of_what_its_schema_allows_and_nothing_else() -> None:
    for node in ElementTree.fromstring(junit.render(REPORT)).iter():
        assert set(node.attrib) <= HELD[node.tag], node.tag
        assert {one.tag for one in node} <= {
            "testsuites": {"testsuite"},
            "testsuite": {"testcase"},
            "testcase": {"failure", "error", "skipped", "system-out"},
        }.get(node.tag, set())


@pytest.mark.parametrize(
    ("least", "expected"), [(Severity.ERROR, 1), (Severity.WARNING, 2), (Severity.NOTE, 3)], ids=str
)
def test_junit_fails_what_the_run_fails_for(least: Severity, expected: int) -> None:
    report = REPORT._replace(fail_on=least)
    assert sum(outcome == "failure" for outcome, _ in outcomes(report).values()) == expected == len(report.failing)


def test_junit_shows_a_failure_as_a_terminal_would() -> None:
    failure = ElementTree.fromstring(junit.render(REPORT)).find(".//failure")
    assert failure is not None
    assert failure.get("type") == "error"
    assert (failure.text or "").splitlines()[1:4] == [
        "  --> apps/chat.yaml:3:22  (chat/server)",
        '3 |       args: ["ü 𝔘 ", --tensor-parallel-size=8]',
        "  |                      ^^^^^^^^^^^^^^^^^^^^^^^^ tensor parallel 8 here",
    ]


# ---- reviewdog


def span(start: tuple[int, int], end: tuple[int, int]) -> dict[str, object]:
    return {
        "start": dict(zip(("line", "column"), start, strict=True)),
        "end": dict(zip(("line", "column"), end, strict=True)),
    }


def test_reviewdog_gets_columns_in_bytes_and_the_change_of_the_same_line() -> None:
    said = "internal error of gpulint while checking the file: RuntimeError: ]]> \x00"
    assert json.loads(rdjson.render(REPORT)) == {
        "source": {"name": "gpulint"},
        "diagnostics": [
            {"message": said, "location": {"path": "c.yaml"}, "severity": "ERROR", "code": {"value": "internal-error"}},
            {
                "message": f"{EVIL}\n8 > 4\ntry 4 ranks (trade-off: memory)\ntry 8 GPUs\ntry another card",
                "location": {"path": "apps/chat.yaml", "range": span((3, 26), (3, 50))},
                "severity": "ERROR",
                "code": {"value": "parallel-size-exceeds-gpus", "url": PAGE},
                "suggestions": [{"range": span((3, 49), (3, 50)), "text": "4"}],
            },
            {
                "message": "over several lines",
                "location": {"path": "apps/chat.yaml", "range": span((5, 3), (6, 4))},
                "severity": "WARNING",
                "code": {"value": "team-rule"},
            },
            {
                "message": "far to the right",
                "location": {"path": "b.json", "range": span((1, 5001), (1, 5006))},
                "severity": "INFO",
                "code": {"value": "team-rule"},
            },
            {
                "message": "not checked: a template",
                "location": {"path": "charts/a.yaml"},
                "severity": "INFO",
                "code": {"value": "not-checked"},
            },
        ],
    }


def test_reviewdog_gets_no_change_that_stands_elsewhere_or_in_several_places() -> None:
    both = nasty.FEWER._replace(edits=(*nasty.FEWER.edits, *nasty.MORE.edits))
    for suggestions in ((nasty.MORE,), (both,), (nasty.INEXACT,)):
        (one,) = json.loads(rdjson.render(Report(findings=(nasty.ERROR._replace(suggestions=suggestions),))))[
            "diagnostics"
        ]
        assert "suggestions" not in one


def test_reviewdog_gets_whole_lines_where_the_text_of_the_lines_is_not_at_hand() -> None:
    bare = nasty.ERROR._replace(location=nasty.ARGUMENT._replace(text=""), suggestions=())
    (one,) = json.loads(rdjson.render(Report(findings=(bare,))))["diagnostics"]
    assert one["location"]["range"] == {"start": {"line": 3}, "end": {"line": 3}}
