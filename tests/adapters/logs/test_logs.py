"""Logs: the memory lines of engines and trainers as they were published, what they say, and what they replace."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from gpulint import cli
from gpulint.adapters.logs import comparison, lines, reader
from gpulint.catalog import tables
from gpulint.facts import resolver
from gpulint.facts.glossary import glossary
from gpulint.facts.model import Missing
from gpulint.pipeline import memory_breakdown
from gpulint.source.repository import WorkTree

GIB, MIB = 2**30, 2**20

# llm-d-incubation/llm-d-planner, branch `accuracy`, commit d3121e0, accuracy/results/v0.19.0/logs (Apache-2.0), shortened:
# qwen-qwen2-5-7b-instruct--h100-80gb--tp2pp1dp1--8192.log
TENSOR_PARALLEL = """\
(APIServer pid=1) INFO 04-22 01:38:34 [entrypoints/utils.py:233] non-default args: {'model': 'Qwen/Qwen2.5-7B-Instruct', \
'max_model_len': 8192, 'tensor_parallel_size': 2, 'gpu_memory_utilization': 0.95, 'enable_prefix_caching': False}
(APIServer pid=1) INFO 04-22 01:38:35 [config/scheduler.py:238] Chunked prefill is enabled with max_num_batched_tokens=8192.
(EngineCore pid=242) INFO 04-22 01:38:48 [v1/engine/core.py:105] Initializing a V1 LLM engine (v0.19.0) with config: \
model='Qwen/Qwen2.5-7B-Instruct', dtype=torch.bfloat16, max_seq_len=8192, tensor_parallel_size=2, pipeline_parallel_size=1, \
data_parallel_size=1, quantization=None, enforce_eager=False, kv_cache_dtype=auto, device_config=cuda
(Worker_TP0 pid=441) INFO 04-22 01:39:12 [v1/worker/gpu_model_runner.py:4820] Model loading took 7.12 GiB memory and 11.5 seconds
(Worker_TP0 pid=441) INFO 04-22 01:39:31 [v1/worker/gpu_model_runner.py:5955] Estimated CUDA graph memory: 0.61 GiB total
(Worker_TP1 pid=442) INFO 04-22 01:39:31 [v1/worker/gpu_model_runner.py:5955] Estimated CUDA graph memory: 0.61 GiB total
(Worker_TP0 pid=441) DEBUG 04-22 01:39:31 [v1/worker/gpu_worker.py:435] Memory profiling takes 18.94 seconds. Total non KV \
cache memory: 11.39GiB; torch peak memory increase: 2.21GiB; non-torch forward increase memory: 2.06GiB; weights memory: 7.12GiB.
(Worker_TP0 pid=441) INFO 04-22 01:39:31 [v1/worker/gpu_worker.py:436] Available KV cache memory: 63.84 GiB
(EngineCore pid=242) INFO 04-22 01:39:31 [v1/core/kv_cache_utils.py:1319] GPU KV cache size: 2,390,592 tokens
(EngineCore pid=242) INFO 04-22 01:39:31 [v1/core/kv_cache_utils.py:1324] Maximum concurrency for \
8,192 tokens per request: 291.82x
(Worker_TP0 pid=441) INFO 04-22 01:39:35 [v1/worker/gpu_model_runner.py:6046] Graph capturing finished in 4 secs, took 0.71 GiB
(Worker_TP0 pid=441) DEBUG 04-22 01:39:35 [v1/worker/gpu_worker.py:661] Free memory on device (77.66/79.19 GiB) on startup. \
Desired GPU memory utilization is (0.95, 75.23 GiB). Actual usage is 7.12 GiB for weight, 2.21 GiB for peak activation, \
2.06 GiB for non-torch memory, and 0.71 GiB for CUDAGraph memory. Current kv cache memory in use is 63.84 GiB.
"""
# meta-llama-llama-3-1-8b---h100-80gb--tp1pp2dp1--8192.log of the same folder
PIPELINE_PARALLEL = """\
(Worker_PP0 pid=442) INFO 04-22 01:43:00 [v1/worker/gpu_model_runner.py:4820] Model loading took 7.51 GiB memory and 3.9 seconds
(Worker_PP0 pid=442) INFO 04-22 01:43:10 [v1/worker/gpu_worker.py:436] Available KV cache memory: 66.54 GiB
(Worker_PP1 pid=443) DEBUG 04-22 01:43:18 [v1/worker/gpu_worker.py:661] Free memory on device (77.76/79.19 GiB) on startup. \
Desired GPU memory utilization is (0.95, 75.23 GiB). Actual usage is 7.51 GiB for weight, 2.01 GiB for peak activation, \
0.07 GiB for non-torch memory, and 0.65 GiB for CUDAGraph memory. Current kv cache memory in use is 65.63 GiB.
(Worker_PP0 pid=442) DEBUG 04-22 01:43:18 [v1/worker/gpu_worker.py:661] Free memory on device (77.76/79.19 GiB) on startup. \
Desired GPU memory utilization is (0.95, 75.23 GiB). Actual usage is 7.51 GiB for weight, 1.1 GiB for peak activation, \
0.07 GiB for non-torch memory, and 0.65 GiB for CUDAGraph memory. Current kv cache memory in use is 66.54 GiB.
"""
# codellama-codellama-34b---h100-80gb--tp2pp1dp1--8192.FAILED.log of the same folder
REFUSED = """\
(Worker pid=485) ERROR 04-22 15:14:02 [v1/executor/multiproc_executor.py:857] ValueError: Free memory on device cuda:1 \
(60.87/79.19 GiB) on startup is less than desired GPU memory utilization (0.95, 75.23 GiB). Decrease GPU memory utilization
"""
# vllm-project/vllm, the message of v1/core/kv_cache_utils.py in v0.8.5 to v0.30.0 with figures of its own
TOO_LONG = """\
ValueError: To serve at least one request with the models's max seq len (131072), (16.00 GiB KV cache is needed, which is larger \
than the available KV cache memory (13.57 GiB). Based on the available memory, the estimated maximum model length is 111120.
"""
# a T4 with vLLM 0.7, and an RTX 2060 with vLLM 0.8.5, as their owners published them
FIRST_CORE_GB = """\
INFO 02-13 15:56:09 model_runner.py:1115] Loading model weights took 5.3541 GB
INFO 02-13 15:56:20 [worker.py:267] the current vLLM instance can use \
total_gpu_memory (14.74GiB) x gpu_memory_utilization (0.60) = 8.78GiB
INFO 02-13 15:56:20 [worker.py:267] model weights take 5.35GiB; non_torch_memory takes 0.05GiB; PyTorch activation peak \
memory takes 0.74GiB; the rest of the memory reserved for KV Cache is 2.64GiB.
INFO 02-13 15:56:21 executor_base.py:115] Maximum concurrency for 512 tokens per request: 42.28x
"""
FIRST_CORE_GIB = """\
# INFO 05-21 18:17:01 [model_runner.py:1146] Model loading took 7.5552 GiB and 30.643008 seconds
# INFO 05-21 18:17:06 [worker.py:267] the current vLLM instance can use \
total_gpu_memory (12.00GiB) x gpu_memory_utilization (0.95) = 11.40GiB
# INFO 05-21 18:17:06 [worker.py:267] model weights take 7.56GiB; non_torch_memory takes 0.04GiB; PyTorch activation peak \
memory takes 0.74GiB; the rest of the memory reserved for KV Cache is 3.06GiB.
"""
# DeepSeek-Coder-V2-Lite on eight cards under vLLM 0.6 (2025-02): a worker of its own, with syslog's escapes
WORKER_PROCESS = """\
INFO 02-14 08:23:15 worker.py:266] model weights take 3.97GiB; non_torch_memory takes 1.90GiB; PyTorch activation peak \
memory takes 0.36GiB; the rest
[INFO ] PyProcess - W-210-model-stdout: #033[1;36m(VllmWorkerProcess pid=240)#033[0;0m INFO 02-14 08:23:15 worker.py:266] model \
weights take 3.97GiB; non_torch_memory takes 2.10GiB; PyTorch activation peak memory takes 0.36GiB; the rest of the memory \
reserved for KV Cache is 29.02GiB.
"""
# a 95 GiB card under vLLM 0.27 or later (2026): libraries are counted with the weights, graphs with the activations
CONSUMED = """\
INFO Model loading took 82.1 GiB memory and 60.0 seconds
INFO CUDA graph pool memory: 0.19 GiB (actual), 0.64 GiB (estimated), difference: 0.45 GiB (244.2%).
INFO Free memory on device (93.83/95.01 GiB) on startup. Actual usage is 82.69 GiB for consumed memory (weights + non-torch), \
1.66 GiB for peak activation, and 0.19 GiB for CUDAGraph memory.
INFO GPU KV cache size: 315,039 tokens, Maximum concurrency for 262,144 tokens per request: 1.20x
"""
# Qwen2-32B on four cards under SGLang, 2025-03-08
FOUR_RANKS = """\
[2025-03-08 12:29:21 TP1] Load weight end. type=Qwen2ForCausalLM, dtype=torch.bfloat16, avail mem=6.09 GB, mem usage=15.54 GB.
[2025-03-08 12:29:21 TP0] Load weight end. type=Qwen2ForCausalLM, dtype=torch.bfloat16, avail mem=6.09 GB, mem usage=15.54 GB.
[2025-03-08 12:29:21 TP0] KV Cache is allocated. #tokens: 46611, K size: 1.42 GB, V size: 1.42 GB
[2025-03-08 12:29:21 TP1] KV Cache is allocated. #tokens: 46611, K size: 1.42 GB, V size: 1.42 GB
[2025-03-08 12:29:21 TP0] Memory pool end. avail mem=2.09 GB
"""
# DeepSeek-V3 on four cards under SGLang, sgl-project/sglang, 2025-08-13; 0.5.5 prints the whole cache of MLA as one
LATENT = """\
[2025-08-13 14:27:06 TP0] Load weight begin. avail mem=175.34 GB
[2025-08-13 14:34:24 TP0] Load weight end. type=DeepseekV3ForCausalLM, dtype=torch.bfloat16, avail mem=80.84 GB
[2025-11-04 05:27:13 TP0] KV Cache is allocated. #tokens: 524288, KV size: 17.16 GB
[2025-12-29 18:33:04 TP0] Capture cuda graph end. Time elapsed: 1.01 s. mem usage=0.03 GB. avail mem=2.39 GB.
[2025-12-29 18:33:05 TP0] Capture draft cuda graph end. Time elapsed: 1.01 s. mem usage=0.02 GB. avail mem=2.37 GB.
max_total_num_tokens=524288, chunked_prefill_size=8192, max_prefill_tokens=16384, max_running_requests=48, context_len=16384
"""
# ggml-org/llama.cpp pull 6122: two cards
TWO_DEVICES = """\
llm_load_tensors:        CPU buffer size =  1640.62 MiB
llm_load_tensors:      CUDA0 buffer size =  5434.38 MiB
llm_load_tensors:      CUDA1 buffer size = 13989.53 MiB
llama_kv_cache_init:      CUDA0 KV buffer size =  1536.00 MiB
llama_kv_cache_init:      CUDA1 KV buffer size =  3584.00 MiB
llama_new_context_with_model:  CUDA_Host  output buffer size =     1.95 MiB
llama_new_context_with_model:      CUDA0 compute buffer size =   672.01 MiB
"""
TGI = (
    "2024-05-07T12:39:22.141566Z  INFO text_generation_router: router/src/main.rs:354: "
    "Setting max batch total tokens to 801568\n"
)
DEEPSPEED = """\
[2023-07-18 18:07:49,375] [INFO] [utils.py:785:see_memory_usage] Stage 3 initialize beginning
[2023-07-18 18:07:49,376] [INFO] [utils.py:786:see_memory_usage] MA 3.04 GB  \
       Max_MA 4.95 GB         CA 5.95 GB         Max_CA 6 GB
