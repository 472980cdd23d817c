"""The registry of generators: found in their folders, keyed by the quantity that they change."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpulint.facts import resolver
from gpulint.facts.model import Facts
from gpulint.policy.rules.rule import Rule, load_shipped
from gpulint.source import documents
from gpulint.suggestions import generators, serving
from gpulint.suggestions.generators import Candidate
from gpulint.workload import Field, Origin, Role

HERE = Origin(next(iter(documents.load("spec.yaml", b"a: 1").documents)), ("a",))
FAMILIES = {"inference": ("serving",), "training": ("training",)}
MODULE = """
from gpulint.suggestions.generators import Candidate, generates


@generates("block_size", order={order})
def propose_blocks(facts):
    yield Candidate("blocks of 32 tokens", {{"block_size": 32}}, "more KV cache per sequence")
"""


def role(**values: object) -> Facts:
    fields = {name: Field(value, (HERE,)) for name, value in values.items()}
    return resolver.resolve(Role("server", HERE, fields), None)  # type: ignore[arg-type]


def changing(scope: str) -> list[Rule]:
    return [rule for rule in load_shipped().values() if rule.change and rule.target.scope == scope]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of further generators for servers, after which the registry is as it was."""
    generators.find_generators("replicas", "serving")  # imports every shipped module
    monkeypatch.setattr(serving, "__path__", [*serving.__path__, str(tmp_path)])
    monkeypatch.setattr(generators, "_REGISTRATIONS", dict(generators._REGISTRATIONS))
    generators.find_generators.cache_clear()
    yield tmp_path
    generators.find_generators.cache_clear()
    sys.modules.pop("gpulint.suggestions.serving.block_sizes", None)


def test_a_generator_module_in_a_folder_is_found_without_another_edit(folder: Path) -> None:
    (folder / "block_sizes.py").write_text(MODULE.format(order=0))
    (found,) = generators.propose("block_size", role(engine="vllm"))
    assert found == Candidate("blocks of 32 tokens", {"block_size": 32}, "more KV cache per sequence")
    assert list(generators.propose("block_size", role(engine="torchtitan", task="training"))) == []


@pytest.mark.parametrize("rule", changing("workload"), ids=lambda rule: rule.name)
def test_a_rule_changes_only_quantities_that_a_generator_proposes(rule: Rule) -> None:
    kinds = rule.target.kind or ("inference", "training")
    for quantity in rule.change:
        families = [family for kind in kinds for family in FAMILIES[kind]]
        assert any(generators.find_generators(quantity, family) for family in families), quantity


@pytest.mark.parametrize("rule", changing("facility"), ids=lambda rule: rule.name)
def test_a_facility_rule_changes_only_quantities_that_a_generator_proposes(rule: Rule) -> None:
    assert all(generators.find_generators(quantity, generators.FACILITY) for quantity in rule.change)


def test_generators_of_a_facility_are_not_for_roles() -> None:
    assert generators.find_generators("optic", "serving") == ()
    (found,) = generators.find_generators("power_cap_w", generators.FACILITY)
    assert found.__module__ == "gpulint.suggestions.facility.changes"


def test_generators_of_the_own_family_come_first_and_whole_shapes_last() -> None:
    def modules(quantity: str, family: str) -> list[str]:
        found = generators.find_generators(quantity, family)
        return [generate.__module__.removeprefix("gpulint.suggestions.") for generate in found]

    assert modules("accelerator", "serving") == ["serving.changes", "serving.candidates"]
    assert modules("tensor_parallel", "training") == ["training.layouts", "serving.changes"]
    assert modules("micro_batch_size", "training") == ["training.layouts", "training.changes"]
    assert modules("max_model_len", "training") == []


def test_a_quantity_that_no_generator_changes_has_no_candidate() -> None:
    assert list(generators.propose("engine_version", role(engine="vllm"))) == []
