"""vLLM: how a server is recognised, what its arguments state, and the exact place of each."""

from __future__ import annotations

import pytest
import reading
from samples import not_evaluated, report

from gpulint.workload import Role

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
        pytest.param(
            "image: example.com/app:1\ncommand: [python3, -m, vllm.entrypoints.openai.api_server, --model=Qwen/Qwen3-8B]\n"
            "args: [--enforce-eager, 'true']",
            id="a bare word that the module does not take for the model",
        ),
    ],
)
def test_a_server_is_recognised(lines: str) -> None:
    assert reading.values(reading.started(f"{lines}\n{GPU}"), "engine", "checkpoint") == ["vllm", "Qwen/Qwen3-8B"]


@pytest.mark.parametrize(
    "start",
    [
        "python3 -m vllm.entrypoints.openai.api_server --model Qwen/Qwen3-8B --enforce-eager true",
        "vllm serve --enforce-eager true --model=Qwen/Qwen3-8B",
    ],
)
def test_the_model_of_an_argument_precedes_a_word_that_no_argument_takes(start: str) -> None:
    found = reading.started(f"image: example.com/app:1\ncommand: [sh, -c, '{start}']\n{GPU}")
    assert reading.values(found, "checkpoint", "enforce_eager") == ["Qwen/Qwen3-8B", True]


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


@pytest.mark.parametrize(
    ("image", "release"),
    [
        ("registry.example/vllm-openai:v0.6.1-edb07092-20250118", "0.6.1"),
        ("registry.example/team/vllm-openai-cache:v0.10.2-20251022", "0.10.2"),
        ("registry.example/vllm-openai:aibrix-kvcache-v0.8.5-20250520", "0.8.5"),
        ("registry.example/vllm-openai:lmcache-v0.8.5-20250418", "0.8.5"),
        ("registry.example/vllm-openai-ubi9:0.4.2", "0.4.2"),
        ("registry.example/vllm-openai:v0.7.3.self.post1", "0.7.3"),
        ("registry.example/vllm-openai:v0.10.2-nixl0.6.0", "0.10.2"),
        ("registry.example/vllm:0.11-gpu-py312-cu129-ubuntu22.04-ec2", "0.11"),
        ("rocm/vllm:rocm6.4.1_vllm_0.10.0_20250812", "0.10.0"),
        ("example.com/ray-2.41.0-py310-cu118-vllm0.7.0:latest", "0.7.0"),
        ("example.com/train:th2.6.0-cu126-vllm0.8.4-flashinfer0.2.2", "0.8.4"),
        ("vllm/vllm-openai:v0.11.0rc3", "0.11.0rc3"),
    ],
)
def test_a_release_that_another_builder_names_is_an_assumption(image: str, release: str) -> None:
    found = reading.started(f"image: {image}\ncommand: [vllm, serve, m/m, --num-scheduler-steps=8, --nothing]\n{GPU}")
    assert reading.values(found, "engine_version", *NOTICED) == [release] + [None] * len(NOTICED)
    assert found.fields["engine_version"].assumption == f"the image is built on vLLM {release}, by its tag"


@pytest.mark.parametrize(
    "image",
    [
        "lmcache/vllm-openai:v0.4.1",
        "registry.example/vllm-openai:lmcache-v0.4.1",
        "registry.example/vllm-openai:nixl-v0.6.0",
        "nvcr.io/nvidia/vllm:25.09-py3",
        "nvcr.io/nvidia/ai-dynamo/vllm-runtime:0.5.1",
        "registry.example/vllm:server-cuda-v1.0.0",
        "registry.example/vllm:20250801_0916_RC01",
        "registry.example/vllm-chat:v0.5.1",
        "registry.example/vllm-openai@sha256:00ff",
        "registry.example/vllm-openai:latest@sha256:00ff",
        "registry.example/vllm-openai:${TAG}",
        "registry.example/chat:v0.8.5",
        "vllm/vllm-openai:nightly-dcf6ee8592b4f33593feb579b7a420d155ada374",
    ],
)
def test_a_tag_that_pins_another_number_tells_no_release_and_needs_no_pin(image: str) -> None:
    found = reading.started(f"image: {image}\ncommand: [vllm, serve, m/m, --num-scheduler-steps=8, --nothing]\n{GPU}")
    assert reading.values(found, "engine_version", *NOTICED) == [None] * (len(NOTICED) + 1)


