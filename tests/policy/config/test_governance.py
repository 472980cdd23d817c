"""What an organisation's policy demands: accelerators, thresholds, what is to be stated, budgets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

import gpulint
from gpulint.catalog import package_data
from gpulint.pipeline import check
from gpulint.pipeline.rule_tests import runner, samples
from gpulint.policy.config.files import SettingsError
from gpulint.policy.rules import identity, rule
from gpulint.report.model import Finding, Report, Severity, Spent

RULES = tuple(rule.load_shipped().values())
OURS = [one for one in RULES if one.family == "governance"]
POD = """\
apiVersion: v1
kind: Pod
metadata: {{name: {name}, namespace: lab, labels: {{{labels}}}, annotations: {{{annotations}}}}}
spec:
  nodeSelector: {{{selector}}}
  containers:
    - name: server
      image: vllm/vllm-openai:v0.11.0
      args: [--model=Qwen/Qwen3-4B, --max-model-len=4096]
      resources: {{limits: {{nvidia.com/gpu: {gpus}}}}}
"""
L4 = "nvidia.com/gpu.product: NVIDIA-L4"
H100 = "nvidia.com/gpu.product: NVIDIA-H100-80GB-HBM3"
RENTED = "node.kubernetes.io/instance-type: g6.xlarge"
BATCH = """\
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --gpus-per-node=8
#SBATCH --time=24:00:00
{comment}
srun torchrun --nproc_per_node=8 train.py
"""
VALUES = """\
servingEngineSpec:
  modelSpec:
    - {name: chat, repository: vllm/vllm-openai, tag: v0.11.0, modelURL: Qwen/Qwen3-4B, replicaCount: 1, requestGPU: 1}
"""


def pod(name: str = "chat", selector: str = L4, labels: str = "", annotations: str = "", gpus: object = 1) -> str:
    return POD.format(name=name, selector=selector, labels=labels, annotations=annotations, gpus=gpus)


def report(policy: str, files: dict[str, str]) -> Report:
    """The report of all shipped rules on files under a policy."""
    parts = {"gpulint.yaml": policy, **files}
    text = "".join(f"# file: {path}\n{content.rstrip()}\n" for path, content in parts.items())
    found = samples.report(text, samples.build_policy(RULES, RULES))
    assert found.failures == ()
    return found


def ours(found: Report, name: str = "") -> list[Finding]:
    """The findings about governance, or those of one rule."""
    return [one for one in found.open if one.family == "governance" and name in ("", one.rule)]


def said(found: Report) -> list[tuple[str, str, int]]:
    return [(one.rule, one.location.path, one.location.line) for one in ours(found)]


def needs(found: Report) -> set[tuple[str, tuple[str, ...]]]:
    """The rules about governance that lacked facts."""
    names = {one.name for one in OURS}
    return {
        (one.rule, one.needs)
        for workload in found.workloads
        for role in workload.roles
        for one in role.not_evaluated
        if one.rule in names
    }


def test_without_a_policy_none_of_these_rules_speaks_or_lacks_anything() -> None:
    found = report("{}", {"a.yaml": pod(selector=""), "values.yaml": VALUES, "t.sbatch": BATCH.format(comment="")})
    assert (ours(found), needs(found), found.budgets) == ([], set(), ())


@pytest.mark.parametrize(
    ("one", "text"),
    [(one, str(text)) for one in OURS for text in rule.load_examples(one)["bad"]],
    ids=[one.name for one in OURS],
)
def test_a_bad_sample_shows_nothing_but_its_defect_beside_all_other_rules(one: rule.Rule, text: str) -> None:
    found = samples.report(text, samples.build_policy(RULES, RULES))
    assert [(each.rule, each.severity) for each in found.open] == [(one.name, Severity.ERROR)]


@pytest.mark.parametrize("text", [str(text) for one in OURS for text in rule.load_examples(one)["good"]])
def test_a_good_sample_is_clean_beside_all_other_rules(text: str) -> None:
    found = samples.report(text, samples.build_policy(RULES, RULES))
    assert (list(found.open), needs(found)) == ([], set())


# ---- accelerators


@pytest.mark.parametrize(
    ("policy", "card", "speaks"),
    [
        ("{allowed: [l4]}", H100, True),
        ("{allowed: [l4]}", L4, False),
        ("{allowed: [L4 24GB]}", L4, False),
        ("{allowed: ['h100-*']}", H100, False),
        ("{forbidden: ['h100-*']}", H100, True),
        ("{forbidden: ['h100-*']}", L4, False),
        ("{allowed: ['*'], forbidden: [h100-sxm-80gb]}", H100, True),
    ],
)
def test_accelerators_are_allowed_or_forbidden_by_name_or_pattern(policy: str, card: str, speaks: bool) -> None:
    found = report(f"accelerators: {policy}", {"a.yaml": pod(selector=card)})
    assert said(found) == ([("accelerator-not-allowed", "a.yaml", 5)] if speaks else [])


def test_the_finding_says_what_is_permitted_and_points_at_the_policy() -> None:
    (found,) = ours(report("accelerators: {allowed: [l4, l40s]}", {"a.yaml": pod(selector=H100)}))
    assert found.message == "H100 SXM5 80GB is not allowed here; allowed: l4, l40s"
    assert [(one.location.path, one.location.line) for one in found.related] == [("gpulint.yaml", 1)]


def test_alternatives_stay_within_what_is_allowed() -> None:
    (found,) = ours(report("accelerators: {allowed: [l40s, a10g]}", {"a.yaml": pod(selector=H100)}))
    cards = {str(one.values["accelerator"]) for one in found.suggestions}
    assert cards
    assert cards <= {"l40s", "a10g"}


def test_an_accelerator_that_nobody_names_is_not_judged() -> None:
    found = report("accelerators: {allowed: [l4]}", {"a.yaml": pod(selector="")})
    assert ours(found) == []
    assert ("accelerator-not-allowed", ("accelerator",)) in needs(found)


def test_an_override_allows_more_or_forbids_some_in_its_paths() -> None:
    policy = """\
