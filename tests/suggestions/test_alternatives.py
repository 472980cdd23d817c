"""Alternatives: what is printed is better by our own rules, small, and names its trade-off."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Iterator

import pytest
import samples

from gpulint.policy.rules import rule
from gpulint.policy.rules.rule import Rule, Target
from gpulint.report.model import Finding, Report, Severity, Suggestion

SERVER = """\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: chat}}
spec:
  template:
    spec:
      nodeSelector: {{{selector}}}
      containers:
        - name: server
          image: vllm/vllm-openai:{release}
{command}
          resources: {{limits: {{nvidia.com/gpu: {gpus}}}}}
          volumeMounts: [{{name: shm, mountPath: /dev/shm}}]
      volumes: [{{name: shm, emptyDir: {{medium: Memory}}}}]
"""
LISTED = """\
          args:
            - --model={checkpoint}
            - --tensor-parallel-size={ranks}{length}"""
SPLIT = '          args: [--model, {checkpoint}, --tensor-parallel-size, "{ranks}"{length}]'
SCRIPT = """\
          command: [sh, -c]
          args:
            - |
              exec vllm serve {checkpoint} \\
                --tensor-parallel-size {ranks}{length}"""
VARIABLE = """\
          env: [{{name: RANKS, value: "{ranks}"}}]
          args: [--model={checkpoint}, "--tensor-parallel-size=$(RANKS)"{length}]"""
LENGTHS = {
    LISTED: "\n            - --max-model-len={}",
    SPLIT: ', --max-model-len, "{}"',
    SCRIPT: " --max-model-len {}",
    VARIABLE: ", --max-model-len={}",
}
H100 = "cloud.google.com/gke-accelerator: nvidia-h100-80gb"
L4 = "cloud.google.com/gke-accelerator: nvidia-l4"
AWS = "node.kubernetes.io/instance-type: g5.12xlarge"

GROUP = """\
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {{name: wide}}
spec:
  leaderWorkerTemplate:
    size: 2
    leaderTemplate:
      spec:
        nodeSelector: {{cloud.google.com/gke-accelerator: nvidia-h100-80gb}}
        containers:
          - name: server
            image: vllm/vllm-openai:v0.10.1
            args: [--model={checkpoint}, --max-model-len=8192, --tensor-parallel-size={ranks}]
            resources: {{limits: {{nvidia.com/gpu: 8}}}}
            volumeMounts: [{{name: shm, mountPath: /dev/shm}}]
        volumes: [{{name: shm, emptyDir: {{medium: Memory}}}}]
    workerTemplate:
      spec:
        nodeSelector: {{cloud.google.com/gke-accelerator: nvidia-h100-80gb}}
        containers:
          - name: worker
            image: vllm/vllm-openai:v0.10.1
            command: [sh, -c, "ray start --address=head --block"]
            resources: {{limits: {{nvidia.com/gpu: 8}}}}
"""
NATIVE = """\
apiVersion: gpulint/v1
kind: InferenceService
metadata: {{name: chat}}
spec:
  roles:
    - name: server
      engine: vllm
      engine_version: "0.10.1"
      checkpoint: {checkpoint}
      accelerator: l4
      gpus_per_pod: {gpus}
      tensor_parallel: {ranks}