@pytest.mark.parametrize("image", ["vllm/vllm-openai", "vllm/vllm-openai:nightly", "vllm/vllm-openai:latest-cu129"])
def test_a_tag_that_moves_is_worth_a_pin(image: str) -> None:
    found = reading.server("[--model=m/m, --num-scheduler-steps=8]", image)
    assert reading.values(found, "engine_version", "removed_argument") == [None, "--num-scheduler-steps"]


@pytest.mark.parametrize(
    "image",
    [
        # vllm-project/vllm c8246ae4, .buildkite/scripts/publish-release-images.sh
        "vllm/vllm-openai:v0.20.1-x86_64-cu129-ubuntu2404",
        "vllm/vllm-openai:v0.20.1-aarch64",
        "vllm/vllm-openai-rocm:v0.20.1",
    ],
)
def test_the_makers_own_variants_are_plain_releases(image: str) -> None:
    found = reading.server("[--model=m/m, --num-scheduler-steps=8]", image)
    assert reading.values(found, "engine_version", "unavailable_argument") == ["0.20.1", "--num-scheduler-steps"]
    assert found.fields["engine_version"].assumption == ""


def test_the_tag_of_ones_own_image_is_no_release_of_the_engine() -> None:
    found = reading.started(f"image: example.com/chat:v1.2.0\ncommand: [vllm, serve, Qwen/Qwen3-8B]\n{GPU}")
    assert reading.values(found, "engine_version") == [None]


def test_an_image_that_numbers_its_own_releases_says_nothing_of_the_engines() -> None:
    found = reading.server("[--model=Qwen/Qwen3-8B, --swap-space=4]", "lmcache/vllm-openai:v0.3.5")
    assert reading.values(found, "engine", "engine_version", "unavailable_argument") == ["vllm", None, None]


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
        ("[--tensor-parallel-size]", "tensor_parallel", "unknown: --tensor-parallel-size has no value"),
        ("[--tensor-parallel-size]", "impossible_argument", "--tensor-parallel-size without a number"),
        ("[--kv-cache-dtype]", "kv_cache_dtype", "unknown: --kv-cache-dtype has no value"),
        ("[--max-num-batched-tokens=-1]", "max_num_batched_tokens", "unknown: -1 cannot be"),
        ("[--gpu-memory-utilization=nan]", "gpu_memory_utilization", "unknown: nan is not a number"),
        ("[--max-model-len=auto]", "max_model_len", "unknown: the engine chooses the longest length that fits"),
        ("[--max-model-len=-1]", "max_model_len", "unknown: the engine chooses the longest length that fits"),
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


# ---- speculative decoding, media, KV tiers

CONTAINER = "image: vllm/vllm-openai:v0.10.1\nargs: [--model=Qwen/Qwen3-8B, {arguments}]\nenv: [{variables}]\n" + GPU
LMCACHE = """'--kv-transfer-config={"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both"}'"""


def given(arguments: str = "", variables: str = "", release: str = "v0.10.1") -> Role:
    """The role of a vLLM server with these further arguments and variables."""
    container = CONTAINER.replace("v0.10.1", release)
    return reading.started(container.replace("{arguments}", arguments).replace("{variables}", variables))


