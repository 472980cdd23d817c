"""NeMo: the Hydra configuration of a run (`trainer`, `model`), and the launcher's files around it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping

from gpulint.adapters import trainers
from gpulint.adapters.claim import Claim
from gpulint.adapters.trainers import key_tables, nemo_network
from gpulint.engines.trainers import vocabulary
from gpulint.source.documents import Document, Path
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Unknown, Workload

MENTIONS = ("trainer", "gpus_per_task", "train_settings", "megatron", "nemo")
TRIGGERS = ("megatron", "gpus_per_task", "train_settings", "tensor_model_parallel")
READS = ("plain",)
CLAIMS = ("shape",)
ENGINE = "nemo"
RECIPES = ("conf/{name}.yaml", "launcher_scripts/conf/{name}.yaml")
"""Source: NeMo main.py."""
STARTS_PROCESSES = True
"""main.py starts the nodes and processes of the recipe."""
SETTLES = frozenset(vocabulary.DECIDING) - {"optimizer", "sharding"}
"""Fields that are settled if the key is absent: NeMo has one key for each, or Megatron Core decides it."""
PROMPTS = ("model.peft.peft_scheme", "model.virtual_prompt_style")
"""Keys of methods that train something beside the network."""
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
SEARCHED = Unknown("the launcher's search tries several values", "own program")
TRIED = (
    "tensor_parallel",
    "pipeline_parallel",
    "micro_batch_size",
    "gradient_accumulation_steps",
    "activation_checkpointing",
)
"""What NeMo's search for the fastest settings varies (auto_configurator, search_config.py)."""


MEGATRON: Mapping[str, Field] = {
    name: Field(value, source="Megatron Core, on which NeMo runs")
    for name, value in (
        ("training_kernels", "fused"),
        ("loss_kernel", "vocab-parallel"),
        ("attention_backend", "flash"),
        ("packed", True),
    )
}
"""NVIDIA/NeMo nemo/collections/nlp/models/language_modeling/megatron_gpt_model.py: layers of Transformer Engine."""


def claims(document: Document) -> Claim:
    """Claim a Lightning trainer with a model, or a stage or cluster of NeMo's launcher."""
    data = document.data
    if not isinstance(data, dict) or "apiVersion" in data:
        return Claim.NONE
    return Claim.SHAPE.where(_is_run(data) or _is_launcher_file(data))


def kind(document: Document) -> str:
    data = document.data
    return "NeMo configuration" if _is_run(data) else "NeMo launcher configuration"


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    """Yield the run of a file that trains: one that sets a batch."""
    run = document.get(("run",))
    if isinstance(run, dict) and CONVERTS & run.keys():
        return
    module = sys.modules[__name__]
    if (_is_training(document) and document.get(("inference",)) is None) or _is_search_file(document):
        yield trainers.workload(module, document, repository)
    elif sections := [
        str(name) for name, part in _top_mapping(document).items() if _is_run(part) and _is_training(document, (name,))
    ]:
        yield trainers.workload(module, document, repository, sections)


def read_fields(document: Document, find: trainers.Find, root: Path = ()) -> Mapping[str, Field]:
    """Return machines, batch and parallelism of the run, and the shape of its architecture."""
    if _is_search_file(document):
        fields = key_tables.read_fields(document, "nemo search", (SEARCH,), interpolated=True)
        return {**{quantity: Field(SEARCHED, (Origin(document, (SEARCH,), key=True),)) for quantity in TRIED}, **fields}
    fields = {**nemo_network.find(document, root), **key_tables.read_fields(document, "nemo", root, interpolated=True)}
    if "network" in fields:
        fields = {**MEGATRON, **_read_gradients(document, root), **fields}
    if document.get((*root, "trainer", ACTOR)) is not None:
        why = Unknown("what reinforcement learning keeps besides the trained model is not modelled")
        fields["trainable_parameters"] = Field(why, (Origin(document, (*root, "trainer", ACTOR), key=True),))
    for path in ((*root, *key.split(".")) for key in PROMPTS):
        if document.get(path):
            why = Unknown(f"what {path[-1]} trains is not modelled")
            fields["trainable_parameters"] = Field(why, (Origin(document, path),))
    if document.get((*root, "model", "fsdp")) is True:
        fields["sharding"] = Field("fsdp", (Origin(document, (*root, "model", "fsdp")),))
    return fields


def _read_gradients(document: Document, root: Path) -> dict[str, Field]:
    """Return the number format in which Megatron Core's optimizer adds up gradients: 32 bits unless stated."""
    path = (*root, "model", "optim", "name")
    if document.get(path) != "mcore_distributed_optim":
        return {}
    given = key_tables.field(document, (*root, "model", "optim", "grad_sync_dtype"), "dtype", root)
    return {"gradient_dtype": given or Field("float32", (Origin(document, path),))}


def _is_training(document: Document, root: Path = ()) -> bool:
    return document.get((*root, "model", "micro_batch_size")) is not None


def _top_mapping(document: Document) -> Mapping[str, object]:
    return document.data if isinstance(document.data, dict) else {}


def _is_search_file(document: Document) -> bool:
    return _is_search(_top_mapping(document).get(SEARCH))


def _is_search(settings: object) -> bool:
    """Return True for the settings of the launcher's search for the fastest configuration."""
    return isinstance(settings, dict) and {"model_size_in_b", "num_nodes"} <= settings.keys()


def _is_run(data: object) -> bool:
    if not isinstance(data, dict):
        return False
    trainer, model = data.get("trainer"), data.get("model")
    if not isinstance(trainer, dict) or "devices" not in trainer:
        return False
    return len(TRAINER & trainer.keys()) >= 2 and (isinstance(model, dict) or "exp_manager" in data)


def _is_launcher_file(data: Mapping[str, object]) -> bool:
    """Return True for a stage, a cluster or a search of the launcher, by keys that only it combines."""
    if len(CLUSTER & data.keys()) >= 4:
        return True
    run = data.get("run")
    if _is_search(data.get(SEARCH)):
        return True
    return isinstance(run, dict) and len(STAGES & run.keys()) >= 2
