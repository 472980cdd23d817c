"""Thresholds: the numbers of an organisation have a name and a default, and none of them is about physics."""

from __future__ import annotations

from gpulint import units
from gpulint.facts.formulas import find_formulas, list_parameters
from gpulint.facts.glossary import Quantity, glossary
from gpulint.policy.conditions import cel
from gpulint.policy.rules.rule import load_shipped
from gpulint.report.model import Severity

PHYSICS = frozenset(
    {"memory", "parallelism", "precision", "nodes", "kubernetes", "serving", "scheduling", "performance"}
    | {"power", "cooling", "cabling", "placement"}
)
"""Families whose errors say that something cannot work."""


def thresholds() -> dict[str, Quantity]:
    return {one.name: one for one in glossary().values() if one.of == "policy" and one.type == "number"}


def test_no_threshold_decides_an_error_about_physics() -> None:
    configured = {one.name for one in glossary().values() if one.of == "policy"}
    decided = {
        rule.name
        for rule in load_shipped().values()
        if rule.family in PHYSICS and rule.severity is Severity.ERROR and configured & set(cel.find_names(rule.when))
    }
    assert decided == set()


def taken(name: str) -> tuple[str, ...]:
    """What the formula of a fact takes: a band of several numbers, of which one is chosen, is such a fact."""
    formula = find_formulas(None).get(name)
    return list_parameters(formula) if formula else ()


def test_every_threshold_has_a_default_that_reads_back_in_its_unit_and_a_rule_that_compares_with_it() -> None:
    compared = {name for rule in load_shipped().values() for name in cel.find_names(rule.when)}
    compared |= {each for name in compared for each in taken(name)}
    for name, one in thresholds().items():
        (default,) = one.absent
        assert isinstance(default, int | float), name
        assert units.human(default, one.unit), name
        assert name in compared, name


def test_the_name_of_a_threshold_says_which_side_is_let_pass() -> None:
    odd = [
        name
        for name, one in thresholds().items()
        if not name.removesuffix(f"_{one.unit}").endswith(("_most", "_least", "_from"))
    ]
    assert odd == []


def test_capability_capacity_and_divisibility_are_compared_with_what_the_hardware_has() -> None:
    fixed = {
        "weights-exceed-memory": "weight_bytes_per_gpu > device_memory_bytes",
        "heads-not-divisible": "heads_remainder != 0",
        "bfloat16-unsupported": "weight_dtype == 'bfloat16' && vendor == 'nvidia' && compute_capability < 8.0",
        "training-does-not-fit": "training_room_bytes < 0.0",
    }
    assert {name: load_shipped()[name].when for name in fixed} == fixed
