"""Sizes: the memory terms of one workload with their shares, as `gpulint size` shows them."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from gpulint import adapters, engines, units
from gpulint.adapters import native
from gpulint.adapters.logs import comparison
from gpulint.adapters.logs.reader import Log
from gpulint.catalog import architecture, hardware
from gpulint.catalog.architecture import Resolved
from gpulint.facts import checkpoints
from gpulint.facts import resolver as facts
from gpulint.facts.glossary import glossary
from gpulint.facts.model import Facts, Missing
from gpulint.pipeline.summary import role as summary
from gpulint.pipeline.summary.role import Fitting
from gpulint.policy.rules import evaluate as check
from gpulint.policy.rules.rule import shipped_rules
from gpulint.report.formats import text as text_report
from gpulint.report.model import Worlds
from gpulint.source import documents
from gpulint.source.repository import Repository
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
"""How fast a run goes, where enough is stated to tell; nothing is asked for its sake."""
SERVING_SPEED = (
    *("tpot_floor_s", "tpot_s", "ttft_floor_s", "ttft_s", "decode_batch", "admitted_sequences", "output_tokens_per_s"),
    *("output_tokens_per_s_ceiling", "energy_j_per_token"),
)
"""How fast a server answers requests of the stated size; with neither size nor load stated nothing is shown."""
REQUEST = {
    "prompt_tokens": "request_prompt_tokens",
    "output_tokens": "request_output_tokens",
    "concurrency": "target_concurrency",
}
"""What the command line says of a server's requests, by the fact that it is."""


class Unsized(ValueError):
    """What is asked about cannot be told; the message says why."""


class Term(NamedTuple):
    """One term: its values in bytes (or tokens), its interval and, of a memory term, its share of the card."""

    name: str
    unit: str
    worlds: Worlds[Value]
    low: Value
    high: Value
    share: float | None
    how: str


class Sizing(NamedTuple):
    """The terms of one role, the verdict on them, what was missing, and where that is the card, which ones would do."""

    title: str
    terms: tuple[Term, ...]
    verdict: str
    missing: tuple[str, ...]
    assumptions: tuple[str, ...]
    stored: str = ""
    told: comparison.Evidence | None = None
    hardware: Fitting = Fitting()


def served(stated: Mapping[str, object]) -> dict[str, object]:
    """What the command line states, where a prompt is that of a server's requests once an answer or a load is stated."""
    if not {"output_tokens", "concurrency"} & stated.keys():
        return dict(stated)
    return {REQUEST.get(name, name): value for name, value in stated.items()}


def of(
    what: str | Path | Mapping[str, object], stated: Mapping[str, object], repository: Repository
) -> tuple[Sizing, ...]:
    """The terms of each role of a checkpoint, FILE, FILE:WORKLOAD or spec; Unsized where there is none."""
    return tuple(table(*one) for one in roles(what, stated, repository))


def roles(
    what: str | Path | Mapping[str, object], stated: Mapping[str, object], repository: Repository, known: bool = True
) -> list[tuple[Role, Resolved | None]]:
    """The roles that are asked about; a checkpoint has to be in the catalog, unless `known` is false."""
    accelerator = str(stated.get("accelerator") or "")
    if accelerator and hardware.named(accelerator) is None:
        raise Unsized(
            f"no accelerator is called {accelerator}{_near(accelerator, (one.id for one in hardware.list_accelerators()))}"
        )
    said = served({name: value for name, value in stated.items() if name != "accelerator"})
    if strange := [name for name in said if name not in (*glossary(), *BATCH)]:
        raise Unsized(f"no quantity is called {strange[0]}{_near(strange[0], glossary())}")
    if isinstance(what, Mapping):
        return _from_words(what, said, accelerator, repository)
    file, _, name = str(what).rpartition(":") if not Path(what).is_file() and ":" in str(what) else (str(what), "", "")
    if Path(file).is_file():
        found = from_file(file, name, repository, said, accelerator)
        if not found:
            raise Unsized(f"{file} holds no workload" + (f" called {name}" if name else ""))
        return found
    role, resolved = from_checkpoint(str(what), {"engine": "vllm", **said}, accelerator, repository)
    if known and (resolved is None or resolved.architecture is None):
        raise Unsized(f"no checkpoint is called {what}{_near(str(what), architecture.ids())}")
    return [(role, resolved)]