"""


def server(
    form: str = LISTED,
    checkpoint: str = "meta-llama/Llama-3.1-8B-Instruct",
    selector: str = L4,
    ranks: int = 1,
    gpus: int = 1,
    length: int | None = 8192,
    release: str = "v0.10.1",
) -> str:
    stated = LENGTHS[form].format(length) if length else ""
    command = form.format(checkpoint=checkpoint, ranks=ranks, length=stated)
    return SERVER.format(selector=selector, release=release, command=command, gpus=gpus)


def wrong() -> Iterator[str]:
    """Specs in every form that state their sizes in several wrong ways."""
    for form, selector in itertools.product(LENGTHS, (L4, H100, AWS)):
        yield server(form, selector=selector, length=131072)
        yield server(form, selector=selector, length=None)
        yield server(form, selector=selector, ranks=8, gpus=4)
        yield server(form, "meta-llama/Llama-3.1-70B-Instruct", selector, ranks=2, gpus=2)
        yield server(form, "Qwen/Qwen2.5-7B-Instruct", selector, ranks=8, gpus=8)
        yield server(form, "google/gemma-2b-it", selector, ranks=4, gpus=8)
    for checkpoint, ranks in (("meta-llama/Llama-3.1-405B-Instruct", 16), ("meta-llama/Llama-3.1-70B-Instruct", 8)):
        yield GROUP.format(checkpoint=checkpoint, ranks=ranks)
    for checkpoint, ranks, gpus in (("Qwen/Qwen2.5-7B-Instruct", 1, 4), ("meta-llama/Llama-3.1-8B-Instruct", 1, 1)):
        yield NATIVE.format(checkpoint=checkpoint, ranks=ranks, gpus=gpus)


WRONG = tuple(wrong())


@functools.cache
def reported(text: str) -> Report:
    """The report on one of these specs, as it is or changed, for the tests that ask for the same one."""
    return samples.report(text)


def titles(text: str, name: str) -> list[str]:
    (found,) = samples.of_rule(samples.report(text), name)
    return [one.title for one in found.suggestions]


# ---- the promise, carried out on the text


def test_the_specs_here_are_wrong_and_most_findings_have_an_alternative() -> None:
    findings = [finding for text in WRONG for finding in reported(text).open]
    assert len(findings) >= len(WRONG)
    assert sum(bool(finding.suggestions) for finding in findings) > 0.7 * len(findings)


@pytest.mark.parametrize("text", WRONG, ids=range(len(WRONG)))
def test_an_alternative_carried_out_answers_its_rule_and_says_nothing_new(text: str) -> None:
    before = reported(text)
    assert before.failures == ()
    for finding in before.open:
        for suggestion in finding.suggestions:
            after = reported(samples.changed(text, suggestion))
            assert after.failures == ()
            assert samples.of_rule(after, finding.rule) == [], suggestion.title
            assert samples.newly_said(before, after) == set(), suggestion.title
            assert samples.not_evaluated(after) <= samples.not_evaluated(before), suggestion.title


@pytest.mark.parametrize("text", WRONG, ids=range(len(WRONG)))
def test_the_rule_holds_in_no_scenario_after_an_alternative(text: str) -> None:
    """Asked as an error, a rule that holds in the worst scenario alone would still be heard, as a note."""
    before = reported(text)
    for finding in before.open:
        alone = [dataclasses.replace(rule.load_shipped()[finding.rule], severity=Severity.ERROR, absorbs=())]
        for suggestion in finding.suggestions:
            after = samples.report(samples.changed(text, suggestion), rules=alone)
            assert spoken(after) == [], suggestion.title
            assert samples.not_evaluated(after) == set(), suggestion.title


def left(text: str, one: Suggestion) -> int:
    """The errors that an alternative leaves: those of other rules that were there before."""
    return sum(finding.severity == Severity.ERROR for finding in reported(samples.changed(text, one)).open)


def steps_away(one: Suggestion) -> int:
    """How far it is from today's hardware: the same or less of it, more of it, another product."""
    if {"accelerator", "instance_type", "mig_profile"} & one.values.keys():
        return 2
    counts = [edit for edit in one.edits if edit.quantity in ("gpus_per_pod", "replicas", "pods_per_replica")]
    return int(any(number(edit.new) > number(edit.old) for edit in counts))


def number(text: str) -> int:
    return int("".join(filter(str.isdigit, text)) or 1)


@pytest.mark.parametrize("text", WRONG, ids=range(len(WRONG)))
def test_there_are_at_most_three_that_which_leaves_no_error_on_the_same_hardware_first_and_no_two_alike(
    text: str,
) -> None:
    for finding in reported(text).open:
        assert len(finding.suggestions) <= 3
        sizes = [(left(text, one), steps_away(one), dearer(one), len(one.values)) for one in finding.suggestions]
        assert sizes == sorted(sizes)
        assert len({one.edits for one in finding.suggestions}) == len(finding.suggestions)


@pytest.mark.parametrize("text", WRONG, ids=range(len(WRONG)))
def test_every_edit_changes_something(text: str) -> None:
    for finding in reported(text).open:
        for edit in (edit for one in finding.suggestions for edit in one.edits):
            assert edit.old != edit.new
            assert edit.new


def test_two_runs_say_the_same() -> None:
    assert [reported(text) for text in WRONG] == [samples.report(text) for text in WRONG]


def dearer(one: Suggestion) -> bool:
    before, after = one.cost_before_usd_per_hour, one.cost_after_usd_per_hour
    return before is not None and after is not None and after > before


def spoken(report: Report) -> list[str]:
    return [finding.rule for finding in report.open]


# ---- which ones


def test_a_length_that_does_not_fit_is_cut_to_one_that_does() -> None:
    assert titles(server(length=131072), "serving-does-not-fit")[0] == "sequences of at most 24,576 tokens"


def test_a_length_beyond_the_trained_one_is_cut_to_it() -> None:
    text = server(checkpoint="TinyLlama/TinyLlama-1.1B-Chat-v1.0", length=8192)
    assert titles(text, "context-exceeds-trained-maximum") == ["sequences of at most 2,048 tokens"]


def test_ranks_without_gpus_are_taken_back_or_given_gpus() -> None:
    text = server(checkpoint="Qwen/Qwen2.5-32B-Instruct", selector=H100, ranks=2, gpus=1)
    assert titles(text, "parallel-size-exceeds-gpus") == [
        "tensor parallel 1 on the same 1 GPU",
        "request the 2 GPUs that are needed",
    ]


