"""Time of serving against measured rows: time per output token (TPOT) in three scenarios, its floor, and TTFT as a band.

    python bench/silicon.py SAMPLE.csv [--harness MASTER.yaml …] [--half fitted|held] [--every N] [--aiconfigurator PYTHON]

With `--aiconfigurator`, the Python of an environment that has the package answers the same aggregated rows from its own tables,
none of which are of a release in the sample, so that it is asked for its current one.

SAMPLE.csv is the file of measurements inside the aiconfigurator package (aiconfigurator_core/systems/silicon_sample.csv),
which is not part of this project. A row is *mapped* when it states what one engine decodes: layout and concurrency.

Several exports hold the same run under rows of their own, and not each states how many decode workers there were: rows with the
same measured times, network, engine, system and load are one measurement, and share the layout that one of them states. What
the public harness that most rows come from sets for its servers (format of the KV cache, share of the memory) is in SETTINGS.

`--harness` reads how the others were laid out and whether they drafted in that harness's configuration (silicon_harness.py).

The rule of the halves, stated before anything was fitted: a row's *family* is its network, engine, system, precision, mode
and layout after what several exports of one run call differently is made one (`layout`). All rows of a network whose name
hashes to 0 of 6 are held back, and of the other networks every family whose hash is odd. Only the rest is fitted to.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import re
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import silicon_harness

from gpulint.catalog import architecture
from gpulint.facts import resolver
from gpulint.facts.model import Facts, Missing
from gpulint.source import documents
from gpulint.workload import Field, Origin, Role

MILLI = 1e-3
PEER = Path(__file__).parent / "peers" / "serving_aiconfigurator.py"
PEER_MODELS = {
    "meta-llama/Llama-3.1-70B": "meta-llama/Meta-Llama-3.1-70B",
    "meta-llama/Llama-3.1-8B-Instruct": "meta-llama/Meta-Llama-3.1-8B",
    "nvidia/Llama-3.1-8B-Instruct-FP8": "meta-llama/Meta-Llama-3.1-8B",
    "nvidia/Qwen3-32B-NVFP4": "Qwen/Qwen3-32B",
    "nvidia/DeepSeek-R1-NVFP4": "deepseek-ai/DeepSeek-R1",
    "zhipuai/GLM-5": "nvidia/GLM-5-NVFP4",
}
"""Names of the same networks that aiconfigurator has a configuration of."""
NOWHERE = Origin(documents.load("nowhere.yaml", b"{}").documents[0], ())
CONCURRENCY = re.compile(r"silicon_concurrency=(\d+)")
ENGINES = {"trtllm": "tensorrt-llm", "vllm": "vllm", "sglang": "sglang"}
CARDS = {
    "h100_sxm": "h100-sxm-80gb",
    "h200_sxm": "h200-sxm-141gb",
    "b200_sxm": "b200-sxm-180gb",
    "b300_sxm": "b300-sxm-288gb",
    "gb200": "gb200",
    "gb300": "gb300",
}
NETWORKS = {
    "deepseek-r1": "deepseek-v3",
    "deepseek-v3": "deepseek-v3",
    "deepseek-r1-nvfp4": "deepseek-v3",
    "deepseek-v3.1-nvfp4": "deepseek-v3",
    "llama-3.1-8b-instruct": "llama-3.1-8b",
    "llama-3.1-70b": "llama-3.1-70b",
    "llama-3.1-8b-instruct-fp8": "llama-3.1-8b",
    "qwen3-32b": "qwen3-32b",
    "qwen3-32b-nvfp4": "qwen3-32b",
    "qwen3-235b-a22b-fp8": "qwen3-235b-a22b",
    "qwen3.5-397b-a17b": "qwen3.5-397b-a17b",
    "glm-5": "glm-5",
    "minimax-m2.5": "minimax-m2.5",
    "kimi-k2.5": "kimi-k2.5",
    "gpt-oss-120b": "gpt-oss-120b",
}
CHECKPOINTS = {
    ("deepseek-v3", "fp8"): "deepseek-ai/DeepSeek-R1",
    ("deepseek-v3", "fp4"): "nvidia/DeepSeek-V3.1-NVFP4",
    ("minimax-m2.5", "fp8"): "MiniMaxAI/MiniMax-M2.5",
    ("minimax-m2.5", "fp4"): "nvidia/MiniMax-M2.5-NVFP4",
    ("kimi-k2.5", "int4"): "moonshotai/Kimi-K2.5",
    ("kimi-k2.5", "fp4"): "nvidia/Kimi-K2.5-NVFP4",
    ("qwen3.5-397b-a17b", "bf16"): "Qwen/Qwen3.5-397B-A17B",
    ("glm-5", "fp8"): "zai-org/GLM-5-FP8",
    ("qwen3.5-397b-a17b", "fp8"): "Qwen/Qwen3.5-397B-A17B-FP8",
    ("glm-5", "fp4"): "nvidia/GLM-5-NVFP4",
    ("qwen3.5-397b-a17b", "fp4"): "nvidia/Qwen3.5-397B-A17B-NVFP4",
    ("llama-3.1-70b", "fp8"): "nvidia/Llama-3.3-70B-Instruct-FP8",
    ("qwen3-32b", ""): "Qwen/Qwen3-32B",
    ("llama-3.1-70b", "fp4"): "nvidia/Llama-3.3-70B-Instruct-FP4",
    ("qwen3-32b", "fp8"): "Qwen/Qwen3-32B-FP8",
    ("llama-3.1-8b", "fp8"): "nvidia/Llama-3.1-8B-Instruct-FP8",
    ("llama-3.1-8b", ""): "meta-llama/Llama-3.1-8B-Instruct",
    ("qwen3-32b", "fp4"): "nvidia/Qwen3-32B-NVFP4",
    ("qwen3-235b-a22b", ""): "Qwen/Qwen3-235B-A22B-FP8",
    ("qwen3-235b-a22b", "fp8"): "Qwen/Qwen3-235B-A22B-FP8",
    ("gpt-oss-120b", ""): "openai/gpt-oss-120b",
    ("gpt-oss-120b", "fp4"): "openai/gpt-oss-120b",
    ("gpt-oss-120b", "fp8"): "openai/gpt-oss-120b",
    ("deepseek-v3", ""): "deepseek-ai/DeepSeek-R1",
}
"""The release that a row's precision names; rows without a precision ran the network as it was published."""
DYNAMO = {"0.5": "1.1.0", "0.7": "1.2.0", "0.8": "1.2.0", "0.9": "1.3.0"}
"""TensorRT-LLM in releases of Dynamo's runtime images, whose own number some rows give."""


