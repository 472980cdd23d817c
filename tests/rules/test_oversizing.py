"""Oversizing: waste is named where a checked spec does the same for less; a choice that may have its reason is left alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import samples

from gpulint.catalog.offers import Available
from gpulint.policy.rules import diagnostics
from gpulint.policy.rules.rule import Rule, RuleError, Target
from gpulint.report.model import Finding, Severity, Suggestion

SERVER = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: chat
  annotations: {{{said}}}
spec:
  replicas: {replicas}
  template:
    spec:
      nodeSelector: {{{selector}}}
      containers:
        - name: server
          image: {image}
          args: [{arguments}]
          resources: {{limits: {{nvidia.com/gpu: {gpus}}}}}
          volumeMounts: [{{name: shm, mountPath: /dev/shm}}]
      volumes: [{{name: shm, emptyDir: {{medium: Memory}}}}]
"""
GKE = "cloud.google.com/gke-accelerator"
H100, A100, L4 = f"{GKE}: nvidia-h100-80gb", f"{GKE}: nvidia-a100-80gb", f"{GKE}: nvidia-l4"
AWS_H100 = "node.kubernetes.io/instance-type: p5.48xlarge"
VLLM = "vllm/vllm-openai:v0.10.1"
ONE_CARD = "--model=google/gemma-2b-it"
EIGHT = "--model=meta-llama/Llama-3.1-8B-Instruct, --max-model-len=4096"
LOAD = 'gpulint/concurrency: "4", gpulint/prompt-tokens: "500", gpulint/output-tokens: "200"'


def server(
    arguments: str, selector: str = H100, gpus: int = 1, said: str = "", image: str = VLLM, replicas: int = 1
) -> str:
    return SERVER.format(arguments=arguments, selector=selector, gpus=gpus, said=said, image=image, replicas=replicas)


def waste(spec: str) -> list[Finding]:
    """What is said of waste, of cards, ranks and replicas alike."""
    found = samples.report(spec).open
    return [one for one in found if one.family == "oversizing" or one.rule == "gpus-left-idle"]


def first(spec: str) -> tuple[str, Suggestion]:
    """The rule that names the waste and its first alternative."""
    (one,) = waste(spec)
    return one.rule, one.suggestions[0]


# ---- the published mistakes, in specs of our own


def test_eight_cards_of_which_the_server_starts_on_four_become_four() -> None:
    spec = server("--model=google/gemma-3-27b-it, --max-model-len=16384, --tensor-parallel-size=4", gpus=8)
    said, better = first(spec)
    assert (said, better.title) == ("gpus-left-idle", "request the 4 GPUs that are used")
    assert better.trade_off == ""


def test_a_nim_that_uses_two_of_eight_cards_asks_for_two() -> None:
    spec = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: nim}
spec:
  template:
    spec:
      nodeSelector: {cloud.google.com/gke-accelerator: nvidia-h100-80gb}
      containers:
        - name: nim
          image: nvcr.io/nim/meta/llama-3.1-70b-instruct:1.8.4
          env: [{name: NIM_TENSOR_PARALLEL_SIZE, value: "2"}]
          resources: {limits: {nvidia.com/gpu: 8}}
          volumeMounts: [{name: shm, mountPath: /dev/shm}]
      volumes: [{name: shm, emptyDir: {medium: Memory}}]
"""
    said, better = first(spec)
    assert (said, better.title) == ("gpus-left-idle", "request the 2 GPUs that are used")


@pytest.mark.parametrize("image", [VLLM, "vllm/vllm-openai:v0.14.0"])
def test_a_network_of_two_billion_parameters_on_eight_h100_goes_to_one_l4(image: str) -> None:
    spec = server("--model=google/gemma-2b-it, --tensor-parallel-size=8", gpus=8, image=image)
    said, better = first(spec)
    assert (said, better.title) == ("parallelism-larger-than-needed", "1 × L4 24GB")
    assert better.cost_before_usd_per_hour is not None
    assert better.cost_after_usd_per_hour is not None
    assert better.cost_after_usd_per_hour < better.cost_before_usd_per_hour / 100


def test_ranks_that_leave_half_the_cards_idle_and_do_not_hold_the_weights_use_all_of_them() -> None:
    spec = """\
