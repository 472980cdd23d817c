"""vLLM: how a server is recognised, what its arguments state, and the exact place of each."""

from __future__ import annotations

import pytest
import reading
from samples import not_evaluated, report

GPU = "resources: {limits: {nvidia.com/gpu: 1}}"


# ---- which containers are servers


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param("image: vllm/vllm-openai:v0.10.1\nargs: [--model=Qwen/Qwen3-8B]", id="the image's entry point"),
        pytest.param(
            "image: registry.example.com:5000/mirror/vllm-openai@sha256:00\nargs: [--model=Qwen/Qwen3-8B]",
            id="by digest",
        ),
        pytest.param("image: example.com/app:1\ncommand: [vllm, serve, Qwen/Qwen3-8B]", id="vllm serve"),
        pytest.param(
            "image: example.com/app:1\ncommand: [/opt/venv/bin/vllm, serve]\nargs: [Qwen/Qwen3-8B]",
            id="a path, and the model in args",
        ),
        pytest.param(
            "image: example.com/app:1\ncommand: [python3, -m, vllm.entrypoints.openai.api_server]\n"
            "args: [--model, Qwen/Qwen3-8B]",
            id="the module",
        ),
        pytest.param(
            "image: example.com/app:1\ncommand: [python3, -m, vllm.entrypoints.api_server, --model=Qwen/Qwen3-8B]",
            id="the older module",
        ),
        pytest.param("image: example.com/app:1\ncommand: [exec, vllm, serve, Qwen/Qwen3-8B]", id="exec in a list"),
        pytest.param("image: example.com/app:1\ncommand: [sh, -c, 'vllm serve Qwen/Qwen3-8B']", id="sh -c"),
        pytest.param(
            "image: example.com/app:1\ncommand: [/bin/bash, -lc]\nargs: ['exec vllm serve Qwen/Qwen3-8B']",
            id="bash -lc, exec",
        ),
        pytest.param("image: example.com/app:1\ncommand: [sh, -c, 'nohup vllm serve Qwen/Qwen3-8B &']", id="nohup"),
        pytest.param(
            "image: example.com/app:1\ncommand: [sh, -c, 'HF_HOME=/cache vllm serve Qwen/Qwen3-8B']",
            id="a variable in front",
        ),
        pytest.param(
            "image: example.com/app:1\ncommand: [sh, -c, 'python3 -m vllm.entrypoints.openai.api_server --model Qwen/Qwen3-8B']",
            id="the module in a script",
        ),
    ],
)
def test_a_server_is_recognised(lines: str) -> None:
    assert reading.values(reading.started(f"{lines}\n{GPU}"), "engine", "checkpoint") == ["vllm", "Qwen/Qwen3-8B"]


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(
            "image: registry.example.com/train:1\ncommand: [python, train.py, --model=Qwen/Qwen3-8B]",
            id="another program",
        ),
        pytest.param("image: vllm/vllm-openai:v0.10.1\ncommand: [sleep, infinity]", id="the image, another command"),
        pytest.param("image: example.com/vllm-router:1\nargs: [--model=Qwen/Qwen3-8B]", id="a router"),
        pytest.param(
            "image: example.com/app:1\ncommand: [vllm, bench, latency, --model=Qwen/Qwen3-8B]", id="another subcommand"
        ),
        pytest.param("image: example.com/app:1\ncommand: [sh, -c, 'echo vllm serving']", id="only the words"),
        pytest.param("image: example.com/app:1\ncommand: [sh, -c, '# vllm serve Qwen/Qwen3-8B']", id="a comment"),
        pytest.param("image: example.com/myvllmapp:1\nargs: [--model=Qwen/Qwen3-8B]", id="vllm inside another word"),
    ],
)
def test_what_is_no_server_has_no_engine(lines: str) -> None:
    assert reading.values(reading.started(f"{lines}\n{GPU}"), "engine", "checkpoint") == [None, None]


# ---- releases


