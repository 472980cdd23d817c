"""How many quantities of real specs are stated at a place, and which of them an alternative can state anew.

    python bench/edits.py DIR [--every N] [--list] [--formats]

Each file of DIR is read alone. For every role with GPUs and every quantity that alternatives set, another value is tried.
*stated*: some place states the value; *written*: there are exact edits for another; *carried out*: the places in the text
are sure; *right*: the file, read again, states the new value. The same for what is not stated, but could be added to what
the engine is told.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import alone
from alone import Folder

from gpulint import engines
from gpulint.catalog import hardware
from gpulint.pipeline import enrichment
from gpulint.report.model import Edit, Suggestion
from gpulint.source import documents
from gpulint.suggestions import edits
from gpulint.suggestions.edits import apply
from gpulint.suggestions.edits.splices import Inexact
from gpulint.workload import Role, Value, Workload

QUANTITIES = (
    *("accelerator", "gpus_per_pod", "instance_type", "tensor_parallel", "pipeline_parallel", "data_parallel"),
    *("replicas", "max_model_len", "max_num_seqs", "gpu_memory_utilization", "kv_cache_dtype", "quantization"),
    *("mig_profile", "micro_batch_size", "gradient_accumulation_steps", "zero_stage", "activation_checkpointing"),
    *("processes_per_pod", "pods_per_replica"),
)
OF_TRAINING = frozenset(
    {"micro_batch_size", "gradient_accumulation_steps", "zero_stage", "activation_checkpointing", "processes_per_pod"}
)
OF_SERVING = frozenset({"max_model_len", "max_num_seqs", "gpu_memory_utilization", "kv_cache_dtype", "quantization"})
NEVER_ADDED = frozenset(
    {"accelerator", "gpus_per_pod", "instance_type", "replicas", "pods_per_replica", "processes_per_pod"}
)
"""Quantities of the platform, whose places are stated or not there."""
FIRST: Mapping[str, Value] = {
    **dict.fromkeys(("tensor_parallel", "pipeline_parallel", "data_parallel", "micro_batch_size"), 2),
    "max_model_len": 4096,
    "max_num_seqs": 64,
    "gpu_memory_utilization": 0.85,
    "zero_stage": 3,
    "gradient_accumulation_steps": 4,
    "activation_checkpointing": "full",
    "kv_cache_dtype": "fp8",
    "quantization": "fp8",
}
"""What is tried where nothing is stated."""
OTHERS = ("l4", "h100-sxm-80gb", "a100-sxm4-80gb", "l40s", "t4", "a10g", "h200-sxm-141gb", "mi300x", "mi325x")
STATES = ("stated", "missing")
LEVELS = ("none", "written", "carried out", "right")
HEAD = ("quantity", "stated", "written", "carried out", "right", "not stated", "added", "carried out", "right")


def main(arguments: Sequence[str]) -> int:
    """Print the table; the exit code tells of nothing."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--every", type=int, default=1, help="take each N-th file only")
    parser.add_argument("--list", action="store_true", help="show what could not be written, or was not right")
    parser.add_argument("--formats", action="store_true", help="a table of adapters too")
    given = parser.parse_args(arguments)
    folder = Folder(given.directory)
    counts: Counter[tuple[str, str, str]] = Counter()
    for path in [*folder.paths()][:: given.every]:
        for adapter, quantity, outcome, shown in tried(folder, path):
            counts[adapter, quantity, outcome] += 1
            if given.list and shown:
                print("\t".join((outcome, adapter, quantity, path, shown)))
    print(alone.table([HEAD, *rows(counts, "")]))
    for adapter in sorted({key[0] for key in counts}) if given.formats else ():
        print(f"\n{adapter}")
        print(alone.table([HEAD, *rows(counts, adapter)]))
    return 0


def rows(counts: Counter[tuple[str, str, str]], adapter: str) -> Iterator[tuple[str, ...]]:
    """The table's rows, of one adapter or of all."""
    for quantity in QUANTITIES:
        found: Counter[str] = Counter()
        for (of, name, outcome), count in counts.items():
            if name == quantity and of == (adapter or of):
                found[outcome] += count
        cells = [sum(found[f"{state}: {one}"] for one in LEVELS[at:]) for state in STATES for at in range(len(LEVELS))]
        if any(cells) or not adapter:
            yield (quantity, *map(str, cells))


