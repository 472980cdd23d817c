"""The project's address: links use it where it is known, `init --hook` finds it or asks, and no text holds a placeholder."""

from __future__ import annotations

import json
import unittest.mock
from email.message import Message
from importlib import metadata
from pathlib import Path

import nasty
import pytest
from click.testing import CliRunner, Result
from folders import ROOT

from gpulint import cli
from gpulint.cli import output_files
from gpulint.cli.scaffold import address
from gpulint.policy.rules import evaluate, rule
from gpulint.report.formats import rdjson, sarif
from gpulint.report.model import Report

PLACEHOLDER = "OWNER"
ADDRESS = "https://git.example.com/tools/gpulint"
WRONG = (ROOT / "examples" / "parallel-8-with-4-gpus.yaml").read_text(encoding="utf-8")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one wrong spec, in which gpulint was installed from nowhere in particular."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "chat.yaml").write_text(WRONG, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(metadata, "metadata", lambda _: Message())
    monkeypatch.setattr(metadata, "distribution", lambda _: unittest.mock.Mock(read_text=lambda _: None))
    return tmp_path


def run(*words: str, typed: str = "") -> Result:
    return CliRunner().invoke(cli.main, words, input=typed)


# ---- no placeholder


@pytest.mark.parametrize("format_", output_files.list_formats())
def test_no_output_holds_a_placeholder(format_: str) -> None:
    for report in (
        run("check", "--exit-zero", "--format", format_).output,
        output_files.render(nasty.REPORT, format_),
    ):
        assert report
        assert PLACEHOLDER not in report


def test_nothing_that_init_and_rule_new_write_holds_a_placeholder(folder: Path) -> None:
    assert run("init", "--hook", "--repo", ADDRESS, "--spec", "spec.yaml", "--facility", "site.yaml").exit_code == 0
    assert run("rule", "new", "pod-too-large").exit_code == 0
    assert run("rule", "new", "pod-too-old", "--scope", "document").exit_code == 0
    written = [path for path in folder.rglob("*") if path.is_file()]
    assert len(written) >= 7
    assert [path for path in written if PLACEHOLDER in path.read_text(encoding="utf-8")] == []


def test_no_file_that_is_shipped_or_shown_holds_a_placeholder() -> None:
    folders = ("gpulint", "rules", "packs", "schemas", "formats", "integrations", "docs", "examples", "bench")
    files = [
        path
        for name in folders
        for path in (ROOT / name).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    ]
    files += [
        path
        for path in ROOT.iterdir()
        if path.suffix in (".md", ".yml", ".yaml", ".toml") or path.name == "Containerfile"
    ]
    assert len(files) > 500
    assert [path for path in files if PLACEHOLDER.encode() in path.read_bytes()] == []


# ---- links


def test_a_report_links_a_rule_to_its_page_only_where_the_site_has_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    shipped = rule.load_shipped()["weights-exceed-memory"]
    assert evaluate.make_card(shipped).page == ""
    monkeypatch.setattr(evaluate, "SITE", "https://gpulint.example")
    assert evaluate.make_card(shipped).page == "https://gpulint.example/rules/weights-exceed-memory/"


def test_reports_name_the_project_only_where_it_has_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "url" not in json.loads(rdjson.render(Report()))["source"]
    assert "informationUri" not in json.loads(sarif.render(Report()))["runs"][0]["tool"]["driver"]
    monkeypatch.setattr(rdjson, "PROJECT", ADDRESS)
    monkeypatch.setattr(sarif, "PROJECT", ADDRESS)
    assert json.loads(rdjson.render(Report()))["source"]["url"] == ADDRESS
    assert json.loads(sarif.render(Report()))["runs"][0]["tool"]["driver"]["informationUri"] == ADDRESS


def test_a_comment_says_how_to_read_about_a_rule_that_has_no_page() -> None:
    line = "To read about a rule: `gpulint explain RULE`"
    assert line in run("check", "--exit-zero", "--format", "markdown").output
    linked = Report(findings=(nasty.ERROR,), rules={nasty.CARD.name: nasty.CARD})
    assert line not in output_files.render(linked, "markdown")
    assert line not in output_files.render(Report(), "markdown")


# ---- the hook