def test_gpus_without_ranks_are_given_back_or_put_to_use() -> None:
    text = server(checkpoint="meta-llama/Llama-3.1-70B-Instruct", selector=H100, ranks=4, gpus=8)
    assert titles(text, "gpus-left-idle") == [
        "request the 4 GPUs that are used",
        "data parallel 2 on the same 8 GPUs",
        "tensor parallel 8 on the same 8 GPUs",
    ]


def test_ranks_over_two_pods_are_kept_inside_each() -> None:
    text = GROUP.format(checkpoint="meta-llama/Llama-3.1-405B-Instruct", ranks=16)
    assert titles(text, "tensor-parallel-leaves-link-domain") == [
        "tensor parallel 8 within each pod, pipeline parallel 2 across pods"
    ]


def test_a_native_spec_is_answered_in_its_own_words() -> None:
    (found,) = samples.of_rule(
        samples.report(NATIVE.format(checkpoint="Qwen/Qwen2.5-7B-Instruct", ranks=1, gpus=4)), "gpus-left-idle"
    )
    added = [edit.new for one in found.suggestions for edit in one.edits if not edit.old]
    assert added == ["data_parallel: 4"]


def test_what_is_lost_is_said() -> None:
    (found,) = samples.of_rule(samples.report(server(length=131072)), "serving-does-not-fit")
    assert found.suggestions[0].trade_off == "longer requests are rejected"


def test_a_cheaper_card_shows_both_prices_of_one_place_and_day() -> None:
    text = server(checkpoint="google/gemma-2b-it", selector=H100, ranks=8, gpus=8, length=None)
    (found,) = samples.of_rule(samples.report(text), "parallelism-larger-than-needed")
    priced = [one for one in found.suggestions if one.cost_before_usd_per_hour and one.cost_after_usd_per_hour]
    assert any(one.cost_after_usd_per_hour < one.cost_before_usd_per_hour for one in priced)  # type: ignore[operator]
    for one in priced:
        assert one.cost_after_usd_per_hour <= one.cost_before_usd_per_hour  # type: ignore[operator]
        assert one.prices


# ---- when there is none


def test_nothing_is_offered_where_nothing_in_the_rules_reach_helps() -> None:
    text = server(checkpoint="deepseek-ai/DeepSeek-V3", gpus=1)
    (found,) = samples.of_rule(samples.report(text), "weights-exceed-memory")
    assert found.suggestions == ()


def only(text: str, when: str, change: tuple[str, ...], *others: Rule) -> Finding:
    own = Rule("own", "house", "s", Severity.WARNING, "w.", Target("workload"), when, "m", change=change)
    (found,) = samples.of_rule(samples.report(text, rules=[own, *others]), "own")
    return found


def test_a_rule_that_names_no_change_gets_no_alternative() -> None:
    assert only(server(), "max_model_len > 4096", ()).suggestions == ()
    assert only(server(), "max_model_len > 4096", ("tensor_parallel",)).suggestions == ()


def test_an_alternative_that_another_rule_would_speak_of_is_not_printed() -> None:
    text = server(ranks=4, gpus=2)
    alone = only(text, "spare_gpus < 0", ("tensor_parallel",))
    assert [one.title for one in alone.suggestions] == ["tensor parallel 2 on the same 2 GPUs"]
    small = Rule("small", "house", "s", Severity.NOTE, "w.", Target("workload"), "tensor_parallel < 4", "m")
    assert only(text, "spare_gpus < 0", ("tensor_parallel",), small).suggestions == ()


def test_an_alternative_that_still_holds_in_the_worst_scenario_is_not_printed() -> None:
    """Of an unknown release the share of memory is 0.92, 0.92 and 0.90: the last would be heard by none."""
    text = server(release="latest", ranks=4, gpus=2)
    when = "spare_gpus < 0 || gpu_memory_utilization < 0.91"
    assert only(text, when, ("tensor_parallel",)).suggestions == ()


def test_an_alternative_that_makes_another_rule_unknown_is_not_printed() -> None:
    """A card without direct links has no bandwidth of them; the price of the other machine is known by its name."""
    a100 = "node.kubernetes.io/instance-type: p4d.24xlarge"
    text = server(checkpoint="Qwen/Qwen2.5-14B-Instruct", selector=a100, length=131072)
    does_not_fit = "kv_needed_bytes > kv_cache_bytes"
    linked = Rule("linked", "house", "s", Severity.NOTE, "w.", Target("workload"), "link_bytes_per_s < 1.0", "m")
    priced = dataclasses.replace(linked, name="priced", when="cost_usd_per_hour > 1000.0")
    found = only(text, does_not_fit, ("accelerator",), priced).suggestions
    assert found[0].title == "1 × RTX PRO 6000 Blackwell Server Edition 96GB"
    found = only(text, does_not_fit, ("accelerator",), linked).suggestions
    assert found[0].title == "1 × A100 SXM4 80GB"
