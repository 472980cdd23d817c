"""`gpulint facility`: what it draws of a file, in each format, and how it ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path

import contracts
import loaded_hall
import pytest
from click.testing import CliRunner, Result
from folders import ROOT

from gpulint import cli
from gpulint.facts.glossary import glossary
from gpulint.pipeline.facility import utilization

Run = Callable[..., Result]

ROOM = """\
apiVersion: gpulint/v1
kind: Facility
metadata: {name: garching}
spec:
  rooms:
    - name: hall
      racks:
        - name: r[1-3]
          units: 42
          servers: [{type: DGX H100, count: 4}]
        - name: r4
          units: 24
          servers:
            - {type: DGX H100, count: 2}
            - {name: box, count: 2, units: 5}
            - {name: unknown-box}
"""
RIGHT = ROOM.replace("units: 24", "units: 48")


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs gpulint beside a file room.yaml."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()

    def invoke(text: str, *words: str) -> Result:
        Path("room.yaml").write_text(text, encoding="utf-8")
        return CliRunner().invoke(cli.main, ["facility", "room.yaml", *words])

    return invoke


def test_a_room_is_drawn_and_then_judged(run: Run) -> None:
    result = run(ROOM)
    assert result.exit_code == 1, result.output
    assert result.output.startswith("garching: 4 racks, 17 servers  (room.yaml:3)\n")
    drawn, _, judged = result.output.partition("error[rack-units-exceeded]")
    assert "\nrack r1 to r3 in hall, 3 alike  (room.yaml:8)\n   42 ┌" in drawn
    assert "not drawn: 1 × unknown-box," in drawn
    assert "drawn above the rack, which" in drawn
    assert judged.splitlines()[0].startswith(": the servers of r4 need 26 U, but the rack has only 24 U")
    assert "facility garching: 4 racks, 17 servers, 1 over a limit" in judged


def test_a_room_in_which_all_fits_ends_well(run: Run) -> None:
    result = run(RIGHT)
    assert (result.exit_code, "error[" in result.output) == (0, False), result.output


def test_an_error_is_no_failure_where_that_is_asked_for(run: Run) -> None:
    assert run(ROOM, "--exit-zero").exit_code == 0


def test_a_rack_of_several_alike_is_drawn_by_its_name(run: Run) -> None:
    for name in ("r2", "hall/r2"):
        drawn = [line for line in run(ROOM, "--rack", name).output.splitlines() if line.startswith("rack ")]
        assert drawn[1:] == ["rack r2 in hall  (room.yaml:8)"]


def test_a_rack_that_is_not_there_is_told_with_one_that_is(run: Run) -> None:
    result = run(ROOM, "--rack", "r5")
    assert result.exit_code == 2
    assert result.stderr.startswith("gpulint: no such rack: r5; did you mean r")


def test_ascii_is_asked_for_or_taken_where_stdout_has_no_more(run: Run) -> None:
    assert run(ROOM, "--ascii").output.isascii()
    probe = [sys.executable, "-c", "from gpulint.cli import main; main()", "facility", "room.yaml"]
    done = subprocess.run(probe, capture_output=True, check=False, env=os.environ | {"PYTHONIOENCODING": "ascii"})
    assert done.returncode == 1, done.stderr
    assert b"   42 +-----" in done.stdout


def test_json_is_the_report_that_a_check_gives_with_the_facility_in_it(run: Run) -> None:
    data = json.loads(run(ROOM, "--format", "json").output)
    assert [error.message for error in contracts.validator("report").iter_errors(data)] == []
    (facility,) = data["facilities"]
    assert (facility["name"], facility["path"], facility["line"]) == ("garching", "room.yaml", 3)
    assert [(rack["name"], rack["place"], rack["units"], rack["servers"]) for rack in facility["racks"]] == [
        ("r1", "hall", 42, 4),
        ("r2", "hall", 42, 4),
        ("r3", "hall", 42, 4),
        ("r4", "hall", 24, 5),
    ]
    space = facility["racks"][3]["meters"][-1]
    assert (space["name"], space["unit"], space["taken"], space["least"]) == ("space", "u", None, 26)
    assert (space["limit"], space["verdict"]) == (24, "exceeded")


def test_svg_is_one_drawing(run: Run) -> None:
    result = run(ROOM, "--format", "svg")
    assert result.exit_code == 1
    root = ElementTree.fromstring(result.output)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert result.output == run(ROOM, "--format", "svg").output


@pytest.mark.parametrize("text", ["", "apiVersion: v1\nkind: ConfigMap\n", "kind: Facility\napiVersion: other/v1\n"])
def test_a_file_without_a_facility_is_told_so(run: Run, text: str) -> None:
    result = run(text)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "describes no facility; `gpulint init --facility` writes a template" in result.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            ROOM.replace("kind: Facility", "kind: facility"),
            "kind: write one of InferenceService, TrainingJob, Facility",
        ),
        (ROOM.replace("spec:\n", "spec:\n\t\n\tpue: 2\n"), "a tab indents this line"),
    ],
    ids=["another case", "a tab"],
)
def test_a_file_that_was_to_be_a_facility_is_told_what_is_wrong_with_it(run: Run, text: str, said: str) -> None:
    result = run(text)
    assert (result.exit_code, said in result.stdout) == (1, True)


def test_a_template_is_told_to_be_one(run: Run) -> None:
    assert (
        "room.yaml describes no facility: template" in run(ROOM.replace("units: 24", "units: {{ .Values.u }}")).stderr
    )


def test_a_facility_with_a_mistake_is_not_drawn_and_the_mistake_is_told(run: Run) -> None:
    result = run(ROOM.replace("units: 24", "unit: 24"))
    assert result.exit_code == 1
    assert result.output.startswith("error[invalid-spec]: unknown key unit of a rack")


def test_a_file_that_is_not_there_is_misuse(run: Run) -> None:
    assert CliRunner().invoke(cli.main, ["facility", "nowhere.yaml"]).exit_code == 2


# ---- meters and feeds


def test_every_meter_is_of_facts_that_parts_of_its_kind_have() -> None:
    told = [
        (kind, name)
        for kind, meters in utilization.GAUGES.items()
        for several in meters.values()
        for gauge in several
        for name in (gauge.taken, gauge.least, gauge.limit)
        if name and kind not in glossary()[name].part
    ]
    assert told == []


CIRCUITS = """\
apiVersion: gpulint/v1
kind: Facility
metadata: {name: lab}
spec:
  code: NEC
  power_factor: 1
  racks:
    - name: r1
      redundancy: REDUNDANCY
      feeds:
        - {name: a, voltage: VOLTAGE, phases: 1, breaker: 30 A}
        - {name: b, voltage: VOLTAGE, phases: 1, breaker: 30 A}
      servers: [SERVER]
