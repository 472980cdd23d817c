"""Tool: what wrote a report, and which catalog it looked up in."""

from __future__ import annotations

from typing import Literal, NamedTuple

from gpulint.version import __version__


class Tool(NamedTuple):
    """The program that wrote the report."""

    name: Literal["gpulint"]
    version: str


THIS = Tool("gpulint", __version__)
"""This program."""


class Catalog(NamedTuple):
    """The catalog that it looked up in."""

    date: str
