"""Every rule file: that it is one, and that its samples show what it says, from the text to the alternatives."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterator, Sequence

import pytest
import samples

from gpulint import adapters
from gpulint.adapters.native import facility
from gpulint.catalog import package_data
from gpulint.facility import model
from gpulint.facts.formulas import find_formulas
from gpulint.facts.glossary import glossary
from gpulint.pipeline.rule_tests import runner
from gpulint.pipeline.rule_tests.samples import split_files
from gpulint.policy.conditions import cel
from gpulint.policy.config import schema
from gpulint.policy.rules import evaluate, rule
from gpulint.policy.rules import facility as rules_facility
from gpulint.policy.rules.rule import Rule
from gpulint.report.model import Report
from gpulint.source import documents
from gpulint.source.documents import Document
from gpulint.workload import Value

RULES = tuple(rule.load_shipped().values())
NAMES = [one.name for one in RULES]
OF_A_RUN = frozenset({"file-not-checked", "stale-baseline-entry"})
"""Rules that no sample alone shows: they compare what a run found with a file beside it (test_acceptance)."""
SIDES = {
    side: [
        (one, text)
        for one in RULES
        if one.name not in OF_A_RUN
        for text in rule.load_examples(one)[side]
        if len(split_files(str(text))) == 1
    ]
    for side in ("bad", "good")
}
"""Samples of one file; those of several are tested as a team's are, below, and in policy/config/test_governance.py."""
IDS = {side: [one.name for one, _ in pairs] for side, pairs in SIDES.items()}
SHOWN_AS_WELL = {
    "expired-suppression": {"gpu-limit-missing"},
    "malformed-suppression": {"gpu-limit-missing"},
    "quantised-shard-misaligned": {"parallelism-larger-than-needed"},
}
"""What a bad sample cannot show alone: a waiver that has ended or cannot be read leaves its finding; few shards align."""

TODAY = "2026-11-22"
every_rule = pytest.mark.parametrize("one", RULES, ids=NAMES)
every_bad_sample = pytest.mark.parametrize(("one", "text"), SIDES["bad"], ids=IDS["bad"])
every_good_sample = pytest.mark.parametrize(("one", "text"), SIDES["good"], ids=IDS["good"])


@functools.cache
def reported(text: str) -> Report:
    """The report on a sample under all rules, made once."""
    return samples.report(text, today=TODAY)


# ---- the file


def test_there_are_rules_of_several_families() -> None:
    assert len(RULES) >= 20
    assert {"kubernetes", "memory", "parallelism", "precision", "serving", "syntax"} <= {one.family for one in RULES}


@every_rule
def test_the_file_follows_the_contract_of_rule_files(one: Rule) -> None:
    assert one.path is not None
    schema.RuleFile.model_validate(package_data.read_yaml(one.path))


@every_rule
def test_the_condition_compiles(one: Rule) -> None:
    cel.compile(one.when)


@every_rule
def test_the_condition_bears_every_absence_together_with_any_other(one: Rule) -> None:
    """A fact that may be absent is compared as null, and never handed to an operation that null does not have."""
    ordinary: dict[str, Value] = {"number": 1, "text": "a", "flag": True}
    named = [glossary()[name] for name in cel.find_names(one.when)]
    nullable = [quantity.name for quantity in named if quantity.absent == (None,) or _may_be_none(quantity.name)]
    present = {quantity.name: ordinary.get(quantity.type, ()) for quantity in named}
    for count in range(min(len(nullable), 3) + 1):
        for absent in itertools.combinations(nullable, count):
            assert cel.evaluate(one.when, {**present, **dict.fromkeys(absent)}) in (True, False)


@pytest.mark.parametrize(
    ("condition", "ruled_out"),
    [
        ("spare_gpus > 0", {}),
        ("efa_devices != null && efa_devices > 4", {"efa_devices": None}),
        ("half_formats && spare_gpus > 0", {"half_formats": False}),
        ("time_limit_s != null && (spare_gpus > 0 || half_formats)", {"time_limit_s": None}),
        ("time_limit_s != null && (spare_gpus > 0) || half_formats", {}),
        ("half_formats ? spare_gpus > 0 : spare_gpus < 0", {}),
        ("!half_formats && spare_gpus > 0", {}),
        ("instance_type.matches('^(a|b) && half_formats && c') && packed", {"packed": False}),
    ],
)
def test_what_rules_a_condition_out_by_itself(condition: str, ruled_out: dict[str, bool | None]) -> None:
    assert cel.find_guards(condition) == ruled_out


@every_rule
def test_a_fact_that_rules_a_condition_out_does_so_whatever_else_is_known(one: Rule) -> None:
    for name, value in cel.find_guards(one.when).items():
        assert cel.evaluate(one.when, {name: value}) is False


def _may_be_none(name: str) -> bool:
    formula = find_formulas(None).get(name)
    return formula is not None and "None" in str(formula.__annotations__.get("return"))


@every_rule
def test_every_name_is_a_fact_of_the_glossary(one: Rule) -> None:
    named = {*one.facts, *one.at, *one.change, *filter(None, [one.against])}
    assert named <= set(glossary())


@every_rule
def test_the_condition_only_compares(one: Rule) -> None:
    without_texts = re.sub(r"'[^']*'|\"[^\"]*\"", "", one.when)
    assert not re.search(r"[+*/%]|\w\s*-\s*\w", without_texts)


@every_rule
def test_the_name_is_kebab_case_and_names_the_defect(one: Rule) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", one.name)
    assert not one.name.startswith(("no-", "check-", "the-", "a-"))


@every_rule
def test_what_it_absorbs_are_other_rules(one: Rule) -> None:
    assert set(one.absorbs) <= set(NAMES) - {one.name}