accelerators: {allowed: [l4]}
overrides:
  - {paths: [research/], accelerators: {allowed: ['h100-*']}}
  - {paths: [dev/], accelerators: {forbidden: [l4]}}
"""
    files = {"research/a.yaml": pod(selector=H100), "dev/a.yaml": pod(), "prod/a.yaml": pod()}
    assert said(report(policy, files)) == [("accelerator-not-allowed", "dev/a.yaml", 5)]


def test_a_name_that_the_catalog_lacks_is_refused_with_its_place() -> None:
    with pytest.raises(SettingsError, match=r"gpulint.yaml:1:\d+: the catalog has no accelerator h10; did you mean"):
        report("accelerators: {allowed: [h10]}", {"a.yaml": pod()})


# ---- thresholds


PIPELINE = """\
apiVersion: gpulint/v1
kind: TrainingJob
metadata: {name: pretrain}
spec:
  roles:
    - name: worker
      engine: megatron-lm
      checkpoint: meta-llama/Llama-3.1-8B
      accelerator: h100-sxm-80gb
      gpus_per_pod: 8
      gpus_per_replica: 8
      pods_per_replica: 1
      replicas: 1
      tensor_parallel: 2
      pipeline_parallel: 4
      micro_batch_size: 1
      global_batch_size: 16
      sequence_length: 4096
