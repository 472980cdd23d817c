"""Fact: a named quantity with its value in the best, the expected and the worst scenario."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Generic, NamedTuple, TypeVar

from gpulint.report.json_keys import BY_NAME, HIDDEN, Inlined

T = TypeVar("T")
Scalar = bool | int | float | str | tuple[str, ...] | Mapping[str, str] | None
"""What the value of a fact can be."""


class Scenarios(NamedTuple, Generic[T]):
    """One value in each scenario."""

    best: T
    expected: T
    worst: T


class Fact(NamedTuple):
    """A fact in base units: one value in each scenario."""

    name: Annotated[str, HIDDEN]
    unit: str
    """bytes, bytes_per_s, tokens, w …; empty for counts and words"""
    values: Annotated[Scenarios[Scalar], Inlined()]


Facts = Annotated[tuple[Fact, ...], BY_NAME]
"""Facts as a record carries them."""
