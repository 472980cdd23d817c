"""`gpulint docs DIR` writes a page for everything that has a name, and writes all of them or nothing."""

from __future__ import annotations

import functools
import os
import re
import unittest.mock
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from folders import ROOT

from gpulint import adapters, cli, engines
from gpulint.catalog import package_data
from gpulint.cli.explain import reference_pages, site
from gpulint.facts.glossary import glossary
from gpulint.policy.rules import rule

LINK = re.compile(r"(?<!!)\[[^\]]*\]\((?P<target>[^)\s]+)\)")
CODE = re.compile(r"^ *```.*?^ *```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#{1,6} +(?P<title>.+?) *$", re.MULTILINE)


def run(*words: str) -> Result:
    return CliRunner().invoke(cli.main, ["docs", *words])


def read_tree(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text("utf-8") for path in folder.rglob("*") if path.is_file()
    }


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The reference pages alone, as an installed gpulint writes them."""
    folder = tmp_path_factory.mktemp("docs") / "reference"
    result = run(str(folder))
    assert (result.exit_code, result.stdout) == (0, f"wrote {len(read_tree(folder)) - 1} files to {folder}\n")
    return read_tree(folder)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The reference pages with those of docs/."""
    folder = tmp_path_factory.mktemp("docs") / "new" / "site"
    assert run(str(folder), "--pages", str(ROOT / "docs")).exit_code == 0
    return read_tree(folder)


def test_every_rule_fact_format_and_engine_has_a_page(reference: dict[str, str]) -> None:
    names = [
        *(("rule", name) for name in rule.load_shipped()),
        *(("fact", name) for name in glossary()),
        *(("adapter", name) for name in package_data.list_mentions(adapters.HERE)),
        *(("engine", name) for name in package_data.list_mentions(engines.HERE)),
    ]
    assert len(names) > 1_000
    assert [pair for pair in names if not has_target(reference, reference_pages.locate(*pair))] == []


def has_target(tree: dict[str, str], target: str) -> bool:
    """Whether a page is there, and has a heading for the anchor."""
    path, _, anchor = target.partition("#")
    return path in tree and (not anchor or anchor in anchors(tree[path]))


@functools.cache
def anchors(text: str) -> set[str]:
    titles = (found["title"] for found in HEADING.finditer(re.sub(r"```.*?```", "", text, flags=re.DOTALL)))
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("tree", ["reference", "whole"])
def test_no_link_of_the_site_is_broken(tree: str, request: pytest.FixtureRequest) -> None:
    pages: dict[str, str] = request.getfixturevalue(tree)
    broken = []
    for path, text in pages.items():
        for target in {found["target"] for found in LINK.finditer(CODE.sub("", text))} if path.endswith(".md") else ():
            file, _, anchor = target.partition("#")
            there = os.path.normpath(os.path.join(os.path.dirname(path), file)) if file else path
            if not re.match(r"[a-z]+:", target) and not has_target(pages, f"{there}#{anchor}" if anchor else there):
                broken.append((path, target))
    assert broken == []


def test_every_page_can_be_reached_from_the_navigation(whole: dict[str, str]) -> None:
    reached: set[str] = set()
    ahead = re.findall(r'= "([\w/.-]+\.md)"', (ROOT / "zensical.toml").read_text(encoding="utf-8"))
    assert len(ahead) > 40
    while ahead:
        path = ahead.pop()
        if path in reached:
            continue
        reached.add(path)
        targets = (
            found["target"].partition("#")[0] for found in LINK.finditer(whole[path]) if ":" not in found["target"]
        )
        ahead += [
            os.path.normpath(os.path.join(os.path.dirname(path), target))
            for target in targets
            if target.endswith(".md")
        ]
    assert {path for path in whole if path.endswith(".md")} - reached == set()


def test_the_navigation_names_every_page_that_is_written_by_hand() -> None:
    navigation = (ROOT / "zensical.toml").read_text(encoding="utf-8")
    pages = {path.name for path in (ROOT / "docs").glob("*.md")}
    assert [name for name in sorted(pages) if f'= "{name}"' not in navigation] == []


