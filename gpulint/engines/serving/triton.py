"""Triton Inference Server: that it runs, and how many ranks its launch script starts; what it serves is in its repository."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpulint.engines import Argument, Invocation, Reading
from gpulint.engines import command_line as arguments
from gpulint.engines.command_line import Grammar, Stated
from gpulint.workload import Field, Unknown, Value

MENTIONS = ("triton",)
PROGRAM = "tritonserver"
SCRIPT = "launch_triton_server.py"
STARTERS = frozenset({"mpirun", "mpiexec", "srun", "python", "python3", "nsys"})
RELEASE = re.compile(r"tritonserver:(\d\d\.\d\d)(?=$|-)")
"""A year and a month: 24.07-trtllm-python-py3."""
GRAMMAR = Grammar("triton", underscores=False)
IN_REPOSITORY = "what Triton serves is in its model repository"


def read(invocation: Invocation) -> Reading | None:
    """The engine of a Triton server; None when the invocation is not one."""
    words = invocation.arguments
    at = _server(words)
    if at is None:
        return None
    image = invocation.image.text or ""
    origins = (invocation.image.origin,) if image else ()
    fields = {"engine": Field("triton", origins)}
    if release := RELEASE.search(image):
        fields["engine_version"] = Field(release.group(1), origins)
    if (words[at].text or "").endswith(SCRIPT):
        stated, _ = arguments.parsed(words[at + 1 :], GRAMMAR)
        fields.update(_ranks(stated))
    return Reading(arguments.of_glossary(fields), words[-1].origin, IN_REPOSITORY)


def spelled(release: str, quantity: str, value: Value) -> str | None:
    """None: no argument of Triton states a quantity of the network it serves."""
    return None


def _server(words: Sequence[Argument]) -> int | None:
    """Which word is the server or its launch script: the first, or a later one behind a launcher."""
    for at, word in enumerate(words):
        if (word.text or "").rsplit("/", 1)[-1] in (PROGRAM, SCRIPT):
            starts = at == 0 or (words[0].text or "").rsplit("/", 1)[-1] in STARTERS
            return at if starts else None
    return None


def _ranks(stated: Sequence[Stated]) -> dict[str, Field]:
    """GPUs of the launch script's world: tensor times pipeline parallelism, in a split that the engine knows."""
    found = arguments.fields(stated)
    if found.get("multi_model", Field(None)).value:
        return {"parallel_size": Field(Unknown("several engines share the ranks"))}
    return {"parallel_size": found.get("world_size", Field(1, source=f"default of {SCRIPT}"))}
