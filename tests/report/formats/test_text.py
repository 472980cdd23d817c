"""The report for a person: whole outputs, and nothing in them that a terminal would obey."""

from __future__ import annotations

import json

import pytest
from samples import report
from small_reports import HOSTILE, SPEC, finding, safe

from gpulint.policy.rules import evaluate
from gpulint.report.formats import text
from gpulint.report.model import (
    Edit,
    Failure,
    Finding,
    Location,
    Related,
    Report,
    RoleSummary,
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
   = Kubernetes expands only $(NAME) of variables listed earlier. The program gets the literal text, not the image's own value.

workload  architecture                       accelerator         parallelism  verdict        headroom
chat      /models/ours (not in the catalog)  2 × H800 SXM5 80GB  TP 4         not evaluated

1 file, 1 workload, 1 error, 1 warning
not evaluated: 13 checks; to evaluate them, add
  architecture (13 checks: chat): name a known checkpoint (annotation gpulint/model), or add a like: entry for it to gpulint.yaml
"""


def test_a_spec_with_two_findings_is_shown_whole() -> None:
    assert text.render(report(SPEC)) == SHOWN


def test_colour_paints_the_severity_and_changes_no_letter() -> None:
    painted = text.render(report(SPEC), colour=True)
    assert painted.startswith("\x1b[31;1merror\x1b[0m[parallel-size-exceeds-gpus]: ")
    assert painted.replace("\x1b[31;1m", "").replace("\x1b[33;1m", "").replace("\x1b[0m", "") == SHOWN


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
        "1,234 files, 0 workloads, no findings, 1 suppressed\n"
        "not checked: 1 × a symbolic link (c.yaml)\n"
        "not checked: 2 × template\n"
        "internal error in d.yaml while checking the file: RuntimeError: oh\n"
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


def summary(path: str, name: str, engine: str) -> WorkloadSummary:
    role = RoleSummary(
        "server", engine=engine, architecture="?", accelerator="1 × L4 24GB", parallelism="?", verdict="fits"
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


def test_many_roles_without_a_known_engine_are_counted_instead_of_listed() -> None:
    unread = tuple(summary("a.yaml", f"job{number}", "") for number in range(21))
    shown = text.render(Report(workloads=(*unread, summary("a.yaml", "chat", "vllm")), files=1))
    assert "job3" not in shown
    assert "chat" in shown
    assert "and 21 roles with an engine that gpulint does not know" in shown


def test_a_few_roles_without_a_known_engine_are_listed() -> None:
    shown = text.render(Report(workloads=tuple(summary("a.yaml", f"job{number}", "") for number in range(20)), files=1))
    assert "job19" in shown


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
