"""TGI (text-generation-inference): its launcher, by command line, environment and image tag."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from gpulint.engines import Argument, Invocation, Reading, command_line, image_tags
from gpulint.engines.command_line import Grammar, ParsedArgument, Release
from gpulint.engines.image_tags import ImageRelease, Numbering
from gpulint.workload import Field, Unknown, Value

MENTIONS = ("text-generation", "tgi")
TRIGGERS = ("text-generation",)
PROGRAMS = frozenset({"text-generation-launcher", "tgi-entrypoint.sh"})
IMAGE = re.compile(
    r"(?:^|/)(?:text-generation-inference|huggingface-text-generation-inference|huggingface-pytorch-tgi-inference)(?=$|[:@.-])"
)
NOT_A_LAUNCHER = re.compile(
    r"router|bench|gateway|proxy|tpu|neuron|gaudi|hpu|intel-xpu|trtllm|llamacpp|nix|-ci\b|client"
)
"""Other servers and other devices; the -trtllm and -llamacpp builds have launchers of their own."""
ON_CPU = re.compile(r"intel-cpu|\.cpu\b|-cpu\.")
NUMBERING = Numbering(
    "TGI",
    word="tgi",  # …:2.7.0-tgi3.3.4-gpu-py311-cu124-ubuntu22.04 of SageMaker
    # .github/workflows/build.yaml of January 2026
    plain=r"text-generation-inference:(?P<release>\d+\.\d+(?:\.\d+)?)"
    r"(?:-(?:rocm|intel-xpu|intel-cpu|neuron|gaudi|trtllm|llamacpp))?",
    named=rf"(?:{image_tags.BUILD}[-_])*text-generation-inference(?:[-_]{image_tags.BUILD})*",
    number=r"[0-3]\.\d{1,2}(?:\.\d{1,2})?",
)

OF_GOOGLE = re.compile(r"text-generation-inference-cu\d+\.(\d+-\d+(?:-\d+)?)\.")
"""…-cu124.2-3.ubuntu2204.py311 of Google's deep learning images."""
SAGEMAKER = re.compile(r"huggingface-pytorch-tgi-inference")
EXPORTED = {"HF_MODEL_ID": "MODEL_ID", "SM_NUM_GPUS": "NUM_SHARD", "HF_MODEL_QUANTIZE": "QUANTIZE"}
"""What SageMaker's entry point writes into the environment of the launcher."""
OLDEST_ASSUMED = (3, 3, 0)
"""An image whose tag tells no release is taken for a release of the last eighteen months (3.3.0: May 2025)."""
FITS_LENGTH = (2, 4, 1)
"""From here on the longest sequence is found at start-up when it is not stated."""
COUNTS_DEVICES = re.compile(r"[^,\s]+(?:,[^,\s]+)*")
OFF = frozenset({"", "0", "none", "null"})
GRAMMAR = Grammar("tgi", abbreviations=False, underscores=False, newest=(3, 3, 7))


def read(invocation: Invocation) -> Reading | None:
    """Return the fields of a TGI server; None for any other invocation."""
    words = _launcher_words(invocation)
    if words is None:
        return None
    told = _parse_release(invocation.image)
    release = told.version
    identity = _identify(invocation, told)
    environment = _read_variables(invocation)
    on_line, open_ended = command_line.parse(words, GRAMMAR, release)
    stated = [*_read_environment(environment), *on_line]
    fields = {
        **identity,
        **_read_fields(stated, environment, release),
        **image_tags.filter_notices(command_line.find_notices(on_line, GRAMMAR, told.certain), told),
    }
    origin = words[-1].origin if words else None
    return Reading(fields, origin, open_ended or _find_open_reason(invocation, fields))


def render_argument(release: str, quantity: str, value: Value) -> str | None:
    """Return `--num-shard=4` for a quantity and its value; None if that release of TGI has no
    argument for it.
    """
    return command_line.render_argument("tgi", release, quantity, value)


def _launcher_words(invocation: Invocation) -> Sequence[Argument] | None:
    """Return the words after the launcher, or after the image's own entry point."""
    words = invocation.arguments
    for at, word in enumerate(words):
        if (word.text or "").rsplit("/", 1)[-1] in PROGRAMS:
            return words[at + 1 :]
    image = invocation.image.text or ""
    options = not words or (words[0].text or "-").startswith("-")
    if invocation.entrypoint and options and IMAGE.search(image) and not NOT_A_LAUNCHER.search(_image_name(image)):
        return words
    return None


def _image_name(image: str) -> str:
    return image.split("@", 1)[0].rsplit("/", 1)[-1]


def _parse_release(image: Argument) -> ImageRelease:
    """Return the release from the tag, or from the name of Google's images."""
    if by_name := OF_GOOGLE.search(image_tags.split_image(image.text)[0]):
        return ImageRelease(by_name[1].replace("-", "."), plain=False, pinned=True)
    return image_tags.parse_release(image, NUMBERING)


