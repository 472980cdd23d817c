"""Suggestion: a right-sized alternative, and the changes of the text that make it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, NamedTuple

from gpulint.report.fact import Facts, Scalar
from gpulint.report.json_keys import HIDDEN, Inlined, Key, Words
from gpulint.report.location import Location

COUNT = re.compile(r"(?<!\d)\d++(?:\.\d++)?$")
COUNTED = frozenset({"gpus_per_pod", "gpu_request", "replicas", "pods_per_replica", "instance_type", "accelerator"})
"""Quantities that cost money; where no price is known, more of them is not the same cost."""
HOW = Words(("replace", "argument", "key", "item", "remove"))


class Replacement(NamedTuple):
    """Characters of a file and the text that replaces them; at an empty span the text is inserted."""

    location: Annotated[Location, Inlined()]
    text: str


class Edit(NamedTuple):
    """A change of one quantity's text; without a location nothing in the files can declare it."""

    quantity: str
    location: Annotated[Location | None, Inlined()]
    old: str
    """The text at the location; empty: `new` is inserted."""
    new: str
    how: Annotated[str, HOW] = "replace"
    """`argument` adds a word after the one at the location, `key` a key to its mapping, `item` an item to its list; `remove`
    takes the entry out.
    """
    exact: Annotated[Replacement | None, Key("replacement")] = None
    """The same change as characters of the file; null: they are not certain, and --fix leaves it alone."""

    @property
    def asks_for_more(self) -> bool:
        """Whether a quantity that costs money grows, or changes in a way that may cost more."""
        if self.quantity not in COUNTED:
            return False
        before, after = COUNT.search(self.old), COUNT.search(self.new)
        return before is None or after is None or float(after[0]) > float(before[0])


class Suggestion(NamedTuple):
    """A right-sized alternative that was checked by the same rules and adds no finding in any scenario."""

    title: str
    edits: Annotated[tuple[Edit, ...], Key("changes")]
    facts: Facts = ()
    trade_off: str = ""
    """What gets worse; empty: nothing."""
    cost_before_usd_per_hour: float | None = None
    cost_after_usd_per_hour: float | None = None
    prices: str = ""
    """Whose prices these are, where they apply, of which day and how old."""
    values: Mapping[str, Scalar] = MappingProxyType({})
    """The quantities that it sets."""
    answers: tuple[str, ...] = ()
    """The questions of gpulint suggest that it answers best."""
    hours: Annotated[float, HIDDEN] = 1.0
    """How long it takes for the work of one hour today."""
    learns_otherwise: Annotated[bool, HIDDEN] = False
    """A run would end with other weights."""

    @property
    def is_safe(self) -> bool:
        """Whether it has no trade-off and costs no more, if prices are known; else, whether it asks for no more."""
        before, after = self.cost_before_usd_per_hour, self.cost_after_usd_per_hour
        if self.trade_off:
            return False
        if before is not None and after is not None:
            return after <= before
        return not any(edit.asks_for_more for edit in self.edits)