def tried(folder: Folder, path: str) -> Iterator[tuple[str, str, str, str]]:
    """Adapter, quantity, outcome and what to show of each quantity of each role with GPUs in one file."""
    try:
        found = [
            (at, workload)
            for at, document in enumerate(folder.loaded(path).documents)
            for workload in enrichment.read(document, folder.tree)
        ]
    except Exception as error:
        print(f"{path}: {type(error).__name__}: {error}", file=sys.stderr)
        return
    for at, workload in found:
        for role in workload.roles:
            if role.value("gpus_per_pod") == 0:
                continue
            for quantity in QUANTITIES:
                if outcome := _outcome(folder, path, at, workload, role, quantity):
                    yield workload.adapter, quantity, *outcome


def _outcome(
    folder: Folder, path: str, at: int, workload: Workload, role: Role, quantity: str
) -> tuple[str, str] | None:
    field = role.fields.get(quantity)
    stated = bool(field and field.origins and isinstance(field.value, int | float | str) and field.value != "")
    if not stated and (quantity in NEVER_ADDED or not _concerns(role, quantity) or (field and field.origins)):
        return None
    state = "stated" if stated else "missing"
    for value in candidates(role, quantity):
        written = edits.write_values(role, {quantity: value})
        if written:
            level, why = _level(folder, path, at, workload, role, quantity, value, written)
            shown = "; ".join(f"{one.old!r} -> {one.new!r} at {_place(one)}" for one in written)
            return f"{state}: {level}", f"{shown} {why}" if level != "right" else ""
    spelled = ", ".join(f"{origin.text()[:60]!r}" for origin in (field.origins if field else ()))
    return f"{state}: none", f"{role.value(quantity)!r} as {spelled}" if stated else ""


def _place(edit: Edit) -> str:
    return f"{edit.location.path}:{edit.location.line}:{edit.location.column}" if edit.location else "no place"


def _concerns(role: Role, quantity: str) -> bool:
    if not role.text("engine"):
        return quantity == "mig_profile" and role.text("accelerator") != ""
    trains = engines.is_training(role)
    return (quantity not in OF_SERVING) if trains else (quantity not in OF_TRAINING)


def candidates(role: Role, quantity: str) -> tuple[Value, ...]:
    """Other values to try, the first that can be written counts."""
    now = role.value(quantity)
    if quantity == "accelerator":
        return tuple(name for name in OTHERS if name != now)
    if quantity == "instance_type":
        machine = hardware.node(str(now))
        return tuple(
            one.instance_type
            for one in (hardware.holding(machine.accelerator, 1, machine.cloud) if machine else ())
            if one.instance_type != now
        )
    if quantity == "mig_profile":
        return tuple(
            profile for profile, _ in hardware.slices(role.text("accelerator")) if profile != now and "+" not in profile
        )
    if quantity == "activation_checkpointing":
        return ("none",) if now == "full" else ("full",)
    if quantity == "zero_stage":
        return (2,) if now == 3 else (3,)
    if isinstance(now, int) and not isinstance(now, bool):
        return (now + 1,) if quantity == "replicas" else (now * 2,)
    if isinstance(now, float) and quantity == "gpu_memory_utilization":
        return (0.85 if now != 0.85 else 0.8,)
    if quantity in FIRST:
        return ("auto",) if FIRST[quantity] == now else (FIRST[quantity],)
    return ()


def _level(
    folder: Folder,
    path: str,
    at: int,
    workload: Workload,
    role: Role,
    quantity: str,
    value: Value,
    written: Sequence[Edit],
) -> tuple[str, str]:
    """How far the edits of a role come, and why not further."""
    paths = {one.location.path for one in written if one.location} | {path}
    try:
        after = apply.apply_edits(Suggestion("", tuple(written)), {one: folder.content(one) for one in paths})
    except Inexact as error:
        return "written", error.reason
    if path not in after:
        return "carried out", "another file states it"
    found = documents.load(path, after[path]).documents
    again = enrichment.read(found[at], folder.tree) if len(found) > at else ()
    roles = [one for other in again if other.name == workload.name for one in other.roles if one.name == role.name]
    return (
        ("right", "") if any(one.value(quantity) == value for one in roles) else ("carried out", "it is read otherwise")
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
