"""The rules of an organisation in examples/policies pass their own samples, and what docs/own_rules.md says of rules holds."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from folders import ROOT

from gpulint import cli
from gpulint.pipeline.rule_tests import runner
from gpulint.policy.conditions import condition_diagnostics
from gpulint.policy.rules import diagnostics, rule
from gpulint.policy.rules.rule import RuleError

POLICIES = ROOT / "examples" / "policies"
FILES = sorted(POLICIES.rglob("*.yaml"))
ORGANISATION = [path for path in FILES if "organisation" in path.parts]
PAGE = (ROOT / "docs" / "own_rules.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)


def blocks(language: str) -> list[str]:
    return [text for name, text in BLOCK.findall(PAGE) if name == language]


def samples_of(path: Path) -> list[str]:
    return [str(text) for texts in rule.load_examples(diagnostics.load(path)).values() for text in texts]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_rule_of_the_examples_passes_its_own_samples(path: Path) -> None:
    (found,) = runner.run([path], ())
    assert [*found.complaints, *(line for trial in found.trials for line in trial.complaints)] == []


def test_all_of_them_are_known_together_beside_ours() -> None:
    own = rule.merge(diagnostics.load_folder(POLICIES))
    assert {path.stem for path in FILES} == set(own) - set(rule.load_shipped())


def test_the_rules_of_the_organisation_are_ten_and_unlike_one_another() -> None:
    found = [diagnostics.load(path) for path in ORGANISATION]
    assert len(found) == 10
    assert len({one.family for one in found}) == 10
    assert {one.target.scope for one in found} == {"workload", "document"}
    assert {one.target.kind for one in found if one.target.scope == "workload"} == {(), ("inference",), ("training",)}
    texts = "\n".join(text for path in ORGANISATION for text in samples_of(path))
    for word in ("#SBATCH", "services:", "kind: PyTorchJob", "kind: InferenceService", "kind: Deployment", "# file: "):
        assert word in texts, word


@pytest.mark.parametrize("path", ORGANISATION, ids=lambda path: path.stem)
def test_the_page_lists_every_rule_of_the_organisation_with_its_file(path: Path) -> None:
    assert f"[{path.stem}](../{path.relative_to(ROOT).as_posix()})" in PAGE


# ---- the page


def test_the_file_that_the_page_shows_is_the_file_that_is_there() -> None:
    shown = blocks("yaml")[0].splitlines()
    text = (POLICIES / "organisation" / "quota" / "dev-namespace-exceeded.yaml").read_text(encoding="utf-8")
    assert [line for line in shown if line not in text] == [
        "# policies/gpulint/quota/dev-namespace-exceeded.yaml",
        "examples: {bad: […], good: […]}",
    ]


def lines_of_cel() -> list[str]:
    return [line.partition("//")[0].strip() for block in blocks("cel") for line in block.splitlines()]


@pytest.mark.parametrize("expression", lines_of_cel())
def test_every_condition_of_the_page_is_one(expression: str) -> None:
    assert list(condition_diagnostics.find_mistakes(expression)) == []


RULE = """\
summary: s
severity: warning
for: {scope: workload}
why: w.
when: gpus_per_pod > 0
message: m
examples: {bad: [a], good: [b]}
"""


def refusals() -> list[tuple[str, str]]:
    table = PAGE[PAGE.index("| written | message |") :].split("\n\n")[0].splitlines()[2:]
    return [tuple(cell.strip() for cell in line.strip("|").split(" | ")) for line in table]  # type: ignore[misc]


@pytest.mark.parametrize(("written", "said"), refusals(), ids=[written for written, _ in refusals()])
def test_every_mistake_of_the_page_is_refused_in_those_words(tmp_path: Path, written: str, said: str) -> None:
    path = tmp_path / "house" / "own-rule.yaml"
    path.parent.mkdir()
    key = written.strip("`").partition(":")[0]
    if written == "no `examples`":
        text = RULE[: RULE.index("examples")]
    elif key in ("for", "when", "message"):
        text = re.sub(rf"^{key}:.*$", lambda _: written.strip("`"), RULE, flags=re.MULTILINE)
    else:
        text = RULE.replace("when:", f"{key}:")
    path.write_text(text, encoding="utf-8")
    with pytest.raises(RuleError) as caught:
        diagnostics.load(path)
    assert f": {said}" in str(caught.value)


def test_what_the_page_shows_of_the_commands_is_what_they_print(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    begun, tested = blocks("console")[:2]
    words, _, printed = begun.partition("\n")
    result = CliRunner().invoke(cli.main, words.removeprefix("$ gpulint ").split())
    assert (result.exit_code, result.stdout) == (0, printed)
    path = Path("policies/gpulint/capacity/pod-too-large.yaml")
    path.write_text(path.read_text(encoding="utf-8").replace("replica > 8", "replica > 100"), encoding="utf-8")
    words, _, printed = tested.partition("\n")
    result = CliRunner().invoke(cli.main, words.removeprefix("$ gpulint ").split())
    assert (result.exit_code, result.stdout) == (1, printed)


def test_what_the_page_shows_of_facts_is_what_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    words, _, printed = blocks("console")[2].partition("\n")
    result = CliRunner().invoke(cli.main, words.removeprefix("$ gpulint ").split())
    assert (result.exit_code, result.stdout) == (0, printed)
