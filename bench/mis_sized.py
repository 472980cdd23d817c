"""Whether the alternatives of `gpulint suggest` for 60 mis-sized specs are those that a reviewer would take, by `mis_sized.tsv`.

    python bench/mis_sized.py [--list] [--only WORD]

An alternative is acceptable when all terms of one of the row's hold of the facts of the changed role; a spec without any
counts as not acceptable. The promise is kept when the rules that an alternative answers are silent afterwards, and no
other rule is new, severer or newly not evaluated: in the file with the edits written where they can be, else in the role
with the values set. Costs are worked out here from the catalog's tables and the team's own prices, for the alternative as for
the reference; whatever cannot be priced is left out of the ratio, and n says so.
"""

from __future__ import annotations

import argparse
import csv
import functools
import itertools
import math
import re
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from gpulint.catalog.offers import Available
from gpulint.facts import resolver
from gpulint.facts.model import Facts, Missing
from gpulint.pipeline import evaluate
from gpulint.pipeline.plan import plan_file
from gpulint.policy.config import availability, load, settings
from gpulint.policy.config.files import DiskReader
from gpulint.policy.resolved import ResolvedPolicy
from gpulint.policy.rules import evaluate as rules_evaluate
from gpulint.policy.rules import selection
from gpulint.policy.rules.evaluated_role import EvaluatedRole
from gpulint.report.model import Plan, Suggestion
from gpulint.source.repository import Source, WorkTree
from gpulint.suggestions import changed_role
from gpulint.suggestions.edits import apply
from gpulint.suggestions.edits.splices import Inexact

HERE = Path(__file__).parent
SPECS, ANSWERS = HERE / "mis_sized", HERE / "mis_sized.tsv"
TERM = re.compile(r"(\w+)(!=|<=|>=|=)(\S+)")
DEARER = 1.2501
"""What an alternative may cost of the reference: a quarter more, and what rounding adds."""
CATALOG = HERE.parent / "gpulint" / "catalog"


class Term(NamedTuple):
    """What one quantity has to be."""

    quantity: str
    relation: str
    values: tuple[str, ...]

    def holds(self, value: object) -> bool:
        if self.relation in ("<=", ">="):
            bound = float(self.values[0])
            return isinstance(value, int | float) and (value <= bound if self.relation == "<=" else value >= bound)
        found = any(_same(value, one) for one in self.values)
        return found == (self.relation == "=")


class Alternative(NamedTuple):
    """Terms that hold together; the reference of costs is one that gives nothing up."""

    terms: tuple[Term, ...]
    is_reference: bool

    def holds(self, known: Facts) -> bool:
        return all(term.holds(_value(known, term.quantity)) for term in self.terms)

    def stated(self, quantity: str) -> Iterator[Term]:
        return (term for term in self.terms if term.quantity == quantity)


class Row(NamedTuple):
    """A spec, the mistake in it, and the answers that are acceptable."""

    file: str
    kind: str
    objective: str
    alternatives: tuple[Alternative, ...]
    source: str
    corrected: str

    @property
    def trains(self) -> bool:
        return self.file.startswith("training")

    def accepts(self, known: Facts) -> bool:
        return any(one.holds(known) for one in self.alternatives)


class Answer(NamedTuple):
    """An alternative that was given, the facts after it, and whether it keeps the promise; `written` in the text of the file."""

    suggestion: Suggestion
    known: Facts
    accepted: bool
    objection: str
    written: bool


class Outcome(NamedTuple):
    """What came of a row; costs are None where one is not known."""

    row: Row
    plan: Plan | None
    answers: tuple[Answer, ...]
    cost_usd_per_hour: float | None
    reference_usd_per_hour: float | None

    @property
    def first(self) -> Answer | None:
        return self.answers[0] if self.answers else None

    @property
    def ratio(self) -> float | None:
        if self.cost_usd_per_hour is None or not self.reference_usd_per_hour:
            return None
        return self.cost_usd_per_hour / self.reference_usd_per_hour


# ---- the answers that are acceptable


