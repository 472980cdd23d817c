"""Rows of the glossary: what a topic declares, and what the docstring of a formula says."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from gpulint import engines
from gpulint.catalog import axes, package_data, quantity_rows
from gpulint.facts.formulas import find_formulas
from gpulint.sizing.engines import SHARED

MODULE = '''
def fan_w(fans: int, fan_speed: float = 0.5) -> float | None:
    """Power of the fans of a server,
    at their present speed. It grows with the cube of it.

    fan_w = fans · 20 · fan_speed³

    Component: server rack
    Args:
        fans: how many. fan_speed: share of the most [ratio].
    Returns:
        [W]; None without fans

    >>> fan_w(1, 1.0)
    20.0

    Source: a test.
    """
    return fans * 20 * fan_speed**3


def _hidden(fans: int) -> float:
    """Not a formula."""
    return fans
'''
GROUPS = package_data.PACKAGE / "sizing" / f"{axes.MODULE.replace('.', '/')}.py"
TOPIC_KEYS = {"of", "type", "unit", "meaning"}


def engine_names() -> list[str | None]:
    return [None, *engines.modules()]


def test_a_new_formula_needs_no_other_file() -> None:
    assert quantity_rows.merge([], {"power.fans": MODULE}) == {
        "fan_w": {
            "of": "derived",
            "type": "number",
            "unit": "w",
            "meaning": "power of the fans of a server, at their present speed",
            "part": "server rack",
        }
    }


def test_a_topic_adds_what_a_formula_cannot_say() -> None:
    rows = quantity_rows.merge([{"fan_w": {"ask": "state the fans"}}], {"power.fans": MODULE})
    assert (rows["fan_w"]["ask"], rows["fan_w"]["unit"]) == ("state the fans", "w")


def test_a_formula_for_every_engine_comes_before_that_of_one() -> None:
    own = MODULE.replace("[W]", "[kW]")
    rows = quantity_rows.merge([], {"engines.vllm": own, "power.fans": MODULE})
    assert rows["fan_w"]["unit"] == "w"


def test_the_unit_may_stand_on_the_line_of_its_title() -> None:
    row = quantity_rows.merge(
        [], {"power.fans": MODULE.replace("Returns:\n        [W]; None without fans", "Returns: [W]")}
    )["fan_w"]
    assert row["unit"] == "w"


def test_two_topics_cannot_declare_the_same_quantity() -> None:
    with pytest.raises(ValueError, match="fans: two topics"):
        quantity_rows.merge([{"fans": {}}, {"fans": {}}], {})


@pytest.mark.parametrize(
    ("notation", "name"),
    [
        ("bytes", "bytes"),
        ("bytes/s", "bytes_per_s"),
        ("FLOP/s", "flop_per_s"),
        ("USD/h", "usd_per_hour"),
        ("GPU-hours", "gpu_hours"),
        ("USD per million tokens", "usd_per_million_tokens"),
        ("kg/m²", "kg_per_m2"),
        ("liquid m³/s", "liquid_m3_per_s"),
        ("°C", "c"),
    ],
)
def test_a_unit_has_the_name_that_the_glossary_uses(notation: str, name: str) -> None:
    assert quantity_rows.name_unit(notation) == name


@pytest.mark.parametrize(
    ("doc", "meaning"),
    [
        ("Weights of the model.", "weights of the model"),
        ("KV cache of one token. More.", "KV cache of one token"),
        ("GPUs that 1.5 nodes hold.\n\nMore.", "GPUs that 1.5 nodes hold"),
        ("ZeRO stage of a run.", "ZeRO stage of a run"),
        ("CO₂ of a year.", "CO₂ of a year"),
    ],
)
def test_the_first_sentence_is_the_meaning(doc: str, meaning: str) -> None:
    assert quantity_rows.summarise(doc) == meaning


@pytest.mark.parametrize("engine", engine_names(), ids=str)
def test_the_text_of_a_formula_says_what_the_imported_function_does(engine: str | None) -> None:
    imported = {}
    for name, function in find_formulas(engine).items():
        returns = str(inspect.signature(function).return_annotation)
        imported[name] = quantity_rows.Formula(name, returns, inspect.getdoc(function) or "")
    read = {formula.name: formula for file in files(engine) for formula in formulas_in(file)}
    assert read == imported


def test_all_formulas_of_a_quantity_have_its_type_and_unit() -> None:
    rows, differing = package_data.load_glossary(), []
    for file in (package_data.PACKAGE / "sizing").rglob("[!_]*.py"):
        for formula in formulas_in(file):
            row = quantity_rows.describe(formula)
            differing += [formula.name for key in ("type", "unit") if rows[formula.name][key] != row[key]]
    assert differing == []


def test_no_topic_repeats_what_a_general_formula_says() -> None:
    repeated = [
        f"{path.stem}: {name}"
        for path in topics()
        for name, row in read(path).items()
        if name in find_formulas(None) and row.get("of", "derived") == "derived" and TOPIC_KEYS & row.keys()
    ]
    assert repeated == []


def test_every_row_of_a_topic_is_a_quantity_of_its_own_or_adds_to_a_formula() -> None:
    formulas = {name for engine in engine_names() for name in find_formulas(engine)}
    incomplete = [
        name
        for path in topics()
        for name, row in read(path).items()
        if not row.keys() >= TOPIC_KEYS and name not in formulas
    ]
    assert incomplete == []


def files(engine: str | None) -> list[Path]:
    """The modules with the formulas of an engine, or of every one."""
    folder = package_data.PACKAGE / "sizing"
    if engine is None:
        return [GROUPS, *(file for file in folder.rglob("[!_]*.py") if file.parent.name != "engines")]
    module = engines.module_name(engine)
    own = SHARED.get(module, module)
    return [
        file for file in (folder / "engines").glob("[!_]*.py") if file.stem == own or file.stem.startswith(f"{own}_")
    ]


def formulas_in(file: Path) -> list[quantity_rows.Formula]:
    find = quantity_rows.find_axis_formulas if file == GROUPS else quantity_rows.find_formulas
    return list(find(file.read_text(encoding="utf-8")))


def topics() -> list[Path]:
    return sorted((package_data.PACKAGE / "facts" / "glossary").glob("*.yaml"))


def read(path: Path) -> dict[str, dict[str, object]]:
    rows = package_data.read_yaml(path)
    assert isinstance(rows, dict)
    return rows
