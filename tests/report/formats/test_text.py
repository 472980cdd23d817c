"""The report for a person: whole outputs, and nothing in them that a terminal would obey."""

from __future__ import annotations

import json
import re

import pytest
from samples import report
from small_reports import HOSTILE, SPEC, finding, safe

from gpulint.policy.rules import evaluate
from gpulint.report.formats import text
from gpulint.report.formats.terminal_view import UNWRAPPED, View
from gpulint.report.model import (
    Edit,
    Failure,
    Finding,
    Location,
    Related,
    Report,
    RoleSummary,
    RuleCard,
    Severity,
    Skip,
    Suggestion,
    Waiver,
    WorkloadSummary,
)
from gpulint.source import documents
from gpulint.workload import Origin

SHOWN = """\
error[parallel-size-exceeds-gpus]: the parallelism needs 4 GPUs, but the instance has 2
  --> spec.yaml:11:36  (chat/server)
11 |       args: [--model=/models/ours, --tensor-parallel-size=4]
   |                                    ^^^^^^^^^^^^^^^^^^^^^^^^ tensor parallel: 4
 …
17 |           nvidia.com/gpu: 2
   |                           - nvidia.com/gpu: 2
   = TP 4 × PP 1 × DP 1 = 4
   = try tensor parallel 2 on the same 2 GPUs (trade-off: less memory and speed than 4 ranks)
       11:36  --tensor-parallel-size=4 → --tensor-parallel-size=2
   = try request the 4 GPUs that are needed
       17:27  2 → 4
   = Either start-up fails, or the engine waits for GPUs that never become available.

warning[variable-refers-to-itself]: Kubernetes does not expand ${LD_LIBRARY_PATH}: the program gets the literal text
  --> spec.yaml:14:27  (chat/server)
14 |           value: /opt/lib:${LD_LIBRARY_PATH}
   |                           ^^^^^^^^^^^^^^^^^^ ${LD_LIBRARY_PATH} is not expanded
   = Kubernetes expands only $(NAME) of variables listed earlier. The program gets the literal text, not the image's own
       value.

workload  architecture                   accelerator         parallelism  verdict
chat      ? (the model in /models/ours)  2 × H800 SXM5 80GB  TP 4         not evaluated

Which network does /models/ours have? `like: {/models/ours: Qwen/Qwen3-8B}` in gpulint.yaml decides 1 workload
not evaluated: 14 checks (--explain-missing lists what they need)

workloads: 1 unknown; 2 GPUs, 0.84 kW
1 file, 1 workload, 1 error, 1 warning
"""


def test_a_spec_with_two_findings_is_shown_whole() -> None:
    assert text.render(report(SPEC)) == SHOWN


def test_colour_paints_severities_locations_numbers_and_verdicts_and_changes_no_letter() -> None:
    painted = text.render(report(SPEC), View(colour=True))
    assert painted.startswith(
        "\x1b[31;1merror\x1b[0m[parallel-size-exceeds-gpus]: the parallelism needs \x1b[35m4 GPUs\x1b[0m, "
        "but the instance has \x1b[35m2\x1b[0m\n  --> \x1b[36mspec.yaml:11:36\x1b[0m  (chat/server)\n"
    )
    assert "\x1b[2mnot evaluated\x1b[0m" in painted
    assert re.sub(r"\x1b\[[\d;]*m", "", painted) == SHOWN


def test_a_location_links_to_its_file_where_the_terminal_has_links() -> None:
    linked = text.render(Report(findings=(finding(),)), View(colour=True, link="file:///repo/{}".format))
    assert "\x1b]8;;file:///repo/a.yaml\x1b\\\x1b[36ma.yaml:1:1\x1b[0m\x1b]8;;\x1b\\" in linked


def test_nothing_found_and_nothing_understood_is_one_line() -> None:
    assert text.render(Report()) == "0 files, 0 workloads, no findings\n"