def rows(path: Path = ANSWERS) -> Iterator[Row]:
    """The rows of the table."""
    with path.open(encoding="utf-8", newline="") as file:
        lines = (line for line in file if not line.startswith("#"))
        for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
            alternatives = tuple(alternative(text) for text in row["acceptable"].split(" or "))
            yield Row(row["file"], row["kind"], row["objective"], alternatives, row["source"], row["corrected"])


def alternative(text: str) -> Alternative:
    """What `also accelerator=l4|t4 gpus_per_replica<=2` says; ValueError where a word is no term."""
    words = text.split()
    is_reference = words[0] != "also"
    return Alternative(tuple(term(word) for word in (words if is_reference else words[1:])), is_reference)


def term(word: str) -> Term:
    found = TERM.fullmatch(word)
    if found is None:
        raise ValueError(f"{word} is no term")
    quantity, relation, values = found.groups()
    return Term(quantity, relation, tuple(values.split("|")))


def _same(value: object, text: str) -> bool:
    if isinstance(value, bool) or value is None:
        return str(value).lower() == text
    if isinstance(value, int | float):
        return text.replace(".", "", 1).isdigit() and math.isclose(value, float(text))
    return str(value) == text


def _value(known: Facts, quantity: str) -> object:
    value = known.expected(quantity)
    return None if isinstance(value, Missing) else value


# ---- the answers that are given


def outcome(row: Row) -> Outcome:
    """What gpulint says of a spec, held against its row."""
    path = SPECS / row.file
    tree = WorkTree(path.parent, base=path.parent)
    stated = load.find_nearest(DiskReader(path.parent))
    source, given = Source(path.name, path.read_bytes()), _given(stated)
    roles = [one for one in evaluate.file(source, tree, given).roles if not one.facts.role.text("part_of")]
    planned = list(zip(roles, plan_file(source, None, tree, given), strict=True))
    now, plan = max(planned, key=lambda pair: bool(pair[1].options), default=(None, None))
    if now is None or plan is None:
        return Outcome(row, None, (), None, None)
    answers = tuple(_answer(row, one, now, plan, source, tree, given) for one in plan.options)
    cost = _cost(answers[0].known, given.available) if answers else None
    return Outcome(row, plan, answers, cost, _reference(row, now.facts, given.available))


def _given(stated: settings.Settings) -> ResolvedPolicy:
    rules = selection.enable_rules(selection.load_rules())
    names = tuple(rule.name for rule in rules)
    return ResolvedPolicy(
        rules, names, hints=stated.hints, pools=stated.pools, available=availability.load_available(stated)
    )


def _answer(
    row: Row, one: Suggestion, now: EvaluatedRole, plan: Plan, source: Source, tree: WorkTree, given: ResolvedPolicy
) -> Answer:
    known = resolver.resolve(changed_role.apply(now.facts.role, one.values), now.facts.resolved)
    try:
        changed = apply.apply_edits(one, {source.path: source.content})
    except Inexact:
        return Answer(one, known, row.accepts(known), _objection(plan.cures, now, known), False)
    after = Source(source.path, changed[source.path])
    return Answer(one, known, row.accepts(known), _objection_in_text(plan.cures, source, after, tree, given), True)


# ---- the promise


Said = tuple[Mapping[str, int], frozenset[str]]
"""The severity of each rule that speaks, and the rules that lacked a fact."""


def _objection(cures: Iterable[str], now: EvaluatedRole, known: Facts) -> str:
    after = rules_evaluate.evaluate(rules_evaluate.select(now.rules, now.workload, known.role), known)
    return _difference(cures, _said([now.outcome]), _said([after]))


def _objection_in_text(
    cures: Iterable[str], before: Source, after: Source, tree: WorkTree, given: ResolvedPolicy
) -> str:
    said = [_said([one.outcome for one in evaluate.file(source, tree, given).roles]) for source in (before, after)]
    return _difference(cures, *said)


def _said(outcomes: Sequence[rules_evaluate.Outcome]) -> Said:
    speaking: dict[str, int] = {}
    for verdict in itertools.chain.from_iterable(one.verdicts for one in outcomes):
        speaking[verdict.rule.name] = max(verdict.severity, speaking.get(verdict.rule.name, 0))
    return speaking, frozenset(one.rule for each in outcomes for one in each.not_evaluated)