@pytest.mark.parametrize(
    ("image", "release"),
    [
        ("vllm/vllm-openai:v0.10.1", "0.10.1"),
        ("vllm/vllm-openai:0.11", "0.11"),
        ("vllm/vllm-openai:v0.10.1.post1", "0.10.1.post1"),
        ("vllm/vllm-openai:v0.10.1-cu128", "0.10.1"),
        ("registry.example.com:5000/ml/vllm-openai:v0.9.2", "0.9.2"),
        ("vllm/vllm-openai:v0.10.1@sha256:00ff", "0.10.1"),
        ("vllm/vllm-openai:latest", None),
        ("vllm/vllm-openai:nightly", None),
        ("vllm/vllm-openai", None),
        ("vllm/vllm-openai@sha256:00ff", None),
        ("vllm/vllm-openai:${TAG}", None),
    ],
)
def test_the_tag_of_the_image_tells_the_release_or_it_stays_unknown(image: str, release: str | None) -> None:
    assert reading.values(reading.server("[--model=Qwen/Qwen3-8B]", image), "engine_version") == [release]


def test_the_tag_of_ones_own_image_is_no_release_of_the_engine() -> None:
    found = reading.started(f"image: example.com/chat:v1.2.0\ncommand: [vllm, serve, Qwen/Qwen3-8B]\n{GPU}")
    assert reading.values(found, "engine_version") == [None]


def test_an_image_for_the_cpu_needs_no_gpu() -> None:
    found = reading.started("image: example.com/vllm-cpu:v0.10.1\ncommand: [vllm, serve, Qwen/Qwen3-8B]")
    assert reading.values(found, "device") == ["cpu"]


# ---- how arguments are written


@pytest.mark.parametrize(
    ("arguments", "quantity", "value"),
    [
        ("[--tensor-parallel-size, '4']", "tensor_parallel", 4),
        ("[--tensor-parallel-size=4]", "tensor_parallel", 4),
        ("[--tensor-parallel-size, 4]", "tensor_parallel", 4),
        ("[--tensor_parallel_size=4]", "tensor_parallel", 4),
        ("[-tp, '4']", "tensor_parallel", 4),
        ("[-tp=4]", "tensor_parallel", 4),
        ("[--tensor-parallel-size=2, --tensor-parallel-size=4]", "tensor_parallel", 4),
        ("[--tensor-parallel-s=4]", "tensor_parallel", 4),
        ("[--tensor=4]", "tensor_parallel", 4),
        ("[-pp, '2']", "pipeline_parallel", 2),
        ("[--max-model-len=64k]", "max_model_len", 64_000),
        ("[--max-model-len=64K]", "max_model_len", 65_536),
        ("[--max-model-len, 8192]", "max_model_len", 8192),
        ("[--gpu-memory-utilization=0.90]", "gpu_memory_utilization", 0.9),
        ("[--gpu-memory-utilization, .95]", "gpu_memory_utilization", 0.95),
        ("[--kv-cache-dtype=fp8]", "kv_cache_dtype", "fp8"),
        ("[--dtype, half]", "weight_dtype", "half"),
        ("[-q, awq]", "quantization", "awq"),
        ("[--enforce-eager]", "enforce_eager", True),
        ("[--no-enforce-eager]", "enforce_eager", False),
        ("[--cpu-offload-gb=4]", "cpu_offload_bytes", 4_294_967_296),
        ("[--max-num-seqs=64]", "max_num_seqs", 64),
        ("[--max-num-batched-tokens=8192]", "max_num_batched_tokens", 8192),
        ("[Qwen/Qwen3-8B]", "checkpoint", "Qwen/Qwen3-8B"),
        ("[--model, Qwen/Qwen3-8B, --served-model-name, chat, talk, --port, 8000]", "checkpoint", "Qwen/Qwen3-8B"),
        ("[--tensor-parallel-size=four]", "tensor_parallel", "unknown: four is not a number"),
        ("[--gpu-memory-utilization=nan]", "gpu_memory_utilization", "unknown: nan is not a number"),
        ("[--max-model-len=auto]", "max_model_len", "unknown: the engine chooses the longest that fits"),
        ("[--max-model-len=-1]", "max_model_len", "unknown: the engine chooses the longest that fits"),
    ],
)
def test_an_argument_is_read_as_argparse_reads_it(arguments: str, quantity: str, value: object) -> None:
    assert reading.values(reading.server(arguments), quantity) == [value]


@pytest.mark.parametrize(
    ("arguments", "quantity"),
    [
        ("[--max=8192]", "max_model_len"),
        ("[--no-such-argument=4]", "tensor_parallel"),
        ("[--served-model-name=--tensor-parallel-size=4]", "tensor_parallel"),
        ("[-t, '4']", "tensor_parallel"),
    ],
)
def test_what_argparse_would_not_take_for_an_argument_states_nothing(arguments: str, quantity: str) -> None:
    assert reading.values(reading.server(arguments), quantity) == [None]


