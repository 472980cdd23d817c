"""SageMaker: estimators that train with a script of the repository, and models that its containers serve."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from collections.abc import Mapping as AnyMapping

from gpulint import engines
from gpulint.adapters.python import serving
from gpulint.adapters.python.words import Reader, is_nothing, make_field, read_text
from gpulint.engines import Argument, Invocation, Reading
from gpulint.source.python.values import Constant, Mapping, Object, Value
from gpulint.workload import Command, Field, Origin

VARIABLES = {"HF_MODEL_ID": "MODEL_ID", "SM_NUM_GPUS": "NUM_SHARD"}
"""Variables of the containers that pass them on to Text Generation Inference under another name:
awslabs/llm-hosting-container huggingface/pytorch/tgi/docker, sagemaker-entrypoint.sh."""
IMAGE = "ghcr.io/huggingface/text-generation-inference"
SERVES = "get_huggingface_llm_image_uri"
NAMED = "HF_MODEL_ID"
OPTION = "OPTION_"
OF_LMI = {
    "tensor_parallel_degree": "tensor_parallel_size",
    "max_rolling_batch_size": "max_num_seqs",
    "max_rolling_batch_prefill_tokens": "max_num_batched_tokens",
    "quantize": "quantization",
}
BATCHES = frozenset({"auto", "vllm", "lmi-dist"})


def build_command(call: Object, reader: Reader) -> Command | None:
    """Return the command that an estimator starts on its machines: its script, with its hyperparameters as flags."""
    script, folder = call.get("entry_point"), call.get("source_dir")
    if not isinstance(script, Constant) or not isinstance(script.value, str):
        return None
    base = folder.value if isinstance(folder, Constant) and isinstance(folder.value, str) else ""
    at = reader.word(script, call.place)
    path = posixpath.normpath(posixpath.join(base, script.value))
    start = (at._replace(text="python"), at._replace(text=path))
    return Command(at._replace(text=None), (*start, *_list_flags(call, reader)), {}, open_environment=True)


def _list_flags(call: Object, reader: Reader) -> Iterator[Argument]:
    parameters = call.get("hyperparameters")
    for name, value in parameters.entries.items() if isinstance(parameters, Mapping) else ():
        if not is_nothing(value):
            yield reader.pair(f"--{name}", value, call.place)


def read_model(call: Object, gpus: Field, reader: Reader) -> Reading | None:
    """Return what a deployed model's container serves; `gpus` are those of its machine."""
    model = call.receiver
    if not isinstance(model, Object):
        return None
    image, environment = model.get("image_uri"), model.get("env")
    entries = environment.entries if isinstance(environment, Mapping) else {}
    if model.name.endswith("DJLModel") or _is_lmi(image):
        return _read_lmi(model, entries, gpus, reader)
    if not model.name.endswith("HuggingFaceModel"):
        return None
    if image is None and NAMED in entries:
        return _read_pipeline(model, entries[NAMED], reader)
    if not isinstance(image, Object) or not image.name.endswith(SERVES):
        return None
    version = read_text(image.get("version"))
    at = reader.word(Constant(f"{IMAGE}:{version}" if version else IMAGE, image.place), model.place)
    variables = {
        VARIABLES.get(str(name), str(name)): reader.word(value, model.place) for name, value in entries.items()
    }
    return engines.read(Invocation(at, (), variables, entrypoint=True))


def _read_pipeline(model: Object, name: Value, reader: Reader) -> Reading:
    """Return a model that the toolkit of Hugging Face loads as a pipeline: aws/sagemaker-huggingface-inference-toolkit."""
    place = reader.origins(Constant(model.name, model.place), model.place)
    fields = {"checkpoint": make_field(reader, name, model.place), "engine": Field("transformers", place)}
    return Reading({**fields, "task": Field("inference", place)}, place[0])


def _is_lmi(image: Value | None) -> bool:
    """Return whether an image is a container for large models, by its framework or its address."""
    if isinstance(image, Object) and image.name.endswith("image_uris.retrieve"):
        named = image.get("framework") or (image.arguments[0] if image.arguments else None)
        return (read_text(named) or "").startswith("djl")
    return "/djl-inference:" in (read_text(image) or "")


def _read_lmi(model: Object, entries: AnyMapping[object, Value], gpus: Field, reader: Reader) -> Reading | None:
    """Return vLLM in a container for large models, whose variables are its arguments under another name.

    Source: deepjavalibrary/djl-serving serving/docs/lmi/user_guides/vllm_user_guide.md and
    deployment_guide/configurations.md (tensor_parallel_degree is the GPUs of the machine unless stated otherwise).
    """
    options = {str(name).removeprefix(OPTION).lower(): value for name, value in entries.items()}
    if (read_text(options.get("rolling_batch")) or "auto") not in BATCHES:
        return None
    name = options.get("hf_model_id") or options.get("model_id") or model.get("model_id") or model.get("model_data")
    given = {OF_LMI.get(option, option): value for option, value in options.items()}
    degree = given.pop("tensor_parallel_size", None)
    parts = make_field(reader, degree, model.place) if degree is not None else gpus
    found = serving.read_settings("vllm", name, Object(model.name, model.place, [], given), reader, {})
    if found is None:
        return None
    text = parts.value
    whole = int(text) if isinstance(text, str) and text.isdecimal() else text if isinstance(text, int) else gpus.value
    return found._replace(fields={**found.fields, "tensor_parallel": Field(whole, parts.origins)})


def find_anchor(call: Object, reader: Reader) -> Origin:
    """Return the place of a call."""
    return reader.word(Constant(call.name, call.place), call.place).origin