def _difference(cures: Iterable[str], before: Said, after: Said) -> str:
    """What is wrong with a change by our own rules; empty where nothing is."""
    if stays := [name for name in cures if name in after[0]]:
        return f"{stays[0]} stays"
    if worse := [name for name, severity in after[0].items() if severity > before[0].get(name, 0)]:
        return f"{worse[0]} is new"
    return f"{min(after[1] - before[1])} is not evaluated" if after[1] - before[1] else ""


# ---- costs


def _reference(row: Row, known: Facts, available: Available) -> float | None:
    """The cheapest configuration of the alternatives that give nothing up."""
    each = (_costs(one, known, available) for one in row.alternatives if one.is_reference)
    return min(itertools.chain.from_iterable(each), default=None)


def _costs(one: Alternative, known: Facts, available: Available) -> Iterator[float]:
    """What the least of each range costs, on each card and slice that is named."""
    gpus, replicas = _least(one, known, "gpus_per_replica"), _least(one, known, "replicas")
    cloud = known.role.text("cloud")
    for card in _named(one, known, "accelerator"):
        for profile in _named(one, known, "mig_profile"):
            share = _share(card, profile, gpus, cloud, available)
            if share is not None:
                yield share * gpus * replicas


def _cost(known: Facts, available: Available) -> float | None:
    found = _costs(Alternative((), True), known, available)
    return next(found, None)


def _least(one: Alternative, known: Facts, quantity: str) -> int:
    for said in one.stated(quantity):
        if said.relation in ("=", ">="):
            return min(int(value) for value in said.values)
        return 1
    value = _value(known, quantity)
    return value if isinstance(value, int) else 1


def _named(one: Alternative, known: Facts, quantity: str) -> tuple[str, ...]:
    for said in one.stated(quantity):
        if said.relation == "=":
            return said.values
    value = _value(known, quantity)
    return (str(value) if value else "",)


def _share(card: str, profile: str, gpus: int, cloud: str, available: Available) -> float | None:
    """The hourly price of one card, or of a slice of one, of the cheapest machine that holds so many."""
    machines = [one for one in _machines() if one.accelerator == card and cloud in ("", one.cloud)]
    most = max((one.gpus for one in machines), default=0)
    listed = [] if available.pools_only else [_paid(one, available) for one in machines if one.gpus >= min(gpus, most)]
    whole = min([*(price for price in listed if price is not None), *_pooled(card, available)], default=None)
    return None if whole is None else whole * _part(card, profile)


class Machine(NamedTuple):
    """A machine type, and the list price of each of its cards where the catalog's own region has one."""

    type: str
    cloud: str
    accelerator: str
    gpus: int
    card_usd_per_hour: float | None


@functools.cache
def _machines() -> tuple[Machine, ...]:
    listed = {row["instance_type"]: row["usd_per_hour"] for row in _rows("prices") if row["home"]}
    return tuple(
        Machine(name, row["cloud"], row["accelerator"], int(row["gpus"]), _each(listed.get(name, ""), int(row["gpus"])))
        for row in _rows("nodes")
        for name in [row["instance_type"]]
        if row["gpus"]
    )


def _each(price: str, gpus: int) -> float | None:
    return float(price) / gpus if price else None


def _paid(one: Machine, available: Available) -> float | None:
    own = (price.usd_per_hour / one.gpus for price in available.prices if price.instance_type == one.type)
    return next(own, one.card_usd_per_hour)


def _pooled(card: str, available: Available) -> Iterator[float]:
    """What the team says that a card of its pools costs."""
    for pool in available.pools:
        if pool.accelerator == card:
            yield from (price.usd_per_hour / pool.gpus for price in available.prices if price.pool == pool.name)


@functools.cache
def _part(card: str, profile: str) -> float:
    """The share of a card's memory that a slice takes."""
    if not profile:
        return 1.0
    of_card = {row["profile"]: float(row["memory_gib"]) for row in _rows("mig_profiles") if row["accelerator"] == card}
    return of_card[profile] / max(of_card.values()) if profile in of_card else 1.0


