"""Documents: what the data is, where it stands, and what is said about files that do not parse."""

from __future__ import annotations

import subprocess
import sys

import pytest

from gpulint.report.model import Location
from gpulint.source import documents
from gpulint.source.documents import yaml
from gpulint.source.documents.nodes import TEMPLATE, Skipped


def load(text: str | bytes, path: str = "a.yaml") -> documents.Loaded:
    return documents.load(path, text.encode() if isinstance(text, str) else text)


def only(text: str | bytes, path: str = "a.yaml") -> documents.Document:
    loaded = load(text, path)
    assert loaded.problems == ()
    assert len(loaded.documents) == 1
    return loaded.documents[0]


def data(text: str | bytes, path: str = "a.yaml") -> object:
    return only(text, path).data


def span(location: Location) -> tuple[int, int, int, int]:
    return location.line, location.column, location.end_line, location.end_column


def shown(document: documents.Document, path: documents.Path, start: int, end: int) -> str:
    """The source that a span of a decoded scalar stands for."""
    place = document.locate(path, span=(start, end))
    lines = document.text.split("\n")
    offset = sum(len(line) + 1 for line in lines[: place.line - 1]) + place.column - 1
    stop = sum(len(line) + 1 for line in lines[: place.end_line - 1]) + place.end_column - 1
    return document.text[offset:stop]


def problems(text: str | bytes, path: str = "a.yaml") -> list[tuple[str, str, tuple[int, int, int, int]]]:
    return [(problem.kind, problem.message, span(problem.location)) for problem in load(text, path).problems]


# ---- values


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("yes", True),
        ("On", True),
        ("y", True),
        ("off", False),
        ("N", False),
        ("True", True),
        ("tRue", "tRue"),
        ("~", None),
        ("", None),
        ("NULL", None),
        ("0644", 420),
        ("0o17", 15),
        ("0x1F", 31),
        ("0b101", 5),
        ("-0b11", -3),
        ("1_000", 1000),
        ("+7", 7),
        ("089", 89.0),
        ("1e-5", 0.00001),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("5.", 5.0),
        ("-.inf", float("-inf")),
        (".inf", float("inf")),
        (".nan", ".nan"),
        ("2024-01-31", "2024-01-31"),
        ("1:30", "1:30"),
        ("1.2.3", "1.2.3"),
        ("80Gi", "80Gi"),
        ("12e03x", "12e03x"),
        ("-", ["x"]),
        ("'1'", "1"),
        ('"yes"', "yes"),
        ("!!str 1", "1"),
        ("!!int '8'", 8),
        ("!Ref x", "x"),
        ("! 5", "5"),
        ("|\n  1\n", "1\n"),
        ("${VAR}", "${VAR}"),
        ("<placeholder>", "<placeholder>"),
        ('"{{ .Values.x }}"', "{{ .Values.x }}"),
    ],
)
def test_scalars_are_read_as_kubernetes_reads_them(text: str, expected: object) -> None:
    text = "[x]" if text == "-" else text
    assert data(f"a: {text}\n") == {"a": expected}


def test_a_colon_inside_a_flow_value_belongs_to_it_as_in_yaml_1_2() -> None:
    document = only('gpu: {image: example.com:5000/a:v1, args: [x:y, "z"], "tp":2}\nscript: |\n  a:b c\n')
    assert document.data == {
        "gpu": {"image": "example.com:5000/a:v1", "args": ["x:y", "z"], "tp": 2},
        "script": "a:b c\n",
    }
    assert span(document.locate(("gpu", "image"))) == (1, 14, 1, 35)


def test_what_is_wrong_beside_such_a_colon_is_still_told() -> None:
    assert problems("gpu: {image: server:v1\nb: 1\n") == [
        ("invalid-syntax", "a `{` before this is not closed; a `,` or `}` is missing", (2, 2, 2, 5))
    ]


def test_whole_number_keys_become_text_as_in_json() -> None:
    assert data("8: a\n0644: b\n'1': c\non: d\n1.5: e\n") == {"8": "a", "420": "b", "1": "c", "on": "d", "1.5": "e"}


@pytest.mark.parametrize("empty", ["", "~", "null"])
def test_a_kubernetes_object_states_nothing_under_an_empty_key(empty: str) -> None:
    pod = f"apiVersion: v1\nkind: Pod\nspec: {{containers: [{{image: {empty}}}]}}\n"
    document = only(pod)
    assert document.data == {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{}]}}
    assert document.node(("spec", "containers", 0, "image")) is None


