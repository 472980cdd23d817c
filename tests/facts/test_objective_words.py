"""Objectives: where they are stated, how they are written, and what is said of one that cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest
import reading
import samples

from gpulint import units
from gpulint.facts import objective_words, resolver
from gpulint.facts.glossary import glossary
from gpulint.policy.config import load
from gpulint.policy.config.files import DiskReader, SettingsError
from gpulint.policy.config.settings import Hint
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
    names = {one.quantity for one in objective_words.WORDS.values()}
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
    assert set(WORDS) == set(objective_words.WORDS)
    assert {one.quantity for one in objective_words.WORDS.values()} <= set(glossary())


@pytest.mark.parametrize("word", WORDS)
def test_a_word_is_read_alike_in_a_spec_an_annotation_a_comment_and_the_settings(word: str) -> None:
    text, value = WORDS[word]
    quantity = objective_words.WORDS[word].quantity
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
    (hint,) = load.find_nearest(DiskReader(tmp_path)).hints
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
        ("{tpot: 0ms}", "tpot: 0ms is not greater than 0"),
        ("{growth: 0.5}", "growth: 0.5 is not a growth factor from 1 to 1000; write 1.5 for 50% more"),
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
        ("gpulint/tpott: 50ms", "unknown hint gpulint/tpott; did you mean tpot?"),
        ("gpulint/acelerator: l4", "unknown hint gpulint/acelerator; did you mean accelerator?"),
        ("gpulint/qps: '5'", "unknown hint gpulint/qps; did you mean requests-per-s?"),
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
        load.find_nearest(DiskReader(tmp_path))
    assert str(error.value).endswith(message)


def test_an_annotation_that_cannot_be_read_leaves_the_objective_unknown() -> None:
    found = reading.role(pod("gpulint/ttft: '500'")).value("target_ttft_s")
    assert isinstance(found, Unknown)


# ---- what is made of them

SERVER = """\
apiVersion: gpulint/v1
kind: InferenceService
metadata: {{name: {name}}}
spec:
  objective: {objective}
  roles:
    - name: {role}
      engine: vllm
      engine_version: 0.11.0
      checkpoint: {checkpoint}
      accelerator: {accelerator}
      gpus_per_pod: {gpus}
      tensor_parallel: {gpus}
      max_model_len: 8192
{further}"""
SHAPE = "prompt-tokens: 2000, output-tokens: 300"


def server(objective: str = "{}", accelerator: str = "h100-sxm-80gb", further: str = "", **given: object) -> str:
    whole = {"name": "chat", "role": "server", "checkpoint": "Qwen/Qwen3-8B", "gpus": 1} | given
    lines = "".join(f"      {line}\n" for line in further.splitlines())
    return SERVER.format(objective=objective, accelerator=accelerator, further=lines, **whole)


def aims(text: str) -> dict[str, str]:
    (role,) = samples.roles(samples.report(text))
    return {one.objective: one.verdict for one in role.objectives}


def of_performance(text: str) -> set[str]:
    found = samples.report(text)
    assert found.failures == ()
    return {one.rule for one in found.findings if one.family == "performance"}


def test_a_spec_that_fits_and_misses_its_objective_is_undersized() -> None:
    (role,) = samples.roles(samples.report(server("{tpot: 40ms}", "l4")))
    assert (role.verdict, role.headroom[-1]) == ("undersized", "%")
    (aim,) = role.objectives
    assert (aim.objective, aim.wanted, aim.at_best) == ("time per token", "40 ms", "50.5 ms")
    assert (aim.verdict, aim.needs) == ("beyond physics", ("request_output_tokens", "request_prompt_tokens"))


def test_the_objectives_stand_in_the_reports_with_what_to_add() -> None:
    from gpulint.report.formats import json
    from gpulint.report.formats import text as formats_text

    found = samples.report(server("{tpot: 40ms}", "l4"))
    said = (
        "chat: time per token target 40 ms, best case 50.5 ms: "
        "not evaluated, state request_output_tokens, request_prompt_tokens"
    )
    assert said in formats_text.render(found).splitlines()
    assert "state the length of a typical answer: output-tokens in objective:" in formats_text.render(found)
    assert '"verdict": "beyond physics"' in json.render(found)
    assert '"weight_read_floor_s"' in json.render(found)


@pytest.mark.parametrize("text", [server(), pod()])
def test_where_nothing_is_wanted_nothing_is_said_of_it(text: str) -> None:
    from gpulint.report.formats import text as formats_text

    found = samples.report(text)
    (role,) = samples.roles(found)
    assert role.objectives == ()
    assert not {fact.name for fact in role.facts} & {"tpot_s", "ttft_s", "target_tpot_s", "service_tokens_per_s"}
    assert "wanted" not in formats_text.render(found)
    assert not {"request_prompt_tokens", "request_output_tokens"} & {
        need for one in role.not_evaluated for need in one.needs
    }


@pytest.mark.parametrize(
    ("text", "verdicts"),
    [
        (server(f"{{tpot: 500ms, {SHAPE}}}"), {"time per token": "met"}),
        (server(f"{{tpot: 1ms, {SHAPE}}}"), {"time per token": "beyond physics"}),
        (server(f"{{concurrency: 4, {SHAPE}}}"), {"concurrent requests": "met"}),
        (server(f"{{concurrency: 900, {SHAPE}}}"), {"concurrent requests": "missed"}),
        (server(f"{{output-tokens-per-s: 10, {SHAPE}}}"), {"output tokens": "met"}),
        (server(f"{{output-tokens-per-s: 90k, {SHAPE}}}"), {"output tokens": "missed"}),
        (server(f"{{requests-per-s: 900, {SHAPE}}}"), {"requests": "beyond physics"}),
        (server("{concurrency: 4}"), {"concurrent requests": "not evaluated"}),
    ],
)
def test_an_objective_is_met_or_missed(text: str, verdicts: dict[str, str]) -> None:
    assert aims(text) == verdicts


PHYSICS = {"tpot-below-physics", "tpot-below-physics-with-context", "ttft-below-physics", "throughput-beyond-physics"}


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        (server("{tpot: 4ms}"), {"tpot-below-physics"}),
        (server("{ttft: 3ms}"), {"ttft-below-physics"}),
        (server(f"{{requests-per-s: 900, {SHAPE}}}"), {"throughput-beyond-physics"}),
    ],
)
def test_what_physics_forbids_is_an_error(text: str, rules: set[str]) -> None:
    assert of_performance(text) == rules


@pytest.mark.parametrize(
    "text",
    [
        server("{tpot: 5ms}"),
        server("{tpot: 1500us}", further="speculative: ngram\ndraft_tokens: 5"),
        server("{tpot: 1ms}", further='speculative: "a draft of which nothing is known"'),
        server("{tpot: 4ms}", checkpoint="Qwen/Qwen3-30B-A3B"),
        server("{tpot: 4ms}", checkpoint="Qwen/Qwen3-8B-FP8"),
        server("{tpot: 3ms}", gpus=2),
        server("{ttft: 40ms, prompt-tokens: 7000, output-tokens: 300}"),
        server("{tpot: 16ms, concurrency: 48, prompt-tokens: 7000, output-tokens: 500}"),
        server("{tpot: 1ms}", role="prefill"),
        server("{tpot: 1ms}", name="chat-prefill"),
        server("{ttft: 1ms}", role="decode"),
        server("{prompt-tokens: 8000, output-tokens: 192}"),
        server("{output-tokens-per-s: 5k}"),
        server("{concurrency: 4}", further="replicas: 2"),
    ],
)
def test_what_physics_may_allow_or_cannot_tell_is_no_error(text: str) -> None:
    assert not of_performance(text) & (PHYSICS | {"request-exceeds-context"})


@pytest.mark.parametrize(
    "text",
    [
        server("{}"),
        server(f"{{tpot: 500ms, ttft: 60s, concurrency: 4, requests-per-s: 0.1, growth: 1.5, {SHAPE}}}"),
        KNATIVE.format(annotations="", limit="containerConcurrency: 32"),
        KNATIVE.format(annotations='autoscaling.knative.dev/target: "10"', limit=""),
        KSERVE.format(annotations="", scaling="scaleTarget: 10"),
        RAY.format(deployment="{max_ongoing_requests: 128, autoscaling_config: {target_ongoing_requests: 64}}"),
        DYNAMO.format(planner="[--ttft, '2000', --itl=200]"),
        job(),
    ],
)
def test_a_spec_that_may_reach_what_it_states_is_silent(text: str) -> None:
    assert of_performance(text) == set()


def test_latency_that_is_wanted_is_a_reason_for_many_gpus() -> None:
    rule = "parallelism-larger-than-needed"
    assert told(server("{}", gpus=8), rule)
    assert told(server("{tpot: 5ms}", gpus=8), rule) == []


def test_decoding_replicas_wait_for_no_prompts() -> None:
    from gpulint.pipeline.enrichment import hints

    (role,) = hints.apply(reading.workload(server(role="decode")), (), (), "").roles
    assert role.value("prefill_apart") is True
    (whole,) = hints.apply(reading.workload(server()), (), (), "").roles
    assert whole.value("prefill_apart") is None


GRAPH = """\
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata: {name: graph}
spec:
  services:
    VllmDecodeWorker: &worker
      resources: {limits: {gpu: "1"}}
      extraPodSpec: {mainContainer: {image: "nvcr.io/x:1", args: [python3, -m, dynamo.vllm, --model, Qwen/Qwen3-8B]}}
