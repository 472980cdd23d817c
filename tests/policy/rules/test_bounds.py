"""Bounds: the verdict over what a file leaves open is that of every file that states one of the values."""

from __future__ import annotations

import itertools

import pytest
import samples

from gpulint.catalog import architecture, tables
from gpulint.catalog.architecture import typical
from gpulint.facts import decisions, resolver
from gpulint.facts.glossary import glossary
from gpulint.facts.model import Facts, Missing
from gpulint.pipeline.summary import open_values
from gpulint.policy.rules import bounded_rules, bounds, memory_verdict
from gpulint.policy.rules.bounds import FITTING, Bounds, Tipping
from gpulint.policy.rules.evaluate import Outcome
from gpulint.policy.rules.rule import load_shipped
from gpulint.report.model import Severity
from gpulint.source import documents
from gpulint.workload import Decision, Field, Member, Origin, Role, Unknown, Value

UNREAD = Unknown("its settings are not read", lacking="arguments")
OPEN = (
    "optimizer",
    "activation_checkpointing",
    "sharding",
    "parameter_dtype",
    "loss_kernel",
    "training_kernels",
    "lora_rank",
)


def run(
    model: str = "meta-llama/Llama-3.1-8B",
    accelerator: str | Unknown | None = "a100-sxm4-40gb",
    **stated: Value | Unknown,
) -> Facts:
    """The facts of a training run of a program whose settings are not read, on one GPU."""
    nowhere = Origin(documents.load("nowhere.yaml", b"{}").documents[0], ())
    whole: dict[str, Value | Unknown] = {
        "engine": "transformers",
        "task": "training",
        "checkpoint": model,
        "accelerator": accelerator,
        "gpus_per_pod": 1,
        "gpus_per_replica": 1,
        "pods_per_replica": 1,
        "training_dtype": "bfloat16",
        "sequence_length": 2048,
        "micro_batch_size": 1,
        **dict.fromkeys(OPEN, UNREAD),
        **stated,
    }
    fields = {name: Field(value) for name, value in whole.items() if value is not None}
    return resolver.resolve(Role("main", nowhere, fields), architecture.resolve(model))


def bound(known: Facts) -> Bounds:
    """The bounds of a role, which has some."""
    found = bounds.find_bounds(known)
    assert found is not None
    return found


def test_every_value_of_the_table_is_one_of_its_quantity() -> None:
    for row in tables.rows("domains"):
        for name, _, text in (part.strip().partition("=") for part in row["fields"].split(";") if part):
            quantity = glossary()[name]
            assert text != "null" or None in quantity.absent, row
            assert text == "null" or quantity.type != "number" or float(text) >= (0 if name == "zero_stage" else 1), row
        assert row["source"] and row["date"]


def test_members_of_a_decision_set_the_same_fields() -> None:
    for task in ("training", "inference"):
        for decision, _ in decisions._load(task, ""):
            named = {frozenset(member.fields) for member in decision.members if member.fields}
            assert named == {decision.fields} - {frozenset()}
            assert decision.expected is None or 0 <= decision.expected < len(decision.members)


def test_a_role_that_states_everything_has_no_bounds() -> None:
    settings: dict[str, Value | Unknown] = {
        "optimizer": "adamw",
        "activation_checkpointing": "full",
        "sharding": "none",
        "parameter_dtype": "bfloat16",
        "loss_kernel": "plain",
        "training_kernels": "eager",
        "lora_rank": None,
    }
    known = run(**settings)
    assert memory_verdict.find_verdict(known) != "not evaluated"
    assert bounds.find_bounds(known) is None


@pytest.mark.parametrize("model", ["meta-llama/Llama-3.1-8B", "Qwen/Qwen2.5-0.5B", "meta-llama/Llama-3.1-70B"])
def test_stating_any_member_gives_a_verdict_within_the_bounds(model: str) -> None:
    known = run(model)
    found = bound(known)
    lowest, highest = found.worst.rank, found.best.rank
    for decision in found.decisions:
        for member in decision.members:
            stated = known.fresh(known.role.having(**member.fields), known.resolved)
            nested = bounds.find_bounds(stated)
            if nested is not None:
                assert lowest <= nested.worst.rank <= nested.best.rank <= highest


