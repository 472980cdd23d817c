"""Mistakes that public repositories hold, and look-alikes that are right, as small specs of our own.

The rule and the line (marked) of each mistake were written down before the rules were.
"""

from __future__ import annotations

import textwrap

import pytest
from samples import MARK, not_evaluated, of_rule, report, roles, severities

from gpulint.report.model import Report, Severity

SHM = "volumeMounts: [{name: shm, mountPath: /dev/shm}]"


def deployment(lines: str, selector: str = "") -> str:
    """A Deployment whose one container has these lines."""
    head = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: chat}\nspec:\n  template:\n    spec:\n"
    placed = f"      nodeSelector: {{{selector}}}\n" if selector else ""
    volumes = "      volumes: [{name: shm, emptyDir: {medium: Memory}}]\n"
    container = textwrap.indent(textwrap.dedent(lines).strip("\n"), " " * 10)
    return f"{head}{placed}{volumes}      containers:\n        - name: server\n{container}\n"


def loud(said: Report) -> dict[str, Severity]:
    """The rules that say more than a note."""
    return {name: severity for name, severity in severities(said).items() if severity > Severity.NOTE}


H100 = "cloud.google.com/gke-accelerator: nvidia-h100-80gb"
L4 = "cloud.google.com/gke-accelerator: nvidia-l4"

NIM_IDLE = deployment(
    f"""
    image: nvcr.io/nim/meta/llama-3.1-70b-instruct:1.8
    env:
      - name: NIM_TENSOR_PARALLEL_SIZE
        value: "2"  {MARK}
    resources: {{limits: {{nvidia.com/gpu: 8}}}}
    {SHM}
    """,
    H100,
)
BUFFER_REQUESTED = deployment(
    f"""
    image: lmcache/vllm-openai:2025-05-27-v1
    command: [vllm, serve, meta-llama/Llama-3.2-1B-Instruct]
    args: [--max-model-len=16384, '--kv-transfer-config={{"kv_connector":"LMCacheConnectorV1","kv_role":"kv_both"}}']
    env:
      - name: LMCACHE_LOCAL_CPU
        value: "True"
      - name: LMCACHE_MAX_LOCAL_CPU_SIZE
        value: "60"  {MARK}
    resources: {{requests: {{memory: 30Gi, nvidia.com/gpu: 1}}, limits: {{nvidia.com/gpu: 1}}}}
    """,
    L4,
)
BUFFER_LIMITED = deployment(
    f"""
    image: lmcache/vllm-openai:2025-05-27-v1
    command: [vllm, serve, meta-llama/Llama-3.1-8B-Instruct]
    args: [--max-model-len=8192, '--kv-transfer-config={{"kv_connector":"LMCacheConnectorV1","kv_role":"kv_both"}}']
    env:
      - name: LMCACHE_MAX_LOCAL_CPU_SIZE
        value: "20"  {MARK}
    resources: {{limits: {{memory: 16Gi, nvidia.com/gpu: 1}}}}
    """,
    H100,
)
KUBEAI_OLLAMA = f"""
apiVersion: kubeai.org/v1
kind: Model
metadata: {{name: llama-70b-one-l4}}
spec:
  features: [TextGeneration]
  url: ollama://llama3.3:70b  {MARK}
  engine: OLlama
  resourceProfile: nvidia-gpu-l4:1
"""
KUBEAI_ABBREVIATED = f"""
apiVersion: kubeai.org/v1
kind: Model
metadata: {{name: r1}}
spec:
  features: [TextGeneration]
  url: hf://deepseek-ai/DeepSeek-R1
  engine: VLLM
  args:
    - --max-model-len=32768
    - --max-num-batched-token=32768  {MARK}
    - --tensor-parallel-size=8
  resourceProfile: amd-gpu-mi300x:8
"""
KUBEAI_REMOVED = f"""
apiVersion: kubeai.org/v1
kind: Model
metadata: {{name: r1}}
spec:
  features: [TextGeneration]
  url: hf://deepseek-ai/DeepSeek-R1
  engine: VLLM
  args:
    - --max-model-len=32768
    - --num-scheduler-steps=10  {MARK}
    - --tensor-parallel-size=8
  resourceProfile: amd-gpu-mi300x:8
"""
SMALL_VOLUME = f"""
apiVersion: apps.nvidia.com/v1alpha1
kind: NIMCache
metadata: {{name: r1-cache}}
spec:
  source:
    ngc:
      modelPuller: nvcr.io/nim/deepseek-ai/deepseek-r1:1.7.3
      authSecret: key
  storage:
    pvc:
      create: true
      size: 100Gi  {MARK}
"""
TRUSS_IDLE = f"""
model_name: GLM 4.5 FP8
base_image:
  image: lmsysorg/sglang:v0.4.9.post6-cu126
docker_server:
  start_command: sh -c "python3 -m sglang.launch_server --model-path zai-org/GLM-4.5-FP8 --tp-size 4"  {MARK}
  server_port: 8000
resources:
  accelerator: H100:8
  use_gpu: true
"""
TRUSS_LONG = f"""
model_name: Math
resources:
  accelerator: H100_40GB
  use_gpu: true
trt_llm:
  build:
    base_model: decoder
    checkpoint_repository:
      repo: Qwen/Qwen2.5-Math-7B-Instruct
      source: HF
    max_seq_len: 32768  {MARK}
    quantization_type: no_quant
    tensor_parallel_count: 1
"""
TRUSS_MISNAMED = f"""
model_name: Llama 3 70B Instruct
model_metadata:
  repo_id: meta-llama/Meta-Llama-3-8B-Instruct  {MARK}
resources:
  accelerator: H100:2
  use_gpu: true
"""
TGI_LITTLE_MEMORY = deployment(
    f"""
    image: ghcr.io/huggingface/text-generation-inference:2.3.1
    args: [--model-id=google/gemma-7b, --num-shard=1, --max-total-tokens=3072, --max-input-length=512]
    resources:
      limits:
        memory: 7Gi  {MARK}
        nvidia.com/gpu: 1
    """,
    L4,
)