"""


@pytest.mark.parametrize(("threshold", "speaks"), [("15 %", True), ("0.15", True), ("20 %", False), ("{}", False)])
def test_a_threshold_moves_the_verdict_that_compares_with_it(threshold: str, speaks: bool) -> None:
    policy = "{}" if threshold == "{}" else f"thresholds: {{pipeline_bubble_most: {threshold}}}"
    found = report(policy, {"a.yaml": PIPELINE})
    assert ("pipeline-bubble" in {one.rule for one in found.open}) is speaks


def test_a_threshold_of_an_override_holds_in_its_paths() -> None:
    policy = "overrides: [{paths: [own/], thresholds: {pipeline_bubble_most: 10 %}}]"
    found = report(policy, {"own/a.yaml": PIPELINE, "a.yaml": PIPELINE})
    assert [one.location.path for one in found.open if one.rule == "pipeline-bubble"] == ["own/a.yaml"]


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        (
            "pipeline_buble_most: 0.1",
            r"gpulint.yaml:1:\d+: unknown key pipeline_buble_most; did you mean pipeline_bubble_most\?",
        ),
        ("pipeline_bubble_most: often", r'gpulint.yaml:1:\d+: .*"often" is not a share such as 0.15 or 15 %'),
        ("weight_load_most_s: 900", r'gpulint.yaml:1:\d+: .*"900" is not a time with its unit; write 900ms or 900s'),
        ("pipeline_bubble_most: true", r"gpulint.yaml:1:\d+: .*true is not a number"),
        ("float32_parameters_most: 90000T", r"gpulint.yaml:1:\d+: .*90000T is too large"),
        ("weight_bytes: 3", r"gpulint.yaml:1:\d+: unknown key weight_bytes"),
    ],
)
def test_a_threshold_that_cannot_be_used_is_refused_with_its_place(stated: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        report(f"thresholds: {{{stated}}}", {"a.yaml": pod()})


# ---- what is to be stated


def test_labels_that_lack_are_named_together_where_they_would_go() -> None:
    files = {"a.yaml": pod(labels="tier: gold")}
    (found,) = ours(report("require: [{labels: [team, tier, cost]}]", files))
    assert (found.rule, found.location.line) == ("required-label-missing", 3)
    assert found.message == "required labels are missing: team, cost; state them in metadata.labels"


def test_an_empty_label_is_none() -> None:
    assert said(report("require: [{labels: team}]", {"a.yaml": pod(labels="team: ''")})) == [
        ("required-label-missing", "a.yaml", 3)
    ]


def test_a_batch_script_states_its_labels_in_a_comment() -> None:
    policy = "require: [{labels: [team]}]"
    (found,) = ours(report(policy, {"t.sbatch": BATCH.format(comment="")}))
    assert found.message.startswith("required labels are missing: team; state them in a comment such as ")
    assert found.message.endswith(" # gpulint: labels=NAME:VALUE")
    assert ours(report(policy, {"t.sbatch": BATCH.format(comment="# gpulint: labels=team:search")})) == []


NEOX = """\
# gpulint: model=EleutherAI/pythia-1.4b
{"pipe-parallel-size": 1, "model-parallel-size": 1, "num-layers": 24, "hidden-size": 2048, "num-attention-heads": 16,
 "seq-length": 2048, "max-position-embeddings": 2048, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 1,
 "optimizer": {"type": "Adam", "params": {"lr": 0.0002}}, "zero_optimization": {"stage": 1}, "precision": "bfloat16"}
"""


def test_a_file_that_is_a_workload_as_a_whole_is_named_at_its_beginning() -> None:
    (found,) = ours(report("require: [{labels: [team]}]", {"configs/1-3B.yml": NEOX}))
    assert (found.location.line, found.label) == (2, "belongs in a comment such as # gpulint: labels=NAME:VALUE")


def test_labels_that_a_chart_writes_are_not_judged() -> None:
    found = report("require: [{labels: [team]}]", {"values.yaml": VALUES})
    assert ours(found) == []
    assert needs(found) == {("required-label-missing", ("labels",))}


def test_a_label_that_an_overlay_may_add_is_not_judged() -> None:
    files = {"kustomization.yaml": "commonLabels: {tier: gold}\nresources: [a.yaml]", "a.yaml": pod()}
    assert ours(report("require: [{labels: [tier]}]", files)) == []
    found = report("require: [{labels: [team]}]", files)
    assert (ours(found), needs(found)) == ([], {("required-label-missing", ("missing_labels",))})


def test_a_requirement_is_about_its_paths_names_and_task() -> None:
    policy = """\
require:
  - {paths: [prod/], labels: [team]}
  - {workload: "train-*", annotations: [approved-by]}
  - {task: training, labels: [project]}
