"""Errors of the operating system, in words."""

from __future__ import annotations


def explain(error: OSError) -> str:
    """Return why the system refused something, in words that follow the name of the file or program."""
    return error.strerror.lower() if error.strerror else str(error)
