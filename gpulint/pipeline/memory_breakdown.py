"""Sizes: the memory terms of one workload with their shares, as `gpulint size` shows them."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from gpulint import engines, units
from gpulint.adapters import native
from gpulint.adapters.logs import comparison
from gpulint.adapters.logs.reader import Log
from gpulint.catalog import architecture, hardware
from gpulint.catalog.architecture import Resolution
from gpulint.facts import checkpoints, resolver
from gpulint.facts.glossary import glossary
from gpulint.facts.model import Facts, Missing
from gpulint.pipeline import evaluate
from gpulint.pipeline.summary import open_values
from gpulint.pipeline.summary import role as summary_role
from gpulint.policy.resolved import ResolvedPolicy
from gpulint.policy.rules import bounds, memory_verdict
from gpulint.policy.rules import evaluate as rules_evaluate
from gpulint.policy.rules.rule import Rule, load_shipped
from gpulint.report import json_text
from gpulint.report.formats import suggestion_lines
from gpulint.report.model import Scenarios
from gpulint.source import documents
from gpulint.source.repository import Repository, Source
from gpulint.suggestions import smallest_fit
from gpulint.suggestions.smallest_fit import Fitting
from gpulint.workload import Field, Origin, Role, Value, Workload

TERMS = (
    "weight_bytes_per_gpu",
    "weight_buffer_bytes",
    "activation_bytes",
    "captured_graph_bytes",
    "non_torch_bytes",
    "kv_needed_bytes",
)
TOTALS = ("required_bytes_per_gpu", "memory_budget_bytes", "device_memory_bytes", "kv_cache_bytes", "kv_cache_tokens")
TRAINING_TERMS = (
    *("training_weight_bytes", "gradient_bytes", "optimizer_state_bytes", "kept_activation_bytes", "layer_work_bytes"),
    *("loss_bytes", "gathered_bytes", "reduction_bytes", "cast_bytes", "step_bytes", "training_context_bytes"),
)
GENERATION_TERMS = (
    *("generation_weight_bytes", "load_excess_bytes", "generation_cache_bytes", "prompt_work_bytes"),
    *("decode_work_bytes", "library_workspace_bytes", "generation_context_bytes"),
)
GENERATION_TOTALS = (
    *("generation_held_bytes", "generation_peak_bytes", "generation_reserved_bytes", "generation_device_bytes"),
    *("generation_total_bytes", "device_memory_bytes"),
)
BATCH = ("batch_size", "prompt_tokens", "new_tokens")
TRAINING_TOTALS = (*("training_peak_bytes", "training_reserved_bytes", "training_device_bytes", "device_memory_bytes"),)
TRAINING_SPEED = ("step_floor_s", "step_s", "training_tokens_per_s_per_gpu", "mfu", "training_run_s")
"""Facts of a run's speed, shown if enough is declared. Nothing is requested for them."""
SERVING_SPEED = (
    *("tpot_floor_s", "tpot_s", "ttft_floor_s", "ttft_s", "decode_batch", "admitted_sequences", "output_tokens_per_s"),
    *("output_tokens_per_s_ceiling", "energy_j_per_token"),
)
"""Facts of a server's speed for requests of the declared size, shown only if a size or a load is
declared.
"""
REQUEST = {
    "prompt_tokens": "request_prompt_tokens",
    "output_tokens": "request_output_tokens",
    "concurrency": "target_concurrency",
}
"""Options about a server's requests, and the fact of each."""


class SizingError(ValueError):
    """The requested size cannot be computed; the message says why."""


class Term(NamedTuple):
    """One term: its values in bytes (or tokens), its interval, and its share of GPU memory."""

    name: str
    unit: str
    scenarios: Scenarios[Value]
    low: Value
    high: Value
    share: float | None
    how: str


class Sizing(NamedTuple):
    """The terms of one role with the verdict, missing inputs, and suitable accelerators if that is
    the missing input.
    """

    title: str
    terms: tuple[Term, ...]
    verdict: str
    missing: tuple[str, ...]
    assumptions: tuple[str, ...]
    stored: str = ""
    told: comparison.Evidence | None = None
    hardware: Fitting = Fitting()


def convert_options(stated: Mapping[str, object]) -> dict[str, object]:
    """Return the options as facts.

    Once output or load is declared, the prompt is that of a server's requests.
    """
    if not {"output_tokens", "concurrency"} & stated.keys():
        return dict(stated)
    return {REQUEST.get(name, name): value for name, value in stated.items()}


