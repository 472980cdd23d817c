"""Objectives: where they are stated, how they are written, and what is said of one that cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest
import reading
import samples

from gpulint import objectives, units
from gpulint.facts import glossary
from gpulint.policy import schema, settings
from gpulint.policy.settings import Hint, SettingsError
from gpulint.workload import Role, Unknown

SPEC = """\
apiVersion: gpulint/v1
kind: InferenceService
metadata: {{name: chat}}
spec:
  objective: {objective}
  roles:
    - {{name: server, engine: vllm, checkpoint: Qwen/Qwen3-8B, accelerator: l4, gpus_per_pod: 1}}
"""
POD = """\
apiVersion: v1
kind: Pod
metadata: {{name: chat, annotations: {{{annotations}}}}}
spec:
  {comment}
  containers:
    - name: server
      image: vllm/vllm-openai:v0.11.0
      args: [--model=Qwen/Qwen3-8B, --max-model-len=4096]
      resources: {{limits: {{nvidia.com/gpu: 1}}}}
"""
WORDS = {
    "tpot": ("50ms", 0.05),
    "ttft": ("1s", 1.0),
    "output-tokens-per-s": ("2000", 2000),
    "requests-per-s": ("0.5", 0.5),
    "concurrency": ("64", 64),
    "growth": ("1.5", 1.5),
    "prompt-tokens": ("2k", 2000),
    "output-tokens": ("300", 300),
    "time-to-train": ("72h", 259_200.0),
    "tokens": ("2T", 2_000_000_000_000),
}


def spec(objective: str) -> str:
    return SPEC.format(objective=objective)


def pod(annotations: str = "", comment: str = "") -> str:
    return POD.format(annotations=annotations, comment=comment)


def stated(role: Role) -> dict[str, object]:
    names = {one.quantity for one in objectives.WORDS.values()}
    names |= {"replica_requests_target", "replica_requests_limit", "time_limit_s"}
    return {name: field.value for name, field in role.fields.items() if name in names}


def told(text: str, rule: str) -> list[tuple[int, str]]:
    return [(one.location.line, one.message) for one in samples.report(text).findings if one.rule == rule]


# ---- units


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("50ms", 0.05),
        ("1.5 s", 1.5),
        ("250us", 0.00025),
        ("90m", 5400),
        ("1h30m", 5400),
        ("3d", 259_200),
        ("2 weeks", 1_209_600),
    ],
)
def test_a_time_is_read_with_its_unit(text: str, seconds: float) -> None:
    assert units.seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["50", "", "ms", "5 parsecs", "-5s", "1e3s", "5s and more"])
def test_a_time_without_a_known_unit_is_none(text: str) -> None:
    with pytest.raises(ValueError, match="is not a time with its unit"):
        units.seconds_of(text)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0048, "4.8 ms"),
        (0.00002, "20 µs"),
        (1.5, "1.5 s"),
        (600, "600 s"),
        (28_800, "8 h"),
        (259_200, "3 days"),
        (0, "0 s"),
    ],
)
def test_a_time_is_printed_in_the_unit_that_people_read(seconds: float, text: str) -> None:
    assert units.human(seconds, "s") == text


@pytest.mark.parametrize(
    ("text", "number"), [("300", 300), ("2k", 2000), ("15M", 15_000_000), ("1.5T", 1.5e12), ("1_000", 1000)]
)
def test_counts_take_the_suffixes_of_people(text: str, number: float) -> None:
    assert units.amount_of(text) == number


@pytest.mark.parametrize("text", ["2K", "2g", "many", "-1", "1e6", ""])
def test_other_suffixes_are_no_counts(text: str) -> None:
    with pytest.raises(ValueError, match="is not a number such as"):
        units.amount_of(text)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30", 1800),
        ("30:30", 1830),
        ("08:00:00", 28_800),
        ("2-12", 216_000),
        ("1-00:30", 88_200),
        ("7-00:00:00", 604_800),
    ],
)
def test_a_time_limit_is_read_as_sbatch_does(text: str, seconds: float) -> None:
    """sbatch(1) of Slurm 23.02, --time."""
    assert units.batch_seconds(text) == seconds


@pytest.mark.parametrize("text", ["UNLIMITED", "", "1:2:3:4", "8h", "-1"])
def test_what_is_no_time_limit_is_none(text: str) -> None:
    with pytest.raises(ValueError, match="is not a time limit"):
        units.batch_seconds(text)


# ---- where they are stated


def test_every_word_states_a_quantity_of_the_glossary() -> None:
    assert set(WORDS) == set(objectives.WORDS)
    assert {one.quantity for one in objectives.WORDS.values()} <= set(glossary())


@pytest.mark.parametrize("word", WORDS)
def test_a_word_is_read_alike_in_a_spec_an_annotation_a_comment_and_the_settings(word: str) -> None:
    text, value = WORDS[word]
    quantity = objectives.WORDS[word].quantity
    assert stated(reading.role(spec(f"{{{word}: {text}}}"))) == {quantity: value}
    assert stated(reading.role(pod(f'gpulint/{word}: "{text}"'))) == {quantity: value}
    for given in ({"text": pod(comment=f"# gpulint: {word}={text}")}, {"hints": (Hint("*", objective={word: text}),)}):
        found = samples.report(**{"text": pod(), **given})
        assert found.findings == samples.report(pod()).findings
        assert f"{word} {text}" in found.workloads[0].roles[0].assumptions[0]


def test_the_objective_of_a_spec_is_that_of_all_its_roles() -> None:
    roles = reading.workload(spec("{ttft: 1s}") + "    - {name: decode, gpus_per_pod: 4}\n").roles
    assert [stated(role) for role in roles] == [{"target_ttft_s": 1.0}, {"target_ttft_s": 1.0}]


def test_settings_state_objectives_by_path_and_workload(tmp_path: Path) -> None:
    (tmp_path / "gpulint.yaml").write_text(
        "objectives:\n  - {path: 'serving/*', workload: chat, tpot: 50ms, prompt-tokens: 2k, growth: 1.5}\n"
    )
    (hint,) = settings.nearest(tmp_path, tmp_path).hints
    assert (hint.path, hint.workload, hint.matches("serving/a.yaml", "chat")) == ("serving/*", "chat", True)
    assert dict(hint.objective) == {"tpot": "50ms", "prompt-tokens": "2k", "growth": 1.5}


def test_annotations_of_a_template_count_as_those_of_its_object() -> None:
    text = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat}
spec:
  template:
    metadata: {annotations: {gpulint/tpot: 40ms}}
    spec:
      containers:
        - {name: server, image: "vllm/vllm-openai:v0.11.0", resources: {limits: {nvidia.com/gpu: 1}}}
"""
    assert stated(reading.role(text)) == {"target_tpot_s": 0.04}