@pytest.mark.parametrize(
    ("spec", "rule"),
    [
        pytest.param(NIM_IDLE, "gpus-left-idle", id="D02"),
        pytest.param(BUFFER_REQUESTED, "host-memory-request-too-small", id="D09"),
        pytest.param(BUFFER_LIMITED, "host-memory-too-small", id="D10"),
        pytest.param(KUBEAI_OLLAMA, "layers-fall-back-to-cpu", id="D17"),
        pytest.param(KUBEAI_ABBREVIATED, "argument-abbreviated", id="D18 abbreviated"),
        pytest.param(KUBEAI_REMOVED, "argument-outdated", id="D18 removed"),
        pytest.param(SMALL_VOLUME, "volume-smaller-than-weights", id="D20"),
        pytest.param(TRUSS_IDLE, "gpus-left-idle", id="D27 idle"),
        pytest.param(TRUSS_IDLE, "weights-exceed-memory", id="D27 weights"),
        pytest.param(TRUSS_LONG, "context-beyond-training", id="D28"),
        pytest.param(TRUSS_MISNAMED, "name-differs-from-checkpoint", id="D29"),
        pytest.param(TGI_LITTLE_MEMORY, "host-memory-below-weights", id="D46"),
    ],
)
def test_a_known_mistake_is_found_at_its_line(spec: str, rule: str) -> None:
    found = of_rule(report(spec, path="config.yaml"), rule)
    marked = next(number for number, line in enumerate(spec.splitlines(), 1) if line.endswith(MARK))
    assert [finding.location.line for finding in found] == [marked]


def test_without_a_product_it_says_what_it_takes_and_names_what_is_missing() -> None:
    """D39: DeepSeek-R1 on eight GPUs of no stated product."""
    spec = deployment(
        f"""
        image: ghcr.io/example/vllm-tensorizer:8552fbc-v0.10.0
        command: [vllm, serve, deepseek-ai/DeepSeek-R1]
        args: [--tensor-parallel-size=8]
        resources: {{limits: {{nvidia.com/gpu: 8, memory: 1920Gi}}}}
        {SHM}
        """
    )
    said = report(spec)
    (role,) = roles(said)
    assert role.verdict.startswith("needs 8 × H200 SXM 141GB: ")
    assert sorted({need for one in role.not_evaluated for need in one.needs}) == ["accelerator"]
    assert "weights-exceed-memory" in not_evaluated(said)
    assert loud(said) == {}
    assert "H200" in " ".join(role.fits_on)
    assert "h100" not in " ".join(role.fits_on).lower()


KUBEAI_EIGHT = """
apiVersion: kubeai.org/v1
kind: Model
metadata: {name: llama-70b-fp8-l4}
spec:
  features: [TextGeneration]
  url: hf://neuralmagic/Meta-Llama-3.1-70B-Instruct-FP8
  engine: VLLM
  args:
    - --max-model-len=32768
    - --gpu-memory-utilization=0.9
    - --pipeline-parallel-size=4
    - --tensor-parallel-size=2
    - --kv-cache-dtype=fp8
    - --enforce-eager
  env: {VLLM_ATTENTION_BACKEND: FLASHINFER}
  resourceProfile: nvidia-gpu-l4:8
"""
TRUSS_SIXTEEN_BITS = """
model_name: trtllm-llama3.1_70b-instruct-large_context
resources: {accelerator: "H100:2", cpu: "1", memory: 24Gi, use_gpu: true}
trt_llm:
  build:
    base_model: decoder
    checkpoint_repository: {repo: meta-llama/Meta-Llama-3-70B-Instruct, source: HF}
    max_batch_size: 8
    max_seq_len: 8192
    num_builder_gpus: 4
    quantization_type: no_quant
    tensor_parallel_count: 2
"""
HYBRID = deployment(
    f"""
    # docker inspect --format '{{{{.RestartCount}}}}' tells how often it was restarted
    image: vllm/vllm-openai:v0.27.1
    command:
      - sh
      - -c
      - |
        echo $$PPID
        exec vllm serve Qwen/Qwen3.5-27B-GPTQ-Int4 --max-model-len 262144 --max-num-seqs 1 --kv-cache-dtype fp8 \\
          --tensor-parallel-size 2 --limit-mm-per-prompt.image 0 --limit-mm-per-prompt.video 0
    resources: {{limits: {{nvidia.com/gpu: 2}}}}
    {SHM}
    """,
    "nvidia.com/gpu.product: NVIDIA-GeForce-RTX-3090",
)


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param(KUBEAI_EIGHT, id="N11: tensor parallel 2 by pipeline parallel 4 is the profile's 8"),
        pytest.param(TRUSS_SIXTEEN_BITS, id="N13: 131 GiB of 159 GiB, whatever the labels' GB say"),
        pytest.param(HYBRID, id="N16: a hybrid keeps few layers in the cache; a template in a comment; $$"),
    ],
)
def test_a_look_alike_stays_silent(spec: str) -> None:
    said = report(spec, path="config.yaml")
    assert loud(said) == {}
    assert any(role.engine for role in roles(said)), "it must have been understood"
