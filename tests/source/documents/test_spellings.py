"""Spellings: no way to write a word hides it from the filter that looks for it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpulint.source import documents
from gpulint.source.documents import spellings

WORDS = st.text("abcxyzuU.-_/", min_size=3, max_size=10)
AROUND = st.text("ab \\\\'x7u0:#\n", max_size=12)


def escape_letter(letter: str, style: int) -> str:
    return (letter, f"\\x{ord(letter):02x}", f"\\u{ord(letter):04x}", f"\\U{ord(letter):08x}", f"\\\n  {letter}")[style]


@given(WORDS, st.data(), AROUND)
def test_a_word_in_the_escapes_of_yaml_is_found(word: str, data: st.DataObject, around: str) -> None:
    styles = data.draw(st.lists(st.integers(0, 4), min_size=len(word), max_size=len(word)))
    quoted = "".join(escape_letter(letter, style) for letter, style in zip(word, styles, strict=True))
    text = f'# {json.dumps(around)}\na: "{quoted}"\n'
    (document,) = documents.load("a.yaml", text.encode()).documents
    assert document.data == {"a": word}
    assert word in text or word in spellings.read_plainly(text)
    assert word in document.words


@given(WORDS, st.data())
def test_a_word_in_the_escapes_of_json_is_found(word: str, data: st.DataObject) -> None:
    which = data.draw(st.lists(st.booleans(), min_size=len(word), max_size=len(word)))
    quoted = "".join(escape_letter(letter, 2 * chosen) for letter, chosen in zip(word, which, strict=True))
    text = f'{{"{quoted}": 1}}'
    assert json.loads(text) == {word: 1}
    assert word in text or word in spellings.read_plainly(text)


@given(WORDS, st.sampled_from(["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be", "utf-16", "utf-8-sig"]))
def test_a_word_in_another_encoding_is_found(word: str, encoding: str) -> None:
    assert word in spellings.read_plainly(f"a: {word}\n".encode(encoding).decode("latin-1"))


@pytest.mark.parametrize(
    "text",
    ["mpi''run", 'mpi"ru"n', "m\\pirun", "mpi\\\nrun", "$'\\x6dpirun'", "$'\\155pirun'", 'm"pi"$"run"', "'mpi'\\run"],
)
def test_a_word_in_the_quotes_of_a_shell_is_found(text: str) -> None:
    assert "mpirun" in spellings.read_plainly(text)


@pytest.mark.parametrize(
    "text",
    [
        "ray start",
        "ray   start",
        "ray \\\n  start",
        "ray\n  start",
        '["ray", "start"]',
        "- ray\n- start",
        r'"ray\tstart"',
    ],
)
def test_words_that_follow_each_other_are_found(text: str) -> None:
    assert "ray start" in spellings.read_plainly(text)


def test_a_plain_text_is_not_unusual() -> None:
    assert not spellings.has_unusual("apiVersion: v1\nkind: Pod\n")
