"""The grammar of Dockerfiles: instructions with the positions of their text, stages, variables."""

from __future__ import annotations

import time

import pytest

from gpulint.source import dockerfile
from gpulint.source.dockerfile import Instruction


def steps(text: str) -> list[Instruction]:
    stages, _ = dockerfile.read_stages(text, {})
    return [step for stage in stages for step in stage.instructions]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("run a \\\n  b", ("RUN", "a" + " " * 5 + "b"), id="a continued line, and a name in small letters"),
        pytest.param("RUN a \\\n# c\n\n  b", ("RUN", "a" + " " * 10 + "b"), id="a comment and an empty line between"),
        pytest.param("RUN a \\ \r\n b", ("RUN", "a" + " " * 6 + "b"), id="blanks behind the mark, lines of Windows"),
        pytest.param("RUN a `\n", ("RUN", "a `"), id="a mark that is none"),
        pytest.param("  ENV  A=1", ("ENV", "A=1"), id="indented"),
    ],
)
def test_an_instruction_is_one_line_of_the_same_length(text: str, expected: tuple[str, str]) -> None:
    (step,) = steps(f"FROM a\n{text}")
    assert (step.name, step.text) == expected
    whole = f"FROM a\n{text}"
    assert whole[step.at] == step.text[0]
    assert whole[step.at + len(step.text) - 1] == step.text[-1]


def test_a_directive_changes_the_mark_of_continued_lines() -> None:
    (step,) = steps("# syntax=x\n# escape=`\nFROM a\nRUN a `\n  C:\\\n")
    assert step.text == "a" + " " * 5 + "C:\\"


def test_the_lines_of_a_here_document_are_no_instructions() -> None:
    found = steps('FROM a\nRUN <<EOF bash\nFROM b\nCMD x\nEOF\nCOPY <<-"ONE" /a\n\tENV A=1\n\tONE\nCMD ["y"]\n')
    assert [(step.name, step.here) for step in found] == [
        ("RUN", "FROM b\nCMD x\n"),
        ("COPY", "\tENV A=1\n"),
        ("CMD", ""),
    ]


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("$A/${A}", "1/1"),
        ("${B:-2} ${B-3} ${A:-4}", "2 3 1"),
        ("${E:-5}${E-6}", "5"),
        ("${A:+7}", "7"),
        ("$B ${B} ${B:+8}", "$B ${B} ${B:+8}"),
    ],
)
def test_variables_are_filled_in_where_they_are_known(text: str, filled: str) -> None:
    assert dockerfile.fill(text, {"A": "1", "E": ""}) == filled


def test_a_setting_has_the_place_of_its_value() -> None:
    text = 'FROM a\nENV A=1 B="x y" C=$A D=$Z\nENV OLD a b\n'
    first, second = steps(text)
    found = dict(dockerfile.read_settings(first, {"A": "9"})) | dict(dockerfile.read_settings(second, {}))
    assert {name: setting.value for name, setting in found.items()} == {"A": "1", "B": "x y", "C": "9", "OLD": "a b"}
    assert [text[slice(*setting.span)] for setting in found.values()] == ["1", "x y", "$A", "a b"]


@pytest.mark.parametrize(
    "text",
    [
        "FROM a\n" + "RUN x \\\n" * 30_000,
        "FROM a\n" + "RUN <<A\n" * 30_000,
        "FROM a\nENV " + "A=1 " * 60_000,
        "FROM a\nENV A=" + "\\" * 200_000,
        "FROM a\nENV A=" + "${A" * 60_000,
        "FROM a\n" + "COPY " + "a " * 100_000,
        "# \n" * 80_000,
        "FROM --x " * 25_000,
    ],
    ids=["continued", "here-documents", "pairs", "escapes", "braces", "words", "comments", "flags"],
)
def test_a_hostile_text_takes_no_longer_than_a_plain_one(text: str) -> None:
    began = time.process_time()
    for step in steps(text):
        list(dockerfile.read_settings(step, {}))
        dockerfile.split_words(step.text)
    assert time.process_time() - began < 2


def test_a_text_beyond_the_limit_has_no_stages() -> None:
    assert steps("FROM a\nRUN x\n" + "#" * dockerfile.CHARACTERS_MAX) == []