def hook(folder: Path) -> str:
    return (folder / ".pre-commit-config.yaml").read_text(encoding="utf-8")


def test_the_hook_has_the_address_that_is_given(folder: Path) -> None:
    assert run("init", "--hook", "--repo", ADDRESS).exit_code == 0
    assert f"  - repo: {ADDRESS}\n    rev: v" in hook(folder)


def test_without_an_address_nothing_is_written_and_the_option_is_named(folder: Path) -> None:
    result = run("init", "--hook")
    assert (result.exit_code, result.stderr) == (
        2,
        "gpulint: the address of the gpulint repository is not known: "
        "give it, as in --repo https://git.example.com/tools/gpulint; nothing was written\n",
    )
    assert sorted(path.name for path in folder.iterdir()) == [".git", "chat.yaml"]


@pytest.mark.parametrize("label", ["Repository", "Source Code", "source", "Homepage"])
def test_the_address_is_taken_from_the_metadata_of_the_package(
    folder: Path, monkeypatch: pytest.MonkeyPatch, label: str
) -> None:
    declared = Message()
    declared["Project-URL"] = "Changelog, https://git.example.com/changes"
    declared["Project-URL"] = f"{label}, {ADDRESS}"
    monkeypatch.setattr(metadata, "metadata", lambda _: declared)
    assert run("init", "--hook").exit_code == 0
    assert f"  - repo: {ADDRESS}\n" in hook(folder)


def test_the_address_is_taken_from_where_pip_found_the_package(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = json.dumps({"url": ADDRESS, "vcs_info": {"vcs": "git", "commit_id": "0" * 40}})
    monkeypatch.setattr(metadata, "distribution", lambda _: unittest.mock.Mock(read_text=lambda _: record))
    assert run("init", "--hook").exit_code == 0
    assert f"  - repo: {ADDRESS}\n" in hook(folder)


@pytest.mark.parametrize(
    "record",
    [
        {"url": "file:///home/you/gpulint", "dir_info": {"editable": True}},
        {"url": "https://files.example/gpulint.whl", "archive_info": {}},
        {"url": "https://you:secret@git.example.com/gpulint", "vcs_info": {"vcs": "git"}},
    ],
    ids=["a folder", "an archive", "a password"],
)
def test_an_installation_that_tells_no_repository_gives_no_address(
    monkeypatch: pytest.MonkeyPatch, record: dict[str, object]
) -> None:
    monkeypatch.setattr(metadata, "distribution", lambda _: unittest.mock.Mock(read_text=lambda _: json.dumps(record)))
    assert address.find() == ""


def test_a_gpulint_that_is_not_installed_gives_no_address(monkeypatch: pytest.MonkeyPatch) -> None:
    def raise_(_: str) -> None:
        raise metadata.PackageNotFoundError("gpulint")

    monkeypatch.setattr(metadata, "metadata", raise_)
    monkeypatch.setattr(metadata, "distribution", raise_)
    assert address.find() == ""


def test_on_a_terminal_the_address_is_asked_for(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpulint.cli.commands.init.is_terminal", lambda: True)
    result = run("init", "--hook", typed=f"{ADDRESS}\n")
    assert (result.exit_code, result.stderr.startswith("Address of the gpulint repository")) == (0, True)
    assert f"  - repo: {ADDRESS}\n" in hook(folder)


@pytest.mark.parametrize("given", ["gpulint", "https://a b", "https://you:secret@git.example.com/x", "x\n  - repo: y"])
def test_what_git_cannot_clone_from_is_refused(folder: Path, given: str) -> None:
    result = run("init", "--hook", "--repo", given)
    assert (result.exit_code, "is not an address that git can clone from; nothing was written" in result.stderr) == (
        2,
        True,
    )
    assert not (folder / "gpulint.yaml").exists()


@pytest.mark.parametrize(
    "given",
    [ADDRESS, f"{ADDRESS}.git", "ssh://git@git.example.com:22/gpulint", "git@git.example.com:tools/gpulint.git"],
)
def test_what_git_can_clone_from_is_taken(given: str) -> None:
    assert address.is_address(given)


def test_an_address_without_a_hook_is_a_mistake() -> None:
    result = run("init", "--repo", ADDRESS)
    assert (result.exit_code, result.stderr) == (2, "gpulint: --repo requires --hook\n")
