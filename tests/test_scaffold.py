"""What `gpulint init` writes is taken by gpulint itself, with each line that it offers."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from gpulint import cli, scaffold
from gpulint.findings import Report


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
    settings = uncommented(scaffold.settings_file(Report()))
    assert len(re.findall(r"^[a-z-]+:", settings, re.MULTILINE)) == 11
    Path("gpulint.yaml").write_text(settings, encoding="utf-8")
    (tmp_path / "chat.yaml").write_text("apiVersion: v1\nkind: Service\n", encoding="utf-8")
    result = CliRunner().invoke(cli.main, ["check"])
    assert (result.exit_code, result.stderr) == (0, "gpulint: nothing here concerns GPUs\n"), result.output


def test_the_settings_say_nothing_by_themselves() -> None:
    text = scaffold.settings_file(Report())
    assert all(line.startswith("#") or not line for line in text.splitlines())