def _from_words(
    words: Mapping[str, object], stated: Mapping[str, object], accelerator: str, repository: Repository
) -> list[tuple[Role, Resolved | None]]:
    """The roles of a spec in gpulint's own words, or the one role that some of these words describe."""
    document = documents.load("workload.json", json.dumps(_spec(words)).encode()).documents[0]
    if wrong := [problem.message for problem in native.problems(document)]:
        raise Unsized("; ".join(wrong))
    found = [role for workload in native.workloads(document, repository) for role in workload.roles]
    said = [role.having(**_stated(stated, accelerator)) for role in found]
    return [(role, checkpoints.resolve(role, "", repository, None)) for role in said]


def _spec(words: Mapping[str, object]) -> Mapping[str, object]:
    if "kind" in words:
        return words
    kind = "TrainingJob" if engines.purpose(str(words.get("engine", ""))) == "training" else "InferenceService"
    name = str(words.get("name") or words.get("checkpoint") or "workload")
    spec = {"roles": [{**words, "name": name}]}
    return {"apiVersion": native.API_VERSION, "kind": kind, "metadata": {"name": name}, "spec": spec}


def _near(word: str, known: Iterable[str]) -> str:
    from gpulint.policy.config import did_you_mean as spelling

    return spelling.near(word, known)


def from_checkpoint(
    reference: str, stated: Mapping[str, object], accelerator: str | None, repository: Repository
) -> tuple[Role, Resolved | None]:
    """A role as the command line describes it."""
    fields = {"checkpoint": Field(reference), "device": Field("gpu"), **_stated(stated, accelerator)}
    fields["max_model_len_stated"] = Field("max_model_len" in fields)
    if fields.keys() & set(REQUEST.values()):
        fields.setdefault("replicas", Field(1, source="one replica is asked about"))
    if fields.keys() & set(BATCH):
        fields.setdefault("task", Field("inference", source="a batch that is generated"))
    elif engines.purpose(str(stated.get("engine", ""))) == "training":
        fields.setdefault("task", Field("training", source="the engine is a trainer"))
    role = Role(reference, Origin(_nowhere(), ()), fields)
    return role, checkpoints.resolve(role, "", repository, None)


def from_file(
    path: str, name: str, repository: Repository, stated: Mapping[str, object], accelerator: str | None
) -> list[tuple[Role, Resolved | None]]:
    """The roles of a file's workloads, or of one of them, with what the command line says instead."""
    found: list[tuple[Role, Resolved | None]] = []
    for document in documents.load(path, Path(path).read_bytes()).documents:
        for workload in adapters.read(document, repository):
            for role in workload.roles if name in ("", workload.name) else ():
                own = role.having(
                    **_stated({key: value for key, value in stated.items() if key != "engine"}, accelerator)
                )
                named = dataclasses.replace(own, name=f"{workload.name}/{role.name}")
                found.append((named, checkpoints.resolve(named, path, repository, None)))
    return found


def _stated(stated: Mapping[str, object], accelerator: str | None) -> dict[str, Field]:
    fields = {name: Field(value, source="command line") for name, value in stated.items()}  # type: ignore[arg-type]
    product = hardware.named(accelerator) if accelerator else None
    if product:
        fields["accelerator"] = Field(product.id, source="command line")
    if "max_model_len" in stated:
        fields |= {"max_model_len_stated": Field(True), "max_model_len_fitted": Field(False)}
    return fields


def _nowhere() -> documents.Document:
    return documents.load("command-line.yaml", b"{}").documents[0]


def table(role: Role, resolved: Resolved | None) -> Sizing:
    """Each memory term of a role on its fullest GPU."""
    known = facts.of(role, resolved)
    device = known.likely("device_memory_bytes")
    shown = _shown(known)
    speed = TRAINING_SPEED if engines.trains(role) else _served_speed(role)
    rows = [row for name in (*shown, *speed) if (row := _row(name, known, device))]
    missing = sorted(known.missing(shown))
    needs = tuple(
        f"{name}: {known.reasons.get(name) or glossary()[name].ask or glossary()[name].meaning}" for name in missing
    )
    assumed = tuple(summary.assumptions(role, resolved))
    stored = _stored(resolved)
    return Sizing(_title(role, known), tuple(rows), verdict(known), needs, assumed, stored, hardware=_hardware(known))


def _hardware(known: Facts) -> Fitting:
    """The cards that would do, by the rules of any workload."""
    role = known.role
    if hardware.accelerator(role.text("accelerator")) is not None:
        return Fitting()
    kind = "training" if engines.trains(role) else "inference"
    workload = Workload(role.name, kind, "size", role.anchor.document, (), (role,))
    rules = tuple(check.matching(shipped_rules().values(), workload, role))
    return summary.fitting(known, check.judged(rules, known), rules)


def _served_speed(role: Role) -> tuple[str, ...]:
    """The speeds of a role that states requests; of any other, none."""
    return SERVING_SPEED if role.fields.keys() & set(REQUEST.values()) else ()