model_metadata: {}
model_name: GLM 4.5 FP8
base_image: {image: "lmsysorg/sglang:v0.5.3-cu126"}
docker_server:
  start_command: python3 -m sglang.launch_server --model-path zai-org/GLM-4.5-FP8 --tp-size 4 --port 8000
  readiness_endpoint: /health
  liveness_endpoint: /health
  predict_endpoint: /v1/chat/completions
  server_port: 8000
resources: {accelerator: "H100:8", use_gpu: true}
"""
    found = samples.report(spec, "config.yaml").open
    assert {one.rule: one.suggestions[0].title for one in found if one.rule != "static-memory-too-small"} == {
        "gpus-left-idle": "tensor parallel 8 on the same 8 GPUs",
        "weights-exceed-memory": "tensor parallel 8 on the same 8 GPUs",
    }


def test_an_l4_would_do_where_an_h100_is_used_for_a_load_that_is_stated() -> None:
    spec = server("--model=meta-llama/Llama-3.1-8B-Instruct, --max-model-len=4096", said=f"{LOAD}, gpulint/tpot: 200ms")
    said, better = first(spec)
    assert (said, better.title) == ("card-larger-than-load", "1 × L4 24GB")
    after = samples.report(samples.changed(spec, better))
    assert after.open == ()
    assert {aim.verdict for role in samples.roles(after) for aim in role.objectives} == {"met"}


# ---- cards


@pytest.mark.parametrize(
    ("spec", "said", "better"),
    [
        (server("--model=google/gemma-2b-it"), "card-larger-than-network", "1 × L4 24GB"),
        (server("--model=Qwen/Qwen2.5-0.5B-Instruct"), "card-larger-than-network", "1 × L4 24GB"),
        (server("--model=BAAI/bge-m3, --task=embed"), "encoder-on-large-card", "1 × L4 24GB"),
        (server("--model=BAAI/bge-reranker-v2-m3, --task=score", A100), "encoder-on-large-card", "1 × L4 24GB"),
        (server(ONE_CARD, said=f"{LOAD}, gpulint/tpot: 100ms"), "card-larger-than-load", "1 × L4 24GB"),
        (
            server(
                ONE_CARD,
                said='gpulint/output-tokens-per-s: "200", gpulint/prompt-tokens: "500", gpulint/output-tokens: "200"',
            ),
            "card-larger-than-load",
            "1 × L4 24GB",
        ),
        (server(EIGHT, said=f"{LOAD}, gpulint/tpot: 50ms"), "card-larger-than-load", "1 × A100 SXM4 40GB"),
    ],
)
def test_a_card_is_too_large(spec: str, said: str, better: str) -> None:
    name, suggested = first(spec)
    assert (name, suggested.title) == (said, better)
    assert waste(samples.changed(spec, suggested)) == []


SILENT = {
    "every resource but memory costs as little on the card": server("--model=Qwen/Qwen2.5-0.5B-Instruct", A100),
    "the small card itself": server(ONE_CARD, L4),
    "a network that would take more than 30 ms a token on the small card": server(EIGHT),
    "bandwidth is cheaper on the large card of this cloud": server(ONE_CARD, AWS_H100, gpus=1),
    "a time per token is stated that only the large card reaches": server(EIGHT, said=f"{LOAD}, gpulint/tpot: 12ms"),
    "a time to the first token is stated that only the large card reaches": server(
        EIGHT,
        said='gpulint/ttft: 60ms, gpulint/concurrency: "4", gpulint/prompt-tokens: "2000", gpulint/output-tokens: "200"',
    ),
    "a time per token is stated, and no load": server(
        ONE_CARD, said='gpulint/tpot: 50ms, gpulint/prompt-tokens: "500", gpulint/output-tokens: "200"'
    ),
    "a load is stated, and no time": server(EIGHT, said=LOAD),
    "the load fills the large card": server(
        EIGHT,
        said='gpulint/concurrency: "400", gpulint/tpot: 200ms, gpulint/prompt-tokens: "500", gpulint/output-tokens: "200"',
    ),
    "the load is expected to grow": server(EIGHT, said=f'{LOAD}, gpulint/tpot: 200ms, gpulint/growth: "100"'),
    "a draft speeds single answers up": server(
        f'{ONE_CARD}, "--speculative-config={{\\"method\\": \\"ngram\\", \\"num_speculative_tokens\\": 4}}"'
    ),
    "adapters of many customers share the card": server(f"{ONE_CARD}, --enable-lora, --max-loras=4"),
    "the card is shared out already": server(
        ONE_CARD, f"{H100}, cloud.google.com/gke-gpu-sharing-strategy: time-sharing"
    ),
    "an encoder whose requests are counted": server(
        "--model=BAAI/bge-m3, --task=embed", said='gpulint/requests-per-s: "2000"'
    ),
    "an encoder on a small card": server("--model=BAAI/bge-m3, --task=embed", L4),
    "an encoder of seven billion parameters": server("--model=intfloat/e5-mistral-7b-instruct, --task=embed", A100),
    "a network that is not known": server("--model=/models/ours"),
    "a card that is not known": server(ONE_CARD, "gpu: large"),
    "a card without a listed price": server(ONE_CARD, f"{GKE}: nvidia-b200"),
    "four ranks for latency": server(f"{EIGHT}, --tensor-parallel-size=4", gpus=4, said="gpulint/tpot: 8ms"),
    "two ranks of a network that one card holds": server(f"{EIGHT}, --tensor-parallel-size=2", gpus=2),
}


@pytest.mark.parametrize("spec", SILENT.values(), ids=SILENT.keys())
def test_no_card_is_called_too_large(spec: str) -> None:
    assert [(one.rule, one.message) for one in waste(spec)] == []


def test_a_team_that_may_not_use_the_smaller_cards_hears_nothing() -> None:
    spec = server("--model=BAAI/bge-m3, --task=embed")
    only = Available(accelerators=("h100-sxm-80gb",))
    assert [one.rule for one in samples.report(spec, available=only).open] == []


# ---- ranks

USUAL = 'gpulint/prompt-tokens: "2000", gpulint/output-tokens: "100"'
WANTED = f'gpulint/concurrency: "8", {USUAL}'
FOUR = f"{EIGHT}, --tensor-parallel-size=4"


def test_ranks_that_the_stated_time_does_not_need_become_one() -> None:
    said, better = first(server(FOUR, gpus=4, said=f"{WANTED}, gpulint/tpot: 20ms"))
    assert (said, better.title) == ("ranks-beyond-load", "1 GPU with tensor parallel 1")


@pytest.mark.parametrize(
    ("arguments", "gpus", "said"),
    [
        (FOUR, 4, f"{WANTED}, gpulint/tpot: 4ms"),
        (FOUR, 4, "gpulint/tpot: 20ms"),
        (FOUR, 4, f'gpulint/concurrency: "1500", {USUAL}, gpulint/tpot: 20ms'),
        (f"{FOUR}, --data-parallel-size=2", 8, f"{WANTED}, gpulint/tpot: 8ms"),
        ("--model=meta-llama/Llama-3.1-70B-Instruct, --max-model-len=8192, --tensor-parallel-size=4", 4, WANTED),
        (
            "--model=meta-llama/Llama-3.1-70B-Instruct, --max-model-len=8192, --tensor-parallel-size=4",
            4,
            f"{WANTED}, gpulint/tpot: 20ms",
        ),
    ],
    ids=[
        "a time that needs them",
        "no load",
        "a load that fills them",
        "copies",
        "no time",
        "a network that needs them",
    ],
)
def test_no_rank_is_called_idle(arguments: str, gpus: int, said: str) -> None:
    assert [one.rule for one in waste(server(arguments, gpus=gpus, said=said)) if one.rule == "ranks-beyond-load"] == []


# ---- context

LONG = "--model=meta-llama/Llama-3.1-8B-Instruct, --max-model-len=131072"
SHORT = 'gpulint/prompt-tokens: "1200", gpulint/output-tokens: "200"'
SIX = f'gpulint/concurrency: "6", {SHORT}'


def test_a_context_that_only_buys_the_card_is_cut_with_it() -> None:
    said, better = first(server(LONG, A100, said=f"{SIX}, gpulint/tpot: 200ms"))
    assert (said, better.title) == ("context-decides-card", "1 × L4 24GB with sequences of at most 8,192 tokens")
    assert better.trade_off.startswith("shorter sequences")


@pytest.mark.parametrize(
    ("arguments", "selector", "said"),
    [
        (LONG, A100, SIX),
        (LONG, A100, f"{SHORT}, gpulint/tpot: 200ms"),
        (LONG, A100, f"{SIX}, gpulint/tpot: 30ms"),
        (LONG.partition(",")[0], A100, f"{SIX}, gpulint/tpot: 200ms"),
        (LONG.replace("131072", "8192"), L4, f"{SIX}, gpulint/tpot: 200ms"),
        (LONG, A100, f"{SIX}, gpulint/tpot: 200ms, gpulint/growth: '40'"),
    ],
    ids=[
        "no time",
        "no load",
        "a time that needs the card",
        "a context not stated",
        "the small card",
        "a load that grows",
    ],
)
def test_no_context_is_called_unused(arguments: str, selector: str, said: str) -> None:
    assert [
        one.rule for one in waste(server(arguments, selector, said=said)) if one.rule == "context-decides-card"
    ] == []


# ---- programs without a use for a GPU

HELD = """\
apiVersion: v1
kind: Pod
metadata: {{name: one}}
spec:
  restartPolicy: Never
  containers:
    - name: one
      image: {image}
{command}
      resources: {{limits: {{nvidia.com/gpu: 1}}}}
