"""Own settings: YAML, JSON or TOML of a repository's own training program, in the words that trainers share.

Nothing says how the program uses its settings. They are read as Transformers' Trainer, PEFT and bitsandbytes mean them, and what
they do not state stays open.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping

from gpulint.adapters import trainers
from gpulint.adapters.claim import Claim
from gpulint.adapters.trainers import deepspeed, key_tables
from gpulint.catalog import architecture, hardware
from gpulint.catalog.architecture import names
from gpulint.source.documents import Document, Path
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Unknown, Workload

MENTIONS = ("learning_rate", "gradient_accumulation", "gradient_checkpointing", "grad_accum", "lora")
TRIGGERS = (
    "gradient_accumulation",
    "gradient_checkpointing",
    "grad_accum",
    "learning_rate",
    "lora_r",
    "target_modules",
)
READS = ("plain",)
CLAIMS = ("guess",)
ENGINE = "transformers"
FORMAT = "own"
DEPTH_MAX, KEYS_MAX = 5, 2_000
"""Levels of sections, and keys, that are read."""
TRAINS = frozenset(
    {
        "learning_rate",
        "lr",
        "gradient_accumulation_steps",
        "gradient_accumulation",
        "grad_accum_steps",
        "num_train_epochs",
    }
)
TRAINS |= {
    "num_epochs",
    "epochs",
    "max_steps",
    "per_device_train_batch_size",
    "warmup_ratio",
    "warmup_steps",
    "weight_decay",
}
"""Keys of which two tell that a program trains."""
ELSEWHERE = re.compile(
    r"eval|valid|(?:^|_)(?:val|test|infer\w*|generat\w*|judge|teacher|reward\w*|critic|embed\w*|sweep|grid|search|profiles?|"
    r"presets?|serv\w*|rag|retriev\w*|draft|qformer|wandb|mlflow)(?:_|$)",
    re.IGNORECASE,
)
"""Sections and keys of something else than the run: an evaluation, a second model, variants."""
RECOMPUTES = "full"
"""Recomputation that one of several keys switches on."""


def claims(document: Document) -> Claim:
    """Claim a mapping that names a model and at least two settings of a training run."""
    if not isinstance(document.data, dict) or document.data.keys() & {"apiVersion", "services", "jobs", "on"}:
        return Claim.NONE
    found = list(_walk(document.data))
    trains = {str(path[-1]).replace("-", "_") for path, _ in found} & TRAINS
    return Claim.GUESS.where(len(trains) >= 2 and _find_checkpoint(document, found) is not None)


def kind(document: Document) -> str:
    return "settings of an own training program"


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    yield trainers.workload(sys.modules[__name__], document, repository)


def read_fields(document: Document, find: trainers.Find) -> Mapping[str, Field]:
    """Return the model, the step, the adapters, the sharding and the hardware that the settings name."""
    found = list(_walk(document.data))
    checkpoint = _find_checkpoint(document, found)
    fields = _read_keys(document, found)
    if checkpoint is not None:
        fields["checkpoint"] = checkpoint
    if "lora_rank" not in fields:
        fields.pop("lora_targets", None)
    fields |= _read_sharding(document, found, find)
    return {**fields, **_read_machine(document, found)}


def _walk(data: object, path: Path = ()) -> Iterator[tuple[Path, object]]:
    """Yield the paths and values of a mapping's leaves, without sections that are switched off or are about something else."""
    left = [(path, data)]
    for _ in range(KEYS_MAX):
        if not left:
            return
        at, value = left.pop(0)
        if isinstance(value, dict):
            if value.get("enabled") is False or len(at) >= DEPTH_MAX:
                continue
            left += [((*at, key), item) for key, item in value.items() if not ELSEWHERE.search(str(key))]
        elif at:
            yield at, value


def _find_checkpoint(document: Document, found: list[tuple[Path, object]]) -> Field | None:
    """Return the model that is trained: the first key of the table whose text names one."""
    for key in key_tables.keys(FORMAT):
        if key.quantity != "checkpoint":
            continue
        for path, value in found:
            if _ends_with(path, key.path) and isinstance(value, str) and _names_model(value):
                return key_tables.field(document, path, key.kind)
    return None


def _names_model(text: str) -> bool:
    """Whether a text names a model: a reference of the catalog, or an id of a hub with a size or a version."""
    if key_tables.OPEN.search(text) or " " in text.strip() or len(text) > 200:
        return False
    if architecture.HUB_ID.fullmatch(text) is not None:
        return names.is_release(text)
    return architecture.resolve(text).architecture is not None


def _ends_with(path: Path, end: Path) -> bool:
    """Whether a path ends with a key of the table, in any spelling of its words."""
    plain = tuple(str(part).lower().replace("-", "_") for part in path)
    return plain[-len(end) :] == end


def _read_keys(document: Document, found: list[tuple[Path, object]]) -> dict[str, Field]:
    """Return what the keys of the table set; of several places the one nearest to the root."""
    read: dict[str, list[Field]] = {}
    for key in key_tables.keys(FORMAT):
        if key.quantity == "checkpoint":
            continue
        for path in sorted((path for path, _ in found if _ends_with(path, key.path)), key=len):
            field = key_tables.field(document, path, key.kind)
            if field is not None and _is_meant(field):
                read.setdefault(key.quantity, []).append(field)
    return {name: next((one for one in fields if one.value == RECOMPUTES), fields[0]) for name, fields in read.items()}


def _is_meant(field: Field) -> bool:
    """Whether a value has the meaning that the table gives it: other words leave the quantity open."""
    return not isinstance(field.value, Unknown) or bool(field.value.category or field.value.choices)


def _read_sharding(document: Document, found: list[tuple[Path, object]], find: trainers.Find) -> dict[str, Field]:
    """Return the sharding by a DeepSpeed file or section, or by FSDP."""
    data = document.data if isinstance(document.data, dict) else {}
    for name in ("deepspeed", "deepspeed_config"):
        path = next((path for path, value in found if path[-1] == name and isinstance(value, str) and value), None)
        if path is not None or isinstance(data.get(name), dict):
            return dict(deepspeed.read_setting(document, path or (name,), find))
    switches = (
        path for path, value in found if _switches_fsdp(path) and value in (True, "full_shard", "full_shard auto_wrap")
    )
    place = next(switches, None)
    return {"sharding": Field("fsdp", (Origin(document, place),))} if place is not None else {}


def _switches_fsdp(path: Path) -> bool:
    return path[-1] in ("fsdp", "fsdp_enabled", "use_fsdp") or path[-2:] == ("fsdp", "enabled")


def _read_machine(document: Document, found: list[tuple[Path, object]]) -> dict[str, Field]:
    """Return the accelerator and GPUs of a machine type, as settings of SageMaker jobs name one."""
    for path, value in found:
        if path[-1] != "instance_type" or not isinstance(value, str) or not value.startswith("ml."):
            continue
        node, place = hardware.node(value.removeprefix("ml.")), (Origin(document, path),)
        if node is None or not node.accelerator:
            return {}
        return {
            "accelerator": Field(node.accelerator, place),
            "instance_type": Field(node.instance_type, place),
            "gpus_per_pod": Field(node.node_gpus, place),
        }
    return {}
