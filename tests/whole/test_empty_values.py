"""An empty value states as little as a missing key, in every format, and is no fault of gpulint."""

from __future__ import annotations

import random
import re
from collections import defaultdict

import empty_values
import pytest
from empty_values import Case

PARTS = 8
SAMPLE = 150
OF_A_KEY = 3
"""How many leaves of one key the sweep takes: nine of ten leaves repeat a key of another sample."""
EXCEPTIONS = {
    r"(?:limits|requests)\.(?!cpu$|memory$)": "a container asks for the device that the key names; how many is unknown",
    r"^(?:native|facility) (?:kind|metadata\.name|spec\..*\.name)$": "a required key: the finding shows the empty value",
    r"tensor_paralell$": "a misspelled key of gpulint's own format is reported with any value",
    r"^(?:accelerate distributed_type|axolotl base_model|nemo trainer\.devices)$": "the key shows the format of the file",
    r"^litgpt (?:checkpoint_dir|train\.micro_batch_size)$": "the key shows the format of the file",
    r"^(?:nanotron tokens\.batch_accumulation_per_replica|nemo_rl policy\.model_name)$": "the key shows the format of the file",
    r"^nemo model\.activations_checkpoint_granularity$": "null is the word of its schema for no recomputation",
    r"^llm_foundry variables\.max_seq_len$": "a reference leads to this key and not to one of the same name elsewhere",
}
"""Keys that state something without a value, each with the reason."""

pytestmark = pytest.mark.first


def is_exception(case: Case) -> bool:
    return any(re.search(pattern, case.name) for pattern in EXCEPTIONS)


def find_fault(case: Case) -> str:
    """What is wrong with the reports on an empty value; empty if nothing is."""
    empty = empty_values.report(case, is_missing=False)
    if empty.failures:
        return f"{case.name}: {empty.failures[0]}"
    missing = empty_values.report(case, is_missing=True)
    same = is_exception(case) or empty_values.describe(empty) == empty_values.describe(missing)
    return "" if same else f"{case.name} of {case.spec.path}: an empty value differs from a missing key"


def draw(cases: list[Case], count: int) -> list[Case]:
    """So many cases of different keys, the same in every run."""
    by_key = defaultdict(list)
    for case in cases:
        by_key[case.name].append(case)
    drawn = random.Random(7)
    return [drawn.choice(by_key[name]) for name in drawn.sample(sorted(by_key), count)]


def list_part(part: int) -> list[Case]:
    """Return a part of the cases of the sweep: all keys, each with some of its leaves."""
    by_key = defaultdict(list)
    for case in empty_values.collect():
        by_key[case.name].append(case)
    drawn = random.Random(11)
    taken = [case for name in sorted(by_key) for case in drawn.sample(by_key[name], min(OF_A_KEY, len(by_key[name])))]
    return taken[part::PARTS]


def test_an_empty_value_is_not_stated() -> None:
    assert list(filter(None, map(find_fault, draw(list(empty_values.collect()), SAMPLE)))) == []


@pytest.mark.sweep
@pytest.mark.parametrize("part", range(PARTS))
def test_an_empty_value_is_not_stated_at_any_key_of_any_sample(part: int) -> None:
    assert list(filter(None, map(find_fault, list_part(part)))) == []


@pytest.mark.sweep
@pytest.mark.parametrize("part", range(PARTS))
def test_an_empty_text_at_any_key_of_any_sample_is_no_fault_of_gpulint(part: int) -> None:
    assert [case.name for case in list_part(part) if empty_values.report_empty_text(case).failures] == []


@pytest.mark.parametrize("pattern", EXCEPTIONS)
def test_every_exception_is_a_key_of_a_sample(pattern: str) -> None:
    assert any(re.search(pattern, case.name) for case in empty_values.collect())