DRAFT = ("speculative", "draft_checkpoint", "draft_tokens", "draft_tensor_parallel")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (
            """'--speculative-config={"model": "acme/draft-1b", "num_speculative_tokens": 5, "draft_tensor_parallel_size": 1}'""",
            ["draft_model", "acme/draft-1b", 5, 1],
        ),
        (
            """--speculative-config, '{"method": "eagle3", "model": "acme/head", "num_speculative_tokens": 3}'""",
            ["eagle3", "acme/head", 3, None],
        ),
        (
            """'--speculative-config={"model": "yuhuili/EAGLE-LLaMA3-Instruct-8B", "num_speculative_tokens": 2}'""",
            ["eagle", "yuhuili/EAGLE-LLaMA3-Instruct-8B", 2, None],
        ),
        (
            """'--speculative-config={"method": "ngram", "num_speculative_tokens": 5, "prompt_lookup_max": 4}'""",
            ["ngram", None, 5, None],
        ),
        (
            """'--speculative_config={"method": "deepseek_mtp", "num_speculative_tokens": 1}'""",
            ["deepseek_mtp", None, 1, None],
        ),
        ("'--speculative-model=[ngram]', --num-speculative-tokens=5", ["ngram", None, 5, None]),
        (
            "--speculative-model=acme/draft-1b, --num-speculative-tokens=5, --speculative-draft-tensor-parallel-size=1",
            ["draft_model", "acme/draft-1b", 5, 1],
        ),
        ("--spec-method=mtp, --spec-tokens=2", ["mtp", None, 2, None]),
        (
            """'--speculative-config={"model": 5, "method": [], "num_speculative_tokens": "3"}'""",
            ["draft_model", None, None, None],
        ),
        ("'--speculative-config=[1]'", ["unknown: its value is not a JSON object", None, None, None]),
        ("--speculative-config=draft.json", ["unknown: its value is not a JSON object", None, None, None]),
        ("--speculative-config.method=ngram", ["unknown: its value is set in several parts", None, None, None]),
        ("--seed=1", [None, None, None, None]),
    ],
)
def test_a_speculative_draft_is_heard_in_every_spelling(arguments: str, expected: list[object]) -> None:
    assert reading.values(given(arguments, release="latest"), *DRAFT) == expected


def test_the_place_of_a_draft_is_the_argument_that_holds_it() -> None:
    found = given("""'--speculative-config={"model": "acme/draft-1b", "num_speculative_tokens": 5}'""")
    assert reading.source(found, "draft_checkpoint").startswith("'--speculative-config=")


@pytest.mark.parametrize(
    ("arguments", "skipped"),
    [
        ("--language-model-only", True),
        ("""'--limit-mm-per-prompt={"image": 0, "video": 0}'""", True),
        ("'--limit-mm-per-prompt=image=0,video=0'", True),
        ("""'--limit-mm-per-prompt={"image": 0}'""", None),
        ("""'--limit-mm-per-prompt={"image": 0, "video": 1}'""", None),
        ("--limit-mm-per-prompt=$LIMITS", None),
        ("--no-language-model-only", None),
    ],
)
def test_images_and_videos_are_refused_only_when_both_are(arguments: str, skipped: bool | None) -> None:
    assert reading.values(given(arguments), "encoder_skipped") == [skipped]


@pytest.mark.parametrize(
    ("arguments", "variables", "tier"),
    [
        (LMCACHE, "{name: LMCACHE_MAX_LOCAL_CPU_SIZE, value: '60'}", 60 * 2**30),
        (
            LMCACHE,
            "{name: LMCACHE_MAX_LOCAL_CPU_SIZE, value: '7.5'}, {name: LMCACHE_LOCAL_CPU, value: 'True'}",
            15 * 2**29,
        ),
        ("--kv-offloading-size=16", "", 16 * 2**30),
        (
            """'--kv-transfer-config={"kv_connector": "OffloadingConnector", "kv_role": "kv_both",
            "kv_connector_extra_config": {"cpu_bytes_to_use": 64000000000}}'""",
            "",
            64_000_000_000,
        ),
        (LMCACHE, "{name: LMCACHE_MAX_LOCAL_CPU_SIZE, value: many}", "unknown: many is not a number"),
        # silent: nothing says that LMCache runs, that tier is off, or a file tells its size
        ("--seed=1", "{name: LMCACHE_MAX_LOCAL_CPU_SIZE, value: '60'}", None),
        (LMCACHE, "{name: LMCACHE_MAX_LOCAL_CPU_SIZE, value: '60'}, {name: LMCACHE_LOCAL_CPU, value: 'False'}", None),
        (LMCACHE, "{name: LMCACHE_MAX_LOCAL_CPU_SIZE, value: '60'}, {name: LMCACHE_CONFIG_FILE, value: /a.yaml}", None),
        (LMCACHE, "", None),
        ("""'--kv-transfer-config={"kv_connector": "NixlConnector"}'""", "", None),
        ("--kv-transfer-config=$KV", "{name: LMCACHE_MAX_LOCAL_CPU_SIZE, value: '60'}", None),
    ],
)
def test_host_memory_of_a_kv_tier_is_heard(arguments: str, variables: str, tier: object) -> None:
    assert reading.values(given(arguments, variables), "host_kv_bytes") == [tier]