def _identify(invocation: Invocation, told: ImageRelease) -> dict[str, Field]:
    """Return engine and release from the image's name or tag."""
    image = invocation.image.text or ""
    origins = (invocation.image.origin,) if image else ()
    fields = {"engine": Field("tgi", origins), **image_tags.build_field(invocation.image, told, NUMBERING.title)}
    if ON_CPU.search(_image_name(image)):
        fields["device"] = Field("cpu", origins)
    return fields


# ---- the environment, which the command line overrules


def _read_variables(invocation: Invocation) -> Mapping[str, Argument]:
    """Return the launcher's environment. SageMaker's entry point renames some of it."""
    given = invocation.environment
    if not (invocation.entrypoint and SAGEMAKER.search(invocation.image.text or "")):
        return given
    renamed = {ours: given[theirs] for theirs, ours in EXPORTED.items() if theirs in given}
    return {**given, **renamed}


def _read_environment(environment: Mapping[str, Argument]) -> list[ParsedArgument]:
    """Return what the environment sets. Every argument but --env has a variable of its name."""
    variables = {
        flag.name.removeprefix("--").replace("-", "_").upper(): flag
        for flag in command_line.flags("tgi").values()
        if flag.field and flag.name.startswith("--")
    }
    return [
        ParsedArgument(flag, environment[name], _clear_empty(environment[name]))
        for name, flag in variables.items()
        if name in environment
    ]


def _clear_empty(variable: Argument) -> Argument:
    return variable if variable.text != "" else variable._replace(text=None, why="it is set to nothing")


# ---- fields


def _read_fields(
    stated: Sequence[ParsedArgument], environment: Mapping[str, Argument], release: Release
) -> dict[str, Field]:
    """Return fields by quantity, including what some arguments imply for others."""
    found = command_line.read_fields(stated)
    found.update(_read_length(found, release))
    if "tensor_parallel" not in found and (shards := _count_shards(found, environment)):
        found["tensor_parallel"] = shards
    graphs = found.get("cuda_graphs")
    if graphs and isinstance(graphs.value, str):
        found["enforce_eager"] = Field(graphs.value.strip() in OFF, graphs.origins)
    drafted = found.get("draft_tokens")
    if drafted and drafted.value != 0:
        found["speculative"] = Field("n-gram, or the checkpoint's own Medusa heads", drafted.origins)
    if adapters := found.get("lora_adapters"):
        found["enable_lora"] = Field(True, adapters.origins)
    for name in ("rope_scaling", "rope_factor"):
        if name in found:
            found["context_extended"] = Field(True, found[name].origins)
    if "max_num_seqs" in found and "max_num_batched_tokens" not in found:
        found["max_num_batched_tokens"] = Field(Unknown("--max-batch-size changes its default"))
    if room := environment.get("TGI_WIGGLE_ROOM"):
        found["static_memory_fraction"] = _share(room)
    return command_line.select_glossary_fields(found)


def _read_length(found: Mapping[str, Field], release: Release) -> dict[str, Field]:
    """Return whether the longest sequence is declared, and otherwise whether start-up computes it."""
    length = found.get("max_model_len")
    stated = {"max_model_len_stated": Field(length is not None, length.origins if length else ())}
    if length is not None or (release is not None and release < FITS_LENGTH):
        return stated
    fitted = Field(True, source="start-up takes the longest that fits")
    return {
        **stated,
        "max_model_len_fitted": fitted,
        "max_model_len": Field(Unknown("the engine chooses the longest length that fits")),
    }


def _count_shards(found: Mapping[str, Field], environment: Mapping[str, Argument]) -> Field | None:
    """Return the shards if no number is declared: one if not sharded, else the devices in the
    environment.
    """
    sharded = found.get("sharded")
    if sharded is not None and sharded.value is False:
        return Field(1, sharded.origins)
    for name in ("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"):
        if (listed := environment.get(name)) is None:
            continue
        text = (listed.text or "").strip()
        if text in ("all", "void", "none") or not COUNTS_DEVICES.fullmatch(text):
            return Field(Unknown(f"{name} does not list the devices"), (listed.origin,))
        return Field(text.count(",") + 1, (listed.origin,))
    return None


def _share(room: Argument) -> Field:
    try:
        value = float(room.text or "")
    except ValueError:
        return Field(Unknown("TGI_WIGGLE_ROOM is not a number"), (room.origin,))
    return Field(value, (room.origin,)) if 0 < value < 1 else Field(Unknown(f"{value} cannot be"), (room.origin,))


def _find_open_reason(invocation: Invocation, fields: Mapping[str, Field]) -> str:
    """Return why command line and environment do not determine all settings."""
    if invocation.further_environment:
        return "another object supplies variables of the environment"
    if "AIP_STORAGE_URI" in invocation.environment and "checkpoint" not in fields:
        return "the image downloads the model that AIP_STORAGE_URI names"
    if not invocation.arguments and "checkpoint" not in fields:
        return "the arguments are in the image or in a script"
    return ""