NEWEST = {
    ("vllm", ""): "0.11.0",
    ("sglang", ""): "0.5.4",
    ("tensorrt-llm", ""): "1.1.0",
    ("tensorrt-llm", "nightly"): "1.2.0",
    ("vllm", "nightly"): "0.18.0",
    ("sglang", "nightly"): "0.5.9",
}
"""Rows without a release were measured from October to December 2025, those of nightly builds from February to April 2026."""


SETTINGS: Sequence[tuple[str, str, str, str, str, Mapping[str, Any]]] = (
    ("sglang", "deepseek-v3", "[bg]", "fp8|fp4", "", {"kv_cache_dtype": "fp8_e4m3"}),
    ("sglang", "deepseek-v3", "[bg]", "fp8", "", {"static_memory_fraction": 0.82}),
    ("sglang", "deepseek-v3", "h", "fp8", "", {"static_memory_fraction": 0.82}),
    ("sglang", "deepseek-v3", "[bg]", "fp4", "", {"static_memory_fraction": 0.85}),
    ("sglang", "glm-5", "b", "fp8", "", {"kv_cache_dtype": "fp8_e4m3", "static_memory_fraction": 0.85}),
    ("sglang", "glm-5", "b", "fp4", "", {"kv_cache_dtype": "fp8_e4m3", "static_memory_fraction": 0.8}),
    ("sglang", "glm-5", "h", "fp8", "", {"kv_cache_dtype": "fp8_e4m3", "static_memory_fraction": 0.85}),
    ("sglang", "qwen3.5-397b-a17b", "", "fp8|fp4", "", {"kv_cache_dtype": "fp8_e4m3"}),
    ("vllm", "llama-3.1-70b", "", "fp8|fp4", "", {"kv_cache_dtype": "fp8", "gpu_memory_utilization": 0.9}),
    ("vllm", "gpt-oss-120b", "b", "", "", {"kv_cache_dtype": "fp8", "gpu_memory_utilization": 0.9}),
    ("vllm", "gpt-oss-120b", "h", "", "", {"gpu_memory_utilization": 0.9}),
    ("vllm", "minimax-m2.5", "b", "fp8|fp4", "2026-04-03", {"kv_cache_dtype": "fp8"}),
    ("vllm", "minimax-m2.5", "h200", "fp8", "", {"gpu_memory_utilization": 0.95}),
    ("vllm", "kimi-k2.5", "b", "int4", "", {"gpu_memory_utilization": 0.95}),
)
"""Engine, network, start of the system, precisions, first day measured, and what the harness's launch scripts of those months
set (SemiAnalysisAI/InferenceX, benchmarks/, revisions of 2025-10-29 and 2026-04-06); later rows of this table win."""
DRAFTING: Sequence[tuple[str, str, str, str]] = (
    ("tensorrt-llm", "deepseek-v3", r"release:1\.2\.0rc6\.post3$", "2026-02"),
    ("tensorrt-llm", "deepseek-v3", r"release:1\.1\.0rc2\.post2$", "2026-01-1"),
    ("sglang", "qwen3.5-397b-a17b", r"sglang:v0\.5\.9-cu130$", "2026-0"),
)
"""Engine, network, image and start of the day of runs with speculative decoding. The exports lost it, but the harness's
configs/nvidia-master.yaml and perf-changelog.yaml give these images and days to the configurations with MTP alone (InferenceX
pull requests 392, 632, 642 and 898): three drafts, one with copies of the attention."""
IMAGE = re.compile(r"(?:image=|; )(\S+/\S+:\S+)$")
MEASURED = re.compile(r"measured=(\d{4}-\d\d-\d\d)")


