"""Python programs: scripts and notebooks that state hardware, or start an engine or a trainer, where no other file starts them.

A program is read and never run. Where a manifest, a job or a script starts it, its settings belong to that workload.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gpulint import engines
from gpulint.adapters.claim import Claim
from gpulint.adapters.platforms import task
from gpulint.adapters.programs import file_stem
from gpulint.adapters.python import alone, detectors, hardware, jobs, reading, releases, sagemaker, starters, training
from gpulint.adapters.python.hardware import Placement
from gpulint.adapters.python.words import Reader
from gpulint.engines import Reading
from gpulint.source.documents import Document
from gpulint.source.python import Evaluated
from gpulint.source.python.values import Object
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Role, Unknown, Workload

MENTIONS = (
    "vllm",
    "sglang",
    "lmdeploy",
    "tensorrt_llm",
    "llama_cpp",
    "transformers",
    "trl",
    "unsloth",
    "diffusers",
    "peft",
    "whisper",
    "deepspeed",
    "accelerate",
    "lightning",
    "modal",
    "ray",
    "sagemaker",
    "bentoml",
    "beam",
    "beta9",
    "sky",
    "azure.ai.ml",
    "google.cloud.aiplatform",
    "google.cloud import aiplatform",
    "kubeflow",
    "runpod",
    "litserve",
    "cog",
    "composer",
    "torchtune",
    "torchtitan",
    "megatron",
    "exllamav2",
    "ctransformers",
    "sentence_transformers",
    "torch",
    "auto_gptq",
    "gptqmodel",
    "awq",
    "faster_whisper",
    "whisperx",
    "ultralytics",
    "timm",
    "TTS",
    "qwen_tts",
    "qwen_asr",
    "chatterbox",
    "kokoro",
    "f5_tts",
    "timesfm",
    "FlagEmbedding",
    "nemo.collections",
)
TRIGGERS = ()
READS = ("python", "notebook")
MACHINE = "any host"
ONE = Field(1, source="one machine unless stated otherwise", basis="open")
RUN = Field(1, source="one run")
HOSTED = frozenset({"runpod.serverless.start"})
"""Calls of a program whose image the platform itself starts: docs.runpod.io/serverless/workers/handler-functions."""


def claims(document: Document) -> Claim:
    """Claim a program that computes on GPUs, and that no other file starts or that states its hardware itself."""
    return Claim.EXACT


def kind(document: Document) -> str:
    return "notebook" if document.format == "notebook" else "Python program"


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    """Yield what a program computes: one workload for each function with hardware of its own, else one for its run."""
    evaluated, found = alone.read(document, repository)
    submitted = jobs.list_roles(document, evaluated, file_stem.find_stem(document.path), repository)
    managed = list(_read_machines(document, evaluated, repository))
    rented = {workload.roles[0].anchor for workload in managed}
    managed += [_wrap(role, document) for role in submitted if role.anchor not in rented]
    yield from managed
    placements = hardware.list_placements(document, evaluated)
    if placements:
        evaluated.enter_rest()
    if found is None and not placements:
        found = alone.read_uncalled(document, evaluated, repository)
    is_placed = any(not isinstance(one.fields.get("accelerator", Field(None)).value, Unknown) for one in placements)
    is_placed |= any(call.name in HOSTED for call in evaluated.calls)
    if (not placements and found is None) or (not is_placed and starters.is_started(document.path, repository)):
        return
    for placement in placements:
        yield _build_placed(document, placement, evaluated, repository)
    if not placements and not managed and found is not None:
        stated = {
            **hardware.read_devices(evaluated.calls, Reader()),
            **hardware.read_scaling(evaluated.calls, Reader()),
            **detectors.count_gpus(evaluated.calls, Reader()),
        }
        counts = {**_open_host(found, document), **stated}
        yield _build(document, file_stem.find_stem(document.path), Origin(document, (), (0, 0)), counts, found)


def _read_machines(document: Document, evaluated: Evaluated, repository: Repository) -> Iterator[Workload]:
    """Yield the runs and models for which a program rents machines of SageMaker."""
    reader = Reader()
    for call in hardware.list_instances(evaluated.calls):
        counts = hardware.read_machines(call, reader)
        if counts["gpus_per_pod"].value in (0, None):
            continue
        owner = call.receiver if isinstance(call.receiver, Object) else call
        command = sagemaker.build_command(call, reader) or sagemaker.build_command(owner, reader)
        found = sagemaker.read_model(call, counts["gpus_per_pod"], reader)
        if command is not None:
            found = reading.read(command, document.path, repository)
        elif found is not None and sagemaker.is_lmi(call.receiver):
            counts = sagemaker.count_copies(counts, found)
        name, anchor = file_stem.find_stem(document.path), sagemaker.find_anchor(call, reader)
        yield _build(document, name, anchor, counts, found or Reading({}, None))


def _build_placed(document: Document, placement: Placement, evaluated: Evaluated, repository: Repository) -> Workload:
    calls = [call for call in evaluated.calls if placement.nodes & set(call.within)]
    calls += hardware.list_commands(document, evaluated, placement)
    pins = releases.read_image(placement.image, document, repository)
    if placement.image is None:
        pins = releases.read_files(document.path, repository)
    stated = evaluated.list_variables()
    found = reading.recognise_calls(calls, document, pins, stated)
    if found is None and placement.takes_arguments:
        found = reading.recognise_calls(evaluated.calls, document, pins, stated)
    found = found or Reading({}, None)
    built = _build(document, placement.name, placement.anchor, placement.fields, found)
    return replace(built, anchor=placement.anchor)


def _build(document: Document, name: str, anchor: Origin, counts: dict[str, Field], found: Reading) -> Workload:
    own = {key: field for key, field in found.fields.items() if key not in counts}
    fields = {**own, **counts}
    fields |= training.choose_half(fields)
    if "engine" not in fields and "task" not in fields:
        fields["program"] = Field(name, (anchor,))
    is_here = found.arguments is not None and found.arguments.document is document
    place = found.arguments if found.arguments is not None and is_here and anchor.span == (0, 0) else anchor
    role = Role(name, place, fields, open_ended=found.open_ended)
    return Workload(name, _find_kind(role), "python", document, (), (role,))


def _wrap(role: Role, document: Document) -> Workload:
    role = role.having(**training.choose_half(role.fields))
    purpose = "training" if task.is_training(role.fields.get("engine")) else _find_kind(role)
    return Workload(role.name, purpose, "python", document, (), (role,))


def _find_kind(role: Role) -> str:
    if engines.is_training(role):
        return "training"
    return "inference" if role.text("engine") or role.text("task") else "unknown"


def _open_host(found: Reading, document: Document) -> dict[str, Field]:
    """Return the hardware of a program that any machine may run."""
    if "gpus_per_pod" in found.fields:
        return {"pods_per_replica": ONE, "replicas": RUN}
    place = (found.arguments or Origin(document, (), (0, 0)),)
    unknown = Field(Unknown("the GPU count depends on the machine that runs the program", MACHINE), place)
    return {
        "gpus_per_pod": unknown,
        "gpus_per_replica": unknown,
        "pods_per_replica": ONE,
        "replicas": RUN,
        "accelerator": Field(Unknown("the accelerator depends on the machine that runs the program", MACHINE), place),
    }
