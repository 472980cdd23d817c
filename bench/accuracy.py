"""The memory rules of vLLM and of training against measured cases: figures in three worlds, and whether it runs.

    python bench/accuracy.py CASES [--architectures FILE] [--list] [--format text|json]

CASES is a cases.jsonl (one JSON object a line; the fields are those of the ground truth's README). Inference cases of vLLM
are taken; each is described to gpulint with the facts the case states, as `gpulint size` would be told them, and the
card's memory comes from the catalog. A checkpoint or card the catalog lacks leaves a case unanswered and counts
against `answered`. Training cases are read by `training_cases`; FILE has the shapes of networks that the catalog
lacks. A training peak is compared with what it measures: what tensors take (allocated), what PyTorch's allocator holds
(reserved) or what the driver counts (device; where the case does not say, with which it is compared, unstated).
Errors are absolute and relative to the measurement; `covered` counts measurements inside [low, high].
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import alone
import training_cases
from alone import share

from gpulint import facts, sizes, summary, units
from gpulint.facts import Facts, Missing
from gpulint.repository import WorkTree
from gpulint.workload import Field

Case = Mapping[str, object]
CARDS: Mapping[str, str] = {
    "A100-40GB": "a100-sxm4-40gb",
    "A100-80GB": "a100-sxm4-80gb",
    "H100-80GB": "h100-sxm-80gb",
    "H100-NVL-94GB": "h100-nvl-94gb",
    "H200-NVL": "h200-nvl-141gb",
    "L4": "l4",
    "L40": "l40",
    "L40S": "l40s",
    "MI300X": "mi300x",
    "RTX 3090": "rtx-3090",
    "RTX 4090": "rtx-4090",
    "RTX 5090": "rtx-5090",
    "RTX A6000": "rtx-a6000",
    "RTX PRO 6000 Blackwell 96GB": "rtx-pro-6000-ws",
    "T4": "t4",
}
"""Names of the cases → catalog; where a case does not tell the form factor, the one usual in servers."""
DTYPES: Mapping[str, str] = {"bf16": "bfloat16", "fp16": "float16", "bf16/fp16 (auto)": "auto"}
METHODS = {"fp8": "fp8", "awq": "awq", "gptq": "gptq", "mxfp4": "mxfp4", "aqlm": "aqlm", "bnb": "bitsandbytes"}
CLOSE = 0.1
GRAPHS_OFF = "--enforce-eager"
RELEASE = re.compile(r"~?(\d+\.\d+(?:\.\d+)?)")
BLOCK = re.compile(r"--block-size=(\d+)")
MEASURED: Mapping[str, tuple[str, float]] = {
    "weights_gib": ("loaded_bytes_per_gpu", units.GIB),
    "kv_cache_gib": ("kv_cache_bytes", units.GIB),
    "kv_tokens": ("kv_cache_tokens", 1),
    "activation_peak_gib": ("activation_bytes", units.GIB),
    "non_torch_gib": ("non_torch_bytes", units.GIB),
}
"""Measured key → our fact and its scale. Graph memory is left out: as printed it may be negative."""


class Figure(NamedTuple):
    """One measured figure of a case and ours: None when it cannot be answered, and what was missing."""

    case: str
    name: str
    measured: float
    ours: tuple[float, float, float] | None
    missing: str = ""

    @property
    def error(self) -> float | None:
        """Absolute relative error of the likely value; None where the measurement is not positive."""
        return abs(self.ours[1] / self.measured - 1) if self.ours and self.measured > 0 else None

    @property
    def covered(self) -> bool:
        return self.ours is not None and min(self.ours) <= self.measured <= max(self.ours)


class Judged(NamedTuple):
    """A case: its figures, our verdict, and whether it ran out of memory."""

    id: str
    figures: tuple[Figure, ...]
    verdict: str
    refused: bool
    missing: str


def cases(path: Path) -> Iterator[Case]:
    """The inference cases of vLLM."""
    for line in path.read_text(encoding="utf-8").splitlines():
        case: Case = json.loads(line)
        if case["kind"] == "inference" and str(case["engine"]).split()[0] == "vllm":
            yield case


def described(case: Case) -> Facts:
    """The case as `gpulint size` would be told it."""
    other = str(case["other_args"] or "")
    stated: dict[str, object] = {"engine": "vllm", "enforce_eager": GRAPHS_OFF in other}
    for ours, theirs in (("tensor_parallel", "tp"), ("pipeline_parallel", "pp"), ("data_parallel", "dp")):
        stated[ours] = case[theirs] or 1
    for name in ("max_model_len", "max_num_seqs", "max_num_batched_tokens", "gpu_memory_utilization", "kv_cache_dtype"):
        if case[name] is not None:
            stated[name] = case[name]
    stated |= _formats(case)
    if release := RELEASE.match(str(case["engine_version"])):
        stated["engine_version"] = release[1]
    if block := BLOCK.search(other):
        stated["block_size"] = int(block[1])
    if case["lora"]:
        stated["enable_lora"] = True
        if rank := case["lora"].get("rank"):  # type: ignore[attr-defined]
            stated["max_lora_rank"] = rank
    role, resolved = sizes.from_checkpoint(
        str(case["model"]), stated, CARDS.get(str(case["gpu"])), WorkTree(Path(__file__).parent)
    )
    gpus = {name: Field(case["gpu_count"]) for name in ("gpus_per_pod", "gpus_per_replica")}  # type: ignore[arg-type]
    return facts.of(role.having(**gpus), resolved)


def trained(path: Path) -> Iterator[Case]:
    """The training cases."""
    for line in path.read_text(encoding="utf-8").splitlines():
        case: Case = json.loads(line)
        if case["kind"] == "training":
            yield case


def judged_training(case: Case, shapes: Mapping[str, Mapping[str, object]]) -> Judged:
    """The peak of a training case, named by trainer and by what it measures, and its verdict."""
    read = training_cases.readings(case, {**CARDS, **training_cases.CARDS}.get(str(case["gpu"])), shapes)
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
    verdicts = sorted({sizes.verdict(one) for one in read}, key=MILDEST.index)
    told = len({"not" in verdict for verdict in verdicts}) == 1
    return Judged(str(case["id"]), _either(found), verdicts[0] if told else MILDEST[0], bool(measured["oom"]), lacking)


MILDEST = ("cannot tell", "fits", "likely fits", "likely does not fit", "does not fit")
"""Of two readings the milder verdict counts; none where one fits and the other does not."""


def _either(found: list[Figure]) -> tuple[Figure, ...]:
    """One figure for every reading of a case: the interval of all, the mean of what is likely."""
    ours = [one.ours for one in found if one.ours]
    if len(ours) < 2:
        return tuple(found[:1])
    low, likely, high = (min(o[0] for o in ours), statistics.fmean(o[1] for o in ours), max(o[2] for o in ours))
    return (found[0]._replace(ours=(low, likely, high)),)


def _formats(case: Case) -> dict[str, object]:
    """`--dtype` and `--quantization` as the case's words say them."""
    words = str(case["quantization"] or "")
    method = next((method for start, method in METHODS.items() if words.startswith(start)), words)
    formats: dict[str, object] = {"quantization": method} if method else {}
    if case["dtype"] is not None:
        formats["weight_dtype"] = DTYPES.get(str(case["dtype"]), case["dtype"])
    return formats