# ---- formats with words of their own

KNATIVE = """\
apiVersion: serving.knative.dev/v1
kind: Service
metadata: {{name: chat}}
spec:
  template:
    metadata: {{annotations: {{{annotations}}}}}
    spec:
      {limit}
      containers:
        - image: vllm/vllm-openai:v0.11.0
          args: [--model=Qwen/Qwen3-8B, --max-model-len=4096]
          resources: {{limits: {{nvidia.com/gpu: 1}}}}
"""
KSERVE = """\
apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
metadata: {{name: chat{annotations}}}
spec:
  predictor:
    {scaling}
    model:
      modelFormat: {{name: huggingface}}
      args: [--model_id=Qwen/Qwen3-8B]
      resources: {{limits: {{nvidia.com/gpu: 1}}}}
"""
RAY = """\
apiVersion: ray.io/v1
kind: RayService
metadata: {{name: chat}}
spec:
  serveConfigV2: |
    applications:
      - import_path: ray.serve.llm:build_openai_app
        args:
          llm_configs:
            - model_loading_config: {{model_id: Qwen/Qwen3-8B}}
              deployment_config: {deployment}
"""
DYNAMO = """\
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata: {{name: graph}}
spec:
  services:
    Planner:
      extraPodSpec: {{mainContainer: {{args: {planner}}}}}
    Worker:
      resources: {{limits: {{gpu: "1"}}}}
      extraPodSpec: {{mainContainer: {{image: "nvcr.io/x:1", args: [python3, -m, dynamo.vllm, --model, Qwen/Qwen3-8B]}}}}
"""
TARGET, LIMIT = "replica_requests_target", "replica_requests_limit"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (KNATIVE.format(annotations='autoscaling.knative.dev/target: "10"', limit=""), {TARGET: 10}),
        (KNATIVE.format(annotations="", limit="containerConcurrency: 4"), {LIMIT: 4}),
        (
            KSERVE.format(
                annotations="",
                scaling="{scaleTarget: 10, containerConcurrency: 20}".strip("{}").replace(", ", "\n    "),
            ),
            {TARGET: 10, LIMIT: 20},
        ),
        (
            KSERVE.format(annotations=', annotations: {autoscaling.knative.dev/target: "3"}', scaling="minReplicas: 1"),
            {TARGET: 3},
        ),
        (
            RAY.format(deployment="{max_ongoing_requests: 128, autoscaling_config: {target_ongoing_requests: 64}}"),
            {TARGET: 64, LIMIT: 128},
        ),
        (RAY.format(deployment="{autoscaling_config: {target_num_ongoing_requests_per_replica: 24}}"), {TARGET: 24}),
        (DYNAMO.format(planner="[--ttft, '200', --itl=20]"), {"target_ttft_s": 0.2, "target_tpot_s": 0.02}),
        (
            DYNAMO.format(planner='[sh, -c, "exec python3 -m planner_sla --ttft 500.0 --itl 30"]'),
            {"target_ttft_s": 0.5, "target_tpot_s": 0.03},
        ),
    ],
)
def test_formats_state_objectives_in_words_of_their_own(text: str, found: dict[str, object]) -> None:
    assert stated(reading.workload(text).roles[-1]) == found


