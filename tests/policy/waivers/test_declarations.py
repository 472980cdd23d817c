"""Declarations: the hints of a file, wherever it states them, and the file without some of them."""

from __future__ import annotations

import pytest

from gpulint.policy.waivers import declarations
from gpulint.source import documents
from gpulint.source.documents import Loaded

ANNOTATED = """\
apiVersion: v1
kind: Pod
metadata:
  name: chat
  annotations: {gpulint/accelerator: h200, a: b, gpulint/ignore: "gpu-limit-missing: the webhook adds it"}
"""
MERGED = """\
kind: Pod
x: &notes {gpulint/accelerator: h200, a: b}
metadata:
  name: chat
  annotations:
    <<: *notes
"""
TWICE = """\
kind: Pod
metadata:
  annotations:
    gpulint/accelerator: l4
    gpulint/accelerator: h200
"""
NESTED = """\
kind: ConfigMap
data:
  pod.yaml: |
    metadata:
      annotations: {gpulint/accelerator: h200, gpulint/ignore: x}
command:
  - |
    cat <<EOF
    gpulint/model: "Qwen/Qwen3-8B"
    EOF
"""
ESCAPED = """\
data:
  pod.yaml: |
    annotations: {"\\x67pulint/model": m, "gpu\\u006cint\\x2fmodel": m}
"""
COMMENTED = """\
# gpulint: accelerator=h200 model=Qwen/Qwen3-8B
kind: Pod
metadata: {name: chat}
---
# gpulint: ignore[gpu-limit-missing] the webhook adds it
# accelerator=l4 is what it says
kind: Pod
metadata: {name: other}  # gpulint: gpus=2
"""


def load(text: str, path: str = "a.yaml") -> Loaded:
    return documents.load(path, text.encode())


def listed(text: str, path: str = "a.yaml") -> list[tuple[str, str, int]]:
    """Each hint with its kind and its line."""
    return [(one.text, one.kind, one.location.line) for one in declarations.list_declarations(load(text, path))]


@pytest.mark.parametrize(
    ("text", "path", "found"),
    [
        (ANNOTATED, "a.yaml", [("accelerator=h200", "annotation", 5)]),
        (MERGED, "a.yaml", [("accelerator=h200", "annotation", 2)]),
        (TWICE, "a.yaml", [("accelerator=h200", "annotation", 5), ("accelerator=l4", "annotation", 4)]),
        (NESTED, "a.yaml", [("model=Qwen/Qwen3-8B", "text", 9), ("accelerator=h200", "text", 5)]),
        ('{"metadata": {"labels": {"gpulint\\u002fmodel": "m"}}}', "a.json", [("model=m", "annotation", 1)]),
        ("cat <<EOF\ngpulint/model: m\nEOF\n", "a.sh", [("model=m", "text", 2)]),
        ('cat <<EOF\n"\\x67pu\\u006cint\\/model": m\nEOF\n', "a.sh", [("model=m", "text", 2)]),
        (
            COMMENTED,
            "a.yaml",
            [
                ("accelerator=h200", "comment", 1),
                ("model=Qwen/Qwen3-8B", "comment", 1),
                ("gpus=2", "comment", 8),
            ],
        ),
        ("apiVersion: gpulint/v1\nkind: inference\n", "a.yaml", []),
        ("kind: Pod\nimage: registry/gpulint/tool:1\n", "a.yaml", []),
    ],
)
def test_every_hint_of_a_file_is_listed(text: str, path: str, found: list[tuple[str, str, int]]) -> None:
    assert listed(text, path) == found


@pytest.mark.parametrize(
    "text", [ANNOTATED, MERGED, TWICE, NESTED, ESCAPED, '{"gpulint/model": "m"}', "gpulint/model: m\n"]
)
@pytest.mark.parametrize("path", ["a.yaml", "a.json", "a.sh"])
def test_a_file_without_its_hints_has_none_and_keeps_the_rest(text: str, path: str) -> None:
    loaded = load(text, path)
    left = declarations.replace(loaded, dict.fromkeys(declarations.list_declarations(loaded)))
    assert declarations.list_declarations(left) == []
    assert [document.get(("metadata", "name")) for document in left.documents] == [
        document.get(("metadata", "name")) for document in loaded.documents
    ]
    assert [len(document.text) for document in left.documents] == [len(document.text) for document in loaded.documents]


def test_a_waiver_stays_and_so_does_the_location_of_what_follows() -> None:
    loaded = load(ANNOTATED)
    (left,) = declarations.replace(loaded, dict.fromkeys(declarations.list_declarations(loaded))).documents
    assert left.get(("metadata", "annotations")) == {
        "a": "b",
        "gpulint/ignore": "gpu-limit-missing: the webhook adds it",
    }
    assert left.locate(("metadata", "annotations", "a")) == loaded.documents[0].locate(("metadata", "annotations", "a"))
    assert loaded.documents[0].get(("metadata", "annotations", "gpulint/accelerator")) == "h200"


def test_a_merged_annotation_is_gone_wherever_it_is_used() -> None:
    loaded = load(MERGED)
    (left,) = declarations.replace(loaded, dict.fromkeys(declarations.list_declarations(loaded))).documents
    assert (left.get(("x",)), left.get(("metadata", "annotations"))) == ({"a": "b"}, {"a": "b"})


def test_a_hint_gets_another_value() -> None:
    loaded = load(ANNOTATED)
    (left,) = declarations.replace(loaded, dict.fromkeys(declarations.list_declarations(loaded), "l4")).documents
    assert left.get(("metadata", "annotations", "gpulint/accelerator")) == "l4"


def test_a_comment_loses_a_word_or_gets_another_value() -> None:
    loaded = load(COMMENTED)
    first, second, third = declarations.list_declarations(loaded)
    left = declarations.replace(loaded, {first: "l4", second: None, third: None})
    assert [comment.text for comment in left.comments] == [
        "gpulint: accelerator=l4",
        "gpulint: ignore[gpu-limit-missing] the webhook adds it",
        "",
    ]
