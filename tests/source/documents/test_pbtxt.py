"""Textproto: data, places, and what is not valid."""

from __future__ import annotations

import pytest

from gpulint.source.documents import Document, load, pbtxt
from gpulint.source.documents.nodes import DEPTH_MAX, TEMPLATE, InvalidSyntaxError, LimitError


def data(text: str) -> object:
    parsed = pbtxt.read(text)
    return parsed.data if parsed else None


@pytest.mark.parametrize(
    ("text", "read"),
    [
        pytest.param('name: "llama"', {"name": "llama"}, id="a string"),
        pytest.param("name: 'llama'", {"name": "llama"}, id="single quotes"),
        pytest.param('name: "a" "b"\n  "c"', {"name": "abc"}, id="strings after one another"),
        pytest.param(r'name: "a\n\"\x41\101"', {"name": 'a\n"AA'}, id="escapes"),
        pytest.param("a: 1 b: -2 c: 0.5 d: 1e-3", {"a": 1, "b": -2, "c": 0.5, "d": 0.001}, id="numbers"),
        pytest.param("a: true b: False", {"a": True, "b": False}, id="truth values"),
        pytest.param("kind: KIND_GPU", {"kind": "KIND_GPU"}, id="an enum"),
        pytest.param("a { b: 1 }", {"a": {"b": 1}}, id="a message"),
        pytest.param("a: { b: 1 }", {"a": {"b": 1}}, id="a message behind a colon"),
        pytest.param("a < b: 1 >", {"a": {"b": 1}}, id="angle brackets"),
        pytest.param("a [ { b: 1 }, { b: 2 } ]", {"a": [{"b": 1}, {"b": 2}]}, id="a list"),
        pytest.param("gpus: [0, 1]", {"gpus": [0, 1]}, id="a list of numbers"),
        pytest.param("a: []", {"a": []}, id="an empty list"),
        pytest.param("a { b: 1 } a { b: 2 }", {"a": [{"b": 1}, {"b": 2}]}, id="a field stated twice"),
        pytest.param("a: [1] a: 2", {"a": [1, 2]}, id="a list and one more"),
        pytest.param("a: 1, b: 2; c: 3", {"a": 1, "b": 2, "c": 3}, id="separators"),
        pytest.param("# note\na: 1 # more\n", {"a": 1}, id="comments"),
        pytest.param("max_batch_size: ${size}", {"max_batch_size": "${size}"}, id="a placeholder"),
        pytest.param("a: {\r\n  b: 1\r\n}\r\n", {"a": {"b": 1}}, id="line ends of Windows"),
        pytest.param("[x.y] { a: 1 }", {"x.y": {"a": 1}}, id="an extension"),
        pytest.param("  # nothing\n", None, id="nothing"),
    ],
)
def test_a_message_is_read_as_plain_data(text: str, read: object) -> None:
    assert data(text) == read


@pytest.mark.parametrize(
    "text",
    ["a: ", "a {", "a: [1", "{ a: 1 }", "a: }", 'a: "open', "a b: 1", "a: [1, 2}", "= 3", "a: 1 }"],
)
def test_what_is_no_message_is_invalid(text: str) -> None:
    with pytest.raises(InvalidSyntaxError):
        pbtxt.read(text)


def test_depth_is_bounded() -> None:
    with pytest.raises(LimitError):
        pbtxt.read("a {" * (DEPTH_MAX + 2) + "}" * (DEPTH_MAX + 2))


def document(text: str) -> Document:
    (found,) = load("model/config.pbtxt", text.encode()).documents
    return found


def test_values_have_their_places() -> None:
    found = document('backend: "vllm"\ninstance_group [\n  { kind: KIND_GPU count: 2 }\n]\n')
    assert found.format == "pbtxt"
    count = found.locate(("instance_group", 0, "count"))
    assert (count.line, count.column, count.end_column) == (3, 27, 28)
    name = found.locate(("backend",), span=(0, 2))
    assert (name.line, name.column, name.end_column) == (1, 11, 13)


def test_a_template_is_left_alone() -> None:
    assert load("config.pbtxt", b"backend: {{ backend }}\nkind: KIND_GPU\n").skips == (TEMPLATE,)