@pytest.mark.parametrize(
    ("arguments", "copies"),
    [
        ("""'--eplb-config={"num_redundant_experts": 32}'""", 32),
        ("--num-redundant-experts=32", 32),
        ("""'--eplb-config={"window_size": 1000}'""", None),
        ("--enable-eplb", None),
    ],
)
def test_copies_of_experts_are_heard(arguments: str, copies: int | None) -> None:
    assert reading.values(given(arguments, release="latest"), "redundant_experts") == [copies]


def test_without_gpus_the_kv_cache_is_host_memory() -> None:
    """vllm v0.33.0 vllm/envs.py: VLLM_CPU_KVCACHE_SPACE, in GiB, for the CPU backend only."""
    space = "args: [--model=Qwen/Qwen3-8B]\nenv: [{name: VLLM_CPU_KVCACHE_SPACE, value: '40'}]"
    on_cpu = reading.started(f"image: example.com/vllm-cpu:v0.10.1\ncommand: [vllm, serve]\n{space}")
    on_gpu = reading.started(f"image: vllm/vllm-openai:v0.10.1\n{space}\n{GPU}")
    assert reading.values(on_cpu, "host_kv_bytes") == [40 * 2**30]
    assert reading.values(on_gpu, "host_kv_bytes") == [None]


def test_the_place_of_lmcaches_size_is_the_variables_value() -> None:
    found = given(LMCACHE, "{name: LMCACHE_MAX_LOCAL_CPU_SIZE, value: '60'}")
    assert reading.source(found, "host_kv_bytes") == "'60'"


@pytest.mark.parametrize(
    ("arguments", "release", "uniform"),
    [
        ("--disable-hybrid-kv-cache-manager", "v0.10.1", True),
        ("--no-disable-hybrid-kv-cache-manager", "v0.10.1", False),
        (LMCACHE, "v0.10.1", True),
        (LMCACHE, "v0.33.0", True),
        ("""'--kv-transfer-config={"kv_connector": "NixlConnector"}'""", "v0.19.0", True),
        ("""'--kv-transfer-config={"kv_connector": "NixlConnector"}'""", "v0.24.0", None),
        ("""'--kv-transfer-config={"kv_connector": "NixlConnector"}'""", "latest", None),
        ("""'--kv-events-config={"enable_kv_cache_events": true}'""", "v0.19.0", True),
        ("""'--kv-events-config={"enable_kv_cache_events": true}'""", "v0.20.0", None),
        (f"--no-disable-hybrid-kv-cache-manager, {LMCACHE}", "v0.10.1", False),
        ("--seed=1", "v0.10.1", None),
    ],
)
def test_what_turns_the_hybrid_manager_off_is_heard(arguments: str, release: str, uniform: bool | None) -> None:
    """vllm v0.19.0 and v0.24.0 vllm/config/vllm.py: any connector, then those that do not support it; KV events to 0.19."""
    assert reading.values(given(arguments, release=release), "uniform_kv_cache") == [uniform]


@pytest.mark.parametrize(("release", "swap"), [("v0.7.3", 16 * 2**30), ("v0.8.0", 0), ("v0.10.1", 0), ("latest", 0)])
def test_swap_space_is_pinned_by_the_first_engine_only(release: str, swap: int) -> None:
    """vllm v0.7.3 vllm/worker/worker.py allocates it; vllm v0.8.5 vllm/v1 has no CPU cache."""
    assert reading.values(given("--swap-space=16", release=release), "swap_space_bytes") == [swap]


# ---- environment