@pytest.mark.parametrize(
    ("text", "path"),
    [
        pytest.param(
            "apiVersion: v1\nkind: Pod\nlimits: {nvidia.com/gpu: }\n", ("limits", "nvidia.com/gpu"), id="device"
        ),
        pytest.param("apiVersion: v1\nkind: Pod\nvolumes: [{emptyDir: }]\n", ("volumes", 0, "emptyDir"), id="volume"),
        pytest.param(
            "apiVersion: v2\nkind: HelmRelease\nvalues: {probe: }\n", ("values", "probe"), id="values of a chart"
        ),
        pytest.param("apiVersion: gpulint/v1\nkind: TrainingJob\nspec: {gpuss: }\n", ("spec", "gpuss"), id="own spec"),
        pytest.param("services: {chat: }\n", ("services", "chat"), id="no object"),
        pytest.param("apiVersion: v1\nkind: Pod\nitems: [~]\n", ("items", 0), id="item of a list"),
    ],
)
def test_a_key_that_says_something_by_itself_is_kept(text: str, path: documents.Path) -> None:
    assert only(text).get(path, "absent") is None


def test_a_shared_part_of_an_object_states_nothing_under_an_empty_key() -> None:
    document = only("apiVersion: v1\nkind: Pod\nspec: &shared {image: , name: a}\nstatus: {spec: *shared}\n")
    assert document.get(("spec",)) == document.get(("status", "spec")) == {"name": "a"}


def test_merge_keys_are_applied_and_explicit_keys_win() -> None:
    text = "base: &b {x: 1, y: 2}\nmore: &m {y: 3, z: 4}\na:\n  y: 9\n  <<: [*b, *m]\nc: {<<: *b}\n"
    assert data(text) == {
        "base": {"x": 1, "y": 2},
        "more": {"y": 3, "z": 4},
        "a": {"y": 9, "x": 1, "z": 4},
        "c": {"x": 1, "y": 2},
    }


def test_each_document_of_a_stream_is_read() -> None:
    loaded = load("# licence\n---\na: 1\n---\n# nothing\n---\nb: 2\n...\n---\nc: |\n  --- not a marker\n")
    assert [document.data for document in loaded.documents] == [{"a": 1}, {"b": 2}, {"c": "--- not a marker\n"}]
    assert [document.index for document in loaded.documents] == [0, 1, 2]
    assert [document.locate(("b",)).line for document in loaded.documents[1:2]] == [7]


def test_directives_belong_to_the_document_that_follows() -> None:
    loaded = load("%YAML 1.1\n# c\n---\na: 1\n...\n%TAG ! tag:x,2000:\n---\nb: !y 2\n")
    assert loaded.problems == ()
    assert [document.data for document in loaded.documents] == [{"a": 1}, {"b": "2"}]


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n", "---\n", "---\n---\n# x\n", "\ufeff"])
def test_an_empty_file_holds_no_document_and_no_problem(text: str) -> None:
    assert load(text) == documents.Loaded()


def test_get_returns_the_data_or_the_default() -> None:
    document = only("a:\n- b: 1\n  c: null\n")
    assert document.get(("a", 0, "b")) == 1
    assert document.get(("a", 0, "c"), "d") is None
    assert document.get(("a", 1, "b"), "d") == "d"
    assert document.get(("a", "0"), "d") == "d"
    assert document.get(("a", 0, "b", "x")) is None


# ---- places


def test_a_value_is_located_by_its_own_span_and_a_mapping_by_its_key() -> None:
    document = only("a:\n  b: x y # c\n  c:\n  - d: 1\n    e: 2\n\n  # trailing\n")
    assert span(document.locate(("a", "b"))) == (2, 6, 2, 9)
    assert span(document.locate(("a", "b"), key=True)) == (2, 3, 2, 4)
    assert span(document.locate(("a",))) == (1, 1, 1, 2)
    assert span(document.locate(("a", "c", 0))) == (4, 5, 4, 9)
    assert span(document.locate(("a", "c"), whole=True)) == (4, 3, 5, 9)
    assert span(document.locate(())) == (1, 1, 1, 3)
    assert document.locate(("a", "b")).text == "  b: x y # c"


def test_a_path_that_does_not_exist_is_located_at_its_nearest_ancestor() -> None:
    document = only("a:\n  b:\n  - c: 1\n")
    assert span(document.locate(("a", "x", "y"))) == (1, 1, 1, 2)
    assert span(document.locate(("a", "b", 0, "x"))) == (3, 5, 3, 9)
    assert span(document.locate(("a", "b", 0, "c", "x"))) == (3, 5, 3, 6)
    assert document.node(("a", "x")) is None
    assert document.key_node(("a", "x")) is None
    assert document.offset(("a", "x"), 3) == 0