def test_suppressed_skipped_and_failed_are_counted() -> None:
    silent = finding(suppressed=Waiver("comment", "known"))
    told = Report(
        findings=(silent,),
        skipped=(
            Skip("a.yaml", "template", "template"),
            Skip("b.yaml", "template", "template"),
            Skip("c.yaml", "a symbolic link", "link"),
        ),
        failures=(Failure("d.yaml", "checking the file", "RuntimeError: oh"),),
        files=1234,
    )
    assert text.render(told) == (
        "not checked: 1 × a symbolic link (c.yaml)\n"
        "not checked: 2 × template\n"
        "internal error in d.yaml while checking the file: RuntimeError: oh\n"
        "1,234 files, 0 workloads, no findings, 1 suppressed\n"
    )


@pytest.mark.parametrize(("confidence", "word"), [(3, "error["), (2, "error (likely)["), (1, "error (possible)[")])
def test_a_rule_that_does_not_hold_in_every_scenario_says_so(confidence: int, word: str) -> None:
    assert text.render(Report(findings=(finding(confidence=confidence),))).startswith(word)


# ---- snippets


def snippet(*findings: Finding) -> list[str]:
    return text.render(Report(findings=findings)).splitlines()[2:-3]


def test_two_spans_of_one_line_are_both_marked_under_it() -> None:
    line = "limits: {nvidia.com/gpu: 2}, requests: {nvidia.com/gpu: 1}"
    second = Related("against this", Location("a.yaml", 7, 26, 7, 27, line))
    assert snippet(finding(Location("a.yaml", 7, 57, 7, 58, line), related=(second,))) == [
        "7 | limits: {nvidia.com/gpu: 2}, requests: {nvidia.com/gpu: 1}",
        "  |                          - against this",
        "  |                                                         ^ here",
    ]


def test_a_second_place_in_another_file_is_named_without_its_lines() -> None:
    second = Related("stated there", Location("b.yaml", 9, 3, 9, 5, "x"))
    assert snippet(finding(related=(second,))) == ["1 | kind: Pod", "  | ^^^^ here", "   = stated there: b.yaml:9:3"]


def test_a_span_over_several_lines_is_marked_to_the_end_of_the_first() -> None:
    assert snippet(finding(Location("a.yaml", 2, 3, 4, 6, "  args: |\n    one\n    two"))) == [
        "2 |   args: |",
        "  |   ^^^^^^^ here",
    ]


def test_tabs_are_shown_as_spaces_and_marked_as_wide() -> None:
    assert snippet(finding(Location("a.yaml", 1, 2, 1, 6, "\tkind: Pod"))) == ["1 |     kind: Pod", "  |     ^^^^ here"]


def test_of_a_very_long_line_only_the_part_around_the_span_is_shown() -> None:
    line = "x" * 5_000 + "WRONG" + "y" * 5_000
    shown, marks = snippet(finding(Location("a.yaml", 1, 5_001, 1, 5_006, line)))
    assert len(shown) < 140
    assert shown.index("WRONG") == marks.index("^^^^^ here")


# ---- hostile files


def test_control_characters_never_reach_the_terminal_from_any_field() -> None:
    place = Location(f"{HOSTILE}.yaml", 1, 1, 1, 4, f"{HOSTILE}: {HOSTILE}")
    elsewhere = Location(f"{HOSTILE}/other.yaml", 1, 1, 1, 4, HOSTILE)
    suggestion = Suggestion(
        HOSTILE, (Edit("checkpoint", elsewhere, HOSTILE, HOSTILE), Edit("x", None, "", HOSTILE)), trade_off=HOSTILE
    )
    one = finding(place, (suggestion,), (Related(HOSTILE, place), Related(HOSTILE, elsewhere)), message=HOSTILE)
    told = Report(
        findings=(one,), skipped=(Skip(HOSTILE, HOSTILE, "limit"),), failures=(Failure(HOSTILE, "checking", HOSTILE),)
    )
    assert safe(text.render(told))


