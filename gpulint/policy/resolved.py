"""Resolved policy: options and policies for a run and for each file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gpulint.catalog.offers import EVERYTHING, Available
from gpulint.policy.config.governance import NONE, PolicyRequirements
from gpulint.policy.config.settings import Hint, NamedFabric, NamedPool
from gpulint.policy.rules.rule import Rule
from gpulint.report.model import Severity
from gpulint.source.documents import Document

if TYPE_CHECKING:
    from gpulint.policy.waivers.waivers import Suppression, WaiverRequirements


@dataclass(frozen=True, slots=True)
class ResolvedPolicy:
    """Resolved options and policies. `governed` returns those of one file, if they differ.

    `unchecked` is the rule about files that were not checked. `facility` is the shown path of the
    facility file. `whole` is set if the run reads all files whose workloads may run there.
    """

    rules: tuple[Rule, ...]
    every_rule: tuple[str, ...] = ()
    accelerator: str = ""
    hints: tuple[Hint, ...] = ()
    pools: tuple[NamedPool, ...] = ()
    like: Mapping[str, str] | None = None
    alternatives: bool = True
    fabrics: tuple[NamedFabric, ...] = ()
    available: Available = EVERYTHING
    fail_on: Severity = Severity.ERROR
    waivers: tuple[Suppression, ...] = ()
    unchecked: Rule | None = None
    demands: WaiverRequirements | None = None
    governance: PolicyRequirements = NONE
    facility: str = ""
    whole: bool = False
    governed: Callable[[str], ResolvedPolicy] | None = None
    vouched: Callable[[str, Sequence[Suppression], Sequence[Document]], Sequence[Suppression]] | None = None

    def resolve(self, path: str) -> ResolvedPolicy:
        """Return the resolved policy of one file: the nearest policy with its settings for that
        path.
        """
        if self.governed is None:
            return self
        found = self.governed(path)
        if found.alternatives == self.alternatives and found.governed == self.governed:
            return found
        return replace(found, alternatives=self.alternatives, governed=self.governed)