def test_an_empty_value_is_a_place_behind_its_colon() -> None:
    assert span(only("a:\nb: 1\n").locate(("a",))) == (1, 3, 1, 3)


def test_an_alias_is_located_where_it_is_used_and_its_parts_where_they_stand() -> None:
    document = only("x: &x {p: 1}\ny: &y 5\na: *x\nb: *y\nc: {<<: *x}\n")
    assert span(document.locate(("b",))) == (4, 4, 4, 6)
    assert span(document.locate(("a", "p"))) == (1, 11, 1, 12)
    assert span(document.locate(("c", "p"))) == (1, 11, 1, 12)
    assert span(document.locate(("c", "p"), key=True)) == (1, 8, 1, 9)
    assert span(document.locate(("y",))) == (2, 7, 2, 8)
    node = document.node(("b",))
    assert node is not None
    assert node.target is document.node(("y",))
    assert document.data == {"x": {"p": 1}, "y": 5, "a": {"p": 1}, "b": 5, "c": {"p": 1}}


def test_columns_are_those_of_an_editor_whatever_the_line_ends_and_the_mark_at_the_start() -> None:
    document = only(b"\xef\xbb\xbfa: 1\r\nb: |\r\n  x y\r\n  z\r\nc: '\xf0\x9f\x98\x80' \r\nd: e\r\n")
    assert document.data == {"a": 1, "b": "x y\nz\n", "c": "😀", "d": "e"}
    assert span(document.locate(("a",))) == (1, 4, 1, 5)
    assert span(document.locate(("c",))) == (5, 4, 5, 7)
    assert span(document.locate(("d",))) == (6, 4, 6, 5)
    assert span(document.locate(("b",), span=(4, 5))) == (4, 3, 4, 4)
    assert document.locate(("b",)).text == "b: |\n  x y\n  z"


@pytest.mark.parametrize(
    ("text", "value", "part", "source"),
    [
        ("a: one two\n", "one two", "two", "two"),
        ("a: one\n   two\n   three\n", "one two three", "two", "two"),
        ("a: one\n\n   two\n", "one\ntwo", "two", "two"),
        ("a: 'it''s on'\n", "it's on", "on", "on"),
        ("a: 'it''s on'\n", "it's on", "'", "''"),
        ('a: "\\x41\\u00e9\\U0001F600\\tz q"\n', "Aé😀\tz q", "z", "z"),
        ('a: "x\\ty\\"z"\n', 'x\ty"z', '"', '\\"'),
        ('a: "one \\\n   two\n   three"\n', "one two three", "three", "three"),
        ('a: "one\n\n   two"\n', "one\ntwo", "two", "two"),
        ("a: |\n  one\n  two\n", "one\ntwo\n", "two", "two"),
        ("a: |\n\n  one\n\n    two\n  three\n", "\none\n\n  two\nthree\n", "  two", "  two"),
        ("a: |2-\n    one\n  two\n\n", "  one\ntwo", "two", "two"),
        ("a: |+\n one\n\n\nb: 1\n", "one\n\n\n", "one", "one"),
        ("a: >\n  one\n  two\n\n  three\n    four\n  five\n", "one two\nthree\n  four\nfive\n", "five", "five"),
        ("a: >-\n  one\n  two\n", "one two", "two", "two"),
        ("a: >1\n  one\n two\n", " one\ntwo\n", "two", "two"),
        ("- a: |\n    one\n    two\n", None, "", ""),
        ("a: &x !!str |\n  one\n  two\n", "one\ntwo\n", "two", "two"),
        ("a: &x one two\n", "one two", "two", "two"),
    ],
)
def test_a_span_of_a_decoded_scalar_has_its_exact_source(text: str, value: str | None, part: str, source: str) -> None:
    document = only(text)
    if value is None:
        assert shown(document, (0, "a"), 4, 7) == "two"
        return
    assert document.get(("a",)) == value
    start = value.index(part)
    assert shown(document, ("a",), start, start + len(part)) == source


def test_a_span_over_folded_lines_reaches_from_its_first_to_its_last_character() -> None:
    document = only("a: >\n  one two\n  three\n")
    assert span(document.locate(("a",), span=(4, 13))) == (2, 7, 3, 8)
    assert document.offset(("a",), 4) == 11
    assert document.offset(("a",), 99) == 23
    assert span(document.locate(("a",), span=(4, 4))) == (2, 7, 2, 7)