@pytest.mark.parametrize(
    "name", ['"\\e]0;owned\\a\\e[2J"', '"\\x9b31m"', '"\\u202Egnp.exe"', '"\\r\\b\\0"', '"\\uD800"', '"a\\nb"']
)
def test_names_that_escape_to_control_characters_stay_text(name: str) -> None:
    spec = (
        SPEC.replace("name: chat", f"name: {name}")
        .replace("name: server", f"name: {name}")
        .replace("/models/ours", "/models/$(X)")
    )
    spec = spec.replace("env:\n", f"env:\n        - {{name: X, value: {name}}}\n")
    assert safe(text.render(report(spec)))


def test_raw_control_characters_in_a_file_stay_text() -> None:
    for char in ("\x1b[2J", "\x9b31m", "\x07", "\u202e"):
        assert safe(text.render(report(SPEC + f"# {char}\n{char}x: {char}\n")))


def summary(path: str, name: str, engine: str, verdict: str = "fits") -> WorkloadSummary:
    role = RoleSummary(
        "server", engine=engine, architecture="?", accelerator="1 × L4 24GB", parallelism="?", verdict=verdict
    )
    return WorkloadSummary(name, "inference", "kubernetes", Location(path, 1, 1, 1, 2), (role,))


def test_workloads_of_several_files_stand_under_their_paths() -> None:
    shown = text.render(Report(workloads=(summary("a.yaml", "one", "vllm"), summary("b.yaml", "two", "vllm")), files=2))
    table = shown.split("\n\n")[0].splitlines()
    assert [line.split()[0] for line in table] == ["workload", "a.yaml:", "one", "b.yaml:", "two"]
    assert [line.startswith("  ") for line in table] == [True, False, True, False, True]


def test_workloads_of_one_file_need_no_path() -> None:
    shown = text.render(Report(workloads=(summary("a.yaml", "one", "vllm"), summary("a.yaml", "two", "vllm")), files=1))
    assert "a.yaml" not in shown


def test_a_long_list_shows_only_the_roles_that_need_a_decision_the_failing_ones_first() -> None:
    fitting = [summary("a.yaml", f"job{number}", "vllm") for number in range(12)]
    told = [summary("a.yaml", "open", "vllm", "needs 1 × L4 24GB"), summary("a.yaml", "broken", "vllm", "does not fit")]
    shown = text.render(Report(workloads=(*fitting, *told), files=1)).splitlines()
    assert [line.split()[0] for line in shown[:3]] == ["workload", "broken", "open"]
    assert shown[3] == "and 12 roles that need no decision (--all lists them)"
    assert "job7" in text.render(Report(workloads=(*fitting, *told), files=1), View(everything=True))


def test_of_many_roles_that_need_a_decision_the_first_are_listed() -> None:
    told = tuple(summary("a.yaml", f"job{number}", "vllm", "does not fit") for number in range(20))
    shown = text.render(Report(workloads=told, files=1))
    assert "job11" in shown
    assert "job12" not in shown
    assert "and 8 roles more, 8 of which need a decision (--all lists them)" in shown


def test_a_short_list_shows_every_role() -> None:
    shown = text.render(Report(workloads=tuple(summary("a.yaml", f"job{number}", "") for number in range(12)), files=1))
    assert "job11" in shown


# ---- many findings


def many(number: int) -> tuple[Finding, ...]:
    """As many different findings, and each of them at two locations."""
    return tuple(
        finding(Location(f"apps/{path}.yaml", line, 1, line, 5, "kind: Pod"), message=f"defect {at}")
        for at in range(number)
        for path, line in (("a", 1), ("b", 4))
    )


def test_the_same_finding_at_several_locations_is_shown_once_with_all_of_them() -> None:
    shown = text.render(Report(findings=many(1))).splitlines()
    assert shown[1:3] == ["  --> apps/a.yaml:1:1", "      also b.yaml:4"]
    assert sum("defect 0" in line for line in shown) == 1


def test_many_findings_are_shown_in_brief_with_every_location() -> None:
    shown = text.render(Report(findings=many(6)), View(quiet=True)).splitlines()
    assert shown[:3] == ["error[a-rule]: defect 0", "  --> apps/a.yaml:1:1", "      also b.yaml:4"]
    assert len(shown) == 6 * 3