@pytest.mark.parametrize(
    ("variable", "name", "value"),
    [
        ("{name: VLLM_PP_LAYER_PARTITION, value: '16,32'}", "stage_share", 32 / 48),
        ("{name: VLLM_PP_LAYER_PARTITION, value: '13,14,14,7'}", "stage_share", 14 / 48),
        ("{name: VLLM_PP_LAYER_PARTITION, value: 'even'}", "stage_share", "unknown: even is no list of layers"),
        ("{name: VLLM_PP_LAYER_PARTITION, value: '0,0'}", "stage_share", "unknown: 0,0 is no list of layers"),
        ("{name: VLLM_PP_LAYER_PARTITION, value: '-5,10'}", "stage_share", "unknown: -5,10 is no list of layers"),
        ("{name: VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS, value: '0'}", "graphs_in_budget", False),
        ("{name: VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS, value: '1'}", "graphs_in_budget", True),
        ("{name: VLLM_ATTENTION_BACKEND, value: FLASHINFER}", "attention_backend", "FLASHINFER"),
        ("{name: VLLM_DP_RANK, value: '0'}", "multi_node", True),
        ("{name: VLLM_ALLOW_LONG_MAX_MODEL_LEN, value: 'false'}", "context_extended", None),
        ("{name: VLLM_LOGGING_LEVEL, value: DEBUG}", "stage_share", None),
    ],
)
def test_a_variable_of_the_engine_is_heard(variable: str, name: str, value: object) -> None:
    assert reading.values(given(variables=variable), name) == [value]


def test_an_argument_goes_before_its_variable() -> None:
    found = given("--attention-backend=TRITON_ATTN", "{name: VLLM_ATTENTION_BACKEND, value: FLASHINFER}")
    assert reading.values(found, "attention_backend") == ["TRITON_ATTN"]


OTHER = "unknown: VLLM_USE_V1 selects the other engine core, whose defaults are not modelled"


@pytest.mark.parametrize(
    ("switch", "release", "expected"),
    [
        ("0", "v0.10.1", OTHER),
        ("0", "latest", OTHER),
        ("1", "v0.7.3", OTHER),
        ("1", "v0.10.1", None),
        ("0", "v0.7.3", None),
        ("0", "v0.11.0", None),
        ("1", "latest", None),
        ("1", "v0.6.3", None),
    ],
)
def test_defaults_are_unknown_where_the_other_engine_core_is_asked_for(
    switch: str, release: str, expected: object
) -> None:
    found = given(variables=f"{{name: VLLM_USE_V1, value: '{switch}'}}", release=release)
    assert reading.values(found, "max_num_seqs", "enable_chunked_prefill") == [expected, expected]


def test_what_is_stated_holds_on_either_core() -> None:
    found = given("--max-num-seqs=64", "{name: VLLM_USE_V1, value: '0'}")
    assert reading.values(found, "max_num_seqs") == [64]


# ---- arguments that a release has, and what is said of the others

NOTICED = (
    "unknown_argument",
    "unavailable_argument",
    "removed_argument",
    "abbreviated_argument",
    "impossible_argument",
)


@pytest.mark.parametrize(
    "arguments",
    [
        *(
            "--tensor-parallel-size=2",
            "--gpu_memory_utilization=0.9",
            "--max-model-len=64k",
            "--port=8000",
            "--host=0.0.0.0",
        ),
        *(
            "--served-model-name, a, b",
            "--trust-remote-code",
            "--disable-log-requests",
            "--enable-prefix-caching",
            "-tp=2",
        ),
        *("--no-enable-prefix-caching", "--enable-chunked-prefill", "--no-enable-chunked-prefill", "--dtype=auto"),
        *(
            "--tool-call-parser=hermes",
            "--enable-auto-tool-choice",
            "--reasoning-parser=qwen3",
            "--enforce-eager",
            "-q=awq",
        ),
        *(
            "--kv-cache-dtype=fp8",
            "--quantization=fp8",
            "--disable-log-stats",
            "--disable-custom-all-reduce",
            "--seed=0",
        ),
        *(
            "--max-seq-len-to-capture=8192",
            "--uvicorn-log-level=warning",
            "--disable-uvicorn-access-log",
            "-O3",
            "--revision=main",
        ),
        *(
            "--enable-expert-parallel",
            "--data-parallel-size=2",
            "--load-format=safetensors",
            "--chat-template=/a.jinja",
        ),
        *(
            "--enable-lora",
            "--max-loras=4",
            "--max-cpu-loras=8",
            "--max-lora-rank=64",
            "--lora-modules, a=b, c=d",
            "-dp=2",
        ),
        *("--compilation-config=3", "--generation-config=vllm", "--override-generation-config={}", "--block-size=32"),
        *(
            "--kv-transfer-config={}",
            "--kv-events-config={}",
            "--speculative-config={}",
            "--swap-space=4",
            "--api-key=x",
        ),
        *(
            "--limit-mm-per-prompt.image=2",
            "--hf-overrides.rope_theta=1",
            "--tokenizer-mode=mistral",
            "--config-format=mistral",
        ),
        *(
            "--prefix-caching-hash-algo=sha256",
            "--long-prefill-token-threshold=2",
            "--allowed-origins=[]",
            "--root-path=/a",
        ),
        *(
            "--distributed-executor-backend=mp",
            "--middleware=a.b",
            "--enable-request-id-headers",
            "--ssl-keyfile=/a",
            "-pp=1",
        ),
        *(
            "--cpu-offload-gb=4",
            "--download-dir=/models",
            "--disable-sliding-window",
            "--enable-sleep-mode",
            "--runner=pooling",
        ),
    ],
)
def test_nothing_is_said_of_an_argument_that_the_release_has(arguments: str) -> None:
    found = given(f"'{arguments}'" if "{" in arguments or "[" in arguments else arguments)
    assert reading.values(found, *NOTICED) == [None] * len(NOTICED)