"""
    files = {"prod/a.yaml": pod(), "dev/a.yaml": pod(), "b.yaml": pod("train-it")}
    assert said(report(policy, files)) == [
        ("required-annotation-missing", "b.yaml", 3),
        ("required-label-missing", "prod/a.yaml", 3),
    ]


@pytest.mark.parametrize("annotation", ["gpulint/tpot: 50ms", "gpulint/requests-per-s: '3'"])
def test_an_objective_in_any_word_will_do(annotation: str) -> None:
    policy = "require: [{objective: true}]"
    assert said(report(policy, {"a.yaml": pod()})) == [("objective-missing", "a.yaml", 3)]
    assert "objective-missing" not in {one.rule for one in report(policy, {"a.yaml": pod(annotations=annotation)}).open}


def test_the_length_of_a_prompt_is_no_objective() -> None:
    files = {"a.yaml": pod(annotations="gpulint/prompt-tokens: '100'")}
    assert said(report("require: [{objective: true}]", files)) == [("objective-missing", "a.yaml", 3)]


def test_facts_that_lack_are_named_with_how_to_state_them() -> None:
    (found,) = ours(report("require: [{facts: [accelerator, checkpoint]}]", {"a.yaml": pod(selector="")}))
    assert found.rule == "required-fact-missing"
    assert found.message.startswith("required values are unknown: accelerator; state the accelerator: a nodeSelector")


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (
            "require: [{facts: [acelerator]}]",
            r"gpulint.yaml:1:\d+: .*no such fact: acelerator; did you mean accelerator\?",
        ),
        ("require: [{paths: [a/]}]", r"gpulint.yaml:1:\d+: .*this entry requires nothing"),
        ("require: [{label: [a]}]", r"gpulint.yaml:1:\d+: unknown key label; did you mean labels\?"),
        ("budgets: [{gpus: 3}]", r"gpulint.yaml:1:\d+: .*a budget needs an owner: give team or paths"),
        ("budgets: [{team: a}]", r"gpulint.yaml:1:\d+: .*a budget needs a limit"),
        ("budgets: [{team: a, gpus: -1}]", r"gpulint.yaml:1:\d+: "),
        ("budgets: [{team: a, gpus: true}]", r"gpulint.yaml:1:\d+: "),
        ("budgets: [{team: a, gpus: many}]", r"gpulint.yaml:1:\d+: "),
        ("budgets: [{team: a, kw: .inf}]", r"gpulint.yaml:1:\d+: "),
        ("budgets: [{team: a, kw: .nan}]", r"gpulint.yaml:1:\d+: "),
    ],
)
def test_demands_that_say_nothing_are_refused_with_their_place(policy: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        report(policy, {"a.yaml": pod()})


# ---- budgets


def budget(found: Report) -> list[tuple[str, str, float, float, str]]:
    return [(one.budget, one.unit, one.least, one.limit, one.verdict) for one in found.budgets]


def team(name: str, gpus: object, of: str = "search", selector: str = L4) -> str:
    return pod(name, selector=selector, labels=f"team: {of}" if of else "", gpus=gpus)


def test_a_team_takes_what_its_workloads_take_together() -> None:
    files = {
        "a.yaml": team("a", 2),
        "b.yaml": team("b", 1),
        "c.yaml": team("c", 4, of="ads"),
        "d.yaml": team("d", 8, of=""),
    }
    found = report("budgets: [{team: search, gpus: 2}, {team: ads, gpus: 4}]", files)
    assert budget(found) == [
        ("team search", "gpus", 3, 2, "exceeded"),
        ("team ads", "gpus", 4, 4, "within"),
    ]
    (one,) = ours(found)
    assert (one.rule, one.location.path, one.location.line) == ("gpu-budget-exceeded", "a.yaml", 10)
    assert one.message == "the workloads of team search request 3 GPUs, over their budget of 2"
    assert one.arithmetic == ("2 a (a.yaml) + 1 b (b.yaml)",)
    assert [(place.label, place.location.path, place.location.line) for place in one.related] == [
        ("budget of team search", "gpulint.yaml", 1)
    ]


def test_the_largest_five_are_named_and_the_others_summed() -> None:
    files = {f"{name}.yaml": team(name, gpus) for name, gpus in zip("abcdefg", (1, 2, 3, 4, 5, 6, 7), strict=True)}
    (one,) = ours(report("budgets: [{team: search, gpus: 9}]", files))
    assert one.arithmetic == (
        "7 g (g.yaml) + 6 f (f.yaml) + 5 e (e.yaml) + 4 d (d.yaml) + 3 c (c.yaml) + 3 in 2 other workloads",
    )


def test_a_budget_of_paths_takes_what_stands_in_them() -> None:
    files = {"dev/a.yaml": pod(gpus=2), "dev/b.yaml": pod("b", gpus=1), "prod/a.yaml": pod(gpus=8)}
    found = report("budgets: [{paths: [dev/], gpus: 2}]", files)
    assert budget(found) == [("dev/", "gpus", 3, 2, "exceeded")]


def test_known_parts_beyond_a_budget_are_an_error_whatever_else_is_unknown() -> None:
    files = {"a.yaml": team("a", 4), "b.yaml": team("b", "$COUNT")}
    found = report("budgets: [{team: search, gpus: 3}]", files)
    assert [one.rule for one in ours(found)] == ["gpu-budget-exceeded"]


def test_known_parts_below_a_budget_are_no_verdict_where_others_are_unknown() -> None:
    files = {"a.yaml": team("a", 2), "b.yaml": team("b", "$COUNT")}
    found = report("budgets: [{team: search, gpus: 3}]", files)
    assert ours(found) == []
    assert budget(found) == [("team search", "gpus", 2, 3, "not evaluated")]
    assert [one.reason for one in found.budgets] == ["1 of 2 workloads could not be counted"]


def test_a_workload_whose_team_cannot_be_told_leaves_every_team_open() -> None:
    found = report("budgets: [{team: search, gpus: 3}]", {"a.yaml": team("a", 2), "values.yaml": VALUES})
    assert budget(found) == [("team search", "gpus", 2, 3, "not evaluated")]


def test_the_team_stands_in_the_label_that_the_policy_names_or_in_gpulints_own() -> None:
    files = {
        "a.yaml": pod("a", labels="owner: search"),
        "b.yaml": pod("b", labels="gpulint/owner: search"),
        "c.yaml": pod("c", annotations="owner: search"),
        "d.yaml": pod("d", labels="team: search"),
    }
    found = report("{team-label: owner, budgets: [{team: search, gpus: 9}]}", files)
    assert budget(found) == [("team search", "gpus", 3, 9, "within")]


DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat, labels: {team: search}}
spec:
  replicas: 3
  template:
    spec:
      nodeSelector: {node.kubernetes.io/instance-type: g6.xlarge}
      containers:
        - name: server
          image: vllm/vllm-openai:v0.11.0
          args: [--model=Qwen/Qwen3-4B, --max-model-len=4096]
          resources: {limits: {nvidia.com/gpu: 1}}
"""
GROUP = """\
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: big, labels: {team: search}}
spec:
  replicas: 2
  leaderWorkerTemplate:
    size: 2
    leaderTemplate:
      spec:
        nodeSelector: {nvidia.com/gpu.product: NVIDIA-H100-80GB-HBM3}
        containers:
          - name: leader
            image: vllm/vllm-openai:v0.11.0
            command: [vllm, serve, meta-llama/Llama-3.3-70B-Instruct]
            args: [--tensor-parallel-size=8, --pipeline-parallel-size=2]
            resources: {limits: {nvidia.com/gpu: 8}}
    workerTemplate:
      spec:
        nodeSelector: {nvidia.com/gpu.product: NVIDIA-H100-80GB-HBM3}
        containers:
          - name: worker
            image: vllm/vllm-openai:v0.11.0
            command: [sh, -c, "ray start --address=$(LWS_LEADER_ADDRESS) --block"]
            resources: {limits: {nvidia.com/gpu: 8}}
"""
SLICE = pod("slice", labels="team: search").replace("nvidia.com/gpu: 1", "nvidia.com/mig-3g.40gb: 2").replace(L4, H100)