def compute(
    what: str | Path | Mapping[str, object], stated: Mapping[str, object], repository: Repository
) -> tuple[Sizing, ...]:
    """Return the terms of each role of a checkpoint, FILE, FILE:WORKLOAD or spec; raise Unsized if
    there is none.
    """
    return tuple(build_table(*role) for role in find_roles(what, stated, repository))


def find_roles(
    what: str | Path | Mapping[str, object], stated: Mapping[str, object], repository: Repository, known: bool = True
) -> list[tuple[Role, Resolution | None]]:
    """Return the requested roles. A checkpoint must be in the catalog, unless `known` is false."""
    accelerator = str(stated.get("accelerator") or "")
    if accelerator and hardware.find_accelerator(accelerator) is None:
        ids = (product.id for product in hardware.list_accelerators())
        raise SizingError(f"no accelerator is called {accelerator}{_suggest(accelerator, ids)}")
    quantities = convert_options({name: value for name, value in stated.items() if name != "accelerator"})
    if strange := [name for name in quantities if name not in (*glossary(), *BATCH)]:
        raise SizingError(f"no quantity is called {strange[0]}{_suggest(strange[0], glossary())}")
    if isinstance(what, Mapping):
        return _read_words(what, quantities, accelerator, repository)
    file, _, name = str(what).rpartition(":") if not Path(what).is_file() and ":" in str(what) else (str(what), "", "")
    if Path(file).is_file():
        found = read_roles(file, name, repository, quantities, accelerator)
        if not found:
            raise SizingError(f"{file} contains no workload" + (f" named {name}" if name else ""))
        return found
    role, resolved = build_role(str(what), {"engine": "vllm", **quantities}, accelerator, repository)
    if known and (resolved is None or resolved.architecture is None):
        raise SizingError(f"no checkpoint is called {what}{_suggest(str(what), architecture.list_ids())}")
    return [(role, resolved)]


def _read_words(
    words: Mapping[str, object], stated: Mapping[str, object], accelerator: str, repository: Repository
) -> list[tuple[Role, Resolution | None]]:
    """Return the roles of a native spec, or the one role that some of its keys describe."""
    document = documents.load("workload.json", json.dumps(_build_spec(words)).encode()).documents[0]
    if wrong := [problem.message for problem in native.problems(document)]:
        raise SizingError("; ".join(wrong))
    found = [role for workload in native.workloads(document, repository) for role in workload.roles]
    changed = [role.having(**_build_fields(stated, accelerator)) for role in found]
    return [(role, checkpoints.resolve(role, "", repository, None)) for role in changed]


def _build_spec(words: Mapping[str, object]) -> Mapping[str, object]:
    if "kind" in words:
        return words
    kind = "TrainingJob" if engines.find_purpose(str(words.get("engine", ""))) == "training" else "InferenceService"
    name = str(words.get("name") or words.get("checkpoint") or "workload")
    spec = {"roles": [{**words, "name": name}]}
    return {"apiVersion": native.API_VERSION, "kind": kind, "metadata": {"name": name}, "spec": spec}


def _suggest(word: str, names: Iterable[str]) -> str:
    from gpulint.policy import did_you_mean

    return did_you_mean.suggest(word, names)


def build_role(
    reference: str, stated: Mapping[str, object], accelerator: str | None, repository: Repository
) -> tuple[Role, Resolution | None]:
    """Return a role as the command line describes it."""
    fields = {"checkpoint": Field(reference), "device": Field("gpu"), **_build_fields(stated, accelerator)}
    fields["max_model_len_stated"] = Field("max_model_len" in fields)
    if fields.keys() & set(REQUEST.values()):
        fields.setdefault("replicas", Field(1, source="one replica is asked about"))
    if fields.keys() & set(BATCH):
        fields.setdefault("task", Field("inference", source="a batch that is generated"))
    elif engines.find_purpose(str(stated.get("engine", ""))) == "training":
        fields.setdefault("task", Field("training", source="the engine is a trainer"))
    role = Role(reference, Origin(_build_empty_document(), ()), fields)
    return role, checkpoints.resolve(role, "", repository, None)


