"""HCL: Terraform files as data in the shape of Terraform's JSON syntax, with the place of every value."""

from __future__ import annotations

import textwrap

import pytest

from gpulint.source import documents
from gpulint.source.documents import Document, Loaded
from gpulint.source.documents.nodes import Skipped


def loaded(text: str, path: str = "main.tf") -> Loaded:
    return documents.load(path, textwrap.dedent(text).lstrip("\n").encode())


def read(text: str, path: str = "main.tf") -> Document:
    """The one document of a file."""
    (document,) = loaded(text, path).documents
    return document


def test_labels_nest_and_blocks_without_labels_are_lists() -> None:
    document = read(
        """
        resource "aws_instance" "gpu" {
          instance_type = "g5.xlarge"
          ebs_block_device { size = 100 }
          ebs_block_device { size = 200 }
        }
        locals { a = 1 }
        """
    )
    assert document.data == {
        "resource": {
            "aws_instance": {"gpu": {"instance_type": "g5.xlarge", "ebs_block_device": [{"size": 100}, {"size": 200}]}}
        },
        "locals": [{"a": 1}],
    }


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ('"text"', "text"),
        ('"a\\tb \\"c\\" \\u00e9"', 'a\tb "c" é'),
        ("8", 8),
        ("1.5", 1.5),
        ("true", True),
        ("null", None),
        ('"8"', "8"),
        ('"true"', "true"),
        ('["a", 1, false]', ["a", 1, False]),
        ('{ a = 1, "b/c" = "d", (var.k) : 2 }', {"a": 1, "b/c": "d", "${var.k}": 2}),
        ("var.machine", "${var.machine}"),
        ('"${var.prefix}-gpu"', "${var.prefix}-gpu"),
        ("var.on ? 1 : 0", "${var.on ? 1 : 0}"),
        ("-1", "${-1}"),
        ("<<-EOT\n    one\n      two\n  EOT\n", "one\n  two\n"),
    ],
)
def test_a_value_is_a_literal_or_the_expression_in_braces(written: str, meant: object) -> None:
    assert read(f"value = {written}\n").get(("value",)) == meant


def test_every_value_has_its_place() -> None:
    document = read(
        """
        # ä
        resource "google_container_node_pool" "gpu" {
          node_config {
            machine_type = "g2-standard-8"
          }
        }
        """
    )
    where = document.locate(("resource", "google_container_node_pool", "gpu", "node_config", 0, "machine_type"))
    assert (where.line, where.column, where.end_column) == (4, 20, 35)


def test_a_part_of_a_text_has_its_place() -> None:
    document = read('name = "${var.prefix}-gpu"\n')
    where = document.locate(("name",), span=(14, 17))
    assert (where.column, where.end_column) == (23, 26)


def test_a_block_that_does_not_parse_is_left_out_and_said() -> None:
    found = loaded('variable "a" { default = 1 }\nresource "b" "c" { = }\n')
    assert [document.data for document in found.documents] == [{"variable": {"a": {"default": 1}}}]
    assert [skipped.reason for skipped in found.skips] == ["invalid HCL syntax in a part of the file"]
    assert found.problems == ()


def test_a_file_that_is_no_hcl_is_skipped() -> None:
    assert loaded("../other/main.tf").skips == (Skipped("invalid HCL syntax", "syntax"),)


def test_an_empty_file_holds_no_document() -> None:
    assert loaded("# nothing\n\n").documents[0].data == {}
    assert loaded("\n").documents == ()


def test_deep_nesting_is_a_limit_and_not_a_crash() -> None:
    found = loaded(f"# nvidia\na = {'[' * 500}{']' * 500}\n")
    assert [problem.kind for problem in found.problems] == ["input-limit"]


def test_variables_files_are_read_too() -> None:
    assert read('machine = "g5.xlarge"\n', "gpu.tfvars").data == {"machine": "g5.xlarge"}
    assert read('machine = "g5.xlarge"\n', "gpu.tfvars.template").format == "hcl"


@pytest.mark.parametrize(
    ("blocks", "labels", "is_read"), [(60, 2, True), (99, 0, True), (80, 2, False), (150, 2, False), (1, 500, False)]
)
def test_each_label_of_a_block_is_a_level(blocks: int, labels: int, is_read: bool) -> None:
    head = "a " + "".join(f'"l{number}" ' for number in range(labels))
    found = documents.load("main.tf", (f"{head}{{\n" * blocks + "gpu = 1\n" + "}\n" * blocks).encode())
    assert bool(found.documents) == is_read
    assert all(document.data for document in found.documents)


def test_each_label_of_an_empty_block_is_a_level() -> None:
    found = documents.load("main.tf", b"gpu " + b'"label" ' * 500 + b"{}\n")
    assert [problem.kind for problem in found.problems] == ["input-limit"]