class Layout(NamedTuple):
    """GPUs of one engine, and over how many copies of the attention they are split."""

    gpus: int
    groups: int
    expert_ranks: int
    workers: int


class Case(NamedTuple):
    """One measured row with what it states."""

    id: str
    network: str
    engine: str
    system: str
    precision: str
    mode: str
    layout: Layout | None
    concurrency: float
    image: str
    drafts: int
    row: Mapping[str, str]

    @property
    def family(self) -> str:
        """What is held back or fitted together."""
        return "/".join(map(str, (self.network, self.engine, self.system, self.precision, self.mode, self.layout)))

    @property
    def day(self) -> str:
        """On which it was measured; of rows that do not say it, one in the middle."""
        told = MEASURED.search(self.row["silicon_data_source"])
        return told[1] if told else "2026-03-01"

    @property
    def held(self) -> bool:
        """Whether the row belongs to the half that nothing is fitted to."""
        return _hash(self.network) % 6 == 0 or _hash(self.family) % 2 == 1


def _hash(text: str) -> int:
    return int(hashlib.sha256(text.encode()).hexdigest(), 16)


def cases(path: Path, harness: silicon_harness.Harness | None = None) -> Iterator[Case]:
    """Every row of the sample."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    stating = {_measurement(row): row for row in rows if row["mode"] == "disagg" and row["decode_num_workers"]}
    images = {_measurement(row): told[1] for row in rows if (told := IMAGE.search(row["silicon_data_source"]))}
    for row in rows:
        apart = row["mode"] == "disagg"
        same = _laid_out(row, stating.get(_measurement(row), row)) if apart else row
        yield _case(same, images.get(_measurement(row), ""), _run(row, harness) if harness and apart else None)


def _laid_out(row: Mapping[str, str], stating: Mapping[str, str]) -> dict[str, str]:
    """A row with the decode workers that another export of its run states."""
    return {name: stating[name] if name.startswith("decode_") else value for name, value in row.items()}


def _run(row: Mapping[str, str], harness: silicon_harness.Harness) -> silicon_harness.Run | None:
    told = CONCURRENCY.search(row["silicon_data_source"])
    lengths = int(row["isl"]), int(row["osl"]), int(told[1]) if told else 0
    ranks = (int(_number(row, f"{part}_tp_size")) for part in ("prefill", "decode"))
    key = _network(row), ENGINES[row["backend"]], row["system"].split("_")[0], row["precision"], *lengths, *ranks
    return harness.run(key, row["backend_version"])


def _case(row: Mapping[str, str], image: str, run: silicon_harness.Run | None) -> Case:
    told = CONCURRENCY.search(row["silicon_data_source"])
    found = layout(row, float(told[1]) if told else 0.0)
    drafts = 0
    if found is None and run is not None and run.drafts is not None:
        found = Layout(run.ranks, run.ranks if run.copies else 1, run.expert_ranks, run.workers)
        drafts = run.drafts
    stated = float(told[1]) if told else _number(row, "batch_size") * (found.groups if found else 1)
    if not told and row["mode"] == "disagg" and found:
        stated = _number(row, "decode_batch_size") * found.groups * found.workers
    return Case(
        *(row["id"], _network(row), ENGINES[row["backend"]], row["system"], row["precision"], row["mode"]),
        *(found, stated, image, drafts, row),
    )


def _measurement(row: Mapping[str, str]) -> tuple[str, ...]:
    """What tells one measurement from every other: times to a dozen digits, and what was measured."""
    stated = ("silicon_ttft_ms", "silicon_tpot_ms", "backend", "system", "precision", "mode", "isl", "osl")
    return _network(row), *(row[name] for name in stated)


def _network(row: Mapping[str, str]) -> str:
    return NETWORKS.get(row["model_path"].rpartition("/")[2].lower(), "")


def layout(row: Mapping[str, str], concurrency: float) -> Layout | None:
    """The layout of the ranks that decode; None where a row does not say over how many engines its requests spread.

    Exports of one run multiply tensor by expert parallelism (64 for 8 and 8, on eight GPUs), and count data-parallel
    attention beside the ranks it lies in: where the product of a row's counts is a square of the experts', the root is meant.
    Where the concurrency is a multiple of what one engine decodes, so many engines ran, or copies of the attention in one.
    """
    part = "decode_" if row["mode"] == "disagg" else ""
    if part and not row["decode_num_workers"]:
        return None
    tensor, copies = (int(_number(row, f"{part}{name}_size")) or 1 for name in ("tp", "attention_dp"))
    slices, spread = (int(_number(row, f"{part}moe_{name}_size")) or 1 for name in ("tp", "ep"))
    workers = int(_number(row, "decode_num_workers")) if part else 1
    if slices == spread > 1 and max(tensor, copies) == slices * spread:
        return Layout(slices, slices if copies > 1 else 1, spread, workers)
    engines = concurrency / (_number(row, "batch_size") * copies) if not part and concurrency else 1
    if engines > 1 and copies == 1 and row["attention_dp_size"] == "" and engines == tensor:
        return Layout(tensor, tensor, spread, workers)
    if engines > 1 and engines == round(engines):
        return Layout(tensor * copies, copies, spread, int(engines))
    if copies > 1 and tensor == copies and spread == tensor * copies:
        return Layout(tensor, copies, tensor, workers)
    if tensor > 8 and not part:  # GPUs of a rack, which the harness ran as prefill and decode workers apart
        return None
    return Layout(tensor * copies, copies, spread, workers)


def _number(row: Mapping[str, str], name: str) -> float:
    return float(row[name] or 0)


def role(case: Case) -> Role | None:
    """The role that a row describes; None where it cannot be told."""
    checkpoint = CHECKPOINTS.get((case.network, case.precision))
    if case.layout is None or checkpoint is None or not case.concurrency:
        return None
    gpus, groups, expert_ranks, workers = case.layout
    stated: dict[str, Any] = {
        "engine": case.engine,
        "checkpoint": checkpoint,
        "accelerator": CARDS[case.system],
        "device": "gpu",
        "task": "inference",
        "replicas": workers,
        "gpus_per_pod": gpus,
        "gpus_per_replica": gpus,
        "pods_per_replica": 1,
        "target_concurrency": case.concurrency,
        "request_prompt_tokens": int(case.row["isl"]),
        "request_output_tokens": int(case.row["osl"]),
        "prefill_apart": case.mode == "disagg",
        "max_model_len": int(case.row["isl"]) + int(case.row["osl"]) + 256,
        "max_model_len_stated": True,
        **_parallel(case.engine, gpus, groups, expert_ranks),
    }
    if version := _release(case):
        stated["engine_version"] = version
    if case.engine == "tensorrt-llm":
        stated["kv_cache_dtype"] = "fp8" if case.precision else "auto"
    stated |= _settings(case)
    return Role("server", NOWHERE, {name: Field(one) for name, one in stated.items()})


def _settings(case: Case) -> dict[str, Any]:
    """What the harness that a row comes from sets beside what the row states."""
    day = case.day
    found: dict[str, Any] = {"draft_tokens": case.drafts} if case.drafts else {}
    for engine, network, image, start in DRAFTING:
        if (engine, network, "agg") != (case.engine, case.network, case.mode) or not day.startswith(start):
            continue
        if re.search(image, case.image):
            found["draft_tokens"] = 1 if case.layout and case.layout.groups > 1 else 3
    for engine, network, system, precision, since, fields in SETTINGS:
        fitting = re.match(system, case.system) and re.fullmatch(precision or ".*", case.precision)
        if (engine, network) == (case.engine, case.network) and fitting and day >= since:
            found |= fields
    return found


def _parallel(engine: str, gpus: int, groups: int, expert_ranks: int) -> dict[str, Any]:
    if engine == "vllm":
        return {"tensor_parallel": gpus // groups, "data_parallel": groups, "expert_parallel": expert_ranks > 1}
    spread = {"tensor_parallel": gpus, "data_parallel_attention": groups > 1, "expert_parallel_size": expert_ranks}
    return spread | ({"data_parallel": groups} if engine == "sglang" else {})


def _release(case: Case) -> str:
    version = case.row["backend_version"]
    if not version[:1].isdigit():
        return NEWEST[case.engine, "nightly" if "nightly" in version else ""]
    if case.engine == "tensorrt-llm" and version.startswith("0."):
        return DYNAMO.get(version[:3], "")
    return version


class Told(NamedTuple):
    """What is said about a row: TPOT and TTFT in three scenarios, the printed interval of TPOT, and both floors."""

    case: Case
    tpot: tuple[float, float, float]
    low: float
    high: float
    ttft: tuple[float, float, float]
    tpot_floor: float
    ttft_floor: float

    @property
    def measured(self) -> float:
        return _number(self.case.row, "silicon_tpot_ms") * MILLI

    @property
    def measured_ttft(self) -> float:
        return _number(self.case.row, "silicon_ttft_ms") * MILLI

    @property
    def error(self) -> float:
        """Relative to the measurement."""
        return abs(self.tpot[1] / self.measured - 1)

    @property
    def covered(self) -> bool:
        return self.low <= self.measured <= self.high


def told(case: Case) -> Told | str:
    """What gpulint says about a row, or why it says nothing."""
    described = role(case)
    if described is None:
        return "no decode workers stated" if case.layout is None else "no release of that precision"
    known = resolver.resolve(described, architecture.resolve(described.text("checkpoint")))
    weights, card = known.expected("weight_bytes_per_gpu"), known.expected("device_memory_bytes")
    if isinstance(weights, int | float) and isinstance(card, int | float) and weights > card:
        return "weights exceed the stated GPUs"
    names = ("tpot_s", "ttft_s", "tpot_floor_s", "ttft_floor_s")
    if missing := known.missing(names):
        return "needs " + ", ".join(sorted(missing))
    tpot, ttft, floor, first = (_three(known, name) for name in names)
    low, high = known.ends("tpot_s") or tpot[::2]
    return Told(case, tpot, float(low), float(high), ttft, floor[0], first[0])  # type: ignore[arg-type]


def _three(known: Facts, name: str) -> tuple[float, float, float]:
    found = known.scenarios(name)
    assert not isinstance(found, Missing)
    return tuple(float(value) for value in found)  # type: ignore[arg-type, return-value]


def line(name: str, every: Sequence[Told | str], rows: int) -> str:
    """One line of the table: how many rows are mapped, errors of TPOT, coverage, floors that reality beats."""
    found = [one for one in every if isinstance(one, Told)]
    if not found:
        return f"{name:<38}{rows:>6}{0:>7}"
    errors = sorted(one.error for one in found)
    cells = (
        errors[len(errors) // 2],
        errors[min(len(errors) - 1, int(0.9 * len(errors)))],
        _share(one.covered for one in found),
    )
    band = _share(one.ttft[0] <= one.measured_ttft <= one.ttft[2] for one in found)
    beaten = sum(one.measured < one.tpot_floor or one.measured_ttft < one.ttft_floor for one in found)
    shown = "".join(f"{cell:>9.1%}" for cell in (*cells, band))
    return f"{name:<38}{rows:>6}{len(found):>7}{shown}{beaten:>8}"


def _share(flags: Iterable[bool]) -> float:
    held = list(flags)
    return sum(held) / len(held)


HEAD = f"{'':<38}{'rows':>6}{'mapped':>7}{'median':>9}{'p90':>9}{'covered':>9}{'TTFT in':>9}{'floors':>8}"


def report(pairs: Sequence[tuple[Case, Told | str]]) -> Iterator[str]:
    """The tables as text."""
    yield HEAD
    groups: dict[str, list[tuple[Case, Told | str]]] = {}
    for case, found in pairs:
        own = f"{case.engine} {case.system} {case.precision or '-'} {case.mode}"
        for name in (
            "all",
            f"half: {'held' if case.held else 'fitted'}",
            f"mode: {case.mode}",
            f"network: {case.network}",
            own,
        ):
            groups.setdefault(name, []).append((case, found))
    for name in sorted(groups, key=lambda one: (":" not in one and one != "all", one)):
        yield line(name, [found for _, found in groups[name]], len(groups[name]))
    yield ""
    for why, rows in Counter(found for _, found in pairs if isinstance(found, str)).most_common():
        yield f"unmapped: {why}: {rows}"


def compared(python: Path, every: Sequence[Told]) -> Iterator[str]:
    """The same aggregated rows by aiconfigurator's tables, and both errors over those that both answer."""
    asked = [one for one in every if one.case.mode == "agg"]
    lines = "".join(json.dumps(_question(one.case)) + "\n" for one in asked)
    ran = subprocess.run([str(python), str(PEER)], input=lines, text=True, capture_output=True, check=True)
    answers = [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]
    both = [
        (one, answer["tpot_ms"] * MILLI) for one, answer in zip(asked, answers, strict=True) if answer.get("tpot_ms")
    ]
    for name, rows in (("all", both), ("held", [pair for pair in both if pair[0].case.held])):
        ours = sorted(one.error for one, _ in rows)
        theirs = sorted(abs(value / one.measured - 1) for one, value in rows)
        ends = [f"{side[len(side) // 2]:.1%} / {side[int(0.9 * len(side))]:.1%}" for side in (ours, theirs) if side]
        yield f"aiconfigurator, {name}: {len(rows)} of {len(asked)} asked; ours, theirs (median / p90): {', '.join(ends)}"
    for why, rows_ in Counter(answer.get("problem", "") for answer in answers if not answer.get("tpot_ms")).most_common(
        5
    ):
        yield f"  no answer: {rows_} {why}"


