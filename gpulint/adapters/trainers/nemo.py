"""NeMo: the Hydra configuration of a run (`trainer`, `model`), and the files that its launcher composes around it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping

from gpulint.adapters import trainers as configured
from gpulint.adapters.trainers import key_tables as settings
from gpulint.source.documents import Document, Path
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Unknown, Workload

MENTIONS = ("trainer", "gpus_per_task", "train_settings", "megatron", "nemo")
READS = ("plain",)
ENGINE = "nemo"
SETTLES = frozenset({"virtual_stages", "sequence_parallel"})
"""What its absence settles: NeMo has one key for each."""
TRAINER = frozenset({"devices", "num_nodes", "precision", "accumulate_grad_batches", "gradient_clip_val"})
CLUSTER = frozenset(
    {"partition", "account", "gpus_per_task", "gpus_per_node", "exclusive", "job_name_prefix", "srun_args"}
)
LAUNCHED = frozenset({"run", "trainer", "exp_manager", "model", "train_settings", "inference", "cluster"})
STAGES = frozenset({"time_limit", "results_dir", "dependency", "convert_name", "job_name", "model_train_name"})
CONVERTS = frozenset({"huggingface_ckpt_path", "nemo_file_name"})
"""Keys of a stage that converts a checkpoint."""
ACTOR = "ppo"
SEARCH = "train_settings"
SEARCHED = Unknown("the launcher's search tries several", "own program")
TRIED = (
    "tensor_parallel",
    "pipeline_parallel",
    "micro_batch_size",
    "gradient_accumulation_steps",
    "activation_checkpointing",
)
"""What NeMo's search for the fastest settings varies (auto_configurator, search_config.py)."""


def claims(document: Document) -> bool:
    """A trainer of Lightning's beside a network, or a stage or cluster of NeMo's launcher."""
    data = document.data
    if not isinstance(data, dict) or "apiVersion" in data:
        return False
    return _is_run(data) or _is_launchers(data)


def kind(document: Document) -> str:
    data = document.data
    return "NeMo configuration" if _is_run(data) else "NeMo launcher configuration"


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    """A file whose network is trained: one that states its batch."""
    run = document.get(("run",))
    if isinstance(run, dict) and CONVERTS & run.keys():
        return
    module = sys.modules[__name__]
    if (_trains(document) and document.get(("inference",)) is None) or _searches(document):
        yield configured.workload(module, document, repository)
    elif sections := [
        str(name) for name, part in _mapping(document).items() if _is_run(part) and _trains(document, (name,))
    ]:
        yield configured.workload(module, document, repository, sections)


def stated(document: Document, find: configured.Find, root: Path = ()) -> Mapping[str, Field]:
    """The run's machines, batch and parallelism, and the shape of its network."""
    if _searches(document):
        found = settings.stated(document, "nemo search", (SEARCH,), interpolated=True)
        return {**{quantity: Field(SEARCHED, (Origin(document, (SEARCH,), key=True),)) for quantity in TRIED}, **found}
    found = settings.stated(document, "nemo", root, interpolated=True)
    if document.get((*root, "trainer", ACTOR)) is not None:
        why = Unknown("what reinforcement learning keeps besides the network is not modelled")
        found["trainable_parameters"] = Field(why, (Origin(document, (*root, "trainer", ACTOR), key=True),))
    if document.get((*root, "model", "fsdp")) is True:
        found["sharding"] = Field("fsdp", (Origin(document, (*root, "model", "fsdp")),))
    return found


def _trains(document: Document, root: Path = ()) -> bool:
    return document.get((*root, "model", "micro_batch_size")) is not None


def _mapping(document: Document) -> Mapping[str, object]:
    return document.data if isinstance(document.data, dict) else {}


def _searches(document: Document) -> bool:
    return _is_search(_mapping(document).get(SEARCH))


def _is_search(settings: object) -> bool:
    """What the launcher's search for the fastest settings of a network is told."""
    return isinstance(settings, dict) and {"model_size_in_b", "num_nodes"} <= settings.keys()


def _is_run(data: object) -> bool:
    if not isinstance(data, dict):
        return False
    trainer, model = data.get("trainer"), data.get("model")
    if not isinstance(trainer, dict) or "devices" not in trainer:
        return False
    return len(TRAINER & trainer.keys()) >= 2 and (isinstance(model, dict) or "exp_manager" in data)


def _is_launchers(data: Mapping[str, object]) -> bool:
    """A stage, a cluster or a search of the launcher, told by keys that stand together nowhere else."""
    if len(CLUSTER & data.keys()) >= 4:
        return True
    run = data.get("run")
    if _is_search(data.get(SEARCH)):
        return True
    return isinstance(run, dict) and len(STAGES & run.keys()) >= 2