def test_a_span_through_an_alias_stands_in_the_anchored_scalar() -> None:
    document = only("a: &a one two\nb: *a\n")
    assert span(document.locate(("b",), span=(4, 7))) == (1, 11, 1, 14)


# ---- what does not parse


@pytest.mark.parametrize(
    ("text", "message", "place"),
    [
        ("gpu:\n\tb: 1\n", "a tab indents this line; YAML allows only spaces there", (2, 1, 2, 6)),
        ("gpu:\n  - a\n\t- b\n", "a tab indents this line; YAML allows only spaces there", (3, 1, 3, 5)),
        (
            "kind: gpu\nimage: {username}/x:latest\n",
            "`{` starts a flow mapping, and text follows its end; put the whole value in quotes",
            (2, 8, 2, 27),
        ),
        (
            "gpu: 1\n- [a]b\n",
            "the indentation of this line does not fit the lines above it, "
            "or a quote, bracket or colon is missing just before",
            (2, 1, 2, 7),
        ),
        ("gpu: a: b\n", "a second `: ` on one line; put the value in quotes if the colon belongs to it", (1, 7, 1, 10)),
        ("gpu: 1\n  b: 2\n", "the indentation of this line does not fit the lines above it", (2, 4, 2, 7)),
        ('gpu: "x\nb: 1\n', "this quote is never closed", (1, 6, 1, 8)),
        ("gpu: 1\nother\n", "this line is neither `key: value` nor part of the value above it", (2, 1, 2, 6)),
        ("gpu: [1, 2\nb: 3\n", "a `[` before this is not closed; a `,` or `]` is missing", (2, 2, 2, 5)),
        ("gpu: @x\n", "`@` cannot start a value; put the value in quotes", (1, 6, 1, 8)),
        (
            "gpu: *x y\n",
            "no anchor `&x` stands before this alias; quote the value if the `*` belongs to it",
            (1, 6, 1, 8),
        ),
        (
            "gpu: &x [*x]\n",
            "the anchor `&x` contains itself; an alias cannot name a value it is part of",
            (1, 10, 1, 12),
        ),
        (
            "gpu: *.x\n",
            "`*` and `&` start an alias or an anchor, which needs a name; put the value in quotes",
            (1, 7, 1, 9),
        ),
        ("gpu: é\x07b\n", "a control character (code 7) is not allowed in YAML", (1, 7, 1, 9)),
    ],
)
def test_yaml_that_does_not_parse_is_told_in_plain_words_at_its_place(
    text: str, message: str, place: tuple[int, int, int, int]
) -> None:
    assert problems(text) == [("invalid-syntax", message, place)]


def test_a_broken_document_does_not_lose_the_others() -> None:
    loaded = load("gpu: 1\n---\ngpu: {a}b\n---\ngpu: 3\n")
    assert [document.data for document in loaded.documents] == [{"gpu": 1}, {"gpu": 3}]
    assert [document.index for document in loaded.documents] == [0, 2]
    assert [span(problem.location) for problem in loaded.problems] == [(3, 6, 3, 10)]
    assert loaded.problems[0].location.text == "gpu: {a}b"


def load_irrelevant(text: str | bytes, path: str = "a.yaml") -> documents.Loaded:
    return documents.load(path, text.encode() if isinstance(text, str) else text, lambda text, format: False)


def test_what_is_wrong_with_an_irrelevant_text_is_no_problem() -> None:
    invalid = Skipped("invalid syntax", "syntax")
    assert load_irrelevant("name: {a}b\n") == documents.Loaded(skips=(invalid,))
    assert load_irrelevant("name: 1\nname: 2\n").problems == ()
    assert load_irrelevant('{"name": 1,}', "a.json").problems == ()
    assert load_irrelevant("name = \n", "a.toml").problems == ()


def test_without_a_choice_what_is_wrong_with_any_text_is_a_problem() -> None:
    assert [problem.kind for problem in load("name: {a}b\n").problems] == ["invalid-syntax"]
    assert [problem.kind for problem in load("name: 1\nname: 2\n").problems] == ["duplicate-key"]


def test_a_text_is_relevant_by_itself_and_by_its_format() -> None:
    asked: list[tuple[str, str]] = []
    documents.load("a.toml", b"name = \n", lambda text, format: bool(asked.append((text, format))))
    documents.load("a.yaml", b"name: \xe9\n", lambda text, format: bool(asked.append((text, format))))
    assert asked == [("name = \n", "toml"), ("name: \ufffd\n", "")]