@pytest.mark.parametrize(
    ("arguments", "release", "name", "value"),
    [
        ("--max-num-batched-token=8192", "v0.10.1", "abbreviated_argument", "--max-num-batched-token"),
        ("--max-num-seq=8", "latest", "abbreviated_argument", "--max-num-seq"),
        ("--num-scheduler-steps=8", "v0.10.1", "unavailable_argument", "--num-scheduler-steps"),
        ("--num-scheduler-steps=8", "latest", "removed_argument", "--num-scheduler-steps"),
        ("--use-v2-block-manager", "v0.10.1", "unavailable_argument", "--use-v2-block-manager"),
        ("--device=cuda", "v0.10.1", "unavailable_argument", "--device"),
        ("--max-seq-len-to-capture=8192", "v0.11.0", "unavailable_argument", "--max-seq-len-to-capture"),
        ("--speculative-model=a/b", "v0.10.1", "unavailable_argument", "--speculative-model"),
        ("--swap-space=4", "v0.18.0", "unavailable_argument", "--swap-space"),
        ("--guided-decoding-backend=auto", "v0.12.0", "unavailable_argument", "--guided-decoding-backend"),
        ("--kv-offloading-size=4", "v0.10.1", "unavailable_argument", "--kv-offloading-size"),
        ("--mem-fraction-static=0.8", "v0.10.1", "unknown_argument", "--mem-fraction-static"),
    ],
)
def test_an_argument_that_the_release_lacks_is_noticed(arguments: str, release: str, name: str, value: str) -> None:
    found = given(arguments, release=release)
    assert reading.values(found, *NOTICED) == [value if one == name else None for one in NOTICED]


@pytest.mark.parametrize(
    ("arguments", "release"),
    [
        ("--guided-decoding-backend=auto", "v0.11.0"),  # vllm v0.11.0 vllm/engine/arg_utils.py: deprecated, still taken
        ("--enable-request-id-headers", "v0.6.6"),  # vllm v0.6.6 vllm/entrypoints/openai/cli_args.py
        ("--disable-mm-preprocessor-cache", "v0.6.6"),  # vllm v0.6.6 vllm/engine/arg_utils.py
        ("--generation-config=auto", "v0.6.6"),
        ("--enable-chunked-prefill=False", "v0.6.6"),
        ("--some-argument-of-tomorrow=1", "latest"),
    ],
)
def test_nothing_is_said_of_an_argument_that_an_older_or_newer_release_has(arguments: str, release: str) -> None:
    assert reading.values(given(arguments, release=release), *NOTICED) == [None] * len(NOTICED)


@pytest.mark.parametrize("image", ["quay.io/ascend/vllm-ascend:v0.10.1", "example.com/vllm-omni:v0.14.0"])
def test_nothing_is_said_of_arguments_of_builds_that_take_more(image: str) -> None:
    found = reading.started(
        f"image: {image}\ncommand: [vllm, serve, Qwen/Qwen3-8B, --num-scheduler-steps=8, --omni]\n{GPU}"
    )
    assert reading.values(found, *NOTICED) == [None] * len(NOTICED)


def test_a_switch_with_a_value_keeps_it_where_the_release_takes_one() -> None:
    found = given("--enable-chunked-prefill=False", release="v0.6.6")
    assert reading.values(found, "enable_chunked_prefill") == [False]


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