"""


def feeds(run: Run, server: str, redundancy: str = "2N", voltage: str = "208 V") -> list[tuple[str, float | None]]:
    """The verdict of each feed, and the expected share of what it carries after a loss."""
    text = CIRCUITS.replace("SERVER", server).replace("REDUNDANCY", redundancy).replace("VOLTAGE", voltage)
    (rack,) = json.loads(run(text, "--format", "json").output)["facilities"][0]["racks"]
    shares = [one["lost_share"] and round(one["lost_share"]["expected"], 3) for one in rack["feeds"]]
    return [(one["verdict"], share) for one, share in zip(rack["feeds"], shares, strict=True)]


def test_a_feed_holds_where_it_carries_the_rack_alone(run: Run) -> None:
    # 208 V · 30 A · 80 % = 4,992 VA
    assert feeds(run, "{name: x, power: 4900 W, psus: 2}") == [("holds", 0.982), ("holds", 0.982)]


def test_a_feed_has_no_spare_where_it_does_not_and_redundancy_is_promised(run: Run) -> None:
    assert feeds(run, "{name: x, power: 5000 W, psus: 2}") == [("no spare", 1.002), ("no spare", 1.002)]


def test_where_no_redundancy_is_promised_its_want_is_no_fault(run: Run) -> None:
    assert {verdict for verdict, _ in feeds(run, "{name: x, power: 5000 W, psus: 2}", "N")} == {"not redundant"}


def test_a_feed_is_overloaded_where_all_feeds_together_are(run: Run) -> None:
    assert {verdict for verdict, _ in feeds(run, "{name: x, power: 10 kW, psus: 2}")} == {"overloaded"}


def test_of_a_feed_in_a_rack_of_unknown_power_nothing_is_told(run: Run) -> None:
    assert feeds(run, "{name: unknown-box}") == [("not evaluated", None), ("not evaluated", None)]


def test_a_part_that_is_known_is_enough_where_it_is_too_much(run: Run) -> None:
    assert {one for one, _ in feeds(run, "{name: x, power: 10 kW, psus: 2}, {name: unknown-box}")} == {"overloaded"}


def test_a_part_that_is_known_is_not_enough_where_it_is_little(run: Run) -> None:
    found = feeds(run, "{name: x, power: 100 W, psus: 2}, {name: unknown-box}")
    assert found == [("not evaluated", None), ("not evaluated", None)]


def test_a_cord_on_one_side_loads_that_side_alone(run: Run) -> None:
    found = feeds(run, "{name: x, power: 4 kW, psus: 1, cords: {a: 1}}", "N")
    assert [verdict for verdict, _ in found] == ["holds", "holds"]


# ---- what stands where


def slots(run: Run, servers: str, units: int = 42) -> list[tuple[str, int, int]]:
    """The machines of one rack, as name, lowest unit and height."""
    text = f"""\