@pytest.mark.parametrize(
    "text",
    [
        "{{- if .Values.gpu }}\na: 1\n{{- end }}\n",
        "gpu: {{ .Values.gpu }}\n",
        "gpu: 1\n{% if x %}\n",
        "gpu: {{ image }}/x\n",
        "gpu: @IMAGE@\n",
        "gpu: 2\nmain_process_ip: < TODO: the address >\nmain_process_port: <TODO: the port>\n",
    ],
)
def test_a_template_is_skipped_without_a_word(text: str) -> None:
    assert is_template(load(text), text)


def is_template(found: documents.Loaded, text: str) -> bool:
    """Whether a text is one document that holds nothing but itself, and is counted as skipped."""
    (document,) = found.documents
    return (document.format, document.data, found.problems, found.skips) == ("template", text, (), (TEMPLATE,))


def test_json_lines_and_json_with_unquoted_variables_are_skipped_without_a_word() -> None:
    lines = load_irrelevant('{"gpu": 1}\n{"gpu": 2}\n', "data.json")
    assert lines == documents.Loaded(skips=(Skipped("JSON lines", "kind"),))
    assert is_template(load('{"gpus": ${GPUS}}\n', "job.json"), '{"gpus": ${GPUS}}\n')
    assert problems('{"nvidia.com/gpu": "${GPUS}",}\n', "job.json") != []


@pytest.mark.parametrize("path", ["pods.json", "pods.yaml"])
def test_a_stream_of_json_objects_is_read_as_kubectl_reads_it(path: str) -> None:
    found = load('{"kind": "A"}\n{"kind": "B",\n "c": [1]} {"kind": "C"}\n', path)
    assert [document.data for document in found.documents] == [{"kind": "A"}, {"kind": "B", "c": [1]}, {"kind": "C"}]
    assert [document.locate(("kind",)).line for document in found.documents] == [1, 2, 3]
    assert (found.problems, found.skips) == ((), ())


def test_the_first_line_of_a_yaml_file_does_not_make_it_a_script() -> None:
    assert data("#!x\na: 1\n") == {"a": 1}
    assert data("#!/bin/sh\na: 1\n") == {"a": 1}
    assert data('MIME-Version: "1.0"\na: 1\n') == {"MIME-Version": "1.0", "a": 1}


def test_a_script_in_a_yaml_file_and_a_message_of_several_parts_are_no_invalid_yaml() -> None:
    assert [document.format for document in load("#!/bin/bash\nif true; then a: b: c; fi\n").documents] == ["shell"]
    message = load("MIME-Version: 1.0\n\n--==B==\nnvidia: a: b\n")
    assert (message.problems, message.skips) == ((), (Skipped("a MIME message of several parts", "language"),))


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a.sh", [Skipped("named like a shell script, but its first line (#!) names python", "suffix")]),
        ("a.sbatch", [Skipped("a script in another language than shell", "language")]),
        ("a", [Skipped("a script in another language than shell", "language")]),
    ],
)
def test_a_script_of_another_language_is_skipped_with_its_reason(path: str, expected: list[Skipped]) -> None:
    assert list(load("#!/usr/bin/env python3\nimport torch\n", path).skips) == expected


def test_an_unknown_interpreter_does_not_hide_a_shell_script() -> None:
    assert [document.format for document in load("#!x\nsrun a\n", "a.sh").documents] == ["shell"]


def test_an_object_is_read_whatever_its_name() -> None:
    assert data("# x\n---\napiVersion: v1\nkind: Pod\n", "deploy.txt") == {"apiVersion": "v1", "kind": "Pod"}
    assert load("see apiVersion: v1\n", "notes.txt").documents == ()


def test_text_in_base64_is_read() -> None:
    assert data("a: !!binary Z3B1\n!!binary Z3B1: 2\nb: !!binary x\n") == {"a": "gpu", "gpu": 2, "b": "x"}


def test_what_is_wrong_with_a_text_also_counts_as_not_read() -> None:
    assert load("gpu: {a}b\n").skips == (Skipped("invalid syntax", "syntax"),)


def test_text_that_parses_is_no_template() -> None:
    assert data('gpu: "{{ .x }}"\nb: x {{ y }}\n') == {"gpu": "{{ .x }}", "b": "x {{ y }}"}
    assert data("gpu: {username}\n") == {"gpu": {"username": None}}


