"""Endpoints of CloudFormation: the container of a SageMaker model as the command that it stands for.

Hugging Face's containers of Text Generation Inference take its variables, those for large models take vLLM's arguments as
OPTION_ variables, and vLLM's own entry point takes them as SM_VLLM_ variables.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from gpulint.adapters.scripts import cloudformation_values as values
from gpulint.source.documents import Document, Path
from gpulint.source.recipes.translated import Builder, Translated
from gpulint.workload import Field, Origin, Role, Unknown

TGI = re.compile(r"-tgi-inference:[\w.]{1,20}-tgi(?P<release>\d{1,3}\.\d{1,3}(?:\.\d{1,3})?)")
"""Containers by their address: github.com/aws/deep-learning-containers, Hugging Face Text Generation Inference."""
IMAGE = "ghcr.io/huggingface/text-generation-inference"
OF_TGI = {"HF_MODEL_ID": "MODEL_ID", "SM_NUM_GPUS": "NUM_SHARD"}
"""awslabs/llm-hosting-container huggingface/pytorch/tgi/docker, sagemaker-entrypoint.sh."""
LMI = "djl-inference:"
OPTION = "OPTION_"
DEGREE = "tensor_parallel_degree"
OF_LMI = {
    DEGREE: "tensor-parallel-size",
    "max_rolling_batch_size": "max-num-seqs",
    "max_rolling_batch_prefill_tokens": "max-num-batched-tokens",
    "max_model_len": "max-model-len",
    "gpu_memory_utilization": "gpu-memory-utilization",
    "quantize": "quantization",
    "dtype": "dtype",
    "enforce_eager": "enforce-eager",
}
"""deepjavalibrary/djl-serving serving/docs/lmi/user_guides/vllm_user_guide.md; other options are not read."""
BATCHES = ("auto", "vllm", "lmi-dist")
MODELS_MAX = 500
"""The most resources of a template that are looked at; CloudFormation accepts no more."""
VLLM = "SM_VLLM_"
"""vllm v0.9.0 examples/online_serving/sagemaker-entrypoint.sh."""
SWITCHES = frozenset({"true", "True", ""})


def find_model(document: Document, path: Path) -> Path | None:
    """Return the container of the model that a variant names: by a reference to its resource, or by its name."""
    named = document.get(path)
    text = next(iter(named.values())) if isinstance(named, dict) and len(named) == 1 else named
    text = text[0] if isinstance(text, list) and text else text
    resources = document.get(("Resources",))
    listed = itertools.islice(resources.items(), MODELS_MAX) if isinstance(resources, dict) else ()
    for name, resource in listed:
        if not isinstance(resource, dict) or resource.get("Type") != "AWS::SageMaker::Model":
            continue
        properties = ("Resources", name, "Properties")
        if str(text).partition(".")[0] == name or (text and document.get((*properties, "ModelName")) == text):
            containers = document.get((*properties, "Containers"))
            inner = ("Containers", 0) if isinstance(containers, list) else ("PrimaryContainer",)
            return (*properties, *inner)
    return None


def build(document: Document, container: Path, gpus: int | None) -> tuple[Translated | None, list[values.Default]]:
    """Return the command that a container stands for, and the defaults in it; `gpus` are those of its machine."""
    node = document.node((*container, "Image"))
    if node is None:
        return None, []
    image = values.read(document, (*container, "Image")).text or ""
    variables = _list_variables(document, container)
    builder = Builder(node.start)
    if (address := TGI.search(image)) is not None:
        found = _add_server(builder, document, variables, f"{IMAGE}:{address['release']}", (node.start, node.end))
    elif any(name.startswith(VLLM) for name in variables):
        found = _add_vllm(builder, document, variables, (node.start, node.end))
    elif LMI in image and _get(document, variables, f"{OPTION}ROLLING_BATCH", "auto") in BATCHES:
        found = _add_lmi(builder, document, variables, gpus)
    else:
        found = _add_server(builder, document, variables, image or "image", (node.start, node.end))
    return builder.finish(), found


def settle(role: Role, document: Document, container: Path) -> Role:
    """Return the model of a container for large models, of which its release decides how many GPUs share it unless stated."""
    image = values.read(document, (*container, "Image")).text or ""
    names = {name.removeprefix(OPTION).lower() for name in _list_variables(document, container)}
    if LMI not in image or DEGREE in names or role.text("engine") != "vllm":
        return role
    origin = Origin(document, (*container, "Image"))
    left = Unknown("the release of the container decides how many GPUs share the model", "image default")
    return replace(role, fields={**role.fields, "tensor_parallel": Field(left, (origin,))})


def _list_variables(document: Document, container: Path) -> dict[str, Path]:
    stated = document.get((*container, "Environment"))
    return {str(name): (*container, "Environment", name) for name in stated} if isinstance(stated, dict) else {}


def _get(document: Document, variables: Mapping[str, Path], name: str, default: str) -> str:
    return values.read(document, variables[name]).text or "" if name in variables else default


def _add_server(
    builder: Builder, document: Document, variables: Mapping[str, Path], image: str, place: tuple[int, int]
) -> list[values.Default]:
    found: list[values.Default] = []
    builder.add("docker run --gpus all", None)
    for name, path in variables.items():
        builder.add(f" -e {OF_TGI.get(name, name)}=", None)
        found += values.add(builder, document, path, quoted=True)
    builder.add(" ", None)
    builder.add(f"'{image}'", *place)
    return found


def _add_vllm(
    builder: Builder, document: Document, variables: Mapping[str, Path], place: tuple[int, int]
) -> list[values.Default]:
    builder.add("vllm serve", *place)
    options = ((name.removeprefix(VLLM), path) for name, path in variables.items() if name.startswith(VLLM))
    return [
        default
        for name, path in options
        for default in _add_option(builder, document, name.lower().replace("_", "-"), path)
    ]


def _add_lmi(
    builder: Builder, document: Document, variables: Mapping[str, Path], gpus: int | None
) -> list[values.Default]:
    builder.add("vllm serve", None)
    options = {name.removeprefix(OPTION).lower(): path for name, path in variables.items()}
    found: list[values.Default] = []
    if model := options.get("hf_model_id") or options.get("model_id"):
        builder.add(" ", None)
        found += values.add(builder, document, model, quoted=True)
    for option, path in _list_options(options):
        if option == OF_LMI[DEGREE] and values.read(document, path).text == "max":
            node = document.node(path)
            builder.add(f" --{option}=", None)
            builder.add(str(gpus) if gpus else "$GPUS", *((node.start, node.end) if node is not None else (None, None)))
        else:
            found += _add_option(builder, document, option, path)
    return found


def _list_options(options: Mapping[str, Path]) -> Iterator[tuple[str, Path]]:
    yield from ((OF_LMI[name], path) for name, path in options.items() if name in OF_LMI)


def _add_option(builder: Builder, document: Document, option: str, path: Path) -> list[values.Default]:
    text = values.read(document, path).text
    if text in ("false", "False"):
        return []
    builder.add(f" --{option}", None)
    if text in SWITCHES:
        return []
    builder.add("=", None)
    return values.add(builder, document, path, quoted=True)
