"""One whole spec through each stage of the pipeline: the record that goes in, and the record that comes out."""

from __future__ import annotations

import functools

from gpulint import adapters
from gpulint.pipeline import check, enrichment, evaluate, file_report, parse, suggest
from gpulint.pipeline.evaluate import Evaluated
from gpulint.pipeline.rule_tests.samples import ExampleRepository
from gpulint.pipeline.suggest import Suggested
from gpulint.policy.resolved import ResolvedPolicy
from gpulint.policy.rules.rule import load_shipped
from gpulint.report.model import Finding
from gpulint.source.repository import Source
from gpulint.suggestions import verification
from gpulint.suggestions.allowance import Allowance

SPEC = """\
apiVersion: v1
kind: Service
metadata: {name: vllm}
spec: {ports: [{port: 8000}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat}
spec:
  replicas: 2
  template:
    spec:
      nodeSelector: {cloud.google.com/gke-accelerator: nvidia-l4}
      containers:
        - name: server
          image: vllm/vllm-openai:v0.10.1
          args: [--model=Qwen/Qwen3-8B, --max-model-len=8192]  # gpulint: tpot=40ms
          resources: {limits: {nvidia.com/gpu: 2}}
          volumeMounts: [{name: shm, mountPath: /dev/shm}]
      volumes: [{name: shm, emptyDir: {medium: Memory}}]
"""
SOURCE = Source("chat.yaml", SPEC.encode())
ALONE = ExampleRepository()
POLICY = ResolvedPolicy(tuple(load_shipped().values()), tuple(load_shipped()))


@functools.cache
def evaluated() -> Evaluated:
    return evaluate.file(SOURCE, ALONE, POLICY)


@functools.cache
def suggested() -> Suggested:
    return suggest.generate(evaluated())


@functools.cache
def verified() -> tuple[Finding, ...]:
    verifying = verification.Verification(SOURCE, check.build_evaluator(ALONE, POLICY))
    found = zip(suggested().findings, suggested().twins, strict=True)
    return tuple(verification.verify(found, verifying, SOURCE, ALONE.read, Allowance()))


def test_parse_gives_each_document_its_adapter() -> None:
    parsed = parse.file(SOURCE)
    found = [(document.get(("kind",)), adapter and adapters.name(adapter)) for document, adapter in parsed.documents]
    assert found == [("Service", "kubernetes"), ("Deployment", "kubernetes")]
    assert [(comment.line, comment.column, comment.text) for comment in parsed.loaded.comments] == [
        (17, 64, "gpulint: tpot=40ms")
    ]
    assert (parsed.loaded.problems, parsed.loaded.skips, parsed.text) == ((), (), SPEC)


def test_enrich_merges_the_volumes_the_service_and_the_comment_into_the_workload() -> None:
    parsed = parse.file(SOURCE)
    document, adapter = parsed.documents[1]
    assert adapter is not None
    (workload,) = adapters.workloads(adapter, document, ALONE)
    enriched = enrichment.apply(workload, enrichment.read_context(parsed.loaded, ALONE, POLICY))
    before, after = workload.roles[0].fields, enriched.roles[0].fields
    assert before.keys() <= after.keys()
    assert {name: after[name].value for name in after.keys() - before.keys() if name != "object_namespace"} == {
        "weights_volume": "container",
        "unkept_weights_folder": "/root/.cache/huggingface",
        "weights_open": False,
        "possible_trial": True,
        "service_variable": "VLLM_PORT",
        "path": "chat.yaml",
        "workload_name": "chat",
        "object_kind": "Deployment",
        "labels": {},
        "annotations": {},
        "image": "vllm/vllm-openai:v0.10.1",
        "target_tpot_s": 0.04,
        "stated_objectives": ("tpot",),
    }


def test_evaluate_gives_each_role_its_verdicts() -> None:
    (role,) = evaluated().roles
    assert role.owner == ("chat", "server")
    assert {(verdict.rule.name, verdict.confidence, verdict.severity.word) for verdict in role.outcome.verdicts} == {
        ("gpus-left-idle", 3, "warning"),
        ("service-variable-collides", 3, "warning"),
        ("tpot-below-physics", 3, "error"),
    }
    assert {entry.rule for entry in role.outcome.not_evaluated} == {
        "tpot-below-physics-with-context",
        "tpot-likely-missed",
    }
    assert (evaluated().findings, evaluated().targets, evaluated().about_hints, evaluated().skips) == ((), (), (), ())


