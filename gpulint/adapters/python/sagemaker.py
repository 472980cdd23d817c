"""SageMaker: estimators that train with a script of the repository, and models that its containers serve."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from collections.abc import Mapping as AnyMapping
from dataclasses import replace

from gpulint import engines
from gpulint.adapters.programs import replica
from gpulint.adapters.python import serving
from gpulint.adapters.python.words import Reader, is_nothing, make_field, read_text
from gpulint.engines import Argument, Invocation, Reading
from gpulint.source.python.values import Constant, Mapping, Object, Value
from gpulint.workload import Command, Field, Origin, Unknown

VARIABLES = {"HF_MODEL_ID": "MODEL_ID", "SM_NUM_GPUS": "NUM_SHARD"}
"""Variables of the containers that pass them on to Text Generation Inference under another name:
awslabs/llm-hosting-container huggingface/pytorch/tgi/docker, sagemaker-entrypoint.sh."""
IMAGE = "ghcr.io/huggingface/text-generation-inference"
SERVES = "get_huggingface_llm_image_uri"
NAMED = "HF_MODEL_ID"
TITLE = "Text Generation Inference"
OF_SERVER = frozenset({"SM_NUM_GPUS", "MAX_TOTAL_TOKENS", "MAX_INPUT_LENGTH", "MAX_BATCH_PREFILL_TOKENS"})
ADDRESS = re.compile(r"-tgi-inference:[\w.]{1,20}-tgi(\d{1,3}\.\d{1,3}(?:\.\d{1,3})?)")
"""Containers by their address: github.com/aws/deep-learning-containers, Hugging Face Text Generation Inference."""
OPTION = "OPTION_"
PREFIX = "SM_VLLM_"
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
    if is_lmi(model):
        return _read_lmi(model, entries, gpus, reader)
    if (found := _read_vllm(image, entries, model, reader)) is not None:
        return found
    if not model.name.endswith("HuggingFaceModel"):
        return None
    if image is None and NAMED in entries:
        return _read_pipeline(model, entries[NAMED], reader)
    at = _find_server(image, entries, model, reader)
    if at is None:
        return None
    variables = {
        VARIABLES.get(str(name), str(name)): reader.word(value, model.place) for name, value in entries.items()
    }
    found = engines.read(Invocation(at, (), variables, entrypoint=True))
    if found is None or isinstance(image, Object) or read_text(image) is not None:
        return found
    assumed = replace(found.fields["engine"], assumption=f"the image is not known; its variables are those of {TITLE}")
    return found._replace(fields={**found.fields, "engine": assumed})


def _find_server(
    image: Value | None, entries: AnyMapping[object, Value], model: Object, reader: Reader
) -> Argument | None:
    """Return the image of Text Generation Inference: by its function, its address, or else by the container's variables."""
    if isinstance(image, Object):
        version = read_text(image.get("version"))
        tag = f"{IMAGE}:{version}" if version else IMAGE
        return reader.word(Constant(tag, image.place), model.place) if image.name.endswith(SERVES) else None
    text = read_text(image)
    if text is None:
        return reader.word(Constant(IMAGE, model.place), model.place) if OF_SERVER & entries.keys() else None
    address = ADDRESS.search(text)
    return reader.word(image or Constant(text), model.place)._replace(text=f"{IMAGE}:{address[1]}") if address else None


def _read_pipeline(model: Object, name: Value, reader: Reader) -> Reading:
    """Return a model that the toolkit of Hugging Face loads as a pipeline: aws/sagemaker-huggingface-inference-toolkit."""
    place = reader.origins(Constant(model.name, model.place), model.place)
    fields = {"checkpoint": make_field(reader, name, model.place), "engine": Field("transformers", place)}
    return Reading({**fields, "task": Field("inference", place)}, place[0])


def is_lmi(model: Value | None) -> bool:
    """Return whether a model runs in a container for large models, by its class or its image."""
    if not isinstance(model, Object):
        return False
    image = model.get("image_uri")
    if model.name.endswith("DJLModel"):
        return True
    if isinstance(image, Object) and image.name.endswith("image_uris.retrieve"):
        named = image.get("framework") or (image.arguments[0] if image.arguments else None)
        return (read_text(named) or "").startswith("djl")
    return "/djl-inference:" in (read_text(image) or "")


def _read_lmi(model: Object, entries: AnyMapping[object, Value], gpus: Field, reader: Reader) -> Reading | None:
    """Return vLLM in a container for large models, whose variables are its arguments under another name.

    Source: deepjavalibrary/djl-serving serving/docs/lmi/user_guides/vllm_user_guide.md and
    deployment_guide/configurations.md (tensor_parallel_degree).
    """
    options = {str(name).removeprefix(OPTION).lower(): value for name, value in entries.items()}
    if (read_text(options.get("rolling_batch")) or "auto") not in BATCHES:
        return None
    name = options.get("hf_model_id") or options.get("model_id") or model.get("model_id") or model.get("model_data")
    given = {OF_LMI.get(option, option): value for option, value in options.items()}
    degree = given.pop("tensor_parallel_size", None)
    found = serving.read_settings("vllm", name, Object(model.name, model.place, [], given), reader, {})
    if found is None:
        return None
    place = reader.origins(degree, model.place)
    parts = Field(Unknown("the release of the container decides how many GPUs share the model"), place)
    if degree is not None:
        text = read_text(degree)
        whole = (
            int(text)
            if text and text.isdecimal()
            else gpus.value
            if text == "max"
            else make_field(reader, degree, model.place)
        )
        parts = whole if isinstance(whole, Field) else Field(whole, place)
    return found._replace(fields={**found.fields, "tensor_parallel": parts})


def _read_vllm(
    image: Value | None, entries: AnyMapping[object, Value], model: Object, reader: Reader
) -> Reading | None:
    """Return vLLM in a container whose entry point makes arguments of variables: vllm v0.9.0
    examples/online_serving/sagemaker-entrypoint.sh."""
    at = reader.word(Constant("vllm", model.place), model.place)
    words = [at, at._replace(text="serve")]
    for name, value in entries.items():
        if str(name).startswith(PREFIX):
            flag = f"--{str(name).removeprefix(PREFIX).lower().replace('_', '-')}"
            word = reader.word(value, model.place)
            words += [word._replace(text=flag), word] if word.text != "" else [word._replace(text=flag)]
    if len(words) == 2:
        return None
    named = reader.word(image, model.place) if image is not None else at
    named = named._replace(text=named.text if image is not None and named.text else "")
    return engines.read(Invocation(named, tuple(words), {}, entrypoint=False))


def count_copies(counts: dict[str, Field], found: Reading) -> dict[str, Field]:
    """Return the machines of a container for large models, which starts as many copies as its GPUs hold.

    Source: deepjavalibrary/djl-serving serving/docs/lmi/deployment_guide/configurations.md, Tensor Parallelism.
    """
    parts, gpus, machines = found.fields["tensor_parallel"], counts["gpus_per_pod"].value, counts["replicas"]
    if not isinstance(parts.value, int) or not isinstance(gpus, int) or not 0 < parts.value <= gpus:
        return counts
    copies = Field(gpus // parts.value, counts["gpus_per_pod"].origins)
    return {**counts, "gpus_per_replica": parts, "replicas": replica.product(machines, copies)}


def find_anchor(call: Object, reader: Reader) -> Origin:
    """Return the place of a call."""
    return reader.word(Constant(call.name, call.place), call.place).origin