def judged(case: Case) -> Judged:
    """Every figure of one case, and its verdict."""
    known, measured = described(case), case["measured"]
    assert isinstance(measured, dict)
    names = [name for name in MEASURED if measured.get(name) is not None]
    figures = tuple(_figure(str(case["id"]), name, float(measured[name]), known) for name in names)
    lacking = ", ".join(sorted(known.missing(["headroom_bytes"])))
    return Judged(str(case["id"]), figures, summary.verdict(known), bool(measured["oom"]), lacking)


def _figure(case: str, name: str, measured: float, known: Facts) -> Figure:
    return _compared(case, name, measured, known, *MEASURED[name])


def _compared(case: str, name: str, measured: float, known: Facts, fact: str, scale: float) -> Figure:
    found = known.worlds(fact)
    if isinstance(found, Missing):
        return Figure(case, name, measured, None, ", ".join(sorted(found.names)))
    ends = known.ends(fact) or found[::2]
    low, likely, high = (float(value) / scale for value in (ends[0], found.likely, ends[1]))  # type: ignore[arg-type]
    return Figure(case, name, measured, (low, likely, high))


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


def figures_table(every: Iterable[Judged], names: Iterable[str] = tuple(MEASURED)) -> list[tuple[str, ...]]:
    """For each measured figure: how many are answered, the errors, and the coverage of our intervals."""
    found = [figure for one in every for figure in one.figures]
    rows: list[tuple[str, ...]] = [
        ("figure", "answered", "median error", "p90 error", "within 10 %", "covered", "median width")
    ]
    for name in names:
        own = [figure for figure in found if figure.name == name]
        errors = sorted(figure.error for figure in own if figure.error is not None)
        answered = [figure for figure in own if figure.ours]
        errors_shown = (_percent(statistics.median(errors)), _percent(_p90(errors))) if errors else ("-", "-")
        widths = [(max(one.ours) - min(one.ours)) / abs(one.measured) for one in answered if one.ours and one.measured]
        width = _percent(statistics.median(widths)) if widths else "-"
        covered = share(sum(one.covered for one in answered), len(answered))
        close = share(sum(error <= CLOSE for error in errors), len(own))
        rows.append((name, share(len(answered), len(own)), *errors_shown, close, covered, width))
    return rows