"""


@pytest.mark.parametrize(
    ("image", "command"),
    [
        ("python:3.11-slim", "[sh, -c, 'pip install hf_transfer && hf download Qwen/Qwen3-8B']"),
        ("google/cloud-sdk:slim", "[gsutil, -m, cp, -r, 'gs://models/ours', /models]"),
        ("curlimages/curl:8.10.1", ""),
        ("docker.io/bitnami/redis:7.4", ""),
        ("ghcr.io/berriai/litellm:main-v1.65.0", ""),
        ("ghcr.io/open-webui/open-webui@sha256:00ff", ""),
    ],
)
def test_a_card_is_held_by_what_cannot_use_it(image: str, command: str) -> None:
    spec = HELD.format(image=image, command=f"      command: {command}" if command else "")
    assert [one.rule for one in waste(spec)] == ["gpu-held-by-cpu-program"]


@pytest.mark.parametrize(
    ("image", "command"),
    [
        ("python:3.11-slim", "[sh, -c, 'pip install torch && python train.py']"),
        ("ubuntu:22.04", "[nvidia-smi]"),
        ("ubuntu:22.04", "[sh, -c, 'curl -o run.sh https://example.com/run.sh; sh run.sh']"),
        ("registry.k8s.io/pause:3.10", ""),
        ("nginx:1.27", ""),
        ("registry.example/curl-trainer:v1", ""),
        ("ghcr.io/open-webui/open-webui:v0.6.5-cuda", ""),
        ("registry.example/redis-vector-gpu:v1", ""),
        ("pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime", ""),
    ],
)
def test_what_may_compute_keeps_its_card(image: str, command: str) -> None:
    spec = HELD.format(image=image, command=f"      command: {command}" if command else "")
    assert waste(spec) == []


# ---- replicas

COUNTED = """\
apiVersion: gpulint/v1
kind: InferenceService
metadata: {{name: chat}}
spec:
  roles:
    - {{name: server, engine: vllm, engine_version: "0.11.0", checkpoint: Qwen/Qwen2.5-7B-Instruct, accelerator: l4,
       gpus_per_pod: 1, tensor_parallel: 1, max_model_len: 8192, replicas: {replicas},
       request_prompt_tokens: 512, request_output_tokens: 256{load}}}