[2025-01-09 10:30:34,904] [INFO] [utils.py:782:see_memory_usage] MA 4.17 GB  \
       Max_MA 4.17 GB         CA 4.47 GB         Max_CA 4 GB
"""
MEGATRON = """\
[Rank 0] (after 10 iterations) memory (MB) | allocated: 24761.02978515625 | max allocated: 65203.93359375 | reserved: 64438.0 | \
max reserved: 74306.0
[Rank 16] (after 10 iterations) memory (MB) | allocated: 18907.728515625 | max allocated: 52228.1533203125 | reserved: 58770.0 | \
max reserved: 58770.0
"""
SUMMARY = """\
|        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  |
| Allocated memory      |   14935 MB |   15377 MB |     995 GB |     980 GB |
|       from large pool |   14932 MB |   15374 MB |     995 GB |     980 GB |
"""
TORCHTUNE = """\
INFO - Memory stats after model init:
        GPU peak memory allocation: 4.98 GiB
        GPU peak memory reserved: 5.12 GiB
"""
TORCHTITAN = """\
[rank0]:[titan] - root - INFO - \x1b[31mstep:  1  \x1b[32mloss: 12.2   \x1b[36mmemory: 45.10GiB(47.48%)  \x1b[34mtps: 1,000
[rank0]:[titan] - root - INFO - \x1b[31mstep: 10  \x1b[32mloss: 10.9   \x1b[36mmemory: 47.43GiB(49.93%)  \x1b[34mtps: 5,762
"""
TRANSFORMERS = """\
***** train metrics *****
  before_init_mem_gpu        =        0MB
  init_mem_gpu_alloc_delta   =      230MB
  train_mem_gpu_alloc_delta  =      693MB
  train_mem_gpu_peaked_delta =        7MB
"""


def gib(log: reader.Log, name: str) -> float:
    return round(log.readings[name].number / GIB, 2)


def told(text: str) -> reader.Log:
    found = reader.read(text.encode())
    assert found is not None
    return found


SPEAK = [
    (TENSOR_PARALLEL, "vllm", {"loaded_bytes_per_gpu": 7.12, "activation_bytes": 2.21, "non_torch_bytes": 2.06}),
    (TENSOR_PARALLEL, "vllm", {"graph_bytes": 0.71, "kv_cache_bytes": 63.84, "memory_budget_bytes": 75.23}),
    (PIPELINE_PARALLEL, "vllm", {"activation_bytes": 2.01, "kv_cache_bytes": 65.63, "device_memory_bytes": 79.19}),
    (FIRST_CORE_GB, "vllm", {"loaded_bytes_per_gpu": 5.35, "kv_cache_bytes": 2.64, "memory_budget_bytes": 8.78}),
    (FIRST_CORE_GIB, "vllm", {"non_torch_bytes": 0.04, "activation_bytes": 0.74, "device_memory_bytes": 12.0}),
    (WORKER_PROCESS, "vllm", {"non_torch_bytes": 2.10, "kv_cache_bytes": 29.02}),
    (CONSUMED, "vllm", {"activation_bytes": 1.02, "non_torch_bytes": 0.59, "graph_bytes": 0.19}),
    (TOO_LONG, "vllm", {"kv_needed_bytes": 16.0, "kv_cache_bytes": 13.57}),
    (FOUR_RANKS, "sglang", {"loaded_bytes_per_gpu": 15.54, "kv_cache_bytes": 2.84}),
    (LATENT, "sglang", {"loaded_bytes_per_gpu": 94.50, "kv_cache_bytes": 17.16, "graph_bytes": 0.05}),
    (DEEPSPEED, "trainer", {"training_peak_bytes": 4.95, "training_reserved_bytes": 6.0}),
    (TORCHTUNE, "trainer", {"training_peak_bytes": 4.98, "training_reserved_bytes": 5.12}),
    (TORCHTITAN, "trainer", {"training_reserved_bytes": 47.43}),
]


@pytest.mark.parametrize(("text", "engine", "expected"), SPEAK)
def test_a_published_log_tells_its_figures(text: str, engine: str, expected: dict[str, float]) -> None:
    log = told(text)
    assert (log.engine, {name: gib(log, name) for name in expected}) == (engine, expected)


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        (TENSOR_PARALLEL, "kv_cache_tokens", 2_390_592),
        (TENSOR_PARALLEL, "full_length_sequences", 291.82),
        (CONSUMED, "kv_cache_tokens", 315_039),
        (LATENT, "kv_cache_tokens", 524_288),
        (TGI, "kv_cache_tokens", 801_568),
        (MEGATRON, "training_peak_bytes", 65203.93359375 * MIB),
        (MEGATRON, "training_reserved_bytes", 74306 * MIB),
        (SUMMARY, "training_peak_bytes", 15377 * MIB),
        (TRANSFORMERS, "training_peak_bytes", 930 * MIB),
        (TWO_DEVICES, "loaded_bytes_per_gpu", 13989.53 * MIB),
        (TWO_DEVICES, "kv_needed_bytes", 3584 * MIB),
    ],
)
def test_figures_that_are_no_gib(text: str, name: str, expected: float) -> None:
    assert told(text).readings[name].value == pytest.approx(expected)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "INFO: Uvicorn running on http://0.0.0.0:8000\n",
        'string += " | max allocated: {}".format(torch.cuda.max_memory_allocated() / mega_bytes)\n',
        'logger.info("Model loading took %.4f GiB and %.6f seconds",\n',
        "CPU buffer size = 1640.62 MiB\n",
        "the memory: 64GiB of RAM suffice, GPU memory allocation: none\n",
        "[kvcached][INFO] VirtualKV Cache is allocated. #tokens: 248479, K size: 7.99 GB, V size: 7.99 GB\n",
        "\x00\x01\x02\xff" * 1000,
    ],
)
def test_other_text_tells_nothing(text: str) -> None:
    assert reader.read(text.encode("utf-8", "replace")) is None


def test_ranks_are_told_apart_and_the_fullest_is_reported() -> None:
    log = told(PIPELINE_PARALLEL)
    assert (log.rank, log.ranks) == ("Worker_PP1", ("Worker_PP0", "Worker_PP1"))
    assert told(WORKER_PROCESS).rank == "VllmWorkerProcess pid=240"
    assert told(MEGATRON).rank == "Rank 0"
    assert told(TWO_DEVICES).rank == "CUDA1"


def test_a_failure_is_reported_with_its_line() -> None:
    assert [line.number for line in told(REFUSED).failures] == [1]
    assert [line.number for line in told(TOO_LONG).failures] == [1]
    sentence = next(text for text in comparison.sentences(evidence("\x1b[31m" + REFUSED)) if "failure" in text)
    assert sentence.startswith("the log reports a failure: line 1: ")
    assert "\x1b" not in sentence


def test_of_a_restarted_engine_the_last_start_with_figures_counts() -> None:
    start = "INFO 04-22 api_server.py:1] vLLM API server version 0.19.0\n"
    second = TENSOR_PARALLEL.replace("7.12", "7.20")
    log = told(start + TENSOR_PARALLEL + start + second + start + "INFO loading\n")
    assert gib(log, "loaded_bytes_per_gpu") == 7.2


def test_hostile_text_is_read_in_bounded_time() -> None:
    began = time.monotonic()
    for line in ("Load weight end. " * 60_000, "| Allocated memory " * 60_000, "Model loading took " + "9," * 90_000):
        reader.read((line + "\n").encode() * 3)
    assert time.monotonic() - began < 5
    assert reader.read(b"Model loading took " + b"9" * 400 + b" GiB\n") is None


def test_of_a_log_beyond_the_limit_the_beginning_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "LARGEST", len(TENSOR_PARALLEL))
    log = told(TENSOR_PARALLEL + PIPELINE_PARALLEL)
    assert log.cut
    assert "Worker_PP1" not in log.ranks


def test_every_line_that_is_looked_for_has_a_value_and_its_source_says_where_it_is_printed() -> None:
    for row in tables.rows("log_lines"):
        assert row["kind"] in ("start", "condition", "reading", "part", "failure"), row
        assert any(sign in row["source"] for sign in (".py", ".cpp", ".rs", "issue", "pull", "vllm v")), row
        assert row["kind"] not in ("condition", "reading") or "{" in row["line"], row
        assert row["kind"] not in ("condition", "reading") or row["name"] in glossary(), row


# ---- beside our terms


def evidence(text: str, **stated: object) -> comparison.Evidence:
    tree = WorkTree(Path.cwd())
    role, resolved = memory_breakdown.build_role(
        "Qwen/Qwen2.5-7B-Instruct", {"engine": "vllm", **stated}, "h100-sxm-80gb", tree
    )
    return comparison.compare(role, resolved, told(text))


def test_readings_stand_beside_our_intervals_and_replace_our_terms() -> None:
    found = evidence(TENSOR_PARALLEL)
    weights = next(one for one in found.compared if one.told.name == "loaded_bytes_per_gpu")
    assert (weights.is_inside, weights.told.lines) == (True, (12,))
    assert weights.deviation == pytest.approx(0, abs=0.05 * GIB)
    field = found.role.fields["activation_bytes"]
    assert (field.value, field.source) == (round(2.21 * GIB), "the log, line 12 (Worker_TP0)")
    known = resolver.resolve(
        found.role, memory_breakdown.build_role("Qwen/Qwen2.5-7B-Instruct", {}, None, WorkTree(Path.cwd()))[1]
    )
    scenarios = known.scenarios("required_bytes_per_gpu")
    assert not isinstance(scenarios, Missing)
    # 7.12 + 2.21 + 2.06 of the log and one sequence of 8,192 tokens of 28 KiB
    assert {round(float(value) / GIB, 2) for value in scenarios if isinstance(value, float)} == {11.61}


def test_conditions_of_the_run_fill_what_is_not_stated() -> None:
    found = evidence(TENSOR_PARALLEL)
    assert {one.name: one.value for one in found.adopted} == {
        "gpu_memory_utilization": 0.95,
        "max_num_batched_tokens": 8192,
        "engine_version": "0.19.0",
        "weight_dtype": "bfloat16",
        "max_model_len": 8192,
        "tensor_parallel": 2,
        "pipeline_parallel": 1,
    }


def test_another_layout_is_said_and_nothing_that_rests_on_it_is_replaced() -> None:
    found = evidence(TENSOR_PARALLEL, tensor_parallel=1)
    assert [one.name for one, _ in found.differing] == ["tensor_parallel"]
    assert {one.told.name for one in found.compared} == {"device_memory_bytes", "memory_budget_bytes"}
    assert "activation_bytes" not in found.role.fields


def test_another_length_leaves_weights_and_activations_comparable() -> None:
    found = evidence(TENSOR_PARALLEL, max_model_len=4096)
    assert {"loaded_bytes_per_gpu", "activation_bytes"} <= {one.told.name for one in found.compared}
    assert "full_length_sequences" in {one.name for one in found.left_out}


def test_a_log_of_another_network_or_card_replaces_nothing() -> None:
    other = TENSOR_PARALLEL.replace("Qwen/Qwen2.5-7B-Instruct", "Qwen/Qwen3-8B").replace("79.19", "44.40")
    found = evidence(other)
    assert [one.name for one, _ in found.differing] == ["checkpoint", "accelerator"]
    assert [one.told.name for one in found.compared] == []
    assert found.adopted == ()


def test_memory_that_capturing_freed_counts_as_none() -> None:
    found = evidence("INFO Graph capturing finished in 21 secs, took -0.88 GiB\n")
    assert found.role.fields["graph_bytes"].value == 0
    assert found.compared[0].told.number == -0.88 * GIB


# ---- the command


def test_the_command_prints_both_and_the_tightened_total(tmp_path: Path) -> None:
    (tmp_path / "engine.log").write_text(TENSOR_PARALLEL, encoding="utf-8")
    command = [
        "size",
        "Qwen/Qwen2.5-7B-Instruct",
        "--accelerator",
        "h100-sxm-80gb",
        "--log",
        str(tmp_path / "engine.log"),
    ]
    result = CliRunner().invoke(cli.main, command)
    assert result.exit_code == 0
    assert "ranks in the log: Worker_TP0; the one that uses most memory is Worker_TP0" not in result.output
    total = next(line for line in result.output.splitlines() if line.startswith("required_bytes_per_gpu"))
    assert total.split()[1:7] == ["11.61", "GiB", "11.61", "GiB", "11.61", "GiB"]
    (table,) = json.loads(CliRunner().invoke(cli.main, [*command, "--format", "json"]).output)
    assert table["log"]["terms"]["kv_cache_tokens"]["log"] == 2_390_592
    assert table["log"]["terms"]["loaded_bytes_per_gpu"]["inside"] is True


def test_the_engine_of_the_log_stands_where_none_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "engine.log").write_text(FOUR_RANKS, encoding="utf-8")
    command = ["size", "Qwen/Qwen2.5-32B-Instruct", "--accelerator", "l4", "--tp", "4", "--max-model-len", "8192"]
    output = CliRunner().invoke(cli.main, [*command, "--log", str(tmp_path / "engine.log")]).output
    assert "differs: engine" not in output
    assert (
        "differs: engine"
        in CliRunner().invoke(cli.main, [*command, "--engine", "vllm", "--log", str(tmp_path / "engine.log")]).output
    )


def test_a_file_that_is_no_log_is_a_usage_error_that_says_what_was_looked_for(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing here\n", encoding="utf-8")
    result = CliRunner().invoke(cli.main, ["size", "Qwen/Qwen3-8B", "--log", str(tmp_path / "notes.txt")])
    assert result.exit_code == 2
    assert "contains no memory line of vllm, sglang, llama.cpp, tgi, trainer" in result.stderr