def test_no_two_rules_absorb_each_other_on_any_path() -> None:
    absorbed = {one.name: set(one.absorbs) for one in RULES}
    for _ in RULES:
        absorbed = {name: below.union(*(absorbed[other] for other in below)) for name, below in absorbed.items()}
    assert [name for name, below in absorbed.items() if name in below] == []


@every_rule
def test_the_sentences_end_as_they_should(one: Rule) -> None:
    assert not one.summary.endswith(".")
    assert one.why.endswith((".", ")."))
    assert not one.message.endswith(".")


@every_rule
def test_a_rule_of_what_fails_or_costs_gives_a_reference(one: Rule) -> None:
    assert one.references or one.target.scope == "document" or one.family == "governance"  # a team's own policy says it


@every_rule
def test_it_has_a_bad_and_a_good_sample(one: Rule) -> None:
    assert all(rule.load_examples(one)[side] for side in ("bad", "good"))


# ---- the samples, through the whole pipeline


ABOUT_THE_WHOLE = [
    one for one in RULES if one.family == "suppressions" or one.name in ("input-limit", "file-not-checked")
]
"""Rules about comments and about size: a mark would change what their samples say, and other rules what they show."""


@pytest.mark.parametrize("one", [one for one in RULES if one not in ABOUT_THE_WHOLE], ids=lambda one: one.name)
def test_its_samples_show_what_it_says_as_those_of_a_teams_rule_do(one: Rule) -> None:
    (found,) = runner.run([one.path] if one.path else [], ())
    assert [*found.complaints, *(line for trial in found.trials for line in trial.complaints)] == []
    assert all(len(trial.said) == 1 for trial in found.trials if trial.side == "bad")


@every_bad_sample
def test_a_bad_sample_gives_exactly_one_finding_of_its_rule_beside_all_others(one: Rule, text: str) -> None:
    (found,) = samples.of_rule(reported(text), one.name)
    assert samples.marked_line(text) in (None, found.location.line)
    assert (found.family, found.confidence, found.severity) == (one.family, 3, one.severity)


@every_bad_sample
def test_a_bad_sample_shows_nothing_but_its_defect(one: Rule, text: str) -> None:
    others = {finding.rule for finding in reported(text).open} - {one.name}
    assert others == SHOWN_AS_WELL.get(one.name, set())


@every_bad_sample
def test_the_arithmetic_of_a_bad_sample_is_filled_in(one: Rule, text: str) -> None:
    (found,) = samples.of_rule(reported(text), one.name)
    assert found.arithmetic or not one.arithmetic
    assert not re.search(r"\{\w*\}", "".join(found.arithmetic))


@every_good_sample
def test_a_good_sample_is_clean_under_every_rule(one: Rule, text: str) -> None:
    report = reported(text)
    assert report.failures == ()
    assert [finding.rule for finding in report.open] == []


@every_good_sample
def test_a_good_sample_does_not_pass_by_being_unknown(one: Rule, text: str) -> None:
    loaded = documents.load(samples.find_path(text), text.encode())
    assert loaded.documents
    assert adapters.mentions_gpus(text)
    if one.target.scope == "document":
        return
    if one.target.scope == "facility":
        assert any(one.name not in lacking for lacking in of_parts(one, loaded.documents))
        return
    workloads = [
        found for document in loaded.documents for found in adapters.read(document, samples.ExampleRepository())
    ]
    assert any(list(evaluate.select([one], found, role)) for found in workloads for role in found.roles)
    assert one.name not in samples.not_evaluated(reported(text))


def of_parts(one: Rule, loaded: Sequence[Document]) -> Iterator[set[str]]:
    """The rules that are not evaluated of each part that a rule is about."""
    for document in loaded:
        described = facility.read_facility(document) if facility.claims(document) else None
        for said in (
            rules_facility.evaluate_component(rules_facility.resolve_facts(described, {}), [one]) if described else ()
        ):
            yield {each.rule for each in said.outcome.not_evaluated}


def test_a_rule_about_facilities_says_of_which_parts() -> None:
    held = set(model.LISTS.values()) | {"facility"}
    for one in RULES:
        assert one.target.scope != "facility" or (one.target.kind and set(one.target.kind) <= held), one.name


# ---- the alternatives, carried out on the text


CHANGING = [(one, text) for one, text in SIDES["bad"] if one.change]


@pytest.mark.parametrize(("one", "text"), CHANGING, ids=[one.name for one, _ in CHANGING])
def test_a_rule_that_names_a_change_has_an_alternative_for_its_bad_sample(one: Rule, text: str) -> None:
    (found,) = samples.of_rule(reported(text), one.name)
    assert 1 <= len(found.suggestions) <= 3


def absorbed_in(before: Report) -> set[str]:
    """What findings about a facility say with them: a lesser word about the same cause is not new."""
    spoken = (rule.load_shipped()[one.rule] for one in before.findings)
    return {name for one in spoken if one.target.scope == "facility" for name in one.absorbs}


@pytest.mark.parametrize(("one", "text"), CHANGING, ids=[one.name for one, _ in CHANGING])
def test_the_text_after_an_alternative_is_better_by_our_own_rules(one: Rule, text: str) -> None:
    before = reported(text)
    (found,) = samples.of_rule(before, one.name)
    for suggestion in found.suggestions:
        if any(edit.location is None for edit in suggestion.edits):
            continue  # what comes in beside the rest, a feed or servers in another rack, has no place in the file yet
        after = reported(samples.changed(text, suggestion))
        assert samples.of_rule(after, one.name) == [], suggestion.title
        assert samples.newly_said(before, after) - absorbed_in(before) == set(), suggestion.title
        assert samples.not_evaluated(after) <= samples.not_evaluated(before), suggestion.title
        assert after.failures == ()
