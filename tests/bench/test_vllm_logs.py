"""The start-up logs that judge vLLM's terms are drawn by a rule, not by their figures."""

from __future__ import annotations

import csv
import hashlib

from folders import ROOT

LOGS = ROOT / "bench" / "vllm_logs.csv"
ROWS = list(csv.DictReader(line for line in LOGS.read_text("utf-8").splitlines() if not line.startswith("#")))


def test_a_hash_of_the_source_draws_the_held_half() -> None:
    for row in ROWS:
        drawn = hashlib.sha256(row["source"].encode()).hexdigest()[0] in "89abcdef"
        assert row["half"] == ("held" if drawn else "fitted"), row["run"]


def test_both_halves_are_large_and_no_run_stands_twice() -> None:
    halves = [row["half"] for row in ROWS]
    assert min(halves.count("held"), halves.count("fitted")) >= 20
    assert len({row["run"] for row in ROWS}) == len(ROWS) >= 40


def test_every_log_has_its_source_its_date_and_a_figure() -> None:
    figures = ("weights_gib", "activation_gib", "non_torch_gib", "graphs_gib", "kv_cache_gib", "kv_cache_tokens")
    for row in ROWS:
        assert row["source"] and row["date"], row["run"]
        assert any(row[name] for name in figures), row["run"]