def test_evaluating_one_workload_gives_the_same_verdicts() -> None:
    (alone,) = evaluate.file(SOURCE, ALONE, POLICY, workload="chat").roles
    (role,) = evaluated().roles
    assert (alone.owner, alone.outcome) == (role.owner, role.outcome)
    assert list(evaluate.file(SOURCE, ALONE, POLICY, workload="other").roles) == []


def test_suggest_gives_each_finding_its_candidates() -> None:
    found = [(finding.rule, [dict(one.values) for one in finding.suggestions]) for finding in suggested().findings]
    assert sorted(found) == [
        ("gpus-left-idle", [{"tensor_parallel": 2}, {"gpus_per_pod": 1}, {"data_parallel": 2}]),
        ("service-variable-collides", []),
        (
            "tpot-below-physics",
            [
                {"tensor_parallel": 2},
                {"quantization": "fp8"},
                {"accelerator": "a100-sxm4-40gb", "gpus_per_pod": 1},
            ],
        ),
    ]


def test_verify_keeps_what_the_changed_text_accepts_and_locates_its_edits() -> None:
    assert [finding.rule for finding in verified()] == [finding.rule for finding in suggested().findings]
    edits = {
        (finding.rule, edit.exact.location.line, edit.exact.text)
        for finding in verified()
        for suggestion in finding.suggestions
        for edit in suggestion.edits
        if edit.exact
    }
    assert edits == {
        ("gpus-left-idle", 17, ", --tensor-parallel-size=2"),
        ("gpus-left-idle", 18, "1"),
        ("gpus-left-idle", 17, ", --data-parallel-size=2"),
        ("tpot-below-physics", 17, ", --tensor-parallel-size=2"),
        ("tpot-below-physics", 17, ", --quantization=fp8"),
        ("tpot-below-physics", 13, "tesla-a100"),
        ("tpot-below-physics", 18, "1"),
    }


def test_verify_drops_a_suggestion_that_the_changed_text_does_not_accept() -> None:
    (finding,) = (finding for finding in suggested().findings if finding.rule == "gpus-left-idle")
    useless = finding.suggestions[0]._replace(edits=(finding.suggestions[1].edits[0]._replace(new="4"),))
    verifying = verification.Verification(SOURCE, check.build_evaluator(ALONE, POLICY))
    changed = [(finding._replace(suggestions=(useless,)), None)]
    (kept,) = verification.verify(changed, verifying, SOURCE, ALONE.read, Allowance())
    assert kept.suggestions == ()


def test_report_summarises_the_file() -> None:
    report = file_report.build(suggested(), verified()).report
    (workload,) = report.workloads
    (role,) = workload.roles
    assert (workload.name, workload.kind, workload.adapter) == ("chat", "inference", "kubernetes")
    assert (role.engine, role.architecture, role.accelerator, role.parallelism) == (
        *("vllm", "Qwen/Qwen3-8B", "2 × L4 24GB", "TP 1"),
    )
    assert (role.verdict, role.headroom) == ("undersized", "9 to 15 %")
    assert {finding.subject.object for finding in report.findings} == {"apps/Deployment chat"}
    assert (report.files, report.failures, report.skipped) == (1, (), ())


def test_check_puts_a_file_through_every_stage() -> None:
    report = check.check_files([SOURCE], ALONE, POLICY)
    assert [(one.rule, one.location.line, len(one.suggestions)) for one in report.findings] == [
        ("service-variable-collides", 3, 0),
        ("tpot-below-physics", 13, 3),
        ("gpus-left-idle", 17, 3),
    ]
    alone = file_report.build(suggested(), verified()).report
    assert report.findings == tuple(sorted(alone.findings, key=Finding.place))
    assert set(report.asks) == {"request_output_tokens", "request_prompt_tokens"}


def test_a_file_that_no_rule_can_fire_on_is_not_parsed() -> None:
    found = evaluate.file(Source("notes.yaml", b"colour: blue\n"), ALONE, POLICY)
    assert not found.is_relevant
    assert (found.documents, list(found.roles)) == ((), [])