def _p90(ordered: list[float]) -> float:
    """The nearest-rank 90th percentile."""
    return ordered[max(0, -(-9 * len(ordered) // 10) - 1)]


def _percent(ratio: float) -> str:
    return f"{ratio:.1%}"


def outcomes_table(every: Iterable[Judged]) -> list[tuple[str, ...]]:
    """Our verdict against what happened."""
    counts = Counter((one.verdict, one.refused) for one in every)
    verdicts = ("fits", "likely fits", "likely does not fit", "does not fit", "cannot tell")
    head = ("verdict", "it ran", "out of memory or refused")
    return [head, *((word, str(counts[word, False]), str(counts[word, True])) for word in verdicts)]


def as_text(every: list[Judged], figures: list[tuple[str, ...]], what: str, listed: bool) -> str:
    """Both tables; each case below when they are asked for."""
    lines = [f"{len(every)} cases of {what}", "", alone.table(figures), "", alone.table(outcomes_table(every))]
    lacking = Counter(one.missing for one in every if one.verdict == "cannot tell")
    lines += ["", "cannot tell, for want of:", *(f"  {n:>3}  {what}" for what, n in lacking.most_common())]
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
        low, likely, high = figure.ours
        error = "" if figure.error is None else f"{figure.ours[1] / figure.measured - 1:+.1%}"
        inside = "inside" if figure.covered else "OUTSIDE"
        yield f"    {figure.name:<20} {figure.measured:>10,.2f}  {low:,.2f} {likely:,.2f} {high:,.2f}  {error:>8} {inside}"


def as_json(every: list[Judged]) -> str:
    data = [{**one._asdict(), "figures": [figure._asdict() for figure in one.figures]} for one in every]
    return json.dumps(data, indent=2)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("cases", type=Path)
    parser.add_argument("--list", action="store_true", dest="listed", help="print each case")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.add_argument("--architectures", type=Path, help="shapes of networks that the catalog does not list (JSON)")
    arguments = parser.parse_args()
    shapes = json.loads(arguments.architectures.read_text(encoding="utf-8")) if arguments.architectures else {}
    served = [judged(case) for case in cases(arguments.cases)]
    training = [judged_training(case, shapes) for case in trained(arguments.cases)]
    complete = frozenset(str(case["id"]) for case in trained(arguments.cases) if training_cases.fully_stated(case))
    if arguments.format == "json":
        print(as_json([*served, *training]))
        return
    print(as_text(served, figures_table(served), "vLLM", arguments.listed), end="\n\n\n")
    print(as_text(training, training_table(training, complete), "training", arguments.listed))


if __name__ == "__main__":
    main()