def test_the_corners_are_those_of_the_whole_product() -> None:
    found = bound(run(loss_kernel="plain", training_kernels="eager", lora_rank=None, sharding="none"))
    members = [range(len(decision.members)) for decision in found.decisions]
    names = [decision.name for decision in found.decisions]
    ranks = [found.search.probe(dict(zip(names, chosen, strict=True))).rank for chosen in itertools.product(*members)]
    assert (min(ranks), max(ranks)) == (found.worst.rank, found.best.rank)


def test_what_fits_with_no_member_is_an_error() -> None:
    known = run("meta-llama/Llama-3.1-70B", lora_rank=None)
    found = bound(known)
    assert found.verdict == "does not fit in any case"
    judged = bounded_rules.judge(found, [load_shipped()["training-weights-exceed-memory"]])
    assert [(verdict.confidence, verdict.severity) for verdict in judged.verdicts] == [(3, Severity.ERROR)]
    assert judged.settled == {"training-weights-exceed-memory"}
    assert judged.verdicts[0].whatever.endswith("avoids it")


def test_what_only_several_settings_avoid_is_one_step_lower_with_the_likely_figures() -> None:
    found = bound(run("meta-llama/Llama-3.1-70B", optimizer_offload=UNREAD, parameter_offload=UNREAD))
    assert found.best.rank >= FITTING
    (verdict,) = bounded_rules.judge(found, [load_shipped()["training-does-not-fit"]]).verdicts
    assert verdict.severity < Severity.ERROR
    assert verdict.facts is found.expected.facts


def test_what_fits_with_every_member_is_evaluated_and_says_so() -> None:
    found = bound(run("Qwen/Qwen2.5-0.5B"))
    assert found.worst.verdict == "fits"
    assert found.verdict == "likely fits in every case"  # a program whose settings are not read may keep more
    judged = bounded_rules.judge(found, [load_shipped()["training-does-not-fit"]])
    assert judged.verdicts == () and judged.settled == {"training-does-not-fit"}


def test_a_mixed_verdict_names_what_it_depends_on_and_is_no_finding() -> None:
    found = bound(run("meta-llama/Llama-3.1-8B"))
    assert found.verdict == "depends"
    assert found.worst.rank < FITTING <= found.best.rank
    rules = [rule for rule in load_shipped().values() if rule.open == "bound"]
    assert bounded_rules.judge(found, rules).verdicts == ()
    for tipping in found.depends_on:
        assert tipping.fitting


def test_without_an_accelerator_the_answer_is_what_it_takes() -> None:
    found = bound(run(accelerator=None, lora_rank=None))
    assert set(found.reference) == {"accelerator"}
    assert bounded_rules.judge(found, [load_shipped()["training-weights-exceed-memory"]]).verdicts == ()
    released = found.release(found.expected).scenarios("training_room_bytes")
    assert isinstance(released, Missing) and released.names == {"accelerator"}


def test_a_value_without_a_domain_leaves_the_role_unbounded() -> None:
    assert bounds.find_bounds(run(trainable_parameters=Unknown("a custom layer"))) is None


def decide(ordered: bool, *labels: str) -> Decision:
    """A decision between labels."""
    return Decision("length", "the data", "", tuple(Member(label, {}) for label in labels), None, ordered)


@pytest.mark.parametrize(
    ("tipping", "words"),
    [
        (Tipping(decide(True, "1", "2", "4"), (0, 1)), "depends on length: fits up to 2"),
        (Tipping(decide(True, "1", "2", "4"), (1, 2)), "depends on length: fits from 2"),
        (Tipping(decide(True, "1", "2", "4"), (2,)), "depends on length: fits with 4"),
        (Tipping(decide(False, "a", "b", "c"), (0, 2)), "depends on length: fits with a or c"),
        (Tipping(decide(False, "a", "b", "c", "d", "e"), (0, 1, 2, 3)), "depends on length: fits with a, b or 2 more"),
    ],
)
def test_the_tipping_point_is_named(tipping: Tipping, words: str) -> None:
    assert open_values.describe_tipping(tipping) == words


