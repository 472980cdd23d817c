"""JSON text: what Python knows and JSON does not is null, and every other value stays as it is."""

from __future__ import annotations

import datetime
import json
import math

import pytest

from gpulint.report import json_text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (math.nan, "null"),
        (math.inf, "null"),
        (-math.inf, "null"),
        pytest.param(10**5000, "null", id="5,001 digits"),
        ({"a": (1.5, math.nan)}, '{"a": [1.5, null]}'),
        ({math.inf: 1}, '{"None": 1}'),
        (datetime.date(2026, 11, 22), '"2026-11-22"'),
    ],
)
def test_what_json_cannot_hold_becomes_null_or_a_text(value: object, text: str) -> None:
    assert json.loads(json_text.encode(value)) == json.loads(text)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0\n"),
        (1e300, "1e+300\n"),
        (2**63, "9223372036854775808\n"),
        (True, "true\n"),
        (None, "null\n"),
        ("NaN", '"NaN"\n'),
        ("größte", '"größte"\n'),
        ("a\u202eb\x9b", '"a\\u202eb\\u009b"\n'),
        ("\udcff", '"\\udcff"\n'),
    ],
)
def test_other_values_are_written_as_they_are(value: object, text: str) -> None:
    assert json_text.encode(value) == text
