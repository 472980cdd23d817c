"""JSON text: data as every reader of JSON accepts it, without characters that a terminal would obey."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping

OBEYED = re.compile(
    r"[\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]"
)
"""Characters that JSON allows and a terminal may obey or hide."""
INTEGER_MAX = 10**1000
"""Python prints no integer of more than 4,300 digits, and few readers of JSON take one of 1,000."""


def encode(data: object) -> str:
    """Return data as one JSON text that ends in a newline; a number that JSON cannot hold becomes null."""
    try:
        text = _dump(data)
    except ValueError:
        text = _dump(_replace_numbers(data))
    return OBEYED.sub(lambda match: json.dumps(match[0])[1:-1], text) + "\n"


def _dump(data: object) -> str:
    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False, default=str)


def _replace_numbers(value: object) -> object:
    """Return data with null in place of NaN, of an infinity, and of an integer that cannot be printed."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, int) and not isinstance(value, bool):
        return value if abs(value) < INTEGER_MAX else None
    if isinstance(value, Mapping):
        return {_name_key(key): _replace_numbers(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_replace_numbers(entry) for entry in value]
    return value


def _name_key(key: object) -> str:
    """Return a key as a text, as JSON requires it."""
    return key if isinstance(key, str) else f"{_replace_numbers(key)}"