@pytest.mark.parametrize(
    "text",
    [
        KNATIVE.format(
            annotations="autoscaling.knative.dev/target: '80', autoscaling.knative.dev/metric: cpu", limit=""
        ),
        KNATIVE.format(
            annotations="autoscaling.knative.dev/target: '200', autoscaling.knative.dev/metric: rps", limit=""
        ),
        KNATIVE.format(annotations="", limit="containerConcurrency: 0"),
        KSERVE.format(annotations="", scaling="scaleTarget: 70\n    scaleMetric: cpu"),
        KSERVE.format(
            annotations=", annotations: {serving.kserve.io/deploymentMode: RawDeployment}",
            scaling="containerConcurrency: 1",
        ),
        KSERVE.format(
            annotations="", scaling="containerConcurrency: '{{ .Values.limit }}'".replace("{{", "{").replace("}}", "}")
        ),
        RAY.format(deployment="{autoscaling_config: {min_replicas: 1, max_replicas: 4}}"),
        DYNAMO.format(planner="[--ttft, $TTFT, --itl=$ITL]"),
        DYNAMO.format(planner="[--namespace, dynamo]"),
    ],
)
def test_what_counts_something_else_or_nothing_states_no_objective(text: str) -> None:
    assert stated(reading.workload(text).roles[-1]) == {}


JOB = """\
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --gpus-per-node=4
#SBATCH --time={time}
{line}
srun torchrun --nnodes=2 --nproc_per_node=4 --rdzv_endpoint=$HEAD:29500 train.py {words}
"""


def job(time: str = "08:00:00", line: str = "", words: str = "") -> str:
    return JOB.format(time=time, line=line, words=words)


def test_the_time_limit_of_a_batch_job_is_read() -> None:
    assert stated(reading.role(job())) == {"time_limit_s": 28_800}
    assert stated(reading.role(job(line="# sbatch this with --requeue to resume"))) == {"time_limit_s": 28_800}


