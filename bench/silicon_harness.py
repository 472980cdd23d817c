"""What the public harness behind most measured rows ran, by its own configuration: workers that decode, and drafts.

SemiAnalysisAI/InferenceX, configs/nvidia-master.yaml (in .github until July 2026), of which several revisions may be given;
none is part of this project. A measured row is told by network, engine, system, precision, lengths,
concurrency, ranks of the prefill and of the decode workers, and release; it says nothing where several runs fit that differ.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ruamel.yaml import YAML

PREFIXES = {
    "dsr1": "deepseek-v3",
    "kimik2.5": "kimi-k2.5",
    "gptoss": "gpt-oss-120b",
    "glm5": "glm-5",
    "qwen3.5": "qwen3.5-397b-a17b",
    "minimaxm2.5": "minimax-m2.5",
}
FRAMEWORKS = {"dynamo-trt": "tensorrt-llm", "dynamo-sglang": "sglang", "dynamo-vllm": "vllm"}
DEPTH = re.compile(r"_mtp(\d)\.yaml")
TAG = re.compile(r":v?([^:]*?)(?:-cu\d+.*)?$")

Key = tuple[Any, ...]


class Run(NamedTuple):
    """Workers that decode, copies of the attention in each, ranks of the experts, drafts; None where their number is not said."""

    workers: int
    ranks: int
    expert_ranks: int
    copies: bool
    drafts: int | None


class Harness:
    """Runs of some revisions of the configuration by what a measured row says."""

    def __init__(self, paths: Iterable[Path]) -> None:
        self._runs: dict[Key, set[tuple[str, Run]]] = defaultdict(set)
        for path in paths:
            for config in YAML(typ="safe").load(path).values():
                for key, tag, run in _runs(config):
                    self._runs[key].add((tag, run))

    def run(self, key: Key, release: str) -> Run | None:
        """The one run that fits; None where there is none, or several that differ."""
        fitting = self._runs.get(key, set())
        named = {run for tag, run in fitting if release and (tag.startswith(release) or release.startswith(tag))}
        one = named or {run for _, run in fitting}
        return next(iter(one)) if len(one) == 1 else None


def _runs(config: Mapping[str, Any]) -> Iterator[tuple[Key, str, Run]]:
    engine, network = FRAMEWORKS.get(config["framework"]), PREFIXES.get(config["model-prefix"])
    tag = TAG.search(config["image"])
    if not engine or not network:
        return
    for lengths in config.get("seq-len-configs", []):
        for found in lengths.get("search-space", []):
            if "decode" not in found:
                continue
            prefill = found["prefill"]
            told = network, engine, config["runner"].split("-")[0], config["precision"], lengths["isl"], lengths["osl"]
            for requests in found.get("conc-list") or []:
                key = *told, requests, prefill["tp"], found["decode"]["tp"]
                yield key, tag[1] if tag else "", _run(found)


def _run(found: Mapping[str, Any]) -> Run:
    decode = found["decode"]
    depth = DEPTH.search(" ".join(map(str, found["prefill"].get("additional-settings", []))))
    drafts = (int(depth[1]) if depth else None) if found.get("spec-decoding", "none") == "mtp" else 0
    return Run(decode["num-worker"], decode["tp"], decode["ep"], bool(decode.get("dp-attn")), drafts)
