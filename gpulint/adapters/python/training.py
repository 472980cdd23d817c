"""Training: trainers that a program builds itself, read as the command line of the same trainer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from gpulint import engines
from gpulint.adapters.python import deepspeed_settings, detectors, encoders, frameworks, loops, models, networks
from gpulint.adapters.python.words import Reader, is_nothing, is_on, last_name, make_field, read_text, root
from gpulint.catalog import hardware
from gpulint.engines import Argument, Invocation, Reading, trainers
from gpulint.engines.trainers import vocabulary
from gpulint.source.python.values import Constant, Items, Object, Value
from gpulint.source.python.values import Mapping as Entries
from gpulint.workload import Command, Field, Unknown

TRL = re.compile(r"(?P<method>SFT|DPO|GRPO|KTO|Reward|RLOO|ORPO|CPO|BCO|GKD|PPO|OnlineDPO)(?:Config|Trainer)$")
METHODS = frozenset({"sft", "dpo", "grpo", "kto", "reward", "rloo", "orpo", "cpo", "bco"})
ARGUMENTS = re.compile(r"(?:Seq2Seq|SentenceTransformer|CrossEncoder)?TrainingArguments$")
TRAINER = re.compile(r"(?:Seq2Seq|SentenceTransformer|CrossEncoder)?Trainer$")
OF_TRAINER = ("max_seq_length", "packing", "max_length", "max_prompt_length", "max_completion_length")
HALVES = ("bf16", "fp16")
EITHER_HALF = Unknown("the program uses bfloat16 if the GPU supports it, else float16", "own program")
BFLOAT_SINCE = 8.0
"""NVIDIA CUDA programming guide, compute capabilities: bfloat16 arithmetic from 8.0 on."""
UNSLOTH_DEFAULT = "default of Unsloth"
"""unslothai/unsloth 738e9159 (2024-01) to 015bdef0 (2026-08) models/llama.py, get_peft_model, and loader.py, from_pretrained:
use_gradient_checkpointing is True or "unsloth" by default."""
LLAMA_FACTORY = "llamafactory"
"""The package whose classes of arguments LLaMA-Factory's own command parses."""
NOT_WORDS = frozenset({"fsdp_config", "gradient_checkpointing_kwargs", "model_init_kwargs"})


def read(calls: Sequence[Object], reader: Reader, program: Argument, command: Command) -> Reading | None:
    """Return the training run of a program; None if it trains nothing."""
    image = command.image
    started = frameworks.read_megatron(calls, reader, program, command) or frameworks.read_torchtitan(calls, reader)
    if started is not None:
        return started
    arguments = next((call for call in calls if ARGUMENTS.search(call.name) or _find_method(call, "Config")), None)
    trainer = next((call for call in calls if _is_trainer(call)), None)
    if arguments is None and trainer is not None:
        arguments = next(
            (
                value
                for value in trainer.keywords.values()
                if isinstance(value, Object)
                and value.name.endswith(("Arguments", "Config"))
                and not value.name.endswith("LoraConfig")
            ),
            None,
        )
    if arguments is None and trainer is None:
        return detectors.read(calls, reader) or encoders.read(calls, reader) or loops.read(calls, reader, program)
    found = _read_trainer(calls, arguments, trainer, reader, program, image)
    return found._replace(fields={**_read_workers(calls, reader), **found.fields}) if found is not None else None


def _read_workers(calls: Sequence[Object], reader: Reader) -> dict[str, Field]:
    """Return how the workers of Ray Train share a run of Transformers: each keeps all of it unless the Trainer shards it."""
    call = next((call for call in calls if root(call) == "ray" and last_name(call) == "TorchTrainer"), None)
    if call is None:
        return {}
    source = "Ray Train starts a process group of PyTorch (ray 2.9 python/ray/train/torch/config.py)"
    return {"sharding": Field("ddp", reader.origins(None, call.place), source=source)}


def _is_trainer(call: Object) -> bool:
    return root(call) in ("transformers", "trl", "unsloth", "sentence_transformers", "setfit") and (
        _find_method(call, "Trainer") != "" or TRAINER.search(call.name) is not None
    )


def _find_method(call: Object, kind: str) -> str:
    """Return TRL's method of a configuration or a trainer; empty for any other call."""
    match = TRL.search(call.name)
    return match["method"].lower() if match and call.name.endswith(kind) else ""


