"""The hostile cases are as many as stated and named once each, and a run is judged by its exit code and its report."""

from __future__ import annotations

import collections
import importlib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from folders import ROOT

if not (ROOT / "bench").exists():
    pytest.skip("a source archive has no bench", allow_module_level=True)


@pytest.fixture(scope="module")
def hostile() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "bench"))
        yield importlib.import_module("hostile")


def test_there_are_150_inputs_and_100_pull_requests_and_a_tenth_is_harmless(hostile: ModuleType) -> None:
    inputs = [*hostile.gates.list_cases(), *hostile.harm.list_cases()]
    requests = [*hostile.changes.list_changes()]
    assert len(inputs) >= 150
    assert len(requests) >= 100
    for cases in (inputs, requests):
        names = collections.Counter(case.name for case in cases)
        assert [name for name, count in names.items() if count > 1] == []
    harmless = sum(case.expected in ("clean", "counted", "refused", "ends") for case in inputs)
    assert harmless > len(inputs) / 10


@pytest.mark.parametrize(
    ("code", "findings", "skipped", "verdict"),
    [
        (1, [("parallel-size-exceeds-gpus", True)], [], "checked"),
        (1, [("file-not-checked", True)], [], "not checked"),
        (1, [("weights-exceed-memory", True)], [], "another finding"),
        (1, [("invalid-syntax", True), ("parallel-size-exceeds-gpus", True)], [], "checked"),
        (0, [("input-limit", False)], [], "noted"),
        (0, [], ["pod.yaml"], "counted"),
        (0, [], [], "clean"),
        (2, None, [], "refused"),
        (3, [], [], "broken"),
        (1, None, [], "broken"),
        (-9, None, [], "stopped"),
    ],
)
def test_a_run_is_judged_by_its_exit_code_and_its_report(
    hostile: ModuleType, code: int, findings: list[tuple[str, bool]] | None, skipped: list[str], verdict: str
) -> None:
    case = next(case for case in hostile.gates.list_cases() if case.name == "first-x-yaml")
    listed = tuple(hostile.outputs.Finding(rule, "pod.yaml", fails) for rule, fails in findings or ())
    report = None if findings is None else hostile.outputs.Found(listed, tuple(skipped))
    assert hostile._judge(case, hostile.Run(code, 1.0, 1.0, 50.0, b""), report) == verdict


@pytest.mark.parametrize(
    ("format_", "printed", "is_wrong"),
    [
        ("json", b'{"a": 1}', False),
        ("json", b'{"a": NaN}', True),
        ("json", b'{"a": 1, "a": 2}', True),
        ("junit", b"<a>x</a>", False),
        ("junit", b"<a><b></a>", True),
        ("text", b"\x1b[31mred\x1b[0m", False),
        ("text", b"\x1b]0;title\x07", True),
        ("concise", "a\u202eb".encode(), True),
        ("github", b"::error file=a::words", False),
        ("github", b"x\n::error::owned", True),
        ("markdown", b"```text\n<script>\n```\nwords", False),
        ("markdown", b"`![i](x)` words", False),
        ("markdown", b"a <script> b", True),
    ],
)
def test_an_output_that_could_be_taken_for_something_else_is_a_fault(
    hostile: ModuleType, format_: str, printed: bytes, is_wrong: bool
) -> None:
    assert bool([*hostile.outputs.find_faults(format_, printed)]) == is_wrong


@pytest.mark.parametrize("name", ["first-x-yaml", "to-hidden-file", "tracked-node_modules", "paths-github"])
def test_a_case_is_built_with_its_canary_beside_the_checkout(hostile: ModuleType, name: str, tmp_path: Path) -> None:
    cases = [*hostile.gates.list_cases(), *hostile.harm.list_cases()]
    words, count = hostile.repositories.build(next(case for case in cases if case.name == name), tmp_path)
    assert words[0] == "check"
    assert count >= 1
    assert any((tmp_path / "checkout").iterdir())
    assert (tmp_path / hostile.OUTSIDE / "pod.yaml").is_file()