def _question(case: Case) -> dict[str, Any]:
    assert case.layout is not None
    gpus, groups, expert_ranks, workers = case.layout
    return {
        "model": PEER_MODELS.get(case.row["model_path"], case.row["model_path"]),
        "system": case.system,
        "backend": case.row["backend"],
        "isl": int(case.row["isl"]),
        "osl": int(case.row["osl"]),
        "batch_size": max(1, round(case.concurrency / groups / workers)),
        "tp": gpus // groups,
        "copies": groups,
        "moe_tp": gpus // expert_ranks if expert_ranks > 1 else (1 if groups > 1 else gpus),
        "moe_ep": expert_ranks if expert_ranks > 1 else (gpus if groups > 1 else 1),
        "gemm": case.row["gemm_quant_mode"],
        "moe": case.row["moe_quant_mode"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sample", type=Path)
    parser.add_argument("--half", choices=("fitted", "held"))
    parser.add_argument("--every", type=int, default=1, help="only every n-th row of those")
    parser.add_argument("--dump", type=Path, help="what is said about each mapped row, as JSON lines")
    parser.add_argument("--aiconfigurator", type=Path, help="a Python that has aiconfigurator")
    parser.add_argument("--harness", type=Path, nargs="+", help="revisions of the harness's configuration")
    options = parser.parse_args()
    harness = silicon_harness.Harness(options.harness) if options.harness else None
    wanted = [
        case for case in cases(options.sample, harness) if options.half in (None, "held" if case.held else "fitted")
    ]
    pairs = [(case, told(case)) for case in wanted[:: options.every]]
    print("\n".join(report(pairs)))
    if options.aiconfigurator:
        print("\n".join(compared(options.aiconfigurator, [one for _, one in pairs if isinstance(one, Told)])))
    if options.dump:
        rows = (one for _, one in pairs if isinstance(one, Told))
        kept = ({**one._asdict(), "case": one.case.id, "held": one.case.held, "measured": one.measured} for one in rows)
        options.dump.write_text("".join(json.dumps(one) + "\n" for one in kept), encoding="utf-8")


if __name__ == "__main__":
    main()
