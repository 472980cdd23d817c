"""The drawing of a facility: well-formed whatever the names are, the same each time, and readable without colour or sight."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

import drawn_facilities
import pytest

from gpulint.report.model import FacilitySummary
from gpulint.report.racks import svg

SPACE = "{http://www.w3.org/2000/svg}"


def parsed(*facilities: FacilitySummary, only: tuple[str, ...] = ()) -> ElementTree.Element:
    return ElementTree.fromstring(svg.render(facilities, only))


def words(root: ElementTree.Element, tag: str = "text") -> list[str]:
    return [(one.text or "").strip() for one in root.iter(f"{SPACE}{tag}")]


@pytest.mark.parametrize("facility", drawn_facilities.every_facility(), ids=lambda one: one.name[:10])
def test_it_is_well_formed_and_made_of_shapes_and_words_alone(facility: FacilitySummary) -> None:
    root = parsed(facility)
    tags = {one.tag.removeprefix(SPACE) for one in root.iter()}
    assert tags <= set("svg title desc style defs pattern path g rect text circle".split())
    assert root.tag == f"{SPACE}svg"


def test_it_is_the_same_each_time() -> None:
    assert svg.render(drawn_facilities.every_facility()) == svg.render(drawn_facilities.every_facility())


def test_nothing_of_a_file_becomes_markup() -> None:
    evil = "</text><script href='x' onload=\"y\">&amp;]]><!--"
    rack = drawn_facilities.FOUR._replace(name=evil, place=evil, undrawn=(evil,))
    drawn = svg.render((FacilitySummary(evil, drawn_facilities.at(1), racks=(rack,)),))
    root = ElementTree.fromstring(drawn)
    assert "<script" not in drawn and "<!--" not in drawn
    assert any("<script" in one for one in words(root, "title"))


def test_nothing_points_outside_of_it() -> None:
    drawn = svg.render(drawn_facilities.every_facility())
    assert re.findall(r"url\((?!#gpulint-)|href|@import|<script|<image|https?://(?!www\.w3\.org/2000/svg)", drawn) == []


def test_who_cannot_see_it_is_told_what_it_shows() -> None:
    root = parsed(drawn_facilities.OVERLOADED)
    assert root.get("role") == "img"
    ids = str(root.get("aria-labelledby")).split()
    first, second = list(root)[:2]
    assert [first.get("id"), second.get("id")] == ids
    assert first.text == "Racks of garching"
    assert second.text == (
        "rack r01 in hall-1: power 40.8 of 17.3 kW, 236 %, exceeded; cooling 45.2 kW, no limit declared; "
        "weight 522 of 1,000 kg, 52 %, within; space 32 of 42 U, 76 %, within; "
        "feed a (side A) overloaded; feed b (side B) overloaded."
    )


def test_a_machine_is_as_high_as_the_units_that_it_takes_and_stands_where_it_does() -> None:
    root = parsed(drawn_facilities.OVERLOADED)
    boxes = [one for one in root.iter(f"{SPACE}rect") if one.get("class") in ("slot", "free")]
    assert [(one.get("class"), one.get("y"), one.get("height")) for one in boxes] == [
        ("free", "0", "100"),
        ("slot", "100", "80"),
        ("slot", "180", "80"),
        ("slot", "260", "80"),
        ("slot", "340", "80"),
    ]


def test_a_bar_ends_at_what_is_taken_and_has_a_line_at_the_limit() -> None:
    root = parsed(drawn_facilities.OVERLOADED)
    stretches = [one for one in root.iter(f"{SPACE}rect") if one.get("class") in ("taken", "over", "limit")]
    first = [(one.get("class"), one.get("x"), one.get("width")) for one in stretches[:3]]
    assert first == [("taken", "0.0", "118.7"), ("over", "118.7", "161.3"), ("limit", "117.7", "2")]


def test_no_verdict_is_said_by_colour_alone() -> None:
    said = words(parsed(drawn_facilities.FIFTY))
    for verdict in ("within", "exceeded", "not evaluated", "feed a (side A): overloaded", "feed A: holds"):
        assert verdict in said
    marks = {
        one.get("class") for tag in ("path", "circle") for one in parsed(drawn_facilities.FIFTY).iter(f"{SPACE}{tag}")
    }
    assert {"cross", "disc", "ring"} <= marks


def test_racks_that_are_alike_are_drawn_once_and_all_others_are_drawn() -> None:
    names = [one for one in words(parsed(drawn_facilities.FIFTY)) if one.startswith("rack ")]
    assert names == [
        "rack r01 to r24 in hall/row-a, 24 alike",
        "rack r25 to r48 in hall/row-b, 24 alike",
        "rack r49 in hall/row-b",
        "rack r50 in hall/row-b",
    ]
    assert [one for one in words(parsed(drawn_facilities.FIFTY, only=("r49",))) if one.startswith("rack ")] == names[
        2:3
    ]


def test_everything_stands_within_the_drawing() -> None:
    root = parsed(drawn_facilities.FIFTY, drawn_facilities.OVERLOADED)
    width, height = float(str(root.get("width"))), float(str(root.get("height")))

    def within(element: ElementTree.Element, x: float, y: float) -> None:
        moved = re.match(r"translate\(([\d.]+) ([\d.]+)\)", element.get("transform", ""))
        x, y = (x + float(moved[1]), y + float(moved[2])) if moved else (x, y)
        at = x + float(element.get("x", 0)), y + float(element.get("y", 0))
        far = at[0] + float(element.get("width", 0)), at[1] + float(element.get("height", 0))
        if element.tag in (f"{SPACE}rect", f"{SPACE}text"):
            assert 0 <= at[0] <= far[0] <= width + 1
            assert 0 <= at[1] <= far[1] <= height
        for inner in element if element.tag != f"{SPACE}defs" else ():
            within(inner, x, y)

    for one in root:
        within(one, 0, 0)


def luminance(colour: str) -> float:
    """The relative luminance of sRGB, as the Web Content Accessibility Guidelines 2.1 define it."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = [one / 12.92 if one <= 0.03928 else ((one + 0.055) / 1.055) ** 2.4 for one in parts]
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("scheme", [svg.LIGHT, svg.DARK], ids=["light", "dark"])
@pytest.mark.parametrize(
    ("ink", "paper"),
    [("ink", "page"), ("muted", "page"), ("bad", "page"), ("doubt", "page"), ("good", "page"), ("ink", "slot")],
)
def test_words_have_the_contrast_that_the_guidelines_ask_for(scheme: dict[str, str], ink: str, paper: str) -> None:
    light, dark = sorted((luminance(scheme[ink]), luminance(scheme[paper])), reverse=True)
    assert (light + 0.05) / (dark + 0.05) >= 4.5