def note(at: int, message: str) -> Finding:
    return finding(Location(f"runs/{at}.yaml", 1, 1, 1, 5, "kind: Pod"), message=message)._replace(
        severity=Severity.NOTE
    )


def test_a_note_that_repeats_thirty_times_is_shown_once_with_its_count() -> None:
    same = Report(findings=tuple(note(at, "the setting was renamed") for at in range(30)))
    shown = text.render(same, View(quiet=True))
    assert shown.count("the setting was renamed") == 1
    assert "also at 29 further places in 29 files (--all lists them): 1.yaml:1; 2.yaml:1; 3.yaml:1 …" in shown
    assert "29.yaml" not in shown
    assert "29.yaml" in text.render(same, View(quiet=True, everything=True))


def test_different_notes_of_one_rule_are_counted_beyond_the_third() -> None:
    different = Report(findings=tuple(note(at, f"setting {at} was renamed") for at in range(30)))
    shown = text.render(different, View(quiet=True))
    assert [f"setting {at} was renamed" in shown for at in (0, 2, 3, 29)] == [True, True, False, False]
    assert shown.splitlines()[-1] == "note[a-rule]: 27 further notes of this rule in 27 files (--all lists them)"
    assert "setting 29 was renamed" in text.render(different, View(quiet=True, everything=True))


def test_no_error_or_warning_is_only_counted() -> None:
    assert "defect 29" in text.render(Report(findings=many(30)), View(quiet=True))


def test_few_findings_are_shown_in_full_and_many_on_request() -> None:
    assert "^^^^" in text.render(Report(findings=many(5)))
    assert "^^^^" not in text.render(Report(findings=many(6)))
    assert "^^^^" in text.render(Report(findings=many(6)), View(show="full"))
    assert "^^^^" not in text.render(Report(findings=many(1)), View(show="brief"))


def test_the_most_severe_findings_come_first() -> None:
    some = [
        finding(message="n")._replace(severity=Severity.NOTE),
        finding(confidence=2, message="likely")._replace(severity=Severity.ERROR),
        finding(message="sure")._replace(severity=Severity.ERROR),
    ]
    shown = text.render(Report(findings=tuple(some)), View(show="brief")).splitlines()
    assert [line for line in shown if "[a-rule]" in line] == [
        "error[a-rule]: sure",
        "error (likely)[a-rule]: likely",
        "note[a-rule]: n",
    ]


def test_a_limit_counts_different_findings_and_says_what_is_left() -> None:
    shown = text.render(Report(findings=many(6)), View(limit=2))
    assert "defect 1" in shown
    assert "defect 2" not in shown
    assert "and 4 more different findings at 8 locations (--limit 2)" in shown


def test_a_quiet_report_has_findings_only() -> None:
    assert text.render(Report(findings=(), files=3), View(quiet=True)) == ""
    assert "file" not in text.render(Report(findings=many(2), files=3), View(quiet=True)).splitlines()[-1]


def test_statistics_count_the_findings_of_each_rule() -> None:
    card = RuleCard("a-rule", "family", Severity.ERROR, "It is too large", "why")
    notes = tuple(finding(message=f"{at}")._replace(rule="odd", severity=Severity.NOTE) for at in range(11))
    shown = text.render(Report(findings=(*notes, *many(1)), rules={"a-rule": card}), View(statistics=True))
    assert shown.splitlines()[:2] == [" 2  error[a-rule]  It is too large", "11  note[odd]"]


@pytest.mark.parametrize("width", [80, 100, 120, 200])
def test_no_line_is_wider_than_the_terminal_and_no_word_is_broken(width: int) -> None:
    for show in ("brief", "full"):
        unwrapped = set(text.render(report(SPEC), UNWRAPPED._replace(show=show)).split())
        lines = text.render(report(SPEC), View(width=width, show=show)).splitlines()
        assert max(map(len, lines)) <= width
        assert {word for line in lines for word in line.split()} <= unwrapped | {"…", "|"}


# ---- labels under the caret


def pod(container: str, spec: str = "") -> str:
    """A Pod with one container of vLLM and what is added to it."""
    return (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: chat}\nspec:\n"
        f"{spec}  containers:\n    - name: server\n      image: vllm/vllm-openai:v0.19.0\n{container}"
    )