def _read_trainer(
    calls: Sequence[Object],
    arguments: Object | None,
    trainer: Object | None,
    reader: Reader,
    program: Argument,
    image: Argument,
) -> Reading | None:
    anchor = trainer or arguments
    if anchor is None:
        return None
    model = _find_model(calls, trainer)
    unsloth = any(call.name.partition(".")[0] == "unsloth" and last_name(call) in models.LOADS for call in calls)
    words = list(_list_words(arguments, trainer, model, reader))
    own = _read_own(calls, model, arguments, reader)
    method = next(
        (
            found
            for call in (arguments, trainer)
            if call
            for kind in ("Config", "Trainer")
            if (found := _find_method(call, kind))
        ),
        "",
    )
    open_ended = arguments.open_ended if arguments is not None else ""
    if unsloth:
        started = trainers.Program("unsloth", program, tuple(words))
        reading = trainers.build_reading(
            "unsloth", started, ("hugging-face", "trl", "unsloth"), own, vocabulary.DECIDING
        )
        fields = {**reading.fields, **_present(own)}
    elif arguments is not None and root(arguments) == LLAMA_FACTORY:
        start = [program._replace(text=word) for word in ("llamafactory-cli", "train")]
        run = engines.read(Invocation(image._replace(text=""), (*start, *words), {}, entrypoint=False))
        fields = {**(run.fields if run else {}), **_present(own)}
    elif method:
        subcommand = method if method in METHODS else "dpo"
        start = [program._replace(text=word) for word in ("trl", subcommand)]
        asked = [program._replace(text="--use_peft")] if "lora_rank" in own else []
        run = engines.read(Invocation(image._replace(text=""), (*start, *words, *asked), {}, entrypoint=False))
        fields = {**(run.fields if run else {}), **_present(own)}
    else:
        started = trainers.Program(program.text or "", program, tuple(words))
        reading = trainers.build_reading(
            "transformers", started, ("hugging-face", "transformers"), own, vocabulary.DECIDING
        )
        fields = {**reading.fields, **_present(own)}
    fields.setdefault("lora_rank", Field(None, source="the program configures no adapters"))
    fields.setdefault("lora_targets", Field(None, source="the program configures no adapters"))
    fields["engine"] = Field(fields["engine"].value, reader.origins(Constant(anchor.name, anchor.place), anchor.place))
    if root(anchor) == encoders.PACKAGE:
        fields["sequence_length"] = encoders.LENGTH
    last = reader.word(Constant(anchor.name, anchor.place), anchor.place).origin
    return Reading(fields, last, open_ended)


def _present(own: Mapping[str, Field | None]) -> dict[str, Field]:
    return {name: field for name, field in own.items() if field is not None}


def _find_model(calls: Sequence[Object], trainer: Object | None) -> Object | None:
    stated = trainer.get("model") if trainer is not None else None
    if stated is None and trainer is not None and trainer.arguments:
        stated = trainer.arguments[0]
    return models.trace(stated) or next(models.find_loaded(calls), None)


def _list_words(
    arguments: Object | None, trainer: Object | None, model: Object | None, reader: Reader
) -> Iterator[Argument]:
    """Yield the words of the trainer's command line that mean the same."""
    stated = trainer.get("model") if trainer is not None else None
    if isinstance(stated, Constant) and isinstance(stated.value, str) and trainer is not None:
        yield reader.pair("--model_name_or_path", stated, trainer.place)
    elif model is not None and (name := models.find_name(model)) is not None:
        yield reader.pair("--model_name_or_path", name, model.place)
        if (dtype := models.find_dtype(model)) is not None:
            yield reader.pair("--torch_dtype", dtype, model.place)
        if (attention := model.get("attn_implementation")) is not None:
            yield reader.pair("--attn_implementation", attention, model.place)
        if (length := model.get("max_seq_length")) is not None:
            yield reader.pair("--max_seq_length", length, model.place)
    for keyword in OF_TRAINER:
        value = trainer.get(keyword) if trainer is not None else None
        if trainer is not None and value is not None and not is_nothing(value):
            yield reader.pair(f"--{keyword}", value, trainer.place)
    if arguments is not None:
        yield from _list_pairs(arguments, reader)


