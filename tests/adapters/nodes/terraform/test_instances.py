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