def test_a_duplicate_key_is_told_at_the_second_and_the_last_wins() -> None:
    loaded = load("gpu: 1\na: {b: 1, c: 2, b: 3}\ngpu: 2\n")
    assert loaded.documents[0].data == {"gpu": 2, "a": {"b": 3, "c": 2}}
    assert [(problem.kind, span(problem.location)) for problem in loaded.problems] == [
        ("duplicate-key", (2, 17, 2, 18)),
        ("duplicate-key", (3, 1, 3, 4)),
    ]
    assert loaded.problems[0].message == "`b` is stated twice in one mapping; only the last one counts"
    assert [(label, span(place)) for label, place in loaded.problems[1].related] == [
        ("first stated here", (1, 1, 1, 4))
    ]
    assert span(loaded.documents[0].locate(("gpu",))) == (3, 6, 3, 7)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("gpu: 1\ngpu: 1\n", "repeated-key"),
        ("gpu:\ngpu: {a: 1}\n", "repeated-key"),
        ("gpu: {a: 1}\ngpu:\n", "duplicate-key"),
        ("gpu: 1\ngpu: 10\n", "duplicate-key"),
        ("services:\n  a: {gpus: 1, gpus: 1}\n", "duplicate-key"),
        ("apiVersion: v1\nspec: {gpu: 1, gpu: 1}\n", "repeated-key"),
        ("apiVersion: v1\ncommand: [/bin/sh, -c]\ncommand: [/bin/sh, -c]\n", "repeated-key"),
        ("apiVersion: v1\ncommand: [/bin/sh, -c]\ncommand: [/bin/sh, -e]\n", "duplicate-key"),
    ],
)
def test_a_key_repeated_with_the_same_value_loses_nothing(text: str, kind: str) -> None:
    """Kubernetes and Docker Compose refuse it all the same."""
    assert [problem.kind for problem in load(text).problems] == [kind]


def test_a_key_stated_once_and_merged_once_is_no_duplicate() -> None:
    assert problems("gpu: &a {x: 1}\nb: {<<: *a, x: 2}\nc: {<<: *a, <<: *a}\n") == []


def test_a_custom_resource_definition_is_not_read() -> None:
    loaded = load("apiVersion: v1\nkind: CustomResourceDefinition\nnvidia: [\n---\na: 1\n")
    assert loaded.skips == (Skipped("CustomResourceDefinition", "definition"),)
    assert [document.data for document in loaded.documents] == [{"a": 1}]


@pytest.mark.parametrize("line", ["kind: Pod", '"kind": Pod', '"\\x6bind": Pod', "? kind\n: Pod", "<<: {kind: Pod}"])
def test_an_object_of_another_kind_does_not_pass_as_a_definition(line: str) -> None:
    loaded = load(f"kind: CustomResourceDefinition\n{line}\n")
    assert (len(loaded.documents), loaded.skips) == (1, ())


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"a: \xff\n", documents.Loaded(skips=(Skipped("not UTF-8 text", "encoding"),))),
        (b"a: \x00\n", documents.Loaded(skips=(Skipped("contains NUL bytes, so it is not UTF-8 text", "encoding"),))),
        (
            b"\xff\x00\xfe",
            documents.Loaded(skips=(Skipped("contains NUL bytes, so it is not UTF-8 text", "encoding"),)),
        ),
        (b"a" * 5_000_001, documents.Loaded(skips=(Skipped("larger than 5 MB", "limit"),))),
    ],
)
def test_what_is_not_text_is_skipped_with_its_reason(content: bytes, expected: documents.Loaded) -> None:
    assert load_irrelevant(content) == expected


def test_text_that_is_not_utf_8_and_concerns_gpus_is_a_problem() -> None:
    assert problems(b"gpu: 1\nb: \xe9\n") == [
        ("invalid-syntax", "this is not UTF-8 text; save the file as UTF-8", (2, 4, 2, 5))
    ]


def test_utf_16_with_its_mark_is_read() -> None:
    assert data("a: é\n".encode("utf-16")) == {"a": "é"}


# ---- limits


def test_comments_before_a_directive_in_a_file_of_windows_take_no_time() -> None:
    """The lines between two markers were read by a pattern that took twice as long for each further comment."""
    loaded = documents.load("a.yaml", b"# one\r\n" * 5_000 + b"%YAML 1.2\r\n---\r\na: 1\r\n")
    assert [document.data for document in loaded.documents] == [{"a": 1}]


