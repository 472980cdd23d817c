"""Frameworks: runs of Megatron-LM, torchtitan and Composer that a program starts as a library."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from gpulint import engines
from gpulint.adapters.programs import python_program
from gpulint.adapters.python.words import Reader, is_on, last_name, make_field, read_number, read_text, root
from gpulint.adapters.trainers import torchtitan
from gpulint.catalog import tables
from gpulint.catalog.architecture import builders
from gpulint.engines import Argument, Invocation, Reading
from gpulint.engines.trainers import vocabulary
from gpulint.source import documents
from gpulint.source.documents import Path
from gpulint.source.python.values import Constant, Items, Object, Value
from gpulint.source.python.values import Mapping as Entries
from gpulint.workload import Command, Field, Origin, Unknown

MEGATRON = frozenset({"megatron.training.pretrain", "megatron.training.training.pretrain"})
SCRIPT = "pretrain_gpt.py"
"""Megatron-LM's own program, which calls `pretrain` as a program of somebody's own does: NVIDIA/Megatron-LM
d98e8a64 pretrain_gpt.py."""
OF_CORE = {
    "num_layers": "--num-layers",
    "hidden_size": "--hidden-size",
    "ffn_hidden_size": "--ffn-hidden-size",
    "num_attention_heads": "--num-attention-heads",
    "num_query_groups": "--num-query-groups",
    "num_moe_experts": "--num-experts",
    "vocab_size": "--padded-vocab-size",
    "max_sequence_length": "--max-position-embeddings",
    "tensor_model_parallel_size": "--tensor-model-parallel-size",
    "pipeline_model_parallel_size": "--pipeline-model-parallel-size",
    "context_parallel_size": "--context-parallel-size",
    "expert_model_parallel_size": "--expert-model-parallel-size",
}
CORE = frozenset({"TransformerConfig", "GPTModel", "initialize_model_parallel"})
"""NVIDIA/Megatron-LM d98e8a64 megatron/core: calls whose keywords are those of the command line."""
PRECISIONS = {"amp_bf16": "bfloat16", "amp_fp16": "float16", "amp_fp8": "fp8", "fp32": "float32"}
"""mosaicml/composer composer/core/precision.py."""
ADAPTED = re.compile(r"\.(?P<quantised>q?)(?:lora|dora)_")
LETTERS = {"q_proj": "q", "k_proj": "k", "v_proj": "v", "output_proj": "o"}
"""pytorch/torchtune torchtune/modules/peft/_utils.py, LORA_ATTN_MODULES."""


def read_megatron(calls: Sequence[Object], reader: Reader, program: Argument, command: Command) -> Reading | None:
    """Return a run of Megatron-LM by its `pretrain`, with the words of the command and the program's own defaults."""
    call = next((call for call in calls if call.name in MEGATRON), None)
    if call is None:
        return None
    started = python_program.find(command.words)
    words = list(started.words) if started is not None else []
    own = next((one for one in reversed(calls) if one.name == "sys.argv"), None)
    if own is not None:
        words = [reader.word(value, own.place) for value in own.arguments]
    given = {(word.text or word.flag).partition("=")[0] for word in words}
    stated = call.get("args_defaults")
    for name, value in stated.entries.items() if isinstance(stated, Entries) else ():
        flag = f"--{str(name).replace('_', '-')}"
        if flag not in given:
            words += reader.flag(flag, value, call.place)
    start = (program._replace(text=SCRIPT), *words)
    found = engines.read(Invocation(command.image._replace(text=""), start, {}, entrypoint=False))
    if found is None:
        return None
    origins = reader.origins(Constant(call.name, call.place), call.place)
    return found._replace(fields={**found.fields, "engine": Field("megatron-lm", origins)})


def read_core(calls: Sequence[Object], reader: Reader, program: Argument) -> dict[str, Field]:
    """Return network and parallelism of a loop of the program's own on Megatron's core."""
    own = [call for call in calls if last_name(call) in CORE and root(call) == "megatron"]
    if not own:
        return {}
    words = [program._replace(text=SCRIPT), *(word for call in own for word in reader.flags(call, OF_CORE.items()))]
    found = engines.read(Invocation(program._replace(text=""), tuple(words), {}, entrypoint=False))
    fields = found.fields if found is not None else {}
    return {name: field for name, field in fields.items() if name != "engine" and name not in vocabulary.DECIDING}


# ---- torchtitan


