"""Planned growth: it is reported unless today's load is reported already."""

from __future__ import annotations

import pytest
import samples

SPEC = """\
apiVersion: gpulint/v1
kind: InferenceService
metadata: {{name: chat}}
spec:
  objective: {{{objective}, prompt-tokens: 2000, output-tokens: 300}}
  roles:
    - name: server
      engine: vllm
      engine_version: 0.11.0
      checkpoint: Qwen/Qwen3-8B
      accelerator: h100-sxm-80gb
      gpus_per_pod: 1
      max_model_len: 8192
      replicas: 1
"""
"""The caches hold 170 requests of 2,300 tokens, and 168 at worst; 4,448 tokens/s are produced, and 2,017 at worst."""


@pytest.mark.parametrize(
    ("objective", "rule", "severity"),
    [
        ("concurrency: 100, growth: 2", "growth-beyond-kv-cache", "note"),
        ("concurrency: 170, growth: 1.5", "growth-beyond-kv-cache", "note"),
        ("concurrency: 175, growth: 1.5", "concurrency-beyond-kv-cache", "note"),
        ("concurrency: 200, growth: 1.5", "concurrency-beyond-kv-cache", "warning"),
        ("output-tokens-per-s: 1000, growth: 9", "growth-beyond-throughput", "note"),
        ("output-tokens-per-s: 3000, growth: 8", "growth-beyond-throughput", "note"),
        ("output-tokens-per-s: 6000, growth: 8", "throughput-likely-missed", "note"),
        ("requests-per-s: 10, growth: 4", "growth-beyond-throughput", "note"),
    ],
)
def test_a_load_that_misses_only_in_the_worst_scenario_does_not_hide_its_growth(
    objective: str, rule: str, severity: str
) -> None:
    found = samples.report(SPEC.format(objective=objective)).open
    assert [(one.rule, one.severity.word) for one in found] == [(rule, severity)]


@pytest.mark.parametrize(
    "objective",
    ["concurrency: 165", "concurrency: 170, growth: 1", "concurrency: 50, growth: 3", "output-tokens-per-s: 3000"],
)
def test_no_growth_and_growth_that_fits_are_silent(objective: str) -> None:
    assert samples.report(SPEC.format(objective=objective)).open == ()
