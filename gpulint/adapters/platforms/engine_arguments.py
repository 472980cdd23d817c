"""Engine arguments: a file of vLLM's or SGLang's arguments that names its model, if no other file of the repository names it.

A command that reads the file is the workload, and may replace what the file states.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from gpulint import engines
from gpulint.adapters.claim import Claim
from gpulint.adapters.platforms import open_machine, task
from gpulint.adapters.trainers import settings_file
from gpulint.engines import Argument, Invocation, command_line
from gpulint.source.documents import Document
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Unknown, Workload

MENTIONS = (
    "max-model-len",
    "max_model_len",
    "gpu-memory-util",
    "gpu_memory_util",
    "tensor-parallel",
    "tensor_parallel",
    "mem-fraction-static",
    "mem_fraction_static",
    "context-length",
)
TRIGGERS = ("max-model-len", "max_model_len", "gpu-memory-util", "gpu_memory_util", "mem-fraction-static")
READS = ("plain",)
CLAIMS = ("shape",)

SERVERS = {
    "vllm": (("model", "model-tag"), ("vllm", "serve")),
    "sglang": (("model-path", "model"), ("python", "-m", "sglang.launch_server")),
}
"""Servers that read such files: the keys that name the model, and the command whose --config is the file.

docs.vllm.ai/en/latest/configuration/serve_args (Configuration file); docs.sglang.ai/advanced_features/server_arguments
(Configuration file).
"""
MARKS = {
    "vllm": frozenset(
        {"max-model-len", "gpu-memory-utilization", "max-num-seqs", "max-num-batched-tokens", "tensor-parallel-size"}
    ),
    "sglang": frozenset(
        {"mem-fraction-static", "context-length", "max-running-requests", "chunked-prefill-size", "tp-size", "tp"}
    ),
}
"""Arguments that tell of a server, each in both spellings."""
KNOWN_MIN = 3
STRANGE_SHARE = 0.25
"""The largest part of a file's keys that may be unknown if its keys are spelled as arguments are."""
OPEN = "the command that reads this file may add arguments"


def claims(document: Document) -> Claim:
    """Claim a mapping of a server's arguments with its model."""
    return Claim.SHAPE.where(_find_server(document))


def kind(document: Document) -> str:
    return f"arguments of {_find_server(document)}"


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    """Yield the server of a file that no other file names, on a machine that nothing states."""
    server = _find_server(document)
    if not server or set(repository.find_users([document.path]).paths) - {document.path}:
        return
    path = next((key,) for key in _list_keys(document) if _normalise(key) in SERVERS[server][0])
    anchor = Origin(document, path)
    reading = engines.read(_build_invocation(server, document, anchor))
    if reading is None or isinstance(reading.fields.get("checkpoint", Field(Unknown(""))).value, Unknown):
        return
    fields = open_machine.build(anchor, "the server")
    name = posixpath.basename(document.path).partition(".")[0]
    open_ended = reading._replace(open_ended=reading.open_ended or OPEN)
    found = task.roles(name, anchor, fields, [(open_ended, _build_invocation(server, document, anchor))])
    yield Workload(name, "inference", "engine_arguments", document, (), tuple(found), anchor)


def _build_invocation(server: str, document: Document, anchor: Origin) -> Invocation:
    """Return the command that the file is equal to."""
    models, program = SERVERS[server]
    words = [Argument(word, anchor) for word in program]
    stated = list(settings_file.render(server, document))
    if server == "vllm":  # `vllm serve` takes the model without an option
        at = next(at for at, word in enumerate(stated) if (word.text or "").removeprefix("--") in models)
        stated = [stated[at + 1], *stated[:at], *stated[at + 2 :]]
    return Invocation(Argument(None, anchor, "no image"), (*words, *stated), {}, entrypoint=False)


def _find_server(document: Document) -> str:
    """Return the server whose arguments the keys of a file are; empty if it is another file."""
    keys = _list_keys(document)
    if len(keys) < KNOWN_MIN or document.format != "yaml":
        return ""
    names = {_normalise(key) for key in keys}
    for server, (models, _) in SERVERS.items():
        if not names & MARKS[server] or not any(isinstance(_get(document, name), str) for name in models):
            continue
        strange = [name for name in names if f"--{name}" not in command_line.flags(server)]
        spelled = any("-" in key for key in keys) and not any("_" in key for key in keys)
        if len(strange) <= (STRANGE_SHARE * len(names) if spelled else 0):
            return server
    return ""


def _get(document: Document, name: str) -> object:
    return next((document.get((key,)) for key in _list_keys(document) if _normalise(key) == name), None)


def _list_keys(document: Document) -> list[str]:
    data = document.data
    return [key for key in data if isinstance(key, str)] if isinstance(data, dict) else []


def _normalise(key: str) -> str:
    return key.replace("_", "-")
