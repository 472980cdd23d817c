"""The memory rules of serving, of generation without a server and of training against measured cases, in three scenarios.

    python bench/accuracy.py CASES [--architectures FILE] [--half mended|kept] [--list] [--format text|json]

CASES is a cases.jsonl (one JSON object a line; the fields are those of the ground truth's README). Each case is described to
gpulint with the facts the case states, as `gpulint size` would be told them (`inference_cases`, `training_cases`), and the
card's memory comes from the catalog. FILE has the shapes of networks that the catalog lacks. A case whose engine or network
is not known is listed as not mappable, and counts against `answered`. A peak is compared with what it measures: what
tensors take (allocated), what PyTorch's allocator holds (reserved) or what the driver counts (device); where a case does
not say, with what the allocator holds, up to what the driver counts, under `unstated`. Errors are absolute and relative to
the measurement; `covered` counts measurements inside [low, high], to the digit that their source prints.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import alone
import cards
import inference_cases
import training_cases
from alone import share

from gpulint import units
from gpulint.facts import resolver
from gpulint.facts.model import Facts, Missing
from gpulint.pipeline import memory_breakdown
from gpulint.policy.rules import bounds, memory_verdict
from gpulint.workload import Field

Case = Mapping[str, object]
CLOSE = 0.1
SHORT_SEQUENCE = 2048
FIGURES = frozenset({"weights_gib", "kv_cache_gib", "kv_tokens", "activation_peak_gib", "non_torch_gib", "peak_gib"})
"""Figures that count as unanswered where a case cannot be read at all."""
DEVICE = "generation_device_bytes"
"""The most that a peak may be that nobody says what of."""

HALVES = ("mended", "kept")
"""Halves of a set of cases by source: one that terms may be mended by, and one that nothing is fitted on."""


class Figure(NamedTuple):
    """One measured figure of a case and ours: None when it cannot be answered, and what was missing."""

    case: str
    name: str
    measured: float
    ours: tuple[float, float, float] | None
    missing: str = ""
    kind: str = ""
    rounding: float = 0.0
    scenarios: tuple[float, float] | None = None

    @property
    def error(self) -> float | None:
        """Absolute relative error of the expected value; None where the measurement is not positive."""
        return abs(self.ours[1] / self.measured - 1) if self.ours and self.measured > 0 else None

    @property
    def covered(self) -> bool:
        """Whether the measurement, to the digit that its source prints, is inside [low, high]."""
        return self.ours is not None and self._between(*self.ours)

    @property
    def in_scenarios(self) -> bool:
        """Whether it is between the best and the worst scenario, in which every term is at its end at once."""
        return self.covered or (self.scenarios is not None and self._between(*self.scenarios))

    def _between(self, *ends: float) -> bool:
        return min(ends) - self.rounding <= self.measured <= max(ends) + self.rounding


class Judged(NamedTuple):
    """A case: its figures, our verdict, and whether it ran out of memory."""

    id: str
    figures: tuple[Figure, ...]
    verdict: str
    refused: bool
    missing: str
    engine: str = ""
    unmapped: str = ""


def served(path: Path, half: str = "") -> Iterator[Case]:
    """The inference cases."""
    return (case for case in _cases(path, half) if case["kind"] == "inference")


def trained(path: Path, half: str = "") -> Iterator[Case]:
    """The training cases."""
    return (case for case in _cases(path, half) if case["kind"] == "training")


def _cases(path: Path, half: str) -> Iterator[Case]:
    """Every case, or those of the sources that belong to one half: by the last bit of the source's SHA-256."""
    for line in path.read_text(encoding="utf-8").splitlines():
        case: Case = json.loads(line)
        odd = hashlib.sha256(str(case["source"]).encode()).digest()[-1] & 1
        if not half or HALVES[odd] == half:
            yield case


def judged_training(case: Case, shapes: Mapping[str, Mapping[str, object]]) -> Judged:
    """The peak of a training case, named by trainer and by what it measures, and its verdict."""
    read = training_cases.readings(case, _card(case), shapes)
    known = read[0]
    measured, stated = case["measured"], training_cases.measured_fact(case)
    fact = stated or "training_device_bytes"
    assert isinstance(measured, dict)
    peak = None if measured["oom"] else measured.get("peak_gib")
    kind = (
        "unstated"
        if stated is None
        else fact.removeprefix("training_").removesuffix("_bytes").replace("peak", "allocated")
    )
    name = f"{known.role.text('engine')} {kind}"
    found = (
        [] if peak is None else [_compared(str(case["id"]), name, float(peak), one, fact, units.GIB) for one in read]
    )
    lacking = ", ".join(sorted(known.missing([fact])))
    verdicts = sorted({_find_verdict(one) for one in read}, key=MILDEST.index)
    told = len({"not" in verdict for verdict in verdicts}) == 1
    shape = known.resolved.architecture if known.resolved else None
    unmapped = "" if shape else f"the architecture of {case['model']} is not known"
    verdict, engine = verdicts[0] if told else MILDEST[0], known.role.text("engine")
    return Judged(str(case["id"]), _either(found), verdict, bool(measured["oom"]), lacking, engine, unmapped)


