"""Rules about documents: what they point at and print of the object that they read."""

from __future__ import annotations

from pathlib import Path

import pytest
import samples

from gpulint.policy.rules import diagnostics, document_rules
from gpulint.policy.rules.rule import Rule, RuleError
from gpulint.source.documents import load

SCALER = """\
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: chat
  labels: {team.example.com/name: search}
spec:
  minReplicas: 2
  maxReplicas: 64
  metrics: [{type: Resource}]
"""


def rule(folder: Path, **change: str) -> Rule:
    """A rule about autoscalers."""
    parts = {
        "summary": "The autoscaler may start more replicas than the quota holds",
        "severity": "warning",
        "for": "{scope: document, kind: HorizontalPodAutoscaler}",
        "why": "The rest stays pending.",
        "when": "object.spec.maxReplicas > 32",
        "message": '"up to {object.spec.maxReplicas} replicas; 32 at most"',
        "examples": "{bad: [a], good: [b]}",
        **change,
    }
    path = folder / "capacity" / "replicas-unbounded.yaml"
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(f"{key}: {value}\n" for key, value in parts.items()), encoding="utf-8")
    return diagnostics.load(path)


def found(one: Rule, text: str = SCALER) -> tuple[int, int, str]:
    (said,) = samples.of_rule(samples.report(text, rules=[one]), one.name)
    return said.location.line, said.location.column, said.message


def test_it_points_at_the_kind_where_no_part_is_named(tmp_path: Path) -> None:
    assert found(rule(tmp_path)) == (2, 7, "up to 64 replicas; 32 at most")


def test_it_points_at_the_part_that_it_names_and_prints_others(tmp_path: Path) -> None:
    message = "\"{object.spec.minReplicas} to {object.spec.maxReplicas} for {object.metadata.labels['team.example.com/name']}\""
    one = rule(tmp_path, at="[object.spec.maxReplicas]", message=message)
    assert found(one) == (8, 16, "2 to 64 for search")


def test_the_first_part_that_is_there_counts(tmp_path: Path) -> None:
    one = rule(tmp_path, at="[object.spec.behavior, 'object.spec.metrics[0].type', object.spec.maxReplicas]")
    assert found(one)[:2] == (9, 20)


def test_a_part_that_is_missing_is_shown_by_what_it_is_missing_from(tmp_path: Path) -> None:
    one = rule(tmp_path, when='"!has(object.spec.behavior)"', at="[object.spec.behavior]", message="no behavior")
    assert found(one) == (6, 1, "no behavior")


def test_a_part_that_is_not_there_is_printed_as_none(tmp_path: Path) -> None:
    assert found(rule(tmp_path, message='"{object.spec.behavior}"'))[2] == "none"


def test_braces_of_a_text_and_long_values_are_printed_as_they_are_or_cut(tmp_path: Path) -> None:
    text = SCALER.replace("name: chat", f"name: {'a' * 300}")
    one = rule(tmp_path, message='"{{}} {object.metadata.name}"')
    assert found(one, text)[2] == "{} " + "a" * 100 + "…"


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("object", ()),
        ("object.spec.maxReplicas", ("spec", "maxReplicas")),
        ("object.spec.containers[0].image", ("spec", "containers", 0, "image")),
        ("object.metadata.labels['app.kubernetes.io/name']", ("metadata", "labels", "app.kubernetes.io/name")),
        ("objects.spec", None),
        ("object.spec.", None),
        ("object['a", None),
        ("spec.replicas", None),
        ("object.__class__", ("__class__",)),
    ],
)
def test_a_part_is_named_as_a_condition_names_it(text: str, path: tuple[object, ...] | None) -> None:
    assert document_rules.parse_path(text) == path


def test_a_part_is_looked_up_as_data_and_as_nothing_else() -> None:
    (document,) = load("a.yaml", SCALER.encode()).documents or load("a.yaml", SCALER.encode() + b"# gpu\n").documents
    assert document_rules.fill_message("{object.__class__} {object.spec.__len__}", document) == "none none"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"at": "[spec.maxReplicas]"},
            "7:6: spec.maxReplicas: a document rule can point only to parts of its object, for example object.spec.replicas",
        ),
        (
            {"message": '"{spec.maxReplicas} replicas"'},
            "6:11: {spec.maxReplicas}: a document rule can print only parts of its object, for example {object.spec.replicas}",
        ),
    ],
)
def test_what_is_no_part_of_the_object_is_refused(tmp_path: Path, change: dict[str, str], said: str) -> None:
    with pytest.raises(RuleError) as caught:
        rule(tmp_path, **change)
    (line,) = str(caught.value).splitlines()
    place, _, message = said.partition(": ")
    assert line.endswith(f": {message}")
    if "message" in change:
        assert f"replicas-unbounded.yaml:{place}: " in line