def read_torchtitan(calls: Sequence[Object], reader: Reader) -> Reading | None:
    """Return a run of torchtitan by its configuration, as its file states it."""
    config = next(
        (call for call in calls if call.name.startswith("torchtitan.") and last_name(call) == "JobConfig"), None
    )
    if config is None or not any(last_name(call) == "Trainer" and root(call) == "torchtitan" for call in calls):
        return None
    plain = _to_plain(config, 0)
    document = documents.load("torchtitan.json", json.dumps(plain).encode()).documents[0]
    origins = reader.origins(Constant(config.name, config.place), config.place)
    fields = {
        name: Field(field.value, _locate(config, field.origins[0].path if field.origins else (), reader), field.source)
        for name, field in torchtitan.read_fields(document).items()
    }
    return Reading({**fields, "engine": Field("torchtitan", origins)}, origins[0], config.open_ended)


def _to_plain(value: Value, depth: int) -> object:
    if isinstance(value, Object) and depth < 4:
        entries = {**value.keywords, **value.attributes}
        return {name: plain for name, part in entries.items() if (plain := _to_plain(part, depth + 1)) is not None}
    if isinstance(value, Constant) and not isinstance(value.value, bytes):
        return value.value
    return None


def _locate(config: Object, path: Path, reader: Reader) -> tuple[Origin, ...]:
    value: Value = config
    for part in path:
        inner = value.get(str(part)) if isinstance(value, Object) else None
        if inner is None:
            break
        value = inner
    return reader.origins(value, config.place)


# ---- torchtune


def find_built(calls: Sequence[Object]) -> Object | None:
    """Return the call of torchtune that builds a listed network."""
    return next((call for call in calls if call.name.startswith("torchtune.models.") and _find_row(call)), None)


def _find_row(call: Object) -> Mapping[str, str] | None:
    return tables.index_rows("model_builders", "builder").get(ADAPTED.sub(".", call.name))


def read_built(call: Object, reader: Reader) -> dict[str, Field]:
    """Return the network that a builder of torchtune makes, and its adapters."""
    row, adapted = _find_row(call), ADAPTED.search(call.name)
    if row is None:
        return {}
    origins = reader.origins(Constant(call.name, call.place), call.place)
    assumption = builders.explain(last_name(call), row["checkpoint"])
    fields = {"checkpoint": Field(row["checkpoint"], origins, assumption=assumption, basis="stated")}
    if adapted is None:
        return fields
    rank = call.get("lora_rank") or Constant(8, call.place)
    fields["lora_rank"] = make_field(reader, rank, call.place)
    names = call.get("lora_attn_modules") or (call.arguments[0] if call.arguments else None)
    fields["lora_targets"] = _read_targets(call, names, reader)
    if adapted["quantised"] or is_on(call.get("quantize_base")):
        fields["quantization"] = Field("nf4-double", origins)
    return fields


def _read_targets(call: Object, names: Value | None, reader: Reader) -> Field:
    origins = reader.origins(names, call.place)
    listed = [read_text(item) or "" for item in names.items] if isinstance(names, Items) else []
    if not listed or any(name not in LETTERS for name in listed) or is_on(call.get("apply_lora_to_output")):
        return Field(Unknown("the matrices of the adapters are not known", choices=vocabulary.ADAPTED), origins)
    mlp = "gud" if is_on(call.get("apply_lora_to_mlp")) else ""
    return Field("".join(LETTERS[name] for name in listed) + mlp, origins)


# ---- Composer


def is_composer(call: Object) -> bool:
    """Return whether a call makes a Trainer of Composer."""
    return last_name(call) == "Trainer" and root(call) == "composer"


def read_composer(call: Object, reader: Reader) -> dict[str, Field]:
    """Return what a Trainer of Composer states: mosaicml/composer composer/trainer/trainer.py."""
    fields: dict[str, Field] = {}
    precision = call.get("precision")
    name = (read_text(precision) or "").lower()
    if precision is not None and name in PRECISIONS:
        fields["training_dtype"] = make_field(reader, precision, call.place, PRECISIONS[name])
    micro = call.get("device_train_microbatch_size")
    if micro is not None and read_number(micro):
        fields["micro_batch_size"] = make_field(reader, micro, call.place)
    for sharded in _list_sharded(call):
        fields["sharding"] = Field("fsdp", reader.origins(sharded, call.place))
        recomputed = _get(sharded, "activation_checkpointing")
        if recomputed is not None and is_on(recomputed):
            fields["activation_checkpointing"] = make_field(reader, recomputed, call.place, "full")
    return fields


def _list_sharded(call: Object) -> Iterator[Value]:
    """Yield the settings of FSDP, by their present and their former keyword."""
    stated = _get(call.get("parallelism_config"), "fsdp") or call.get("fsdp_config")
    if isinstance(stated, Object | Entries):
        yield stated


def _get(value: Value | None, name: str) -> Value | None:
    if isinstance(value, Object):
        return value.get(name)
    return value.entries.get(name) if isinstance(value, Entries) else None