@pytest.mark.parametrize(("text", "gpus"), [(DEPLOYMENT, 3), (GROUP, 32), (SLICE, 1), (BATCH.format(comment=""), 16)])
def test_instances_count_once_each_and_slices_as_their_share(text: str, gpus: float) -> None:
    found = report("budgets: [{paths: ['*'], gpus: 100}]", {"t.sbatch" if "SBATCH" in text else "a.yaml": text})
    assert [(one.least, one.verdict) for one in found.budgets] == [(gpus, "within")]


def test_cost_is_counted_where_the_machine_is_known() -> None:
    policy = "budgets: [{team: search, usd-per-hour: 2}]"
    (one,) = ours(report(policy, {"a.yaml": DEPLOYMENT}))
    assert one.message == "the workloads of team search cost $2.41/h, over their budget of $2.00/h"
    unknown = report(policy, {"a.yaml": team("a", 1)})
    assert budget(unknown) == [("team search", "usd_per_hour", 0, 2, "not evaluated")]


def test_power_is_the_least_that_busy_cards_draw() -> None:
    found = report("budgets: [{team: search, kw: 30}]", {"a.yaml": DEPLOYMENT})
    (one,) = found.budgets
    assert (one.unit, one.limit, one.verdict) == ("w", 30000, "within")
    assert 0 < one.least <= 3 * 72