@functools.cache
def _rows(table: str) -> tuple[Mapping[str, str], ...]:
    with (CATALOG / f"{table}.csv").open(encoding="utf-8", newline="") as file:
        return tuple(csv.DictReader(file))


# ---- the report


def report(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """The figures, all with what they are of."""
    for title, some in (
        ("all", outcomes),
        ("serving", [one for one in outcomes if not one.row.trains]),
        ("training", [one for one in outcomes if one.row.trains]),
        ("with an objective", [one for one in outcomes if one.row.objective != "-"]),
    ):
        yield f"{title}: {len(some)} specs"
        yield from (f"  {line}" for line in _figures(some))


def _figures(outcomes: Sequence[Outcome]) -> Iterator[str]:
    answers = [answer for one in outcomes for answer in one.answers]
    firsts = [one.first for one in outcomes if one.first]
    ratios = [one.ratio for one in outcomes if one.ratio is not None]
    yield _share_of("answered", len(firsts), len(outcomes))
    yield _share_of("first alternative acceptable", sum(one.accepted for one in firsts), len(outcomes))
    anywhere = sum(any(answer.accepted for answer in one.answers) for one in outcomes)
    yield _share_of("any alternative acceptable", anywhere, len(outcomes))
    yield _share_of("promise broken", sum(bool(one.objection) for one in answers), len(answers))
    yield _share_of("  of those, first ones", sum(bool(one.objection) for one in firsts), len(firsts))
    yield _share_of("judged in the text of the file, as written", sum(one.written for one in answers), len(answers))
    yield _share_of("first one over 25 % dearer than the reference", sum(one > DEARER for one in ratios), len(ratios))
    if ratios:
        yield f"cost of the first against the reference: median {statistics.median(ratios):.2f}, worst {max(ratios):.2f}"
    yield _share_of("rows corrected since they were first committed", sum(_corrected(outcomes)), len(outcomes))


def _corrected(outcomes: Iterable[Outcome]) -> Iterator[bool]:
    return (bool(one.row.corrected) for one in outcomes)


def _share_of(what: str, part: int, whole: int) -> str:
    return f"{what} {part}/{whole} ({part / whole:.1%})" if whole else f"{what} -"


def listed(one: Outcome, every: bool) -> Iterator[str]:
    """What is amiss with a row, or with `every` all that was said of it."""
    first = one.first
    dear = one.ratio is not None and one.ratio > DEARER
    broken = [answer for answer in one.answers if answer.objection]
    if not every and first and first.accepted and not dear and not broken:
        return
    price = "" if one.ratio is None else f", {one.ratio:.2f} of the reference ({one.reference_usd_per_hour:.2f} USD/h)"
    verdict = ("acceptable" if first.accepted else "NOT ACCEPTABLE") if first else "NO ANSWER"
    yield f"{one.row.file}: {verdict}{price}  [{one.row.kind}]"
    if one.plan:
        yield f"    answers {', '.join(one.plan.cures) or 'no rule'}; leaves {', '.join(one.plan.leaves) or 'none'}"
    for answer in one.answers:
        mark = "+" if answer.accepted else "-"
        values = " ".join(f"{name}={value}" for name, value in answer.suggestion.values.items())
        said = f"  BROKEN: {answer.objection}" if answer.objection else ""
        yield f"    {mark} {'' if answer.written else '(unwritten) '}{answer.suggestion.title}: {values}{said}"
    if not one.answers and one.plan:
        yield f"    needs {', '.join(one.plan.needs) or 'nothing'}; refused {dict(one.plan.refused)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="also what is as it should be")
    parser.add_argument("--only", default="", help="specs whose name holds this")
    options = parser.parse_args()
    outcomes = [outcome(row) for row in rows() if options.only in row.file]
    for one in outcomes:
        for line in listed(one, options.list):
            print(line)
    print("\n".join(report(outcomes)))


if __name__ == "__main__":
    main()
