"""Instances: how often Terraform creates a block, and what an unknown value depends on."""

from __future__ import annotations

import pytest

from gpulint.adapters.nodes import Pool
from gpulint.adapters.nodes.terraform import pools
from gpulint.source import documents
from gpulint.workload import Unknown

MACHINE = 'resource "aws_instance" "x" {{\n  instance_type = "p5.48xlarge"\n  {many}\n}}\n'
VARIABLE = 'variable "n" {}\n'


def made(files: dict[str, str]) -> list[Pool]:
    loaded = (documents.load(path, text.encode()) for path, text in files.items())
    return list(pools.inventory(document for found in loaded for document in found.documents))


def call(name: str, source: str, more: str = "") -> str:
    return f'module "{name}" {{\n  source = "{source}"\n  {more}\n}}\n'


def most(pool: Pool) -> object:
    assert pool.amount is not None
    return pool.amount.most.value if pool.amount.most else None


@pytest.mark.parametrize(
    ("files", "numbers"),
    [
        ({"a.tf": MACHINE.format(many="")}, [1]),
        ({"a.tf": MACHINE.format(many="count = 3")}, [3]),
        ({"a.tf": MACHINE.format(many="count = 0")}, []),
        ({"a.tf": MACHINE.format(many='for_each = toset(["a", "b", "a"])')}, [2]),
        ({"a.tf": MACHINE.format(many="for_each = { a = 1, b = 2 }")}, [1, 1]),
        ({"m/a.tf": MACHINE.format(many=""), "a.tf": call("one", "./m") + call("two", "./m", "count = 2")}, [1, 2]),
        (
            {
                "m/a.tf": MACHINE.format(many="count = var.n") + VARIABLE,
                "a.tf": call("one", "./m", "n = each.value\n  for_each = { a = 4, b = 8 }"),
            },
            [4, 8],
        ),
        (
            {
                "in/a.tf": MACHINE.format(many="count = var.n") + VARIABLE,
                "m/a.tf": call("inner", "../in", "n = var.n") + VARIABLE,
                "a.tf": call("one", "./m", "n = 4") + call("two", "./m", "n = 8"),
            },
            [4, 8],
        ),
    ],
)
def test_a_block_counts_once_for_each_copy_and_each_call_of_its_folder(
    files: dict[str, str], numbers: list[int]
) -> None:
    assert [most(pool) for pool in made(files)] == numbers


@pytest.mark.parametrize(
    "many",
    ["count = var.m", "for_each = var.m", "for_each = toset(local.names)", f"count = {10**4000}", "count = 2147483648"],
)
def test_an_unknown_or_impossible_number_of_copies_is_unknown(many: str) -> None:
    (pool,) = made({"a.tf": MACHINE.format(many=many)})
    assert isinstance(most(pool), Unknown)


def test_more_chains_of_calls_than_are_followed_end_in_one_unknown_pool() -> None:
    files = {"l0/a.tf": MACHINE.format(many="")}
    for level in range(8):
        calls = (call(f"m{number}", f"../l{level}", "count = 0" if level == 7 else "") for number in range(40))
        files[f"l{level + 1}/a.tf"] = "".join(calls)
    (pool,) = made(files)
    assert isinstance(most(pool), Unknown)


TEMPLATE = 'resource "aws_launch_template" "x" {\n  instance_type = "p5.48xlarge"\n}\n'
CONFIGURATION = TEMPLATE.replace("aws_launch_template", "aws_launch_configuration")
GROUP = (
    'resource "aws_autoscaling_group" "g" {{\n  min_size = 0\n  max_size = 4\n  desired_capacity = 2\n  {types}\n}}\n'
)
SPECIFICATION = "launch_template_specification {\n launch_template_id = aws_launch_template.x.id\n }"


@pytest.mark.parametrize(
    "files",
    [
        pytest.param({"a.tf": "launch_template {\n id = aws_launch_template.x.id\n }", "b.tf": TEMPLATE}, id="id"),
        pytest.param(
            {"a.tf": "launch_template {\n name = aws_launch_template.x[0].name\n }", "b.tf": TEMPLATE}, id="name"
        ),
        pytest.param({"a.tf": "launch_configuration = aws_launch_configuration.x.id", "b.tf": CONFIGURATION}, id="old"),
        pytest.param(
            {"a.tf": f"mixed_instances_policy {{\n launch_template {{\n {SPECIFICATION}\n }}\n }}", "b.tf": TEMPLATE},
            id="policy",
        ),
        pytest.param(
            {
                "a.tf": f"mixed_instances_policy {{\n launch_template {{\n {SPECIFICATION}\n override {{\n"
                ' instance_type = "p5.48xlarge"\n }\n }\n }',
                "b.tf": TEMPLATE.replace("p5.48xlarge", "g6.xlarge"),
            },
            id="override",
        ),
    ],
)
def test_an_autoscaling_group_has_the_machines_of_its_template(files: dict[str, str]) -> None:
    (pool,) = made({**files, "a.tf": GROUP.format(types=files["a.tf"])})
    assert pool.amount is not None
    assert [field.value for field in pool.amount.fields() if field] == [0, 4, 2]
    assert (pool.name, pool.accelerator.value, pool.gpus and pool.gpus.value) == ("g", "h100-sxm-80gb", 8)


@pytest.mark.parametrize(
    "types",
    [
        "",
        "launch_template {\n id = var.template\n }",
        "launch_template {\n id = aws_launch_template.other.id\n }",
        "launch_configuration = aws_launch_configuration.x.id",
    ],
)
def test_an_autoscaling_group_whose_machines_another_place_states_is_no_pool(types: str) -> None:
    assert made({"a.tf": GROUP.format(types=types) + TEMPLATE}) == []


def test_a_node_group_has_the_machines_of_its_template() -> None:
    group = 'resource "aws_eks_node_group" "g" {\n  launch_template {\n    id = aws_launch_template.x.id\n  }\n}\n'
    (pool,) = made({"a.tf": group + TEMPLATE})
    assert pool.accelerator.value == "h100-sxm-80gb"


def test_a_module_that_calls_itself_ends_in_one_unknown_pool() -> None:
    (pool,) = made({"a/a.tf": MACHINE.format(many="") + call("m", "../a") + call("k", "../a")})
    assert isinstance(most(pool), Unknown)


def test_the_basis_of_an_unknown_number_names_what_it_depends_on_and_nothing_else() -> None:
    code = MACHINE.format(many="count = local.b * 2") + "locals {\n  a = 1\n  b = max(var.n, 3)\n}\n" + VARIABLE
    (pool,) = made({"a.tf": code, "prod.tfvars": "n = 4\nother = 5\n"})
    assert {(origin.document.path, str(origin.path[-1])) for origin in pool.basis} == {
        ("a.tf", "count"),
        ("a.tf", "b"),
        ("a.tf", "default"),
        ("prod.tfvars", "n"),
    }