def _guarded(
    judge: Callable[[Case, Mapping[str, Mapping[str, object]]], Judged],
    case: Case,
    shapes: Mapping[str, Mapping[str, object]],
) -> Judged:
    """A case judged; one that stops us is not mappable, and each figure that it measured counts as unanswered."""
    try:
        return judge(case, shapes)
    except Exception as error:  # one case must not hide what the others show
        reason = f"{type(error).__name__}: {error}"
        measured = case["measured"]
        assert isinstance(measured, dict)
        figures = tuple(
            Figure(str(case["id"]), "peak" if name == "peak_gib" else name, float(value), None, reason)
            for name, value in measured.items()
            if name in FIGURES and isinstance(value, int | float)
        )
        return Judged(str(case["id"]), figures, "not evaluated", bool(measured.get("oom")), reason, "", reason)


MILDEST = ("not evaluated", "fits", "likely fits", "likely does not fit", "does not fit")
"""Of two readings the milder verdict counts; none where one fits and the other does not."""


def _either(found: list[Figure]) -> tuple[Figure, ...]:
    """One figure for every reading of a case: the interval of all, the mean of what is likely."""
    ours = [one.ours for one in found if one.ours]
    if len(ours) < 2:
        return tuple(found[:1])
    low, expected, high = (min(o[0] for o in ours), statistics.fmean(o[1] for o in ours), max(o[2] for o in ours))
    return (found[0]._replace(ours=(low, expected, high)),)


def _card(case: Case) -> str | None:
    """The case's card: one that training cases name, else by its words."""
    name = str(case["gpu"])
    return training_cases.CARDS.get(name) or cards.named(name)


def judged(case: Case, shapes: Mapping[str, Mapping[str, object]]) -> Judged:
    """Every figure of one inference case, and its verdict; what cannot be mapped leaves its figures unanswered."""
    told, measured = inference_cases.told(case, shapes), case["measured"]
    assert isinstance(measured, dict)
    wanted = inference_cases.asked(case, told.engine)
    if told.known is None or told.reason:
        unanswered = tuple(
            Figure(str(case["id"]), one.name, one.measured, None, told.reason, one.kind) for one in wanted
        )
        verdict = "not evaluated"
        return Judged(
            str(case["id"]), unanswered, verdict, bool(measured["oom"]), told.reason, told.engine, told.reason
        )
    figures = tuple(_figure(case, one, told.known) for one in wanted)
    left = "generation_headroom_bytes" if memory_verdict.is_generation(told.known) else "headroom_bytes"
    lacking = ", ".join(sorted(told.known.missing([left])))
    verdict = _verdict(told.known)
    return Judged(str(case["id"]), figures, verdict, bool(measured["oom"]), lacking, told.engine)


def _find_verdict(known: Facts) -> str:
    """Our verdict; where values are open, the one that holds in any case, else that of the likely values."""
    verdict = memory_breakdown.find_verdict(known)
    found = bounds.find_bounds(known) if verdict == "not evaluated" else None
    if found is None or found.reference:
        return verdict
    return found.expected.verdict if found.depends_on else found.verdict.partition(" in ")[0]


def _verdict(known: Facts) -> str:
    """Our verdict; where a server's longest sequence is not shown, it fails only where not even a short one fits."""
    verdict = _find_verdict(known)
    if "not fit" not in verdict or known.role.value("max_model_len") or memory_verdict.is_generation(known):
        return verdict
    short = known.role.having(max_model_len=Field(SHORT_SEQUENCE))
    found = _find_verdict(resolver.resolve(short, known.resolved))
    return found if "not fit" in found else "not evaluated"


def _figure(case: Case, one: inference_cases.Asked, known: Facts) -> Figure:
    found = _compared(str(case["id"]), one.name, one.measured, known, one.fact, one.scale)
    if one.name == "kv_bytes_per_token" and (ratio := _pool_per_token(known)):
        found = found._replace(ours=ratio, missing="")
    if found.ours and (less := _left_out(case, one, known)):
        found = found._replace(
            ours=tuple(value - less for value in found.ours),  # type: ignore[arg-type]
            scenarios=tuple(value - less for value in found.scenarios or ()),  # type: ignore[arg-type]
        )
    if found.ours and one.kind == "unstated" and (ends := known.scenarios(DEVICE)) and not isinstance(ends, Missing):
        found = found._replace(ours=(*found.ours[:2], max(found.ours[2], float(ends.worst or 0) / one.scale)))  # type: ignore[arg-type]
    return found._replace(kind=one.kind, rounding=one.rounding)


