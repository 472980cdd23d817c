"""Triton Inference Server: the server, and the ranks that its launch script starts; its models are
in its repository.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpulint.engines import Argument, Invocation, Reading, command_line
from gpulint.engines.command_line import Grammar, ParsedArgument
from gpulint.workload import Field, Unknown, Value

MENTIONS = ("triton",)
TRIGGERS = ("tritonserver",)
PROGRAM = "tritonserver"
SCRIPT = "launch_triton_server.py"
STARTERS = frozenset({"mpirun", "mpiexec", "srun", "python", "python3", "nsys"})
RELEASE = re.compile(r"tritonserver:(\d\d\.\d\d)(?=$|-)")
"""A year and a month: 24.07-trtllm-python-py3."""
GRAMMAR = Grammar("triton", underscores=False)
IN_REPOSITORY = "what Triton serves is in its model repository"


def read(invocation: Invocation) -> Reading | None:
    """Return the engine of a Triton server; None for any other invocation."""
    words = invocation.arguments
    at = _find_server(words)
    if at is None:
        return None
    image = invocation.image.text or ""
    origins = (invocation.image.origin,) if image else ()
    fields = {"engine": Field("triton", origins)}
    if release := RELEASE.search(image):
        fields["engine_version"] = Field(release.group(1), origins)
    if (words[at].text or "").endswith(SCRIPT):
        stated, _ = command_line.parse(words[at + 1 :], GRAMMAR)
        fields.update(_count_ranks(stated))
    return Reading(command_line.select_glossary_fields(fields), words[-1].origin, IN_REPOSITORY)


def render_argument(release: str, quantity: str, value: Value) -> str | None:
    """Return None: no argument of Triton sets a quantity of the served model."""
    return None


def _find_server(words: Sequence[Argument]) -> int | None:
    """Return the index of the word of the server or its launch script: the first, or a later one
    behind a launcher.
    """
    for at, word in enumerate(words):
        if (word.text or "").rsplit("/", 1)[-1] in (PROGRAM, SCRIPT):
            starts = at == 0 or (words[0].text or "").rsplit("/", 1)[-1] in STARTERS
            return at if starts else None
    return None


def _count_ranks(stated: Sequence[ParsedArgument]) -> dict[str, Field]:
    """Return the GPUs of the launch script's world: tensor times pipeline parallelism, if the
    engine knows the split.
    """
    found = command_line.read_fields(stated)
    if found.get("multi_model", Field(None)).value:
        return {"parallel_size": Field(Unknown("several engines share the ranks"))}
    return {"parallel_size": found.get("world_size", Field(1, source=f"default of {SCRIPT}"))}
