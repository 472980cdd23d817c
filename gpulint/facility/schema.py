"""The contract of a Facility file as a pydantic model, built from the glossary's rows of each kind
of component.
"""

from __future__ import annotations

import functools
from typing import Any

import pydantic

from gpulint import units
from gpulint.facility.model import HOLDS, LISTS, NAMELESS, list_keys
from gpulint.facility.reader import API_VERSION, KIND
from gpulint.facts.glossary import Quantity

TYPES: dict[str, Any] = {
    "number": int | float | str,
    "flag": bool,
    "text": str | int | float | bool,
    "map": dict[str, str | int | float | None],
    "list": list[str],
}
KEYS = {kind: key for key, kind in LISTS.items()}


@functools.cache
def facility_model() -> type[pydantic.BaseModel]:
    """Return the model of the whole file."""
    strict = pydantic.ConfigDict(extra="forbid", title="gpulint/v1")
    metadata = pydantic.create_model(
        "FacilityMetadata", name=(str | int | float | bool, ...), __config__=pydantic.ConfigDict(extra="allow")
    )
    model: type[pydantic.BaseModel] = pydantic.create_model(
        "Facility",
        __config__=strict,
        apiVersion=(str, pydantic.Field(pattern=f"^{API_VERSION}$")),
        kind=(str, pydantic.Field(pattern=f"^{KIND}$")),
        metadata=(metadata, ...),
        spec=(component_model("facility"), ...),
    )
    return model


@functools.cache
def component_model(kind: str) -> type[pydantic.BaseModel]:
    """Return the model of one kind of component, with those that it may hold."""
    fields: dict[str, Any] = {
        key: (TYPES[quantity.type] | None, pydantic.Field(None, description=_describe(quantity)))
        for key, quantity in sorted(list_keys(kind).items())
    }
    named = pydantic.Field(
        ... if kind not in NAMELESS else None, description="its name in reports; r[01-08] stands for eight components"
    )
    if kind != "facility":
        fields["name"] = (TYPES["text"] if kind not in NAMELESS else TYPES["text"] | None, named)
    for held in sorted(HOLDS.get(kind, ())):
        text = f"the {KEYS[held].replace('_', ' ')} in it"
        fields[KEYS[held]] = (list[component_model(held)], pydantic.Field([], description=text))  # type: ignore[misc]
    strict = pydantic.ConfigDict(extra="forbid")
    model: type[pydantic.BaseModel] = pydantic.create_model(kind.title().replace("_", ""), __config__=strict, **fields)
    return model


def _describe(quantity: Quantity) -> str:
    closed = f": {', '.join(quantity.words)}" if quantity.words else ""
    return f"{quantity.meaning}{closed}" + (f" [{units.name_base(quantity.unit)}]" if quantity.unit else "")
