"""Where reports go: formats and files, several at once, each whole or not at all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from command_line import ELSEWHERE, RIGHT, WRONG, Run, run, write

from gpulint import cli
from gpulint.cli import output_files
from gpulint.cli.output_files import Output
from gpulint.report import formats
from gpulint.source import atomic_write, documents

__all__ = ["run"]


def files() -> set[str]:
    return {path.name for path in Path().iterdir()} - {".git"}


def test_the_formats_are_the_modules_that_render_one() -> None:
    folder = Path(formats.__file__).parent
    rendering = {path.stem for path in folder.glob("*.py") if "\ndef render(report: Report" in path.read_text()}
    assert set(output_files.list_formats()) == rendering
    assert {"text", "json", "sarif", "junit"} <= rendering
    assert not {"schema", "plan", "xml", "identity"} & rendering


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("sarif", Output("sarif", "")),
        ("sarif:-", Output("sarif", "")),
        ("sarif:out.sarif", Output("sarif", "out.sarif")),
        ("sarif:a:b.sarif", Output("sarif", "a:b.sarif")),
        ("text:./-", Output("text", "./-")),
    ],
)
def test_a_word_is_a_format_and_a_file_parted_by_the_first_colon(run: Run, word: str, expected: Output) -> None:
    assert output_files.parse_outputs([word], None) == (expected,)


def test_a_drive_of_windows_stays_with_its_file(run: Run) -> None:
    Path("C:").mkdir()
    assert output_files.parse_outputs(["sarif:C:/out.sarif"], None) == (Output("sarif", "C:/out.sarif"),)


# ---- what is written where


def test_several_at_once(run: Run) -> None:
    write("wrong.yaml", WRONG)
    result = run("check", "--output", "sarif:out.sarif", "--output", "junit:out.xml", "--output", "text")
    assert result.exit_code == 1
    assert result.stdout == run("check").stdout
    assert result.stderr == ""
    (found,) = json.loads(Path("out.sarif").read_bytes())["runs"][0]["results"]
    assert found["ruleId"] == "context-exceeds-trained-maximum"
    assert ElementTree.parse("out.xml").getroot().get("failures") == "1"
    assert files() == {"wrong.yaml", "out.sarif", "out.xml"}


def test_format_is_the_short_form_for_stdout(run: Run) -> None:
    write("wrong.yaml", WRONG)
    assert run("check", "--format", "concise").stdout == run("check", "--output", "concise").stdout
    both = run("check", "--format", "json", "--output", "concise:out.txt")
    assert json.loads(both.stdout)["summary"]["findings"]["error"] == 1
    assert Path("out.txt").read_text().startswith("wrong.yaml:9:")


def test_with_files_only_one_line_on_stderr_counts(run: Run) -> None:
    write("wrong.yaml", WRONG)
    result = run("check", "--output", "sarif:a.sarif", "--output", "gitlab:b.json")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "gpulint: 1 file, 1 workload, 1 error; written to a.sarif, b.json\n"


def test_files_are_written_where_nothing_is_found(run: Run) -> None:
    write("other.yaml", ELSEWHERE)
    result = run("check", "--output", "gitlab:out.json")
    assert result.exit_code == 0
    assert Path("out.json").read_text() == "[]\n"
    assert "nothing here concerns GPUs" in result.stderr


def test_our_own_fault_is_written_too(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    write("a.yaml", WRONG)

    def faulty(path: str, content: bytes, *relevance: documents.Relevance) -> documents.Loaded:
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr(documents, "load", faulty)
    result = run("check", "--output", "junit:out.xml")
    assert result.exit_code == 3
    assert ElementTree.parse("out.xml").getroot().get("errors") == "1"
    assert "internal error in a.yaml while checking the file: RuntimeError: a fault of ours" in result.stderr


def test_colour_is_for_stdout_alone(run: Run) -> None:
    write("wrong.yaml", WRONG)
    result = run("check", "--color", "--output", "text", "--output", "concise:out.txt")
    assert "\x1b[31;1m" in result.stdout
    run("check", "--color", "--output", "text:out.txt")
    assert "\x1b" not in Path("out.txt").read_text()


def test_a_report_in_the_repository_is_not_checked_in_the_next_run(run: Run) -> None:
    write("wrong.yaml", WRONG)
    for _ in range(2):
        result = run("check", "--output", "json:report.json", "--output", "sarif:report.sarif.json")
    assert result.stderr.startswith("gpulint: ")
    assert {one["path"] for one in json.loads(Path("report.json").read_bytes())["findings"]} == {"wrong.yaml"}


def test_fixed_stdin_keeps_stdout_for_the_text(run: Run) -> None:
    result = run("check", "--fix", "--output", "concise", "-", stdin=RIGHT)
    assert result.stdout == RIGHT
    assert "no findings" in result.stderr


# ---- what is refused, before anything is checked


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--output", "xml"), f"no format is called xml; the formats are {', '.join(output_files.list_formats())}"),
        (("--format", "xml"), "no format is called xml; the formats are"),
        (("--output", "out.sarif"), "out.sarif is not a format; write FORMAT:FILE with one of these formats: "),
        (("--output", "sarif:"), "sarif: names no file: write sarif:FILE, or sarif for stdout"),
        (
            ("--output", "text", "--output", "json"),
            "text and json would both go to stdout; name a file for one of them, as in json:FILE",
        ),
        (("--format", "text", "--output", "text"), "text and text would both go to stdout"),
        (("--output", "text", "--output", "json:-"), "text and json would both go to stdout"),
        (("--output", "json:a.json", "--output", "sarif:./a.json"), "two outputs would be written to a.json"),
        (("--output", "json:no/such/a.json"), "no/such/a.json cannot be written: there is no folder no/such"),
        (("--output", "json:folder"), "folder is not a regular file; gpulint overwrites only regular files"),
        (("--output", "json:link"), "link is a symbolic link; gpulint overwrites only regular files"),
        (
            ("--output", "text:wrong.yaml", "wrong.yaml"),
            "wrong.yaml is one of the files to check, and the output would overwrite it",
        ),
        (("--diff", "--output", "json"), "--output writes a report, but --diff produces none"),
    ],
)
def test_an_output_that_cannot_be_made_is_misuse(run: Run, words: tuple[str, ...], message: str) -> None:
    write("wrong.yaml", WRONG)
    Path("folder").mkdir()
    Path("link").symlink_to("elsewhere.json")
    result = run("check", *words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr
    assert files() == {"wrong.yaml", "folder", "link"}
    assert Path("wrong.yaml").read_text() == WRONG


def test_a_folder_that_may_not_be_written_is_misuse(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    write("wrong.yaml", WRONG)
    Path("closed").mkdir()
    allowed = os.access
    monkeypatch.setattr(os, "access", lambda place, mode: Path(place).name != "closed" and allowed(place, mode))
    result = run("check", "--output", "json:closed/a.json")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "closed/a.json cannot be written: permission denied" in result.stderr


def test_paths_are_relative_to_the_folder_that_gpulint_runs_in(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    write("apps/wrong.yaml", WRONG)
    assert run("check", "--format", "concise").stdout.startswith("apps/wrong.yaml:9:")
    monkeypatch.chdir("apps")
    assert run("check", "--format", "concise").stdout.startswith("wrong.yaml:9:")


def test_no_link_of_the_repository_leads_to_an_output(run: Run, tmp_path: Path) -> None:
    write("wrong.yaml", WRONG)
    (tmp_path / "reports").symlink_to(".git")
    result = run("check", "--output", "json:reports/found.json")
    assert result.exit_code == 2
    assert "reports is a symbolic link, which gpulint does not follow" in result.stderr
    assert list((tmp_path / ".git").iterdir()) == []


def test_a_folder_of_the_repository_and_one_outside_take_an_output(
    run: Run, tmp_path_factory: pytest.TempPathFactory
) -> None:
    write("right.yaml", RIGHT)
    Path("reports").mkdir()
    outside = tmp_path_factory.mktemp("outside")
    (outside / "linked").symlink_to(outside)
    assert run("check", "right.yaml", "--output", "json:reports/found.json").exit_code == 0
    assert run("check", "right.yaml", "--output", f"json:{outside}/linked/found.json").exit_code == 0
    assert (outside / "found.json").read_bytes() == Path("reports/found.json").read_bytes()


# ---- whole or not at all


def test_a_file_that_cannot_be_written_is_two_and_the_report_is_not_lost(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("wrong.yaml", WRONG)
    write("a.sarif", "what stood there")
    put = atomic_write.write

    def full(place: Path, content: bytes) -> None:
        if place.name == "a.sarif":
            raise OSError(28, "No space left on device")
        put(place, content)

    monkeypatch.setattr(atomic_write, "write", full)
    result = run("check", "--output", "sarif:a.sarif", "--output", "concise:b.txt")
    assert result.exit_code == 2
    assert result.stderr == "gpulint: a.sarif was not written: no space left on device\n"
    assert result.stdout == run("check").stdout
    assert Path("a.sarif").read_text() == "what stood there"
    assert Path("b.txt").read_text().startswith("wrong.yaml:9:")


def test_what_breaks_off_leaves_the_old_file_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "a.txt"
    place.write_text("old")

    def broken(source: str, target: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", broken)
    with pytest.raises(KeyboardInterrupt):
        atomic_write.write(place, b"new")
    assert [(one.name, one.read_text()) for one in tmp_path.iterdir()] == [("a.txt", "old")]


@pytest.mark.skipif(os.name == "nt", reason="modes of POSIX")
def test_a_new_file_has_the_mode_of_any_new_file_and_an_old_one_keeps_its_own(tmp_path: Path) -> None:
    mask = os.umask(0o027)
    try:
        atomic_write.write(tmp_path / "new", b"x")
        (tmp_path / "old").write_bytes(b"y")
        (tmp_path / "old").chmod(0o604)
        atomic_write.write(tmp_path / "old", b"x")
    finally:
        os.umask(mask)
    assert [(tmp_path / name).stat().st_mode & 0o777 for name in ("new", "old")] == [0o640, 0o604]


# ---- cost


def test_a_plain_run_imports_no_further_renderer(run: Run) -> None:
    write("right.yaml", RIGHT)
    probe = (
        "import sys\n"
        "from click.testing import CliRunner\n"
        "from gpulint import cli\n"
        "assert CliRunner().invoke(cli.main, ['check', 'right.yaml']).exit_code == 0\n"
        "print(*sorted(one for one in sys.modules if one.startswith('gpulint.report.formats.')))\n"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    further = {f"gpulint.report.formats.{name}" for name in output_files.list_formats()} - {
        "gpulint.report.formats.text"
    }
    assert not further & set(done.stdout.split())


def test_help_lists_the_formats(run: Run) -> None:
    shown = " ".join(run("check", "--help").stdout.split())
    assert f"[{'|'.join(output_files.list_formats())}]" in shown.replace("| ", "|")


def completed(*words: str, typed: str) -> list[str]:
    from click.shell_completion import ShellComplete

    shell = ShellComplete(cli.main, {}, "gpulint", "_GPULINT_COMPLETE")
    return [one.value for one in shell.get_completions(list(words), typed)]


@pytest.mark.parametrize("option", ["--format", "--output"])
def test_a_shell_completes_the_formats(option: str) -> None:
    assert completed("check", option, typed="") == list(output_files.list_formats())
    assert completed("check", option, typed="gi") == ["github", "gitlab"]
    assert completed("check", option, typed="yaml") == []