def test_a_page_of_a_fact_says_what_a_user_needs(reference: dict[str, str]) -> None:
    section = reference["facts/memory.weights.md"].partition("## weight_bytes_per_gpu\n")[2].partition("\n## ")[0]
    assert "[`tensor_parallel`](engine.md#tensor_parallel)" in section
    assert ">>> round(weight_bytes_per_gpu(" in section
    assert "[`weights-exceed-memory`](../rules/weights-exceed-memory.md)" in section


def test_a_page_of_a_rule_says_what_a_user_needs(reference: dict[str, str]) -> None:
    text = reference["rules/weights-exceed-memory.md"]
    assert text.startswith(
        "[Reference](../reference.md) / [Rules](README.md)\n\n# weights-exceed-memory\n\n"
        "The model weights alone do not fit in the memory of one accelerator.\n"
    )
    assert "```cel\nweight_bytes_per_gpu > device_memory_bytes\n```\n" in text
    assert "[`device_memory_bytes`](../facts/memory.budget.md#device_memory_bytes) | bytes |" in text
    assert text.index("- --tensor-parallel-size=2  # <- here\n") < text.index("\n## Right\n")
    assert "# gpulint: ignore[weights-exceed-memory] REASON\n" in text


def test_an_argument_of_an_engine_leads_to_the_fact_that_it_sets(reference: dict[str, str]) -> None:
    row = "| `--max-model-len` | [`max_model_len`](../facts/engine.md#max_model_len) |"
    assert row in reference["engines/vllm.md"]


def test_an_adapter_shows_where_a_fact_is_declared(reference: dict[str, str]) -> None:
    assert (
        "| `resources.instance_type` | [`accelerator`](../facts/pod.md#accelerator), "
        in reference["adapters/skypilot.md"]
    )


def test_the_page_of_the_command_line_has_every_command(reference: dict[str, str]) -> None:
    assert "\n## docs\n\n```text\ngpulint docs [OPTIONS] DIR\n```\n" in reference["cli.md"]
    assert "\n## rule new\n" in reference["cli.md"]


def test_a_hand_written_page_is_named_where_it_is_not_part_of_the_site(
    reference: dict[str, str], whole: dict[str, str]
) -> None:
    assert "`docs/waivers.md`" in reference["rules/weights-exceed-memory.md"]
    assert "[waivers](../waivers.md)" in whole["rules/weights-exceed-memory.md"]


def test_notes_on_an_engine_stand_above_its_tables(whole: dict[str, str]) -> None:
    notes = (ROOT / "docs" / "engines" / "vllm.md").read_text(encoding="utf-8")
    text = whole["engines/vllm.md"]
    assert text.startswith(notes.partition("\n")[0])
    assert text.count("\n# ") == notes.count("\n# ")
    assert "| `--max-model-len` | [`max_model_len`](../facts/engine.md#max_model_len) |" in text


def test_names_in_a_hand_written_page_become_links_and_links_out_of_it_become_text(tmp_path: Path) -> None:
    write(
        tmp_path,
        "docs/a/page.md",
        "`weights-exceed-memory`, `gpulint explain vllm`, `nothing`, [code](../../x.py), [b](b.md)\n",
    )
    write(tmp_path, "docs/a/b.md", "```sh\n`weights-exceed-memory`\n```\n")
    assert run(str(tmp_path / "site"), "--pages", str(tmp_path / "docs")).exit_code == 0
    assert (tmp_path / "site" / "a" / "page.md").read_text(encoding="utf-8") == (
        "[`weights-exceed-memory`](../rules/weights-exceed-memory.md), [`gpulint explain vllm`](../engines/vllm.md), "
        "`nothing`, code, [b](b.md)\n"
    )
    assert (tmp_path / "site" / "a" / "b.md").read_text(encoding="utf-8") == "```sh\n`weights-exceed-memory`\n```\n"


def test_links_out_of_the_pages_lead_to_the_project_where_its_address_is_known() -> None:
    with unittest.mock.patch.object(site, "PROJECT", "https://git.example.com/tools/gpulint"):
        text = site.adapt("a/page.md", b"[code](../../bench/x.py#l)\n", "docs")
    assert text == b"[code](https://git.example.com/tools/gpulint/blob/main/bench/x.py#l)\n"


# ---- what is written, and what is not

