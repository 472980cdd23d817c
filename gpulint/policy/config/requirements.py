"""Policy requirements: thresholds, allowed accelerators, required declarations and budgets, with locations."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Iterator, Sequence

from gpulint import units
from gpulint.catalog import hardware, package_data
from gpulint.policy.config import schema
from gpulint.policy.config.files import SettingsError
from gpulint.policy.config.governance import NONE, AllowedAccelerators, Budget, PolicyRequirements, Requirement
from gpulint.policy.config.layer import Layer, Part
from gpulint.policy.config.settings import Settings
from gpulint.policy.did_you_mean import suggest
from gpulint.workload import Origin

KEYS = frozenset({"thresholds", "accelerators", "require", "budgets"})


def read_requirements(stated: schema.PolicyFile, layers: Sequence[Layer], parts: Sequence[Part]) -> PolicyRequirements:
    """Return the requirements of a policy. `parts` are its layers and the overrides that apply."""
    if not any(KEYS & part.stated.keys() for part in parts):
        return NONE
    return PolicyRequirements(
        thresholds=dict(_thresholds(stated)),
        permitted=AllowedAccelerators(
            stated.accelerators.allowed, stated.accelerators.forbidden, _last(parts, "accelerators")
        ),
        requirements=tuple(requirement for layer in layers for requirement in _requirements(layer)),
        budgets=tuple(budget for layer in layers for budget in _budgets(layer)),
        team_label=stated.team_label,
    )


def _thresholds(stated: schema.PolicyFile) -> Iterator[tuple[str, float]]:
    for name, value in stated.thresholds.model_dump(exclude_unset=True).items():
        yield name, units.parse(value, str(package_data.load_glossary()[name]["unit"]))


def _last(parts: Sequence[Part], key: str) -> Origin | None:
    """Return the location at which the last part declares a key."""
    origins = [
        Origin(part.layer.document, (*part.layer.inside, *part.inside, key), key=True)
        for part in parts
        if key in part.stated
    ]
    return origins[-1] if origins else None


def _origin(layer: Layer, key: str, index: int) -> Origin:
    return Origin(layer.document, (*layer.inside, key, index))


def _requirements(layer: Layer) -> Iterator[Requirement]:
    for index, entry in enumerate(layer.stated.get("require", ())):
        required = schema.RequireFile.model_validate(entry)
        yield Requirement(
            paths=tuple(layer.globs(("require", index, "paths"))),
            workload=required.workload,
            task=required.task,
            labels=required.labels,
            annotations=required.annotations,
            objective=required.objective,
            facts=required.facts,
            origin=_origin(layer, "require", index),
        )


def _budgets(layer: Layer) -> Iterator[Budget]:
    for index, entry in enumerate(layer.stated.get("budgets", ())):
        limits = schema.BudgetFile.model_validate(entry)
        owner = [f"team {limits.team}"] if limits.team else []
        yield Budget(
            name=" in ".join([*owner, *([", ".join(limits.paths)] if limits.paths else [])]),
            paths=tuple(layer.globs(("budgets", index, "paths"))),
            team=limits.team,
            gpus=limits.gpus,
            usd_per_hour=limits.usd_per_hour,
            power_w=None if limits.kw is None else limits.kw * units.THOUSAND,
            place=layer.place(("budgets", index)),
            origin=_origin(layer, "budgets", index),
        )


# ---- accelerators


def find_barred(found: Settings) -> frozenset[str]:
    """Return the accelerators that the policy does not allow; raise SettingsError for an unknown name."""
    permitted = found.governance.permitted
    if not permitted.allowed and not permitted.forbidden:
        return frozenset()
    allowed, forbidden = (
        frozenset(_match(found, side, patterns))
        for side, patterns in (("allowed", permitted.allowed), ("forbidden", permitted.forbidden))
    )
    every = {accelerator.id for accelerator in hardware.list_accelerators()}
    return frozenset((every - allowed if permitted.allowed else set()) | forbidden)


def _match(found: Settings, side: str, patterns: Iterable[str]) -> Iterator[str]:
    for index, pattern in enumerate(patterns):
        accelerator = hardware.find_accelerator(pattern)
        ids = (
            [accelerator.id]
            if accelerator
            else fnmatch.filter((known.id for known in hardware.list_accelerators()), pattern.lower())
        )
        if not ids:
            similar = suggest(pattern, (known.id for known in hardware.list_accelerators()))
            place = found.place("accelerators", side, index)
            raise SettingsError(f"{place}: the catalog has no accelerator {pattern}{similar}")
        yield from ids