def test_a_length_that_is_not_stated_is_known_to_be_unstated() -> None:
    assert reading.values(reading.server("[--model=Qwen/Qwen3-8B]"), "max_model_len", "max_model_len_stated") == [
        None,
        False,
    ]
    assert reading.values(reading.server("[--max-model-len=4096]"), "max_model_len_stated") == [True]


@pytest.mark.parametrize(
    ("lines", "extended"),
    [
        ("args: [--model=Qwen/Qwen3-8B, '--rope-scaling={\"factor\": 4}']", True),
        ("args: [--model=Qwen/Qwen3-8B, '--hf-overrides={\"max_position_embeddings\": 131072}']", True),
        ("args: [--model=Qwen/Qwen3-8B]\nenv: [{name: VLLM_ALLOW_LONG_MAX_MODEL_LEN, value: '1'}]", True),
        ("args: [--model=Qwen/Qwen3-8B]\nenv: [{name: VLLM_ALLOW_LONG_MAX_MODEL_LEN, value: '0'}]", None),
        ("args: [--model=Qwen/Qwen3-8B]", None),
    ],
)
def test_a_longer_context_on_purpose_is_heard(lines: str, extended: bool | None) -> None:
    found = reading.started(f"image: vllm/vllm-openai:v0.10.1\n{lines}\n{GPU}")
    assert reading.values(found, "context_extended") == [extended]


# ---- scripts

SCRIPT = f"""
image: example.com/app:1
command: [bash, -c]
args:
  - |
    set -euo pipefail
    MODEL=Qwen/Qwen3-8B
    exec vllm serve "$MODEL" \\
      --tensor-parallel-size 2 \\
      --max-model-len=$LENGTH \\
      --gpu-memory-utilization "0.85" \\
      --port 8000
env: [{{name: LENGTH, value: "16384"}}]
{GPU}
"""


def test_a_script_is_read_over_its_continuations_with_its_variables() -> None:
    found = reading.started(SCRIPT)
    names = ("checkpoint", "tensor_parallel", "max_model_len", "gpu_memory_utilization")
    assert reading.values(found, *names) == ["Qwen/Qwen3-8B", 2, 16_384, 0.85]


def test_a_comment_between_continuations_ends_the_command_as_in_a_shell() -> None:
    found = reading.started(
        SCRIPT.replace("--tensor-parallel-size 2 \\", "# two cards\n      --tensor-parallel-size 2 \\")
    )
    assert reading.values(found, "checkpoint", "tensor_parallel") == ["Qwen/Qwen3-8B", None]


def test_a_script_of_the_folded_style_is_read_as_one_line() -> None:
    found = reading.started(
        "image: example.com/app:1\ncommand: [sh, -c]\nargs:\n  - >-\n"
        f"    vllm serve Qwen/Qwen3-8B\n    --tensor-parallel-size 2\n    --max-model-len 4096\n{GPU}"
    )
    assert reading.values(found, "tensor_parallel", "max_model_len") == [2, 4096]
    assert reading.place(found, "max_model_len") == "13:27-31"


def test_a_variable_that_nothing_defines_is_unknown_never_empty() -> None:
    found = reading.started(
        f"image: example.com/app:1\ncommand: [sh, -c, 'vllm serve Qwen/Qwen3-8B -tp ${{TP}}']\n{GPU}"
    )
    assert reading.values(found, "checkpoint", "tensor_parallel") == [
        "Qwen/Qwen3-8B",
        "unknown: ${TP} is not known here",
    ]


TWO = "image: example.com/app:1\ncommand: [sh, -c, 'vllm serve Qwen/Qwen3-8B & vllm serve Qwen/Qwen3-4B']\n"


def test_two_servers_in_one_container_stand_on_its_one_card() -> None:
    found = reading.started_all(f"{TWO}{GPU}")
    assert [reading.values(one, "gpus_per_pod", "engines_on_card") for one in found] == [[1, 2], [1, 2]]


def test_two_servers_in_one_container_share_its_gpus_in_a_way_nobody_knows() -> None:
    found = reading.started_all(f"{TWO}resources: {{limits: {{nvidia.com/gpu: 2}}}}")
    assert [reading.values(one, "checkpoint", "gpus_per_pod") for one in found] == [
        ["Qwen/Qwen3-8B", "unknown: several engines share the container"],
        ["Qwen/Qwen3-4B", "unknown: several engines share the container"],
    ]


