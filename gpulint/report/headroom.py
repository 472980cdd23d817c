"""Headroom in words: the share of the memory that is free, or by how much the need exceeds it."""

from __future__ import annotations

PERCENT = 100


def render(low: float, high: float) -> str:
    """Return what is free between two ends, as shares of the memory; a lack of memory is an excess, never a minus.

    >>> render(0.12, 0.17), render(0.12, 0.12), render(-0.02, 0.23), render(-0.39, -0.23), render(-2.49, -2.41)
    ('12 to 17 %', '12 %', '2 % over to 23 % free', '23 to 39 % over', 'needs 3.4 to 3.5 × the memory')
    """
    least, most = round(low * PERCENT), round(high * PERCENT)
    if least >= 0:
        return f"{_join(least, most)} %"
    if most >= 0:
        return f"{-least} % over to {most} % free"
    if least > -PERCENT:
        return f"{_join(-most, -least)} % over"
    return f"needs {_join(f'{1 - high:.1f}', f'{1 - low:.1f}')} × the memory"


def _join(low: object, high: object) -> str:
    return f"{low}" if low == high else f"{low} to {high}"
