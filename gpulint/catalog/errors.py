"""Errors: what a look-up or a formula raises when nothing states what it needs."""

from __future__ import annotations


class MissingInput(LookupError):
    """A formula needs a quantity that nothing states; the first argument is the name of the quantity."""