# ---- arguments that may hold more than could be read

SPEC = """
apiVersion: v1
kind: Pod
metadata: {{name: chat}}
spec:
  nodeSelector: {{cloud.google.com/gke-accelerator: nvidia-l4}}
  containers:
    - name: server
      image: vllm/vllm-openai:v0.10.1
      {command}
      resources: {{limits: {{nvidia.com/gpu: 2}}}}
"""


@pytest.mark.parametrize(
    "command",
    [
        "command: [sh, -c, 'vllm serve meta-llama/Llama-3.1-8B-Instruct $EXTRA_ARGS']",
        "args: [--model=meta-llama/Llama-3.1-8B-Instruct, '${EXTRA_ARGS}']",
        "args: [--model=meta-llama/Llama-3.1-8B-Instruct, '{{ .Values.extraArgs }}']",
        "args: [--model=meta-llama/Llama-3.1-8B-Instruct, --config=/etc/vllm.yaml]",
        "args: [--model=meta-llama/Llama-3.1-8B-Instruct, {toYaml: .Values.extra}]",
    ],
)
def test_nothing_is_judged_on_arguments_that_may_be_stated_elsewhere(command: str) -> None:
    found = report(SPEC.format(command=command))
    assert [one.rule for one in found.open] == []
    assert {"default-context-does-not-fit", "gpus-left-idle"} <= not_evaluated(found)


def test_the_same_arguments_are_judged_when_they_are_all_there_is() -> None:
    found = report(SPEC.format(command="args: [--model=meta-llama/Llama-3.1-8B-Instruct]"))
    assert {one.rule for one in found.open} == {"default-context-does-not-fit", "gpus-left-idle"}


def test_an_image_without_arguments_says_that_they_are_elsewhere() -> None:
    found = reading.started(f"image: vllm/vllm-openai:v0.10.1\n{GPU}")
    assert found.open_ended == "the arguments are in the image or in a script"


def test_stated_arguments_are_judged_although_others_may_follow() -> None:
    found = report(SPEC.format(command="command: [sh, -c, 'vllm serve microsoft/phi-4 -tp 3 $EXTRA_ARGS']"))
    assert "heads-not-divisible" in {one.rule for one in found.open}


# ---- places


def test_the_place_of_an_argument_in_a_list_is_the_list_item() -> None:
    found = reading.server("[--model, Qwen/Qwen3-8B, --tensor-parallel-size=4, -pp, '2']")
    assert reading.place(found, "checkpoint") == "8:23-36"
    assert reading.source(found, "tensor_parallel") == "--tensor-parallel-size=4"
    assert reading.source(found, "pipeline_parallel") == "'2'"


def test_the_place_of_an_argument_in_a_block_scalar_is_the_word() -> None:
    found = reading.started(SCRIPT)
    assert [reading.source(found, name) for name in ("tensor_parallel", "gpu_memory_utilization")] == ["2", '"0.85"']
    assert reading.place(found, "tensor_parallel") == "14:36-37"
    assert reading.source(found, "max_model_len") == '"16384"'
    assert reading.source(found, "max_model_len", 1) == "--max-model-len=$LENGTH"


def test_the_place_of_an_argument_in_a_double_quoted_string_counts_its_escapes() -> None:
    text = f'image: example.com/app:1\ncommand: ["sh", "-c", "echo \\"go\\" && vllm serve Qwen/Qwen3-8B -tp 2"]\n{GPU}'
    found = reading.started(text)
    assert reading.source(found, "tensor_parallel") == "2"
    assert reading.source(found, "checkpoint") == "Qwen/Qwen3-8B"


def test_the_place_of_an_argument_behind_an_alias_is_the_alias() -> None:
    found = reading.role(
        """
        apiVersion: v1
        kind: Pod
        metadata: {name: chat, annotations: {length: &length "4096"}}
        spec:
          containers:
            - name: server
              image: vllm/vllm-openai:v0.10.1
              args: [--model=Qwen/Qwen3-8B, --max-model-len, *length]
              resources: {limits: {nvidia.com/gpu: 1}}
        """
    )
    assert reading.values(found, "max_model_len") == [4096]
    assert reading.source(found, "max_model_len") == "*length"