def _list_pairs(arguments: Object, reader: Reader) -> Iterator[Argument]:
    for name, value in {**arguments.keywords, **arguments.attributes}.items():
        if is_nothing(value) or name in NOT_WORDS or (name == "deepspeed" and not isinstance(value, Constant)):
            continue
        if name in HALVES and not isinstance(value, Constant):
            continue
        yield reader.pair(f"--{name}", _join(value) if name == "fsdp" else value, arguments.place)
    inner = arguments.get("model_init_kwargs")
    dtype = inner.entries.get("torch_dtype", inner.entries.get("dtype")) if isinstance(inner, Entries) else None
    if dtype is not None:
        yield reader.pair("--torch_dtype", dtype, arguments.place)


def _join(value: Value) -> Value:
    """Return a list of words as the one text that the command line takes."""
    if not isinstance(value, Items) or value.open_ended:
        return value
    return Constant(" ".join(str(part.value) for part in value.items if isinstance(part, Constant)), value.place)


def _read_own(
    calls: Sequence[Object], model: Object | None, arguments: Object | None, reader: Reader
) -> dict[str, Field | None]:
    """Return what other calls of the program decide: adapters, quantisation, recomputation, DeepSpeed."""
    own: dict[str, Field | None] = {}
    config = models.find_adapters(calls)
    if config is None:
        own |= loops.read_frozen(calls, reader)
    else:
        own |= models.read_adapters(config, reader)
        shortcut = config.get("use_gradient_checkpointing")
        if shortcut is not None and (is_on(shortcut)):
            own["activation_checkpointing"] = make_field(reader, shortcut, config.place, "full")
    if model is not None:
        own |= {**models.read_quantization(model, reader), **_read_spread(model, reader)}
        if root(model) == "unsloth" and (config is None or config.get("use_gradient_checkpointing") is None):
            own["activation_checkpointing"] = Field("full", reader.origins(None, model.place), source=UNSLOTH_DEFAULT)
    else:
        own |= networks.read(calls, reader)
    for call in calls:
        if loops.CHECKPOINTING.search(call.name):
            own["activation_checkpointing"] = Field("full", reader.origins(None, call.place))
        if last_name(call) == "prepare_model_for_kbit_training":
            own["unquantised_dtype"] = Field("float32", reader.origins(None, call.place))
            asked = call.get("use_gradient_checkpointing")
            if asked is None or is_on(asked):
                own.setdefault("activation_checkpointing", Field("full", reader.origins(None, call.place)))
    stated = arguments.get("gradient_checkpointing") if arguments is not None else None
    if isinstance(stated, Constant) and stated.value is not None and arguments is not None:
        switch = "full" if stated.value else "none"
        if stated.value or "activation_checkpointing" not in own:
            own["activation_checkpointing"] = make_field(reader, stated, arguments.place, switch)
    if arguments is not None:
        own |= _read_halves(arguments, reader)
    own |= deepspeed_settings.read(arguments.get("deepspeed") if arguments is not None else None, reader)
    if arguments is None or all(arguments.get(name) is None for name in ("max_length", "max_seq_length")):
        own |= models.read_length(calls, reader)
    return own


def _read_spread(model: Object, reader: Reader) -> dict[str, Field]:
    """Return a `device_map` that spreads the weights of a model over every GPU that a process sees."""
    stated = model.get("device_map")
    text = read_text(stated)
    return (
        {"spread_weights": make_field(reader, stated, model.place, text)} if stated and text in models.SPREADS else {}
    )


def _read_halves(arguments: Object, reader: Reader) -> dict[str, Field]:
    """Return the 16-bit format of a program that asks the GPU which of the two it has."""
    stated = [
        value for name in HALVES if (value := arguments.get(name)) is not None and not isinstance(value, Constant)
    ]
    on = [value for name in HALVES if is_on(value := arguments.get(name))]
    if not stated or on:
        return {}
    return {"training_dtype": Field(EITHER_HALF, reader.origins(stated[0], arguments.place))}


def choose_half(fields: Mapping[str, Field]) -> dict[str, Field]:
    """Return the 16-bit format that a program takes on the GPU of its role."""
    dtype, card = fields.get("training_dtype"), fields.get("accelerator")
    if dtype is None or dtype.value != EITHER_HALF:
        return {}
    product = hardware.accelerator(card.value) if card is not None and isinstance(card.value, str) else None
    older = (
        product is not None
        and product.vendor == "nvidia"
        and (product.compute_capability or BFLOAT_SINCE) < BFLOAT_SINCE
    )
    chosen = Field("float16" if older else "bfloat16", dtype.origins, assumption=EITHER_HALF.reason)
    return {"training_dtype": chosen, "takes_either_half": Field(True, dtype.origins)}