def test_a_run_over_some_files_does_not_pass_a_budget() -> None:
    def some(policy: str, files: dict[str, str]) -> Sequence[Spent]:
        text = "".join(
            f"# file: {path}\n{content}" for path, content in {"gpulint.yaml": policy + "\n", **files}.items()
        )
        given = samples.resolve_policy(text, samples.build_policy(RULES, RULES))
        partial = given.governance._replace(
            budgets=tuple(one._replace(whole=False) for one in given.governance.budgets)
        )
        sources, repository = samples.load_sources(text)
        return check.check_files(sources, repository, replace(given, governance=partial, governed=None)).budgets

    (one,) = some("budgets: [{team: search, gpus: 3}]", {"a.yaml": team("a", 2)})
    assert (one.verdict, one.reason) == ("not evaluated", "only part of the repository was checked")
    (one,) = some("budgets: [{team: search, gpus: 1}]", {"a.yaml": team("a", 2)})
    assert one.verdict == "exceeded"


@pytest.mark.parametrize(
    "one",
    list(runner.run(sorted((package_data.find_folder("packs") / "selection-table").glob("*.yaml")), ())),
    ids=lambda one: one.name,
)
def test_a_rule_of_the_selection_table_shows_what_it_says_and_that_the_table_is_blind(one: runner.RuleTest) -> None:
    assert [*one.complaints, *(line for trial in one.trials for line in trial.complaints)] == []
    why = str(package_data.read_yaml(Path(one.path))["why"])
    assert why.startswith("The table ignores number formats, contexts, loads and prices.")
    assert " The table is wrong " in why