LABELLED = {
    "liveness-probe-stretched": (
        pod(
            "      args: [--model=/models/ours]\n"
            "      livenessProbe: {httpGet: {path: /health, port: 8000}, failureThreshold: 90}\n"
            "      resources: {limits: {nvidia.com/gpu: 1}}\n"
        ),
        ["livenessProbe: kills after 900 s"],
    ),
    "privileged-gpu-container": (
        pod(
            "      args: [--model=/models/ours]\n      securityContext: {privileged: true}\n"
            "      resources: {limits: {nvidia.com/gpu: 1}}\n"
        ),
        ["privileged: true", "nvidia.com/gpu: 1"],
    ),
    "batched-tokens-too-small": (
        pod(
            "      args: [--model=meta-llama/Llama-3.1-8B-Instruct, --max-model-len=8192,\n"
            "        --max-num-batched-tokens=4096, --no-enable-chunked-prefill]\n"
            "      resources: {limits: {nvidia.com/gpu: 1}}\n",
            "  nodeSelector: {cloud.google.com/gke-accelerator: nvidia-h100-80gb}\n",
        ),
        ["max batched tokens: 4,096", "no chunked prefill"],
    ),
    "shared-memory-transport-off": (
        pod(
            "      command: [torchrun, --nproc_per_node=4, train.py]\n"
            '      env: [{name: NCCL_SHM_DISABLE, value: "1"}]\n'
            "      resources: {limits: {nvidia.com/gpu: 4}}\n",
            "  nodeSelector: {nvidia.com/gpu.product: NVIDIA-L40S}\n",
        ),
        ["NCCL_SHM_DISABLE=1"],
    ),
    "time-limit-missing": (
        "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --gpus-per-node=8\n#SBATCH --cpus-per-task=64\n"
        "srun torchrun --nnodes=2 --nproc_per_node=8 --rdzv_endpoint=$HEAD:29500 train.py\n",
        ["no --time"],
    ),
    "launcher-counts-fewer-nodes": (
        "#!/bin/bash\n#SBATCH --nodes=4\n#SBATCH --gpus-per-node=8\n#SBATCH --time=01:00:00\n#SBATCH --cpus-per-task=64\n"
        "srun torchrun --nnodes=2 --nproc_per_node=8 --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 train.py\n",
        ["launcher nodes: 2", "nodes: 4"],
    ),
    "cords-too-few": (
        "apiVersion: gpulint/v1\nkind: Facility\nmetadata: {name: ams1}\nspec:\n  racks:\n    - name: r12\n"
        "      redundancy: 2N\n      feeds:\n        - {name: A, voltage: 415 V, phases: 3, breaker: 60 A, code: IEC}\n"
        "      servers:\n        - type: dgx-h100\n          cords: {A: 3}\n",
        ["cords: A=3"],
    ),
}


@pytest.mark.parametrize(("rule", "spec", "labels"), [(rule, *case) for rule, case in LABELLED.items()], ids=LABELLED)
def test_a_label_says_what_is_under_the_caret_and_never_shows_a_value_of_python(
    rule: str, spec: str, labels: list[str]
) -> None:
    path = "run.sbatch" if spec.startswith("#!") else "spec.yaml"
    (found,) = (finding for finding in report(spec, path).findings if finding.rule == rule)
    assert [found.label, *(other.label for other in found.related)] == labels


def test_an_empty_or_a_nested_value_leaves_only_its_key_in_a_label() -> None:
    written = {
        "empty": None,
        "text": "",
        "nested": {"a": {"b": 1}},
        "flag": False,
        "flat": {"a": 1, "b": "x"},
        "list": [1, 2],
    }
    (document,) = documents.load("spec.json", json.dumps({"gpu": written}).encode()).documents
    labels = [evaluate._quote_setting(Origin(document, ("gpu", key))) for key in written]
    assert labels == ["empty", "text", "nested", "flag: false", "flat: a=1, b=x", "list: 1, 2"]