def _pool_per_token(known: Facts) -> tuple[float, float, float] | None:
    """A pool divided by the tokens that its engine prints, as the measured figure is; layers of several kinds share both."""
    pool, tokens = known.scenarios("kv_cache_bytes"), known.scenarios("kv_cache_tokens")
    if isinstance(pool, Missing) or isinstance(tokens, Missing) or not float(tokens.expected or 0) > 0:  # type: ignore[arg-type]
        return None
    expected = float(pool.expected) / float(tokens.expected)  # type: ignore[arg-type]
    return expected, expected, expected


def _left_out(case: Case, one: inference_cases.Asked, known: Facts) -> float:
    """What a source leaves out of its figure: torchao's weights the embedding, a loader's total what it kept on the host."""
    name = "cpu_offload_bytes" if one.kind == "weights" else "table_bytes"
    if one.kind != "weights" and not (one.name == "weights_gib" and "torchao" in str(case["engine"])):
        return 0.0
    left = known.expected(name)
    return float(left) / one.scale if isinstance(left, int | float) else 0.0


def _compared(case: str, name: str, measured: float, known: Facts, fact: str, scale: float) -> Figure:
    found = known.scenarios(fact)
    if isinstance(found, Missing):
        return Figure(case, name, measured, None, ", ".join(sorted(found.names)))
    ends = known.ends(fact) or found[::2]
    low, expected, high = (float(value) / scale for value in (ends[0], found.expected, ends[1]))  # type: ignore[arg-type]
    best, worst = (float(value) / scale for value in found[::2])  # type: ignore[arg-type]
    return Figure(case, name, measured, (low, expected, high), scenarios=(best, worst))


# ---- what is printed


def training_table(every: Iterable[Judged], complete: frozenset[str]) -> list[tuple[str, ...]]:
    """The peaks of training by trainer and by what they measure; at the end all, and those of runs that are fully stated."""
    every = list(every)
    names = sorted({figure.name for one in every for figure in one.figures})
    whole = [one._replace(figures=tuple(figure._replace(name="all") for figure in one.figures)) for one in every]
    stated = [
        one._replace(figures=tuple(figure._replace(name="fully stated") for figure in one.figures))
        for one in every
        if one.id in complete
    ]
    return [
        *figures_table(every, names),
        *figures_table(whole, ["all"])[1:],
        *figures_table(stated, ["fully stated"])[1:],
    ]


def inference_table(every: Iterable[Judged]) -> list[tuple[str, ...]]:
    """Each figure over all cases, the peaks by what they count, and each figure by engine."""
    every = list(every)
    peaks = [_renamed(one, lambda figure: "peak" if figure.kind not in ("", "weights") else "") for one in every]
    kinds = [_renamed(one, lambda figure: f"peak {figure.kind}" if figure.kind else "") for one in every]
    engines = [_renamed(one, lambda figure, name=one.engine: f"{name} {figure.name}") for one in every]  # type: ignore[misc]
    return [
        *figures_table(every, [name for name in inference_cases.MEASURED if name not in PEAKS]),
        *figures_table(peaks, ["peak"])[1:],
        *(row for named in (kinds, engines) for row in figures_table(named, _names(named))[1:]),
    ]


PEAKS = frozenset({"peak_gib", "total_gib_all_gpus", "nvidia_smi_gib"})


def _renamed(one: Judged, name: Callable[[Figure], str]) -> Judged:
    return one._replace(figures=tuple(found._replace(name=name(found)) for found in one.figures if name(found)))


def _names(every: Iterable[Judged]) -> list[str]:
    return sorted({figure.name for one in every for figure in one.figures})


def mapped_text(every: list[Judged]) -> str:
    """Cases read, mapped, and not mappable with the reason; every `does not fit` on something that ran."""
    unmapped = [one for one in every if one.unmapped]
    wrong = [one for one in every if one.verdict == "does not fit" and not one.refused]
    lines = [f"{len(every)} cases read, {share(len(every) - len(unmapped), len(every))} mapped, not mappable:"]
    lines += [f"  {one.id}: {one.unmapped}" for one in unmapped] or ["  none"]
    lines += ["`does not fit` on what ran:", *([f"  {one.id}" for one in wrong] or ["  none"])]
    failures = [one for one in every if one.refused and one.verdict != "not evaluated"]
    called = sum(one.verdict in ("does not fit", "likely does not fit") for one in failures)
    return "\n".join([*lines, f"failures called at least likely, of those answered: {share(called, len(failures))}"])