apiVersion: gpulint/v1
kind: Facility
metadata: {{name: lab}}
spec:
  racks:
    - name: r1
      units: {units}
      servers: [{servers}]
"""
    data = json.loads(run(text, "--format", "json").output)
    return [(one["name"], one["lowest"], one["units"]) for one in data["facilities"][0]["racks"][0]["slots"]]


def test_machines_without_a_position_stand_on_one_another(run: Run) -> None:
    found = slots(run, "{name: a, count: 2, units: 4}, {name: b, units: 1}")
    assert found == [("a", 1, 4), ("a", 5, 4), ("b", 9, 1)]


def test_what_does_not_fit_is_drawn_beyond_the_rack(run: Run) -> None:
    assert slots(run, "{name: a, count: 2, units: 3}", units=4) == [("a", 1, 3), ("a", 4, 3)]


def test_half_a_unit_takes_a_whole_one_in_the_drawing(run: Run) -> None:
    assert slots(run, "{name: a, units: 1.5}, {name: b, units: 1}") == [("a", 1, 2), ("b", 3, 1)]


@pytest.mark.parametrize("absurd", ["units: 1, count: 1000000000", "units: 1000000000", "units: 1000000000, count: 3"])
def test_what_is_beyond_any_rack_is_no_work(run: Run, absurd: str) -> None:
    assert slots(run, f"{{name: a, {absurd}}}, {{name: b, units: 1}}") == [("b", 1, 1)]


def test_many_kinds_of_machine_are_no_more_work_than_one(run: Run) -> None:
    found = slots(run, ", ".join(f"{{name: a{number}, units: 1, count: 150}}" for number in range(20)))
    assert {name for name, _, _ in found} == {"a0"}


def test_a_rack_or_a_position_beyond_any_room_is_no_work(run: Run) -> None:
    assert slots(run, "{name: a, units: 2, position: 900000000, count: 2}", units=1000000000) == [
        ("a", 900_000_000, 2),
        ("a", 900_000_002, 2),
    ]
    assert run(ROOM.replace("units: 42", "units: 1000000000"), "--format", "svg", "--exit-zero").exit_code == 0


# ---- what runs there


def placed(*words: str) -> dict[str, list[tuple[str, float, float | None, str]]]:
    """The meters of what is placed on each rack, as unit, likely value, limit and verdict."""
    data = json.loads(CliRunner().invoke(cli.main, ["facility", *words, "--format", "json"]).output)
    return {
        rack["name"]: [
            (one["unit"], round(one["taken"]["expected"]), one["limit"], one["verdict"])
            for one in rack["meters"]
            if one["name"] == "placed"
        ]
        for rack in data["facilities"][0]["racks"]
    }


def test_the_load_that_specs_place_there_has_a_bar_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    hall = loaded_hall.HALL.replace("      pool: h100\n", "      pool: h100\n      power_limit: 5 kW\n")
    Path("hall.yaml").write_text(hall, encoding="utf-8")
    Path("gpulint.yaml").write_text("facility: hall.yaml\n", encoding="utf-8")
    Path("serving").mkdir()
    Path("serving/chat.yaml").write_text(loaded_hall.service(replicas=32), encoding="utf-8")
    nothing = placed("hall.yaml")
    assert set(map(len, nothing.values())) == {0}
    both = placed("hall.yaml", "serving")
    ((unit, watts, limit, verdict),) = both["r1"]
    assert (unit, limit, verdict) == ("w", 5_000, "exceeded")
    assert 2 * 10_200 * 0.6 < watts <= 2 * 10_200
    drawn = CliRunner().invoke(cli.main, ["facility", ".", "--rack", "r1"]).output
    assert "placed" in drawn


def test_the_page_about_drawings_shows_what_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    root = ROOT
    monkeypatch.chdir(root)
    page = (root / "docs" / "elevation.md").read_text(encoding="utf-8")
    command, _, shown = page.partition("```text\n$ gpulint ")[2].partition("\n```")[0].partition("\n")
    result = CliRunner().invoke(cli.main, command.split())
    assert shown.endswith("\n…")
    assert result.output.startswith(shown.removesuffix("…"))


def test_a_check_of_a_workload_imports_nothing_of_facilities(tmp_path: Path) -> None:
    (tmp_path / "pod.yaml").write_text(
        loaded_hall.service().replace("nodeSelector: {pool: h100}", "hostNetwork: false")
    )
    probe = (
        "import sys\n"
        "from click.testing import CliRunner\n"
        "from gpulint import cli\n"
        "result = CliRunner().invoke(cli.main, ['check', '--exit-zero', 'pod.yaml'])\n"
        "assert result.exit_code == 0, result.output\n"
        "of_rooms = {'facilities', 'elevations', 'gauges', 'parts', 'loads', 'premises', 'room_alternatives'}\n"
        "names = [name for name in sys.modules if name.startswith('gpulint.')]\n"
        "print(*[name for name in names if name.split('.')[1] in of_rooms | {'facility'}])\n"
        "print(*[name for name in names if name.split('.')[-1] in ('racks', 'bars', 'elevation', 'svg')])\n"
    )
    done = subprocess.run([sys.executable, "-c", probe], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stdout.split(), done.returncode) == ([], 0), done.stderr


def test_a_facility_that_is_no_yaml_is_told_its_place(run: Run) -> None:
    result = run(ROOM.replace("units: 24", "units: [24"))
    assert result.exit_code == 1
    assert result.output.startswith("error[invalid-syntax]: ")


def test_a_template_is_called_one(run: Run) -> None:
    result = run(ROOM.replace("name: hall", "name: {{ .Values.hall }}"))
    assert result.exit_code == 2
    assert "room.yaml describes no facility: template;" in result.stderr


def test_facts_of_a_facility_are_those_of_each_part_and_no_others(run: Run) -> None:
    run(RIGHT)
    shown = CliRunner().invoke(cli.main, ["facts", "--of", "room.yaml", "units"])
    assert shown.exit_code == 0
    rack = shown.output.partition("garching/hall/r1  room.yaml:8\n")[2].partition("garching/")[0]
    assert [line.split()[:2] for line in rack.splitlines() if line.startswith("units_used")] == [["units_used", "32"]]
    assert "weight_bytes" not in CliRunner().invoke(cli.main, ["facts", "--of", "room.yaml"]).output


def test_suggest_says_that_a_facility_runs_nothing(run: Run) -> None:
    run(ROOM)
    result = CliRunner().invoke(cli.main, ["suggest", "room.yaml"])
    assert (result.exit_code, result.stderr) == (2, "gpulint: room.yaml has no workload that gpulint can read\n")