"""


@pytest.mark.parametrize(("further", "apart"), [("    VllmPrefillWorker: *worker\n", True), ("", None)])
def test_a_decode_worker_of_dynamo_waits_for_prompts_unless_others_prefill(further: str, apart: bool | None) -> None:
    """ai-dynamo/dynamo examples/backends/vllm/deploy: agg.yaml has a VllmDecodeWorker alone, disagg.yaml both."""
    from gpulint.pipeline.enrichment import hints

    found = hints.apply(reading.workload(GRAPH + further), (), (), "")
    assert found.roles[0].value("prefill_apart") is apart


@pytest.mark.parametrize(("mode", "apart"), [("decode", True), ("prefill", None), ("null", None)])
def test_sglang_says_which_servers_only_decode(mode: str, apart: bool | None) -> None:
    text = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: chat}\nspec:\n  containers:\n    - name: server\n"
        "      image: lmsysorg/sglang:v0.5.5\n      command: [python3, -m, sglang.launch_server]\n"
        f"      args: [--model-path=Qwen/Qwen3-8B, --disaggregation-mode={mode}]\n"
        "      resources: {limits: {nvidia.com/gpu: 1}}\n"
    )
    assert reading.workload(text).roles[0].value("prefill_apart") is apart


def test_replicas_are_suggested_as_many_as_carry_the_load() -> None:
    found = samples.report(server("{concurrency: 64, prompt-tokens: 2000, output-tokens: 300}", "l4"))
    (finding,) = samples.of_rule(found, "concurrency-beyond-kv-cache")
    assert any(suggestion.title.endswith(" replicas") for suggestion in finding.suggestions)


TRAINED = """\
#!/bin/bash
#SBATCH --nodes=1
#SBATCH --gpus-per-node=a100-sxm4-80gb:8
#SBATCH --cpus-per-task=96
#SBATCH --time={limit}
accelerate launch --num_processes 8 trl/scripts/sft.py --model_name_or_path meta-llama/Llama-3.1-8B --dataset_name ours \
  {packing} --max_length 8192 --per_device_train_batch_size 2 --gradient_accumulation_steps 8 --max_steps 5000 --bf16 \
  --gradient_checkpointing {further} --output_dir out
