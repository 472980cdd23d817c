"""Objectives: the keys for declaring service-level objectives and loads, and the quantity of
each.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from gpulint import units
from gpulint.workload import Value


class ObjectiveKey(NamedTuple):
    """A key: its quantity, how its value is parsed, and what it means."""

    quantity: str
    read: Callable[[str | float], Value]
    meaning: str


def _parse_positive(value: str | float) -> Value:
    amount = units.amount_of(value)
    if amount <= 0:
        raise ValueError(f"{value} is not greater than 0")
    return amount


def _parse_whole(value: str | float) -> Value:
    amount = _parse_positive(value)
    if not isinstance(amount, int):
        raise ValueError(f"{value} is not a whole number such as 300 or 2k")
    return amount


def _parse_time(value: str | float) -> Value:
    seconds = units.seconds_of(value)
    if seconds <= 0:
        raise ValueError(f"{value} is not greater than 0")
    return seconds


def _parse_growth(value: str | float) -> Value:
    growth = units.amount_of(value)
    if not 1 <= growth <= 1000:
        raise ValueError(f"{value} is not a growth factor from 1 to 1000; write 1.5 for 50% more")
    return growth


WORDS: Mapping[str, ObjectiveKey] = {
    "tpot": ObjectiveKey("target_tpot_s", _parse_time, "time per output token, such as 50ms"),
    "ttft": ObjectiveKey("target_ttft_s", _parse_time, "time from a request to its first token, such as 1s"),
    "output-tokens-per-s": ObjectiveKey(
        "target_tokens_per_s", _parse_positive, "output tokens of the whole service per second"
    ),
    "requests-per-s": ObjectiveKey(
        "target_requests_per_s", _parse_positive, "requests of the whole service per second"
    ),
    "concurrency": ObjectiveKey("target_concurrency", _parse_whole, "concurrent requests of the whole service"),
    "growth": ObjectiveKey("target_growth", _parse_growth, "planned load relative to today's: 1.5 means 50% more"),
    "prompt-tokens": ObjectiveKey("request_prompt_tokens", _parse_whole, "tokens of a typical prompt"),
    "output-tokens": ObjectiveKey("request_output_tokens", _parse_whole, "tokens of a typical answer"),
    "time-to-train": ObjectiveKey("target_training_s", _parse_time, "time that a training run may take, such as 72h"),
    "tokens": ObjectiveKey(
        "training_total_tokens", _parse_whole, "tokens that a training run computes in total, such as 2T"
    ),
}
SYNONYMS: Mapping[str, str] = {
    "itl": "tpot",
    "inter-token-latency": "tpot",
    "time-per-output-token": "tpot",
    "time-to-first-token": "ttft",
    "isl": "prompt-tokens",
    "input-tokens": "prompt-tokens",
    "osl": "output-tokens",
    "qps": "requests-per-s",
    "rps": "requests-per-s",
    "requests-per-second": "requests-per-s",
    "throughput": "output-tokens-per-s",
    "tokens-per-s": "output-tokens-per-s",
    "tokens-per-second": "output-tokens-per-s",
    "users": "concurrency",
    "total-tokens": "tokens",
    "training-tokens": "tokens",
    "train-time": "time-to-train",
}
"""Common synonyms of the keys. Messages name the right key; the synonym itself is never read."""


def parse(word: str, value: object) -> Value:
    """Parse the value of a key into base units; ValueError says what is wrong with it."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError("write a number, or a time with its unit")
    return WORDS[word].read(value)


def suggest_key(word: str, words: Iterable[str] = WORDS) -> str:
    """Return the end of a message that proposes a key for an unknown word; empty if none is
    near.
    """
    plain = word.lower().replace("_", "-")
    other = SYNONYMS.get(plain) or next(iter(difflib.get_close_matches(plain, words, n=1)), "")
    return f"; did you mean {other}?" if other else ""