@pytest.mark.parametrize(
    ("text", "path", "message"),
    [
        ("nvidia: " + "[ " * 10_000, "a.yaml", "nested deeper than 200 levels"),
        ("nvidia: " + "{a: " * 10_000, "a.yaml", "nested deeper than 200 levels"),
        ("- " * 10_000 + "nvidia", "a.yaml", "nested deeper than 200 levels"),
        ("[" * 100_000 + '"nvidia"' + "]" * 100_000, "a.json", "nested deeper than 200 levels"),
        ("[" * 300 + '"nvidia"' + "]" * 300, "a.json", "nested deeper than 200 levels"),
        ("nvidia = " + "[" * 10_000 + "]" * 10_000, "a.toml", "nested deeper than 200 levels"),
        ("a." * 10_000 + "nvidia = 1", "a.toml", "nested deeper than 200 levels"),
        ("---\nnvidia: 1\n" * 50_001, "a.yaml", "more than 50,000 documents in one file"),
        ("- nvidia\n" * 500_001, "a.yaml", "more than 500,000 values in one file"),
        ('{"nvidia": ' + "9" * 5000 + "}", "a.json", "a number has more than 4,300 digits"),
        ("nvidia = 1 #" + "x" * 1_000_000, "a.toml", "TOML of more than 1,000,000 characters"),
    ],
)
def test_a_limit_that_is_hit_is_named(text: str, path: str, message: str) -> None:
    found = load(text, path).problems
    assert [(problem.kind, problem.message) for problem in found] == [
        ("input-limit", f"gpulint does not read this: {message}")
    ]


def test_a_billion_laughs_are_not_laughed() -> None:
    levels = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 10))
    assert problems(f"nvidia: 1\na0: &a0 [lol, lol]\n{levels}") == [
        (
            "input-limit",
            "gpulint does not read this: its aliases expand to more than 1,000,000 values",
            (8, 25, 8, 59),
        )
    ]


def test_a_limit_hit_by_an_irrelevant_text_is_a_skip() -> None:
    assert load_irrelevant("[ " * 10_000) == documents.Loaded(
        skips=(Skipped("nested deeper than 200 levels", "limit"),)
    )


# ---- comments


def test_comments_for_us_are_found_with_their_place() -> None:
    text = "# gpulint: ignore a\nb: 1 # why gpulint: x\nc: 'x # gpulint: no'\nd: |\n  # gpulint: no\n  y\n#e\n"
    assert load(text).comments == (
        documents.Comment(1, 1, "gpulint: ignore a"),
        documents.Comment(2, 6, "why gpulint: x"),
    )


def test_comments_are_read_only_where_the_word_occurs() -> None:
    assert load("# a\nb: 1 # c\n").comments == ()


# ---- JSON


def test_json_is_read_with_the_places_of_its_values() -> None:
    document = only('{\n\t"a": {"b": [1, -2.5e3, true, null]},\n\t"c": "x\\u0041\\ty"\n}\n', "a.json")
    assert document.format == "json"
    assert document.data == {"a": {"b": [1, -2500.0, True, None]}, "c": "xA\ty"}
    assert span(document.locate(("a", "b", 1))) == (2, 17, 2, 23)
    assert span(document.locate(("a", "b"))) == (2, 8, 2, 11)
    assert span(document.locate(("c",))) == (3, 7, 3, 19)
    assert shown(document, ("c",), 1, 2) == "\\u0041"


def test_json_escapes_that_yaml_does_not_know_are_read() -> None:
    document = only('{"a": "\\ud83d\\ude00/\\/x", "b": "\\ud83d", "c\\udc00": "é"}', "a.json")
    assert document.data == {"a": "😀//x", "b": "\ufffd", "c\ufffd": "é"}
    assert shown(document, ("a",), 0, 1) == "\\ud83d\\ude00"
    assert shown(document, ("a",), 3, 4) == "x"
    assert span(document.locate(("c\ufffd",))) == (1, 53, 1, 56)
    assert repr(document.data).encode()


def test_json_keys_may_be_longer_than_yaml_allows() -> None:
    key = "k" * 2000
    document = only(f'{{"{key}": 1}}', "a.json")
    assert span(document.locate((key,))) == (1, 2006, 1, 2007)


def test_json_words_are_not_yaml_words() -> None:
    assert data('{"a": "yes", "b": "0644", "<<": {"c": 1}, "1": NaN}', "a.json") == {
        "a": "yes",
        "b": "0644",
        "<<": {"c": 1},
        "1": "NaN",
    }