"""


def trained(limit: str = "04:00:00", packing: str = "--packing", further: str = "") -> str:
    return TRAINED.format(limit=limit, packing=packing, further=further)


def test_a_job_that_is_ended_before_its_steps_can_be_computed_is_an_error() -> None:
    """5,000 steps of 2^20 tokens, 6 · 8.0e9 operations each, on eight A100 of 312 TFLOP/s: 30 hours."""
    text = trained()
    ((line, message),) = told(text, "time-limit-below-physics")
    assert (line, message) == (
        5,
        "the time limit is 4 h, but the 5,000 steps take at least 30 h, even at peak speed (GPUs: 8)",
    )


@pytest.mark.parametrize(
    "text",
    [
        trained("7-00:00:00"),
        trained(packing=""),
        trained(further="--resume_from_checkpoint latest"),
        trained("$LIMIT"),
        trained().replace("--max_steps 5000", "--num_train_epochs 3"),
        trained().replace("a100-sxm4-80gb:8", "8"),
    ],
)
def test_a_job_that_may_end_in_time_or_goes_on_is_silent(text: str) -> None:
    assert of_performance(text) == set()


def test_what_an_engine_is_for_is_its_task() -> None:
    (role,) = reading.workload(trained()).roles
    assert resolver.resolve(role, None).expected("task") == "training"
    assert resolver.resolve(reading.role(pod()), None).expected("task") == "inference"


SCALED = """\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: chat}}
spec:
  template:
    spec:
      nodeSelector: {{cloud.google.com/gke-accelerator: nvidia-l4}}
      containers:
        - name: server
          image: vllm/vllm-openai:v0.11.0
          args: [--model=Qwen/Qwen3-8B, --max-model-len=4096, --max-num-seqs=32]
          resources: {{limits: {{nvidia.com/gpu: 1}}}}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {{name: chat}}
spec:
  maxReplicas: 4
  scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: chat}}
  metrics:
    - {{type: Pods, pods: {{metric: {{name: "{gauge}"}}, target: {{type: AverageValue, averageValue: {target}}}}}}}
"""


@pytest.mark.parametrize(
    ("gauge", "target", "spoken"),
    [
        ("vllm:num_requests_running", "32", True),
        ("vllm_num_requests_running", "100", True),
        ("prometheus.googleapis.com|vllm:num_requests_running|gauge", "64", True),
        ("vllm:num_requests_running", "31", False),
        ("vllm:num_requests_waiting", "100", False),
        ("ours_num_requests_running", "100", False),
        ("vllm:num_requests_running", "500m", False),
    ],
)
def test_an_autoscaler_by_running_requests_needs_a_target_below_the_batch(
    gauge: str, target: str, spoken: bool
) -> None:
    found = told(SCALED.format(gauge=gauge, target=target), "scaling-target-never-reached")
    assert bool(found) is spoken