def read_roles(
    path: str, name: str, repository: Repository, stated: Mapping[str, object], accelerator: str | None
) -> list[tuple[Role, Resolution | None]]:
    """Return the roles of a file's workloads, or of one of them, with the overrides of the command
    line.
    """
    source = Source(path, Path(path).read_bytes())
    fields = _build_fields({key: value for key, value in stated.items() if key != "engine"}, accelerator)
    found: list[tuple[Role, Resolution | None]] = []
    for evaluated in evaluate.file(source, repository, ResolvedPolicy(()), name or None).roles:
        if not evaluated.component:
            own = evaluated.facts.role.having(**fields)
            named = dataclasses.replace(own, name=f"{evaluated.workload.name}/{own.name}")
            found.append((named, checkpoints.resolve(named, path, repository, None)))
    return found


def _build_fields(stated: Mapping[str, object], accelerator: str | None) -> dict[str, Field]:
    fields = {name: Field(value, source="command line") for name, value in stated.items()}  # type: ignore[arg-type]
    product = hardware.find_accelerator(accelerator) if accelerator else None
    if product:
        fields["accelerator"] = Field(product.id, source="command line")
    if "max_model_len" in stated:
        fields |= {"max_model_len_stated": Field(True), "max_model_len_fitted": Field(False)}
    return fields


def _build_empty_document() -> documents.Document:
    return documents.load("command-line.yaml", b"{}").documents[0]


def build_table(role: Role, resolved: Resolution | None) -> Sizing:
    """Return each memory term of a role on its fullest GPU."""
    known = resolver.resolve(role, resolved)
    device = known.expected("device_memory_bytes")
    shown = _list_shown(known)
    speed = TRAINING_SPEED if engines.is_training(role) else _list_speed(role)
    rows = [row for name in (*shown, *speed) if (row := _build_term(name, known, device))]
    missing = sorted(known.missing(shown))
    needs = tuple(
        f"{name}: {known.reasons.get(name) or glossary()[name].ask or glossary()[name].meaning}" for name in missing
    )
    assumed = tuple(summary_role.list_assumptions(role, resolved))
    stored = _find_stored(resolved)
    return Sizing(
        _render_title(role, known),
        tuple(rows),
        _describe_verdict(known),
        needs,
        assumed,
        stored,
        hardware=_find_hardware(known),
    )


def _describe_verdict(known: Facts) -> str:
    """Return the verdict on a role as a check gives it, also where values are open."""
    verdict = find_verdict(known)
    found = None if "fits" in verdict else bounds.find_bounds(known)
    if found is None:
        return verdict
    rules = _select_rules(known.role)
    return open_values.describe(found, rules_evaluate.evaluate(rules, known), rules).verdict


def _select_rules(role: Role) -> tuple[Rule, ...]:
    """Return the general rules about a role."""
    kind = "training" if engines.is_training(role) else "inference"
    workload = Workload(role.name, kind, "size", role.anchor.document, (), (role,))
    return tuple(rules_evaluate.select(load_shipped().values(), workload, role))


def _find_hardware(known: Facts) -> Fitting:
    """Return the accelerators that fit, by the general rules."""
    if hardware.accelerator(known.role.text("accelerator")) is not None:
        return Fitting()
    rules = _select_rules(known.role)
    return smallest_fit.find_fitting(known, rules_evaluate.evaluate(rules, known), rules)


def _list_speed(role: Role) -> tuple[str, ...]:
    """Return the speed facts of a role with declared requests; empty for others."""
    return SERVING_SPEED if role.fields.keys() & set(REQUEST.values()) else ()


def _list_shown(known: Facts) -> tuple[str, ...]:
    """Return the terms and totals of a role: of a training step, of a static batch, or of a
    server.
    """
    if engines.is_training(known.role):
        return (*TRAINING_TERMS, *TRAINING_TOTALS)
    if memory_verdict.is_generation(known):
        return (*GENERATION_TERMS, *GENERATION_TOTALS)
    return (*_list_terms(known.role), *TOTALS)


def _list_terms(role: Role) -> tuple[str, ...]:
    """Return the terms of a serving role. A declared sum of the loaded bytes replaces its parts."""
    if "loaded_bytes_per_gpu" not in role.fields:
        return TERMS
    return ("loaded_bytes_per_gpu", *(name for name in TERMS if not name.startswith("weight_")))