"""


def test_replicas_that_the_stated_load_leaves_idle_are_fewer() -> None:
    said, better = first(COUNTED.format(replicas=8, load=", target_concurrency: 16"))
    assert (said, better.title, better.trade_off) == (
        "replicas-beyond-load",
        "2 replicas",
        "no spare capacity beyond the declared load",
    )


@pytest.mark.parametrize(
    ("replicas", "load"),
    [
        (8, ""),
        (8, ", target_concurrency: 450"),
        (8, ", target_concurrency: 16, target_growth: 30"),
        (8, ", target_concurrency: 16, replicas_most: 16"),
        (3, ", target_concurrency: 16"),
    ],
    ids=["no load stated", "a load that needs them", "a load that grows", "an autoscaler", "three for availability"],
)
def test_no_replica_is_called_idle(replicas: int, load: str) -> None:
    assert waste(COUNTED.format(replicas=replicas, load=load)) == []


# ---- rules that speak only with an alternative


def made(name: str, when: str, change: tuple[str, ...], only_with: str = "", absorbs: tuple[str, ...] = ()) -> Rule:
    parts = (name, "house", "s", Severity.WARNING, "w.", Target("workload"), when, "m")
    return Rule(*parts, at=("engine",), change=change, absorbs=absorbs, only_with=only_with)


SMALL = server("--model=google/gemma-2b-it, --gpu-memory-utilization=0.7")
LOW = ("gpu_memory_utilization",)
NEVER = made("beyond-help", "gpus_per_pod == 1", LOW, only_with="alternative", absorbs=("effect",))
EFFECT = made("effect", "gpu_memory_utilization < 0.85", LOW)


def test_a_rule_without_an_accepted_alternative_is_silent_and_absorbs_nothing() -> None:
    found = samples.report(SMALL, rules=[NEVER, EFFECT]).open
    assert [one.rule for one in found] == ["effect"]


def test_the_same_rule_speaks_with_one_and_absorbs() -> None:
    curable = replace(NEVER, when="gpu_memory_utilization < 0.8")
    found = samples.report(SMALL, rules=[curable, EFFECT]).open
    assert [one.rule for one in found] == ["beyond-help"]
    assert found[0].suggestions


def test_whether_it_speaks_does_not_depend_on_printing_alternatives() -> None:
    counts = [len(samples.report(SMALL, rules=[NEVER, EFFECT], alternatives=shown).open) for shown in (True, False)]
    assert counts == [1, 1]


def test_a_silent_rule_does_not_forbid_the_alternatives_of_others() -> None:
    (one,) = samples.report(SMALL, rules=[NEVER, EFFECT]).open
    assert [better.title for better in one.suggestions] == ["90% of GPU memory instead of 70%"]


def test_a_team_rule_that_speaks_only_with_an_alternative_names_what_may_change(tmp_path: Path) -> None:
    (tmp_path / "house").mkdir()
    (tmp_path / "house" / "own-rule.yaml").write_text(
        "summary: s\nseverity: note\nfor: {scope: workload}\nwhy: w.\nwhen: gpus_per_pod > 4\nmessage: m\n"
        "only_with: alternative\nexamples: {bad: [a], good: [b]}\n"
    )
    with pytest.raises(RuleError, match=r"own-rule\.yaml:7:1: only_with needs a fact that a suggestion may change"):
        list(diagnostics.load_folder(tmp_path))