def test_json_with_comments_is_read_as_its_editors_read_it() -> None:
    text = '{ // gpu\n  "a": "http://x", /* b */\n  "c": [1,],\n}\n'
    assert data(text, "devcontainer.json") == {"a": "http://x", "c": [1]}
    assert data('{"gpu": 1,}', ".vscode/settings.json") == {"gpu": 1}


@pytest.mark.parametrize(
    ("text", "message", "place"),
    [
        ('{"nvidia.com/gpu": 1,}', "not valid JSON: the comma before this has nothing after it", (1, 22, 1, 23)),
        ("{'nvidia.com/gpu': 1}", 'not valid JSON: it quotes with "…" only', (1, 2, 1, 22)),
        ('{"nvidia.com/gpu": 1\n', "not valid JSON: expecting ',' delimiter", (1, 1, 1, 21)),
    ],
)
def test_json_that_does_not_parse_is_told_at_its_place(
    text: str, message: str, place: tuple[int, int, int, int]
) -> None:
    assert problems(text, "a.json") == [("invalid-syntax", message, place)]


def test_a_duplicate_key_in_json_is_told() -> None:
    assert problems('{"apiVersion": "v1", "gpu": 1, "gpu": 2}', "a.json") == [
        ("duplicate-key", "`gpu` is stated twice in one mapping; only the last one counts", (1, 32, 1, 37))
    ]


def test_a_template_of_json_is_skipped() -> None:
    assert is_template(load('{"gpu": {{ gpus }} }', "a.json"), '{"gpu": {{ gpus }} }')


# ---- TOML

TOML = """\
title = "x \\"y\\" z" # c
when = 2024-01-31
"q k" = 'lit'

[a.b]
c.d = [1, 0.5, true] # é
t = { u = "v" }

[[e]]
f = 1
[[e]]
f = 2
m = \"\"\"
one
two\"\"\"
[e.g]
h = 3
"""


def test_toml_is_read_with_the_places_of_its_values() -> None:
    document = only(TOML, "a.toml")
    assert document.data == {
        "title": 'x "y" z',
        "when": "2024-01-31",
        "q k": "lit",
        "a": {"b": {"c": {"d": [1, 0.5, True]}, "t": {"u": "v"}}},
        "e": [{"f": 1}, {"f": 2, "m": "one\ntwo", "g": {"h": 3}}],
    }
    assert span(document.locate(("title",), span=(2, 5))) == (1, 12, 1, 17)
    assert span(document.locate(("q k",), key=True)) == (3, 1, 3, 6)
    assert span(document.locate(("a", "b"))) == (5, 4, 5, 5)
    assert span(document.locate(("a", "b", "c", "d", 1))) == (6, 11, 6, 14)
    assert span(document.locate(("a", "b", "t", "u"))) == (7, 11, 7, 14)
    assert span(document.locate(("e", 1, "f"))) == (12, 5, 12, 6)
    assert span(document.locate(("e", 1, "m"), span=(4, 7))) == (15, 1, 15, 4)
    assert span(document.locate(("e", 1, "g", "h"))) == (17, 5, 17, 6)
    assert span(document.locate(("e", 1, "missing"))) == (11, 1, 11, 6)


def test_toml_that_does_not_parse_is_told_at_its_place() -> None:
    text = 'apiVersion = "gpulint/v1"\nb = \n'
    assert problems(text, "a.toml") == [("invalid-syntax", "not valid TOML: invalid value", (2, 1, 2, 4))]


# ---- without the compiled parser


def test_the_parser_in_python_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "a: &x {b: 1}\nc: *x\nd: |\n  one\ne: 'f'\n---\ng: [1, 2]\n"
    expected = [(document.data, span(document.locate(("d",)))) for document in load(text).documents]
    monkeypatch.setattr(yaml, "CParser", None)
    assert [(document.data, span(document.locate(("d",)))) for document in load(text).documents] == expected
    assert [problem.kind for problem in load("gpu: {a}b\n").problems] == ["invalid-syntax"]


# ---- what a start costs


def test_importing_us_imports_no_parser() -> None:
    parsers = {"ast", "json", "ruamel.yaml", "tomllib", "tree_sitter"}
    code = f"import sys, gpulint.source.documents, gpulint.source.shell; print(*{parsers} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == ""


def test_text_without_a_key_above_a_mapping_is_named_as_the_cause() -> None:
    (problem,) = load("default.yaml\n\nmodel:\n  gpu: 1\n").problems
    assert problem.message == "the line above is text without a key, so nothing can follow it"
    (other,) = load("gpu: 1\n  model: 2\n").problems
    assert "indentation" in other.message
