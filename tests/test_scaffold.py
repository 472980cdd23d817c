"""What `gpulint init` writes is taken by gpulint itself, with each line that it offers."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from gpulint import cli
from gpulint.cli.scaffold import settings as scaffold_settings
from gpulint.report.model import Report


def uncommented(text: str) -> str:
    """The settings with every offered key in force."""
    lines = (line for line in text.splitlines() if re.match(r"# (?:[a-z-]+:(?: |$)|  [-/])", line))
    return "".join(f"{line.removeprefix('# ')}\n" for line in lines)


def test_each_line_that_the_settings_offer_is_one_that_they_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    shutil.copytree(Path(__file__).parent.parent / "examples" / "policies", tmp_path / "policies" / "gpulint")
    settings = uncommented(scaffold_settings.render_settings(Report()))
    assert len(re.findall(r"^[a-z-]+:", settings, re.MULTILINE)) == 12
    Path("gpulint.yaml").write_text(settings, encoding="utf-8")
    (tmp_path / "chat.yaml").write_text("apiVersion: v1\nkind: Service\n", encoding="utf-8")
    (tmp_path / "facility.yaml").write_text(scaffold_settings.FACILITY, encoding="utf-8")
    result = CliRunner().invoke(cli.main, ["check", "chat.yaml"])
    assert (result.exit_code, result.stderr) == (0, "gpulint: nothing here concerns GPUs\n"), result.output


def test_the_settings_say_nothing_by_themselves() -> None:
    text = scaffold_settings.render_settings(Report())
    assert all(line.startswith("#") or not line for line in text.splitlines())


# ---- a facility


def facility_lines(text: str) -> str:
    """The Facility with every offered line in force; the first two lines speak of it."""
    head, rest = text.splitlines(keepends=True)[:2], text.splitlines(keepends=True)[2:]
    return "".join((*head, *(re.sub(r"^( *)# (?=[\w -])", r"\1", line) for line in rest)))


@pytest.mark.parametrize(
    "text", [scaffold_settings.FACILITY, facility_lines(scaffold_settings.FACILITY)], ids=["as written", "all lines"]
)
def test_a_facility_to_begin_with_is_one_that_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    Path("facility.yaml").write_text(text, encoding="utf-8")
    result = CliRunner().invoke(cli.main, ["facility", "facility.yaml"])
    assert (result.exit_code, ", no findings\n" in result.output) == (0, True), result.output
    assert result.output.startswith("our-site: 8 racks, ")


def test_a_facility_is_written_beside_settings_or_where_they_stand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    first = CliRunner().invoke(cli.main, ["init", "--facility"])
    assert (first.exit_code, first.output.splitlines()[:2]) == (0, ["wrote gpulint.yaml", "wrote facility.yaml"])
    assert "  gpulint facility facility.yaml  draws its racks" in first.output
    again = CliRunner().invoke(cli.main, ["init", "--facility"])
    assert (again.exit_code, again.stderr) == (2, "gpulint: facility.yaml already exists; nothing was written\n")
    other = CliRunner().invoke(cli.main, ["init", "--facility", "site.yaml"])
    assert other.output.splitlines()[:2] == ["wrote site.yaml", "gpulint.yaml already exists and was left unchanged"]
    assert Path("site.yaml").read_text(encoding="utf-8") == scaffold_settings.FACILITY