@pytest.mark.parametrize(
    "text",
    [
        job(line="#SBATCH --array=1-10%1"),
        job(line="#SBATCH --requeue"),
        job(line="#SBATCH --dependency=singleton"),
        job(line="#SBATCH --signal=USR1@300"),
        job(line='trap "sbatch $0" EXIT'),
        job(words="--resume_from_checkpoint=latest"),
        job(words="--load $CHECKPOINTS"),
        job(words="--exit-duration-in-mins 230"),
        job(time="$LIMIT"),
        job(time="UNLIMITED"),
    ],
)
def test_a_run_that_goes_on_in_another_job_has_no_limit(text: str) -> None:
    assert stated(reading.role(text)) == {}


# ---- what cannot be read


@pytest.mark.parametrize(
    ("objective", "message"),
    [
        ("{tpott: 50ms}", "unknown key tpott; did you mean tpot?"),
        ("{itl: 50ms}", "unknown key itl; did you mean tpot?"),
        ("{prompt_tokens: 5}", "unknown key prompt_tokens; did you mean prompt-tokens?"),
        ("{tpot: 50}", 'tpot: "50" is not a time with its unit; write 50ms or 50s'),
        ("{tpot: 0ms}", "tpot: 0ms is not more than nothing"),
        ("{growth: 0.5}", "growth: 0.5 is no growth: write the whole, such as 1.5 for half more"),
        ("{output-tokens: 2K}", 'output-tokens: "2K" is not a number such as 300, 2k, 15M, 8B or 2T'),
        ("{concurrency: 1.5}", "concurrency: 1.5 is not a whole number such as 300 or 2k"),
        ("{tokens: [1]}", "tokens: write a number"),
    ],
)
def test_what_is_wrong_with_an_objective_of_a_spec_is_said_at_its_place(objective: str, message: str) -> None:
    assert told(spec(objective), "invalid-spec") == [(5, message)]


@pytest.mark.parametrize(
    ("annotation", "message"),
    [
        ("gpulint/tpott: 50ms", "no hint is called gpulint/tpott; did you mean tpot?"),
        ("gpulint/acelerator: l4", "no hint is called gpulint/acelerator; did you mean accelerator?"),
        ("gpulint/qps: '5'", "no hint is called gpulint/qps; did you mean requests-per-s?"),
        ("gpulint/ttft: '500'", 'ttft: "500" is not a time with its unit; write 500ms or 500s'),
    ],
)
def test_what_is_wrong_with_an_annotation_is_said_at_its_place(annotation: str, message: str) -> None:
    assert told(pod(annotation), "malformed-hint") == [(3, message)]


@pytest.mark.parametrize(
    "annotation",
    [
        "gpulint/ttft: 500ms",
        "gpulint/model: Qwen/Qwen3-8B",
        "gpulint/ignore: ''",
        "example.com/ttft: '500'",
        "gpulint/tpot: '$TPOT'",
    ],
)
def test_annotations_that_are_right_or_not_ours_are_silent(annotation: str) -> None:
    assert told(pod(annotation), "malformed-hint") == []


@pytest.mark.parametrize(
    ("comment", "message"),
    [
        ("tpot=50", 'tpot: "50" is not a time with its unit; write 50ms or 50s'),
        ("osl=300", "no hint is called osl; did you mean output-tokens?"),
    ],
)
def test_what_is_wrong_with_a_comment_is_said_at_its_place(comment: str, message: str) -> None:
    assert told(pod(comment=f"# gpulint: {comment}"), "malformed-hint") == [(5, message)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("objectives:\n  - {path: '*', tpot: 5}\n", ':2:23: "5" is not a time with its unit; write 5ms or 5s'),
        ("objectives:\n  - {path: '*', growt: 2}\n", ":2:17: unknown key growt; did you mean growth?"),
        ("hints:\n  - {path: '*', tpot: 5ms}\n", ":2:17: tpot is an objective: write it under objectives:"),
    ],
)
def test_what_is_wrong_with_the_settings_is_said_at_its_place(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "gpulint.yaml").write_text(text)
    with pytest.raises(SettingsError) as error:
        schema.settings(tmp_path / "gpulint.yaml", "")
    assert str(error.value).endswith(message)


def test_an_annotation_that_cannot_be_read_leaves_the_objective_unknown() -> None:
    found = reading.role(pod("gpulint/ttft: '500'")).value("target_ttft_s")
    assert isinstance(found, Unknown)
