"""Organisation: what the layers of a policy demand of workloads, each demand with its place."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Iterator, Sequence

from gpulint import units
from gpulint.catalog import hardware
from gpulint.catalog import package_data as shipped
from gpulint.policy.config import schema
from gpulint.policy.config.did_you_mean import near
from gpulint.policy.config.governance import NONE, Budget, Governance, Permitted, Requirement
from gpulint.policy.config.merge import Part
from gpulint.policy.config.packs import Layer
from gpulint.policy.config.settings import Settings, SettingsError
from gpulint.workload import Origin

KEYS = frozenset({"thresholds", "accelerators", "require", "budgets"})


def of(stated: schema.PolicyFile, layers: Sequence[Layer], parts: Sequence[Part]) -> Governance:
    """What a policy demands; `parts` are its layers and the overrides of them that hold."""
    if not any(KEYS & part.stated.keys() for part in parts):
        return NONE
    return Governance(
        thresholds=dict(_thresholds(stated)),
        permitted=Permitted(stated.accelerators.allowed, stated.accelerators.forbidden, _last(parts, "accelerators")),
        requirements=tuple(one for layer in layers for one in _requirements(layer)),
        budgets=tuple(one for layer in layers for one in _budgets(layer)),
        team_label=stated.team_label,
    )


def _thresholds(stated: schema.PolicyFile) -> Iterator[tuple[str, float]]:
    for name, value in stated.thresholds.model_dump(exclude_unset=True).items():
        yield name, units.parse(value, str(shipped.glossary()[name]["unit"]))


def _last(parts: Sequence[Part], key: str) -> Origin | None:
    """Where the last part that states a key does so."""
    at = [
        Origin(part.layer.document, (*part.layer.inside, *part.inside, key), key=True)
        for part in parts
        if key in part.stated
    ]
    return at[-1] if at else None


def _origin(layer: Layer, key: str, index: int) -> Origin:
    return Origin(layer.document, (*layer.inside, key, index))


def _requirements(layer: Layer) -> Iterator[Requirement]:
    for index, entry in enumerate(layer.stated.get("require", ())):
        one = schema.RequireFile.model_validate(entry)
        yield Requirement(
            paths=tuple(layer.globs(("require", index, "paths"))),
            workload=one.workload,
            task=one.task,
            labels=one.labels,
            annotations=one.annotations,
            objective=one.objective,
            facts=one.facts,
            origin=_origin(layer, "require", index),
        )


def _budgets(layer: Layer) -> Iterator[Budget]:
    for index, entry in enumerate(layer.stated.get("budgets", ())):
        one = schema.BudgetFile.model_validate(entry)
        whose = [f"team {one.team}"] if one.team else []
        yield Budget(
            name=" in ".join([*whose, *([", ".join(one.paths)] if one.paths else [])]),
            paths=tuple(layer.globs(("budgets", index, "paths"))),
            team=one.team,
            gpus=one.gpus,
            usd_per_hour=one.usd_per_hour,
            power_w=None if one.kw is None else one.kw * units.THOUSAND,
            place=layer.place(("budgets", index)),
            origin=_origin(layer, "budgets", index),
        )


# ---- accelerators


def barred(found: Settings) -> frozenset[str]:
    """The accelerators of the catalog that nobody may use; SettingsError for a name that it does not have."""
    permitted = found.governance.permitted
    if not permitted.allowed and not permitted.forbidden:
        return frozenset()
    allowed, forbidden = (
        frozenset(_matching(found, side, patterns))
        for side, patterns in (("allowed", permitted.allowed), ("forbidden", permitted.forbidden))
    )
    every = {one.id for one in hardware.list_accelerators()}
    return frozenset((every - allowed if permitted.allowed else set()) | forbidden)


def _matching(found: Settings, side: str, patterns: Iterable[str]) -> Iterator[str]:
    for index, pattern in enumerate(patterns):
        product = hardware.named(pattern)
        ids = (
            [product.id]
            if product
            else fnmatch.filter((one.id for one in hardware.list_accelerators()), pattern.lower())
        )
        if not ids:
            similar = near(pattern, (one.id for one in hardware.list_accelerators()))
            place = found.place("accelerators", side, index)
            raise SettingsError(f"{place}: no accelerator of the catalog is called {pattern}{similar}")
        yield from ids