def _find_stored(resolved: Resolution | None) -> str:
    shape = resolved.architecture if resolved else None
    return (shape.stored_formats if shape else None) or ""


def find_verdict(known: Facts) -> str:
    """Return whether a role fits in memory, in the words of all reports."""
    return memory_verdict.find_verdict(known)


def compare_with_log(role: Role, resolved: Resolution | None, log: Log) -> Sizing:
    """Return the terms of a role with a log's measurements, next to our own."""
    evidence = comparison.compare(role, resolved, log)
    return build_table(evidence.role, resolved)._replace(told=evidence)


def _build_term(name: str, known: Facts, device: Value | Missing) -> Term | None:
    found = known.find(name)
    if isinstance(found, Missing):
        return None
    quantity, share = glossary()[name], None
    if (
        quantity.unit == "bytes"
        and isinstance(device, int | float)
        and isinstance(found.scenarios.expected, int | float)
    ):
        share = found.scenarios.expected / device
    low, high = known.ends(name) or found.scenarios[::2]
    return Term(name, quantity.unit, found.scenarios, low, high, share, found.how)


def _render_title(role: Role, known: Facts) -> str:
    product = hardware.accelerator(role.text("accelerator"))
    ranks = (("tensor parallel", "tensor_parallel"), ("pipeline parallel", "pipeline_parallel"))
    layout = ", ".join(
        f"{word} {known.expected(name)}" for word, name in ranks if isinstance(known.expected(name), int)
    )
    length = known.expected("max_model_len")
    tokens = f"{units.human(length, 'tokens')} tokens" if isinstance(length, int) else ""
    return ", ".join(filter(None, (role.name, product.name if product else "", layout, tokens)))


def render_text(tables: Sequence[Sizing]) -> str:
    """Return the tables as text."""
    return "\n\n".join(_render_table(sizing) for sizing in tables) + "\n"


def _render_table(sizing: Sizing) -> str:
    head = ("on the fullest GPU", "low", "expected", "high", "of GPU memory")
    lines = [sizing.title, align_columns([head, *(_render_cells(row) for row in sizing.terms)])]
    if sizing.told:
        lines[1:1] = [
            align_columns(comparison.cells(sizing.told)),
            *comparison.sentences(sizing.told),
            "",
            "with the log's readings",
        ]
    lines.append(f"verdict: {sizing.verdict}")
    lines += [f"stored: {sizing.stored}"] if sizing.stored else []
    lines += [f"assumed: {text}" for text in sizing.assumptions]
    lines += [f"missing: {text}" for text in sizing.missing]
    lines += suggestion_lines.render_hardware(*sizing.hardware)
    return "\n".join(lines)


def _render_cells(row: Term) -> tuple[str, ...]:
    low, expected, high = (units.human(value, row.unit) for value in (row.low, row.scenarios.expected, row.high))
    share = f"{row.share:.1%}" if row.share is not None else ""
    return (row.name, low, expected, high, share)


def render_json(tables: Sequence[Sizing]) -> str:
    """Return the tables as JSON: values in base units in each scenario, and the ends of the
    interval.
    """
    data = [
        {
            "title": sizing.title,
            "terms": {
                row.name: {
                    "unit": row.unit,
                    **row.scenarios._asdict(),
                    "low": row.low,
                    "high": row.high,
                    "share": row.share,
                    "from": row.how,
                }
                for row in sizing.terms
            },
            "verdict": sizing.verdict,
            "missing": list(sizing.missing),
            "assumptions": list(sizing.assumptions),
            "stored": sizing.stored,
            **_list_fitting(sizing.hardware),
            **({"log": comparison.build_data(sizing.told)} if sizing.told else {}),
        }
        for sizing in tables
    ]
    return json_text.encode(data)


def _list_fitting(found: Fitting) -> dict[str, object]:
    """Return the accelerators that fit as JSON data; empty if the accelerator is known."""
    if found == Fitting():
        return {}
    fits = [
        {**fit._asdict(), "headroom": fit.headroom._asdict(), "memory": fit.memory and fit.memory._asdict()}
        for fit in found.smallest
    ]
    listed = {"fits_on": found.fits, "borderline": found.borderline, "too_small": found.too_small}
    return {**{name: list(cards) for name, cards in listed.items()}, "smallest": fits}


def align_columns(rows: Sequence[Sequence[str]]) -> str:
    """Return rows as aligned columns."""
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)