def figures_table(every: Iterable[Judged], names: Iterable[str]) -> list[tuple[str, ...]]:
    """For each measured figure: how many are answered, the errors, and the coverage of our intervals."""
    found = [figure for one in every for figure in one.figures]
    rows: list[tuple[str, ...]] = [
        ("figure", "answered", "median error", "p90 error", "within 10 %", "covered", "median width", "in scenarios")
    ]
    for name in names:
        own = [figure for figure in found if figure.name == name]
        errors = sorted(figure.error for figure in own if figure.error is not None)
        answered = [figure for figure in own if figure.ours]
        errors_shown = (_percent(statistics.median(errors)), _percent(_p90(errors))) if errors else ("-", "-")
        widths = [(max(one.ours) - min(one.ours)) / abs(one.measured) for one in answered if one.ours and one.measured]
        width = _percent(statistics.median(widths)) if widths else "-"
        covered = share(sum(one.covered for one in answered), len(answered))
        scenarios = share(sum(one.in_scenarios for one in answered), len(answered))
        close = share(sum(error <= CLOSE for error in errors), len(own))
        rows.append((name, share(len(answered), len(own)), *errors_shown, close, covered, width, scenarios))
    return rows


def _p90(ordered: list[float]) -> float:
    """The nearest-rank 90th percentile."""
    return ordered[max(0, -(-9 * len(ordered) // 10) - 1)]


def _percent(ratio: float) -> str:
    return f"{ratio:.1%}"


def outcomes_table(every: Iterable[Judged]) -> list[tuple[str, ...]]:
    """Our verdict against what happened."""
    counts = Counter((one.verdict, one.refused) for one in every)
    verdicts = ("fits", "likely fits", "likely does not fit", "does not fit", "not evaluated")
    head = ("verdict", "it ran", "out of memory or refused")
    return [head, *((word, str(counts[word, False]), str(counts[word, True])) for word in verdicts)]


def as_text(every: list[Judged], figures: list[tuple[str, ...]], what: str, listed: bool) -> str:
    """Both tables; each case below when they are asked for."""
    lines = [
        f"{len(every)} cases of {what}",
        "",
        mapped_text(every),
        "",
        alone.table(figures),
        "",
        alone.table(outcomes_table(every)),
    ]
    lacking = Counter(one.missing for one in every if one.verdict == "not evaluated")
    lines += ["", "not evaluated, for want of:", *(f"  {n:>3}  {what}" for what, n in lacking.most_common())]
    if listed:
        lines += ["", *(line for one in every for line in _listed(one))]
    return "\n".join(lines)


def _listed(one: Judged) -> Iterator[str]:
    happened = "out of memory" if one.refused else "ran"
    yield f"{one.id}: {one.verdict}, it {happened}" + (f" (lacks {one.missing})" if one.missing else "")
    for figure in one.figures:
        if figure.ours is None:
            yield f"    {figure.name:<20} {figure.measured:>10,.2f}  lacks {figure.missing}"
            continue
        low, expected, high = figure.ours
        error = "" if figure.error is None else f"{figure.ours[1] / figure.measured - 1:+.1%}"
        inside = "inside" if figure.covered else "OUTSIDE"
        yield f"    {figure.name:<20} {figure.measured:>10,.2f}  {low:,.2f} {expected:,.2f} {high:,.2f}  {error:>8} {inside}"


def as_json(every: list[Judged]) -> str:
    data = [{**one._asdict(), "figures": [figure._asdict() for figure in one.figures]} for one in every]
    return json.dumps(data, indent=2)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("cases", type=Path)
    parser.add_argument("--list", action="store_true", dest="listed", help="print each case")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.add_argument(
        "--half", choices=HALVES, default="", help="of the sources: those that terms were mended by, or the kept"
    )
    parser.add_argument("--architectures", type=Path, help="shapes of networks that the catalog does not list (JSON)")
    arguments = parser.parse_args()
    path, half = arguments.cases, arguments.half
    shapes = json.loads(arguments.architectures.read_text(encoding="utf-8")) if arguments.architectures else {}
    inference = [_guarded(judged, case, shapes) for case in served(path, half)]
    training = [_guarded(judged_training, case, shapes) for case in trained(path, half)]
    complete = frozenset(str(case["id"]) for case in trained(path, half) if training_cases.fully_stated(case))
    if arguments.format == "json":
        print(as_json([*inference, *training]))
        return
    print(as_text(inference, inference_table(inference), "inference", arguments.listed), end="\n\n\n")
    print(as_text(training, training_table(training, complete), "training", arguments.listed))


if __name__ == "__main__":
    main()