# ---- from the disk


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A repository of two teams, with a policy at its root."""
    (tmp_path / ".git").mkdir()
    files = {
        "gpulint.yaml": "budgets: [{team: search, gpus: 4}, {paths: [dev/], gpus: 1}]\n",
        "apps/a.yaml": team("a", 2),
        "apps/b.yaml": team("b", 1),
        "dev/c.yaml": team("c", 1, of="ads"),
    }
    for path, content in files.items():
        place = tmp_path / path
        place.parent.mkdir(exist_ok=True)
        place.write_text(content)
    return tmp_path


def taken(tree: Path, *paths: str) -> list[tuple[str, float, str]]:
    found = gpulint.check([str(tree / path) for path in paths])
    assert found.failures == ()
    return [(one.budget, one.least, one.verdict) for one in found.budgets]


def test_a_run_over_all_that_the_policy_governs_gives_a_verdict(tree: Path) -> None:
    assert taken(tree, ".") == [("team search", 3, "within"), ("dev/", 1, "within")]


@pytest.mark.parametrize("paths", [("apps",), ("apps/a.yaml", "apps/b.yaml", "dev/c.yaml")])
def test_a_run_over_less_gives_none_below_a_budget(tree: Path, paths: tuple[str, ...]) -> None:
    assert {verdict for _, _, verdict in taken(tree, *paths)} == {"not evaluated"}


def test_a_run_over_less_still_sees_that_a_budget_is_exceeded(tree: Path) -> None:
    (tree / "apps/a.yaml").write_text(team("a", 8))
    assert taken(tree, "apps/a.yaml") == [("team search", 8, "exceeded"), ("dev/", 0, "not evaluated")]


def test_the_text_says_how_much_of_each_budget_is_taken(tree: Path) -> None:
    from gpulint.report.formats import text

    shown = text.render(gpulint.check([str(tree / "apps/a.yaml")]))
    assert (
        "budget team search: at least 2 of 4 GPUs, not evaluated (only part of the repository was checked)\n" in shown
    )
    assert "budget dev/: 1 of 1 GPUs, within\n" in text.render(gpulint.check([str(tree)]))


def test_a_waiver_of_the_policy_accepts_a_budget_that_is_exceeded(tree: Path) -> None:
    policy = "budgets: [{team: search, gpus: 2}]\nwaivers: [{rules: gpu-budget-exceeded, reason: until the move}]\n"
    (tree / "gpulint.yaml").write_text(policy)
    found = gpulint.check([str(tree)])
    assert [
        (one.rule, one.suppressed and one.suppressed.reason) for one in found.findings if one.family == "governance"
    ] == [("gpu-budget-exceeded", "until the move")]


def test_a_folder_with_a_policy_of_its_own_has_that_ones_budgets(tree: Path) -> None:
    (tree / "dev/gpulint.yaml").write_text("budgets: [{paths: ['*.yaml'], gpus: 8}]\n")
    assert sorted(taken(tree, ".")) == [("*.yaml", 1, "within"), ("dev/", 0, "within"), ("team search", 3, "within")]


def test_the_network_that_training_wants_is_settable_as_a_bandwidth() -> None:
    from gpulint.policy.config.schema import PolicyFile

    stated = PolicyFile.model_validate({"thresholds": {"training_network_floor_bytes_per_s": "400 Gb/s"}})
    assert stated.thresholds.model_dump(exclude_unset=True) == {"training_network_floor_bytes_per_s": "400 Gb/s"}


@pytest.mark.parametrize(("then", "now", "known"), [(14, 14, True), (14, 12, True), (14, 16, False)])
def test_a_sum_that_is_no_larger_than_it_was_is_the_same_debt(then: int, now: int, known: bool) -> None:
    policy = "budgets: [{team: search, gpus: 8}]"
    before, after = (
        ours(report(policy, {"a.yaml": DEPLOYMENT.replace("replicas: 3", f"replicas: {n}")})) for n in (then, now)
    )
    (found,) = identity.keep_smaller_budgets(after, [(one.rule, one.subject) for one in before])
    assert (found.subject == before[0].subject) is known


def test_a_budget_of_another_name_is_another_debt() -> None:
    files = {"a.yaml": DEPLOYMENT}
    before, after = (
        ours(report(f"budgets: [{{team: search, paths: ['{path}'], gpus: 1}}]", files)) for path in ("*", "a*")
    )
    assert identity.keep_smaller_budgets(after, [(one.rule, one.subject) for one in before]) == after


def of_a_team(when: str) -> rule.Rule:
    """A team's own rule about sums."""
    target = rule.Target("repository")
    return rule.Rule("own", "house", "s", Severity.WARNING, "w.", target, when, "{budget_name}: {counted_gpus}")


def under(one: rule.Rule, files: dict[str, str]) -> Report:
    text = "".join(f"# file: {path}\n{content}" for path, content in files.items())
    return samples.report(text, samples.build_policy((*RULES, one), (*RULES, one)))


def test_a_rule_of_a_team_is_evaluated_once_for_each_budget() -> None:
    files = {"gpulint.yaml": "budgets: [{team: search, gpus: 8}, {team: ads, gpus: 8}]\n", "a.yaml": team("a", 7)}
    found = [one for one in under(of_a_team("counted_gpus >= 7"), files).open if one.rule == "own"]
    assert [(one.message, one.location.path, one.location.line) for one in found] == [("team search: 7", "a.yaml", 10)]


def test_a_rule_about_a_budget_that_nobody_takes_from_points_at_the_budget() -> None:
    files = {"gpulint.yaml": "budgets: [{team: search, gpus: 8}]\n", "a.yaml": team("a", 1, of="ads")}
    (found,) = (one for one in under(of_a_team("counted_gpus == 0"), files).open if one.rule == "own")
    assert (found.message, found.location.path, found.location.line) == ("team search: 0", "gpulint.yaml", 1)


def test_a_rule_that_breaks_over_a_budget_is_counted_and_leaves_the_report_whole() -> None:
    files = {"gpulint.yaml": "budgets: [{team: search, gpus: 8}]\n", "a.yaml": team("a", 1)}
    found = under(of_a_team("counted_gpus.size() == 0"), files)
    assert [(one.path, one.doing) for one in found.failures] == [("gpulint.yaml", "evaluating its budgets")]
    assert len(found.workloads) == 1