PAGES = (("rules/a.md", "a\n"), ("reference.md", "b\n"))


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """A site of two pages, for tests of where it is written."""
    monkeypatch.setattr(reference_pages, "render_all", lambda: iter(PAGES))


def write(folder: Path, name: str, text: str) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")


def test_a_later_run_replaces_what_an_earlier_one_wrote(
    tmp_path: Path, few: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(str(tmp_path / "new" / "site")).exit_code == 0
    monkeypatch.setattr(reference_pages, "render_all", lambda: iter((("rules/c.md", "c\n"),)))
    assert run(str(tmp_path / "new" / "site")).exit_code == 0
    assert read_tree(tmp_path / "new") == {"site/rules/c.md": "c\n", "site/.gpulint-docs": "rules/c.md\n"}


def test_an_empty_folder_is_taken(tmp_path: Path, few: None) -> None:
    (tmp_path / "site").mkdir()
    assert run(str(tmp_path / "site")).exit_code == 0
    assert set(read_tree(tmp_path / "site")) == {"rules/a.md", "reference.md", ".gpulint-docs"}


@pytest.mark.parametrize("earlier", [False, True], ids=["foreign", "foreign file beside ours"])
def test_a_folder_with_files_of_somebody_else_is_left_alone(tmp_path: Path, few: None, earlier: bool) -> None:
    if earlier:
        assert run(str(tmp_path / "site")).exit_code == 0
    write(tmp_path, "site/notes.md", "mine\n")
    before = read_tree(tmp_path)
    result = run(str(tmp_path / "site"))
    assert (result.exit_code, result.stderr) == (
        2,
        f"gpulint: {tmp_path}/site contains files that gpulint docs did not write, such as notes.md; nothing was written\n",
    )
    assert read_tree(tmp_path) == before


def test_what_is_no_folder_is_refused(tmp_path: Path, few: None) -> None:
    write(tmp_path, "site", "mine\n")
    result = run(str(tmp_path / "site"))
    assert (result.exit_code, "is not a folder; nothing was written" in result.stderr) == (2, True)
    assert read_tree(tmp_path) == {"site": "mine\n"}


def test_the_current_folder_is_refused(tmp_path: Path, few: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(".")
    assert (result.exit_code, "the current folder" in result.stderr) == (2, True)
    assert read_tree(tmp_path) == {}


def test_pages_and_site_do_not_lie_within_each_other(tmp_path: Path, few: None) -> None:
    write(tmp_path, "docs/a.md", "a\n")
    for folder in ("docs/site", "docs"):
        result = run(str(tmp_path / folder), "--pages", str(tmp_path / "docs"))
        assert (result.exit_code, "contains the other" in result.stderr) == (2, True)
    assert read_tree(tmp_path) == {"docs/a.md": "a\n"}


def test_a_page_with_the_name_of_a_generated_one_is_refused(tmp_path: Path, few: None) -> None:
    write(tmp_path, "docs/rules/a.md", "mine\n")
    result = run(str(tmp_path / "site"), "--pages", str(tmp_path / "docs"))
    assert (result.exit_code, "rules/a.md has the name of a generated page" in result.stderr) == (2, True)
    assert not (tmp_path / "site").exists()


def test_a_page_that_is_no_text_is_refused(tmp_path: Path, few: None) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_bytes(b"\xff\xfe")
    result = run(str(tmp_path / "site"), "--pages", str(tmp_path / "docs"))
    assert (result.exit_code, "docs/a.md is not UTF-8" in result.stderr) == (2, True)


def test_after_a_failure_the_folder_is_as_it_was(tmp_path: Path, few: None, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(str(tmp_path / "site")).exit_code == 0
    before = read_tree(tmp_path)
    rename = os.rename

    def fail_once(source: Path, target: Path) -> None:
        if Path(source).name == "new":
            raise OSError(28, "No space left on device")
        rename(source, target)

    monkeypatch.setattr(os, "rename", fail_once)
    result = run(str(tmp_path / "site"))
    assert (result.exit_code, result.stderr) == (
        2,
        f"gpulint: {tmp_path}/site cannot be written: no space left on device\n",
    )
    assert read_tree(tmp_path) == before