A100 = ("a100-pcie-40gb", "a100-pcie-80gb", "a100-sxm4-40gb", "a100-sxm4-80gb")


def choose(model: str, *choices: str) -> Facts:
    """The facts of a run of all weights, whose file names several products."""
    settings: dict[str, Value | Unknown] = {
        "optimizer": "adamw",
        "activation_checkpointing": "full",
        "sharding": "none",
        "parameter_dtype": "bfloat16",
        "loss_kernel": "plain",
        "training_kernels": "eager",
        "lora_rank": None,
        "sequence_length": 256,
        "packed": True,
    }
    card = Unknown("one of several", "queue or partition", choices=choices)
    return run(model, card, **settings)


def test_a_name_that_several_products_share_is_a_decision() -> None:
    (decision,) = bound(choose("meta-llama/Llama-3.1-8B", *A100)).decisions
    assert (decision.name, decision.decider) == ("GPU", "the cluster")
    assert [member.label for member in decision.members] == ["A100 40GB", "A100 80GB"]
    assert decision.fields == {"accelerator"}


@pytest.mark.parametrize(
    ("model", "verdict"),
    [
        ("meta-llama/Llama-3.2-1B", "fits in every case"),
        ("meta-llama/Llama-3.1-8B", "depends on GPU: fits with A100 80GB"),
        ("meta-llama/Llama-3.1-70B", "does not fit in any case"),
    ],
)
def test_a_verdict_holds_on_all_products_or_names_those_that_it_needs(model: str, verdict: str) -> None:
    known = bound(choose(model, *A100))
    assert open_values.describe(known, Outcome((), (), frozenset()), ()).verdict == verdict


def test_a_rule_that_fires_on_every_product_is_certain() -> None:
    rules = [load_shipped()["training-weights-exceed-memory"]]
    (verdict,) = bounded_rules.judge(bound(choose("meta-llama/Llama-3.1-70B", *A100)), rules).verdicts
    assert (verdict.severity, verdict.whatever) == (Severity.ERROR, "; no GPU avoids it")
    assert bounded_rules.judge(bound(choose("meta-llama/Llama-3.1-8B", *A100)), rules).verdicts == ()


def test_choices_that_the_catalog_does_not_list_are_no_decision() -> None:
    assert bounds.find_bounds(choose("meta-llama/Llama-3.1-8B", "a100-sxm4-40gb", "gold")) is None


def test_a_network_of_known_size_has_the_typical_shape_of_it() -> None:
    # Llama 3 8B: 32 layers of 4,096 with a vocabulary of 128,256 (config.json); the scan must find it from the count alone
    shape = typical.build_typical(8.03e9)
    assert shape is not None
    assert (shape.layers, shape.hidden, shape.intermediate) == (32, 4096, 14336)
    assert typical.build_typical(5e5) is None


CAPPED = """
# gpulint: accelerator=h100-sxm-80gb gpus=1
base_model: Qwen/Qwen2.5-14B-Instruct
adapter: lora
lora_r: 16
lora_target_linear: true
sequence_len: 65536
sample_packing: {packed}
micro_batch_size: 1
bf16: true
gradient_checkpointing: true
optimizer: adamw_torch
datasets: [{{path: acme/data, type: alpaca}}]
"""


def test_no_error_rests_on_the_cap_of_samples_that_are_not_packed() -> None:
    # 14.8 billion parameters take 27.5 GiB; 65,536 tokens add more than 90 GiB of logits, 2,048 tokens less than 8 GiB
    packed = samples.report(CAPPED.format(packed="true"), path="lora.yaml")
    assert samples.severities(packed)["training-does-not-fit"] is Severity.ERROR
    unpacked = samples.report(CAPPED.format(packed="false"), path="lora.yaml")
    (finding,) = (one for one in unpacked.findings if one.rule == "training-does-not-fit")
    (role,) = samples.roles(unpacked)
    assert finding.severity < Severity.ERROR
    assert "with samples of 65,536 tokens" in finding.message
    assert role.verdict.startswith("depends on sample length: fits up to ")
