"""What a report asks for: few questions, those that decide most verdicts first, each with a line to paste."""

from __future__ import annotations

import json

import jsonschema
from folders import ROOT

from gpulint.report.formats import questions, text
from gpulint.report.formats.terminal_view import View
from gpulint.report.model import (
    Explanation,
    Location,
    NotEvaluated,
    Report,
    RoleSummary,
    WorkloadSummary,
)
from gpulint.source import documents

PLACE = Location("apps/a.yaml", 1, 1, 1, 2)


def workload(name: str, needs: tuple[str, ...], verdict: str = "not evaluated", **role: object) -> WorkloadSummary:
    """A workload of vLLM whose verdict lacks some values."""
    lacking = (NotEvaluated("serving-does-not-fit", needs), NotEvaluated("pcie-too-slow", ("network_kind", *needs)))
    summary = RoleSummary("server", engine="vllm", verdict=verdict, not_evaluated=lacking)
    return WorkloadSummary(name, "inference", "kubernetes", PLACE, (summary._replace(**role),))


def asked(*workloads: WorkloadSummary) -> list[str]:
    report = Report(workloads=workloads, asks={"network_kind": "state the network under fabric: in gpulint.yaml"})
    return [question.render() for question in questions.list_questions(report)]


def test_the_question_that_decides_most_workloads_comes_first() -> None:
    cluster = "the accelerator depends on the cluster: partition main does not name it"
    batch = [workload(f"job{at}", ("accelerator",), unknown={"accelerator": cluster}) for at in range(2)]
    assert asked(workload("chat", ("checkpoint",)), *batch) == [
        "Which GPU does partition `main` have? "
        "`pools: [{name: main, partition: main, accelerator: h100-sxm-80gb, gpus: 8}]` in gpulint.yaml decides 2 workloads",
        "Which model does `chat` run? `hints: [{path: apps/a.yaml, workload: chat, checkpoint: Qwen/Qwen3-8B}]` in gpulint.yaml "
        "decides 1 workload",
        "chat and 2 more: state the network under fabric: in gpulint.yaml (3 checks)",
    ]


def test_a_missing_accelerator_is_one_question_for_all_workloads_that_name_none() -> None:
    assert asked(workload("one", ("accelerator",)), workload("two", ("accelerator",), "needs 1 × L4 24GB"))[0] == (
        "Which GPU do the workloads that name none run on? `accelerator: h100-sxm-80gb` in gpulint.yaml decides 2 workloads"
    )
    assert asked(workload("one", ("accelerator",)))[0] == (
        "Which GPU does `one` run on? `accelerator: h100-sxm-80gb` in gpulint.yaml decides 1 workload"
    )


def test_a_value_that_is_not_enough_says_so() -> None:
    assert asked(workload("one", ("accelerator", "checkpoint")))[0].endswith(
        "`accelerator: h100-sxm-80gb` in gpulint.yaml is one of the values that 1 workload lacks"
    )


def test_a_checkpoint_that_the_catalog_lacks_is_asked_for_once() -> None:
    ours = "/models/ours (not in the catalog)"
    every = [workload(name, ("architecture",), architecture=ours) for name in ("one", "two")]
    assert asked(*every)[0] == (
        "Which network does /models/ours have? `like: {/models/ours: Qwen/Qwen3-8B}` in gpulint.yaml decides 2 workloads"
    )


def test_a_folder_with_a_general_name_is_asked_for_by_its_path() -> None:
    assert asked(workload("one", ("architecture",), architecture="? (the model in /models/ours)"))[0].startswith(
        "Which network does /models/ours have?"
    )


def test_no_other_network_can_stand_for_one_that_a_program_builds() -> None:
    assert not any(
        "network does" in words
        for words in asked(workload("one", ("architecture",), architecture="Unet (84,672 parameters)"))
    )


def test_nothing_is_asked_about_a_program_whose_network_is_not_known() -> None:
    why = Explanation("architecture", "own program", "the architecture depends on nccl-test itself", PLACE)
    needs = ("zero_stage", "optimizer", "checkpoint", "accelerator")
    assert asked(workload("nccl", needs, engine="")) == []
    assert asked(workload("nccl", needs, engine="torchrun", explained=(why,))) == []


def test_nothing_is_asked_about_a_workload_that_has_its_answer() -> None:
    assert asked(workload("one", ("accelerator",), "fits", not_evaluated=())) == []


def test_there_are_at_most_three_questions_and_five_lines_of_them_with_the_assumptions() -> None:
    every = [
        workload(f"w{at}", ("checkpoint", "accelerator", "gpus_per_replica"), assumptions=(f"a{at}", f"b{at}"))
        for at in range(9)
    ]
    assert len(asked(*every)) == 3
    shown = text.render(Report(workloads=tuple(every)), View(width=80)).split("\n\n")[-2].splitlines()
    assert "assumptions more (--all lists them)" in shown[1]
    assert shown[-1] == "not evaluated: 18 checks (--explain-missing lists what they need)"
    assert len(shown) <= 5


def test_every_missing_value_is_listed_on_request() -> None:
    report = Report(workloads=(workload("one", ("accelerator",)),), asks={"accelerator": "state it"})
    shown = text.render(report, View(missing=True))
    assert "not evaluated: 2 checks; to evaluate them, add\n  accelerator (2 checks: one): state it\n" in shown
    assert "Which GPU" not in shown


def test_the_list_of_missing_values_leaves_out_programs_that_are_not_known() -> None:
    every = (workload("one", ("accelerator",)), workload("nccl", ("zero_stage",), engine=""))
    shown = text.render(Report(workloads=every), View(missing=True))
    assert "zero_stage" not in shown
    assert (
        "not evaluated: 4 checks, 2 of them of programs that gpulint does not know; to evaluate the others, add"
        in shown
    )


def test_every_line_to_paste_follows_the_contract_of_a_policy() -> None:
    cluster = "the accelerator depends on the cluster: partition a:b does not name it"
    every = [
        workload("a, b: {c}", ("checkpoint",)),
        workload("gpus", ("gpus_per_replica",)),
        workload("card", ("accelerator",)),
        workload("net", ("architecture",), architecture="/models/our model (not in the catalog)"),
        workload("slurm", ("accelerator",), unknown={"accelerator": cluster}),
    ]
    contract = jsonschema.Draft202012Validator(json.loads((ROOT / "schemas" / "policy.json").read_bytes()))
    lines = [question.line.strip("`") for _, question in questions._ask_for_verdicts(every)]
    assert len(lines) == 5
    for line in lines:
        (document,) = documents.load("gpulint.yaml", f"{line}\n# gpulint\n".encode()).documents
        assert [error.message for error in contract.iter_errors(document.data)] == []
    assert 'workload: "a, b: {c}"' in lines[0]
