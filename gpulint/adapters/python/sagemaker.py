"""SageMaker: estimators that train with a script of the repository, and models that its containers serve."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from gpulint import engines
from gpulint.adapters.python.words import Reader, is_nothing
from gpulint.engines import Argument, Invocation, Reading
from gpulint.source.python.values import Constant, Mapping, Object
from gpulint.workload import Command, Origin

VARIABLES = {"HF_MODEL_ID": "MODEL_ID", "SM_NUM_GPUS": "NUM_SHARD"}
"""Variables of the containers that pass them on to Text Generation Inference under another name:
awslabs/llm-hosting-container huggingface/pytorch/tgi/docker, sagemaker-entrypoint.sh."""
IMAGE = "ghcr.io/huggingface/text-generation-inference"
SERVES = "get_huggingface_llm_image_uri"


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


def read_model(call: Object, reader: Reader) -> Reading | None:
    """Return Text Generation Inference where a deployed model runs in its container."""
    model = call.receiver
    if not isinstance(model, Object) or not model.name.endswith("HuggingFaceModel"):
        return None
    image, environment = model.get("image_uri"), model.get("env")
    if not isinstance(image, Object) or not image.name.endswith(SERVES) or not isinstance(environment, Mapping):
        return None
    at = reader.word(Constant(IMAGE, image.place), model.place)
    variables = {
        VARIABLES.get(str(name), str(name)): reader.word(value, model.place)
        for name, value in environment.entries.items()
    }
    return engines.read(Invocation(at, (), variables, entrypoint=True))


def find_anchor(call: Object, reader: Reader) -> Origin:
    """Return the place of a call."""
    return reader.word(Constant(call.name, call.place), call.place).origin
