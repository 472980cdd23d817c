"""Specs that look like a mistake of parallelism and start all the same; their programs check nothing, or something else."""

from __future__ import annotations

import pytest
import samples

VERL = """\
data: {{train_batch_size: {prompts}, max_prompt_length: 512, max_response_length: 512}}
actor_rollout_ref:
  model: {{path: Qwen/Qwen2.5-7B-Instruct, enable_gradient_checkpointing: true}}
  actor: {{strategy: fsdp, ppo_mini_batch_size: 64, ppo_micro_batch_size_per_gpu: 2, use_dynamic_bsz: {dynamic}}}
  rollout: {{name: {engine}, tensor_model_parallel_size: {ranks}, n: 2}}
algorithm: {{adv_estimator: grpo}}
trainer: {{n_gpus_per_node: 8, nnodes: 1, total_epochs: 1}}
"""
SERVER = """\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: chat}}
spec:
  template:
    spec:
      nodeSelector: {{cloud.google.com/gke-accelerator: nvidia-h200-141gb}}
      containers:
        - name: server
          image: vllm/vllm-openai:v0.33.0
          args: [--model=deepseek-ai/DeepSeek-V3, --max-model-len=16384, {sizes}]
          resources: {{limits: {{nvidia.com/gpu: 8}}}}
          volumeMounts: [{{name: shm, mountPath: /dev/shm}}]
      volumes: [{{name: shm, emptyDir: {{medium: Memory}}}}]
"""


def verl(prompts: int = 16, dynamic: str = "false", engine: str = "vllm", ranks: int = 2) -> str:
    return VERL.format(prompts=prompts, dynamic=dynamic, engine=engine, ranks=ranks)


def rules(text: str) -> set[str]:
    return {finding.rule for finding in samples.report(text).open}


def test_batches_by_tokens_are_not_checked_at_start_up() -> None:
    """Verl: utils/config.py, validate_config: the batch is checked unless actor.use_dynamic_bsz."""
    assert "answers-not-divisible" in rules(verl(prompts=10))
    assert "answers-not-divisible" not in rules(verl(prompts=10, dynamic="true"))


@pytest.mark.parametrize("rule", ["rollout-ranks-not-divisible", "rollout-heads-not-divisible"])
def test_a_rollout_by_the_trainer_itself_has_no_engines(rule: str) -> None:
    """Verl: trainer/config/rollout/rollout.yaml: tensor_model_parallel_size is not effective for hf."""
    assert rule in rules(verl(ranks=3))
    assert rule not in rules(verl(ranks=3, engine="hf"))


def test_ranks_that_share_out_prompts_count_for_decoding() -> None:
    """vLLM: config/parallel.py asks for tp divisible by dcp only without prefill context parallelism."""
    assert "decode-context-not-divisible" in rules(
        SERVER.format(sizes="--tensor-parallel-size=8, --decode-context-parallel-size=3")
    )
    shared = "--tensor-parallel-size=1, --prefill-context-parallel-size=8, --decode-context-parallel-size=8"
    assert not rules(SERVER.format(sizes=shared)) & {
        "decode-context-not-divisible",
        "decode-context-beyond-copies",
        "gpus-left-idle",
    }


def test_an_exchange_between_experts_spreads_them_over_all_ranks() -> None:
    """SGLang: server_args.py, _handle_a2a_moe: the expert parallel size is adjusted to be the tensor parallel size."""
    text = SERVER.format(sizes="--tp-size=8, --ep-size=3").replace("vllm/vllm-openai:v0.33.0", "lmsysorg/sglang:v0.5.5")
    text = text.replace("--model=", "--model-path=").replace("--max-model-len=16384", "--context-length=16384")
    text = text.replace("args:", "command: [python3, -m, sglang.launch_server]\n          args:")
    wrong = {"expert-ranks-not-divisible", "served-experts-not-divisible"}
    assert rules(text) >= wrong
    assert not rules(text.replace("--ep-size=3", "--ep-size=3, --moe-a2a-backend=deepep")) & wrong


SCALED = """\
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {{name: chat}}
spec: {{scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: chat}}, minReplicas: 1, maxReplicas: {most}}}
"""


def test_an_autoscaler_carries_what_the_first_instance_cannot() -> None:
    """Kubernetes, HorizontalPodAutoscaler: spec.replicas is what a Deployment starts with."""
    wanted = "# gpulint: output-tokens-per-s=2M prompt-tokens=500 output-tokens=300\n"
    text = wanted + SERVER.format(sizes="--tensor-parallel-size=8").replace("spec:\n", "spec:\n  replicas: 1\n", 1)
    assert "throughput-beyond-physics" in rules(text)
    assert "throughput-beyond-physics" in rules(text + SCALED.format(most=2))
    assert "throughput-beyond-physics" not in rules(text + SCALED.format(most=40))


def test_a_connector_may_hold_the_prompts_that_the_engine_forgets() -> None:
    """vLLM: a KV connector is asked for tokens of a prompt whether or not the engine's own cache of prefixes is on."""
    wanted = "# gpulint: ttft=5ms prompt-tokens=8000 output-tokens=300\n"
    text = wanted + SERVER.format(sizes="--tensor-parallel-size=8, --no-enable-prefix-caching")
    assert "ttft-below-physics" in rules(text)
    held = '--no-enable-prefix-caching, \'--kv-transfer-config={"kv_connector": "LMCacheConnectorV1"}\''
    assert "ttft-below-physics" not in rules(text.replace("--no-enable-prefix-caching", held))
