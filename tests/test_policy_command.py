"""`gpulint policy`: what is shown of a policy, where each value comes from, and the packs there are."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gpulint import cli
from gpulint.policy.config import schema

FILES = {
    "gpulint.yaml": (
        "extends: [./platform/base.yaml]\n"
        "severity:\n"
        "  util-too-high: error\n"
        "exclude: [third_party/]\n"
        "overrides:\n"
        "  - paths: [dev/, '*.dev.yaml']\n"
        "    ignore: [suppressions]\n"
    ),
    "platform/base.yaml": (
        "fail-on: warning\n"
        "ignore: [util-too-low]\n"
        "hints:\n"
        "  - {path: 'apps/*', accelerator: l4}\n"
        "available: {clouds: [aws]}\n"
    ),
}


@pytest.fixture(autouse=True)
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in {".git/HEAD": "", **FILES}.items():
        place = tmp_path / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli.main, ["policy", *arguments])


def values(result: Result) -> dict[str, list[tuple[object, str]]]:
    """The values of a JSON answer by key, each with its origin."""
    found: dict[str, list[tuple[object, str]]] = {}
    for one in json.loads(result.stdout)["settings"]:
        found.setdefault(one["key"], []).append((one["value"], one["origin"]))
    return found


def test_each_value_is_shown_with_its_origin() -> None:
    found = values(run("show", "apps/chat.yaml", "--format", "json"))
    assert found == {
        "fail-on": [("warning", "platform/base.yaml:1")],
        "ignore": [("util-too-low", "platform/base.yaml:2")],
        "severity.util-too-high": [("error", "gpulint.yaml:3")],
        "exclude": [("third_party/", "gpulint.yaml:4")],
        "hints": [({"path": "apps/*", "accelerator": "l4"}, "platform/base.yaml:4")],
        "available.clouds": [("aws", "platform/base.yaml:5")],
        "preview": [(False, "default")],
    } | {key: value for key, value in found.items() if value[0][1] == "default"}


def test_what_an_override_says_is_shown_for_its_paths_alone() -> None:
    dev = json.loads(run("show", "dev/chat.yaml", "--format", "json").stdout)
    assert dev["overrides"] == [{"origin": "gpulint.yaml:6", "paths": ["dev/", "*.dev.yaml"]}]
    assert {"key": "ignore", "value": "suppressions", "origin": "gpulint.yaml:7"} in dev["settings"]
    apps = json.loads(run("show", "apps/chat.yaml", "--format", "json").stdout)
    assert apps["overrides"] == []
    assert "suppressions" not in [one["value"] for one in apps["settings"]]


def test_the_rules_that_a_policy_changes_are_shown_with_who_says_so() -> None:
    rules = json.loads(run("show", "apps/chat.yaml", "--format", "json").stdout)["rules"]
    assert {(one["rule"], one["severity"], one["becomes"], one["origin"]) for one in rules} == {
        ("util-too-high", "warning", "error", "gpulint.yaml:3"),
        ("util-too-low", "note", "off", "platform/base.yaml:2"),
    }


def test_the_text_reads_like_this() -> None:
    (Path("gpulint.yaml")).write_text(FILES["gpulint.yaml"].replace("exclude: [third_party/]\n", "select: [memory]\n"))
    lines = run("show", "dev/chat.yaml").stdout.splitlines()
    assert lines[:10] == [
        "dev/chat.yaml: gpulint.yaml, which extends platform/base.yaml",
        "with the overrides for",
        "  dev/, *.dev.yaml  (gpulint.yaml:6)",
        "",
        "key               value                          from",
        "select            memory                         gpulint.yaml:4",
        "ignore            util-too-low                   platform/base.yaml:2",
        "                  suppressions                   gpulint.yaml:7",
        "severity          util-too-high: error           gpulint.yaml:3",
        "preview           false                          default",
    ]
    table = [re.sub(r"\(\d+ rules\)", "(N rules)", line).split("  ") for line in lines]
    cells = [[cell.strip() for cell in row if cell] for row in table]
    assert ["precision (N rules)", "off", "gpulint.yaml:4"] in cells
    assert ["suppressions (N rules)", "off", "gpulint.yaml:7"] in cells
    assert not any(row[0] == "util-too-high" for row in cells if row)


def test_the_page_shows_what_is_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).parent.parent / "docs" / "policy.md").read_text(encoding="utf-8")
    for name in ("platform/company.yaml", "apps/gpulint.yaml"):
        block = re.search(rf"```yaml\n(# {re.escape(name)}\n.*?)```", page, re.DOTALL)
        assert block
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(block[1], encoding="utf-8")
    shown = re.search(r"```console\n\$ gpulint policy show apps/dev/chat.yaml\n(.*?)```", page, re.DOTALL)
    assert shown
    printed = re.sub(r"\(\d+ rules\)", "(N rules)", run("show", "apps/dev/chat.yaml").stdout)
    assert printed == re.sub(r"\(\d+ rules\)", "(N rules)", shown[1])


def test_the_page_names_every_key_of_a_policy() -> None:
    page = (Path(__file__).parent.parent / "docs" / "policy.md").read_text(encoding="utf-8")
    table = page.partition("## The keys")[2].partition("## Extends")[0]
    keys = {field.alias or name for name, field in schema.PolicyFile.model_fields.items()}
    assert {key for key in keys if f"`{key}`" not in table} == set()
    rows = {line.split("|")[1]: line.split("|")[2].strip() for line in table.splitlines() if line.startswith("| `")}
    by_path = {key for names, said in rows.items() if said == "yes" for key in re.findall(r"`([\w-]+)`", names)}
    assert by_path == {field.alias or name for name, field in schema.GeneralFile.model_fields.items()}


def test_the_schema_that_is_printed_is_the_published_one() -> None:
    published = Path(__file__).parent.parent / "schemas" / "policy.json"
    assert run("schema").stdout == published.read_text(encoding="utf-8")


def test_a_folder_is_shown_without_what_overrides_say_of_its_files() -> None:
    assert run("show").stdout.startswith(".: gpulint.yaml, which extends platform/base.yaml\n\nkey ")


def test_a_path_that_is_left_out_is_said_to_be() -> None:
    assert "excluded: nothing is checked here" in run("show", "third_party/x.yaml").stdout


def test_a_path_that_is_not_there_is_said_to_be_no_file_yet() -> None:
    result = run("show", "dev/caht.yaml")
    assert result.stderr == "gpulint: dev/caht.yaml does not exist yet; these settings would apply to it\n"
    assert result.stdout.startswith("dev/caht.yaml: ")


def test_without_any_policy_the_defaults_are_shown(tmp_path: Path) -> None:
    (tmp_path / "gpulint.yaml").unlink()
    result = run("show")
    assert result.stdout.startswith(".: no gpulint.yaml; the defaults apply\n")
    assert "fail-on" in result.stdout
    assert values(run("show", "--format", "json"))["fail-on"] == [("error", "default")]


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        ("ignore: [memroy]\n", "gpulint.yaml:1:10: no such rule or family: memroy; did you mean memory?"),
        ("accelerator: h10\n", "gpulint.yaml:1:14: no accelerator is called h10; did you mean "),
        ("available: {clouds: [asw]}\n", "gpulint.yaml:1:22: available: the catalog has no cloud asw"),
        ("extends: recomended\n", "gpulint.yaml:1:10: no such pack: recomended; did you mean recommended?"),
        ("overrides: [{paths: [dev/], accelerator: h10}]\n", "gpulint.yaml:1:42: no accelerator is called h10"),
    ],
)
def test_a_policy_that_cannot_be_used_is_misuse_with_its_place(tmp_path: Path, policy: str, said: str) -> None:
    (tmp_path / "gpulint.yaml").write_text(policy)
    result = run("show", "dev/chat.yaml")
    assert (result.exit_code, said in result.stderr) == (2, True), result.output


def test_packs_are_listed_and_one_is_printed_as_it_is_written() -> None:
    listed = run("packs").stdout.splitlines()
    assert "recommended" in [line.split()[0] for line in listed]
    assert all(len(line.split()) > 2 for line in listed)
    shown = run("packs", "recommended").stdout
    assert shown == (Path(__file__).parent.parent / "packs" / "recommended.yaml").read_text(encoding="utf-8")


def test_a_mistyped_pack_is_misuse() -> None:
    result = run("packs", "recomended")
    assert (result.exit_code, "no such pack: recomended; did you mean recommended?" in result.stderr) == (2, True)
