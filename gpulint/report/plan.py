"""Plan: what else a role could run on, as `gpulint suggest` lists it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Literal, NamedTuple

from gpulint.report.fact import Facts
from gpulint.report.json_keys import Inlined
from gpulint.report.location import Location
from gpulint.report.suggestion import Suggestion
from gpulint.report.tool import Catalog, Tool
from gpulint.report.workload_summary import Fit


class Plan(NamedTuple):
    """What else one role could run on."""

    workload: str
    role: str
    location: Annotated[Location, Inlined()]
    now: str = ""
    """The architecture on its accelerators, in words."""
    cures: tuple[str, ...] = ()
    """The rules that fire today and that every option answers."""
    leaves: tuple[str, ...] = ()
    """Those that no option answers."""
    facts: Facts = ()
    """Today's figures."""
    options: tuple[Suggestion, ...] = ()
    """The best first; none adds a finding."""
    refused: Mapping[str, int] = MappingProxyType({})
    """How many shapes were left out, by the reason."""
    needs: tuple[str, ...] = ()
    """What would have to be stated before any can be listed."""
    smallest: tuple[Fit, ...] = ()
    """What fits if no file names the accelerator, the cheapest first."""
    too_small: tuple[str, ...] = ()
    """The accelerators that it does not fit on in the declared layout."""


class PlanFile(NamedTuple):
    """What `gpulint suggest` found."""

    format: Literal["gpulint-plan/1"]
    tool: Tool
    catalog: Catalog
    plans: tuple[Plan, ...]