def _shown(known: Facts) -> tuple[str, ...]:
    """The terms and totals of a role: of a training step, of a static batch, or of a server."""
    if engines.trains(known.role):
        return (*TRAINING_TERMS, *TRAINING_TOTALS)
    if summary.generates(known):
        return (*GENERATION_TERMS, *GENERATION_TOTALS)
    return (*_terms(known.role), *TOTALS)


def _terms(role: Role) -> tuple[str, ...]:
    """The terms of a serving role; a stated sum of what is loaded stands for its parts."""
    if "loaded_bytes_per_gpu" not in role.fields:
        return TERMS
    return ("loaded_bytes_per_gpu", *(name for name in TERMS if not name.startswith("weight_")))


def _stored(resolved: Resolved | None) -> str:
    shape = resolved.architecture if resolved else None
    return (shape.stored_formats if shape else None) or ""


def verdict(known: Facts) -> str:
    """Whether a role fits in memory, as every report says it."""
    return summary.verdict(known)


def tightened(role: Role, resolved: Resolved | None, log: Log) -> Sizing:
    """The terms of a role with a log's readings instead of ours, and both beside each other."""
    told = comparison.of(role, resolved, log)
    return table(told.role, resolved)._replace(told=told)


def _row(name: str, known: Facts, device: Value | Missing) -> Term | None:
    found = known.find(name)
    if isinstance(found, Missing):
        return None
    quantity, share = glossary()[name], None
    if quantity.unit == "bytes" and isinstance(device, int | float) and isinstance(found.worlds.likely, int | float):
        share = found.worlds.likely / device
    low, high = known.ends(name) or found.worlds[::2]
    return Term(name, quantity.unit, found.worlds, low, high, share, found.how)


def _title(role: Role, known: Facts) -> str:
    product = hardware.accelerator(role.text("accelerator"))
    ranks = (("tensor parallel", "tensor_parallel"), ("pipeline parallel", "pipeline_parallel"))
    layout = ", ".join(f"{word} {known.likely(name)}" for word, name in ranks if isinstance(known.likely(name), int))
    length = known.likely("max_model_len")
    tokens = f"{units.human(length, 'tokens')} tokens" if isinstance(length, int) else ""
    return ", ".join(filter(None, (role.name, product.name if product else "", layout, tokens)))


def as_text(tables: Sequence[Sizing]) -> str:
    """The tables for a person."""
    return "\n\n".join(_text(one) for one in tables) + "\n"


def _text(one: Sizing) -> str:
    head = ("on the fullest GPU", "low", "likely", "high", "of the card")
    lines = [one.title, columns([head, *(_cells(row) for row in one.terms)])]
    if one.told:
        lines[1:1] = [
            columns(comparison.cells(one.told)),
            *comparison.sentences(one.told),
            "",
            "with the log's readings",
        ]
    lines.append(f"verdict: {one.verdict}")
    lines += [f"stored: {one.stored}"] if one.stored else []
    lines += [f"assumed: {text}" for text in one.assumptions]
    lines += [f"missing: {text}" for text in one.missing]
    lines += text_report.hardware(*one.hardware)
    return "\n".join(lines)


def _cells(row: Term) -> tuple[str, ...]:
    low, likely, high = (units.human(value, row.unit) for value in (row.low, row.worlds.likely, row.high))
    share = f"{row.share:.1%}" if row.share is not None else ""
    return (row.name, low, likely, high, share)


def as_json(tables: Sequence[Sizing]) -> str:
    """The tables as JSON: values in base units, in each world, and the ends of the interval around the likely one."""
    data = [
        {
            "title": one.title,
            "terms": {
                row.name: {
                    "unit": row.unit,
                    **row.worlds._asdict(),
                    "low": row.low,
                    "high": row.high,
                    "share": row.share,
                    "from": row.how,
                }
                for row in one.terms
            },
            "verdict": one.verdict,
            "missing": list(one.missing),
            "assumptions": list(one.assumptions),
            "stored": one.stored,
            **_had(one.hardware),
            **({"log": comparison.as_data(one.told)} if one.told else {}),
        }
        for one in tables
    ]
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def _had(found: Fitting) -> dict[str, object]:
    """The cards that would do, as the JSON report names them; nothing where the card is known."""
    if found == Fitting():
        return {}
    fits = [{**one._asdict(), "headroom": one.headroom._asdict()} for one in found.smallest]
    listed = {"fits_on": found.fits, "borderline": found.borderline, "too_small": found.too_small}
    return {**{name: list(cards) for name, cards in listed.items()}, "smallest": fits}


def columns(rows: Sequence[Sequence[str]]) -> str:
    """Rows as aligned columns."""
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)
